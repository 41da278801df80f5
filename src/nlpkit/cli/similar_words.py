"""nlpkit similar-words: how alike words are, and the words of a vocabulary nearest to a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import READ, Param

if TYPE_CHECKING:
    import pyarrow as pa

    from nlpkit.text.similarity import Nearest, WordIndex
    from nlpkit.types import LongArray
    from nlpkit.workflows.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class SimilarityFlags:
    """How words are compared, and where the nearest ones are looked for."""

    within: Annotated[
        str | None,
        Param(
            "Find the nearest words here: any corpus, a run directory, a Parquet file with a column 'term', a .txt "
            "file with a word per line.",
            ("in",),
            metavar="CORPUS|VOCAB",
        ),
        READ,
    ] = None
    measure: Annotated[
        str | None,
        Param("With --in: jaccard (default), dice, overlap, cosine, levenshtein or levenshtein-normalized."),
    ] = None
    n: Annotated[int, Param("Characters of an n-gram.", min=1)] = 3
    pad: Annotated[bool, Param("Count n-grams over the ends of words too.")] = False
    lower: Annotated[bool, Param("Compare in lower case.")] = True
    top: Annotated[
        int | None,
        Param("With --in: words to find, default 10.", ("top", "top_n"), min=1),
    ] = None
    min_df: Annotated[str, Param("With --in: least documents of a word that is found.")] = "1"

    def parameters(self) -> dict[str, Any]:
        """What a footer tells of them."""
        return {"n": self.n, "padded": self.pad, "lower": self.lower}

    def least_documents(self) -> int:
        """The number in --min-df; raises UsageError when it is none."""
        if not self.min_df.isdecimal():
            raise UsageError(f"--min-df takes a number of documents here, got '{self.min_df}'")
        return int(self.min_df)


def similar_words_cli(
    words: Annotated[list[str], Argument("Words to compare.", metavar="WORD")],
    compare: SimilarityFlags,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Compare words, or find those of a corpus nearest to them.

    Jaccard, Dice, overlap and cosine of the sets of character n-grams, and Levenshtein distance (also divided by the
    length of the longer word). Two or more words give a table of all pairs; with --in the nearest words are found for
    each: other forms, compounds, misspellings. Words shorter than --n have no n-grams, unless --pad adds signs at the ends.

    \b
    Examples:
      nlpkit similar-words work worker working
      nlpkit similar-words parliment --in data/samples/news.jsonl --measure levenshtein
      nlpkit similar-words Straße Bahnhof --in data/samples/nachrichten.jsonl -o w.parquet
    """

    for word in words:
        _check_word(word)
    target = out.given_table_target("similar.parquet")
    if compare.within is None:
        _pairs(words, compare, target, out, run)
    else:
        _nearest(words, compare.within, compare, target, out, read, run)


def _check_word(word: str) -> None:
    try:
        word.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the word {word!a} is not valid text; is the terminal set to UTF-8?") from None


# ---------------------------------------------------------------- pairs


def _pairs(words: list[str], compare: SimilarityFlags, target: str | None, out: OutputFlags, run: RunFlags) -> None:
    from dataclasses import asdict

    import pyarrow as pa

    from nlpkit.text.similarity import compare_words
    from nlpkit.workflows.vocabulary import Vocabulary

    given = next((o for o, v in (("--measure", compare.measure), ("--top", compare.top)) if v is not None), None)
    if len(words) < 2:
        raise UsageError(f"'{words[0]}' alone: give a second word, or say where to look: --in CORPUS")
    if given:
        raise UsageError(f"{given} goes with --in CORPUS; without it, all pairs are shown by all measures")
    if run.dry_run:
        console.plan({"words": len(words), "pairs": len(words) * (len(words) - 1) // 2})
        return
    pairs = compare_words(words, n=compare.n, padded=compare.pad, lower=compare.lower)
    rows = [{"word": p.first, "term": p.second, **{m: getattr(p, m) for m in PAIR_MEASURES}} for p in pairs]
    fields = [(m, pa.int32() if m == "levenshtein" else pa.float64()) for m in PAIR_MEASURES]
    schema = pa.schema([("word", pa.string()), ("term", pa.string()), *fields])
    if target is not None:
        block = {"words": words, **compare.parameters()}
        _write(target, pa.Table.from_pylist(rows, schema=schema), block, Vocabulary([], None, None, []), out)
        if target == "-":
            return
    short = sorted({w for p in pairs for w, o in ((p.first, p.second), (p.second, p.first)) if _is_short(w, compare)})
    if short:
        reporting.note(f"shorter than {compare.n} characters, so without n-grams: {', '.join(short)} (see --n, --pad)")
    if run.json:
        console.emit_json({**compare.parameters(), "pairs": [asdict(p) for p in pairs]})
        return
    shown = [[p.first, p.second, *(_number(getattr(p, m)) for m in PAIR_MEASURES)] for p in pairs]
    heads = ["word", "other", *(m.replace("_", " ") for m in PAIR_MEASURES)]
    console.table(heads, shown, right=heads[2:])


PAIR_MEASURES = ("jaccard", "dice", "overlap", "cosine", "levenshtein", "levenshtein_normalized")


def _is_short(word: str, compare: SimilarityFlags) -> bool:
    from nlpkit.text.similarity import comparable

    return not compare.pad and len(comparable(word, lower=compare.lower)) < compare.n


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


# ---------------------------------------------------------------- nearest words


def _nearest(
    words: list[str],
    within: str,
    compare: SimilarityFlags,
    target: str | None,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    import numpy as np
    import pyarrow as pa

    from nlpkit.text.similarity import WordIndex
    from nlpkit.workflows.vocabulary import read_vocabulary

    measure, top, least = compare.measure or "jaccard", compare.top or 10, compare.least_documents()
    words = list(dict.fromkeys(words))
    how: dict[str, Any] = {"n": compare.n, "padded": compare.pad, "lower": compare.lower}
    for word in words:
        WordIndex([], **how).nearest(word, measure=measure)  # a word that cannot be looked for is told before reading
    if run.dry_run:
        console.plan({"words": len(words), "searched_in": within})
        return
    vocabulary = read_vocabulary(within, read, lower=compare.lower, threads=run.n_threads(), verify=run.verify)
    terms, cf, df = vocabulary.terms, vocabulary.cf, vocabulary.df
    if least > 1:
        if df is None:
            raise UsageError(f"--min-df {least}: {within} does not say in how many documents a word is; leave it out")
        kept = np.flatnonzero(df >= least)
        terms, df, cf = [terms[i] for i in kept.tolist()], df[kept], None if cf is None else cf[kept]
    index = WordIndex(terms, **how, frequency=df if cf is None else cf)
    found = {word: index.nearest(word, measure=measure, top=top) for word in words}
    reporting.note(f"searched {wording.counted(len(terms), 'word')} of {'stdin' if within == '-' else within}")
    _say_passed_over(index, measure)
    rows = [row for word, near in found.items() for row in _rows(word, near, terms, cf, df)]
    if target is not None:
        parameters = {"words": words, "measure": measure, **compare.parameters(), "top": top, "min_df": least}
        schema = pa.schema(
            [
                ("word", pa.string()),
                ("rank", pa.int32()),
                ("term", pa.string()),
                ("score", pa.float64()),
                ("cf", pa.int64()),
                ("df", pa.int64()),
            ]
        )
        _write(target, pa.Table.from_pylist(rows, schema=schema), parameters, vocabulary, out)
        if target == "-":
            return
    lines = {
        word: [{k: v for k, v in row.items() if k != "word"} for row in rows if row["word"] == word] for word in words
    }
    own = {w: {"cf": _sum(cf, near), "df": _sum(df, near)} if len(near.own) else None for w, near in found.items()}
    if run.json:
        result = {w: {"in_vocabulary": own[w], "nearest": lines[w]} for w in words}
        console.emit_json({"measure": measure, **compare.parameters(), "searched": len(terms), "words": result})
        return
    for word in words:
        if own[word] is None:
            reporting.note(f"'{word}' itself is not among them")
        if not lines[word]:
            reporting.note(f"no word shares an n-gram of {compare.n} characters with '{word}'")
    counts = [name for name, known in (("cf", cf), ("df", df)) if known is not None]
    name = "distance" if measure.startswith("levenshtein") else measure
    shown = [
        [
            word if i == 0 else "",
            row["term"],
            str(int(row["score"])) if measure == "levenshtein" else f"{row['score']:.3f}",
            *(wording.count(row[c]) for c in counts),
        ]
        for word in words
        for i, row in enumerate(lines[word])
    ]
    if shown:
        console.table(["word", "nearest", name, *counts], shown, right=[name, *counts])


def _rows(
    word: str, near: Nearest, terms: Sequence[str], cf: LongArray | None, df: LongArray | None
) -> list[dict[str, Any]]:
    return [
        {
            "word": word,
            "rank": rank,
            "term": terms[i],
            "score": score,
            "cf": None if cf is None else int(cf[i]),
            "df": None if df is None else int(df[i]),
        }
        for rank, (i, score) in enumerate(zip(near.ids.tolist(), near.scores.tolist(), strict=True), 1)
    ]


def _sum(counts: LongArray | None, near: Nearest) -> int | None:
    return None if counts is None else int(counts[near.own].sum())


def _say_passed_over(index: WordIndex, measure: str) -> None:
    from nlpkit.text.similarity import MAX_LENGTH

    if index.n_long:
        reporting.note(f"passed over: {wording.counted(index.n_long, 'word')} of more than {MAX_LENGTH:,} characters")
    if not measure.startswith("levenshtein") and index.n_short:
        reporting.note(
            f"passed over: {wording.counted(index.n_short, 'word')} shorter than {index.n} characters, so without n-grams "
            "(see --n, --pad)"
        )


# ---------------------------------------------------------------- output


def _write(target: str, table: pa.Table, parameters: dict[str, Any], source: Vocabulary, out: OutputFlags) -> None:
    from nlpkit.io.artifacts import footer_block
    from nlpkit.io.tables import table_sink, write_dropped

    block = footer_block(
        "similar_words",
        command="similar-words",
        parameters=parameters,
        seed=None,
        inputs=source.inputs,
        steps=source.steps,
    )
    with table_sink(target, table.schema, block, force=out.force) as sink:
        for batch in table.to_batches():
            sink.write(batch)
    write_dropped(target, source.dropped, block)
    if target != "-":
        reporting.note(f"wrote {target}: {wording.counted(table.num_rows, 'row')}")

"""The search for similar words: the vocabulary to search in, and the words nearest to a word.

Parts, in this order:
- Vocabularies to search in: of a run, a Parquet table of terms, a word list, or any corpus.
- How alike words are, and the words of a vocabulary nearest to a word.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.inputs import DroppedRow, InputInfo
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.sources import Source, StoredBytes, split_suffix
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.artifacts import parquet_shape, read_footer, read_table
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.footers import steps_of
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.runs.saving import save_derived_table
from nlpkit.platform.types import LongArray
from nlpkit.text.files import numbered_lines
from nlpkit.text.options import PreprocessOptions
from nlpkit.weights.counts import count_corpus
from nlpkit.words.spelling import MAX_LENGTH, Nearest, SimilarityOptions, WordIndex, WordPair, comparable, compare_words

MOST_WORDS = 5  # of an entry of a word list; a line with more is a text


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words to search in, with their occurrences and documents where these are known, and where they come from."""

    terms: Sequence[str]
    cf: LongArray | None
    df: LongArray | None
    inputs: Sequence[InputInfo]
    steps: Sequence[dict[str, Any]] = ()
    dropped: Sequence[DroppedRow] = ()


def read_vocabulary(where: str, read: ReadOptions, *, lower: bool, threads: int, verify: bool = True) -> Vocabulary:
    """Return the words of a run directory, a Parquet file with a column 'term', a word list, or else of a corpus.

    Raises:
        InputError, SchemaError: it cannot be read, or is none of these.
    """
    path = Path(where)
    if path.is_dir() and (path / MANIFEST).is_file():
        return _of_table(path / "vocab.parquet", open_run(path, verify=verify).table("vocab"), [])
    if path.is_file() and read.format is None:
        _, format, packed = split_suffix(path.name)
        if format == "txt":
            return _word_list(path, read.encoding)
        if format == "parquet" and not packed:
            columns = parquet_shape(path)[2]
            if "term" in columns and read.text_col not in columns:
                wanted = [name for name in ("term", "cf", "df") if name in columns]
                return _of_table(path, read_table(path, ["vocab"], wanted), steps_of([read_footer(path)]))
    return _of_corpus(where, read, lower=lower, threads=threads)


def _of_table(path: Path, table: pa.Table, steps: Sequence[dict[str, Any]]) -> Vocabulary:
    def counts(name: str) -> LongArray | None:
        if name not in table.column_names:
            return None
        return np.asarray(table.column(name).cast(pa.int64()).fill_null(0).to_numpy(), np.int64)

    column = table.column("term")
    terms = column.to_pylist() if column.null_count == 0 else []
    if len(terms) != len(column) or not all(isinstance(term, str) for term in terms):
        raise InputError(
            f"column 'term' of {path} holds {column.type} with gaps or other than words; strings were needed"
        )
    if len(set(terms)) < len(terms):
        raise InputError(f"column 'term' of {path} has repeated words; a vocabulary needs one row per word")
    return Vocabulary(terms, counts("cf"), counts("df"), [_info(path, len(terms))], steps)


def _word_list(path: Path, encoding: str | None) -> Vocabulary:
    """Read one term a line; # begins a comment, and what follows a tab (a count, a score) is left out."""
    terms: dict[str, None] = {}
    for number, line in numbered_lines(path, encoding=encoding):
        term = line.partition("\t")[0].strip()
        if not term or term.startswith("#"):
            continue
        if len(term.split()) > MOST_WORDS:
            raise InputError(
                f"{path}:{number} is not a word but {len(term.split())} ('{term[:40]}…'); a word list has one word "
                "or n-gram per line. If it is a corpus, set `format` to txt"
            )
        terms[term] = None
    return Vocabulary(list(terms), None, None, [_info(path, len(terms))])


def _info(path: Path, rows: int) -> InputInfo:
    with StoredBytes(Source(str(path), path.name, None)) as stored:
        return InputInfo(str(path), rows, stored.sha256(), None)


def _of_corpus(where: str, read: ReadOptions, *, lower: bool, threads: int) -> Vocabulary:
    with open_documents([where], read) as stream, ExitStack() as stack:
        options = PreprocessOptions()
        if "tokens" not in stream.schema.names:
            # every word counts: a misspelling is rare, and a stop word may be asked for
            options = PreprocessOptions(stop_words="none", lower=lower, min_df=1)
        corpus = stack.enter_context(count_corpus(stream, options, threads=threads))
        return Vocabulary(corpus.terms, corpus.cf, corpus.df, stream.inputs, stream.steps, stream.dropped)


# ------------------------------------------------------------------------------------------------------------------------
# How alike words are, and the words of a vocabulary nearest to a word.

PAIR_MEASURES = ("jaccard", "dice", "overlap", "cosine", "levenshtein", "levenshtein_normalized")
_PAIRS = pa.schema(
    [("word", pa.string()), ("term", pa.string()),
     *((m, pa.int32() if m == "levenshtein" else pa.float64()) for m in PAIR_MEASURES)]
)  # fmt: skip
_NEAREST = pa.schema(
    [("word", pa.string()), ("rank", pa.int32()), ("term", pa.string()), ("score", pa.float64()), ("cf", pa.int64()),
     ("df", pa.int64())]
)  # fmt: skip


class SimilarWords(ABC, Tabular):
    """A table of words with how alike they are."""

    source: Vocabulary

    @abstractmethod
    def table(self) -> pa.Table:
        """Return the table."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return what its footer records."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain values."""

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table.

        Raises:
            UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there.
        """
        save_derived_table(
            target, self.table(), "similar_words", self.source, command="similar-words", parameters=self.parameters(),
            row="row", force=force,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class WordPairs(SimilarWords):
    """All pairs of some words by all measures."""

    words: list[str]
    pairs: list[WordPair]
    options: SimilarityOptions
    source: Vocabulary = field(default_factory=lambda: Vocabulary([], None, None, []))

    def table(self) -> pa.Table:
        """Return a row for each pair: word, term, and every measure."""
        rows = [{"word": p.first, "term": p.second, **{m: getattr(p, m) for m in PAIR_MEASURES}} for p in self.pairs]
        return pa.Table.from_pylist(rows, schema=_PAIRS)

    def parameters(self) -> dict[str, Any]:
        """Return what the footer records."""
        return {"words": self.words, **self.options.parameters()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain values."""
        return {**self.options.parameters(), "pairs": [asdict(pair) for pair in self.pairs]}

    def too_short(self) -> list[str]:
        """Return the words without an n-gram."""
        if self.options.pad:
            return []
        words = {word for pair in self.pairs for word in (pair.first, pair.second)}
        return sorted(w for w in words if len(comparable(w, lower=self.options.lower)) < self.options.n)


@dataclass(frozen=True, slots=True)
class NearestWords(SimilarWords):
    """The words of a vocabulary nearest to some words. terms: those that were searched; cf, df: of these, where they are known."""

    nearest: dict[str, Nearest]
    terms: Sequence[str]
    cf: LongArray | None
    df: LongArray | None
    measure: str
    top: int
    options: SimilarityOptions
    source: Vocabulary

    def rows(self, word: str) -> list[dict[str, Any]]:
        """Return the nearest words of a word, best first."""
        near = self.nearest[word]
        return [
            {
                "rank": rank,
                "term": self.terms[i],
                "score": score,
                "cf": None if self.cf is None else int(self.cf[i]),
                "df": None if self.df is None else int(self.df[i]),
            }
            for rank, (i, score) in enumerate(zip(near.ids.tolist(), near.scores.tolist(), strict=True), 1)
        ]

    def known(self, word: str) -> dict[str, int | None] | None:
        """Return occurrences and documents of a word itself, None where it is not in the vocabulary."""
        places = self.nearest[word].self_ids
        counts = {"cf": self.cf, "df": self.df}
        return (
            {name: None if n is None else int(n[places].sum()) for name, n in counts.items()} if len(places) else None
        )

    def table(self) -> pa.Table:
        """Return a row for each word that was found: word, rank, term, score, cf, df."""
        rows = [{"word": word, **row} for word in self.nearest for row in self.rows(word)]
        return pa.Table.from_pylist(rows, schema=_NEAREST)

    def parameters(self) -> dict[str, Any]:
        """Return what the footer records."""
        measure = {"measure": self.measure, **self.options.parameters()}
        return {"words": list(self.nearest), **measure, "top": self.top, "min_df": self.options.least_documents()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain values."""
        words = {word: {"in_vocabulary": self.known(word), "nearest": self.rows(word)} for word in self.nearest}
        return {"measure": self.measure, **self.options.parameters(), "searched": len(self.terms), "words": words}


def check_words(words: Sequence[str], options: SimilarityOptions) -> None:
    """Refuse words and options that cannot be compared, before anything is read.

    Raises:
        UsageError: a word is no text, or too short for the n-grams; one word alone; options that go with a vocabulary.
    """
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"the word {word!a} is not valid text; is the terminal set to UTF-8?") from None
    if options.within is not None:
        options.least_documents()
        index = WordIndex([], n=options.n, padded=options.pad, lower=options.lower)
        for word in words:
            index.nearest(word, measure=options.measure or "jaccard")
        return
    if len(words) < 2:
        raise UsageError(f"only '{words[0]}' is given; add a second word, or a corpus to search: `within=CORPUS`")
    for name in ("measure", "top"):
        if getattr(options, name) is not None:
            raise UsageError(
                f"`{name}` needs `within=CORPUS`; without a corpus, all pairs are shown by all measures", parameter=name
            )


def similar_words(
    words: Sequence[str],
    *,
    options: SimilarityOptions | None = None,
    read: ReadOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> WordPairs | NearestWords:
    """Return how alike words are, or the words of a vocabulary nearest to each.

    Args:
        words: two or more; with `within`, also one.
        options: the measure, and where to look: a corpus, a run directory, a table of terms or a word list.
        read: how a corpus is read.
        execution: number of threads.
        settings: fields of these records, such as within="news.jsonl", measure="levenshtein", top=5.

    Raises:
        UsageError: see `check_words`; InputError: the vocabulary cannot be read.

    Example:
        >>> pairs = nk.similar_words(["colour", "color", "cat"])
        >>> pairs.table().num_rows
        3
    """
    records = (options, read, execution)
    options, read, execution = with_settings(records, settings, (SimilarityOptions, ReadOptions, Execution))
    check_words(words, options)
    if options.within is None:
        pairs = compare_words(list(words), n=options.n, padded=options.pad, lower=options.lower)
        return WordPairs(list(words), pairs, options)
    where, measure, top = str(options.within), options.measure or "jaccard", options.top or 10
    source = read_vocabulary(where, read, lower=options.lower, threads=execution.n_threads(), verify=execution.verify)
    terms, cf, df = source.terms, source.cf, source.df
    least = options.least_documents()
    if least > 1:
        if df is None:
            raise UsageError(f"`min_df={least}`: {where} has no document counts; leave it out")
        kept = np.flatnonzero(df >= least)
        terms, df, cf = [terms[i] for i in kept.tolist()], df[kept], None if cf is None else cf[kept]
    index = WordIndex(
        terms, n=options.n, padded=options.pad, lower=options.lower, frequency=df if cf is None else cf
    )  # fmt: skip
    nearest = {word: index.nearest(word, measure=measure, top=top) for word in dict.fromkeys(words)}
    reporting.note(f"searched {wording.counted(len(terms), 'word')} of {'stdin' if where == '-' else where}")
    if index.n_long:
        reporting.note(f"skipped: {wording.counted(index.n_long, 'word')} of more than {MAX_LENGTH:,} characters")
    if not measure.startswith("levenshtein") and index.n_short:
        reporting.note(
            f"skipped: {wording.counted(index.n_short, 'word')} shorter than {index.n} characters, so without "
            "n-grams (see `n`, `pad`)"
        )
    return NearestWords(nearest, terms, cf, df, measure, top, options, source)

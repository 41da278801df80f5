"""Questions about word vectors: neighbours, analogies, similarity, the word that does not belong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.metrics.intervals import wilson
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.runs import sha256_of
from nlpkit.platform.runs.tables import save_table
from nlpkit.platform.types import Float32Array
from nlpkit.words import questions as similarity
from nlpkit.words.files import load_word_vectors, read_questions, read_rated_pairs
from nlpkit.words.options import VectorOptions
from nlpkit.words.questions import MEASURES, SectionScore, analogy_scores, is_syntactic, score_analogies, total
from nlpkit.words.vectors import WordVectors, unit_rows
from nlpkit.words.vectors import nearest_words as nearest_rows

LEVEL = 0.95  # of intervals


@dataclass(frozen=True, slots=True)
class Vectors:
    """Word vectors that were opened. known: those among which words are looked for; everything: all of them."""

    path: Path
    everything: WordVectors
    known: WordVectors
    lower: bool

    def vector(self, word: str) -> Float32Array:
        """Return the vector of a word (E,), that of its n-grams where it is not in the vocabulary. Raises InputError without any."""
        vector = self.everything.vector(word, lower=self.lower)
        if vector is None:
            raise InputError(self._unknown(word))
        return vector

    def row(self, word: str) -> int:
        """Return the row of a word in everything. Raises InputError where it is none of them."""
        row = self.everything.row(word, lower=self.lower)
        if row < 0:
            raise InputError(self._unknown(word))
        return row

    def among(self, words: Sequence[str]) -> list[int]:
        """Return the rows of words in known, without those that it does not have."""
        return [row for row in self.known.rows(words, lower=self.lower).tolist() if row >= 0]

    def _unknown(self, word: str) -> str:
        from nlpkit.words.spelling import WordIndex

        index = WordIndex(list(self.everything.words), n=2, padded=True, lower=True)
        near = index.nearest(word, measure="dice", top=3).ids.tolist()
        like = f" (words like it: {', '.join(self.everything.words[i] for i in near)})" if near else ""
        grams = "; its n-grams are unknown, too" if self.everything.subwords is not None else ""
        return f"{self.path} has no vector of '{word}'{grams}{like}"


def open_vectors(source: str | Path, options: VectorOptions, execution: Execution) -> Vectors:
    """Return the vectors of a run of embed-words or a file, as `nlpkit.words.files.load_word_vectors` reads them."""
    everything = load_word_vectors(Path(source), verify=execution.verify)
    return Vectors(Path(source), everything, everything.most_frequent(options.most_frequent), options.lower)


@dataclass(frozen=True)
class WordTable(Tabular):
    """A table about words by their vectors.

    Attributes:
        table: the rows.
        kind: what a row is.
        facts: what was asked, and figures of the whole table.
    """

    sources: Sequence[Path]
    kind: str
    table: pa.Table
    facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts and the rows in plain values."""
        return {**self.facts, self.kind: self.table.to_pylist()}

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table. Raises UsageError for a name of no table, OutputExistsError when it is there."""
        inputs = [
            InputInfo(str(path), 0, sha256_of(path / MANIFEST if path.is_dir() else path), None)
            for path in self.sources
        ]
        block = footer_block(
            f"word_{self.kind}", command="words", parameters=dict(self.facts), seed=None, inputs=inputs, steps=[]
        )
        save_table(target, self.table, block, force=force)
        if str(target) != "-":
            reporting.note(f"wrote {target}: {wording.counted(self.table.num_rows, 'row')}")


def nearest_words(
    vectors: str | Path,
    words: Sequence[str],
    *,
    top: int = 10,
    options: VectorOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> WordTable:
    """Return the words with the largest cosines for each of some words: word, rank, nearest, cosine, count.

    A word that is missing from vectors of fastText gets the vector of its n-grams.

    Args:
        vectors: a run of embed-words, or a file of word vectors.
        settings: single fields of the records, such as most_frequent=20_000.

    Raises:
        InputError: the vectors cannot be read, or have no vector of a word.

    Example:
        >>> vectors = nk.embed_words(["cats chase mice", "dogs chase cats"] * 50, dimensions=8, epochs=5).save("vectors")
        >>> nk.nearest_words(vectors, ["cats"], top=2).table["rank"].to_pylist()
        [1, 2]
    """
    options, execution = with_settings((options, execution), settings, (VectorOptions, Execution))
    if not words:
        raise UsageError("name one word or more", parameter="words")
    opened = open_vectors(vectors, options, execution)
    different = list(dict.fromkeys(words))
    queries = np.stack([opened.vector(word) for word in different])
    for word in different:
        if opened.everything.row(word, lower=options.lower) < 0:
            reporting.note(f"'{word}' is not in the vocabulary; its vector comes from its n-grams")
    nearest = nearest_rows(opened.known, queries, top=top, leave_out=[opened.among([word]) for word in different])
    rows = [
        {
            "word": word,
            "rank": rank,
            "nearest": opened.known.words[i],
            "cosine": cosine,
            "count": _count(opened.known, i),
        }
        for word, (ids, cosines) in zip(different, nearest, strict=True)
        for rank, (i, cosine) in enumerate(zip(ids.tolist(), cosines.tolist(), strict=True), 1)
    ]
    schema = pa.schema(
        [("word", pa.string()), ("rank", pa.int32()), ("nearest", pa.string()), ("cosine", pa.float64()), ("count", pa.int64())]
    )  # fmt: skip
    facts = {
        "vectors": str(vectors),
        "words": different,
        "top": top,
        **asdict(options),
        "searched": len(opened.known.words),
    }
    return WordTable([opened.path], "neighbours", pa.Table.from_pylist(rows, schema=schema), facts)


def analogy(
    vectors: str | Path,
    words: Sequence[str],
    *,
    measure: str = "3cosadd",
    top: int = 5,
    options: VectorOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> WordTable:
    """Return the best answers to "a is to b as c is to …": rank, answer, score, count; see `nlpkit.words.questions.analogy_scores`.

    Args:
        vectors: a run of embed-words, or a file of word vectors.
        words: a, b and c.

    Raises:
        UsageError: there are not three words, or the measure is unknown; InputError: one has no vector.

    Example:
        >>> vectors = nk.embed_words(["cats chase mice", "dogs chase cats"] * 50, dimensions=8, epochs=5).save("vectors")
        >>> nk.analogy(vectors, ["cats", "mice", "dogs"], top=1).table["rank"].to_pylist()
        [1]
    """
    options, execution = with_settings((options, execution), settings, (VectorOptions, Execution))
    check_measure(measure)
    if len(words) != 3:
        raise UsageError(f"three words are needed (a is to b as c is to …), got {len(words)}", parameter="words")
    opened = open_vectors(vectors, options, execution)
    units = unit_rows(np.stack([opened.vector(word) for word in words]))
    # a, b and c stand before the words that are looked at, so that they need not be among these
    scores = analogy_scores(np.concatenate([units, opened.known.units]), np.array([[0, 1, 2]]), measure=measure)[0, 3:]  # type: ignore[arg-type]
    scores[opened.among(words)] = -np.inf
    best = [i for i in np.argsort(-scores, kind="stable")[:top].tolist() if np.isfinite(scores[i])]
    table = pa.table(
        {
            "rank": pa.array(range(1, len(best) + 1), pa.int32()),
            "answer": pa.array([opened.known.words[i] for i in best], pa.string()),
            "score": pa.array([float(scores[i]) for i in best], pa.float64()),
            "count": pa.array([_count(opened.known, i) for i in best], pa.int64()),
        }
    )
    facts = {"vectors": str(vectors), "words": list(words), "measure": measure, **asdict(options)}
    return WordTable([opened.path], "answers", table, facts)


def analogies(
    vectors: str | Path,
    questions: str | Path,
    *,
    measure: str = "3cosadd",
    options: VectorOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> WordTable:
    """Return the share of analogies that vectors answer rightly, by section: section, questions, answered, right, accuracy, low, high.

    Questions with an unknown word are left out of the accuracy, and counted; low and high are the ends of its 95 % Wilson interval.
    The last rows sum up all semantic and all syntactic sections (gram…), where there are both, and all questions.

    Args:
        vectors: a run of embed-words, or a file of word vectors.
        questions: a file in the format of questions-words.txt.
        measure: 3cosadd or 3cosmul.

    Raises:
        InputError: a file cannot be read, or no question has four known words; UsageError: an unknown measure.

    Example:
        >>> from pathlib import Path
        >>> vectors = nk.embed_words(["cats chase mice", "dogs chase cats"] * 50, dimensions=8, epochs=5).save("vectors")
        >>> _ = Path("questions.txt").write_text(": pets\\ncats mice dogs cats\\n")
        >>> nk.analogies(vectors, "questions.txt").table["questions"].to_pylist()[0]
        1
    """
    options, execution = with_settings((options, execution), settings, (VectorOptions, Execution))
    check_measure(measure)
    asked = read_questions(Path(questions))
    opened = open_vectors(vectors, options, execution)
    scores = score_analogies(opened.known, asked, measure=measure, lower=options.lower)  # type: ignore[arg-type]
    syntactic = [s for s in scores if is_syntactic(s.section)]
    semantic = [s for s in scores if not is_syntactic(s.section)]
    groups = [total(semantic, "semantic"), total(syntactic, "syntactic")] if syntactic and semantic else []
    everything = total(scores, "all")
    if not everything.answered:
        raise InputError(
            f"none of the {len(asked):,} questions of {questions} has four words with a vector, such as "
            f"{asked[0].a}, {asked[0].b}, {asked[0].c}, {asked[0].d}; check the language of the vectors"
        )
    rows = [_row(score) for score in [*scores, *groups, everything]]
    schema = pa.schema(
        [("section", pa.string()), *((n, pa.int64()) for n in ("questions", "answered", "right")),
         *((n, pa.float64()) for n in ("accuracy", "low", "high"))]
    )  # fmt: skip
    facts = {"vectors": str(vectors), "questions": str(questions), "measure": measure, **asdict(options), "ci": LEVEL}
    facts |= {"accuracy": everything.accuracy, "coverage": everything.answered / everything.questions}
    return WordTable([opened.path, Path(questions)], "sections", pa.Table.from_pylist(rows, schema=schema), facts)


def _row(score: SectionScore) -> dict[str, Any]:
    ends = wilson(score.right, score.answered, level=LEVEL)
    bounds = {"low": None, "high": None} if ends is None else {"low": ends.low, "high": ends.high}
    return {**asdict(score), "accuracy": score.accuracy if score.answered else None, **bounds}


def check_measure(measure: str) -> None:
    """Raise UsageError unless it is a measure of analogies."""
    if measure not in MEASURES:
        raise unknown_value("measure", measure, MEASURES)


def word_similarity(
    vectors: str | Path,
    words: Sequence[str] = (),
    *,
    pairs: str | Path | None = None,
    options: VectorOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> WordTable:
    """Return the cosines of all pairs of some words, or of the pairs of a file, with their correlation with people's ratings.

    Rows: word, other, cosine, of a file also rating; a cosine is null where a word has no vector. The facts of a file have coverage,
    Spearman's rho and Pearson's r of ratings and cosines over the pairs that have one, with bootstrap intervals.

    Args:
        vectors: a run of embed-words, or a file of word vectors.
        words: two or more. pairs: a file of two words and a rating a line, instead.

    Raises:
        UsageError: neither, both, or one word; InputError: a file cannot be read, a word or all pairs have no vector.

    Example:
        >>> vectors = nk.embed_words(["cats chase mice", "dogs chase cats"] * 50, dimensions=8, epochs=5).save("vectors")
        >>> nk.word_similarity(vectors, ["cats", "dogs"]).table.num_rows
        1
    """
    options, execution = with_settings((options, execution), settings, (VectorOptions, Execution))
    if (pairs is None) == (not words):
        raise UsageError("give two words or more, or a file of rated pairs (`pairs`)", parameter="pairs")
    if words and len(words) < 2:
        raise UsageError(f"only '{words[0]}' is given; add a second word", parameter="words")
    if pairs is None:
        return _compared(open_vectors(vectors, options, execution), words, {"vectors": str(vectors), **asdict(options)})
    listed, ratings = read_rated_pairs(Path(pairs))
    opened = open_vectors(vectors, options, execution)
    rated = similarity.rate_pairs(opened.known, listed, ratings, lower=options.lower)
    if not rated.covered:
        raise InputError(
            f"no pair of {pairs} has two words with a vector, such as {listed[0][0]} and {listed[0][1]}; check "
            "the language of the vectors"
        )
    facts: dict[str, Any] = {"vectors": str(vectors), "pairs_file": str(pairs), **asdict(options), "ci": LEVEL}
    facts |= {"pairs_with_vectors": rated.covered, "pairs_in_file": len(listed)}
    for name, (value, ends) in rated.correlations(level=LEVEL, seed=execution.seed).items():
        bounds = {} if ends is None else {f"{name}_low": ends.low, f"{name}_high": ends.high}
        facts |= {name: value if np.isfinite(value) else None, **bounds}
    table = pa.table(
        {
            "word": pa.array([a for a, _ in listed], pa.string()),
            "other": pa.array([b for _, b in listed], pa.string()),
            "rating": pa.array(ratings),
            "cosine": pa.array(rated.cosines, from_pandas=True),
        }
    )
    return WordTable([opened.path, Path(pairs)], "pairs", table, facts)


def _compared(opened: Vectors, words: Sequence[str], facts: dict[str, Any]) -> WordTable:
    different = list(dict.fromkeys(words))
    if len(different) < 2:
        raise UsageError(f"'{different[0]}' is repeated; give another word", parameter="words")
    vectors = {word: opened.vector(word) for word in different}
    rows = [
        {"word": a, "other": b, "cosine": similarity.cosine(vectors[a], vectors[b])}
        for i, a in enumerate(different)
        for b in different[i + 1 :]
    ]
    schema = pa.schema([("word", pa.string()), ("other", pa.string()), ("cosine", pa.float64())])
    return WordTable([opened.path], "pairs", pa.Table.from_pylist(rows, schema=schema), facts)


def odd_one_out(
    vectors: str | Path,
    words: Sequence[str],
    *,
    options: VectorOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> WordTable:
    """Return which of some words is the least like the others: word, cosine with the mean of them all, odd (true for one).

    Args:
        vectors: a run of embed-words, or a file of word vectors. words: three or more.

    Raises:
        UsageError: there are fewer than three different words; InputError: one has no vector.

    Example:
        >>> vectors = nk.embed_words(["cats chase mice", "dogs chase cats"] * 50, dimensions=8, epochs=5).save("vectors")
        >>> nk.odd_one_out(vectors, ["cats", "dogs", "mice"]).table["odd"].to_pylist().count(True)
        1
    """
    options, execution = with_settings((options, execution), settings, (VectorOptions, Execution))
    different = list(dict.fromkeys(words))
    if len(different) < 3:
        raise UsageError(f"three different words or more are needed, got {len(different)}", parameter="words")
    opened = open_vectors(vectors, options, execution)
    odd, cosines = similarity.odd_one_out(np.stack([opened.vector(word) for word in different]))
    table = pa.table(
        {
            "word": pa.array(different, pa.string()),
            "cosine": pa.array(cosines),
            "odd": pa.array([i == odd for i in range(len(different))]),
        }
    )
    facts = {"vectors": str(vectors), **asdict(options), "odd": different[odd]}
    return WordTable([opened.path], "words", table, facts)


def _count(known: WordVectors, row: int) -> int | None:
    return None if known.counts is None else int(known.counts[row])

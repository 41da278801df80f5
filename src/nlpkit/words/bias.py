"""Bias and change of word vectors: association tests, places on a line, drift between periods, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.platform import reporting, wording
from nlpkit.platform.options import Execution, names_in, with_settings
from nlpkit.platform.types import Float32Array, FloatArray
from nlpkit.words.files import read_word_sets
from nlpkit.words.options import VectorOptions
from nlpkit.words.query import Vectors, WordTable, open_vectors
from nlpkit.words.questions import direction, drift, pair_direction, projections, weat
from nlpkit.words.vectors import nearest_words

LINES = ("means", "pairs")
_NEIGHBOURS = 5


def word_bias(
    vectors: str | Path,
    sets: str | Path,
    *,
    project: str | Sequence[str] | None = None,
    line: str = "means",
    options: VectorOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> WordTable:
    """Return the association test of two sets of target words with two sets of attribute words, and places on the line between these.

    Rows: word, set (empty for words that were only to be placed), association (of targets; see `nlpkit.words.questions.associations`),
    projection (cosine with the line from the second attribute to the first). Facts: statistic, effect_size and p_value of
    `nlpkit.words.questions.weat` where there are targets, and words without a vector.

    Args:
        vectors: a run of embed-words, or a file of word vectors.
        sets: a TOML file with the tables attributes and, for a test, targets; see `nlpkit.words.files.read_word_sets`.
        project: further words to place, as a list or with commas.
        line: means (difference of the means) or pairs (first principal component of pairs, the attributes taken word by word).

    Raises:
        UsageError: an unknown line, pairs of lists of different lengths; InputError: a file cannot be read, or too few words of a
            set have vectors.
    """
    options, execution = with_settings((options, execution), settings, (VectorOptions, Execution))
    check_line(line)
    attributes, targets = read_word_sets(Path(sets))
    opened = open_vectors(vectors, options, execution)
    missing: list[str] = []
    lists = list(attributes.values())
    if line == "pairs":
        if len(lists[0]) != len(lists[1]):
            raise UsageError(
                f"`line=pairs` pairs the attributes word by word, but there are {len(lists[0])} and {len(lists[1])}",
                parameter="line",
            )
        both = [
            all(opened.everything.vector(w, lower=options.lower) is not None for w in pair)
            for pair in zip(*lists, strict=True)
        ]
        missing += [word for words in lists for word, there in zip(words, both, strict=True) if not there]
        attributes = {name: [w for w, there in zip(ws, both, strict=True) if there] for name, ws in attributes.items()}
    a, b = (_stacked(opened, name, words, missing, least=1)[1] for name, words in attributes.items())
    axis = pair_direction(a, b) if line == "pairs" else direction(a, b)
    facts: dict[str, Any] = {"vectors": str(vectors), "sets": str(sets), "line": line, **asdict(options)}
    facts["attributes"], facts["targets"] = list(attributes), list(targets)
    rows: list[dict[str, Any]] = []
    if targets:
        (x_words, x), (y_words, y) = (
            _stacked(opened, name, words, missing, least=2) for name, words in targets.items()
        )
        test = weat(x, y, a, b, seed=execution.seed)
        facts |= {
            "statistic": test.statistic, "effect_size": test.effect_size if np.isfinite(test.effect_size) else None,
            "p_value": test.p_value, "partitions": test.partitions, "exact": test.exact,
        }  # fmt: skip
        for name, words, matrix, values in zip(
            targets, (x_words, y_words), (x, y), (test.association_x, test.association_y), strict=True
        ):
            rows += _rows(words, name, values.tolist(), projections(matrix, axis))
    placed = list(dict.fromkeys(names_in(project)))
    if placed:
        words, matrix = _stacked(opened, "project", placed, missing, least=1)
        rows += _rows(words, "", [None] * len(words), projections(matrix, axis))
    if not rows:
        raise UsageError(
            f"{sets} has no targets: add [targets], or name words to place (`project`)", parameter="project"
        )
    facts["missing"] = sorted(set(missing))
    if missing:
        alone = " (or their pair has none)" if line == "pairs" else ""
        reporting.warn(f"without a vector{alone}, so left out: {wording.listed(facts['missing'], 10)}")
    schema = pa.schema(
        [("word", pa.string()), ("set", pa.string()), ("association", pa.float64()), ("projection", pa.float64())]
    )  # fmt: skip
    return WordTable([opened.path, Path(sets)], "words", pa.Table.from_pylist(rows, schema=schema), facts)


def check_line(line: str) -> None:
    """Raise UsageError unless it is a way to draw the line."""
    if line not in LINES:
        raise unknown_value("line", line, LINES)


def _rows(words: Sequence[str], name: str, values: Sequence[float | None], places: FloatArray) -> list[dict[str, Any]]:
    return [
        {"word": word, "set": name, "association": value, "projection": place}
        for word, value, place in zip(words, values, places.tolist(), strict=True)
    ]


def _stacked(
    opened: Vectors, name: str, words: Sequence[str], missing: list[str], *, least: int
) -> tuple[list[str], Float32Array]:
    """Return the words of a set that have a vector, and these (n, E); the others are added to those that are missing."""
    vectors = {word: opened.everything.vector(word, lower=opened.lower) for word in dict.fromkeys(words)}
    there = {word: vector for word, vector in vectors.items() if vector is not None}
    missing += [word for word in vectors if word not in there]
    if len(there) < least:
        raise InputError(
            f"{opened.path} has vectors of {len(there)} of the {len(vectors)} words of '{name}', but at least "
            f"{least} are needed (without: {wording.listed([w for w in vectors if w not in there], 5)})"
        )
    return list(there), np.stack(list(there.values()))


def word_drift(
    first: str | Path,
    second: str | Path,
    *,
    top: int = 20,
    least_count: int = 1,
    options: VectorOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> WordTable:
    """Return how far words moved between two vector spaces, such as two periods. Words that moved most for their frequency come first.

    Rows: word, z, distance, expected (see `nlpkit.words.questions.drift`), count_first, count_second, and of the first `top` words
    neighbours_first and neighbours_second among all words of each space. Facts: shared (words), agreement (mean cosine).

    Args:
        first, second: runs of embed-words, or files of word vectors, of as many dimensions.
        least_count: occurrences that a word needs in both.

    Raises:
        InputError: they have different dimensions, or no more shared words than dimensions, so that any space could be rotated onto the
            other.

    Example:
        >>> texts = ["cats chase mice and birds", "dogs chase cats and hares"] * 50
        >>> first = nk.embed_words(texts, dimensions=2, epochs=2).save("first")
        >>> second = nk.embed_words(texts, dimensions=2, epochs=2, seed=1).save("second")
        >>> nk.word_drift(first, second, least_count=1, top=3).table.num_rows
        7
    """
    options, execution = with_settings((options, execution), settings, (VectorOptions, Execution))
    a, b = (open_vectors(source, options, execution) for source in (first, second))
    if a.known.dimensions != b.known.dimensions:
        raise InputError(
            f"{first} has {a.known.dimensions} dimensions and {second} {b.known.dimensions}; learn both with the same options"
        )
    pairs = [(i, b.known.places[word]) for word, i in a.known.places.items() if word in b.known.places]
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    counts = [_counts(opened, rows[:, i]) for i, opened in enumerate((a, b))]
    rows, counts = _frequent(rows, counts, least_count)
    if len(rows) <= a.known.dimensions:
        raise InputError(
            f"{first} and {second} share {wording.counted(len(rows), 'word')} and have {a.known.dimensions} dimensions; "
            "they need more common words than dimensions"
        )
    moved = drift(a.known.vectors[rows[:, 0]], b.known.vectors[rows[:, 1]], np.minimum(*counts))
    order = np.lexsort((np.arange(len(rows)), -moved.z))
    kept = rows[order]
    near = [_neighbours(opened, kept[:top, i]) for i, opened in enumerate((a, b))]
    rest = [None] * (len(kept) - len(near[0]))
    table = pa.table(
        {
            "word": pa.array([a.known.words[i] for i in kept[:, 0].tolist()], pa.string()),
            "z": pa.array(moved.z[order]),
            "distance": pa.array(moved.distance[order]),
            "expected": pa.array(moved.expected[order]),
            "count_first": pa.array(counts[0][order]),
            "count_second": pa.array(counts[1][order]),
            "neighbours_first": pa.array([*near[0], *rest], pa.list_(pa.string())),
            "neighbours_second": pa.array([*near[1], *rest], pa.list_(pa.string())),
        }
    )
    facts = {
        "first": str(first), "second": str(second), "top": top, "least_count": least_count, **asdict(options), "shared": len(kept),
        "agreement": moved.agreement,
    }  # fmt: skip
    return WordTable([a.path, b.path], "drift", table, facts)


def _counts(opened: Vectors, rows: Any) -> Any:
    """Return the counts of words; of files without counts their ranks from below, as such files begin with the most frequent."""
    if opened.known.counts is not None:
        return opened.known.counts[rows]
    return len(opened.known.words) - rows


def _frequent(rows: Any, counts: list[Any], least: int) -> tuple[Any, list[Any]]:
    kept = (counts[0] >= least) & (counts[1] >= least)
    return rows[kept], [one[kept] for one in counts]


def _neighbours(opened: Vectors, rows: Any) -> list[list[str]]:
    known = opened.known
    near = nearest_words(known, known.vectors[rows], top=_NEIGHBOURS, leave_out=[[row] for row in rows.tolist()])
    return [[known.words[i] for i in ids.tolist()] for ids, _ in near]

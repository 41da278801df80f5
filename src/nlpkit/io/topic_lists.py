"""Lists of topics and their words, written for other programs: OCTIS, a line a topic, a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.io.atomic import atomic_file
from nlpkit.plain import to_json
from nlpkit.types import FloatArray


@dataclass(frozen=True, slots=True)
class TopicList:
    """The words of K topics, best first, with their weights where there are any, and the names of the topics."""

    topics: tuple[tuple[str, ...], ...]
    weights: tuple[FloatArray, ...] | None
    names: tuple[str, ...]


def topic_list_of_run(tables: Mapping[str, pa.Table]) -> TopicList:
    """Return the topics of a run from its tables topics and topic_terms."""
    topics, listed = tables["topics"], tables["topic_terms"]
    number = listed.column("topic").to_numpy()
    order = np.lexsort((listed.column("rank").to_numpy(), number))
    terms, weights = listed.column("term").to_pylist(), listed.column("weight").to_numpy().astype(np.float64)
    rows = {k: order[number[order] == k] for k in topics.column("topic").to_pylist()}
    return TopicList(
        tuple(tuple(terms[i] for i in places) for places in rows.values()),
        tuple(weights[places] for places in rows.values()),
        tuple(topics.column("label").to_pylist()),
    )


def topic_list_table(topics: TopicList) -> pa.Table:
    """Return one row for each word of a topic: topic, rank, term, its weight, and the name of the topic as `label`."""
    sizes = [len(words) for words in topics.topics]
    columns = {
        "topic": pa.array(np.repeat(np.arange(len(sizes)), sizes), pa.int32()),
        "rank": pa.array(np.concatenate([np.arange(1, n + 1) for n in sizes]), pa.int32()),
        "term": pa.array([word for words in topics.topics for word in words], pa.string()),
    }
    if topics.weights is not None:
        columns["weight"] = pa.array(np.concatenate(topics.weights), pa.float64())
    columns["label"] = pa.array([n for n, size in zip(topics.names, sizes, strict=True) for _ in range(size)])
    return pa.table(columns)


def write_octis(path: Path, topics: TopicList, *, force: bool) -> None:
    """Write {"topics": [[word, …], …]}, as OCTIS has it. Raises what `check_target` does."""
    with atomic_file(path, force=force) as part:
        part.write_text(
            to_json({"topics": [list(words) for words in topics.topics]}) + "\n", encoding="utf-8", newline="\n"
        )


def write_lines(path: Path, topics: TopicList, *, force: bool) -> None:
    """Write a line for each topic, its words parted by blanks.

    Raises:
        InputError: a word holds a blank; and what `check_target` raises.
    """
    for words in topics.topics:
        for word in words:
            if len(word.split()) != 1:
                raise InputError(
                    f"the word '{word}' contains a space, which separates words in a file of lines; write .json or .csv"
                )
    with atomic_file(path, force=force) as part:
        part.write_text("".join(f"{' '.join(words)}\n" for words in topics.topics), encoding="utf-8", newline="\n")

"""Topics compared, for people: those of two runs, and those of several models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nlpkit.platform import wording
from nlpkit.platform.views.blocks import Block, Note, Table, cell, shown_rows

if TYPE_CHECKING:
    from nlpkit.topics.diff.run import TopicDiff

NAMES = {
    "stability_words": "stable words",
    "stability_documents": "stable docs",
    "memory_mb": "MB",
}
DIGITS = {"memory_mb": 0, "perplexity": 0, "seconds": 1}
LABEL_WIDTH = 32
WORDS_SHOWN = 4


def diff_blocks(result: TopicDiff, most: int | None = None) -> Iterator[Block]:
    """Yield a row for each relation of topics, and what the shared documents say; most: rows that will be shown."""
    shared = bool(result.shared)
    relations = result.relations.to_pylist()
    sizes = [float(max(row["a_size"] or 0, row["b_size"] or 0)) for row in relations]
    kept, before = set(shown_rows(len(relations), most, sizes)), ("", -1)
    rows = []
    for number, row in enumerate(relations):
        key = (row["relation"], row["b"] if row["relation"] == "merged" else row["a"])
        shown = "" if key == before and row["relation"] in ("split", "merged") else row["relation"]
        before = key if number in kept else before
        cells = [shown, _topic(row, "a"), _topic(row, "b")]
        if shared:
            cells += [cell(row["documents"]), cell(row["share_of_a"], ".0%"), cell(row["share_of_b"], ".0%")]
        cells += [cell(row["words"], ".2f"), _gained_and_lost(row)]
        rows.append(cells)
    columns = ["", f"A ({result.a.path.name})", f"B ({result.b.path.name})"]
    numbers = ["documents", "of A", "of B"] if shared else []
    columns += [*numbers, "words", "+ gained, − lost"]
    yield Table(columns, rows, right=[*numbers, "words"], noun="relations", sizes=sizes, rest="-o FILE")
    yield from _diff_notes(result)


def _diff_notes(result: TopicDiff) -> Iterator[Block]:
    facts = result.facts()
    counts = ", ".join(f"{n} {relation}" for relation, n in facts["relations"].items() if n)
    yield Note(
        f"{wording.counted(facts['a_topics'], 'topic')} of A, {facts['b_topics']} of B, compared by {result.by} "
        f"(threshold {result.threshold:g}, half of it for matched): {counts}"
    )
    if not result.shared:
        yield Note("the runs have no document of the same id")
    elif facts["ami"] is not None:
        yield Note(
            f"{wording.counted(result.shared, 'document')} in both: {facts['same']:,} in topics that correspond, "
            f"{facts['moved']:,} in others, {facts['left_topics']:,} without a topic in B alone, {facts['joined_topics']:,} in "
            f"A alone; of those with a topic in both AMI {facts['ami']:.3f}, ARI {facts['ari']:.3f}"
        )
    yield Note(
        "of A, of B: share of the topic's documents that are in the other one; words: cosine of the words by their ranks"
    )


def _topic(row: dict[str, Any], side: str) -> str:
    if row[side] is None:
        return ""
    label = wording.truncated(row[f"{side}_label"], LABEL_WIDTH)
    return f"{row[side]} {label} ({wording.count(row[f'{side}_size'])})"


def _gained_and_lost(row: dict[str, Any]) -> str:
    gained = [f"+{word}" for word in (row["gained"] or [])[:WORDS_SHOWN]]
    lost = [f"−{word}" for word in (row["lost"] or [])[:WORDS_SHOWN]]
    return " ".join(gained + lost)

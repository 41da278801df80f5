"""Two runs compared on the screen: a row for each relation of topics, and what the shared documents say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.workflows.diff import TopicDiff

LABEL_WIDTH = 32
WORDS_SHOWN = 4


def show(result: TopicDiff) -> None:
    """Print the relations of topics, or their JSON object."""
    if console.settings.json:
        console.emit_json(result.to_dict())
        return
    shared = bool(result.shared)
    relations = result.relations.to_pylist()
    sizes = [float(max(row["a_size"] or 0, row["b_size"] or 0)) for row in relations]
    kept, before = set(console.shown_rows(len(relations), sizes)), ("", -1)
    rows = []
    for number, row in enumerate(relations):
        key = (row["relation"], row["b"] if row["relation"] == "merged" else row["a"])
        shown = "" if key == before and row["relation"] in ("split", "merged") else row["relation"]
        before = key if number in kept else before
        cells = [shown, _topic(row, "a"), _topic(row, "b")]
        if shared:
            cells += ["" if row["documents"] is None else wording.count(row["documents"])]
            cells += [_percent(row["share_of_a"]), _percent(row["share_of_b"])]
        cells += ["" if row["words"] is None else f"{row['words']:.2f}", _words(row)]
        rows.append(cells)
    columns = ["", f"A ({result.a.path.name})", f"B ({result.b.path.name})"]
    numbers = ["documents", "of A", "of B"] if shared else []
    columns += [*numbers, "words", "+ gained, − lost"]
    console.table(columns, rows, right=[*numbers, "words"], noun="relations", sizes=sizes, rest="-o FILE")
    _notes(result)


def _notes(result: TopicDiff) -> None:
    facts = result.facts()
    counts = ", ".join(f"{n} {relation}" for relation, n in facts["relations"].items() if n)
    reporting.note(
        f"{wording.counted(facts['a_topics'], 'topic')} of A, {facts['b_topics']} of B, compared by {result.by} "
        f"(threshold {result.threshold:g}, half of it for matched): {counts}"
    )
    if not result.shared:
        reporting.note("the runs have no document of the same id")
    elif facts["ami"] is not None:
        reporting.note(
            f"{wording.counted(result.shared, 'document')} in both: {facts['same']:,} in topics that correspond, "
            f"{facts['moved']:,} in others, {facts['left_topics']:,} without a topic in B alone, {facts['joined_topics']:,} in "
            f"A alone; of those with a topic in both AMI {facts['ami']:.3f}, ARI {facts['ari']:.3f}"
        )
    reporting.note(
        "of A, of B: share of the topic's documents that are in the other one; words: cosine of the words by their ranks"
    )


def _topic(row: dict[str, Any], side: str) -> str:
    if row[side] is None:
        return ""
    label = wording.truncated(row[f"{side}_label"], LABEL_WIDTH)
    return f"{row[side]} {label} ({wording.count(row[f'{side}_size'])})"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _words(row: dict[str, Any]) -> str:
    gained = [f"+{word}" for word in (row["gained"] or [])[:WORDS_SHOWN]]
    lost = [f"−{word}" for word in (row["lost"] or [])[:WORDS_SHOWN]]
    return " ".join(gained + lost)

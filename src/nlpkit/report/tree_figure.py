"""The tree of topics that a hierarchical model has learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nlpkit.report.figures import CM

INDENT = 1.0  # cm of a level


def draw_topic_tree(
    figure: Any,
    *,
    parents: Mapping[int, int | None],
    sizes: Mapping[int, int],
    names: Sequence[str],
    colours: Sequence[str],
) -> None:
    """Draw each topic below its parent, a row each, with its number of documents.

    Args:
        parents: the parent of each topic, None of a root; sizes: documents of each topic; both by topic.
    """
    axes = figure.add_subplot()
    rows = tree_rows(parents)
    at = {topic: (level, row) for row, (topic, level) in enumerate(rows)}
    for topic, (level, row) in at.items():
        parent = parents[topic]
        if parent is not None:
            x, y = at[parent]
            axes.plot([x, x, level], [y, row, row], color="#7a828b", lw=0.9, zorder=1)
        axes.plot(level, row, "o", ms=3.5, color=colours[topic], zorder=2)
        axes.annotate(
            f"{names[topic]} ({sizes[topic]:,})", (level, row), xytext=(5, 0), textcoords="offset points", va="center",
            fontsize=6.5,
        )  # fmt: skip
    depth = 1 + max(level for _, level in rows)
    axes.set_xlim(-0.2, max(figure.get_size_inches()[0] / CM / INDENT, 2 * depth))
    axes.set_ylim(len(rows) - 0.5, -0.5)  # downwards
    axes.set_axis_off()
    figure.supxlabel("topics of the model, from the root down (documents)", x=0.02, ha="left", fontsize=7)


def tree_rows(parents: Mapping[int, int | None]) -> list[tuple[int, int]]:
    """Return each topic and its level, each followed by the topics below it."""
    below: dict[int | None, list[int]] = {}
    for topic, parent in parents.items():
        below.setdefault(parent, []).append(topic)
    rows, waiting = [], [(topic, 0) for topic in reversed(below.get(None, []))]
    while waiting:
        topic, level = waiting.pop()
        rows.append((topic, level))
        waiting += [(child, level + 1) for child in reversed(below.get(topic, []))]
    return rows

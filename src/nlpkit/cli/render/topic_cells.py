"""Topics over time and by group on the screen: shares, a line of blocks for each topic, trends, differences, words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from nlpkit import reporting, wording
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.workflows.topic_tables import TopicTable
    from nlpkit.workflows.topics import Axis, TopicShares

BLOCKS = "▁▂▃▄▅▆▇█"
LINE_WIDTH = 24
MOST_GROUPS = 6  # whose shares fit beside each other
DIFFERENCES = ("difference", "difference_low", "difference_high")
LABEL_WIDTH = 40
SHOWN_VALUES = 5  # of a number whose effects are shown
TEXT_WIDTH = 160
REST = "-o FILE"


def shares(result: TopicShares, words: TopicTable | None) -> None:
    """Print the tables of topics in cells, or their JSON object."""
    if console.settings.json:
        extra = {} if words is None else {"terms": words.facts["terms"], "words": words.table.to_pylist()}
        console.emit_json({**result.to_dict(), **extra})
        return
    _overall(result)
    for axis in result.groups:
        _groups(result, axis)
    if words is not None:
        _words(result, words)
    _notes(result)


def _overall(result: TopicShares) -> None:
    trends = None if result.trends is None else result.trends.to_pylist()
    lines = _lines(result)
    rows, sizes, none = [], [], []
    for k, row in enumerate(result.overall.to_pylist()):
        is_topic = row["topic"] >= 0
        if not is_topic and not row["count"]:
            continue
        cells = [
            str(row["topic"]),
            _label(row["topic_label"]),
            _count(row["count"], result.mixed),
            _percent(row["share"]),
        ]
        cells.append(_range(row["low"], row["high"]))
        if lines:
            cells.append(lines[k])
        if trends:
            cells += _trend(trends[k]) if is_topic else [""] * 3
        if is_topic:
            rows.append(cells)
            sizes.append(row["count"])
        else:
            none.append(cells)
    columns = ["topic", "name", "docs", "share", f"{result.options.ci:.0%}"]
    if lines:
        assert result.periods is not None
        columns.append(f"{result.periods.names[0]} to {result.periods.names[-1]}")
    columns += ["trend", "q", ""] if trends else []
    right = ["topic", "docs", "share", f"{result.options.ci:.0%}", "q"]
    console.table(columns, rows, right=right, noun="topics", sizes=sizes, rest=REST, after=none, texts=["name"])


def _lines(result: TopicShares) -> list[str]:
    """Return a line of blocks for each topic: its share in each period, or each few periods; a blank where there are no documents."""
    cells = result.over_time
    if cells is None or len(cells.n) < 2:
        return []
    width = min(len(cells.n), LINE_WIDTH if console.width() > 100 else LINE_WIDTH // 2)
    place = np.arange(len(cells.n)) * width // len(cells.n)
    values = cells.merged(place, width).shares
    highest = np.nanmax(values, axis=0, initial=0.0)
    lines = []
    for k in range(values.shape[1]):
        heights = values[:, k] / highest[k] if highest[k] else values[:, k]
        lines.append(
            "".join(" " if np.isnan(h) else BLOCKS[min(int(h * len(BLOCKS)), len(BLOCKS) - 1)] for h in heights)
        )
    return lines


def _trend(row: dict[str, Any]) -> list[str]:
    if row["p"] is None:
        return ["", "", ""]
    return [f"{_percent(row['share_first'])} → {_percent(row['share_last'])}", _q(row["q"]), row["change"]]


def _groups(result: TopicShares, axis: Axis) -> None:
    assert result.differences is not None
    cells = result.by_group(axis)
    values, rows, sizes = cells.shares, [], []
    few = len(axis.names) <= MOST_GROUPS
    for row in result.differences.filter(pc.equal(result.differences.column("by"), axis.column)).to_pylist():
        k = row["topic"]
        named = [str(k), _label(row["topic_label"])]
        if few:
            named += [_percent(value) for value in values[:, k]]
        else:
            named += [
                f"{row['lowest']} {_percent(row['lowest_share'])}",
                f"{row['highest']} {_percent(row['highest_share'])}",
            ]
        rough = row["least_expected"] is not None and row["least_expected"] < 5
        rows.append(
            [*named, "" if row["effect"] is None else f"{row['effect']:.2f}", _q(row["q"]) + (" ~" if rough else "  ")]
        )
        sizes.append(float(cells.sums[:, k].sum()))
    heads = (
        [f"{name} ({wording.count(n)})" for name, n in zip(axis.names, cells.n, strict=True)]
        if few
        else ["lowest", "highest"]
    )
    title = (
        f"Shares by {axis.column}, {wording.counted(len(axis.names), 'group')} (in brackets: documents)"
        if few
        else f"Shares by {axis.column}, {wording.counted(len(axis.names), 'group')}"
    )
    right = ["topic", *(heads if few else ()), "effect", "q"]
    console.table(
        ["topic", "name", *heads, "effect", "q"],
        rows,
        right=right,
        title=title,
        noun="topics",
        sizes=sizes,
        rest=REST,
        texts=["name"],
    )


def _words(result: TopicShares, words: TopicTable) -> None:
    names = [axis.column for axis in result.axes]
    rows: dict[tuple[Any, ...], list[str]] = {}
    sizes: dict[tuple[Any, ...], int] = {}
    for row in words.table.to_pylist():
        key = (row["topic"], *(row[name] for name in names))
        rows.setdefault(
            key,
            [
                str(row["topic"]),
                _label(row["topic_label"]),
                *(row[name] for name in names),
                wording.count(row["documents"]),
                "",
            ],
        )
        rows[key][-1] = f"{rows[key][-1]} {row['term']}".strip()
        sizes[key] = row["documents"]
    order = sorted(rows)
    columns = ["topic", "name", *names, "documents", "words"]
    title = f"Words of topics by {' and '.join(names)}" if names else "Words of topics"
    console.table(
        columns, [rows[key] for key in order], right=["topic", "documents"], title=title, noun="cells",
        sizes=[sizes[key] for key in order], rest="--save-words FILE",
    )  # fmt: skip


def _notes(result: TopicShares) -> None:
    counting = (
        "documents count for all their topics by probability (--count main: for their main one)"
        if result.mixed
        else "documents count for their main topic"
    )
    reporting.note(f"{wording.counted(int(result.cells.n.sum()), 'document')}; {counting}")
    if result.periods is not None:
        empty = int((result.by_group(result.periods).n == 0).sum())
        without = f", {empty} of them without documents" if empty else ""
        reporting.note(
            f"{wording.counted(len(result.periods.names), 'period')}{without}; blocks: share, the highest of each topic is full"
        )
        if result.trends is None:
            reporting.note("no trends: they need at least three periods with documents")
        else:
            reporting.note(
                "trend: fitted share in the first and the last period; q: false discovery rate over all topics, periods are the units"
            )
    rough = result.differences is not None and any(
        v is not None and v < 5 for v in result.differences.column("least_expected").to_pylist()
    )
    if result.groups:
        reporting.note(
            "effect: root of the share of the variance that lies between groups"
            + ("; ~: fewer than 5 documents expected in a group, q is rough" if rough else "")
        )


def answer(result: TopicTable) -> None:
    """Print the answer to a question, or its JSON object."""
    if console.settings.json:
        console.emit_json(result.to_dict())
        return
    rows = result.table.to_pylist()
    if result.kind == "documents":
        _documents(rows)
        return
    if result.kind == "tests":
        _permutations(rows, result.facts)
        return
    if result.kind == "effects":
        _effects(rows, result.facts)
        return
    shown: dict[str, Callable[[Any], str]] = dict.fromkeys(
        ("weight", "words", "centroids", "documents", "correlation"), _number
    )
    shown |= dict.fromkeys(("topic_label", "other_label"), _label)
    columns = result.table.column_names
    cells = [[shown.get(name, str)(row[name]) for name in columns] for row in rows]
    heads = [name.replace("_", " ") for name in columns]
    right = [
        head for head, name in zip(heads, columns, strict=True) if name not in ("topic_label", "other_label", "term")
    ]
    titles = {
        "topics": f"Topics like {result.facts.get('similar_to')} {result.facts.get('topic_label')}",
        "pairs": "Correlations of topics over documents",
    }
    console.table(heads, cells, right=right, title=titles.get(result.kind, ""), noun=result.kind, rest=REST)


def _effects(rows: list[dict[str, Any]], facts: dict[str, Any]) -> None:
    """Print the share of each topic at the values of a column, or the coefficients of the regression, topic by topic."""
    if facts.get("scale") == "number":
        rows = _some_values(rows)
    level = f"{facts['ci']:.0%} interval"
    has_shares = facts["of"] is not None
    heads = (
        [f"topic, {facts['of']}", "share", level, "difference", f"{level} of it", "p"]
        if has_shares
        else ["topic, covariate", "estimate", level, "se", "t", "p"]
    )
    cells: list[list[str]] = []
    for number, row in enumerate(rows):
        if number == 0 or rows[number - 1]["topic"] != row["topic"]:
            cells.append([f"{row['topic']} {row['topic_label']}", *[""] * 5])
        cells.append(_share_cells(row) if has_shares else _coefficient_cells(row))
    title = f"Effects on shares of topics in {wording.count(facts['documents'])} documents: {facts['prevalence']}"
    console.table(heads, cells, right=heads[1:], title=title, noun="effects", rest=REST, texts=heads[:1])
    if any((row.get("low") or 0) < 0 or (row.get("high") or 0) > 1 for row in rows if "share" in row):
        reporting.note("shares come from a linear regression, so they and their intervals can pass 0% and 100%")
    if has_shares:
        reporting.note("difference: from the value marked (reference), in percentage points")
    reporting.note(
        "intervals hold for the topics of this fit; that another start or number of topics could give others is not in them"
    )


def _share_cells(row: dict[str, Any]) -> list[str]:
    """Return the share of a topic at a value, and its difference from the value that the others are compared with."""
    value = f"{row['value']:.6g}" if isinstance(row["value"], float) else str(row["value"])
    share = [_percent(row["share"]), _range(row["low"], row["high"])]
    if row["difference"] == 0 and row["p"] is None:
        return [f"  {value}", *share, "(reference)", "", ""]
    difference = "" if row["difference"] is None else f"{100 * row['difference']:+.1f}"
    return [f"  {value}", *share, difference, _range(row["difference_low"], row["difference_high"]), _p(row["p"])]


def _coefficient_cells(row: dict[str, Any]) -> list[str]:
    interval = "" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"
    numbers = ["" if row[name] is None else f"{row[name]:.3f}" for name in ("estimate", "se", "t")]
    return [f"  {row['covariate']}", numbers[0], interval, *numbers[1:], _p(row["p"])]


def _p(value: float | None) -> str:
    return "" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _permutations(rows: Sequence[dict[str, Any]], facts: dict[str, Any]) -> None:
    names = ("difference", "permuted_mean", "permuted_low", "permuted_high")
    cells = [
        [
            str(row["topic"]), _label(row["topic_label"]), *(_percent(row[name]) for name in names), f"{row['p']:.3f}",
            f"{row['match']:.2f}",
        ]
        for row in rows
    ]  # fmt: skip
    heads = ["topic", "topic label", *(name.replace("_", " ") for name in names), "p", "match"]
    first, second = facts["values"]
    console.table(
        heads, cells, right=[head for head in heads if head != "topic label"], noun="topics", rest=REST,
        title=f"Effect of {facts['of']} on shares of topics, {second} less {first}, beside {facts['permutations']} permutations",
    )  # fmt: skip
    least = 1 / (facts["permutations"] + 1)
    small = sum(row["p"] < 0.05 for row in rows)
    reporting.note(
        f"the effect on {small} of {wording.counted(len(rows), 'topic')} has p < 0.05 (the smallest possible p is {least:.3f}). Each topic "
        "is tested alone, without a correction for their number. match: how alike the words of matched topics are, at most 1"
    )


def _some_values(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of each topic at five values of a number, from the least to the greatest; the table has them all."""
    n = sum(row["topic"] == rows[0]["topic"] for row in rows)
    shown = sorted({round(i * (n - 1) / (SHOWN_VALUES - 1)) for i in range(SHOWN_VALUES)})
    return [rows[first + i] for first in range(0, len(rows), n) for i in shown]


def _documents(rows: Sequence[dict[str, Any]]) -> None:
    for topic in dict.fromkeys(row["topic"] for row in rows):
        of_topic = [row for row in rows if row["topic"] == topic]
        cells = [
            [
                str(row["rank"]),
                f"{row['prob']:.3f}",
                row["id"],
                wording.truncated(
                    " ".join((row["text"] or row.get("title") or "")[: 4 * TEXT_WIDTH].split()), TEXT_WIDTH
                ),
            ]
            for row in of_topic
        ]
        console.table(
            ["rank", "prob", "id", "text"],
            cells,
            right=["rank", "prob"],
            title=f"Topic {topic}: {of_topic[0]['topic_label']}",
            noun="documents",
            rest=REST,
        )


def _label(text: str) -> str:
    return wording.truncated(text, LABEL_WIDTH)


def _count(value: float, mixed: bool) -> str:
    return f"{value:,.1f}" if mixed else wording.count(value)


def _percent(share: float | None) -> str:
    if share is None or share != share:
        return ""
    return f"{share:.1%}"


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"{100 * low:.1f} to {100 * high:.1f}" if low < 0 else f"{100 * low:.1f}–{100 * high:.1f}"


def _q(value: float | None) -> str:
    return "" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)

"""Topics that go together in documents, as a network.

Further parts, in this order:
- Mean ranks of methods on one axis, those that do not differ joined by bars (Demšar 2006, figure 1).
- Topics over time, as lines with intervals or as layers of one hundred per cent.
- The tree of topics that a hierarchical model has learnt.
- Topics as circles by their distances, and the words of a topic at each level of a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nlpkit.platform.types import BoolArray, FloatArray
from nlpkit.platform.views.chart import COLOURS
from nlpkit.platform.views.figures import CM, bare, name_panel, panels, percents, wrapped
from nlpkit.topics.effects.figures import DASHES, MARKS

LEAST = 0.01  # correlation from which topics are joined, the cutoff of stm's topicCorr
LARGEST = 700.0  # points² of the largest topic
EDGE = "#7a828b"
MOST_NUMBERS = 10  # of topics that are named below an axis


def draw_correlations(
    figure: Any, *, correlations: FloatArray, sizes: FloatArray, names: Sequence[str], colours: Sequence[str]
) -> None:
    """Draw topics as points, as large as their documents, joined where they are positively correlated: the thicker, the more.

    Topics that go together lie together: places are the first two axes of classical scaling of √(2 (1 - r)) (Torgerson 1952).

    Args:
        correlations: r (K, K), NaN counts as 0. sizes (K,): of the topics.
    """
    r = np.nan_to_num(correlations)
    np.fill_diagonal(r, 1.0)
    pairs = [(j, k) for k in range(len(r)) for j in range(k) if r[j, k] >= LEAST]
    strongest = max((r[j, k] for j, k in pairs), default=1.0)
    edges = [(j, k, 0.4 + 3.6 * r[j, k] / strongest) for j, k in pairs]
    joined = (
        f"joined from r = {LEAST:g} on; the strongest has r = {strongest:.2f}"
        if pairs
        else "no two are positively correlated"
    )
    title = f"correlation of topics over documents: {joined}"
    places = classical_scaling(2.0 * (1.0 - r))
    draw_distances(figure, places=places, sizes=sizes, names=names, colours=colours, title=title, edges=edges)


def classical_scaling(squared: FloatArray) -> FloatArray:
    """Return places (K, 2) in the plane for squared distances (K, K); each axis is turned so that its largest place is above 0."""
    K = len(squared)
    centre = np.eye(K) - 1.0 / K
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    places = np.zeros((K, 2))
    for axis, at in enumerate(np.argsort(-values, kind="stable")[:2]):
        vector = vectors[:, at] * np.sqrt(max(values[at], 0.0))
        places[:, axis] = vector * np.sign(vector[np.abs(vector).argmax()] or 1.0)
    return places


# ------------------------------------------------------------------------------------------------------------------------
# Mean ranks of methods on one axis, those that do not differ joined by bars (Demšar 2006, figure 1).

ROW, LEFT_OUT = 0.55, 3.0  # cm of a method; of axis, title and bars


def rank_height(methods: int) -> float:
    """Return the usual height of the picture in cm."""
    return LEFT_OUT + ROW * methods


def draw_number_curves(figure: Any, curves: Sequence[Mapping[str, Any]]) -> None:
    """Draw scores by the number of topics, a panel for each, a line for each model with bars from low to high; see `number_curves`."""
    columns = min(2, len(curves))
    names = list(dict.fromkeys(line["name"] for curve in curves for line in curve["lines"]))
    grid = panels(figure, len(curves), columns)
    for axes, curve in zip(grid, curves, strict=True):
        for line in curve["lines"]:
            i, y = names.index(line["name"]), np.array(line["y"])
            ends = [y - np.array(line["low"]), np.array(line["high"]) - y]
            look: dict[str, Any] = {
                "ls": DASHES[i % len(DASHES)],
                "marker": MARKS[i % len(MARKS)],
                "ms": 3,
                "lw": 1.2,
                "elinewidth": 0.8,
            }
            axes.errorbar(
                line["x"], y, yerr=ends, color=COLOURS[i % len(COLOURS)], capsize=2, label=line["name"], **look
            )
        name_panel(axes, curve["title"], columns)
        axes.set_xlabel("number of topics", fontsize=6.5)
        tried = sorted({x for line in curve["lines"] for x in line["x"]})
        axes.set_xticks(tried if len(tried) <= MOST_NUMBERS else tried[:: -(-len(tried) // MOST_NUMBERS)])
        bare(axes, grid="y")
    handles = {label: handle for axes in grid for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    if len(handles) > 1:
        figure.legend(handles.values(), handles, loc="outside upper center", ncols=min(len(handles), 4), frameon=False)


def draw_ranks(
    figure: Any, *, ranks: Mapping[str, float], difference: float, groups: Sequence[Sequence[float]], title: str
) -> None:
    """Draw the mean rank of each method with half the critical difference on either side; bars join methods that do not differ.

    Args:
        ranks: mean rank of each method, 1 the best; difference: the critical difference; groups: (low, high) of each bar.
    """
    axes = figure.add_subplot()
    names = sorted(ranks, key=lambda name: (ranks[name], name))
    for place, name in enumerate(names):
        axes.errorbar(
            ranks[name], place, xerr=difference / 2, fmt="o", ms=4, lw=1, capsize=2, color=COLOURS[0], zorder=3
        )
    above = -0.8
    for low, high in groups:
        axes.plot([low, high], [above, above], color=COLOURS[1], lw=2.5, solid_capstyle="butt")
        above -= 0.45
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, above)  # downwards
    axes.set_xlabel("mean rank, 1 is the best", fontsize=7)
    axes.set_title(title, fontsize=7, loc="left")
    axes.tick_params(labelsize=7)
    bare(axes, grid="x")


# ------------------------------------------------------------------------------------------------------------------------
# Topics over time, as lines with intervals or as layers of one hundred per cent.

HATCHES = (None, "//", "..", "xx", "\\\\", "--", "oo")


def draw_over_time(figure: Any, time: Mapping[str, Any], names: Sequence[str], colours: Sequence[str]) -> None:
    """Draw the share of each topic over periods with its interval, all on one scale; a period between empty ones is a point with a bar."""
    columns = 3 if len(names) > 2 else max(len(names), 1)
    grid = panels(figure, len(names), columns, sharey=True)
    x = np.arange(len(time["cells"]))
    for k, (axes, name) in enumerate(zip(grid, names, strict=False)):
        series, colour = time["series"][k], colours[k]
        share, low, high = (percents(series[key]) for key in ("share", "low", "high"))
        axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        axes.plot(x, share, color=colour, lw=1.2)
        alone = [first for first, last in stretches(np.isfinite(share)) if first == last]  # of which there is no line
        axes.vlines(alone, low[alone], high[alone], color=colour, lw=1.2, alpha=0.5)
        axes.plot(alone, share[alone], "s", ms=3, color=colour)
        for at, changed in enumerate(series.get("changed") or []):
            if changed:
                axes.plot(at, share[at], "o", ms=4, color=colour)
        axes.tick_params(axis="y", labelsize=6)
        name_panel(axes, name, columns)
        bare(axes, grid="y")
    for axes in grid[:1]:  # on one scale, which holds every interval only now
        axes.set_ylim(bottom=0)
    figure.supylabel("% of the documents", fontsize=7)
    _name_periods(figure, grid, time["cells"], fontsize=6)


def draw_time_by_group(figure: Any, table: Mapping[str, Any], names: Sequence[str]) -> None:
    """Draw the share of each topic over periods, a line with its interval for each group; lines differ by colour, dashes and marks.

    Args:
        table: cells (P,) periods, groups (G,), and share, low, high of each topic, group and period (K, G, P).
    """
    columns = min(3, len(names))
    grid = panels(figure, len(names), columns, sharey=True)
    x = np.arange(len(table["cells"]))
    for k, (axes, name) in enumerate(zip(grid, names, strict=False)):
        for g, group in enumerate(table["groups"]):
            share, low, high = (percents(table[key][k][g]) for key in ("share", "low", "high"))
            axes.fill_between(x, low, high, color=COLOURS[g], alpha=0.1, lw=0)
            look: dict[str, Any] = {"ls": DASHES[g], "marker": MARKS[g], "ms": 2.5, "label": group}
            axes.plot(x, share, lw=1.1, color=COLOURS[g], **look)
        axes.tick_params(axis="y", labelsize=6)
        name_panel(axes, name, columns)
        bare(axes, grid="y")
    grid[0].set_ylim(bottom=0)
    figure.supylabel("% of the documents of a group", fontsize=7)
    handles = grid[0].get_legend_handles_labels()[0]
    n, of_all = len(table["groups"]), table["of"]
    heading = table["name"] + (f" (the {n} most frequent of {of_all:,})" if of_all > n else "")
    title = {"title": heading, "ncols": min(len(handles), 3), "frameon": False}
    figure.legend(handles, table["groups"], loc="outside upper center", **title)
    _name_periods(figure, grid, table["cells"], fontsize=6)


def draw_stream(figure: Any, time: Mapping[str, Any], names: Sequence[str], colours: Sequence[str]) -> None:
    """Draw the shares of the topics over periods as layers of one hundred per cent; what is missing belongs to no topic shown.

    Neighbouring layers have different hatches, which eyes that see no colours and grey paper need.

    Periods without documents are a gap; a period between two such is half a period wide, of many periods more, to be seen.
    """
    axes = figure.add_subplot()
    n = len(time["cells"])
    shares = np.array([percents(time["series"][k]["share"]) for k in range(len(names))])
    layers = list[Any]()
    left, right, half = n - 1.0, 0.0, min(max(n / 150, 0.25), 0.75)
    for first, last in stretches(np.isfinite(shares).all(axis=0)):
        x, y = np.arange(first, last + 1.0), shares[:, first : last + 1]
        alone = first == last
        if alone:
            x, y = first + np.array([-half, half]), np.repeat(y, 2, axis=1)
        layers = axes.stackplot(
            x, y, colors=list(colours[: len(names)]), alpha=0.85, edgecolor="white", linewidth=0 if alone else 0.5
        )
        for k, layer in enumerate(layers):
            layer.set_hatch(HATCHES[k % len(HATCHES)])
        left, right = min(left, x[0]), max(right, x[-1])
    axes.set_xlim(min(left, 0), max(right, n - 1))
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of the documents")
    axes.legend(layers[::-1], names[: len(layers)][::-1], loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    bare(axes)
    _name_periods(figure, [axes], time["cells"], fontsize=8)


def _name_periods(figure: Any, grid: Sequence[Any], cells: Sequence[str], *, fontsize: float) -> None:
    """Write as many names of periods below the panels as have room beside each other, evenly spaced."""
    n, axes = len(cells), grid[0]
    for panel in grid:
        panel.set_xticks([0, n - 1], [cells[0], cells[-1]], fontsize=fontsize)
    figure.draw_without_rendering()  # lays the panels out; names between the ends change nothing in it
    letter = max(t.get_window_extent().width / len(t.get_text()) for t in axes.get_xticklabels())
    wide = letter * (max(map(len, cells)) + 1.5)
    (left, _), (right, _) = axes.transData.transform([(0, 0), (n - 1, 0)])
    ticks = np.arange(n)[:: max(int(np.ceil(wide * (n - 1) / (right - left))), 1)]
    for panel in grid:
        panel.set_xticks(ticks, [cells[i] for i in ticks], fontsize=fontsize)


def stretches(known: BoolArray) -> list[tuple[int, int]]:
    """Return the first and the last place of each stretch of neighbours that are true."""
    edges = np.flatnonzero(np.diff(np.r_[False, known, False].astype(np.int8))).tolist()
    return [(first, after - 1) for first, after in zip(edges[::2], edges[1::2], strict=True)]


# ------------------------------------------------------------------------------------------------------------------------
# The tree of topics that a hierarchical model has learnt.

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


# ------------------------------------------------------------------------------------------------------------------------
# Topics as circles by their distances, and the words of a topic at each level of a column.


def draw_distances(
    figure: Any,
    *,
    places: FloatArray,
    sizes: FloatArray,
    names: Sequence[str],
    colours: Sequence[str],
    title: str,
    edges: Sequence[tuple[int, int, float]] = (),
) -> None:
    """Draw topics as circles, their area the documents, with their names below them, none over another where there is room.

    Args:
        places: (K, 2). sizes: (K,) documents. edges: lines between two topics, with their width.
    """
    from matplotlib import patheffects

    width, height = figure.get_size_inches() * 72 - (14, 30)  # points, without title and margins
    areas = np.maximum(LARGEST * sizes / max(float(sizes.max()), 1.0), 8.0)
    radius, texts = np.sqrt(areas) / 2, [wrapped(name, 18) for name in names]
    lines = [text.split("\n") for text in texts]
    half = np.array([
        [max(r, 1.9 * max(map(len, of_name))) + 2, r + 4.0 * len(of_name) + 1] for r, of_name in zip(radius, lines, strict=True)
    ])  # fmt: skip
    at = boxes_apart(places, half, (float(width), float(height)))
    axes = figure.add_subplot()
    outline = patheffects.withStroke(linewidth=1.6, foreground=axes.get_facecolor())
    centre = at + np.column_stack([np.zeros(len(at)), radius - half[:, 1] + 1])
    for j, k, thick in edges:
        axes.plot(*centre[[j, k]].T, color=EDGE, lw=thick, alpha=0.7, zorder=1)
    axes.scatter(*centre.T, s=areas, c=list(colours), zorder=2, edgecolors="white", linewidths=0.5)
    for (x, y), r, text in zip(centre, radius, texts, strict=True):
        axes.text(x, y + r + 1, text, ha="center", va="top", fontsize=6.5, zorder=3, path_effects=[outline])
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)  # downwards
    axes.set_axis_off()
    figure.supxlabel(title, fontsize=7)


def boxes_apart(places: FloatArray, half: FloatArray, size: tuple[float, float]) -> FloatArray:
    """Return places (K, 2) inside a rectangle, so that boxes around them overlap as little as can be.

    Two that overlap are pushed apart along the axis on which they overlap less, at most 300 times.

    Args:
        places: (K, 2) on any scale. half: (K, 2) half the width and height of each box. size: of the rectangle.
    """
    low, high, room = places.min(axis=0), places.max(axis=0), np.array(size) - 2 * half.max(axis=0)
    scale = float(
        (np.maximum(room, 1.0) / np.maximum(high - low, 1e-12)).min()
    )  # one for both axes, so that distances hold
    limits = np.maximum(np.array(size) - half, half)
    at = np.clip(np.array(size) / 2 + (places - (low + high) / 2) * scale, half, limits)
    reach = half[:, None] + half[None]
    for _ in range(300):
        over = reach - np.abs(at[:, None] - at[None])
        pairs = np.argwhere(np.triu((over > 0).all(axis=2), 1))
        if not len(pairs):
            break
        for j, k in pairs:
            gap = reach[j, k] - np.abs(at[j] - at[k])
            if (gap <= 0).any():
                continue
            axis = int(gap.argmin())
            step = np.sign(at[j, axis] - at[k, axis]) or 1.0
            for i, side in ((j, step), (k, -step)):
                at[i, axis] = np.clip(at[i, axis] + side * gap[axis] / 2, half[i, axis], limits[i, axis])
    return np.asarray(at, np.float64)


def draw_content(figure: Any, *, rows: Sequence[Mapping[str, Any]], levels: Sequence[str], title: str) -> None:
    """Draw the words that set each level apart, a panel for each level: bars of their weight, a line at the mean of the levels.

    Args:
        rows: level, term, weight, log_ratio; the words of a level in their order.
    """
    for axes, level in zip(panels(figure, len(levels), min(3, len(levels))), levels, strict=True):
        words = [row for row in rows if row["level"] == level]
        at, weights = np.arange(len(words)), 100 * np.array([row["weight"] for row in words])
        axes.barh(at, weights, color=COLOURS[0], height=0.7)
        mean = weights / np.exp([row["log_ratio"] for row in words])
        axes.plot(mean, at, "|", color="#1b1b1b", ms=7, mew=1.4)
        axes.set_yticks(at, [row["term"] for row in words], fontsize=6.5)
        axes.invert_yaxis()
        axes.tick_params(axis="x", labelsize=6)
        axes.tick_params(axis="y", length=0)
        name_panel(axes, level, min(3, len(levels)))
        bare(axes)
    figure.supxlabel("% of the words of the topic at this level; |: on average", fontsize=7)
    figure.suptitle(wrapped(title, 70), x=0.01, ha="left", fontsize=8)

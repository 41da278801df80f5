"""Pictures of effects on topics: shares at the values of a column, differences between two values on one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.types import FloatArray
from nlpkit.platform.views.chart import COLOURS
from nlpkit.platform.views.figures import bare, name_panel, panels, wrapped
from nlpkit.platform.views.picture import Picture, draw_in_format
from nlpkit.topics.over_time.tables import TopicTable

COLUMNS = 3
LONG_TICK = 7  # characters of the values under a panel, of which three have room
MOST_PANELS, MOST_ROWS = 12, 40  # topics in a picture
DASHES = (
    "-",
    "--",
    ":",
    "-.",
    (0, (1, 1)),
    (0, (5, 1)),
    (0, (3, 1, 1, 1)),
    (0, (8, 3)),
)  # told apart without colours, too
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def draw_effects(
    figure: Any,
    *,
    values: Sequence[Any],
    shares: Mapping[str, FloatArray],
    names: Sequence[str],
    column: str,
    connected: bool,
    lines: Sequence[str] = ("",),
    moderator: str = "",
) -> None:
    """Draw the share of each topic at each value of a column, a panel for each topic, all on one scale.

    Args:
        values (N,): numbers, dates or categories; shares: share, low, high (K, N) in [0, 1], low and high not held to it, or (K, L, N)
            with L lines, of the values of a moderator. connected: whether values are joined by a line with a band, else each is a
            point with a bar.
    """
    several = {key: 100 * each.reshape(len(names), len(lines), len(values)) for key, each in shares.items()}
    grid = panels(figure, len(names), min(COLUMNS, len(names)), sharey=not connected)
    at = np.array(values, np.float64) if connected and not isinstance(values[0], str) else np.arange(len(values))
    shown = [value if isinstance(value, str) else f"{value:g}" for value in values]
    ticks = np.linspace(0, len(at) - 1, 3 if max(map(len, shown)) > LONG_TICK else 5).round().astype(int)
    if connected and isinstance(values[0], str) and (begins := _years(values)):
        ticks, shown = np.array(begins), [value[:-6] for value in values]
    limits = (min(np.nanmin(several["low"]), 0), np.nanmax(several["high"]))
    for k, (axes, name) in enumerate(zip(grid, names, strict=True)):
        for i, line in enumerate(lines):
            share, low, high = (several[key][k, i] for key in ("share", "low", "high"))
            look: dict[str, Any] = {"color": COLOURS[i], "label": line}
            if connected:
                axes.fill_between(at, low, high, color=COLOURS[i], alpha=0.2 if len(lines) == 1 else 0.13, lw=0)
                axes.plot(at, share, lw=1.2, ls=DASHES[i], **look)
            else:
                y = at + _beside(i, len(lines))
                axes.errorbar(share, y, xerr=[share - low, high - share], fmt=MARKS[i], ms=3, lw=1, **look)
        if connected:
            if isinstance(values[0], str):
                axes.set_xticks(at[ticks], [shown[i] for i in ticks], fontsize=6)
            else:
                axes.locator_params(axis="x", nbins=5)
                axes.tick_params(axis="x", labelsize=6)
            axes.set_ylim(*limits)
        else:
            axes.set_yticks(at, [wrapped(value, 24) for value in shown], fontsize=6)
            axes.set_xlim(limits[0] - 0.03 * limits[1], 1.03 * limits[1])
            axes.set_ylim(len(at) - 0.4, -0.6)  # downwards
            axes.axvline(0, color=COLOURS[1], lw=0.4)
        axes.tick_params(axis="y" if connected else "x", labelsize=6)
        name_panel(axes, name, min(COLUMNS, len(names)))
        bare(axes, grid="y" if connected else "x")
    outer = (figure.supylabel, figure.supxlabel) if connected else (figure.supxlabel, figure.supylabel)
    for label, text in zip(outer, ("% of a document", column), strict=True):
        label(text, fontsize=7)
    _name_lines(figure, grid[0], lines, moderator)


def draw_differences(
    figure: Any,
    *,
    differences: Mapping[str, FloatArray],
    names: Sequence[str],
    title: str,
    lines: Sequence[str] = ("",),
    moderator: str = "",
    scale: float = 100.0,
) -> None:
    """Draw differences of the shares of topics between two values, a row for each topic, on one axis with 0.

    Args:
        differences: difference, low, high (K, L), L values of a moderator. scale: by which they are multiplied.
    """
    axes = figure.add_subplot()
    for i, line in enumerate(lines):
        mean, low, high = (scale * differences[key][:, i] for key in ("difference", "low", "high"))
        y = np.arange(len(names)) + _beside(i, len(lines))
        sure = (low > 0) | (high < 0)  # filled, others hollow
        axes.errorbar(mean, y, xerr=[mean - low, high - mean], fmt="none", lw=1, color=COLOURS[i])
        axes.scatter(
            mean, y, s=16, marker=MARKS[i], zorder=3, edgecolors=COLOURS[i], linewidths=0.9, label=line,
            facecolors=[COLOURS[i] if one else axes.get_facecolor() for one in sure],
        )  # fmt: skip
    axes.axvline(0, color="#7a828b", lw=0.8, zorder=1)
    axes.set_yticks(np.arange(len(names)), [wrapped(name, 40) for name in names], fontsize=6.5)
    axes.set_ylim(len(names) - 0.4, -0.6)  # downwards
    axes.tick_params(axis="x", labelsize=6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(title, fontsize=7)
    bare(axes, grid="x")
    _name_lines(figure, axes, lines, moderator)


def _beside(i: int, n: int) -> float:
    """Return how far from the middle of its row the i-th of n points stands."""
    return 0.0 if n == 1 else 0.6 * (i / (n - 1) - 0.5)


def _name_lines(figure: Any, axes: Any, lines: Sequence[str], moderator: str) -> None:
    if len(lines) > 1:
        handles = axes.get_legend_handles_labels()[0]
        figure.legend(
            handles, lines, title=moderator, loc="outside upper center", ncols=min(len(lines), 4), frameon=False
        )


def _years(dates: Sequence[str]) -> list[int]:
    """Return where years begin among ascending ISO dates, at most five of them; nothing of fewer than three."""
    begins = [i for i in range(1, len(dates)) if dates[i][:-6] != dates[i - 1][:-6]]
    return begins[:: -(-len(begins) // 5)] if len(begins) > 2 else []


def _with_estimates(effects: TopicTable) -> TopicTable:
    """Return effects without the topics that have no estimate. Raises InputError where none has one."""
    lost = set(effects.table.filter(pc.is_null(effects.table.column("low"))).column("topic").to_pylist())
    kept = [k not in lost for k in effects.table.column("topic").to_pylist()]
    if not any(kept):
        raise InputError("no topic has an estimate, so that there is nothing to draw", parameter="link")
    return replace(effects, table=effects.table.filter(pa.array(kept)))


def plot_effects(
    effects: TopicTable,
    *,
    topics: int | None = None,
    width: float = 16.0,
    style: str = "plain",
    height: float | None = None,
) -> Picture:
    """Return a picture of the share of topics at the values of a column, or of its differences; the same bytes for the same table.

    Shares have a panel for each topic: a line with a band for a number or a date, a point for each category. Differences stand on one
    axis, the largest first where no topics are named, filled where the interval does not hold 0. A moderator gives a line, or a point,
    for each of its values.

    Args:
        effects: of `estimate_effects` with a column. topics: how many are drawn, the first of the table; usually 12, of differences the
            40 largest. width, height: cm; style: plain, serif or dark.

    Raises:
        UsageError: effects without a column; MissingError: the extra report is not installed.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> run = nk.fit_stm(corpus, k=2, prevalence="label").save("run")
        >>> effects = nk.estimate_effects(run, column="label")
        >>> nk.plot_effects(effects).save("effects.svg").name
        'effects.svg'
    """
    column = effects.facts["of"]
    if column is None:
        raise UsageError("a picture of effects shows one column; name it with `of`", parameter="of")
    effects = _with_estimates(effects)
    moderator = effects.facts["moderator"] or ""
    lines = effects.table.column("moderator").unique().to_pylist() if moderator else [""]
    ids = effects.table.column("topic").unique().to_pylist()
    first = effects.table.column("topic_label").to_pylist()[:: effects.table.num_rows // len(ids)]
    names = [f"{k} {label}" for k, label in zip(ids, first, strict=True)]
    is_difference = bool(effects.facts["difference"])
    keys = ("difference" if is_difference else "share", "low", "high")
    tables = {key: effects.table.column(key).to_numpy().reshape(len(ids), len(lines), -1) for key in keys}
    if is_difference:
        differences = {key: each[:, :, 0] for key, each in tables.items()}
        named = bool(effects.facts["topics"])  # stand in the order in which they are named
        means = differences["difference"].mean(axis=1)
        order = np.arange(len(ids)) if named else np.argsort(-means, kind="stable")
        most = topics or MOST_ROWS
        largest = np.sort(np.argsort(-np.abs(differences["difference"]).max(axis=1)[order], kind="stable")[:most])
        order = order[largest]
        a, b = effects.facts["difference"]
        title = f"{column}: {a} less {b}, percentage points of a document"
        draw: Any = partial(
            draw_differences, differences={key: each[order] for key, each in differences.items()},
            names=[names[k] for k in order], title=title, lines=lines, moderator=moderator,
        )  # fmt: skip
        usual = 2.0 + len(order) * max(0.55, 0.28 * len(lines)) + 0.8 * (len(lines) > 1)
        texts = "".join([*names, title, moderator, *lines])
        return Picture("effects", partial(draw_in_format, draw, width, height or usual, style, texts))
    n = topics or MOST_PANELS
    values = effects.table.column("value").slice(0, tables["share"].shape[2]).to_pylist()
    connected = effects.facts["scale"] == "number"
    draw = partial(
        draw_effects, values=values, shares={key: each[:n] for key, each in tables.items()}, names=names[:n], column=column,
        connected=connected, lines=lines, moderator=moderator,
    )  # fmt: skip
    rows = -(-len(names[:n]) // COLUMNS)
    each = 3.5 if connected else 1.2 + len(values) * max(0.35, 0.22 * len(lines))
    texts = "".join([*names, column, *map(str, values), moderator, *lines])
    usual = 1.0 + rows * each + 0.8 * (len(lines) > 1)
    return Picture("effects", partial(draw_in_format, draw, width, height or usual, style, texts))

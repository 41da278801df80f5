"""A picture of two runs: their topics on both sides, joined by bands as wide as what they share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from nlpkit.platform import wording
from nlpkit.platform.types import FloatArray, LongArray
from nlpkit.platform.views.figures import NONE, TWO_COLUMNS
from nlpkit.platform.views.picture import Picture, draw_in_format
from nlpkit.topics.edit.files import hidden_topics
from nlpkit.topics.edit.looks import topic_looks
from nlpkit.topics.over_time.tables import labels_of

LINE, BARS, AROUND = 0.36, 7.0, 1.4  # cm: of a name, of the bars of a side together, of titles
LONGEST = 34  # characters of a name
NEW = "#7a828b"


def diff_picture(
    result: Any, *, width: float = TWO_COLUMNS, height: float | None = None, style: str = "plain"
) -> Picture:
    """Return a picture of a `TopicDiff`: topics of A on the left, of B on the right, bands between them.

    Where the runs share documents, a bar is as high as those of its topic, and a band as wide as those in both topics. By words, all
    bars are as high, and a band is as wide as the cosine of two topics that correspond. Colours are those of A.

    Raises:
        UsageError: the names take all of the room; MissingError: the extra report is not installed.
    """
    names = [[_named(k, label) for k, label in enumerate(labels_of(run))] for run in (result.a, result.b)]
    flows = _flows(result)
    K, L = (len(of_run) for of_run in names)
    for of_run, n in zip(names, flows.shape, strict=True):
        of_run += ["no topic"] * (n - len(of_run))
    marks = {"vanished": [False] * len(names[0]), "new": [False] * len(names[1])}
    for link in result.links:
        if link.relation in marks:
            marks[link.relation][link.a if link.a is not None else link.b or 0] = True
    colours = [*topic_looks(result.a)[0], NONE][: flows.shape[0]]
    into = [colours[int(flows[:K, j].argmax())] if K and flows[:K, j].any() else NEW for j in range(L)]
    others = [NEW if marks["new"][j] else colour for j, colour in enumerate(into)] + [NONE] * (flows.shape[1] - L)
    title = (
        f"{wording.counted(result.shared, 'document')} of both runs"
        if result.by == "documents"
        else "cosine of the words of topics that correspond"
    )
    texts = [
        [f"{name} ({mark})" if marked else name for name, marked in zip(of_side, of_mark, strict=True)]
        for of_side, (mark, of_mark) in zip(names, marks.items(), strict=True)
    ]
    shown = [
        [k for k in range(n) if k not in hidden_topics(run)]
        for n, run in zip(flows.shape, (result.a, result.b), strict=True)
    ]
    flows = flows[np.ix_(*shown)]
    texts, paint = (
        [[side[k] for k in kept] for side, kept in zip(both, shown, strict=True)] for both in (texts, [colours, others])
    )
    sides = zip("AB", shown, (K, L), (result.a, result.b), strict=True)
    heads = [
        f"{side}: {wording.counted(sum(k < n for k in kept), 'topic')} of {run.path.name}"
        for side, kept, n, run in sides
    ]
    draw = partial(
        draw_flows,
        flows=flows,
        names=texts,
        colours=paint,
        heads=heads,
        title=title,
        alike=result.by == "words",
    )
    usual = AROUND + BARS + LINE * max(flows.shape)
    characters = "".join([title, *heads, *texts[0], *texts[1]])
    return Picture("diff", lambda format: draw_in_format(draw, width, height or usual, style, characters, format))


def _named(k: int, label: str) -> str:
    name = f"{k} {label}"
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _flows(result: Any) -> FloatArray:
    """Return how much each topic of A shares with each of B; the last row and column are documents without one, where there are any."""
    K, L = result.words.shape
    if result.by == "documents":
        table: FloatArray = result.table.astype(np.float64)
        return table[: K + bool(table[K].any()), : L + bool(table[:, L].any())]
    flows = np.zeros((K, L))
    for link in result.links:
        if link.a is not None and link.b is not None:
            flows[link.a, link.b] = result.words[link.a, link.b]
    return flows / max(float(flows.sum(axis=0).max(initial=0)), float(flows.sum(axis=1).max(initial=0)), 1.0)


def draw_flows(
    figure: Any,
    *,
    flows: FloatArray,
    names: Sequence[Sequence[str]],
    colours: Sequence[Sequence[str]],
    heads: Sequence[str],
    title: str,
    alike: bool,
) -> None:
    """Draw rows (K) on the left and columns (L) on the right as bars, joined by bands as wide as `flows` (K, L).

    Args:
        alike: all bars are as high as a flow of 1, which those of a topic do not exceed together; else as high as its flows.
    """
    from matplotlib.collections import PolyCollection

    axes = figure.add_subplot()
    axes.set_axis_off()
    inches = float(figure.get_size_inches()[1])
    sizes = [flows.sum(axis=1), flows.sum(axis=0)]
    whole = max(float(sizes[0].sum()), 1e-12)
    if alike:
        sizes, whole = [np.ones(n) for n in flows.shape], float(max(flows.shape))
    room = inches * 2.54 - AROUND
    unit = max(room - LINE * max(flows.shape), 0.2 * room) / whole  # cm of one
    left = np.arange(flows.shape[0])
    middle = (np.cumsum(sizes[0]) - sizes[0] / 2) @ flows / np.maximum(flows.sum(axis=0), 1e-12)
    right = np.lexsort((np.arange(flows.shape[1]), np.where(flows.any(axis=0), middle, np.inf)))
    tops = [_tops(size * unit, order, room) for size, order in zip(sizes, (left, right), strict=True)]
    bands, paint = [], []
    for i in left.tolist():
        y = tops[0][i]
        for j in right[np.flatnonzero(flows[i, right] > 0)]:
            wide = flows[i, j] * unit
            above = flows[:i, j].sum() * unit  # on both sides in the order of the other
            bands.append(_band(y, tops[1][j] + above, wide))
            paint.append(colours[0][i])
            y += wide
    axes.add_collection(PolyCollection(bands, facecolors=paint, alpha=0.4, linewidths=0, zorder=1))
    for side, (x, ha) in enumerate(((0.0, "right"), (1.0, "left"))):
        for k, size in enumerate(sizes[side] * unit):
            y = tops[side][k]
            axes.barh(y + size / 2, 0.018, max(size, 0.02), left=x - 0.009, color=colours[side][k], zorder=2)
            at = (x + (0.02 if side else -0.02), y + size / 2)
            axes.text(*at, names[side][k], ha=ha, va="center", fontsize=6.5)
        axes.text(x, -0.45, heads[side], ha=ha, va="bottom", fontsize=7, fontweight="bold")
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(room, -0.4)  # downwards
    figure.supxlabel(f"bands: {title}", fontsize=7)


def _tops(sizes: FloatArray, order: LongArray, room: float) -> FloatArray:
    """Return where each bar begins, in order, with the height of a name for each beside its size, all in the middle of the room."""
    tops = np.empty(len(sizes))
    slots = sizes[order] + LINE
    ends = np.cumsum(slots)
    tops[order] = ends - slots + LINE / 2 + max(room - float(slots.sum()), 0.0) / 2
    return tops


def _band(y0: float, y1: float, wide: float) -> FloatArray:
    """Return the corners (n, 2) of a band from the left, at y0, to the right, at y1."""
    x = np.linspace(0, 1, 25)
    rise = y0 + (y1 - y0) * x * x * (3 - 2 * x)
    return np.concatenate([np.stack([x, rise], axis=1), np.stack([x, rise + wide], axis=1)[::-1]])

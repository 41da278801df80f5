"""The map of documents as a picture, with the names of topics beside the points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nlpkit.platform.types import BoolArray, FloatArray, IntArray
from nlpkit.platform.views.figures import NONE, wrapped

MARKS: tuple[Any, ...] = ("o", "s", "^", "D", "v", (4, 1, 0))  # the shapes of `topic_shapes`, as in the report
ROOM = 0.1  # of the extent of a map, on each side, for names
CELL = 3.0  # points of the grid that tells which parts of a map are covered


def draw_map(
    figure: Any,
    places: FloatArray,
    topics: IntArray,
    names: Sequence[str],
    colours: Sequence[str],
    shapes: Sequence[int],
) -> None:
    """Draw documents (n, 2) as points in the colours and shapes of their topics (n,), with the names of the topics beside them."""
    figure.set_layout_engine("none")  # the map fills the picture
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    size = float(np.clip(6_000 / max(len(places), 1), 0.15, 9))
    for k in (-1, *range(len(names))):
        of_topic: BoolArray = np.asarray(topics == k)
        look = {"c": NONE if k < 0 else colours[k], "marker": "o" if k < 0 else MARKS[shapes[k]]}
        axes.scatter(*places[of_topic].T, s=size, lw=0, alpha=0.7, rasterized=len(places) > 5000, **look)
    low, high = np.percentile(places, [0.5, 99.5], axis=0)
    margin = ROOM * (high - low).max() or 1.0  # all documents may be in one place
    axes.set_xlim(low[0] - margin, high[0] + margin)
    axes.set_ylim(high[1] + margin, low[1] - margin)  # downwards, as on the page
    _place_names(axes, figure, places, topics, names, colours, shapes)


def _place_names(
    axes: Any, figure: Any, places: FloatArray, topics: IntArray, names: Sequence[str], colours: Sequence[str],
    shapes: Sequence[int],
) -> None:  # fmt: skip
    """Write the name of each topic where it covers the fewest documents, none over another; a line leads to a mark of the topic."""
    import matplotlib as mpl
    from matplotlib import patheffects

    room = np.array(figure.get_size_inches() * 72, np.float64)  # points
    limits = np.array([axes.get_xlim(), axes.get_ylim()])
    at = (places - limits[:, 0]) / (limits[:, 1] - limits[:, 0]) * room
    covered = _covered_cells(at, room)
    figure.draw_without_rendering()  # so that the sizes of names are known
    sizes = np.bincount(topics[topics >= 0], minlength=len(names))
    outline = patheffects.withStroke(linewidth=1.8, foreground=axes.get_facecolor())
    placed: list[FloatArray] = []  # x, y, half the width and the height, x and y of the topic
    for k in np.lexsort((np.arange(len(names)), -sizes)):
        if not sizes[k]:
            continue
        members = at[topics == k]
        middle = members[np.linalg.norm(members - np.median(members, axis=0), axis=1).argmin()]
        name = axes.text(
            0.5, 0.5, wrapped(names[k], 24), transform=axes.transAxes, ha="center", va="center", fontweight="bold",
            fontsize=6.0 + 2.0 * np.sqrt(sizes[k] / sizes.max()), linespacing=1.05, path_effects=[outline],
        )  # fmt: skip
        box = name.get_window_extent()
        half = np.array([box.width, box.height]) * (36 / figure.dpi) + 2.0
        place = _free_place(middle, half, room, placed, covered)
        name.set_position(tuple(place / room))
        placed.append(np.concatenate([place, half, middle]))
        to = np.clip(middle, place - half, place + half)
        black = mpl.rcParams["text.color"]
        if np.linalg.norm(to - middle) > 3:
            axes.plot(
                *np.stack([to, middle], axis=1) / room[:, None],
                transform=axes.transAxes,
                color=black,
                lw=0.5,
                zorder=2.5,
            )
            axes.plot(
                *middle / room, marker=MARKS[shapes[k]], transform=axes.transAxes, color=colours[k], ms=4.5, mec=axes.get_facecolor(),
                mew=0.6, zorder=2.6,
            )  # fmt: skip


def _covered_cells(at: FloatArray, room: FloatArray) -> IntArray:
    """Return how many cells to the left of and below each corner of a grid hold a point (W + 1, H + 1)."""
    shape = np.ceil(room / CELL).astype(np.int64) + 1
    cells = np.floor(at / CELL).astype(np.int64)
    cells = cells[((cells >= 0) & (cells < shape)).all(axis=1)]
    full = np.zeros(shape + 1, np.int32)
    full[cells[:, 0] + 1, cells[:, 1] + 1] = 1
    return np.asarray(full.cumsum(axis=0).cumsum(axis=1), np.int32)


def _free_place(
    middle: FloatArray, half: FloatArray, room: FloatArray, placed: Sequence[FloatArray], covered: IntArray
) -> FloatArray:
    """Return the middle of a name, over no other one: few points below it, near its topic, its line across no other name.

    It is at its topic where there is no such place.
    """
    low, high = np.minimum(half, room / 2), np.maximum(room - half, room / 2)
    boxes = np.array(placed).reshape(-1, 6)
    best, least = np.clip(middle, low, high), np.inf
    for away in (0, 6, 12, 20, 30, 45, 60, 80, 105, 135, 170, 220, 280, 350):
        for turn in range(16 if away else 1):
            way = np.array([np.cos(turn * np.pi / 8), np.sin(turn * np.pi / 8)])
            place = np.clip(middle + (half + away) * way * bool(away), low, high)
            if (np.abs(place - boxes[:, :2]) < half + boxes[:, 2:4]).all(axis=1).any():
                continue
            a, b = np.floor(np.maximum(place - half, 0) / CELL).astype(int)
            c, d = np.ceil(np.minimum(place + half, room) / CELL).astype(int)
            below = int(covered[c, d] - covered[a, d] - covered[c, b] + covered[a, b])
            line = middle + np.linspace(0, 0.95, 12)[:, None] * (place - middle)
            over = (np.abs(line[:, None] - boxes[:, :2]) < boxes[:, 2:4]).all(axis=2).any(axis=0)
            others = boxes[:, 4:] + np.linspace(0, 0.95, 12)[:, None, None] * (boxes[:, :2] - boxes[:, 4:])
            under = (np.abs(others - place) < half).all(axis=2).any(axis=0)
            cost = 3 * below + away / 3 + 12 * int((over | under).sum())
            if cost < least:
                best, least = place, cost
    return best

"""Colours and shapes for any number of topics: no two colours alike, those of neighbours related."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from nlpkit.platform.types import FloatArray, IntArray, LongArray

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#8a6bd1")


BOTH_THEMES = (0.147, 0.267)  # 3:1 on the panels of the page, #1d2126 and #f5f6f8
APART = 0.12  # in OKLab, of colours of one topic and another, times the square root of their number
SHAPES = 6  # that points of a few pixels can have
TOLD_APART = 0.076  # in OKLab: green and purple of Okabe & Ito, for eyes without red cones
LUMINANCE_OF = np.array([0.2126, 0.7152, 0.0722])
_NO_CONES = (
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
)  # no red cones, no green cones


_LUMINANCE = (0.1, 0.42)  # dark enough for a white page, and light enough for a black one


_TO_LMS = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                    [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip


_TO_LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                    [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip


def topic_palette(n: int) -> list[str]:
    """Return n different colours as #rrggbb: PALETTE, then each as far as can be from all before it in the plane of OKLab.

    OKLab is the space of Ottosson 2020, "A perceptual color space for image processing": distances in it are about those that people see.
    Candidates are colours of sRGB on a grid that grows with n.
    """
    step = 24
    while (candidates := _grid(step)).shape[0] < 4 * n:
        step //= 2
    chosen = [_rgb(colour) for colour in PALETTE[:n]]
    labs = _oklab(candidates)
    nearest = np.full(len(candidates), np.inf)
    for at in range(n):
        if at >= len(chosen):
            chosen.append(candidates[int(nearest.argmax())])
        nearest = np.minimum(nearest, np.linalg.norm(labs - _oklab(chosen[at][None]), axis=1))
    return ["#" + "".join(f"{round(255 * part):02x}" for part in colour) for colour in chosen]


def place_colours(places: FloatArray, sizes: FloatArray) -> list[str]:
    """Return a colour of its own for each topic (K,) by its place, so that neighbours have related colours.

    The hue is the direction from the middle, half by angle and half by rank, so that crowded sides get more hues; the farther out,
    the more saturated. By size, each topic takes the colour nearest to that which is far enough from all taken ones, also for eyes
    without red or green cones (Machado, Oliveira & Fernandes 2009). The contrast is at least 3:1 on the pages of both themes.

    Args:
        places: (K, 2) of the topics. sizes: (K,).

    Example:
        >>> place_colours(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([2.0, 1.0]))[0][0]
        '#'
    """
    if not len(places):
        return []
    order = np.lexsort((np.arange(len(places)), -np.asarray(sizes)))
    return _chosen([None] * len(places), _targets(np.asarray(places, np.float64)), order)


def inherited_colours(colours: Sequence[str], sources: Sequence[Sequence[int]]) -> list[str]:
    """Return a colour for each topic that was made of others: that of its first source, for the first topic made of this one.

    A further topic of the same source takes the colour nearest to it that is far enough from all, a topic without a source any.

    Args:
        colours: of the topics before. sources: numbers of these topics for each topic, (K) lists.

    Example:
        >>> inherited_colours(["#0072b2", "#d55e00", "#009e73"], [[0, 2], [1]])
        ['#0072b2', '#d55e00']
    """
    kept: list[str | None] = []
    for of_topic in sources:
        colour = colours[of_topic[0]] if of_topic else None
        kept.append(None if colour in kept else colour)
    targets = np.zeros((len(sources), 2))
    for k, of_topic in enumerate(sources):
        if of_topic:
            targets[k] = _oklab(_rgb(colours[of_topic[0]])[None])[0, 1:]
    return _chosen(kept, targets, np.arange(len(sources)))


def _chosen(kept: Sequence[str | None], targets: FloatArray, order: IntArray | LongArray) -> list[str]:
    """Return a colour for each topic (K,): the kept ones, then in order those nearest to the targets (K, 2) and far enough from all."""
    K = len(kept)
    if not K:
        return []
    step = 12
    while (candidates := _grid(step, BOTH_THEMES)).shape[0] < 40 * K:
        step //= 2
    labs, eyes = _oklab(candidates), [_oklab(seen) for seen in _as_seen(candidates)]
    nearest = np.full(len(candidates), np.inf)
    colours = [colour or "" for colour in kept]
    for colour in filter(None, colours):
        for seen, one in zip(eyes, _as_seen(_rgb(colour)[None]), strict=True):
            nearest = np.minimum(nearest, np.linalg.norm(seen - _oklab(one), axis=1))
    for k in order:
        if colours[k]:
            continue
        away = np.linalg.norm(labs[:, 1:] - targets[k], axis=1)
        enough = np.minimum(nearest, APART / np.sqrt(K))
        choice = int(np.lexsort((away, -enough))[0])
        colours[k] = "#" + "".join(f"{round(255 * part):02x}" for part in candidates[choice])
        for seen in eyes:
            nearest = np.minimum(nearest, np.linalg.norm(seen - seen[choice], axis=1))
        nearest[choice] = -1.0
    return colours


def topic_shapes(colours: Sequence[str], kept: Sequence[int | None] = ()) -> list[int]:
    """Return the number of a shape for each topic, below SHAPES, so that topics of one shape have colours that are told apart.

    Those are as far apart as the nearest two of the palette of Okabe & Ito 2008, also for eyes without red or green cones. A few
    topics all have the first shape. Where the shapes are too few, a topic takes that of which the colours are farthest from its own.

    Args:
        colours: of the topics (K,). kept: shapes that some of them have already (K,).

    Example:
        >>> topic_shapes(["#0072b2", "#d55e00", "#0073b3"])
        [0, 0, 1]
    """
    eyes = [_oklab(seen) for seen in _as_seen(np.array([_rgb(colour) for colour in colours]).reshape(-1, 3))]
    shapes = np.array([-1 if s is None else s for s in kept] or [-1] * len(colours), np.int64)
    for k in np.flatnonzero(shapes < 0):
        apart = np.min([np.linalg.norm(seen - seen[k], axis=1) for seen in eyes], axis=0)
        gaps = [min(apart[shapes == shape], default=np.inf) for shape in range(SHAPES)]
        shapes[k] = next((shape for shape, gap in enumerate(gaps) if gap >= TOLD_APART), int(np.argmax(gaps)))
    return [int(shape) for shape in shapes]


def _targets(places: FloatArray) -> FloatArray:
    """Return the hue and saturation wanted for each place (K, 2), as a and b of OKLab (K, 2)."""
    K = len(places)
    offset = places - places.mean(axis=0)
    angle = np.arctan2(offset[:, 1], offset[:, 0])
    rank = np.empty(K)
    rank[np.lexsort((np.arange(K), angle))] = np.arange(K)
    hue = (angle + 2 * np.pi * rank / K - np.pi) / 2
    reach = np.linalg.norm(offset, axis=1)
    chroma = 0.11 + 0.06 * np.minimum(reach / max(float(reach.max()), 1e-12), 1.0)
    return np.asarray(chroma[:, None] * np.stack([np.cos(hue), np.sin(hue)], axis=1), np.float64)


def contrast(colour: str, other: str) -> float:
    """Return the contrast ratio of two colours by WCAG 2.2, from 1 to 21.

    Example:
        >>> contrast("#000000", "#ffffff")
        21.0
    """
    a, b = (float((_linear(_rgb(c)) * LUMINANCE_OF).sum()) + 0.05 for c in (colour, other))
    return round(max(a, b) / min(a, b), 6)


def seen_distance(colour: str, other: str) -> float:
    """Return how far apart two colours are in OKLab for the eyes that tell them apart least: all cones, no red or no green ones."""
    return min(
        float(np.linalg.norm(np.diff(_oklab(seen), axis=0))) for seen in _as_seen(np.stack([_rgb(colour), _rgb(other)]))
    )


def _as_seen(rgb: FloatArray) -> list[FloatArray]:
    """Return colours (n, 3) as they are, and as eyes without red or green cones see them."""
    light = _linear(rgb)
    return [rgb, *(_gamma(np.clip(light @ cones.T, 0.0, 1.0)) for cones in _NO_CONES)]


def _gamma(light: FloatArray) -> FloatArray:
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.maximum(light, 1e-12) ** (1 / 2.4) - 0.055)


@functools.cache
def _grid(step: int, luminances: tuple[float, float] = _LUMINANCE) -> FloatArray:
    """Return the colours of a grid of sRGB whose luminance is right and that are no greys, (n, 3) in [0, 1]."""
    ticks = np.arange(0, 256, step) / 255
    rgb = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), -1).reshape(-1, 3)
    luminance = _linear(rgb) @ LUMINANCE_OF
    chroma = np.linalg.norm(_oklab(rgb)[:, 1:], axis=1)
    return np.asarray(rgb[(luminance >= luminances[0]) & (luminance <= luminances[1]) & (chroma > 0.06)], np.float64)


def _rgb(colour: str) -> FloatArray:
    return np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])


def _linear(rgb: FloatArray) -> FloatArray:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _oklab(rgb: FloatArray) -> FloatArray:
    """Return colours of sRGB (n, 3) in OKLab (n, 3)."""
    return np.asarray(np.cbrt(_linear(rgb) @ _TO_LMS.T) @ _TO_LAB.T, np.float64)

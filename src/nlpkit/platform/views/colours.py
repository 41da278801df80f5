"""Colours for any number of topics: no two alike, those of neighbours far apart."""

from __future__ import annotations

import functools

import numpy as np

from nlpkit.platform.types import FloatArray

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#8a6bd1")


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


def spread_colours(places: FloatArray, sizes: FloatArray) -> list[str]:
    """Return a colour of its own for each topic (K,), so that the colours of topics near each other differ most.

    By size, each topic gets the colour left whose likeness to those of its neighbours is least: of all topics that have a colour, the
    smallest sum of the two distances, between the places and between the colours, is as large as can be.

    Args:
        places: (K, 2) of the topics. sizes: (K,).
    """
    K = len(places)
    palette = topic_palette(K)
    labs = _oklab(np.array([_rgb(colour) for colour in palette])) if K else np.zeros((0, 3))
    apart = np.linalg.norm(labs[:, None] - labs[None], axis=2)
    away = np.linalg.norm(places[:, None] - places[None], axis=2) if K else np.zeros((0, 0))
    apart, away = (d / max(float(d.max(initial=0.0)), 1e-12) for d in (apart, away))
    colour_of = np.full(K, -1)
    for k in np.lexsort((np.arange(K), -np.asarray(sizes))):
        done = np.flatnonzero(colour_of >= 0)
        left = np.setdiff1d(np.arange(K), colour_of[done])
        likeness = apart[np.ix_(left, colour_of[done])] + away[k, done]
        colour_of[k] = left[int(likeness.min(axis=1, initial=np.inf).argmax())]
    return [palette[c] for c in colour_of]


@functools.cache
def _grid(step: int) -> FloatArray:
    """Return the colours of a grid of sRGB whose luminance is right and that are no greys, (n, 3) in [0, 1]."""
    ticks = np.arange(0, 256, step) / 255
    rgb = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), -1).reshape(-1, 3)
    luminance = _linear(rgb) @ np.array([0.2126, 0.7152, 0.0722])
    chroma = np.linalg.norm(_oklab(rgb)[:, 1:], axis=1)
    return np.asarray(rgb[(luminance >= _LUMINANCE[0]) & (luminance <= _LUMINANCE[1]) & (chroma > 0.06)], np.float64)


def _rgb(colour: str) -> FloatArray:
    return np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])


def _linear(rgb: FloatArray) -> FloatArray:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _oklab(rgb: FloatArray) -> FloatArray:
    """Return colours of sRGB (n, 3) in OKLab (n, 3)."""
    return np.asarray(np.cbrt(_linear(rgb) @ _TO_LMS.T) @ _TO_LAB.T, np.float64)

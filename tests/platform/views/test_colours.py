"""Colours of topics: each its own, for any number, far apart where topics are near; the page has the same ones."""

from __future__ import annotations

import itertools
import re
from importlib.resources import files

import numpy as np
import pytest

from nlpkit.platform.views.colours import (
    PALETTE,
    SHAPES,
    TOLD_APART,
    _oklab,
    _rgb,
    contrast,
    inherited_colours,
    place_colours,
    seen_distance,
    topic_palette,
    topic_shapes,
)

PAGES = ("#ffffff", "#f5f6f8", "#14171a", "#1d2126")  # background and panel of each theme, in style.css


def nearest_two(colours: list[str]) -> float:
    return min(seen_distance(a, b) for a, b in itertools.combinations(colours, 2))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 30, 120, 400])
def test_no_two_topics_have_one_colour_and_all_stand_out_in_both_themes(n: int) -> None:
    colours = place_colours(np.random.default_rng(n).random((n, 2)), np.ones(n))
    assert len(set(colours)) == n
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)
    assert all(contrast(colour, page) >= 3 for colour in colours for page in PAGES)
    assert topic_palette(n)[:7] == list(PALETTE[:n])


def test_the_pages_are_those_of_the_style() -> None:
    style = (files("nlpkit.platform.views") / "assets" / "style.css").read_text(encoding="utf-8")
    found = re.findall(r"--bg:(#\w+).*?--panel:(#\w+)", style)[:2]
    assert [
        page if len(page) == 7 else "#" + "".join(2 * c for c in page[1:]) for pair in found for page in pair
    ] == list(PAGES)


def test_near_topics_have_related_colours() -> None:
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    colours = place_colours(np.stack([np.cos(angle), np.sin(angle)], axis=1), np.ones(24))
    beside = [own_distance(colours[k], colours[(k + 1) % 24]) for k in range(24)]
    across = [own_distance(colours[k], colours[(k + 12) % 24]) for k in range(24)]
    assert np.mean(beside) < 0.6 * np.mean(across)


def own_distance(a: str, b: str) -> float:
    rgb = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (a, b)], np.float64)
    return float(np.linalg.norm(rgb[0] - rgb[1]))


@pytest.mark.parametrize(("n", "least"), [(4, 0.055), (9, 0.035), (16, 0.025), (40, 0.012)])
def test_colour_blind_eyes_tell_topics_apart(n: int, least: float) -> None:
    rng = np.random.default_rng(n)
    assert nearest_two(place_colours(rng.normal(size=(n, 2)), rng.random(n))) > least


def test_red_and_green_are_one_for_eyes_without_red_or_green_cones() -> None:
    assert seen_distance("#c04040", "#c04040") == 0
    assert seen_distance("#a06000", "#6a7a00") < 0.5 * seen_distance("#a06000", "#0060d0")
    assert contrast("#ffffff", "#000000") == 21


def test_topics_in_one_place_differ_all_the_same() -> None:
    assert len(set(place_colours(np.zeros((12, 2)), np.arange(12.0)))) == 12


def test_the_page_has_the_same_palette() -> None:
    script = (files("nlpkit.platform.views") / "assets" / "base.js").read_text(encoding="utf-8")
    (palette,) = re.findall(r'const PALETTE = "(.*?)"', script)
    assert re.findall("#.{6}", palette) == list(topic_palette(48))


@pytest.mark.parametrize("n", [2, 4, 9, 20, 60])
def test_topics_of_one_shape_have_colours_that_are_told_apart(n: int) -> None:
    rng = np.random.default_rng(n)
    colours = place_colours(rng.normal(size=(n, 2)), rng.random(n))
    shapes = topic_shapes(colours)
    pairs = [(i, j) for j in range(n) for i in range(j)]
    alike = [seen_distance(colours[i], colours[j]) for i, j in pairs if shapes[i] == shapes[j]]
    assert max(shapes) < SHAPES
    if n <= 12:
        assert min(alike, default=1.0) >= TOLD_APART
    every = min(seen_distance(colours[i], colours[j]) for i, j in pairs)
    assert min(alike, default=1.0) >= (1.5 * every if n > 4 else every)


def test_what_an_edit_does_not_touch_keeps_colour_and_shape() -> None:
    rng = np.random.default_rng(0)
    before = place_colours(rng.normal(size=(8, 2)), rng.random(8))
    sources = [[0], [2, 1], [3], [3], [4], [], [6], [7]]  # 1 and 2 merged, 3 split, 5 dropped, one without a source
    after = inherited_colours(before, sources)
    assert [after[k] for k in (0, 1, 2, 4, 6, 7)] == [before[k] for k in (0, 2, 3, 4, 6, 7)]
    assert len(set(after)) == 8
    assert min(contrast(colour, paper) for colour in after for paper in ("#f5f6f8", "#1d2126")) >= 3
    hue = [np.linalg.norm(_oklab(_rgb(after[3])[None]) - _oklab(_rgb(c)[None])) for c in before]
    assert int(np.argmin(hue)) == 3  # the other half of a split topic is of a colour related to it
    shapes = topic_shapes(before)
    kept = [shapes[0], shapes[2], shapes[3], None, shapes[4], None, shapes[6], shapes[7]]
    assert [s for s, k in zip(topic_shapes(after, kept), kept, strict=True) if k is not None] == [
        k for k in kept if k is not None
    ]
    assert inherited_colours(before, [[k] for k in range(8)]) == before
    assert inherited_colours([], []) == topic_shapes([]) == []

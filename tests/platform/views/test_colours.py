"""Colours of topics: each its own, for any number, far apart where topics are near; the page has the same ones."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import numpy as np
import pytest

from nlpkit.platform.views.colours import PALETTE, spread_colours, topic_palette


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 30, 120, 400])
def test_no_two_topics_have_one_colour(n: int) -> None:
    colours = spread_colours(np.random.default_rng(n).random((n, 2)), np.ones(n))
    assert len(set(colours)) == n
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)
    assert set(topic_palette(n)) == set(colours)
    assert topic_palette(n)[:7] == list(PALETTE[:n])


def test_neighbours_differ_more_than_topics_do_on_average() -> None:
    rng = np.random.default_rng(0)
    places = rng.random((40, 2))
    colours = spread_colours(places, np.ones(40))
    rgb = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours], np.float64)
    apart = np.linalg.norm(rgb[:, None] - rgb[None], axis=2)
    away = np.linalg.norm(places[:, None] - places[None], axis=2) + 9 * np.eye(40)
    assert apart[np.arange(40), away.argmin(axis=1)].mean() > apart.sum() / (40 * 39)


def test_topics_in_one_place_differ_all_the_same() -> None:
    assert len(set(spread_colours(np.zeros((12, 2)), np.arange(12.0)))) == 12


def test_the_page_has_the_same_palette() -> None:
    script = (files("nlpkit.platform.views") / "assets" / "base.js").read_text(encoding="utf-8")
    (palette,) = re.findall(r"const PALETTE = (\[.*?\]);", script)
    assert json.loads(palette) == topic_palette(48)

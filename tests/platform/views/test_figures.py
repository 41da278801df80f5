"""Pictures for papers: what stands in them, and that it can be read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from nlpkit.platform.views import figures
from nlpkit.platform.views.chart import Chart, Curve, draw_picture
from nlpkit.report.figures import (
    draw_correlations,
    draw_over_time,
    draw_ranks,
    draw_stream,
    draw_topic_tree,
    stretches,
    tree_rows,
)
from nlpkit.report.map_figure import draw_map
from nlpkit.topics.effects.figures import draw_effects
from nlpkit.words.picture import draw_word_places

MONEY = ["$5_$", "$x^2$", "a_b $", "\\$1"]
COLOURS = figures.PALETTE[:4]
HALVES = np.full((4, 2), 0.5)


def figure_of(draw: Callable[..., None], *, width: float = 16.0, height: float = 9.0, **data: Any) -> Any:
    """Return the figure that a function filled, as it was laid out for a PNG."""
    kept = []

    def keep(figure: Any) -> None:
        kept.append(figure)
        draw(figure, **data)

    figures.draw_figure(keep, "png", width=width, height=height, style="plain", characters="")
    return kept[0]


def texts_of(figure: Any) -> list[Any]:
    """Return the texts of a figure that are shown."""
    from matplotlib.text import Text

    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def table(n_cells: int, *, empty: tuple[int, ...] = ()) -> dict[str, Any]:
    """Return shares of four topics in periods or values, of which some have no document."""
    values = {"share": 0.25, "low": 0.2, "high": 0.3}
    series = {key: [None if i in empty else value for i in range(n_cells)] for key, value in values.items()}
    return {"cells": [f"{2015 + i // 4}-Q{1 + i % 4}" for i in range(n_cells)], "series": [series] * 4}


@pytest.mark.parametrize(
    "draw",
    [
        partial(draw_map, places=np.eye(4, 2), topics=np.arange(4), names=MONEY, colours=COLOURS, shapes=[0, 1, 2, 3]),
        partial(
            figures.draw_words,
            rows=[{"label": name, "terms": [{"t": name, "p": 0.5}]} for name in MONEY],
            colours=COLOURS,
            n_words=1,
        ),
        partial(figures.draw_similarity, similarity=np.ones((4, 4)) / 2, order=range(4), names=MONEY),
        partial(figures.draw_tree, merges=[[0, 1, 0.1], [2, 3, 0.2], [4, 5, 0.5]], names=MONEY, colours=COLOURS),
        partial(draw_over_time, time=table(5), names=MONEY, colours=COLOURS),
        partial(draw_stream, time=table(5), names=MONEY, colours=COLOURS),
        partial(figures.draw_by_column, column={**table(4), "name": "$5_$", "values": MONEY}, names=MONEY),
        partial(figures.draw_confusion, names=MONEY, counts=np.eye(4)),
        partial(figures.draw_learning, curves=[{"title": "$5_$", "x": "$5_$", "lines": [{"x": [1, 2], "y": [1, 2]}]}]),
        partial(
            draw_effects,
            values=MONEY[:2],
            shares={"share": HALVES, "low": HALVES, "high": HALVES},
            names=MONEY,
            column="$5_$",
            connected=False,
        ),
        partial(draw_correlations, correlations=np.eye(4), sizes=np.ones(4), names=MONEY, colours=COLOURS),
        partial(draw_ranks, ranks={"$5_$": 1.0, "$x^2$": 2.0}, difference=0.5, groups=[], title="$5_$"),
        partial(
            draw_topic_tree,
            parents={0: None, 1: 0, 2: 0, 3: 1},
            sizes=dict.fromkeys(range(4), 5),
            names=MONEY,
            colours=COLOURS,
        ),
        partial(draw_word_places, places=np.eye(4, 2), names=MONEY, n_asked=2, shares=np.array([0.5, 0.3])),
    ],
    ids=lambda draw: draw.func.__name__,
)
def test_a_dollar_is_no_formula(draw: Callable[..., None]) -> None:
    texts = texts_of(figure_of(draw))  # before, a ParseSyntaxException of mathtext
    assert any("$5_$" in text.get_text() for text in texts)
    assert not any(text.get_parse_math() for text in texts)


def test_a_dollar_is_no_formula_in_a_chart() -> None:
    line = np.array([1.0, 10.0])
    curves = [Curve(name, line, line, "line") for name in MONEY]
    for log in (False, True):
        picture = draw_picture(Chart("$5_$", "$5_$", "$5_$", curves, log=log), "png")
        assert picture.startswith(b"\x89PNG")


def test_stretches_of_periods() -> None:
    assert stretches(np.array([True, True, False, True, False, False, True])) == [(0, 1), (3, 3), (6, 6)]
    assert stretches(np.array([False, False])) == []


def test_a_period_between_empty_ones_is_a_point_with_a_bar() -> None:
    time = table(7, empty=(2, 3, 4, 5))
    figure = figure_of(draw_over_time, time=time, names=["a", "b", "c", "d"], colours=COLOURS)
    for axes in figure.axes[:4]:
        points = [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == "s"]
        assert points == [[[6.0, 25.0]]]
        bars = [bar.tolist() for c in axes.collections if hasattr(c, "get_segments") for bar in c.get_segments()]
        assert bars == [[[6.0, 20.0], [6.0, 30.0]]]
        assert axes.get_xlim()[1] > 6


def layers_of(figure: Any) -> list[tuple[float, float]]:
    """Return from where to where each layer of a stream goes, each place once, from the left."""
    ends = [(p.vertices[:, 0].min(), p.vertices[:, 0].max()) for c in figure.axes[0].collections for p in c.get_paths()]
    return sorted(set(ends))


def test_periods_without_documents_are_a_gap_in_a_stream() -> None:
    stream = partial(figure_of, draw_stream, names=["a", "b", "c", "_d"], colours=COLOURS)
    assert layers_of(stream(time=table(5))) == [(0, 4)]
    assert layers_of(stream(time=table(7, empty=(2, 5)))) == [(0, 1), (3, 4), (5.75, 6.25)]
    figure = stream(time=table(7, empty=(0, 2, 3, 4, 5)))
    assert layers_of(figure) == [(0.75, 1.25), (5.75, 6.25)]
    assert figure.axes[0].get_xlim() == (0, 6.25)
    many = stream(time=table(90, empty=(*range(1, 50), *range(51, 89))))  # of which half a period is not to be seen
    assert layers_of(many)[1] == pytest.approx((49.4, 50.6))
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["_d", "c", "b", "a"]


def test_layers_of_a_stream_are_told_apart_without_colours() -> None:
    figure = figure_of(draw_stream, time=table(7, empty=(2, 5)), names=["a", "b", "c", "d"], colours=["#808080"] * 4)
    assert [layer.get_hatch() for layer in figure.axes[0].collections] == [None, "//", "..", "xx"] * 3


def overprinted(figure: Any) -> int:
    """Return how many names of periods stand on another one, the panels of a row together."""
    boxes = [label.get_window_extent() for axes in figure.axes if axes.axison for label in axes.get_xticklabels()]
    return sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize(
    ("n", "width", "add"),
    [
        (5, 16.0, ""),
        (6, 8.0, "-12-31"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((2, 8.0, "-12-31"), (60, 24.0, ""))),
    ],
)
@pytest.mark.parametrize("draw", [draw_over_time, draw_stream])
def test_names_of_periods_stand_beside_each_other(draw: Callable[..., None], n: int, width: float, add: str) -> None:
    time = {**table(n), "cells": [f"{1960 + i}{add}" for i in range(n)]}
    names = ["tax, credit, revenue", "b", "c", "d"]
    figure = figure_of(draw, width=width, time=time, names=names, colours=COLOURS)
    assert overprinted(figure) == 0
    shown = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert shown[0] == time["cells"][0]
    if (n, width, add) == (5, 16.0, ""):  # all have room
        assert shown == time["cells"]


@pytest.mark.parametrize("n", [1, 4, 12])
def test_what_by_column_shows_is_inside_the_picture(n: int) -> None:
    for width, column in ((16.0, "label"), (8.0, "name of the party that brought the bill in")):
        shown = {**table(3), "name": column, "values": ["Macroeconomics", "Domestic Commerce", "c"]}
        names = ["federal, financial, management"] * n
        shown["series"] = shown["series"][:1] * n
        figure = figure_of(figures.draw_by_column, width=width, height=3.5 + 0.5 * n, column=shown, names=names)
        for text in texts_of(figure):
            box = text.get_window_extent()
            assert box.x0 >= 0, text
            assert box.y0 >= 0, text
            assert box.x1 <= figure.bbox.x1, text
            assert box.y1 <= figure.bbox.y1, text
        assert f"of each {column}" in " ".join(figure.get_suptitle().split())


def test_each_topic_of_a_tree_is_followed_by_those_below_it() -> None:
    parents = {0: None, 1: 0, 2: 0, 3: 2, 4: 1, 5: 2, 6: None}
    assert tree_rows(parents) == [(0, 0), (1, 1), (4, 2), (2, 1), (3, 2), (5, 2), (6, 0)]
    sizes, names = {k: 1000 * k for k in parents}, [f"name {k}" for k in parents]
    figure = figure_of(draw_topic_tree, parents=parents, sizes=sizes, names=names, colours=["red"] * 7)
    shown = {text.get_text(): text.xy for text in figure.axes[0].texts}
    assert shown["name 0 (0)"] == (0, 0)
    assert shown["name 5 (5,000)"] == (2, 5)
    branches = [line.get_xydata().tolist() for line in figure.axes[0].lines if len(line.get_xdata()) == 3]
    assert [[1, 3], [1, 5], [2, 5]] in branches


def test_numbers_of_topics_are_whole() -> None:
    evidence = [{"k": k, "score": 0.5, "chosen": k == 3} for k in (2, 3)]
    axes = figure_of(figures.draw_numbers, evidence=evidence).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels() if 2 <= label.get_position()[0] <= 3] == ["2", "3"]


@pytest.mark.parametrize("width", [8.0, *(pytest.param(w, marks=pytest.mark.slow) for w in (9.0, 12.0, 16.0))])
def test_names_of_narrow_panels_stand_beside_each_other(width: float) -> None:
    names = ["federal, financial, management"] * 4
    over_time = figure_of(draw_over_time, width=width, time=table(4), names=names, colours=COLOURS)
    shares = {key: np.full((4, 4), 0.5) for key in ("share", "low", "high")}
    effects = figure_of(
        draw_effects, width=width, values=[*range(4)], shares=shares, names=names, column="a", connected=True
    )
    for figure in (over_time, effects):
        boxes = [axes._left_title.get_window_extent() for axes in figure.axes[:3]]
        assert boxes[0].x1 < boxes[1].x0
        assert boxes[1].x1 < boxes[2].x0
        assert boxes[2].x1 < figure.bbox.x1


def test_ticks_of_dates_are_years() -> None:
    """Effects over dates of several years had ticks such as 2004-05-05."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    def ticks(dates: list[str]) -> list[str]:
        figure, shares = Figure(), {key: np.full((1, len(dates)), 0.3) for key in ("share", "low", "high")}
        draw_effects(figure, values=dates, shares=shares, names=["a"], column="date", connected=True)
        return [label.get_text() for label in figure.axes[0].get_xticklabels()]

    days = np.linspace(12_500, 13_900, 100).round().astype("datetime64[D]").astype(str).tolist()
    assert ticks(days) == ["2005", "2006", "2007", "2008"]
    assert ticks(days[:30])[0] == days[0]  # of one year, days
    assert len(ticks([f"{year}-06-01" for year in range(1900, 2000)])) == 5


def test_the_map_names_every_topic_at_a_document_of_it() -> None:
    """Two of twenty names were left out in silence, and others stood on the documents of another topic."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(0)
    K = 20
    centres = rng.normal(size=(K, 2))
    topics = np.repeat(np.arange(K), 15)
    places = centres[topics] + 0.05 * rng.normal(size=(len(topics), 2))
    names = [f"name of topic {k}" for k in range(K)]
    figure = Figure(figsize=(4, 4))
    draw_map(figure, places, topics.astype(np.int32), names, ["#336699"] * K, [0] * K)
    (axes,) = figure.axes
    shown = {text.get_text(): text.get_position() for text in axes.texts}
    assert sorted(shown) == sorted(names)
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    ends = np.array(
        [[line.get_xdata()[1], line.get_ydata()[1]] for line in axes.lines if len(line.get_xdata()) == 2]
    )  # of the lines that lead to names
    for k, name in enumerate(names):
        own = (places[topics == k] - [x0, y0]) / [x1 - x0, y1 - y0]
        is_near = np.abs(own - shown[name]).max(axis=1).min() < 0.2
        is_led = len(ends) > 0 and np.abs(own[:, None] - ends).max(axis=2).min() < 1e-9
        assert is_near or is_led, name


def test_names_on_the_map_are_beside_the_points_and_over_no_other() -> None:
    """Names stood on the points of their topics, where a place without points was a little farther."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0], [2.0, 2.0]])
    topics = np.repeat(np.arange(5), 300)
    places = centres[topics] + 0.4 * rng.normal(size=(len(topics), 2))
    figure = Figure(figsize=(7, 5.5), dpi=100)
    names = ["prices and rates", "courts", "a name that is so long that it takes two lines", "WWWW MMMM WWWW", "sea"]
    draw_map(figure, places, topics.astype(np.int32), names, ["#336699"] * 5, [0, 1, 2, 3, 5])
    (axes,) = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 5
    assert not [(i, j) for j in range(5) for i in range(j) if boxes[i].overlaps(boxes[j])]
    drawn = axes.transData.transform(places)
    below = [int(((drawn > box.min) & (drawn < box.max)).all(axis=1).sum()) for box in boxes]
    assert max(below) < 15  # of 300; on the topic it would be hundreds
    for box in boxes:
        assert min(box.x0, box.y0) >= 0
        assert (box.max <= (700, 550)).all()
    assert len({points.get_paths()[0].vertices.tobytes() for points in axes.collections[1:]}) == 5  # shapes


@pytest.mark.parametrize("n", [1, 2])
def test_a_map_of_hardly_any_documents(n: int) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1, 1))
    topics = np.zeros(n, np.int32)
    draw_map(figure, np.full((n, 2), 0.5), topics, ["a name that is wider than the picture " * 3], ["#336699"], [0])
    assert len(figure.axes[0].texts) == 1

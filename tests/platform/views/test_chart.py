"""Charts and clouds: the same bytes each time, axes and curves as asked for, characters that a font lacks."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.few import few

pytest.importorskip("wordcloud")
pytest.importorskip("plotly")

from nlpkit.errors import InputError
from nlpkit.explore.charts import heaps_chart, lengths_chart, zipf_chart
from nlpkit.metrics.texts.corpus import CorpusFigures, corpus_figures
from nlpkit.platform.views.chart import Chart, Curve, draw_page, draw_picture, thin
from nlpkit.platform.views.cloud import choose_font, draw_cloud


def zipf_like(n_words: int = 800, seed: int = 0) -> tuple[CorpusFigures, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, n_words + 1)
    tokens = rng.choice(n_words, 20_000, p=p / p.sum())
    _, first, counts = np.unique(tokens, return_index=True, return_counts=True)
    order = np.argsort(first)
    lengths = np.full(200, 100, np.int32)
    return corpus_figures(counts[order], first[order] + 1, lengths), np.sort(counts)[::-1]


def size(png: bytes) -> tuple[int, int]:
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        return image.size


def test_zipf_has_observed_points_and_both_lines() -> None:
    figures, cf = zipf_like()
    words = [f"w{i}" for i in range(len(cf))]
    chart = zipf_chart(figures, cf, words, 0.6)
    observed, law, through = chart.curves
    assert (chart.log, observed.look, law.look, through.look) == (True, "points", "line", "dashed")
    assert observed.y[0] == cf[0]
    assert observed.notes[0] == f"w0: rank 1, {cf[0]:,} times"
    assert law.y[0] == pytest.approx(cf.sum() / (np.arange(1, len(cf) + 1.0) ** -figures.zipf.exponent).sum())
    assert through.y[:3] == pytest.approx([cf[0], cf[0] / 2**0.6, cf[0] / 3**0.6])
    assert "s = 0.600" in through.name
    assert f"{figures.zipf.exponent:.3f}" in chart.title


def test_groups_are_lines_of_their_own() -> None:
    figures, cf = zipf_like()
    groups = [(name, *zipf_like(300, seed)) for seed, name in enumerate("ab")]
    for chart in (zipf_chart(figures, cf, ["w"] * len(cf), 1.0, groups), heaps_chart(figures, groups)):
        assert [c.name for c in chart.curves] == ["all documents", "a", "b"]
        assert len({c.colour for c in chart.curves}) == 3


def test_lengths_are_bars_from_the_left_end_of_a_bin() -> None:
    lengths = np.append(np.repeat(np.arange(100, 200, dtype=np.int32), 10), np.int32(5000))
    figures = corpus_figures(np.array([int(lengths.sum())]), np.array([1]), lengths)
    chart = lengths_chart(figures)
    (bars,) = chart.curves
    assert (bars.x[0], bars.y[0], bars.y.sum()) == (100, 100, 1001)
    assert bars.widths is not None
    assert bars.notes[-1] == "200 and more"
    assert chart.x_label == "tokens (the last bar: 200 and more)"


@pytest.mark.parametrize("kind", few(["lengths", "zipf", "heaps"], 1))
def test_pictures_are_the_same_each_time(kind: str) -> None:
    figures, cf = zipf_like()
    charts = {
        "zipf": zipf_chart(figures, cf, ["w"] * len(cf), 1.0),
        "heaps": heaps_chart(figures),
        "lengths": lengths_chart(figures),
    }
    chart = charts[kind]
    png = draw_picture(chart, "png")
    assert size(png) == (1200, 800)
    assert draw_picture(chart, "png") == png
    if kind == "heaps":
        assert draw_picture(chart, "svg") == draw_picture(chart, "svg")
    page = draw_page(chart, kind)
    assert page == draw_page(chart, kind)
    assert f'id="{kind}"' in page
    assert "src=" not in page.split("<body>")[0]  # no script from the network


def test_a_page_holds_the_points() -> None:
    curve = Curve("observed", np.array([1.0, 2.0]), np.array([5.0, 3.0]), "points", notes=["the", "и &"])
    page = draw_page(Chart("t", "x", "y", [curve], log=True), "p")
    found = re.search(r'Plotly\.newPlot\(\s*"p",\s*(\[.*?\]),\s*\{', page, re.DOTALL)
    assert found is not None
    (trace,) = json.loads(found[1])
    assert (trace["x"], trace["y"], trace["hovertext"]) == ([1.0, 2.0], [5.0, 3.0], ["the", "и &"])


def test_next_to_nothing_can_be_drawn() -> None:
    empty = corpus_figures(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(3, np.int32))
    one = corpus_figures(np.array([1]), np.array([1]), np.ones(1, np.int32))
    for figures, cf in ((empty, np.zeros(0, np.int64)), (one, np.ones(1, np.int64))):
        for chart in (
            zipf_chart(figures, cf, ["w"] * len(cf), float("nan")),
            heaps_chart(figures),
            lengths_chart(figures),
        ):
            assert draw_picture(chart, "svg")
            assert draw_page(chart, "x")


def test_thinning_keeps_both_ends() -> None:
    assert thin(5).tolist() == [0, 1, 2, 3, 4]
    some = thin(1_000_000, 100)
    assert (some[0], some[-1]) == (0, 999_999)
    assert len(some) <= 100
    assert (np.diff(some) > 0).all()


def test_cloud() -> None:
    words = {f"wort{i}": 100 / (i + 1) for i in range(200)} | {"äöüß": 1.0}
    cloud = draw_cloud(words, seed=42)
    assert size(cloud.png) == (1200, 800)
    assert cloud.left_out == ()
    assert 100 < cloud.n_words <= 150
    few = {word: words[word] for word in list(words)[:8]}
    assert draw_cloud(few, seed=42).png == draw_cloud(few, seed=42).png
    assert draw_cloud(few, seed=1).png != draw_cloud(few, seed=42).png
    with pytest.raises(InputError):
        draw_cloud({}, seed=1)


def test_words_are_left_out_rather_than_drawn_as_boxes() -> None:
    import matplotlib as mpl

    font = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    cloud = draw_cloud({"über": 3.0, "мир": 2.0, "研究": 1.0}, seed=42, font=font)
    assert (cloud.n_words, cloud.left_out, cloud.lacks) == (2, ("研究",), frozenset("研究"))
    with pytest.raises(InputError):
        draw_cloud({"研究": 1.0}, seed=42, font=font)


def test_fonts() -> None:
    choice = choose_font("äöüßéмир")
    assert choice.lacks == frozenset()
    assert choice.path.endswith("DejaVuSans.ttf")
    assert choose_font("a b\n").lacks == frozenset()
    mathematics = choose_font("∮∑", None)  # also there
    assert mathematics.lacks == frozenset()

"""nlpkit plot: every picture in every format, the same bytes again, and what cannot be drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import InputError, UsageError
from nlpkit.platform.views import figures
from nlpkit.platform.views.cloud import choose_font
from nlpkit.platform.views.figures import draw_figure, draw_numbers, leaf_order, merges_among
from nlpkit.report.figures import boxes_apart, classical_scaling
from nlpkit.report.plot import COMPARISON_PLOTS, PLOTS, SCALE_PLOTS, SCORE_PLOTS, TOPIC_PLOTS
from tests.command_line import NEWS, run_cli, write_jsonl
from tests.few import few


@pytest.fixture(scope="module")
def runs(few_news: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run of LDA, one with a chosen number of topics, and a classifier."""
    folder = tmp_path_factory.mktemp("plots")
    corpus = nk.read_corpus(few_news)
    nk.fit_lda(corpus, k="3:5", sweeps=30).save(folder / "lda")
    run_cli("classify", few_news, "--cv", "3", "-o", folder / "classes")
    return folder


@pytest.mark.parametrize("what", few(PLOTS, 7))
def test_every_picture_is_drawn_and_drawn_alike_again(what: str, runs: Path) -> None:
    if what in COMPARISON_PLOTS:
        with pytest.raises(InputError, match="ranks is a picture of comparisons"):  # drawn in test_finetune_protocol
            nk.plot(runs / "classes", what)
        return
    if what in ("effects", "content"):
        with pytest.raises(InputError, match="fit_stm"):  # drawn in test_covariates
            nk.plot(runs / "lda", what)
        return
    if what in SCALE_PLOTS:
        with pytest.raises(InputError, match="a picture of runs of scale"):  # drawn in tests/scale
            nk.plot(runs / "classes", what)
        return
    run = runs / ("lda" if what in TOPIC_PLOTS else "classes")
    if what == "learning":
        with pytest.raises(InputError, match="no learning to draw"):
            nk.plot(run, what)
        return
    drawn = nk.plot(run, what).draws("png" if what == "wordcloud" else "svg")
    assert drawn.startswith(b"\x89PNG" if what == "wordcloud" else b"<?xml")
    assert len(drawn) > 3000
    if what != "wordcloud":  # drawn again in test_chart
        assert drawn == nk.plot(run, what, threads=1).draws("svg")


@pytest.mark.parametrize(("what", "name", "head"), [("tree", "pdf", b"%PDF"), ("stream", "png", b"\x89PNG")])
def test_other_formats_are_drawn_alike_again(what: str, name: str, head: bytes, runs: Path) -> None:
    drawn = nk.plot(runs / "lda", what).draws(name)
    assert drawn.startswith(head)
    assert drawn == nk.plot(runs / "lda", what).draws(name)
    assert len(drawn) > 3000


def test_size_and_number_of_topics(runs: Path) -> None:
    wide = nk.plot(runs / "lda", "over-time", width=20, height=5, topics=2).draws("svg").decode()
    size = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', wide)
    assert size
    assert [round(float(v) / 72 * 2.54, 1) for v in size.groups()] == [20.0, 5.0]
    assert nk.plot(runs / "lda", "topics", topics=1).draws("svg") != nk.plot(runs / "lda", "topics").draws("svg")


@pytest.mark.parametrize("what", ["tree", "similarity"])
def test_the_number_of_topics_counts_in_pictures_of_all(what: str, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(figures, f"draw_{what}", lambda figure, **data: drawn.update(data))
    nk.plot(runs / "lda", what).draws("svg")
    n, everything = len(drawn.get("order", drawn["names"])), list(drawn["names"])
    assert n == nk.load(runs / "lda").topics.num_rows >= 3
    nk.plot(runs / "lda", what, topics=2).draws("svg")
    if what == "tree":
        assert drawn["names"] == everything[:2]
        assert len(drawn["merges"]) == len(drawn["merges"][0]) - 2 == 1
    else:
        assert sorted(drawn["order"]) == [0, 1]


def test_lines_across_a_dark_picture_are_dark_and_the_names_of_curves_beside_it() -> None:
    """Before, they were nearly white on black, and names could lie on the curves."""
    evidence = [{"k": k, "score": k / 9, "npmi": 1 - k / 9, "chosen": k == 3} for k in range(1, 9)]
    seen: dict[str, Any] = {}

    def draw(figure: Any) -> None:
        draw_numbers(figure, evidence)
        (axes,) = figure.axes
        seen.update(axes=axes, line=axes.yaxis.get_gridlines()[0].get_color())
        figure.draw_without_rendering()

    for style, bright in (("dark", False), ("plain", True)):
        draw_figure(draw, "png", width=16, height=8, style=style, characters="")
        assert (int(seen["line"][1:3], 16) > 128) == bright
        axes = seen["axes"]
        assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1


def test_a_map_of_documents_in_one_place(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('{"id": "%s", "text": "bank loan money bank loan"}\n' * 4 % (*"abcd",), encoding="utf-8")
    nk.fit_lda(nk.read_corpus(path), k=1, sweeps=20).save(tmp_path / "run")
    assert nk.plot(tmp_path / "run", "map").draws("svg").startswith(b"<?xml")  # warnings are errors here


def test_letters_without_a_font_are_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    if not choose_font("\U00010000\U00010001").lacks:
        pytest.skip("this machine has a font of Linear B")
    path = tmp_path / "docs.jsonl"
    path.write_text(
        '{"text": "\U00010000\U00010001 loan \U00010000\U00010001 loan"}\n' * 4, encoding="utf-8"
    )  # Linear B
    nk.fit_lda(nk.read_corpus(path), k=1, sweeps=20).save(tmp_path / "run")
    assert nk.plot(tmp_path / "run", "topics").draws("svg").startswith(b"<?xml")  # warnings are errors here
    assert "no font of this machine has all characters of the picture (\U00010000\U00010001)" in caplog.text


def test_fonts_are_inside(runs: Path) -> None:
    assert b"/FontFile2" in nk.plot(runs / "lda", "tree").draws("pdf")
    assert b"<text" not in nk.plot(runs / "lda", "tree").draws("svg")  # letters are paths


def test_what_cannot_be_drawn(runs: Path, tmp_path: Path) -> None:
    small = run_cli("plot", runs / "lda", "similarity", "--height", "2", "-o", tmp_path / "a.pdf", code=2).error()
    assert "17.5 by 2 cm leave no room between the names in this picture; use a larger --width or --height" in small
    assert not (tmp_path / "a.pdf").exists()
    with pytest.raises(UsageError, match="did you mean 'tree'"):
        nk.plot(runs / "lda", "tre")
    for what in SCORE_PLOTS:
        with pytest.raises(InputError, match="picture of classifiers"):
            nk.plot(runs / "lda", what)
    with pytest.raises(InputError, match="picture of topic models"):
        nk.plot(runs / "classes", "map")
    with pytest.raises(UsageError, match="0 to"):
        nk.plot(runs / "lda", "wordcloud", topic=99)
    with pytest.raises(UsageError, match=r"\.svg, \.pdf, \.png"):
        nk.plot(runs / "lda", "tree").save(tmp_path / "tree.gif")
    with pytest.raises(UsageError, match=r"\.png"):
        nk.plot(runs / "lda", "wordcloud").save(tmp_path / "cloud.svg")
    texts = ["water boat fish", "judge court law"] * 10
    nk.fit_lda(texts, k=2, sweeps=20).save(tmp_path / "plain")
    for what, needed in (
        ("over-time", "column 'date'"),
        ("by-column", "no column of 2 to 30"),
        ("number", "was given"),
    ):
        with pytest.raises(InputError, match=needed):
            nk.plot(tmp_path / "plain", what)


def test_why_there_are_no_numbers_of_topics_to_draw(few_news: Path, runs: Path) -> None:
    def why(run: str | Path) -> str:
        return run_cli("plot", run, "number", "-o", "n.svg", code=3).error()

    advice = "; fit with --k auto or a range for a picture of it"
    quick = ("--iterations", "5", "-q")
    run_cli("lda-gibbs", few_news, "--k", "3", "--sweeps", "5", "-q", "-o", "three")
    assert why("three").endswith(
        f"three has no scores of numbers of topics to draw: the number of topics, 3, was given{advice}"
    )
    for command in ("hdp", "hlda"):
        run_cli(command, few_news, *quick, "-o", command)
        assert re.search(r"to draw: the number of topics, \d+, was found with the topics$", why(command))
    run_cli("labeled-lda", few_news, *quick, "-o", "labels")
    assert why("labels").endswith("to draw: the topics are the 8 labels of the documents")
    run_cli("labeled-lda", few_news, *quick, "--latent", "2", "-o", "latent")
    assert why("latent").endswith("the topics are the 8 labels of the documents and 2 that every document may use")
    run_cli("rolling-lda", few_news, "--k", "3", "--init", "2024-06-30", "--sweeps", "5", "-q", "-o", "rolling")
    assert why("rolling").endswith(
        "to draw: the number of topics, 3, was given"
    )  # by a command without auto and ranges
    Path("edits.toml").write_text("merge = [[0, 1]]\n", encoding="utf-8")
    run_cli("edit", runs / "lda", "edits.toml", "-q", "-o", "edited")
    assert why("edited").endswith("lda after they were edited by hand")


def test_only_the_column_in_the_picture_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"text": "bank loan money", "a": "xy"[i % 2], "b": "xy"[i % 2] if i > 2 else None} for i in range(20)]
    nk.fit_lda(nk.read_corpus(write_jsonl(tmp_path / "docs.jsonl", rows)), k=2, sweeps=5).save(tmp_path / "run")
    nk.plot(tmp_path / "run", "by-column")
    assert "'b'" not in caplog.text
    nk.plot(tmp_path / "run", "by-column", by="b")
    assert "left out: 3 documents without a value in 'b'" in caplog.text


def test_the_tree_of_hlda_is_that_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    run_cli("hlda", NEWS, "--iterations", "5", "-q", "-o", "run")
    drawn: dict[str, Any] = {}
    monkeypatch.setattr("nlpkit.report.plot.draw_topic_tree", lambda figure, **data: drawn.update(data))
    nk.plot("run", "tree").draws("svg")
    layers = nk.info("run")["layers"]
    assert drawn["parents"] == {row["topic"]: row["parent"] for row in layers}
    assert drawn["sizes"] == {row["topic"]: row["size"] for row in layers}
    assert [drawn["names"][row["topic"]] for row in layers] == [row["label"] for row in layers]
    nk.plot("run", "tree", topics=3).draws("svg")
    least = sorted(row["size"] for row in layers)[-3]
    assert len(drawn["parents"]) == 3
    assert all(row["size"] >= least for row in layers if row["topic"] in drawn["parents"])
    assert set(drawn["parents"].values()) - {None} <= set(drawn["parents"])


def test_the_command(runs: Path) -> None:
    done = run_cli("plot", runs / "lda", "hierarchy", "-o", "t.svg", "--json")
    assert done.json() == {"output": "t.svg", "what": "tree"}
    assert Path("t.svg").stat().st_size > 3000
    assert "t.svg" in run_cli("plot", runs / "lda", "tree", "-o", "t.svg", code=2).error()
    assert "-o tree.svg" in run_cli("plot", runs / "lda", "tree", code=2).error()


def test_pictures_are_listed_with_those_that_cannot_be(runs: Path) -> None:
    done = run_cli("plot", runs / "lda")
    assert "Pictures of" in done.out
    assert "only for robust topics" in done.out
    assert "next: nlpkit plot" in done.err
    listed = run_cli("plot", runs / "lda", "--json").json()["pictures"]
    assert [row["what"] for row in listed] == list(TOPIC_PLOTS)
    for row in listed:
        if row["missing"]:
            with pytest.raises(InputError):
                nk.plot(runs / "lda", row["what"])
    assert {row["what"] for row in nk.pictures_of(runs / "classes") if row["missing"]} == {"learning"}
    assert "WHAT is missing" in run_cli("plot", runs / "lda", "-o", "x.svg", code=2).error()
    assert (
        "changes nothing in a picture of map"
        in run_cli("plot", runs / "lda", "map", "--by", "label", "-o", "x.svg", code=2).error()
    )


def test_widths_are_those_of_columns_of_a_journal(runs: Path) -> None:
    def cm(what: str, **settings: Any) -> float:
        drawn = nk.plot(runs / ("classes" if what == "scores" else "lda"), what, **settings).draws("svg").decode()
        size = re.search(r'width="([\d.]+)pt"', drawn)
        assert size
        return round(float(size[1]) / 72 * 2.54, 1)

    assert (cm("columns"), cm("scores"), cm("over-time")) == (8.5, 8.5, 17.5)
    assert cm("over-time", by="label", topics=2, width=12) == 12


def test_grey_pictures_have_no_colours(runs: Path) -> None:
    for what in ("stream", "by-column", "map"):
        drawn = nk.plot(runs / "lda", what, style="grey").draws("svg").decode()
        colours = set(re.findall(r"#([0-9a-f]{6})", drawn))
        assert len(colours) > 1
        assert {colour for colour in colours if len({colour[:2], colour[2:4], colour[4:]}) > 1} == set()


def test_leaves_of_a_tree_stand_so_that_no_branches_cross() -> None:
    assert leaf_order([[0, 2, 0.1], [1, 3, 0.2], [4, 5, 0.5]], 4) == [0, 2, 1, 3]
    assert leaf_order([], 1) == [0]


def test_a_tree_of_some_leaves_keeps_their_distances() -> None:
    merges = [[0, 2, 0.1], [1, 3, 0.2], [4, 5, 0.5]]
    assert merges_among([0, 1, 2, 3], merges) == merges
    assert merges_among([3, 2, 0], merges) == [[2, 1, 0.1], [3, 0, 0.5]]
    assert merges_among([1, 2], merges) == [[1, 0, 0.5]]
    assert merges_among([1], merges) == []


def test_boxes_are_pushed_apart_and_stay_inside() -> None:
    places, half = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.0, 5.01]]), np.full((4, 2), [10.0, 5.0])
    at = boxes_apart(places, half, (100.0, 60.0))
    assert ((at >= half) & (at <= np.array([100.0, 60.0]) - half)).all()
    over = 2 * half[:, None] - np.abs(at[:, None] - at[None])
    assert not np.triu((over > 1e-6).all(axis=2), 1).any()
    assert at[:2, 0].max() < at[2:, 0].min()  # near topics stay near
    crowded = boxes_apart(np.zeros((30, 2)), np.full((30, 2), 20.0), (50.0, 50.0))
    assert np.isfinite(crowded).all()


def test_places_of_a_network_keep_distances() -> None:
    places = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    squared = ((places[:, None] - places) ** 2).sum(axis=2)
    scaled = classical_scaling(squared)
    np.testing.assert_allclose(((scaled[:, None] - scaled) ** 2).sum(axis=2), squared, atol=1e-12)


@pytest.mark.parametrize(("what", "option"), [("map", "by"), ("stream", "by"), ("map", "over"), ("topics", "topic")])
def test_options_that_change_nothing_are_refused(what: str, option: str, runs: Path) -> None:
    """Pictures were the same bytes with and without them."""
    with pytest.raises(UsageError, match=f"`{option}` changes nothing in a picture of {what}"):
        nk.plot(runs / "lda", what, **{option: 0 if option == "topic" else "label"})


@pytest.fixture(scope="module")
def hidden(runs: Path) -> Path:
    """Return the run of LDA with its largest topic hidden."""
    run_cli("edit", runs / "lda", "--hide", "0", "-q", "-o", runs / "hidden")
    return runs / "hidden"


@pytest.mark.parametrize(
    ("what", "where", "settings"),
    [
        ("topics", "figures.draw_words", {}), ("tree", "figures.draw_tree", {}), ("similarity", "figures.draw_similarity", {}),
        ("correlations", "draw_correlations", {}), ("distances", "draw_distances", {}), ("over-time", "draw_over_time", {}),
        ("stream", "draw_stream", {}), ("by-column", "figures.draw_by_column", {}), ("map", "draw_map", {}),
        ("over-time", "covariates.draw_time_by_group", {"by": "source"}),
    ],
)  # fmt: skip
def test_hidden_topics_are_on_no_picture(
    what: str, where: str, settings: dict[str, Any], runs: Path, hidden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(f"nlpkit.report.plot.{where}", lambda figure, **data: drawn.update(data))
    rest = nk.info(runs / "lda")["topics"][1:]
    K = len(rest) + 1
    nk.plot(hidden, what, **settings).draws("svg")
    if what == "map":
        assert set(drawn["topics"].tolist()) == set(range(1, K))
        assert len(drawn["places"]) == sum(row["size"] for row in rest)
    elif what == "similarity":
        assert sorted(drawn["order"]) == list(range(1, K))
    elif what == "topics":
        assert [row["label"] for row in drawn["rows"]] == [row["label"] for row in rest]
    else:
        assert sorted(drawn["names"]) == sorted(row["label"] for row in rest)
    if what == "over-time" and settings:
        assert len(drawn["table"]["share"]) == K - 1


def test_a_run_whose_topics_are_all_hidden_has_no_picture(runs: Path, hidden: Path) -> None:
    K = len(nk.info(runs / "lda")["topics"])
    run_cli("edit", runs / "lda", "--hide", ",".join(map(str, range(K))), "-q", "-o", runs / "nothing")
    with pytest.raises(InputError, match=r"all topics of .* are hidden"):
        nk.plot(runs / "nothing", "topics")
    flows: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nlpkit.topics.diff.figure.draw_flows", lambda figure, **data: flows.update(data))
        nk.diff(hidden, runs / "lda").picture().draws("svg")
    assert flows["flows"].shape == (K - 1, K)
    assert [len(names) for names in flows["names"]] == [len(colours) for colours in flows["colours"]] == [K - 1, K]
    assert flows["heads"][0] == f"A: {K - 1} topics of hidden"

"""What the report shows of columns: differences as effects has them, time by group, words by level, what columns explain."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import open_run
from nlpkit.report import covariates
from nlpkit.report.options import ReportOptions
from tests.command_line import run_cli, write_jsonl
from tests.report.test_report_command import container

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Topics that depend on a party, and on time in one party only; words of a topic that depend on the party."""
    folder, rng = tmp_path_factory.mktemp("covariates"), np.random.default_rng(0)
    words = [f"{topic}{letter}" for topic in ("tax", "school", "river", "crime") for letter in "abcdefgh"]
    rows = []
    for i in range(240):
        party, month = int(rng.random() < 0.5), i % 12
        theta = rng.dirichlet([[6.0, 2, 1, 1 + month], [2.0, 6, 1, 2]][party])
        terms = rng.choice(words, 25, p=np.repeat(theta / 8, 8)).tolist() + [["red", "blue"][party]] * 2
        rows.append(
            {"id": f"d{i}", "text": " ".join(terms), "party": "dr"[party], "coin": "xy"[rng.integers(2)],
             "date": f"2024-{month + 1:02}-03"}
        )  # fmt: skip
    write_jsonl(folder / "rows.jsonl", rows)
    corpus = nk.read_corpus(folder / "rows.jsonl")
    settings = {"k": 4, "prevalence": "party * s(date, 3) + coin", "content": "party", "iterations": 30}
    nk.fit_stm(corpus, **settings, stop_words="none").save(folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def page(run: Path) -> Path:
    return nk.report(run).save(run.parent / "page.html")


def test_differences_of_the_page_are_those_of_effects(run: Path, page: Path) -> None:
    data = container(page.read_text(encoding="utf-8"), "data")[0]["effects"]
    assert [(e["name"], e["moderator"], e["type"]) for e in data["columns"]] == [
        ("party", None, "category"), ("date", None, "date"), ("coin", None, "category"), ("date", "party", "date"),
        ("party", "date", "category"),
    ]  # fmt: skip
    entry = data["columns"][0]
    table = nk.estimate_effects(run, column="party", difference="r,d").table.to_pylist()
    for k, row in enumerate(table):
        mean, C = entry["mean"][0][k], entry["cov"][0][k]
        error = (C[0][0] + C[1][1] - 2 * C[0][1]) ** 0.5
        assert mean[1] - mean[0] == pytest.approx(row["difference"], abs=2e-5)
        assert mean[1] - mean[0] - data["t"] * error == pytest.approx(row["low"], abs=2e-4)
    lines = nk.estimate_effects(run, column="date", moderator="party").table
    drawn, ends = data["columns"][3], lines.filter(np.asarray(lines.column("topic")) == 2).to_pylist()
    assert drawn["lines"] == ["d", "r"]
    of_d = [row["share"] for row in ends if row["moderator"] == "d"]
    assert (drawn["share"][0][2][0], drawn["share"][0][2][-1]) == pytest.approx((of_d[0], of_d[-1]), abs=1e-4)


def test_a_number_with_two_values_is_compared_as_a_category(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = []
    for i in range(120):
        treated = i % 2
        share = 0.3 + 0.4 * treated
        words = ["jobs", "pay", "work", "border", "wall", "crime"]
        terms = rng.choice(words, 12, p=np.repeat([share / 3, (1 - share) / 3], 3))
        rows.append({"text": " ".join(terms), "treated": treated, "age": int(rng.integers(20, 60))})
    corpus = nk.read_corpus(write_jsonl(tmp_path / "rows.jsonl", rows))
    run = nk.fit_stm(corpus, k=2, prevalence="treated + age", iterations=20).save(tmp_path / "run")
    data = covariates.effects(open_run(run), ReportOptions(), Execution())
    assert data is not None
    assert [(e["name"], e["type"], e.get("values")) for e in data["columns"]] == [
        ("treated", "category", ["0", "1"]), ("age", "number", None),
    ]  # fmt: skip
    entry = data["columns"][0]
    for k, row in enumerate(nk.estimate_effects(run, column="treated", difference="1,0").table.to_pylist()):
        assert entry["mean"][0][k][1] - entry["mean"][0][k][0] == pytest.approx(row["difference"], abs=2e-5)
    run_cli("edit", run, "--hide", "1", "-q", "-o", tmp_path / "hidden")
    drawn: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nlpkit.topics.effects.figures.draw_effects", lambda figure, **what: drawn.update(what))
        nk.plot(tmp_path / "hidden", "effects").draws("svg")
    assert [name[0] for name in drawn["names"]] == ["0"]


def test_time_by_group_by_hand(run: Path) -> None:
    documents = open_run(run).table("documents")
    tables = covariates.time_by_group(open_run(run), documents, ["party"], "date:quarter", Execution())
    (table,) = tables
    assert (table["cells"], table["groups"]) == (["2024-Q1", "2024-Q2", "2024-Q3", "2024-Q4"], ["d", "r"])
    theta, rows = nk.load(run).theta, documents.to_pylist()
    for g, party in enumerate("dr"):
        members = [i for i, row in enumerate(rows) if row["party"] == party and row["date"][5:7] in ("04", "05", "06")]
        assert table["n"][g][1] == len(members)
        for k in range(4):
            assert table["share"][k][g][1] == pytest.approx(theta[members, k].mean(), abs=2e-3)
            assert table["low"][k][g][1] < table["share"][k][g][1] < table["high"][k][g][1]
    assert covariates.time_by_group(open_run(run), documents, ["party"], None, Execution()) == []


def test_words_by_level_and_what_columns_explain(run: Path, page: Path) -> None:
    html = page.read_text(encoding="utf-8")
    table = html.partition('id="content-table"')[2].partition("</table>")[0]
    cells = [row.split("<td>")[1:] for row in table.split("<tr>")[2:]]
    assert all("red" in cell[0] and "blue" in cell[1] and "blue" not in cell[0] for cell in cells)
    data = container(html, "data")[0]
    assert data["explained"]["rows"][0]["column"] in ("party", "date")
    assert data["explained"]["rows"][-1]["p"] > 0.05
    assert all(series["q"] is not None for series in data["by_column"][0]["series"])
    r = np.corrcoef(nk.load(run).theta.T)
    for j, k, value in data["network"]["pairs"]:
        assert value == pytest.approx(r[j, k], abs=2e-3)


def test_the_remedy_is_named_where_a_column_dominates(tmp_path: Path) -> None:
    rows = [{"text": ["water boat fish", "judge court law"][i % 2] * 3, "source": "ab"[i % 2]} for i in range(60)]
    nk.fit_lda(nk.read_corpus(write_jsonl(tmp_path / "rows.jsonl", rows)), k=2, sweeps=40).save(tmp_path / "run")
    given = covariates.column_ranking(open_run(tmp_path / "run"), ["source"], Execution())
    assert given is not None
    assert "nlpkit lda-gibbs --debias source" in given["note"]
    assert covariates.effects(open_run(tmp_path / "run"), ReportOptions(), Execution()) is None
    html = nk.report(tmp_path / "run", no_texts=True).html
    assert container(html, "data")[0].get("explained") is None


def test_single_pictures(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for what, settings in (
        ("effects", {}), ("effects", {"by": "party", "difference": "r,d"}), ("effects", {"by": "date", "moderator": "party"}),
        ("content", {"topic": 1}), ("columns", {}), ("over-time", {"by": "party"}), ("distances", {}),
    ):  # fmt: skip
        drawn = nk.plot(run, what, **settings).draws("svg")
        assert len(drawn) > 3000
        assert drawn == nk.plot(run, what, **settings).draws("svg")
    with pytest.raises(UsageError, match="0 to 3"):
        nk.plot(run, "content", topic=4)
    with pytest.raises(UsageError, match="`difference` needs `by`"):
        nk.plot(run, "effects", difference="r,d")
    nk.plot(run, "effects", by="party", difference="r,d").save(tmp_path / "a.pdf")


@pytest.fixture
def tab(page: Path) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        opened, problems = browser.new_page(viewport={"width": 1280, "height": 900}), list[str]()
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.goto(page.as_uri())
        opened.wait_for_selector("html[data-ready=all]", state="attached")
        yield opened
        assert problems == []
        assert "null" not in opened.locator("main").inner_text()
        browser.close()


def test_effects_in_the_page(tab: Any) -> None:
    effects = tab.locator("#effects")
    assert effects.locator("svg.chart g").count() == 4
    assert "More at party r than at d" in effects.inner_text()
    first = effects.locator("p[aria-live]").inner_text()
    effects.locator("select").nth(2).select_option("0")
    effects.locator("select").nth(3).select_option("1")
    assert "More at party d than at r" in effects.inner_text() != first
    effects.locator("select").nth(1).select_option("1")
    assert effects.locator("figure").count() == 4
    effects.locator("select").first.select_option("3")  # date by party
    assert effects.locator("figure").first.locator("path.line").count() == 2
    assert effects.locator(".line-key").count() == 2
    effects.locator("select").first.select_option("4")  # party by date: a point for each of two dates
    effects.locator("select").nth(1).select_option("0")
    assert effects.locator("svg.chart g").count() == 8


def test_network_columns_and_time_in_the_page(tab: Any) -> None:
    assert tab.locator("#network circle").count() == 4
    edges = tab.locator("#network .edge").count()
    tab.locator("#network input").fill(tab.locator("#network input").get_attribute("max"))
    assert tab.locator("#network .edge").count() <= max(edges, 1)
    columns = tab.locator("#columns")
    assert "explains most" in columns.inner_text()
    assert columns.locator("td.more").count() > 0 < columns.locator("td.less").count()
    differing = columns.locator("table").first.locator("th[scope=row]").evaluate_all("all => all.map(t => t.className)")
    assert differing == sorted(differing, reverse=True)  # those that differ stand first
    columns.locator("select").first.select_option("1")
    assert columns.locator("figure").count() == 4
    tab.locator("#time select").select_option("1")
    assert tab.locator("#time figure").first.locator("path.line").count() == 2
    boxes = tab.locator("#time figure svg").evaluate_all("all => all.map(s => Math.round(s.getBoundingClientRect().y))")
    assert len(set(boxes)) <= 2  # charts of one row are aligned
    tab.set_viewport_size({"width": 390, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_word_shows_its_topics(tab: Any, page: Path) -> None:
    rows = container(page.read_text(encoding="utf-8"), "data")[0]["topics"]
    assert sum(row["tokens"] for row in rows) == pytest.approx(1, abs=1e-3)
    words = tab.locator("#words")
    assert words.locator("figure").count() == 4
    word = words.locator("[data-word=red]").first
    word.press("Enter")
    assert "“red” among the words of" in words.inner_text()
    of = {row["topic"]: row["tokens"] * term["l"] for row in rows for term in row["terms"] if term["t"] == "red"}
    listed = words.locator("li").first.inner_text()
    assert f"{100 * max(of.values()):.0f} %" in listed or f"{100 * max(of.values()):.1f} %" in listed
    assert sum(of.values()) == pytest.approx(1, abs=0.02)
    assert words.locator(".word.off").count() > 10
    assert tab.evaluate("document.activeElement.dataset.word") == "red"  # where one was
    sizes = [float(c.get_attribute("r")) for c in tab.locator("#distances .topic-circle").all()]
    assert sizes == pytest.approx([4 + 34 * of.get(k, 0) ** 0.5 for k in range(4)], abs=0.01)
    words.get_by_role("button", name="Back to all words").click()
    assert words.locator(".word.off").count() == 0


def test_lambda_moves_everywhere_and_topics_are_compared(tab: Any) -> None:
    tab.locator("#words input[type=range]").fill("0")
    exclusive = tab.locator("#words figure").first.locator(".word").first.get_attribute("data-word")
    assert tab.locator("#lambda").input_value() == "0"
    assert tab.locator("#topic-table tbody tr").first.locator("td").last.inner_text().startswith(exclusive)
    assert tab.locator("#distances path[fill]").count() > 2
    assert "Most alike:" in tab.locator("#distances").inner_text()
    box = tab.locator("#distances svg[aria-label^=Similarity]").bounding_box()
    tab.locator("#distances svg[aria-label^=Similarity]").hover(position={"x": box["width"] - 5, "y": 30})
    assert tab.locator("#distances p.soft", has_text="Point at a cell").count() == 0


def test_the_tree_can_be_read_on_a_phone(tab: Any) -> None:
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.reload()
    tab.wait_for_selector("html[data-ready=all]", state="attached")
    heights = tab.locator("#tree text").evaluate_all("all => all.map(t => t.getBoundingClientRect().height)")
    assert min(heights) > 10
    right = tab.locator("#tree text").evaluate_all("all => Math.max(...all.map(t => t.getBoundingClientRect().right))")
    assert right <= 390

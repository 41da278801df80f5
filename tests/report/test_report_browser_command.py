"""The page of a report in a real browser: every panel is used; nothing is requested; texts stay texts. Needs Chromium and playwright."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from tests.command_line import needs_hdbscan, run_cli

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
EVIL = '</script><script>document.title="taken"</script><img src="http://127.0.0.1:9/x.png" onerror="document.title=1">'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with reports of LDA, with and without texts, and of a classifier."""
    folder = tmp_path_factory.mktemp("pages")
    themes = {
        "river": "water bank boat fish stream",
        "court": "judge jury law trial guilty",
        "music": "song band concert tour album",
    }
    rows = []
    for n in range(120):
        name = list(themes)[n % 3]
        words = themes[name].split()
        text = " ".join(words[(n + i) % 5] for i in range(10)) + " today today" + (" =1+1" if n == 4 else "")
        rows.append(
            {
                "id": f"d{n}",
                "title": f"Title {n}",
                "text": text,
                "date": f"2024-{n % 6 + 1:02}-03",
                "label": name,
                "size": n,
            }
        )
    rows[7]["text"] = f"{rows[7]['text']} {EVIL}"
    rows[8]["title"], rows[9]["title"] = EVIL, "=cmd()"
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    corpus = nk.read_corpus(folder / "docs.jsonl")
    nk.fit_lda(corpus, k=4, sweeps=60, optimize_interval=0, stop_words="none").save(folder / "lda")
    run_cli("classify", folder / "docs.jsonl", "--cv", "3", "-o", folder / "classes")
    nk.fit_lda(corpus, k=3, sweeps=60, stop_words="none").save(folder / "other")
    nk.report(folder / "lda", compare=folder / "other").save(folder / "lda.html")
    nk.report(folder / "lda", no_texts=True).save(folder / "bare.html")
    nk.report(folder / "classes").save(folder / "classes.html")
    return folder


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Return what opens a page and fails at its end if a script failed or anything was requested."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page = context.new_page()
    requests: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)

    def go(path: Path) -> Any:
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=all]", state="attached")
        return page

    yield go
    assert [url for url in requests if not url.startswith(("file:", "blob:"))] == []
    assert len({url.partition("?")[0] for url in requests if url.startswith("file:")}) == 1
    assert problems == []
    context.close()


def downloaded(page: Any, button: Any) -> str:
    """Return what a button saves, as text."""
    with page.expect_download() as waiting:
        button.click()
    return Path(waiting.value.path()).read_text(encoding="utf-8-sig")


def test_the_map(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    canvas = page.locator("#map canvas")
    before = canvas.screenshot()
    canvas.focus()
    page.keyboard.press("Enter")
    assert page.locator("#map .side h3").inner_text()
    assert page.locator("#map .side table tr").count() >= 4
    page.locator("#map").get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(80)
    assert canvas.screenshot() != before
    page.locator("#map").get_by_role("button", name="All", exact=True).click()
    for by in ("label", "date", "size", "probability of the topic", "topic"):
        page.locator("#colour").select_option(label=by)
        assert page.locator("#map .legend li").count() >= 3
    page.locator("#map .legend button").first.click()
    heading = page.locator("#map .side h3").first.inner_text()
    assert "of 120 documents" in heading
    saved = downloaded(page, page.locator("#map .side").get_by_role("button", name="CSV"))
    assert saved.splitlines()[0] == "id,title,topic,name,probability,date,label,size"


def test_hover_click_and_lasso(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    page.locator("#map canvas").scroll_into_view_if_needed()
    box = page.locator("#map canvas").bounding_box()
    hit = next(
        (x, y)
        for y in range(20, int(box["height"]), 10)
        for x in range(20, int(box["width"]), 10)
        if page.mouse.move(box["x"] + x, box["y"] + y) is None and page.locator("#map .tip").is_visible()
    )
    assert "Title" in page.locator("#map .tip").inner_text() or "script" in page.locator("#map .tip").inner_text()
    page.mouse.click(box["x"] + hit[0], box["y"] + hit[1])
    assert page.locator("#map .doc").inner_text()
    page.locator("#map").get_by_role(
        "button", name="Zoom out"
    ).click()  # the farthest documents may lie outside at first
    page.locator("#map").get_by_role("button", name="Lasso").click()
    corners = [(2, 2), (box["width"] - 3, 2), (box["width"] - 3, box["height"] - 3), (2, box["height"] - 3), (2, 2)]
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in corners:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    page.mouse.up()
    assert page.locator("#map .side h3").first.inner_text() == "Lasso: 120 of 120 documents"


def test_search_by_word_and_pattern(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    for typed, hits in (("boat", 40), ("/^(boat|judge)/", 16), ("/(/", None), ("Title 77", 1)):
        page.locator("#search").fill(typed)
        page.keyboard.press("Enter")
        found = page.locator("#map form span").inner_text()
        assert found.startswith("This is no pattern") if hits is None else found == f"{hits} of 120", typed


def test_what_a_document_says_stays_text(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    page.locator("#search").fill("onerror")
    page.keyboard.press("Enter")
    assert page.locator("#map .side ol li").count() == 2
    page.locator("#map .side ol button").first.click()
    assert "<script>" in page.locator("#map .side").inner_text()
    assert page.title().startswith("LDA: 4 topics")
    assert page.locator("img").count() == 0
    page.locator("#search").fill("=cmd")
    page.keyboard.press("Enter")
    saved = downloaded(page, page.locator("#map .side").get_by_role("button", name="CSV"))
    assert saved.splitlines()[1].split(",")[1] == "'=cmd()"  # no spreadsheet runs it


def test_topics_open_sort_and_follow_lambda(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    page.locator("#topic-table tbody button").first.click()
    detail = page.locator("#topic-table .detail")
    assert detail.locator("svg.bars g").count() >= 5
    detail.locator("summary").first.click()
    assert detail.locator("mark").count() > 0
    words = detail.locator("svg.bars g > text:first-of-type")
    places = []
    for weight in ("1", "0"):
        page.locator("#lambda").fill(weight)
        places.append(words.all_text_contents().index("today"))
    assert places[0] < places[1]  # a word of every topic is probable in each, and exclusive in none
    page.locator("#topic-table thead button", has_text="Documents").first.click()
    sizes = page.locator("#topic-table tbody tr:not(.detail) td.n:nth-child(2)").all_inner_texts()
    assert [int(s) for s in sizes] == sorted(map(int, sizes), reverse=True)
    page.locator("#topic-table thead button", has_text="Documents").first.click()
    sizes = page.locator("#topic-table tbody tr:not(.detail) td.n:nth-child(2)").all_inner_texts()
    assert [int(s) for s in sizes] == sorted(map(int, sizes))
    detail.get_by_role("button", name="Show on the map").click()
    assert "of 120 documents" in page.locator("#map .side h3").first.inner_text()
    saved = downloaded(page, page.get_by_role("button", name="Topics as CSV"))
    assert len(saved.splitlines()) == 5


def test_time_columns_tree_and_distances(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    assert page.locator("#time svg").count() == 4
    assert "0 %" in page.locator("#time svg text").all_text_contents()
    page.get_by_role("button", name="Same scale").click()
    assert len(downloaded(page, page.locator("#time").get_by_role("button", name="CSV")).splitlines()) > 8
    assert page.locator("#topic-table .spark").count() == 4
    assert page.locator("#columns table").count() >= 1
    assert "documents" in page.locator("#columns td.heat").first.get_attribute("title")
    assert page.locator("#tree .node").count() == 7
    page.locator("#tree .node").last.click()
    assert "of 120 documents" in page.locator("#map .side h3").first.inner_text()
    page.locator("#distances .topic-circle").nth(2).click(force=True)
    assert page.locator("#distances svg.bars").count() == 1
    first = page.locator("#topic-table tbody tr button").first.inner_text().split(",")[0]
    assert first[:12] in page.locator("#distances text.halo").all_text_contents()
    page.locator("#distances select").select_option("3")
    assert page.locator("#compared .flow").count() >= 4
    assert len(downloaded(page, page.locator("#compared").get_by_role("button", name="CSV")).splitlines()) >= 5
    assert downloaded(page, page.locator("#tree").get_by_role("button", name="SVG")).startswith("<svg")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_dark_and_printed(pages: Path, browser: Any, scheme: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto((pages / "lda.html").as_uri())
    page.wait_for_selector("html[data-ready=all]", state="attached")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.locator("#topic-table").is_visible()
    assert len(page.pdf()) > 10_000
    context.close()


def test_a_narrow_page_with_long_names_in_its_menus(pages: Path, browser: Any) -> None:
    page = browser.new_context(viewport={"width": 390, "height": 800}).new_page()
    page.goto((pages / "lda.html").as_uri())
    page.wait_for_selector("html[data-ready=all]", state="attached")
    for menu in page.locator(".bar select").all():
        menu.evaluate(
            "menu => menu.add(new Option('a name that is much longer than the page of a phone is wide', 'x'))"
        )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.context.close()


def test_without_texts(pages: Path, visit: Any) -> None:
    page = visit(pages / "bare.html")
    page.locator("#map canvas").focus()
    page.keyboard.press("Enter")
    assert page.locator("#map .side h3").inner_text().startswith("d")
    assert "Title" not in page.locator("body").inner_text()


def test_without_javascript_the_words_are_there(pages: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((pages / "lda.html").as_uri())
    assert page.locator("#topic-table tbody tr").count() == 4
    assert "Without JavaScript" in page.locator("body").inner_text()
    context.close()


def test_a_classifier(pages: Path, visit: Any) -> None:
    page = visit(pages / "classes.html")
    assert page.locator("#scores svg g").count() >= 5
    assert page.locator("#confusion td.heat").count() == 9
    assert page.locator("#calibration svg circle").count() >= 2
    assert len(downloaded(page, page.locator("#confusion").get_by_role("button", name="CSV")).splitlines()) == 4


def test_errors_have_an_axis_of_their_own(pages: Path, visit: Any) -> None:
    run_cli("classify", pages / "docs.jsonl", "--label-col", "size", "--task", "regression", "-o", pages / "sizes")
    nk.report(pages / "sizes").save(pages / "sizes.html")
    charts = visit(pages / "sizes.html").locator("#scores svg")
    names = [chart.locator("text:not(.faint)").all_text_contents() for chart in charts.all()]
    assert names == [["r2", "pearson", "spearman"], ["rmse", "mae"]]
    highest = charts.last.locator("text.faint").last.text_content()
    assert float(highest) > 1


@needs_hdbscan
def test_several_runs_in_one_page(pages: Path, visit: Any, browser: Any) -> None:
    done = run_cli("report", pages / "lda", pages / "other", pages / "classes", "-o", pages / "three.html")
    assert "240 documents" in done.err or "360 documents" in done.err
    page = visit(pages / "three.html")
    assert page.locator("#topic-table tbody tr").count() == 4
    assert page.locator("#run option").count() == 3
    with page.expect_navigation():
        page.locator("#run").select_option("1")
    page.wait_for_selector("html[data-ready=all]", state="attached")
    assert page.locator("#topic-table tbody tr").count() == 3
    assert page.locator("#run").input_value() == "1"
    assert page.locator("main").count() == page.locator("#map canvas").count() == 1
    assert "3 topics" in page.title()
    context = browser.new_context()
    third = context.new_page()
    third.goto((pages / "three.html").as_uri() + "?run=2")
    third.wait_for_selector("html[data-ready=all]", state="attached")
    assert third.locator("#scores svg").count() == 1
    context.close()
    one = run_cli("report", pages / "lda", pages / "other", "--heading", "x", "-o", pages / "no.html", code=2)
    assert "--heading names the page of one run" in one.error()
    assert "<template" not in nk.report([pages / "lda"]).html


def test_names_follow_the_zoom(planted_run: Path, tmp_path: Path, visit: Any) -> None:
    nk.report(planted_run).save(tmp_path / "p.html")
    page = visit(tmp_path / "p.html")
    assert page.locator("#map select").count() >= 1
    page.locator("#map canvas").focus()
    for _ in range(4):
        page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    assert page.locator("#map .side p.soft").count() == 1


def test_cards_open_the_page_and_follow_what_is_selected(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    cards = page.locator("#overview .cards li")
    assert cards.count() == 4
    assert "documents" in cards.first.inner_text()
    name = cards.first.locator("button").inner_text()
    cards.first.locator("button").click()
    assert page.locator("#map .side h3").first.inner_text().startswith(name)
    page.wait_for_url("**#topic=0")
    assert page.locator("#overview .cards li.dim").count() == 3
    assert page.locator("#topic-table tr.dim").count() == 3
    page.get_by_role("button", name="Clear all").click()
    assert page.locator(".dim").count() == 0
    page.get_by_text("Scores, and what they mean").click()
    assert page.get_by_role("img", name="NPMI of 4 topics").is_visible()
    words = cards.first.locator("p.soft").last.inner_text().split(", ")
    assert words
    assert not set(words) & set(name.split(", "))  # the name has these already
    assert "of the words; main topic of" in cards.first.inner_text()  # two numbers that differ


def test_a_link_shows_its_topic_or_document_or_says_that_it_is_not_there(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    heading = page.locator("#map .side h3").first
    page.evaluate("location.hash = '#doc=d11'")
    page.wait_for_function("document.querySelector('#map .side h3')?.textContent === 'Title 11'")
    assert heading.inner_text() == "Title 11"
    page.evaluate("location.hash = '#topic=2'")
    page.wait_for_function("document.querySelector('#map .side h3')?.textContent.includes('of 120 documents')")
    for nothing in ("#doc=%E0", "#topic=77"):
        page.evaluate(f"location.hash = '{nothing}'")
        page.wait_for_selector("#map .side [role=alert]")


def test_a_period_and_contours(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    last = page.get_by_label("Last day")
    last.focus()
    page.keyboard.press("Home")
    assert "20 of 120 documents" in page.locator("#map .side h3").first.inner_text()
    assert page.locator("#map [aria-label=Period] output").inner_text() == "2024-01-03 to 2024-01-03"
    page.keyboard.press("End")
    assert page.locator("#map .side h3").count() == 0
    canvas = page.locator("#map canvas")
    page.wait_for_timeout(80)
    before = canvas.screenshot()
    page.locator("#map").get_by_role("button", name="Contours").click()
    page.wait_for_timeout(80)
    assert canvas.screenshot() != before

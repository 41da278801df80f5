"""A selection in the page of a report, in a real browser: what follows it, what holds it, by touch and by keys; and axe on every page."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from tests.command_line import needs_hdbscan, run_cli
from tests.report.test_report_browser_command import CHROMIUM, browser, downloaded, pages, visit

__all__ = ["browser", "pages", "visit"]  # fixtures
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
ROOT = Path(__file__).parents[2]
# where `npm install axe-core` puts it, in the project or in a folder above it; or the file that AXE_CORE names
AXE = next(
    filter(
        Path.is_file,
        [
            Path(os.environ.get("AXE_CORE", "none")),
            *(folder / "node_modules" / "axe-core" / "axe.min.js" for folder in (ROOT, *ROOT.parents)),
        ],
    ),
    None,
)
CLEAR = "Clear all (Esc)"


def ready(page: Any, address: str) -> Any:
    page.goto(address)
    page.wait_for_selector("html[data-ready=all]", state="attached")
    return page


def until(page: Any, condition: str) -> None:
    """Wait until a condition holds in the page, whose policy forbids that it is polled there."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{condition} did not become true")


def line(page: Any, text: str) -> None:
    """Wait until the line of the selection says this."""
    page.locator(".selected [role=status]", has_text=text).wait_for()


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def drawn_around(page: Any, host: str) -> None:
    """Draw a lasso around the left half of a map."""
    page.locator(host).get_by_role("button", name="Lasso").click()
    canvas = page.locator(f"{host} canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    half = box["width"] / 2
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in ((half, 2), (half, box["height"] - 3), (2, box["height"] - 3), (2, 2)):
        page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    page.mouse.up()


def test_all_parts_of_the_page_follow_a_topic_and_a_word(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    before = page.locator("#columns table").first.inner_text()
    assert page.locator(".selected").is_hidden()
    page.locator("#overview .cards button").first.click()
    n = int(page.evaluate("document.querySelector('#topic-table td.n').textContent"))
    line(page, f"Selected: {n} of 120 documents")
    until(page, "document.querySelectorAll('#words figure').length === 1")
    assert page.locator("#time figure").count() == 2  # the topic, and the selected documents among all
    assert page.locator("#columns table").first.inner_text() != before
    page.locator("#search").fill("today")
    page.keyboard.press("Enter")
    line(page, f"Selected: {n} of 120 documents")
    until(page, "location.hash === '#topic=0&text=today'")
    assert page.locator("#map .side ol mark").first.inner_text().lower() == "today"
    assert "selected whatever their topic and period" in page.locator("#time").inner_text()
    page.get_by_role("button", name="Clear “today”").click()
    page.get_by_role("button", name=CLEAR).click()
    assert page.locator(".selected").is_hidden()
    until(page, "document.querySelectorAll('#words figure').length === 4")
    assert page.evaluate("location.hash") == ""
    assert page.locator("#columns table").first.inner_text() == before


def test_a_value_of_a_column_filters_all_but_its_own_table(pages: Path, visit: Any) -> None:
    """Shares of the selected documents are those that the run has for the value."""
    page = visit(pages / "lda.html")
    page.locator("#columns th button", has_text="river").first.click()
    line(page, "Selected: 40 of 120 documents")
    assert page.locator("#columns th button[aria-pressed=true]").inner_text().startswith("river")
    assert "40 of 120 documents" in page.locator("#map .side h3").inner_text()
    page.get_by_role("button", name="Clear label: river").press("Enter")
    page.keyboard.press("Escape")
    assert page.locator(".selected").is_hidden()


def test_shares_of_selected_documents_are_counted(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    page.locator("#colour").select_option(label="label")
    page.locator("#map .legend button", has_text="court").click()
    line(page, "Selected: 40 of 120 documents")
    until(page, "document.querySelector('#time p').textContent.startsWith('Of the documents')")
    rows = cells(downloaded(page, page.locator("#time").get_by_role("button", name="CSV")))
    by_period: dict[str, float] = {}
    for row in rows[1:]:
        by_period[row[2]] = by_period.get(row[2], 0.0) + float(row[-4] or 0)
    assert by_period
    assert all(abs(total - 1) < 1e-9 or total == 0 for total in by_period.values())  # each document has one topic
    documents = cells(downloaded(page, page.locator("#map .side").get_by_role("button", name="CSV")))[1:]
    k, period = rows[1][0], rows[1][2]
    first = [d for d in documents if d[5] < "2024-04"]
    assert period == "2024-Q1"
    assert len(first) == int(rows[1][-1])
    assert float(rows[1][-4]) == pytest.approx(sum(d[2] == k for d in first) / len(first))


def test_words_against_the_rest_and_shares_by_column(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    page.locator("#search").fill("judge")
    page.keyboard.press("Enter")
    table = page.locator(
        "#other-map table, #map table", has=page.locator("caption", has_text="Documents with the word")
    )
    table.wait_for()
    words = table.locator("tbody th").all_inner_texts()
    assert {"judge", "jury", "law", "trial", "guilty"} == set(words)  # "today" is in all documents
    first = table.locator("tbody tr").first.locator("td").all_inner_texts()
    assert first[:2] == ["100 %", "0 %"]
    # G² of a word that is in 40 of 40 and in 0 of 80 documents: 2 (40 ln 3 + 80 ln 1.5)
    assert first[2] == "152.8"
    shares = page.locator("table", has=page.locator("caption", has_text="values that differ most"))
    assert shares.locator("tr", has_text="label: court").locator("td").all_inner_texts() == ["100 %", "0 %"]
    table.get_by_role("button", name="jury").click()
    line(page, "Selected: 40 of 120 documents")
    assert page.get_by_role("button", name="Clear word “jury”").count() == 1


def test_without_texts_no_words_are_compared(pages: Path, visit: Any) -> None:
    page = visit(pages / "bare.html")
    page.locator("#overview .cards button").first.click()
    page.locator("#map p", has_text="This file holds no texts").wait_for()
    page.locator("#words [data-word]").first.click()
    assert page.get_by_role("button", name="Select its documents").count() == 0


def test_a_link_holds_a_lasso_with_other_parts(pages: Path, visit: Any, browser: Any) -> None:
    page = visit(pages / "lda.html")
    drawn_around(page, "#map")
    line(page, "of 120 documents")
    page.locator("#search").fill("today")
    page.keyboard.press("Enter")
    until(page, "location.hash.includes('text=today')")
    said = page.locator(".selected [role=status]").inner_text()
    assert 0 < int(said.split()[1]) < 120
    other = ready(browser.new_context(viewport={"width": 390, "height": 800}).new_page(), page.url)
    line(other, said)
    assert other.locator("#search").input_value() == "today"
    link = other.locator(".selected a").get_attribute("href")
    assert page.url.endswith(link)
    other.context.close()
    for nonsense in ("#lasso=1_1", "#by.label=none", "#period=b..a", "#constructor=1", "#step.size=99", "#by.none=1"):
        page.evaluate(f"location.hash = '{nonsense}'")
        if nonsense != "#constructor=1":
            page.wait_for_selector("#map .side [role=alert]")
            assert page.locator(".selected").is_hidden()


def test_a_lasso_in_one_map_lights_up_in_the_other(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    names = page.locator("canvas").evaluate_all("nodes => nodes.map((n) => n.ariaLabel.split('.')[0])")
    assert names == ["Map of 120 documents", "Map of 120 documents in other"]
    main, other = page.locator("#map canvas"), page.locator("#other-map canvas")
    pictures = main.screenshot(), other.screenshot()
    drawn_around(page, "#other-map")
    line(page, "of 120 documents")
    page.wait_for_timeout(100)
    assert "Lasso in other" in page.locator("#map .side h3").inner_text()
    assert main.screenshot() != pictures[0]
    assert other.screenshot() != pictures[1]
    until(page, "location.hash.startsWith('#other=')")


def test_the_other_run_may_lack_documents(pages: Path, visit: Any) -> None:
    rows = (pages / "docs.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (pages / "part.jsonl").write_text("".join(rows[:50]), encoding="utf-8")
    nk.fit_lda(nk.read_corpus(pages / "part.jsonl"), k=3, sweeps=40, stop_words="none").save(pages / "part")
    nk.report(pages / "lda", compare=pages / "part").save(pages / "part.html")
    page = visit(pages / "part.html")
    assert page.locator("#other-map canvas").get_attribute("aria-label").startswith("Map of 50 documents in part")
    page.locator("#other-map").get_by_role("button", name="All", exact=True).click()
    page.locator("#other-map canvas").focus()
    page.keyboard.press("-")
    page.keyboard.press("-")
    page.keyboard.press("s")
    line(page, "Selected: 50 of 120 documents")


def test_a_phone_pans_pinches_and_taps(pages: Path, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = ready(context.new_page(), (pages / "lda.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    canvas = page.locator("#map canvas")
    canvas.evaluate("node => node.scrollIntoView({ block: 'center', behavior: 'instant' })")
    page.wait_for_timeout(200)
    box = canvas.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        session.send(
            "Input.dispatchTouchEvent",
            {
                "type": f"touch{kind}",
                "touchPoints": [{"x": middle[0] + x, "y": middle[1] + y, "id": i} for i, (x, y) in enumerate(points)],
            },
        )

    pictures = [canvas.screenshot()]
    touch("Start", (0, 0))
    for step in range(1, 6):
        touch("Move", (12.0 * step, 8.0 * step))
    touch("End")
    page.wait_for_timeout(250)
    pictures.append(canvas.screenshot())
    assert page.locator("#map .side h3").count() == 0  # a pan opens nothing
    touch("Start", (-30, 0), (30, 0))
    for step in range(1, 6):
        touch("Move", (-30 - 15.0 * step, 0), (30 + 15.0 * step, 0))
    touch("End")
    page.wait_for_timeout(250)
    pictures.append(canvas.screenshot())
    assert len(set(pictures)) == 3
    assert page.locator("#map .side h3").count() == 0
    page.locator("#map").get_by_role("button", name="All", exact=True).tap()
    page.wait_for_timeout(100)
    for y in range(-180, 180, 20):
        for x in range(-150, 150, 20):
            touch("Start", (x, y))
            touch("End")
            if page.locator("#map .side h3").count():
                break
        if page.locator("#map .side h3").count():
            break
    assert page.locator("#map .tip").is_visible()
    assert page.locator("#map .side .doc").inner_text()
    context.close()


def test_hidden_topics_are_on_no_picture(pages: Path, visit: Any, tmp_path: Path) -> None:
    run_cli("edit", pages / "lda", "--hide", "1,2", "-q", "-o", tmp_path / "hidden")
    nk.report(tmp_path / "hidden").save(tmp_path / "hidden.html")
    page = visit(tmp_path / "hidden.html")
    sizes = page.evaluate("[...document.querySelectorAll('#topic-table td.n:nth-child(2)')].map((c) => +c.textContent)")
    left = sizes[0] + sizes[3]
    assert page.locator("#map canvas").get_attribute("aria-label").startswith(f"Map of {left} documents")
    assert f"{120 - left} documents of hidden topics are not drawn" in page.locator("#map").inner_text()
    assert page.locator("#map .legend li").count() == 2
    assert page.locator("#tree .node").count() == 3
    assert page.locator("#distances .topic-circle").count() == 2
    assert page.locator("#distances select option").count() == 2
    assert page.locator("#review-split").count() == 0  # LDA cannot split a topic
    assert page.locator("#review-topic option").count() == 4  # a review may bring them back


def test_hidden_topics_of_either_run_are_left_off_flows_and_the_other_map(
    pages: Path, browser: Any, tmp_path: Path
) -> None:
    run_cli("edit", pages / "lda", "--hide", "1,2", "-q", "-o", tmp_path / "hidden")
    sizes = [row["size"] for row in nk.info(pages / "lda")["topics"]]
    for first, second in (("hidden", "lda"), ("lda", "hidden")):
        run, other = (tmp_path / name if name == "hidden" else pages / name for name in (first, second))
        address = nk.report(run, compare=other).save(tmp_path / f"{first}.html").as_uri()
        page = ready(browser.new_page(), address)
        assert page.locator("#compared svg rect").count() == 6  # four topics of one run, two of the other
        flows = cells(downloaded(page, page.locator("#compared").get_by_role("button", name="CSV")))[1:]
        assert len({row[1 if first == "hidden" else 0] for row in flows}) == 2
        drawn = 120 if first == "hidden" else sizes[0] + sizes[3]
        assert page.locator("#other-map canvas").get_attribute("aria-label").startswith(f"Map of {drawn} documents")
        page.close()


@pytest.fixture(scope="module")
def all_pages(pages: Path, planted_run: Path) -> Path:
    """Return the folder with pages of topics from embeddings, STM, a rolling LDA, and of several runs, too."""
    run_cli("stm", pages / "docs.jsonl", "--k", "3", "--prevalence", "label + size", "-q", "-o", pages / "stm")
    chunks = ("--chunks", "month", "--init", "2024-03-31")
    run_cli("rolling-lda", pages / "docs.jsonl", "--k", "3", *chunks, "-q", "-o", pages / "rolling")
    for run in (planted_run, pages / "stm", pages / "rolling"):
        nk.report(run).save(pages / f"{'planted' if run == planted_run else run.name}.html")
    nk.report([pages / "lda", pages / "other", pages / "classes"]).save(pages / "several.html")
    return pages


@needs_hdbscan
@pytest.mark.skipif(AXE is None, reason="axe-core is not installed (npm install axe-core, or AXE_CORE=…/axe.min.js)")
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        (390, "dark"),
        pytest.param(1280, "dark", marks=pytest.mark.slow),  # these two together take a minute
        pytest.param(390, "light", marks=pytest.mark.slow),
    ],
)
def test_axe_finds_nothing_on_any_page(all_pages: Path, browser: Any, width: int, scheme: str) -> None:
    names = ("planted.html", "stm.html", "rolling.html", "several.html", "several.html?run=1", "several.html?run=2", "lda.html",
             "lda.html#topic=0&text=today", "lda.html#doc=d11", "bare.html")  # fmt: skip
    addresses = [f"{all_pages.as_uri()}/{name}" for name in names]
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    found = {}
    for address in addresses:
        page.goto("about:blank")
        ready(page, address)
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
        page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
        button = page.locator("#topic-table tbody button")
        if button.count():
            button.first.click()
        assert AXE is not None
        page.evaluate(AXE.read_text(encoding="utf-8"))
        for broken in page.evaluate("axe.run()")["violations"]:
            found[f"{address.rpartition('/')[2]}: {broken['id']}"] = [node["target"] for node in broken["nodes"]][:3]
    context.close()
    assert found == {}

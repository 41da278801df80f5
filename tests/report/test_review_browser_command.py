"""The review of topics in the page of a report, in a real browser: decided by mouse and keys, saved, opened again, and applied."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from nlpkit.topics.edit.files import read_edits
from tests.command_line import manifest, run_cli
from tests.report.test_report_browser_command import CHROMIUM, browser, downloaded, pages, visit

__all__ = ["browser", "pages", "visit"]  # fixtures
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


def saved_edits(page: Any) -> str:
    return downloaded(page, page.get_by_role("button", name="Save edits.toml"))


def pressed(page: Any, keys: str) -> None:
    page.get_by_role("button", name="Undo", exact=True).evaluate(
        "(b) => b.closest('section').querySelector('input[type=radio]').focus()"
    )
    for key in keys:
        page.keyboard.press(key)


def test_topics_are_reviewed_saved_and_applied(pages: Path, visit: Any, tmp_path: Path) -> None:
    page = visit(pages / "lda.html")
    page.get_by_label("Coder").fill("anna")
    page.get_by_role("radio", name="understood").check()
    page.get_by_label("Name", exact=True).fill('Rivers "and" boats')
    page.get_by_label("Note", exact=True).fill("all of\n one matter")
    page.get_by_role("button", name="Next").click()
    pressed(page, "3h")
    pressed(page, "n")
    page.get_by_label("Merge into").select_option("0")
    assert page.locator("#review .note", has_text="Merged into").is_visible()
    assert page.get_by_label("Name", exact=True).count() == 0  # the name is that of the topic it goes into
    text = saved_edits(page)
    (tmp_path / "anna.toml").write_text(text, encoding="utf-8")
    found = read_edits(tmp_path / "anna.toml")
    assert found.coder == "anna"
    assert found.merge == ((0, 2),)
    assert found.hide == (1,)
    assert found.rename == ((0, 'Rivers "and" boats'),)
    assert found.judgements == ((0, "understood"), (1, "junk"))
    assert found.notes == ((0, "all of one matter"),)
    assert len(found.topics) == 4
    book = downloaded(page, page.get_by_role("button", name="Save code book"))
    rows = list(csv.DictReader(io.StringIO(book)))
    assert [row["judgement"] for row in rows] == ["understood", "junk", "", ""]
    assert [row["merged into"] for row in rows] == ["", "", "0", ""]
    run_cli("edit", pages / "lda", tmp_path / "anna.toml", "-q", "-o", tmp_path / "new")
    review = manifest(tmp_path / "new")["lineage"]["review"]
    assert review == {
        "hidden": [1],
        "judgements": {"0": "understood", "1": "junk"},
        "notes": {"0": "all of one matter"},
    }


def test_a_reload_loses_nothing_and_all_can_be_undone(pages: Path, visit: Any) -> None:
    page = visit(pages / "bare.html")
    pressed(page, "2n1n3")
    before = saved_edits(page)
    page.evaluate("location.hash = ''")
    state = page.evaluate("JSON.stringify(localStorage)")
    assert "mixed" in state
    for _ in range(3):
        page.get_by_role("button", name="Undo", exact=True).click()
    assert "[judgements]" not in saved_edits(page)
    assert page.get_by_role("button", name="Undo", exact=True).is_disabled()
    for _ in range(3):
        page.get_by_role("button", name="Redo").click()
    assert saved_edits(page) == before
    page.get_by_role("button", name="Start over").click()
    assert "[judgements]" not in saved_edits(page)
    pressed(page, "u")
    assert saved_edits(page) == before


def test_decisions_are_there_after_a_reload(pages: Path, browser: Any) -> None:
    page = browser.new_context(viewport={"width": 390, "height": 800}, accept_downloads=True).new_page()
    for _ in range(2):
        page.goto((pages / "lda.html").as_uri())
        page.wait_for_selector("html[data-ready=all]", state="attached")
        if _ == 0:
            pressed(page, "2n3")
            before = saved_edits(page)
    assert saved_edits(page) == before
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    names = (
        page.locator("#review")
        .locator("input, select, textarea, button")
        .evaluate_all(
            "nodes => nodes.map((n) => n.ariaLabel || n.textContent || [...(n.labels || [])].map((l) => l.textContent).join(''))"
        )
    )
    assert all(name.strip() for name in names)
    page.context.close()


def test_merges_have_no_circles(pages: Path, visit: Any) -> None:
    page = visit(pages / "lda.html")
    page.get_by_label("Merge into").select_option("1")
    page.locator("#review-topic").select_option("1")
    assert page.locator("#review-merge option").evaluate_all("o => o.map((x) => x.value)") == ["-1", "2", "3"]
    page.get_by_label("Merge into").select_option("3")
    assert "merge = [[3,0,1]]" in saved_edits(page)
    page.get_by_label("Merge into").select_option("-1")
    assert "merge = [[3,0]]" in saved_edits(page)


def test_edits_are_opened_or_refused_and_what_is_open_is_settled(pages: Path, visit: Any, tmp_path: Path) -> None:
    page = visit(pages / "lda.html")
    pressed(page, "1")
    text = saved_edits(page)
    joined = text.replace("[topics]", '[open]\n1 = ["judgement: anna mixed, ben junk"]\n\n[topics]', 1)
    for name, content in (
        ("joined", joined),
        ("other", text.replace('"river"', '"rover"').replace("words = [", 'words = ["x", ')),
        ("bad", "merge = {"),
    ):
        (tmp_path / f"{name}.toml").write_text(content, encoding="utf-8")
    page.get_by_role("button", name="Start over").click()
    for name in ("other", "bad"):
        page.get_by_label("Open edits").first.set_input_files(tmp_path / f"{name}.toml")
        page.locator("#review [role=status]", has_text="cannot be opened").wait_for()
        assert "[judgements]" not in saved_edits(page)
    page.get_by_label("Open edits").first.set_input_files(tmp_path / "joined.toml")
    page.locator("#review [role=status]", has_text="opened;").wait_for()
    page.locator("#review-topic").select_option("1")
    assert page.get_by_text("judgement: anna mixed, ben junk").is_visible()
    assert "[open]" in saved_edits(page)
    page.get_by_role("button", name="Settled").click()
    assert "[open]" not in saved_edits(page)
    assert '0 = "understood"' in saved_edits(page)


def test_a_report_shows_what_a_review_said(pages: Path, visit: Any, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(
        'hide = [1]\n[judgements]\n0 = "mixed"\n[notes]\n0 = "two matters"\n', encoding="utf-8"
    )
    run_cli("edit", pages / "lda", tmp_path / "e.toml", "-q", "-o", tmp_path / "new")
    nk.report(tmp_path / "new").save(tmp_path / "new.html")
    page = visit(tmp_path / "new.html")
    assert page.locator("#topic-table tbody tr:visible").count() == 3
    assert "mixed" in page.locator("#topic-table tbody tr").first.inner_text()
    page.get_by_role("button", name="Show 1 hidden topic").click()
    assert page.locator("#topic-table tbody tr:visible").count() == 4
    assert page.locator("#time figure, #time h4").count() == 3
    assert page.get_by_label("Note", exact=True).input_value() == "two matters"
    assert page.get_by_role("radio", name="mixed").is_checked()
    page.locator("#review-topic").select_option("1")
    page.get_by_label("Hide in reports").uncheck()
    assert "hide = []" in saved_edits(page)

"""nlpkit attention: pages, tables, runs of finetune, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import footer, needs_torch, read, run_cli, write_jsonl

pytestmark = needs_torch
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.finetune.finetune_data import base_model

    return base_model(tmp_path_factory.mktemp("base") / "model")


def test_page_table_screen_and_json(base: Path, tmp_path: Path) -> None:
    text = "the team won </script><b>the match"
    done = run_cli("attention", base, text, "-o", "a.html")
    assert "after 2 layers (rollout)" in done.out
    assert "2 × 4 heads" in done.err
    page = Path("a.html").read_text(encoding="utf-8")
    assert page.count("</script>") == 3  # two containers and the page's code: the text closes none
    run_cli("attention", base, text, "-o", "a.parquet", "--threads", 1)
    assert read("a.parquet").column_names == ["layer", "head", "from_position", "from", "to_position", "to", "weight"]
    assert footer("a.parquet")["kind"] == "attention"
    before = Path("a.parquet").read_bytes()
    run_cli("attention", base, text, "-o", "a.parquet", "-f", "--threads", 2)
    assert Path("a.parquet").read_bytes() == before
    seen = run_cli("attention", base, text, "--json").json()
    assert (seen["layers"], seen["heads"], seen["causal"]) == (2, 4, False)
    assert sum(seen["rollout"]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("method", ["full", "lora", "pfeiffer", "setfit"])
def test_runs_of_finetune(base: Path, tmp_path: Path, method: str) -> None:
    from tests.finetune.finetune_data import rows, tune

    tune(write_jsonl(tmp_path / "t.jsonl", rows()), "-o", "run", base=base, method=method, steps=2)
    seen = run_cli("attention", "run", "the team won", "--offline", "--json").json()
    assert seen["tokens"] == ["[CLS]", "the", "team", "won", "[SEP]"]
    if method == "setfit":
        assert seen["confidence"] is None
        return
    assert [row["layer"] for row in seen["confidence"]] == [1, 2]
    assert all(0 <= row["entropy"] < 1.1 for row in seen["confidence"])
    if method == "full":
        assert "from layer" in run_cli("attention", "run", "the team won", "--offline").out


def test_what_is_refused(base: Path, tmp_path: Path) -> None:
    assert "name it attention.html" in run_cli("attention", base, "a", "-o", "a.pdf", code=2).error()
    assert "no token" in run_cli("attention", base, "", code=2).error()
    assert "does not exist" in run_cli("attention", "./none", "a", code=4).error()
    assert "--max-tokens" in run_cli("attention", base, "a", "--max-tokens", 1, code=2).err
    run_cli("attention", base, "a", "-n", "-o", "b.html")
    assert not Path("b.html").exists()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.slow
def test_the_page_in_a_browser(base: Path, tmp_path: Path) -> None:
    """Tokens and maps can be chosen; nothing is requested; on a telephone nothing but the maps is wider than the screen."""
    playwright: Any = pytest.importorskip("playwright.sync_api")
    run_cli("attention", base, "the team won the match", "-o", "a.html", "-q")
    requests: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.on("request", lambda request: requests.append(request.url))
        page.goto(Path("a.html").absolute().as_uri())
        page.wait_for_selector("html[data-ready=all]")
        assert page.locator(".head").count() == 2 * 4
        page.locator(".head").nth(5).click()
        assert page.locator("#one h3").inner_text() == "Layer 2, head 2"
        page.locator(".token").nth(3).click()
        assert "won looks most at" in page.locator("#text [role=status]").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        browser.close()
    assert [url for url in requests if not url.startswith("file:")] == []

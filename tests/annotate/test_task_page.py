"""The page of a task in a browser: answered by mouse and keyboard, kept, saved; and what is in its source."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from nlpkit.annotate.task_files import PageItem, TaskPage, task_page

NASTY = "</script><img src=x onerror=alert(1)>&amp;\"'"
PAGE = TaskPage(
    "ab12cd34",
    f"Topics of {NASTY}",
    'my "task"',
    "Which one?",
    "Choose <one>.",
    [
        PageItem("q1", ["river", NASTY, "=1+1", "ä ö"], "A text.\nOf two lines " + NASTY),
        PageItem("q2", ["a", "b", "c"]),
    ],
)


def test_every_text_is_escaped() -> None:
    html = task_page(PAGE)
    assert "<img" not in html
    assert html.count("<script>") == html.count("</script>") == 1
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") == 4  # in title, headline, text and option
    assert 'data-file="my &quot;task&quot;"' in html
    assert "Choose &lt;one&gt;." in html
    shown = re.findall(r'class="choice" dir="auto">(.*?)</span>', html)
    assert [unescape(text) for text in shown] == ["river", NASTY, "=1+1", "ä ö", "a", "b", "c"]


def test_the_page_needs_and_reaches_nothing_else() -> None:
    html = task_page(PAGE)
    assert not re.search(
        r"https?:|\bsrc=[\"']|@import|url\(|fetch\(|XMLHttpRequest|sendBeacon", html.replace("src=x", "")
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    for tag in ("script", "style"):
        code = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        assert code is not None
        digest = base64.b64encode(hashlib.sha256(code[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]


def test_labels_and_legends_for_readers_of_the_screen() -> None:
    html = task_page(PAGE)
    ids = set(re.findall(r'\bid="([^"]+)"', html))
    assert set(re.findall(r'\bfor="([^"]+)"', html)) <= ids
    assert html.count("<legend>") == 2
    assert "<legend>Question 2 of 2: Which one?</legend>" in html
    assert len(re.findall(r'<label class="option"><input type="radio"', html)) == 7
    assert 'class="label"' not in html.replace("input.label", "")


def test_the_script_is_javascript(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not here")
    code = re.search(r"<script>(.*?)</script>", task_page(PAGE), re.DOTALL)
    assert code is not None
    (tmp_path / "page.js").write_text(code[1], encoding="utf-8")
    subprocess.run([node, "--check", tmp_path / "page.js"], check=True, timeout=60)


# ---------------------------------------------------------------- in a browser


class Browser:
    """Chromium, spoken to over the pipes of its DevTools protocol."""

    def __init__(self, program: str, folder: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def as_3_and_4() -> None:
            os.dup2(to_read, 3)
            os.dup2(to_write, 4)

        # the numbers 3 and 4 may be the pipes themselves: dup2 of a number to itself would leave it closed on exec
        to_read, to_write = (os.dup(fd) if fd in (3, 4) else fd for fd in (to_read, to_write))
        self._process = subprocess.Popen(
            [
                program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
                f"--user-data-dir={folder}", "about:blank",
            ],
            close_fds=False, preexec_fn=as_3_and_4, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest = 0, b""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def send(self, method: str, **params: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if hasattr(self, "session") and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self.session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                part = os.read(self._read, 1 << 16)
                assert part, "the browser ended"
                self._rest += part
            answer, self._rest = self._rest.split(b"\0", 1)
            found = json.loads(answer)
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]

    def run(self, code: str) -> Any:
        result = self.send("Runtime.evaluate", expression=code, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(self, path: Path) -> None:
        self.send("Page.navigate", url=path.as_uri())
        self.until("document.readyState === 'complete' && document.getElementById('count') !== null")

    def until(self, code: str) -> None:
        for _ in range(200):
            if self.run(code):
                return
            time.sleep(0.05)
        raise AssertionError(f"never came true: {code}")

    def press(self, key: str) -> None:
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = {"ArrowDown": 40, "Enter": 13, "Tab": 9}.get(key, ord(key[0]))
        for kind in ("keyDown", "keyUp"):
            what = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **what)

    def click(self, id_: str) -> None:
        self.run(f"document.getElementById('{id_}').click()")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("chromium is not here")
    found = Browser(program, tmp_path)
    yield found
    found.close()


@pytest.mark.slow
def test_a_coder_at_work(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(task_page(PAGE), encoding="utf-8")
    shown = "Array.from(document.querySelectorAll('fieldset')).filter(f => !f.hidden).map(f => f.id).join()"
    count = "document.getElementById('count').textContent"
    said = "document.getElementById('said').textContent"
    browser.open(page)
    assert (browser.run(shown), browser.run(count)) == ("q1", "0 of 2")
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.getElementById('back').disabled") is True

    browser.press("2")  # the number of an option, then Enter
    assert browser.run(count) == "1 of 2"
    browser.press("ArrowDown")  # as in any group of radio buttons
    assert browser.run("document.querySelector('input:checked').value") == "3"
    browser.press("Enter")
    assert (browser.run(shown), browser.run("document.activeElement.id")) == ("q2", "q2")
    browser.press("7")  # there is no such option
    assert browser.run(count) == "1 of 2"
    browser.press("Enter")
    assert browser.run(said) == "1 question is without an answer."

    browser.click("save")  # without a name
    assert browser.run(said) == "Enter your name or initials first."
    assert browser.run("document.activeElement.id") == "coder"
    for letter in "1=ä":  # digits are text in the field of the name
        browser.press(letter)
    assert browser.run(count) == "1 of 2"

    browser.open(page)  # come back later: kept in the browser
    assert browser.run(count) == "1 of 2"
    assert browser.run("document.getElementById('coder').value") == "1=ä"
    assert browser.run(shown) == "q2"
    browser.run("document.getElementById('coder').value = '=An na/ä'")
    browser.click("save")
    assert browser.run(said) == 'Saved as my "task"._An_na_ä.csv; 1 question is without an answer.'
    for _ in range(100):
        saved = [f for f in tmp_path.glob("*.csv") if f.stat().st_size]
        if saved:
            break
        time.sleep(0.05)
    assert saved[0].read_bytes().decode("utf-8") == (
        '\ufeff"task","coder","item","answer","choice"\r\n'
        '"ab12cd34","\'=An na/ä","q1","3","\'=1+1"\r\n'
        '"ab12cd34","\'=An na/ä","q2","",""\r\n'
    )

    browser.click("open")
    assert browser.run(shown) == "q2"
    browser.press("1")
    browser.click("open")
    assert browser.run(said) == "All questions are answered. Save your answers now."
    browser.click("clear")
    assert browser.run(count) == "1 of 2"
    browser.run("window.confirm = () => true")
    browser.click("restart")
    assert (browser.run(count), browser.run(shown)) == ("0 of 2", "q1")
    browser.open(page)
    assert browser.run(count) == "0 of 2"
    assert browser.run("document.getElementById('coder').value") == ""

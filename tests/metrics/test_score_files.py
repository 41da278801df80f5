"""JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from nlpkit.metrics.files import junit


def test_junit_counts_and_escapes() -> None:
    text = junit([("a<b>", "npmi under 0.05", True, "fine & well"), ("run", "c_v", False, 'low "\x07"')], suite="s")
    root = ET.fromstring(text)
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    good, bad = root.iter("testcase")
    assert good.get("classname") == "a<b>"
    assert good.find("failure") is None
    failure = bad.find("failure")
    assert failure is not None
    assert failure.get("message") == failure.text == 'low ""'


def test_junit_of_no_gates() -> None:
    assert ET.fromstring(junit([], suite="s")).get("tests") == "0"

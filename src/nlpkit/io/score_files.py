"""Scores as files for other programs: JUnit XML of gates, Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET


def junit(cases: Sequence[tuple[str, str, bool, str]], *, suite: str) -> str:
    """Return gates as JUnit XML, which CI services show as tests.

    Args:
        cases: (class name, name, passed, line) of each gate.
        suite: name of the whole.
    """
    failed = sum(not passed for _, _, passed, _ in cases)
    root = ET.Element("testsuites", tests=str(len(cases)), failures=str(failed))
    tests = ET.SubElement(
        root, "testsuite", name=suite, tests=str(len(cases)), failures=str(failed), errors="0", skipped="0"
    )
    for group, name, passed, line in cases:
        case = ET.SubElement(tests, "testcase", classname=_clean(group), name=_clean(name))
        if passed:
            ET.SubElement(case, "system-out").text = _clean(line)
        else:
            ET.SubElement(case, "failure", message=_clean(line)).text = _clean(line)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """Leave out characters that XML 1.0 does not have."""
    return "".join(c for c in text if c in "\t\n\r" or ord(c) >= 32)


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> str:
    """Return a table in GitHub's Markdown; `right` names the columns of numbers."""
    line = ["---:" if name in right else "---" for name in columns]
    return "\n".join("| " + " | ".join(_cell(c) for c in row) + " |" for row in (columns, line, *rows))


def _cell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.split())

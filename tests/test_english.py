"""The mechanical rules of English, for whatever a person reads: option texts, help, messages, documentation, public docstrings.

A sentence has at most 35 words. No "that of" and "those of" in the place of a noun, no "is no" for "is not a", no "of which", and
no sentence without a subject after a block of code.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import nlpkit
from nlpkit.platform.cli.catalogue import COMMANDS
from nlpkit.platform.models import MODELS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src/nlpkit"
MOST_WORDS = 35
GENERATED_OR_TABLES = ("reference", "benchmarks", "history")
RULES = {
    "that of": re.compile(r"\b(?:that|those) of\b"),
    "is no": re.compile(r"(?<![Tt]here )\b(?:is|are) no (?!longer\b|more\b|one\b)\w"),
    "of which": re.compile(r"\bof which\b"),
}


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of prose without code, links and tables; a line of a list begins one."""
    text = re.sub(
        r"```.*?```|^\s*\|.*$|^ +nlpkit .*$|^ {4,}\S.*$|<!--.*?-->", "\n\n", text, flags=re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"`[^`]*`", "x", re.sub(r"\]\([^)]*\)", "]", text))
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        yield from re.split(r"(?<=[.!?])\s+", " ".join(block.split()))


def faults(text: str, rules: tuple[str, ...] = tuple(RULES)) -> list[str]:
    """Return the rules that a text breaks, each with the place."""
    found = [f"{len(s.split())} words: {s}" for s in sentences(text) if len(s.split()) > MOST_WORDS]
    found += [
        f"'{rule}': …{text[max(0, m.start() - 40) : m.end() + 40]}…"
        for rule in rules
        for m in RULES[rule].finditer(text)
    ]
    return found + [
        f"no subject: {m[1]}" for m in re.finditer(r"```\n+((?:shows|adds|gives|makes|is|are|has|writes) .{,40})", text)
    ]


def literals(node: ast.AST) -> Iterator[str]:
    """Yield the texts of a node; the values of a format string become one word."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from literals(child)


def calls(names: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the texts of each call of a function whose name matches."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if re.fullmatch(names, name):
                    yield from ((f"{path.relative_to(ROOT)}:{node.lineno}", text) for text in literals(node))


def source_texts(source: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of whatever a person reads of a source."""
    if source == "options":
        yield from calls("Param|Argument")
    elif source == "messages":
        yield from calls(r"\w+Error|note|warn")
    elif source == "help":
        yield from ((name, entry.summary) for name, entry in COMMANDS.items())
        yield from ((name, model.command_help.replace("Examples:", "")) for name, model in MODELS.items())
        for path in sorted(p for p in SOURCE.rglob("*.py") if p.stem.endswith(("command", "commands"))):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docs = [ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.FunctionDef)]
            yield from ((str(path.relative_to(SOURCE)), doc.replace("Examples:", "")) for doc in docs)
    elif source == "docs":
        yield from ((name, (ROOT / name).read_text(encoding="utf-8")) for name in ("README.md", "CHANGELOG.md"))
        for path in sorted((ROOT / "docs").rglob("*.md")):
            if not set(path.relative_to(ROOT / "docs").parts) & set(GENERATED_OR_TABLES):
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    else:
        for name in nlpkit.__all__:
            yield f"nlpkit.{name}", inspect.getdoc(getattr(nlpkit, name)) or ""


@pytest.mark.parametrize("source", ["options", "help", "messages", "docs", "api"])
def test_every_sentence_keeps_the_rules(source: str) -> None:
    found = [f"{place}: {fault}" for place, text in source_texts(source) for fault in faults(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("entry", COMMANDS.values(), ids=COMMANDS)
def test_the_summary_of_a_command_fits_on_a_line(entry: object) -> None:
    assert len(entry.summary) <= 70  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "word " * 36,
        "default: that of the suffix",
        "a rating is no class",
        "ten, of which two",
        "```\nls\n```\n\nshows the files.",
    ],
)
def test_a_text_that_breaks_a_rule_is_found(text: str) -> None:
    assert len(faults(text)) == 1


def test_good_english_is_no_fault() -> None:
    assert not faults(
        "There is no column 'text'; it is no longer there. Use:\n\n```\n" + "word " * 50 + "\n```\n\nThe command runs."
    )

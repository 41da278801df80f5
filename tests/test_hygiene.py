"""The tests themselves: they name no place of one machine, and each is imported under one name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
PLACES = re.compile(r"/(work|home|root|Users|srv|mnt|media|opt|data|shared|tmp|var)/\w|[A-Z]:\\\w|~/\w")
MADE_UP = {"/home/a user/python", "~/.bashrc"}  # of nobody's machine; in a home folder that the test has made


def strings(tree: ast.AST) -> Iterator[str]:
    """Yield the strings of a module but not its docstrings and comments."""
    nodes = list(ast.walk(tree))
    prose = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def places(source: str) -> list[str]:
    """The strings of a module that begin with an absolute path."""
    if not re.search(rf"""["'{{}}](?:{PLACES.pattern})""", source):  # most; to read them all as syntax took 5 s
        return []
    return [text for text in strings(ast.parse(source)) if PLACES.match(text) and text not in MADE_UP]


def test_an_absolute_path_is_seen() -> None:
    source = '"""/work/a is prose."""\nDATA = Path("/work/shared/data")\nOTHER = "and/or", "/dev/full", "a /home/b"\n'
    assert places(source) == ["/work/shared/data"]


def test_no_test_names_a_place_of_one_machine() -> None:
    modules = [path for path in TESTS.rglob("*.py") if path != Path(__file__)]
    named = {str(path.relative_to(TESTS)): places(path.read_text(encoding="utf-8")) for path in modules}
    assert len(named) > 250
    assert {path: found for path, found in named.items() if found} == {}


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in TESTS.rglob("*.py")}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []

"""Names of values in the package say what they hold (docs: ARCHITECTURE, names); a rule of style, held by this test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.syntax import nodes_of

PACKAGE = Path(__file__).parents[1] / "src" / "nlpkit"
MODULES = sorted(PACKAGE.rglob("*.py"))
SAY_NOTHING = {"own", "found", "how", "given", "told", "said", "made", "more", "of"}


def values(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every variable, parameter, field and function."""
    for node in nodes_of(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef):
            yield node.lineno, node.name


def test_no_value_has_a_name_that_says_nothing() -> None:
    empty = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path in MODULES
        for line, name in values(path)
        if name in SAY_NOTHING
    ]
    assert empty == []

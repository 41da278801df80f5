"""Run the notebooks of this folder and write what their cells show into them: `python docs/notebooks/run.py` (`make docs` runs it).

Jupyter is not needed: a cell is Python, and its last expression is shown as a notebook shows it (`_repr_html_`, `_repr_png_`). Each
notebook runs in a temporary folder that has the data of this checkout beside it.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


def executed(path: Path) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells, run in order. Raises whatever a cell raises."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "docs" / "notebooks"
        folder.mkdir(parents=True)
        (Path(temporary) / "data").symlink_to(ROOT / "data")
        with chdir(folder):
            codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
            for number, cell in enumerate(codes, start=1):
                cell["execution_count"] = number
                cell["outputs"] = outputs_of("".join(cell["source"]), names, number, f"{path.name}, cell {number}")
    return notebook


def outputs_of(source: str, names: dict[str, Any], number: int, place: str) -> list[dict[str, Any]]:
    """Run the source of a cell and return what it prints and shows."""
    statements = ast.parse(source).body
    last = statements.pop() if statements and isinstance(statements[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(ast.Module(statements, []), place, "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), place, "eval"), names)  # type: ignore[attr-defined]
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        outputs.append(
            {"data": shown(value), "execution_count": number, "metadata": {}, "output_type": "execute_result"}
        )
    return outputs


def shown(value: Any) -> dict[str, Any]:
    """Return the forms in which a value shows itself."""
    data: dict[str, Any] = {"text/plain": lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = lines(value._repr_html_())
    if hasattr(value, "_repr_png_"):
        data["image/png"] = base64.b64encode(value._repr_png_()).decode()
    return data


def lines(text: str) -> list[str]:
    """Return text as notebooks keep it: a list of lines with their ends."""
    return text.splitlines(keepends=True)


def main() -> None:
    """Run all notebooks and write them."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = executed(path)
        path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        sys.stderr.write(f"ran {path.name}\n")


if __name__ == "__main__":
    main()

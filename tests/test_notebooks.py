"""The notebooks of the documentation run from their first cell to their last, and are stored with what they show."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_packaging import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def runner() -> Any:
    spec = importlib.util.spec_from_file_location("run_notebooks", ROOT / "docs" / "notebooks" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def forms(cell: dict[str, Any]) -> list[list[str]]:
    """Return in what forms a cell shows what it gives."""
    return [sorted(output.get("data", ["stream"])) for output in cell["outputs"]]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.examples
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    stored, new = json.loads(path.read_text(encoding="utf-8")), runner().executed(path)
    assert [cell["source"] for cell in cells(new)] == [cell["source"] for cell in cells(stored)]
    assert [forms(cell) for cell in cells(new)] == [forms(cell) for cell in cells(stored)]
    shown = {form for cell in cells(stored) for output in forms(cell) for form in output}
    assert {"text/html", "image/png"} <= shown
    assert all(cell["outputs"] for cell in cells(stored))


def test_a_cell_prints_shows_its_last_expression_and_fails_aloud(tmp_path: Path) -> None:
    run = runner()
    outputs = run.outputs_of("x = 1\nprint('a')\nx + 1", {}, 3, "here")
    assert [output["output_type"] for output in outputs] == ["stream", "execute_result"]
    assert outputs[1]["data"] == {"text/plain": ["2"]}
    assert run.outputs_of("x = 1", {}, 1, "here") == []
    with pytest.raises(NameError):
        run.outputs_of("nothing_of_this_name", {}, 1, "here")

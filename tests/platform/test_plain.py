"""JSON that every reader takes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from nlpkit.platform.plain import to_json


def test_values_become_plain() -> None:
    value = {
        "nan": float("nan"), "inf": [float("inf"), -np.inf], "array": np.array([[1.5, np.nan]]), "int": np.int64(3), "path": Path("a"),
        "pair": (1, None, True), 4: "ä", "number": 0.1,
    }  # fmt: skip
    text = to_json(value)
    assert "ä" in text
    assert json.loads(text, parse_constant=lambda name: 1 / 0) == {
        "nan": None, "inf": [None, None], "array": [[1.5, None]], "int": 3, "path": "a",
        "pair": [1, None, True], "4": "ä", "number": 0.1,
    }  # fmt: skip
    assert to_json({"a": 1}, indent=2) == '{\n  "a": 1\n}'

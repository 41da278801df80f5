"""Which candidates a budget has room for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nlpkit.classify import choose
from nlpkit.classify.choose import Tried, compare_within

NOTHING: Any = None


@pytest.mark.parametrize(
    ("seconds", "budget", "tried"),
    [
        ({"a": [1, 1], "b": [1], "c": [1]}, 1000, "abc"),
        ({"a": [5, 0.1], "b": [0.1], "c": [0.1]}, 20, "abc"),  # the first loads what all need
        ({"a": [0.1], "b": [5, 0.1], "c": [0.1]}, 20, "abc"),  # or the second
        ({"a": [5, 5], "b": [5], "c": [5]}, 20, "a"),  # it is as slow the second time
        ({"a": [15], "b": [5], "c": [5]}, 20, "a"),  # there is no time to see whether it is
        ({"a": [1], "b": [4, 4], "c": [1]}, 50, "ab"),
    ],
)
def test_what_is_loaded_once_is_no_time_of_a_candidate(
    seconds: dict[str, list[float]], budget: float, tried: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = {name: iter(values) for name, values in seconds.items()}

    def fit(*words: Any, **_: Any) -> Tried:
        return Tried(words[2], 0.5, 0.1, 0.5, next(clocks[words[2].name]))

    monkeypatch.setattr(choose, "try_candidate", fit)
    configs: Any = [SimpleNamespace(name=name) for name in seconds]
    rows = np.zeros(0, np.int64)
    results = compare_within(NOTHING, rows, configs, n_outer=10, budget=budget)
    assert "".join(one.config.name for one in results if not one.why) == tried
    assert len(results) == len(configs)

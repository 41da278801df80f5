"""Some of many cases in `make test`, all of them in `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def few(cases: Iterable[Any], n: int) -> list[Any]:
    """Return cases for `parametrize`, all but n of them marked as slow: the first, the last and others between stay as they are."""
    cases = list(cases)
    kept = {round(i * (len(cases) - 1) / max(n - 1, 1)) for i in range(n)}
    return [case if i in kept else _slow(case) for i, case in enumerate(cases)]


def _slow(case: Any) -> Any:
    if hasattr(case, "marks"):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else [case]), marks=pytest.mark.slow)

"""Cells of tables as text and as labels."""

from __future__ import annotations

from math import isfinite
from typing import Any

LARGEST = 1e100  # largest number that is scored: squares of larger ones, and their sums, overflow


def text_of(value: Any) -> str:
    """Return a cell as text, stripped; a whole number without its decimals; empty for None and NaN."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def as_label(value: Any) -> str | None:
    """Return a cell as a label, None for an empty one: 1 and 1.0 are the label '1', as CSV has it."""
    return text_of(value) or None


def is_missing(value: Any) -> bool:
    """Whether a value in memory is missing: None, NaN, NaT or pandas.NA."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def is_number(label: str) -> bool:
    """Whether a label is a finite number."""
    try:
        return isfinite(float(label))
    except ValueError:
        return False

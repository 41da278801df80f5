"""Numbers and nouns in sentences."""

from __future__ import annotations


def count(n: float) -> str:
    """Return a number with thousands separators."""
    return f"{n:,.0f}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number and its noun: 1 document, 2 documents."""
    return f"{count(n)} {noun if n == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Return a share that is not zero as per cent with one decimal: 12.3%, under 0.1%."""
    return "under 0.1%" if share < 0.0005 else f"{share:.1%}"

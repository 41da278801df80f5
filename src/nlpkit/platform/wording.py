"""Numbers, nouns and lists in sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def count(n: float) -> str:
    """Return a number with thousands separators."""
    return f"{n:,.0f}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number and its noun: 1 document, 2 documents."""
    return f"{count(n)} {noun if n == 1 else plural or noun + 's'}"


def described(value: object, *facts: str) -> str:
    """Return what a result shows of itself at a Python prompt: <FittedBertopic: 8 topics, 416 documents>."""
    return f"<{type(value).__name__}: {', '.join(facts)}>"


def percent(share: float) -> str:
    """Return a share that is not zero as per cent with one decimal: 12.3%, under 0.1%."""
    return "under 0.1%" if share < 0.0005 else f"{share:.1%}"


def listed(names: Sequence[object], most: int, *, between: str = ", ") -> str:
    """Return the first of some names: a, b, c …; the dots are there when there are more than `most`."""
    return between.join(map(str, names[:most])) + (" …" if len(names) > most else "")


def further_words(name: str, terms: Sequence[str], most: int) -> str:
    """Return the first terms of a topic that its name does not list already."""
    named = {*name.split(", "), *name.casefold().replace(",", " ").split()}
    return " ".join([term for term in terms if term not in named and term.casefold() not in named][:most])


def truncated(text: str, width: int) -> str:
    """Return a text of at most `width` characters; one that is longer ends in dots."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def visible(text: str) -> str:
    r"""Return text as a person may be shown it: what would steer a terminal, turn the direction of a line or break it as \x1b, \u202e.

    Line ends and tabs stay. (The characters are those of category Cc, lone surrogates, U+2028, U+2029, and those of the Unicode
    property Bidi_Control.)
    """
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def visible_json(text: str) -> str:
    """Return JSON whose strings have such characters as JSON escapes them."""
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def learned_from(files: Sequence[str], model: object) -> str:
    """Return the sentence about predictions for documents that the model was trained on."""
    return (
        f"{model} learned from {', '.join(files)}: scores on documents that it learned from are too good; those on documents it "
        f"had not seen are in {model}/metrics.json"
    )


def if_defined(value: float | None) -> str:
    """Return a figure with three decimals, in words where it is None or NaN."""
    return "not defined" if value is None or math.isnan(value) else f"{value:.3f}"


def score_text(value: float) -> str:
    """Return a score: four decimals, fewer for large numbers."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"

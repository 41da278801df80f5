"""Names of topics from their top terms."""

from __future__ import annotations

from collections.abc import Sequence

LABEL_TERMS = 3


def topic_label(terms: Sequence[str], n: int = LABEL_TERMS) -> str:
    """Return a name of up to n terms, best first, skipping forms of a word that is already in it.

    Two terms are forms of one word when they share a prefix of at least four letters that leaves at most three letters
    of either (rate, rates; bank, banking), or one holds the other whole with at least four letters (court, high-court).
    """
    chosen: list[str] = []
    for term in terms:
        if len(chosen) == n:
            break
        if not any(_same_word(term, other) for other in chosen):
            chosen.append(term)
    return ", ".join(chosen)


def _same_word(a: str, b: str) -> bool:
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) >= 4 and shorter in longer:
        return True
    common = 0
    while common < len(shorter) and a[common] == b[common]:
        common += 1
    return common >= 4 and len(longer) - common <= 3

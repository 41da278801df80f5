"""Notes on topics of every kind of model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nlpkit import reporting
from nlpkit.topics.words import leading_term

if TYPE_CHECKING:
    from nlpkit.types import FloatArray, IntArray


def note_leading_term(top_terms: IntArray, terms: Sequence[str], documents_with: FloatArray) -> None:
    """Note which word comes first in so many topics that it tells none of them, and how it can be left out.

    Args:
        top_terms: (K, n) terms of each topic as they are shown, -1 for none; documents_with: (V,) share of the documents that
            have each term.
    """
    leading = leading_term(top_terms)
    if leading is None:
        return
    term, n = leading
    share = documents_with[term]
    auto = f"`auto_stop={(math.ceil(share * 20) - 1) / 20:g}` leaves out such words, " if share > 0.1 else ""
    reporting.note(
        f"'{terms[term]}' is the first word of {n} of {len(top_terms)} topics (it is in {share:.0%} of the "
        f"documents): {auto}`stop_words=FILE` removes your own words"
    )

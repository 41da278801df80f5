"""Features of a text that need no vocabulary, on the scales that suit a linear classifier (for reviews, posts and mail)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nlpkit.text.surface import RATIOS, surface_counts, surface_ratio
from nlpkit.types import FloatArray

HAND_FEATURES: dict[str, str] = {
    "characters": "log(1 + n) of the characters",
    "words": "log(1 + n) of the words",
    "sentences": "log(1 + n) of the sentences",
    "word_length": "log(1 + mean number of characters of a word)",
    "sentence_length": "log(1 + mean number of words of a sentence)",
    "type_token_ratio": "share of different words, case aside",
    "upper_share": "share of letters that are upper case",
    "capital_words": "share of words of two letters or more that are all upper case",
    "digit_share": "share of characters that are digits",
    "punctuation_share": "share of characters that are punctuation",
    "exclamations": "log(1 + n) of exclamation marks",
    "questions": "log(1 + n) of question marks",
    "quotes": "log(1 + n) of quotation marks",
    "links": "log(1 + n) of web addresses",
    "mentions": "log(1 + n) of @names",
    "hashtags": "log(1 + n) of #words",
    "emoji": "log(1 + n) of emoji",
    "line_breaks": "log(1 + n) of line breaks",
}

_SHARES = ("type_token_ratio", "upper_share", "capital_words", "digit_share", "punctuation_share")
_COUNTED = {"line_breaks": "breaks"}  # whose column of counts is called otherwise


def hand_features(texts: pa.Array) -> FloatArray:
    """Return the features of each text (D, F), in the order of HAND_FEATURES; all are 0 for an empty text, none is ever NaN.

    Counts n and mean lengths enter as log(1 + n), shares lie in [0, 1]; `nlpkit.text.surface.surface_counts` says what is counted.

    Args:
        texts: (D,) Arrow string or large_string, null counts as empty.
    """
    counts = surface_counts(texts)
    columns = []
    for name in HAND_FEATURES:
        values = surface_ratio(name, counts, undefined=0.0) if name in RATIOS else counts[_COUNTED.get(name, name)]
        columns.append(values if name in _SHARES else np.log1p(values))
    return np.stack(columns, axis=1)

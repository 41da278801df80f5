"""Raw texts to raw tokens: one regular-expression pass in Rust (polars), tokens as dictionary codes.

The pass only cuts; everything that looks at a token (case, junk, scripts without spaces, stop words) is done once
per distinct token in `normalize` and `vocab`, not once per occurrence.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from nlpkit.types import IntArray, LongArray

# Importing polars makes Ctrl-C restart a read that waits (SA_RESTART): a command waiting for a pipe would not end.
if hasattr(signal, "siginterrupt"):
    signal.siginterrupt(signal.SIGINT, True)

# Inside a word: letters, marks, digits, joiners of Indic and Persian script, and the invisible hyphen.
_IN = r"[\p{L}\p{M}\p{N}_\x{00AD}\x{200C}\x{200D}]"
# Character entities: names and numbers.
_ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});"
# Order matters: what is matched first is one token. The first three are junk that `normalize` throws away whole; a word
# takes the entities in it along (caf&eacute;, S&amp;P, one&nbsp;two), and `normalize` reads them.
WORD_PATTERN = "|".join(
    [
        r"</?[A-Za-z][^<>]{0,300}>",  # HTML and XML tags
        r"(?i:https?://|www\.)[^\s<>\"]+",  # addresses on the web
        r"[\p{L}\p{N}._%+\-]+@[\p{L}\p{N}\-]+(?:\.[\p{L}\p{N}\-]+)+",  # e-mail
        r"(?:\p{L}\.){2,}",  # U.S.A.
        # words, don't, state-of-the-art, AT&T
        rf"(?:[\p{{L}}\p{{N}}]|{_ENTITY}){_IN}*(?:{_ENTITY}{_IN}*|['’‘&\-‐‑][\p{{L}}\p{{N}}]{_IN}*)*",
    ]
)


@dataclass(frozen=True, slots=True)
class RawTokens:
    """Tokens of a batch as cut. offsets (D+1,) int64; codes (N,) int32 into `types`, in order of first appearance."""

    offsets: LongArray
    codes: IntArray
    types: list[str]


def cut_tokens(texts: pa.Array, pattern: str = WORD_PATTERN) -> RawTokens:
    """Cut each text of an Arrow string array (D,) into raw tokens; null counts as empty.

    Args:
        texts: (D,) Arrow string or large_string array.
        pattern: regular expression of the Rust `regex` crate; every match is a token.
    """
    series = pl.Series("text", texts, dtype=pl.String).fill_null("")
    found = series.str.extract_all(pattern).to_arrow()
    offsets = found.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    flat = found.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    encoded = flat.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return RawTokens(offsets - offsets[0], codes, encoded.dictionary.to_pylist())

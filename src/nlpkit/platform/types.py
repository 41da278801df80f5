"""Array types and small frozen records that several rings share, each with its shape.

Names (STYLE.md): D documents, V terms, K topics, E embedding dimensions, N tokens.

Parts, in this order:
- The types and records.
- Ranges of places in flat arrays, such as those of the tokens of some documents.
- Checks of numbers kept in 32 bits: one that does not fit is an error and never wraps around.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nlpkit.errors import InputError, OutOfMemoryError

FloatArray: TypeAlias = npt.NDArray[np.float64]
Float32Array: TypeAlias = npt.NDArray[np.float32]
IntArray: TypeAlias = npt.NDArray[np.int32]
LongArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ByteArray: TypeAlias = npt.NDArray[np.uint8]
CsrMatrix: TypeAlias = Any  # scipy.sparse.csr_array; scipy ships no types and the alias keeps scipy unimported

NO_TOPIC = -1


@dataclass(frozen=True, slots=True)
class TokenTable:
    """Tokens of a corpus as term ids, grouped by document.

    offsets (D+1,) int64: document d owns term_ids[offsets[d]:offsets[d+1]]; term_ids (N,) int32 in 0..V-1;
    terms (V,) the vocabulary in id order.
    """

    offsets: LongArray
    term_ids: IntArray
    terms: tuple[str, ...]

    def check(self) -> None:
        """Raise InputError unless offsets and ids are as above; kernels follow them without a look."""
        ends, ids = self.offsets, self.term_ids
        fits = len(ends) > 0 and ends[0] == 0 and ends[-1] == len(ids) and bool((np.diff(ends) >= 0).all())
        if not fits or not (not len(ids) or 0 <= ids.min() <= ids.max() < len(self.terms)):
            raise InputError(
                f"the tokens of {self.n_docs:,} documents do not fit their vocabulary of {len(self.terms):,} terms; "
                "a file that they were read from is damaged"
            )

    @property
    def n_docs(self) -> int:
        """D, empty documents included."""
        return len(self.offsets) - 1

    @property
    def n_terms(self) -> int:
        """V."""
        return len(self.terms)


Day: TypeAlias = Any  # numpy.datetime64[D]; the stubs of numpy tell days, instants and not-a-time apart, and lose track
Days: TypeAlias = Any  # an array of these


# ------------------------------------------------------------------------------------------------------------------------
# Ranges of places in flat arrays, such as those of the tokens of some documents.


def ranges(starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Return start, start + 1 … of each range, end to end: (Σ sizes,) int64."""
    ends = np.cumsum(sizes, dtype=np.int64)
    n = int(ends[-1]) if len(ends) else 0
    places: npt.NDArray[np.int64] = np.arange(n) + np.repeat(starts - (ends - sizes), sizes)
    return places


# ------------------------------------------------------------------------------------------------------------------------
# Checks of numbers kept in 32 bits: one that does not fit is an error and never wraps around.

MOST = 2**31 - 1


def check_width(n: int, what: str) -> int:
    """Return n, how many of `what` there are. Raises OutOfMemoryError where 32 bits do not hold it."""
    if n > MOST:
        raise OutOfMemoryError(
            f"{n:,} {what} are more than the {MOST:,} that can be counted; cut the corpus, or its longest texts, into parts"
        )
    return n


def narrow(values: Any, what: str) -> IntArray:
    """Return integers of 0 or more as int32. Raises OutOfMemoryError where one does not fit."""
    integers = np.asarray(values)
    check_width(int(integers.max(initial=0)), what)
    narrowed: IntArray = integers.astype(np.int32)
    return narrowed

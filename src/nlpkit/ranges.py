"""Ranges of places in flat arrays, such as those of the tokens of some documents."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def ranges(starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Return start, start + 1 … of each range, end to end: (Σ sizes,) int64."""
    ends = np.cumsum(sizes, dtype=np.int64)
    n = int(ends[-1]) if len(ends) else 0
    places: npt.NDArray[np.int64] = np.arange(n) + np.repeat(starts - (ends - sizes), sizes)
    return places

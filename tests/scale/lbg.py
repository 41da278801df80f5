"""The ten-document table of Laver, Benoit & Garry (2003), made anew: five reference texts and a virgin text of 1,000 words each.

Each text has the same frequencies of 17 words, which begin at another letter of an alphabet of 37.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

FREQUENCIES = (2, 3, 10, 22, 45, 78, 115, 146, 158, 146, 115, 78, 45, 22, 10, 3, 2)
WORDS = [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *("Z" + letter for letter in "ABCDEFGHIJK")]
STARTS = {"R1": 0, "R2": 5, "R3": 10, "R4": 15, "R5": 20, "V1": 7}
SCORES = {"R1": -1.5, "R2": -0.75, "R3": 0.0, "R4": 0.75, "R5": 1.5}
COUNTS = np.zeros((6, 37), np.int64)
for row, start in enumerate(STARTS.values()):
    COUNTS[row, start : start + 17] = FREQUENCIES
MATRIX = sparse.csr_array(COUNTS)
REFERENCES = np.array([SCORES.get(name, np.nan) for name in STARTS])
TEXTS = [" ".join(" ".join([word] * n) for word, n in zip(WORDS, row, strict=True) if n) for row in COUNTS.tolist()]

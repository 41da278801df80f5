"""The parts that documents play in fine-tuning: to learn from, to test on, to tell when to stop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.cli.classify_corpus import UNUSED
from nlpkit.errors import UsageError
from nlpkit.types import IntArray

TRAIN, TEST, DEV = 0, 1, 2
ROLES = {"train": TRAIN, "training": TRAIN, "test": TEST, "testing": TEST, "eval": TEST, "dev": DEV, "valid": DEV,
          "validation": DEV, "val": DEV}  # fmt: skip


def role_of(values: Sequence[str | None], column: str) -> IntArray:
    """Return the part of each row by its value in the column of --split. Raises UsageError when none is train, or none test."""
    part = np.array([ROLES.get((v or "").lower(), UNUSED) for v in values], np.int32)
    for number, what in ((TRAIN, "train"), (TEST, "test")):
        if not (part == number).any():
            found = ", ".join(sorted({v for v in values if v is not None})[:10])
            raise UsageError(f"--split {column}: no row is {what} (values found: {found or 'none'})")
    return part

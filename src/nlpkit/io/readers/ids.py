"""Ids of documents: given ones as strings, made ones from stem and row number, and no id twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nlpkit.errors import InputError
from nlpkit.io.readers.columns import as_text


def make_ids(values: Sequence[Any] | None, stem: str, numbers: Sequence[int]) -> list[str]:
    """Return one id a row: its value as a string, `<stem>:<row number>` where there is none."""
    if values is None:
        return [f"{stem}:{number}" for number in numbers]
    if set(map(type, values)) == {str} and all(values):
        return list(values)
    return [
        f"{stem}:{number}" if _is_missing(value) else as_text(value)
        for value, number in zip(values, numbers, strict=True)
    ]


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


class UniqueIds:
    """Notices an id that was there before, in 24 bytes a document: hashes instead of strings.

    Two different ids share a 64-bit hash in one of 10^7 corpora of a million documents.
    """

    def __init__(self) -> None:
        self._sorted: list[npt.NDArray[np.int64]] = []  # runs that at least halve in size
        self._seen: list[tuple[str, npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []  # path, row numbers, hashes

    def add(self, ids: Sequence[str], path: str, numbers: Sequence[int]) -> None:
        """Note the ids of some rows; raises InputError naming both places of one that is not new."""
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
        run = np.sort(hashes)
        self._seen.append((path, np.asarray(numbers, np.int64), hashes))
        if (run[1:] == run[:-1]).any() or any(_share(old, run) for old in self._sorted):
            raise self._twice(ids)
        while self._sorted and self._sorted[-1].size <= 2 * run.size:
            run = np.concatenate((self._sorted.pop(), run))
            run.sort(kind="stable")
        self._sorted.append(run)

    def _twice(self, ids: Sequence[str]) -> InputError:
        first: dict[int, str] = {}
        wanted = set(self._seen[-1][2].tolist())
        last = len(self._seen) - 1
        for block, (path, numbers, hashes) in enumerate(self._seen):
            for row, value in enumerate(hashes.tolist()):
                if value not in wanted:
                    continue
                place = f"{path} row {numbers[row]}"
                if block == last and value in first:
                    return InputError(
                        f"the id {ids[row]!r} occurs twice, in {first[value]} and in {place}, and ids must be "
                        "unique; name another column with `id_col`, or number the rows with `id_col=none`"
                    )
                first.setdefault(value, place)
        raise AssertionError("an id was found twice, but not again")


def _share(old: npt.NDArray[np.int64], run: npt.NDArray[np.int64]) -> bool:
    """Return whether two sorted arrays have a value in common."""
    places = np.searchsorted(old, run)
    places[places == old.size] = 0
    return bool((old[places] == run).any())

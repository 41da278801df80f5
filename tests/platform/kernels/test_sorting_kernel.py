"""Sorting and searching against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from nlpkit.platform.kernels.arrays import SHORT, rank, sort


def lists() -> list[np.ndarray]:
    """Lists of many lengths: in order, turned round, all equal, few different numbers, up and down, large ones."""
    rng = np.random.default_rng(0)
    found = []
    for n in (0, 1, 2, 3, SHORT, SHORT + 1, SHORT + 2, 100, 3000):
        up = np.arange(n)
        few, large = rng.integers(0, 3, n), rng.integers(0, 2**31, n)
        found += [up, up[::-1], 0 * up, few, np.minimum(up, up[::-1]), np.where(up % 2, up, -up) + n, large]
    return found


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.uint64])
def test_it_is_the_order_of_numpy(dtype: type) -> None:
    for given in lists():
        values = given.astype(dtype)
        sort(values)
        np.testing.assert_array_equal(values, np.sort(given.astype(dtype)))


def test_whole_range_of_64_bits() -> None:
    values = np.array([2**64 - 1, 0, 2**63, 2**63 - 1, 1] * 9, np.uint64)
    expected = sorted(values.tolist())
    sort(values)
    assert values.tolist() == expected


def test_ranks_are_places_of_insertion() -> None:
    for n in (0, 1, 2, 7, 30):
        ordered = np.sort(np.random.default_rng(n).integers(0, 20, n)).astype(np.int32)
        values = np.arange(-1, 22, dtype=np.int32)
        assert [rank(ordered, v) for v in values] == np.searchsorted(ordered, values).tolist()

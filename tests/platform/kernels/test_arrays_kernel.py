"""Copies of arrays inside kernels."""

from __future__ import annotations

import numpy as np
import pytest

from nlpkit.platform.kernels.arrays import copy_into, longer


def test_values_are_copied_to_the_first_places() -> None:
    target = np.full(4, 9, np.int64)
    copy_into(target, np.array([1, 2], np.int64))
    assert target.tolist() == [1, 2, 9, 9]
    copy_into(target[3:], np.zeros(0, np.int64))
    assert target.tolist() == [1, 2, 9, 9]
    assert longer(np.array([5, 6], np.int64), 3).tolist() == [5, 6, 0]


def test_nothing_is_written_behind_the_end() -> None:
    memory = np.zeros(4, np.int64)
    with pytest.raises(IndexError):
        copy_into(memory[:2], np.ones(3, np.int64))
    with pytest.raises(IndexError):
        longer(np.ones(3, np.int64), 2)
    assert memory.tolist() == [0, 0, 0, 0]

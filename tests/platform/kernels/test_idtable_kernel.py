"""The table that numbers keys against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.platform.kernels.idtable import find, first_slot, insert_all, new_table, with_room
from tests.strategies import repeatable

# keys that meet: few of them, near each other, in the low or the high half; and all that 64 bits hold
KEYS = st.one_of(
    st.integers(-3, 40), st.integers(0, 40).map(lambda k: k << 32), st.integers(-(2**63), 2**63 - 1)
)  # fmt: skip


def test_by_hand() -> None:
    ids = np.empty(6, np.int32)
    table = insert_all(new_table(2), np.array([70, -5, 70, 1 << 40, -5, 0]), ids)
    assert ids.tolist() == [0, 1, 0, 2, 1, 3]
    assert table.size[0] == 4
    assert table.keys[:4].tolist() == [70, -5, 1 << 40, 0]
    assert [find(table, key) for key in (1 << 40, 7, 0)] == [2, -1, 3]


@repeatable
@given(st.lists(st.lists(KEYS, max_size=60), max_size=4), st.integers(1, 20))
def test_equals_a_dictionary_while_it_grows(batches: list[list[int]], capacity: int) -> None:
    table, plain = new_table(capacity), dict[int, int]()
    for batch in batches:
        ids = np.empty(len(batch), np.int32)
        table = insert_all(table, np.array(batch, np.int64), ids)
        assert ids.tolist() == [plain.setdefault(key, len(plain)) for key in batch]
    assert table.keys[: table.size[0]].tolist() == list(plain)
    assert 2 * len(table.keys) == len(table.slots)
    asked = [k for batch in batches for k in batch] + [41, 1 << 62, -4]
    assert [find(table, key) for key in asked] == [plain.get(key, -1) for key in asked]


@pytest.mark.parametrize("capacity", [1, 2, 3, 16, 1000])
def test_capacity_is_room_before_growing(capacity: int) -> None:
    table = new_table(capacity)
    assert len(table.keys) >= capacity
    assert with_room(table, capacity) is table or len(with_room(table, capacity).keys) == len(table.keys)
    assert len(with_room(table, len(table.keys) + 1).keys) == 2 * len(table.keys)


def test_neighbouring_keys_spread_over_the_slots() -> None:
    for keys in (np.arange(512), np.arange(512) << 32, np.arange(512) * ((1 << 32) + 1)):
        used = {int(first_slot(k, 1024)) for k in keys.tolist()}
        assert len(used) > 300  # 1024 · (1 - e^(-1/2)) = 403 if slots were drawn

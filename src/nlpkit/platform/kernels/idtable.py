"""A hash table that numbers int64 keys in order of first insertion.

Open addressing with linear probing, at most half full. A slot holds an id and `keys[id]` the key, so that the keys lie
together in the order of their ids: frequent keys come early and stay in the cache, and a table remembers what it numbered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import copy_into

# A search waits for the memory twice, for a slot and for the key of the id in it. Loops over many keys ask for the slot of a
# key this far ahead, and for the key in that slot half as far: twice the speed once the table has left the cache.
AHEAD = 16
MOST_KEYS = 1 << 31  # ids have 32 bits, one of them for the sign


class IdTable(NamedTuple):
    """slots (C,) int32, C a power of two: an id, -1 where empty; keys (C // 2,) int64 by id; size (1,) int64, ids given."""

    slots: np.ndarray
    keys: np.ndarray
    size: np.ndarray


def new_table(capacity: int) -> IdTable:
    """Return an empty table with room for at least `capacity` keys before it must grow."""
    room = 1 << max(capacity - 1, 1).bit_length()
    return IdTable(np.full(2 * room, -1, np.int32), np.empty(room, np.int64), np.zeros(1, np.int64))


@njit(nogil=True, inline="always")
def first_slot(key, n_slots):  # type: ignore[no-untyped-def]
    """Return where the search for a key begins. Halves times 32-bit constants never pass 64 bits: no wrap in plain Python."""
    low, high = np.uint64(key & 0xFFFFFFFF), np.uint64((key >> 32) & 0xFFFFFFFF)
    x = (low * np.uint64(0x9E3779B1)) ^ (high * np.uint64(0x85EBCA77))
    x = (x ^ (x >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
    x = x * np.uint64(0xC2B2AE3D)
    return np.int64((x ^ (x >> np.uint64(29))) & np.uint64(n_slots - 1))


def prefetch(array: Any, index: Any) -> None:
    """Prefetch array[index] into the cache (`nlpkit.platform.kernels.intrinsics`); in plain Python, do nothing."""


@njit(nogil=True, inline="always")
def expect_slot(table, key):  # type: ignore[no-untyped-def]
    """Prefetch the slot where the search for a key begins."""
    prefetch(table.slots, first_slot(key, len(table.slots)))


@njit(nogil=True, inline="always")
def expect_key(table, key):  # type: ignore[no-untyped-def]
    """Prefetch the key that the search for a key meets first; its slot should be cached already."""
    first_id = table.slots[first_slot(key, len(table.slots))]
    if first_id >= 0:
        prefetch(table.keys, np.int64(first_id))


@njit(nogil=True)
def find(table, key):  # type: ignore[no-untyped-def]
    """Return the id of a key, -1 if it has none."""
    slots, keys = table.slots, table.keys
    at = first_slot(key, len(slots))
    while slots[at] >= 0 and keys[slots[at]] != key:
        at = (at + 1) & (len(slots) - 1)
    return slots[at]


@njit(nogil=True)
def insert(table, key):  # type: ignore[no-untyped-def]
    """Return the id of a key, the next one if it is new. The table must have room: see `with_room`."""
    slots, keys = table.slots, table.keys
    at = first_slot(key, len(slots))
    while slots[at] >= 0:
        if keys[slots[at]] == key:
            return slots[at]
        at = (at + 1) & (len(slots) - 1)
    new_id = table.size[0]
    slots[at] = new_id
    keys[new_id] = key
    table.size[0] = new_id + 1
    return slots[at]


@njit(nogil=True)
def with_room(table, n_new):  # type: ignore[no-untyped-def]
    """Return the table, or a larger copy with the same ids when n_new further keys do not fit in.

    Raises:
        MemoryError: more keys than ids.
    """
    n = table.size[0]
    room = len(table.keys)
    if n + n_new <= room:
        return table
    while n + n_new > room:
        room *= 2
    if room > MOST_KEYS:
        raise MemoryError("more than 2,147,483,648 different terms, n-grams or pairs of terms")
    slots = np.full(2 * room, np.int32(-1), np.int32)
    keys = np.empty(room, np.int64)
    copy_into(keys, table.keys[:n])
    for i in range(n):
        at = first_slot(keys[i], len(slots))
        while slots[at] >= 0:
            at = (at + 1) & (len(slots) - 1)
        slots[at] = i
    return IdTable(slots, keys, table.size)


@njit(nogil=True)
def _insert_until_full(table, keys, ids, start):  # type: ignore[no-untyped-def]
    for i in range(start, len(keys)):
        if table.size[0] == len(table.keys):
            return i
        if i + AHEAD < len(keys):
            expect_slot(table, keys[i + AHEAD])
            expect_key(table, keys[i + AHEAD // 2])
        ids[i] = insert(table, keys[i])
    return len(keys)


@njit(nogil=True)
def insert_all(table, keys, ids):  # type: ignore[no-untyped-def]
    """Fill ids (N,) int32 with the ids of keys (N,) int64, new ones numbered in order; return the table, grown if need be."""
    done = 0
    while done < len(keys):
        table = with_room(table, 1)
        done = _insert_until_full(table, keys, ids, done)
    return table

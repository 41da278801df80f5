"""Numbered byte strings against a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.tokenize import BytesTable
from tests.strategies import repeatable


def insert(table: BytesTable, strings: list[bytes]) -> list[int]:
    ends = np.cumsum([0, *map(len, strings)]).astype(np.int64)
    ids = table.insert(np.frombuffer(b"".join(strings), np.uint8), ends[:-1], ends[1:])
    assert ids.dtype == np.int32
    return ids.tolist()


def test_by_hand() -> None:
    table = BytesTable()
    assert insert(table, [b"storm", b"sea", b"storm", b""]) == [0, 1, 0, 2]
    assert insert(table, ["Über".encode(), b"", b"sea"]) == [3, 2, 1]
    assert (table.n, table.size) == (4, 13)
    assert (table.strings(), table.strings(2)) == (["storm", "sea", "", "Über"], ["", "Über"])
    assert table.string(0) == "storm"


def test_slices_of_one_text() -> None:
    text = np.frombuffer(b"abcab", np.uint8)
    table = BytesTable()
    assert table.insert(text, np.array([0, 3, 1]), np.array([2, 5, 5])).tolist() == [0, 0, 1]
    assert table.strings() == ["ab", "bcab"]


def test_nothing_at_all() -> None:
    table = BytesTable()
    assert insert(table, []) == []
    assert table.strings() == []


def test_prefixes_and_zero_bytes_are_strings_of_their_own() -> None:
    strings = [b"a" * i for i in range(40)] + [b"\0" * i for i in range(1, 40)] + [b"a\0", b"\0a"]
    table = BytesTable()
    assert insert(table, strings) == list(range(len(strings)))
    assert insert(table, strings[::-1]) == list(range(len(strings)))[::-1]


def test_more_strings_and_bytes_than_first_reserved() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 150_000, 200_000).tolist()
    strings = [f"{n}{'x' * (n % 17)}".encode() for n in numbers]
    table, plain = BytesTable(), dict[bytes, int]()
    for at in range(0, len(strings), 30_000):
        part = strings[at : at + 30_000]
        assert insert(table, part) == [plain.setdefault(s, len(plain)) for s in part]
    assert table.strings() == [s.decode() for s in plain]
    assert insert(table, [b"y" * 10_000_000]) == [len(plain)]
    assert table.n <= len(table.slots) // 2


@repeatable
@given(st.lists(st.lists(st.one_of(st.binary(max_size=3), st.sampled_from([b"ab", b"abc", b"a"])), max_size=9)))
def test_equals_a_dictionary(batches: list[list[bytes]]) -> None:
    table, plain = BytesTable(), dict[bytes, int]()
    for batch in batches:
        assert insert(table, batch) == [plain.setdefault(s, len(plain)) for s in batch]
    assert [table.arena[table.places[i] : table.places[i + 1]].tobytes() for i in range(table.n)] == list(plain)

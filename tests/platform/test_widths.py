"""What is counted in 32 bits, at limits of a handful: an error that says so, never a number that wrapped around."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.errors import InputError, OutOfMemoryError, UsageError
from nlpkit.platform import types as widths
from nlpkit.platform.documents.arrays import tokens_column
from nlpkit.platform.kernels import idtable
from nlpkit.platform.types import TokenTable
from nlpkit.text.duplicates import Duplicates, DuplicateSpec
from nlpkit.text.tokenize import BytesTable, encode_tokens, scan_tokens
from nlpkit.topics.lda import sampler
from nlpkit.topics.lda.sampler import GibbsSampler
from nlpkit.weights.dtm import count_terms, group_rows
from tests.strategies import token_table


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 4 were the most that 32 bits hold."""
    monkeypatch.setattr(widths, "MOST", 4)


def test_narrow() -> None:
    assert widths.narrow([0, 2**31 - 1], "things").tolist() == [0, 2**31 - 1]
    assert widths.narrow([], "things").dtype == np.int32
    with pytest.raises(OutOfMemoryError):
        widths.narrow([2**31], "things")


@pytest.mark.usefixtures("few")
def test_five_are_too_many() -> None:
    scan_tokens(pa.array(["a b", "y"]).slice(0, 1))
    with pytest.raises(OutOfMemoryError):
        scan_tokens(pa.array(["a b", "no"]))
    with pytest.raises(OutOfMemoryError):
        encode_tokens(np.array([0, 5]), pa.array(["a"] * 5))
    with pytest.raises(OutOfMemoryError):
        BytesTable().insert(np.arange(5, dtype=np.uint8), np.arange(5), np.arange(1, 6))
    with pytest.raises(OutOfMemoryError):
        Duplicates(DuplicateSpec()).check([*"abcde"], pa.array([*"abcde"]))
    with pytest.raises(OutOfMemoryError):
        tokens_column(np.array([0, 5]), np.zeros(5, np.int32), pa.array(["a"]))
    with pytest.raises(OutOfMemoryError):
        count_terms(token_table([[0] * 5], ["a"]))


def test_ids_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idtable, "MOST_KEYS", 4)
    table = idtable.new_table(4)
    grow = getattr(idtable.with_room, "py_func", idtable.with_room)  # compiled, the limit is a constant
    assert grow(table, 4) is table
    with pytest.raises(MemoryError, match="different terms"):
        grow(table, 5)


def test_counts_of_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "MAX_COUNT", 4)
    how: dict[str, Any] = {"n_topics": 2, "alpha": 0.1, "eta": 0.1, "seed": 1}
    GibbsSampler(token_table([[0, 1, 0], [0]], ["a", "b"]), **how)
    with pytest.raises(UsageError, match="a word with 5 tokens"):
        GibbsSampler(token_table([[0, 0, 0], [0, 0]], ["a", "b"]), **how)
    with pytest.raises(UsageError, match="a document with the weight of 5 tokens"):
        GibbsSampler(token_table([[0, 0, 0, 1, 1]], ["a", "b"]), **how)


def test_counts_of_groups_are_wide() -> None:
    matrix = count_terms(token_table([[0], [0], [0]], ["a"]))
    matrix.data[:] = 2**30
    assert group_rows(matrix, np.zeros(3, np.int32), 1).toarray().tolist() == [[3 * 2**30]]


@pytest.mark.parametrize(
    ("offsets", "ids", "n_terms"),
    [
        ([0, 2], [0, 2], 2),
        ([0, 2], [-1, 0], 2),
        ([0, 3], [0, 0], 1),
        ([1, 2], [0, 0], 1),
        ([0, 2, 1], [0], 1),
        ([], [], 1),
    ],
)
def test_tokens_that_do_not_fit_reach_no_kernel(offsets: list[int], ids: list[int], n_terms: int) -> None:
    tokens = TokenTable(np.array(offsets, np.int64), np.array(ids, np.int32), tuple("ab"[:n_terms]))
    with pytest.raises(InputError):
        count_terms(tokens)
    with pytest.raises(InputError):
        GibbsSampler(tokens, n_topics=2, alpha=0.1, eta=0.1, seed=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [("z", 2), ("z", 1), ("list_length", 100), ("list_length", -1), ("list_entries", 7)],
)  # fmt: skip
def test_a_damaged_state_is_not_gone_on_with(name: str, value: int) -> None:
    chain = GibbsSampler(token_table([[0] * 9, [1, 0]], ["a", "b"]), n_topics=2, alpha=0.1, eta=0.1, seed=1)
    chain.run(1)
    state = {k: v.copy() for k, v in chain.state().items()}
    chain.restore(state, 1)
    state[name][0] = value if state[name][0] != value else value - 1
    with pytest.raises(UsageError, match="damaged"):
        chain.restore(state, 1)

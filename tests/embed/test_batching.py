from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nlpkit.embed.token_ids import plan_batches, split_batch


def test_plan_by_hand() -> None:
    batches = plan_batches([3, 5, 3, 1, 5], 10)
    assert [batch.rows.tolist() for batch in batches] == [[1, 4], [0, 2, 3]]
    assert [batch.groups for batch in batches] == [((2, 5),), ((2, 3), (1, 1))]
    padded = plan_batches([3, 5, 3, 1, 4], 10, pad=True)
    assert [batch.rows.tolist() for batch in padded] == [[1, 4], [0, 2, 3]]
    assert [batch.groups for batch in padded] == [((2, 5),), ((3, 3),)]


@pytest.mark.parametrize("pad", [False, True])
def test_every_document_once_within_the_budget(pad: bool) -> None:
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 70, 500)
    batches = plan_batches(lengths, 200, pad=pad)
    rows = np.concatenate([batch.rows for batch in batches])
    assert sorted(rows.tolist()) == list(range(500))
    assert (np.diff(lengths[rows]) <= 0).all()
    ties = [(a, b) for a, b in pairwise(rows.tolist()) if lengths[a] == lengths[b]]
    assert all(a < b for a, b in ties)  # equal lengths keep their order
    for batch in batches:
        assert batch.tokens <= 200
        assert sum(count for count, _ in batch.groups) == len(batch.rows)
        widths = np.repeat([width for _, width in batch.groups], [count for count, _ in batch.groups])
        assert (widths >= lengths[batch.rows]).all()
        assert pad or (widths == lengths[batch.rows]).all()


def test_a_document_over_the_budget_is_a_batch_of_its_own() -> None:
    assert [batch.rows.tolist() for batch in plan_batches([2, 90, 2], 10)] == [[1], [0, 2]]
    assert [batch.rows.tolist() for batch in plan_batches([2, 90, 2], 10, pad=True)] == [[1], [0, 2]]


def test_no_documents_no_batches() -> None:
    assert plan_batches([], 10) == []
    assert plan_batches([], 10, pad=True) == []


@pytest.mark.parametrize("pad", [False, True])
def test_halves_make_the_batch(pad: bool) -> None:
    lengths = np.array([4, 4, 3, 2, 2])
    (batch,) = plan_batches(lengths, 100, pad=pad)
    first, second = split_batch(batch, lengths, pad=pad)
    assert [*first.rows, *second.rows] == batch.rows.tolist()
    assert first.groups == ((2, 4),)
    assert second.groups == (((3, 3),) if pad else ((1, 3), (2, 2)))

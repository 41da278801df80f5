"""Labels as classes, and folds: every class in each fold, groups together, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.classify.labels import encode_sets, encode_single, stratified_folds
from nlpkit.errors import InputError, UsageError


def every(n: int) -> np.ndarray:
    return np.ones(n, bool)


def test_classes_are_those_of_training_documents_in_order() -> None:
    learn = np.array([True, True, True, True, False])
    found = encode_single(["b", "a", None, "b", "z"], learn)
    assert found.names == ("a", "b")
    assert found.codes is not None
    assert found.codes.tolist() == [1, 0, -1, 1, -1]
    assert found.known.tolist() == [True, True, False, True, True]
    assert found.sizes(np.arange(5)).tolist() == [1, 2]


def test_numbers_are_ordered_as_numbers() -> None:
    assert encode_single(["10", "9", "2", "x"], every(4)).names == ("2", "9", "10", "x")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([None, None], "none of 2 training documents has a label; name the column with --label-col"),
        (["a", None, "a"], "all labelled training documents have the label 'a'"),
    ],
)
def test_two_classes_are_needed(values: list[str | None], says: str) -> None:
    with pytest.raises(InputError, match=says):
        encode_single(values, every(len(values)))


def test_sets_of_labels() -> None:
    found = encode_sets([["b", "a"], [], None, ["b", "z"]], np.array([True, True, True, False]))
    assert found.names == ("a", "b")
    assert found.sets is not None
    assert found.sets.tolist() == [[True, True], [False, False], [False, False], [False, True]]
    assert found.known.tolist() == [True, True, False, True]
    # a document of a and b is dealt out with the rarer a; one without any label is in a class of its own
    assert found.strata(np.arange(4)).tolist() == [0, 2, 2, 1]


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    n_folds=st.integers(2, 7),
    seed=st.integers(0, 2**32 - 1),
)
def test_each_fold_has_its_share_of_every_class(sizes: list[int], n_folds: int, seed: int) -> None:
    strata = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    if len(strata) < n_folds:
        with pytest.raises(UsageError, match="take fewer folds"):
            stratified_folds(strata, n_folds, seed=seed)
        return
    folds = stratified_folds(strata, n_folds, seed=seed)
    table = np.zeros((n_folds, len(sizes)), int)
    np.add.at(table, (folds, strata), 1)
    assert (table.max(axis=0) - table.min(axis=0) <= 1).all()
    assert np.ptp(table.sum(axis=1)) <= 1
    assert (folds == stratified_folds(strata, n_folds, seed=seed)).all()


def test_other_seeds_deal_otherwise() -> None:
    strata = np.repeat(np.arange(2, dtype=np.int32), 50)
    assert (stratified_folds(strata, 5, seed=1) != stratified_folds(strata, 5, seed=2)).any()


def test_groups_stay_together_and_classes_are_balanced() -> None:
    rng = np.random.default_rng(0)
    together = rng.integers(0, 60, 600).astype(np.int32)
    strata = rng.integers(0, 3, 600).astype(np.int32)
    folds = stratified_folds(strata, 5, seed=3, together=together)
    for group in range(60):
        assert len(set(folds[together == group].tolist())) == 1
    shares = np.array([np.bincount(strata[folds == f], minlength=3) for f in range(5)])
    assert (np.abs(shares - shares.mean(axis=0)) < 15).all()
    with pytest.raises(UsageError, match="there are only 2 groups with a label"):
        stratified_folds(strata, 5, seed=3, together=(together > 30).astype(np.int32))

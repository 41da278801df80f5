"""Splits by name, by folds, by a share held out, and by a few documents of each class."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.classify.dataset import (
    DEV,
    TEST,
    TRAIN,
    UNUSED,
    LabelledDataset,
    check_splits,
    encode_sets,
    encode_single,
    held_out,
    splits_of,
    stratified_folds,
    stratified_sizes,
)
from nlpkit.errors import UsageError
from tests.refusals import refuses

VALUES = ["train", "Test", "val", None, "other"]


def dataset(labels: list[str], split: list[int] | None = None, n_folds: int = 0) -> LabelledDataset:
    codes = np.array(split if split is not None else [TRAIN] * len(labels), np.int32)
    table = pa.table({"id": [str(d) for d in range(len(labels))], "text": labels, "label": labels})
    return LabelledDataset(table, list(labels), encode_single(labels, codes == TRAIN), codes, n_folds)


def test_values_name_splits() -> None:
    assert splits_of(VALUES, "fold", dev=True).tolist() == [TRAIN, TEST, DEV, UNUSED, UNUSED]
    assert splits_of(VALUES, "fold", dev=False).tolist() == [TRAIN, TEST, UNUSED, UNUSED, UNUSED]
    assert splits_of(VALUES, "fold=other", dev=True).tolist() == [TRAIN, TRAIN, TRAIN, TRAIN, TEST]


@pytest.mark.parametrize("values", [["train", "train"], ["test", None], ["a", "b"]])
def test_training_and_test_are_needed(values: list[str | None]) -> None:
    with pytest.raises(UsageError) as refused:
        check_splits(splits_of(values, "fold", dev=False), values, "fold")
    assert refused.value.parameter == "split"


@pytest.mark.parametrize("share", [0.5, 0.2, 0.3, 0.7])
def test_a_share_of_every_class_is_held_out(share: float) -> None:
    strata = np.repeat(np.arange(3, dtype=np.int32), [10, 20, 70])
    rows = held_out(strata, share, seed=1)
    assert len(set(rows.tolist())) == len(rows) == round(100 * share)
    assert (np.abs(np.bincount(strata[rows], minlength=3) - share * np.array([10, 20, 70])) <= 1).all()
    assert rows.tolist() == held_out(strata, share, seed=1).tolist() != held_out(strata, share, seed=2).tolist()


def test_shots_are_taken_of_every_class_and_the_rest_is_the_test() -> None:
    few = dataset(["a"] * 10 + ["b"] * 2).with_shots(3, seed=4)
    train, test = few.rounds[0]
    assert sorted(few.raw_labels[d] for d in train) == ["a"] * 3 + ["b"] * 2
    assert len(test) == 7
    tested = dataset(["a"] * 10 + ["b"] * 4, [TRAIN] * 13 + [TEST]).with_shots(3, seed=4)
    assert tested.rounds[0][1].tolist() == [13]
    assert (tested.split == UNUSED).sum() == 7


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 99), st.data())
def test_a_total_gives_each_class_its_share_and_one_document_at_least(
    sizes: list[int], seed: int, data: st.DataObject
) -> None:
    n = data.draw(st.integers(len(sizes), sum(sizes)))
    take = stratified_sizes(np.array(sizes), n, np.random.default_rng(seed))
    assert take.sum() == n
    assert (take >= 1).all()
    assert (take <= sizes).all()
    quota = n * np.array(sizes) / sum(sizes)
    assert (take < np.maximum(quota, 1) + 1).all()
    if (quota >= 1).all():
        assert (np.abs(take - quota) < 1).all()


def test_a_total_is_stratified_and_ties_are_chance() -> None:
    whole = dataset(["a"] * 40 + ["b"] * 40 + ["c"] * 20 + ["d"] * 2, [TRAIN] * 100 + [TEST, TRAIN])
    drawn = whole.with_total(10, seed=1)
    assert np.bincount([ord(whole.raw_labels[d]) - 97 for d in drawn.train], minlength=4).tolist() == [4, 3, 2, 1] or (
        np.bincount([ord(whole.raw_labels[d]) - 97 for d in drawn.train], minlength=4).tolist() == [3, 4, 2, 1]
    )
    assert drawn.rounds[0][1].tolist() == [100]
    assert (
        drawn.train.tolist()
        == whole.with_total(10, seed=1).train.tolist()
        != whole.with_total(10, seed=2).train.tolist()
    )
    assert len(whole.with_total(500, seed=1).train) == 101
    equal = np.array([25, 25, 25, 25])
    rows = {tuple(stratified_sizes(equal, 10, np.random.default_rng(seed)).tolist()) for seed in range(30)}
    assert len(rows) > 2
    assert all(sorted(row) == [2, 2, 3, 3] for row in rows)
    with pytest.raises(UsageError, match="4 classes need at least one document each"):
        whole.with_total(3, seed=1)


def test_a_document_of_several_labels_counts_for_each() -> None:
    sets = [["a", "b"], ["a"], ["b"], ["a", "b"]]
    learn = np.ones(4, bool)
    whole = dataset(["x", "y", "x", "y"])
    several = LabelledDataset(whole.table, list(sets), encode_sets(sets, learn), whole.split, 0)
    chosen = several.with_shots(2, seed=0).train
    assert all(sum(label in sets[d] for d in chosen) >= 2 for label in "ab")


def test_each_fold_is_the_test_once() -> None:
    folds = dataset(["a", "b"] * 3, [0, 1, 2, 0, 1, UNUSED], 3)
    assert [test.tolist() for _, test in folds.rounds] == [[0, 3], [1, 4], [2]]
    assert all(set(train) | set(test) == {0, 1, 2, 3, 4} for train, test in folds.rounds)
    assert folds.train.tolist() == [0, 1, 2, 3, 4]


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    n_folds=st.integers(2, 7),
    seed=st.integers(0, 2**32 - 1),
)
def test_each_fold_has_its_share_of_every_class(sizes: list[int], n_folds: int, seed: int) -> None:
    strata = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    if len(strata) < n_folds:
        with refuses("cv"):
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
    with refuses("cv"):
        stratified_folds(strata, 5, seed=3, together=(together > 30).astype(np.int32))

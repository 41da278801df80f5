"""Contrastive pairs: who is paired with whom, how often, and that it costs no O(n²)."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest

from nlpkit.classify.dataset import Labels, encode_sets, encode_single
from nlpkit.errors import InputError
from nlpkit.finetune.setfit.pairs import PairSampler, _has_stranger


def single(values: list[str]) -> Labels:
    return encode_single(values, np.ones(len(values), bool))


def several(values: list[list[str]]) -> Labels:
    return encode_sets(values, np.ones(len(values), bool))


def rows(labels: Labels) -> np.ndarray:
    return np.arange(len(labels.known))


def test_r_positive_and_r_negative_pairs_for_each_document() -> None:
    labels = single(list("abcabcabcabc"))
    sampler = PairSampler(labels, rows(labels), R=5, seed=1)
    pairs = sampler.draw(0)
    assert sampler.n_pairs == len(pairs.first) == 2 * 5 * 12
    for kind in (0, 1):
        own = pairs.similar == kind
        assert np.bincount(pairs.first[own], minlength=12).tolist() == [5] * 12
    assert labels.codes is not None
    same = labels.codes[pairs.first] == labels.codes[pairs.second]
    np.testing.assert_array_equal(same, pairs.similar == 1)
    assert (pairs.first != pairs.second).all()
    assert (sampler.n_alone, sampler.n_one_sided) == (0, 0)


@pytest.mark.parametrize("most", [None, 45])
def test_classes_have_the_same_number_of_pairs(most: int | None) -> None:
    labels = single(["a"] * 3 + ["b"] * 9 + ["c"] * 2 + ["d"])
    sampler = PairSampler(labels, rows(labels), R=4, most=most, seed=1)
    pairs = sampler.draw(0)
    assert labels.codes is not None
    for kind in (0, 1):
        own = pairs.first[pairs.similar == kind]
        found = np.bincount(labels.codes[own], minlength=4)
        assert np.ptp(found) <= (1 if most else 0)
        for code in range(4):  # of a class every document as often as the others
            assert np.ptp(np.bincount(own, minlength=15)[labels.codes == code]) <= 1
    again = PairSampler(labels, rows(labels), R=4, most=most, seed=1).pairs(0, np.arange(3, 30))
    np.testing.assert_array_equal(again.first, pairs.first[3:30])
    assert (sampler.draw(1).first != pairs.first).any()


def test_second_documents_are_uniform() -> None:
    labels = single(["b", "a", "a", "b", "a", "c", "a"])
    sampler = PairSampler(labels, rows(labels), R=4000, seed=3)
    pairs = sampler.draw(2)
    of_1 = pairs.first == 1
    positive = Counter(pairs.second[of_1 & (pairs.similar == 1)].tolist())
    negative = Counter(pairs.second[of_1 & (pairs.similar == 0)].tolist())
    assert set(positive) == {2, 4, 6}
    assert set(negative) == {0, 3, 5}
    each = 4000 * 7 / 3 / 4  # pairs of either kind: a third of all are of its class, which has four documents
    for found in (positive, negative):  # sd 23
        assert max(abs(n - each / 3) for n in found.values()) < 115


def test_a_pair_is_a_function_of_seed_epoch_and_number() -> None:
    for labels in (single(list("aabbccabcabc")), several([["a"], ["a", "b"], ["b"], ["c"], []] * 3)):
        sampler = PairSampler(labels, rows(labels), R=6, seed=5)
        whole = sampler.draw(1)
        for asked in (np.array([7]), np.array([50, 3, 3, 20])):
            some = PairSampler(labels, rows(labels), R=6, seed=5).pairs(1, asked)
            np.testing.assert_array_equal(some.first, whole.first[asked])
            np.testing.assert_array_equal(some.second, whole.second[asked])
            np.testing.assert_array_equal(some.similar, whole.similar[asked])
        assert (sampler.draw(2).second != whole.second).any()
        assert (PairSampler(labels, rows(labels), R=6, seed=6).draw(1).second != whole.second).any()


def test_a_class_with_one_document_is_paired_with_itself() -> None:
    labels = single(["a", "a", "b", "c"])
    sampler = PairSampler(labels, rows(labels), R=3)
    assert sampler.n_alone == 2
    pairs = sampler.draw(0)
    own = pairs.first == pairs.second
    assert set(pairs.first[own].tolist()) == {2, 3}
    assert (pairs.similar[own] == 1).all()


def test_most_pairs_are_other_documents_each_epoch() -> None:
    labels = single([str(i % 4) for i in range(1000)])
    sampler = PairSampler(labels, rows(labels), R=20, most=100)
    first, second = sampler.draw(0), sampler.draw(1)
    assert len(first.first) == len(second.first) == 100
    assert first.similar.sum() == 50
    assert len(set(first.first.tolist())) == 50
    assert len(set(first.first.tolist()) & set(second.first.tolist())) < 15


def test_rows_are_positions_among_those_given() -> None:
    labels = single(["a", "x", "b", "a", "b"])
    pairs = PairSampler(labels, np.array([0, 2, 3, 4]), R=2).draw(0)
    assert labels.codes is not None
    codes = labels.codes[[0, 2, 3, 4]]
    np.testing.assert_array_equal(codes[pairs.first] == codes[pairs.second], pairs.similar == 1)


def test_several_labels_share_one_or_none() -> None:
    labels = several([["a", "b"], ["a"], ["b", "c"], ["c"], ["d"], [], ["a", "b", "c"], ["a"]])
    sampler = PairSampler(labels, rows(labels), R=600, seed=2)
    pairs = sampler.draw(0)
    assert labels.sets is not None
    shared = (labels.sets[pairs.first] & labels.sets[pairs.second]).any(axis=1)
    np.testing.assert_array_equal(shared, pairs.similar == 1)
    own = pairs.first == pairs.second
    assert set(pairs.first[own].tolist()) == {4}  # d is alone
    assert (sampler.n_alone, sampler.n_one_sided) == (1, 1)  # [] has no positive pairs
    assert (pairs.similar[pairs.first == 5] == 0).all()
    assert np.bincount(pairs.first).tolist() == [1200] * 8
    found = Counter(pairs.second[(pairs.first == 0) & (pairs.similar == 1)].tolist())
    assert set(found) == {1, 2, 6, 7}  # 6 shares two labels and comes no more often, sd 11
    assert max(abs(n - 150) for n in found.values()) < 55


def test_a_document_that_shares_with_all_has_positive_pairs_only() -> None:
    labels = several([["a", "b"], ["a"], ["b"], ["a"]])
    pairs = PairSampler(labels, rows(labels), R=10).draw(0)
    assert (pairs.similar[pairs.first == 0] == 1).all()
    assert (pairs.similar[pairs.first == 1] == 0).sum() == 10


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9])
def test_who_shares_no_label_with_another(share: float) -> None:
    rng = np.random.default_rng(4)
    for n, J in [(2, 1), (3, 9), (20, 4), (60, 8), (700, 10)]:
        sets = rng.random((n, J)) < share  # some are empty
        expected = ~(sets[:, None] & sets).any(axis=2)
        np.testing.assert_array_equal(_has_stranger(sets), expected.any(axis=1), err_msg=f"{n} {J}")


def test_a_single_stranger_among_thousands_of_sets_is_found() -> None:
    sets = np.random.default_rng(5).random((9000, 14)) < 0.5
    sets[:, 13] = True
    sets[1] = np.arange(14) < 3  # neither among the first 256 looked at, nor among the first 4,096 sets
    assert len(np.unique(sets, axis=0)) > 5000
    expected = ~sets[:, :3].any(axis=1)
    expected[1] = True
    np.testing.assert_array_equal(_has_stranger(sets), expected)
    assert 800 < expected.sum() < 1500
    sets[1, 13] = True
    assert not _has_stranger(sets).any()


def test_nothing_to_tell_apart() -> None:
    labels = single(["a", "a", "b"])
    with pytest.raises(InputError):
        PairSampler(labels, np.array([0, 1]))
    with pytest.raises(InputError):
        PairSampler(several([["a", "b"], ["a"], ["a", "c"]]), np.arange(3))


@pytest.mark.parametrize("multiple", [False, True])
def test_many_documents_in_little_memory(multiple: bool) -> None:
    n, J = 100_000, 1000
    codes = np.random.default_rng(0).integers(0, J, n).astype(np.int32)
    known = np.ones(n, bool)
    names = tuple(map(str, range(J)))
    if multiple:
        J = 50
        sets = np.zeros((n, J), bool)
        sets[np.arange(n), codes % J] = True
        sets[np.arange(n), codes // J] = True
        labels = Labels(names[:J], known, None, sets)
    else:
        labels = Labels(names, known, codes, None)
    sampler = PairSampler(labels, np.arange(n), R=20, most=100_000)
    pairs = sampler.draw(0)
    assert len(pairs.first) == 100_000
    tracemalloc.start()
    PairSampler(labels, np.arange(n), R=20, most=1000).draw(0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (20 * n * J if multiple else 200 * n)

"""Agreement of models: by hand, as in the paper, against all matchings there are, and what cannot change it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import UsageError
from nlpkit.metrics.topics.diversity import average_jaccard_matrix, jaccard_matrix, rbo_matrix
from nlpkit.metrics.topics.stability import MEASURES, common_term_ids, compare_models, match_topics, pairwise_sclop
from tests.refusals import refuses
from tests.strategies import repeatable

SIMILAR = {"jaccard": jaccard_matrix, "rbo": rbo_matrix, "average-jaccard": average_jaccard_matrix}


def models(*topics: list[str]) -> Any:
    """Models whose topics are given as words parted by blanks."""
    return common_term_ids([[topic.split() for topic in model] for model in topics], n=3)[0]


@st.composite
def models_rkn(draw: st.DrawFn, max_topics: int = 4, min_words: int = 1) -> Any:
    """Two or three models (K_r, 4) of different topics, some shorter than others, over ten words."""
    found = []
    for _ in range(draw(st.integers(2, 3))):
        topics = draw(
            st.lists(st.lists(st.integers(0, 9), min_size=min_words, max_size=4, unique=True).map(tuple), min_size=1,
                     max_size=max_topics, unique_by=frozenset)
        )  # fmt: skip
        found.append(np.array([[*topic, *[-1] * (4 - len(topic))] for topic in topics], np.int32))
    return found


def test_by_hand() -> None:
    # a b c ~ a b x and d e f ~ d e z: two words of four each
    found = compare_models(models(["a b c", "d e f"], ["d e z", "a b x"]))
    assert found.jaccard[0, 1] == found.jaccard[1, 0] == found.mean_jaccard == 0.5
    assert np.isnan(np.diag(found.jaccard)).all()
    assert found.matches.tolist() == [[0, 1], [1, 0]]
    assert found.similarity.tolist() == [[1.0, 0.5], [1.0, 0.5]]
    assert found.by_topic.tolist() == [0.5, 0.5]
    assert [alone.tolist() for alone in found.unmatched] == [[], []]
    assert found.mean_sclop == 1.0  # partners are closest, however alike they are


def test_topics_without_a_partner_count_as_0_and_are_listed() -> None:
    found = compare_models(models(["a b c", "d e f", "x y z"], ["d e f"], ["u v w", "a b c"]))
    np.testing.assert_allclose(found.jaccard[0, 1:], [1 / 3, 1 / 3])
    assert (found.jaccard[1, 2], found.mean_jaccard) == (0.0, pytest.approx(2 / 9))
    assert found.matches.tolist() == [[0, -1, 1], [1, 0, -1], [2, -1, -1]]
    assert found.by_topic.tolist() == [0.5, 0.5, 0.0]
    assert [alone.tolist() for alone in found.unmatched] == [[2], [], [0]]


def test_agreement_of_greene_et_al() -> None:
    """Greene, O'Callaghan & Cunningham 2014, section 3.1: similarities 0.50, 0.50 and 0.61, agreement 0.54."""
    found = compare_models(
        models(
            ["sport win award", "bank finance money", "music album band"],
            ["finance bank economy", "music band award", "win sport money"],
        ),
        measure="average-jaccard",
    )
    # (0 + 2/2 + 2/4) / 3 twice, (1/1 + 1/3 + 2/4) / 3
    np.testing.assert_allclose(found.by_topic, [0.5, 0.5, 11 / 18])
    assert found.matches[:, 1].tolist() == [2, 0, 1]
    assert found.mean_average_jaccard == pytest.approx((0.5 + 0.5 + 11 / 18) / 3) == pytest.approx(0.54, abs=5e-3)


def test_the_best_sum_is_not_the_best_pair_first() -> None:
    # taking 0.9 first leaves 0.0: 0.9 < 0.8 + 0.7
    partner, value = match_topics(np.array([[0.9, 0.8], [0.7, 0.0]]))
    assert (partner.tolist(), value.tolist()) == ([1, 0], [0.8, 0.7])


def test_common_term_ids() -> None:
    ids, terms = common_term_ids([[["b", "a", "z"], ["c"]], [["a"]]], n=2)
    assert terms == ("a", "b", "c")  # z is beyond the first two
    assert [model.tolist() for model in ids] == [[[1, 0], [2, -1]], [[0, -1]]]
    assert [model.dtype for model in ids] == [np.int32, np.int32]


@repeatable
@given(st.data())
def test_no_matching_is_better(data: st.DataObject) -> None:
    a, b = data.draw(models_rkn())[:2]
    found = compare_models([a, b])
    values = {"jaccard": found.mean_jaccard, "rbo": found.mean_rbo, "average-jaccard": found.mean_average_jaccard}
    for name, mean in values.items():
        similarity = SIMILAR[name](a, b)  # type: ignore[operator]
        wide = similarity if len(a) <= len(b) else similarity.T
        best = max(
            sum(wide[k, j] for k, j in enumerate(columns))
            for columns in itertools.permutations(range(wide.shape[1]), len(wide))
        )
        assert mean == pytest.approx(best / max(len(a), len(b)), abs=1e-12)


@repeatable
@given(models_rkn(), st.sampled_from(MEASURES), st.randoms(use_true_random=False))
def test_order_of_topics_changes_nothing(found: Any, measure: Any, random: Any) -> None:
    shuffled = [model[random.sample(range(len(model)), len(model))] for model in found]
    a, b = compare_models(found, measure=measure), compare_models(shuffled, measure=measure)
    for name in ("jaccard", "rbo", "average_jaccard", "sclop"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=1e-15)
    assert a.by_topic.sum() == pytest.approx(b.by_topic.sum(), abs=1e-12)


@repeatable
@given(models_rkn(min_words=4), st.sampled_from(MEASURES))
def test_identical_models_agree(found: Any, measure: Any) -> None:
    model = found[0]
    result = compare_models([model, model[::-1], model], measure=measure)
    means = (result.mean_jaccard, result.mean_rbo, result.mean_average_jaccard, result.mean_sclop)
    assert means == pytest.approx((1.0, 1.0, 1.0, 1.0), abs=1e-12)
    assert result.by_topic.tolist() == [1.0] * len(model)
    assert result.matches[:, 1].tolist() == list(range(len(model)))[::-1]
    assert not any(len(alone) for alone in result.unmatched)


@repeatable
@given(models_rkn(), st.sampled_from(MEASURES))
def test_models_without_a_common_word_do_not(found: Any, measure: Any) -> None:
    model = found[0]
    other = np.where(model >= 0, model + 10, -1).astype(np.int32)
    result = compare_models([model, other], measure=measure)
    assert (result.mean_jaccard, result.mean_rbo, result.mean_average_jaccard) == (0.0, 0.0, 0.0)
    assert (result.matches[:, 1] == -1).all()
    assert [alone.tolist() for alone in result.unmatched] == [list(range(len(model)))] * 2
    if (jaccard_matrix(model) == np.eye(len(model))).all():  # else some of one model are alike and merge first
        assert result.mean_sclop == (0.0 if len(model) > 1 else 1.0)  # two models of one topic each agree by definition


@repeatable
@given(models_rkn(), st.sampled_from(MEASURES))
def test_bounds_symmetry_and_order_of_models(found: Any, measure: Any) -> None:
    result = compare_models(found, measure=measure)
    back = compare_models(found[::-1], measure=measure)
    for name in ("jaccard", "rbo", "average_jaccard", "sclop"):
        matrix = getattr(result, name)
        np.testing.assert_array_equal(matrix, matrix.T)
        assert np.isnan(np.diag(matrix)).all()
        rest = matrix[~np.eye(len(found), dtype=bool)]
        assert ((rest >= 0) & (rest <= 1)).all()
        if name != "sclop":  # where similarities are equal, complete linkage goes by position
            np.testing.assert_allclose(getattr(back, name)[::-1, ::-1], matrix, atol=1e-12)
    for r in range(1, len(found)):
        partners = result.matches[:, r][result.matches[:, r] >= 0]
        assert len(set(partners.tolist())) == len(partners)
        assert sorted([*partners.tolist(), *result.unmatched[r].tolist()]) == list(range(len(found[r])))


@repeatable
@given(models_rkn())
def test_sclop_is_that_of_the_prototype(found: Any) -> None:
    ordered = [model[np.lexsort(model.T[::-1])] for model in found]
    similarity = rbo_matrix(np.concatenate(ordered))
    expected = pairwise_sclop(similarity, [len(model) for model in found])
    np.testing.assert_allclose(compare_models(found, measure="rbo").sclop, expected, atol=1e-12)


def test_lists_of_different_length_and_empty_topics() -> None:
    a = np.array([[0, 1, 2], [-1, -1, -1]], np.int32)
    b = np.array([[0, 1], [-1, -1]], np.int32)
    found = compare_models([a, b])
    assert found.mean_jaccard == pytest.approx(2 / 3 / 2)  # the empty topics are like nothing, each other included
    assert found.matches[:, 1].tolist() == [0, -1]
    assert all(map(math.isfinite, (found.mean_rbo, found.mean_average_jaccard, found.mean_sclop)))


def test_what_cannot_be_compared() -> None:
    a = np.zeros((1, 1), np.int32)
    with pytest.raises(UsageError, match="at least 2, got 1"):
        compare_models([a])
    with pytest.raises(UsageError, match="model 2 of 2 has none"):
        compare_models([a, np.zeros((0, 1), np.int32)])
    with refuses("measure"):
        compare_models([a, a], measure="cosine")  # type: ignore[arg-type]

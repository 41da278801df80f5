"""Krippendorff's alpha, the kappas of Fleiss and Cohen, majority vote."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.agreement import (
    LEVELS,
    Level,
    alpha_statistic,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    majority_vote,
    mean_cohen,
    pairwise_cohen,
    percent_agreement,
    rating_counts,
    why_undefined,
)
from nlpkit.metrics.intervals import DRAWS, Interval, interval
from tests.refusals import refuses
from tests.strategies import repeatable

NONE = math.nan
# Krippendorff (2011), section C: 4 observers, 12 units
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
]
EXAMPLE = np.array(OBSERVERS).T


def alpha_interval(
    ratings: Any, *, level: Level, confidence: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> Interval | None:
    """The bootstrap interval over units, as evaluate computes it."""
    statistic, times = alpha_statistic(ratings, level=level)
    return interval(statistic, times, level=confidence, seed=seed, draws=draws)


def plain_alpha(ratings: Any, level: Level) -> float:
    """Alpha through the coincidence matrix, as the paper has it."""
    units = [[v for v in row if not math.isnan(v)] for row in ratings]
    units = [row for row in units if len(row) >= 2]
    values = sorted({v for row in units for v in row})
    o = {(c, k): 0.0 for c in values for k in values}
    for row in units:
        for i, c in enumerate(row):
            for j, k in enumerate(row):
                if i != j:
                    o[c, k] += 1 / (len(row) - 1)
    n_c = {c: sum(o[c, k] for k in values) for c in values}
    n = sum(n_c.values())

    def distance(c: float, k: float) -> float:
        if level == "nominal":
            return float(c != k)
        if level == "interval":
            return (c - k) ** 2
        if level == "ratio":
            return ((c - k) / (c + k)) ** 2 if c + k else 0.0
        low, high = min(c, k), max(c, k)
        return (sum(n_c[g] for g in values if low <= g <= high) - (n_c[c] + n_c[k]) / 2) ** 2

    expected = sum(n_c[c] * n_c[k] * distance(c, k) for c in values for k in values)
    observed = sum(o[c, k] * distance(c, k) for c in values for k in values)
    return 1 - (n - 1) * observed / expected if len(values) > 1 else math.nan


@st.composite
def ratings_uc(draw: st.DrawFn) -> Any:
    """Ratings (U, C) of 0 … 8 units by 1 … 5 coders, values 0 … 4, some missing."""
    U, C = draw(st.integers(0, 8)), draw(st.integers(1, 5))
    cells = st.one_of(st.just(NONE), st.integers(0, 4).map(float))
    return np.array(draw(st.lists(cells, min_size=U * C, max_size=U * C)), np.float64).reshape(U, C)


# ---------------------------------------------------------------- Krippendorff's alpha


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_the_example_of_the_paper(level: Level, alpha: float) -> None:
    assert krippendorff_alpha(EXAMPLE, level=level) == pytest.approx(alpha, abs=5e-4)


def test_alpha_by_hand() -> None:
    # units (0, 0), (0, 1), (1, 1), each pair gives two coincidences: o_00 = 2, o_01 = o_10 = 1, o_11 = 2; n_0 = n_1 = 3
    # alpha = 1 - (6 - 1) (1 + 1) / (3 3 + 3 3) = 1 - 10/18 = 4/9
    assert krippendorff_alpha([[0, 0], [0, 1], [1, 1]], level="nominal") == pytest.approx(4 / 9, rel=1e-14)


def test_the_distances_by_hand() -> None:
    # units (1, 2), (4, 4): o_12 = o_21 = 1, o_44 = 2; n_1 = n_2 = 1, n_4 = 2, n = 4; pairs that expect: (1,2) 1, (1,4) 2, (2,4) 2
    # interval: observed 2 · 1, expected 2 (1 · 1 + 2 · 9 + 2 · 4) = 54
    assert krippendorff_alpha([[1, 2], [4, 4]], level="interval") == pytest.approx(1 - 3 * 2 / 54, rel=1e-14)
    # ordinal: mid-ranks 0.5, 1.5, 3: distances 1, 6.25, 2.25: expected 2 (1 + 12.5 + 4.5) = 36
    assert krippendorff_alpha([[1, 2], [4, 4]], level="ordinal") == pytest.approx(1 - 3 * 2 / 36, rel=1e-14)
    # ratio: (1/3)² = 1/9, (3/5)² = 9/25, (2/6)² = 1/9: expected 2 (1/9 + 18/25 + 2/9)
    expected = 2 * (1 / 9 + 18 / 25 + 2 / 9)
    assert krippendorff_alpha([[1, 2], [4, 4]], level="ratio") == pytest.approx(1 - 3 * 2 / 9 / expected, rel=1e-14)


@repeatable
@given(ratings_uc(), st.sampled_from(LEVELS))
def test_equals_the_coincidence_matrix(ratings: Any, level: Level) -> None:
    assert krippendorff_alpha(ratings, level=level) == pytest.approx(
        plain_alpha(ratings, level), abs=1e-12, nan_ok=True
    )


@repeatable
@given(ratings_uc(), st.sampled_from(LEVELS))
def test_equals_the_package_krippendorff(ratings: Any, level: Level) -> None:
    package = pytest.importorskip("krippendorff")
    if why_undefined(ratings):
        assert math.isnan(krippendorff_alpha(ratings, level=level))
        return
    expected = package.alpha(ratings.T, level_of_measurement=level)
    assert krippendorff_alpha(ratings, level=level) == pytest.approx(expected, abs=1e-12)


def test_many_different_numbers_agree_with_the_package() -> None:
    package = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(0)
    ratings = rng.normal(1e4, 3, (60, 1)) + rng.normal(0, 1, (60, 3))
    ratings[rng.random(ratings.shape) < 0.2] = NONE
    for level in LEVELS:
        expected = package.alpha(ratings.T, level_of_measurement=level)
        assert krippendorff_alpha(ratings, level=level) == pytest.approx(expected, abs=1e-11)


@repeatable
@given(ratings_uc(), st.randoms(use_true_random=False), st.sampled_from(LEVELS))
def test_order_of_units_and_coders_does_not_matter(ratings: Any, random: Any, level: Level) -> None:
    rows, columns = list(range(ratings.shape[0])), list(range(ratings.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    shuffled = krippendorff_alpha(ratings[rows][:, columns], level=level)
    assert shuffled == pytest.approx(krippendorff_alpha(ratings, level=level), abs=1e-12, nan_ok=True)


@repeatable
@given(ratings_uc())
def test_alpha_is_at_most_one_and_ratings_stay_as_they_were(ratings: Any) -> None:
    before = ratings.copy()
    for level in LEVELS:
        alpha = krippendorff_alpha(ratings, level=level)
        assert math.isnan(alpha) or alpha <= 1 + 1e-12
    np.testing.assert_array_equal(ratings, before)


def test_nominal_does_not_care_which_codes_and_ordinal_only_for_their_order() -> None:
    renamed = np.array([0, 9, 4, 2, 7, 1])  # of codes 0 … 5
    stretched = np.array([0, 1, 10, 11, 100, 1000])
    codes = np.nan_to_num(EXAMPLE, nan=0).astype(int)

    def mapped(to: Any) -> Any:
        return np.where(np.isnan(EXAMPLE), NONE, to[codes])

    nominal, ordinal = (krippendorff_alpha(EXAMPLE, level=level) for level in ("nominal", "ordinal"))
    assert krippendorff_alpha(mapped(renamed), level="nominal") == pytest.approx(nominal, abs=1e-14)
    assert krippendorff_alpha(mapped(stretched), level="ordinal") == pytest.approx(ordinal, abs=1e-14)
    assert krippendorff_alpha(mapped(stretched), level="interval") != pytest.approx(
        krippendorff_alpha(EXAMPLE, level="interval"), abs=0.01
    )


def test_full_agreement_is_one() -> None:
    ratings = np.repeat([[1.0], [2.0], [5.0]], 3, axis=1)
    for level in LEVELS:
        assert krippendorff_alpha(ratings, level=level) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("ratings", "why"),
    [
        (np.zeros((0, 2)), "no unit was rated by two coders"),
        ([[1, NONE], [NONE, 2]], "no unit was rated by two coders"),
        ([[1], [2]], "no unit was rated by two coders"),
        ([[3, 3], [3, 3], [1, NONE]], "all ratings are the same"),
    ],
)
def test_without_variation_or_pairs_alpha_is_not_defined(ratings: Any, why: str) -> None:
    for level in LEVELS:
        assert math.isnan(krippendorff_alpha(ratings, level=level))
        assert alpha_interval(ratings, level=level) is None
    assert why in why_undefined(ratings)
    assert why_undefined(EXAMPLE) == ""


@pytest.mark.parametrize(
    ("ratings", "level", "kind", "says"),
    [
        ([1, 2], "nominal", InputError, "a matrix of units by coders"),
        ([[1, math.inf]], "nominal", InputError, "infinite"),
        ([[-1, 2]], "ratio", InputError, "found -1; for such numbers use interval"),
        ([[1, 2]], "rank", UsageError, "`level=rank`"),
    ],
)
def test_bad_ratings(ratings: Any, level: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        krippendorff_alpha(ratings, level=level)


# ---------------------------------------------------------------- its interval


@repeatable
@given(ratings_uc(), st.sampled_from(LEVELS), st.integers(0, 2**32 - 1))
def test_the_statistic_is_alpha_of_the_drawn_units(ratings: Any, level: Level, seed: int) -> None:
    statistic, times = alpha_statistic(ratings, level=level)
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) >= 2]
    assert times.sum() == len(pairable)
    if not len(pairable):
        return
    # units with the same values are one, in the order of their sorted values
    keys = [tuple(sorted(v for v in row if not math.isnan(v))) for row in pairable]
    width = max(map(len, keys))
    order = sorted(set(keys), key=lambda key: (*[-1.0] * (width - len(key)), *key))
    assert [keys.count(key) for key in order] == times.tolist()
    weights = np.random.default_rng(seed).integers(0, 3, (4, len(times)))
    expected = [
        plain_alpha([key for key, n in zip(order, row, strict=True) for _ in range(n)], level) for row in weights
    ]
    np.testing.assert_allclose(statistic(weights.astype(np.float64)), expected, atol=1e-12)


def test_the_interval_covers_what_generated_the_data() -> None:
    # coders give the true of two labels with probability 0.8, else any: alpha = 0.64
    rng = np.random.default_rng(3)
    hits = 0
    for seed in range(60):
        truth = rng.integers(0, 2, (120, 1))
        ratings = np.where(rng.random((120, 3)) < 0.8, truth, rng.integers(0, 2, (120, 3))).astype(float)
        found = alpha_interval(ratings, level="nominal", draws=300, confidence=0.9, seed=seed)
        assert found is not None
        hits += found.low <= 0.64 <= found.high
    assert 47 <= hits <= 60  # 54 expected


def test_more_confidence_is_wider_and_the_seed_counts() -> None:
    wide, narrow, other = (
        alpha_interval(EXAMPLE, level="nominal", confidence=c, seed=s, draws=500)
        for c, s in ((0.99, 0), (0.5, 0), (0.5, 1))
    )
    assert wide is not None
    assert narrow is not None
    assert other is not None
    assert wide.low < narrow.low < krippendorff_alpha(EXAMPLE, level="nominal") < narrow.high <= wide.high
    assert narrow == alpha_interval(EXAMPLE, level="nominal", confidence=0.5, seed=0, draws=500)
    assert narrow.low != other.low


def test_few_units_have_no_interval() -> None:
    assert alpha_interval([[1, 2, 2], [1, 1, NONE], [1, NONE, NONE]], level="nominal") is None


# ---------------------------------------------------------------- kappa

# https://en.wikipedia.org/wiki/Fleiss%27_kappa: 14 raters, 10 subjects, 5 categories
WIKIPEDIA = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def test_fleiss_example_of_wikipedia() -> None:
    assert fleiss_kappa(WIKIPEDIA) == pytest.approx(0.210, abs=5e-4)


def test_fleiss_by_hand() -> None:
    # two raters: agree on two units of three; P = 2/3, P_e = (3/6)² + (3/6)² = 1/2
    assert fleiss_kappa([[2, 0], [1, 1], [0, 2]]) == pytest.approx((2 / 3 - 1 / 2) / (1 / 2), rel=1e-14)
    assert math.isnan(fleiss_kappa([[3, 0], [3, 0]]))
    assert math.isnan(fleiss_kappa(np.zeros((0, 2))))


@pytest.mark.parametrize(("counts", "says"), [([[2, 0], [1, 2]], "found from 2 to 3"), ([[1, 0], [0, 1]], "found 1")])
def test_fleiss_needs_as_many_ratings_for_all(counts: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        fleiss_kappa(counts)


def test_rating_counts() -> None:
    assert rating_counts([[1, 5, 5], [NONE, NONE, 1]]).tolist() == [[1, 2], [1, 0]]


def test_cohen_by_hand() -> None:
    # the table 20 5 / 10 15 (Wikipedia): p_o = 0.7, p_e = 0.5 · 0.6 + 0.5 · 0.4 = 0.5, kappa 0.4
    a = [1] * 25 + [0] * 25
    b = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(a, b) == pytest.approx(0.4, rel=1e-14)
    # places 0 1 2 against 0 2 2: weights 1 once of three; by chance Σ w a b / 9 = (2·2 + (1 + 1·2) + 2·1) / 9 = 9/9
    assert cohen_kappa([0, 1, 2], [0, 2, 2], weights="linear") == pytest.approx(1 - (1 / 3) / (9 / 9), rel=1e-14)


@repeatable
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12),
    st.sampled_from([None, "linear", "quadratic"]),
)
def test_cohen_agrees_with_scikit_learn(pairs: list[tuple[int, int]], weights: Any) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    a, b = np.array(pairs).T
    if len(np.unique(pairs)) == 1:
        assert math.isnan(cohen_kappa(a, b, weights=weights))
        return
    assert cohen_kappa(a, b, weights=weights) == pytest.approx(
        metrics.cohen_kappa_score(a, b, weights=weights), abs=1e-12
    )
    labels = [4, 2, 0, 1, 3]
    expected = metrics.cohen_kappa_score(a, b, weights=weights, labels=labels)
    assert cohen_kappa(a, b, weights=weights, categories=labels) == pytest.approx(expected, abs=1e-12)


def test_cohen_leaves_out_what_one_coder_left_out() -> None:
    assert cohen_kappa([1, NONE, 2, 2], [1, 3, 2, NONE]) == 1.0
    assert math.isnan(cohen_kappa([NONE, 1], [1, NONE]))


def test_cohen_refuses() -> None:
    with pytest.raises(InputError, match="found 1 and 2"):
        cohen_kappa([1], [1, 2])
    with pytest.raises(InputError):
        cohen_kappa([1, 4], [1, 2], categories=[1, 2, 3])
    with refuses("weights"):
        cohen_kappa([1, 4], [1, 2], weights="cubic")  # type: ignore[arg-type]


def test_pairs_of_coders() -> None:
    ratings = np.array([[1, 1, NONE], [2, 2, NONE], [1, 2, 1.0]])
    kappas = pairwise_cohen(ratings)
    assert kappas[0, 1] == kappas[1, 0] == cohen_kappa(ratings[:, 0], ratings[:, 1])
    assert np.isnan(kappas[0, 2])  # one unit, both say 1
    assert kappas[1, 2] == 0.0  # one unit, 2 against 1: as bad as chance
    assert mean_cohen(kappas) == pytest.approx((kappas[0, 1] + 0.0) / 2)
    assert math.isnan(mean_cohen(np.eye(1)))


def test_percent_agreement() -> None:
    # pairs: of (1, 1, 2) one of three, of (2, 2) one of one
    assert percent_agreement([[1, 1, 2], [2, NONE, 2], [3, NONE, NONE]]) == pytest.approx(2 / 4)
    assert math.isnan(percent_agreement([[1, NONE]]))


# ---------------------------------------------------------------- majority vote


def test_majority_by_hand() -> None:
    codes = [[0, 0, 1], [1, 2, -1], [-1, -1, -1], [2, 2, 2], [1, 0, -1]]
    winner, share, tie = majority_vote(codes)
    assert winner.tolist() == [0, -1, -1, 2, -1]
    assert share.tolist() == pytest.approx([2 / 3, 1 / 2, NONE, 1, 1 / 2], nan_ok=True)
    assert tie.tolist() == [False, True, False, False, True]
    assert majority_vote(codes, ties="first")[0].tolist() == [0, 1, -1, 2, 0]


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_majority_of_nothing(shape: tuple[int, int]) -> None:
    winner, share, tie = majority_vote(np.zeros(shape, int))
    assert winner.tolist() == [-1] * shape[0]
    assert np.isnan(share).all()
    assert not tie.any()


def test_majority_refuses_another_rule() -> None:
    with refuses("ties"):
        majority_vote([[0]], ties="random")  # type: ignore[arg-type]


@repeatable
@given(st.lists(st.lists(st.integers(-1, 3), min_size=4, max_size=4), min_size=1, max_size=6))
def test_the_winner_has_the_most_votes(codes: list[list[int]]) -> None:
    winner, share, tie = majority_vote(codes)
    for row, won, part, tied in zip(codes, winner, share, tie, strict=True):
        votes = [row.count(v) for v in range(4)]
        assert tied == (max(votes) > 0 and votes.count(max(votes)) > 1)
        assert won == (-1 if tied or not max(votes) else votes.index(max(votes)))
        assert math.isnan(part) if not sum(votes) else part == max(votes) / sum(votes)

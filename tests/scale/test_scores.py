"""Wordscores, correspondence analysis, latent semantic scaling and axes: published figures, formulas, other programs, edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.scale import scores
from tests.refusals import refuses
from tests.scale.lbg import COUNTS, MATRIX, REFERENCES


def test_wordscores_gives_the_figures_of_the_paper() -> None:
    """Laver, Benoit & Garry (2003), table 1: V1 has -0.45, standard error 0.0119; word scores as quanteda.textmodels prints them."""
    words = scores.wordscores(MATRIX[:5], REFERENCES[:5])
    printed = [
        -1.5,
        -1.5,
        -1.5,
        -1.5,
        -1.5,
        -1.48125,
        -1.4809322,
        -1.4519231,
        -1.4083333,
        -1.3232984,
        -1.1846154,
        -1.0369898,
    ]
    assert words[:12] == pytest.approx(printed, abs=5e-8)
    raw, se, n = scores.mean_scores(MATRIX, words)
    assert raw == pytest.approx([-1.317931, -0.7395598, 0.0, 0.7395598, 1.317931, -0.4480591], abs=5e-7)
    assert se == pytest.approx([0.006699613, 0.011433605, 0.012005250, 0.011433605, 0.006699613, 0.011897667], abs=5e-9)
    assert n.tolist() == [1000] * 6


@pytest.mark.parametrize(
    ("method", "positions", "upper_of_v1"),
    [
        ("mv", [-1.5, -0.8417280, 0.0, 0.8417280, 1.5, -0.5099572], None),
        ("lbg-all", [-1.58967683, -0.88488724, 0.01632248, 0.91753220, 1.62232179, -0.52967149], -0.5012555),
    ],
)
def test_rescaled_scores_are_those_of_quanteda(method: str, positions: list[float], upper_of_v1: float | None) -> None:
    """Those that its documentation prints for predict(tmod, rescaling =)."""
    raw, se, _ = scores.mean_scores(MATRIX, scores.wordscores(MATRIX[:5], REFERENCES[:5]))
    intercept, slope = scores.rescaling(raw, REFERENCES, method)
    assert intercept + slope * raw == pytest.approx(positions, abs=5e-8)
    if upper_of_v1 is not None:
        assert intercept + slope * raw[5] + 1.959964 * slope * se[5] == pytest.approx(upper_of_v1, abs=5e-7)


def test_lbg_keeps_the_mean_of_virgin_texts_and_gives_them_the_spread_of_the_references() -> None:
    raw = np.array([-1.0, 1.0, 0.2, 0.3, 0.7])
    references = np.array([-2.0, 2.0, np.nan, np.nan, np.nan])
    intercept, slope = scores.rescaling(raw, references, "lbg")
    moved = intercept + slope * raw[2:]
    assert moved.mean() == pytest.approx(0.4)
    assert moved.std(ddof=1) == pytest.approx(references[:2].std(ddof=1))


def test_one_virgin_text_has_no_lbg_scores() -> None:
    raw = np.array([-1.0, 1.0, 0.2])
    with refuses("rescale", InputError):
        scores.rescaling(raw, np.array([-2.0, 2.0, np.nan]), "lbg")
    with refuses("rescale", InputError):
        scores.rescaling(np.array([0.5, 0.5]), np.array([-2.0, 2.0]), "mv")


def test_smoothing_is_the_same_as_adding_to_the_counts() -> None:
    assert scores.wordscores(MATRIX[:5], REFERENCES[:5], smooth=0.5) == pytest.approx(
        scores.wordscores(sparse.csr_array(COUNTS[:5] + 0.5), REFERENCES[:5])
    )


def test_words_of_no_reference_text_have_no_score_and_do_not_count() -> None:
    counts = sparse.csr_array([[2, 0, 0], [0, 2, 0], [1, 1, 8], [0, 0, 5], [0, 1, 0]])
    words = scores.wordscores(counts[:2], np.array([-1.0, 3.0]))
    assert words.tolist()[:2] == [-1.0, 3.0]
    assert np.isnan(words[2])
    mean, se, n = scores.mean_scores(counts, words)
    assert mean[2] == pytest.approx(1.0)
    assert n.tolist() == [2, 2, 2, 0, 1]
    assert np.isnan(mean[3])
    assert np.isnan(se[3:]).all()  # with no known word, and with one


def test_mean_and_error_by_hand() -> None:
    """The example of LSX's tests: words of 0.1, 0.1 and 0.3; a text a a b c c."""
    mean, se, _ = scores.mean_scores(sparse.csr_array([[2, 1, 2, 7]]), np.array([0.1, 0.1, 0.3, np.nan]))
    assert mean[0] == pytest.approx(0.1 * 3 / 5 + 0.3 * 2 / 5)
    assert se[0] == pytest.approx(np.sqrt(3 / 5 * 0.08**2 + 2 / 5 * 0.12**2) / np.sqrt(5))


def test_errors_of_scores_far_from_0_are_exact() -> None:
    rng = np.random.default_rng(0)
    counts, words = sparse.csr_array(rng.poisson(3.0, (4, 50))), rng.normal(size=50)
    assert scores.mean_scores(counts, words + 1e8)[1] == pytest.approx(scores.mean_scores(counts, words)[1], rel=1e-6)


def test_correspondence_is_the_singular_decomposition_of_the_residuals() -> None:
    rng = np.random.default_rng(1)
    X = rng.poisson(1.0, (12, 30)) + np.eye(12, 30, dtype=int)
    X = X[:, X.sum(axis=0) > 0]
    space = scores.correspondence(sparse.csr_array(X), 11, seed=3)
    P = X / X.sum()
    r, c = P.sum(axis=1), P.sum(axis=0)
    U, sigma, V = np.linalg.svd((P - np.outer(r, c)) / np.sqrt(np.outer(r, c)), full_matrices=False)
    assert space.singular_values == pytest.approx(sigma[:11], abs=1e-10)
    assert space.inertia == pytest.approx((sigma**2).sum())
    assert np.abs(space.documents) == pytest.approx(np.abs(U[:, :11] / np.sqrt(r)[:, None]), abs=1e-8)
    assert np.abs(space.words) == pytest.approx(np.abs(V[:11].T / np.sqrt(c)[:, None]), abs=1e-8)


def test_correspondence_of_the_table_smoking() -> None:
    """R's ca prints for its data set smoke: principal inertias 0.074759, 0.010017, 0.000414."""
    smoke = sparse.csr_array([[4, 2, 3, 2], [4, 3, 7, 4], [25, 10, 12, 4], [18, 24, 33, 13], [10, 6, 7, 2]])
    space = scores.correspondence(smoke, 3, seed=1)
    assert space.singular_values**2 == pytest.approx([0.074759, 0.010017, 0.000414], abs=5e-7)
    rows = space.documents[:, 0] * np.sign(space.documents[2, 0])
    assert rows == pytest.approx([0.240539, -0.947105, 1.391973, -0.851989, 0.735456], abs=5e-7)


def test_documents_are_the_means_of_their_words_in_a_correspondence_analysis() -> None:
    space = scores.correspondence(MATRIX, 2, seed=1)
    mean, _, _ = scores.mean_scores(MATRIX, space.words[:, 0])
    assert mean / space.singular_values[0] == pytest.approx(space.documents[:, 0])


@pytest.mark.parametrize("counts", [[[1, 2, 3]], [[3], [4]], [[1, 2, 1], [2, 4, 2]]])
def test_no_scale_without_a_difference(counts: list[list[int]]) -> None:
    with refuses(None, InputError):
        scores.correspondence(sparse.csr_array(counts), 1, seed=1)


def test_seeds_share_the_weight_of_their_end() -> None:
    weights = scores.seed_weights([(1.0, [4]), (1.0, [7, 8]), (-1.0, [2]), (-1.0, [])])
    assert weights == {4: 0.5, 7: 0.25, 8: 0.25, 2: -0.5}  # what matches nothing takes its share with it, as in LSX


def test_polarity_is_the_mean_cosine_with_the_seeds() -> None:
    rng = np.random.default_rng(5)
    X = rng.poisson(0.3, (80, 25))
    X[:, 3] = 0  # a word that is nowhere has no vector
    weights = {0: 0.5, 1: 0.5, 2: -1.0}
    polarity, k = scores.polarity(sparse.csr_array(X), weights, 6, seed=1)
    vectors = np.linalg.svd(X.astype(float), full_matrices=False)[2][:6].T
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1)
    expected = sum(weight * unit @ unit[word] for word, weight in weights.items())
    assert k == 6
    assert np.isnan(polarity[3])
    rest = np.arange(25) != 3
    assert polarity[rest] == pytest.approx(expected[rest], abs=1e-9)


def test_positions_on_an_axis_by_hand() -> None:
    points = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 5.0], [1.0, 1.0]])
    position, se = scores.axis_positions(points, [[0.0, 1.0], [0.0, -1.0]], [[4.0, 0.0]])
    assert position == pytest.approx([-1.0, 1.0, 0.0, -0.5])
    assert np.isnan(se).all()  # one anchor at an end
    turned, _ = scores.axis_positions(points, [[4.0, 0.0]], [[0.0, 1.0], [0.0, -1.0]])
    assert turned == pytest.approx(-position)


def test_errors_on_an_axis_come_from_the_anchors() -> None:
    """The jackknife is near the spread over repeated draws of the anchors."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(20, 8))
    centre = np.zeros(8)
    centre[0] = 3.0
    draws = [(rng.normal(size=(10, 8)) - centre, rng.normal(size=(10, 8)) + centre) for _ in range(400)]
    results = [scores.axis_positions(points, low, high) for low, high in draws]
    spread = np.std([position for position, _ in results], axis=0)
    jackknife = np.mean([se for _, se in results], axis=0)
    assert jackknife / spread == pytest.approx(np.ones(20), abs=0.15)


def test_ends_of_an_axis_must_differ() -> None:
    with refuses("positive", InputError):
        scores.axis_positions(np.eye(3), [[1.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]])


def test_words_on_an_axis_have_z_scores_of_chance() -> None:
    """Over random documents z has the standard normal distribution; a word of all documents has none."""
    rng = np.random.default_rng(7)
    counts = (rng.random((200, 2000)) < 0.2).astype(int)
    counts[:, 0] = 1
    weight, z = scores.word_means(sparse.csr_array(counts), rng.normal(size=200))
    assert weight[0] == pytest.approx(0.0)
    assert np.isnan(z[0])
    assert z[1:].std() == pytest.approx(1.0, abs=0.05)


def test_groups_have_the_interval_of_a_mean() -> None:
    positions = np.array([1.0, 2.0, 4.0, 7.0, np.nan, 5.0])
    means = scores.group_means(positions, np.full(6, 0.5), np.array([0, 0, 0, 1, 1, -1]), 3, 0.95)
    assert means["documents"].tolist() == [3, 1, 0]
    assert means["position"][:2] == pytest.approx([7 / 3, 7.0])
    assert means["se"][0] == pytest.approx(np.std([1, 2, 4], ddof=1) / np.sqrt(3))
    assert means["high"][0] - means["position"][0] == pytest.approx(4.302653 * means["se"][0], rel=1e-6)
    assert means["high"][1] == pytest.approx(7.0 + 1.959964 * 0.5)  # of one document, its own
    assert np.isnan(means["position"][2])

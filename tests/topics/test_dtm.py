"""Dynamic topic models: paths against a general optimiser, planted drift, periods, new documents, gensim beside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.documents.chunks import Periods, cut_periods
from nlpkit.platform.options import Execution
from nlpkit.platform.types import LongArray, TokenTable
from nlpkit.topics.dtm import kernels
from nlpkit.topics.dtm.fit import FIRST_VARIANCE, Walks, fit_dtm, infer_theta
from nlpkit.topics.dtm.model import DynamicTopics, largest_shifts, top_terms
from nlpkit.topics.dtm.options import DtmOptions
from nlpkit.weights.dtm import count_terms
from tests.reference import paths as plain
from tests.refusals import refuses
from tests.strategies import token_table

T, V = 5, 12


def days(*texts: str) -> Any:
    return np.array(texts, "datetime64[D]")


def yearly(n: int = T) -> Periods:
    return Periods(np.array([f"{2000 + t}-01-01" for t in range(n + 1)], "datetime64[D]"))


def planted_phi() -> Any:
    """φ (T, 2, V): topic 0 goes from words 0-2 to words 3-5, topic 1 stays with words 6-11."""
    phi = np.full((T, 2, V), 0.002)
    for t in range(T):
        phi[t, 0, :3], phi[t, 0, 3:6] = 1 - t / (T - 1) + 0.02, t / (T - 1) + 0.02
        phi[t, 1, 6:] = 1
    return phi / phi.sum(axis=2, keepdims=True)


def drifting(D: int = 300, skipped: int | None = None, seed: int = 0) -> tuple[TokenTable, LongArray]:
    """Documents of 30 words, of one topic or of both, period by period; none in the period `skipped`."""
    rng, phi = np.random.default_rng(seed), planted_phi()
    period = rng.integers(0, T, D)
    period[period == skipped] = 0
    docs = []
    for d, t in enumerate(period):
        theta = np.array([(1, 0), (0, 1), (0.5, 0.5)][d % 3])
        docs.append([] if d % 40 == 9 else rng.choice(V, 30, p=theta @ phi[t]).tolist())
    return token_table(docs, [f"w{v:02}" for v in range(V)]), period


def phi_of(fit: Any) -> Any:
    model = DynamicTopics.from_arrays(fit.arrays, V)
    phi = np.exp([model.logits(t) for t in range(model.periods.n)])
    moving = int(phi[:, :, :6].sum(axis=(0, 2)).argmax())
    return phi[:, [moving, 1 - moving]]


@pytest.mark.parametrize("step", [0.005, 1.0])
def test_a_path_is_that_of_a_general_optimiser(step: float) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 9):
        counts, exposure = rng.poisson(3, n) * (rng.random(n) < 0.7) * 40.0, rng.gamma(1, 5, n)
        path = np.full(n, -6.0)
        kernels.climb(counts, exposure, 10.0, step, path, np.empty(n), np.empty(n))
        best = plain.best_path(counts, exposure, 10.0, step)
        np.testing.assert_allclose(path, best, atol=1e-4)
        assert (
            plain.objective(path, counts, exposure, 10.0, step)
            >= plain.objective(best, counts, exposure, 10.0, step) - 1e-7
        )


def test_the_words_of_a_topic_reach_the_maximum_together() -> None:
    rng = np.random.default_rng(4)
    counts = rng.poisson(4, (6, 4)).astype(float)
    counts[2] = 0
    walks = Walks(np.zeros((6, 1, 4)), np.zeros((1, 4)), 0.3)
    walks.normalise(1)
    for _ in range(30):
        walks.climb(np.ascontiguousarray(counts[:, None, :]), 2)
    best = plain.best_topic(counts, FIRST_VARIANCE, 0.3)
    reached = [plain.topic_objective(beta, counts, FIRST_VARIANCE, 0.3) for beta in (walks.paths[:, 0], best)]
    assert reached[0] == pytest.approx(reached[1], abs=1e-5)
    np.testing.assert_allclose(walks.paths[:, 0], best, atol=1e-3)
    assert walks.prior == pytest.approx(plain.topic_objective(walks.paths[:, 0], 0 * counts, FIRST_VARIANCE, 0.3))


def test_planted_drift_comes_back_and_the_bound_does_not_fall() -> None:
    tokens, period = drifting()
    fit = fit_dtm(tokens, yearly(), period, 2, DtmOptions(chain_variance=0.5, tolerance=1e-6))
    np.testing.assert_allclose(phi_of(fit), planted_phi(), atol=0.04)
    assert np.diff([point.bound for point in fit.trace]).min() > -1e-5
    assert fit.numbers["converged"]
    assert fit.numbers["bound_per_token"] == pytest.approx(fit.trace[-1].bound, rel=1e-4)
    np.testing.assert_allclose(np.asarray(fit.doc_topic.sum(axis=1)).ravel(), np.diff(tokens.offsets), atol=1e-4)
    np.testing.assert_allclose(fit.model.phi.sum(axis=1), 1)


def test_the_variance_of_the_chain_decides_how_far_topics_drift() -> None:
    tokens, period = drifting()
    spans = []
    for variance in (1e-6, 0.005, 0.5):
        phi = phi_of(fit_dtm(tokens, yearly(), period, 2, DtmOptions(chain_variance=variance)))
        spans.append(float(np.abs(phi[-1] - phi[0]).sum()))
    assert spans[0] < 0.05 < spans[1] < spans[2]


@pytest.mark.slow  # gensim takes two of its three seconds
def test_it_is_as_near_to_the_planted_topics_as_gensim() -> None:
    from gensim.models import LdaSeqModel

    tokens, period = drifting(120)
    fit = fit_dtm(tokens, yearly(), period, 2, DtmOptions(chain_variance=0.05))
    counts = count_terms(tokens)
    used = [d for d in np.argsort(period, kind="stable") if counts.indptr[d + 1] > counts.indptr[d]]
    rows = [slice(counts.indptr[d], counts.indptr[d + 1]) for d in used]
    corpus = [list(zip(counts.indices[row].tolist(), counts.data[row].tolist(), strict=True)) for row in rows]
    with np.errstate(all="ignore"):  # its own convergence test divides by a bound of 0
        other = LdaSeqModel(
            corpus=corpus, id2word=dict(enumerate(tokens.terms)), time_slice=np.bincount(period[used]).tolist(), num_topics=2,
            chain_variance=0.05, random_state=1, em_min_iter=2, em_max_iter=4, lda_inference_max_iter=10, passes=10,
        )  # fmt: skip
    theirs = np.exp([[chain.e_log_prob[:, t] for chain in other.topic_chains] for t in range(T)])
    theirs /= theirs.sum(axis=2, keepdims=True)
    moving = int(theirs[:, :, :6].sum(axis=(0, 2)).argmax())
    distance = [
        np.abs(phi - planted_phi()).sum(axis=2).mean() / 2 for phi in (phi_of(fit), theirs[:, [moving, 1 - moving]])
    ]
    assert distance[0] < min(0.15, distance[1] + 0.02)


def test_a_period_without_documents_lies_between_its_neighbours() -> None:
    tokens, period = drifting(skipped=2)
    phi = phi_of(fit_dtm(tokens, yearly(), period, 2, DtmOptions(chain_variance=0.5)))
    rising = phi[:, 0, 3:6].sum(axis=1)
    assert rising[1] < rising[2] < rising[3]


def test_new_documents_have_the_topics_of_their_period() -> None:
    rng = np.random.default_rng(0)
    period = np.repeat([0, 1], 100)
    docs = [(3 * ((d + t) % 2) + rng.integers(0, 3, 20)).tolist() for d, t in enumerate(period)]  # words change sides
    tokens = token_table(docs, [f"w{v}" for v in range(6)])
    fit = fit_dtm(tokens, yearly(2), period, 2, DtmOptions(chain_variance=1.0))
    model = DynamicTopics.from_arrays(fit.arrays, 6)
    theta = infer_theta(model, fit.model.alpha, period, tokens.offsets, tokens.term_ids, threads=2)
    counts = fit.doc_topic.toarray() + fit.model.alpha
    np.testing.assert_allclose(theta, counts / counts.sum(axis=1, keepdims=True), atol=1e-4)
    part = infer_theta(model, fit.model.alpha, period[20:30], tokens.offsets[20:31], tokens.term_ids)
    np.testing.assert_array_equal(part, theta[20:30])


def test_the_seed_decides_and_threads_do_not() -> None:
    tokens, period = drifting(80)
    one, same = (
        fit_dtm(tokens, yearly(), period, 3, DtmOptions(iterations=3), Execution(1, threads)).arrays for threads in (1, 3)
    )  # fmt: skip
    for name in one:
        np.testing.assert_array_equal(one[name], same[name])


def test_words_that_rise_and_fall() -> None:
    first, last = np.log([[0.5, 0.3, 0.1999, 0.0001]]), np.log([[0.1, 0.3, 0.2, 0.4]])
    shifts = largest_shifts(first, last, 2)
    assert [(shift.term_id, shift.rose) for shift in shifts] == [(3, True), (2, True), (0, False)]
    ids, weights = top_terms(last, 2)
    assert ids.tolist() == [[3, 1]]
    np.testing.assert_allclose(weights, [[0.4, 0.3]])


def test_dates_are_cut_into_periods_of_the_calendar() -> None:
    dates = days("2001-03-05", "2000-05-17", "2003-01-01")
    assert [str(d) for d in cut_periods(dates, "year").bounds] == [
        "2000-01-01",
        "2001-01-01",
        "2002-01-01",
        "2003-01-01",
        "2004-01-01",
    ]
    assert cut_periods(dates, "2 years").nearest(dates).tolist() == [0, 0, 1]
    assert cut_periods(dates, "quarter").n == 12
    assert cut_periods(dates, "2 documents").nearest(dates).tolist() == [0, 0, 1]
    periods = cut_periods(dates, "year")
    later = days("1990-01-01", "2000-01-01", "2003-12-31", "2010-01-01")
    assert periods.nearest(later).tolist() == [0, 0, 3, 3]
    assert periods.outside(later).tolist() == [True, False, False, True]


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(
        InputError, match="all documents with a date lie in one period of 1 year, from 2000-01-01 to 2000-12-31"
    ):
        cut_periods(days("2000-01-01", "2000-05-05"), "year")
    with refuses("every"):
        cut_periods(days("1900-01-01", "2000-05-05"), "day")
    for name, value in (("every", "moon"), ("alpha", 0.0), ("chain_variance", -1.0)):
        with refuses(name):
            DtmOptions(**{name: value})
    with pytest.raises(UsageError, match="no tokens"):
        fit_dtm(token_table([[], []], ["a"]), yearly(2), np.array([0, 1]), 2)
    with refuses("k"):
        fit_dtm(token_table([[0], []], ["a"]), yearly(2), np.array([0, 1]), 2)
    fit = fit_dtm(token_table([[0], [0]], ["a"]), yearly(2), np.array([0, 1]), 1)
    with pytest.raises(ValueError, match="parameters"):
        DynamicTopics.from_arrays({**fit.arrays, "period_bounds": np.zeros(1)}, 1)

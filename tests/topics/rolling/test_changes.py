"""The bootstrap test of changes: by hand, against a plain version, planted changes, false alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.topics.rolling.changes import (
    Changes,
    detect_changes,
    driving_words,
    resampled_similarities,
    similarity_to_past,
    topic_term_by_chunk,
)
from nlpkit.topics.rolling.options import ChangeOptions, RollingOptions
from nlpkit.topics.rolling.plan import fit_rolling
from tests.strategies import repeatable
from tests.topics.rolling.test_rolling import Corpus

K, V = 3, 400


def cosine(a: Any, b: Any) -> float:
    return float(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b))


def zipf(n_terms: int, seed: int) -> Any:
    p = 1 / np.arange(1, n_terms + 1)
    return np.random.default_rng(seed).permutation(p / p.sum())


def chunks_of(phis: Sequence[Any], n_chunks: int, n_tokens: int, seed: int) -> list[Any]:
    """Counts (K, V) of chunks whose topics stay as they are."""
    rng = np.random.default_rng(seed)
    return [sparse.csr_array(np.array([rng.multinomial(n_tokens, phi) for phi in phis])) for _ in range(n_chunks)]


def detect(counts: Sequence[Any], **keywords: Any) -> Changes:
    options = {"eta": 0.02, "seed": 1, **keywords}
    return detect_changes(counts, [counts[0].shape[1]] * len(counts), **options)


def equal(a: Changes, b: Changes) -> bool:
    arrays = all(
        getattr(a, x).tobytes() == getattr(b, x).tobytes() for x in ("similarity", "threshold", "span", "uncertain")
    )
    return arrays and a.events == b.events


def plain_detect(counts: Any, n_vocab: Sequence[int], eta: float, seed: int, options: ChangeOptions) -> Any:
    """The definition, on dense counts (C, K, V), with the words drawn one by one from uniform numbers."""
    C, K, _ = counts.shape
    similarity, threshold = np.full((2, C, K), np.nan)
    for k in range(K):
        z = 0
        for t in range(C):
            if t and z and counts[t, k].any() and counts[t - z : t, k].any():
                n, r = counts[t, k], counts[t - z : t, k].sum(axis=0)
                similarity[t, k] = cosine(n, r)
                V = n_vocab[t]
                phi = options.change_mixture * (n[:V] + eta) / (n.sum() + V * eta)
                phi += (1 - options.change_mixture) * (r[:V] + eta) / (r.sum() + V * eta)
                used = np.flatnonzero(n + r)
                cells = [*used, *np.setdiff1d(np.arange(V), used)]  # the order in which words share the unit interval
                bounds = np.cumsum(phi[cells])
                generator = np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence((seed, k, t))))
                sampled = []
                for _ in range(options.samples):
                    drawn = np.minimum(np.searchsorted(bounds, generator.random(n.sum()), side="right"), V - 1)
                    x = np.zeros(len(n))
                    np.add.at(x, np.array(cells)[drawn], 1)
                    sampled.append(cosine(x, r))
                threshold[t, k] = np.quantile(sampled, options.change_level)
                if similarity[t, k] < threshold[t, k]:
                    z = 0
            z = min(z + 1, options.change_span)
    return similarity, threshold


@repeatable
@given(
    st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 3), st.sampled_from([0.0, 0.5, 0.85, 1.0]), st.booleans()
)
def test_equals_the_definition(seed: int, n_chunks: int, max_span: int, mixture: float, growing: bool) -> None:
    rng = np.random.default_rng(seed)
    V = int(rng.integers(2, 30))
    n_vocab = sorted(rng.integers(1, V + 1, n_chunks)) if growing else [V] * n_chunks
    phi = rng.dirichlet(np.full(V, 0.3), (n_chunks, 2))
    counts = np.array([[rng.multinomial(rng.integers(1, 60), p) for p in of_chunk] for of_chunk in phi])
    for t, known in enumerate(n_vocab):
        counts[t, :, known:] = 0
        counts[t, :, 0] += 1  # some word in each chunk
    options = ChangeOptions(change_span=max_span, change_mixture=mixture, samples=20, change_level=0.1)
    ours = detect_changes(
        [sparse.csr_array(m) for m in counts], n_vocab, eta=0.05, seed=seed, options=options, threads=2
    )
    similarity, threshold = plain_detect(counts, n_vocab, 0.05, seed, options)
    np.testing.assert_allclose(ours.similarity, similarity, rtol=1e-12)
    np.testing.assert_allclose(ours.threshold, threshold, rtol=1e-12)


def test_samples_are_those_of_the_mixture() -> None:
    rng = np.random.default_rng(3)
    n, r = rng.multinomial(300, zipf(40, 0)), rng.multinomial(900, zipf(40, 1))
    keep = n + r > 0
    V, eta, p = 60, 0.1, 0.7
    drawn = resampled_similarities(n[keep], r[keep], V, eta, p, 4000, np.random.default_rng(5))
    phi = (1 - p) * (np.pad(r, (0, 20)) + eta) / (900 + V * eta) + p * (np.pad(n, (0, 20)) + eta) / (300 + V * eta)
    plain = [cosine(x[:40], r) * np.linalg.norm(x[:40]) / np.linalg.norm(x) for x in rng.multinomial(300, phi, 4000)]
    # two samples of 4000: standard errors of mean and spread, and quantiles, are equal within chance
    assert abs(drawn.mean() - np.mean(plain)) < 4 * np.std(plain) * np.sqrt(2 / 4000)
    assert drawn.std() == pytest.approx(np.std(plain), rel=0.08)
    np.testing.assert_allclose(np.quantile(drawn, [0.01, 0.5]), np.quantile(plain, [0.01, 0.5]), atol=4e-3)


def test_blocks_of_samples_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    n, r = np.array([5, 0, 3, 1]), np.array([4, 4, 0, 2])
    whole = resampled_similarities(n, r, 9, 0.1, 0.85, 50, np.random.default_rng(0))
    monkeypatch.setattr(import_module("nlpkit.topics.rolling.changes"), "BLOCK", 20)
    np.testing.assert_array_equal(resampled_similarities(n, r, 9, 0.1, 0.85, 50, np.random.default_rng(0)), whole)


def test_a_planted_change_is_found_with_the_words_that_drove_it() -> None:
    phis = [zipf(V, k) for k in range(K)]
    counts = chunks_of(phis, 12, 3000, seed=0)
    shifted = phis[1].copy()
    new = np.argsort(phis[1])[:5]  # five words that were rare become a third of the topic, from chunk 6 on
    shifted *= 2 / 3
    shifted[new] += 1 / 15
    rng = np.random.default_rng(9)
    for t in range(6, 12):
        dense = counts[t].toarray()
        dense[1] = rng.multinomial(3000, shifted)
        counts[t] = sparse.csr_array(dense)
    changes = detect(counts)
    assert [(c.topic, c.chunk, c.span) for c in changes.events] == [(1, 6, 4)]
    change = changes.events[0]
    assert change.similarity == changes.similarity[6, 1] < change.threshold == changes.threshold[6, 1]
    assert (set(change.term_ids[:5]), len(change.term_ids)) == (set(new.tolist()), 10)
    assert list(change.impacts) == sorted(change.impacts)
    assert change.impacts[4] < -0.01 < change.impacts[5] < 0
    # the past begins anew with the chunk that changed
    assert changes.span[:, 1].tolist() == [0, 1, 2, 3, 4, 4, 4, 1, 2, 3, 4, 4]
    assert changes.span[:, 0].tolist() == [0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4]
    assert changes.changed.sum() == 1


def test_a_topic_that_changes_in_one_chunk_only_changes_back() -> None:
    counts = chunks_of([zipf(V, 0)], 5, 2000, seed=4)
    counts[2] = sparse.csr_array(np.random.default_rng(1).multinomial(2000, zipf(V, 1))[None])
    assert [(c.chunk, c.span) for c in detect(counts).events] == [(2, 2), (3, 1)]


@pytest.mark.slow
def test_the_level_holds_where_the_past_is_known() -> None:
    # 800 stable topics and one test of each; their past is so long that their words are all but known, and p is 0
    phis = [zipf(150, k) for k in range(800)]
    (chunk,) = chunks_of(phis, 1, 400, seed=2)
    (past,) = chunks_of(phis, 1, 2_000_000, seed=3)
    options = ChangeOptions(change_mixture=0.0, samples=200, change_level=0.05)
    alarms = int(detect([past, chunk], options=options, eta=1e-6).changed.sum())
    assert 18 <= alarms <= 66  # 40 of the threshold and 2 of its own scatter expected; four standard deviations are 25
    assert detect([past, chunk], options=replace(options, change_level=0.5), eta=1e-6).changed.sum() > 340


def test_false_alarms_are_rarer_than_the_level_among_stable_topics() -> None:
    counts = chunks_of([zipf(300, k) for k in range(40)], 8, 500, seed=2)
    usual = detect(counts, options=ChangeOptions(samples=200, change_level=0.05))
    assert np.isfinite(usual.threshold[1:]).all()
    assert usual.changed.sum() <= 14  # 280 tests
    # with p = 0 the past is taken for the truth, though it scatters as much: alarms are far too many
    assert detect(counts, options=ChangeOptions(samples=200, change_level=0.05, change_mixture=0.0)).changed.sum() > 56


def test_close_tests_are_uncertain_and_clear_ones_the_same_for_every_seed() -> None:
    """With 500 samples the threshold is the fifth smallest: whether a change is found hangs on the seed near it."""
    rng = np.random.default_rng(1)
    phis = [zipf(V, k) for k in range(30)]
    past, now = [], []
    for k, phi in enumerate(phis):  # drift from none to a clear change: some of the topics lie at their threshold
        mixed = (1 - k / 40) * phi + k / 40 * zipf(V, 100 + k)
        past.append(rng.multinomial(1000, phi))
        now.append(rng.multinomial(1000, mixed))
    counts = [sparse.csr_array(np.array(each)) for each in (past, now)]
    few, many = (
        [detect(counts, seed=seed, options=ChangeOptions(samples=B)) for seed in range(6)] for B in (500, 5000)
    )
    for runs in (few, many):
        differ = np.ptp([run.changed.astype(int) for run in runs], axis=0) > 0
        assert (differ <= np.any([run.uncertain for run in runs], axis=0)).all()
        assert {c.topic for c in runs[0].events if c.uncertain} == set(
            np.flatnonzero((runs[0].uncertain & runs[0].changed)[1])
        )
    spread = [np.std([run.threshold[1] for run in runs], axis=0) for runs in (few, many)]
    close = many[0].uncertain[1]
    assert close.any()
    assert spread[1][close].mean() < spread[0][close].mean() / 2
    assert np.mean([run.uncertain.sum() for run in few]) > 1.5 * np.mean([run.uncertain.sum() for run in many])
    clear = np.all([~run.uncertain for run in few], axis=0)
    np.testing.assert_array_equal(many[0].changed[clear], few[0].changed[clear])


def test_results_depend_on_neither_threads_nor_later_chunks_nor_other_topics() -> None:
    counts = chunks_of([zipf(V, k) for k in range(K)], 6, 500, seed=6)
    counts[3] = counts[3][[1, 2, 0]]  # topics change places: changes, and pasts that begin anew
    whole = detect(counts)
    assert len(whole.events) >= 3
    for threads in (2, 8):
        assert equal(detect(counts, threads=threads), whole)
    for t in range(1, 6):
        part = detect(counts[:t])
        np.testing.assert_array_equal(part.threshold, whole.threshold[:t])
        np.testing.assert_array_equal(part.similarity, whole.similarity[:t])
        assert part.events == tuple(c for c in whole.events if c.chunk < t)
    first = detect([m[[0]] for m in counts])
    np.testing.assert_array_equal(first.threshold[:, 0], whole.threshold[:, 0])
    assert not equal(detect(counts, seed=2), whole)


def test_empty_chunks_are_passed_over_and_empty_topics_not_judged() -> None:
    a, b = chunks_of([zipf(V, 0), zipf(V, 1)], 2, 500, seed=8)
    nothing = sparse.csr_array((2, V), dtype=np.int64)
    only_first = sparse.csr_array(np.vstack([a.toarray()[0], np.zeros(V, int)]))
    changes = detect([nothing, a, nothing, b, only_first, b])
    assert changes.span[:, 0].tolist() == [0, 0, 0, 1, 2, 3]
    assert changes.span[:, 1].tolist() == [0, 0, 0, 1, 0, 3]
    for column, at in ((0, [3, 4, 5]), (1, [3, 5])):
        assert np.flatnonzero(np.isfinite(changes.similarity[:, column])).tolist() == at
        assert np.flatnonzero(np.isfinite(changes.threshold[:, column])).tolist() == at
    assert not detect([nothing, nothing]).changed.any()


def test_driving_words_by_hand() -> None:
    n, r = np.array([3, 4, 0, 0]), np.array([3, 0, 4, 0])
    # cos = 9/25; without the first word 0, without the second 9/15, the third 9/15, the fourth as before
    at, impacts = driving_words(n, r, 10)
    assert at.tolist() == [1, 2]
    np.testing.assert_allclose(impacts, [9 / 25 - 9 / 15] * 2, rtol=1e-14)
    assert driving_words(n, r, 1)[0].tolist() == [1]
    assert driving_words(np.array([2]), np.array([3]), 5)[0].tolist() == []


def test_driving_words_equal_leaving_words_out() -> None:
    rng = np.random.default_rng(0)
    n, r = rng.poisson(2.0, 30), rng.poisson(3.0, 30)
    at, impacts = driving_words(n, r, 30)
    plain = np.array([cosine(n, r) - cosine(np.delete(n, v), np.delete(r, v)) for v in range(30)])
    np.testing.assert_allclose(impacts, plain[at], rtol=1e-9)
    assert set(at.tolist()) == set(np.flatnonzero(plain < 0).tolist())


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"change_span": 0}, "`change_span` must be at least 1"),
        ({"samples": 0}, "samples"),
        ({"n_words": 0}, "n_words"),
        ({"change_mixture": 1.5}, "1.5"),
        ({"change_level": 0.0}, "`change_level` must be above 0"),
    ],
)
def test_options_that_cannot_be_meant(option: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ChangeOptions(**option)


def test_a_change_planted_in_a_corpus_is_found_in_its_rolling_model() -> None:
    rng = np.random.default_rng(0)
    documents, days = [], np.sort(rng.integers(0, 360, 900))
    for day in days:
        k = int(rng.integers(3))
        words = 40 * k + rng.choice(40, 25, p=zipf(40, k))
        if k == 1 and day >= 180:  # from July on, half of what topic 1 says is new
            words = np.where(rng.random(25) < 0.5, 200 + rng.integers(0, 5, 25), words)
        documents.append((str(np.datetime64("2021-01-01") + day), " ".join(f"w{v:03}" for v in words)))
    corpus = Corpus(*documents)
    options = RollingOptions(k=3, init="2021-02-28", chunks="month", memory="2 months", sweeps=30)
    state = fit_rolling(corpus.tokens, corpus.dates, corpus.ids, options).state
    counts = topic_term_by_chunk(state)
    changes = detect_changes(counts, [c.n_vocab for c in state.chunks], eta=1 / 3, seed=42)
    assert [(str(state.chunks[c.chunk].start_date), c.span) for c in changes.events] == [("2021-07-01", 4)]
    words = [state.terms[v] for v in changes.events[0].term_ids]
    assert set(words[:5]) == {"w200", "w201", "w202", "w203", "w204"}
    new = similarity_to_past(counts)[:, changes.events[0].topic]
    assert new[5] < 0.8 < np.delete(new, [0, 5]).min()  # July; the months before and after are like the one before them

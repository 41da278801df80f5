"""How often intervals of effects hold the true effect, for topic models that are fitted without covariates.

    python tests/benchmarks/effects_coverage.py lda-gibbs|lda-online|nmf|bertopic|refits|clusters|units [--corpora 200] [--length 100]

Corpora are those of stm_coverage.py: 200 documents, three topics, a binary covariate that half of the documents have. `bertopic` has
documents in three planted clusters of embeddings, whose probabilities depend on the covariate. For each way:

    truth       the effect on the shares that the documents were made of
    own shares  the effect on the shares of this fit: the fitted model gives 5,000 new documents their topics

`clusters` has true shares of documents in clusters with an effect of their own, and a covariate of clusters: what errors of independent
documents, of clusters, random intercepts, the logit with clusters and the bootstrap of clusters do.

`refits` finds robust topics in several fits of `--models`: effects on their mean shares as if known, and those of `--refits`. Topics that
do not come back, or have a correlation below 0.5 with a true one, do not count.

`units` has sentences, of which each has the topic of the one before with the probability r: how often intervals of the share of a topic
in a document hold the probability that the topic has there (`topic_units`), and those of independent sentences.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import nlpkit as nk
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.types import FloatArray, TokenTable
from nlpkit.topics.base.tables import read_theta
from nlpkit.topics.effects.estimators import ESTIMATORS, Clusters, regress_with, resampled
from nlpkit.topics.effects.regression import Effects, regress_draws
from nlpkit.topics.lda.fit import LdaFitter, fit_lda
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.lda_online.model import LdaOnlineFitter
from nlpkit.topics.lda_online.options import LdaOnlineOptions
from nlpkit.topics.matrix.nmf import NmfFitter
from nlpkit.topics.matrix.options import NmfOptions
from nlpkit.topics.over_time.prevalence import Membership, one_topic_each, share_bounds, sum_cells
from nlpkit.topics.over_time.units import of_neighbours
from nlpkit.topics.stm.model import softmax
from tests.benchmarks.stm_coverage import GAMMA, SIGMA, K, V, true_effect

DRAWS, NEW = 25, 5_000
Result = tuple[str, FloatArray, FloatArray, FloatArray]  # way, estimates, half widths of the intervals, truth


def words_of(theta: FloatArray, phi: FloatArray, length: int, rng: np.random.Generator) -> TokenTable:
    """Return documents of words drawn from mixtures of topics."""
    topics = (np.cumsum(theta, axis=1)[:, None, :] < rng.random((len(theta), length))[:, :, None]).sum(axis=2)
    bounds, u = np.cumsum(phi, axis=1), rng.random(topics.shape)
    ids = np.minimum(
        [np.searchsorted(bounds[k], value) for k, value in zip(topics.ravel(), u.ravel(), strict=True)], V - 1
    )
    return TokenTable(np.arange(len(theta) + 1) * length, ids.astype(np.int32), tuple(f"w{v:02}" for v in range(V)))


def shares_of(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    return softmax(
        np.column_stack([np.ones(len(x)), x]) @ GAMMA + rng.multivariate_normal(np.zeros(K - 1), SIGMA, len(x))
    )


def halves(effects: Effects) -> FloatArray:
    return effects.quantile(0.95) * effects.errors


def mixture(kind: str, seed: int, docs: int, length: int) -> Iterator[Result]:
    """Yield the estimates of a mixture model of one corpus."""
    rng = np.random.default_rng(seed)
    phi = np.asarray(rng.dirichlet(np.full(V, 0.1), K)) * 0.95 + 0.05 / V
    x = np.arange(docs) % 2 * 1.0
    X = np.column_stack([np.ones(docs), x])
    tokens = words_of(shares_of(x, rng), phi, length, rng)
    execution = Execution(seed, 1)
    if kind == "lda-gibbs":
        lda = LdaOptions(K, sweeps=500)
        fit = fit_lda(tokens, lda, execution)
        _, infer = LdaFitter(lda).inference(fit, seed, 1)
    else:
        fitter = NmfFitter(NmfOptions(k=K)) if kind == "nmf" else LdaOnlineFitter(LdaOnlineOptions(k=K))
        fit = fitter.fit_tokens(tokens, K, execution)
        _, infer = fitter.inference(fit, seed, 1)
    counts = fit.doc_topic.toarray() + fit.model.alpha
    theta = counts / counts.sum(axis=1, keepdims=True)
    draws: list[FloatArray] = [theta]
    if kind != "nmf":
        gammas = (rng.standard_gamma(counts) for _ in range(DRAWS))
        draws = [each / each.sum(axis=1, keepdims=True) for each in gammas]
    alike = np.sqrt(phi) @ np.sqrt(fit.model.phi).T
    order = linear_sum_assignment(alike, maximize=True)[1]
    effects = regress_draws(draws, X, ("1", "x"))
    estimate, half = effects.coefficients[order, 1], halves(effects)[order, 1]
    yield "truth", estimate, half, true_effect(X)
    new = np.arange(NEW) % 2 * 1.0
    later = words_of(shares_of(new, rng), phi, length, rng)
    given = np.asarray(infer(later.offsets, later.term_ids), np.float64)
    own = given[new == 1].mean(axis=0) - given[new == 0].mean(axis=0)
    yield "own shares", estimate, half, own[order]
    plain = regress_draws([theta], X, ("1", "x"))
    yield "own shares, topics known", plain.coefficients[order, 1], halves(plain)[order, 1], own[order]
    logit = regress_with(
        ESTIMATORS["logit"](X, Clusters.of_documents(docs)), draws, ("1", "x"), docs - 2, is_logit=True
    )
    pair = logit.between(np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]]))
    yield "own shares, logit", pair.mean[0, order], (pair.high - pair.mean)[0, order], own[order]


def planted(seed: int, docs: int) -> Iterator[Result]:
    """Yield the estimates of bertopic of documents in three clusters."""
    import nlpkit as nk

    rng = np.random.default_rng(seed)
    x = np.arange(docs) % 2 * 1.0
    p = np.array([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])
    cluster = (np.cumsum(p, axis=1)[x.astype(int)] < rng.random(docs)[:, None]).sum(axis=1)
    centres = np.linalg.qr(rng.normal(size=(24, 24)))[0][:K]
    vectors = centres[cluster] + rng.normal(size=(docs, 24)) * 0.09
    texts = [" ".join([f"{'abc'[c]}{rng.integers(9)}" for _ in range(6)] + [f"x{i}"]) for i, c in enumerate(cluster)]
    import pyarrow as pa

    embedding = pa.FixedSizeListArray.from_arrays(pa.array(vectors.astype(np.float32).ravel()), 24)
    table = pa.table({"id": [str(i) for i in range(docs)], "text": texts, "embedding": embedding})
    model = nk.fit_bertopic(nk.Corpus.from_frame(table), k=K, seed=seed, threads=1, min_df=1)
    topic = model.documents.column("topic").to_numpy()
    table_of = np.array([[(cluster[topic == k] == c).sum() for k in range(K)] for c in range(K)])
    order = linear_sum_assignment(table_of, maximize=True)[1]
    theta = (topic[:, None] == np.arange(K)).astype(np.float64)
    X = np.column_stack([np.ones(docs), x])
    effects = regress_draws([theta], X, ("1", "x"))
    yield "truth", effects.coefficients[order, 1], halves(effects)[order, 1], p[1] - p[0]
    logit = regress_with(
        ESTIMATORS["logit"](X, Clusters.of_documents(docs)), [theta], ("1", "x"), docs - 2, is_logit=True
    )
    pair = logit.between(np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]]))
    yield "truth, logit", pair.mean[0, order], (pair.high - pair.mean)[0, order], p[1] - p[0]


def clustered(seed: int, docs: int) -> Iterator[Result]:
    """Yield estimates from true shares of documents in 30 clusters of unequal size, with a covariate of clusters."""
    rng, G = np.random.default_rng(seed), 30
    of = rng.choice(G, docs, p=rng.dirichlet(np.full(G, 3.0)))
    x = of % 2 * 1.0
    shift = rng.multivariate_normal(np.zeros(K - 1), SIGMA * 0.4, G)
    line = np.column_stack([np.ones(docs), x]) @ GAMMA + shift[of]
    theta = softmax(line + rng.multivariate_normal(np.zeros(K - 1), SIGMA * 0.6, docs))
    X = np.column_stack([np.ones(docs), x])
    truth = true_effect(np.column_stack([np.ones(2), [0.0, 1.0]]))
    groups = Clusters.of_labels([f"{g:02}" for g in of], "g")
    names, degrees = ("1", "x"), len(groups.starts) - 1
    ways = {"independent": regress_draws([theta], X, names)}
    for name, kind in (("clusters", "linear"), ("random intercepts", "random")):
        ways[name] = regress_with(ESTIMATORS[kind](X, groups), [theta], names, degrees)
    for name, effects in ways.items():
        yield name, effects.coefficients[:, 1], halves(effects)[:, 1], truth
    logit = regress_with(ESTIMATORS["logit"](X, groups), [theta], names, degrees, is_logit=True)
    pair = logit.between(np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]]))
    yield "logit, clusters", pair.mean[0], (pair.high - pair.mean)[0], truth
    several = []
    for _ in range(200):
        rows, sample = resampled(groups, rng)
        several.append(ESTIMATORS["linear"](X[rows], sample)(theta[rows])[0][:, 1])
    spread = np.std(several, axis=0, ddof=1)
    yield "bootstrap of clusters", ways["clusters"].coefficients[:, 1], ways["clusters"].quantile(0.95) * spread, truth


def sentences(seed: int, size: int, r: float) -> Iterator[Result]:
    """Yield the shares of topics in 100 documents of about so many sentences, as intervals of neighbours and independent ones have them."""
    rng, U = np.random.default_rng(seed), 100
    p = rng.dirichlet([2.0, 1.0, 1.0], U)
    n = rng.integers(size // 2, size * 3 // 2 + 1, U)
    topics = []
    for u in range(U):
        fresh = (np.cumsum(p[u]) < rng.random(n[u])[:, None]).sum(axis=1)
        keep = rng.random(n[u]) < r
        for i in range(1, n[u]):
            if keep[i]:
                fresh[i] = fresh[i - 1]
        topics.append(fresh)
    unit = np.repeat(np.arange(U), n).astype(np.int32)
    membership: Membership = one_topic_each(np.concatenate(topics).astype(np.int32), K)
    assert sparse.issparse(membership.weights)
    cells = sum_cells(membership, unit, U)
    for name, design in (("neighbours", of_neighbours(membership, unit, cells).design), ("independent", None)):
        low, high = (each[:, :K] for each in share_bounds(cells, level=0.95, design=design))
        yield name, ((low + high) / 2).ravel(), ((high - low) / 2).ravel(), p.ravel()


def refitted(seed: int, docs: int, length: int, models: str) -> Iterator[Result]:
    """Yield the effects on robust topics of one corpus, with topics as if known and over the fits."""
    rng = np.random.default_rng(seed)
    phi = np.asarray(rng.dirichlet(np.full(V, 0.1), K)) * 0.95 + 0.05 / V
    x = np.arange(docs) % 2 * 1.0
    X = np.column_stack([np.ones(docs), x])
    theta = shares_of(x, rng)
    tokens = words_of(theta, phi, length, rng)
    texts = [" ".join(tokens.terms[v] for v in row) for row in tokens.term_ids.reshape(docs, length)]
    with TemporaryDirectory() as folder:
        corpus = nk.Corpus.from_texts(texts, labels=["ab"[int(value)] for value in x])
        place = Path(folder)
        model = nk.robust_topics(
            corpus, models=models, k=str(K), seeds=6, fits=place / "fits", min_df=1, stop_words="none"
        )
        run = model.save(place / "run")
        runs_of = model.topics["runs"].to_pylist()
        shares = read_theta(open_run(run))(np.arange(docs))[:, [k for k, n in enumerate(runs_of) if n is not None]]
        alike = np.corrcoef(shares.T, theta.T)[: shares.shape[1], shares.shape[1] :]
        for name, refits in (("topics as if known", False), ("--refits", True)):
            table = nk.estimate_effects(run, prevalence="label", refits=refits).table.to_pylist()
            rows = {row["topic"]: row for row in table if row["covariate"] != "(Intercept)"}
            values, half = np.full(K, np.nan), np.full(K, np.nan)
            for i, j in zip(*linear_sum_assignment(-alike), strict=True):
                if alike[i, j] >= 0.5:
                    values[j], half[j] = rows[i]["estimate"], (rows[i]["high"] - rows[i]["low"]) / 2
            yield name, values, half, true_effect(X)


def main() -> None:
    """Print, for each way, the share of intervals that hold the truth, the bias, the spread and the mean standard error."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=("lda-gibbs", "lda-online", "nmf", "bertopic", "refits", "clusters", "units"))
    parser.add_argument("--corpora", type=int, default=200)
    parser.add_argument("--docs", type=int, default=200)
    parser.add_argument("--length", type=int, default=100, help="words of a document, sentences of one for units")
    parser.add_argument("--r", type=float, default=0.4, help="of units")
    parser.add_argument("--models", default="nmf", help="of refits")
    given = parser.parse_args()
    one: dict[str, Callable[[int], Iterator[Result]]] = {
        "bertopic": lambda seed: planted(seed, given.docs),
        "clusters": lambda seed: clustered(seed, given.docs),
        "refits": lambda seed: refitted(seed, given.docs, given.length, given.models),
        "units": lambda seed: sentences(seed, given.length, given.r),
    }
    results: dict[str, list[Result]] = {}
    for seed in range(given.corpora):
        for result in one.get(given.kind, lambda seed: mixture(given.kind, seed, given.docs, given.length))(seed):
            results.setdefault(result[0], []).append(result)
    print(f"{given.kind}: {given.corpora} corpora, {given.docs} documents, length {given.length}, r {given.r}")
    print(f"{'':26} {'coverage':>9} {'bias':>8} {'spread':>8} {'mean half':>9}")
    for name, rows in results.items():
        values, half, truth = (np.array([row[i] for row in rows]) for i in (1, 2, 3))
        inside = (np.abs(values - truth) <= half)[np.isfinite(values)]
        error = values - truth
        bias, spread = np.nanmean(np.sign(truth) * error), np.nanstd(error, axis=0).mean()
        print(
            f"{name:26} {inside.mean():9.1%} {bias:8.4f} {spread:8.4f} {np.nanmean(half):9.4f} {len(inside):6} topics"
        )


if __name__ == "__main__":
    main()

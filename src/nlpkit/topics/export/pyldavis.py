"""A topic model as the prepared data of pyLDAvis (Sievert & Shirley 2014): intertopic map and terms by relevance, as JSON.

Topics keep their numbers: the circles, the title over the bars and the box "Selected Topic" show k of topics.parquet, from
0. pyLDAvis numbers from 1, and by size unless told otherwise (its issue 127); with `start_index=0` it enlarges the circle of
k − 1 for a term of topic k, as LDAvis reads `Topic` of token.table as a place in the map, from 1: that is what stands here.
What LDAvis cannot do with a topic 0, since 0 in its box means none: its words come when the mouse is on the circle and stay
until it is on another, for the λ that was set before; moving λ or "Clear Topic" does not change them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.errors import UsageError
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, LongArray
from nlpkit.topics.base.by_term import canonical_counts, probability_mass, topic_scale
from nlpkit.topics.base.prototype import jensen_shannon

BARS = 30  # LDAvis draws no more
LAMBDA_STEP = 0.01

_CELLS = 1 << 22  # entries of a matrix that is dense for a moment


def write_pyldavis(
    path: Path,
    topic_term: CsrMatrix,
    doc_topic: CsrMatrix,
    terms: Sequence[str],
    *,
    alpha: FloatArray,
    eta: float,
    n: int = BARS,
    lambda_step: float = LAMBDA_STEP,
    force: bool = False,
) -> None:
    """Write what `prepared_data` returns as JSON, which LDAvis draws and `pyLDAvis.PreparedData` holds.

    Raises:
        OutputExistsError, UsageError, InputError: see `check_target` and `prepared_data`.
    """
    data = prepared_data(topic_term, doc_topic, terms, alpha=alpha, eta=eta, n=n, lambda_step=lambda_step)
    with atomic_file(path, force=force) as part:
        part.write_text(to_json(data) + "\n", encoding="utf-8", newline="\n")


def prepared_data(
    topic_term: CsrMatrix,
    doc_topic: CsrMatrix,
    terms: Sequence[str],
    *,
    alpha: FloatArray,
    eta: float,
    n: int = BARS,
    lambda_step: float = LAMBDA_STEP,
) -> dict[str, Any]:
    """Return the tables mdsDat, tinfo and token.table as columns, with R, lambda.step, plot.opts and topic.order.

    The numbers are those of `pyLDAvis.prepare(φ, θ, …, sort_topics=False)`: T_k = Σ_d N_d θ_dk tokens of a topic, T_k φ_kv
    of them a term (Freq), Σ_k T_k φ_kv in all (Total), p_v their share; logprob ln φ_kv, loglift ln(φ_kv / p_v), for each
    term that is among the n of highest relevance for a λ of the grid; at first the n terms of highest saliency, "Default".
    The map is the principal coordinate analysis of the Jensen-Shannon divergences of the φ_k; the topic that is farthest
    out on an axis is on its positive side. Sparse throughout: time grows with the terms that topics hold.

    Args:
        topic_term: (K, V) counts n_kv, CSR.
        doc_topic: (D, K) counts n_dk, CSR.
        terms: (V,).
        alpha: (K,) prior of each topic.
        eta: η > 0, of each term.
        n: terms a topic; LDAvis draws 30 at most.
        lambda_step: the grid of λ is 0, step, … 1.

    Raises:
        UsageError: shapes that do not belong together, a prior not above 0, n or the step out of range.
    """
    counts, documents = canonical_counts(topic_term), canonical_counts(doc_topic)
    alpha = np.asarray(alpha, np.float64)
    K, V = counts.shape
    _check(counts, documents, terms, alpha, eta, n, lambda_step)
    model = _Model.from_counts(counts, documents, alpha, eta)
    names = np.array(terms, object)
    grid = np.linspace(0.0, 1.0, round(1 / lambda_step) + 1)
    n = min(n, V)

    salient = np.lexsort((np.arange(V), -model.saliency(counts)))[:n]
    ranks = np.arange(n, 0, -1, dtype=np.float64)
    total = np.floor(model.total[salient])
    parts = [(names[salient], total, total, np.full(n, "Default", object), ranks, ranks)]
    shown = []
    for k in range(K):
        term_ids, n_kv = model.relevant_terms(counts, k, n, grid)
        phi = (n_kv + eta) * model.scale[k]
        logprob, loglift = np.log(phi), np.log(phi) - model.log_p[term_ids]
        label = np.full(len(term_ids), f"Topic{k}", object)
        parts.append(
            (names[term_ids], phi * model.size[k], model.total[term_ids], label, logprob.round(4), loglift.round(4))
        )
        shown.append(term_ids)
    columns = ("Term", "Freq", "Total", "Category", "logprob", "loglift")
    x, y = topic_map(counts, eta)
    return {
        "mdsDat": {
            "x": x,
            "y": y,
            "topics": list(range(K)),
            "cluster": [1] * K,
            "Freq": 100.0 * model.size / model.size.sum(),
        },
        "tinfo": {name: np.concatenate(column) for name, column in zip(columns, zip(*parts, strict=True), strict=True)},
        "token.table": _token_table(counts, model, np.unique(np.concatenate(shown)), names),
        "R": n,
        "lambda.step": lambda_step,
        "plot.opts": {"xlab": "PC1", "ylab": "PC2"},
        "topic.order": list(range(K)),
    }


def topic_map(counts: CsrMatrix, eta: float) -> FloatArray:
    """Return the first two principal coordinates (2, K) of the Jensen-Shannon divergences of φ (Gower 1966).

    As `pyLDAvis.js_PCoA`, which has the signs that its eigenvectors happen to have.
    """
    K = counts.shape[0]
    divergence = 1.0 - jensen_shannon(counts, epsilon=eta)
    centred = np.eye(K) - 1.0 / K
    with threadpool_limits(1, user_api="blas"):  # the order of summation must not depend on the number of cores
        values, vectors = np.linalg.eigh(-0.5 * centred @ divergence**2 @ centred)
    coordinates = np.zeros((2, K))
    for axis, column in enumerate(np.argsort(-values, kind="stable")[:2]):
        coordinates[axis] = np.sqrt(max(values[column], 0.0)) * vectors[:, column]
        if coordinates[axis, np.argmax(np.abs(coordinates[axis]))] < 0:
            coordinates[axis] *= -1.0
    return coordinates


@dataclass(frozen=True, slots=True)
class _Model:
    """Of each topic (K,): scale = 1 / (n_k + V η) and size T_k; of each term (V,): mass Σ_k φ_kv, total Σ_k T_k φ_kv, ln p_v."""

    eta: float
    scale: FloatArray
    size: FloatArray
    mass: FloatArray
    total: FloatArray
    log_p: FloatArray
    rarest: LongArray  # the terms by total, ascending

    @classmethod
    def from_counts(cls, counts: CsrMatrix, documents: CsrMatrix, alpha: FloatArray, eta: float) -> _Model:
        lengths = np.asarray(documents.sum(axis=1), np.float64).ravel()
        share = lengths / (lengths + alpha.sum())
        size: FloatArray = documents.T @ share + alpha * share.sum()
        scale = topic_scale(counts, eta)
        total = np.full(counts.shape[1], eta * (scale @ size))
        for k in range(len(size)):
            row = slice(counts.indptr[k], counts.indptr[k + 1])
            total[counts.indices[row]] += counts.data[row] * (scale[k] * size[k])
        order = np.lexsort((np.arange(len(total)), total))
        return cls(eta, scale, size, probability_mass(counts, eta, scale), total, np.log(total / total.sum()), order)

    def saliency(self, counts: CsrMatrix) -> FloatArray:
        """Return p_v Σ_k q_kv ln(q_kv / (T_k / N)) (V,), q_kv = φ_kv / Σ_l φ_lv (Chuang et al. 2012)."""
        share = self.size / self.size.sum()
        absent = self.eta * self.scale
        of_absent = absent * np.log(absent / share)
        sums = np.full(len(self.mass), of_absent.sum())  # Σ_k φ_kv ln(φ_kv / share_k)
        for k in range(len(share)):
            row = slice(counts.indptr[k], counts.indptr[k + 1])
            phi = (counts.data[row] + self.eta) * self.scale[k]
            sums[counts.indices[row]] += phi * np.log(phi / share[k]) - of_absent[k]
        saliency: FloatArray = np.exp(self.log_p) * (sums / self.mass - np.log(self.mass))
        return saliency

    def relevant_terms(self, counts: CsrMatrix, k: int, n: int, grid: FloatArray) -> tuple[LongArray, FloatArray]:
        """Return the terms that are among the n of highest relevance for a λ of the grid, by φ and term id, and their n_kv.

        Of the terms a topic does not hold, the rarest of the corpus have the highest lift; where it holds under n terms,
        those of the lowest ids fill up at λ = 1, where all of them are equal.
        """
        row = slice(counts.indptr[k], counts.indptr[k + 1])
        held = counts.indices[row].astype(np.int64)
        inside = np.zeros(len(self.total), bool)
        inside[held] = True
        rare = self.rarest[: len(held) + n]
        absent = rare[~inside[rare]][:n]
        if len(held) < n:
            absent = np.union1d(absent, np.flatnonzero(~inside)[:n])
        terms = np.concatenate((held, absent))
        n_kv = np.concatenate((counts.data[row].astype(np.float64), np.zeros(len(absent))))
        order = np.argsort(terms)
        terms, n_kv = terms[order], n_kv[order]
        log_phi = np.log((n_kv + self.eta) * self.scale[k])
        chosen = _among_the_first(log_phi, log_phi - self.log_p[terms], n, grid)
        terms, n_kv = terms[chosen], n_kv[chosen]
        order = np.lexsort((terms, -n_kv))
        return terms[order], n_kv[order]


def _among_the_first(logprob: FloatArray, loglift: FloatArray, n: int, grid: FloatArray) -> BoolArray:
    """Return which terms (m,) are among the n of highest λ logprob + (1 − λ) loglift for a λ, ties by the earlier place."""
    m = len(logprob)
    if m <= n:
        return np.ones(m, bool)
    chosen = np.zeros(m, bool)
    step = max(_CELLS // m, 1)
    for first in range(0, len(grid), step):
        weight = grid[first : first + step, None]
        relevance = weight * logprob + (1.0 - weight) * loglift
        least = np.partition(relevance, m - n, axis=1)[:, m - n, None]
        above, equal = relevance > least, relevance == least
        room = n - above.sum(axis=1, keepdims=True)
        chosen |= (above | (equal & (np.cumsum(equal, axis=1) <= room))).any(axis=0)
    return chosen


def _token_table(counts: CsrMatrix, model: _Model, shown: LongArray, names: Any) -> dict[str, Any]:
    """Return, for each term and topic with half a token or more, the share of the term's tokens there, by term and topic."""
    shown = shown[np.argsort(names[shown], kind="stable")]
    columns = counts.tocsc()
    parts: list[tuple[LongArray, LongArray, FloatArray]] = []
    step = max(_CELLS // counts.shape[0], 1)
    for first in range(0, len(shown), step):
        terms = shown[first : first + step]
        tokens = (columns[:, terms].toarray().T + model.eta) * (model.scale * model.size)
        at, topic = np.nonzero(tokens >= 0.5)
        parts.append((topic.astype(np.int64) + 1, terms[at], np.round(tokens[at, topic]) / model.total[terms[at]]))
    place, term, share = (np.concatenate(part) for part in zip(*parts, strict=True))
    return {"Topic": place, "Freq": share, "Term": names[term]}


def _check(
    counts: CsrMatrix,
    documents: CsrMatrix,
    terms: Sequence[str],
    alpha: FloatArray,
    eta: float,
    n: int,
    lambda_step: float,
) -> None:
    K, V = counts.shape
    if (len(terms), documents.shape[1], alpha.shape) != (V, K, (K,)):
        raise UsageError(
            f"topics of shape {(K, V)} do not belong to {len(terms)} terms, documents of {documents.shape[1]} topics "
            f"and alpha of shape {alpha.shape}"
        )
    if not counts.nnz:
        raise UsageError("the map of topics needs a model with tokens, this one holds no token")
    if not (eta > 0 and (alpha > 0).all()):
        raise UsageError("the map of topics needs alpha and eta above 0")
    if n < 1 or not 0 < lambda_step <= 1:
        raise UsageError(f"pyLDAvis needs 1 term or more and a step of λ in (0, 1], got {n} and {lambda_step}")

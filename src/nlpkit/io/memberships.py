"""The topics of the documents of a run: the main one of each, or their mixture, of which nothing is left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.io.mixture_tables import read_alpha, read_doc_topic
from nlpkit.io.runs import Run
from nlpkit.topics.mixtures.model import theta_of
from nlpkit.topics.prevalence import Membership, one_topic_each
from nlpkit.types import CsrMatrix, FloatArray, LongArray


def read_membership(run: Run, *, mixed: bool) -> Membership:
    """Return which topics the documents (D,) of a run have, in their order.

    Args:
        mixed: all topics by their probability: those of a topic that a document has no word of are of the prior. Of runs of before
            2026-11-23 what doc_topics.parquet leaves out is spread over the topics by their alpha.

    Raises:
        InputError: the run is damaged.
    """
    K = run.table("topics", ["topic"]).num_rows
    if mixed:
        counts, alpha = read_counts_and_prior(run, K)
        return _listed(run, K, alpha) if counts is None else _membership_of(counts, alpha)
    return one_topic_each(run.table("documents", ["topic"]).column("topic").to_numpy().astype(np.int32), K)


def read_theta(run: Run) -> Callable[[slice | LongArray], FloatArray]:
    """Return what gives theta (rows, K) of some documents of a mixture model, by row, as it was fitted.

    Raises:
        InputError: the run is damaged.
    """
    K = run.table("topics", ["topic"]).num_rows
    counts, alpha = read_counts_and_prior(run, K)
    if counts is not None:
        return partial(theta_of, counts, alpha)
    U, scale = _listed(run, K, alpha).parts()
    even = alpha if alpha.any() else np.ones(K)

    def theta(rows: slice | LongArray) -> FloatArray:
        weights = U[rows].toarray() + np.multiply.outer(scale[rows], even)
        total = weights.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, weights / np.where(total > 0, total, 1.0), even / even.sum()))

    return theta


def read_counts_and_prior(run: Run, K: int) -> tuple[CsrMatrix | None, FloatArray]:
    """Return n_dk (D, K), None of a run that does not hold them, and α (K,), zeros of one without a prior.

    Raises:
        InputError: the run is damaged.
    """
    alpha = read_alpha(run, K) if run.is_mixture else np.zeros(K)
    return read_doc_topic(run, run.table("documents", ["id"]).num_rows, K), alpha


def _membership_of(counts: CsrMatrix, alpha: FloatArray) -> Membership:
    """Return the mixtures θ_dk = (n_dk + α_k) / (N_d + Σ α) of documents with counts (D, K)."""
    lengths = np.asarray(counts.sum(axis=1), np.float64).ravel()
    document = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    data = (counts.data + alpha[counts.indices]) / (lengths[document] + alpha.sum())
    weights = sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    return Membership(weights, lengths == 0, alpha if alpha.any() else np.ones(len(alpha)))


def _listed(run: Run, K: int, alpha: FloatArray) -> Membership:
    """Return the mixtures as doc_topics.parquet has them; what it leaves out is spread by alpha, evenly where that is 0."""
    names, listed = run.table("documents", ["id"]), run.table("doc_topics", ["id", "topic", "prob"])
    with run.intact():
        rows = pc.index_in(listed.column("id"), value_set=names.column("id").combine_chunks())
        if rows.null_count:
            raise ValueError("documents of doc_topics.parquet that are not in documents.parquet")
        of_topic, prob = (listed.column(name).to_numpy() for name in ("topic", "prob"))
        shape = (names.num_rows, K)
        weights = sparse.coo_array((prob.astype(np.float64), (rows.to_numpy(), of_topic)), shape=shape).tocsr()
    return Membership(weights, np.diff(weights.indptr) == 0, alpha if alpha.any() else np.ones(K))

"""Topics over time: word counts and shares per chunk, and the similarity of each topic to its past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy import sparse

from nlpkit.topics.lda.rolling_plan import RollingState
from nlpkit.types import CsrMatrix, FloatArray, LongArray

Reference = Literal["previous", "past", "initial"]


def topic_term_by_chunk(state: RollingState) -> list[CsrMatrix]:
    """Return the word counts n_kv of each chunk, (K, V) int64 CSR, from the tokens of its own documents, memory not counted."""
    K, V = state.options.n_topics, len(state.terms)
    counts = []
    for chunk in state.chunks:
        begin, stop = state.offsets[list(state.rows(chunk))]
        ones = np.ones(stop - begin, np.int64)
        cells = (state.z[begin:stop], state.term_ids[begin:stop])
        counts.append(sparse.csr_array(sparse.coo_array((ones, cells), shape=(K, V))))
    return counts


def doc_topic_counts(state: RollingState) -> CsrMatrix:
    """Return the counts n_dk (M, K) int64 CSR of the documents of a model, in its order; rows of discarded ones are empty."""
    documents = np.repeat(np.arange(len(state.ids)), np.diff(state.offsets))
    ones = np.ones(len(documents), np.int64)
    return sparse.csr_array(
        sparse.coo_array((ones, (documents, state.z)), shape=(len(state.ids), state.options.n_topics))
    )


def token_shares(counts: Sequence[CsrMatrix]) -> FloatArray:
    """Return the share of the tokens of a chunk that each topic has, (C, K); nan in chunks without tokens.

        share_tk = n_tk / Σ_j n_tj,     n_tk = tokens of chunk t in topic k

    Long documents count more than short ones; `document_shares` counts all documents alike.

    Args:
        counts: (K, V) of each chunk, as of `topic_term_by_chunk`.
    """
    n_tk = np.stack([np.asarray(n_kv.sum(axis=1)).ravel() for n_kv in counts]).astype(np.float64)
    return _share(n_tk, n_tk.sum(axis=1))


def document_shares(
    doc_topic: CsrMatrix, chunk_of: Sequence[int] | LongArray, n_chunks: int, alpha: FloatArray | float
) -> FloatArray:
    """Return the mean of theta over the documents of each chunk, (C, K); nan in chunks without documents.

        share_tk = 1/D_t · Σ_d∈t theta_dk,     theta_dk = (n_dk + alpha_k) / (N_d + Σ_j alpha_j)

    Documents without tokens (discarded ones) do not count: their theta is the prior.

    Args:
        doc_topic: n_dk (D, K).
        chunk_of: (D,) chunk of each document.
        n_chunks: C.
        alpha: (K,), or one number for all topics: each, not the sum.
    """
    K = doc_topic.shape[1]
    priors: FloatArray = np.broadcast_to(np.asarray(alpha, np.float64), (K,))
    n_d = np.asarray(doc_topic.sum(axis=1)).ravel()
    counted = np.flatnonzero(n_d > 0)
    weights = 1 / (n_d[counted] + priors.sum())
    member = sparse.csr_array((weights, (np.asarray(chunk_of)[counted], counted)), shape=(n_chunks, len(n_d)))
    theta = (member @ doc_topic.astype(np.float64)).toarray() + np.outer(np.asarray(member.sum(axis=1)).ravel(), priors)
    return _share(theta, np.bincount(np.asarray(chunk_of)[counted], minlength=n_chunks).astype(np.float64))


def similarity_to_past(counts: Sequence[CsrMatrix], reference: Reference = "previous") -> FloatArray:
    """Return the cosine similarity of the word counts of each topic in a chunk to those it had before, (C, K).

        sim_tk = Σ_v n_tkv r_kv / sqrt(Σ_v n_tkv² · Σ_v r_kv²)

    r: counts in the chunk before it ("previous", as in Rieger et al. 2021), of all chunks before it together
    ("past"), or of the initial period ("initial"). Chunks without tokens are passed over: the chunk before is the last one
    with tokens. nan in the first chunk, and where the topic has no token on one of the sides.

    Args:
        counts: (K, V) of each chunk, as of `topic_term_by_chunk`.
        reference: what r is.
    """
    similarity = np.full((len(counts), counts[0].shape[0]), np.nan)
    before: CsrMatrix | None = None
    for t, n_kv in enumerate(counts):
        if not n_kv.nnz:
            continue
        now = n_kv.astype(np.int64)
        if before is None:
            before = now
            continue
        similarity[t] = cosine_rows(now, before)
        if reference == "previous":
            before = now
        elif reference == "past":
            before = before + now
    return similarity


def cosine_rows(a: CsrMatrix, b: CsrMatrix) -> FloatArray:
    """Return the cosine of each row of a with the same row of b, (K,); nan where one of them is empty."""
    a, b = a.astype(np.float64), b.astype(np.float64)  # products of int32 counts may not fit into int32
    dots = np.asarray(a.multiply(b).sum(axis=1)).ravel()
    squares = [np.asarray(m.multiply(m).sum(axis=1)).ravel() for m in (a, b)]
    norms = np.sqrt(squares[0]) * np.sqrt(squares[1])
    cosines: FloatArray = np.full(len(dots), np.nan)
    np.divide(dots, norms, out=cosines, where=norms > 0)
    return cosines


def _share(sums: FloatArray, totals: FloatArray) -> FloatArray:
    """Rows divided by their totals, nan where that is 0."""
    shares: FloatArray = np.full_like(sums, np.nan)
    np.divide(sums, totals[:, None], out=shares, where=totals[:, None] > 0)
    return shares

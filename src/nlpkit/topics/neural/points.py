"""What the training of neural topic models leaves behind, and what it needs: without torch."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, missing_extra
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, LongArray, TokenTable
from nlpkit.topics.base.model import MixtureModel, expected_counts, order_by_size, reordered
from nlpkit.topics.base.options import check_number_of_topics
from nlpkit.weights.dtm import count_terms

FEWEST = 10  # documents with words


@dataclass(frozen=True, slots=True)
class NeuralPoint:
    """After a pass over the documents: minus the bound per token of those that are trained on (with dropout), and of those held out."""

    epoch: int
    loss: float
    held_out_loss: float


def check_torch(command: str) -> None:
    """Raise MissingError where torch is not installed."""
    if find_spec("torch") is None:
        raise missing_extra(f"nlpkit {command}", "neural")


def documents_of(tokens: TokenTable, n_topics: int) -> tuple[LongArray, CsrMatrix]:
    """Return the rows of the documents with words (D',), and their counts (D', V).

    Raises:
        UsageError: no topic, or more than tokens; InputError: fewer than ten documents with words.
    """
    check_number_of_topics(n_topics, len(tokens.term_ids))
    dtm = count_terms(tokens)
    full = np.flatnonzero(np.diff(dtm.indptr) > 0)
    if len(full) < FEWEST:
        raise InputError(f"a neural topic model needs {FEWEST} documents with words or more; there are {len(full)}")
    return full, sparse.csr_array(dtm[full])


def as_counts(
    tokens: TokenTable, full: LongArray, theta: Float32Array, phi: FloatArray
) -> tuple[MixtureModel, CsrMatrix, LongArray]:
    """Return the model of expected counts n_kv = φ_kv n_k, n_dk = θ_dk N_d (D, K), and the order by size that both are in.

    Args:
        full: (D',) rows of the documents that theta (D', K) is of. phi: (K, V), of which terms that no document has, such as
            some of a given vocabulary, have no part: nothing was learned of them.
    """
    lengths = np.diff(tokens.offsets).astype(np.float64)
    there = np.bincount(tokens.term_ids, minlength=tokens.n_terms) > 0
    phi = np.where(there, phi, 0.0) / phi[:, there].sum(axis=1, keepdims=True)
    shares = np.zeros((tokens.n_docs, len(phi)))
    shares[full] = theta
    doc_topic, alpha = expected_counts(shares, lengths), np.zeros(len(phi))
    order = order_by_size(doc_topic, alpha)
    doc_topic = reordered(doc_topic, order)
    totals = np.asarray(doc_topic.sum(axis=0), np.float64).ravel()
    return MixtureModel(tokens.terms, expected_counts(phi[order], totals), alpha, 0.0), doc_topic, order

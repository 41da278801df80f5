"""phi of a mixture model term by term, and work on chunks of documents."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.kernels import gibbs_infer
from nlpkit.topics.mixtures.model import MixtureModel
from nlpkit.topics.mixtures.weights import topic_scale
from nlpkit.types import CsrMatrix, IntArray, LongArray

CHUNK = 64  # documents that a thread takes at a time


def words_of(model: MixtureModel) -> gibbs_infer.Words:
    """Return phi_kv = (n_kv + η) / (n_k + Vη) by word, for `infer_topics` batch after batch: 12 bytes per count n_kv > 0."""
    by_word = sparse.csc_array(model.topic_term)
    by_word.sort_indices()
    start, topics = by_word.indptr.astype(np.int64), by_word.indices.astype(np.int32)
    inverse = topic_scale(model.topic_term, model.eta)
    alpha = np.asarray(model.alpha, np.float64)
    parts, base = by_word.data * inverse[topics], model.eta * inverse
    smooth = gibbs_infer.smooth_sums(start, topics, parts, alpha)
    return gibbs_infer.Words(start, topics, parts, smooth, base, alpha, np.cumsum(alpha * base))


def entries_by_term(dtm: CsrMatrix) -> tuple[IntArray, IntArray, LongArray]:
    """Return starts (V + 1,), documents (N,) and places (N,) in the matrix of the counts of each term, by document."""
    places = np.arange(dtm.nnz, dtype=np.int64)
    by_term = sparse.csc_array((places, dtm.indices, dtm.indptr), shape=dtm.shape[::-1]).tocsr()
    # (D, V) in CSR read as (V, D) in CSC: rows of the transpose are the terms
    by_term.sort_indices()
    return by_term.indptr, by_term.indices, by_term.data


def in_chunks(function: Callable[[int, int], None], n_docs: int, threads: int) -> None:
    """Call function(begin, end) for chunks of 64 documents, as many at a time as there are threads."""

    def call(begin: int) -> None:
        with np.errstate(over="ignore"):  # hashes wrap around, which NumPy tells of where kernels are not compiled
            function(begin, min(begin + CHUNK, n_docs))

    starts = range(0, n_docs, CHUNK)
    if threads <= 1 or len(starts) <= 1:
        for begin in starts:
            call(begin)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="infer") as pool:
        list(pool.map(call, starts))


def check_ids(words: gibbs_infer.Words, term_ids: IntArray) -> None:
    """Raise UsageError for a term id that the model does not have."""
    V = len(words.smooth)
    if len(term_ids) and not 0 <= term_ids.min() <= term_ids.max() < V:
        raise UsageError(
            f"term ids must be from 0 to {V - 1}, found {term_ids.min()} to {term_ids.max()}; leave out words that the "
            "model does not know"
        )

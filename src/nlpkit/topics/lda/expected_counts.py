"""How often a topic has a word in some documents, expected from the mixtures of these and the words of the topics."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nlpkit.topics.mixtures.model import MixtureModel
from nlpkit.types import CsrMatrix, FloatArray, LongArray

LEAST_SHARE = 0.01  # of an occurrence that is counted for a topic


class ExpectedCounts:
    """Sums n_ckv = Σ_d∈c tf_dv p(k | d, v) over classes c of documents, batch by batch.

        p(k | d, v) = θ_dk φ_kv / Σ_j θ_dj φ_jv,   φ_kv = (n_kv + η) / (n_k + V η)

    The E step of EM for LDA (Hofmann 1999, eq. 3; Blei et al. 2003, eq. 6), over the topics that θ lists for the document; shares
    under a hundredth are left out.
    """

    def __init__(self, model: MixtureModel) -> None:
        """Start with the words of a model (K, V)."""
        counts = sparse.csr_array(model.topic_term, dtype=np.float64)
        counts.sort_indices()
        self._V, self._eta = model.n_terms, model.eta
        rows = np.repeat(np.arange(counts.shape[0], dtype=np.int64), np.diff(counts.indptr))
        self._places: LongArray = rows * self._V + counts.indices
        self._counts: FloatArray = counts.data
        self._length: FloatArray = np.asarray(counts.sum(axis=1), np.float64).ravel() + self._V * self._eta
        self._keys: list[LongArray] = []
        self._values: list[FloatArray] = []

    def add(self, classes: LongArray, theta: CsrMatrix, counts: CsrMatrix) -> None:
        """Add documents: classes (D, ) -1 for none, of which topic k has class c · K + k; theta (D, K) CSR; counts (D, V) CSR."""
        lengths = np.diff(counts.indptr)
        document = np.repeat(np.arange(len(lengths)), lengths)
        used = np.flatnonzero(classes[document] >= 0)
        document, term, tf = document[used], counts.indices[used].astype(np.int64), counts.data[used].astype(np.float64)
        listed = np.diff(theta.indptr)[document]
        entry = np.repeat(np.arange(len(document)), listed)
        first = np.repeat(np.cumsum(listed) - listed, listed)
        at = theta.indptr[document][entry] + np.arange(len(entry)) - first
        topic = theta.indices[at].astype(np.int64)
        weight = theta.data[at] * self._phi(topic, term[entry])
        total = np.bincount(entry, weights=weight, minlength=len(document))
        share = weight / np.maximum(total[entry], 1e-300)
        kept = share >= LEAST_SHARE
        entry, topic, share = entry[kept], topic[kept], share[kept]
        keys = (classes[document[entry]] * theta.shape[1] + topic) * self._V + term[entry]
        distinct, place = np.unique(keys, return_inverse=True)
        self._keys.append(distinct)
        values: FloatArray = np.bincount(place, weights=tf[entry] * share, minlength=len(distinct)).astype(np.float64)
        self._values.append(values)

    def _phi(self, topic: LongArray, term: LongArray) -> FloatArray:
        """Return φ_kv of pairs of topics and terms."""
        keys = topic * self._V + term
        at = np.minimum(np.searchsorted(self._places, keys), max(len(self._places) - 1, 0))
        n = np.where(self._places[at] == keys, self._counts[at], 0.0) if len(self._places) else np.zeros(len(keys))
        return np.asarray((n + self._eta) / self._length[topic], np.float64)

    def finish(self, order: LongArray) -> CsrMatrix:
        """Return the sums (R, V) float64 CSR of the rows c · K + k that are asked for, which ascend."""
        keys = np.concatenate([np.zeros(0, np.int64), *self._keys])
        values = np.concatenate([np.zeros(0), *self._values])
        row = np.searchsorted(order, keys // self._V)
        asked = (
            (row < len(order)) & (order[np.minimum(row, max(len(order) - 1, 0))] == keys // self._V)
            if len(order)
            else row < 0
        )
        places = (row[asked], keys[asked] % self._V)
        matrix = sparse.coo_array((values[asked], places), shape=(len(order), self._V)).tocsr()
        matrix.sort_indices()
        return matrix

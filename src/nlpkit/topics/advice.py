"""What a look at fitted topics tells about the next fit: copies that make a topic, a column that topics mirror."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from nlpkit.metrics.clustering import adjusted_mutual_information
from nlpkit.types import BoolArray, CsrMatrix, IntArray

COPY, FEWEST_WORDS, MOST_COMPARED = 0.9, 5, 500
STRONG = 0.3  # AMI of topics and a column
FEWEST_OF_A_VALUE = 5


def topics_of_copies(topics: IntArray, dtm: CsrMatrix) -> list[int]:
    """Return the topics of at least five documents of which half or more have a near-copy in the topic.

    Near-copies share 90 % of their different words (Jaccard); documents of fewer than five different words are not compared.
    Of a large topic 500 documents are compared, evenly spaced, so that pairs in it do not count but many copies do.

    Args:
        topics: (D,) topic of each document, -1 for none; dtm: (D, V) counts.
    """
    enough = np.diff(dtm.indptr) >= FEWEST_WORDS
    copied = []
    for k in range(int(topics.max(initial=-1)) + 1):
        rows = np.flatnonzero((topics == k) & enough)
        rows = rows[:: -(-len(rows) // MOST_COMPARED) or 1]
        if len(rows) >= FEWEST_WORDS and has_copy(dtm[rows]).mean() >= 0.5:
            copied.append(k)
    return copied


def has_copy(dtm: CsrMatrix) -> BoolArray:
    """Return which documents (n,) share 90 % of their different words with another one."""
    present = sparse.csr_array((np.ones(dtm.nnz, np.float32), dtm.indices, dtm.indptr), shape=dtm.shape)
    shared = (present @ present.T).toarray()
    n_words = np.diag(shared)
    similarity = shared / np.maximum(n_words[:, None] + n_words[None, :] - shared, 1)
    np.fill_diagonal(similarity, 0)
    return np.asarray((similarity >= COPY).any(axis=1))


def mirrored_column(topics: IntArray, columns: Mapping[str, IntArray]) -> tuple[str, float] | None:
    """Return the column that agrees most with the topics, and its AMI with them; None where none has an AMI of 0.3 or more.

    Compared are documents with a topic and a value. A column counts if it has two values or more, of five documents or more each.

    Args:
        topics: (D,) topic of each document, -1 for none; columns: (D,) values of each as numbers from 0 on, -1 for none.
    """
    best = None
    for name, values in columns.items():
        both = (topics >= 0) & (values >= 0)
        counts = np.bincount(values[both])
        counts = counts[counts > 0]
        if len(counts) < 2 or counts.min() < FEWEST_OF_A_VALUE:
            continue
        agreement = adjusted_mutual_information(topics[both], values[both])
        if agreement >= STRONG and (best is None or agreement > best[1]):
            best = name, agreement
    return best

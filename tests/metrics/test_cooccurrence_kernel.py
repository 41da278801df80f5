"""Documents of term pairs against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.metrics.kernels import joint_document_counts
from nlpkit.metrics.topics.coherence import postings
from tests.reference import cooccurrence as plain
from tests.strategies import counts_dv, repeatable, term_ids_kn


def joint(term_ids: np.ndarray, dtm: np.ndarray) -> np.ndarray:
    reference = postings(sparse.csr_array(dtm))
    result = np.zeros((*term_ids.shape, term_ids.shape[1]), np.int64)
    joint_document_counts(term_ids, reference.indptr, reference.indices, result)
    return result


def test_by_hand() -> None:
    dtm = np.array([[1, 2, 0], [3, 0, 1], [1, 1, 0], [0, 1, 0]], np.int32)
    assert joint(np.array([[0, 1, 2]], np.int32), dtm)[0].tolist() == [[3, 2, 1], [2, 3, 0], [1, 0, 1]]


def test_no_term_counts_nothing() -> None:
    counts = joint(np.array([[-1, 0, -1]], np.int32), np.ones((3, 1), np.int32))
    assert counts[0].tolist() == [[0, 0, 0], [0, 3, 0], [0, 0, 0]]


@repeatable
@given(st.data())
def test_equals_sets_of_documents(data: st.DataObject) -> None:
    dtm = data.draw(counts_dv())
    term_ids = data.draw(term_ids_kn(dtm.shape[1]))
    np.testing.assert_array_equal(joint(term_ids, dtm), plain.joint_document_counts(term_ids, dtm))

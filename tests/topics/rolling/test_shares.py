"""Topics over time, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from nlpkit.platform.types import TokenTable
from nlpkit.topics.rolling.changes import (
    cosine_rows,
    doc_topic_counts,
    document_shares,
    similarity_to_past,
    token_shares,
    topic_term_by_chunk,
)
from tests.topics.rolling.test_rolling import OPTIONS, SMALL, PlainSampler

COUNTS = [
    sparse.csr_array(np.array(rows))
    for rows in (
        [[3, 4, 0], [1, 0, 0]],
        [[4, 3, 0], [0, 2, 0]],
        [[0, 0, 0], [0, 0, 0]],  # no tokens
        [[0, 0, 5], [0, 0, 0]],
        [[3, 4, 0], [1, 1, 0]],
    )
]


def test_token_shares() -> None:
    expected = [[7 / 8, 1 / 8], [7 / 9, 2 / 9], [np.nan, np.nan], [1, 0], [7 / 9, 2 / 9]]
    np.testing.assert_allclose(token_shares(COUNTS), expected, rtol=1e-15)


def test_document_shares_count_all_documents_alike() -> None:
    doc_topic = sparse.csr_array(np.array([[9, 0], [0, 1], [0, 0], [2, 2]]))
    shares = document_shares(doc_topic, [0, 0, 0, 2], 3, 0.5)
    # theta: (9.5, 0.5)/10, (0.5, 1.5)/2; the document without tokens does not count; (2.5, 2.5)/5
    np.testing.assert_allclose(
        shares, [[(0.95 + 0.25) / 2, (0.05 + 0.75) / 2], [np.nan, np.nan], [0.5, 0.5]], rtol=1e-14
    )
    shares = document_shares(doc_topic, [0, 0, 0, 2], 3, np.array([1.0, 3.0]))
    np.testing.assert_allclose(shares[0], [(10 / 13 + 1 / 5) / 2, (3 / 13 + 4 / 5) / 2], rtol=1e-14)


def test_similarity_to_past() -> None:
    nan = np.nan
    by_hand = {
        "previous": [[nan, nan], [24 / 25, 0], [nan, nan], [0, nan], [0, nan]],
        "past": [
            [nan, nan],
            [24 / 25, 0],
            [nan, nan],
            [0, nan],
            [49 / (5 * np.sqrt(123)), 3 / (np.sqrt(2) * np.sqrt(5))],
        ],
        "initial": [[nan, nan], [24 / 25, 0], [nan, nan], [0, nan], [1, 1 / np.sqrt(2)]],
    }
    # past of the last chunk: (7, 7, 5) and (1, 2, 0)
    for reference, expected in by_hand.items():
        np.testing.assert_allclose(similarity_to_past(COUNTS, reference), expected, rtol=1e-14)  # type: ignore[arg-type]


def test_cosine_of_large_counts() -> None:
    big = sparse.csr_array(np.array([[2_000_000_000, 1], [0, 0]], np.int32))
    np.testing.assert_allclose(cosine_rows(big, big), [1, np.nan], rtol=1e-15)


def test_counts_of_a_model() -> None:
    def first(tokens: TokenTable) -> Any:
        return tokens.term_ids % 2  # a is topic 0, b topic 1

    state = SMALL.fit(replace(OPTIONS, memory_fallback=1), first=first, sampler=PlainSampler).state
    counts = topic_term_by_chunk(state)
    assert [m.shape for m in counts] == [(2, 4)] * 4
    assert counts[0].toarray().tolist() == [[4, 0, 0, 0], [0, 3, 0, 0]]
    assert [int(m.sum()) for m in counts] == [7, 5, 0, 3]
    assert counts[1].sum(axis=0).tolist() == [1, 2, 1, 1]  # "b b c" and "a d", and nothing of the memory
    doc_topic = doc_topic_counts(state)
    assert doc_topic.toarray()[:3].tolist() == [[2, 1], [1, 2], [1, 0]]
    assert doc_topic.sum(axis=1).tolist() == [3, 3, 1, 3, 2, 3]
    by_chunk = np.array([m.sum(axis=1) for m in counts])
    np.testing.assert_array_equal(by_chunk[1], doc_topic.toarray()[3:5].sum(axis=0))
    np.testing.assert_allclose(token_shares(counts)[0], [4 / 7, 3 / 7])
    assert document_shares(doc_topic, state.chunk_of(), len(state.chunks), 0.5).shape == (4, 2)


@pytest.mark.parametrize("reference", ["previous", "past", "initial"])
def test_later_chunks_do_not_alter_earlier_similarities(reference: Any) -> None:
    whole = similarity_to_past(COUNTS, reference)
    for t in range(1, len(COUNTS) + 1):
        np.testing.assert_array_equal(similarity_to_past(COUNTS[:t], reference), whole[:t])

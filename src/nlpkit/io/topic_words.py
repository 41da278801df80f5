"""The words of the topics of a run, with weights, of every kind of run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.io.mixture_tables import read_model
from nlpkit.io.runs import Run
from nlpkit.io.table_spec import numbers, strings
from nlpkit.topics.mixtures.weights import topic_scale
from nlpkit.types import CsrMatrix


@dataclass(frozen=True, slots=True)
class TopicWords:
    """Words of topics: weights (K, V) CSR over the vocabulary; shares (K, V) of each term's occurrences that a topic has, same entries.

    terms (V,); weighting: what the weights are; complete: whether every word of a topic is there, not only its strongest.
    """

    terms: list[str]
    weights: CsrMatrix
    shares: CsrMatrix
    weighting: str
    complete: bool


def read_topic_words(run: Run) -> TopicWords:
    """Return the words of the topics of a run: of mixtures those with tokens and their φ, of bertopic those stored and their c-tf-idf.

    Raises:
        InputError: the run is damaged.
    """
    if run.is_mixture:
        model = read_model(run)
        counts = sparse.csr_array(model.topic_term, dtype=np.float64)
        topic = np.repeat(np.arange(model.n_topics), np.diff(counts.indptr))
        scale = topic_scale(counts, model.eta)
        phi = sparse.csr_array(
            ((counts.data + model.eta) * scale[topic], counts.indices, counts.indptr), shape=counts.shape
        )
        return TopicWords(list(model.terms), phi, _shares(counts), "probability", complete=True)
    table, vocab = run.table("topic_terms"), run.table("vocab", ["term"])
    K = run.table("topics", ["topic"]).num_rows
    with run.intact():
        terms = strings(vocab, "term")
        place = {term: v for v, term in enumerate(terms)}
        names = table.column("term").to_pylist()
        extra = [term for term in dict.fromkeys(names) if term not in place]  # none, unless the vocabulary was cut
        place |= {term: len(terms) + i for i, term in enumerate(extra)}
        topic, term = numbers(table, "topic", least=0, most=K - 1), np.array([place[name] for name in names], np.int64)
        name = "ctfidf" if "ctfidf" in table.column_names else "weight"
        shape = (K, len(place))
        weights = sparse.coo_array((numbers(table, name).astype(np.float64), (topic, term)), shape=shape).tocsr()
        shares = weights * np.nan
        if "share" in table.column_names:
            shares = sparse.coo_array((numbers(table, "share").astype(np.float64), (topic, term)), shape=shape).tocsr()
    return TopicWords([*terms, *extra], weights, shares, name, complete=False)


def _shares(counts: CsrMatrix) -> CsrMatrix:
    """Return counts divided by the sums of their columns."""
    total = np.asarray(counts.sum(axis=0), np.float64).ravel()[counts.indices]
    data = np.divide(counts.data, total, out=np.zeros(len(counts.data)), where=total > 0)
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)

"""Description of the topics of an LDA model: sizes, names, words, scores, typical documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from nlpkit.metrics.coherence import npmi_by_document, postings
from nlpkit.metrics.diversity import exclusivity, unique_share
from nlpkit.topics.mixtures.diagnostics import TopicDiagnostics, topic_diagnostics
from nlpkit.topics.mixtures.model import MainTopics, MixtureModel, main_topics
from nlpkit.topics.mixtures.weights import WeightedTerms, weighted_terms
from nlpkit.topics.naming import exclusive_terms, topic_names
from nlpkit.topics.words import share_in_topic
from nlpkit.types import CsrMatrix, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.weighting.dtm import count_terms

TERMS = 30
SCORED_TERMS = 10
REPRESENTATIVES = 3


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """Topics (K,) and the main topics of documents (D,).

    size: documents whose main topic it is; share: of the tokens; representatives (K, 3): documents in which the topic has the
    highest theta, -1 for none, as for topics that are the main one of no document; relevant (K, 10): the terms a reader is
    shown, of highest relevance, -1 for none; npmi and exclusivity of the ten most probable terms; diversity: share of
    different ones among them.
    """

    main: MainTopics
    size: LongArray
    share: FloatArray
    labels: tuple[str, ...]
    terms: WeightedTerms
    relevant: IntArray
    npmi: FloatArray
    exclusivity: FloatArray
    diversity: float
    diagnostics: TopicDiagnostics
    representatives: LongArray


def describe_topics(
    model: MixtureModel,
    doc_topic: CsrMatrix,
    tokens: TokenTable,
    *,
    assignments: IntArray | None = None,
    names: tuple[str, ...] = (),
    n_terms: int = TERMS,
    relevance_lambda: float = 0.6,
    hidden_terms: Sequence[int] = (),
) -> TopicDescription:
    """Describe the topics of a model on the corpus it was fitted to.

    Args:
        doc_topic: (D, K) counts n_dk; tokens: the corpus; assignments: (N,) topics of its tokens, for MALLET's diagnostics.
        names: given names of topics, "" where the terms shall name it. hidden_terms: terms that describe no topic.
    """
    K = model.n_topics
    main = main_topics(doc_topic, model.alpha)
    tokens_of_topic = np.asarray(doc_topic.sum(axis=0), np.float64).ravel()
    dtm = count_terms(tokens)
    held = np.asarray(model.topic_term.sum(axis=0)).ravel() > 0
    # a term that only fixed topics hold has no frequency here: it is taken for one that occurs once
    cf = np.maximum(np.bincount(tokens.term_ids, minlength=tokens.n_terms), held).astype(np.float64)
    weigh = partial(
        weighted_terms, model.topic_term, model.eta, cf=cf, relevance_lambda=relevance_lambda, hidden=hidden_terms
    )
    terms, shown = weigh(n=n_terms), weigh(n=SCORED_TERMS, by="relevance")
    size = np.bincount(main.topic[main.topic >= 0], minlength=K)
    representatives = typical_documents(doc_topic, model.alpha, REPRESENTATIVES)
    representatives[size == 0] = -1
    top = np.ascontiguousarray(terms.term_ids[:, :SCORED_TERMS])
    generated = topic_names(exclusive_terms(model.topic_term, hidden_terms), model.terms)
    requested = (*names, *[""] * (K - len(names)))
    return TopicDescription(
        main=main,
        size=size,
        share=tokens_of_topic / max(tokens_of_topic.sum(), 1),
        labels=tuple(name or automatic for name, automatic in zip(requested, generated, strict=True)),
        terms=terms,
        relevant=shown.term_ids,
        npmi=npmi_by_document(top, postings(dtm)),
        exclusivity=exclusivity(top, share_in_topic(top, model.topic_term)),
        diversity=unique_share(top),
        diagnostics=topic_diagnostics(
            model.topic_term, doc_topic, tokens, alpha=model.alpha, eta=model.eta, assignments=assignments
        ),
        representatives=representatives,
    )


def typical_documents(doc_topic: CsrMatrix, alpha: FloatArray, n: int) -> LongArray:
    """Return for each topic the n documents of highest theta that hold it (K, n), ties to the earlier one, -1 for none."""
    lengths = np.asarray(doc_topic.sum(axis=1), np.float64).ravel()
    columns = sparse.csc_array(doc_topic)
    columns.sort_indices()
    typical = np.full((doc_topic.shape[1], n), -1, np.int64)
    for k in range(doc_topic.shape[1]):
        here = slice(columns.indptr[k], columns.indptr[k + 1])
        documents = columns.indices[here]
        theta = (columns.data[here] + alpha[k]) / (lengths[documents] + alpha.sum())
        if len(theta) > n:
            least = np.partition(theta, len(theta) - n)[len(theta) - n]
            best = np.flatnonzero(theta >= least)
            documents, theta = documents[best], theta[best]
        order = np.argsort(-theta, kind="stable")[:n]
        typical[k, : len(order)] = documents[order]
    return typical

"""Its options, and what fits it: term v is in topic (v + start) mod K, a document the mixture of its words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from nlpkit.platform.options import Execution, Param, options
from nlpkit.platform.types import Float32Array, IntArray, LongArray, TokenTable
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel
from nlpkit.topics.base.options import TopicCount
from nlpkit.topics.base.scores import TokenFitter


@options
class TinyTopicsOptions:
    """Options of the tiny topic model."""

    PANEL: ClassVar[str] = "Model"

    k: TopicCount = "auto"
    start: Annotated[int, Param("Topic of the first word.", min=0)] = 0
    iterations: Annotated[int, Param("Passes over the words, of which one is enough.", min=1)] = 1

    def in_force(self) -> dict[str, Any]:
        """Return the options for footers."""
        return {"start": self.start, "iterations": self.iterations}


@dataclass(frozen=True, slots=True)
class TinyFitter(TokenFitter):
    """A tiny topic model."""

    options: TinyTopicsOptions
    seeds: int = 1

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Any = None, keeper: Any = None
    ) -> MixtureFit:
        """Fit a corpus."""
        topic = (np.arange(tokens.n_terms) + self.options.start) % n_topics
        counts = np.bincount(tokens.term_ids, minlength=tokens.n_terms).astype(np.float64)
        topic_term = sparse.csr_array((counts, (topic, np.arange(tokens.n_terms))), shape=(n_topics, tokens.n_terms))
        model = MixtureModel(tokens.terms, topic_term, np.zeros(n_topics), 0.0)
        document = np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))
        cells = (document, topic[tokens.term_ids])
        shape = (tokens.n_docs, n_topics)
        doc_topic = sparse.coo_array((np.ones(len(document)), cells), shape=shape).tocsr()
        doc_topic.sort_indices()
        return MixtureFit(model, doc_topic, numbers={"passes": self.options.iterations})

    def inference(self, fit: MixtureFit, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model with every term possible in every topic, and the mixture of the words of documents."""
        return fit.model.smoothed(), partial(mixtures, fit.model)


def mixtures(model: MixtureModel, offsets: LongArray, term_ids: IntArray) -> Float32Array:
    """Return theta (D, K) of documents."""
    topic = model.topic_term.toarray().argmax(axis=0)
    theta = np.full((len(offsets) - 1, model.n_topics), 1e-9, np.float32)
    first = int(offsets[0])
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    np.add.at(theta, (document, topic[term_ids[first : int(offsets[-1])]]), 1.0)
    return theta / theta.sum(axis=1, keepdims=True)

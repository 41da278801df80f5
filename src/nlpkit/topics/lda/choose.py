"""Fits of LDA with several numbers of topics, for `mixtures.choose`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from nlpkit.parameters import Execution
from nlpkit.topics.lda.fit import LdaFit, fit_lda
from nlpkit.topics.lda.infer import infer_topics
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.mixtures.by_term import words_of
from nlpkit.topics.mixtures.heldout import CHAINS
from nlpkit.topics.mixtures.model import Inference, MixtureModel
from nlpkit.topics.mixtures.scores import Fitted, HeldOutCorpus

SWEEPS = 200


@dataclass(frozen=True, slots=True)
class LdaFitter:
    """LDA whose numbers of topics are compared: the last state of a chain of at most so many sweeps, with its default burn-in."""

    options: LdaOptions
    sweeps: int = SWEEPS

    def prepared(self, n_topics: int) -> LdaOptions:
        """Return the options of a fit with K topics."""
        chain = self.options.of_chain(n_topics)
        return replace(
            chain, sweeps=min(self.sweeps, chain.n_sweeps), estimate="last", burn_in=None, optimize_burn_in=None
        )  # fmt: skip

    def fit(self, corpus: HeldOutCorpus, n_topics: int, execution: Execution, progress: Callable[..., None]) -> LdaFit:
        """Fit the documents that are not held out."""
        return fit_lda(
            corpus.train, self.prepared(n_topics), execution, guidance=corpus.guidance, weights=corpus.weights, progress=progress
        )  # fmt: skip

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model, and Gibbs sampling of topics by it."""
        return fit.model, partial(infer_topics, words_of(fit.model), seed=seed, chains=CHAINS, threads=threads)

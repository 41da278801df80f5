"""The structural topic model as one of the mixture models: fitted, compared, applied to new documents by the same code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from nlpkit.parameters import Execution
from nlpkit.topics.mixtures.choose import SEEDS
from nlpkit.topics.mixtures.model import Inference, MixtureFit, MixtureModel, expected_counts
from nlpkit.topics.mixtures.scores import Fitted, HeldOutCorpus
from nlpkit.topics.stm.design import Design
from nlpkit.topics.stm.fit import StmFit, fit_stm
from nlpkit.topics.stm.inference import as_counts, infer_posteriors
from nlpkit.topics.stm.model import Prior, softmax
from nlpkit.topics.stm.options import StmOptions
from nlpkit.types import Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.weighting.dtm import count_terms


@dataclass(frozen=True, slots=True)
class StmFitter:
    """A structural topic model whose numbers of topics are compared, and that is fitted.

    design: what its columns of covariates are, and X (D, P) these; None without covariates.
    """

    options: StmOptions
    design: Design | None = None
    X: FloatArray | None = None

    @property
    def seeds(self) -> int:
        """Fits of each number of topics that is compared."""
        return 1 if self.options.start == "spectral" else SEEDS

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None
    ) -> MixtureFit:
        """Fit a corpus."""
        fit = fit_stm(tokens, n_topics, self.options, execution, X=self.X, progress=progress)
        return as_mixture(fit, tokens)

    def fit(
        self, corpus: HeldOutCorpus, n_topics: int, execution: Execution, progress: Callable[..., None]
    ) -> MixtureFit:
        """Fit the documents that are not held out, without covariates."""
        return as_mixture(fit_stm(corpus.train, n_topics, self.options, execution, progress=progress), corpus.train)

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model with every term possible in every topic, and what finds the modes of documents."""
        smooth = fit.model.smoothed()
        prior = Prior(fit.arrays["average_mean"][None, :], fit.arrays["average_covariance"])
        return smooth, partial(infer_theta, smooth.phi, prior, threads=threads)


def infer_theta(
    phi: FloatArray, prior: Prior, offsets: LongArray, term_ids: IntArray, *, threads: int = 1
) -> Float32Array:
    """Return theta (D, K) of new documents, the softmax of their modes under a prior that is the same for all.

    Args:
        offsets: (D + 1,) document d owns term_ids[offsets[d]:offsets[d + 1]]; a batch may begin anywhere in term_ids.
    """
    first = int(offsets[0])
    tokens = TokenTable(offsets - first, term_ids[first : int(offsets[-1])], ("",) * phi.shape[1])
    return softmax(infer_posteriors(as_counts(count_terms(tokens)), phi, prior, threads=threads).eta).astype(np.float32)


def as_mixture(fit: StmFit, tokens: TokenTable) -> MixtureFit:
    """Return the fit as that of a mixture model: n_dk are theta_dk N_d.

    Its arrays: eta (D, K-1), noise and sigma (K-1, K-1), gamma (P, K-1) or mean (K-1,), and the prior of a document of which no
    covariates are known, average_mean (K-1,) and average_covariance (K-1, K-1).
    """
    model = fit.model
    lengths = np.diff(tokens.offsets).astype(np.float64)
    average = model.average_prior()
    means = {"mean": model.prior.mean[0]} if model.gamma is None else {"gamma": model.gamma}
    ones = np.ones(model.n_topics)
    counts = expected_counts(model.topic_term, ones)
    return MixtureFit(
        MixtureModel(model.terms, counts, 0.0 * ones, 0.0),
        expected_counts(model.theta, lengths),
        fit.trace,
        {
            "bound": round(fit.bound, 6),
            "bound_per_token": round(fit.trace[-1].bound, 6),
            "steps": len(fit.trace),
            "converged": fit.converged,
        },
        arrays={
            "eta": model.eta,
            "noise": model.noise,
            "sigma": model.prior.covariance,
            **means,
            "average_mean": average.mean[0],
            "average_covariance": average.covariance,
        },
    )

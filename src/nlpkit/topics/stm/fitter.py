"""The structural topic model as one of the mixture models: fitted, compared, applied to new documents by the same code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nlpkit.metrics.topics.significance import TOP, frex_exclusivity, semantic_coherence, top_words
from nlpkit.platform import wording
from nlpkit.platform.options import Execution
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.choose import SEEDS
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, expected_counts
from nlpkit.topics.base.scores import Fitted, Keeper, TokenFitter
from nlpkit.topics.effects.design import Design
from nlpkit.topics.stm.content import Content, content_from_arrays
from nlpkit.topics.stm.fit import StmFit, fit_stm
from nlpkit.topics.stm.model import Prior, as_counts, infer_posteriors, softmax
from nlpkit.topics.stm.options import StmOptions
from nlpkit.weights.dtm import count_terms


@dataclass(frozen=True, slots=True)
class StmFitter(TokenFitter):
    """A structural topic model whose numbers of topics are compared, and that is fitted.

    design: what its columns of covariates are, and X (D, P) these; None without covariates. content: what the words of topics depend
    on, of a model that was loaded without its documents; None where they do not.
    """

    options: StmOptions
    design: Design | None = None
    X: FloatArray | None = None
    content: Content | None = None

    @property
    def uses_columns(self) -> bool:
        """Whether topics or their words depend on columns of documents."""
        return self.options.formula is not None or self.options.content is not None

    @property
    def seeds(self) -> int:
        """Fits of each number of topics that is compared."""
        return 1 if self.options.start in ("spectral", "anchors") else SEEDS

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        fit = fit_stm(
            tokens, n_topics, self.options, execution, X=self.X, content=self.content, progress=progress, keeper=keeper
        )
        return as_mixture(fit, tokens)

    def check(self, fit: Fitted) -> None:
        """Look whether the covariances are some, and the effects those of the covariates. Raises ValueError, KeyError."""
        for name in ("sigma", "average_covariance"):
            if not np.allclose(fit.arrays[name], fit.arrays[name].T):
                raise ValueError(f"{name} is not symmetric")
            np.linalg.cholesky(fit.arrays[name])
        gamma = fit.arrays.get("gamma")
        if (
            gamma is not None
            and self.design is not None
            and len(gamma) != self.design.matrix(self.design.middle_values()).shape[1]
        ):
            raise ValueError(f"effects of {len(gamma)} covariates")

    def take(self, documents: LongArray, terms: LongArray) -> StmFitter:
        """Return the fitter without covariates and content: numbers of topics are compared by the words alone."""
        return replace(self, design=None, X=None, content=None)

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model with every term possible in every topic, and what finds the modes of documents."""
        smooth = fit.model.smoothed()
        prior = Prior(fit.arrays["average_mean"][None, :], fit.arrays["average_covariance"])
        return smooth, partial(infer_theta, smooth.phi, prior, threads=threads)

    def inference_of(self, fit: Fitted, threads: int) -> KnownInference:
        """Return what infers topics of new documents from their words and their columns."""
        prior = Prior(fit.arrays["average_mean"][None, :], fit.arrays["average_covariance"])
        content = content_from_arrays(fit.arrays)
        topics = [fit.model.smoothed().phi, *(() if content is None else content.phi)]
        return KnownInference(topics, prior, fit.arrays.get("gamma"), fit.arrays["sigma"], threads)


@dataclass(frozen=True, slots=True)
class KnownInference:
    """Topics of new documents of which columns are known.

    topics (K, V): those of all levels on average, then of each level of the content; average: the prior without covariates;
    gamma (P, K-1) and sigma (K-1, K-1): that with them.
    """

    topics: Sequence[FloatArray]
    average: Prior
    gamma: FloatArray | None
    sigma: FloatArray
    threads: int

    def __call__(self, offsets: LongArray, term_ids: IntArray, X: FloatArray | None, level: IntArray) -> Float32Array:
        """Return theta (D, K).

        Args:
            offsets, term_ids: as those of `infer_theta`.
            X: (D, P) covariates, with NaN in rows of documents that have the average prior; None: all have it.
            level: (D,) of the content, -1 for the average of all.
        """
        D = len(level)
        known = np.zeros(D, bool) if X is None else ~np.isnan(X).any(axis=1)
        first = int(offsets[0])
        tokens = TokenTable(offsets - first, term_ids[first : int(offsets[-1])], ("",) * self.topics[0].shape[1])
        counts = as_counts(count_terms(tokens))
        theta = np.empty((D, len(self.topics[0])), np.float32)
        for a, phi in enumerate(self.topics):
            for with_columns in (False, True):
                rows = np.flatnonzero((level == a - 1) & (known == with_columns))
                if not len(rows):
                    continue
                prior = self.average
                if with_columns and X is not None and self.gamma is not None:
                    prior = Prior(X[rows] @ self.gamma, self.sigma)
                posteriors = infer_posteriors(as_counts(counts[rows]), phi, prior, threads=self.threads)
                theta[rows] = softmax(posteriors.eta)
        return theta


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
    covariates are known, average_mean (K-1,) and average_covariance (K-1, K-1); with content, those of `ContentModel.arrays`.
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
            **_start_numbers(fit),
        },
        topic_scores={
            "semantic_coherence": semantic_coherence(top_words(model.phi, TOP), count_terms(tokens)),
            "frex_exclusivity": frex_exclusivity(model.phi),
        },
        notes=_notes(fit),
        warnings=_warnings(fit),
        arrays={
            "eta": model.eta,
            "noise": model.noise,
            "sigma": model.prior.covariance,
            **means,
            "average_mean": average.mean[0],
            "average_covariance": average.covariance,
            **({} if model.content is None else model.content.arrays()),
        },
    )


def _start_numbers(fit: StmFit) -> dict[str, Any]:
    """Return which start was taken, and the scores of those that were compared, for the manifest."""
    if fit.choice is None:
        return {}
    compared = [
        {"start": each.name, "held_out": round(each.held_out, 6), "steps": each.steps} for each in fit.choice.scores
    ]
    return {"start": fit.choice.start.name} | ({"starts": compared} if compared else {})


def _notes(fit: StmFit) -> tuple[str, ...]:
    """Return what is told of the start and of the end of a fit."""
    notes, choice = [], fit.choice
    if choice is not None and choice.scores:
        first, taken = choice.scores[0], next(each for each in choice.scores if each.name == choice.start.name)
        beside = "" if first == taken else f"; {first.name}: {first.held_out:.4f}"
        notes.append(
            f"start: {taken.name}, the best of {len(choice.scores)} by words held out in a trial ({taken.held_out:.4f} nats a word{beside})"
        )
    if fit.fall:
        notes.append(
            f"the bound fell in the last step, by {fit.fall:.2g} nats a token, and the fit ended there: it is approximate, so it can fall"
        )
    return tuple(notes)


def _warnings(fit: StmFit) -> tuple[str, ...]:
    """Return a warning of a start that is arbitrary."""
    if fit.choice is None or not fit.choice.start.is_arbitrary:
        return ()
    start = fit.choice.start
    return (
        f"the start of {wording.counted(start.arbitrary, 'word')} ({start.arbitrary_share:.0%} of the tokens) is arbitrary: on short texts "
        "the gradient that finds it, as in R's stm, does not converge; `start=spectral` or `start=lda` begin elsewhere",
    )

"""The dynamic topic model as one of the mixture models: fitted, compared, applied to new documents by the same code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from nlpkit.parameters import Execution
from nlpkit.topics.dtm.fit import fit_dtm, scaled
from nlpkit.topics.dtm.options import DtmOptions
from nlpkit.topics.dtm.periods import Periods
from nlpkit.topics.lda.variational import Batch, count_between
from nlpkit.topics.mixtures.choose import SEEDS
from nlpkit.topics.mixtures.model import Inference, MixtureFit, MixtureModel
from nlpkit.topics.mixtures.scores import Fitted, TokenFitter
from nlpkit.topics.mixtures.steps import Keeper
from nlpkit.types import Float32Array, FloatArray, IntArray, LongArray, TokenTable


@dataclass(frozen=True, slots=True)
class DtmFitter(TokenFitter):
    """A dynamic topic model whose numbers of topics are compared, and that is fitted.

    periods, period (D,): those of the documents; None for a model that was loaded.
    """

    options: DtmOptions
    periods: Periods | None = None
    period: LongArray | None = None
    seeds: int = SEEDS

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        assert self.periods is not None
        assert self.period is not None
        return fit_dtm(
            tokens, self.periods, self.period, n_topics, self.options, execution, progress=progress, keeper=keeper
        )

    def take(self, documents: LongArray, terms: LongArray) -> DtmFitter:
        """Return the fitter with the periods of some of the documents."""
        assert self.period is not None
        return replace(self, period=self.period[documents])

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model averaged over time, every term possible in every topic, and the posteriors of documents without a date."""
        smooth = fit.model.smoothed()
        return smooth, partial(infer_undated, np.log(smooth.phi), smooth.alpha, threads=threads)


def infer_undated(
    log_phi: FloatArray, alpha: FloatArray, offsets: LongArray, term_ids: IntArray, *, threads: int = 1
) -> Float32Array:
    """Return theta (D, K) of documents under log φ (K, V); arguments as of `fit.infer_theta`."""
    batch = Batch(count_between(offsets, term_ids, log_phi.shape[1]))
    return batch.infer(*scaled(log_phi[:, batch.rows].T), alpha, threads).theta

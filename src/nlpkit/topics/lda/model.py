"""A fitted LDA model: how its chains went, and topics for new documents by Gibbs sampling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.by_term import words_of
from nlpkit.topics.base.choose import TopicChoice
from nlpkit.topics.base.heldout import SWEEPS, infer_topics
from nlpkit.topics.base.mixture import FittedMixture
from nlpkit.topics.base.model import Inference, MixtureModel
from nlpkit.topics.base.runs import LDA, MixtureRun
from nlpkit.topics.lda.chain import ComparedChains
from nlpkit.topics.lda.fit import LdaFit


@dataclass(frozen=True, slots=True)
class LdaReport:
    """How a model came about, as long as it is in memory.

    tokens: of the fit; seconds: of each stage; choice: how the number of topics was chosen; prototype: the chains that were compared.
    """

    fit: LdaFit
    tokens: TokenTable
    seconds: Mapping[str, float]
    choice: TopicChoice | None = None
    prototype: ComparedChains | None = None


class FittedLda(FittedMixture):
    """An LDA model that was fitted or loaded. report: how it was fitted, None for a model that was loaded."""

    kind = LDA
    report: LdaReport | None

    def __init__(
        self,
        run: MixtureRun | Run,
        model: MixtureModel,
        report: LdaReport | None = None,
        unfinished: tuple[Path, ...] = (),
    ) -> None:
        """Take the run and the model. unfinished: files that are to go when the run is written."""
        super().__init__(run, model, None if report is None else report.fit.doc_topic)
        self.report = report
        self.unfinished = unfinished

    def inference(self, execution: Execution) -> Inference:
        """Return Gibbs sampling of the topics of documents, phi fixed."""
        return partial(infer_topics, words_of(self.model), seed=execution.seed, threads=execution.n_threads())

    def scoring(self, execution: Execution, method: str) -> tuple[MixtureModel, Inference | None]:
        """Return the model: LDA is scored as `heldout.perplexity` has it, with several chains."""
        return self.model, None

    def inference_parameters(self) -> dict[str, Any]:
        """Return the sweeps."""
        return {"sweeps": SWEEPS}

"""Mixture models beside LDA, pLSA, NMF and GSDMM: documents and options in, a fitted model out; one workflow for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from nlpkit import reporting, wording
from nlpkit.io.cost import stopwatch
from nlpkit.io.mixture_runs import Additions, MixtureRun, mixture_run
from nlpkit.io.mixture_tables import read_arrays, read_model
from nlpkit.io.runs import Run, open_run
from nlpkit.parameters import Execution, with_settings
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.gsdmm import GsdmmFitter, GsdmmOptions
from nlpkit.topics.mixtures.choose import TopicChoice, choose_topics
from nlpkit.topics.mixtures.model import Inference, MixtureFit, MixtureModel
from nlpkit.topics.mixtures.options import TermOptions
from nlpkit.topics.mixtures.scores import Fitter
from nlpkit.topics.nmf import NmfFitter, NmfOptions
from nlpkit.topics.options import NumberOfTopics
from nlpkit.topics.plsa import PlsaFitter, PlsaOptions
from nlpkit.topics.stm.fitter import StmFitter
from nlpkit.topics.stm.options import StmOptions
from nlpkit.types import FloatArray, TokenTable
from nlpkit.workflows.corpus import as_corpus
from nlpkit.workflows.lda_choice import choice_additions, note_choice
from nlpkit.workflows.mixture_model import BatchInference, FittedMixture
from nlpkit.workflows.stm_columns import ColumnInference, stm_additions, stored_columns, with_columns
from nlpkit.workflows.token_options import preprocess_options
from nlpkit.workflows.topic_corpus import read_topic_corpus, warn_of_one_text


class ModelOptions(Protocol):
    """Options of one kind of model."""

    @property
    def k(self) -> int | str:
        """A number of topics, auto, or a range."""

    @property
    def iterations(self) -> int:
        """Most steps of a fit."""

    def in_force(self) -> dict[str, Any]:
        """Return the options for footers, and to make the same model of again."""


class TopicFitter(Fitter, Protocol):
    """A kind of model that is fitted to tokens."""

    @property
    def options(self) -> Any:
        """Its options."""

    @property
    def seeds(self) -> int:
        """Fits of each number of topics that is compared: one where they hardly depend on the seed."""

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None
    ) -> MixtureFit:
        """Fit a corpus."""


# kind of the run → what fits such a model, its options, and what it is called
FITTERS: dict[str, tuple[Callable[[Any], TopicFitter], type[Any], str]] = {
    "plsa": (PlsaFitter, PlsaOptions, "pLSA"),
    "nmf": (NmfFitter, NmfOptions, "NMF"),
    "gsdmm": (GsdmmFitter, GsdmmOptions, "GSDMM"),
    "stm": (StmFitter, StmOptions, "A structural topic model"),
}


@dataclass(frozen=True, slots=True)
class MixtureReport:
    """How a model came about, as long as it is in memory: its fit, documents_with (V,), seconds of each stage, choice of k."""

    fit: MixtureFit
    documents_with: FloatArray
    seconds: Mapping[str, float]
    choice: TopicChoice | None = None


class FittedTopics(FittedMixture):
    """A model of one of FITTERS that was fitted or loaded. report: how it was fitted, None for a model that was loaded."""

    def __init__(
        self, run: MixtureRun | Run, fitter: TopicFitter, fit: MixtureFit, report: MixtureReport | None = None
    ) -> None:
        """Take the run, and what it was fitted by. fit: of a loaded model without its documents."""
        super().__init__(run, fit.model, None if report is None else fit.doc_topic)
        self.fitter, self.fit, self.report = fitter, fit, report
        self.kind = str(run.manifest["kind"])

    def inference(self, execution: Execution) -> Inference:
        """Return what gives documents their topics while phi stays as it is."""
        return self.fitter.inference(self.fit, execution.seed, execution.n_threads())[1]

    def batch_inference(self, columns: Sequence[str], execution: Execution) -> BatchInference:
        """Return what gives new documents their topics, by their columns where the model has a use for these."""
        if isinstance(self.fitter, StmFitter) and self.fitter.uses_columns:
            return ColumnInference(self.fitter, self.fit, columns, execution, self.name)
        return super().batch_inference(columns, execution)

    def scoring(self, execution: Execution, method: str) -> tuple[MixtureModel, Inference | None]:
        """Return the model with every term possible in every topic, and what infers topics."""
        super().scoring(execution, method)
        return self.fitter.inference(self.fit, execution.seed, execution.n_threads())


def fit_plsa(data: Any, *, options: PlsaOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit probabilistic latent semantic analysis (Hofmann 1999); see `fit_topics`."""
    return fit_topics("plsa", data, options, **settings)


def fit_nmf(data: Any, *, options: NmfOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit non-negative matrix factorisation, its factors read as topics; see `fit_topics`."""
    return fit_topics("nmf", data, options, **settings)


def fit_gsdmm(data: Any, *, options: GsdmmOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit the Dirichlet multinomial mixture for short texts (Yin & Wang 2014), one topic a document; see `fit_topics`."""
    return fit_topics("gsdmm", data, options, **settings)


def fit_stm(data: Any, *, options: StmOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit a structural topic model (Roberts, Stewart and Airoldi 2016), correlated topics without covariates; see `fit_topics`."""
    return fit_topics("stm", data, options, **settings)


def fit_topics(
    kind: str,
    data: Any,
    options: ModelOptions | None = None,
    *,
    terms: TermOptions | None = None,
    tokens: TopicTokenOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> FittedTopics:
    """Fit a mixture model; the result is the same on any number of threads.

    Args:
        kind: one of FITTERS.
        data: a Corpus, texts or a data frame; a column tokens is used, else made.
        options, terms, tokens, execution: whole records of options.
        settings: single options, such as k=20, min_df=2, seed=1.

    Raises:
        UsageError: an option is out of its range or does not go with another; InputError: there is nothing to fit.
    """
    make, kind_of_options, name = FITTERS[kind]
    options, terms, tokens, execution = with_settings(
        (options, terms, tokens, execution), settings, (kind_of_options, TermOptions, TopicTokenOptions, Execution)
    )
    token_options, number = preprocess_options(tokens), NumberOfTopics.parse(options.k)
    fitter = make(options)
    seconds: dict[str, float] = {}
    documents = as_corpus(data)
    with stopwatch(seconds, "read"):
        opened = read_topic_corpus(documents, token_options, execution.n_threads())
    with opened as corpus:
        warn_of_one_text(corpus.tokens)
        if isinstance(fitter, StmFitter):
            fitter = with_columns(fitter, corpus.rows)
        additions, choice, n_topics = Additions(), None, number.exactly
        if n_topics is None:
            with stopwatch(seconds, "choice of k"), reporting.progress("fits", None) as update:
                done = partial(_count, update)
                choice = choose_topics(corpus.tokens, fitter, number.within, execution, seeds=fitter.seeds, done=done)
            note_choice(choice)
            additions, n_topics = choice_additions(choice), choice.n_topics
        reporting.note(
            f"{name} of {wording.counted(n_topics, 'topic')} over {wording.counted(len(corpus.tokens.term_ids), 'token')}"
        )
        with stopwatch(seconds, "fit"), reporting.progress("steps", None) as update:
            fit = fitter.fit_tokens(corpus.tokens, n_topics, execution, lambda n, *_: update(n))
        if fit.numbers.get("converged") is False:
            reporting.warn(f"{name} had not converged after {options.iterations} steps; give more with `iterations`")
        additions |= Additions(config={"options": options.in_force()})
        if isinstance(fitter, StmFitter):
            additions |= stm_additions(fitter, fit, terms.top_terms)
        run = mixture_run(
            kind, corpus, fit, terms, execution, parameters={"k": str(options.k), **options.in_force()},
            additions=additions, seconds=seconds,
        )  # fmt: skip
    model = FittedTopics(run, fitter, fit, MixtureReport(fit, corpus.documents_with, seconds, choice))
    model.corpus = documents
    return model


def _count(update: Callable[[int, str], None], n_topics: int, seed: int, scores: Any) -> None:
    update(1, f"fits (k = {n_topics})")


def load_topics(path: Path, execution: Execution) -> FittedTopics:
    """Return the model of a run of one of FITTERS.

    Raises:
        InputError, SchemaError: there is none, or it is damaged.
    """
    run = open_run(path, list(FITTERS), verify=execution.verify)
    make, kind_of_options, _ = FITTERS[run.manifest["kind"]]
    with run.intact():
        options = kind_of_options(**run.model_config("options")["options"])
        fitter = make(options)
        if isinstance(fitter, StmFitter):
            fitter = stored_columns(fitter, run.model_config("options"))
    fit = MixtureFit(read_model(run), None, arrays=read_arrays(run))
    return FittedTopics(run, fitter, fit)

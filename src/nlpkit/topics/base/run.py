"""The fit of mixture models: documents and options in, a fitted model out, one workflow for all kinds.

Parts, in this order:
- The workflow, and what it returns.
- The functions that fit the mixture models of nlpkit: made of what their kinds declare, when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from nlpkit.cluster.options import NumberOfTopics
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import as_corpus
from nlpkit.platform.models import MODELS, TopicModel, resolved
from nlpkit.platform.options import Execution, hands_on, in_force, with_settings
from nlpkit.platform.plain import whole_or_text
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.platform.types import FloatArray, TokenTable
from nlpkit.predict.options import PredictOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.topics.base.choose import TopicChoice
from nlpkit.topics.base.corpus import choice_additions, compare_numbers, read_topic_corpus, warn_of_one_text
from nlpkit.topics.base.mixture import DocumentInference, FitSettings, FittedMixture, ModelColumns
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel
from nlpkit.topics.base.options import CheckpointOptions, TermOptions
from nlpkit.topics.base.resume import UnfinishedWork, digest, keeping
from nlpkit.topics.base.runs import Additions, MixtureRun, TopicCorpus, mixture_run
from nlpkit.topics.base.scores import Fitter, Keeper
from nlpkit.topics.base.tables import read_arrays, read_model, read_weights


class TopicFitter(Fitter, Protocol):
    """A kind of model that is fitted to tokens."""

    @property
    def options(self) -> Any:
        """Its options."""

    @property
    def seeds(self) -> int:
        """Fits of each number of topics that is compared: one where they hardly depend on the seed."""

    @property
    def counts_tokens(self) -> bool:
        """Whether held-out documents can be scored token by token, as those of LDA."""

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""


@dataclass(frozen=True, slots=True)
class MixtureReport:
    """How a model came about, as long as it is in memory: its fit and tokens, seconds of each stage, choice of k."""

    fit: MixtureFit
    tokens: TokenTable
    seconds: Mapping[str, float]
    choice: TopicChoice | None = None


class FittedTopics(FittedMixture):
    """A mixture model that was fitted or loaded. report: how it was fitted, None for a model that was loaded."""

    def __init__(
        self, run: MixtureRun | Run, fitter: TopicFitter, fit: MixtureFit, report: MixtureReport | None = None
    ) -> None:
        """Take the run, and what it was fitted by. fit: of a loaded model without its documents."""
        super().__init__(run, fit.model, None if report is None else fit.doc_topic)
        self.fitter, self.fit, self.report = fitter, fit, report
        self.kind = str(run.manifest["kind"])
        self.columns = columns_of(self.kind)
        self.labels = self.columns.labels(fit, self.config)
        self.separator = getattr(fitter.options, "separator", None)

    @property
    def tree(self) -> FloatArray | None:
        """Parent, level and documents (K, 3) of the topics of hierarchical LDA, None for other models."""
        return self.fit.arrays.get("tree")

    def inference(self, execution: Execution) -> Inference:
        """Return what gives documents their topics while phi stays as it is."""
        return self.fitter.inference(self.fit, execution.seed, execution.n_threads())[1]

    @property
    def prediction_options(self) -> Sequence[str]:
        """The fields of PredictOptions that it has a use for."""
        return ("encoder",) if embeds(self.fitter.options) else super().prediction_options

    def document_inference(
        self, stream: DocumentStream, options: PredictOptions, execution: Execution
    ) -> DocumentInference:
        """Return what gives batches of documents their topics."""
        further = self.columns.inference(self, self.fitter, self.fit, stream, options, execution)
        return super().document_inference(stream, options, execution) if further is None else further

    def scoring(self, execution: Execution, method: str) -> tuple[MixtureModel, Inference | None]:
        """Return the model with every term possible in every topic, and what infers topics."""
        if self.fitter.counts_tokens and method == "left-to-right":
            return self.model, None
        super().scoring(execution, method)
        return self.fitter.inference(self.fit, execution.seed, execution.n_threads())


def fit_topics(
    kind: str,
    data: Any,
    options: Any = None,
    *,
    terms: TermOptions | None = None,
    tokens: TopicTokenOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    execution: Execution | None = None,
    checkpoints: CheckpointOptions | None = None,
    checkpoint: str | Path | None = None,
    force: bool = False,
    **settings: Any,
) -> FittedTopics:
    """Fit a mixture model; the result is the same on any number of threads.

    Args:
        kind: one of MODELS.
        data: a Corpus, texts or a data frame. A column tokens is used; without one nlpkit tokenises the texts. A model that needs
            labels takes them from the column label.
        options: how the model is fitted.
        terms: how many words describe a topic, and which.
        tokens: how texts become tokens.
        encoder: which model embeds the documents, where they have no column embedding (ctm and fastopic).
        execution: seed and threads.
        checkpoints: how often unfinished work is kept, and whether it is continued.
        checkpoint: the run directory that the model will be saved as. Unfinished work is kept beside it (CHECKPOINT.checkpoint.npz,
            CHECKPOINT.checkpoint.k.jsonl) until `save`, so that `resume` can continue it. None: nothing is kept.
        force: drop unfinished work that is there.
        settings: single options, such as k=20, min_df=2, seed=1.

    Raises:
        UsageError: an option is out of its range or does not go with another.
        InputError: there is nothing to fit, or a column that the model takes is missing or cannot be used.
        MissingError: the extra `neural` is not installed, which etm and embeddings need.
    """
    declared = MODELS[kind]
    kind_of_options, name = resolved(declared.options), declared.name
    if declared.finds_number and "k" in settings:
        raise UsageError(
            f"`k`: {name[:1].lower()}{name[1:]} finds the number of topics itself; leave `k` out", parameter="k"
        )
    records: list[Any] = [options, terms, tokens, execution, checkpoints]
    kinds: list[Any] = [kind_of_options, TermOptions, TopicTokenOptions, Execution, CheckpointOptions]
    if declared.embeddings:
        records, kinds = [*records, EncoderOptions.from_value(encoder)], [*kinds, EncoderOptions]
    elif encoder is not None:
        settings["encoder"] = encoder  # refused, as any name that is no option of the model
    options, terms, tokens, execution, checkpoints, *embedding = with_settings(records, settings, kinds)
    token_options, fitter = preprocess_options(tokens), resolved(declared.fitter)(options)
    columns = columns_of(kind)
    unfinished = unfinished_work(checkpoint, checkpoints, options, force=force)  # an error before any reading
    columns.check()
    seconds: dict[str, float] = {}
    documents = as_corpus(data)
    with stopwatch(seconds, "read"):
        opened = read_topic_corpus(documents, token_options, execution.n_threads(), with_embeddings=embeds(options))
    with opened as corpus:
        with stopwatch(seconds, "columns"):
            around = FitSettings(
                documents.options.label_col, embedding[0] if embedding else EncoderOptions(), execution
            )
            fitter, corpus, additions = columns.prepared(fitter, corpus, around)
        run, report = fit_corpus(
            kind,
            corpus,
            fitter,
            terms,
            execution,
            seconds,
            unfinished,
            lambda fit: additions | columns.additions(fitter, fit, terms.top_terms),
        )
    model = FittedTopics(run, fitter, report.fit, report)
    model.corpus, model.unfinished = documents, unfinished.files(chooses=True)
    return model


def unfinished_work(
    checkpoint: str | Path | None, checkpoints: CheckpointOptions, options: Any, *, force: bool
) -> UnfinishedWork:
    """Return where the unfinished work of a fit is kept.

    Raises:
        UsageError: a number of topics that cannot be meant, or options of checkpoints where none is kept; OutputExistsError: there is
            unfinished work that is neither to be continued nor to be dropped.
    """
    number = number_of_topics(options)
    if checkpoint is None and checkpoints != CheckpointOptions():
        raise UsageError(
            "`resume` and `checkpoint_every` need the path of the run; give `checkpoint`", parameter="resume"
        )
    unfinished = UnfinishedWork(None if checkpoint is None else Path(checkpoint), checkpoints)
    unfinished.check(chooses=number.exactly is None, force=force)
    return unfinished


def fit_corpus(
    kind: str,
    corpus: TopicCorpus,
    fitter: TopicFitter,
    terms: TermOptions,
    execution: Execution,
    seconds: dict[str, float],
    unfinished: UnfinishedWork,
    further: Callable[[MixtureFit], Additions] = lambda _: Additions(),
) -> tuple[MixtureRun, MixtureReport]:
    """Fit a model to documents that were read, with the number of topics of its options or one that is chosen.

    Args:
        seconds: of each stage so far, to which those of the fit are added. unfinished: where the fit is kept until it is done.
        further: additions to the run that are made of the fit.

    Raises:
        UsageError: an option is out of its range or does not go with another.
    """
    name, options = MODELS[kind].name, fitter.options
    number, additions, choice = number_of_topics(options), Additions(), None
    n_topics = number.exactly
    warn_of_one_text(corpus.tokens)
    identity = {"kind": kind, "inputs": [[i.sha256, i.rows] for i in corpus.inputs], "options": in_force(options),
                "tokens": digest(corpus.tokens), "columns": digest(fitter, without="options"), "seed": execution.seed}  # fmt: skip
    if n_topics is None:
        with stopwatch(seconds, "choice of k"):
            choice = compare_numbers(
                corpus.tokens, fitter, number.within, execution, unfinished, identity, seeds=fitter.seeds
            )  # fmt: skip
        additions, n_topics = choice_additions(choice), choice.n_topics
    over = f"over {wording.counted(len(corpus.tokens.term_ids), 'token')}"
    if n_topics:
        reporting.note(f"{name} of {wording.counted(n_topics, 'topic')} {over}")
    else:
        reporting.note(f"{name} {over}; {options.priors()}")
    identity |= {"k": n_topics}
    with (
        stopwatch(seconds, "fit"),
        reporting.progress("steps", None) as update,
        keeping(unfinished, identity) as keeper,
    ):
        fit = fitter.fit_tokens(corpus.tokens, n_topics, execution, lambda n, *_: update(n), keeper)
    for note in fit.notes:
        reporting.note(note)
    for warning in fit.warnings:
        reporting.warn(warning)
    if fit.numbers.get("converged") is False:
        reporting.warn(f"the fit had not converged after {options.iterations} steps; give more with `iterations`")
    without = int((fit.model.topic_totals + fit.model.eta == 0).sum())
    if without:
        reporting.warn(f"{wording.counted(without, 'topic')} without any word; use a smaller `k`")
    scores = {name: pa.array(values) for name, values in fit.topic_scores.items()}
    additions |= further(fit) | Additions(topic_columns=scores, config={"options": in_force(options)})
    run = mixture_run(
        kind, corpus, fit, terms, execution, additions=additions, seconds=seconds,
        parameters=({"k": whole_or_text(options.k)} if n_topics else {}) | in_force(options),
    )  # fmt: skip
    return run, MixtureReport(fit, corpus.tokens, seconds, choice)


def number_of_topics(options: Any) -> NumberOfTopics:
    """Return what the options say of the number of topics; exactly 0 for models that find it with the topics."""
    return NumberOfTopics.parse(options.k) if hasattr(options, "k") else NumberOfTopics(exactly=0)


def embeds(options: Any) -> bool:
    """Return whether a model of these options infers topics from embeddings of documents."""
    return bool(getattr(options, "embeds", False))


def columns_of(kind: str) -> ModelColumns:
    """Return what a kind of model reads of documents beside their words."""
    columns: ModelColumns = resolved(MODELS[kind].columns)()
    return columns


def load_topics(path: Path, execution: Execution) -> FittedTopics:
    """Return the mixture model of a run.

    Raises:
        InputError, SchemaError: there is none, or it is damaged.
    """
    run = open_run(path, [kind for kind in MODELS if MODELS[kind].fitter], verify=execution.verify)
    kind = run.manifest["kind"]
    with run.intact():
        options = resolved(MODELS[kind].options)(**run.model_config("options")["options"])
        fitter = columns_of(kind).restored(resolved(MODELS[kind].fitter)(options), run.model_config("options"))
    fit = MixtureFit(read_model(run), None, arrays=read_arrays(run), weights=read_weights(run))
    with run.intact():
        fitter.check(fit)
        return FittedTopics(run, fitter, fit)


# ------------------------------------------------------------------------------------------------------------------------
# The functions that fit the mixture models of nlpkit: made of what their kinds declare, when they are first asked for.


def __getattr__(name: str) -> Any:
    """Return the function fit_<kind> of a model."""
    kind = name.removeprefix("fit_").replace("_", "-")
    if not name.startswith("fit_") or kind not in MODELS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    model = MODELS[kind]
    globals()[name] = resolved(model.fit) if model.fit else topic_function(model)
    return globals()[name]


def topic_function(model: TopicModel) -> Callable[..., FittedTopics]:
    """Return the public function that fits a model, with the signature and the docstring that its record of options makes."""

    def fit(data: Any, *, options: Any = None, **settings: Any) -> FittedTopics:
        return fit_topics(model.kind, data, options, **settings)

    def fit_embedded(
        data: Any, *, options: Any = None, encoder: EncoderOptions | str | None = None, **settings: Any
    ) -> FittedTopics:
        return fit_topics(model.kind, data, options, encoder=encoder, **settings)

    function = fit_embedded if model.embeddings else fit
    record = resolved(model.options)
    function.__name__ = function.__qualname__ = model.function
    function.__doc__ = model.docstring
    function.__annotations__["options"] = f"{record.__name__} | None"
    globals()[record.__name__] = record  # where its annotations are looked up
    return hands_on(fit_topics, without=("options",) if model.embeddings else ("options", "encoder"))(function)

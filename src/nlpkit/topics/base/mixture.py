"""A fitted mixture model of any kind: its tables, the run directory it is saved as, and topics for new documents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import text_hashes
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus
from nlpkit.platform.documents.dates import COPY_KEY
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.passes import ColumnMaker, Pass, WithColumns
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import BoolArray, CsrMatrix, Float32Array, FloatArray, IntArray, LongArray
from nlpkit.predict.options import TOPIC_COLUMNS, PredictOptions
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.tokens import cut_as_model
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, paths_of, theta_of
from nlpkit.topics.base.runs import Additions, MixtureRun, TopicCorpus
from nlpkit.topics.base.tables import FittedTexts, layer_names, path_columns, read_fitted_texts, read_left_out
from nlpkit.topics.base.topic_run import TopicRun
from nlpkit.topics.base.topic_tables import topic_columns, with_topic_columns
from nlpkit.weights.counts import CountedCorpus, count_corpus

if TYPE_CHECKING:
    from nlpkit.topics.base.labels import LabelPredictor, PredictionQuality

BATCH = 4096  # documents whose topics are inferred at once

# theta (D, K), and which documents have topics (D,)
Inferred: TypeAlias = tuple[Float32Array, BoolArray]


class DocumentInference:
    """Gives the documents of one batch after another their topics.

    infer: a batch, which of its documents are new (D,), offsets (D + 1,) and ids of their terms that the model knows → topics.
    """

    def __init__(self, infer: Callable[[pa.RecordBatch, BoolArray, LongArray, IntArray], Inferred]) -> None:
        """Take what infers the topics of a batch."""
        self.infer = infer

    def __call__(self, batch: pa.RecordBatch, new: BoolArray, offsets: LongArray, ids: IntArray) -> Inferred:
        """Return the topics of a batch."""
        return self.infer(batch, new, offsets, ids)

    def parameters(self) -> dict[str, Any]:
        """Return what footers say of it."""
        return {}

    def report(self) -> None:
        """Say what was known of the documents."""


class FittedMixture(TopicRun):
    """A mixture model that was fitted or loaded: each document is a mixture of topics.

    Attributes:
        topics: the topics (K rows): topic, size, share, label, top_terms, scores.
        documents: the documents (D rows) with their main topic.
        terms: the vocabulary (V,), in the order of the columns of phi.
        phi: probability of each term in each topic (K, V), rows sum to 1.
        theta: probability of each topic in each document (D, K), rows sum to 1.
        tree: parent, level and documents (K, 3) of the topics of hierarchical LDA, else None.
        summary: the main numbers of the fit.
        path: the run directory that it was saved as or loaded from, else None.
        corpus: the documents that it was fitted to, None for a model that was loaded.
    """

    # model: counts and priors. doc_topic: n_dk (D, K) of the documents of the fit, None for a model that was loaded. run: the run that
    # was read, or that can be written. labels: what predicts labels by the topics, None for most kinds of models; separator: between
    # several labels in a text, None where a document has one. unfinished: files that are to go when the run is written.
    _INTERNAL: ClassVar[tuple[str, ...]] = (
        "labels", "separator", "unfinished", "model", "doc_topic", "prediction_options", "inference", "document_inference", "scoring",
        "scoring_by_part", "inference_parameters", "name", "fitted_texts", "left_out", "config", "report", "fit", "fitter", "renumbered",
        "change_options",
    )  # fmt: skip

    labels: LabelPredictor | None = None
    separator: str | None = None
    unfinished: Sequence[Path] = ()

    def __init__(self, run: MixtureRun | Run, model: MixtureModel, doc_topic: CsrMatrix | None = None) -> None:
        """Take the run and the model."""
        self.run: MixtureRun | Run = run
        self.model, self.doc_topic = model, doc_topic
        self.path = run.path if isinstance(run, Run) else None

    @property
    def tree(self) -> FloatArray | None:
        """Parent, level and documents (K, 3) of the topics, None where they are no tree."""
        return None

    @property
    def prediction_options(self) -> Sequence[str]:
        """The fields of PredictOptions that it has a use for."""
        return ("probabilities",) if self.labels is not None and self.labels.names else ()

    @abstractmethod
    def inference(self, execution: Execution) -> Inference:
        """Return what gives documents their topics while phi stays as it is."""

    def document_inference(
        self, stream: DocumentStream, options: PredictOptions, execution: Execution
    ) -> DocumentInference:
        """Return what gives batches of documents their topics; a document without a word of the model has none."""
        infer = self.inference(execution)

        def theta(batch: pa.RecordBatch, new: BoolArray, offsets: LongArray, ids: IntArray) -> Inferred:
            return infer(offsets, ids), np.diff(offsets) > 0

        return DocumentInference(theta)

    def scoring(self, execution: Execution, method: str) -> tuple[MixtureModel, Inference | None]:
        """Return the model whose phi scores held-out documents, and what infers their topics; None for Gibbs sampling of LDA.

        Raises:
            UsageError: the method is defined for LDA alone.
        """
        if method != "completion":
            raise UsageError(
                f"`method={method}` only works for LDA; for a run of {self.kind}, use `method=completion`",
                parameter="method",
            )
        return self.model.smoothed(), self.inference(execution)

    def scoring_by_part(
        self, rows: pa.Table, execution: Execution, method: str
    ) -> Iterator[tuple[LongArray, MixtureModel, Inference | None]]:
        """Yield parts of held-out documents, by row, with what `scoring` returns for them; here all of them.

        Args:
            rows: id of the documents, and date where they have one.
        """
        yield np.arange(rows.num_rows), *self.scoring(execution, method)

    def inference_parameters(self) -> dict[str, Any]:
        """Return what footers say of the inference."""
        return {}

    @property
    def name(self) -> str:
        """What the model is called in messages."""
        return "the model" if self.path is None else f"the run {self.path}"

    @property
    def terms(self) -> Sequence[str]:
        """The vocabulary (V,), in the order of the columns of phi."""
        return self.model.terms

    @property
    def phi(self) -> FloatArray:
        """Probability of each term in each topic (K, V); `terms` are those of the columns."""
        return self.model.phi

    @property
    def theta(self) -> FloatArray:
        """Probability of each topic in each document of the fit (D, K); the prior's mean of one without words."""
        if self.doc_topic is not None:
            return theta_of(self.doc_topic, self.model.alpha, slice(None))
        from nlpkit.topics.base.tables import read_theta

        assert isinstance(self.run, Run)  # only a run that was read comes without its counts
        return read_theta(self.run)(slice(None))

    @property
    def summary(self) -> Mapping[str, Any]:
        """The main numbers of the fit."""
        if isinstance(self.run, MixtureRun):
            return self.run.summary
        return {k: v for k, v in self.run.manifest["results"].items() if k != "trace"}

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the run directory, and remove what was kept of the unfinished fit.

        Raises:
            OutputExistsError: it is there and `force` was not given; and what `check_target` raises.
        """
        self.path = super().save(path, force=force)
        for leftover in self.unfinished:
            leftover.unlink(missing_ok=True)
        return self.path

    @contextmanager
    def predict_batches(
        self, corpus: Corpus, *, options: PredictOptions | None = None, execution: Execution | None = None
    ) -> Iterator[Pass]:
        """Return a context with the topics of a corpus, inferred batch by batch.

        Raises:
            UsageError: an option that mixture models have no use for.
        """
        options = options or PredictOptions()
        options.refuse_others(self.prediction_options, f"a run of {self.kind}")
        with corpus.open() as stream:
            yield Pass(MixtureMaker(self, stream, options, execution or Execution()))

    def fitted_texts(self) -> FittedTexts:
        """Return the topics of the texts of the fit."""
        if isinstance(self.run, MixtureRun):
            return FittedTexts(self.run.files.model_tables.get("training"))
        return read_fitted_texts(self.run)

    def left_out(self) -> frozenset[str] | None:
        """Return the terms of the texts that did not become terms of the model, None where that is not known."""
        if isinstance(self.run, Run):
            return read_left_out(self.run)
        table = self.run.files.model_tables.get("left_out")
        return frozenset(table.column("term").to_pylist()) if isinstance(table, pa.Table) else None

    @property
    def config(self) -> Mapping[str, Any]:
        """What model/config.json holds."""
        return self.run.files.model_config if isinstance(self.run, MixtureRun) else self.run.model_config("tokens")


@dataclass(frozen=True, slots=True)
class FitSettings:
    """What a fit is told beside its documents. label_col: how the column of labels, here called label, is named in the input."""

    label_col: str
    encoder: EncoderOptions
    execution: Execution


class ModelColumns:
    """What a kind of model reads of documents beside their words, and what its runs hold of that; here, as of most kinds, nothing.

    The fitters that it takes and gives are those of its kind.
    """

    def check(self) -> None:
        """Raise MissingError where an extra that the model needs is not installed."""

    def prepared(self, fitter: Any, corpus: TopicCorpus, settings: FitSettings) -> tuple[Any, TopicCorpus, Additions]:
        """Return the fitter with what it takes of the documents, the corpus without it, and what the run says of it.

        Raises:
            ColumnError, InputError: a column that is not there, or cannot be used. UsageError, MissingError: embeddings that cannot be
                made.
        """
        return fitter, corpus, Additions()

    def additions(self, fitter: Any, fit: MixtureFit, n_terms: int) -> Additions:
        """Return what the run of a fit has beside that of any mixture model. n_terms: words that are listed of each topic."""
        return Additions()

    def restored(self, fitter: Any, config: Mapping[str, Any]) -> Any:
        """Return the fitter of a run with what its config says of columns."""
        return fitter

    def labels(self, fit: MixtureFit, config: Mapping[str, Any]) -> LabelPredictor | None:
        """Return what predicts labels by a model, None for a kind that predicts none."""
        return None

    def inference(
        self, model: FittedMixture, fitter: Any, fit: MixtureFit, stream: DocumentStream, options: PredictOptions,
        execution: Execution,
    ) -> DocumentInference | None:  # fmt: skip
        """Return what gives documents their topics; None for the kinds of models that read words alone.

        Raises:
            UsageError, InputError, MissingError: the documents have not what the model needs.
        """
        return None


class MixtureMaker(ColumnMaker):
    """Documents with topics that are inferred, phi fixed; those of the fit keep theirs."""

    def __init__(
        self, model: FittedMixture, stream: DocumentStream, options: PredictOptions, execution: Execution
    ) -> None:
        """Take the model and the documents. execution: seed and threads of the inference."""
        super().__init__("the model" if model.path is None else str(model.path), stream, execution.seed)
        self.fitted, self.options, self.execution = model, options, execution
        at = stream.schema.get_field_index("label")
        is_set = at >= 0 and pa.types.is_nested(stream.schema.field(at).type)  # with which one class is not compared
        self.gives = "topics" if model.labels is None or is_set else "classes"
        self.quality = None if model.labels is None else model.labels.quality(model.separator)
        self.left_out = model.left_out()
        self.infer = model.document_inference(stream, options, execution)
        self.counts = dict.fromkeys(
            ("known", "unassigned", "tokens", "unknown_tokens", "left_out_tokens"), 0
        )  # fmt: skip
        labels, layers = model.labels, layer_names(model.tree)
        of_labels = list(labels.schema(probabilities=options.probabilities)) if labels is not None else []
        self.replaces = (*TOPIC_COLUMNS, *(f.name for f in of_labels), *layers)
        self._kept = [name for name in stream.schema.names if name not in self.replaces]
        schema = with_topic_columns(pa.schema([stream.schema.field(name) for name in self._kept]))
        self._schema = pa.schema(
            [*schema, *of_labels, *(pa.field(name, pa.int32()) for name in layers)], schema.metadata
        )

    def parameters(self) -> dict[str, Any]:
        """Return what the footer says of the prediction."""
        return {"model": self.name, **self.fitted.inference_parameters(), **self.infer.parameters()}

    def summary(self) -> dict[str, Any]:
        """Return how many documents and tokens there were, and how many the model does not know."""
        return {"documents": self.documents, **self.counts, **({} if self.quality is None else self.quality.summary())}

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents with their topics. Raises InputError where there are none, or their tokens do not fit."""
        options = cut_as_model(self.stream, self.fitted.config["tokens"], self.fitted.name)
        with count_corpus(
            self.stream, options or PreprocessOptions(),
            columns=self._kept, threads=self.execution.n_threads(), own_tokens=options is None,
        ) as words:  # fmt: skip
            infer = _TopicInference(
                self.fitted, self.infer, words, self.left_out, self.quality, probabilities=self.options.probabilities
            )
            with reporting.progress("topics", words.n_docs) as update:
                for whole, encoded in words.encoded():
                    for start in range(0, whole.num_rows, BATCH):
                        stop = min(start + BATCH, whole.num_rows)
                        offsets = encoded.offsets[start : stop + 1]
                        ids = encoded.term_ids[offsets[0] : offsets[-1]]
                        batch = whole.slice(start, stop - start)
                        yield batch, infer(batch, offsets - offsets[0], ids, self.counts)
                        update(self.documents)

    def completed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the documents with their columns in the order of the schema."""
        return pa.RecordBatch.from_arrays([batch.column(n) for n in self._schema.names], schema=self._schema)

    def report(self) -> None:
        """Say how many documents and words there were, and how many the model does not know."""
        n = self.counts
        lineage = self.fitted.run.manifest.get("lineage") or {}
        dropped = ", or of a topic that an edit dropped" if lineage.get("dropped") and n["known"] else ""
        by_fate = {
            "with a topic": self.documents - n["unassigned"],
            f"without a word that {self.fitted.name} knows{dropped} (topic -1)": n["unassigned"],
        }
        parts = [f"{wording.count(count)} {fate}" for fate, count in by_fate.items() if count]
        reporting.note(f"{wording.counted(self.documents, 'document')}: {', '.join(parts)}")
        if n["known"]:
            reporting.note(f"{wording.count(n['known'])} known from the fit, with the topic they have there")
        self.infer.report()
        if n["unknown_tokens"]:
            share = n["unknown_tokens"] / n["tokens"]
            are = "is" if n["unknown_tokens"] == 1 else "are"
            reporting.note(
                f"{wording.count(n['unknown_tokens'])} of {wording.counted(n['tokens'], 'token')} ({share:.0%}) {are} not in its "
                f"vocabulary: {self._unknown()}"
            )

        if self.quality is not None:
            self.quality.report(self._other_labels())

    def _other_labels(self) -> str:
        """Return which labels the predictions are compared with, if the model learned from those of another column; else ""."""
        field = (
            self.stream.schema.field("label") if "label" in self.stream.schema.names else pa.field("label", pa.null())
        )
        here = (field.metadata or {}).get(COPY_KEY, b"label").decode()
        readings = [entry.get("reading") or {} for entry in self.fitted.run.manifest.get("inputs") or []]
        learned = {reading.get("label_col", "label") for reading in readings} - {here}
        return "".join(
            f"; these are of the column '{here}', the model learned from '{name}' (`label_col={name}`)"
            for name in learned
        )

    def _unknown(self) -> str:
        """Return why words are not in the vocabulary."""
        if self.left_out is None:
            return "words that the fit left out or never saw"
        gone, unseen = self.counts["left_out_tokens"], self.counts["unknown_tokens"] - self.counts["left_out_tokens"]
        parts = [f"{wording.count(gone)} of words that the fit left out (`min_df` and the like)"] if gone else []
        parts += [f"{wording.count(unseen)} of words that it never saw"] if unseen else []
        return ", ".join(parts)


class _TopicInference:
    """Infers the topics of batches of documents, and counts what the model does not know."""

    def __init__(
        self,
        fitted: FittedMixture,
        infer: DocumentInference,
        words: CountedCorpus,
        left_out: frozenset[str] | None,
        quality: PredictionQuality | None,
        *,
        probabilities: bool,
    ) -> None:
        self.labels, self.quality, self.probabilities = fitted.labels, quality, probabilities
        number = {term: i for i, term in enumerate(fitted.model.terms)}
        self.infer, self.texts, self.tree = infer, fitted.fitted_texts(), fitted.tree
        self.place = np.array([number.get(term, -1) for term in words.terms], np.int32)
        self.left_out = None if left_out is None else np.array([term in left_out for term in words.terms], bool)

    def __call__(
        self, batch: pa.RecordBatch, offsets: LongArray, ids: IntArray, counts: dict[str, int]
    ) -> dict[str, pa.Array]:
        """Return the topics of documents; offsets and term ids are of their tokens."""
        row = self.texts.rows(batch.column("id").to_pylist(), text_hashes(batch.column("text")).to_pylist())
        known, place = row >= 0, self.place[ids]
        used = place >= 0
        if self.labels is None:
            used &= ~np.repeat(known, np.diff(offsets))  # of texts of the fit nothing but labels is inferred
        kept = np.concatenate([[0], np.cumsum(used)])[offsets]
        theta, full = self.infer(batch, ~known, kept, place[used])
        predicted = {}
        if self.labels is not None:
            predicted = self.labels.columns(theta, np.diff(kept), probabilities=self.probabilities)
        if self.quality is not None and "label" in batch.schema.names:
            self.quality.add(batch.column("label"), predicted["prediction"], among=~known)
        paths = None if self.tree is None else np.where(full[:, None], paths_of(theta, self.tree), -1)
        at = np.arange(len(theta))
        best = theta.argmax(axis=1)
        top = theta[at, best]
        theta[at, best] = 0.0
        margin = top - theta.max(axis=1) if theta.shape[1] > 1 else np.zeros(len(top))
        topic, top, margin = np.where(full, best, -1), np.where(full, top, 0.0), np.where(full, margin, 0.0)
        if known.any():
            fit = self.texts
            for values, of_fit in ((topic, fit.topic), (top, fit.topic_prob), (margin, fit.margin)):
                values[known] = of_fit[row[known]]
            if paths is not None:
                paths[known] = fit.paths[row[known]]
        counts["known"] += int(known.sum())
        counts["unassigned"] += int((topic < 0).sum())
        counts["tokens"] += len(ids)
        counts["unknown_tokens"] += int((place < 0).sum())
        if self.left_out is not None:
            counts["left_out_tokens"] += int(self.left_out[ids[place < 0]].sum())
        return {**topic_columns(topic, top, topic, margin), **predicted, **path_columns(paths)}

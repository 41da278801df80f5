"""A classifier that was trained or loaded, and its predictions for new documents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from nlpkit.classify.classifier import TextClassifier
from nlpkit.classify.data import check_predicted_columns, note_missing, note_unseen
from nlpkit.classify.explain import Explainer
from nlpkit.classify.features import HAND_FEATURES, ColumnCounts, hand_features
from nlpkit.classify.files import classifier_tables, read_classifier
from nlpkit.classify.kinds import KINDS
from nlpkit.classify.models.networks import WordRows
from nlpkit.classify.prediction_values import Predicted
from nlpkit.classify.tables import NO_PROBABILITIES, prediction_columns
from nlpkit.embed.embeddings import RunEmbeddings
from nlpkit.errors import UsageError
from nlpkit.platform import notebook, reporting, wording
from nlpkit.platform.documents.corpus import Corpus
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.passes import ColumnMaker, Pass, WithColumns
from nlpkit.platform.runs.reading import learned_from
from nlpkit.platform.runs.runs import NewRun, Run, RunTables, add_output, new_run, open_run
from nlpkit.platform.types import BoolArray, FloatArray, IntArray
from nlpkit.predict.model import RunModel
from nlpkit.predict.options import PredictOptions
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.tokens import cut_as_model
from nlpkit.version import __version__
from nlpkit.weights.counts import CountedCorpus, count_corpus

if TYPE_CHECKING:
    from nlpkit.classify.scores import ClassifierScores
    from nlpkit.metrics.results import Evaluation, Gate
    from nlpkit.platform.documents.corpora import DocumentStream
    from nlpkit.platform.runs.provenance import Provenance

BATCH = 4096
MOST_CLASSES = 8  # in the sentence about predictions
COLUMNS = ("prediction", "prediction_prob")
PREDICTIONS = "predictions.parquet"  # of more documents, in the run


class ClassifierModel(RunModel):
    """A classifier, trained (`TrainedClassifier`) or loaded (`LoadedClassifier`)."""

    _INTERNAL: ClassVar[tuple[str, ...]] = (
        "name", "classifier", "config", "learned_from", "title", "run_tables", "scores", "notes", "all_notes", "provenance",
        "execution", "seconds",
    )  # fmt: skip

    kind = "classify"
    name: str  # in footers and messages
    classifier: TextClassifier
    config: Mapping[str, Any]  # model/config.json

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in order."""
        return self.classifier.names

    @abstractmethod
    def learned_from(self, stream: DocumentStream) -> list[str]:
        """Return the inputs of a stream that the model learned from."""

    @contextmanager
    def predict_batches(
        self, corpus: Corpus, *, options: PredictOptions | None = None, execution: Execution | None = None
    ) -> Iterator[Pass]:
        """Return a context with documents and their classes; new documents need no label.

        Raises:
            UsageError: probabilities of a model that has none, or an option that a classifier has no use for.
        """
        options, execution = options or PredictOptions(), execution or Execution()
        options.refuse_others(("probabilities", "explain", "encoder"), "a classifier")
        kind = KINDS.get(str(self.config["model"].get("kind")))
        if options.probabilities and self.classifier.calibrator is None and kind is not None and not kind.probabilities:
            raise UsageError(
                NO_PROBABILITIES if self.classes else "`probabilities`: the model predicts numbers; leave it out",
                parameter="probabilities",
            )
        with corpus.open() as stream, ExitStack() as stack:
            yield Pass(ClassMaker(self, stream, stack, options, execution))

    def __repr__(self) -> str:
        return wording.described(
            self, wording.counted(len(self.classes), "class", "classes") if self.classes else "numbers"
        )

    def _repr_html_(self) -> str:
        scores = {row["class"]: f"{row['f1']:.3f}" for row in self._class_rows()}
        return notebook.html(["class", "F1"], [(name, scores.get(name)) for name in self.classes])

    def _class_rows(self) -> list[dict[str, Any]]:
        table = self.tables().get("classes")
        return [] if table is None else table.to_pylist()


@dataclass(repr=False)
class TrainedClassifier(ClassifierModel):
    """A classifier that was trained, with all that a run directory holds.

    Attributes:
        classes: the names of the classes.
        evaluation: scores on test documents, None where nothing was tested.
        gates: the outcomes of the bounds that were set.
        candidates: what `model="auto"` compared.
        decisions: a search for `cost` or `alpha`, and thresholds, as metrics.json has them.
        parameters: what the manifest records.
    """

    # scores: the evaluation with the scores of the majority class. notes: sentences about the tables.

    classifier: TextClassifier
    config: Mapping[str, Any]
    title: str
    parameters: dict[str, Any]
    run_tables: dict[str, pa.Table]
    evaluation: Evaluation | None
    scores: ClassifierScores | None
    candidates: list[dict[str, Any]]
    decisions: dict[str, Any]
    notes: list[str]
    provenance: Provenance
    execution: Execution
    seconds: dict[str, float]
    name: str = "the model"

    def tables(self) -> Mapping[str, pa.Table]:
        """Return class_terms; of a model that was tested documents, classes and errors; confusion and twins where there are some."""
        return self.run_tables

    def report(self) -> dict[str, Any]:
        """Return the scores as metrics.json holds them."""
        report: dict[str, Any] = {"nlpkit_version": __version__, "seed": self.execution.seed}
        if self.evaluation is not None and self.scores is not None:
            report |= {"targets": [result.to_dict() for result in self.scores.results]}
        if self.candidates:
            report["candidates"] = self.candidates
        report |= self.decisions
        if self.evaluation is not None and self.evaluation.gates:
            report |= {"gates": [g.to_dict() for g in self.evaluation.gates], "passed": self.evaluation.passed}
        return report

    @property
    def gates(self) -> list[Gate]:
        """The outcomes of the bounds that were set."""
        return [] if self.evaluation is None else self.evaluation.gates

    @property
    def all_notes(self) -> list[str]:
        """Sentences about the scores and the tables."""
        return [*([] if self.scores is None else self.scores.model.notes), *self.notes]

    def learned_from(self, stream: DocumentStream) -> list[str]:
        """Return nothing: what a run was made from is known when it is saved."""
        return []

    @cached_property
    def run(self) -> NewRun:  # type: ignore[override]
        """The run that can be written."""
        results = {} if self.evaluation is None else {name: score.value for name, score in self.evaluation.items()}
        tables, _ = classifier_tables(self.classifier, tokens=self.config["tokens"], encoder=self.config["encoder"])
        files = RunTables(self.run_tables, tables, self.config, reports={"metrics": self.report()})
        return new_run(
            "classify", files, self.provenance, parameters=self.parameters, results=results, execution=self.execution,
            seconds=self.seconds,
        )  # fmt: skip


class LoadedClassifier(ClassifierModel):
    """The classifier of a run directory."""

    run: Run

    def __init__(self, run: Run) -> None:
        self.run, self.name = run, str(run.path)
        self.classifier, self.config = read_classifier(run)

    def learned_from(self, stream: DocumentStream) -> list[str]:
        """Return the inputs of a stream that the model learned from."""
        return learned_from(self.run, stream.inputs)


def load_classifier(path: Path, execution: Execution) -> LoadedClassifier:
    """Return the classifier of a run directory."""
    return LoadedClassifier(open_run(path, ["classify"], verify=execution.verify))


class ClassMaker(ColumnMaker):
    """Documents with prediction, prediction_prob and, if asked for, probabilities."""

    gives, progress = "classes", "predictions"

    def __init__(
        self,
        model: ClassifierModel,
        stream: DocumentStream,
        stack: ExitStack,
        options: PredictOptions,
        execution: Execution,
    ) -> None:
        super().__init__(model.name, stream, execution.seed)
        self._model, self._classifier, self._stack = model, model.classifier, stack
        self._options, self._threads = options, execution.n_threads()
        self._counts = {"tokens": 0, "unknown_tokens": 0, "without_known_words": 0}
        self._values: list[FloatArray] = []
        self._sizes: dict[str, int] = dict.fromkeys(self._classifier.names, 0)
        self._embeddings: RunEmbeddings | None = None
        features = self._classifier.features
        self.replaces = COLUMNS if self._classifier.names else COLUMNS[:1]
        self._column_counts = ColumnCounts()
        if features.rules is not None:
            features.rules.check_schema(stream.schema)
        if features.columns is not None:
            check_predicted_columns(stream, features.columns.column_names, model.name)
        if features.sees == "embedding":
            self._embeddings = RunEmbeddings(dict(model.config), options.encoder, self._threads, stream)
        else:
            options.encoder.refuse(f"the model of {model.name} sees {features.sees}; leave it out")
        self._explainer = Explainer(
            self._classifier, options.explain, None if self._embeddings is None else self._embeddings.encode
        )
        self.explain, self.explanations = self._explainer.ids, self._explainer.explanations

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents with their predictions."""
        names, probabilities = self._classifier.names, self._options.probabilities
        for batch, X, known in self._features():
            predicted = self._classifier.predict(X)
            self._explainer.add(batch, X, predicted)
            self._count(predicted, known)
            yield batch, prediction_columns(names, predicted, probabilities=probabilities)

    def _features(self) -> Iterator[tuple[pa.RecordBatch, Any, BoolArray | None]]:
        """Yield documents with their features (D_b, F) and which of them hold a word that the model knows, None of embeddings."""
        if self._embeddings is not None:
            for batch in self.stream:
                yield batch, self._embeddings.of_batch(batch), None
            return
        features = self._classifier.features
        vectorizer = features.vectorizer
        if vectorizer is None:
            for whole in self.stream:
                for start in range(0, whole.num_rows, BATCH):
                    batch = whole.slice(start, BATCH)
                    if features.rules is not None:
                        yield batch, features.rules.matches(batch), None
                    else:
                        yield batch, features.join(None, self._hand_features(batch), self._encoded(batch)), None
            return
        model = self.name if isinstance(self._model, TrainedClassifier) else f"the run {self.name}"
        options = cut_as_model(self.stream, self._model.config["tokens"], model, phrases=self._classifier.phrases)
        corpus = self._stack.enter_context(
            count_corpus(
                self.stream, options or PreprocessOptions(), columns=self.stream.schema.names, threads=self._threads,
                own_tokens=options is None,
            )
        )  # fmt: skip
        place = {term: i for i, term in enumerate(vectorizer.terms)}
        columns = np.array([place.get(term, -1) for term in corpus.terms], np.int32)
        if KINDS[self._classifier.model.kind].ordered:
            yield from self._in_order(corpus, columns)
            return
        for whole, counts in corpus.batches():
            self._counts["tokens"] += int(counts.data.sum())
            self._counts["unknown_tokens"] += int(counts.data[columns[counts.indices] < 0].sum())
            for start in range(0, whole.num_rows, BATCH):
                batch = whole.slice(start, BATCH)
                words = vectorizer.weigh_columns(counts[start : start + BATCH], columns)
                X = features.join(words, self._hand_features(batch), self._encoded(batch))
                yield batch, X, np.diff(words.indptr) > 0

    def _in_order(self, corpus: CountedCorpus, columns: IntArray) -> Iterator[tuple[pa.RecordBatch, Any, BoolArray]]:
        """Yield documents with their words in order; columns: the place of each term of the corpus among the model's, -1 for none."""
        for whole, tokens in corpus.encoded():
            places = columns[tokens.term_ids]
            self._counts["tokens"] += len(places)
            self._counts["unknown_tokens"] += int((places < 0).sum())
            for start in range(0, whole.num_rows, BATCH):
                batch = whole.slice(start, BATCH)
                rows = np.arange(start, start + batch.num_rows)
                X = WordRows.from_tokens(tokens.offsets, places, rows, len(self._classifier.features.names))
                yield batch, X, X.ids[:, 0] > 0

    def _encoded(self, batch: pa.RecordBatch) -> Any:
        columns = self._classifier.features.columns
        return None if columns is None else columns.encode(batch, self._column_counts)

    def _hand_features(self, batch: pa.RecordBatch) -> Any:
        scaling = self._classifier.features.scaling
        if scaling is None:
            return None
        places = [list(HAND_FEATURES).index(name) for name in scaling.names]
        return hand_features(batch.column("text"))[:, places]

    def _count(self, predicted: Predicted, known: BoolArray | None) -> None:
        sets = predicted.sets
        codes = np.nonzero(sets)[1] if sets is not None else predicted.codes
        if known is not None:
            self._counts["without_known_words"] += int((~known).sum())
        if predicted.values is not None:
            self._values.append(predicted.values)
            return
        for code, n in zip(*np.unique(codes, return_counts=True), strict=True):  # type: ignore[call-overload]
            self._sizes[self._classifier.names[code]] += int(n)

    @property
    def learned_from(self) -> list[str]:
        """The inputs that the model learned from."""
        return self._model.learned_from(self.stream)

    def parameters(self) -> dict[str, Any]:
        """Return the model, its kind and classes, and which of the documents it learned from."""
        files = self.learned_from
        kind = self._model.config["model"].get("kind")
        parameters: dict[str, Any] = {"model": self.name, "kind": kind, "classes": list(self._classifier.names)}
        if self._classifier.scale:
            parameters["order"] = list(self._classifier.scale)
        return parameters | ({"learned_from": files} if files else {})

    def summary(self) -> dict[str, Any]:
        """Return the numbers of documents and tokens, of each class, and the explanations that were asked for."""
        files, explained, columns = self.learned_from, self.explanations, self._column_counts
        return {
            "documents": self.documents,
            **self._counts,
            **({"missing_values": columns.missing} if columns.missing else {}),
            **({"unseen_values": columns.unseen} if columns.unseen else {}),
            "predictions": self._sizes,
            **({"numbers": _spread_of(self._values)} if self._values else {}),
            **({"explained": explained} if explained else {}),
            **({"learned_from": files} if files else {}),
        }

    def report(self) -> None:
        """Say how many documents there were, how many words the model does not know, and whether it learned from them."""
        n = self._counts
        sizes = sorted(((size, name) for name, size in self._sizes.items() if size), key=lambda pair: -pair[0])
        classes = wording.listed([f"{wording.count(size)} {name}" for size, name in sizes], MOST_CLASSES)
        reporting.note(f"{wording.counted(self.documents, 'document')}{f': {classes}' if classes else ''}")
        if self._embeddings is None and n["tokens"]:
            share = n["unknown_tokens"] / max(n["tokens"], 1)
            reporting.note(
                f"{share:.0%} of {wording.counted(n['tokens'], 'token')} are not among the words of {self.name}"
            )
        if n["without_known_words"]:
            hold = "document holds" if n["without_known_words"] == 1 else "documents hold"
            value = f"{'class' if self._classifier.names else 'number'} of a text without words"
            reporting.note(
                f"{wording.count(n['without_known_words'])} {hold} no word that {self.name} knows: they get the {value}"
            )
        note_missing(self._column_counts.missing)
        note_unseen(self._column_counts.unseen)
        if self.learned_from:
            reporting.warn(wording.learned_from(self.learned_from, self.name))


def _spread_of(values: Sequence[FloatArray]) -> dict[str, float]:
    """Return the mean, the lowest and the highest of numbers that were predicted."""
    whole = np.concatenate(values)
    return {"mean": float(whole.mean()), "lowest": float(whole.min()), "highest": float(whole.max())}


def add_predictions(run: Path, corpus: Corpus, options: PredictOptions, execution: Execution) -> Pass:
    """Write predictions for more documents into a run directory, as predictions.parquet."""
    model = load_classifier(run, execution)
    with model.predict_batches(corpus, options=options, execution=execution) as predictions:
        predictions.maker.command = "classify"  # which made the run that they are a part of
        predictions.save(str(run / PREDICTIONS), force=True)
    add_output(run, [PREDICTIONS, "predictions.dropped.parquet"])
    return predictions

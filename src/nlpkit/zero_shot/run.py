"""Labels from their names or descriptions, without training: by embedding, inference, a prompt or a language model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.dataset import Labels
from nlpkit.classify.prediction_values import Predicted, joined
from nlpkit.classify.scores import label_sets, labelled_predictions
from nlpkit.classify.tables import prediction_columns
from nlpkit.embed.embeddings import RunEmbeddings, embedded_by, embeddings_of
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.files import check_gates, read_gates
from nlpkit.metrics.labels.predictions import DEFAULT_CLASSIFICATION, add_classification, add_multilabel
from nlpkit.metrics.labels.predictions import SCORES as MULTILABEL
from nlpkit.metrics.options import GateOptions
from nlpkit.metrics.results import Evaluation, TargetResult
from nlpkit.metrics.score import Uncertainty
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, as_corpus
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.passes import ColumnMaker, Pass, ScoredDocuments, WithColumns
from nlpkit.platform.runs.plain_tables import column_names, read_columns
from nlpkit.platform.runs.reading import check_encoder
from nlpkit.platform.runs.tables import Spool, spool_in
from nlpkit.platform.types import Float32Array, FloatArray, LongArray
from nlpkit.platform.values import as_label
from nlpkit.zero_shot.llm import AnsweredLabels
from nlpkit.zero_shot.model import (
    LabelTree,
    check_labels,
    fitted_threshold,
    label_tree,
    nearest_labels,
    parse_labels,
    prompts_of,
    prototypes,
    refined,
    with_parents,
)
from nlpkit.zero_shot.options import AUTO, COSINE, UNCALIBRATED, ZeroShotOptions
from nlpkit.zero_shot.readers import ModelLabels, model_labels

NO_LABEL = "(no label)"  # in scores, of documents that a threshold leaves without one


def zero_shot(
    data: Any,
    *,
    labels: Any = None,
    options: ZeroShotOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    gates: GateOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> ScoredDocuments:
    """Give documents labels by their names, without training, and score them where they have labels.

    `by` cosine: the nearest label by embedding (`nearest_labels`). nli: the label that the text entails most by a model of natural
    language inference; with `multi_label` all that it entails (`entailed_labels`). prompt: the label whose word a masked language
    model puts into a sentence after the text, divided by what it puts there after no text (`calibrated`).

    A language model (`llm`, `llm_model`) is asked about one text after the other and must answer with one of the labels; else it is
    asked again, and a text without a usable answer has none. Its labels have no probability. Answers are kept by question: the same
    text is never asked about twice.

    Args:
        data: a Corpus, texts or a data frame.
        labels: their names, a mapping of names to descriptions, text such as "sports: games; politics", or a file.
        options: labels and what is given. encoder: which model makes embeddings. gates: bounds that the scores must keep.
        execution: seed and threads.
        settings: single fields of these records.

    Raises:
        UsageError, InputError, ColumnError, MissingError: labels, documents, the encoder or the language model cannot be used.

    Example:
        >>> answers = nk.zero_shot(["The striker scored a goal.", "Parliament passed a law."], labels=["sport", "politics"])
        >>> answers.documents["prediction"].to_pylist()
        ['sport', 'politics']
    """
    named = settings if labels is None else {**settings, "labels": labels}
    records = (options, EncoderOptions.from_value(encoder), gates, execution)
    options, embedding, gates, execution = with_settings(
        records, named, (ZeroShotOptions, EncoderOptions, GateOptions, Execution)
    )
    with zero_shot_batches(
        as_corpus(data), options=options, encoder=embedding, execution=execution, gates=gates
    ) as predictions:
        return predictions.score()


@contextmanager
def zero_shot_batches(
    corpus: Corpus,
    *,
    options: ZeroShotOptions,
    encoder: EncoderOptions,
    execution: Execution,
    gates: GateOptions | None = None,
) -> Iterator[Pass]:
    """Return a context with documents and the nearest label of each."""
    tree = label_tree(read_labels(options.labels))
    labels = tree.labels
    if tree.parents and options.multi_label:
        raise UsageError(
            "`multi_label` does not go with labels that have parents ('parent > label')", parameter="multi_label"
        )
    if options.llm is None and options.by == COSINE:
        check_encoder(encoder.encoder, verify=execution.verify)
    with ExitStack() as stack:
        stream = stack.enter_context(corpus.open())
        spool = stack.enter_context(spool_in(stream.spool_directory))
        labeller: NearestLabels | AnsweredLabels | ModelLabels
        if options.llm is not None:
            labeller = AnsweredLabels(labels, options, encoder, execution)
        elif options.by == COSINE:
            held = stack.enter_context(spool_in(stream.spool_directory))
            labeller = NearestLabels(stream, tree, options, encoder, execution.n_threads(), held)
        else:
            labeller = stack.enter_context(model_labels(labels, options, encoder, execution))
        yield Pass(ZeroShotMaker(stream, tree, options, labeller, gates or GateOptions(), execution), spool)


class NearestLabels:
    """Labels by embedding. held: where documents wait while labels are fitted to all of them."""

    reservation = UNCALIBRATED

    def __init__(
        self,
        stream: DocumentStream,
        tree: LabelTree,
        options: ZeroShotOptions,
        encoder: EncoderOptions,
        threads: int,
        held: Spool,
    ) -> None:
        self._stream, self._tree, self._options, self._held = stream, tree, options, held
        self._labels = tree.labels
        self._encoder, self._threads, self._threshold = encoder, threads, options.least_cosine()
        self._info: dict[str, Any] | None = None
        self._source: RunEmbeddings | None = None
        self._directions: FloatArray | None = None
        self._without = 0

    def labelled(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, Predicted]]:
        """Yield documents and their nearest labels. Raises InputError, MissingError: they cannot be embedded."""
        embedded = ((batch, self._vectors(batch)) for batch in batches)
        for batch, vectors in self._fitted(embedded) if self._options.reads_all_first else embedded:
            assert self._directions is not None
            part = nearest_labels(vectors, self._directions, self._threshold)
            self._without += int((part.codes < 0).sum()) if part.codes is not None else 0
            yield batch, part

    def _fitted(
        self, embedded: Iterable[tuple[pa.RecordBatch, Float32Array]]
    ) -> Iterator[tuple[pa.RecordBatch, Float32Array]]:
        """Fit the labels, and the threshold if it is asked for, to all documents; then yield these."""
        parts: list[Float32Array] = []
        known: list[str | None] = []
        for batch, vectors in embedded:
            self._held.write(batch)
            parts.append(vectors)
            if "label" in batch.schema.names:
                known += [as_label(value) for value in batch.column("label").to_pylist()]
        if self._directions is None:  # there are no documents
            return
        every = np.concatenate(parts)
        if self._options.refine:
            self._directions = refined(every, self._directions)
        if self._options.threshold == AUTO:
            cosine, names = nearest_labels(every, self._directions).decision, list(self._labels)
            rows = np.flatnonzero([label is not None for label in known])
            nearest = cosine[rows].argmax(axis=1) if len(rows) else []
            right = np.array([names[j] == known[d] for d, j in zip(rows, nearest, strict=True)], bool)
            other = np.array([known[d] not in self._labels for d in rows], bool)
            self._threshold = fitted_threshold(cosine[rows].max(axis=1), right, other)
        yield from zip(self._held, parts, strict=True)

    def _vectors(self, batch: pa.RecordBatch) -> Float32Array:
        return self._begin(batch) if self._source is None else self._source.of_batch(batch)

    def _begin(self, batch: pa.RecordBatch) -> Float32Array:
        """Embed the first documents, and the labels as they are."""
        encoder = embedded_by(self._stream)
        if "embedding" in self._stream.schema.names and encoder is None:
            raise InputError(
                "the column 'embedding' does not record its model, so labels cannot be embedded in the same way; "
                "leave the column out, or compute it with `embed()`"
            )
        table = pa.Table.from_batches([batch])
        vectors, self._info = embeddings_of(table, encoder, self._encoder, self._threads)
        facts = {"encoder": self._info, "dim": vectors.shape[1]}
        self._source = RunEmbeddings(facts, self._encoder, self._threads, self._stream)
        self._directions = self._prototypes(self._source, self._labels)
        if parents := self._tree.parents:
            above = {name: self._tree.described.get(name) or self._labels.get(name, []) for name in parents.values()}
            rows = [list(above).index(parent) for parent in parents.values()]
            self._directions = with_parents(self._directions, self._prototypes(self._source, above)[rows])
        return vectors

    def _prototypes(self, source: RunEmbeddings, labels: Mapping[str, Sequence[str]]) -> FloatArray:
        texts, label_of = prompts_of(labels, self._options.sentence)
        return prototypes(source.encode(texts), label_of, len(labels))

    def parameters(self) -> dict[str, Any]:
        """Return what made the embeddings, and how labels were fitted."""
        fitted = {} if self._threshold is None else {"threshold": round(self._threshold, 4)}
        return {"encoder": self._info, **({"refine": True} if self._options.refine else {}), **fitted}

    def summary(self) -> dict[str, int]:
        """Return the number of documents without a label, where a threshold leaves some."""
        return {} if self._threshold is None else {"unanswered": self._without}

    def report(self) -> None:
        """Say how many documents the threshold leaves without a label."""
        if self._threshold is not None:
            n = wording.counted(self._without, "document has", "documents have")
            reporting.note(f"{n} no label, because the cosine to the nearest one is below {self._threshold:.3f}")


class ZeroShotMaker(ColumnMaker):
    """Documents with prediction, prediction_prob and, if asked for, probabilities; all are read before the first is given."""

    command, gives = "zero-shot", "classes"

    def __init__(
        self,
        stream: DocumentStream,
        tree: LabelTree,
        options: ZeroShotOptions,
        labeller: NearestLabels | AnsweredLabels | ModelLabels,
        gates: GateOptions,
        execution: Execution,
    ) -> None:
        super().__init__("zero-shot", stream, None)
        self._gates, self._rules = gates, read_gates(gates)
        self._tree, self._options, self._labeller, self._execution = tree, options, labeller, execution
        self._labels = tree.labels
        self.reservation = labeller.reservation
        self._parts: list[Predicted] = []
        self._raw_labels: list[Any] = []
        self._sizes: list[int] = []

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents with their predictions."""
        schema, several = self.stream.schema, self._options.multi_label
        labelled = "label" in schema.names and (several or not pa.types.is_nested(schema.field("label").type))
        for batch, part in self._labeller.labelled(self.stream):
            self._parts.append(Predicted(part.decision, None, part.codes, part.sets))
            if labelled:
                read = _labels_of if several else as_label
                self._raw_labels += [read(value) for value in batch.column("label").to_pylist()]
            columns = prediction_columns(tuple(self._labels), part, probabilities=self._options.probabilities)
            if parents := self._tree.parents:
                above = [parents.get(name) for name in columns["prediction"].to_pylist()]
                columns = {
                    "prediction": columns["prediction"],
                    "prediction_parent": pa.array(above, pa.string()),
                    **columns,
                }
            yield batch, columns

    def finish(self) -> None:
        """Score all documents that have labels."""
        names, predicted = tuple(self._labels), joined(self._parts)
        sets = predicted.sets
        if sets is None:
            sets = np.asarray(predicted.codes)[:, None] == np.arange(len(names))
        self._sizes = sets.sum(axis=0).tolist()
        self.evaluation = self._evaluate(self._raw_labels, names, predicted)
        check_gates(self.evaluation, self._gates, self._rules)

    def _evaluate(self, raw_labels: Sequence[Any], names: tuple[str, ...], predicted: Predicted) -> Evaluation | None:
        """Return the scores against labels that are there, None where hardly any of them is one of the names."""
        known = np.array([v is not None for v in raw_labels])
        if not known.any():
            return None
        paths = self._tree.paths
        raw_labels = [paths.get(label, label) if isinstance(label, str) else label for label in raw_labels]
        several = predicted.sets is not None
        known_labels = set(chain.from_iterable(v or () for v in raw_labels)) if several else set(raw_labels)
        if not known_labels & set(names):
            reporting.note("the documents have none of the given labels, so nothing is scored")
            return None
        rows = np.flatnonzero(known)
        uncertainty = Uncertainty(self._options.ci or None, self._execution.seed)
        if predicted.sets is not None:
            result = TargetResult("zero-shot", "sets of predictions against 'label'")
            classes, true = label_sets(raw_labels, names, rows)
            assigned = np.zeros(true.shape, bool)
            assigned[:, : len(names)] = predicted.sets[rows]
            add_multilabel(result, classes, true, assigned, MULTILABEL, uncertainty)
            return Evaluation([result])
        if self._options.threshold is not None:  # that a document has none of the labels is right or wrong, too
            raw_labels = [label if label is None or label in names else NO_LABEL for label in raw_labels]
            codes = np.asarray(predicted.codes)
            predicted = Predicted(predicted.decision, None, np.where(codes < 0, len(names), codes).astype(np.int32))
            names = (*names, NO_LABEL)
        labels = Labels(names, known, np.zeros(len(raw_labels), np.int32))
        result = TargetResult("zero-shot", "predictions against 'label'")
        data = labelled_predictions(raw_labels, predicted, labels, rows, len(raw_labels) - len(rows))
        add_classification(result, data, DEFAULT_CLASSIFICATION, uncertainty, beta=1.0)
        if self._tree.parents:
            self._add_parents(result, raw_labels, names, predicted, rows, uncertainty)
        return Evaluation([result])

    def _add_parents(
        self,
        result: TargetResult,
        raw_labels: Sequence[Any],
        names: Sequence[str],
        predicted: Predicted,
        rows: LongArray,
        uncertainty: Uncertainty,
    ) -> None:
        """Add the scores of the parents of labels and predictions: a table of their classes, and their accuracy."""
        above = [self._tree.parents.get(name, name) for name in names]
        classes = tuple(dict.fromkeys(above))
        place = np.array([*(classes.index(parent) for parent in above), -1], np.int32)
        codes = Predicted(predicted.decision, None, place[np.asarray(predicted.codes)])
        raw_parents = [None if label is None else self._tree.parents.get(label, label) for label in raw_labels]
        labels = Labels(classes, np.ones(len(raw_parents), bool), np.zeros(len(raw_parents), np.int32))
        parents = TargetResult("parents", "parents of predictions against parents of 'label'")
        data = labelled_predictions(raw_parents, codes, labels, rows)
        add_classification(parents, data, DEFAULT_CLASSIFICATION, uncertainty, beta=1.0)
        result.tables["Parents"] = parents.tables["Classes"]
        result.facts["parents"] = {name: score.to_dict() for name, score in parents.scores.items()}
        accuracy = parents.scores["accuracy"]
        between = f" [{accuracy.interval.low:.4f}, {accuracy.interval.high:.4f}]" if accuracy.interval else ""
        result.notes.append(f"accuracy of the parents: {accuracy.value:.4f}{between}")

    def parameters(self) -> dict[str, Any]:
        """Return the labels and who gave them."""
        parents = {"parents": self._tree.parents} if self._tree.parents else {}
        return {"zero_shot": self._labels, **parents, **self._labeller.parameters()}

    def summary(self) -> dict[str, Any]:
        """Return the numbers of documents, and of each label."""
        predictions = dict(zip(self._labels, self._sizes, strict=True))
        return {"documents": self.documents, "predictions": predictions, **self._labeller.summary()}

    def report(self) -> None:
        """Say how many documents each label has."""
        sizes = ", ".join(f"{name} {n:,}" for name, n in zip(self._labels, self._sizes, strict=True))
        reporting.note(f"{wording.counted(self.documents, 'document')}: {sizes}")
        self._labeller.report()


def read_labels(labels: str | Path | Sequence[str] | Mapping[str, str | Sequence[str]] | None) -> dict[str, list[str]]:
    """Return labels with their descriptions: of a mapping, of names, of a table with label, parent and description, or of text.

    Raises:
        UsageError: there are fewer than two, or one is there twice; InputError, ColumnError: the file cannot be used.
    """
    if labels is None:
        raise UsageError("`labels` is needed: at least two labels, such as 'sports,politics'", parameter="labels")
    if isinstance(labels, Mapping):
        return check_labels({n: [d] if isinstance(d, str) else list(d) for n, d in labels.items()})
    if not isinstance(labels, str | Path):
        return parse_labels(";".join(labels))
    path = Path(labels)
    if not path.suffix or not path.is_file():
        return parse_labels(str(labels))
    if path.suffix == ".txt":
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        return parse_labels("\n".join(line for line in lines if line.strip()) + "\n")
    names = column_names(path)
    beside = [name for name in ("parent", "description") if name in names]
    columns = read_columns(path, ["label", *beside], option="`labels`")
    parents, described = (columns.get(name) or [None] * len(columns["label"]) for name in ("parent", "description"))
    by_name: dict[str, list[str]] = {}
    for label, parent, description in zip(columns["label"], map(as_label, parents), described, strict=True):
        name = as_label(label)
        if name is not None:
            name = name if parent is None else f"{parent} > {name}"
            by_name.setdefault(name, []).extend([str(description)] if description is not None else [])
    return check_labels(by_name)


def _labels_of(cell: Any) -> list[str] | None:
    """Return the labels in a cell, of which a text has several or one; None for an empty one."""
    cells = cell if isinstance(cell, list) else [cell]
    names = [name for name in map(as_label, cells) if name is not None]
    return names if names or isinstance(cell, list) else None

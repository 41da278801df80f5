"""Active learning: the texts that are to be labelled next, as a table and as a page for people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.annotate.active.model import select, unit_rows
from nlpkit.annotate.active.options import BY_PROBABILITIES, BY_VECTORS, ActiveOptions
from nlpkit.annotate.task_files import task_paths, write_task
from nlpkit.annotate.tasks import Task, label_task
from nlpkit.cluster.vectors import check_vector_options, read_vectors
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, as_corpus, has_text, no_documents, read_corpus
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.artifacts import with_footer
from nlpkit.platform.runs.atomic import check_target
from nlpkit.platform.runs.provenance import source_block
from nlpkit.platform.runs.saving import save_derived_table
from nlpkit.platform.types import BoolArray, FloatArray, LongArray
from nlpkit.platform.values import as_label
from nlpkit.predict.model import FittedModel
from nlpkit.predict.options import PredictOptions
from nlpkit.predict.run import load
from nlpkit.text.options import TokenOptions
from nlpkit.weights.options import WeightOptions

COLUMNS = ("prediction", "prediction_prob", "score", "rank")


@dataclass(frozen=True, slots=True)
class Proposals(Tabular):
    """Texts to be labelled next, the most useful first.

    documents: id, text, the user's columns, prediction and prediction_prob where there is a model, score (see
    `Selection`) and rank, from 1. labels: that a person may give. n_labelled, n_repeated, n_candidates: documents
    labelled already, texts that stand there once more, and texts that were chosen from.
    """

    _shown = "documents"

    documents: pa.Table
    source: DocumentStream
    options: ActiveOptions
    labels: tuple[str, ...]
    seed: int
    n_labelled: int
    n_repeated: int
    n_candidates: int

    def __repr__(self) -> str:
        return wording.described(self, wording.counted(self.documents.num_rows, "text"), self.options.strategy)

    def parameters(self) -> dict[str, Any]:
        """Return what the footer and the key of the task record."""
        options = self.options
        return {
            "model": None if options.model is None else str(options.model),
            "by": options.strategy,
            "vectors": options.vectors if options.strategy in BY_VECTORS else None,
            "batch_size": options.batch_size,
            "labelled": list(map(str, options.labelled)),
            "candidates": self.n_candidates,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and the texts that were chosen in plain values."""
        names = ["rank", "id", "score", *(n for n in COLUMNS[:2] if n in self.documents.column_names)]
        return {
            "by": self.options.strategy,
            "candidates": self.n_candidates,
            "labelled": self.n_labelled,
            "repeated": self.n_repeated,
            "labels": list(self.labels),
            "texts": self.documents.select(names).to_pylist(),
        }

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table, in the order of the ranks.

        Raises:
            UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there.
        """
        save_derived_table(
            target, self.documents, "documents", self.source, command="active", parameters=self.parameters(), row="text", force=force,
        )  # fmt: skip

    def task(self) -> Task:
        """Return the task to label these texts, in the order of their ranks. Raises UsageError when no labels are known."""
        if len(self.labels) < 2:
            raise UsageError(
                "a page needs two labels or more to choose from; name them: `labels=sports,politics`",
                parameter="labels",
            )
        rows = zip(self.documents.column("id").to_pylist(), self.documents.column("text").to_pylist(), strict=True)
        return label_task("Labels for texts", list(rows), self.labels)

    def save_task(self, page: str | Path, *, force: bool = False) -> Task:
        """Write the task as a page for people, the same as CSV, and the key that makes labels of their answers.

        Args:
            page: NAME.html; NAME.csv and NAME.key.json are written beside it.

        Raises:
            UsageError: the name is another; OutputExistsError: one of the three is there.
        """
        task = self.task()
        write_task(Path(page), task, parameters=self.parameters(), force=force)
        return task


def propose_texts(
    data: Any,
    *,
    options: ActiveOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    tokens: TokenOptions | None = None,
    weights: WeightOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> Proposals:
    """Return the texts of a corpus that are to be labelled next, by a strategy of `nlpkit.annotate.active.model.select`.

    Left out are documents with a label (`label_col`; not with `relabel`), texts that stand in a table of labelled ones, and all but
    the first of equal texts; white space does not tell texts apart. For diverse, core-set and badge vectors have length 1, and what is
    labelled in the corpus counts as labelled for diverse and core-set. badge takes these vectors as the input of the last layer. For a
    linear classifier they are that input. For a fine-tuned model they stand in for its last hidden layer.

    Args:
        data: a Corpus, texts or a data frame.
        options: the classifier so far (`model`, which gives one label a document), strategy, number of texts, what is labelled, which
            vectors, which labels a page offers.
        encoder: which model makes embeddings; tokens, weights: how tf-idf is made.
        execution: the seed of what is drawn.
        settings: single fields of these records, such as by="entropy", batch_size=50.

    Raises:
        UsageError: options that contradict each other, or a model without probabilities that the strategy needs; SchemaError: a run of
        another kind; InputError: no documents, or none without a label.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> proposals = nk.propose_texts(texts, batch_size=1, by="random")
        >>> proposals.documents.num_rows
        1
    """
    records = (
        ActiveOptions() if options is None else options, EncoderOptions.from_value(encoder), tokens or TokenOptions(),
        weights or WeightOptions(), execution or Execution(),
    )  # fmt: skip
    options, embedding, tokens, weights, execution = with_settings(records, settings)
    by = options.strategy
    check_vector_options(options.vectors, embedding, tokens, weights)
    classifier = None if options.model is None else _classifier(options.model, execution)
    table, stream = _read(as_corpus(data))
    free, labelled, n_repeated = _candidates(table, options)
    n_labelled = int(labelled.sum())
    candidates = np.flatnonzero(free)
    if not len(candidates):
        raise InputError(
            f"nothing is left to label: {wording.counted(table.num_rows, 'document')} of {stream.where}: "
            f"{n_labelled:,} labelled and {table.num_rows - n_labelled:,} without text or equal to these; `relabel` "
            "also chooses labelled documents"
        )
    if classifier is not None and not n_labelled:
        reporting.note(
            "no text is marked as labelled; name the training texts of the model with `labelled`, or they may "
            "be chosen again"
        )
    probabilities: FloatArray | None = None
    predictions: dict[str, pa.ChunkedArray] = {}
    classes: tuple[str, ...] = ()
    if classifier is not None:
        pool = _memory(table.take(pa.array(candidates)), stream)
        probabilities, predictions, classes = _predicted(classifier, pool, options, embedding, execution)
    points = labelled_points = None
    if by in BY_VECTORS:
        vectors = read_vectors(
            _memory(table, stream), by=options.vectors, unit=True, encoder=embedding, tokens=tokens, weights=weights, execution=execution,
        )  # fmt: skip
        units = unit_rows(vectors.points)
        has_vector = free[vectors.rows]
        points, labelled_points = units[has_vector], units[labelled[vectors.rows]]
        places = np.searchsorted(candidates, vectors.rows[has_vector])
        candidates = candidates[places]
        probabilities = None if probabilities is None else probabilities[places]
        predictions = {name: column.take(pa.array(places)) for name, column in predictions.items()}
        if not len(candidates):
            raise InputError(
                f"no text without a label in {stream.where} has a vector; use `by=random`, or other `vectors`"
            )
    n = min(options.batch_size, len(candidates))
    if n < options.batch_size:
        reporting.note(
            f"only {wording.counted(n, 'text is', 'texts are')} left to label: all are chosen, in the order of `by={by}`"
        )
    chosen = select(
        by, n, len(candidates), rng=np.random.default_rng([execution.seed, 47]), probabilities=probabilities, points=points,
        labelled=labelled_points,
    )  # fmt: skip
    documents = _documents(table, candidates[chosen.rows], chosen.rows, chosen.scores, predictions)
    labels = tuple(options.label_names() or classes)
    return Proposals(documents, stream, options, labels, execution.seed, n_labelled, n_repeated, len(candidates))


def check_page(page: Path | None, output: str | None, *, force: bool) -> None:
    """Refuse the page of a task that cannot be written, before any work.

    Raises:
        UsageError: another name, or the table of the output would be its CSV; OutputExistsError: one of its files is there.
    """
    if page is None:
        return
    for path in task_paths(page):
        if output not in (None, "-") and Path(str(output)).absolute() == path.absolute():
            raise UsageError(
                f"`output={output}` is also the name of the page's spreadsheet; give the table another name",
                parameter="page",
            )
        check_target(path, force=force)


def _classifier(path: Path, execution: Execution) -> FittedModel:
    """Return the classifier of a run. Raises SchemaError, InputError for another kind."""
    model = load(path, execution)
    if model.kind not in ("classify", "finetune"):
        raise UsageError(
            f"`model={path}` is a model of {model.kind}; a classifier was needed: a run of `train_classifier()` or `finetune()`",
            parameter="model",
        )
    return model


def _read(corpus: Corpus) -> tuple[pa.Table, DocumentStream]:
    """Return all documents, and the stream that they were read from. Raises InputError where there are none."""
    with corpus.open() as stream:
        table = stream.read_all()
    if not table.num_rows:
        raise no_documents(stream)
    return table, stream


def _memory(table: pa.Table, stream: DocumentStream) -> Corpus:
    """Return a table as a corpus that says what earlier commands did to it."""
    block = source_block("documents", stream, command="active", parameters={})
    return Corpus(memory=table.replace_schema_metadata(with_footer(table.schema, block).metadata))


def _candidates(table: pa.Table, options: ActiveOptions) -> tuple[BoolArray, BoolArray, int]:
    """Return which documents (D,) may be chosen, which are labelled (of equal texts one), and how many texts stand there again."""
    known = {text for path in options.labelled for text in _labelled_texts(path)}
    texts = [_folded(text) for text in table.column("text").to_pylist()]
    has_label = np.zeros(len(texts), bool) if options.relabel else _has_label(table)
    labelled = np.array([text in known for text in texts]) | has_label
    labelled &= has_text(table.column("text"))
    seen = {text for text, is_labelled in zip(texts, labelled.tolist(), strict=True) if is_labelled}
    free, n_repeated = np.zeros(len(texts), bool), 0
    for d, text in enumerate(texts):
        if not text or labelled[d]:
            continue
        free[d] = text not in seen
        n_repeated += text in seen
        seen.add(text)
    return free, labelled, n_repeated


def _labelled_texts(path: Path) -> list[str]:
    """Return the texts of a table that have a label; of a table without such a column, all."""
    table, _ = _read(read_corpus(path))
    has_label = _has_label(table) if "label" in table.column_names else np.ones(table.num_rows, bool)
    return [_folded(t) for t, yes in zip(table.column("text").to_pylist(), has_label.tolist(), strict=True) if yes]


def _has_label(table: pa.Table) -> BoolArray:
    if "label" not in table.column_names:
        return np.zeros(table.num_rows, bool)
    values = table.column("label").to_pylist()
    return np.array([bool(v) if isinstance(v, list) else as_label(v) is not None for v in values], bool)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _predicted(
    classifier: FittedModel, pool: Corpus, options: ActiveOptions, encoder: EncoderOptions, execution: Execution
) -> tuple[FloatArray | None, dict[str, pa.ChunkedArray], tuple[str, ...]]:
    """Return probabilities (D, J) where the strategy needs them, the columns prediction and prediction_prob, and the classes."""
    needed, by = options.strategy in BY_PROBABILITIES, options.strategy
    of_one_label = f"`model={options.model}`: a classifier that gives each document one label was needed"
    try:
        with (
            reporting.quiet(),
            classifier.predict_batches(
                pool, options=PredictOptions(probabilities=needed), execution=execution
            ) as predictions,
        ):
            table = predictions.table()
            classes = tuple(map(str, predictions.maker.parameters()["classes"]))
    except UsageError as error:
        if error.parameter != "probabilities":
            raise
        raise UsageError(
            f"`by={by}` needs the probability of each class, and `model={options.model}` gives none; train a "
            "classifier that has them (svm: `calibrate=sigmoid`), or use `by=diverse`",
            parameter="model",
        ) from None
    if not pa.types.is_string(table.schema.field("prediction").type):
        raise UsageError(f"{of_one_label}, but its predictions are {table.schema.field('prediction').type}", parameter="model")  # fmt: skip
    columns = {name: table.column(name) for name in COLUMNS[:2]}
    if not needed:
        return None, columns, classes
    struct = table.column("probabilities").combine_chunks()
    p = np.column_stack([struct.field(j).to_numpy(zero_copy_only=False) for j in range(len(classes))])
    return np.nan_to_num(p.astype(np.float64), nan=1 / len(classes)), columns, classes


def _documents(
    table: pa.Table, rows: LongArray, places: LongArray, scores: FloatArray, predictions: dict[str, pa.ChunkedArray]
) -> pa.Table:
    """Return the documents that were chosen, by rank."""
    for name in COLUMNS:
        if name in table.column_names:
            reporting.warn(f"the column '{name}' of the input is replaced")
    chosen = table.take(pa.array(rows)).drop_columns([name for name in COLUMNS if name in table.column_names])
    for name, column in predictions.items():
        chosen = chosen.append_column(name, column.take(pa.array(places)))
    chosen = chosen.append_column("score", pa.array(scores, pa.float64(), from_pandas=True))
    return chosen.append_column("rank", pa.array(np.arange(1, len(rows) + 1, dtype=np.int32)))

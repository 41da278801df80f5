"""`nlpkit classify NEW --model run/`: predictions for new documents, in a stream, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.classify.classifier import Classifier, Predicted
from nlpkit.classify.fit import KINDS
from nlpkit.cli import console
from nlpkit.cli.classify_explain import Explainer
from nlpkit.cli.classify_flags import TellFlags
from nlpkit.cli.classify_tables import NO_PROBABILITIES, prediction_columns
from nlpkit.errors import InputError, UsageError
from nlpkit.io.artifacts import footer_block
from nlpkit.io.classifier_files import read_classifier
from nlpkit.io.corpora import DocumentStream, open_documents
from nlpkit.io.documents import add_column
from nlpkit.io.run_reading import learned_from
from nlpkit.io.runs import open_run
from nlpkit.io.spool import spool_beside
from nlpkit.io.tables import is_readable, table_sink, write_dropped
from nlpkit.text.options import PreprocessOptions
from nlpkit.types import BoolArray
from nlpkit.workflows.corpus import no_documents, steps, warn_dropped
from nlpkit.workflows.counts import counted
from nlpkit.workflows.embeddings import RunEmbeddings
from nlpkit.workflows.tokens import cut_as_model

if TYPE_CHECKING:
    from nlpkit.cli.options import RunFlags
    from nlpkit.embed.options import EncoderOptions
    from nlpkit.io.read_options import ReadOptions

BATCH = 4096
COLUMNS = ("prediction", "prediction_prob")


def predict(
    inputs: list[str],
    target: str | None,
    model: Path,
    say: TellFlags,
    encoder: EncoderOptions,
    read: ReadOptions,
    run: RunFlags,
    *,
    force: bool,
) -> dict[str, Any]:
    """Give documents the classes of a run; without a target only explain. Returns what --json tells of it.

    Raises:
        InputError, SchemaError, ColumnError, MissingError: the run or the documents cannot be used.
    """
    trained = open_run(model, ["classify"], verify=run.verify)
    classifier, config = read_classifier(trained)
    kind = KINDS.get(str(config["model"].get("kind")))
    if say.probabilities and classifier.calibrator is None and kind is not None and not kind.probabilities:
        raise UsageError(NO_PROBABILITIES)
    options = read
    if read.label_col != "label":
        options = replace(options, label_col="label")  # new documents need no label
    with open_documents(inputs, options) as stream, ExitStack() as stack:
        work = _Work(classifier, config, model, stream, encoder, run)
        for name in COLUMNS:
            if target is not None and name in stream.schema.names:
                reporting.warn(f"the column '{name}' of the input is replaced")
        explainer = Explainer(classifier, say.explain or [], work.source)
        beside = target or "-"
        spool = stack.enter_context(spool_beside(beside))
        for batch, X, known in work.batches(inputs, beside, stack):
            found = classifier.predict(X)
            explainer.look(batch, X, found)
            work.count(found, known)
            if target is not None:
                spool.write(_with(batch, classifier, found, known, probabilities=say.probabilities))
        if not work.counts["documents"]:
            raise no_documents(stream)
        missing = explainer.missing()
        if missing:
            raise InputError(f"--explain {missing[0]}: no document of {', '.join(inputs)} has that id")
        dropped = None
        known_files = learned_from(trained, stream.inputs)
        if target is not None:
            parameters = {"model": str(model), "kind": config["model"].get("kind"), "classes": list(classifier.names)}
            block = footer_block(
                "documents", command="classify", parameters=parameters | ({"learned_from": known_files} if known_files else {}),
                seed=run.seed, inputs=stream.inputs, steps=steps(stream),
            )  # fmt: skip
            schema = _schema(stream.schema, classifier, probabilities=say.probabilities)
            with table_sink(target, schema, block, force=force) as sink:
                for batch in spool:
                    sink.write(batch)
            dropped = write_dropped(target, stream.dropped, block)
    warn_dropped(stream, dropped)
    work.say(model)
    if known_files:
        reporting.warn(console.learned_from(known_files, model))
    told = {"output": target, **work.counts, "predictions": work.sizes, **explainer.plain()}
    told |= {"learned_from": known_files} if known_files else {}
    if target == "-":
        explainer.show(to_stderr=True)
    elif target is not None:
        scored = "label" in stream.schema.names and is_readable(target)
        # of what it learned from, the scores of cross-validation or of the test are those that tell
        reporting.note(
            f"wrote {target}{console.next_step('evaluate', model if known_files else target) if scored else ''}"
        )
    if not run.json and target != "-":
        explainer.show()
    return told


class _Work:
    """The batches of new documents with their features, and what was counted on the way."""

    def __init__(
        self,
        classifier: Classifier,
        config: dict[str, Any],
        model: Path,
        stream: DocumentStream,
        encoder: EncoderOptions,
        run: RunFlags,
    ) -> None:
        self.classifier, self.config, self.model, self.stream, self.run = classifier, config, model, stream, run
        self.counts = {"documents": 0, "tokens": 0, "unknown_tokens": 0, "without_known_words": 0}
        self.sizes: dict[str, int] = dict.fromkeys(classifier.names, 0)
        self.source: RunEmbeddings | None = None
        if classifier.features.space is None:
            self.source = RunEmbeddings(config, encoder, run.n_threads(), stream)
        else:
            encoder.refuse(f"the model of {model} sees words; leave it out")

    def batches(
        self, inputs: list[str], beside: str, stack: ExitStack
    ) -> Iterator[tuple[pa.RecordBatch, Any, BoolArray | None]]:
        """Yield documents with their features (D_b, F) and which of them hold a word that the model knows, None of embeddings."""
        if self.source is not None:
            for batch in self.stream:
                yield batch, self.source.of(batch), None
            return
        features = self.classifier.features
        space = features.space
        assert space is not None
        options = cut_as_model(
            self.stream, self.config["tokens"], f"the run {self.model}", phrases=self.classifier.phrases
        )
        corpus = stack.enter_context(
            counted(
                self.stream, options or PreprocessOptions(),
                columns=self.stream.schema.names, threads=self.run.n_threads(), own_tokens=options is None,
            )
        )  # fmt: skip
        place = {term: i for i, term in enumerate(space.terms)}
        columns = np.array([place.get(term, -1) for term in corpus.terms], np.int32)
        for whole, counts in corpus.batches():
            self.counts["tokens"] += int(counts.data.sum())
            self.counts["unknown_tokens"] += int(counts.data[columns[counts.indices] < 0].sum())
            for start in range(0, whole.num_rows, BATCH):
                batch = whole.slice(start, BATCH)
                words = space.of(counts[start : start + BATCH], columns)
                known = np.diff(words.indptr) > 0
                yield batch, features.join(words, self._hand(batch)), known

    def _hand(self, batch: pa.RecordBatch) -> Any:
        scaling = self.classifier.features.scaling
        if scaling is None:
            return None
        from nlpkit.classify.hand_features import HAND_FEATURES, hand_features

        places = [list(HAND_FEATURES).index(name) for name in scaling.names]
        return hand_features(batch.column("text"))[:, places]

    def count(self, found: Predicted, known: BoolArray | None) -> None:
        """Count the predictions of a batch."""
        sets = found.sets
        codes = np.nonzero(sets)[1] if sets is not None else found.codes
        self.counts["documents"] += len(found.decision)
        if known is not None:
            self.counts["without_known_words"] += int((~known).sum())
        for code, n in zip(*np.unique(codes, return_counts=True), strict=True):  # type: ignore[call-overload]
            self.sizes[self.classifier.names[code]] += int(n)

    def say(self, model: Path) -> None:
        """Say how many documents there were, and how many words the model does not know."""
        n = self.counts
        line = f"predictions for {wording.counted(n['documents'], 'document')} by {model}"
        if self.source is None and n["tokens"]:
            share = n["unknown_tokens"] / max(n["tokens"], 1)
            line += f": {share:.0%} of {wording.counted(n['tokens'], 'token')} are not among its words"
        if n["without_known_words"]:
            line += (
                f", {wording.counted(n['without_known_words'], 'document')} hold no word it knows and get the class it "
                "gives without any"
            )
        reporting.note(line)


def _with(
    batch: pa.RecordBatch, classifier: Classifier, found: Predicted, known: BoolArray | None, *, probabilities: bool
) -> pa.RecordBatch:
    for name, column in prediction_columns(classifier.names, found, probabilities=probabilities).items():
        batch = add_column(batch, name, column)
    return batch


def _schema(schema: pa.Schema, classifier: Classifier, *, probabilities: bool) -> pa.Schema:
    """Return the schema of the documents with the columns of predictions."""
    J = len(classifier.names)
    sets = np.zeros((0, J), bool) if classifier.multiple else None
    nothing = Predicted(
        np.zeros((0, J)), np.zeros((0, J)), None if classifier.multiple else np.zeros(0, np.int32), sets
    )
    for name, column in prediction_columns(classifier.names, nothing, probabilities=probabilities).items():
        at = schema.get_field_index(name)
        field = pa.field(name, column.type)
        schema = schema.append(field) if at < 0 else schema.set(at, field)
    return schema

"""Models that were saved, of every kind, and their predictions for new documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.errors import SchemaError
from nlpkit.io.arpa import is_arpa
from nlpkit.io.atomic import MANIFEST
from nlpkit.io.runs import open_run
from nlpkit.io.spool import spool_in
from nlpkit.io.tables import table_sink, write_dropped
from nlpkit.models import MODELS, resolved, topic_kinds
from nlpkit.parameters import Execution
from nlpkit.workflows.corpus import warn_dropped
from nlpkit.workflows.model import FittedModel, Predictions

# kind of the manifest → the function that loads such a model: (path: Path, execution: Execution) -> FittedModel; topic models declare it
KINDS = {
    "classify": "nlpkit.workflows.classifier:load_classifier",
    "finetune": "nlpkit.workflows.finetuned:load_finetuned",
    "finetune-comparison": "nlpkit.workflows.finetuned:load_finetuned",
    "ngram-lm": "nlpkit.workflows.language_model:load_language_model",
}
# kind → what such a run is, and the command that uses it
WITHOUT_PREDICTIONS = {
    "lsa": "a run of tfidf `lsa`, which gives documents neither topics nor classes; give new documents to tfidf",
    "pca": "a run of tfidf `pca`, which gives documents neither topics nor classes; give new documents to tfidf",
    "embed-words": "a run of word vectors, which gives documents neither topics nor classes; give it to words",
    "finetune-causal": "a causal language model, which answers rather than predicts; see its model card for how other programs load it",
    "finetune-encoder": "a sentence encoder, which gives documents neither topics nor classes; give new documents to sbert-embed",
    "pretrain": "a language model from scratch, which gives documents neither topics nor classes; give new documents to sbert-embed",
    "tokenizer": "a tokenizer, which gives documents neither topics nor classes; give it to pretrain `tokenizer`",
}
ARPA = "nlpkit.workflows.language_model:load_arpa_file"
FOREIGN = "nlpkit.workflows.finetuned:load_finetuned"  # the function that loads a folder of another program


def load(path: str | Path, execution: Execution | None = None) -> FittedModel:
    """Return the model of a run directory, or of an ARPA file.

    Raises:
        InputError: there is no run, or it is damaged; SchemaError: it is of a kind that cannot predict, or of a newer nlpkit.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> model = nk.load(run)
        >>> model.predict(["money and debt"]).column_names[:3]
        ['id', 'text', 'topic']
    """
    folder, execution = Path(path), execution or Execution()
    if is_arpa(folder) and not folder.is_dir():
        return _loaded(ARPA, folder, execution)
    if folder.is_dir() and not (folder / MANIFEST).is_file():
        return _loaded(FOREIGN, folder, execution)
    if (folder / MANIFEST).is_file():
        kind = str(open_run(folder, verify=False).manifest["kind"])
        if kind in WITHOUT_PREDICTIONS:
            raise SchemaError(f"{folder} is {WITHOUT_PREDICTIONS[kind]}, with this run as its model")
    kind = str(open_run(folder, (*topic_kinds(), *KINDS), verify=False).manifest["kind"])
    return _loaded(KINDS[kind] if kind in KINDS else MODELS[kind].load, folder, execution)


def _loaded(name: str, folder: Path, execution: Execution) -> FittedModel:
    model: FittedModel = resolved(name)(folder, execution)
    return model


def write_predictions(predictions: Predictions, target: str, *, force: bool = False) -> dict[str, Any]:
    """Write predictions as a table, with the list of rows that could not be read beside it; return their summary.

    The footer names the inputs, which are known (rows, sha256) when all is read: a copy is kept beside the output until then.
    "-" gets JSON lines as they are made.
    """
    if target == "-" or predictions.reads_first:
        batches = predictions.batches()
        first = next(batches)
        block = {} if target == "-" else predictions.block()
        with table_sink(target, first.schema, block, force=force) as sink:
            sink.write(first)
            for batch in batches:
                sink.write(batch)
    else:
        with spool_in(predictions.stream.spool_directory) as spool:
            schema = None
            for batch in predictions.batches():
                schema = batch.schema
                spool.write(batch)
            assert schema is not None  # else there are no documents, which has been raised
            with table_sink(target, schema, predictions.block(), force=force) as sink:
                for batch in spool:
                    sink.write(batch)
    warn_dropped(predictions, write_dropped(target, predictions.dropped, predictions.block()))
    predictions.report()
    return predictions.summary()


def predict_only(predictions: Predictions) -> dict[str, Any]:
    """Make predictions that are not written, for what they tell; return their summary."""
    for _ in predictions.batches():
        pass
    warn_dropped(predictions, None)
    predictions.report()
    return predictions.summary()


def first_predictions(predictions: Predictions, most: int | None) -> tuple[pa.Table, int]:
    """Return the first documents with their predictions, all of them for None, and how many there are; none is written."""
    kept: list[pa.RecordBatch] = []
    total = 0
    for batch in predictions.batches():
        if most is None or total < most or not kept:
            kept.append(batch.slice(0, None if most is None else max(most - total, 0)))
        total += batch.num_rows
    warn_dropped(predictions, None)
    predictions.report()
    return pa.Table.from_batches(kept), total

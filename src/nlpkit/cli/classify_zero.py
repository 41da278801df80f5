"""`nlpkit classify TEXTS --zero-shot "sports,politics"`: labels from their names or descriptions, without training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cells import as_label
from nlpkit.classify.labels import Labels
from nlpkit.classify.zero_shot import check_labels, parse_labels, prompts_of, prototypes, zero_shot
from nlpkit.cli.classify_flags import ModelFlags, TellFlags
from nlpkit.cli.classify_scores import labelled
from nlpkit.cli.classify_tables import prediction_columns
from nlpkit.cli.dry_run import dry_run
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError
from nlpkit.evaluation.predictions import DEFAULT_CLASSIFICATION, add_classification
from nlpkit.evaluation.results import Evaluation, TargetResult
from nlpkit.io.artifacts import footer_block
from nlpkit.io.corpora import open_documents
from nlpkit.io.documents import add_column
from nlpkit.io.plain_tables import column_names, read_columns
from nlpkit.io.run_reading import check_encoder
from nlpkit.io.tables import table_sink, write_dropped
from nlpkit.metrics.score import Uncertainty
from nlpkit.workflows.corpus import no_documents, steps, warn_dropped
from nlpkit.workflows.embeddings import RunEmbeddings, embedded_by, embeddings_of

if TYPE_CHECKING:
    from nlpkit.cli.options import OutputFlags, RunFlags
    from nlpkit.io.read_options import ReadOptions


def classify_by_names(
    inputs: list[str],
    model: ModelFlags,
    say: TellFlags,
    encoder: EncoderOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> Evaluation | None:
    """Write the documents with the nearest label; return scores when they have labels of their own.

    Raises:
        UsageError, InputError, ColumnError, MissingError: labels, documents or the encoder cannot be used.
    """
    assert model.zero_shot is not None
    labels = read_labels(model.zero_shot)
    target = out.target("predictions.parquet")
    if run.dry_run:
        dry_run(inputs, read, embeds=True)
        return None
    check_encoder(encoder.encoder, verify=run.verify)
    threads = run.n_threads()
    with open_documents(inputs, read) as stream:
        made_by = embedded_by(stream)
        if "embedding" in stream.schema.names and made_by is None:
            raise InputError(
                "the column 'embedding' does not say which model made it, so labels cannot be embedded alike; leave the column out, "
                "or make it with nlpkit sbert-embed"
            )
        table = stream.read_all()
        if not table.num_rows:
            raise no_documents(stream)
        vectors, info = embeddings_of(table, made_by, encoder, threads)
        source = RunEmbeddings({"encoder": info, "dim": vectors.shape[1]}, encoder, threads, stream)
        texts, owners = prompts_of(labels)
        found = zero_shot(vectors, prototypes(source.encode(texts), owners, len(labels)))
        names = tuple(labels)
        block = footer_block(
            "documents", command="classify",
            parameters={"zero_shot": labels, "encoder": info}, seed=None, inputs=stream.inputs, steps=steps(stream),
        )  # fmt: skip
        own = _own(table)
        batch = table.combine_chunks().to_batches()[0]
        for name, column in prediction_columns(names, found, probabilities=say.probabilities).items():
            batch = add_column(batch, name, column)
        with table_sink(target, batch.schema, block, force=out.force) as sink:
            sink.write(batch)
        dropped = write_dropped(target, stream.dropped, block)
    warn_dropped(stream, dropped)
    assert found.codes is not None
    sizes = np.bincount(found.codes, minlength=len(names)).tolist()
    told = ", ".join(f"{name} {n:,}" for name, n in zip(names, sizes, strict=True))
    reporting.note(f"{wording.counted(table.num_rows, 'document')}: {told}")
    if target != "-":
        reporting.note(f"wrote {target}; probabilities order the labels of a document, they are not calibrated")
    return _scores(own, names, found, Uncertainty(say.level(), run.seed))


def read_labels(given: str) -> dict[str, list[str]]:
    """Return labels with their descriptions: of a table with the columns label and description, else of the text itself."""
    path = Path(given)
    if not path.suffix or not path.is_file():
        return parse_labels(given)
    if path.suffix == ".txt":
        return parse_labels(
            "\n".join(line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()) + "\n"
        )
    names = column_names(path)
    columns = read_columns(path, ["label", *(["description"] if "description" in names else [])], option="--zero-shot")
    labels: dict[str, list[str]] = {}
    described = columns.get("description") or [None] * len(columns["label"])
    for label, description in zip(columns["label"], described, strict=True):
        name = as_label(label)
        if name is not None:
            labels.setdefault(name, []).extend([str(description)] if description is not None else [])
    return check_labels(labels)


def _own(table: pa.Table) -> list[Any] | None:
    if "label" not in table.column_names or pa.types.is_nested(table.schema.field("label").type):
        return None
    return [as_label(v) for v in table.column("label").to_pylist()]


def _scores(own: list[Any] | None, names: tuple[str, ...], found: Any, how: Uncertainty) -> Evaluation | None:
    """Return the scores against labels that are there, None where hardly any of them is one of the names."""
    if own is None or not any(v is not None for v in own):
        return None
    if not set(own) & set(names):
        reporting.note("the labels of the documents are none of those given, so nothing is scored")
        return None
    rows = np.array([d for d, v in enumerate(own) if v is not None], np.int64)
    known = np.array([v is not None for v in own])
    labels = Labels(names, known, np.zeros(len(own), np.int32))
    result = TargetResult("zero-shot", "predictions against 'label'")
    data = labelled(own, replace(found, probabilities=None), labels, rows, len(own) - len(rows))
    add_classification(result, data, DEFAULT_CLASSIFICATION, how, beta=1.0)
    return Evaluation([result])

"""`nlpkit bertopic NEW --model run/`: topics of new documents, in a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nlpkit.cli import console
from nlpkit.cli.bertopic import TopicFlags
from nlpkit.cli.options import OutputFlags, ReadFlags, RunFlags
from nlpkit.cli.pipeline import has_text, no_documents, steps, warn_dropped
from nlpkit.cli.preprocess import dry_run
from nlpkit.cli.run_embeddings import RunEmbeddings
from nlpkit.cli.sbert_embed import EncoderFlags
from nlpkit.io.artifacts import document_sink, footer_block, write_dropped
from nlpkit.io.atomic import check_target
from nlpkit.io.corpora import open_documents
from nlpkit.io.documents import add_column
from nlpkit.io.runs import Run, open_run
from nlpkit.io.spool import spool_beside
from nlpkit.io.topic_tables import TOPIC_COLUMNS, read_training, text_hash, topic_columns, with_topic_columns
from nlpkit.topics.predict import predict_topics

if TYPE_CHECKING:
    from nlpkit.io.corpora import DocumentStream


def predict(
    inputs: list[str],
    out: OutputFlags,
    topics: TopicFlags,
    encoder: EncoderFlags,
    read: ReadFlags,
    run: RunFlags,
    model: Path,
) -> None:
    """Give documents the topics of a run. Raises InputError, SchemaError, ColumnError and MissingError."""
    trained = open_run(model, ["bertopic"])
    config = trained.model_config("encoder", "dim", "n_neighbors", "rule_agreement")
    if run.dry_run:
        dry_run(inputs, read, embeds=True)
        return
    target = out.target("predicted.parquet")
    if target != "-":
        check_target(Path(target), force=out.force)
    if topics != replace(TopicFlags(), assign_outliers=topics.assign_outliers):
        console.warn(
            "options that shape topics (--k, --n-neighbors …) were decided when the run was fitted: ignored here"
        )
    with open_documents(inputs, read.read_options()) as stream:
        _predict(stream, inputs, target, trained, config, topics, encoder, run, force=out.force)


def _predict(
    stream: DocumentStream,
    inputs: list[str],
    target: str,
    trained: Run,
    config: dict[str, Any],
    topics: TopicFlags,
    encoder: EncoderFlags,
    run: RunFlags,
    *,
    force: bool,
) -> None:
    for name in TOPIC_COLUMNS:
        if name in stream.schema.names:
            console.warn(f"the column '{name}' of the input is replaced")
    training = read_training(trained)
    source = RunEmbeddings(config, encoder, run.n_threads(), stream)
    counts = {"documents": 0, "known": 0, "unassigned": 0}
    schema = with_topic_columns(stream.schema)

    def predicted() -> Iterator[pa.RecordBatch]:
        for batch in stream:
            usable = has_text(batch.column("text"))
            found = predict_topics(
                training,
                source.of(batch),
                [text_hash(t) for t in batch.column("text").to_pylist()],
                usable,
                n_neighbors=config["n_neighbors"],
                assign_outliers=topics.assign_outliers,
                threads=run.n_threads(),
            )
            counts["documents"] += batch.num_rows
            counts["known"] += int(found.known.sum())
            counts["unassigned"] += int((found.topics < 0).sum())
            columns = topic_columns(found.topics, found.topic_prob, found.nearest_topic, found.margin)
            for name, column in columns.items():
                batch = add_column(batch, name, column)
            yield batch

    def block() -> dict[str, Any]:
        parameters = {
            "model": str(trained.path),
            "encoder": config["encoder"],
            "assign_outliers": topics.assign_outliers,
        }
        return footer_block(
            "documents", command="bertopic", parameters=parameters, seed=run.seed, inputs=stream.inputs, steps=steps(stream)
        )  # fmt: skip

    if target == "-":
        with document_sink(target, schema, {}, force=force) as sink:
            for batch in predicted():
                sink.write(batch)
    else:
        with spool_beside(target) as spool:
            for batch in predicted():
                spool.write(batch)
            if not counts["documents"]:
                raise no_documents(stream, inputs)
            with document_sink(target, schema, block(), force=force) as sink:
                for batch in spool:
                    sink.write(batch)
    if not counts["documents"]:
        raise no_documents(stream, inputs)
    dropped = write_dropped(target, stream.dropped, block())
    warn_dropped(stream, dropped)
    console.note(
        f"topics of {console.counted(counts['documents'], 'document')}: {counts['known']:,} known from the fit, with the topic "
        f"they have there, {counts['unassigned']:,} without a topic; the others have the topic of their neighbours, which "
        f"is that of the fit for {config['rule_agreement']:.0%} of its documents"
    )
    if target != "-":
        console.note(f"wrote {target}; next: nlpkit ctfidf {target} --by topic")
        if run.json:
            console.emit_json({"output": target, **counts, "rule_agreement": config["rule_agreement"]})

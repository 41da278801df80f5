"""`nlpkit bertopic NEW --model run/`: topics of new documents, in a stream."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.bertopic import TopicFlags
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.artifacts import footer_block
from nlpkit.io.corpora import open_documents
from nlpkit.io.documents import add_column
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.runs import Run, open_run
from nlpkit.io.spool import spool_beside
from nlpkit.io.tables import is_readable, table_sink, write_dropped
from nlpkit.io.topic_tables import TOPIC_COLUMNS, read_training, text_hash, topic_columns, with_topic_columns
from nlpkit.text.language import SAMPLE_DOCS, foreign_language
from nlpkit.text.token_settings import NO_LANGUAGE
from nlpkit.topics.novelty import NOVELTY_QUANTILE, check_quantile, least_similarity
from nlpkit.topics.predict import Training, predict_topics
from nlpkit.workflows.corpus import has_text, no_documents, steps, warn_dropped
from nlpkit.workflows.embeddings import RunEmbeddings

if TYPE_CHECKING:
    from nlpkit.io.corpora import DocumentStream


def predict(
    inputs: list[str],
    out: OutputFlags,
    topics: TopicFlags,
    encoder: EncoderOptions,
    read: ReadOptions,
    run: RunFlags,
    model: Path,
) -> None:
    """Give documents the topics of a run. Raises InputError, SchemaError, ColumnError and MissingError."""
    trained = open_run(model, ["bertopic"], verify=run.verify)
    config = trained.model_config("encoder", "dim", "n_neighbors", "rule_agreement")
    if run.dry_run:
        dry_run(inputs, read, embeds=True)
        return
    target = out.target("predicted.parquet")
    if topics.novelty_quantile is not None:
        check_quantile(topics.novelty_quantile)
    if topics != replace(
        TopicFlags(), assign_outliers=topics.assign_outliers, novelty_quantile=topics.novelty_quantile
    ):
        reporting.warn(
            "options that shape topics (--k, --n-neighbors …) were decided when the run was fitted: ignored here"
        )
    with open_documents(inputs, read) as stream:
        _predict(stream, inputs, target, trained, config, topics, encoder, run, force=out.force)


def _predict(
    stream: DocumentStream,
    inputs: list[str],
    target: str,
    trained: Run,
    config: dict[str, Any],
    topics: TopicFlags,
    encoder: EncoderOptions,
    run: RunFlags,
    *,
    force: bool,
) -> None:
    for name in TOPIC_COLUMNS:
        if name in stream.schema.names:
            reporting.warn(f"the column '{name}' of the input is replaced")
    with trained.intact():
        if min(config["n_neighbors"], config["dim"]) < 1 or not 0 <= config["rule_agreement"] <= 1:
            raise ValueError("config.json has a number that is out of its range")
    training = read_training(trained, n_neighbors=config["n_neighbors"], threads=run.n_threads())
    bound = _bound(training, config.get("novelty"), topics.novelty_quantile)
    source = RunEmbeddings(config, encoder, run.n_threads(), stream)
    counts = {"documents": 0, "known": 0, "unassigned": 0, "novel": 0, "empty": 0}
    schema = with_topic_columns(stream.schema)
    sample: list[str] = []  # the language is that of the first new texts

    def predicted() -> Iterator[pa.RecordBatch]:
        for batch in stream:
            usable = has_text(batch.column("text"))
            texts = batch.column("text").to_pylist()
            hashes = [text_hash(t) for t in texts]
            new = usable & np.array([h not in training.rows for h in hashes], bool)
            sample.extend(texts[i] for i in np.flatnonzero(new)[: SAMPLE_DOCS - len(sample)])
            found = predict_topics(
                training,
                source.of(batch, new),
                hashes,
                usable,
                n_neighbors=config["n_neighbors"],
                least_similarity=bound.least_similarity,
                assign_outliers=topics.assign_outliers,
                threads=run.n_threads(),
            )
            counts["documents"] += batch.num_rows
            counts["known"] += int(found.known.sum())
            counts["unassigned"] += int((found.topics < 0).sum())
            counts["novel"] += int(found.novel.sum())
            counts["empty"] += int((~usable).sum())
            columns = topic_columns(found.topics, found.topic_prob, found.nearest_topic, found.margin)
            for name, column in columns.items():
                batch = add_column(batch, name, column)
            yield batch

    def block() -> dict[str, Any]:
        parameters = {
            "model": str(trained.path),
            "encoder": config["encoder"],
            "assign_outliers": topics.assign_outliers,
            "novelty_quantile": bound.quantile,
        }
        return footer_block(
            "documents", command="bertopic", parameters=parameters, seed=run.seed, inputs=stream.inputs, steps=steps(stream)
        )  # fmt: skip

    if target == "-":
        with table_sink(target, schema, {}, force=force) as sink:
            for batch in predicted():
                sink.write(batch)
    else:
        with spool_beside(target) as spool:
            for batch in predicted():
                spool.write(batch)
            if not counts["documents"]:
                raise no_documents(stream)
            with table_sink(target, schema, block(), force=force) as sink:
                for batch in spool:
                    sink.write(batch)
    if not counts["documents"]:
        raise no_documents(stream)
    dropped = write_dropped(target, stream.dropped, block())
    warn_dropped(stream, dropped)
    _say(counts, bound, config)
    _warn_of_language(sample, trained, config)
    if target != "-":
        goes_on = console.next_step("ctfidf", target, "--by", "topic") if is_readable(target) else ""
        reporting.note(f"wrote {target}{goes_on}")
        if run.json:
            console.emit_json(
                {"output": target, **counts, "rule_agreement": config["rule_agreement"], "novelty": bound.as_dict()}
            )


@dataclass(frozen=True, slots=True)
class _Bound:
    """The similarity under which new text is novel, -inf for none, and its quantile."""

    quantile: float
    least_similarity: float

    def as_dict(self) -> dict[str, float | None]:
        least = self.least_similarity
        return {"quantile": self.quantile, "least_similarity": least if math.isfinite(least) else None}


def _bound(training: Training, made: dict[str, Any] | None, wanted: float | None) -> _Bound:
    """Return the bound of the run; worked out from the training documents for another quantile, or where the run has none."""
    if made is not None and wanted in (None, made["quantile"]):
        least = made["least_similarity"]
        return _Bound(made["quantile"], -math.inf if least is None else least)
    quantile = NOVELTY_QUANTILE if wanted is None else wanted
    return _Bound(quantile, least_similarity(training.similarity, training.topics, quantile))


def _say(counts: dict[str, int], bound: _Bound, config: dict[str, Any]) -> None:
    """Say where the topics come from, and why documents have none."""
    new = counts["documents"] - counts["known"] - counts["empty"]
    parts = (
        [f"{wording.count(counts['known'])} known from the fit, with the topic they have there"]
        if counts["known"]
        else []
    )
    if new:
        parts.append(
            f"{wording.count(new)} new, with the topic of their neighbours (a rule that gives {config['rule_agreement']:.0%} of "
            "the fit's own documents the topic of the fit)"
        )
    if counts["empty"]:
        parts.append(f"{wording.count(counts['empty'])} without text")
    reporting.note(f"{wording.counted(counts['documents'], 'document')}: {'; '.join(parts)}")
    reporting.note(f"{wording.counted(counts['unassigned'], 'document')} without a topic")
    if counts["novel"]:
        reporting.note(
            f"{wording.counted(counts['novel'], 'new document')} of these "
            f"{'is' if counts['novel'] == 1 else 'are'} unlike everything the run was fitted to: mean cosine to the nearest "
            f"training documents under {bound.least_similarity:.3f} (--novelty-quantile {bound.quantile:g}; 1 sets no bound)"
        )


def _warn_of_language(sample: list[str], trained: Run, config: dict[str, Any]) -> None:
    """Warn when the new texts are in another language than those of the fit."""
    languages = config.get("languages") or (trained.manifest["parameters"].get("tokens") or {}).get("languages") or []
    known = [code for code, _ in languages if code != NO_LANGUAGE]
    found = foreign_language(sample, known)
    if found is not None:
        language = "in no language" if found.code == NO_LANGUAGE else f"'{found.code}'"
        reporting.warn(
            f"the new texts are mostly {language} ({found.share:.0%}), those of the run '{', '.join(known)}': "
            "their topics may follow the language more than the matter"
        )

"""`nlpkit lda-gibbs NEW --model run/`: topics of new documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.io.artifacts import footer_block
from nlpkit.io.documents import add_column
from nlpkit.io.lda_tables import read_fitted_texts, read_left_out, read_model
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.runs import Run, open_run
from nlpkit.io.tables import is_readable, table_sink, write_dropped
from nlpkit.io.topic_tables import TOPIC_COLUMNS, text_hashes, topic_columns, with_topic_columns
from nlpkit.text.options import PreprocessOptions
from nlpkit.topics.lda.infer import SWEEPS, infer_topics, words_of
from nlpkit.workflows.corpus import read_corpus, steps, warn_dropped
from nlpkit.workflows.counts import CountedCorpus, counted
from nlpkit.workflows.token_options import preprocess_options
from nlpkit.workflows.tokens import changed_token_options, cut_as_model

if TYPE_CHECKING:
    from nlpkit.text.options import TopicTokenOptions

BATCH = 4096  # documents whose topics are drawn at once


def predict(
    inputs: list[str], out: OutputFlags, model: Path, tokens: TopicTokenOptions, read: ReadOptions, run: RunFlags
) -> None:
    """Give documents the topics of a run. Raises InputError, SchemaError and UsageError."""
    trained = open_run(model, ["lda-gibbs"], verify=run.verify)
    config = trained.model_config("n_topics", "tokens")
    said = changed_token_options(preprocess_options(tokens))
    if said:
        raise UsageError(f"{', '.join(said)}: new texts are cut as those of the run {model} were; leave it out")
    if run.dry_run:
        dry_run(inputs, read)
        return
    target = out.target("predicted.parquet")
    with read_corpus(*inputs, options=read, beside=target).open() as stream:
        for name in TOPIC_COLUMNS:
            if name in stream.schema.names:
                reporting.warn(f"the column '{name}' of the input is replaced")
        options = cut_as_model(stream, config["tokens"], f"the run {model}")
        columns = [n for n in stream.schema.names if n not in TOPIC_COLUMNS]
        schema = with_topic_columns(pa.schema([stream.schema.field(n) for n in columns]))
        with counted(
            stream, options or PreprocessOptions(),
            columns=columns, threads=run.n_threads(), own_tokens=options is None,
        ) as words:  # fmt: skip
            batches = _Predicted(words, trained, run)
            block = footer_block(
                "documents", command="lda-gibbs", parameters={"model": str(model), "sweeps": SWEEPS},
                seed=run.seed, inputs=stream.inputs, steps=steps(stream),
            )  # fmt: skip
            with table_sink(target, schema, block, force=out.force) as sink:
                for batch in batches:
                    sink.write(batch)
        dropped = write_dropped(target, stream.dropped, block)
    warn_dropped(stream, dropped)
    batches.say(trained)
    if target != "-":
        goes_on = console.next_step("ctfidf", target, "--by", "topic") if is_readable(target) else ""
        reporting.note(f"wrote {target}{goes_on}")
        if run.json:
            console.emit_json({"output": target, **batches.counts})


class _Predicted:
    """The batches of a corpus with their topics, and what was counted on the way."""

    def __init__(self, words: CountedCorpus, trained: Run, run: RunFlags) -> None:
        self.words, self.run = words, run
        model = read_model(trained)
        self.phi = words_of(model)
        self.fitted = read_fitted_texts(trained)
        number = {term: i for i, term in enumerate(model.terms)}
        self.place = np.array([number.get(term, -1) for term in words.terms], np.int32)
        left_out = read_left_out(trained)
        self.left_out = None if left_out is None else np.array([term in left_out for term in words.terms], bool)
        self.counts = dict.fromkeys(
            ("documents", "known", "unassigned", "tokens", "unknown_tokens", "left_out_tokens"), 0
        )  # fmt: skip

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with reporting.progress("topics", self.words.n_docs) as update:
            for whole, encoded in self.words.encoded():
                for start in range(0, whole.num_rows, BATCH):
                    stop = min(start + BATCH, whole.num_rows)
                    offsets = encoded.offsets[start : stop + 1]
                    ids = encoded.term_ids[offsets[0] : offsets[-1]]
                    yield self._with_topics(whole.slice(start, stop - start), offsets - offsets[0], ids)
                    update(self.counts["documents"])

    def _with_topics(self, batch: pa.RecordBatch, offsets: Any, ids: Any) -> pa.RecordBatch:
        row = self.fitted.rows(batch.column("id").to_pylist(), text_hashes(batch.column("text")).to_pylist())
        known, place = row >= 0, self.place[ids]
        drawn = (place >= 0) & ~np.repeat(known, np.diff(offsets))  # nothing is drawn for texts of the fit
        kept = np.concatenate([[0], np.cumsum(drawn)])[offsets]
        theta = infer_topics(self.phi, kept, place[drawn], seed=self.run.seed, threads=self.run.n_threads())
        full = np.diff(kept) > 0
        at = np.arange(len(theta))
        best = theta.argmax(axis=1)
        top = theta[at, best]
        theta[at, best] = 0.0
        margin = top - theta.max(axis=1) if theta.shape[1] > 1 else np.zeros(len(top))
        topic, top, margin = np.where(full, best, -1), np.where(full, top, 0.0), np.where(full, margin, 0.0)
        if known.any():
            fit = self.fitted
            for values, of_fit in ((topic, fit.topic), (top, fit.topic_prob), (margin, fit.margin)):
                values[known] = of_fit[row[known]]
        self.counts["documents"] += len(theta)
        self.counts["known"] += int(known.sum())
        self.counts["unassigned"] += int((topic < 0).sum())
        self.counts["tokens"] += len(ids)
        self.counts["unknown_tokens"] += int((place < 0).sum())
        if self.left_out is not None:
            self.counts["left_out_tokens"] += int(self.left_out[ids[place < 0]].sum())
        for name, column in topic_columns(topic, top, topic, margin).items():
            batch = add_column(batch, name, column)
        return batch

    def say(self, run: Run) -> None:
        """Say how many documents and words there were, and how many the model does not know."""
        n = self.counts
        new = n["documents"] - n["known"]
        parts = (
            [f"{wording.count(n['known'])} known from the fit, with the topic they have there"] if n["known"] else []
        )
        parts += [f"{wording.count(new)} new"] if new else []
        reporting.note(f"{wording.counted(n['documents'], 'document')}: {'; '.join(parts)}")
        if n["unassigned"]:
            have = "has" if n["unassigned"] == 1 else "have"
            reporting.note(
                f"{wording.counted(n['unassigned'], 'document')} {have} no word that the run {run.path} knows, and no topic"
            )
        if n["unknown_tokens"]:
            share = n["unknown_tokens"] / n["tokens"]
            are = "is" if n["unknown_tokens"] == 1 else "are"
            reporting.note(
                f"{wording.count(n['unknown_tokens'])} of {wording.counted(n['tokens'], 'token')} ({share:.0%}) {are} not in its "
                f"vocabulary: {self._why()}"
            )

    def _why(self) -> str:
        if self.left_out is None:
            return "words that the fit left out or never saw"
        gone, unseen = self.counts["left_out_tokens"], self.counts["unknown_tokens"] - self.counts["left_out_tokens"]
        parts = [f"{wording.count(gone)} of words that the fit left out (--min-df and the like)"] if gone else []
        parts += [f"{wording.count(unseen)} of words that it never saw"] if unseen else []
        return ", ".join(parts)

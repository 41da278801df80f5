"""`nlpkit lda-gibbs NEW --model run/`: topics of new documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit.cli import console
from nlpkit.cli.counted import CountedCorpus, counted
from nlpkit.cli.options import OutputFlags, ReadFlags, RunFlags
from nlpkit.cli.pipeline import changed_token_options, steps, warn_dropped
from nlpkit.cli.preprocess import NO_LANGUAGE, dry_run
from nlpkit.errors import InputError, UsageError
from nlpkit.io.artifacts import document_sink, footer_block, write_dropped
from nlpkit.io.atomic import check_target
from nlpkit.io.corpora import open_documents
from nlpkit.io.documents import add_column
from nlpkit.io.lda_tables import read_model
from nlpkit.io.runs import Run, open_run
from nlpkit.io.topic_tables import TOPIC_COLUMNS, topic_columns, with_topic_columns
from nlpkit.text.clean import Cleaner
from nlpkit.text.options import PreprocessOptions
from nlpkit.topics.lda.infer import SWEEPS, infer_topics, words_of
from nlpkit.topics.lda.model import LdaModel

if TYPE_CHECKING:
    from nlpkit.cli.token_flags import TokenFlags

BATCH = 4096  # documents whose topics are drawn at once
_CARRIED = ("language", "tokenizer", "pattern", "segment", "lower", "min_length", "lemma", "stem", "stop_words")
_NEEDED_AS_THEN = {
    "phrases": "--phrases",
    "phrase_table": "--phrases",
    "spacy": "spaCy",
}


def predict(
    inputs: list[str], out: OutputFlags, model: Path, tokens: TokenFlags, read: ReadFlags, run: RunFlags
) -> None:
    """Give documents the topics of a run. Raises InputError, SchemaError and UsageError."""
    trained = open_run(model, ["lda-gibbs"])
    config = trained.model_config("n_topics", "tokens")
    said = changed_token_options(tokens.options())
    if said:
        raise UsageError(f"{', '.join(said)}: new texts are cut as those of the run {model} were; leave it out")
    if run.dry_run:
        dry_run(inputs, read)
        return
    target = out.target("predicted.parquet")
    if target != "-":
        check_target(Path(target), force=out.force)
    with open_documents(inputs, read.read_options()) as stream:
        for name in TOPIC_COLUMNS:
            if name in stream.schema.names:
                console.warn(f"the column '{name}' of the input is replaced")
        there = "tokens" in stream.schema.names
        options = PreprocessOptions() if there else cut_as_then(config["tokens"], model)
        columns = [n for n in stream.schema.names if n not in TOPIC_COLUMNS]
        schema = with_topic_columns(pa.schema([stream.schema.field(n) for n in columns]))
        with counted(stream, options, target, inputs, columns=columns, threads=run.n_threads()) as words:
            batches = _Predicted(words, read_model(trained), run)
            block = footer_block(
                "documents", command="lda-gibbs", parameters={"model": str(model), "sweeps": SWEEPS},
                seed=run.seed, inputs=stream.inputs, steps=steps(stream),
            )  # fmt: skip
            with document_sink(target, schema, block, force=out.force) as sink:
                for batch in batches:
                    sink.write(batch)
        dropped = write_dropped(target, stream.dropped, block)
    warn_dropped(stream, dropped)
    batches.say(trained)
    if target != "-":
        console.note(f"wrote {target}; next: nlpkit ctfidf {target} --by topic")
        if run.json:
            console.emit_json({"output": target, **batches.counts})


def cut_as_then(info: Mapping[str, Any] | None, model: Path) -> PreprocessOptions:
    """Return options that cut new texts as those of the fit were cut.

    Raises:
        InputError: it is not known how, or it takes more than options.
    """
    hint = "give the new documents a column 'tokens' made in the same way"
    if info is None:
        raise InputError(f"the run {model} does not say how its tokens were made; {hint}")
    for name, option in _NEEDED_AS_THEN.items():
        if info.get(name):
            raise InputError(f"the tokens of the run {model} were made with {option} of nlpkit preprocess; {hint}")
    cleaner = info.get("cleaner")
    if cleaner and cleaner.get("replacements"):
        raise InputError(f"the tokens of the run {model} were made with --replace of nlpkit preprocess; {hint}")
    given = {name: info[name] for name in _CARRIED if name in info}
    known = [code for code, *_ in info.get("languages") or [] if code != NO_LANGUAGE]
    if given.get("language") == "auto":
        given["language"] = known[0] if known else "none"
    if given.get("stop_words") == "auto":
        given["stop_words"] = ",".join(info.get("stop_word_languages") or []) or "none"
    if cleaner:
        language = given["language"] if given.get("language") not in (None, "none") else cleaner["emoji_language"]
        given["cleaner"] = Cleaner(**{**cleaner, "emoji_language": language})
    return PreprocessOptions(
        **given,
        keep=frozenset(info.get("keep") or ()),
        extra_stop_words=frozenset(info.get("extra_stop_words") or ()),
        stop_patterns=tuple(info.get("stop_patterns") or ()),
        ngrams=tuple(info.get("ngrams") or (1, 1)),
        min_df=1,
    )


class _Predicted:
    """The batches of a corpus with their topics, and what was counted on the way."""

    def __init__(self, words: CountedCorpus, model: LdaModel, run: RunFlags) -> None:
        self.words, self.run = words, run
        self.phi = words_of(model)
        number = {term: i for i, term in enumerate(model.terms)}
        self.place = np.array([number.get(term, -1) for term in words.terms], np.int32)
        self.counts = {"documents": 0, "tokens": 0, "unknown_tokens": 0, "unassigned": 0}

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with console.progress("topics", self.words.n_docs) as update:
            for whole, encoded in self.words.encoded():
                for start in range(0, whole.num_rows, BATCH):
                    stop = min(start + BATCH, whole.num_rows)
                    offsets = encoded.offsets[start : stop + 1]
                    ids = encoded.term_ids[offsets[0] : offsets[-1]]
                    yield self._with_topics(whole.slice(start, stop - start), offsets - offsets[0], self.place[ids])
                    update(self.counts["documents"])

    def _with_topics(self, batch: pa.RecordBatch, offsets: Any, ids: Any) -> pa.RecordBatch:
        known = ids >= 0
        kept = np.concatenate([[0], np.cumsum(known)])[offsets]
        theta = infer_topics(self.phi, kept, ids[known], seed=self.run.seed, threads=self.run.n_threads())
        full = np.diff(kept) > 0
        at = np.arange(len(theta))
        best = theta.argmax(axis=1)
        top = theta[at, best]
        theta[at, best] = 0.0
        margin = top - theta.max(axis=1) if theta.shape[1] > 1 else np.zeros(len(top))
        topic = np.where(full, best, -1)
        self.counts["documents"] += len(theta)
        self.counts["tokens"] += len(ids)
        self.counts["unknown_tokens"] += int((~known).sum())
        self.counts["unassigned"] += int((~full).sum())
        columns = topic_columns(topic, np.where(full, top, 0.0), topic, np.where(full, margin, 0.0))
        for name, column in columns.items():
            batch = add_column(batch, name, column)
        return batch

    def say(self, run: Run) -> None:
        """Say how many documents and words there were, and how many the model does not know."""
        n = self.counts
        share = n["unknown_tokens"] / max(n["tokens"], 1)
        console.note(
            f"topics of {console.counted(n['documents'], 'document')} by {run.path}: {n['unknown_tokens']:,} of "
            f"{console.counted(n['tokens'], 'token')} ({share:.0%}) are not in its vocabulary, {n['unassigned']:,} documents have no "
            "word it knows and no topic"
        )

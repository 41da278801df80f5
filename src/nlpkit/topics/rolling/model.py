"""The rolling model and its run: fitted, saved, and read again when newer documents are added.

Parts, in this order:
- A rolling run that documents are added to: what is read of it, and its documents followed by the new ones.
- A fitted rolling model, and the run it is saved as: the tables of time beside those of any LDA model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import ColumnError, InputError
from nlpkit.platform import wording
from nlpkit.platform.documents.inputs import DroppedRow, InputInfo
from nlpkit.platform.options import Execution, in_force
from nlpkit.platform.runs.artifacts import read_footer
from nlpkit.platform.runs.footers import step_parameters
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.types import FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.corpus import CHUNK, ROLLING_COLUMNS, STAGE, DatedCorpus
from nlpkit.topics.base.model import select_documents
from nlpkit.topics.base.runs import LDA, Additions, TopicCorpus, mixture_run
from nlpkit.topics.base.tables import read_model, with_text_hashes
from nlpkit.topics.base.topic_words import exclusive_terms, topic_names
from nlpkit.topics.lda.chain import ComparedChains
from nlpkit.topics.lda.fit import LdaFit, fit_state
from nlpkit.topics.lda.model import FittedLda, LdaReport
from nlpkit.topics.lda.options import DescriptionOptions
from nlpkit.topics.lda.tables import prototype_additions
from nlpkit.topics.rolling.changes import (
    detect_changes,
    doc_topic_counts,
    document_shares,
    similarity_to_past,
    token_shares,
    topic_term_by_chunk,
)
from nlpkit.topics.rolling.options import ChangeOptions
from nlpkit.topics.rolling.plan import RollingState
from nlpkit.topics.rolling.tables import (
    changes_table,
    chunks_table,
    plain_columns,
    read_rolling_config,
    read_state,
    read_texts,
    rolling_config,
    shares_table,
    state_tables,
    text_candidates,
)
from nlpkit.weights.dtm import count_terms, document_frequency


@dataclass(frozen=True, slots=True)
class RollingRun:
    """A rolling run that documents are added to. rows: id and the user's columns of its documents, in their order.

    chain_topics, names (K,): the number in the chain of each topic, and the name that somebody gave it, "" for none.
    """

    run: Run
    state: RollingState
    changes: ChangeOptions
    rows: pa.Table
    chain_topics: list[int]
    names: list[str]
    texts: Mapping[int, str]
    dropped: list[DroppedRow]
    inputs: list[InputInfo]
    steps: list[dict[str, Any]]
    token_info: dict[str, Any] | None

    def previous_numbers(self, order: LongArray) -> LongArray:
        """Return the number that each topic had in the run (K,).

        Args:
            order: (K,) number in the chain of each topic now.
        """
        place = {k: number for number, k in enumerate(self.chain_topics)}
        return np.array([place[int(k)] for k in order])

    def renumbered(self, order: LongArray) -> tuple[tuple[int, int], ...]:
        """Return the numbers, before and now, of the topics that have another one."""
        before = self.previous_numbers(order).tolist()
        return tuple(sorted((old, new) for new, old in enumerate(before) if old != new))

    def names_of(self, order: LongArray) -> tuple[str, ...]:
        """Return the names that somebody gave the topics as they are numbered now (K,), "" for none; `order` as above."""
        return tuple(self.names[number] for number in self.previous_numbers(order))

    def prototype(self, order: LongArray) -> Additions:
        """Return the prototype tables of the run, its topics renumbered; nothing where it has no prototype."""
        if "prototype" not in self.run.manifest["parameters"]:
            return Additions()
        kept = ("prototype_run", "mean_sclop", "mean_sclop_of_runs", "agreement")
        names = [
            name for name in ("prototype", "topic_similarity") if (self.run.path / f"{name}.parquet").exists()
        ]  # fmt: skip
        before = self.previous_numbers(order)
        matched = plain_columns(self.run.table("matched_topics"))
        now = np.argsort(before)[matched.column("topic").to_numpy()]
        renumbered = matched.set_column(0, "topic", pa.array(now, pa.int32()))
        agreement = self.run.table("topics", ["agreement"]).column("agreement")
        return Additions(
            tables={
                **{name: plain_columns(self.run.table(name)) for name in names},
                "matched_topics": renumbered.take(pa.array(np.argsort(now, kind="stable"))),
            },
            topic_columns={"agreement": agreement.combine_chunks().take(pa.array(before))},
            results={
                **{name: self.run.manifest["results"][name] for name in kept},
                "chain_topics": [int(k) for k in order],
            },
            parameters={name: self.run.manifest["parameters"][name] for name in ("prototype", "similarity")},
        )


def open_rolling_run(path: Path, *, verify: bool) -> RollingRun:
    """Read a rolling run.

    Raises:
        InputError, SchemaError: it is none, or it is damaged.
    """
    run = open_run(path, [LDA], command="rolling-lda", verify=verify)
    config = run.model_config("tokens")
    if not config.get("rolling"):
        raise InputError(
            f"{path} was fitted to all documents at once, so none can be added; fit a rolling run with "
            "`fit_rolling_lda()`"
        )
    with run.intact():
        options, seed, changes = read_rolling_config(config)
        if (
            options.sweeps != run.manifest["parameters"]["sweeps"]
        ):  # a forged number would keep an update busy for years
            raise ValueError(
                f"{options.sweeps:,} sweeps, where the manifest has {run.manifest['parameters']['sweeps']}"
            )
        inputs = [InputInfo(**one) for one in run.manifest["inputs"]]
    dropped = run.table("dropped").to_pylist() if (path / "dropped.parquet").exists() else []
    documents, topics, model = run.table("documents"), run.table("topics", ["chain_topic", "label"]), read_model(run)
    generated = topic_names(exclusive_terms(model.topic_term), model.terms)
    with run.intact():
        chain = numbers(topics, "chain_topic").tolist()
        if len(chain) != options.n_topics or sorted(chain) != list(range(len(chain))):
            raise ValueError("topics of another number than the chain's")
        columns = [n for n in documents.column_names if n not in ROLLING_COLUMNS]
        state, texts = read_state(run, options, seed), read_texts(run)
        missing = set(_needed_texts(state, documents.column("id").to_pylist())).difference(texts)
        if missing:
            raise ValueError(f"the texts of {wording.counted(len(missing), 'document')} are missing")
        return RollingRun(
            run,
            state,
            changes,
            with_text_hashes(documents.select(columns), run),
            chain,
            [
                "" if label == automatic else label
                for label, automatic in zip(topics.column("label").to_pylist(), generated, strict=True)
            ],
            texts,
            [DroppedRow(**row) for row in dropped],
            inputs,
            (read_footer(path / "documents.parquet") or {}).get("steps", []),
            config["tokens"],
        )


def _needed_texts(state: RollingState, ids: Sequence[str]) -> list[int]:
    """Return the documents whose texts an update may show, by row of documents.parquet. ids: of its rows."""
    place = {name: row for row, name in enumerate(state.ids)}
    places = np.array([place[name] for name in ids], np.int64)
    K = state.options.n_topics
    topics = select_documents(TokenTable(state.offsets, state.z, ("",) * K), places)
    return text_candidates(state, places, count_terms(topics), np.full(K, state.options.each_alpha))


def with_newer(base: RollingRun, new: DatedCorpus) -> TopicCorpus:
    """Return the documents of a run followed by new ones: what one reading of all would have given, but for the tokens.

    Raises:
        ColumnError: a column holds values of another type than before.
    """
    n = base.rows.num_rows
    dropped = [*base.dropped, *new.corpus.dropped]
    steps = [*base.steps, *new.corpus.steps]

    def texts(rows: Sequence[int]) -> dict[int, str]:
        later = new.corpus.texts([row - n for row in rows if row >= n])
        return {row: base.texts[row] if row < n else later[row - n] for row in rows}

    return replace(
        new.corpus,
        rows=appended_rows(base.rows, new.corpus.rows),
        token_info=base.token_info if not steps else step_parameters(steps, "preprocess"),
        inputs=[*base.inputs, *new.corpus.inputs],
        dropped=sorted(dropped, key=lambda row: row.stage == STAGE),  # as of one reading: its own drops come first
        steps=steps,
        texts=texts,
    )


def appended_rows(old: pa.Table, new: pa.Table) -> pa.Table:
    """Return documents of a run and new ones in one table. Raises ColumnError where a column has types that are not one."""
    for name in old.column_names:
        if name in new.column_names:
            kinds = [old.schema.field(name).type, new.schema.field(name).type]
            try:
                pa.unify_schemas([pa.schema([(name, kind)]) for kind in kinds], promote_options="permissive")
            except (pa.ArrowTypeError, pa.ArrowInvalid):
                raise ColumnError(
                    f"column '{name}' is {kinds[0]} in the run but {kinds[1]} in the new documents; use "
                    f"`types={name}=string`, or the original type",
                    parameter="types",
                ) from None
    return pa.concat_tables([plain_columns(old), plain_columns(new)], promote_options="permissive")


def modelled(corpus: TopicCorpus, state: RollingState, places: LongArray) -> tuple[TopicCorpus, IntArray]:
    """Return the corpus with the words that are modelled and a column of chunks, and the topic of each word (N,).

    Args:
        places: (D,) row in the state of each document.
    """
    tokens = select_documents(state.tokens, places)
    z = select_documents(TokenTable(state.offsets, state.z, state.terms), places).term_ids
    rows = plain_columns(corpus.rows).combine_chunks()
    columns = {name: rows.column(name) for name in rows.column_names}
    first = {"id": columns.pop("id"), CHUNK: pa.array(state.chunk_of()[places], pa.int32())}
    return replace(
        corpus,
        tokens=tokens,
        rows=pa.table(first | columns),
        cf=np.bincount(tokens.term_ids, minlength=tokens.n_terms),
        df=document_frequency(count_terms(tokens)),
    ), z


# ------------------------------------------------------------------------------------------------------------------------
# A fitted rolling model, and the run it is saved as: the tables of time beside those of any LDA model.

COMMAND = "rolling-lda"


class FittedRollingLda(FittedLda):
    """A rolling model that was fitted or loaded. renumbered: old and new numbers of the topics that an update numbered anew."""

    renumbered: tuple[tuple[int, int], ...] = ()

    @property
    def change_options(self) -> ChangeOptions:
        """The options that separate changes from chance."""
        return ChangeOptions.from_config(self.config["change_options"])


@dataclass(frozen=True, slots=True)
class RollingResult:
    """A rolling model and its documents. places (D,): row in the state of each document of the corpus."""

    state: RollingState
    corpus: TopicCorpus
    places: LongArray
    changes: ChangeOptions
    compared: ComparedChains | None = None
    base: RollingRun | None = None


def fitted_rolling(
    result: RollingResult, description: DescriptionOptions, execution: Execution, seconds: dict[str, float]
) -> FittedRollingLda:
    """Return the model with its run: the tables of time beside those of any LDA model."""
    state, options = result.state, result.state.options
    corpus, z = modelled(result.corpus, state, result.places)
    alpha: FloatArray = np.full(options.n_topics, options.each_alpha)
    fit = replace(fit_state(corpus.tokens, z, alpha, options.each_eta), sweeps=options.sweeps, trace=())
    if result.base is not None:
        fit = replace(fit, names=result.base.names_of(fit.order))
    with stopwatch(seconds, "changes"):
        additions = _tables_of_time(result, fit, alpha, threads=execution.n_threads())
    with stopwatch(seconds, "description"):
        candidates = text_candidates(state, result.places, fit.doc_topic, alpha)
        texts = corpus.texts(candidates)
        additions |= Additions(
            model_tables=state_tables(state, result.places, texts),
            topic_columns={"chain_topic": pa.array(fit.order, pa.int32())},
            config=rolling_config(state, result.changes),
        )
    if result.compared is not None:
        additions |= prototype_additions(result.compared, fit.order)
    elif result.base is not None:
        additions |= result.base.prototype(fit.order)
    run = mixture_run(
        LDA,
        corpus,
        fit.mixture(),
        description,
        execution,
        command=COMMAND,
        parameters=_parameters(result),
        additions=additions,
        seconds=seconds,
        with_assignments=description.save_assignments,
    )
    report = LdaReport(fit, corpus.tokens, seconds, prototype=result.compared)
    model = FittedRollingLda(run, fit.model, report)
    if result.base is not None:
        model.renumbered = result.base.renumbered(fit.order)
    return model


def _parameters(result: RollingResult) -> dict[str, Any]:
    """Return the options of a rolling model as footer parameters: those in force."""
    config = rolling_config(result.state, result.changes)["rolling_options"]
    options = result.state.options
    return {
        **{k: v for k, v in config.items() if k != "seed"},
        "alpha": options.n_topics * options.each_alpha / options.n_topics,
        "eta": options.each_eta,
        "changes": in_force(result.changes),
    }


def _tables_of_time(result: RollingResult, fit: LdaFit, alpha: FloatArray, *, threads: int) -> Additions:
    """Return chunks, shares of topics over time and changes."""
    state, chunks = result.state, result.state.chunks
    counts = topic_term_by_chunk(state)
    shares = shares_table(
        chunks,
        token_shares(counts),
        document_shares(doc_topic_counts(state), state.chunk_of().astype(np.int64), len(chunks), alpha),
        similarity_to_past(counts, "previous"),
        similarity_to_past(counts, "past"),
        fit.order,
    )
    changes = detect_changes(
        counts,
        [c.n_vocab for c in chunks],
        eta=state.options.each_eta,
        seed=state.seed,
        options=result.changes,
        threads=threads,
    )
    return Additions(
        tables={
            "chunks": chunks_table(chunks),
            "topic_shares": shares,
            "changes": changes_table(chunks, changes, counts, state.terms, fit.order),
        },
        results={
            "chunks": len(chunks),
            "chunks_without_documents": sum(not c.n for c in chunks),
            "discarded": sum(c.n_discarded for c in chunks),
            "changes": len(changes.events),
            "changes_uncertain": sum(change.uncertain for change in changes.events),
            "tests": int(np.count_nonzero(changes.span)),
        },
    )


def load_lda(path: Path, execution: Execution) -> FittedLda:
    """Return the model of a run of lda-gibbs or rolling-lda.

    Raises:
        InputError, SchemaError: there is none, or it is damaged.
    """
    run = open_run(path, [LDA], verify=execution.verify)
    is_rolling = bool(run.model_config("n_topics", "tokens").get("rolling"))
    return (FittedRollingLda if is_rolling else FittedLda)(run, read_model(run))

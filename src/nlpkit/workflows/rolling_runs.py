"""A rolling run that documents are added to: what is read of it, and its documents followed by the new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import wording
from nlpkit.errors import ColumnError, InputError
from nlpkit.io.artifacts import read_footer
from nlpkit.io.corpora import DroppedRow, InputInfo
from nlpkit.io.footers import step_parameters
from nlpkit.io.mixture_runs import LDA, Additions, TopicCorpus
from nlpkit.io.mixture_tables import read_model, with_text_hashes
from nlpkit.io.rolling_tables import plain_columns, read_rolling_config, read_state, read_texts, text_candidates
from nlpkit.io.runs import Run, open_run
from nlpkit.io.table_spec import numbers
from nlpkit.topics.lda.rolling_options import ChangeOptions
from nlpkit.topics.lda.rolling_plan import RollingState
from nlpkit.topics.mixtures.token_tables import select_documents
from nlpkit.topics.naming import exclusive_terms, topic_names
from nlpkit.types import IntArray, LongArray, TokenTable
from nlpkit.weighting.dtm import count_terms, document_frequency
from nlpkit.workflows.topic_corpus import CHUNK, ROLLING_COLUMNS, STAGE, DatedCorpus


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

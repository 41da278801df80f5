"""A fitted rolling model, and the run it is saved as: the tables of time beside those of any LDA model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.io.cost import stopwatch
from nlpkit.io.mixture_runs import LDA, Additions, TopicCorpus, mixture_run
from nlpkit.io.mixture_tables import read_model
from nlpkit.io.prototype_tables import prototype_additions
from nlpkit.io.rolling_tables import (
    changes_table,
    chunks_table,
    rolling_config,
    shares_table,
    state_tables,
    text_candidates,
)
from nlpkit.io.runs import open_run
from nlpkit.parameters import Execution, in_force
from nlpkit.topics.lda.chains import ComparedChains
from nlpkit.topics.lda.changes import detect_changes
from nlpkit.topics.lda.fit import LdaFit, fit_state
from nlpkit.topics.lda.options import DescriptionOptions
from nlpkit.topics.lda.rolling_options import ChangeOptions
from nlpkit.topics.lda.rolling_plan import RollingState
from nlpkit.topics.lda.shares import (
    doc_topic_counts,
    document_shares,
    similarity_to_past,
    token_shares,
    topic_term_by_chunk,
)
from nlpkit.types import FloatArray, LongArray
from nlpkit.workflows.lda_model import FittedLda, LdaReport
from nlpkit.workflows.rolling_runs import RollingRun, modelled

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

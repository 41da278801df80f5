"""RollingLDA: topics that stay the same ones over time, chunk after chunk, each sampled beside the memory of the ones before.

Rieger, Jentsch and Rahnenführer 2021, "RollingLDA: An Update Algorithm of Latent Dirichlet Allocation to Construct
Consistent Time Series from Textual Data", Findings of EMNLP, pp. 2337-2347; parameters as in R's rollinglda 0.1.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol

import numpy as np

from nlpkit import reporting
from nlpkit.errors import InputError
from nlpkit.parameters import Execution
from nlpkit.topics.lda.chunks import Chunk
from nlpkit.topics.lda.options import USUAL
from nlpkit.topics.lda.rolling_options import RollingOptions
from nlpkit.topics.lda.rolling_plan import (
    RollingState,
    checked_dates,
    inverse,
    plan_all,
    plan_more,
    without_last,
)
from nlpkit.topics.lda.sampler import GibbsSampler
from nlpkit.topics.mixtures.token_tables import append_documents
from nlpkit.types import BoolArray, Days, IntArray, LongArray, TokenTable


@dataclass(frozen=True, slots=True)
class RollingFit:
    """The model, and for each document in the order given its row there, rows (D,) int64."""

    state: RollingState
    rows: LongArray


class ChunkSampler(Protocol):
    """Sampler of one chunk, built as a `GibbsSampler` is."""

    def run(self, sweeps: int) -> None: ...

    def assignments(self) -> IntArray: ...


MakeSampler = Callable[..., ChunkSampler]
First = Callable[[TokenTable], IntArray]


def fit_rolling(
    tokens: TokenTable,
    dates: Days,
    ids: Sequence[str],
    options: RollingOptions,
    execution: Execution = USUAL,
    *,
    first: First | None = None,
    sampler: MakeSampler = GibbsSampler,
) -> RollingFit:
    """Fit a model to the documents of the initial period, then chunk after chunk to the later ones.

    A chunk is sampled by collapsed Gibbs together with its memory: the documents since a day before it, whose tokens keep
    the topics they have and are counted, while those of the chunk start at random and are drawn in each sweep
    (rollinglda: n.init). The counts of the chunk's own random start are not left in the topics, as they are in R's
    sampler (run: of 11,037 tokens, 2,786 new, its counts hold 13,823 after 1, 5 and 50 sweeps; ldagibbs.c adds the start twice).

    Args:
        tokens: all words of the documents, in any order of date; rare ones are needed for the thresholds.
        dates: (D,) datetime64.
        ids: (D,), all different.
        options: see there; execution: seed and threads of the sampler.
        first: returns the topics (N,) of the tokens of the initial period, such as those of an LDAPrototype; None = of one
            sampler.
        sampler: makes the samplers.

    Raises:
        InputError: documents without a date, with one date only, or equal ids; no words left in the initial period; a chunk
            without memory.
    """
    plan, rows = plan_all(tokens, dates, ids, options, seed=execution.seed)
    return RollingFit(_sample(plan, 0, sampler, first, execution.n_threads()), rows)


def update_rolling(
    state: RollingState,
    tokens: TokenTable,
    dates: Days,
    ids: Sequence[str],
    *,
    sampler: MakeSampler = GibbsSampler,
    threads: int = 1,
) -> RollingFit:
    """Add later documents to a model; the state is, bit by bit, that of one fit to the old documents followed by the new.

    Documents that fall into the last chunk join it, and it is sampled anew with the seed it had; those that would fall into
    a chunk before it would change all that follows, and are refused.

    Args:
        state: of the model so far.
        tokens, dates, ids: of the new documents.
        sampler: as in `fit_rolling`; threads: of the sampler.

    Raises:
        InputError: as in `fit_rolling`; a new document is dated before the last chunk, or its id is in the model.
    """
    dates = checked_dates(dates, ids)
    if not len(dates):
        return RollingFit(state, np.zeros(0, np.int64))
    open_chunk = state.chunks[-1]
    early = np.flatnonzero(dates < np.datetime64(open_chunk.start_date))
    if len(early):
        raise InputError(
            f"{len(early):,} of the new documents are dated before {open_chunk.start_date}, when the last chunk of "
            f"the model begins (first: '{ids[early[0]]}', {dates[early[0]]}); leave them out, or fit the model "
            "again with all documents"
        )
    known = set(state.ids).intersection(ids)
    if known:
        example = next(i for i in ids if i in known)
        raise InputError(
            f"{len(known):,} of the new documents are already in the model (first: '{example}'); give only the others"
        )
    begin, stop = state.rows(open_chunk)
    joined = append_documents(state.last, tokens)
    all_dates = np.concatenate([state.dates[begin:stop], dates])
    all_ids = [*state.ids[begin:], *ids]
    order = np.argsort(all_dates, kind="stable")
    plan = plan_more(without_last(state), joined, all_dates[order], [all_ids[d] for d in order], order)
    new = _sample(plan, len(state.chunks) - 1, sampler, None, threads)
    return RollingFit(new, begin + inverse(order)[stop - begin :])


def chunk_seed(seed: int, start: date) -> int:
    """Return the seed of the chunk that begins on a day: it depends on nothing else, so chunks can be added later."""
    entropy = np.random.SeedSequence((seed % 2**64, start.toordinal()))
    return int(entropy.generate_state(1, np.uint64)[0] >> np.uint64(1))


def _sample(plan: RollingState, chunk_id: int, sampler: MakeSampler, first: First | None, threads: int) -> RollingState:
    """Draw the topics of the tokens of all chunks from chunk_id on."""
    options, chunks = plan.options, plan.chunks[chunk_id:]
    z = np.full(len(plan.term_ids), -1, np.int32)
    z[: len(plan.z)] = plan.z
    done, n_documents = 0, sum(chunk.n + chunk.n_discarded for chunk in chunks)
    if chunk_id == 0 and first is not None:
        _, stop = plan.rows(chunks[0])
        z[: plan.offsets[stop]] = first(_words(plan, chunks[0], 0))
        done, chunks = chunks[0].n + chunks[0].n_discarded, chunks[1:]
    with reporting.progress("documents", n_documents) as update:
        for chunk in chunks:
            if chunk.n:
                begin, stop = plan.rows(chunk)
                since = begin if chunk.memory is None else int(np.searchsorted(plan.dates, np.datetime64(chunk.memory)))
                low, new, high = plan.offsets[[since, begin, stop]]
                frozen: BoolArray = np.arange(since, stop) < begin
                model = sampler(
                    _words(plan, chunk, since),
                    n_topics=options.n_topics,
                    alpha=options.each_alpha,
                    eta=options.each_eta,
                    seed=plan.seed if chunk.chunk_id == 0 else chunk_seed(plan.seed, chunk.start_date),
                    threads=threads,
                    shards=options.shards,
                    assignments=z[low:high].copy(),
                    frozen=frozen,
                )
                for sweep in range(
                    1, options.sweeps + 1
                ):  # one at a time: between two, progress is shown and Ctrl-C ends it
                    model.run(1)
                    update(done + (stop - begin) * sweep // options.sweeps)
                z[new:high] = model.assignments()[new - low :]
            done += chunk.n + chunk.n_discarded
    return replace(plan, z=z)


def _words(plan: RollingState, chunk: Chunk, since: int) -> TokenTable:
    """Return the words of the documents from a row to the end of a chunk."""
    _, stop = plan.rows(chunk)
    low, high = plan.offsets[[since, stop]]
    return TokenTable(plan.offsets[since : stop + 1] - low, plan.term_ids[low:high], plan.terms[: chunk.n_vocab])

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

from nlpkit.errors import InputError
from nlpkit.topics.lda.chunks import Chunk, Days
from nlpkit.topics.lda.growth import join
from nlpkit.topics.lda.rolling_plan import (
    RollingOptions,
    RollingState,
    checked_dates,
    inverse,
    plan_all,
    plan_more,
    without_last,
)
from nlpkit.topics.lda.sampler import GibbsSampler
from nlpkit.types import BoolArray, IntArray, LongArray, TokenTable


@dataclass(frozen=True, slots=True)
class RollingFit:
    """The model, and for each document in the order given its row there, rows (D,) int64."""

    state: RollingState
    rows: LongArray


class Sampler(Protocol):
    """What is needed of a sampler, made as a `GibbsSampler` is."""

    def run(self, sweeps: int) -> None: ...

    def assignments(self) -> IntArray: ...


MakeSampler = Callable[..., Sampler]
First = Callable[[TokenTable], IntArray]


def fit_rolling(
    tokens: TokenTable,
    dates: Days,
    ids: Sequence[str],
    options: RollingOptions,
    *,
    first: First | None = None,
    sampler: MakeSampler = GibbsSampler,
    threads: int = 1,
    on_chunk: Callable[[Chunk], None] | None = None,
) -> RollingFit:
    """Fit a model to the documents of the initial period, then chunk after chunk to the later ones.

    A chunk is sampled by collapsed Gibbs together with its memory: the documents since a day before it, whose tokens keep
    the topics they have and are counted, while those of the chunk start at random and are drawn in each sweep
    (rollinglda: n.init). The counts of the chunk's own random start are not left in the topics, as they are in R's
    sampler (read, not run: ldagibbs.c fills the counts with the start and adds it once more in the first sweep).

    Args:
        tokens: all words of the documents, in any order of date; rare ones are needed for the thresholds.
        dates: (D,) datetime64.
        ids: (D,), all different.
        options: see there.
        first: returns the topics (N,) of the tokens of the initial period, such as those of an LDAPrototype; None = of one
            sampler with the seed of the options.
        sampler: makes the samplers.
        threads: of the sampler.
        on_chunk: called after each chunk that is sampled.

    Raises:
        InputError: documents without a date, with one date only, or equal ids; no words left in the initial period; a chunk
            without memory.
    """
    plan, rows = plan_all(tokens, dates, ids, options)
    return RollingFit(_sample(plan, 0, sampler, first, threads, on_chunk), rows)


def update_rolling(
    state: RollingState,
    tokens: TokenTable,
    dates: Days,
    ids: Sequence[str],
    *,
    sampler: MakeSampler = GibbsSampler,
    threads: int = 1,
    on_chunk: Callable[[Chunk], None] | None = None,
) -> RollingFit:
    """Add later documents to a model; the state is, bit by bit, that of one fit to the old documents followed by the new.

    Documents that fall into the last chunk join it, and it is sampled anew with the seed it had; those that would fall into
    a chunk before it would change all that follows, and are refused.

    Args:
        state: of the model so far.
        tokens, dates, ids: of the new documents.
        sampler, threads, on_chunk: as in `fit_rolling`.

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
            f"{len(early):,} of the new documents are dated before {open_chunk.start_date}, where the last chunk of the model "
            f"begins (first: '{ids[early[0]]}', {dates[early[0]]}); leave them out, or fit the model anew with all documents"
        )
    known = set(state.ids).intersection(ids)
    if known:
        example = next(i for i in ids if i in known)
        raise InputError(
            f"{len(known):,} of the new documents are in the model already (first: '{example}'); give only the others"
        )
    begin, stop = state.rows(open_chunk)
    joined = join(state.last, tokens)
    all_dates = np.concatenate([state.dates[begin:stop], dates])
    all_ids = [*state.ids[begin:], *ids]
    order = np.argsort(all_dates, kind="stable")
    plan = plan_more(without_last(state), joined, all_dates[order], [all_ids[d] for d in order], order)
    new = _sample(plan, len(state.chunks) - 1, sampler, None, threads, on_chunk)
    return RollingFit(new, begin + inverse(order)[stop - begin :])


def chunk_seed(seed: int, start: date) -> int:
    """Return the seed of the chunk that begins on a day: it depends on nothing else, so chunks can be added later."""
    entropy = np.random.SeedSequence((seed % 2**64, start.toordinal()))
    return int(entropy.generate_state(1, np.uint64)[0] >> np.uint64(1))


def _sample(
    plan: RollingState,
    chunk_id: int,
    sampler: MakeSampler,
    first: First | None,
    threads: int,
    on_chunk: Callable[[Chunk], None] | None,
) -> RollingState:
    """Draw the topics of the tokens of all chunks from chunk_id on."""
    options = plan.options
    K = options.n_topics
    alpha = 1 / K if options.alpha is None else options.alpha
    eta = 1 / K if options.eta is None else options.eta
    z = np.full(len(plan.term_ids), -1, np.int32)
    z[: len(plan.z)] = plan.z
    for chunk in plan.chunks[chunk_id:]:
        if not chunk.n:
            continue
        begin, stop = plan.rows(chunk)
        since = begin if chunk.memory is None else int(np.searchsorted(plan.dates, np.datetime64(chunk.memory)))
        low, new, high = plan.offsets[[since, begin, stop]]
        words = TokenTable(plan.offsets[since : stop + 1] - low, plan.term_ids[low:high], plan.terms[: chunk.n_vocab])
        if chunk.chunk_id == 0 and first is not None:
            z[new:high] = first(words)
        else:
            frozen: BoolArray = np.arange(since, stop) < begin
            model = sampler(
                words,
                n_topics=K,
                alpha=np.asarray(alpha, np.float64) if isinstance(alpha, tuple) else alpha,
                eta=eta,
                seed=options.seed if chunk.chunk_id == 0 else chunk_seed(options.seed, chunk.start_date),
                threads=threads,
                shards=options.shards,
                assignments=z[low:high].copy(),
                frozen=frozen,
            )
            model.run(options.sweeps)
            z[new:high] = model.assignments()[new - low :]
        if on_chunk is not None:
            on_chunk(chunk)
    return replace(plan, z=z)

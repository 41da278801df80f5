"""RollingLDA: the plan of its chunks, its growing vocabulary, and its sampling chunk after chunk.

Parts, in this order:
- The vocabulary of a rolling model, which grows chunk by chunk.
- State of a rolling model, and the parts of it that are known before anything is sampled.
- RollingLDA: topics that stay the same ones over time, chunk after chunk, each sampled beside the memory of the ones
  before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol

import numpy as np

from nlpkit.errors import InputError
from nlpkit.platform import reporting
from nlpkit.platform.documents.chunks import Chunk, chunk_periods, initial_end, memory_start, parse_span
from nlpkit.platform.options import Execution
from nlpkit.platform.types import BoolArray, Day, Days, IntArray, LongArray, TokenTable
from nlpkit.topics.base.model import append_documents, select_documents, with_used_terms
from nlpkit.topics.lda.options import USUAL
from nlpkit.topics.lda.sampler import GibbsSampler
from nlpkit.topics.rolling.options import RollingOptions


class GrowingVocabulary:
    """The terms of the model in order of growth, and the number there of each term of a table of tokens (-1: not in it)."""

    def __init__(self, terms: Sequence[str], table: tuple[str, ...]) -> None:
        self.terms = list(terms)
        self._table = table
        known = {term: v for v, term in enumerate(terms)}
        self._number = np.array([known.get(term, -1) for term in table], np.int32)

    def grow(self, term_ids: IntArray, *, vocab_abs: int, vocab_rel: float, vocab_fallback: int) -> None:
        """Add the terms of a chunk, given its tokens, whose count c meets, in alphabetical order,

        c > vocab_abs  and  c > min(vocab_rel · N, vocab_fallback),     N = tokens of the chunk, rare ones included.

        (rollinglda 0.1.3: vocab.abs, vocab.rel, vocab.fallback; both limits are strict there.)
        """
        if not len(term_ids):
            return
        counts = np.bincount(term_ids, minlength=len(self._table))
        above = max(vocab_abs, min(vocab_rel * len(term_ids), vocab_fallback))
        new = sorted(np.flatnonzero((counts > above) & (self._number < 0)), key=self._table.__getitem__)
        self._number[new] = np.arange(len(self.terms), len(self.terms) + len(new))
        self.terms.extend(self._table[v] for v in new)

    def keep(self, words: TokenTable, doc_abs: int) -> TokenTable:
        """Return the documents with their words of the vocabulary; those with at most doc_abs of them become empty."""
        numbers = self._number[words.term_ids]
        inside = np.concatenate([np.zeros(1, np.int64), np.cumsum(numbers >= 0)])[words.offsets]
        lengths = np.diff(inside)
        enough = lengths > doc_abs
        stays = (numbers >= 0) & np.repeat(enough, np.diff(words.offsets))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.where(enough, lengths, 0))])
        return TokenTable(offsets, numbers[stays], ())


# ------------------------------------------------------------------------------------------------------------------------
# State of a rolling model, and the parts of it that are known before anything is sampled.


@dataclass(frozen=True, slots=True)
class RollingState:
    """A rolling model, and all that is needed to add chunks to it.

    Documents are in order of date, those of a day in the order given; each stands there with its words of the vocabulary,
    a discarded one with none. terms (V,): the vocabulary in the order in which it grew, so that the first n_vocab terms
    of a chunk are its vocabulary; seed: of the samplers; term_ids, z (N,) int32; offsets (M+1,) int64; dates (M,) datetime64[D]; ids (M,).
    last: the documents of the last chunk with all of their words, terms in order of the alphabet: the chunk is sampled
    anew when documents join it later.
    """

    options: RollingOptions
    seed: int
    terms: tuple[str, ...]
    ids: tuple[str, ...]
    dates: Days
    offsets: LongArray
    term_ids: IntArray
    z: IntArray
    chunks: tuple[Chunk, ...]
    last: TokenTable

    @property
    def tokens(self) -> TokenTable:
        """The words that are modelled, by document."""
        return TokenTable(self.offsets, self.term_ids, self.terms)

    def rows(self, chunk: Chunk) -> tuple[int, int]:
        """Return the first row of the documents of a chunk, and the one after the last."""
        return _rows(self.dates, chunk.start_date, chunk.end_date)

    def chunk_of(self) -> IntArray:
        """Return the number of the chunk that each document (M,) belongs to."""
        ends = np.array([chunk.end_date for chunk in self.chunks], "datetime64[D]")
        return np.asarray(np.searchsorted(ends, self.dates), np.int32)


def plan_chunks(
    tokens: TokenTable, dates: Days, ids: Sequence[str], options: RollingOptions
) -> tuple[tuple[Chunk, ...], tuple[str, ...]]:
    """Return the chunk table and the vocabulary of `fit_rolling` without sampling: they depend on the words alone."""
    plan, _ = plan_all(tokens, dates, ids, options, seed=0)
    return plan.chunks, plan.terms


def checked_dates(dates: Days, ids: Sequence[str]) -> Days:
    """Return the dates as days. Raises InputError where one is missing or two ids are equal."""
    days = np.asarray(dates).astype("datetime64[D]")
    missing = np.flatnonzero(np.isnat(days))
    if len(missing):
        raise InputError(
            f"{len(missing):,} of {len(days):,} documents have no date (first: '{ids[missing[0]]}'); a rolling "
            "model needs the date of each document; leave them out, or check the date column"
        )
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise InputError(f"the id '{twice}' occurs more than once; ids of documents must differ")
    return days


def plan_all(
    tokens: TokenTable, dates: Days, ids: Sequence[str], options: RollingOptions, *, seed: int
) -> tuple[RollingState, LongArray]:
    """Return the state with all documents, whose tokens have no topics yet, and the row of each document there."""
    dates = checked_dates(dates, ids)
    if not len(dates):
        raise InputError("a rolling model needs documents, but there are none")
    order = np.argsort(dates, kind="stable")
    zero = np.zeros(0, np.int32)
    none = TokenTable(np.zeros(1, np.int64), zero, ())
    before = RollingState(options.resolved(), seed, (), (), dates[:0], none.offsets, zero, zero, (), none)
    return plan_more(before, tokens, dates[order], [ids[d] for d in order], order), inverse(order)


def without_last(state: RollingState) -> RollingState:
    """Return the state before its last chunk."""
    begin, _ = state.rows(state.chunks[-1])
    end = state.offsets[begin]
    return replace(
        state,
        terms=state.terms[: state.chunks[-2].n_vocab],
        ids=state.ids[:begin],
        dates=state.dates[:begin],
        offsets=state.offsets[: begin + 1],
        term_ids=state.term_ids[:end],
        z=state.z[:end],
        chunks=state.chunks[:-1],
    )


def plan_more(
    past: RollingState, tokens: TokenTable, dates: Days, ids: Sequence[str], order: LongArray
) -> RollingState:
    """Return the state with the documents of more chunks, whose tokens have no topics yet (z: those of the past).

    Args:
        past: the state before these chunks.
        tokens: documents of these chunks, in any order; order (D,): their numbers by date.
        dates, ids: by date.
    """
    options = past.options
    limits = {name: getattr(options, name) for name in ("vocab_abs", "vocab_rel", "vocab_fallback")}
    vocabulary = GrowingVocabulary(past.terms, tokens.terms)
    chunks = list(past.chunks)
    starts = [np.datetime64(chunk.start_date) for chunk in chunks]
    lengths, pieces = [np.diff(past.offsets)], [past.term_ids]
    modelled = np.concatenate(
        [past.dates[lengths[0] > 0], dates]
    )  # days of the documents kept, in its first n_modelled
    n_modelled = int(np.count_nonzero(lengths[0]))
    last = past.last
    for chunk_id, first_day, last_day in _periods(past, dates):
        begin, stop = _rows(dates, first_day, last_day)
        last = select_documents(tokens, order[begin:stop])
        vocabulary.grow(last.term_ids, **limits)
        kept = vocabulary.keep(last, options.doc_abs)
        stays = np.diff(kept.offsets) > 0
        n = int(np.count_nonzero(stays))
        memory = _memory(options, chunk_id, first_day, last_day, starts, modelled[:n_modelled]) if n else None
        if not chunk_id and not n:
            raise InputError(
                f"no word occurs more than {options.vocab_abs} times in the {stop:,} documents of the initial period "
                f"({first_day} to {last_day}); give a later `init`, or a lower `vocab_abs`"
            )
        chunks.append(
            Chunk(
                chunk_id,
                start_date=first_day.astype(object),
                end_date=last_day.astype(object),
                first_date=dates[begin].astype(object) if stop > begin else None,
                last_date=dates[stop - 1].astype(object) if stop > begin else None,
                memory=None if memory is None else memory.astype(object),
                n=n,
                n_discarded=stop - begin - n,
                n_memory=None if memory is None else n_modelled - int(np.searchsorted(modelled[:n_modelled], memory)),
                n_vocab=len(vocabulary.terms),
                n_tokens=len(kept.term_ids),
            )
        )
        starts.append(first_day)
        lengths.append(np.diff(kept.offsets))
        pieces.append(kept.term_ids)
        modelled[n_modelled : n_modelled + n] = dates[begin:stop][stays]
        n_modelled += n
    return RollingState(
        options,
        past.seed,
        terms=tuple(vocabulary.terms),
        ids=(*past.ids, *ids),
        dates=np.concatenate([past.dates, dates]),
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))]),
        term_ids=np.concatenate(pieces),
        z=past.z,
        chunks=tuple(chunks),
        last=with_used_terms(last),
    )


def _periods(past: RollingState, dates: Days) -> Iterator[tuple[int, Day, Day]]:
    """Number, first and last day of the chunks that come after the past, the initial period first where there is no past."""
    span = parse_span(str(past.options.chunks), "chunks")
    if past.chunks:
        anchor = np.datetime64(past.chunks[0].end_date) + 1
        start = np.datetime64(past.chunks[-1].end_date) + 1
        yield from chunk_periods(dates, span, anchor=anchor, chunk_id=len(past.chunks), start=start)
        return
    end = initial_end(dates, str(past.options.init))
    yield 0, dates[0], end
    yield from chunk_periods(dates, span, anchor=end + 1)


def _memory(
    options: RollingOptions, chunk_id: int, first_day: Day, last_day: Day, starts: Sequence[Day], modelled: Days
) -> Day | None:
    """The day from which documents are the memory of a chunk that has documents; None for the initial period."""
    if not chunk_id:
        return None
    since = memory_start(
        parse_span(str(options.memory), "memory"), first_day, starts, modelled, options.memory_fallback
    )
    if since is None:
        raise InputError(
            f"chunk {chunk_id} ({first_day} to {last_day}) has no memory: no document was modelled in the "
            f"{options.memory} before it; give a longer `memory`, or `memory_fallback=N`, which uses the last N "
            "documents before it",
            parameter="memory",
        )
    return since


def _rows(dates: Days, first: Day | date, last: Day | date) -> tuple[int, int]:
    """First row of the documents dated first … last, and the one after the last; dates ascend."""
    begin = np.searchsorted(dates, np.datetime64(first, "D"))
    return int(begin), int(np.searchsorted(dates, np.datetime64(last, "D"), side="right"))


def inverse(order: LongArray) -> LongArray:
    """Return where each document went."""
    rows = np.empty(len(order), np.int64)
    rows[order] = np.arange(len(order))
    return rows


# ------------------------------------------------------------------------------------------------------------------------
# RollingLDA: topics that stay the same ones over time, chunk after chunk, each sampled beside the memory of the ones before.
#
# Rieger, Jentsch and Rahnenführer 2021, "RollingLDA: An Update Algorithm of Latent Dirichlet Allocation to Construct
# Consistent Time Series from Textual Data", Findings of EMNLP, pp. 2337-2347; parameters as in R's rollinglda 0.1.3.


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

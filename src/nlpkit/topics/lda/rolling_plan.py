"""State of a rolling model, and the parts of it that are known before anything is sampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from nlpkit.errors import InputError
from nlpkit.topics.lda.chunks import Chunk, chunk_periods, initial_end, memory_start, parse_span
from nlpkit.topics.lda.rolling_options import RollingOptions
from nlpkit.topics.lda.vocabulary_growth import GrowingVocabulary
from nlpkit.topics.mixtures.token_tables import select_documents, with_used_terms
from nlpkit.types import Day, Days, IntArray, LongArray, TokenTable


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

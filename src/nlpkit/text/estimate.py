"""The estimate of a command's work: how many documents and tokens there are, and what they cost in time and memory.

Parts, in this order:
- What the work of commands costs: seconds and memory for each unit of it, measured by
  tests/benchmarks/bench_estimate.py.
- How big the work on documents is, without doing it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import log2
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import MissingError
from nlpkit.platform import reporting
from nlpkit.platform.documents.arrays import token_ids
from nlpkit.platform.documents.chunks import cut_periods, parse_span
from nlpkit.platform.documents.corpus import Corpus, Documents, no_documents
from nlpkit.platform.documents.date_columns import date_format_of, days_of
from nlpkit.platform.models import MODELS
from nlpkit.platform.values import python_values
from nlpkit.text.fitted import MIN_DF_AUTO_FROM
from nlpkit.text.options import PreprocessOptions, RowPlan, TokenOptions
from nlpkit.text.preprocess import Preprocessor
from nlpkit.text.run import Rows
from nlpkit.text.settings import preprocess_options
from nlpkit.text.vocab import EncodedBatch, Frequencies

SORT_SECONDS = 0.0067  # in which one core of the machine of the measurements below sorts the numbers of `machine_speed`


@dataclass(frozen=True, slots=True)
class Work:
    """How much there is to do.

    rows, chars: documents and their characters; tokens, terms: N and V, of the words that a model sees; periods: T; levels: of a
    column that words depend on, 0 without one; k, iterations: topics, and steps of a fit; fitted: documents that a fit takes.
    """

    rows: int
    chars: int
    tokens: int = 0
    terms: int = 0
    periods: int = 1
    levels: int = 0
    k: int = 1
    iterations: int = 1
    fitted: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds, and MB of memory at the peak."""

    seconds: float
    memory: float

    def __add__(self, other: Cost) -> Cost:
        """Return both together."""
        return Cost(self.seconds + other.seconds, self.memory + other.memory)


UNITS: dict[str, Callable[[Work], float]] = {
    "start": lambda w: 1.0,
    "megabyte of text": lambda w: w.chars / 1e6,
    "megabyte held": lambda w: min(w.chars / 1e6, 60),  # of text, before a file takes the documents
    "1000 documents": lambda w: w.rows / 1e3,
    "1000 documents at once": lambda w: min(w.rows, 8000) / 1e3,  # that are encoded together
    "1000 terms": lambda w: w.terms / 1e3,
    "million tokens": lambda w: w.tokens / 1e6,
    # a fit to a sample is checked by one to twice as many
    "million pairs of documents": lambda w: w.rows * w.fitted * (3 if w.fitted < w.rows else 1) / 1e6,
    "million topics of documents": lambda w: w.rows * w.k / 1e6,
    "million terms of topics": lambda w: w.terms * w.k / 1e6,
    "million terms of topics in periods": lambda w: w.terms * w.k * w.periods / 1e6,
    "million tokens · step": lambda w: w.tokens * w.iterations / 1e6,
    "million tokens · topic · step": lambda w: w.tokens * w.k * w.iterations / 1e6,
    "million terms of topics in periods · step": lambda w: w.terms * w.k * w.periods * w.iterations / 1e6,
    "million terms of topics at levels · step": lambda w: w.terms * w.k * w.levels * w.iterations / 1e6,
    "1000 documents · step": lambda w: w.rows * w.iterations / 1e3,
    "million topics of documents · step": lambda w: w.rows * w.k * w.iterations / 1e6,
    "million cubes of topics · document · step": lambda w: w.rows * w.k**3 * w.iterations / 1e6,
    "million terms · document · step": lambda w: w.terms * w.rows * w.iterations / 1e6,
}
PARALLEL = frozenset(
    {
        "million tokens · step", "million tokens · topic · step", "million terms of topics in periods · step",
        "million terms of topics at levels · step", "million cubes of topics · document · step", "million pairs of documents",
    }
)  # fmt: skip

# seconds of one core and MB, for each unit
Rates = Mapping[str, tuple[float, float]]
TEXT: Rates = {"megabyte of text": (0.10, 0.0), "megabyte held": (0.0, 5.5), "1000 terms": (0.0005, 0.3)}
COSTS: dict[str, Rates] = {
    "": {"start": (1.5, 250), **TEXT},
    "preprocess": {"start": (2.0, 325), **TEXT},
    "tfidf": {"start": (2.4, 350), **TEXT, "megabyte of text": (0.05, 0), "million tokens": (0.4, 10)},
    "classify": {"start": (2.4, 300), **TEXT, "million tokens": (1.0, 60)},
    "sbert-embed": {"start": (1.5, 300), "megabyte of text": (0.05, 0), "megabyte held": (0.0, 4), "1000 documents": (0.01, 0.5)},
}  # fmt: skip
ENCODING: Rates = {
    "start": (4.0, 400),
    "megabyte of text": (30.0, 0.0),
    "1000 documents at once": (0.0, 80),
}  # MiniLM, bf16


def rates_of(command: str) -> Rates:
    """Return what the work of a command costs; of one that is not known, the reading and cutting of texts."""
    if command not in COSTS and command in MODELS and MODELS[command].costs:
        costs = MODELS[command].costs
        return {"start": costs["start"], **TEXT, **costs}
    return COSTS.get(command, COSTS[""])


def cost_of(rates: Rates, work: Work, threads: int = 1) -> Cost:
    """Return the seconds on this machine, with nothing else to do, and the memory."""
    seconds = memory = 0.0
    for unit, (each, held) in rates.items():
        amount = UNITS[unit](work)
        seconds += amount * each / (threads if unit in PARALLEL else 1)
        memory += amount * held
    return Cost(seconds / machine_speed(), memory)


@cache
def machine_speed() -> float:
    """Return how fast a core is beside the one of the measurements: by the time of sorting, the best of several."""
    numbers = np.random.default_rng(0).integers(1 << 62, size=1 << 17)
    spent = []
    for _ in range(5):
        begun = time.process_time()
        np.sort(numbers, kind="stable")
        spent.append(time.process_time() - begun)
    return SORT_SECONDS / max(min(spent), 1e-6)


# ------------------------------------------------------------------------------------------------------------------------
# How big the work on documents is, without doing it.

SAMPLE = 2000  # documents, evenly spread, from which words are estimated
ENCODED = 48  # of them that are encoded to see how fast the model is here
SPACY_SAMPLE = 100
USUAL_TOPICS = 30


def estimate(
    corpus: Corpus,
    command: str = "",
    *,
    tokens: TokenOptions | PreprocessOptions | None = None,
    encoder: Any = None,
    plan: RowPlan | None = None,
    column: str | None = None,
    every: str | None = None,
    k: int | None = None,
    iterations: int = 1,
    fitted: Callable[[int], int] | None = None,
    threads: int = 1,
    fits: Sequence[tuple[str, int | None, int]] = (),
) -> dict[str, Any]:
    """Return rows, characters, and about how many tokens, MB of memory and disk, and seconds the work of a command takes.

    The input is read once; a sample of it is cut into words, and some texts are encoded where the command encodes and the model is
    there. Seconds are those of this machine with nothing else to do, memory is the peak of the process.

    Args:
        corpus: the documents.
        command: one that `costs.rates_of` knows; of others the time of reading and cutting is told.
        tokens: how texts are cut; None where no words are needed.
        encoder: texts are encoded by it, unless they have embeddings.
        plan: what is done to rows first.
        column: of categories, whose different values are counted. every: length of a period of the dates.
        k: topics, None where their number is to be chosen: the estimate is of one fit, of 30. iterations: steps of the fit.
        fitted: gives how many of so many documents a fit takes, all by default. threads: of the work.
        fits: command, topics and steps of fits to the words that were cut, one after the other in processes of their own.

    Raises:
        InputError: there are no documents, or they lie in one period. UsageError: a token option that is wrong.
    """
    seen = _Seen("date" if every is not None else column)
    with corpus.open() as stream:
        documents: Documents = stream if plan is None else Rows(stream, plan, None)
        for batch in documents:
            seen.add(batch)
        if not seen.rows:
            raise no_documents(documents)
        texts = seen.sample()
        embeds = encoder is not None and ("embedding" not in stream.schema.names or bool(encoder.requested()))
        n_tokens, n_terms = seen.chars // 6, 0
        if tokens is not None:
            settings = tokens if isinstance(tokens, PreprocessOptions) else preprocess_options(tokens)
            n_tokens, n_terms = _words(texts, settings, seen.rows)
        work = Work(
            seen.rows, seen.chars, n_tokens, n_terms, periods=1 if every is None else _periods(seen, every),
            levels=0 if column is None else len(seen.values), k=USUAL_TOPICS if k is None else k or 1, iterations=iterations,
            fitted=seen.rows if fitted is None else fitted(seen.rows),
        )  # fmt: skip
        cost = cost_of(rates_of(command), work, threads)
        if encoder is not None and embeds:
            cost += _encoding(encoder, texts.column("text").to_pylist(), work, threads)
        for name, topics, steps in fits:
            rates = rates_of(name)
            one = cost_of(rates, replace(work, chars=0, k=topics or USUAL_TOPICS, iterations=steps), threads)
            cost = Cost(cost.seconds + one.seconds, max(cost.memory, one.memory))
        return {
            "rows": seen.rows,
            "characters": seen.chars,
            "tokens_about": n_tokens,
            "memory_mb_about": round(cost.memory),
            "seconds_about": max(1, round(cost.seconds)),
            "disk_mb_about": round(seen.chars / 1e6 * 0.6 + (seen.rows * 384 * 4 / 1e6 if embeds else 0)),
            "dropped": len(documents.dropped),
        }


class _Seen:
    """What passes by: rows, characters, different values of a column, and every n-th document, n doubled as they become many."""

    def __init__(self, column: str | None) -> None:
        self.rows = self.chars = 0
        self.values: set[Any] = set()
        self.date_format: str | None = None
        self._column = column
        self._kept: list[pa.RecordBatch] = []
        self._every = 1

    def add(self, batch: pa.RecordBatch) -> None:
        """Take a batch."""
        first = -self.rows % self._every
        self.rows += batch.num_rows
        self.chars += pc.sum(pc.utf8_length(batch.column("text"))).as_py() or 0
        if self._column is not None and self._column in batch.schema.names:
            self.values.update(python_values(pc.unique(batch.column(self._column))))
            self.date_format = date_format_of(batch.schema, self._column)
        names = [name for name in ("text", "tokens") if name in batch.schema.names]
        self._kept.append(batch.select(names).take(np.arange(first, batch.num_rows, self._every)))
        while sum(kept.num_rows for kept in self._kept) > 2 * SAMPLE:
            self._every *= 2
            table = pa.Table.from_batches(self._kept)
            self._kept = table.take(np.arange(0, table.num_rows, 2)).combine_chunks().to_batches()

    def sample(self) -> pa.Table:
        """Return some documents in their order."""
        return pa.Table.from_batches(self._kept)


def _periods(seen: _Seen, every: str) -> int:
    """Return the periods of the dates that were seen."""
    span = parse_span(every, "every")
    if span.unit == "document":
        return -(-seen.rows // span.n)
    days, _ = days_of(pa.chunked_array([pa.array(sorted(filter(None, seen.values)))]), format=seen.date_format)
    days = days[~np.isnat(days)]
    return cut_periods(days, every).n if len(days) else 1


def _words(texts: pa.Table, options: PreprocessOptions, n_docs: int) -> tuple[int, int]:
    """Return about how many tokens and different terms all documents have, from a sample of m of them (Heaps' law).

    V(D) = V(m) (D / m)^β with β = log2 (V(m) / V(m / 2)) ≤ 1, V the terms of at least min_df documents.
    """
    if options.spacy is not None:
        texts = texts.slice(0, SPACY_SAMPLE)
    m = texts.num_rows
    counts, sizes = Frequencies(), []
    for half in _encoded(texts, options):
        counts.count(half, int(half.term_ids.max(initial=-1)) + 1)
        df = counts.df(counts.size)
        sizes.append(int((df >= _least(options, m, n_docs)).sum()))
    growth = min(1.0, log2(max(sizes[-1], 1) / max(sizes[0], 1))) if len(sizes) > 1 else 0.5
    n_terms = sizes[-1] * (n_docs / m) ** growth
    if options.max_vocab is not None:
        n_terms = min(n_terms, options.max_vocab)
    if options.vocab is not None:
        n_terms = len(options.vocab)
    return round(int(counts.cf(counts.size).sum()) * n_docs / m), round(n_terms)


def _least(options: PreprocessOptions, m: int, n_docs: int) -> float:
    """Return the documents of a sample of m that a term needs; where it is a number of all documents, two of the sample will do."""
    min_df = options.min_df
    if min_df is None:
        min_df = 2 if n_docs >= MIN_DF_AUTO_FROM else 1
    if isinstance(min_df, float):
        return min_df * m
    return min_df if m == n_docs else min(min_df, 2)


def _encoded(texts: pa.Table, options: PreprocessOptions) -> list[EncodedBatch]:
    """Return the documents in two halves as ids of terms, those in too few or too many documents among them."""
    halves = [texts.slice(0, texts.num_rows // 2), texts.slice(texts.num_rows // 2)]
    batches = [half.combine_chunks().to_batches()[0] for half in halves if half.num_rows]
    if "tokens" in texts.column_names:
        known: dict[str, int] = {}
        return [EncodedBatch(*token_ids(batch.column("tokens"), known)) for batch in batches]
    every_term = replace(
        options, lists_must_match=False, min_df=1, max_df=1.0, min_cf=1, max_cf=1.0, max_vocab=None, vocab=None
    )
    preprocessor = Preprocessor(every_term)
    encoded = [ids for _, ids in preprocessor.encode_all(batches)]
    fitted = preprocessor.finish(lambda: encoded)
    return [fitted.apply(batch) for batch in encoded]


def _encoding(encoder: Any, texts: Sequence[str | None], work: Work, threads: int) -> Cost:
    """Return the cost of encoding all texts: some of them are encoded to see how fast the model is on this machine.

    Seconds are those of the processor, which other programs do not lengthen, and of the clock where a GPU computes.
    """
    some = [text or "" for text in texts[:: max(1, len(texts) // ENCODED)]]
    try:
        begun = time.process_time()
        model = replace(encoder, offline=True).load(threads)  # nothing is fetched for an estimate
        loading = time.process_time() - begun
    except MissingError as error:
        reporting.note(f"the encoding time is a guess, because the model is not available: {error}")
        return cost_of(ENCODING, work, threads)
    clock = time.process_time if model.device == "cpu" else time.perf_counter
    model.encode(some[:8])  # what is compiled or allocated first is not counted
    begun = clock()
    model.encode(some)
    spent = clock() - begun
    share = sum(len(text) + 20 for text in some) / (work.chars + 20 * work.rows)
    seconds = loading + spent / share / (threads if model.device == "cpu" else 1)
    return Cost(seconds, cost_of(ENCODING, work).memory)

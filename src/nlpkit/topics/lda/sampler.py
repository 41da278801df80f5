"""LDA by collapsed Gibbs sampling: a chain, its sweeps, its saved state, and its resumption.

The sampler of this module cuts a corpus into a grid of P × P cells: P blocks of documents, P blocks of words (as Yan, Xu & Qi 2009
do for GPUs). A sweep has P rounds, and the P cells of a round share neither documents nor words, so n_dk and n_kv are those of
all draws before; only the totals n_k that a cell sees are P − 1 cells behind. It needs memory that all cells share, and P waits.

AD-LDA (`distributed`; Newman, Asuncion, Smyth & Welling 2009) cuts documents alone: each of P shards makes its whole sweep against
a copy of n_kv and n_k of the sweep's start, and the differences are added up after it. A shard keeps its tokens and their topics
and exchanges counts once a sweep, so it can be in another process or on another machine; what it does not see are the draws of
the other P − 1 shards in the same sweep. With P = 1 both are the sampler without any approximation, draw for draw.

Parts, in this order:
- The sampler: a chain and its sweeps.
- The state of a chain between two sweeps: all that is needed to go on to the same bytes, of a chain that is longer,
  too.
- Resumption of a chain from the saved state of another one, longer or shorter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.platform.options import in_force
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base import kernels as gibbs
from nlpkit.topics.base.arguments import UNIT, as_units, check_arguments, checked_priors, stream_key
from nlpkit.topics.base.heldout import dirichlet_multinomial, log_words
from nlpkit.topics.base.scores import Arrays, Keeper, StepState
from nlpkit.topics.lda import kernels as gibbs_layout
from nlpkit.topics.lda.kernels import count_topics
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.lda.priors import TopicHistogram

MAX_UNITS = 2**32 - 1  # counts in lists have 32 bits
MAX_COUNT = 2**31 - 1  # of tokens without weights, which `topic_term` and `doc_topic` give as int32
DOCS_AT_ONCE = 2**16  # of which topics are counted
MAX_SHORT = 2**16 - 1  # units of a document whose counts are kept in 16 bits
LISTED_FROM = 16  # tokens, from which on a word keeps a list of its topics
TOKENS_PER_SHARD = 50_000
TOKENS_OF_A_WORD = 16  # on average in a shard: each visit of a word costs as much as a few draws
MAX_SHARDS = 16
SCALE_BITS, LEAST_BITS = 48, 20  # of integer weights


class GibbsSampler:
    """A chain of collapsed Gibbs sampling for LDA (Griffiths & Steyvers 2004; the lecture's conditional).

    p(z_i = k | rest) ∝ (n_dk + α_k) · (n_kw + η) / (n_k + Vη), all counts without token i. The draws depend on the arguments
    and on `shards`, never on `threads`, and a run of a + b sweeps is one of a and one of b. With one shard nothing is
    approximated; with P shards the topic totals n_k that a P-th of the documents sees are those of the last P-th of a sweep.

    Args:
        tokens: corpus; frozen documents included.
        n_topics: K, 1 to 65,535.
        alpha: prior of the topics in a document, each: a number or (K,).
        eta: prior of the words in a topic, each.
        seed: of the random streams.
        threads: cells of the grid sampled at the same time.
        shards: P; by default see `shards_for`: 1 for corpora under 100,000 tokens.
        assignments: (N,) topic of each token to start from, -1 where drawn at random.
        frozen: (D,) documents whose tokens count but keep their topics, which must be given.
        fixed: (K,) topics whose word counts are those of the frozen documents alone.
        weights: (N,) weight of each token, up to 255; rounded to 1/256, at least that.
        first_token: tokens of the documents before these in a larger corpus; theirs are the random numbers before.

    Raises:
        UsageError: an argument is out of its range. InputError: tokens that do not fit their vocabulary.
    """

    def __init__(
        self,
        tokens: TokenTable,
        *,
        n_topics: int,
        alpha: FloatArray | float,
        eta: float,
        seed: int,
        threads: int = 1,
        shards: int | None = None,
        assignments: IntArray | None = None,
        frozen: BoolArray | None = None,
        fixed: BoolArray | None = None,
        weights: FloatArray | None = None,
        first_token: int = 0,
    ) -> None:
        check_arguments(tokens, n_topics, alpha=alpha, fixed=fixed, frozen=frozen, weights=weights)
        self.n_topics, self.seed, self.threads, self.sweep = n_topics, int(seed), threads, 0
        self._first_token = first_token
        wanted = shards_for(len(tokens.term_ids), tokens.n_terms) if shards is None else shards
        self.shards = max(1, min(wanted, tokens.n_docs))
        self._tokens = tokens
        self._unit = 1 if weights is None else UNIT
        self.set_priors(alpha, eta)
        self._fixed = np.zeros(n_topics, bool) if fixed is None else np.asarray(fixed, bool)
        self._frozen = np.zeros(tokens.n_docs, bool) if frozen is None else np.asarray(frozen, bool)
        self._lay_out(weights)
        self._start(assignments)
        self._scratch = [_scratch(n_topics) for _ in range(self.shards)]

    def set_priors(self, alpha: FloatArray | float, eta: float) -> None:
        """Change alpha, (K,) or one number for all, and eta.

        Raises:
            UsageError: one is not above 0.
        """
        self.alpha, self.eta = checked_priors(alpha, eta, self.n_topics)

    def run(self, sweeps: int) -> None:
        """Draw every token's topic `sweeps` times; the GIL is free meanwhile."""
        if not len(self._tokens.term_ids):
            self.sweep += sweeps
            return
        priors = self._priors()
        with ThreadPoolExecutor(max(1, min(self.threads, self.shards)), thread_name_prefix="gibbs") as pool:
            for _ in range(sweeps):
                key = self._key("sweep", self.sweep)
                for turn in range(self.shards):
                    self._round(priors, key, turn, pool if self.threads > 1 and self.shards > 1 else None)
                self.sweep += 1

    def _key(self, *parts: int | str) -> np.uint64:
        """Return the key of a random stream, whose numbers begin with that of the first token."""
        return np.uint64((stream_key(self.seed, *parts) + self._first_token * gibbs.COUNTER_STEP) % 2**64)

    def _round(self, priors: gibbs.Priors, key: np.uint64, turn: int, pool: ThreadPoolExecutor | None) -> None:
        def cell(block: int) -> None:
            scratch = self._scratch[block]
            scratch.n_k[:] = self._n_k
            words = self._words[(block + turn) % self.shards]
            with np.errstate(over="ignore"):  # hashes wrap around, which NumPy tells of where kernels are not compiled
                gibbs.sample_cell(
                    self._layout, self._lists, self._word_lists, priors, scratch, self._z, block, words, key
                )

        if pool is None:
            for block in range(self.shards):
                cell(block)
        else:
            list(pool.map(cell, range(self.shards)))
        self._n_k += sum(s.n_k - self._n_k for s in self._scratch)

    def assignments(self) -> IntArray:
        """Return the topic of each token (N,) int32, in the order of `tokens.term_ids`."""
        topics = self._own_order()
        return topics if self._order is None else self._given_order(topics)

    def _own_order(self) -> IntArray:
        """Return the topic of each token (N,), the frozen documents last."""
        topics = np.empty(len(self._z), np.int32)
        gibbs_layout.to_corpus_order(self._term_ids, self._word_start, self._z, topics)
        return topics

    def topic_term(self) -> CsrMatrix:
        """Return n_kv (K, V) of all documents, frozen ones included: int32, float64 where tokens have weights; indices ascending."""
        counts = count_topics(self._word_start, self._z, self._layout.units, self.n_topics)
        matrix = sparse.csr_array(self._as_matrix(counts, self._tokens.n_terms).T)
        matrix.sort_indices()
        return matrix

    def doc_topic(self) -> CsrMatrix:
        """Return n_dk (D, K) of all documents, frozen ones included; types as of `topic_term`, indices ascending."""
        if self._order is None:
            return self._sampled_documents(0, self._tokens.n_docs)
        z = self.assignments()
        units = self._units if self._units is not None else np.zeros(0, np.uint16)
        return self._as_matrix(count_topics(self._tokens.offsets, z, units, self.n_topics), self._tokens.n_docs)

    def log_likelihood(self) -> float:
        """Return log p(w, z | alpha, eta), natural logarithm: the lecture's joint distribution.

        Of the documents that are sampled, given the frozen ones: the words of these count as if they had come before. The words of
        fixed topics have the probabilities that the frozen documents give them.
        """
        guided = self._order is not None or self._fixed.any()
        words = log_words(
            self.topic_term(), self.eta, fixed=self._fixed, frozen_counts=self._frozen_topic_term() if guided else None
        )
        return words + self.log_documents()

    def log_documents(self, alpha: FloatArray | None = None) -> float:
        """Return log p(z | alpha) of the documents that are sampled; alpha (K,): that of the chain where it is not given."""
        prior = self.alpha if alpha is None else alpha
        return sum(dirichlet_multinomial(block, prior) for block in self._document_blocks())

    def topic_histogram(self) -> TopicHistogram:
        """Return how many of the documents that are sampled have so many tokens of a topic."""
        return TopicHistogram.merged([TopicHistogram.of_documents(block) for block in self._document_blocks()])

    def _frozen_topic_term(self) -> CsrMatrix:
        """Return n_kv (K, V) of the frozen documents."""
        thawed = self._offsets[np.count_nonzero(~self._frozen)]
        z = self._own_order()
        amount = np.ones(len(z)) if self._units is None else self._internal_order(self._units) / UNIT
        places = (z[thawed:], self._term_ids[thawed:])
        return sparse.coo_array((amount[thawed:], places), shape=(self.n_topics, self._tokens.n_terms)).tocsr()

    def topic_sizes(self) -> LongArray | FloatArray:
        """Return the tokens of each topic in the documents that are sampled (K,), their weight where tokens have weights."""
        sizes: LongArray | FloatArray = np.sum([block.sum(axis=0) for block in self._document_blocks()], axis=0)
        return sizes

    def _document_blocks(self) -> Iterator[CsrMatrix]:
        """Yield n_dk of the documents that are sampled, some at a time: of all, it would need more than the chain itself."""
        n_docs = int(np.count_nonzero(~self._frozen))
        for first in range(0, max(n_docs, 1), DOCS_AT_ONCE):
            yield self._sampled_documents(first, min(first + DOCS_AT_ONCE, n_docs))

    def _sampled_documents(self, first: int, end: int) -> CsrMatrix:
        """Return n_dk of some documents that are sampled, by their order among them."""
        start, length, entries = self._lists
        lists = gibbs.Lists(start[first : end + 1], length[first:end], entries)
        return self._as_matrix(gibbs_layout.read_lists(lists, end - first), end - first)

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays from which `restore` goes on to the same bytes; the priors and `sweep` are not in it."""
        return {"z": self._z, "list_length": self._lists.length, "list_entries": self._lists.entries}

    def restore(self, state: Mapping[str, np.ndarray], sweep: int) -> None:
        """Continue from a `state` of a sampler built with the same arguments.

        Raises:
            UsageError: the state is that of another corpus or K, or damaged.
        """
        mine = self.state()
        if any(
            name not in state or (state[name].shape, state[name].dtype) != (values.shape, values.dtype)
            for name, values in mine.items()
        ):
            raise UsageError("the saved state belongs to another corpus or another number of topics")
        if not self._is_sound(state["z"], state["list_length"], state["list_entries"]):
            raise UsageError("the saved state is damaged: its counts do not fit its topics; start again")
        for name, values in mine.items():
            values[:] = state[name]
        self._count_words()
        self.sweep = sweep

    def _is_sound(self, z: np.ndarray, length: np.ndarray, entries: np.ndarray) -> bool:
        """Return whether topics are below K and lists count them: the kernel trusts both and would write elsewhere."""
        start, thawed = self._lists.start, int(np.count_nonzero(~self._frozen))
        if z.max(initial=0) >= self.n_topics or not ((length >= 0) & (length <= np.diff(start))).all():
            return False
        fresh = gibbs.Lists(start, np.zeros_like(length), np.zeros_like(entries))
        gibbs_layout.fill_lists(self._layout, fresh, z, thawed)
        saved = gibbs.Lists(start, length, entries)
        listed, counted = (gibbs_layout.read_lists(lists, thawed) for lists in (saved, fresh))
        return all(np.array_equal(a, b) for a, b in zip(listed, counted, strict=True))

    def _count_words(self) -> None:
        step = np.where(self._fixed, 0, 1)
        self._n_k = gibbs_layout.topic_totals(self._layout, self._z, step)
        self._word_lists.length[:] = 0
        gibbs_layout.fill_word_lists(self._layout, self._word_lists, self._z, step)

    @property
    def n_tokens(self) -> int:
        """Number of tokens that are sampled."""
        return int(np.diff(self._tokens.offsets)[~self._frozen].sum())

    def _priors(self) -> gibbs.Priors:
        alpha, eta = self.alpha * self._unit, self.eta * self._unit
        longest = float(self._doc_units.max(initial=1)) + float(alpha.sum()) + 1
        bits = min(SCALE_BITS, 61 - int(np.ceil(np.log2(longest))))
        if bits < LEAST_BITS:
            raise UsageError(
                f"alpha sums to {self.alpha.sum():g}: next to that no document would count; give a smaller one",
                parameter="alpha",
            )
        scale = 2.0**bits
        return gibbs.Priors(alpha, eta, eta * self._tokens.n_terms, (~self._fixed).astype(np.int64), scale)

    def _lay_out(self, weights: FloatArray | None) -> None:
        """Sort the tokens by word; documents are numbered with the frozen ones last, cut into blocks of like many tokens."""
        tokens, P = self._tokens, self.shards
        self._order = np.argsort(self._frozen, kind="stable") if self._frozen.any() else None
        offsets, term_ids = (
            (tokens.offsets, tokens.term_ids) if self._order is None else _reordered(tokens, self._order)
        )
        self._offsets, self._term_ids = offsets, term_ids
        self._word_start, docs = gibbs_layout.sort_by_word(offsets, term_ids, tokens.n_terms)
        thawed = int(np.count_nonzero(~self._frozen))
        cuts = np.searchsorted(offsets, np.linspace(0, offsets[thawed], P + 1)[1:-1])
        blocks = np.concatenate([[0], np.minimum(cuts, thawed), [thawed, tokens.n_docs]]).astype(np.int64)
        bounds = gibbs_layout.block_bounds(offsets, term_ids, self._word_start, blocks)
        steps = np.searchsorted(self._word_start, np.linspace(0, len(term_ids), P + 1)[1:-1])
        ends = np.concatenate([[0], np.minimum(steps, tokens.n_terms), [tokens.n_terms]])
        self._words = [np.arange(a, max(a, b)) for a, b in pairwise(ends)]
        self._units = None if weights is None else as_units(weights)
        units = np.zeros(0, np.uint16)
        if self._units is not None:
            units = np.empty(len(term_ids), np.uint16)
            gibbs_layout.to_word_order(term_ids, self._word_start, self._internal_order(self._units), units)
        self._layout = gibbs.Layout(bounds, docs, units)
        self._word_lists = self._room_for_words(units)
        lengths = np.diff(offsets)
        self._doc_units = lengths if self._units is None else np.bincount(docs, units, tokens.n_docs)
        most = int(np.diff(self._word_start).max(initial=0))
        if self._units is None and most > MAX_COUNT:
            raise UsageError(f"a word with {most:,} tokens is more than one model counts ({MAX_COUNT:,}); leave it out")
        if self._doc_units.max(initial=0) > (MAX_COUNT if self._units is None else MAX_UNITS):
            raise UsageError(
                f"a document with the weight of {self._doc_units.max() / self._unit:,.0f} tokens is too large; split it, or "
                "give the tokens less weight"
            )
        # a document has at most as many topics as tokens and one more while a token changes its topic, and at most K
        room = np.where(np.arange(tokens.n_docs) < thawed, np.minimum(lengths + 1, self.n_topics), 0)
        start = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
        # both halves of an entry hold what they must: counts up to those of a document, topics below 2^16
        entry = np.uint32 if self._doc_units.max(initial=0) <= MAX_SHORT else np.uint64
        self._lists = gibbs.Lists(start, np.zeros(tokens.n_docs, np.int32), np.zeros(int(start[-1]), entry))

    def _room_for_words(self, units: np.ndarray) -> gibbs.Lists:
        """Return empty lists for the frequent words; with one shard, which counts the tokens of a word once a sweep, for none."""
        lengths = np.diff(self._word_start)
        weights = lengths
        if len(units):
            weights = np.diff(np.concatenate([[0], np.cumsum(units, dtype=np.int64)])[self._word_start])
        kept = (lengths >= LISTED_FROM) & (weights < MAX_UNITS) & (self.shards > 1)
        # stored when its tokens are drawn, a word has at most as many topics as tokens, and at most K
        room = np.where(kept, np.minimum(lengths, self.n_topics), 0)
        start = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
        return gibbs.Lists(start, np.zeros(len(lengths), np.int32), np.zeros(int(start[-1]), np.uint64))

    def _start(self, assignments: IntArray | None) -> None:
        tokens, K = self._tokens, self.n_topics
        thawed = int(np.count_nonzero(~self._frozen))
        initial = np.zeros(0, np.int32)
        if assignments is not None:
            lowest, highest = assignments.min(initial=0), assignments.max(initial=0)
            if len(assignments) != len(tokens.term_ids) or not -1 <= lowest <= highest < K:
                raise UsageError(
                    f"assignments must be one topic in -1 … {K - 1} for each of {len(tokens.term_ids):,} tokens"
                )
            placed = self._internal_order(assignments)
            if placed[self._offsets[thawed] :].min(initial=0) < 0:
                raise UsageError("frozen documents need the topics of their tokens")
            initial = np.empty(len(placed), np.int32)
            gibbs_layout.to_word_order(self._term_ids, self._word_start, placed, initial)
        elif thawed < tokens.n_docs:
            raise UsageError("frozen documents need the topics of their tokens")
        self._z = np.empty(len(tokens.term_ids), np.uint16)
        with np.errstate(over="ignore"):
            gibbs_layout.start_topics(initial, self._key("start"), K, self._z)
        gibbs_layout.fill_lists(self._layout, self._lists, self._z, thawed)
        self._count_words()

    def _internal_order(self, values: Any) -> Any:
        return values if self._order is None else values[_token_order(self._tokens, self._order)]

    def _given_order(self, values: IntArray) -> IntArray:
        out = np.empty_like(values)
        assert self._order is not None
        out[_token_order(self._tokens, self._order)] = values
        return out

    def _as_matrix(self, counts: tuple[LongArray, IntArray, LongArray], rows: int) -> CsrMatrix:
        indptr, topics, n = counts
        data = n.astype(np.int32) if self._units is None else n / UNIT
        return sparse.csr_array((data, topics, indptr), shape=(rows, self.n_topics))


def shards_for(n_tokens: int, n_terms: int) -> int:
    """Return P for a corpus: a power of two up to 16, a shard having 50,000 tokens and 16 of each term on average."""
    most = min(MAX_SHARDS, n_tokens // TOKENS_PER_SHARD, n_tokens // (TOKENS_OF_A_WORD * max(n_terms, 1)))
    return 1 << (max(most, 1).bit_length() - 1)


def _scratch(K: int) -> gibbs.Scratch:
    whole = [np.zeros(K, np.int64) for _ in range(5)]
    blocks = np.zeros(-(-K // gibbs.BLOCK), np.int64)
    return gibbs.Scratch(whole[0], whole[1], np.zeros(K), whole[2], whole[3], blocks, whole[4])


def _token_order(tokens: TokenTable, order: LongArray) -> LongArray:
    """Return the places of the tokens when documents come in another order."""
    lengths = np.diff(tokens.offsets)[order]
    starts = np.repeat(tokens.offsets[:-1][order] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return starts + np.arange(len(tokens.term_ids))


def _reordered(tokens: TokenTable, order: LongArray) -> tuple[LongArray, IntArray]:
    offsets = np.concatenate([[0], np.cumsum(np.diff(tokens.offsets)[order])]).astype(np.int64)
    return offsets, tokens.term_ids[_token_order(tokens, order)]


# ------------------------------------------------------------------------------------------------------------------------
# The state of a chain between two sweeps: all that is needed to go on to the same bytes, of a chain that is longer, too.

SAVE_SECONDS = 60.0  # between two states that are remembered for workers that may be lost
PLANNED = "planned_sweeps"  # of the chain that a state is of
SUMS = ("topic_sum", "doc_sum")
CSR = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True, slots=True)
class TracePoint:
    """After `sweep` sweeps: log p(w, z) per token (per weight 1 of tokens), exp of the entropy of n_k / N, the priors in force."""

    sweep: int
    log_likelihood: float
    effective_topics: float
    alpha_sum: float
    eta: float


@dataclass(slots=True)
class ChainState:
    """What a chain has come to beside its sampler: the trace, sums of samples, the best state."""

    trace: list[TracePoint] = field(default_factory=list)
    samples: int = 0
    topic_sum: CsrMatrix | None = None
    doc_sum: CsrMatrix | None = None
    best: IntArray | None = None
    best_sweep: int = 0
    best_alpha: FloatArray | None = None
    best_eta: float = 0.0

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all but the trace."""
        arrays = {name: np.array(getattr(self, name)) for name in ("samples", "best_sweep", "best_eta")}
        arrays |= {name: getattr(self, name) for name in ("best", "best_alpha") if getattr(self, name) is not None}
        for name in SUMS:
            matrix = getattr(self, name)
            if matrix is not None:
                arrays |= {f"{name}.{part}": np.asarray(getattr(matrix, part)) for part in CSR}
        return arrays

    def restore(self, arrays: Arrays) -> None:
        """Become what `arrays` returned."""
        self.samples, self.best_sweep = int(arrays["samples"]), int(arrays["best_sweep"])
        self.best, self.best_alpha = arrays.get("best"), arrays.get("best_alpha")
        self.best_eta = float(arrays["best_eta"])
        for name in SUMS:
            if f"{name}.data" in arrays:
                *parts, shape = (arrays[f"{name}.{part}"] for part in CSR)
                setattr(self, name, sparse.csr_array(tuple(parts), shape=tuple(shape)))


class LastState:
    """A keeper that remembers the last state itself, where workers can be lost."""

    def __init__(self, keeper: Keeper | None, can_be_lost: bool) -> None:
        """Begin at the state that the keeper has."""
        self.keeper, self.can_be_lost = keeper, can_be_lost
        self.state = None if keeper is None else keeper.earlier()
        self.saved = time.monotonic()

    def earlier(self) -> StepState | None:
        """Return the last state."""
        return self.state

    def after(self, step: int, last: int, state: Callable[[], StepState]) -> None:
        """Keep the state where the keeper does, and without one every minute."""

        def now() -> StepState:
            current = state()
            if self.can_be_lost:
                self.state, self.saved = current, time.monotonic()
            return current

        if self.keeper is not None:
            self.keeper.after(step, last, now)
        elif self.can_be_lost and time.monotonic() > self.saved + SAVE_SECONDS:
            now()


# ------------------------------------------------------------------------------------------------------------------------
# Resumption of a chain from the saved state of another one, longer or shorter.


def chain_options(options: LdaOptions, seed: int) -> dict[str, Any]:
    """Return what must be equal to resume from a state: all options in force except the number of sweeps and threads."""
    plain = {k: v for k, v in in_force(options).items() if k not in ("sweeps", "burn_in", "optimize_burn_in")}
    plain["seed"] = seed
    plain["burn_in"] = None if options.estimate == "last" else options.samples_from
    plain["optimize_burn_in"] = options.optimize_from if options.estimates_every else None
    return plain


def resume_problem(state: StepState, options: LdaOptions) -> str | None:
    """Return why a chain with these options, whose number of sweeps may differ, cannot resume from a state; None if it can.

    After its last sweep a chain has a point of the trace, which one that is longer may not have there.
    """
    sweep, planned = state.step, int(state.arrays[PLANNED])
    if sweep > options.n_sweeps:
        return f"the chain has {sweep:,} sweeps already, more than the {options.n_sweeps:,} that are asked for"
    if sweep not in (planned, options.n_sweeps) or planned == options.n_sweeps:
        return None
    if sweep % options.trace_every:
        return (
            f"the state after sweep {sweep:,}, the last of one of both chains, is not the same in a chain of "
            f"{planned:,} sweeps and in one of {options.n_sweeps:,}"
        )
    return None

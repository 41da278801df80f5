"""AD-LDA: collapsed Gibbs sampling of LDA over shards of the documents (Newman, Asuncion, Smyth & Welling 2009, section 3.1).

In a sweep each shard p draws the topics of its tokens against a copy of the counts n_kv and n_k of all documents at its start;
then all become n_kv ← n_kv + Σ_p (n_kv^p − n_kv). n_dk stays in the shard. These are sums of whole numbers, so the order in which
shards end does not matter, and the topics depend on the number of shards alone: shards in turn, in threads, in processes and on a
cluster draw the same ones. One shard is the sampler without any approximation (`GibbsSampler` with one), draw for draw.

A sweep visits a word once, so what a shard needs of a word is the list of its topics at the start of the sweep, the same that the
cells of `GibbsSampler` keep: the kernel is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.platform.parallel import Actors, Start, ThreadActors
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray, TokenTable, ranges
from nlpkit.topics.base import kernels as gibbs
from nlpkit.topics.base.arguments import UNIT, as_units, check_arguments, checked_priors
from nlpkit.topics.base.heldout import log_words
from nlpkit.topics.lda import kernels as gibbs_layout
from nlpkit.topics.lda.kernels import count_topics
from nlpkit.topics.lda.priors import TopicHistogram
from nlpkit.topics.lda.sampler import MAX_COUNT, MAX_UNITS, GibbsSampler, shards_for


class Shard(GibbsSampler):
    """Some documents of a corpus, whose tokens are drawn against the counts of all of them.

    Args:
        offsets, term_ids, n_terms: of the documents; V of the corpus.
        first_token: tokens of the documents before them in the corpus.
        options: of `GibbsSampler`.
    """

    def __init__(
        self, offsets: LongArray, term_ids: IntArray, n_terms: int, first_token: int, options: Mapping[str, Any]
    ) -> None:
        tokens = TokenTable(offsets, term_ids, ("",) * n_terms)
        super().__init__(tokens, shards=1, first_token=first_token, **options)

    def sweep_beside(
        self, counts: tuple[LongArray, IntArray, LongArray], alpha: FloatArray, eta: float, sweep: int
    ) -> CsrMatrix:
        """Draw the topic of each token once and return the differences of its own n_vk (V, K) CSR, in units of a token.

        Args:
            counts: indptr, indices and data of n_vk (V, K) of all documents, in units of a token, without zeros.
            alpha, eta: the priors of this sweep; sweep: how many there were before.
        """
        self.set_priors(alpha, eta)
        before = self.word_topics()
        self._n_k[:] = np.bincount(counts[1], counts[2], self.n_topics)  # sums below 2^53 are exact
        self._word_lists = self._lists_of(*counts)
        self.sweep = sweep
        self.run(1)
        self._word_lists = self._room_for_words(self._layout.units)  # none: they were for one sweep
        changes = sparse.csr_array(self.word_topics() - before)
        changes.eliminate_zeros()
        return changes.astype(np.int32) if self._unit == 1 else changes

    def word_topics(self) -> CsrMatrix:
        """Return n_vk (V, K) CSR int64 of its documents, in units of a token."""
        indptr, topics, counts = count_topics(self._word_start, self._z, self._layout.units, self.n_topics)
        return sparse.csr_array((counts, topics, indptr), shape=(self._tokens.n_terms, self.n_topics))

    def _lists_of(self, indptr: LongArray, topics: IntArray, counts: LongArray) -> gibbs.Lists:
        """Return the topics of the words that it has tokens of."""
        mine = np.diff(self._word_start)
        # stored when its tokens are drawn, a word has the topics it had and at most one more of each token here, and at most K
        room = np.where(mine > 0, np.minimum(np.diff(indptr) + mine, self.n_topics), 0)
        start = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
        lists = gibbs.Lists(start, np.zeros(len(mine), np.int32), np.empty(int(start[-1]), np.uint64))
        gibbs_layout.fill_from_counts(lists, indptr, topics, counts)
        return lists

    def packed_state(self) -> dict[str, np.ndarray]:
        """Return a copy of `state`, without the room that lists do not fill."""
        length, entries = self._lists.length, self._lists.entries
        return {
            "z": self._z.copy(),
            "list_length": length.copy(),
            "list_entries": entries[ranges(self._lists.start[:-1], length)],
        }

    def restore_packed(self, state: Mapping[str, np.ndarray], sweep: int) -> None:
        """Continue from a `packed_state`. Raises UsageError as `restore` does."""
        length, entries = state["list_length"], np.zeros_like(self._lists.entries)
        room = np.diff(self._lists.start)
        fits = length.shape == room.shape and bool(((length >= 0) & (length <= room)).all())
        if not fits or len(state["list_entries"]) != length.sum():
            raise UsageError("the saved state belongs to another corpus or another number of topics")
        entries[ranges(self._lists.start[:-1], length)] = state["list_entries"]
        self.restore({**state, "list_entries": entries}, sweep)


class DistributedSampler:
    """A chain of AD-LDA, with the methods of `GibbsSampler`.

    Args:
        tokens, n_topics, alpha, eta, seed, assignments, weights: as of `GibbsSampler`.
        threads: shards sampled at the same time, where they are in this process.
        shards: P, at most as many as documents; by default as many as of `GibbsSampler`.
        fixed: (K,) topics whose word counts are those of `pseudo_tokens` alone.
        pseudo_tokens: term ids and topics (M,) of tokens that count and keep their topics, of weight 1.
        start: where shards are: `ProcessActors` or `RayActors` with a number of workers; by default in threads.

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
        fixed: BoolArray | None = None,
        pseudo_tokens: tuple[IntArray, IntArray] | None = None,
        weights: FloatArray | None = None,
        start: Start | None = None,
    ) -> None:
        check_arguments(tokens, n_topics, alpha=alpha, fixed=fixed, weights=weights)
        if assignments is not None and len(assignments) != len(tokens.term_ids):
            raise UsageError(f"assignments must be one topic for each of {len(tokens.term_ids):,} tokens")
        wanted = shards_for(len(tokens.term_ids), tokens.n_terms) if shards is None else shards
        self.shards = max(1, min(wanted, tokens.n_docs))
        self.n_topics, self.sweep, self._tokens = n_topics, 0, tokens
        self._unit = 1 if weights is None else UNIT
        self._fixed = np.zeros(n_topics, bool) if fixed is None else np.asarray(fixed, bool)
        self._pseudo_counts = self._counts_of(pseudo_tokens)
        self._check_counts(weights)
        self._options = {"n_topics": n_topics, "alpha": alpha, "eta": eta, "seed": seed, "fixed": fixed}
        self._parts = {"assignments": assignments, "weights": weights}
        self._start = partial(ThreadActors, threads=threads) if start is None else start
        self.set_priors(alpha, eta)
        self._priors_at_start = self.alpha, self.eta
        self._actors = self._started()
        self._count()

    def _counts_of(self, pseudo_tokens: tuple[IntArray, IntArray] | None) -> CsrMatrix:
        words, topics = pseudo_tokens or (np.zeros(0, np.int32), np.zeros(0, np.int32))
        amount = np.full(len(words), self._unit, np.int64)
        shape = (self._tokens.n_terms, self.n_topics)
        return sparse.csr_array(sparse.coo_array((amount, (words, topics)), shape=shape))

    def _check_counts(self, weights: FloatArray | None) -> None:
        if weights is None and len(self._tokens.term_ids) + self._pseudo_counts.sum() <= MAX_COUNT:
            return
        units = None if weights is None else as_units(weights)
        most = np.bincount(self._tokens.term_ids, units, self._tokens.n_terms) + self._pseudo_counts.sum(axis=1)
        if most.max(initial=0) > (MAX_COUNT if weights is None else MAX_UNITS):
            raise UsageError(
                f"a word with the weight of {most.max() / self._unit:,.0f} tokens is more than one model counts; leave it out, or "
                "give the tokens less weight"
            )

    def _started(self) -> Actors:
        tokens, P = self._tokens, self.shards
        cuts = np.searchsorted(tokens.offsets, np.linspace(0, tokens.offsets[-1], P + 1)[1:-1])
        ends = np.concatenate([[0], np.minimum(cuts, tokens.n_docs), [tokens.n_docs]])
        arguments = []
        for p in range(P):
            offsets = tokens.offsets[ends[p] : ends[p + 1] + 1]
            part = slice(int(offsets[0]), int(offsets[-1]))
            options = self._options | {
                name: value if value is None else value[part] for name, value in self._parts.items()
            }
            arguments.append(
                (offsets - offsets[0], tokens.term_ids[part], tokens.n_terms, part.start, options)
            )  # fmt: skip
        return self._start(Shard, arguments)

    def _count(self) -> None:
        """Count n_vk (V, K) of the documents anew, in units of a token."""
        nothing = sparse.csr_array((self._tokens.n_terms, self.n_topics), dtype=np.int64)
        self._word_topics = sum(self._actors.answers("word_topics"), nothing)

    def set_priors(self, alpha: FloatArray | float, eta: float) -> None:
        """Change alpha, (K,) or one number for all, and eta. Raises UsageError where one is not above 0."""
        self.alpha, self.eta = checked_priors(alpha, eta, self.n_topics)

    def run(self, sweeps: int) -> None:
        """Draw every token's topic `sweeps` times.

        Raises:
            ActorLostError: a shard is gone; `restart` and `restore` go on.
        """
        for _ in range(sweeps):
            counts = self._pseudo_counts + self._as_seen(self._word_topics)
            parts = (counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data)
            changes = self._actors.answers("sweep_beside", parts, self.alpha, self.eta, self.sweep)
            # as they come: all of them at once would be several times the counts
            self._word_topics = sum(changes, self._word_topics)
            self.sweep += 1

    def _as_seen(self, counts: CsrMatrix) -> CsrMatrix:
        """Return counts (V, K) without those of fixed topics, whose words are not learned from documents."""
        if not self._fixed.any():
            return counts
        seen = counts.copy()
        seen.data[self._fixed[seen.indices]] = 0
        seen.eliminate_zeros()
        return seen

    def restart(self) -> None:
        """Start all shards anew, at the start of the chain."""
        self._actors.close()
        self._actors = self._started()
        self.sweep = 0
        self.alpha, self.eta = self._priors_at_start
        self._count()

    @property
    def can_be_lost(self) -> bool:
        """Whether shards are where they can end without this process."""
        return self._actors.can_be_lost

    def close(self) -> None:
        """End the workers; the chain cannot be asked for anything then."""
        self._actors.close()

    def assignments(self) -> IntArray:
        """Return the topic of each token (N,) int32, in the order of `tokens.term_ids`."""
        parts = self._actors.call("assignments")
        return np.concatenate(parts)

    def topic_term(self) -> CsrMatrix:
        """Return n_kv (K, V) of all documents and pseudo-tokens: int32, float64 where tokens have weights; indices ascending."""
        matrix = sparse.csr_array(self._in_tokens(self._pseudo_counts + self._word_topics).T)
        matrix.sort_indices()
        return matrix

    def _in_tokens(self, counts: CsrMatrix) -> CsrMatrix:
        return counts.astype(np.int32) if self._unit == 1 else counts / UNIT

    def doc_topic(self) -> CsrMatrix:
        """Return n_dk (D, K); types as of `topic_term`, indices ascending."""
        return sparse.csr_array(sparse.vstack(self._actors.call("doc_topic"), format="csr"))

    def topic_histogram(self) -> TopicHistogram:
        """Return how many documents have so many tokens of a topic: those of the shards together."""
        return TopicHistogram.merged(self._actors.call("topic_histogram"))

    def topic_sizes(self) -> LongArray | FloatArray:
        """Return the tokens of each topic in the documents (K,), their weight where tokens have weights."""
        return np.asarray(self._in_tokens(self._word_topics).sum(axis=0)).ravel()

    def log_likelihood(self) -> float:
        """Return log p(w, z | alpha, eta), natural logarithm; see `GibbsSampler.log_likelihood`."""
        guided = self._pseudo_counts.nnz or self._fixed.any()
        frozen = sparse.csr_array(self._in_tokens(self._pseudo_counts).T) if guided else None
        words = log_words(self.topic_term(), self.eta, fixed=self._fixed, frozen_counts=frozen)
        return float(words + sum(self._actors.call("log_documents", self.alpha)))

    @property
    def n_tokens(self) -> int:
        """Number of tokens that are sampled."""
        return len(self._tokens.term_ids)

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays from which `restore` goes on to the same bytes; the priors and `sweep` are not in it."""
        states = self._actors.call("packed_state")
        return {f"{p}.{name}": values for p, state in enumerate(states) for name, values in state.items()}

    def restore(self, state: Mapping[str, np.ndarray], sweep: int) -> None:
        """Continue from a `state` of a sampler built with the same arguments.

        Raises:
            UsageError: the state is that of another corpus, K or P, or damaged.
        """
        names = ("z", "list_length", "list_entries")
        if set(state) != {f"{p}.{name}" for p in range(self.shards) for name in names}:
            raise UsageError("the saved state belongs to another corpus or another number of shards")
        states = [({name: state[f"{p}.{name}"] for name in names}, sweep) for p in range(self.shards)]
        self._actors.call_each("restore_packed", states)
        self._count()
        self.sweep = sweep

"""The hierarchical Dirichlet process by collapsed Gibbs sampling: a mixture of topics whose number is drawn with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import IntArray, LongArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.by_term import words_of
from nlpkit.topics.base.heldout import CHAINS, infer_topics
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, order_by_size, reordered
from nlpkit.topics.base.scores import Arrays, Fitted, Keeper, RunningState, TokenFitter, resumable
from nlpkit.topics.base.topic_words import joined
from nlpkit.topics.hdp import kernels as kernel
from nlpkit.topics.hdp.options import HdpOptions

# shape and rate of the Gamma distributions that gamma and alpha are drawn from (Teh et al. 2006, section 6)
GAMMA_PRIOR, ALPHA_PRIOR = (1.0, 0.1), (1.0, 1.0)
MERGE_EVERY = 5  # sweeps of the first half
STEP = 64  # slots that are made at a time, a multiple of kernel.BLOCK


@dataclass(frozen=True, slots=True)
class HdpPoint:
    """After a sweep: topics with tokens, the concentrations, and log p(w | z) per token."""

    sweep: int
    topics: int
    alpha: float
    gamma: float
    log_likelihood: float


def fit_hdp(
    tokens: TokenTable,
    options: HdpOptions | None = None,
    execution: Execution | None = None,
    *,
    progress: Callable[[int, HdpPoint], None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit a mixture of topics without a number of topics, by collapsed Gibbs sampling.

    β ~ GEM(γ), θ_d ~ DP(α, β), φ_k ~ Dir(η). Direct assignment draws, with β_u the share of all topics without tokens,

        p(z_i = k | others)   ∝ (n_dk + α β_k) (n_kv + η) / (n_k + Vη)
        p(z_i new | others)   ∝ α β_u / V

    and after each sweep the tables m_dk, β | m ~ Dir(m_·1, …, m_·K, γ), and γ and α, unless they are given, by auxiliary variables
    under Gamma priors of shape and rate (1, 0.1) and (1, 1). Of the last state, β_k = m_·k / (m_·· + γ), so that the model is
    LDA with the prior α β_k of each topic; a new document has topics of the corpus only. One thread samples: the result does
    not depend on how many there are.

    Args:
        tokens: corpus. execution: the seed. progress: called after each sweep; keeper: keeps states to go on from.

    Raises:
        UsageError: no tokens.

    Source: Teh, Jordan, Beal & Blei (2006), "Hierarchical Dirichlet Processes", JASA 101(476), section 5.3 and appendix A.
    """
    options, execution = options or HdpOptions(), execution or Execution()
    if not len(tokens.term_ids):
        raise UsageError("the corpus has no tokens to find topics in")
    state = _State(tokens, options, execution.seed)
    trace: list[HdpPoint] = []
    for n in resumable(
        options.iterations, RunningState(trace, HdpPoint, rng=state.rng, replaced=state.arrays, restore=state.restore), keeper
    ):  # fmt: skip
        state.sweep(n)
        if n % MERGE_EVERY == 0 and 2 * n <= options.iterations:
            state.merge()
        trace.append(HdpPoint(n, state.n_topics, state.alpha, state.gamma, state.log_likelihood()))
        if progress is not None:
            progress(n, trace[-1])
    n_before, moved = state.n_topics, state.close(options.min_share)
    doc_topic, alpha, topic_term = state.counts()
    order = order_by_size(doc_topic, alpha)
    model = MixtureModel(tokens.terms, sparse.csr_array(topic_term[order]), alpha[order], options.eta)
    numbers = {
        "sweeps": options.iterations,
        "log_likelihood_per_token": round(trace[-1].log_likelihood, 6),
        "alpha": round(state.alpha, 6),
        "gamma": round(state.gamma, 6),
        "topics_left_out": n_before - model.n_topics,
        "tokens_moved": moved,
    }
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order))
    return MixtureFit(model, reordered(doc_topic, order), trace, numbers, assignments=places[state.z])


class _State:
    """The topics of the tokens, and all that is drawn with them."""

    topics: kernel.Topics
    scratch: kernel.Scratch
    m_k: LongArray

    def __init__(self, tokens: TokenTable, options: HdpOptions, seed: int) -> None:
        """Deal the tokens into topics at random."""
        self.tokens, self.options, self.seed = tokens, options, seed
        self.rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "hdp")))
        lengths = np.diff(tokens.offsets)
        self.lengths = lengths[lengths > 0].astype(np.float64)
        self.alpha = 1.0 if options.alpha is None else options.alpha
        self.gamma = 1.0 if options.gamma is None else options.gamma
        K = options.initial_topics
        self.z: IntArray = self.rng.integers(0, K, len(tokens.term_ids)).astype(np.int32)
        self.high = K
        self._make(-(-K // STEP) * STEP)
        np.add.at(self.topics.n_vk, (tokens.term_ids, self.z), 1)
        self.topics.n_k[:] = self.topics.n_vk.sum(axis=0)
        self.topics.beta[:K] = np.where(self.topics.n_k[:K] > 0, 1.0 / (K + 1), 0.0)
        self.topics.rest[0] = 1.0 - self.topics.beta.sum()
        self._invert()

    def arrays(self) -> Arrays:
        """Return the state as arrays, for `restore`."""
        topics, numbers = self.topics, np.array([self.alpha, self.gamma])
        return {"z": self.z, "n_k": topics.n_k, "n_vk": topics.n_vk, "beta": topics.beta, "rest": topics.rest,
                "numbers": numbers, "high": np.array(self.high), "m_k": self.m_k}  # fmt: skip

    def restore(self, arrays: Arrays) -> None:
        """Become the state of arrays."""
        self._make(len(arrays["n_k"]))
        for name in ("n_k", "n_vk", "beta", "rest"):
            getattr(self.topics, name)[...] = arrays[name]
        self.z, self.m_k, self.high = arrays["z"], arrays["m_k"], int(arrays["high"])
        self.alpha, self.gamma = arrays["numbers"].tolist()
        self._invert()

    @property
    def n_topics(self) -> int:
        """Topics with tokens."""
        return int((self.topics.n_k > 0).sum())

    def _make(self, slots: int, kept: LongArray | None = None) -> None:
        """Make so many slots, the first of them with the topics `kept` of those there are."""
        V = self.tokens.n_terms
        new = kernel.Topics(
            np.zeros(slots, np.int64), np.zeros((V, slots), np.int32), np.zeros(slots), np.empty(slots), np.ones(1)
        )
        if kept is not None:
            old, K = self.topics, len(kept)
            new.n_k[:K], new.n_vk[:, :K], new.beta[:K] = old.n_k[kept], old.n_vk[:, kept], old.beta[kept]
            new.rest[:] = old.rest
        # the kernel writes slots 0 … high rounded up to a BLOCK, at most C: it begins a topic in a free slot below `high`, or in slot
        # `high` < C, and stops before a token while there is neither; C is a multiple of STEP, and so of BLOCK
        self.topics = new
        self.scratch = kernel.Scratch(
            np.zeros(slots, np.int64), np.zeros(slots), np.zeros(slots), np.zeros(slots // kernel.BLOCK)
        )
        self._invert()

    def _invert(self) -> None:
        self.topics.inverse[:] = 1.0 / (self.topics.n_k + self.tokens.n_terms * self.options.eta)

    def sweep(self, n: int, *, closed: bool = False) -> None:
        """Draw the topic of each token, then the shares of the topics, then the concentrations."""
        tokens, d, i = self.tokens, 0, 0
        key = np.uint64(stream_key(self.seed, "hdp", n))
        while d < tokens.n_docs:
            with np.errstate(over="ignore"):  # hashes wrap around, which NumPy tells of where kernels are not compiled
                d, i, self.high = kernel.sweep(
                    tokens.offsets, tokens.term_ids, self.z, d, i, self.high, self.topics, self.scratch, self.alpha,
                    self.gamma, self.options.eta, key, closed,
                )  # fmt: skip
            if d < tokens.n_docs:
                slots = len(self.topics.n_k)
                self._make(slots + STEP, np.arange(slots))
        if 4 * self.n_topics < 3 * self.high:
            self._close_up(np.flatnonzero(self.topics.n_k > 0))
        self.m_k = np.zeros(len(self.topics.n_k), np.int64)
        with np.errstate(over="ignore"):
            key = np.uint64(stream_key(self.seed, "hdp tables", n))
            kernel.tables(tokens.offsets, self.z, self.topics.beta, self.alpha, key, self.scratch.n_dk, self.m_k)
        if not closed:
            shares = self.rng.standard_gamma(np.append(self.m_k, self.gamma).astype(np.float64))
            shares /= shares.sum()
            self.topics.beta[:], self.topics.rest[0] = shares[:-1], shares[-1]
            self._draw_concentrations()

    def _close_up(self, kept: LongArray) -> None:
        """Move the topics `kept` to the first slots; tokens of others are in no topic."""
        places = np.full(len(self.topics.n_k), -1, np.int32)
        places[kept] = np.arange(len(kept))
        self.z, self.high = places[self.z], len(kept)
        self._make(max(-(-len(kept) // STEP) * STEP, STEP), kept)

    def _draw_concentrations(self) -> None:
        """Draw γ (Escobar & West 1995) and α (Teh et al. 2006, equations 47 to 49), those that were not given."""
        m, K = int(self.m_k.sum()), self.n_topics
        if self.options.gamma is None:
            shape, rate = GAMMA_PRIOR
            rate -= np.log(self.rng.beta(self.gamma + 1, m))
            odds = (shape + K - 1) / (m * rate)
            self.gamma = self.rng.gamma(shape + K - (self.rng.random() * (1 + odds) > odds), 1 / rate)
        if self.options.alpha is None:
            shape, rate = ALPHA_PRIOR
            rate -= np.log(self.rng.beta(self.alpha + 1, self.lengths)).sum()
            ones = (self.rng.random(len(self.lengths)) * (self.lengths + self.alpha) < self.lengths).sum()
            self.alpha = self.rng.gamma(shape + m - ones, 1 / rate)

    def merge(self) -> None:
        """Merge topics with those whose words are most like theirs, at most once each, where that makes the state more probable.

        As dishes of the Chinese restaurant franchise: the tables stay, and p(w, k) changes by Γ(m_a + m_b) / (Γ(m_a) Γ(m_b) γ) and by
        p(w | z). Gibbs sampling of single tokens hardly ever joins two topics of the same words.
        """
        from scipy.special import gammaln

        there = np.flatnonzero(self.topics.n_k > 0)
        m = self.m_k[there]

        def gain(a: int, b: int) -> float:
            return float(gammaln(m[a] + m[b]) - gammaln(m[a]) - gammaln(m[b]) - np.log(self.gamma))

        n_kv = np.ascontiguousarray(self.topics.n_vk[:, there].T)
        self._join(there, joined(n_kv, self.options.eta, gain))

    def _join(self, there: LongArray, into: LongArray) -> None:
        """Give the tokens of the slots `there` to the slots there[into]."""
        places = np.arange(len(self.topics.n_k), dtype=np.int32)
        places[there] = there[into]
        for a, b in zip(there[into], there, strict=True):
            if a != b:
                for values in (self.topics.n_k, self.topics.n_vk.T, self.topics.beta, self.m_k):
                    values[a] += values[b]
                    values[b] = 0
        self.z = places[self.z]
        self._invert()

    def log_likelihood(self) -> float:
        """Return log p(w | z) per token."""
        total = kernel.log_likelihood(self.topics.n_k, self.topics.n_vk, self.options.eta)
        return float(total) / len(self.z)

    def close(self, min_share: float) -> int:
        """Draw the tokens of small topics among the others, the largest topic at least; return how many there were."""
        n_k, least = self.topics.n_k, min_share * len(self.z)
        kept = np.flatnonzero((n_k > 0) & ((n_k >= least) | (n_k == n_k.max())))
        moved = len(self.z) - int(n_k[kept].sum())
        if moved:
            self._close_up(kept)
            self.topics.beta[:] /= self.topics.beta.sum()
            self.topics.rest[0] = 0.0
            self.sweep(0, closed=True)
        return moved

    def counts(self) -> tuple[sparse.csr_array, np.ndarray, sparse.csr_array]:
        """Return n_dk (D, K), α β_k (K,) and n_kv (K, V) of the topics with tokens, in the order of their slots."""
        self._close_up(np.flatnonzero(self.topics.n_k > 0))
        K, tokens = self.high, self.tokens
        m_k = self.m_k[self.m_k > 0]  # a topic with tokens has a table, others have none
        document = np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))
        ones = np.ones(len(self.z), np.int32)
        doc_topic = sparse.coo_array((ones, (document, self.z)), shape=(tokens.n_docs, K)).tocsr()
        doc_topic.sort_indices()
        topic_term = sparse.csr_array(np.ascontiguousarray(self.topics.n_vk[:, :K].T))
        return doc_topic, self.alpha * m_k / (m_k.sum() + self.gamma), topic_term


@dataclass(frozen=True, slots=True)
class HdpFitter(TokenFitter):
    """A hierarchical Dirichlet process that is fitted."""

    options: HdpOptions
    seeds: int = 1

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus, whatever the number of topics that is asked for."""
        return fit_hdp(tokens, self.options, execution, progress=progress, keeper=keeper)

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model, and Gibbs sampling of the topics of a document under it, as of LDA."""
        return fit.model, partial(infer_topics, words_of(fit.model), seed=seed, chains=CHAINS, threads=threads)

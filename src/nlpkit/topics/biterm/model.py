"""The biterm topic model for short texts by Gibbs sampling (BTM): each pair of words of a text has one topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.choose import SEEDS
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, expected_counts, order_by_size, reordered
from nlpkit.topics.base.scores import Fitted, Keeper, RunningState, TokenFitter, resumable
from nlpkit.topics.biterm import kernels as kernel
from nlpkit.topics.biterm.options import BitermOptions

BLOCK = 1 << 20  # biterms whose uniforms are there at a time
LOOK = 10  # sweeps from one point of the trace to the next


@dataclass(frozen=True, slots=True)
class BitermPoint:
    """After a sweep: share of the biterms whose topic changed, and ln p(biterms, topics) per biterm."""

    sweep: int
    moved: float
    log_likelihood: float


def fit_biterm(
    tokens: TokenTable,
    n_topics: int,
    options: BitermOptions | None = None,
    execution: Execution | None = None,
    *,
    progress: Callable[[int, BitermPoint | None], None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit a model in which each biterm, two different words of one text or window, has one topic, by collapsed Gibbs sampling.

        p(z_b = k | others) ∝ (n_k + α) (n_kv + β) (n_kw + β) / ((2 n_k + V β) (2 n_k + 1 + V β)),   b = {v, w}
        θ_k = (n_k + α) / (B + K α),   φ_kv = (n_kv + β) / (2 n_k + V β),   p(k | d) = mean over b in d of θ_k φ_kv φ_kw / Σ_j θ_j φ_jv φ_jw

    with n_k the biterms of topic k and n_kv the words of these. Topics are those of the whole corpus: a text has no mixture of its own
    in the model. That of a text without biterms, such as one of one word, is the mean of p(k | v). One thread samples: the result does
    not depend on how many there are.

    Args:
        tokens: corpus; documents without tokens have no topic.
        n_topics: K; execution: the seed.
        progress: called after each sweep, with a point of the trace after every tenth.

    Raises:
        UsageError: no tokens, no topic, or more topics than biterms; InputError: no biterms.

    Source: Yan, Guo, Lan & Cheng (2013), "A Biterm Topic Model for Short Texts", WWW, equations 4 to 7. Their equation 4 has
    (2 n_k + V β)²; with the 1 of the second word this is the exact conditional, as their program has it.
    """
    options, execution = options or BitermOptions(), execution or Execution()
    if not len(tokens.term_ids):
        raise UsageError("the corpus has no tokens to find topics in")
    if n_topics < 1:
        raise UsageError(f"`k={n_topics}`: at least 1 topic is needed", parameter="k")
    alpha, beta, V = options.alpha_of(n_topics), options.eta, tokens.n_terms
    pairs = biterms_of(tokens, options.window)
    B = len(pairs)
    if n_topics > B:
        raise UsageError(f"`k={n_topics}`: there are only {B:,} biterms", parameter="k")
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "biterm")))
    topics = rng.integers(0, n_topics, B).astype(np.int32)
    n_z = np.bincount(topics, minlength=n_topics).astype(np.int64)
    n_vk = np.zeros((V, n_topics), np.int32)
    for side in (0, 1):
        np.add.at(n_vk, (pairs[:, side], topics), 1)
    trace: list[BitermPoint] = []
    room = (np.empty(n_topics), np.empty(n_topics))
    arrays: dict[str, np.ndarray] = {"topics": topics, "n_z": n_z, "n_vk": n_vk}
    for n in resumable(options.iterations, RunningState(trace, BitermPoint, arrays, rng), keeper):
        moved = 0
        for begin in range(0, B, BLOCK):
            end = min(begin + BLOCK, B)
            moved += kernel.sweep(
                pairs, begin, end, topics, n_z, n_vk, alpha, beta, rng.random(end - begin), *room
            )  # fmt: skip
        point = None
        if n % LOOK == 0 or n == options.iterations:
            point = BitermPoint(n, moved / B, log_likelihood(n_z, n_vk, alpha, beta) / B)
            trace.append(point)
        if progress is not None:
            progress(n, point)
    model = MixtureModel(tokens.terms, sparse.csr_array(n_vk.T), np.zeros(n_topics), beta)
    shares = np.asarray((n_z + alpha) / (B + n_topics * alpha), np.float64)
    theta = assign(model, shares, options.window, tokens.offsets, tokens.term_ids)
    doc_topic = expected_counts(theta.astype(np.float64), np.diff(tokens.offsets).astype(np.float64))
    order = order_by_size(doc_topic, model.alpha)
    numbers = {
        "biterms": B, "sweeps": options.iterations, "prior_alpha": round(alpha, 6), "prior_eta": beta,
        "biterms_moved": round(trace[-1].moved, 6), "log_likelihood_per_biterm": round(trace[-1].log_likelihood, 6),
    }  # fmt: skip
    return MixtureFit(
        model.renumbered(order), reordered(doc_topic, order), trace, numbers, arrays={"shares": shares[order]}
    )


def biterms_of(tokens: TokenTable, window: int) -> IntArray:
    """Return the biterms (B, 2) of a corpus, term ids, by document. Raises InputError where there are none."""
    counts = np.empty(tokens.n_docs, np.int64)
    kernel.count_pairs(tokens.offsets, tokens.term_ids, window, counts)
    if not counts.any():
        raise InputError(
            "no text has two different words, so there are no biterms; keep more words (`min_df`, "
            "`stop_words`), or use gsdmm"
        )
    pairs = np.empty((int(counts.sum()), 2), np.int32)
    kernel.list_pairs(tokens.offsets, tokens.term_ids, window, pairs)
    return pairs


def log_likelihood(n_z: LongArray, n_vk: IntArray, alpha: float, beta: float) -> float:
    """Return ln p(biterms, topics): that of the topics with θ integrated out, plus that of their words with φ integrated out."""
    from scipy.special import gammaln

    K, V = len(n_z), n_vk.shape[0]
    topics = gammaln(K * alpha) - gammaln(n_z.sum() + K * alpha) + (gammaln(n_z + alpha) - gammaln(alpha)).sum()
    words = K * gammaln(V * beta) - gammaln(2 * n_z + V * beta).sum() + (gammaln(n_vk + beta) - gammaln(beta)).sum()
    return float(topics + words)


def assign(
    model: MixtureModel, shares: FloatArray, window: int, offsets: LongArray, term_ids: IntArray
) -> Float32Array:
    """Return p(k | d) of documents (D, K) by their biterms.

    Args:
        shares: (K,) θ of the corpus. window: of the fit.
        offsets, term_ids: the documents; terms of the model.
    """
    phi_vk = np.ascontiguousarray(model.phi.T)
    theta = np.empty((len(offsets) - 1, model.n_topics))
    kernel.documents(offsets, term_ids, window, shares, phi_vk, theta, np.empty(model.n_topics))
    return theta.astype(np.float32)


@dataclass(frozen=True, slots=True)
class BitermFitter(TokenFitter):
    """A biterm topic model whose numbers of topics are compared, and that is fitted."""

    options: BitermOptions
    seeds: int = SEEDS

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        return fit_biterm(tokens, n_topics, self.options, execution, progress=progress, keeper=keeper)

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model, and the topics of documents by their biterms."""
        return fit.model, partial(assign, fit.model, fit.arrays["shares"], self.options.window)

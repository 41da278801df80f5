"""Topics from anchor words (Arora et al. 2013), where a fit begins: the same for every seed.

The words of an anchor occur in one topic only, so that each other word's co-occurrences are a mixture of those of the anchors:

    Q  = Σ_d (c_d c_dᵀ - diag c_d) / (N_d (N_d - 1))         co-occurrences of pairs of tokens; Q̄: rows that sum to 1
    a_v = argmin ‖Q̄_v - Σ_k a_vk Q̄_anchor(k)‖²,  a_vk = p(k | v),      φ_kv ∝ a_vk p(v)

Q has V² cells and is never made: with H = c / √(N (N - 1)), Q x = Hᵀ (H x) - diag · x.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.parallel import map_ahead
from nlpkit.topics.stm.kernels import exact_weights, simplex_weights
from nlpkit.types import BoolArray, CsrMatrix, FloatArray, LongArray

MOST_TERMS = (
    10_000  # the most frequent ones are used, as in R's stm; the others begin with the same probability in all topics
)
SHARES = (
    1.0,
    0.9,
    0.8,
    0.7,
)  # of the tokens, by the most frequent terms: anchors are looked for among these, once each
REST = 0.001  # probability of a topic that is spread over all terms where some are not used
CHUNK = 256  # terms that a thread takes at a time
GAP = 0.01  # of the mean squared length of the anchors' rows: descent left to weights above which they are arbitrary


@dataclass(frozen=True, slots=True)
class Cooccurrences:
    """Q̄ (V, V) as products: scaled (D, V) H; same (V,) the pairs of a token with itself; sums (V,) of the rows of Q."""

    scaled: CsrMatrix
    same: FloatArray
    sums: FloatArray

    def times(self, X: FloatArray) -> FloatArray:
        """Return Q̄ X (V, m) of X (V, m)."""
        product = self.scaled.T @ (self.scaled @ X) - self.same[:, None] * X
        return np.asarray(product / self.sums[:, None])

    def rows(self, terms: LongArray) -> FloatArray:
        """Return rows of Q̄ (len(terms), V)."""
        rows = (self.scaled.T[terms] @ self.scaled).toarray()
        rows[np.arange(len(terms)), terms] -= self.same[terms]
        return np.asarray(rows / self.sums[terms, None])

    def squares(self) -> FloatArray:
        """Return ‖Q̄_v‖² (V,)."""
        out = np.empty(len(self.sums))
        for begin in range(0, len(out), CHUNK):
            terms = np.arange(begin, min(begin + CHUNK, len(out)))
            out[terms] = (self.rows(terms) ** 2).sum(axis=1)
        return out


def cooccurrences(counts: CsrMatrix) -> Cooccurrences:
    """Return the co-occurrences of the terms of counts (D, V); documents of fewer than two tokens have none."""
    sizes = counts.sum(axis=1)
    used = sizes >= 2
    counts, sizes = sparse.csr_array(counts[used]), sizes[used]
    pairs = sizes * (sizes - 1)
    scaled = sparse.csr_array(sparse.diags_array(1 / np.sqrt(pairs)) @ counts)
    return Cooccurrences(scaled, np.asarray(counts.T @ (1 / pairs)), np.asarray(counts.T @ (1 / sizes)))


def anchors(pairs: Cooccurrences, K: int, frequent: BoolArray, squares: FloatArray) -> LongArray:
    """Return K anchor words (K,): each time the row of Q̄ farthest from the span of those before (FastAnchorWords, Arora et al. 2013).

    A word with few tokens has a row of Q̄ that is far from all others by chance, so others than `frequent` (V,) ones are anchors only
    where the rows of these span fewer than K dimensions. The rows stay as they are; what the projections take from their squared
    lengths `squares` (V,) is Σ_j (Q̄_v · b_j)² of the basis b.

    Raises:
        InputError: the rows span fewer than K dimensions.
    """
    left = squares.copy()
    least = 1e-12 * left.max()
    basis = np.zeros((0, len(left)))
    chosen: list[int] = []
    for k in range(K):
        v = int(np.where(frequent, left, 0.0).argmax())
        if not frequent[v] or left[v] <= least:
            v = int(left.argmax())
        if left[v] <= least:
            raise InputError(
                f"the words of this corpus have only {k} independent kinds of co-occurrence, fewer than the {K} "
                "topics; give a smaller `k`, or `start=random`"
            )
        row = pairs.rows(np.array([v]))[0]
        for _ in range(2):  # the second time for the digits that the first lost
            row -= (basis @ row) @ basis
        row /= np.linalg.norm(row)
        basis = np.vstack([basis, row])
        left -= pairs.times(row[:, None])[:, 0] ** 2
        chosen.append(v)
        left[chosen] = 0.0
    return np.array(chosen, np.int64)


@dataclass(frozen=True, slots=True)
class AnchorTerms:
    """The terms that topics are recovered for: their ids (n,) among n_terms, co-occurrences, and frequency (n,)."""

    ids: LongArray
    n_terms: int
    pairs: Cooccurrences
    frequency: FloatArray


@dataclass(frozen=True, slots=True)
class Recovered:
    """Topics phi (K, V) of anchor words. arbitrary: terms without converged weights; arbitrary_share: of the tokens."""

    phi: FloatArray
    arbitrary: int
    arbitrary_share: float


def anchor_terms(counts: CsrMatrix, K: int) -> AnchorTerms:
    """Return the terms that occur beside others, the 10,000 most frequent ones at most.

    Args:
        counts: (D, V) from `as_counts`.

    Raises:
        InputError: fewer than K + 1 terms occur beside others.
    """
    frequency = counts.sum(axis=0)
    kept = np.sort(np.argsort(-frequency, kind="stable")[:MOST_TERMS])
    pairs = cooccurrences(counts[:, kept])
    beside = pairs.sums > 1e-12 * max(pairs.sums.max(initial=0.0), 1e-300)
    if not beside.all():
        kept = kept[beside]
        pairs = cooccurrences(counts[:, kept])
    if len(kept) <= K:
        raise InputError(
            f"{len(kept):,} terms co-occur with others, and anchor words need more terms than the {K} topics; give "
            "a smaller `k`, or `start=random`"
        )
    return AnchorTerms(kept, counts.shape[1], pairs, frequency[kept])


def anchor_sets(terms: AnchorTerms, K: int) -> Iterator[tuple[str, LongArray]]:
    """Yield different sets of K anchor words, each with its name.

    Anchors of the first are among all terms, as in R's stm; of the others among the most frequent ones that make up 0.9, 0.8 and 0.7 of
    the tokens. The fewer tokens a corpus has, the more of the rare words are far from all others by chance.
    """
    lengths, frequency = terms.pairs.squares(), terms.frequency
    order = np.argsort(-frequency, kind="stable")
    shares = np.empty(len(order))
    shares[order] = (
        np.cumsum(frequency[order]) - frequency[order]
    ) / frequency.sum()  # of the terms that are more frequent
    seen: set[frozenset[int]] = set()
    for share in SHARES:
        anchor = anchors(terms.pairs, K, shares < share, lengths)
        if frozenset(anchor.tolist()) not in seen:
            seen.add(frozenset(anchor.tolist()))
            among = "all words" if share == 1 else f"the most frequent words, {share:.0%} of the tokens"
            yield f"anchors among {among}", anchor


def recovered(terms: AnchorTerms, anchor: LongArray, *, exact: bool = False, threads: int = 1) -> Recovered:
    """Return phi (K, V) ∝ a_vk p(v) of anchor words (K,); a_vk is 1 of an anchor in its topic.

    The weights a_v are found by the exponentiated gradient of R's stm (RecoverL2), which gives the same ones to 7e-15 where documents are
    long. It does not converge where they are short (gadarian, 12 stems: 7 of 10 terms): such weights are arbitrary, and other
    rounding gives others. Exact weights (recoverEG=FALSE of R's stm) solve the quadratic programme.
    """
    pairs, V, kept = terms.pairs, terms.n_terms, terms.ids
    X = pairs.rows(anchor)
    products, gram = np.ascontiguousarray(pairs.times(np.ascontiguousarray(X.T))), X @ X.T
    weights = np.empty_like(products)

    def work(begin: int) -> None:
        (exact_weights if exact else simplex_weights)(products, gram, begin, min(begin + CHUNK, len(weights)), weights)

    for _ in map_ahead(work, range(0, len(weights), CHUNK), threads=threads):
        pass
    is_arbitrary = weight_gaps(products, gram, weights) > GAP * np.trace(gram) / len(gram)
    weights = np.maximum(weights, np.finfo(np.float64).eps)
    weights[anchor] = np.eye(len(anchor))
    phi = (weights * terms.frequency[:, None]).T
    phi /= phi.sum(axis=1, keepdims=True)
    if len(kept) < V:
        spread = np.full((len(anchor), V), REST / V)
        spread[:, kept] += phi
        phi = spread / spread.sum(axis=1, keepdims=True)
    share = terms.frequency[is_arbitrary].sum() / terms.frequency.sum()
    return Recovered(np.ascontiguousarray(phi), int(is_arbitrary.sum()), float(share))


def weight_gaps(products: FloatArray, gram: FloatArray, weights: FloatArray) -> FloatArray:
    """Return max_k g_k - Σ_k a_k g_k (V,) with g = q_v · x_k - Σ_j a_j x_j · x_k, which is 0 at the minimum alone.

    Twice that is what ‖q_v - Σ_k a_k x_k‖² can be above its minimum, at most (Frank and Wolfe 1956).
    """
    descent = products - weights @ gram
    return np.asarray(descent.max(axis=1) - (weights * descent).sum(axis=1))

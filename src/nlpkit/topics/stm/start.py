"""Topics from anchor words (Arora et al. 2013), where a fit begins: the same for every seed.

The words of an anchor occur in one topic only, so that each other word's co-occurrences are a mixture of those of the anchors:

    Q  = Σ_d (c_d c_dᵀ - diag c_d) / (N_d (N_d - 1))         co-occurrences of pairs of tokens; Q̄: rows that sum to 1
    a_v = argmin ‖Q̄_v - Σ_k a_vk Q̄_anchor(k)‖²,  a_vk = p(k | v),      φ_kv ∝ a_vk p(v)

Q has V² cells and is never made: with H = c / √(N (N - 1)), Q x = Hᵀ (H x) - diag · x.

Further parts, in this order:
- Where a fit begins: the topics of anchor words, of LDA or by chance, and the choice between several by held-out words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.platform.options import Execution
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, LongArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.lda.chain import make_sampler
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.stm.kernels import exact_weights, simplex_weights
from nlpkit.topics.stm.model import (
    Inference,
    Prior,
    as_counts,
    covariance_of,
    expected_counts,
    infer_posteriors,
    regress,
    softmax,
)

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


# ------------------------------------------------------------------------------------------------------------------------
# Where a fit begins: the topics of anchor words, of LDA or by chance, and the choice between several by held-out words.

FIRST_VARIANCE = 20.0  # of η at the start, as in R's stm
LDA_SWEEPS = 50
FIRST_STEPS, LAST_STEPS = 5, 12  # after which all starts are compared, and the best two
TRIAL_DOCS = 10_000  # at most, by which they are compared
DIGITS = 6  # of a score that count: starts that differ by rounding alone are equal, and the earlier one is taken
FOLDS = 5  # parts of the documents; half of the words of one part is held out
ENOUGH = 20_000  # held-out words after which no further part is tried
ARBITRARY_SHARE = 0.05  # of the tokens, above which the gradient is not trusted
FLOOR = 0.01  # of a word's probability, by its share of the corpus: a topic without the word does not decide alone


@dataclass(frozen=True, slots=True)
class Start:
    """Topics phi (K, V) with which a fit begins.

    name: of the way to them; arbitrary: terms whose weights the gradient of R's stm left without converging; arbitrary_share: of the
    tokens.
    """

    phi: FloatArray
    name: str
    arbitrary: int = 0
    arbitrary_share: float = 0.0

    @property
    def is_arbitrary(self) -> bool:
        """Whether so many terms have arbitrary weights that other rounding could lead to other topics."""
        return self.arbitrary_share > ARBITRARY_SHARE


class Score(NamedTuple):
    """The mean log-likelihood of a held-out word, held_out, after some steps from the start of a name."""

    name: str
    held_out: float
    steps: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The start that was taken, and the scores of those that it was chosen from, in their order."""

    start: Start
    scores: tuple[Score, ...] = ()


def choose_start(tokens: TokenTable, counts: CsrMatrix, K: int, start: str, execution: Execution) -> Choice:
    """Return the topics with which a fit begins, the same for all covariates.

    anchors: anchor words among all words, as init.type="Spectral" of R's stm. spectral: the best of `candidate_starts` by held-out
    words. lda: from 50 sweeps of Gibbs sampling, α = 50 / K and η = 0.01 as in R's stm. random: rows from a gamma distribution of
    shape 0.1.

    Args:
        tokens, counts: (D, V) the corpus, and its documents with words from `as_counts`.

    Raises:
        InputError: too few different words for anchors.
    """
    if start == "anchors":
        return Choice(anchor_start(counts, K, threads=execution.n_threads()))
    if start == "spectral":
        candidates = list(candidate_starts(tokens, counts, K, execution))
        return best_start(candidates, counts, threads=execution.n_threads())
    if start == "lda":
        return Choice(Start(lda_start(tokens, K, execution), "LDA"))
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "stm")))
    return Choice(Start(normalized(rng.gamma(0.1, size=(K, tokens.n_terms)) + 1e-12), "random topics"))


def anchor_start(counts: CsrMatrix, K: int, *, threads: int = 1) -> Start:
    """Return the topics of anchor words among all words, which is the start of R's stm."""
    terms = anchor_terms(counts, K)
    name, anchor = next(anchor_sets(terms, K))
    return _start(name, recovered(terms, anchor, threads=threads))


def candidate_starts(tokens: TokenTable, counts: CsrMatrix, K: int, execution: Execution) -> Iterator[Start]:
    """Yield the starts that `spectral` chooses from, the same for every seed.

    The topics of each of `anchor_sets`. Where the gradient of R's stm leaves the weights of 5 % of the tokens arbitrary, as on short
    texts, they have exact weights, and LDA from seed 0 joins.
    """
    threads, trusted = execution.n_threads(), True
    terms = anchor_terms(counts, K)
    for name, anchor in anchor_sets(terms, K):
        start = _start(name, recovered(terms, anchor, threads=threads))
        if start.is_arbitrary:
            trusted = False
            start = _start(f"{name}, exact weights", recovered(terms, anchor, exact=True, threads=threads))
        yield start
    if not trusted:
        yield Start(lda_start(tokens, K, Execution(0, execution.threads)), "LDA")


def _start(name: str, topics: Recovered) -> Start:
    return Start(topics.phi, name, topics.arbitrary, topics.arbitrary_share)


def lda_start(tokens: TokenTable, K: int, execution: Execution) -> FloatArray:
    """Return phi (K, V) after 50 sweeps of Gibbs sampling."""
    sampler = make_sampler(tokens, LdaOptions(K, alpha=50 / K, eta=0.01), execution)
    sampler.run(LDA_SWEEPS)
    return normalized(sampler.topic_term().toarray() + 0.01)


def best_start(candidates: Sequence[Start], counts: CsrMatrix, *, threads: int = 1) -> Choice:
    """Return the start from which held-out words become most likely: the best two after five steps are compared after twelve.

    The first one goes on, too, so that its score can be told beside.

    Half of the words of every fifth document are held out, in other documents again until 20,000 words were, at most five times;
    from 10,000 documents on some are taken at even distances. The bound does not rank starts: on short texts exact weights raise it
    and predict worse, and its order after few steps is not the one at the end. Covariates take no part, so that fits with permuted ones
    begin at the same topics; with them the order was the same in two corpora.

    Args:
        counts: (D, V) of documents with words.
    """
    if len(candidates) == 1:
        return Choice(candidates[0])
    rows = np.arange(0, counts.shape[0], 1 + (counts.shape[0] - 1) // TRIAL_DOCS)
    some = as_counts(counts[rows])
    splits: list[tuple[CsrMatrix, CsrMatrix]] = []
    while len(splits) < FOLDS and sum(held.data.sum() for _, held in splits) < ENOUGH:
        splits.append(held_out_words(some, len(splits)))
    total = max(sum(held.data.sum() for _, held in splits), 1.0)
    trials = {
        each.name: [held_out_likelihoods(seen, held, each.phi, threads=threads) for seen, held in splits]
        for each in candidates
    }
    scores = {name: Score(name, 0.0, 0) for name in trials}
    best = list(trials)
    for steps in (FIRST_STEPS, LAST_STEPS):
        for name in trials:
            while name in (*best, candidates[0].name) and scores[name].steps < steps:
                held_out = float(sum(next(trial) for trial in trials[name]) / total)
                scores[name] = Score(name, held_out, scores[name].steps + 1)
        reached = [name for name in trials if scores[name].steps == steps]
        best = sorted(reached, key=lambda name: -round(scores[name].held_out, DIGITS))[:2]
    return Choice(next(each for each in candidates if each.name == best[0]), tuple(scores.values()))


def held_out_words(counts: CsrMatrix, fold: int) -> tuple[CsrMatrix, CsrMatrix]:
    """Return counts (D, V) without half of the words, rounded down, of documents fold, fold + 5 …, and these words.

    Each document keeps a word. Words that are then seen nowhere are not among those held out, as no start can predict them.
    """
    seen, held = counts.copy(), counts.copy()
    held.data[:] = 0.0
    rng = np.random.Generator(np.random.Philox(key=stream_key(0, "stm held out", fold)))
    for d in range(fold, counts.shape[0], FOLDS):
        cells = slice(counts.indptr[d], counts.indptr[d + 1])
        words = np.repeat(np.arange(cells.start, cells.stop), counts.data[cells].astype(np.int64))
        np.add.at(held.data, rng.permutation(words)[: len(words) // 2], 1.0)
    seen.data -= held.data
    held.data[(seen.sum(axis=0) == 0)[held.indices]] = 0.0
    return as_counts(seen), as_counts(held)


def held_out_likelihoods(seen: CsrMatrix, held: CsrMatrix, phi: FloatArray, *, threads: int = 1) -> Iterator[float]:
    """Yield Σ log p(held-out word) after each step of a fit that begins at phi (K, V) and sees the other words.

    p_dv = 0.99 Σ_k θ_dk φ_kv + 0.01 p_v, p_v the share of the word among those that are seen.
    """
    unigram = seen.sum(axis=0) / seen.sum()
    docs, floor = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr)), FLOOR * unigram[held.indices]
    prior, eta = first_prior(len(phi)), None
    while True:
        step = infer_posteriors(seen, phi, prior, start=eta, threads=threads)
        eta = step.eta
        phi = normalized(expected_counts(seen, softmax(eta), phi, threads=threads))
        prior = updated_prior(step, None)[1]
        p = np.einsum("nk,kn->n", softmax(eta)[docs], phi[:, held.indices])
        yield float(held.data @ np.log((1 - FLOOR) * p + floor))


def updated_prior(step: Inference, X: FloatArray | None, *, shrinkage: float = 0.0) -> tuple[FloatArray | None, Prior]:
    """Return γ and the prior of the documents after an E-step."""
    gamma = None if X is None else regress(step.eta, X)
    mean = step.eta.mean(axis=0, keepdims=True) if X is None or gamma is None else X @ gamma
    return gamma, Prior(mean, covariance_of(step.eta, mean, step.covariance, shrinkage=shrinkage))


def normalized(topic_term: FloatArray) -> FloatArray:
    """Return phi (K, V) of expected counts; a topic without any has the same probability for all terms."""
    totals = topic_term.sum(axis=1, keepdims=True)
    even = np.full_like(topic_term, 1.0 / topic_term.shape[1])
    return np.asarray(np.divide(topic_term, totals, out=even, where=totals > 0))


def first_prior(K: int) -> Prior:
    """Return Normal(0, 20 I), as in R's stm."""
    return Prior(np.zeros((1, K - 1)), FIRST_VARIANCE * np.eye(K - 1))

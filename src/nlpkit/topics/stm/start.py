"""Where a fit begins: the topics of anchor words, of LDA or by chance, and the choice between several by held-out words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nlpkit.parameters import Execution
from nlpkit.topics.lda.chain import make_sampler
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.stm.inference import Inference, as_counts, expected_counts, infer_posteriors
from nlpkit.topics.stm.model import Prior, softmax
from nlpkit.topics.stm.spectral import Recovered, anchor_sets, anchor_terms, recovered
from nlpkit.topics.stm.update import covariance_of, regress
from nlpkit.topics.streams import stream_key
from nlpkit.types import CsrMatrix, FloatArray, TokenTable

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

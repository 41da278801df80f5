"""Topics and perplexity of documents that a model was not fitted to.

Parts, in this order:
- Topics of new documents under a fitted LDA model.
- Log-likelihoods of LDA from counts.
- Perplexity of mixture models: of held-out documents, and of those a model was fitted to.
- The fit of topic models: perplexity of held-out documents with its interval, its comparison, and counts for residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.intervals import Statistic, compare, ratio_of
from nlpkit.metrics.results import ScoreDifference, TargetResult
from nlpkit.metrics.score import Uncertainty
from nlpkit.platform import reporting
from nlpkit.platform.types import BoolArray, CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base import kernels as gibbs_infer
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.by_term import check_ids, in_chunks, words_of
from nlpkit.topics.base.kernels import random_bits
from nlpkit.topics.base.model import Inference, MixtureModel, theta_of

SWEEPS = 100
ROOM = 1 << 22  # entries of phi kept for a document, 32 MB a thread: 4,194 different words at K = 1000


def infer_topics(
    model: MixtureModel | gibbs_infer.Words,
    offsets: LongArray,
    term_ids: IntArray,
    *,
    seed: int,
    sweeps: int = SWEEPS,
    burn_in: int | None = None,
    chains: int = 1,
    threads: int = 1,
) -> Float32Array:
    """Return theta (D, K) of new documents by Gibbs sampling of their topics, phi fixed.

        p(z_i = k | all others) ∝ (n_dk + α_k) · phi_k,w,   n_dk without token i
        theta_dk = (α_k + mean over samples of Σ_i p(z_i = k | all others)) / (N_d + Σα)

    The mean of conditional probabilities in place of counts (Rao-Blackwellised) has the same expectation and varies less: on
    texts of 10 tokens two seeds differ as little as with 1.5 times the sweeps. Samples are the sweeps after `burn_in`.
    A document's draws depend on the seed and its own words, in whatever order they stand: equal texts have equal topics, and
    neither other documents nor batches nor threads change them. A document without words has the prior's mean α / Σα.

    Measured on 20 Newsgroups, 100 tokens a document, α = η = 1/K: theta of two seeds differ by a total variation distance of
    0.06, 0.19 and 0.43 at K = 20, 100 and 500, and of 0.04, 0.14 and 0.35 with 200 sweeps. Several chains in place of a
    long one miss the mean of long runs by more (0.06, 0.16, 0.33 with 4 of 25 sweeps; 0.04, 0.11, 0.30 with one of 100).

    Args:
        model: or, to do that once for many batches, `words_of` it.
        offsets: (D + 1,) document d owns term_ids[offsets[d]:offsets[d + 1]]; a batch may begin anywhere in term_ids.
        term_ids: (N,) words that the model knows, numbered as in model.terms.
        seed: of the random streams.
        sweeps: draws of each token in a chain, burn-in included.
        burn_in: first sweeps of a chain that do not count; a fifth of `sweeps` if None.
        chains: times that a document is sampled from the start; theta is the mean over all of them.
        threads: documents sampled at the same time, in chunks of 64.

    Raises:
        UsageError: sweeps, burn_in or chains out of range; a term id that the model does not have; a prior that is not above 0.
    """
    words = words_of(model) if isinstance(model, MixtureModel) else model
    if not (np.all(words.base > 0) and np.all(words.alpha > 0)):
        raise UsageError("topics are drawn under priors: alpha and eta must be above 0", parameter="alpha")
    skipped = sweeps // 5 if burn_in is None else burn_in
    if not (0 <= skipped < sweeps and chains >= 1):
        raise UsageError(
            f"{sweeps} sweeps, burn_in {skipped}, {chains} chains: a chain and a sweep are needed, and a burn_in below sweeps",
            parameter="sweeps",
        )
    check_ids(words, term_ids[offsets[0] : offsets[-1]])
    theta = np.empty((len(offsets) - 1, len(words.base)), np.float32)
    key = np.uint64(stream_key(seed, "infer"))

    def fill(begin: int, end: int) -> None:
        chunk = offsets[begin : end + 1]
        gibbs_infer.infer(chunk, term_ids, words, chains, sweeps, skipped, key, ROOM, theta[begin:end])

    in_chunks(fill, len(theta), threads)
    return theta


# ------------------------------------------------------------------------------------------------------------------------
# Log-likelihoods of LDA from counts.


def dirichlet_multinomial(counts: CsrMatrix, prior: FloatArray | float) -> float:
    """Return Σ_r log p(row r of counts), each row drawn from a multinomial with a Dirichlet prior that is integrated out.

    log p = log Γ(Σ_j a_j) − log Γ(n_r + Σ_j a_j) + Σ_j [log Γ(n_rj + a_j) − log Γ(a_j)], without the multinomial coefficient:
    the probability of one order of the draws. With the words of topics and η it is log p(w | z), with the topics of documents
    and α it is log p(z): together the lecture's joint distribution p(D, T).

    Args:
        counts: (R, C), CSR.
        prior: (C,) or one number for all columns.
    """
    from scipy.special import gammaln

    data = np.asarray(counts.data)
    if not len(data):
        return 0.0
    sizes = np.asarray(counts.sum(axis=1)).ravel().astype(np.float64)
    width = counts.shape[1]
    if np.ndim(prior) == 0:
        a, whole = float(prior), float(prior) * width
        values, times = np.unique(data, return_counts=True)
        inner = float((times * (gammaln(values + a) - gammaln(a))).sum())  # np.dot would sum on several threads
    else:
        each = np.asarray(prior, np.float64)
        whole = float(each.sum())
        of_column = each[counts.indices]
        inner = float(np.sum(gammaln(data + of_column) - gammaln(of_column)))
    return inner + float(np.sum(gammaln(whole) - gammaln(sizes + whole)))


def log_words(counts: CsrMatrix, eta: float, *, fixed: BoolArray, frozen_counts: CsrMatrix | None = None) -> float:
    """Return log p(w | z, eta) of the documents that are sampled, those of frozen ones given: as if they had come before.

    The words of fixed topics have the probabilities that the frozen documents give them.

    Args:
        counts: n_kv (K, V) of all documents; frozen_counts: of the frozen ones, None where there are none.
        fixed: (K,) topics whose words are those of the frozen documents alone.
    """
    free, held = np.flatnonzero(~fixed), np.flatnonzero(fixed)
    words = dirichlet_multinomial(counts[free], eta)
    if frozen_counts is None:
        return words
    sampled = sparse.coo_array(counts[held] - frozen_counts[held])
    of_fixed = 0.0
    if sampled.nnz:
        sizes = np.asarray(frozen_counts.sum(axis=1)).ravel()[held] + counts.shape[1] * eta
        phi = (frozen_counts[held[sampled.row], sampled.col] + eta) / sizes[sampled.row]
        of_fixed = float((sampled.data * np.log(phi)).sum())
    return words + (of_fixed - dirichlet_multinomial(frozen_counts[free], eta))


# ------------------------------------------------------------------------------------------------------------------------
# Perplexity of mixture models: of held-out documents, and of those a model was fitted to.

CHAINS = 3
BLOCK = 1024  # documents whose theta is held at a time
Method = Literal["completion", "left-to-right"]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Predictive quality of a model on documents; a lower perplexity = exp(−log_likelihood_per_token) is better.

    log_likelihood_per_token: natural logarithm, mean over the n_tokens that are scored. n_docs: documents with such tokens;
    n_short: documents left out, since too few of their words are known; n_unknown: tokens left out, since their word is not
    in the model. Models of different vocabularies leave out different tokens and cannot be compared. documents (n_docs,): the
    rows that were scored; doc_log_likelihood, doc_tokens (n_docs,): the sum of logarithms and the scored tokens of each.
    """

    perplexity: float
    log_likelihood_per_token: float
    n_docs: int
    n_tokens: int
    n_short: int
    n_unknown: int
    documents: LongArray = field(compare=False)
    doc_log_likelihood: FloatArray = field(compare=False)
    doc_tokens: LongArray = field(compare=False)


def hold_out(n_docs: int, share: float, seed: int) -> BoolArray:
    """Return a mask (D,) of round(share · D) documents drawn at random: those whose number has the least hashes.

    Raises:
        UsageError: share is not from 0 to 1.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"share {share:g} of documents to hold out: a number from 0 to 1 is needed", parameter="share")
    with np.errstate(over="ignore"):
        hashes = random_bits(np.uint64(stream_key(seed, "hold out")), np.arange(n_docs, dtype=np.uint64))
    mask = np.zeros(n_docs, bool)
    mask[np.argsort(hashes)[: round(share * n_docs)]] = True
    return mask


def split_documents(tokens: TokenTable, seed: int) -> tuple[TokenTable, TokenTable]:
    """Return the documents of at least 2 tokens in two halves, observed and scored, row by row the same documents.

    The observed half is every second token of a random permutation, ⌈N_d / 2⌉ tokens, and both keep the order of the
    document. A document's permutation depends on the seed and its words.
    """
    return _split(_of_length(tokens, 2), seed)


def perplexity(
    model: MixtureModel,
    tokens: TokenTable,
    *,
    seed: int,
    threads: int = 1,
    method: Method = "completion",
    sweeps: int = SWEEPS,
    chains: int = CHAINS,
    particles: int = 100,
    infer: Inference | None = None,
) -> HeldOut:
    """Return the perplexity exp(−Σ log p / N) of documents that the model was not fitted to, per token; lower is better.

    completion (document completion: Wallach, Murray, Salakhutdinov & Mimno 2009, "Evaluation Methods for Topic Models",
    ICML): theta is inferred from one half of each document (`infer_topics`), and each token of the other half has
    p = Σ_k θ_dk phi_kw. A single chain of 100 sweeps has not visited all topics a document may have, which the logarithm
    punishes: on 20 Newsgroups its perplexity is 0.5% (K = 20), 2.6% (100) and 11% (500) above that of 20 to 40 chains of
    1000 sweeps, which would argue against many topics; that of three chains differs by 0.1%, 0.2% and -1%.

    left-to-right (the same paper's algorithm of that name): every token is scored, p(w_i | w_1 … w_i-1) being the mean over
    particles that draw the topics of all tokens before it anew. It is close to p(w_d | phi, α), for many particles a little
    above (Buntine 2009, "Estimating Likelihoods for Topic Models"), for few below; it needs N_d² / 2 draws a particle.

    Both depend on the seed, and neither on threads. Words that the model does not know are left out and counted.

    Args:
        model: phi and alpha.
        tokens: documents; the vocabulary may be another than the model's.
        seed: of the halves and the draws.
        threads: documents at the same time.
        method: see above.
        sweeps, chains: of `infer_topics`, a fifth of the sweeps burn-in; completion only.
        particles: left-to-right only.
        infer: gives documents their topics in place of Gibbs sampling, for models that are not LDA; completion only.

    Raises:
        UsageError: an option out of its range.
        InputError: no document has enough words that the model knows.
    """
    if method not in ("completion", "left-to-right"):
        raise UsageError(f"method '{method}' of perplexity: completion or left-to-right is needed", parameter="method")
    known, n_unknown = _known(tokens, model)
    least = 2 if method == "completion" else 1
    documents = _of_length(known, least)
    if not documents.n_docs:
        raise InputError(
            f"perplexity by {method} needs documents of {'2 words' if method == 'completion' else 'a word'} that the model "
            f"knows; none of {tokens.n_docs:,} has that ({n_unknown:,} of {len(tokens.term_ids):,} tokens are unknown words)"
        )
    words = words_of(model)
    infer = infer or partial(infer_topics, words, seed=seed, sweeps=sweeps, chains=chains, threads=threads)
    if method == "completion":
        observed, scored = _split(documents, seed)
        offsets, logs = scored.offsets, np.empty(len(scored.term_ids))
        for begin in range(0, documents.n_docs, BLOCK):
            rows = slice(begin, begin + BLOCK + 1)
            block = offsets[rows]
            theta = infer(observed.offsets[rows], observed.term_ids)
            gibbs_infer.log_probs(theta, block, scored.term_ids, words, logs[block[0] : block[-1]])
    else:
        offsets, logs = documents.offsets, _left_to_right(words, documents, particles, seed, threads)
    mean = float(logs.sum()) / len(logs)
    kept = np.flatnonzero(np.diff(known.offsets) >= least)
    by_document = np.add.reduceat(logs, offsets[:-1])  # every document here has a token
    n_short = tokens.n_docs - documents.n_docs
    return HeldOut(
        float(np.exp(-mean)), mean, documents.n_docs, len(logs), n_short, n_unknown, kept, by_document, np.diff(offsets)
    )


def merged(parts: Sequence[tuple[LongArray, HeldOut]]) -> HeldOut:
    """Return the scores of documents that were scored in parts, such as by a model of each period; rows (D_p,) of each part."""
    documents = np.concatenate([rows[scores.documents] for rows, scores in parts])
    order = np.argsort(documents, kind="stable")
    logs, tokens = (
        np.concatenate([getattr(scores, name) for _, scores in parts])[order] for name in ("doc_log_likelihood", "doc_tokens")
    )  # fmt: skip
    n_docs, n_tokens, n_short, n_unknown = (
        sum(getattr(scores, name) for _, scores in parts) for name in ("n_docs", "n_tokens", "n_short", "n_unknown")
    )
    mean = float(logs.sum()) / n_tokens
    return HeldOut(
        float(np.exp(-mean)), mean, n_docs, n_tokens, n_short, n_unknown, documents[order], logs, tokens
    )  # fmt: skip


def in_sample_perplexity(model: MixtureModel, doc_topic: CsrMatrix, documents: TokenTable | CsrMatrix) -> float:
    """Return the lecture's perplexity of the documents a model was fitted to; lower is better.

        exp{−Σ_d Σ_v n_dv log(Σ_k θ_dk phi_kv) / Σ_d N_d},   θ_dk = (n_dk + α_k) / (N_d + Σα)

    It falls with K whether or not the topics mean anything; held-out perplexity does not.

    Args:
        model: phi and alpha.
        doc_topic: n_dk (D, K), CSR.
        documents: the same documents as tokens, or as counts n_dv (D, V), CSR; terms numbered as in model.terms.

    Raises:
        InputError: numbers of documents or terms that do not fit, or no token at all.
    """
    if isinstance(documents, TokenTable):
        offsets, term_ids, V = documents.offsets, documents.term_ids, documents.n_terms
        counts = None
    else:
        offsets, term_ids, V = documents.indptr.astype(np.int64), documents.indices, documents.shape[1]
        counts = np.asarray(documents.data, np.float64)
    if len(offsets) - 1 != doc_topic.shape[0] or model.n_terms != V:
        raise InputError(
            f"perplexity in-sample needs the documents of the model: {doc_topic.shape[0]:,} with {model.n_terms:,} terms, "
            f"found {len(offsets) - 1:,} with {V:,}"
        )
    n_tokens = float(len(term_ids) if counts is None else counts.sum())
    if not n_tokens:
        raise InputError("perplexity needs tokens; the documents have none")
    words = words_of(model)
    total = 0.0
    for begin in range(0, len(offsets) - 1, BLOCK):
        rows = slice(begin, begin + BLOCK)
        block = offsets[begin : begin + BLOCK + 1]
        logs = np.empty(block[-1] - block[0])
        gibbs_infer.log_probs(theta_of(doc_topic, model.alpha, rows), block, term_ids, words, logs)
        total += float(logs.sum() if counts is None else (logs * counts[block[0] : block[-1]]).sum())
    return float(np.exp(-total / n_tokens))


def _left_to_right(
    words: gibbs_infer.Words, documents: TokenTable, particles: int, seed: int, threads: int
) -> FloatArray:
    """Log p of each token."""
    if particles < 1:
        raise UsageError(f"particles {particles}: at least one is needed", parameter="particles")
    offsets, key = documents.offsets, np.uint64(stream_key(seed, "left-to-right"))
    logs = np.empty(len(documents.term_ids))

    def fill(begin: int, end: int) -> None:
        out = logs[offsets[begin] : offsets[end]]
        gibbs_infer.left_to_right(offsets[begin : end + 1], documents.term_ids, words, particles, key, ROOM, out)

    in_chunks(fill, documents.n_docs, threads)
    return logs


def _known(tokens: TokenTable, model: MixtureModel) -> tuple[TokenTable, int]:
    """The tokens of words of the model, numbered as there, and how many others there were."""
    if tokens.terms == model.terms:
        return tokens, 0
    numbers = {term: v for v, term in enumerate(model.terms)}
    translation = np.array([numbers.get(term, -1) for term in tokens.terms], np.int32)
    term_ids = translation[tokens.term_ids]
    known = TokenTable(tokens.offsets, term_ids, model.terms)
    return _marked(known, term_ids >= 0), int(np.count_nonzero(term_ids < 0))


def _of_length(tokens: TokenTable, least: int) -> TokenTable:
    """The documents of at least so many tokens."""
    lengths = np.diff(tokens.offsets)
    long = lengths >= least
    offsets = np.concatenate([[0], np.cumsum(lengths[long])]).astype(np.int64)
    return TokenTable(offsets, tokens.term_ids[np.repeat(long, lengths)], tokens.terms)


def _split(tokens: TokenTable, seed: int) -> tuple[TokenTable, TokenTable]:
    marks = np.empty(len(tokens.term_ids), bool)
    with np.errstate(over="ignore"):
        gibbs_infer.mark_halves(tokens.offsets, tokens.term_ids, np.uint64(stream_key(seed, "split")), marks)
    return _marked(tokens, marks), _marked(tokens, ~marks)


def _marked(tokens: TokenTable, marks: BoolArray) -> TokenTable:
    """All documents, with the marked tokens only."""
    kept = np.add.reduceat(np.append(marks, False), tokens.offsets[:-1], dtype=np.int64)
    kept[np.diff(tokens.offsets) == 0] = 0
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    return TokenTable(offsets, tokens.term_ids[marks], tokens.terms)


# ------------------------------------------------------------------------------------------------------------------------
# The fit of topic models: perplexity of held-out documents with its interval, its comparison, and counts for residuals.

GROUPS = 500  # of documents, when there are more of them


@dataclass(frozen=True, slots=True)
class HeldOutScores:
    """Held-out documents of one target: their likelihoods, the files they come from, and the group of each (D,), for comparisons."""

    scores: HeldOut
    inputs: object
    groups: LongArray


def bootstrap_groups(documents: LongArray) -> LongArray:
    """Return the number of the bootstrap unit of each document: itself, or one of GROUPS groups."""
    n = len(documents)
    if n <= GROUPS:
        return np.arange(n)
    # at random: a corpus may be sorted
    return np.asarray(np.random.default_rng(0).permutation(n) % GROUPS, np.int64)


def perplexity_statistic(scores: HeldOut, groups: LongArray) -> Statistic:
    """Return the perplexity of weighted groups of documents."""
    size = int(groups.max()) + 1
    logs = np.asarray(np.bincount(groups, weights=scores.doc_log_likelihood, minlength=size), np.float64)
    tokens = np.asarray(np.bincount(groups, weights=scores.doc_tokens, minlength=size), np.float64)
    mean = ratio_of(logs, tokens)
    return lambda weights: np.asarray(np.exp(-mean(weights)), np.float64)


def compare_perplexity(
    held: Sequence[HeldOutScores | None], results: Sequence[TargetResult], uncertainty: Uncertainty
) -> list[ScoreDifference]:
    """Compare held-out perplexities with that of the first target, paired by document."""
    out: list[ScoreDifference] = []
    first = held[0]
    if first is None or uncertainty.level is None:
        return out
    for other, result in zip(held[1:], results[1:], strict=True):
        if other is None or other.inputs != first.inputs:
            continue
        same = np.array_equal(other.scores.documents, first.scores.documents)
        if not same or other.scores.n_tokens != first.scores.n_tokens:
            reporting.warn(
                f"{results[0].name} and {result.name} have different vocabularies, so their perplexities cannot be "
                "compared"
            )
            continue
        units = np.ones(int(first.groups.max()) + 1, np.int64)
        pair = perplexity_statistic(first.scores, first.groups), perplexity_statistic(other.scores, other.groups)
        comparison = compare(*pair, units, level=uncertainty.level, seed=uncertainty.seed, over="documents")
        out.append(ScoreDifference("perplexity", results[0].name, result.name, comparison))
    return out

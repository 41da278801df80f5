"""Perplexity of mixture models: of held-out documents, and of those a model was fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.kernels import gibbs_infer
from nlpkit.kernels.gibbs import random_bits
from nlpkit.topics.lda.infer import ROOM, SWEEPS, infer_topics
from nlpkit.topics.mixtures.by_term import in_chunks, words_of
from nlpkit.topics.mixtures.model import Inference, MixtureModel, theta_of
from nlpkit.topics.streams import stream_key
from nlpkit.types import BoolArray, CsrMatrix, FloatArray, LongArray, TokenTable

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

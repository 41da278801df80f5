"""Topics over time: their words and shares per chunk, and whether they change more than a stable topic would.

Changes: Rieger, Lange, Flossdorf and Jentsch 2022, "Dynamic change detection in topics based on rolling LDAs", Text2Story at ECIR,
CEUR-WS 3117, pp. 5-13. The definitions are those of the authors' scripts (github.com/JonasRieger/topicalchanges:
2_compute_sim_quantile.R, 4_loo_wordimpact_pdf.R).

Parts, in this order:
- Changes of topics over time: whether a topic's words differ more from its past than those of a stable topic would.
- Topics over time: word counts and shares per chunk, and the similarity of each topic to its past.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.topics.rolling.kernels import resampled_products
from nlpkit.topics.rolling.options import ChangeOptions
from nlpkit.topics.rolling.plan import RollingState

BLOCK = 1 << 20  # uniform numbers drawn at a time
FIRST_SAMPLES = 500  # after which a test ends whose similarity is far from the threshold
FAR, NEAR = 4.0, 2.0  # standard errors of the share of samples below the threshold


@dataclass(frozen=True, slots=True)
class Change:
    """A topic changed in a chunk: the similarity fell below the threshold.

    uncertain: it is within the noise of the threshold, so that other samples could decide otherwise. span: chunks with tokens before
    it that it was compared with. term_ids and impacts: the words that drove the change, most first; impact = similarity − similarity
    without the word, below 0 where the word made the two less alike.
    """

    topic: int
    chunk: int
    span: int
    similarity: float
    threshold: float
    term_ids: tuple[int, ...]
    impacts: tuple[float, ...]
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """similarity, threshold (C, K) float64, nan where nothing was compared; span (C, K) int32, 0 there; the changes found.

    uncertain (C, K): tests, with or without a change, that other samples could decide otherwise.
    """

    similarity: FloatArray
    threshold: FloatArray
    span: IntArray
    uncertain: BoolArray
    events: tuple[Change, ...]

    @property
    def changed(self) -> BoolArray:
        """Where a change was found, (C, K)."""
        return np.less(self.similarity, self.threshold)


def detect_changes(
    counts: Sequence[CsrMatrix],
    n_vocab: Sequence[int],
    *,
    eta: float,
    seed: int,
    options: ChangeOptions | None = None,
    threads: int = 1,
) -> Changes:
    """Return in which chunks the words of a topic changed, by a bootstrap test of the cosine similarity to its past.

        sim_kt = cos(n_kt, r_kt),     r_kt = Σ_i n_k,t−i  for i = 1 … z,     z = min(z_max, chunks since the last change)
        φ̃_kt  = (1 − p) · φ(r_kt) + p · φ(n_kt),     φ_v(n) = (n_v + eta) / (Σ_u n_u + V_t · eta)

    B samples of N_kt = Σ_v n_ktv words are drawn from φ̃_kt; the threshold is the level quantile of their cosines to r_kt
    (R's type 7, linear). B is 500 where sim_kt is then more than four standard errors from the threshold, counted in samples that
    are less alike, and options.samples elsewhere; within two it is uncertain. The scripts draw 500, whose 1 % quantile, the fifth
    smallest, is noise. sim_kt below the threshold is a change; the past then begins anew with chunk t. The initial period is the
    first chunk of the past. Chunks without tokens are passed over and are not counted in z. V_t is the vocabulary of
    chunk t (the scripts take the last one), so that later chunks do not alter earlier results.

    The samples scatter around words of the chunk that scatter themselves, so with the default p false alarms are rarer than
    the level: simulated stable topics (2,000 words, Zipf, chunks of equal length, level 0.01) gave none in 1,200 tests from
    200 to 5,000 words a chunk; new words were found once they took 20% of a topic of 5,000 words, or 40% of one of 1,000.
    p = 0.5 gave 0.0 to 1.8% and found a quarter of that; p = 0, where the past is taken for the truth, 9 to 73%.

    Args:
        counts: (K, V) of each chunk, as of `topic_term_by_chunk`.
        n_vocab: (C,) terms of the vocabulary in each chunk: the first ones.
        eta: prior of phi: each, not the sum.
        seed: the samples of topic k in chunk t depend on (seed, k, t) and on nothing else.
        options: see there.
        threads: topics at a time; the result does not depend on it.
    """
    options = options or ChangeOptions()
    C, K = len(counts), counts[0].shape[0]
    similarity, threshold = np.full((2, C, K), np.nan)
    span, uncertain = np.zeros((C, K), np.int32), np.zeros((C, K), bool)
    rows = [(m.indptr, m.indices, m.data.astype(np.int64)) for m in counts]
    events: list[Change] = []

    def follow(k: int) -> list[Change]:
        """Run through the chunks of one topic; writes to its own column only."""
        past: list[tuple[IntArray, LongArray]] = []
        changes = []
        for t, (indptr, indices, data) in enumerate(rows):
            if not len(data):
                continue
            now = (indices[indptr[k] : indptr[k + 1]], data[indptr[k] : indptr[k + 1]])
            terms, n, r = _side_by_side(now, past)
            if n.any() and r.any():
                generator = np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence((seed % 2**64, k, t))))
                span[t, k] = len(past)
                similarity[t, k] = _cosine(n, r)
                sampled = _samples(n, r, n_vocab[t], eta, similarity[t, k], options, generator)
                threshold[t, k] = np.quantile(sampled, options.change_level)
                uncertain[t, k] = _is_near(similarity[t, k], sampled, options.change_level, NEAR)
                if similarity[t, k] < threshold[t, k]:
                    at, impacts = driving_words(n, r, options.n_words)
                    words = tuple(int(v) for v in terms[at])
                    values = tuple(float(i) for i in impacts)
                    changes.append(
                        Change(
                            k,
                            t,
                            len(past),
                            similarity[t, k].item(),
                            threshold[t, k].item(),
                            words,
                            values,
                            bool(uncertain[t, k]),
                        )
                    )
                    past.clear()
            past.append(now)
            del past[: -options.change_span]
        return changes

    for _, changes in map_ahead(follow, range(K), threads=threads):
        events.extend(changes)
    return Changes(similarity, threshold, span, uncertain, tuple(sorted(events, key=lambda c: (c.chunk, c.topic))))


def _samples(
    n: LongArray, r: LongArray, n_vocab: int, eta: float, similarity: float, options: ChangeOptions,
    generator: np.random.Generator,
) -> FloatArray:  # fmt: skip
    """Return similarities of samples (B,): few of them where these decide, else options.samples, of which those are the first."""
    first = min(FIRST_SAMPLES, options.samples)
    sampled = resampled_similarities(n, r, n_vocab, eta, options.change_mixture, first, generator)
    if first == options.samples or not _is_near(similarity, sampled, options.change_level, FAR):
        return sampled
    further = resampled_similarities(n, r, n_vocab, eta, options.change_mixture, options.samples - first, generator)
    return np.concatenate([sampled, further])


def _is_near(similarity: float, sampled: FloatArray, level: float, errors: float) -> bool:
    """Return whether a similarity is among the values that the level quantile of a population can have whose sample this is (B,).

    These lie between the quantiles at level ± errors · √(level (1 − level) / B).
    """
    half = errors * np.sqrt(level * (1 - level) / len(sampled))
    low = np.quantile(sampled, level - half) if level > half else -np.inf
    high = np.quantile(sampled, level + half) if level + half < 1 else np.inf
    return bool(low <= similarity < high)


def resampled_similarities(
    n: LongArray, r: LongArray, n_vocab: int, eta: float, mixture: float, samples: int, generator: np.random.Generator
) -> FloatArray:
    """Return the cosines to r of samples of Σ n words from the mixture of the two smoothed distributions, (B,) float64.

    Args:
        n, r: (S,) counts of the chunk and of the past, over the words that occur in one of them.
        n_vocab: V; the V − S words that occur in neither keep their share of eta.
        eta, mixture, samples: see `detect_changes`.
        generator: gives one uniform number per word drawn.
    """
    N, S = int(n.sum()), len(n)
    V = max(n_vocab, S)
    phi = (1 - mixture) * (r + eta) / (r.sum() + V * eta) + mixture * (n + eta) / (N + V * eta)
    cumulative: FloatArray = np.cumsum(phi)
    if V == S:
        cumulative[-1] = 1.0  # up to rounding it is, and no word lies beyond it
    G = 1 << (2 * S - 1).bit_length()
    # a uniform number below the last of `cumulative` has its guide below it too, so the search from there ends at a word
    guide = np.searchsorted(cumulative, np.arange(G) / G, side="right").astype(np.int32)
    dots, squares = np.empty((2, samples), np.int64)
    scratch = np.zeros(V, np.int64)
    step = max(BLOCK // N, 1)
    for b in range(0, samples, step):
        block = slice(b, min(b + step, samples))
        uniforms = generator.random((block.stop - b, N))
        resampled_products(uniforms, cumulative, guide, r, V - S, scratch, dots[block], squares[block])
    similarities: FloatArray = dots / (np.sqrt(squares) * np.sqrt(float((r * r).sum())))
    return similarities


def driving_words(n: LongArray, r: LongArray, n_words: int) -> tuple[LongArray, FloatArray]:
    """Return the places of the words that made the cosine of two count vectors smallest, most first, and their impacts.

        impact_v = cos(n, r) − cos(n without v, r without v)

    Leave-one-out word impact (Rieger et al. 2022; their script compares with the eight chunks before, here it is the past of
    the test). Only words of negative impact count; where nothing is left without a word, its impact is 0. Ties keep the
    order of the words.

    Args:
        n, r: (S,) counts.
        n_words: at most so many.
    """
    dots, n_squares, r_squares = ((x * y).astype(np.float64) for x, y in ((n, r), (n, n), (r, r)))
    rest = np.sqrt(n_squares.sum() - n_squares) * np.sqrt(r_squares.sum() - r_squares)
    full = _cosine(n, r)
    without = np.divide(dots.sum() - dots, rest, out=np.full(len(n), full), where=rest > 0)
    impacts = full - without
    at = np.argsort(impacts, kind="stable")[:n_words]
    at = at[impacts[at] < 0]
    return at, impacts[at]


def _side_by_side(
    now: tuple[IntArray, LongArray], past: Sequence[tuple[IntArray, LongArray]]
) -> tuple[LongArray, LongArray, LongArray]:
    """The words that occur now or in the past (S,), ascending, and their counts now and in the past together."""
    parts = [now, *past]
    terms, place = np.unique(np.concatenate([ids for ids, _ in parts]), return_inverse=True)
    values = np.concatenate([values for _, values in parts])
    of_now = len(now[0])
    n, r = np.zeros((2, len(terms)), np.int64)
    n[place[:of_now]] = values[:of_now]
    np.add.at(r, place[of_now:], values[of_now:])
    return terms, n, r


def _cosine(a: LongArray, b: LongArray) -> float:
    return float((a * b).sum() / (np.sqrt(float((a * a).sum())) * np.sqrt(float((b * b).sum()))))


# ------------------------------------------------------------------------------------------------------------------------
# Topics over time: word counts and shares per chunk, and the similarity of each topic to its past.

Reference = Literal["previous", "past", "initial"]


def topic_term_by_chunk(state: RollingState) -> list[CsrMatrix]:
    """Return the word counts n_kv of each chunk, (K, V) int64 CSR, from the tokens of its own documents, memory not counted."""
    K, V = state.options.n_topics, len(state.terms)
    counts = []
    for chunk in state.chunks:
        begin, stop = state.offsets[list(state.rows(chunk))]
        ones = np.ones(stop - begin, np.int64)
        cells = (state.z[begin:stop], state.term_ids[begin:stop])
        counts.append(sparse.csr_array(sparse.coo_array((ones, cells), shape=(K, V))))
    return counts


def doc_topic_counts(state: RollingState) -> CsrMatrix:
    """Return the counts n_dk (M, K) int64 CSR of the documents of a model, in its order; rows of discarded ones are empty."""
    documents = np.repeat(np.arange(len(state.ids)), np.diff(state.offsets))
    ones = np.ones(len(documents), np.int64)
    return sparse.csr_array(
        sparse.coo_array((ones, (documents, state.z)), shape=(len(state.ids), state.options.n_topics))
    )


def token_shares(counts: Sequence[CsrMatrix]) -> FloatArray:
    """Return the share of the tokens of a chunk that each topic has, (C, K); nan in chunks without tokens.

        share_tk = n_tk / Σ_j n_tj,     n_tk = tokens of chunk t in topic k

    Long documents count more than short ones; `document_shares` counts all documents alike.

    Args:
        counts: (K, V) of each chunk, as of `topic_term_by_chunk`.
    """
    n_tk = np.stack([np.asarray(n_kv.sum(axis=1)).ravel() for n_kv in counts]).astype(np.float64)
    return _share(n_tk, n_tk.sum(axis=1))


def document_shares(
    doc_topic: CsrMatrix, chunk_of: Sequence[int] | LongArray, n_chunks: int, alpha: FloatArray | float
) -> FloatArray:
    """Return the mean of theta over the documents of each chunk, (C, K); nan in chunks without documents.

        share_tk = 1/D_t · Σ_d∈t theta_dk,     theta_dk = (n_dk + alpha_k) / (N_d + Σ_j alpha_j)

    Documents without tokens (discarded ones) do not count: their theta is the prior.

    Args:
        doc_topic: n_dk (D, K).
        chunk_of: (D,) chunk of each document.
        n_chunks: C.
        alpha: (K,), or one number for all topics: each, not the sum.
    """
    K = doc_topic.shape[1]
    priors: FloatArray = np.broadcast_to(np.asarray(alpha, np.float64), (K,))
    n_d = np.asarray(doc_topic.sum(axis=1)).ravel()
    counted = np.flatnonzero(n_d > 0)
    weights = 1 / (n_d[counted] + priors.sum())
    member = sparse.csr_array((weights, (np.asarray(chunk_of)[counted], counted)), shape=(n_chunks, len(n_d)))
    theta = (member @ doc_topic.astype(np.float64)).toarray() + np.outer(np.asarray(member.sum(axis=1)).ravel(), priors)
    return _share(theta, np.bincount(np.asarray(chunk_of)[counted], minlength=n_chunks).astype(np.float64))


def similarity_to_past(counts: Sequence[CsrMatrix], reference: Reference = "previous") -> FloatArray:
    """Return the cosine similarity of the word counts of each topic in a chunk to those it had before, (C, K).

        sim_tk = Σ_v n_tkv r_kv / sqrt(Σ_v n_tkv² · Σ_v r_kv²)

    r: counts in the chunk before it ("previous", as in Rieger et al. 2021), of all chunks before it together
    ("past"), or of the initial period ("initial"). Chunks without tokens are passed over: the chunk before is the last one
    with tokens. nan in the first chunk, and where the topic has no token on one of the sides.

    Args:
        counts: (K, V) of each chunk, as of `topic_term_by_chunk`.
        reference: what r is.
    """
    similarity = np.full((len(counts), counts[0].shape[0]), np.nan)
    before: CsrMatrix | None = None
    for t, n_kv in enumerate(counts):
        if not n_kv.nnz:
            continue
        now = n_kv.astype(np.int64)
        if before is None:
            before = now
            continue
        similarity[t] = cosine_rows(now, before)
        if reference == "previous":
            before = now
        elif reference == "past":
            before = before + now
    return similarity


def cosine_rows(a: CsrMatrix, b: CsrMatrix) -> FloatArray:
    """Return the cosine of each row of a with the same row of b, (K,); nan where one of them is empty."""
    a, b = a.astype(np.float64), b.astype(np.float64)  # products of int32 counts may not fit into int32
    dots = np.asarray(a.multiply(b).sum(axis=1)).ravel()
    squares = [np.asarray(m.multiply(m).sum(axis=1)).ravel() for m in (a, b)]
    norms = np.sqrt(squares[0]) * np.sqrt(squares[1])
    cosines: FloatArray = np.full(len(dots), np.nan)
    np.divide(dots, norms, out=cosines, where=norms > 0)
    return cosines


def _share(sums: FloatArray, totals: FloatArray) -> FloatArray:
    """Rows divided by their totals, nan where that is 0."""
    shares: FloatArray = np.full_like(sums, np.nan)
    np.divide(sums, totals[:, None], out=shares, where=totals[:, None] > 0)
    return shares

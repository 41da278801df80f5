"""MALLET's diagnostics of topics: twelve numbers that tell good topics from bad ones without reading them.

The scores `npmi` and `exclusivity` of topics.parquet are others, the same for every kind of model: of the first ten terms,
`nlpkit.metrics.topics.coherence.npmi_by_document` and `nlpkit.metrics.topics.diversity.exclusivity` with `topics.words.share_in_topic`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.by_term import canonical_counts, probability_mass, strongest, topic_scale

TOP_WORDS = 20  # MALLET's --num-top-words
RATIO_SHARES = (0.5, 0.02)  # of allocation_ratio
COUNT_SHARE = 0.3  # of allocation_count

_BLOCK = 1 << 20  # tokens, or topics of documents, looked at together


@dataclass(frozen=True, slots=True)
class TopicDiagnostics:
    """Twelve numbers of each topic (K,) float64, under MALLET's names; NaN where a topic is empty.

    W_k are the n most frequent words of topic k (ties by term id), p_kv = n_kv / n_k, D(u, v) the documents that hold both
    words, D(v) those that hold v, θ_dk = (n_dk + α_k) / (N_d + Σ α); "documents" are those with a token of the topic.

        tokens             n_k
        document_entropy   −Σ_d n_dk/n_k ln(n_dk/n_k), nats; low for a topic of few documents
        word_length        mean characters of W_k
        coherence          Σ_{i>j} ln((D(w_i, w_j) + η) / (D(w_j) + η)) over W_k (Mimno et al. 2011, with η for their 1, where η > 0)
        uniform_dist       Σ_v p_kv ln(p_kv V), the divergence from the uniform distribution
        corpus_dist        Σ_v p_kv ln(p_kv / (cf_v / N)), the divergence from the corpus
        eff_num_words      1 / Σ_v p_kv²
        token_doc_diff     Jensen-Shannon divergence of n_kv and D(v), both normed to 1 over W_k; high for bursty words
        rank_1_docs        share of its documents in which no topic has more tokens (ties count for the lower topic)
        allocation_ratio   documents with θ_dk ≥ 0.5 over those with θ_dk ≥ 0.02
        allocation_count   share of its documents with θ_dk ≥ 0.3
        exclusivity        mean over W_k of φ_kv / Σ_l φ_lv
    """

    tokens: FloatArray
    document_entropy: FloatArray
    word_length: FloatArray
    coherence: FloatArray
    uniform_dist: FloatArray
    corpus_dist: FloatArray
    eff_num_words: FloatArray
    token_doc_diff: FloatArray
    rank_1_docs: FloatArray
    allocation_ratio: FloatArray
    allocation_count: FloatArray
    exclusivity: FloatArray


DIAGNOSTICS: tuple[str, ...] = tuple(field.name for field in fields(TopicDiagnostics))


def topic_diagnostics(
    topic_term: CsrMatrix,
    doc_topic: CsrMatrix,
    tokens: TokenTable,
    *,
    alpha: FloatArray,
    eta: float,
    assignments: IntArray | None = None,
    n: int = TOP_WORDS,
) -> TopicDiagnostics:
    """Return the diagnostics of topics as MALLET 2.0.8 defines them (`TopicModelDiagnostics`, mallet.cs.umass.edu/diagnostics.php).

    With `assignments` a document holds a word where a token of it is assigned to the topic, as in MALLET's program; without,
    wherever it occurs, as in Mimno et al. (2011) and on MALLET's page. A topic of fewer than n words is judged by those
    it has; MALLET counts the missing ones as words of length 0, in no document and exclusive to another topic. Memory:
    blocks of a million entries, the documents of the top words, K · n².

    Args:
        topic_term: (K, V) counts n_kv, CSR.
        doc_topic: (D, K) counts n_dk, CSR.
        tokens: the documents that were counted.
        alpha: (K,) prior of each topic.
        eta: η ≥ 0, of each term.
        assignments: (N,) topic of each token.
        n: words of W_k.

    Raises:
        UsageError: shapes that do not belong together, η below 0, n below 2.
    """
    counts, documents = canonical_counts(topic_term), canonical_counts(doc_topic)
    alpha = np.asarray(alpha, np.float64)
    _check(counts, documents, tokens, alpha, eta, assignments, n)
    K = counts.shape[0]
    n_k = np.asarray(counts.sum(axis=1), np.float64).ravel()
    words, of_words = _top_words(counts, n)
    joint = _joint_counts(words, tokens, assignments)
    entropy, rank_1, at_least, holders = _of_documents(documents, alpha)
    uniform, corpus, effective, exclusive = _of_terms(counts, n_k, words, eta)
    length = np.array([len(term) for term in tokens.terms], np.float64)
    return TopicDiagnostics(
        tokens=n_k,
        document_entropy=_over(-entropy, n_k) + np.log(n_k, out=np.full(K, np.nan), where=n_k > 0),
        word_length=_mean(np.where(words >= 0, length[words], np.nan)),
        coherence=_coherence(words, joint, eta or 1.0),
        uniform_dist=uniform,
        corpus_dist=corpus,
        eff_num_words=effective,
        token_doc_diff=_divergence(of_words, np.diagonal(joint, axis1=1, axis2=2).astype(np.float64)),
        rank_1_docs=_over(rank_1, holders),
        allocation_ratio=_over(at_least[RATIO_SHARES[0]], at_least[RATIO_SHARES[1]]),
        allocation_count=_over(at_least[COUNT_SHARE], holders),
        exclusivity=_mean(exclusive),
    )


def _top_words(counts: CsrMatrix, n: int) -> tuple[IntArray, FloatArray]:
    """Return W_k (K, n), -1 for none, and n_kv of these words, 0 for none."""
    K = counts.shape[0]
    words, of_words = np.full((K, n), -1, np.int32), np.zeros((K, n))
    for k in range(K):
        row = slice(counts.indptr[k], counts.indptr[k + 1])
        best = strongest(counts.data[row], counts.indices[row], n)
        words[k, : len(best)] = counts.indices[row][best]
        of_words[k, : len(best)] = counts.data[row][best]
    return words, of_words


def _of_terms(
    counts: CsrMatrix, n_k: FloatArray, words: IntArray, eta: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return uniform_dist, corpus_dist and eff_num_words (K,), and φ_kv / Σ_l φ_lv of W_k (K, n), NaN for none."""
    K, V = counts.shape
    scale = topic_scale(counts, eta)
    mass = probability_mass(counts, eta, scale)
    cf = np.asarray(counts.sum(axis=0), np.float64).ravel()
    uniform, corpus, effective = (np.full(K, np.nan) for _ in range(3))
    exclusive = np.full(words.shape, np.nan)
    for k in np.flatnonzero(n_k > 0):
        row = slice(counts.indptr[k], counts.indptr[k + 1])
        terms, p = counts.indices[row], counts.data[row] / n_k[k]
        uniform[k] = p @ np.log(p * V)
        corpus[k] = p @ np.log(p / (cf[terms] / n_k.sum()))
        effective[k] = 1.0 / (p @ p)
        present = words[k] >= 0
        at = row.start + np.searchsorted(terms, words[k, present])
        exclusive[k, present] = (counts.data[at] + eta) * scale[k] / mass[words[k, present]]
    return uniform, corpus, effective, exclusive


def _of_documents(
    documents: CsrMatrix, alpha: FloatArray
) -> tuple[FloatArray, FloatArray, dict[float, FloatArray], FloatArray]:
    """Return of each topic (K,): Σ_d n_dk ln n_dk; documents of which it is the first topic, by θ_dk, and in all."""
    K = documents.shape[1]
    n_log_n, rank_1, holders = np.zeros(K), np.zeros(K), np.zeros(K)
    at_least = {share: np.zeros(K) for share in (*RATIO_SHARES, COUNT_SHARE)}
    for first, last in _blocks(documents.indptr):
        entries = slice(documents.indptr[first], documents.indptr[last])
        topics, n_dk = documents.indices[entries], documents.data[entries].astype(np.float64)
        if not len(topics):
            continue
        lengths = np.diff(documents.indptr[first : last + 1])
        lengths = lengths[lengths > 0]
        starts = np.cumsum(lengths) - lengths
        total = np.repeat(np.add.reduceat(n_dk, starts), lengths)
        most = np.flatnonzero(n_dk == np.repeat(np.maximum.reduceat(n_dk, starts), lengths))
        n_log_n += np.bincount(topics, n_dk * np.log(n_dk), K)
        rank_1 += np.bincount(topics[most[np.searchsorted(most, starts)]], minlength=K)
        holders += np.bincount(topics, minlength=K)
        theta = (n_dk + alpha[topics]) / (total + alpha.sum())
        for share, documents_of in at_least.items():
            documents_of += np.bincount(topics[theta >= share], minlength=K)
    return n_log_n, rank_1, at_least, holders


def _joint_counts(words: IntArray, tokens: TokenTable, assignments: IntArray | None) -> LongArray:
    """Return D(w_i, w_j) of the words of each topic (K, n, n), D(w_i) on the diagonal, 0 where there is no word."""
    K, n = words.shape
    V = tokens.n_terms
    topics = np.arange(K, dtype=np.int64)[:, None] if assignments is not None else 0
    keys, places = np.unique(np.where(words >= 0, topics * V + words, -1), return_inverse=True)
    slots = places.reshape(K, n)
    if len(keys) and keys[0] == -1:  # the slot of "no word"
        keys, slots = keys[1:], slots - 1
    wanted = np.zeros(V, bool)
    wanted[words[words >= 0]] = True

    hits: list[LongArray] = [np.zeros(0, np.int64)]  # slot · D + document, each once
    D = tokens.n_docs
    for first, last in _blocks(tokens.offsets):
        span = slice(tokens.offsets[first], tokens.offsets[last])
        at = np.flatnonzero(wanted[tokens.term_ids[span]])
        key = tokens.term_ids[span][at].astype(np.int64)
        if assignments is not None:
            key += assignments[span][at].astype(np.int64) * V
        slot = np.searchsorted(keys, key)
        held = (slot < len(keys)) & (keys[np.minimum(slot, len(keys) - 1)] == key) if len(keys) else slot < 0
        document = first + np.searchsorted(tokens.offsets[first + 1 : last + 1], span.start + at[held], side="right")
        hits.append(np.unique(slot[held] * D + document))
    pairs = np.sort(np.concatenate(hits))
    slot_of, documents = np.divmod(pairs, max(D, 1))
    ends = np.concatenate(([0], np.cumsum(np.bincount(slot_of, minlength=len(keys)))))
    joint = np.zeros((K, n, n), np.int64)
    for k in range(K):
        present = slots[k][slots[k] >= 0]
        lists = [documents[ends[s] : ends[s + 1]] for s in present]
        joint[k, : len(present), : len(present)] = _meetings(lists, D)
    return joint


def _meetings(lists: list[LongArray], D: int) -> LongArray:
    """Return in how many documents each pair of words meets (m, m), from the documents of each; a bit for each document."""
    if not lists:
        return np.zeros((0, 0), np.int64)
    documents = np.concatenate(lists)
    if 8 * len(documents) < D:  # few of them: number those there are
        used, documents = np.unique(documents, return_inverse=True)
        D = len(used)
    held = np.zeros((len(lists), -(-D // 64) * 64), bool)
    held[np.repeat(np.arange(len(lists)), [len(x) for x in lists]), documents] = True
    bits = np.packbits(held, axis=1).view(np.uint64)
    joint = np.empty((len(lists), len(lists)), np.int64)
    for i in range(len(lists)):
        joint[i, i:] = joint[i:, i] = np.bitwise_count(bits[i] & bits[i:]).sum(axis=1, dtype=np.int64)
    return joint


def _coherence(words: IntArray, joint: LongArray, eta: float) -> FloatArray:
    later, earlier = np.tril_indices(words.shape[1], -1)
    ratio = np.log(joint[:, later, earlier] + eta) - np.log(joint[:, earlier, earlier] + eta)
    total: FloatArray = np.where(words[:, later] >= 0, ratio, 0.0).sum(axis=1)
    return np.where(words[:, 0] >= 0, total, np.nan)


def _divergence(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the Jensen-Shannon divergence (K,), in nats, of rows that are normed first; NaN where one is 0 throughout."""
    p, q = (_over(x, x.sum(axis=1, keepdims=True) + np.zeros_like(x)) for x in (a, b))
    middle = (p + q) / 2
    terms = [x * np.log(_over(x, middle), out=np.zeros_like(x), where=x > 0) for x in (p, q)]
    whole = np.isfinite(middle).all(axis=1)
    return np.where(whole, (terms[0] + terms[1]).sum(axis=1) / 2, np.nan)


def _blocks(offsets: LongArray) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows, each of about a million entries or of one row."""
    first, rows = 0, len(offsets) - 1
    while first < rows:
        last = int(np.searchsorted(offsets, offsets[first] + _BLOCK, side="right")) - 1
        last = min(max(last, first + 1), rows)
        yield first, last
        first = last


def _over(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a / b, NaN where b is 0."""
    ratio: FloatArray = np.divide(a, b, out=np.full(b.shape, np.nan), where=b > 0)
    return ratio


def _mean(values: FloatArray) -> FloatArray:
    """Return the means of the rows (K,) over what is not NaN, NaN where there is nothing."""
    known = ~np.isnan(values)
    return _over(np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1).astype(np.float64))


def _check(
    counts: CsrMatrix,
    documents: CsrMatrix,
    tokens: TokenTable,
    alpha: FloatArray,
    eta: float,
    assignments: IntArray | None,
    n: int,
) -> None:
    K, V = counts.shape
    needed = {
        "topic_term": ((K, tokens.n_terms), (K, V)),
        "doc_topic": ((tokens.n_docs, K), documents.shape),
        "alpha": ((K,), alpha.shape),
        "assignments": ((len(tokens.term_ids),), tokens.term_ids.shape if assignments is None else assignments.shape),
    }
    for name, (wanted, shape) in needed.items():
        if wanted != tuple(shape):
            raise UsageError(f"{name} of shape {tuple(shape)} does not fit these documents, which need {wanted}")
    if not eta >= 0:
        raise UsageError(f"`eta={eta}`: the prior of terms in topics needs a number of 0 or more")
    if n < 2:
        raise UsageError(f"diagnostics need at least 2 words a topic, got {n}")

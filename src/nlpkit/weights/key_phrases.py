"""Phrases that name groups of documents, such as topics.

Parts, in this order:
- Phrases of texts: found, counted, and how they are mostly written.
- Phrases of groups: near to the group, and frequent in it only.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.platform.documents.regex import UNSPACED
from nlpkit.platform.types import BoolArray, CsrMatrix, Float32Array, FloatArray, IntArray, LongArray
from nlpkit.text.fitted import NgramVocabulary
from nlpkit.text.normalize import same_word
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.spacy_tokens import Word
from nlpkit.text.tokens import tokens_of
from nlpkit.text.vocab import EncodedBatch
from nlpkit.weights.dtm import group_rows

LONGEST = 3  # words of a name, in one phrase or several
LEAST_SHARE, LEAST_DOCUMENTS = 0.02, 3  # of the documents of a group that hold its phrase
TRIED, KEPT = 60, 6  # phrases of a group: scored, and kept for its name
LONGEST_TEXT = 10_000  # characters of a document that are searched
FREQUENT, DISTINCTIVE, SEVERAL, CLEAREST = (
    0.1,
    0.3,
    0.05,
    0.1,
)  # fitted on labelled corpora (docs/benchmarks/topic-words.md)
ACRONYM = 5  # letters
BEFORE, AFTER = 25, 60  # characters that are shown around a phrase
NOUN_TAGS = frozenset({"NOUN", "PROPN"})
PHRASE_TAGS = NOUN_TAGS | {"ADJ"}
# what no phrase goes across; a full stop or colon inside (e.g., 12:30) is none, nor is the end of a line
_BORDER = re.compile(
    r"[,;!?()\[\]{}<>|\"“”„«»‹›*=#。、，；：！？（）「」『』【】·…]+|[.:]+(?=\s|$)|\s[-–—]\s|--+|\n\s*\n"
)


_BEGINS = re.compile(r"(?:^|[.!?:\n]['\"”’)]*\s*)['\"“‘(]*$")


def plain_segments(text: str) -> list[str]:
    """Return the parts of a text between punctuation."""
    return [part for part in _BORDER.split(text) if part.strip()]


def noun_segments(text: str, words: Sequence[Word]) -> list[str]:
    """Return the parts of a text that are adjectives and nouns with at least one noun (Justeson & Katz 1995, without prepositions)."""
    segments: list[str] = []
    run: list[Word] = []
    for word in [*words, None]:
        if (
            word is not None
            and word.upos in PHRASE_TAGS
            and not (run and _BORDER.search(text[run[-1].end : word.start]))
        ):
            run.append(word)
            continue
        if any(one.upos in NOUN_TAGS for one in run):
            segments.append(text[run[0].start : run[-1].end])
        run = [word] if word is not None and word.upos in PHRASE_TAGS else []
    return segments


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases of one to three words in documents.

    words (P,): of each phrase, as they stand; forms (P,): the terms of the model that they are; held (D, P): 1 where a document
    holds the phrase.
    """

    words: Sequence[tuple[str, ...]]
    forms: Sequence[tuple[str, ...]]
    held: CsrMatrix


def phrases_of(segments: Sequence[Sequence[str]], cut: PreprocessOptions) -> Phrases:
    """Return the phrases that at least three documents hold.

    Args:
        segments (D,): the parts of each document that no phrase goes across. cut: how texts became the terms of the model. A word that
            it leaves out, such as a stop word, is in no phrase.
    """
    document = np.repeat(np.arange(len(segments), dtype=np.int64), [len(parts) for parts in segments])
    as_they_stand = replace(
        cut, stop_words="none", extra_stop_words=frozenset(), stop_patterns=(), min_length=1, lemma=False, stem="none",
        ngrams=(1, 1),
    )  # fmt: skip
    texts = pa.array([part for parts in segments for part in parts], pa.large_string())
    words, _ = tokens_of(pa.table({"text": texts}), as_they_stand)
    forms = _forms(words.terms, cut)
    return count_phrases(words.offsets, words.term_ids, words.terms, forms, document, len(segments))


def _forms(words: tuple[str, ...], cut: PreprocessOptions) -> list[str | None]:
    """Return what each word is in the model; None for one that it leaves out, such as a stop word, or that is several there."""
    tokens, _ = tokens_of(pa.table({"text": pa.array(words, pa.large_string())}), replace(cut, ngrams=(1, 1)))
    one = np.diff(tokens.offsets) == 1
    return [tokens.terms[tokens.term_ids[tokens.offsets[w]]] if one[w] else None for w in range(len(words))]


def count_phrases(
    offsets: LongArray,
    word_ids: IntArray,
    words: Sequence[str],
    forms: Sequence[str | None],
    document: LongArray,
    n_documents: int,
) -> Phrases:
    """Return the phrases of segments that at least three of D documents hold.

    Args:
        offsets (S + 1,), word_ids (N,): words of the segments; forms (W,): term of each word, None for one that is in no phrase.
        document (S,): number of the document of each segment.
    """
    kept = np.array([form is not None for form in forms], bool)
    encoded = EncodedBatch(offsets, np.where(kept[word_ids], word_ids, -1).astype(np.int32))
    grams = NgramVocabulary(1, LONGEST)
    batch = grams.encode(encoded)
    of_document = np.repeat(document, np.diff(batch.offsets))
    held = sparse.coo_array(
        (np.ones(len(batch.term_ids), np.int64), (of_document, batch.term_ids)), shape=(n_documents, len(grams))
    ).tocsr()  # adds what is there twice
    enough = np.flatnonzero(np.bincount(held.indices, minlength=len(grams)) >= LEAST_DOCUMENTS)
    held.data[:] = 1
    grouped = grams.words(enough)
    apart = np.array([not _overlap([words[w] for w in phrase]) for phrase in grouped], bool)
    enough, grouped = enough[apart], [phrase for phrase, whole in zip(grouped, apart, strict=True) if whole]
    return Phrases(
        [tuple(words[w] for w in phrase) for phrase in grouped],
        [tuple(str(forms[w]) for w in phrase) for phrase in grouped],
        sparse.csr_array(held[:, enough]),
    )


def _overlap(phrase: Sequence[str]) -> bool:
    """Return whether words of a script without spaces share a character, as the pairs of characters do that such texts are cut into."""
    pairs = itertools.pairwise(phrase)
    return any(a[-1:] == b[:1] and re.fullmatch(UNSPACED, b[:1]) is not None for a, b in pairs)


def spelled(phrases: Phrases, p: int, texts: Sequence[str], chosen: BoolArray) -> tuple[str, str]:
    """Return what `as_written` says of a phrase in the texts (D,) of chosen documents (D,); its words where it is in none."""
    holding = np.sort(sparse.csc_array(phrases.held[:, [p]]).indices)
    words = phrases.words[p]
    return as_written(words, [texts[d] for d in holding.tolist() if chosen[d]]) or (" ".join(words), "")


def as_written(words: Sequence[str], texts: Sequence[str]) -> tuple[str, str] | None:
    """Return how a phrase is mostly written in texts, and the passage around its first occurrence; None where it is in none.

    At the beginning of a sentence, and in capitals longer than acronyms, its spelling counts only where it is nowhere else.
    """
    pattern = re.compile(r"(?<!\w)" + r"[\s'’\-_]*".join(map(re.escape, words)) + r"(?!\w)", re.IGNORECASE)
    unspaced = re.compile(r"\s*".join(map(re.escape, words)), re.IGNORECASE)
    for one in (pattern, unspaced):  # the second for scripts without spaces
        hits = [hit for text in texts if (hit := one.search(text))]
        if hits:
            quiet = [hit for hit in hits if not (hit.group().isupper() and len(hit.group()) > ACRONYM)] or hits
            inside = [
                hit for hit in quiet if not _BEGINS.search(hit.string, max(hit.start() - 5, 0), hit.start())
            ] or quiet
            times = Counter(" ".join(hit.group().split()) for hit in inside)
            written = max(times, key=lambda spelling: (times[spelling], spelling.islower()))
            first = hits[0]
            before = first.string[max(first.start() - BEFORE, 0) : first.start()]
            if first.start() > BEFORE:
                before = before.partition(" ")[2]  # the rest of a word
            return written, " ".join((before + first.string[first.start() : first.end() + AFTER]).split())
    return None


# ------------------------------------------------------------------------------------------------------------------------
# Phrases of groups: near to the group, and frequent in it only.

Nearness = Callable[[LongArray], FloatArray]  # of phrases (n,) to each group (n, K)


def nearness_of_vectors(vectors: Float32Array, centroids: Float32Array, size: IntArray) -> FloatArray:
    """Return the cosine of phrases (n, E) and groups (K, E), without what all have in common, (n, K).

    From phrases their mean is subtracted, from centroids their part along the mean of all documents.

    Args:
        centroids: rows L2-normalised; size (K,): documents of each group.
    """
    if len(centroids) > 1:
        mean = size @ centroids
        mean = mean / max(float(np.linalg.norm(mean)), 1e-9)
        centroids = centroids - np.outer(centroids @ mean, mean)
        vectors = vectors - vectors.mean(axis=0)
    rows = [matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-4) for matrix in (vectors, centroids)]
    return np.asarray(rows[0] @ rows[1].T, np.float64)


def nearness_of_words(phrases: Phrases, p: LongArray, terms: Sequence[Sequence[str]]) -> FloatArray:
    """Return how much of what the words of groups say phrases p (n,) say, (n, K): the sum of the weights of the terms in them.

    The weight of a term falls with its rank r in the group, as r^(-1/4); those of a group add to 1.

    Args:
        terms (K,): of each group, best first.
    """
    weights = [{term: rank**-0.25 for rank, term in enumerate(of_group, 1)} for of_group in terms]
    totals = np.array([sum(of_group.values()) or 1.0 for of_group in weights])
    near = [[sum(w.get(form, 0.0) for form in set(phrases.forms[i])) for w in weights] for i in p.tolist()]
    return np.asarray(np.array(near).reshape(len(p), len(terms)) / totals)


def key_phrases(phrases: Phrases, group: IntArray, K: int, nearness: Nearness, n: int) -> list[list[int]]:
    """Return up to n phrases that together name each group, best first; none where they have fewer than three words.

        s_kp = near_kp + 0.1 ln df_kp + 0.3 ln (df_kp / (df_kp + df_¬kp)) + 0.05 [p has several words] + min(m_k, 0.1)

    df_kp is the share of the documents of the group that hold the phrase, df_¬kp that of all others. m_k is how much nearer the name is
    to the group than to any other: the mean of near over the phrases chosen before and this one. No phrase repeats a word of an earlier
    one. As many as fit into three words come first. At least three documents of the group, and one in fifty, hold a phrase of its.

    Args:
        group (D,): of each document, one of K, or -1.
    """
    documents = group_rows(phrases.held, group, K)
    size = np.bincount(group[group >= 0], minlength=K)
    total = np.asarray(documents.sum(axis=0)).ravel()
    tried, frequencies = [], []
    for k in range(K):
        row = slice(documents.indptr[k], documents.indptr[k + 1])
        here, holders = documents.indices[row], documents.data[row]
        enough = holders >= max(LEAST_DOCUMENTS, np.ceil(LEAST_SHARE * size[k]))
        here, holders = here[enough], holders[enough]
        inside = holders / max(size[k], 1)
        outside = (total[here] - holders) / max(size.sum() - size[k], 1)
        frequency = FREQUENT * np.log(inside) + DISTINCTIVE * np.log(inside / (inside + outside))
        best = np.lexsort((here, -frequency))[:TRIED]
        tried.append(here[best])
        frequencies.append(frequency[best])
    used = np.unique(np.concatenate([*tried, np.zeros(0, np.int64)])).astype(np.int64)
    near = nearness(used) if len(used) else np.zeros((0, K))
    result = []
    for k, (of_group, frequency) in enumerate(zip(tried, frequencies, strict=True)):
        words = [phrases.words[p] for p in of_group]
        chosen = _chosen(words, near[np.searchsorted(used, of_group)], k, frequency, n)
        enough_words = sum(len(words[i]) for i in chosen) >= LONGEST
        result.append(of_group[chosen].tolist() if enough_words else [])
    return result


def _chosen(words: Sequence[tuple[str, ...]], near: FloatArray, k: int, frequency: FloatArray, n: int) -> list[int]:
    """Return the numbers of the phrases (P,) that name group k: one by one, the best after those before.

    Args:
        near: (P, K) nearness to each group; frequency: (P,) the part of the score that does not depend on it.
    """
    lengths = np.array([len(phrase) for phrase in words])
    alone = frequency + (near[:, k] if len(words) else 0.0) + SEVERAL * (lengths > 1)
    others = np.arange(near.shape[1]) != k
    chosen: list[int] = []
    free = np.ones(len(words), bool)
    while free.any() and len(chosen) < n:
        together = (near[chosen].sum(axis=0) + near) / (len(chosen) + 1)
        lead = together[:, k] - together[:, others].max(axis=1) if others.any() else np.zeros(len(words))
        fits = free & (lengths <= LONGEST - lengths[chosen].sum())
        best = int(np.where(fits if fits.any() else free, alone + np.minimum(lead, CLEAREST), -np.inf).argmax())
        chosen.append(best)
        free &= [not _repeats(phrase, words[best]) for phrase in words]
    return chosen


def _repeats(phrase: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether a phrase has a form of a word of another."""
    return any(a == b or same_word(a, b) for a in phrase for b in other)

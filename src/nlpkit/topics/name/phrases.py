"""Names of topics that are phrases of their documents.

Parts, in this order:
- Phrases: found, counted and ranked.
- Phrases for the topics of a run: its typical documents are read again and searched for them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.text.fitted import NgramVocabulary
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.settings import options_from
from nlpkit.text.spacy_tokens import SpacyTokens, Word
from nlpkit.text.tokens import tokens_of
from nlpkit.text.vocab import EncodedBatch
from nlpkit.topics.base.topic_words import same_word, topic_label, unique_names
from nlpkit.topics.name.options import NameOptions
from nlpkit.topics.over_time.queries import topic_documents
from nlpkit.weights.ctfidf import class_tfidf
from nlpkit.weights.dtm import group_rows

LONGEST = 4  # words of a phrase
LEAST_SHARE, LEAST_DOCUMENTS = 0.02, 3  # of the documents of a topic that hold its phrase
TRIED = 50  # phrases of a topic
WORDS_AFTER = 1  # words of the topic after the phrase
BEFORE, AFTER = 25, 60  # characters that are shown around a phrase
NOUN_TAGS = frozenset({"NOUN", "PROPN"})
PHRASE_TAGS = NOUN_TAGS | {"ADJ"}
# what no phrase goes across; a full stop or colon inside (e.g., 12:30) is none, nor is the end of a line
_BORDER = re.compile(
    r"[,;!?()\[\]{}<>|\"“”„«»‹›*=#。、，；：！？（）「」『』【】·…]+|[.:]+(?=\s|$)|\s[-–—]\s|--+|\n\s*\n"
)


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
    """Phrases of one to four words in documents of topics.

    words (P,): of each phrase, as they stand; forms (P,): the terms of the model that they are; counts (K, P), documents (K, P):
    occurrences, and documents that hold it.
    """

    words: Sequence[tuple[str, ...]]
    forms: Sequence[tuple[str, ...]]
    counts: CsrMatrix
    documents: CsrMatrix


def count_phrases(
    offsets: LongArray,
    word_ids: IntArray,
    words: Sequence[str],
    forms: Sequence[str | None],
    document: LongArray,
    topic: IntArray,
) -> Phrases:
    """Return the phrases of segments that at least three documents of some topic hold.

    Args:
        offsets (S + 1,), word_ids (N,): words of the segments; forms (W,): term of each word, None for one that is in no phrase.
        document (S,): number of the document of each segment; topic (D,): that of each document, each of K there.
    """
    kept = np.array([form is not None for form in forms], bool)
    encoded = EncodedBatch(offsets, np.where(kept[word_ids], word_ids, -1).astype(np.int32))
    grams = NgramVocabulary(1, LONGEST)
    batch = grams.encode(encoded)
    K, D = int(topic.max()) + 1, len(topic)
    of_document = np.repeat(document, np.diff(batch.offsets))
    there = sparse.coo_array(
        (np.ones(len(batch.term_ids), np.int64), (of_document, batch.term_ids)), shape=(D, len(grams))
    ).tocsr()  # adds what is there twice
    holds = sparse.csr_array((np.ones_like(there.data), there.indices, there.indptr), shape=there.shape)
    documents = group_rows(holds, topic, K)
    enough = np.flatnonzero(np.asarray(documents.max(axis=0).toarray()).ravel() >= LEAST_DOCUMENTS)
    spelled = grams.words(enough)
    return Phrases(
        [tuple(words[w] for w in phrase) for phrase in spelled],
        [tuple(str(forms[w]) for w in phrase) for phrase in spelled],
        sparse.csr_array(group_rows(there, topic, K)[:, enough]),
        sparse.csr_array(documents[:, enough]),
    )


def ranked_phrases(phrases: Phrases, terms: Sequence[Sequence[str]], n_documents: LongArray) -> list[list[int]]:
    """Return the best phrases of each topic, best first, at most 50.

        s_kp = Σ_{v ∈ p} w_kv · √(ctfidf_kp · tf_kp / Σ_l tf_lp)

    w_kv falls with the rank r of term v in the topic, as r^(-1/4), and adds to 1: a phrase is good that says much of what the words of the
    topic say, and is the topic's own. In the documents of a topic at least three, and one in fifty, hold a phrase of its.

    Args:
        terms: of each topic, best first. n_documents (K,): documents whose phrases were counted.
    """
    totals = np.asarray(phrases.counts.sum(axis=0), np.float64).ravel()
    weights, ranked = class_tfidf(phrases.counts), []
    for k, of_topic in enumerate(terms):
        row = slice(phrases.counts.indptr[k], phrases.counts.indptr[k + 1])
        here, tf = phrases.counts.indices[row], phrases.counts.data[row]
        holders = phrases.documents[[k]].toarray().ravel()[here]
        least = max(LEAST_DOCUMENTS, np.ceil(LEAST_SHARE * n_documents[k]))
        distinctive = np.sqrt(weights[[k]].toarray().ravel()[here] * tf / totals[here])
        scores = np.where(holders >= least, _covered([phrases.forms[p] for p in here], of_topic) * distinctive, 0.0)
        best = np.lexsort((here, -scores))[:TRIED]
        ranked.append([int(here[i]) for i in best if scores[i] > 0])
    return ranked


def _covered(forms: Sequence[tuple[str, ...]], terms: Sequence[str]) -> FloatArray:
    """Return Σ_{v ∈ p} w_kv of each phrase."""
    weight = {term: rank**-0.25 for rank, term in enumerate(terms, 1)}
    total = sum(weight.values()) or 1.0
    return np.array([sum(weight.get(form, 0.0) for form in set(phrase)) for phrase in forms]) / total


def as_written(words: Sequence[str], texts: Sequence[str]) -> tuple[str, str] | None:
    """Return how a phrase is mostly written in texts, and the passage around its first occurrence; None where it is in none."""
    pattern = re.compile(r"(?<!\w)" + r"[\s'’\-_]*".join(map(re.escape, words)) + r"(?!\w)", re.IGNORECASE)
    unspaced = re.compile(r"\s*".join(map(re.escape, words)), re.IGNORECASE)
    for one in (pattern, unspaced):  # the second for scripts without spaces
        hits = [hit for text in texts if (hit := one.search(text))]
        if hits:
            written = Counter(" ".join(hit.group().split()) for hit in hits).most_common(1)[0][0]
            first = hits[0]
            before = first.string[max(first.start() - BEFORE, 0) : first.start()]
            if first.start() > BEFORE:
                before = before.partition(" ")[2]  # the rest of a word
            return written, " ".join((before + first.string[first.start() : first.end() + AFTER]).split())
    return None


def words_of_terms(phrases: Phrases, k: int, terms: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the word that a topic mostly has for each of some terms, as of a stem; the term itself where it has none."""
    counts = phrases.counts[[k]].toarray().ravel()
    best: dict[str, int] = {}
    for p in np.lexsort((np.arange(len(counts)), -counts)).tolist():
        if len(phrases.forms[p]) == 1 and counts[p]:
            best.setdefault(phrases.forms[p][0], p)
    return [phrases.words[best[term]] if term in best else (term,) for term in terms]


def phrase_labels(phrases: Sequence[str], terms: Sequence[Sequence[str]], before: Sequence[str]) -> tuple[str, ...]:
    """Return a name of each topic: its phrase, and its first term that is no form of a word in it, or as many as make it unique.

    Args:
        phrases (K,): "" for a topic without one, which keeps its name of before (K,).
    """

    def name(k: int, n: int) -> str:
        if not phrases[k]:
            return before[k]
        words = [*phrases[k].lower().split(), phrases[k].lower()]
        others = [term for term in terms[k] if not any(term.lower() == w or same_word(term.lower(), w) for w in words)]
        return ", ".join(filter(None, (phrases[k], topic_label(others, n))))

    return unique_names(name, len(phrases), WORDS_AFTER, max((len(row) for row in terms), default=0))


# ------------------------------------------------------------------------------------------------------------------------
# Phrases for the topics of a run: its typical documents are read again and searched for them.


def names_from_phrases(
    run: Run, top_terms: list[tuple[str, ...]], before: list[str], options: NameOptions, execution: Execution
) -> list[tuple[str, str]]:
    """Return a name of each topic, and the passage where its phrase first stands: "" where a topic has no phrase.

    Args:
        top_terms (K,): words of the topics; before (K,): their names.

    Raises:
        InputError: the texts of the run cannot be read again, or cut as they were; MissingError: there is no tagger.
    """
    cut = options_from(run.manifest["parameters"].get("tokens"), f"the run {run.path}")
    table = topic_documents(run, list(range(len(before))), top=options.documents, execution=execution).table
    if table.column("text").null_count == table.num_rows:
        raise InputError(f"phrases come from texts, and the texts of the run {run.path} cannot be read")
    table = table.filter(pc.is_valid(table.column("text")))
    texts, topic = table.column("text").to_pylist(), table.column("topic").to_numpy().astype(np.int32)
    segments, document = _segments(texts, options, cut)
    as_they_stand = replace(
        cut, stop_words="none", extra_stop_words=frozenset(), stop_patterns=(), min_length=1, lemma=False, stem="none",
        ngrams=(1, 1),
    )  # fmt: skip
    words, _ = tokens_of(pa.table({"text": pa.array(segments, pa.large_string())}), as_they_stand)
    present, numbered = np.unique(topic, return_inverse=True)
    phrases = count_phrases(
        words.offsets, words.term_ids, words.terms, _forms(words.terms, cut), document, numbered.astype(np.int32)
    )
    ranked = ranked_phrases(phrases, [top_terms[k] for k in present], np.bincount(numbered))
    chosen: list[tuple[str, str]] = [("", "")] * len(before)
    terms: list[list[str]] = [[]] * len(before)
    for at, (k, best) in enumerate(zip(present.tolist(), ranked, strict=True)):
        of_topic = [texts[row] for row in np.flatnonzero(topic == k)]
        written = (as_written(phrases.words[p], of_topic) for p in best)
        chosen[k] = next((one for one in written if one is not None), ("", ""))
        words_of_topic = words_of_terms(phrases, at, top_terms[k])
        terms[k] = [(as_written(word, of_topic) or (word[0],))[0] for word in words_of_topic]
    labels = phrase_labels([phrase for phrase, _ in chosen], terms, before)
    return [(label if phrase else "", passage) for label, (phrase, passage) in zip(labels, chosen, strict=True)]


def _segments(texts: list[str], options: NameOptions, cut: PreprocessOptions) -> tuple[list[str], LongArray]:
    """Return the parts of texts that hold phrases, and the number of the text of each."""
    if options.tagger is None:
        parts = [plain_segments(text) for text in texts]
    else:
        language = None if cut.language in ("auto", "none") else cut.language
        tagger = SpacyTokens(options.tagger, pos=PHRASE_TAGS, language=language)
        parts = [noun_segments(text, words) for text, words in zip(texts, tagger.words(texts), strict=True)]
    document = np.repeat(np.arange(len(texts), dtype=np.int64), [len(part) for part in parts])
    return [segment for part in parts for segment in part], document


def _forms(words: tuple[str, ...], cut: PreprocessOptions) -> list[str | None]:
    """Return what each word is in the model; None for one that it leaves out, such as a stop word, or that is several there."""
    tokens, _ = tokens_of(pa.table({"text": pa.array(words, pa.large_string())}), replace(cut, ngrams=(1, 1)))
    one = np.diff(tokens.offsets) == 1
    return [tokens.terms[tokens.term_ids[tokens.offsets[w]]] if one[w] else None for w in range(len(words))]

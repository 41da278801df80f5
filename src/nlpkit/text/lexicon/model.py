"""The scores of texts by a lexicon: sentiment with negations and intensifiers, and counts of word categories.

Parts, in this order:
- Words that negate, and which tokens stand under them: everything from a negation to the next punctuation mark.
- Sentiment by a list of words: texts and lexicon are cut alike, negations turn weights, intensifiers scale them.
- Words of categories in texts: how often each category of a lexicon occurs in a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray
from nlpkit.text.cutting import needs_language, normalizer
from nlpkit.text.language import SAMPLE_CHARS, SAMPLE_DOCS, detect_languages
from nlpkit.text.lexicon.options import SCORES
from nlpkit.text.normalize import lower_case
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.phrases import SEPARATOR, PhraseTable
from nlpkit.text.tokenize import WORD_PATTERN, RawTokens, cut_tokens, is_whole, keep_patterns
from nlpkit.text.vocab import EncodedBatch, Vocabulary

# What ends the scope of a negation, as a pattern of the Rust crate `regex`: marks, brackets, dashes between words, a blank line.
MARK_PATTERN = r"[.,:;!?…¡¿()\[\]。，、：；！？؟،؛—–]+|\n\s*\n"

_ENGLISH = """
not no never none nobody nothing nowhere neither nor cannot without rarely seldom hardly
"""
_ENGLISH_VERBS = """
ai are ca could dare did does do had has have is might must need ought sha should was were wo would
"""
_GERMAN = """
nicht nichts nie niemals nimmer nirgends nirgendwo weder ohne kaum keinerlei keineswegs keinesfalls mitnichten
kein keine keinem keinen keiner keines keins niemand niemandem niemanden niemandes
"""
# Where a clause may hold several negative words that make one negation (ne … pas, no … nada, nie … nigdy), only those are here that
# do not stand beside another as a rule: two in a scope would turn the words behind them back.
_OTHERS = {
    "da": "ikke ej aldrig ingen intet ingenting ingenlunde uden næppe hverken",
    "es": "no sin nunca jamás tampoco",
    "fr": "pas jamais sans guère aucunement nullement",
    "it": "non senza",
    "nl": "niet geen nooit nimmer niemand niets nergens zonder nauwelijks noch",
    "no": "ikke aldri ingen intet ingenting uten neppe verken",
    "pl": "nie bez",
    "pt": "não sem nunca jamais",
    "ru": "не без нет",
    "sv": "inte ej icke aldrig ingen inget inga ingenting utan knappt varken",
}


def _words(text: str, *endings: str) -> frozenset[str]:
    return frozenset(word + ending for word in text.split() for ending in endings or ("",))


_LISTS: dict[str, frozenset[str]] = {
    "en": _words(_ENGLISH) | _words(_ENGLISH_VERBS, "n't", "nt"),
    "de": _words(_GERMAN),
    **{code: _words(text) for code, text in _OTHERS.items()},
}


def negation_languages() -> tuple[str, ...]:
    """Return the codes of the languages with a list of negations."""
    return tuple(sorted(_LISTS))


def negation_words(codes: Iterable[str]) -> frozenset[str]:
    """Return the negations of languages in lower case; a language without a list gives none.

    English: not, no, never …, every verb with n't, also written without the apostrophe; German: nicht, kein, ohne …; Danish, Dutch,
    Norwegian and Swedish alike. Where two negative words make one negation (French ne … pas, Spanish no … nada), the list has
    one of the two. Other languages wait for a list of the user.
    """
    return frozenset(word for code in codes for word in _LISTS.get(code, ()))


def negated(offsets: LongArray, negates: BoolArray, marks: BoolArray, *, reach: int | None = None) -> BoolArray:
    """Return which tokens are negated: an odd number of negations stands before them since the last mark.

        n_i = #{j < i : negates_j, no mark in j … i, same document, i - j <= reach},   negated_i = n_i odd

    A second negation in a scope turns the words behind it back: "never without joy" is joyful. Negations and marks are tokens
    like others. NOT_ until the next punctuation: Pang, Lee & Vaithyanathan (2002), §3; lecture.

    Args:
        offsets: (D+1,) int64, where documents begin and end.
        negates, marks: (N,) which tokens are negations, which are marks.
        reach: the most tokens that a negation reaches, None for all up to the mark.

    Returns:
        (N,) bool.
    """
    N = len(negates)
    before: LongArray = np.cumsum(negates, dtype=np.int64) - negates
    starts = marks.copy()
    starts[offsets[:-1][np.diff(offsets) > 0]] = True
    at = np.arange(N)
    since = np.maximum.accumulate(np.where(starts, at, 0))  # the last mark or document start
    if reach is not None:
        since = np.maximum(since, at - reach)
    return ((before - before[since]) % 2).astype(np.bool_)


def strengths(offsets: LongArray, factors: FloatArray, blocks: BoolArray, rated: BoolArray) -> FloatArray:
    """Return by how much the words before each token strengthen or weaken it.

        s_i = f_{i-1} · f_{i-2}   with f = 1 beyond the document, behind a mark, and where i-1 is rated itself

    An intensifier (very: f > 1; slightly: f < 1) works on the next rated word if that is one or two tokens on; of "very good
    film" and "very, good" the first. Two in a row multiply.

    Args:
        offsets: (D+1,) int64.
        factors: (N,) factor of each token, 1 for those that are none.
        blocks: (N,) marks, over which nothing reaches.
        rated: (N,) words with a weight.

    Returns:
        (N,) float64.
    """
    N = len(factors)
    out = np.ones(N)
    if not N or (factors == 1).all():
        return out
    place = np.arange(N) - np.repeat(offsets[:-1], np.diff(offsets))  # in its document
    one = place >= 1
    out[1:] = np.where(one[1:], factors[:-1], 1.0)
    two = (place >= 2)[2:] & ~blocks[1:-1] & ~rated[1:-1]
    out[2:] *= np.where(two, factors[:-2], 1.0)
    return out


def document_of(offsets: LongArray) -> IntArray:
    """Return the document of each token (N,) int32."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))


# ------------------------------------------------------------------------------------------------------------------------
# Sentiment by a list of words: texts and lexicon are cut alike, negations turn weights, intensifiers scale them.

MARK = "."  # no word is called like that
_NUMBERS = r"\p{N}+(?:[.,:]\p{N}+)+"  # 3.5 holds no full stop
_BREAK = re.compile(r"</?(?:br|p|div|li|ul|ol|h[1-6]|t[dhr]|table|blockquote)\b", re.IGNORECASE)
_MARKS = re.compile(r"[\W_]*")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words with weights.

    words: as written, also of several words (not good); weights: float64 of each, positive for positive words. negations:
    further words that negate. intensifiers: words and the factor by which they scale the next one, above 1 or below.
    """

    name: str
    words: tuple[str, ...]
    weights: tuple[float, ...]
    negations: tuple[str, ...] = ()
    intensifiers: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class LexiconReport:
    """Counts of a lexicon's words: entries that cannot match, words of several weights, terms of either sign."""

    n_words: int
    n_unmatchable: int  # emoticons and the like, which no tokenizer of words cuts
    n_several: int  # terms whose words have different weights
    n_positive: int
    n_negative: int
    languages: tuple[str, ...]
    n_negations: int


@dataclass(frozen=True, slots=True)
class Scored:
    """Documents: score (D,) float64, hits (D,) int64 sentiment words found in each."""

    score: FloatArray
    hits: LongArray


@dataclass(frozen=True, slots=True)
class Matched:
    """A batch in terms of a lexicon. ids (N,) int32 into `LexiconScorer.weights`, its last place for all other words."""

    offsets: LongArray
    ids: IntArray
    encoded: EncodedBatch


class LexiconScorer:
    """A lexicon ready to score documents that are cut with the same options.

    Lower case, lemmas and stems are those of the options, for text and lexicon alike; negations and intensifiers keep the form
    in which they are written. Terms that several words of the lexicon share (entries that occur twice, or good and goods after
    stemming) have the mean of their weights. Every word counts, of whatever length: stop words, n-grams and bounds of frequency
    do not apply. A word that negates has no weight of its own, unless negation is off.

    Args:
        lexicon: words and weights.
        options: language, lower, lemma, stem, cleaner, keep and segment are used.
        languages: ISO codes of the texts, see `text_languages`.
        negation: whether negations turn weights.
        negations: those to use in place of the lists of the languages; those of the lexicon are added to either.
        reach: how many tokens a negation reaches, None for all up to the next mark.

    Raises:
        InputError: no word of the lexicon can match.
        UsageError: the options cut by something else than words.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        options: PreprocessOptions,
        languages: Sequence[str],
        *,
        negation: bool = True,
        negations: Iterable[str] | None = None,
        reach: int | None = None,
    ) -> None:
        if options.tokenizer != "words":
            raise UsageError(
                "a lexicon is matched by words; leave `tokenizer`, `token_pattern` and `spacy` out, or score with `lexicon=vader`",
                parameter="tokenizer",
            )
        usual = negation_words(languages) if negations is None else frozenset(negations)
        negating_words = [*usual, *lexicon.negations] if negation else []
        self._keep, self._reach = options.keep, reach
        kept = frozenset(map(lower_case, [*negating_words, *(word for word, _ in lexicon.intensifiers)]))
        self._cut = _cutter(options, languages)
        normalize = normalizer(replace(options, stop_words="none", min_length=1), list(languages), kept.__contains__)
        self.vocabulary = Vocabulary(partial(_terms, normalize=normalize))
        self._bind(lexicon, sorted(negating_words), tuple(languages))

    def _bind(self, lexicon: Lexicon, negations: Sequence[str], languages: tuple[str, ...]) -> None:
        """Give every word of the lexicon its id: those of one term in the vocabulary, of several as a phrase."""
        lines = [MARK, *lexicon.words, *negations, *(word for word, _ in lexicon.intensifiers)]
        encoded = self.vocabulary.encode(self._cut(pa.array(lines, pa.large_string())))
        terms = self.vocabulary.terms
        ids = np.split(encoded.term_ids, encoded.offsets[1:-1])
        emoji = "emoji" in self._keep
        entries = [
            tuple(terms[i] for i in part) if is_whole(line, emoji=emoji) else ()
            for line, part in zip(lines, ids, strict=True)
        ]
        entries[0] = (MARK,)
        self.n_terms = len(terms)
        self._phrases = PhraseTable.from_words(e for e in entries[1:] if MARK not in e).bind(terms)
        place = {(term,): i for i, term in enumerate(terms)}
        number = {name: i for i, name in enumerate(self._phrases.terms)}
        for e in entries:
            if len(e) > 1 and MARK not in e:
                place[e] = number[SEPARATOR.join(e)]
        V = len(self._phrases.terms) + 1  # the last is every other word
        n_words, n_negations = len(lexicon.words), len(negations)
        sums, counts, squares = np.zeros(V), np.zeros(V), np.zeros(V)
        at = np.array([place.get(e, -1) if e != (MARK,) else -1 for e in entries[1 : 1 + n_words]], np.int64)
        weights = np.asarray(lexicon.weights, np.float64)
        self.places: LongArray = at  # of each word of the lexicon among `terms`, -1 for one that cannot be found
        usable = at >= 0
        if not usable.any():
            raise InputError(
                f"{lexicon.name}: none of its {n_words:,} entries can match a word of a text"
                if n_words
                else f"{lexicon.name}: holds no words with a weight"
            )
        np.add.at(sums, at[usable], weights[usable])
        np.add.at(counts, at[usable], 1.0)
        np.add.at(squares, at[usable], weights[usable] ** 2)
        self.weights: FloatArray = np.divide(sums, counts, out=np.zeros(V), where=counts > 0)
        several = int((squares - counts * self.weights**2 > 1e-9).sum())
        self.negates: BoolArray = np.zeros(V, bool)
        for e in entries[1 + n_words : 1 + n_words + n_negations]:
            if e in place:
                self.negates[place[e]] = True
        self.marks: BoolArray = np.zeros(V, bool)
        self.marks[place[(MARK,)]] = True
        self.factors: FloatArray = np.ones(V)
        for e, (_, factor) in zip(entries[1 + n_words + n_negations :], lexicon.intensifiers, strict=True):
            if e in place:
                self.factors[place[e]] = factor
        self.weights[self.negates] = 0.0
        self.report = LexiconReport(
            n_words, int((~usable).sum()), several, int((self.weights > 0).sum()), int((self.weights < 0).sum()),
            languages, int(self.negates.sum()),
        )  # fmt: skip

    @property
    def terms(self) -> list[str]:
        """(V,) the terms of `weights`; the last stands for all other words."""
        return [*self._phrases.terms, ""]

    def match(self, batches: Iterable[pa.RecordBatch], *, threads: int = 1) -> Iterator[tuple[pa.RecordBatch, Matched]]:
        """Yield each batch with its texts (column text) as ids of the lexicon; the result does not depend on `threads`."""
        other = np.int32(len(self._phrases.terms))
        for batch, raw in map_ahead(lambda b: self._cut(b.column("text")), batches, threads=threads):
            encoded = self.vocabulary.encode(raw)
            known = np.where(encoded.term_ids < self.n_terms, encoded.term_ids, np.int32(-1))
            joined = self._phrases.apply(EncodedBatch(encoded.offsets, known.astype(np.int32)))
            ids = np.where(joined.term_ids < 0, other, joined.term_ids).astype(np.int32)
            yield batch, Matched(joined.offsets, ids, encoded)

    def token_weights(self, matched: Matched) -> FloatArray:
        """Return what each token adds to the score of its document (N,): weight · strength, turned where it is negated."""
        offsets, ids = matched.offsets, matched.ids
        weights, marks = self.weights[ids], self.marks[ids]
        turned = np.where(negated(offsets, self.negates[ids], marks, reach=self._reach), -1.0, 1.0)
        return weights * turned * strengths(offsets, self.factors[ids], marks, weights != 0)

    def score(self, matched: Matched, method: str = "sum") -> Scored:
        """Return the scores of a batch, 0 for a document without a sentiment word.

            sum       Σ_i w_i
            mean      Σ_i w_i / n,  n the sentiment words of the document
            polarity  (P - Q) / (P + Q),  P and Q the sums of the positive and of the negative |w_i|, in [-1, 1]

        Raises:
            UsageError: `method` is none of these.
        """
        if method not in SCORES:
            raise unknown_value("lexicon_score", method, SCORES)
        D = len(matched.offsets) - 1
        weights, doc = self.token_weights(matched), document_of(matched.offsets)
        hits = np.bincount(doc[weights != 0], minlength=D).astype(np.int64)
        total = np.bincount(doc, weights, minlength=D).astype(np.float64)
        if method == "sum":
            return Scored(total, hits)
        below = hits.astype(np.float64) if method == "mean" else np.bincount(doc, np.abs(weights), minlength=D)
        return Scored(np.divide(total, below, out=np.zeros(D), where=below > 0), hits)

    def over_vocabulary(self) -> tuple[list[str], FloatArray, BoolArray, BoolArray]:
        """Return all terms of the texts so far (V,), with weight, whether it negates and whether it is a mark: for Lex2Sent."""
        terms = self.vocabulary.terms
        n = self.n_terms
        weights, negates, marks = np.zeros(len(terms)), np.zeros(len(terms), bool), np.zeros(len(terms), bool)
        weights[:n], negates[:n], marks[:n] = self.weights[:n], self.negates[:n], self.marks[:n]
        return terms, weights, negates, marks


def text_languages(options: PreprocessOptions, batches: Iterable[pa.RecordBatch]) -> tuple[str, ...]:
    """Return the ISO codes of the language of the options, else those detected in the first texts of batches."""
    if options.language == "none":
        return ()
    if options.language != "auto":
        return (options.language,)
    sample: list[str] = []
    for batch in batches:
        sample.extend(t[:SAMPLE_CHARS] for t in batch.column("text").slice(0, SAMPLE_DOCS).to_pylist() if t)
        if len(sample) >= SAMPLE_DOCS:
            break
    return tuple(share.code for share in detect_languages(sample[:SAMPLE_DOCS]))


def _cutter(options: PreprocessOptions, languages: Sequence[str]) -> Callable[[pa.Array], RawTokens]:
    pattern = "|".join([*keep_patterns(options.keep), _NUMBERS, WORD_PATTERN, MARK_PATTERN])
    cleaner = options.cleaner
    if cleaner is None:
        return partial(cut_tokens, pattern=pattern)
    if languages and options.language == "auto" and needs_language(options):
        cleaner = replace(cleaner, emoji_language=languages[0])
    clean = cleaner.clean
    return lambda texts: cut_tokens(clean(texts), pattern)


def _terms(raw: str, *, normalize: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the terms of a raw token; marks, and tags that break a text, are one mark."""
    if _BREAK.match(raw):
        return (MARK,)
    return normalize(raw) or ((MARK,) if _MARKS.fullmatch(raw) else ())


# ---------------------------------------------------------------- classes


@dataclass(frozen=True, slots=True)
class SentimentClasses:
    """Names of what is predicted; neutral None where there are two."""

    negative: str
    neutral: str | None
    positive: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order."""
        return tuple(n for n in (self.negative, self.neutral, self.positive) if n is not None)


DEFAULT_CLASSES = SentimentClasses("negative", "neutral", "positive")
_FAMILIES = (  # negative, neutral, positive
    ("negative", "neutral", "positive"),
    ("neg", "neu", "pos"),
    ("negativ", "neutral", "positiv"),
    ("n", "o", "p"),
    ("bad", "neutral", "good"),
    ("0", None, "1"),
    ("-1", "0", "1"),
    ("false", None, "true"),
)


def parse_classes(text: str) -> SentimentClasses:
    """Return the classes of "negative,positive" or "negative,neutral,positive". Raises UsageError for another number."""
    names = [part.strip() for part in text.split(",")]
    if len(names) not in (2, 3) or not all(names) or len(set(names)) < len(names):
        raise UsageError(
            f"`classes={text}`: two or three different names were needed, from negative to positive, such as neg,pos or 1,2,3"
        )
    return SentimentClasses(names[0], names[1] if len(names) == 3 else None, names[-1])


def recognise_classes(labels: Iterable[str]) -> SentimentClasses | None:
    """Return the sentiment classes that labels are (neg and pos, Negative … Positive, 0 and 1, -1 … 1), None if they are not.

    Two classes when no label is the neutral one. The names are those of the labels; of a class without one, as the others.
    """
    written = {label.strip().casefold(): label for label in labels}
    for negative, neutral, positive in _FAMILIES:
        if written and set(written) <= {negative, neutral, positive} and set(written) != {neutral}:
            middle = written[neutral] if neutral is not None and neutral in written else None
            return SentimentClasses(written.get(negative, negative), middle, written.get(positive, positive))
    return None


def predict_classes(
    scores: FloatArray, classes: SentimentClasses, *, neutral: float = 0.0, zero: str = "positive", closed: bool = False
) -> IntArray:
    """Return the place in classes.names of each score (D,) int32.

    Three classes: positive above `neutral`, negative below its negative, neutral between, the bounds included; with `closed`
    the bounds are positive and negative. Two classes: the sign decides, and 0 goes where `zero` says.

    Raises:
        UsageError: neutral is negative, or zero is neither "positive" nor "negative".
    """
    if neutral < 0:
        raise UsageError(
            f"`neutral={neutral:g}`: this is the largest neutral score on either side of 0; it must be 0 or more"
        )
    if zero not in ("positive", "negative"):
        raise UsageError(f"`zero={zero}`: it must be positive or negative")
    if classes.neutral is None:
        return np.where((scores > 0) | ((scores == 0) & (zero == "positive")), 1, 0).astype(np.int32)
    up, down = (scores >= neutral, scores <= -neutral) if closed and neutral else (scores > neutral, scores < -neutral)
    return np.where(up, 2, np.where(down, 0, 1)).astype(np.int32)


# ------------------------------------------------------------------------------------------------------------------------
# Words of categories in texts: how often each category of a lexicon occurs in a document.


@dataclass(frozen=True, slots=True)
class CategoryLexicon:
    """Words of categories.

    name: what its columns are called after. entries: word, also of several words, or the begin of words and * → its categories;
    categories: all of them, in order. source: what messages call it.
    """

    name: str
    entries: Mapping[str, frozenset[str]]
    categories: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class CategoryCounts:
    """Documents: counts (D, C) of the words of each category, words (D,) of all words."""

    counts: LongArray
    words: LongArray


class CategoryCounter:
    """Counts the words of the categories of a lexicon in documents that are cut as `nlpkit sentiment` cuts them.

    Lower case, lemmas and stems are the same for text and lexicon; of several entries that begin at one place the longest counts, as
    one word. A word counts once for each category that it or a begin* of it belongs to.

    Args:
        lexicon: the words. options: how texts are cut. languages: ISO codes of the texts.

    Raises:
        InputError: no entry can occur in a text.
    """

    def __init__(self, lexicon: CategoryLexicon, options: PreprocessOptions, languages: Sequence[str]) -> None:
        self.lexicon = lexicon
        words = [entry.removesuffix("*") for entry in lexicon.entries]
        plain = Lexicon(lexicon.source, tuple(words), (1.0,) * len(words))
        self._scorer = LexiconScorer(plain, options, languages, negation=False)
        self.n_unmatchable = self._scorer.report.n_unmatchable
        self._column = {category: c for c, category in enumerate(lexicon.categories)}
        self._begins: dict[str, frozenset[str]] = {}
        for entry, categories in lexicon.entries.items():
            if entry.endswith("*"):
                begin = entry[:-1].lower()
                self._begins[begin] = self._begins.get(begin, frozenset()) | categories
        self._lengths = sorted({len(begin) for begin in self._begins})
        terms = self._scorer.terms
        known = np.zeros((len(terms), len(lexicon.categories)), bool)
        for place, categories in zip(self._scorer.places.tolist(), lexicon.entries.values(), strict=True):
            if place >= 0:
                known[place, [self._column[category] for category in categories]] = True
        for place, term in enumerate(terms[:-1]):  # the last stands for all other words
            known[place] |= self._by_begin(term)
        self._known = sparse.csr_array(known.astype(np.int64))
        self._mark = self._scorer.vocabulary.terms.index(MARK)
        # words of the texts that are not in the lexicon: how many were looked at, and which are in which category by their begin
        self._n_other, self._rows, self._columns = 0, list[int](), list[int]()

    def _by_begin(self, term: str) -> BoolArray:
        """Return the categories (C,) of a term by the begins that it has."""
        row = np.zeros(len(self._column), bool)
        for n in self._lengths:
            for category in self._begins.get(term[:n], ()) if n <= len(term) else ():
                row[self._column[category]] = True
        return row

    def count(
        self, batches: Iterable[pa.RecordBatch], *, threads: int = 1
    ) -> Iterator[tuple[pa.RecordBatch, CategoryCounts]]:
        """Yield each batch with the counts of its texts (column text); the result does not depend on `threads`."""
        for batch, matched in self._scorer.match(batches, threads=threads):
            yield batch, self._counts(matched)

    def _counts(self, matched: Matched) -> CategoryCounts:
        V = len(self._scorer.terms)
        counts = _by_document(matched.offsets, matched.ids, V) @ self._known
        encoded, n_terms = matched.encoded, self._scorer.n_terms
        if self._lengths:
            self._look_at_new_words()
            unknown = np.maximum(encoded.term_ids - n_terms, -1)
            shape = (self._n_other, len(self._column))
            by_begin = sparse.csr_array((np.ones(len(self._rows), np.int64), (self._rows, self._columns)), shape=shape)
            counts = counts + _by_document(encoded.offsets, unknown, self._n_other) @ by_begin
        words = np.add.reduceat(np.append(encoded.term_ids != self._mark, False), encoded.offsets[:-1]).astype(np.int64)
        words[np.diff(encoded.offsets) == 0] = 0
        return CategoryCounts(np.asarray(counts.todense(), np.int64), words)

    def _look_at_new_words(self) -> None:
        """Find the categories of the words that came with the last batch."""
        vocabulary, before = self._scorer.vocabulary, self._scorer.n_terms + self._n_other
        if vocabulary.n_terms == before:
            return
        for term in vocabulary.terms[before:]:
            columns = np.flatnonzero(self._by_begin(term)).tolist()
            self._rows += [self._n_other] * len(columns)
            self._columns += columns
            self._n_other += 1


def _by_document(offsets: LongArray, ids: IntArray | LongArray, n: int) -> sparse.csr_array:
    """Return how often each id (N,) in 0 … n - 1 occurs in documents (D, n); those below 0 are left out."""
    doc = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    kept = ids >= 0
    shape = (len(offsets) - 1, n)
    return sparse.csr_array((np.ones(int(kept.sum()), np.int64), (doc[kept], ids[kept])), shape=shape)

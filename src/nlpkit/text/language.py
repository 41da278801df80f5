"""Language identification of a corpus."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from math import exp
from typing import Any

from nlpkit.errors import InputError, UsageError
from nlpkit.language_identifier import language_identifier
from nlpkit.text.languages import language_code, language_name, near_languages
from nlpkit.text.stopwords import has_stop_words, stop_word_languages, stop_words

__all__ = [
    "LanguageShare",
    "detect_languages",
    "foreign_language",
    "has_stop_words",
    "language_code",
    "stop_list_code",
    "stop_words",
]

SAMPLE_DOCS = 300
SAMPLE_CHARS = 1000
MIN_SHARE = 0.1
MIN_CHARS = 200
MIN_LETTERS = 20  # of a text that votes alone
FEW_WORDS = 20
CERTAIN = 0.999  # of a vote
_TAKEN_FOR = {"wuu": "zh"}  # headlines in Mandarin look like Wu to the model, which has read an encyclopedia in both


@dataclass(frozen=True, slots=True)
class LanguageShare:
    """A language (ISO 639-1 code) and its share of the sampled characters, in (0, 1]."""

    code: str
    share: float


def prepare_detection() -> None:
    """Start loading the model in a thread: other work can be done in that time."""
    threading.Thread(target=_prepare, daemon=True, name="nlpkit-language").start()


def _prepare() -> None:
    with suppress(Exception):  # the code that needs the model loads it again, and reports what is wrong
        _classifier()


@cache
def _identifier() -> Any:
    """Return py3langid's identifier with its model. Raises InputError when there is no room to unpack it."""
    try:
        return language_identifier()
    except OSError as error:
        folder = tempfile.tempdir or "the temporary folder"
        raise InputError(
            f"cannot unpack the model that finds languages in {folder}: {error.strerror or error}; set TMPDIR to a "
            "folder with free space"
        ) from None


def _classifier() -> Callable[[str], tuple[str, float]]:
    """Return the function that names the language of a text and its probability, with its model loaded. Raises what `_identifier` does."""
    with _LOADING:
        rank = _identifier().rank

    def classify(text: str) -> tuple[str, float]:
        ranked = rank(text)  # logarithms of what Bayes' theorem gives for each language, but for the same factor
        weights: dict[str, float] = {}
        for code, score in ranked:
            known = _TAKEN_FOR.get(code, code)
            weights[known] = weights.get(known, 0.0) + exp(score - ranked[0][1])
        best = max(weights, key=weights.__getitem__)
        return best, weights[best] / sum(weights.values())

    return classify


_LOADING = threading.Lock()


def detect_languages(texts: Iterable[str]) -> tuple[LanguageShare, ...]:
    """Return the languages of a sample of texts, largest share of characters first; shares under 10 % are left out.

    Each different one of the first 300 texts votes with its first 1000 characters (py3langid, the model of Lui & Baldwin 2012),
    where its language is certain: it has at least 20 letters and the model gives it 99.9 %. The others vote together, if that is
    certain then, or half of them are stop words of the language. Else none is known of a few words. A word that is repeated is no
    further evidence.
    """
    from threadpoolctl import threadpool_limits

    classify = _classifier()
    weights: Counter[str] = Counter()
    unsure: list[str] = []
    with threadpool_limits(1, user_api="blas"):  # else it spins on every core for products of a few numbers
        for piece in dict.fromkeys(text[:SAMPLE_CHARS] for text in islice(texts, SAMPLE_DOCS)):
            letters = sum(map(str.isalpha, piece))
            code, certainty = classify(_distinct(piece)) if letters >= MIN_LETTERS else ("", 0.0)
            if certainty >= CERTAIN:
                weights[_TAKEN_FOR.get(code, code)] += letters
            elif letters:
                unsure.append(piece)
        for piece in _together(unsure):
            code, certainty = classify(piece)
            if certainty >= CERTAIN or _are_stop_words(piece, code):
                weights[_TAKEN_FOR.get(code, code)] += sum(map(str.isalpha, piece))
    total = sum(weights.values())
    ranked = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    shares = tuple(LanguageShare(code, count / total) for code, count in ranked)
    return tuple(s for s in shares if s.share >= MIN_SHARE)


def _distinct(text: str) -> str:
    """Return a text, of few different words each once."""
    words = dict.fromkeys(text.split())
    return " ".join(words) if len(words) < FEW_WORDS else text


def _are_stop_words(text: str, code: str) -> bool:
    """Return whether a text has two different words or more, of which half are stop words of a language."""
    words = {word for word in text.lower().split() if any(map(str.isalpha, word))}
    return len(words) >= 2 and 2 * len(words & stop_words([code])) >= len(words)


def _together(texts: Iterable[str]) -> Iterator[str]:
    """Yield the different words of texts in pieces of about SAMPLE_CHARS, without numbers and signs alone."""
    piece: list[str] = []
    size = 0
    for word in dict.fromkeys(word for text in texts for word in text.split()):
        if not any(map(str.isalpha, word)):
            continue
        piece.append(word)
        size += len(word) + 1
        if size >= SAMPLE_CHARS:
            yield " ".join(piece)
            piece, size = [], 0
    if piece:
        yield " ".join(piece)


def foreign_language(texts: Iterable[str], known: Sequence[str]) -> LanguageShare | None:
    """Return the language of a sample of texts when it is another than those a model was fitted to, None when it is not.

    It must have more than half of the characters, of which there must be at least 200: a single short text is often
    taken for another language than it is.

    Args:
        known: language codes of the texts that the model was fitted to.
    """
    sample = list(islice(texts, SAMPLE_DOCS))
    if not known or sum(map(len, sample)) < MIN_CHARS:
        return None
    shares = detect_languages(sample)
    return shares[0] if shares and shares[0].share > 0.5 and shares[0].code not in known else None


def stop_list_code(name: str) -> str:
    """Return the code of a language that has a list of stop words.

    Raises:
        UsageError: no language is called that, or there is no list for it.
    """
    try:
        code = language_code(name)
    except UsageError:
        raise UsageError(
            f"`stop_words`: '{name}' is neither a file nor a language{near_languages(name)}; give a file with a "
            "word per line, a language such as en, deu or German, auto or none"
        ) from None
    if not has_stop_words(code):
        raise UsageError(
            f"`stop_words={name}`: no list exists for {language_name(code)}; give a file with a word per line, or a "
            f"language with a list: {' '.join(stop_word_languages())}"
        )
    return code

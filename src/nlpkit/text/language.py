"""Which languages a corpus is written in, and their stop words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from nlpkit.errors import UsageError

SAMPLE_DOCS = 300
SAMPLE_CHARS = 1000
MIN_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class LanguageShare:
    """A language (ISO 639-1 code) and its share of the sampled characters, in (0, 1]."""

    code: str
    share: float


def detect_languages(texts: Iterable[str]) -> tuple[LanguageShare, ...]:
    """Return the languages of a sample of texts, largest share of characters first; shares under 10 % are left out.

    Each of the first 300 texts with at least 20 letters votes with its first 1000 characters (py3langid, the model of
    Lui & Baldwin 2012). A corpus of very short texts votes as one text.
    """
    from py3langid import classify

    weights: Counter[str] = Counter()
    short: list[str] = []
    for number, text in enumerate(texts):
        if number >= SAMPLE_DOCS:
            break
        piece = text[:SAMPLE_CHARS]
        letters = sum(c.isalpha() for c in piece)
        if letters >= 20:
            weights[classify(piece)[0]] += letters
        elif letters:
            short.append(piece)
    if not weights and short:
        weights[classify(" ".join(short)[:SAMPLE_CHARS])[0]] += 1
    total = sum(weights.values())
    ranked = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    shares = tuple(LanguageShare(code, count / total) for code, count in ranked)
    return tuple(s for s in shares if s.share >= MIN_SHARE)


def stop_words(codes: Iterable[str]) -> frozenset[str]:
    """Return the stop words of languages by ISO 639-1 code; a language without a list adds nothing.

    English is scikit-learn's list of 318 words plus contractions (the 1298 words of stopwords-iso hold 'state',
    'world' and 'help', which carry meaning); the other languages come from stopwords-iso.
    """
    words: set[str] = set()
    for code in codes:
        words |= _stop_words_of(code)
    return frozenset(words)


@lru_cache(maxsize=64)
def _stop_words_of(code: str) -> frozenset[str]:
    import stopwordsiso

    if code not in stopwordsiso.langs():
        return frozenset()
    words = {w.lower().replace("’", "'") for w in stopwordsiso.stopwords(code)}
    if code == "en":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        contractions = {w for w in words if "'" in w}
        english = frozenset(ENGLISH_STOP_WORDS)
        return english | contractions | {w.replace("'", "") for w in contractions if w.endswith("n't")}
    return frozenset(words)


def has_stop_words(code: str) -> bool:
    """Tell whether there is a stop word list for a language code."""
    import stopwordsiso

    return code in stopwordsiso.langs()


_NAMES = {
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt", "dutch": "nl",
    "russian": "ru", "chinese": "zh", "japanese": "ja", "korean": "ko", "polish": "pl", "turkish": "tr", "arabic": "ar",
    "swedish": "sv", "danish": "da", "norwegian": "no", "finnish": "fi", "greek": "el", "hebrew": "he", "hindi": "hi",
    "czech": "cs", "hungarian": "hu", "ukrainian": "uk", "romanian": "ro", "thai": "th", "vietnamese": "vi",
}  # fmt: skip


def language_code(name: str) -> str:
    """Return the ISO 639-1 code of a language given as code or English name.

    Raises:
        UsageError: the name is neither.
    """
    key = name.strip().lower()
    if key in _NAMES:
        return _NAMES[key]
    if len(key) == 2 and key.isalpha():
        return key
    raise UsageError(
        f"unknown language '{name}'; give an ISO 639-1 code such as en, de, fr, zh, ja, or 'auto' or 'none'"
    )

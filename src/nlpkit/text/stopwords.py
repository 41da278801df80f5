"""Stop words: lists of languages, lists and patterns of the user, and terms that are in nearly every document."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.text.stopword_choices import ADDED, ALIASES, ELISIONS, ENCLITICS, KEPT, SOURCES
from nlpkit.types import BoolArray, LongArray

_HARAKAT = re.compile("[\u064b-\u0652\u0640]")
_CEDILLAS = str.maketrans("şţ", "șț")  # Romanian before Unicode 3.0


def stop_words(codes: Iterable[str]) -> frozenset[str]:
    """Return the stop words of languages by ISO 639-1 code, lower-cased; a language without a list adds nothing.

    The lists are conservative (lecture: be conservative in stop word removal): articles, pronouns, prepositions,
    conjunctions, auxiliaries, particles, numerals and adverbs of degree. English is scikit-learn's list of 318 words less
    24 that carry meaning, with contractions; the others come from the packages stopwords-iso and stop-words, read through
    language by language (stopword_choices).
    """
    words: set[str] = set()
    for code in codes:
        words |= _stop_words_of(ALIASES.get(code, code))
    return frozenset(words)


def has_stop_words(code: str) -> bool:
    """Return whether there is a stop word list for a language code."""
    return code in SOURCES or code in ALIASES


def stop_word_languages() -> tuple[str, ...]:
    """Return the codes of all languages with a list."""
    return tuple(sorted({*SOURCES, *ALIASES}))


def clitics(codes: Iterable[str]) -> frozenset[str]:
    """Return what is cut off at an apostrophe in these languages, with it: l'été is été, dell'anno is anno, the city's is the city."""
    languages = list(codes)
    before = {f"{word}'" for code in languages for word in ELISIONS.get(code, "").split()}
    return frozenset(before | {f"'{word}" for code in languages for word in ENCLITICS.get(code, "").split()})


def stop_matcher(words: frozenset[str], patterns: Sequence[str] = ()) -> Callable[[str], bool]:
    """Return the test whether a lower-cased term is a stop word: it is one of `words` or a pattern matches all of it.

    Raises:
        UsageError: a pattern is no regular expression.
    """
    if not patterns:
        return words.__contains__
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(
                f"stop word pattern /{pattern}/ is not a regular expression: {error}", parameter="stop_words"
            ) from None
    matches = re.compile("|".join(f"(?:{pattern})" for pattern in patterns)).fullmatch

    def is_stop(term: str) -> bool:
        return term in words or matches(term) is not None

    return is_stop


def auto_stop(df: LongArray, n_docs: int, *, share: float) -> BoolArray:
    """Return the mask (V,) of terms that are in more than `share` of the documents, by document frequency df (V,).

    Raises:
        UsageError: the share is not in 0.0 … 1.0.
    """
    if not 0.0 <= share <= 1.0:
        raise UsageError(f"`auto_stop={share:g}`: a share of the documents from 0 to 1 is needed")
    return np.asarray(df > round(share * n_docs, 6))  # 0.07 of 100 documents is 7, not 7.000000000000001


@lru_cache(maxsize=64)
def _stop_words_of(code: str) -> frozenset[str]:
    source = SOURCES.get(code)
    if source is None:
        return frozenset()
    package_words = {_repaired(word, code) for word in _package_words(code, source)}
    kept = KEPT.get(code, "").split()
    stems = tuple(word[:-1] for word in kept if word.endswith("*"))
    words = {
        w
        for w in package_words - set(kept)
        if any(map(str.isalpha, w)) and " " not in w and not (stems and w.startswith(stems))
    }
    words |= {_repaired(word, code) for word in ADDED.get(code, "").split()}
    if code == "ro":
        words |= {word.translate(_CEDILLAS) for word in words}
    if code == "ar":
        words |= {_HARAKAT.sub("", word) for word in words}
    return frozenset(words - {""})


def _package_words(code: str, source: str) -> Iterable[str]:
    import stopwordsiso

    if source == "sklearn":
        contractions = {w for w in map(str.lower, stopwordsiso.stopwords(code)) if "'" in w}
        without = {w.replace("'", "") for w in contractions if w.endswith("n't")}
        return {*_sklearn_words(), *contractions, *without}
    if source == "iso":
        return map(str.lower, stopwordsiso.stopwords(code))
    import stop_words as package  # type: ignore[import-untyped,unused-ignore]

    other = {word.lower() for word in package.get_stop_words({"no": "nb"}.get(code, code))}
    if source == "stop-words":
        return other
    return other & {word.lower() for word in stopwordsiso.stopwords(code)}


def _sklearn_words() -> frozenset[str]:
    """Return scikit-learn's list; its module is loaded alone, which takes a thousandth of the time of loading scikit-learn."""
    package = find_spec("sklearn")
    assert package is not None
    assert package.submodule_search_locations is not None
    path = f"{package.submodule_search_locations[0]}/feature_extraction/_stop_words.py"
    spec = spec_from_file_location("nlpkit_sklearn_stop_words", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    words: frozenset[str] = module.ENGLISH_STOP_WORDS
    return words


def _repaired(word: str, code: str) -> str:
    """Return a word as the tokens are; repairs lists that were read in the wrong encoding."""
    if code == "lt":  # ISO 8859-13 read as 8859-1
        word = word.encode("latin-1", "ignore").decode("iso8859-13")
    elif code == "hu":
        word = word.translate(str.maketrans("õû", "őű"))
    elif code == "el":
        word = word.replace("∆", "δ")  # INCREMENT for the letter
    elif code == "tr" and any(c in word for c in "ýþðţđ"):
        return ""
    return unicodedata.normalize("NFC", word).replace("’", "'").strip("',")

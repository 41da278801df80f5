"""Words that negate, and which tokens stand under them: everything from a negation to the next punctuation mark."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nlpkit.types import BoolArray, FloatArray, IntArray, LongArray

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

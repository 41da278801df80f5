"""Texts to sentences by rules: one pass finds where a sentence may end, a few rules decide each place.

The rules are those a reader would name: a blank line ends a sentence; so do the full stops of scripts without spaces; a full
stop before white space does unless a small letter follows, or it belongs to an abbreviation, an initial, an ordinal or the
number of a list item. After an abbreviation that may stand at the end (U.S., Inc., etc.) the next word decides (Grefenstette
& Tapanainen 1994; Mikheev 2002 for the words that start sentences).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from nlpkit.text.abbreviations import (
    BEFORE_NUMBER,
    MAY_END,
    MONTHS,
    NAMES_BEFORE_SIGN,
    NEVER,
    ORDINAL_LANGUAGES,
    ORDINAL_WORDS,
    OTHER_WORDS,
    STARTERS,
    kinds_of,
    starters_of,
)

# Full stops that need no space after them: Chinese and Japanese, danda, Urdu, Arabic, Armenian, Ethiopic, Burmese, Khmer.
_ALWAYS = "。！？｡।॥۔؟։።။។"
_STOPS = ".!?…‽"
_TAG = r"</?[A-Za-z][^<>]{0,300}>"
_TAIL_TAG = r"\s*<(?:/[A-Za-z][^<>]{0,300}|[bB][rR]\s*/?)>"
_CLOSERS = rf"(?:[\"'”’“»«›‹)\]}}」』）】〉》]|[ \u00a0\u202f]»(?![^\s.,;:])|\[\d{{1,3}}\]|{_TAIL_TAG})*"
# What parts paragraphs, as the rest of a pattern after its first character: a blank line, a new page; in HTML two line breaks,
# </p>, or <p>, which belongs to what follows.
BREAK_STARTS = r"\n\f\u2029<"
BREAK_REST = (
    r"(?<=\n)[^\S\n]*\n\s*|(?<=[\f\u2029])\s*"
    r"|(?<=<)(?:[bB][rR]\s*/?>\s*(?:<[bB][rR]\s*/?>\s*)+|/[pP]>\s*|(?P<paragraph>[pP](?:\s[^<>]{0,300})?>))"
)
# The first character is one set, so that the search runs at the speed of the scan for it; then what it must be followed by:
# stop, closers and space; a stop that needs none; the end of a paragraph.
_CANDIDATE = re.compile(
    rf"[{_STOPS}{_ALWAYS}{BREAK_STARTS}](?:"
    rf"(?<=[{_STOPS}])(?<![{_STOPS}]{{2}})(?P<more>[{_STOPS}]*)(?P<close>{_CLOSERS})(?P<space>\s+|(?<=>))"
    rf"|(?<=[{_ALWAYS}])[{_ALWAYS}{_STOPS}]*(?P<shut>{_CLOSERS})\s*|{BREAK_REST})"
)
_ONLY_TAGS = re.compile(rf"\s*(?:{_TAG}\s*)*")
_MANY_TAGS = 1000  # characters of tags at the beginning of a sentence that are looked through
# After a closing bracket: a small kana, a particle or a comma goes on with the sentence around the quotation.
_GOES_ON = frozenset("とっってはがをにもでのなだやか、，,")
_OPENERS = "\"'„“”‚‘’«»‹›([{¿¡「『（【-–—•*·>|"
_OPENING = re.compile(rf"[\s{re.escape(_OPENERS)}]*(?:{_TAG}\s*)*")
_WORD = re.compile(r"\w+(?:['’]\w+)?")
# Initials and what is written like them: B, U.S, Ph.D
_INITIALS = re.compile(r"[^\W\d_]|(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
# One-letter words with full stops before the last: z. B, U.S, и т. д
_SPACED = re.compile(r"(?<!\w)(?:\w\.\s?)+\w$")
_ROMAN = re.compile(r"[IVXLC]{1,6}$")
_LOOK_BACK = 32  # characters: no abbreviation is longer
_AROUND = 1000


@dataclass(frozen=True, slots=True)
class _SentenceRules:
    """Sentence rules of a language; ordinals None: to be guessed from the text around."""

    kinds: dict[str, int]
    starters: frozenset[str]
    ordinals: bool | None


@lru_cache(maxsize=64)
def _rules(language: str | None) -> _SentenceRules:
    known = language in STARTERS or language in ORDINAL_LANGUAGES
    return _SentenceRules(kinds_of(language), starters_of(language), language in ORDINAL_LANGUAGES if known else None)


def sentence_spans(text: str, language: str | None = None) -> list[tuple[int, int]]:
    """Return the sentences of a text as character spans [start, end), in order, without white space around them.

    Together the spans hold every character that is not white space; tags and footnote marks after a full stop belong to the
    sentence before. A single line break never ends a sentence.

    Args:
        text: any text.
        language: ISO 639-1 code, for its abbreviations and ordinals; None or an unknown one: the lists of all languages.
    """
    rules = _rules(language)
    small = text.islower()  # a text without capitals: a small letter says nothing
    spans: list[tuple[int, int]] = []
    start = 0
    for candidate in _CANDIDATE.finditer(text):
        if candidate["space"] is not None:
            end = candidate.start("space")
            ends = _ends(text, start, candidate, rules, small)
        elif candidate["shut"] is not None:
            end = candidate.end("shut")
            ends = not (candidate["shut"] and text[end : end + 1] in _GOES_ON)
        else:
            end = candidate.end() if candidate["paragraph"] is None else candidate.start()
            ends = end - start > _MANY_TAGS or not _ONLY_TAGS.fullmatch(text, start, end)
        if ends:
            _add(spans, text, start, end)
            start = end
    _add(spans, text, start, len(text))
    return spans


def _add(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    """Append the span without the white space around it, if anything is left."""
    piece = text[start:end]
    left, right = len(piece.lstrip()), len(piece.rstrip())
    if left:
        spans.append((end - left, start + right))


def _ends(text: str, start: int, candidate: re.Match[str], rules: _SentenceRules, small: bool) -> bool:
    """Decide whether a stop with white space after it ends the sentence that began at `start`."""
    space = candidate["space"]
    if space.count("\n") > 1 or "\f" in space or "\u2029" in space:
        return True
    at = candidate.end()
    first = text[at : at + 1]
    if not first.isalnum():
        at = _OPENING.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
        first = text[at : at + 1]
        if first in ",;:)]}/%":  # includes the end of the text
            return not first
    stop = text[candidate.start()]
    named = (
        stop == "!"
        and _last_token(text[max(start, candidate.start() - _LOOK_BACK) : candidate.start()]) in NAMES_BEFORE_SIGN
    )
    if first.islower() and not small and not text[at + 1 : at + 2].isupper():  # eBay and iPhone start sentences
        return stop in "!?" and not candidate["close"] and not named
    if named:
        return _starts_sentences(text, at, rules)
    return stop != "." or bool(candidate["more"]) or _full_stop_ends(text, start, candidate.start(), at, rules)


def _full_stop_ends(text: str, start: int, stop: int, at: int, rules: _SentenceRules) -> bool:
    """Decide whether the single full stop at `stop` ends its sentence; the next one would begin with the letter at `at`."""
    window = text[max(start, stop - _LOOK_BACK) : stop]
    token = _last_token(window)
    kind = rules.kinds.get(token)
    if kind is None:
        if len(token) > 3 and token.isalpha():  # most words
            return True
        if token.isdecimal():
            return _number_ends(text, start, stop, at, token, rules)
        kind = _kind_of_letters(token, window, rules)
    if kind == NEVER or (kind == BEFORE_NUMBER and text[at].isdecimal()):
        return False
    if len(token) == 1 and _is_alone(text, start, stop, token):  # a. First item
        return False
    if kind == MAY_END or (kind == BEFORE_NUMBER and len(token) == 1):
        return _starts_sentences(text, at, rules)
    return True


def _last_token(window: str) -> str:
    """Return what stands between the last white space and the end, without quotes and brackets before it."""
    if not window or window[-1].isspace():
        return ""
    return window.split()[-1].lstrip(_OPENERS)


def _kind_of_letters(token: str, window: str, rules: _SentenceRules) -> int | None:
    """Return the kind of a token that is not in the list: initials, U.S, z. B, Lt.-Gen, VIII before a noun."""
    if "-" in token:
        token = token.rsplit("-", 1)[1]
        return rules.kinds.get(token) or (MAY_END if _INITIALS.fullmatch(token) else None)
    if _INITIALS.fullmatch(token):
        spaced = _SPACED.search(window)
        known = rules.kinds.get("".join(spaced[0].split())) if spaced else None
        return known or MAY_END
    if rules.ordinals and _ROMAN.fullmatch(token):
        return MAY_END
    return None


def _number_ends(text: str, start: int, stop: int, at: int, number: str, rules: _SentenceRules) -> bool:
    """Decide whether a full stop after a number ends a sentence: not in a date, an ordinal (3. Liga) or a list number."""
    if len(number) > 2:
        return True
    if _is_alone(text, start, stop, number):
        return False
    word = _WORD.match(text, at)
    if word and word[0] in MONTHS:
        return False
    ordinals = rules.ordinals
    if ordinals is None:
        block = stop - stop % _AROUND  # the same window for many places, so that it is counted once
        ordinals = _writes_ordinals(text[max(0, block - _AROUND) : block + 2 * _AROUND])
    return not ordinals or _starts_sentences(text, at, rules)


@lru_cache(maxsize=64)
def _writes_ordinals(window: str) -> bool:
    """Guess from the small words of a text whether its language writes ordinals with a full stop."""
    around = [word.lower() for word in _WORD.findall(window)]
    return sum(w in ORDINAL_WORDS for w in around) >= sum(w in OTHER_WORDS for w in around)


def _is_alone(text: str, start: int, stop: int, token: str) -> bool:
    """Return whether the token is all there is of its sentence, as the number of a list item is."""
    return stop - start < _LOOK_BACK and text[start:stop].strip().lstrip(_OPENERS) == token


def _starts_sentences(text: str, at: int, rules: _SentenceRules) -> bool:
    """Return whether the word there often starts a sentence; L' of L'homme counts as a word."""
    word = _WORD.match(text, at)
    if not word or (len(word[0]) == 1 and text[word.end() : word.end() + 1] == "."):  # B. A. Miller
        return False
    head, apostrophe, _ = word[0].replace("’", "'").partition("'")
    head = head[0].upper() + head[1:]  # in a text without capitals
    return head in rules.starters or (bool(apostrophe) and f"{head}'" in rules.starters)

"""Tokens that are no plain words and are kept on request: addresses, e-mails, hashtags, names, numbers, emoji.

A pattern per kind in the syntax of the Rust crate `regex` cuts them out of a text; `kind_of` returns the kind of a match.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from nlpkit.errors import unknown_value

KINDS = ("url", "email", "hashtag", "mention", "number", "emoji")

# Between two parts of a word: don't, state-of-the-art, AT&T, col·legi; also accents and primes that are typed as apostrophes, full-width
# signs, and Hebrew gershayim. U+0091 and U+0092 are what ‘ and ’ of Windows-1252 become in a text that was once read as Latin-1; no
# text has these control characters otherwise.
JOINERS = "'’‘‛´`′＇&＆-‐‑－·‧״\x91\x92"

TAG_PATTERN = r"</?[A-Za-z][^<>]{0,300}>"  # HTML and XML
COLOUR_PATTERN = r"\x1b\[[0-9;?]*[A-Za-z]"  # of terminals
URL_PATTERN = r"(?i:https?://|ftp://|www\.)[^\s<>\"…]+"  # … stands where an address was cut off
EMAIL_PATTERN = r"[\p{L}\p{N}._%+\-]+@[\p{L}\p{N}\-]+(?:\.[\p{L}\p{N}\-]+)+"

_IN = r"[\p{L}\p{M}\p{N}_\x{00AD}\x{200C}\x{200D}]"
# \B: nothing of a word stands before the sign, so name@host and C# are no mention and no hashtag
_HASHTAG = r"\B[#＃][\p{N}_]*[\p{L}\p{M}][\p{L}\p{M}\p{N}_\x{200C}\x{200D}]*"
_MENTION = r"\B[@＠][\p{L}\p{N}_]+(?:[.\-][\p{L}\p{N}_]+)*(?:@[\p{L}\p{N}\-]+(?:\.[\p{L}\p{N}\-]+)+)?"
# Words that begin with digits (2nd, 24-hour, 1990s, 3D, 1.5-fold) come before numbers, which would cut them in two.
_DIGIT_WORD = rf"\p{{N}}+(?:['’.,\-‐‑]\p{{N}}+)*(?:['’&\-‐‑]?[\p{{L}}_]){_IN}*(?:['’‘&\-‐‑][\p{{L}}\p{{N}}]{_IN}*)*"
# 12, 1,000.50, 3:1, 01.02.2006, 2024-03-05, $12.40, 5€, 82%, $3.5bn; -5 and +49-30-1 where nothing stands before the sign
_NUMBER = (
    r"\B[+\-−]\p{N}+(?:[.,:/'’\-–]\p{N}+)*(?:[%‰\p{Sc}]|\b)|"
    r"\p{Sc}\p{N}+(?:[.,:/'’\-–]\p{N}+)*(?i:(?:[kmbt]|mn|bn|tn|mio|mrd)\b)?"
    r"|\p{N}+(?:[.,:/'’\-–]\p{N}+)*[%‰\p{Sc}]?"
)
# Signs that Unicode calls pictographic but that are type in most texts, unless a variation selector follows.
_TYPE = r"©®‼⁉™ℹ〰〽㊗㊙\x{2190}-\x{21FF}\x{25A0}-\x{25FF}"
_SIGN = r"[\p{Emoji}&&\p{Extended_Pictographic}]"
_TONE = r"(?:\x{FE0F}?\p{Emoji_Modifier}|\x{FE0F})?"
EMOJI_PATTERN = (
    r"[\x{1F1E6}-\x{1F1FF}]{2}"  # flags of countries
    r"|[0-9#*]\x{FE0F}?\x{20E3}"  # keycaps
    rf"|(?:[{_SIGN}--[{_TYPE}]]{_TONE}|[{_TYPE}&&{_SIGN}]\x{{FE0F}})"
    rf"(?:[\x{{E0020}}-\x{{E007F}}]+|(?:\x{{200D}}{_SIGN}{_TONE})*)"  # flags of regions; families, professions
)
_PATTERNS = (
    ("hashtag", _HASHTAG),
    ("mention", _MENTION),
    ("emoji", EMOJI_PATTERN),
    ("number", f"{_DIGIT_WORD}|{_NUMBER}"),
)

_PICTURES = re.compile(
    "[\U0001f1e6-\U0001f1ff\U0001f000-\U0001faff\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299\u00a9\u00ae]|[0-9#*]\ufe0f?\u20e3"
)
_CLOSING = {")": "(", "]": "[", "}": "{", "›": "‹", "»": "«", "”": "“"}


def check_kinds(keep: Iterable[str]) -> frozenset[str]:
    """Return the kinds to keep as a set.

    Raises:
        UsageError: a name is no kind.
    """
    names = frozenset(keep)
    for name in sorted(names - set(KINDS)):
        raise unknown_value("keep", name, KINDS)
    return names


def keep_patterns(keep: Iterable[str]) -> list[str]:
    """Return alternatives (Rust `regex` syntax) that cut the kinds to keep, to be tried before the words.

    Tags, addresses and e-mails come first whatever is kept: a number or a hashtag inside of one is no token.

    Raises:
        UsageError: a name is no kind.
    """
    names = check_kinds(keep)
    if not names:
        return []
    return [
        TAG_PATTERN,
        COLOUR_PATTERN,
        URL_PATTERN,
        EMAIL_PATTERN,
        *(pattern for kind, pattern in _PATTERNS if kind in names),
    ]


def kind_of(raw: str) -> str:
    """Return the kind of a raw token: one of `KINDS`, "tag", or "word" for everything else."""
    first = raw[:1]
    if first in ("<", "\x1b"):
        return "tag"
    if "://" in raw or raw[:4].lower() == "www.":
        return "url"
    if first in "@＠" and len(raw) > 1:
        return "mention"
    if "@" in raw:
        return "email"
    if _PICTURES.match(raw):
        return "emoji"
    if first in "#＃" and len(raw) > 1:
        return "hashtag"
    return "number" if _is_number(raw) else "word"


def is_whole(entry: str, *, emoji: bool = False) -> bool:
    """Return whether an entry of a list begins and ends as words do: of a+ and :d a tokenizer would leave a and d."""
    ends = [unicodedata.category(c)[0] for c in entry.strip()[:1] + entry.strip()[-1:]]
    return bool(ends) and all(kind in "LMN" or (emoji and kind in "SC") for kind in ends)


def _is_number(raw: str) -> bool:
    """Return whether a token is digits with marks between, before or after them; money may end in bn, m, k."""
    signless = raw[1:] if raw[:1] in "+-−" else raw
    first = signless[:1]
    if first and unicodedata.category(first) == "Sc":
        return signless[1:2].isnumeric()
    return first.isnumeric() and not any(map(str.isalpha, raw))


def trim_url(raw: str) -> str:
    """Return an address without the punctuation of the sentence around it: marks at its end and brackets never opened."""
    while raw:
        last = raw[-1]
        if last in ".,;:!?'\"’‘…*" or (last in _CLOSING and raw.count(last) > raw.count(_CLOSING[last])):
            raw = raw[:-1]
        else:
            break
    return raw

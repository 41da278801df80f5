"""One raw token to the terms it stands for; called once per distinct token, never per occurrence."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache

_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
_APOSTROPHES = {ord("’"): "'", ord("‘"): "'", ord("‐"): "-", ord("‑"): "-"}
_JOINERS = frozenset("_'’‘&-‐‑\u00ad\u200c\u200d")
# Scripts written without spaces. Ranges of the Unicode blocks in everyday use.
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ffff々〆"
_KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HIRAGANA = "\u3040-\u309f"
_SOUTH_EAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
_UNSPACED = re.compile(f"[{_HAN}{_KATAKANA}{_HIRAGANA}{_SOUTH_EAST}]")
_RUNS = re.compile(
    f"([{_HAN}]+)|([{_KATAKANA}]+)|([{_HIRAGANA}]+)|([{_SOUTH_EAST}]+)|([^{_HAN}{_KATAKANA}{_HIRAGANA}{_SOUTH_EAST}]+)"
)
MAX_TERM_LENGTH = 64


def normalize_token(raw: str, *, lower: bool = True) -> tuple[str, ...]:
    """Return the terms of a raw token: none for junk, one for a word, several where words are written unspaced.

    Steps: tags, addresses and e-mails fall away; entities become the characters they name; Unicode NFC; invisible hyphens
    and spaces removed; typographic apostrophes and hyphens made plain; lower case; a token without a letter (numbers)
    falls away, as does one longer than 64 characters. Runs of Han characters become overlapping pairs (the usual index
    terms of Chinese retrieval without a segmenter, Nie & Ren 1999); Katakana runs stay whole, Hiragana runs (endings,
    particles) fall away; Thai, Lao, Burmese and Khmer become overlapping triples.
    """
    if raw[0] == "<" or "@" in raw or "://" in raw or raw[:4].lower() == "www.":
        return ()
    if ";" in raw:
        return tuple(term for word in _read_entities(raw) for term in normalize_token(word, lower=lower))
    token = unicodedata.normalize("NFC", raw).translate(_INVISIBLE).translate(_APOSTROPHES).strip("_'-&")
    if lower:
        token = token.lower().replace("i\u0307", "i")  # Turkish İ: its lower case is i, not i with one more dot
    if _UNSPACED.search(token):
        return tuple(part for run in _RUNS.finditer(token) for part in _split_run(run))
    return (token,) if _is_word(token) else ()


def _read_entities(raw: str) -> list[str]:
    """Return the words of a token with character entities: a space, a bracket or a dash named by one ends a word."""
    text = html.unescape(raw).replace(";", " ")
    return "".join(c if c in _JOINERS or unicodedata.category(c)[0] in "LMN" else " " for c in text).split()


def _split_run(run: re.Match[str]) -> tuple[str, ...]:
    han, katakana, hiragana, south_east, other = run.groups()
    if han:
        return _shingles(han, 2)
    if katakana:
        return (katakana,) if len(katakana) > 1 else ()
    if hiragana:
        return ()
    if south_east:
        return _shingles(south_east, 3)
    other = other.strip("_'-&")
    return (other,) if _is_word(other) else ()


@lru_cache(maxsize=4096)
def _shingles(run: str, n: int) -> tuple[str, ...]:
    return (run,) if len(run) <= n else tuple(run[i : i + n] for i in range(len(run) - n + 1))


def _is_word(token: str) -> bool:
    return 1 < len(token) <= MAX_TERM_LENGTH and any(c.isalpha() for c in token)

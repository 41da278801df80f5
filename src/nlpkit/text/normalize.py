"""One raw token to the terms it stands for; called once per distinct token, never per occurrence."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.text.kinds import JOINERS, kind_of, trim_url
from nlpkit.text.scripts import RUNS, UNSPACED
from nlpkit.text.segment import ngrams

TURKIC = ("tr", "az")  # languages that write I without a dot as ı, and İ as i
MAX_TERM_LENGTH = 64
MAX_ADDRESS_LENGTH = 2048

_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
_MARKS = {
    **dict.fromkeys(map(ord, "’‘‛ʼ´`′׳\x91\x92"), "'"),
    **dict.fromkeys(map(ord, "‐‑"), "-"),
    **dict.fromkeys(map(ord, "״”"), '"'),
}
_INVISIBLE_AND_MARKS = {**dict.fromkeys(_INVISIBLE), **_MARKS}
# Other forms of letters, digits and signs: ligatures (ﬁ), full and half width (Ａ ｱ), the long s, Ĳ, Ǆ and ŀ, mathematical
# alphabets, Arabic letters by their place in a word. PDFs, scanners and keyboards write them for the plain ones, which
# NFKC gives. Its other changes (½ ² ® ①) would lose something.
_FORMS = re.compile(
    "[\u0132\u0133\u013f\u0140\u0149\u017f\u01c4-\u01cc\u01f1-\u01f3\u02bc\u210a-\u2113\u2115\u2119-\u211d\u2124\u2128\u212c\u212d\u212f-\u2131\u2133\u2134"
    "\u213c-\u213f\u2145-\u2149\ufb00-\ufb06\ufb13-\ufb17\ufb20-\ufb28\ufb4f-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdf9\ufe70-\ufefc\uff01-\uffdc"
    "\U0001d400-\U0001d7ff\U0001ee00-\U0001eebb]"
)
_IN_WORDS = frozenset(f"_\u00ad\u200c\u200d{JOINERS}")
_HEBREW = "[\u05d0-\u05f2][\u0591-\u05c7]*"
_ENDS_GERESH = re.compile(f"{_HEBREW}'$")
_QUOTED_HEBREW = re.compile(f'(?<=[\u05d0-\u05f2\u0591-\u05c7])["”](?={_HEBREW})')
_GERSHAYIM = re.compile(f"(?<=[\u05d0-\u05f2\u0591-\u05c7])''(?={_HEBREW})")
_EDGES = "_'-&"


@dataclass(frozen=True, slots=True)
class Normalizer:
    """The terms that a raw token stands for: no term for junk, one for a word, several where words are written unspaced.

    Steps: tags fall away, and so do addresses, e-mails, hashtags, names, numbers and emoji that `keep` does not name
    (kinds.KINDS); entities become the characters they name; Unicode NFC; invisible hyphens and spaces removed;
    typographic apostrophes, hyphens and other forms of letters made plain (`plain_form`); an elided article (l', d', dell')
    and the possessive 's cut off; lower case; lemma; stem.
    A word without a letter falls away, as does one longer than 64 characters. Runs of Chinese, Japanese, Thai, Lao,
    Burmese and Khmer go through `segment`. A word that `stop` knows passes as it is, so that a list of stop words finds
    it whatever its lemma would be. Nothing depends on the words before or after.
    """

    lower: bool = True
    keep: frozenset[str] = frozenset()
    segment: Callable[[str], Sequence[str]] = ngrams
    lemma: Callable[[str], str] | None = None
    stem: Callable[[str], str] | None = None
    stop: Callable[[str], bool] | None = None  # of a lower-cased word
    clitics: frozenset[str] = frozenset()  # what is cut off, lower-cased, with its apostrophe: l', d', 's
    whole: Callable[[str], bool] | None = None  # of a lower-cased word: no clitic is cut off it
    min_length: int = 2  # of words in scripts with spaces

    def __call__(self, raw: str) -> tuple[str, ...]:
        """Return the terms of a raw token."""
        if raw.isascii() and raw.isalpha():  # nearly every word of most corpora: nothing to clean
            if not self.min_length <= len(raw) <= MAX_TERM_LENGTH:
                return ()
            if self.lower and self.lemma is None and self.stem is None:
                return (raw.lower(),)
            return self._finish(raw)
        return self._slow(raw) if raw else ()

    def _slow(self, raw: str) -> tuple[str, ...]:
        if (
            raw.isalpha()
            and not UNSPACED.search(raw)
            and not _FORMS.search(raw)
            and unicodedata.is_normalized("NFC", raw)
        ):
            return self._word(raw)
        if self.keep and (kind := kind_of(raw)) in self.keep:
            return self._kept(raw, kind)
        if raw[0] in "<\x1b" or "@" in raw or "://" in raw or raw[:4].lower() == "www.":
            return ()
        if ";" in raw:
            return tuple(term for word in _read_entities(raw) for term in self(word))
        token = plain_form(raw).lstrip(_EDGES).rstrip("_-&")
        if token[-1:] == "'" and not _ENDS_GERESH.search(token):
            token = token.rstrip(_EDGES)
        if UNSPACED.search(token):
            return tuple(term for run in RUNS.finditer(token) for term in self._run(run))
        return self._word(token)

    def _run(self, run: re.Match[str]) -> tuple[str, ...]:
        east, south_east, other = run.groups()
        if other is None:
            return tuple(word for word in self.segment(east or south_east) if _is_term(word))
        if "number" in self.keep and kind_of(other) == "number":
            return self._kept(other, "number")
        return self._word(other.strip(_EDGES))

    def _word(self, token: str) -> tuple[str, ...]:
        if self.clitics and "'" in token and not (self.whole is not None and self.whole(lower_case(token))):
            token = self._without_clitics(token)
        return self._finish(token) if len(token) >= self.min_length and _is_term(token) else ()

    def _without_clitics(self, token: str) -> str:
        head, _, rest = token.partition("'")
        if f"{head.lower()}'" in self.clitics:
            token = rest
        rest, _, tail = token.rpartition("'")
        is_cut = f"'{lower_case(tail)}" in self.clitics and (tail not in "sS" or _is_term(rest))  # the 70's are not 70
        return rest if is_cut else token

    def _finish(self, token: str) -> tuple[str, ...]:
        term = lower_case(token) if self.lower else token
        if self.lemma is None and self.stem is None:
            return (term,)
        if self.stop is not None and self.stop(lower_case(token)):
            return (term,)
        if self.lemma is not None:
            term = self.lemma(token)
            if self.lower:
                term = lower_case(term)
        if self.stem is not None:
            term = self.stem(term).rstrip("'")  # Porter's leaves car' of car's
        return (term,) if term else ()

    def _kept(self, raw: str, kind: str) -> tuple[str, ...]:
        token = html.unescape(raw)
        token = unicodedata.normalize("NFC", token if kind in ("url", "email") else _FORMS.sub(_plain, token))
        if kind == "url":
            token = trim_url(token)
        elif kind == "email":
            token = token.strip(".-+%_").lower()
        elif kind in ("hashtag", "mention"):
            token = "#@"[kind == "mention"] + token[1:].translate(_INVISIBLE).rstrip(".-")
        elif kind == "number":
            token = token.replace("−", "-")
        if self.lower and kind in ("hashtag", "mention", "number"):
            token = lower_case(token)
        return (token,) if 0 < len(token) <= MAX_ADDRESS_LENGTH else ()


def plain_form(word: str) -> str:
    """Return a word in NFC, with plain apostrophes and hyphens, without invisible characters, with plain forms of its letters."""
    if word.isascii():
        return word.replace("`", "'")
    word = unicodedata.normalize("NFC", _FORMS.sub(_plain, word)).translate(_INVISIBLE_AND_MARKS)
    return _GERSHAYIM.sub('"', word) if "''" in word else word


def _plain(forms: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", forms[0]).strip()  # marks without a letter stand on a space


def lower_case(token: str) -> str:
    """Return a token in lower case; the lower case of Turkish İ is i, not i with one more dot, and ß stays."""
    return token.lower() if token.isascii() else token.lower().replace("i\u0307", "i")


def _is_term(token: str) -> bool:
    return len(token) <= MAX_TERM_LENGTH and any(map(str.isalpha, token))


def _read_entities(raw: str) -> list[str]:
    """Return the words of a token with character entities: a space, a bracket or a dash named by one ends a word."""
    text = _QUOTED_HEBREW.sub("״", html.unescape(raw)).replace(";", " ")
    return "".join(c if c in _IN_WORDS or unicodedata.category(c)[0] in "LMN" else " " for c in text).split()


def lower_dotted(texts: pa.Array) -> pa.Array:
    """Return texts (D,) of Turkish or Azerbaijani whose I and İ are small letters, ı and i; other letters are left as they are."""
    for capital, small in (("I\u0307", "i"), ("İ", "i"), ("I", "ı")):
        texts = pc.replace_substring(texts, capital, small)
    return texts

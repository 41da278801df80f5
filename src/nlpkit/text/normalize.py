"""The normal form of tokens: lower case, lemmas or stems, worked out once per distinct token.

Parts, in this order:
- Base forms of words by dictionary: simplemma, which knows 54 languages and needs no download.
- Stems of words: the Snowball algorithms and Porter's of 1980.
- One raw token to the terms it stands for; called once per distinct token, never per occurrence.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import MissingError, UsageError
from nlpkit.platform.documents.regex import RUNS, UNSPACED
from nlpkit.text.segment import ngrams
from nlpkit.text.stopwords import stop_words
from nlpkit.text.tokenize import JOINERS, kind_of, trim_url

_ALIASES = {"no": "nb", "hr": "hbs", "sr": "hbs", "bs": "hbs", "sh": "hbs"}
_NOUNS_CAPITALISED = frozenset({"de", "lb"})
_ACRONYM_LENGTH = 4


def lemmatizer(codes: Sequence[str], *, cased: bool = False) -> Callable[[str], str]:
    """Return the function from a word to its base form, which may be capitalised: Häuser → Haus, am → be, cars → car.

    Inflected forms are looked up; what the dictionary does not know is split into known parts or falls under a rule of its
    language, else it stays. With several languages the first whose dictionary has the word decides, and an unknown word
    stays as it is. In German a capital tells the noun from the verb (Bäume, bäume), so the word should come as it was
    written (`cased`); when it was lower-cased before, the noun is taken where both are known (häuser, frage, land), but
    never for a stop word. English and the others are looked up in lower case first.

    Args:
        codes: ISO 639-1 codes, the main language first.
        cased: words come in the case of the text.

    Raises:
        UsageError: no language, or one without a dictionary.
        MissingError: simplemma is not installed.
    """
    names = [_ALIASES.get(code, code) for code in codes]
    known = lemma_languages()
    if not names:
        raise UsageError(f"`lemma=dict` needs a language; name it with `language`: {', '.join(known)}")
    for code, name in zip(codes, names, strict=True):
        if name not in known:
            raise UsageError(
                f"`lemma=dict`: no dictionary of lemmas exists for '{code}'; the languages are {', '.join(known)}",
                parameter="lemma",
            )
    readers = [_reader(name, cased=cased, alone=len(names) == 1) for name in dict.fromkeys(names)]
    if len(readers) == 1:
        return readers[0]

    def lemma_of_first(word: str) -> str:
        return next((lemma for reader in readers if (lemma := reader(word))), word)

    return lemma_of_first


def has_lemmas(code: str) -> bool:
    """Return whether there is a dictionary for a language code."""
    return _ALIASES.get(code, code) in lemma_languages()


def lemma_languages() -> tuple[str, ...]:
    """Return the codes of the languages with a dictionary; hbs serves Bosnian, Croatian and Serbian, nb Norwegian.

    Raises:
        MissingError: simplemma is not installed.
    """
    if find_spec("simplemma") is None:
        raise MissingError("lemmatising needs the package simplemma; install it: pip install simplemma")
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    return tuple(sorted(SUPPORTED_LANGUAGES))


def _reader(code: str, *, cased: bool, alone: bool) -> Callable[[str], str]:
    """Return the lemma function of one language; one of several answers "" for a word its dictionary does not have."""
    from simplemma import Lemmatizer
    from simplemma.strategies import DefaultStrategy, DictionaryLookupStrategy

    lookup = DictionaryLookupStrategy()
    lemmatize = Lemmatizer(cache_max_size=0, lemmatization_strategy=DefaultStrategy(greedy=False)).lemmatize

    def lower_first(word: str) -> str:
        lemma: str = lemmatize(word.lower(), code)
        return lemma

    def as_written(word: str) -> str:
        if word.isupper() and 1 < len(word) <= _ACRONYM_LENGTH:  # US, CDU
            return word
        lemma: str = lemmatize(word, code)
        if not word[:1].isupper() or lemma.lower() == word.lower():
            return lemma
        # 'Schöne Häuser' begins a sentence, 'die Deutschen' is the adjective made a noun: schön, deutsch
        other: str = lemmatize(word.lower(), code)
        return other if _is_adjective(other, lemma) else lemma

    function_words = stop_words([code])

    def noun_first(word: str) -> str:
        low = word.lower()
        plain: str = lemmatize(low, code)
        if low in function_words or plain == low:
            return plain
        noun: str = lemmatize(low.capitalize(), code)
        return noun if noun[:1].isupper() and not _is_adjective(plain, noun) else plain

    read = lower_first
    if code in _NOUNS_CAPITALISED:
        read = as_written if cased else noun_first
    if alone:
        return read
    return lambda word: read(word) if lookup.get_lemma(word, code) is not None else ""


def _is_adjective(lemma: str, noun: str) -> bool:
    """Return whether a noun is only the adjective `lemma` with an ending: gut, Guter."""
    return noun.lower() != lemma.lower() and noun.lower().startswith(lemma.lower())


# ------------------------------------------------------------------------------------------------------------------------
# Stems of words: the Snowball algorithms and Porter's of 1980.

# ISO 639-1 code → algorithm of the package snowballstemmer
_ALGORITHMS = {
    "ar": "arabic", "hy": "armenian", "eu": "basque", "ca": "catalan", "cs": "czech", "da": "danish", "nl": "dutch",
    "en": "english", "eo": "esperanto", "et": "estonian", "fi": "finnish", "fr": "french", "de": "german", "el": "greek",
    "hi": "hindi", "hu": "hungarian", "id": "indonesian", "ga": "irish", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "no": "norwegian", "nb": "norwegian", "fa": "persian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho", "es": "spanish", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


def stemmer(name: str) -> Callable[[str], str]:
    """Return the function from a lower-cased word to its stem (Porter 1980; Snowball, Porter 2001).

    Always the Python implementation: the C one may be another version with other stems. A stem is no word: German stems
    have no umlauts (häuser → haus, übergänge → ubergang), as the algorithm says. Not for several threads at a time.

    Args:
        name: `porter`, the English name of a language, or its ISO 639-1 code.

    Raises:
        UsageError: there is no stemmer of that name.
        MissingError: snowballstemmer is not installed.
    """
    key = name.strip().lower()
    algorithm = _ALGORITHMS.get(key, key)
    if find_spec("snowballstemmer") is None:
        raise MissingError("stemming needs the package snowballstemmer; install it: pip install snowballstemmer")
    if algorithm not in _available():
        near = get_close_matches(key, [*_available(), *_ALGORITHMS], n=1)
        hint = f"; did you mean '{near[0]}'?" if near else "."
        raise UsageError(f"`stem={name}` is not known{hint} There are: {', '.join(stemmer_names())}")
    class_name = "".join(part.capitalize() for part in algorithm.split("_")) + "Stemmer"
    stem: Callable[[str], str] = getattr(import_module(f"snowballstemmer.{algorithm}_stemmer"), class_name)().stemWord
    return stem


def stemmer_names() -> tuple[str, ...]:
    """Return the names stemmers go by, with the language code where there is one: `german (de)`."""
    codes = {algorithm: code for code, algorithm in reversed(_ALGORITHMS.items())}
    return tuple(f"{name} ({codes[name]})" if name in codes else name for name in _available())


@lru_cache(maxsize=1)
def _available() -> tuple[str, ...]:
    spec = find_spec("snowballstemmer")
    folders = spec.submodule_search_locations if spec else None
    modules = [module.name for module in iter_modules(folders)] if folders else []
    return tuple(sorted(name.removesuffix("_stemmer") for name in modules if name.endswith("_stemmer")))


# ------------------------------------------------------------------------------------------------------------------------
# One raw token to the terms it stands for; called once per distinct token, never per occurrence.

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


def same_word(a: str, b: str) -> bool:
    """Return whether two terms are forms of one word.

    They are where they share a prefix of at least four letters that leaves at most three letters of either (rate, rates; bank, banking),
    or where one holds the other whole with at least four letters (court, high-court).
    """
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) >= 4 and shorter in longer:
        return True
    common = 0
    while common < len(shorter) and a[common] == b[common]:
        common += 1
    return common >= 4 and len(longer) - common <= 3

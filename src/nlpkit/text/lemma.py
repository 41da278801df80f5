"""Base forms of words by dictionary: simplemma, which knows 54 languages and needs no download."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec

from nlpkit.errors import MissingError, UsageError
from nlpkit.text.stopwords import stop_words

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

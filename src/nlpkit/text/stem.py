"""Stems of words: the Snowball algorithms and Porter's of 1980."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

from nlpkit.errors import MissingError, UsageError

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

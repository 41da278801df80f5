"""Segmentation of scripts without spaces between words: Chinese, Japanese, Thai.

姚明进入总决赛   words 姚明 | 进入 | 总决赛    characters 姚 | 明 | 进 | 入 | 总 | 决 | 赛    ngrams 姚明 | 明进 | 进入 | 入总 …
"""

from __future__ import annotations

import logging
import os
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec

from nlpkit.errors import install_command, missing_extra, unknown_value
from nlpkit.platform.documents.regex import KANA, SCRIPTS, THAI

SEGMENTERS = ("auto", "ngrams", "characters", "words")
Segment = Callable[[str], Sequence[str]]

_HAN_N = 2
_SOUTH_EAST_N = 3
_PACKAGES = {"zh": ("jieba",), "ja": ("fugashi", "unidic_lite"), "th": ("pythainlp",)}


def segmenter(name: str, languages: Sequence[str] = ()) -> Segment:
    """Return the function that cuts a run of unspaced script into terms.

    auto = ngrams, which needs no dictionary and so gives the same on every machine. words: jieba for Chinese, MeCab with
    UniDic (surface forms) for Japanese, newmm for Thai, ngrams for Lao, Burmese and Khmer. A run with Kana is Japanese as a
    whole; one of Han alone is Chinese, unless `languages` (ISO 639-1) has ja and not zh.

    Raises:
        UsageError: there is no segmenter of that name.
        MissingError: the package for one of the languages, or for a run that is met later, is not installed.
    """
    if name in ("auto", "ngrams"):
        return ngrams
    if name == "characters":
        return characters
    if name != "words":
        raise unknown_value("segment", name, SEGMENTERS)
    for code in languages:
        _check_packages(code)
    return partial(_words, han_is_japanese="ja" in languages and "zh" not in languages)


def ngrams(run: str) -> list[str]:
    """Return the index terms of a run that need no dictionary.

    Overlapping pairs of Han characters (the usual terms of Chinese retrieval without a segmenter, Nie & Ren 1999) and
    triples of Thai, Lao, Burmese and Khmer; Katakana runs stay whole, Hiragana runs (endings, particles) fall away.
    """
    terms: list[str] = []
    for part in SCRIPTS.finditer(run):
        han, katakana, _, south_east = part.groups()
        if han:
            terms += _shingles(han, _HAN_N)
        elif katakana and len(katakana) > 1:
            terms.append(katakana)
        elif south_east:
            terms += _shingles(south_east, _SOUTH_EAST_N)
    return terms


def is_piece(term: str) -> bool:
    """Return whether `ngrams` may have cut a term: it is as many characters of Han or of South East Asian script as its pieces have."""
    if len(term) not in (_HAN_N, _SOUTH_EAST_N):
        return False
    part = SCRIPTS.fullmatch(term)
    return part is not None and (part[1] if len(term) == _HAN_N else part[4]) is not None


def overlap(x: str, y: str) -> bool:
    """Return whether y may be the piece after x, of which it has all characters but the first: 打电 电话."""
    return len(x) == len(y) and x[1:] == y[:-1]


def characters(run: str) -> list[str]:
    """Return every character of a run with the marks on it (lecture: treat each character as token)."""
    graphemes: list[str] = []
    for char in run:
        if graphemes and unicodedata.category(char)[0] == "M":
            graphemes[-1] += char
        else:
            graphemes.append(char)
    return graphemes


def _words(run: str, *, han_is_japanese: bool) -> Sequence[str]:
    if THAI.match(run):
        return _thai()(run)
    if KANA.search(run):
        return _japanese()(run)
    if SCRIPTS.match(run)[1]:  # type: ignore[index]  # a run is of these scripts
        return _japanese()(run) if han_is_japanese else _chinese()(run)
    return ngrams(run)


def _shingles(run: str, n: int) -> list[str]:
    return [run] if len(run) <= n else [run[i : i + n] for i in range(len(run) - n + 1)]


def words_hint(codes: Sequence[str], option: str = "segment=words") -> str:
    """Return how to split texts of languages into words: the option, and what must be installed before; "" without such a language."""
    if not set(codes) & set(_PACKAGES):
        return ""
    missing = any(find_spec(package) is None for code in codes for package in _PACKAGES.get(code, ()))
    return f"`{option}` splits them into words" + (f"; first: {install_command('asian')}" if missing else "")


def _check_packages(code: str) -> None:
    names = {"zh": "Chinese", "ja": "Japanese", "th": "Thai"}
    if any(find_spec(package) is None for package in _PACKAGES.get(code, ())):
        raise missing_extra(f"cutting {names[code]} into words", "asian")


@lru_cache(maxsize=1)
def _chinese() -> Segment:
    _check_packages("zh")
    with warnings.catch_warnings():  # of an old setuptools, at import
        warnings.simplefilter("ignore")
        import jieba
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    # what initialize() does, without the cache that it would read from and write to the shared temporary folder
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    cut: Segment = tokenizer.lcut
    return cut


@lru_cache(maxsize=1)
def _japanese() -> Segment:
    _check_packages("ja")
    import fugashi
    import unidic_lite  # type: ignore[import-untyped,unused-ignore]

    folder = unidic_lite.DICDIR  # named, so that a larger dictionary on the machine changes nothing
    tagger = fugashi.GenericTagger(f'-Owakati -r "{folder}/mecabrc" -d "{folder}"')

    def cut(run: str) -> list[str]:
        words: list[str] = tagger.parse(run).split()
        return words

    return cut


@lru_cache(maxsize=1)
def _thai() -> Segment:
    _check_packages("th")
    before = os.environ.get("PYTHAINLP_READ_ONLY")
    os.environ["PYTHAINLP_READ_ONLY"] = "1"  # its import would make a folder in the user's home
    try:
        from pythainlp.tokenize import newmm
    finally:
        if before is None:
            del os.environ["PYTHAINLP_READ_ONLY"]
        else:
            os.environ["PYTHAINLP_READ_ONLY"] = before
    return partial(newmm.segment, safe_mode=True)

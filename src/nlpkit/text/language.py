"""Languages: their codes and names, and the identification of a corpus's language.

Parts, in this order:
- The languages of ISO 639-1: their codes of two and three letters, and their English names.
- py3langid's model of languages, with a copy in the user's cache that is read in a fifth of the time.
- Language identification of a corpus.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import islice
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.documents.inputs import OPENING_TEXTS
from nlpkit.platform.documents.selection import SAMPLE_SEED
from nlpkit.text.stopwords import has_stop_words, stop_word_languages, stop_words

if TYPE_CHECKING:
    import pyarrow as pa

# Two letters, three letters (terminological/bibliographic where there are two), names.
_ISO_639 = """
aa aar Afar; ab abk Abkhazian; ae ave Avestan; af afr Afrikaans; ak aka Akan; am amh Amharic; an arg Aragonese; ar
ara Arabic; as asm Assamese; av ava Avaric; ay aym Aymara; az aze Azerbaijani; ba bak Bashkir; be bel Belarusian; bg
bul Bulgarian; bi bis Bislama; bm bam Bambara; bn ben Bengali/Bangla; bo bod/tib Tibetan; br bre Breton; bs bos
Bosnian; ca cat Catalan/Valencian; ce che Chechen; ch cha Chamorro; co cos Corsican; cr cre Cree; cs ces/cze Czech;
cu chu Church Slavic; cv chv Chuvash; cy cym/wel Welsh; da dan Danish; de deu/ger German; dv div Divehi/Maldivian;
dz dzo Dzongkha; ee ewe Ewe; el ell/gre Greek; en eng English; eo epo Esperanto; es spa Spanish/Castilian; et est
Estonian; eu eus/baq Basque; fa fas/per Persian/Farsi; ff ful Fulah; fi fin Finnish; fj fij Fijian; fo fao Faroese;
fr fra/fre French; fy fry Western Frisian; ga gle Irish; gd gla Scottish Gaelic; gl glg Galician; gn grn Guarani; gu
guj Gujarati; gv glv Manx; ha hau Hausa; he heb Hebrew; hi hin Hindi; ho hmo Hiri Motu; hr hrv Croatian; ht hat
Haitian; hu hun Hungarian; hy hye/arm Armenian; hz her Herero; ia ina Interlingua; id ind Indonesian; ie ile
Interlingue; ig ibo Igbo; ii iii Sichuan Yi; ik ipk Inupiaq; io ido Ido; is isl/ice Icelandic; it ita Italian; iu
iku Inuktitut; ja jpn Japanese; jv jav Javanese; ka kat/geo Georgian; kg kon Kongo; ki kik Kikuyu; kj kua Kuanyama;
kk kaz Kazakh; kl kal Kalaallisut/Greenlandic; km khm Khmer; kn kan Kannada; ko kor Korean; kr kau Kanuri; ks kas
Kashmiri; ku kur Kurdish; kv kom Komi; kw cor Cornish; ky kir Kirghiz/Kyrgyz; la lat Latin; lb ltz Luxembourgish; lg
lug Ganda; li lim Limburgish; ln lin Lingala; lo lao Lao; lt lit Lithuanian; lu lub Luba-Katanga; lv lav Latvian; mg
mlg Malagasy; mh mah Marshallese; mi mri/mao Maori; mk mkd/mac Macedonian; ml mal Malayalam; mn mon Mongolian; mr
mar Marathi; ms msa/may Malay; mt mlt Maltese; my mya/bur Burmese; na nau Nauru; nb nob Norwegian Bokmål; nd nde
North Ndebele; ne nep Nepali; ng ndo Ndonga; nl nld/dut Dutch/Flemish; nn nno Norwegian Nynorsk; no nor Norwegian;
nr nbl South Ndebele; nv nav Navajo; ny nya Chichewa/Nyanja; oc oci Occitan; oj oji Ojibwa; om orm Oromo; or ori
Oriya/Odia; os oss Ossetian; pa pan Punjabi/Panjabi; pi pli Pali; pl pol Polish; ps pus Pashto; pt por Portuguese;
qu que Quechua; rm roh Romansh; rn run Rundi; ro ron/rum Romanian/Moldavian; ru rus Russian; rw kin Kinyarwanda; sa
san Sanskrit; sc srd Sardinian; sd snd Sindhi; se sme Northern Sami; sg sag Sango; sh hbs Serbo-Croatian; si sin
Sinhala; sk slk/slo Slovak; sl slv Slovenian/Slovene; sm smo Samoan; sn sna Shona; so som Somali; sq sqi/alb
Albanian; sr srp Serbian; ss ssw Swati; st sot Southern Sotho; su sun Sundanese; sv swe Swedish; sw swa Swahili; ta
tam Tamil; te tel Telugu; tg tgk Tajik; th tha Thai; ti tir Tigrinya; tk tuk Turkmen; tl tgl Tagalog/Filipino; tn
tsn Tswana; to ton Tonga; tr tur Turkish; ts tso Tsonga; tt tat Tatar; tw twi Twi; ty tah Tahitian; ug uig Uighur;
uk ukr Ukrainian; ur urd Urdu; uz uzb Uzbek; ve ven Venda; vi vie Vietnamese; vo vol Volapük; wa wln Walloon; wo wol
Wolof; xh xho Xhosa; yi yid Yiddish; yo yor Yoruba; za zha Zhuang; zh zho/chi Chinese; zu zul Zulu
"""


def _table() -> tuple[dict[str, str], dict[str, str]]:
    """Return the code of everything that names a language, and the first name of each code."""
    codes: dict[str, str] = {}
    names: dict[str, str] = {}
    for entry in " ".join(_ISO_639.split()).split("; "):
        two, three, name = entry.split(" ", 2)
        names[two] = name.partition("/")[0]
        codes |= dict.fromkeys((two, *three.split("/"), *name.lower().split("/")), two)
    return codes, names


_CODES, _NAMES = _table()


def language_code(name: str) -> str:
    """Return the ISO 639-1 code of a language: de for de, deu, ger and German, in any case.

    Raises:
        UsageError: nothing is called that; names what is written alike.
    """
    code = _CODES.get(name.strip().lower())
    if code is None:
        raise UsageError(
            f"unknown language '{name}'{near_languages(name)}; give an ISO 639 code or an English name, such as de, deu or "
            "German, or 'auto' or 'none'",
            parameter="language",
        )
    return code


def has_code(code: str) -> bool:
    """Return whether a code is one of ISO 639-1; the detector knows languages, such as Kabyle (kab), that have none."""
    return code in _NAMES


def language_name(code: str) -> str:
    """Return the English name of an ISO 639-1 code, the code itself where it is none."""
    return _NAMES.get(code, code)


def near_languages(name: str) -> str:
    """Return the languages whose names are written like this in brackets, for a message; nothing where there are none."""
    near = get_close_matches(name.strip().lower(), _CODES, n=8, cutoff=0.5)
    codes = list(dict.fromkeys(_CODES[key] for key in near))[:3]
    return f" (near: {', '.join(f'{code} {_NAMES[code]}' for code in codes)})" if codes else ""


# ------------------------------------------------------------------------------------------------------------------------
# py3langid's model of languages, with a copy in the user's cache that is read in a fifth of the time.
#
# The package has its model compressed with LZMA, which takes a third of a second to read, more than all else that a command does
# with ten documents. The first process that needs the model leaves the same numbers there, compressed with Zstandard: 7 MB in
# `$XDG_CACHE_HOME/nlpkit` (~/.cache/nlpkit), named by the sha256 of the package's file, with a checksum. Where the folder cannot
# be written, or the copy is damaged, the package's own file is read.

ARRAYS = ("nb_ptc", "nb_pc", "tk_nextmove", "tk_row", "tk_output")  # of py3langid's LanguageIdentifier
LEVEL = 1  # of Zstandard; 3 takes twice as long for 5 % less


def language_identifier() -> Any:
    """Return py3langid's identifier of languages, its model read. Raises OSError when there is no room to unpack it."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    packed = Path(MODEL_DIR, MODEL_FILE).read_bytes()
    folder = cache_folder()
    if folder is None:
        return LanguageIdentifier.from_model_file(MODEL_FILE)
    copy = folder / f"languages-{hashlib.sha256(packed).hexdigest()[:24]}.zst"
    identifier = _read(copy)
    if identifier is None:
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
        with suppress(OSError):  # read only, or full: the next process reads the package's file, too
            _write(copy, identifier)
    return identifier


def cache_folder() -> Path | None:
    """Return the folder of what nlpkit keeps for the user from one run to the next, None for a user without a home."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base / "nlpkit"
    with suppress(RuntimeError):
        return Path.home() / ".cache" / "nlpkit"
    return None


def _read(path: Path) -> Any:
    """Return the identifier of a copy, None where there is none that is whole."""
    import zstandard
    from py3langid.langid import LanguageIdentifier

    try:
        data = memoryview(zstandard.ZstdDecompressor().decompress(path.read_bytes()))
    except (OSError, zstandard.ZstdError):  # the checksum of a file that is read says that it is what was written
        return None
    length = int.from_bytes(data[:8], "little")
    head = json.loads(bytes(data[8 : 8 + length]))
    arrays, at = {}, 8 + length
    for name, (dtype, shape) in head["arrays"].items():
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, dtype, count, at).reshape(shape)
        at += arrays[name].nbytes
    return LanguageIdentifier(
        arrays["nb_ptc"],
        arrays["nb_pc"],
        head["classes"],
        arrays["tk_nextmove"].data,
        arrays["tk_output"].tolist(),
        tk_row=arrays["tk_row"].data,
    )


def _write(path: Path, identifier: Any) -> None:
    """Leave a copy of the model of an identifier; other processes see all of it or nothing."""
    import zstandard

    arrays: dict[str, npt.NDArray[Any]] = {name: np.ascontiguousarray(getattr(identifier, name)) for name in ARRAYS}
    head = {
        "classes": list(identifier.nb_classes),
        "arrays": {name: (array.dtype.str, array.shape) for name, array in arrays.items()},
    }
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)  # the arrays begin at their own alignment
    path.parent.mkdir(parents=True, exist_ok=True)
    pieces = [len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in arrays.values())]
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(zstandard.ZstdCompressor(LEVEL, write_checksum=True).compress(b"".join(pieces)))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


# ------------------------------------------------------------------------------------------------------------------------
# Language identification of a corpus.

__all__ = [
    "LanguageShare",
    "detect_languages",
    "foreign_language",
    "has_stop_words",
    "language_code",
    "stop_list_code",
    "stop_words",
]

SAMPLE_DOCS = OPENING_TEXTS
SAMPLE_CHARS = 1000
MIN_SHARE = 0.1
MIN_CHARS = 200
MIN_LETTERS = 20  # of a text that votes alone
FEW_WORDS = 20
CERTAIN = 0.999  # of a vote
# To the model headlines in Mandarin look like Wu, and names with English words like Nigerian Pidgin.
_TAKEN_FOR = {"wuu": "zh", "pcm": "en"}


@dataclass(frozen=True, slots=True)
class LanguageShare:
    """A language (ISO 639-1 code) and its share of the sampled characters, in (0, 1]."""

    code: str
    share: float


def prepare_detection() -> None:
    """Start loading the model in a thread: other work can be done in that time."""
    threading.Thread(target=_prepare, daemon=True, name="nlpkit-language").start()


def _prepare() -> None:
    with suppress(Exception):  # the code that needs the model loads it again, and reports what is wrong
        _classifier()


@cache
def _identifier() -> Any:
    """Return py3langid's identifier with its model. Raises InputError when there is no room to unpack it."""
    try:
        return language_identifier()
    except OSError as error:
        folder = tempfile.tempdir or "the temporary folder"
        raise InputError(
            f"cannot unpack the model that finds languages in {folder}: {error.strerror or error}; set TMPDIR to a "
            "folder with free space"
        ) from None


def _classifier() -> Callable[[str], tuple[str, float]]:
    """Return the function that names the language of a text and its probability, with its model loaded. Raises what `_identifier` does."""
    with _LOADING:
        rank = _identifier().rank

    def classify(text: str) -> tuple[str, float]:
        ranked = rank(text)  # logarithms of what Bayes' theorem gives for each language, but for the same factor
        weights: dict[str, float] = {}
        for code, score in ranked:
            known = _TAKEN_FOR.get(code, code)
            weights[known] = weights.get(known, 0.0) + exp(score - ranked[0][1])
        best = max(weights, key=weights.__getitem__)
        return best, weights[best] / sum(weights.values())

    return classify


_LOADING = threading.Lock()


def detect_languages(texts: Iterable[str], *, least: float = MIN_SHARE) -> tuple[LanguageShare, ...]:
    """Return the languages of a sample of texts, largest share of characters first; shares under `least` are left out.

    Each different one of the first 300 texts votes with its first 1000 characters (py3langid, the model of Lui & Baldwin 2012),
    where its language is certain: it has at least 20 letters and the model gives it 99.9 %. The others vote together, if that is
    certain then, or half of them are stop words of the language. Else none is known of a few words. A word that is repeated is no
    further evidence.
    """
    from threadpoolctl import threadpool_limits

    classify = _classifier()
    weights: Counter[str] = Counter()
    unsure: list[str] = []
    with threadpool_limits(1, user_api="blas"):  # else it spins on every core for products of a few numbers
        for piece in dict.fromkeys(text[:SAMPLE_CHARS] for text in islice(texts, SAMPLE_DOCS)):
            letters = sum(map(str.isalpha, piece))
            code, certainty = classify(_distinct(piece)) if letters >= MIN_LETTERS else ("", 0.0)
            if certainty >= CERTAIN:
                weights[_TAKEN_FOR.get(code, code)] += letters
            elif letters:
                unsure.append(piece)
        for piece in _together(unsure):
            code, certainty = classify(piece)
            if certainty >= CERTAIN or _are_stop_words(piece, code):
                weights[_TAKEN_FOR.get(code, code)] += sum(map(str.isalpha, piece))
    total = sum(weights.values())
    ranked = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    shares = tuple(LanguageShare(code, count / total) for code, count in ranked)
    return tuple(s for s in shares if s.share >= least)


class SpreadSample:
    """A random sample of the texts of a corpus that is read once, the same however it is cut into batches."""

    _GLANCE = 60, 200  # texts and their characters, a tenth of the time
    _GLANCE_SHARE = 0.04

    def __init__(self) -> None:
        self._drawn: list[tuple[int, str]] = []
        self._n_seen, self._bound = 0, 2**64 - 1
        self._random = np.random.PCG64(SAMPLE_SEED)

    def take(self, texts: pa.Array) -> None:
        """Take the next texts (N,) of the corpus."""
        draws = self._random.random_raw(len(texts))
        self._n_seen += len(texts)
        if len(texts) > SAMPLE_DOCS:  # no more of them are among the lowest
            self._bound = min(self._bound, int(np.partition(draws, SAMPLE_DOCS)[SAMPLE_DOCS]))
        self._drawn.extend(
            (int(draws[i]), (texts[i].as_py() or "")[:SAMPLE_CHARS])
            for i in np.flatnonzero(draws <= self._bound).tolist()
        )
        if len(self._drawn) > 2 * SAMPLE_DOCS:
            self._drawn = sorted(self._drawn)[:SAMPLE_DOCS]
            self._bound = self._drawn[-1][0]

    @property
    def texts(self) -> list[str]:
        """At most 300 texts."""
        return [text for _, text in sorted(self._drawn)[:SAMPLE_DOCS]]

    def languages_beside(self, known: Collection[str]) -> tuple[LanguageShare, ...]:
        """Return the languages of the corpus if one is not known from its first texts; else nothing."""
        if self._n_seen <= SAMPLE_DOCS:
            return ()
        few, n_chars = self._GLANCE
        texts = self.texts
        glance = [text[:n_chars] for text in texts[:few]]
        if all(one.code in known for one in detect_languages(glance, least=self._GLANCE_SHARE)):
            return ()
        every = detect_languages(texts, least=0.0)
        languages = tuple(one for one in every if one.share >= MIN_SHARE or one.code in known)
        return languages if any(one.code not in known for one in languages) else ()


def _distinct(text: str) -> str:
    """Return a text, of few different words each once."""
    words = dict.fromkeys(text.split())
    return " ".join(words) if len(words) < FEW_WORDS else text


def _are_stop_words(text: str, code: str) -> bool:
    """Return whether a text has two different words or more, and half are stop words of a language; letters alone are no words."""
    words = {word for word in text.lower().split() if sum(map(str.isalpha, word)) > 1}
    return len(words) >= 2 and 2 * len(words & stop_words([code])) >= len(words)


def _together(texts: Iterable[str]) -> Iterator[str]:
    """Yield the different words of texts in pieces of about SAMPLE_CHARS, without numbers and signs alone."""
    piece: list[str] = []
    size = 0
    for word in dict.fromkeys(word for text in texts for word in text.split()):
        if not any(map(str.isalpha, word)):
            continue
        piece.append(word)
        size += len(word) + 1
        if size >= SAMPLE_CHARS:
            yield " ".join(piece)
            piece, size = [], 0
    if piece:
        yield " ".join(piece)


def foreign_language(texts: Iterable[str], known: Sequence[str]) -> LanguageShare | None:
    """Return the language of a sample of texts when it is another than those a model was fitted to, None when it is not.

    It must have more than half of the characters, of which there must be at least 200: a single short text is often
    taken for another language than it is.

    Args:
        known: language codes of the texts that the model was fitted to.
    """
    sample = list(islice(texts, SAMPLE_DOCS))
    if not known or sum(map(len, sample)) < MIN_CHARS:
        return None
    shares = detect_languages(sample)
    return shares[0] if shares and shares[0].share > 0.5 and shares[0].code not in known else None


def stop_list_code(name: str) -> str:
    """Return the code of a language that has a list of stop words.

    Raises:
        UsageError: no language is called that, or there is no list for it.
    """
    try:
        code = language_code(name)
    except UsageError:
        raise UsageError(
            f"`stop_words`: '{name}' is neither a file nor a language{near_languages(name)}; give a file with a "
            "word per line, a language such as en, deu or German, auto or none"
        ) from None
    if not has_stop_words(code):
        raise UsageError(
            f"`stop_words={name}`: no list exists for {language_name(code)}; give a file with a word per line, or a "
            f"language with a list: {' '.join(stop_word_languages())}"
        )
    return code

"""Detection of encodings other than UTF-8 and UTF-16: the candidate whose text looks most like a language.

Every candidate decodes the lines that hold non-ASCII bytes; its score is the mean over the non-ASCII characters of
1 for a frequent letter of a language written in that encoding, less for a rare one, 0 for a stranger, and below 0
for what no text has: '³' between two letters, a capital inside a word, a Cyrillic letter beside a Latin one. Ties
go to the more common encoding. When no candidate looks like its languages, charset-normalizer is asked, which
knows more encodings but is often unsure between those of the Latin scripts.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable
from functools import cache, partial

Contexts = Counter[tuple[str, str, str]]

_SAMPLE = 1 << 14  # bytes of lines with non-ASCII bytes
_UNSURE = 0.45  # below this score the second opinion is asked

# Letters beyond ASCII of: German · French · Spanish · Portuguese · Italian · Swedish, Finnish · Danish, Norwegian ·
# Icelandic · Dutch · Catalan · English
_WESTERN = "äöüß àâæçéèêëîïôœùûüÿ áéíñóúü àáâãçéêíóôõú àèéìíîòóù äåö æøåé áæðéíóöþúý éëïóü àçèéíïòóúü çéêèñïâö"
# Polish · Czech · Slovak · Hungarian · Croatian, Slovene · Romanian
_CENTRAL = "ąćęłńóśźż áčďéěíňóřšťúůýž áäčďéíĺľňóôŕšťúýž áéíóöőúüű čćđšž ăâîşţ"
_LATIN = {  # the more common encodings first
    "cp1252": _WESTERN,
    "cp1250": _CENTRAL,
    "iso8859-2": _CENTRAL,
    "cp1254": "çğıöşüâî",
    "cp1257": "ąčęėįšųūž āčēģīķļņšūž äöüõšž",
    "iso8859-15": _WESTERN,
    "mac-roman": _WESTERN,
    "cp850": _WESTERN,
    "cp437": _WESTERN,
    "cp852": _CENTRAL,
}
_INSIDE_WORDS = frozenset("\u00a0\u00ad’‘´–—")
_BEFORE_WORDS = frozenset("„‚•¿¡§€£½·´№")
_AFTER_WORDS = frozenset("\u00a0\u00ad”’›»“‘‹«–—…°©®™ªº²³")

# Alphabets other than Latin: (frequent letters, further lower-case letters) of the languages, and their encodings.
_RUSSIAN = ("оеаинтсрвл", "кмдпуяыьгзбчйхжшюцщэфъёіїєґў")
_GREEK = ("αοιετσνηυρ", "πκμλςωόίγδέάήθύώχβφξζψϊϋΐΰ")
_HEBREW = ("יוהלאשרתמבנעחדקםפכטגצןסךףזץ", "\u05b0\u05b4\u05b8\u05b7\u05bc\u05be")
_ARABIC = ("اليمونترب", "هعسدفحكقةجشصطخضذثزءأإآىغئؤظ\u060c\u061f\u061b")
_THAI = (
    "านรอกเงมยลวดท\u0e31\u0e35\u0e48\u0e49\u0e34",
    "สตะปบคหแจพชขใไโผธศถซณฉญษฐภฟ\u0e4c\u0e38\u0e39\u0e37\u0e33\u0e47\u0e46\u0e36",
)
_FINAL = frozenset("ςךםןףץ")  # only at the end of a word
_ALPHABETS = {
    "cp1251": _RUSSIAN,
    "koi8-r": _RUSSIAN,
    "koi8-u": _RUSSIAN,
    "cp866": _RUSSIAN,
    "iso8859-5": _RUSSIAN,
    "mac-cyrillic": _RUSSIAN,
    "cp1253": _GREEK,
    "iso8859-7": _GREEK,
    "cp1255": _HEBREW,
    "iso8859-8": _HEBREW,
    "cp1256": _ARABIC,
    "iso8859-6": _ARABIC,
    "tis-620": _THAI,
}

# East Asian encodings: the characters a page is full of, and the codec and lead bytes of those a school teaches first.
_KANA = "".join(map(chr, range(0x3041, 0x30FF)))
_IDEOGRAPHS = {
    "cp932": (_KANA, "euc-jp", range(0xB0, 0xD0)),
    "euc-jp": (_KANA, "euc-jp", range(0xB0, 0xD0)),
    "gb18030": (
        "的一是不了在人有我他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家十用发天如然作方成者多日都三小",
        "gb2312",
        range(0xB0, 0xD8),
    ),
    "big5": (
        "的一是不了在人有我他這為之大來以個中上們到說國和地也子時道出而要於就下得可你年生自會那後能對著事其裡所去行過家十用發天如然作方成者多日都三小",
        "big5",
        range(0xA4, 0xC7),
    ),
    "cp949": ("이다는의에을가고하를한지은로사기인도리자어해시정들수대있그나서여", "euc-kr", range(0xB0, 0xC9)),
}
_WIDE_SIGNS = frozenset("、。，．・：；？！「」『』（）〈〉《》【】〔〕“”‘’…—～－　０１２３４５６７８９")


def detect(sample: bytes) -> str:
    """Return the most plausible encoding of a sample of bytes, whose last character may be cut off."""
    lines = _informative_lines(sample)
    best, score = "latin-1", 0.0
    for name in (*_LATIN, *_ALPHABETS, *_IDEOGRAPHS):
        text = _decoded(lines, name)
        if text is not None and (candidate_score := _score(_contexts(text), name)) > score + 1e-9:
            best, score = name, candidate_score
    if score < _UNSURE:
        from charset_normalizer import from_bytes

        second = from_bytes(lines).best()
        if second is not None:
            return codecs.lookup(second.encoding).name
    return best


def _decoded(lines: bytes, name: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(name)().decode(lines, final=False)
    except UnicodeDecodeError:
        return None


def _informative_lines(sample: bytes) -> bytes:
    """Return the lines that hold non-ASCII bytes, at most 16 KB of them."""
    kept: list[bytes] = []
    room = _SAMPLE
    for line in sample.split(b"\n"):
        if room > 0 and not line.isascii():
            kept.append(line[:room])
            room -= len(line)
    return b"\n".join(kept)


def _contexts(text: str) -> Contexts:
    """Count the non-ASCII characters of a text, each with the character before and the one after it."""
    seen: Contexts = Counter()
    for match in re.finditer(r"[^\x00-\x7f]", text):
        i = match.start()
        seen[match[0], text[max(0, i - 1) : i], text[i + 1 : i + 2]] += 1
    return seen


# ---------------------------------------------------------------- scores


def _score(seen: Contexts, name: str) -> float:
    if name in _LATIN:
        return max(_mean(seen, partial(_latin, letters)) for letters in _LATIN[name].split())
    if name in _ALPHABETS:
        return _mean(seen, partial(_alphabet, *_ALPHABETS[name]))
    frequent, codec, leads = _IDEOGRAPHS[name]
    return _mean(seen, partial(_ideograph, frequent, _first_level(codec, leads)))


def _mean(seen: Contexts, weight: Callable[[str, str, str], float]) -> float:
    return sum(weight(*context) * count for context, count in seen.items()) / max(1, seen.total())


def _latin(letters: str, char: str, before: str, after: str) -> float:
    if not char.isalpha() or char in "ªº":
        return _sign(char, before, after)
    if char.lower() not in letters or (char.isupper() and before.islower()):
        return 0.0
    return 0.5 if before > "\x7f" and before.isalpha() and after > "\x7f" and after.isalpha() else 1.0


def _alphabet(frequent: str, further: str, char: str, before: str, after: str) -> float:
    lower = char.lower()
    if lower not in frequent and lower not in further:
        return min(0.0, _sign(char, before, after)) if char.isalpha() else _sign(char, before, after)
    if (before.isascii() and before.isalpha()) or (after.isascii() and after.isalpha()):
        return -1.0  # a letter of another script beside a Latin one
    if (char.isupper() and before.islower()) or (char in _FINAL and after.isalpha()):
        return -1.0
    return (1.0 if lower in frequent else 0.4) * (0.9 if char.isupper() else 1.0)


def _sign(char: str, before: str, after: str) -> float:
    if char < "\xa0":  # control characters
        return -2.0
    if before.isalpha() and after.isalpha():
        return 1.0 if char in _INSIDE_WORDS or (char == "·" and before + after in ("ll", "LL")) else -1.0
    if char in _BEFORE_WORDS:
        return -1.0 if before.isalpha() else 1.0
    return 1.0 if char in _AFTER_WORDS else 0.0


def _ideograph(frequent: str, common: frozenset[str], char: str, before: str, after: str) -> float:
    if char in frequent or char in _WIDE_SIGNS:
        return 1.0
    return 0.7 if char in common else 0.1 if char >= "\u3400" else -0.3


@cache
def _first_level(codec: str, leads: range) -> frozenset[str]:
    rows = (bytes((lead, trail)) for lead in leads for trail in range(0x40, 0xFF))
    return frozenset(row.decode(codec, "ignore") for row in rows) - {""}

"""The encoding of texts: bytes become text by byte-order mark, XML declaration, UTF-8 or detection.

Every candidate decodes the lines that hold non-ASCII bytes; its score is the mean over the non-ASCII characters of
1 for a frequent letter of a language written in that encoding, less for a rare one, 0 for a stranger, and below 0
for what no text has: '³' between two letters, a capital inside a word, a Cyrillic letter beside a Latin one. Ties
go to the more common encoding. When no candidate looks like its languages, charset-normalizer is asked, which
knows more encodings but is often unsure between those of the Latin scripts: its answer counts for further encodings only.

Parts, in this order:
- Detection of encodings other than UTF-8 and UTF-16: the candidate whose text looks most like a language.
- Bytes to text, by whichever of these shows the encoding.
"""

from __future__ import annotations

import codecs
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain

from nlpkit.errors import EncodingError, InputError, UsageError

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
        if second is not None and not _is_candidate(name := codecs.lookup(second.encoding).name):
            return name
    return best


def _is_candidate(name: str) -> bool:
    """Return whether the scores above have judged an encoding already."""
    return any(codecs.lookup(known).name == name for known in (*_LATIN, *_ALPHABETS, *_IDEOGRAPHS))


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
    if char.lower() not in letters or (char.isupper() and before.islower()) or after.isdigit():
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
    if char in "£€¥" and after.isdigit():
        return 1.0
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


# ------------------------------------------------------------------------------------------------------------------------
# Bytes → text: a byte-order mark, an XML declaration, UTF-8, or an encoding detected from a sample of the bytes.

SAMPLE_BYTES = 4 << 20

_PIECE = 1 << 20  # bytes decoded at once
_BOMS = (  # UTF-32 before UTF-16: the mark of UTF-16 LE begins that of UTF-32 LE
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_XML_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")

log = logging.getLogger("nlpkit.io")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text that is read once, piece by piece, and how its encoding is known."""

    encoding: str
    detected: bool  # the bytes do not say it for certain
    pieces: Iterator[bytes]
    path: str
    errors: str

    @property
    def text(self) -> Iterator[str]:
        """The text."""
        return _text(self.pieces, self.path, self.encoding, self.errors)

    def utf8(self) -> Utf8Lines:
        """Return the text as UTF-8, which bytes of UTF-8 are already."""
        if self.encoding != "utf-8" or self.errors != "strict":
            return Utf8Lines((piece.encode(errors="replace") for piece in self.text), self.path)
        first = next(self.pieces, b"")
        start = len(codecs.BOM_UTF8) if first.startswith(codecs.BOM_UTF8) else 0
        return Utf8Lines(chain((first[start:],), self.pieces), self.path, start=start)


class Utf8Lines:
    """Bytes of UTF-8 in whole lines, of which only those are decoded that somebody wants as text."""

    def __init__(self, pieces: Iterable[bytes], path: str, *, start: int = 0) -> None:
        self._pieces, self._path = pieces, path
        self._start = self._end = start  # offsets in the file of the group that was yielded last

    def groups(self, size: int) -> Iterator[bytes]:
        r"""Yield complete lines, about `size` bytes at a time, each line with its \n; the last may lack it."""
        begun: list[bytes] = []
        length = 0
        for piece in self._pieces:
            begun.append(piece)
            length += len(piece)
            end = piece.rfind(b"\n") + 1
            if length >= size and end:
                begun[-1] = piece[:end]
                yield self._group(begun)
                begun, length = [piece[end:]], len(piece) - end
        if length:
            yield self._group(begun)

    def _group(self, parts: list[bytes]) -> bytes:
        group = b"".join(parts)
        self._start, self._end = self._end, self._end + len(group)
        return group

    def decode(self, group: bytes) -> str:
        """Return the group that was yielded last as text. Raises EncodingError with the offset where it is not UTF-8."""
        return "".join(_text(iter((group,)), self._path, "utf-8", "strict", start=self._start))


def decode(
    chunks: Iterable[bytes], path: str, *, encoding: str | None = None, errors: str = "strict", declared: bool = False
) -> Decoded:
    """Return the text of `chunks` without a byte-order mark, its encoding decided on the first 4 MB.

    `encoding` forces it; `declared` reads an XML declaration. Raises UsageError for an unknown codec, InputError for
    binary bytes, and, while the text is read, EncodingError with the byte offset unless `errors` is "replace".
    """
    name = check_codec(encoding) if encoding else None
    rest = iter(chunks)
    parts: list[bytes] = []
    size = 0
    while size < SAMPLE_BYTES and (chunk := next(rest, b"")):
        parts.append(chunk)
        size += len(chunk)
    sample = b"".join(parts)
    if name is not None:
        return Decoded(name, False, _pieces(sample, rest), path, errors)
    name, sure = _decide(sample, path, whole=size < SAMPLE_BYTES, declared=declared)
    return Decoded(name, not sure, _pieces(sample, rest), path, errors)


def check_codec(encoding: str) -> str:
    """Return Python's name of a text codec; raise UsageError when there is none of that name."""
    try:
        codec = codecs.lookup(encoding)
        "".encode(codec.name)
    except (LookupError, ValueError) as error:
        raise UsageError(
            f"`encoding`: no text encoding is called '{encoding}'; for example utf-8, latin-1, cp1252, shift-jis"
        ) from error
    return codec.name


# ---------------------------------------------------------------- deciding


def _decide(sample: bytes, path: str, *, whole: bool, declared: bool) -> tuple[str, bool]:
    """Return the encoding and whether it is certain."""
    for mark, name in _BOMS:
        if sample.startswith(mark):
            return name, True
    if b"\0" in sample:
        wide = _wide(sample)
        text = sample.rstrip(b"\0")
        if wide is None and b"\0" not in text:
            where = f"from byte {len(text):,} on, it holds" if text else "holds"
            raise InputError(
                f"{path}: {where} only NUL bytes, as after a broken download or on a full disk; download it again"
            )
        if wide is None:
            raise InputError(f"{path}: looks binary (NUL bytes), not text; if it is text, set its `encoding`")
        return wide, True
    if declared and (match := _XML_DECLARED.match(sample[:1024])):
        named = _known(match[1].decode("ascii"))
        if named and not named.startswith(("utf-16", "utf-32")):
            return named, True
    if _is_utf8(sample, whole=whole):
        return "utf-8", True
    return detect(sample), False


def _known(encoding: str) -> str | None:
    try:
        return check_codec(encoding)
    except UsageError:
        return None


def _is_utf8(sample: bytes, *, whole: bool) -> bool:
    """Return whether bytes are UTF-8, up to a few broken places: those are reported where they are, with their offset."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=whole)
        return True
    except UnicodeDecodeError:
        pass
    text = sample.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    good = sum(count for char, count in Counter(text).items() if char > "\x7f") - broken
    return good >= 4 * broken or _most_lines_are_utf8(sample, whole=whole)


def _most_lines_are_utf8(sample: bytes, *, whole: bool) -> bool:
    """Return whether of the lines that are not ASCII at least half are UTF-8, which bytes of other encodings hardly ever are by chance."""
    lines = sample.splitlines()
    good = bad = 0
    for line in lines if whole else lines[:-1]:
        if line.isascii():
            continue
        try:
            line.decode("utf-8")
            good += 1
        except UnicodeDecodeError:
            bad += 1
    return good >= max(bad, 1)


def _wide(sample: bytes) -> str | None:
    """Return UTF-32 or UTF-16 without a mark when the bytes make a text with some ASCII in it, else None."""
    ascii_share = {name: _ascii_share(sample, name) for name in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")}
    best = max(ascii_share, key=lambda name: ascii_share[name])
    return best if ascii_share[best] >= 0.02 else None


def _ascii_share(sample: bytes, name: str) -> float:
    try:
        text = codecs.getincrementaldecoder(name)().decode(sample, final=False)
    except UnicodeDecodeError:
        return 0.0
    seen = Counter(text)
    if any(unicodedata.category(char) in ("Cc", "Cn", "Co") and char not in "\t\n\r\f\x1a" for char in seen):
        return 0.0
    total = max(1, seen.total())
    pairs = sum(count for char, count in seen.items() if _is_pair(ord(char)))  # of ASCII bytes, read as one character
    return 0.0 if 2 * pairs > total else sum(count for char, count in seen.items() if char.isascii()) / total


def _is_pair(code: int) -> bool:
    return 0x20 <= code >> 8 < 0x7F and 0x20 <= code & 0xFF < 0x7F and code >> 8 != 0x30  # 30xx are the kana


# ---------------------------------------------------------------- decoding


def _pieces(sample: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    view = memoryview(sample)
    for start in range(0, len(view), _PIECE):
        yield bytes(view[start : start + _PIECE])
    del view, sample
    yield from rest


def _text(pieces: Iterator[bytes], path: str, name: str, errors: str, *, start: int | None = None) -> Iterator[str]:
    """Yield the text of bytes: of the whole, without its byte-order mark, or of those at an offset."""
    decoder = codecs.getincrementaldecoder(name)(errors)
    done = start or 0  # bytes decoded
    begun = start is not None
    for piece in pieces:
        waiting = len(decoder.getstate()[0])
        try:
            text = decoder.decode(piece)
        except UnicodeDecodeError as error:
            offset = done - waiting + error.start
            raise EncodingError(
                f"{path}: byte {offset} (0x{error.object[error.start]:02x}) is not {name}, as the text before it; "
                "`encoding_errors=replace` reads on, with U+FFFD there, and `encoding=cp1252` (or its actual encoding) reads "
                "all of it otherwise"
            ) from error
        done += len(piece)
        if text and not begun:
            begun, text = True, text.removeprefix("\ufeff")
        if text:
            yield text
    try:
        text = decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        text = "\ufffd"
        log.warning("%s: ends in the middle of a character, read as U+FFFD; was the file cut off?", path)
    if text:
        yield text

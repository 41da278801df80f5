"""The tokeniser: raw texts become raw tokens as codes, each distinct token once.

A pattern per kind in the syntax of the Rust crate `regex` cuts the kept tokens out of a text;
`kind_of` returns the kind of a match.

Parts, in this order:
- Tokens that are no plain words and are kept on request: addresses, e-mails, hashtags, names, numbers, emoji.
- Letters, marks, numbers and white space of the Rust crate `regex` (Unicode 16), as runs of code points.
- Byte strings numbered in order of first appearance; see `nlpkit.text.kernels.scan`.
- The scan of texts for raw tokens.
"""

from __future__ import annotations

import base64
import itertools
import re
import signal
import unicodedata
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import UsageError, unknown_value
from nlpkit.platform.types import ByteArray, IntArray, LongArray, check_width
from nlpkit.text.kernels import scan
from nlpkit.text.kernels.scan import bytes_insert, bytes_rehash, count_ids

if TYPE_CHECKING:
    import polars as pl

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


# ------------------------------------------------------------------------------------------------------------------------
# Letters, marks, numbers and white space of the Rust crate `regex` (Unicode 16), as runs of code points.
#
# Made by `classes_of_engine` of tests/text/kernels/test_scan.py, which compares the two. Read here so that the usual tokens
# need no regular expressions.

_RUNS = (
    "c-pO5O^h7H74EL-p6=<{*`58J-L=;&1~2~KwfQkl5E>MIgdmBdB$k{*1d0Mmun1A4T)1&TN+q|PK*}MCxXdM2ZYTmGapHmxNQoj4;>wX@s=B_{"
    "{mpar*s-EkZB19#d-dwQ@BLJ5k|fE%wcNEe*HYIq^v1Owe(P4D&(ZG^9l!VKJ;hqWTh=l}r`MDB3Htlcf072;CD)cAN1<p}U3-IMG-xbmf5F-t"
    "=zomfqW9~(hu;Szzvp$vwbHc<ikDG+ih0K%k8gXf4I%G2*EXSN*3mDBzQA~&_QpD`uqPQG6YUAC?Z4f?x+!$&>F$TEjKYKTTQojU`V%beU@W73"
    "ZIiA_(4M7nzwTqiYmN3=(LO8MQ;+m%sBIA~+gM|+P;|^sW3;DaFv<qn<~`bPwm>!$>6u@y=zGMwP?%<2$($km*7oX>C6C~h=@?rpN{1D#(^qtN"
    "vQyXkF*_9zoAx3&5jiSlqrTE*ruL<6$-3_${$!9<^D%1w-nT|*c|@NR!nEFZs(2TX{iaGkvi~yT1L=bGs|EV+lB3@tL#1pg`qCIYLvv#5q@?4N"
    ">@Mr9cVKM|zqb|kMW#Zn(^qyc2{*Eqx8ITCA^E2y9X=Gnk>sN7j(loVj?C4(g62zX-Y5HsEjBvxHe*v{eGp?CYTY4y7n!aiH*Js{eTr{cBtEc@"
    "j(`E)x5#r4(UZY?{`dFOdHIWueVtM7_a}Epw?cd5@$Zq}53u(h{M5JWq<24l(}ed`s(t)^UZ5BuKDkEzu#Rs-j2q}`q%bYxkHGfYPg3$d!S1T6"
    "Z{*tz!mp<}sci5p=H93LcM0PaY6-^7dCb|x8h-2)@F{uhQNsKl`3cKBA|LeYUjqFh_ETa{vcCc3>OrOv>ES%$?-KC50s4w;QsJ9Xb(kT0iw-wQ"
    "-~C9w_p~3lHud=}osW?RDrS}od{t^*1D(a{866Wd;-68z(es9pcr7w5tN3#msUc;4u59Pmdl-JV8aY!`O8z_&ceQ^?4Pz+Z<_hx<lgzi=k0)IJ"
    "1JoD4Hvtnj9l=+mn_eX5cEzE`N%t!ha|bkjul+vh_|x?E8e#|Q^i^)|kxs66)UiJ!J?0coe@=L*Aj1)CyidMe(w_GzxB2&}`|!a|!1<r9hgf-0"
    "@?_fjjpVBh>@!n&PcZ&0%{@hDkXKbKHjzBNN%+(;aiZ|jqd4;j;)3US8L_t_Jg-q~*XKDu=Q!206UuRWq~AmM)Uxsw_MM8}&tUGLqiz=ZiORQ^"
    "m2VmH39Ykjnlp@Gs-k$neGKpCsK)hken+^`GXL#d(9Z<A@o_zK!Qyqq$zQ_<3+ORdb&z0Yq<pmNtbG%)=(RN1a*A*MoOzmZ+L+pu_`Z$YTtOzu"
    "YrD|f4Z@R&^#0oeRQJeT$hwkqg<`MI!*7D-0{W|nr+&_FLGu>j>=MPLV^kYvRJU;5pF_{0U&-TA5Ar;JM*oYlqs){3G-$-1hALL-^WCEFJ>qjE"
    "4f1c%d1jkp;aRHfpNX8s&qwmJp?bNb-vwfk+)W%QJBhBgD2MDKZauEf=yHy`7^&ZKs+alO9?8k~D-%^GiOu)PPRCV#90TJO<dway)A@4^y#2nf"
    "x%Rx*H*%@u@j}_VRCU^M%HtAiKc|}UY~&0rwbT{5`>F_^Tfj#KEK8ky7ID4+o+lI|9|e|%z_Pwa8Gy$H%qb|2?9jc5#QFzSyw>+%CHy*7YxIDd"
    "WwLQs{gcw!Ye@H9JHUQl@qe=8{K9@Daq5ubXGM7ZU+-X2bvD;EhQ8;>DVOm1PtFHbBvz-Y?izH=$vR@b)cSkC!5aBNrTpv!?6VQM->Pu8dq{g7"
    "P_B|Q(vdn-$-WMd3rFfMPR``V>E3mP&Qfxh@;>5~|MpAdp>@nDRc<Slezp}}^j$Zf9V^5v;rS5lw}{l>#|T@eX%6R!l5}xVotM@STmFe$yh3^r"
    "Tc3*XT7gYDKW$O1@q7fc2Mg-8B4Y1;#LxC4*w2+sA4`L6GOANkRhyht_#YAee@c7Y1a97O6JK%tZ-B24U3<|Hyo`BASzF`wNssTY1pd!CA>Q8&"
    "x{^BfV>j`tX>%LbpFdRZ`YeA0`3LIU&$`^ie6NeYry;(|dHQ2u*!$0~a0kMeyh8WaBdX09dqb*=zMTZS-O56Z?AQ4EWXn@y;eoV`i+d_wEfaqK"
    "=>MPOHu)OasYkUg|1af7W9ZAYXC1%46Q(_9%l|h@@~IP8@6VX?CSt-8`kRRRZxc42i{vpA@$aRMd%~wW?)(a>8M@+XkLLXZwfPR^C;orjy}p-p"
    "?(#pR9=J@hF4O-ha`KsLS>PxB`x(i*s$!W@x#>x|7kndWF<Vd^<h=1z+SU}SbjRiA+)9HUn|Jaf@vX1Y`IxEee&2sY`KG`b@M#rmJ+Fxq^t+LB"
    "?u+z)N6+&gwAQgmE;W%eRThc;{RQ9BNNpSAf2XGDv_EGZGE`)fT;0FP_|qo%^OqI;)-n0ddm+YuXB_tTZ>;;)R>0e(y`aO_-QZsb!MDF~OkY?J"
    "ykBy3*Zx%{-z0V6d~I50({j30POS@Jv*{nEv#E>I<7DQzTKCt^>W&{XOKyLfLDM|pZDt(3|LTV7X6t$Ww;#6kw|ZW9{6t|{lVI4kALz4Rw;nbk"
    "sjN&B=OnU$F2V_HlFsk#4BMduO!9L~lseF>z1+^<fV|nG(_;8CCz_C1=nvHGV`fHX+NK8;7|7n8VHz8R$C_kzm(Sd?<5|EBY}o>#-M(AVD*0*y"
    "hR1@go@GVMS)lWRHaoSX35cD{%-zX6c0`$b#`P1>qZO<lJF`i6!a8=bTbOzoPh+5xIqnvJiD!6%@`6#6IN}Zf!>omxv7+r73AHuF3W5u^Z!$~R"
    "+u9WpbDPU|>9ldGg_^doc})?tY-i*H_KqC7tkH(2nxR;z@tPnamTbIBk=8-Tix{laVgULJk~ZqDbtgf@CK8)wjqbymjaq__%_-P+1|Y%xyg7_`"
    "0Agm+z+9pg3~BM*wmu2bnH%9DF%3clacq?^VJ@sT(unq;YeX$02r|mB4P#^HjNV9Y+jVUd{bhl>2|z|Y%Bk)JU~~L*E(zvtv|QuFB9OK$Ok)!J"
    "e~_qksF)7^3rU5RXa"
)


@cache
def character_classes() -> ByteArray:
    """Return the flags (kernels.scan) of every code point (0x110000,) uint8."""
    data = zlib.decompress(base64.b85decode(_RUNS))
    n = len(data) // 5  # of each run four bytes of distance to the run before, and the flags
    starts = np.cumsum(np.frombuffer(data, "<u4", n), dtype=np.int64)
    lengths = np.diff(starts, append=0x110000)
    classes = np.repeat(np.frombuffer(data, np.uint8, n, 4 * n), lengths)
    classes[[ord(sign) for sign in JOINERS]] |= scan.JOIN
    classes[ord("`")] &= 255 - scan.ENDS
    return classes


# ------------------------------------------------------------------------------------------------------------------------
# Byte strings numbered in order of first appearance; see `nlpkit.text.kernels.scan`.

_FIRST_STRINGS = 1 << 15
_BYTES_EACH = 8


class BytesTable:
    """A set of byte strings; string n is arena[places[n]:places[n + 1]]."""

    def __init__(self) -> None:
        self.n = 0
        self.hashes = np.empty(_FIRST_STRINGS, np.uint64)
        self.slots = np.full(2 * _FIRST_STRINGS, -1, np.int32)
        self.arena = np.empty(_BYTES_EACH * _FIRST_STRINGS, np.uint8)
        self.places = np.zeros(_FIRST_STRINGS + 1, np.int64)

    @property
    def size(self) -> int:
        """Bytes of all strings."""
        return int(self.places[self.n])

    def reserve(self, strings: int, size: int) -> None:
        """Make room for so many strings of so many bytes in all. Raises OutOfMemoryError: more than 32 bits can number."""
        check_width(strings, "different strings")
        room = len(self.hashes)
        while room < strings:
            room *= 2
        if room > len(self.hashes):
            self.hashes, self.places = with_room(self.hashes, room), with_room(self.places, room + 1)
            self.slots = bytes_rehash(self.hashes, self.n, 2 * room)
        self.arena = with_room(self.arena, size)

    def insert(self, text: ByteArray, starts: LongArray, ends: LongArray) -> IntArray:
        """Return the numbers (T,) int32 of strings text[starts[t]:ends[t]], new ones numbered on."""
        # as if all were new and none twice: no insertion can need more
        self.reserve(self.n + len(starts), self.size + int((ends - starts).sum()))
        ids = np.empty(len(starts), np.int32)
        with np.errstate(over="ignore"):  # the hash wraps around, which NumPy tells of where kernels are not compiled
            self.n = bytes_insert(self.slots, self.hashes, self.arena, self.places, self.n, text, starts, ends, ids)
        return ids

    def string(self, n: int) -> str:
        """Return string n, which is UTF-8."""
        return self.arena[self.places[n] : self.places[n + 1]].tobytes().decode()

    def strings(self, start: int = 0) -> list[str]:
        """Return the strings from number `start` on; they are UTF-8."""
        ends = self.places[start : self.n + 1].tolist()
        data = self.arena[ends[0] : ends[-1]].tobytes()
        return [data[a - ends[0] : b - ends[0]].decode() for a, b in pairwise(ends)]


def with_room(array: Any, size: int) -> Any:
    """Return an array of at least `size` places that begins as the old one, which it is where that is large enough."""
    if size <= len(array):
        return array
    bigger = np.empty(max(size, 2 * len(array)), array.dtype)
    bigger[: len(array)] = array
    return bigger


# ------------------------------------------------------------------------------------------------------------------------
# Raw texts to raw tokens as codes, each distinct token once.
#
# Two engines cut alike: a Numba scanner of the word pattern (the default), and the regular expressions of the Rust `regex`
# crate (by way of polars) for every other pattern. Both only cut; everything that looks at a token (case, junk, scripts
# without spaces, stop words) is done once per distinct token in `normalize` and `vocab`, not once per occurrence.

# Inside a word: letters, marks, digits, joiners of Indic and Persian script, and the invisible hyphen.
_JOIN = f"[{re.escape(JOINERS)}]"
# Hebrew, as UAX #29 has it in WB7a–c: a quotation mark between two letters (צה"ל), an apostrophe behind one (ג'ורג'). ” is typed for
# gershayim, and ׳ is the sign for the apostrophe.
_HEBREW = r"[\p{Hebrew}&&\p{L}][\p{M}\x{00AD}\x{200C}\x{200D}]*"
_TIED = rf"{_HEBREW}(?:(?:[\"”]{_HEBREW})+['’׳]?|['’׳])"
# Character entities: names and numbers.
_ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});"
# Parts of abbreviations, of which one at least is a single letter.
_PARTS = r"(?:\p{L}{1,3}\.)"
_ON = rf"(?:{_IN}*{_TIED})*{_IN}*"  # what a part of a word goes on with
# Order matters: what is matched first is one token. The first four are junk that `normalize` throws away whole; a word
# takes the entities in it along (caf&eacute;, S&amp;P, one&nbsp;two), and `normalize` reads them.
WORD_PATTERN = "|".join(
    [
        TAG_PATTERN,
        COLOUR_PATTERN,
        r"(?:[hH][tT][tT][pP][sS]?://|[fF][tT][pP]://|[wW][wW][wW]\.)[^\s<>\"…]+",  # addresses on the web
        EMAIL_PATTERN,
        rf"{_PARTS}*\p{{L}}\.{_PARTS}+|{_PARTS}+\p{{L}}\.{_PARTS}*",  # U.S.A., Ph.D., M.Sc.
        rf"(?:\p{{N}}+(?:[.,]\p{{N}}+)*|{_TIED}|\p{{L}}|{_ENTITY}){_ON}"
        rf"(?:{_ENTITY}{_ON}|{_JOIN}(?:{_TIED}|[\p{{L}}\p{{N}}]){_ON})*",
    ]
)


_FIRST_TYPES = 1 << 16  # a batch has about as many


@dataclass(frozen=True, slots=True)
class RawTokens:
    """Tokens of a batch as cut.

    offsets (D+1,) int64; codes (N,) int32 of types, numbered in order of first appearance; the T types as UTF-8: type t
    is arena[places[t]:places[t+1]], arena uint8, places (T+1,) int64. cf, df (T,) int32: occurrences and documents of a type.
    """

    offsets: LongArray
    codes: IntArray
    arena: ByteArray
    places: LongArray
    cf: IntArray
    df: IntArray

    @property
    def n_types(self) -> int:
        """T, the number of distinct tokens."""
        return len(self.places) - 1

    @property
    def types(self) -> list[str]:
        """(T,) distinct tokens."""
        data = self.arena.tobytes()
        ends = self.places.tolist()
        return [data[a:b].decode() for a, b in itertools.pairwise(ends)]


def scan_tokens(texts: pa.Array, *, lower: bool = False, junk: bool = True) -> RawTokens:
    """Cut each text of an Arrow string array (D,) by WORD_PATTERN; null counts as empty. Releases the GIL.

    Args:
        texts: (D,) Arrow string or large_string array.
        lower: make A–Z lower case, so that there are fewer distinct tokens; other letters are left to `normalize`, and so
            are tokens with an entity (the case of &Prime; and &prime; tells them apart).
        junk: yield tags and addresses too.
    """
    return _scan(texts, _LOWER if lower else _PLAIN, junk, 0)


def scan_runs(texts: pa.Array, *, least: int = 2, lower: bool = True) -> RawTokens:
    """Cut each text (D,) into runs of at least `least` letters, digits and underscores; null counts as empty.

    These are the tokens of scikit-learn's vectorizers, whose pattern is (?u)\\b\\w\\w+\\b. lower: the whole text first, as there.
    """
    if lower:
        texts = _lower_other_letters(texts)
    return _scan(texts, _LOWER if lower else _PLAIN, False, least)


def _lower_other_letters(texts: pa.Array) -> pa.Array:
    """Return the texts (D,) with those in lower case that have more than ASCII; the scanner does the others as it goes."""
    mixed = pc.fill_null(pc.not_equal(pc.binary_length(texts), pc.utf8_length(texts)), False)
    if not pc.any(mixed).as_py():
        return texts
    lowered = [text.lower() for text in texts.filter(mixed).to_pylist()]
    return pc.replace_with_mask(texts, mixed, pa.array(lowered, texts.type))


def _scan(texts: pa.Array, fold: ByteArray, junk: bool, least: int) -> RawTokens:
    """Run the scanner over texts (D,), with more room for tokens, types and their bytes whenever it asks for more.

    Raises:
        OutOfMemoryError: texts of 2 GB and more; below, tokens, types and their counts all fit into 32 bits.
    """
    data, offsets = string_buffers(texts)
    size = check_width(int(offsets[-1] - offsets[0]), "bytes of text at once")
    # a guess, no bound: the scanner stops where the room ends
    codes = np.empty(size // 4 + len(offsets), np.int32)
    types, arena = np.empty((_FIRST_TYPES, 4), np.int64), np.empty(8 * _FIRST_TYPES, np.uint8)
    slots = np.full(2 * len(types), -1, np.int32)
    ends = np.zeros(len(offsets), np.int64)  # one place per document, and the 0 before them
    state = np.array([0, offsets[0], 0, 0, 0], np.int64)
    classes = character_classes()
    while not _scan_on(data, offsets, classes, fold, junk, least, slots, types, arena, codes, ends, state):  # fmt: skip
        if state[2] == len(codes):
            codes = np.concatenate([codes, np.empty_like(codes)])
        elif state[3] == len(types):
            types = np.concatenate([types, np.empty_like(types)])
            slots = bytes_rehash(types[:, 0].view(np.uint64), int(state[3]), 2 * len(types))
        else:  # no type is longer than all texts together
            arena = np.concatenate([arena, np.empty(len(arena) + size, np.uint8)])
    n = int(state[3])
    type_rows = types[:n]
    places = np.append(type_rows[:, 1], state[4])
    cf, df = (type_rows[:, 3] & scan.LOW).astype(np.int32), (type_rows[:, 3] >> 32).astype(np.int32)
    return RawTokens(ends, codes[: state[2]].copy(), arena[: state[4]].copy(), places, cf, df)


def _scan_on(*arrays: Any) -> bool:
    with np.errstate(over="ignore"):  # the hash wraps around, which NumPy tells of where kernels are not compiled
        return bool(scan.scan_tokens(*arrays))


def cut_tokens(texts: pa.Array, pattern: str = WORD_PATTERN) -> RawTokens:
    """Cut each text of an Arrow string array (D,) into the matches of a pattern; null counts as empty.

    Args:
        texts: (D,) Arrow string or large_string array.
        pattern: regular expression of the Rust `regex` crate; every match is a token, an empty one is none.

    Raises:
        UsageError: the pattern is not one of that crate.
    """
    from polars.exceptions import ComputeError

    series = _series(texts).fill_null("")
    try:
        matches = series.str.extract_all(pattern).to_arrow()
    except ComputeError as error:
        reason = " ".join(str(error).partition("This error occurred")[0].rpartition("error: ")[2].split())
        raise UsageError(f"`token_pattern`: '{pattern}' is not a regular expression: {reason}") from None
    offsets = matches.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    flat = matches.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    return encode_tokens(offsets - offsets[0], flat)


def lower_texts(texts: pa.Array) -> pa.Array:
    """Return the texts (D,) in lower case, as Python's str.lower."""
    return pc.ascii_lower(_lower_other_letters(texts))


def _series(texts: pa.Array) -> pl.Series:
    """Return texts as polars has them. Loading polars makes Ctrl-C restart a read that waits (SA_RESTART), which is undone."""
    import polars as pl

    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)
    return pl.Series("text", texts, dtype=pl.String)


def encode_tokens(offsets: LongArray, flat: pa.Array) -> RawTokens:
    """Return tokens given as strings (N,), of documents that end at offsets (D+1,), as codes; empty strings fall away."""
    encoded = flat.dictionary_encode()
    data, places = string_buffers(encoded.dictionary)
    check_width(len(flat), "tokens at once")
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    empty = np.flatnonzero(np.diff(places) == 0)
    if len(empty):
        kept = codes != empty[0]
        offsets = np.concatenate(([0], np.cumsum(kept)))[offsets]
        codes = codes[kept]
        codes = codes - (codes > empty[0]).astype(np.int32)
        places = np.delete(places, empty[0])
    cf, df, last = (np.zeros(len(places) - 1, np.int32) for _ in range(3))
    count_ids(offsets, codes, cf, df, last, 1)
    return RawTokens(offsets, codes, data[places[0] : places[-1]], places - places[0], cf, df)


def string_buffers(texts: pa.Array) -> tuple[ByteArray, LongArray]:
    """Return the bytes of an Arrow string array (D,), valid UTF-8, and offsets (D+1,) int64 into them; null is empty."""
    if texts.null_count:
        texts = texts.fill_null("")
    if not pa.types.is_large_string(texts.type):
        texts = texts.cast(pa.large_string())
    _, ends, data = texts.buffers()
    offsets = np.zeros(1, np.int64)
    if len(texts):
        offsets = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    text_bytes = np.frombuffer(data, np.uint8) if data and len(texts) else np.zeros(0, np.uint8)
    text_bytes.flags.writeable = offsets.flags.writeable = False  # else a kernel is compiled for either kind
    return text_bytes, offsets


_PLAIN = np.arange(256, dtype=np.uint8)
_LOWER = np.where((_PLAIN >= 65) & (_PLAIN <= 90), _PLAIN + 32, _PLAIN).astype(np.uint8)

"""Raw texts to raw tokens as codes, each distinct token once.

Two engines cut alike: a Numba scanner of the word pattern (the default), and the regular expressions of the Rust `regex`
crate (by way of polars) for every other pattern. Both only cut; everything that looks at a token (case, junk, scripts
without spaces, stop words) is done once per distinct token in `normalize` and `vocab`, not once per occurrence.
"""

from __future__ import annotations

import itertools
import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import UsageError
from nlpkit.kernels import scan
from nlpkit.kernels.bytestable import bytes_rehash
from nlpkit.kernels.terms import count_ids
from nlpkit.text.kinds import COLOUR_PATTERN, EMAIL_PATTERN, JOINERS, TAG_PATTERN
from nlpkit.text.unicode_runs import character_classes
from nlpkit.types import ByteArray, IntArray, LongArray
from nlpkit.widths import check_width

if TYPE_CHECKING:
    import polars as pl

# Inside a word: letters, marks, digits, joiners of Indic and Persian script, and the invisible hyphen.
_IN = r"[\p{L}\p{M}\p{N}_\x{00AD}\x{200C}\x{200D}]"
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

"""The compiled loops from texts to terms: bytes are scanned for tokens, tokens numbered, and terms counted.

The byte strings of a set lie one after the other in `arena`, `places` (n+1,) says where, as in an Arrow string array. `slots` (a power
of two, more than n) holds ids, -1 for free; `hashes` (n,) those of the strings. Who inserts makes room first
(`text.bytestable.BytesTable`).

Parts, in this order:
- A set of byte strings numbered in order of first appearance: open addressing, linear probing, FNV-1a.
- Tokens to terms: the codes of a batch are mapped and counted in one pass.
- UTF-8 texts to tokens in one pass: the pattern `text.tokenize.WORD_PATTERN`, byte by byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import copy_into

OFFSET_BASIS = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)


@njit(nogil=True)
def bytes_rehash(hashes: Any, n: int, size: int) -> Any:
    """Return `size` (a power of two) slots that hold the ids 0..n-1."""
    slots = np.full(size, -1, np.int32)
    mask = size - 1
    for known in range(n):
        at = np.int64(hashes[known] & np.uint64(mask))
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = known
    return slots


@njit(nogil=True, work="starts")
def bytes_insert(
    slots: Any, hashes: Any, arena: Any, places: Any, n: int, text: Any, starts: Any, ends: Any, ids: Any
) -> int:
    """Write the id of each string text[starts[t]:ends[t]] into ids (T,), new ones numbered from n; return how many there are."""
    mask = np.uint64(len(slots) - 1)
    for t in range(len(starts)):
        start, size = starts[t], ends[t] - starts[t]
        h = OFFSET_BASIS
        for i in range(size):
            h = (h ^ np.uint64(text[start + i])) * PRIME
        h ^= h >> np.uint64(32)
        slot = np.int64(h & mask)
        while True:
            known = slots[slot]
            if known < 0:
                used = places[n]
                copy_into(arena[used:], text[start : start + size])
                places[n + 1] = used + size
                hashes[n] = h
                slots[slot] = n
                known = n
                n += 1
                break
            first = places[known]
            if hashes[known] == h and places[known + 1] - first == size:
                same = True
                for i in range(size):
                    if arena[first + i] != text[start + i]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + 1) & np.int64(mask)
        ids[t] = known
    return n


# ------------------------------------------------------------------------------------------------------------------------
# Tokens to terms: the codes of a batch are mapped and counted in one pass.

WORD, NOTHING, OTHER = 1, 0, 2


@njit(nogil=True, work="starts")
def plain_words(arena: Any, starts: Any, ends: Any, longest: int, apostrophes: bool, out: Any) -> None:
    """Classify each string (T,): a word as it stands, nothing, or other.

    A word is a–z and 0–9 with a letter in it; hyphens, ampersands, underscores and, if they may stay, apostrophes in its
    midst. Nothing is digits alone, and one byte.
    """
    for t in range(len(starts)):
        letters, joins = 0, 0
        kind = WORD
        for i in range(starts[t], ends[t]):
            c = arena[i]
            if 97 <= c <= 122:
                letters += 1
            elif not 48 <= c <= 57:
                inside = starts[t] < i < ends[t] - 1
                if not inside or not (c == 45 or c == 38 or c == 95 or (c == 39 and apostrophes)):
                    kind = OTHER
                    break
                joins += 1
        if kind == WORD and (letters == 0 or not 1 < ends[t] - starts[t] <= longest):
            kind = NOTHING if joins == 0 else OTHER
        out[t] = kind


@njit(nogil=True, work="raw_ids")
def local_terms(
    raw_ids: Any, starts: Any, terms: Any, raw_cf: Any, raw_df: Any, users: Any, out: Any, cf: Any, df: Any
) -> int:
    """Write what each type (T,) of a batch stands for: a term, -1 for none, -2 for several terms or a term of several types.

    Adds the counts of the types with a term of their own to cf and df (V,). users (V,) uint8 zeros. Returns how many
    tokens come of the others at most.
    """
    for t in range(len(raw_ids)):
        for j in range(starts[raw_ids[t]], starts[raw_ids[t] + 1]):
            users[terms[j]] = min(users[terms[j]] + 1, 2)
    n_tokens = 0
    for t in range(len(raw_ids)):
        first, last = starts[raw_ids[t]], starts[raw_ids[t] + 1]
        if first == last:
            out[t] = -1
        elif last - first > 1 or users[terms[first]] > 1:
            out[t] = -2
            n_tokens += raw_cf[t] * (last - first)
        else:
            out[t] = terms[first]
            cf[terms[first]] += raw_cf[t]
            df[terms[first]] += raw_df[t]
            n_tokens += raw_cf[t]
    return n_tokens


@njit(nogil=True, work="codes")
def expand_terms(
    offsets: Any, codes: Any, local: Any, raw_ids: Any, starts: Any, terms: Any,
    cf: Any, df: Any, last_doc: Any, first_doc: int, out_offsets: Any, out: Any,
) -> int:  # fmt: skip
    """Write the terms of each token into out; count those that `local_terms` did not. Return how many there are."""
    n = 0
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            v = local[codes[i]]
            if v >= 0:
                out[n] = v
                n += 1
            elif v == -2:
                r = raw_ids[codes[i]]
                for j in range(starts[r], starts[r + 1]):
                    v = terms[j]
                    out[n] = v
                    n += 1
                    cf[v] += 1
                    if last_doc[v] != first_doc + d:
                        last_doc[v] = first_doc + d
                        df[v] += 1
        out_offsets[d + 1] = n
    return n


@njit(nogil=True, work="ids")
def count_ids(offsets: Any, ids: Any, cf: Any, df: Any, last_doc: Any, first_doc: int) -> None:
    """Add the ids (N,) of documents that end at offsets (D+1,) to cf and df (V,)."""
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            v = ids[i]
            cf[v] += 1
            if last_doc[v] != first_doc + d:
                last_doc[v] = first_doc + d
                df[v] += 1


@njit(nogil=True, work="ids")
def map_ids(offsets: Any, ids: Any, new_ids: Any, out_offsets: Any, out: Any) -> int:
    """Write new_ids[ids] into out without those that are -1; return how many are left."""
    n = 0
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            v = new_ids[ids[i]]
            if v >= 0:
                out[n] = v
                n += 1
        out_offsets[d + 1] = n
    return n


# ------------------------------------------------------------------------------------------------------------------------
# UTF-8 texts to tokens in one pass: the pattern `text.tokenize.WORD_PATTERN`, byte by byte.
#
# `classes` (0x110000,) uint8 holds a set of flags for each code point, `fold` (256,) uint8 what a byte counts as (lower case);
# tokens with an entity, addresses and tags keep their case.

START = 1  # letters and numbers: what a word begins with
IN = 2  # what a word goes on with
JOIN = 4  # what stands between two parts of a word: don't, AT&T, state-of-the-art
LOCAL = 8  # what stands before the @ of an e-mail address
SPACE = 16
LETTER = 32
ENDS = 64  # ASCII that ends a word whatever follows
RUN = 128  # letters, numbers and the underscore

TAG_LENGTH = 300
LOW = (1 << 32) - 1


@njit(nogil=True, inline="always")
def _code(text: Any, i: int) -> Any:
    """Return the code point at byte i and its bytes.

    The text is valid UTF-8, so that these bytes are there and the code point is one that `classes` has: Arrow makes it of
    Python's strings, and what it reads from files without a look goes through `io.validity`.
    """
    first = np.int64(text[i])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | np.int64(text[i + 1]) & 0x3F, 2
    if first < 0xF0:
        return (first & 0x0F) << 12 | (np.int64(text[i + 1]) & 0x3F) << 6 | np.int64(text[i + 2]) & 0x3F, 3
    return (
        (first & 0x07) << 18
        | (np.int64(text[i + 1]) & 0x3F) << 12
        | (np.int64(text[i + 2]) & 0x3F) << 6
        | np.int64(text[i + 3]) & 0x3F
    ), 4


@njit(nogil=True, inline="always")
def _mixed(h: Any, block: Any) -> Any:
    """Return a hash with up to 8 further bytes in it. Equal hashes of one block each are equal blocks: no step loses a bit."""
    h = (h ^ block) * PRIME
    return h ^ (h >> np.uint64(32))


@njit(nogil=True, inline="always")
def _byte(byte: Any, fold: Any, folded: bool) -> Any:
    """Return what a byte counts as. A flag, and not a variable that is one array or another: Numba counts references to that."""
    return fold[byte] if folded else byte


@njit(nogil=True)
def _run(text: Any, i: int, end: int, classes: Any, flags: int) -> int:
    """Return where the code points with one of the flags end."""
    while i < end:
        code, width = _code(text, i)
        if not classes[code] & flags:
            break
        i += width
    return i


@njit(nogil=True)
def _tag(text: Any, i: int, end: int) -> int:
    """Return where `</?[A-Za-z][^<>]{0,300}>` ends, 0 for no match."""
    i += 1
    if i < end and text[i] == 47:  # /
        i += 1
    if i >= end or not 97 <= text[i] | 32 <= 122:
        return 0
    i += 1
    for _ in range(TAG_LENGTH + 1):
        if i >= end or text[i] == 60:
            return 0
        if text[i] == 62:
            return i + 1
        i += 1
        while i < end and text[i] & 0xC0 == 0x80:
            i += 1
    return 0


@njit(nogil=True)
def _colour(text: Any, i: int, end: int) -> int:
    """Return where `\\x1b\\[[0-9;?]*[A-Za-z]` ends, 0 for no match."""
    if i + 2 >= end or text[i + 1] != 91:
        return 0
    i += 2
    while i < end and (48 <= text[i] <= 57 or text[i] == 59 or text[i] == 63):
        i += 1
    return i + 1 if i < end and 97 <= text[i] | 32 <= 122 else 0


@njit(nogil=True)
def _address(text: Any, i: int, end: int, classes: Any) -> int:
    """Return where `([hH][tT]{2}[pP][sS]?://|[fF][tT][pP]://|[wW]{3}\\.)[^\\s<>"…]+` ends, 0 for no match."""
    if i + 4 > end:
        return 0
    if text[i] | 32 == 119:  # w
        if text[i + 1] | 32 != 119 or text[i + 2] | 32 != 119 or text[i + 3] != 46:
            return 0
        i += 4
    else:
        if text[i] | 32 == 102:  # f
            if text[i + 1] | 32 != 116 or text[i + 2] | 32 != 112:
                return 0
            i += 3
        else:
            if text[i] | 32 != 104 or text[i + 1] | 32 != 116 or text[i + 2] | 32 != 116 or text[i + 3] | 32 != 112:
                return 0
            i += 4
            if i < end and text[i] | 32 == 115:
                i += 1
        if i + 3 > end or text[i] != 58 or text[i + 1] != 47 or text[i + 2] != 47:
            return 0
        i += 3
    first = i
    while i < end:
        code, width = _code(text, i)
        if classes[code] & SPACE or code == 60 or code == 62 or code == 34 or code == 0x2026:
            break
        i += width
    return i if i > first else 0


@njit(nogil=True)
def _host(text: Any, i: int, end: int, classes: Any) -> int:
    """Return where `[\\p{L}\\p{N}-]+(\\.[\\p{L}\\p{N}-]+)+` ends, 0 for no match."""
    host_end = 0
    while True:
        first = i
        while i < end:
            code, width = _code(text, i)
            if not classes[code] & START and code != 45:
                break
            i += width
        if i == first:
            return host_end
        if first > 0 and text[first - 1] == 46:  # a part behind a full stop
            host_end = i
        if i >= end or text[i] != 46:
            return host_end
        i += 1


@njit(nogil=True)
def _initials(text: Any, i: int, end: int, classes: Any) -> int:
    """Return where two or more parts `\\p{L}{1,3}\\.` end of which one is a single letter (U.S.A., Ph.D., M.Sc.), 0 for no match."""
    initials_end, parts, single = 0, 0, False
    while True:
        letters = 0
        while i < end and letters <= 3:
            code, width = _code(text, i)
            if not classes[code] & LETTER:
                break
            i += width
            letters += 1
        if not 1 <= letters <= 3 or i >= end or text[i] != 46:
            return initials_end
        i += 1
        parts += 1
        single |= letters == 1
        if parts >= 2 and single:
            initials_end = i


@njit(nogil=True)
def _decimal(text: Any, i: int, end: int, classes: Any) -> int:
    """Return where `\\p{N}+([.,]\\p{N}+)*` ends, i for no match: 1,5 of 1,5-fold."""
    after = i
    while True:
        first = i
        while i < end:
            code, width = _code(text, i)
            if not classes[code] & START or classes[code] & LETTER:
                break
            i += width
        if i == first:
            return after
        after = i
        if i >= end or (text[i] != 44 and text[i] != 46):
            return after
        i += 1


@njit(nogil=True)
def _entity(text: Any, i: int, end: int) -> int:
    """Return where `&([A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});` ends, 0 for no match."""
    i += 1
    if i >= end:
        return 0
    first = i
    least, most = 2, 31
    if text[i] == 35:  # #
        i += 1
        base = 10
        if i < end and text[i] | 32 == 120:
            i += 1
            base = 16
        least, most = 1, 7 if base == 10 else 6
        first = i
        while i < end and (48 <= text[i] <= 57 or (base == 16 and 97 <= text[i] | 32 <= 102)):
            i += 1
    else:
        if not 97 <= text[i] | 32 <= 122:
            return 0
        while i < end and (48 <= text[i] <= 57 or 97 <= text[i] | 32 <= 122):
            i += 1
    if i >= end or text[i] != 59 or not least <= i - first <= most:
        return 0
    return i + 1


@njit(nogil=True, inline="always")
def _is_hebrew(code: Any, classes: Any) -> Any:
    """Say whether a code point is a Hebrew letter."""
    return (0x5D0 <= code <= 0x5F2 or 0xFB1D <= code <= 0xFB4F) and classes[code] & LETTER != 0


@njit(nogil=True)
def _follows_hebrew(text: Any, i: int, classes: Any) -> bool:
    """Say whether a Hebrew letter, with its marks, stands before byte i, which is within a word."""
    while True:
        i -= 1
        while text[i] & 0xC0 == 0x80:
            i -= 1
        code, _ = _code(text, i)
        if classes[code] & (IN | START) != IN or code == 95:
            return bool(_is_hebrew(code, classes))


@njit(nogil=True)
def _word(text: Any, i: int, end: int, classes: Any) -> Any:
    """Return where a word ends (0 for no match), and whether there is an entity in it."""
    entity = False
    code, width = _code(text, i)
    if classes[code] & START:
        i = i + width if classes[code] & LETTER else _decimal(text, i, end, classes)
    else:
        i = _entity(text, i, end)
        if i == 0:
            return 0, False
        entity = True
    while True:
        i = _run(text, i, end, classes, IN)
        if i >= end:
            break
        code, width = _code(text, i)
        if code == 38:
            after = _entity(text, i, end)
            if after:
                i, entity = after, True
                continue
        if (code == 39 or code == 0x2019 or code == 0x5F3) and _follows_hebrew(text, i, classes):
            i += width
            continue
        is_tied = (code == 34 or code == 0x201D) and _follows_hebrew(text, i, classes)
        if not (classes[code] & JOIN or is_tied) or i + width >= end:
            break
        code, next_width = _code(text, i + width)
        if not (_is_hebrew(code, classes) if is_tied else classes[code] & START):
            break
        i += width + next_width
    return i, entity


@njit(nogil=True)
def _at_sign(text: Any, i: int, end: int, classes: Any) -> Any:
    """Return the next @ at or after i (`end`: none), where the part before it begins, and where its address ends (0: none)."""
    at = i
    while at < end and text[at] != 64:
        at += 1
    after = _host(text, at + 1, end, classes) if at < end else 0
    start = at
    while after and start > i:
        back = start - 1
        while text[back] & 0xC0 == 0x80:
            back -= 1
        code, _ = _code(text, back)
        if not classes[code] & LOCAL:
            break
        start = back
    return at, start, after


@njit(nogil=True, work="codes")
def scan_tokens(
    text: Any, offsets: Any, classes: Any, fold: Any, junk: bool, least: int,
    slots: Any, types: Any, arena: Any, codes: Any, doc_ends: Any, state: Any,
) -> bool:  # fmt: skip
    """Cut the texts text[offsets[d]:offsets[d+1]] (D,) of one buffer of valid UTF-8; return False when there is no room for one more
    token or type.

    Called again with more room it goes on where it was: `state` holds the document, the byte in it, the tokens, the types,
    the bytes of the types. What is needed of a type at each of its tokens lies side by side: half a line of the cache.

    Args:
        junk: emit tags and addresses.
        least: above 0, other tokens are cut: runs of RUN characters that are at least so long.
        slots: a power of two, more than twice the types, of their numbers, -1 for free; arena: their bytes.
        types: (·, 4) int64 hash; place in arena; bytes and, above 32 bits, 1 + the last document that holds it;
            occurrences and, above 32 bits, documents.
        codes: (room,) int32 type of each token; doc_ends (D+1,) the tokens before the end of each document.
    """
    d, i, n_tokens, n_types, used = state[0], state[1], state[2], state[3], state[4]
    room, room_bytes, room_tokens, mask = len(types), len(arena), len(codes), np.uint64(len(slots) - 1)
    while d < len(offsets) - 1:
        end = offsets[d + 1]
        at, at_start, at_end = end, end, 0
        if least == 0:
            at, at_start, at_end = _at_sign(text, i, end, classes)
        while i < end:
            first = text[i]
            after, folded, h, block = np.int64(0), True, OFFSET_BASIS, np.uint64(0)
            if least > 0:
                j, length = i, 0
                while j < end:
                    code, width = _code(text, j)
                    if not classes[code] & RUN:
                        break
                    for k in range(j, j + width):
                        block = block << np.uint64(8) | np.uint64(fold[text[k]])
                        if (k - i) & 7 == 7:
                            h, block = _mixed(h, block), np.uint64(0)
                    j += width
                    length += 1
                if length < least:
                    i = j if length else j + width
                    continue
                after = j
            elif first < 128 and classes[first] & START:
                # the fast way: a word of ASCII letters and digits, and nothing behind it that could prolong it
                j = i
                while j < end and text[j] < 128 and classes[text[j]] & IN:
                    block = block << np.uint64(8) | np.uint64(fold[text[j]])
                    if (j - i) & 7 == 7:
                        h, block = _mixed(h, block), np.uint64(0)
                    j += 1
                # a full stop ends it before a blank, and so does a comma, which else may be one of a number
                stops = j < end and (text[j] == 44 or text[j] == 46)
                if (
                    j == end
                    or (classes[text[j]] & ENDS and not stops)
                    or (stops and (j + 1 == end or text[j + 1] == 32))
                ):
                    after = j
            elif first < 128 and classes[first] & ENDS and first != 60:
                i += 1
                continue
            if after == 0:
                if at < i and at < end:
                    at, at_start, at_end = _at_sign(text, i, end, classes)
                code, width = _code(text, i)
                flags, is_junk = classes[code], False
                if first == 60:
                    after = _tag(text, i, end)
                elif first == 27:
                    after = _colour(text, i, end)
                elif first | 32 == 104 or first | 32 == 119 or first | 32 == 102:
                    after = _address(text, i, end, classes)
                if after == 0 and at_end and at_start <= i < at:
                    after = at_end
                if after:
                    is_junk = True
                    folded = False
                elif flags & LETTER:
                    after = _initials(text, i, end, classes)
                if after == 0 and (flags & START or first == 38):
                    after, entity = _word(text, i, end, classes)
                    folded = not entity
                if after == 0:
                    i += width
                    continue
                if is_junk and not junk:
                    i = after
                    continue
                h, block = OFFSET_BASIS, np.uint64(0)
                for j in range(i, after):
                    block = block << np.uint64(8) | np.uint64(_byte(text[j], fold, folded))
                    if (j - i) & 7 == 7:
                        h, block = _mixed(h, block), np.uint64(0)
            if n_tokens == room_tokens:
                state[0], state[1], state[2], state[3], state[4] = d, i, n_tokens, n_types, used
                return False
            size = after - i
            if size & 7:
                h = _mixed(h, block)
            slot = np.int64(h & mask)
            while True:
                known = slots[slot]
                if known < 0:
                    if n_types == room or used + size > room_bytes:
                        state[0], state[1], state[2], state[3], state[4] = d, i, n_tokens, n_types, used
                        return False
                    for j in range(size):
                        arena[used + j] = _byte(text[i + j], fold, folded)
                    types[n_types, 0] = np.int64(h)
                    types[n_types, 1] = used
                    types[n_types, 2] = size
                    types[n_types, 3] = 0
                    used += size
                    slots[slot] = n_types
                    known = n_types
                    n_types += 1
                    break
                if types[known, 0] == np.int64(h) and types[known, 2] & LOW == size:
                    start = types[known, 1]
                    same = True
                    for j in range(size if size > 8 else 0):  # one block is in its hash whole
                        if arena[start + j] != _byte(text[i + j], fold, folded):
                            same = False
                            break
                    if same:
                        break
                slot = (slot + 1) & np.int64(mask)
            types[known, 3] += 1
            if types[known, 2] >> 32 != d + 1:
                types[known, 2] = size | (d + 1) << 32
                types[known, 3] += 1 << 32
            codes[n_tokens] = known
            n_tokens += 1
            i = after
        d += 1
        doc_ends[d] = n_tokens
        i = end
    state[0], state[1], state[2], state[3], state[4] = d, i, n_tokens, n_types, used
    return True

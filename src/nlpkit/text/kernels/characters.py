"""Surface counts of a text (letters, words, sentences, signs) in one pass over its UTF-8 bytes.

`classes` (C,) uint16 holds a set of flags for each code point below C; `lower` (C,) uint32 its lower case.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import sort
from nlpkit.text.kernels.minhash import decode

LETTER, UPPER, NUMBER, DIGIT = 1, 2, 4, 8  # numbers: also ², ½, Ⅷ, which are no digits
INSIDE = 16  # goes on with a word and begins none: marks, joiners
ALONE = 32  # a letter that is a word by itself: Han, Kana, Thai …
SPACE, PUNCTUATION, QUOTE, CLOSER = 64, 128, 256, 512
STOP = 1024  # ends a sentence where white space follows
FULL_STOP = 2048  # ends one whatever follows
EMOJI = 4096
SIGN = 8192  # a symbol that a variation selector makes an emoji
EXCLAMATION, QUESTION = 16384, 32768

COLUMNS = ("characters", "visible", "words", "in_words", "sentences", "types", "letters", "upper", "capitals", "digits",
           "punctuation", "exclamations", "questions", "quotes", "links", "mentions", "hashtags", "emoji", "breaks")  # fmt: skip
(CHARACTERS, VISIBLE, WORDS, IN_WORDS, SENTENCES, TYPES, LETTERS, UPPERS, CAPITALS, DIGITS,
 PUNCTUATIONS, EXCLAMATIONS, QUESTIONS, QUOTES, LINKS, MENTIONS, HASHTAGS, EMOJIS, BREAKS) = range(19)  # fmt: skip

BEGINS = LETTER | NUMBER
BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a
JOINER, SELECTOR, KEYCAP, CURLY = 0x200D, 0xFE0F, 0x20E3, 0x2019
FIRST_TONE, LAST_TONE, FIRST_REGION, LAST_REGION = 0x1F3FB, 0x1F3FF, 0x1F1E6, 0x1F1FF


@njit(nogil=True)
def _flags(classes: Any, code: Any) -> Any:
    """Return the flags of a code point; planes 2 and 3 are Han."""
    if code < len(classes):
        return np.int64(classes[code])
    return np.int64(LETTER | ALONE) if code < 0x40000 else np.int64(0)


@njit(nogil=True)
def _flags_at(data: Any, i: int, end: int, classes: Any) -> Any:
    """Return the flags of the code point at byte i, 0 at the end."""
    return _flags(classes, decode(data, i)[0]) if i < end else np.int64(0)


@njit(nogil=True)
def _follows(data: Any, i: int, end: int, word: Any) -> bool:
    """Return whether the ASCII letters of a word in lower case, and something after them, are at byte i, in either case."""
    if i + len(word) >= end:
        return False
    for k in range(len(word)):
        byte = data[i + k]
        if (byte | 32 if 65 <= byte <= 90 else byte) != word[k]:
            return False
    return True


@njit(nogil=True)
def _link(data: Any, i: int, end: int, classes: Any, heads: Any) -> int:
    """Return where an address that begins at byte i ends, 0 for none: up to white space or <>", without marks at its end."""
    start = 0
    for head in heads:
        if _follows(data, i, end, head):
            start = i + len(head)
            break
    if start == 0:
        return 0
    at = start
    while at < end:
        code, after = decode(data, at)
        if code == 34 or code == 60 or code == 62 or _flags(classes, code) & SPACE:
            break
        at = after
    while at > start and data[at - 1] < 128:  # marks of the sentence around it
        byte = np.int64(data[at - 1])
        if not (_flags(classes, byte) & (STOP | CLOSER) or byte == 44 or byte == 58 or byte == 59):  # , : ;
            break
        at -= 1
    return at if at > start else 0


@njit(nogil=True)
def _line_break(data: Any, i: int, end: int) -> int:
    """Return where <br>, <br/> or <br /> at byte i ends, 0 for none."""
    if i + 3 >= end or data[i + 1] | 32 != 98 or data[i + 2] | 32 != 114:
        return 0
    i += 3
    while i < end and (data[i] == 32 or data[i] == 47):
        i += 1
    return i + 1 if i < end and data[i] == 62 else 0


@njit(nogil=True)
def _has_letter(data: Any, i: int, end: int, classes: Any) -> bool:
    """Return whether the run of letters, numbers and underscores at byte i has a letter."""
    while i < end:
        code, i = decode(data, i)
        flags = _flags(classes, code)
        if flags & LETTER:
            return True
        if not (flags & NUMBER or code == 95):
            return False
    return False


@njit(nogil=True)
def _n_characters(data: Any, i: int, end: int) -> int:
    n = 0
    for at in range(i, end):
        n += data[at] & 0xC0 != 0x80
    return n


@njit(nogil=True)
def _n_different(hashes: Any) -> int:
    """Sort hashes (n,) in place and return how many different ones there are."""
    sort(hashes)
    n = 0
    for i in range(len(hashes)):
        n += i == 0 or hashes[i] != hashes[i - 1]
    return n


@njit(nogil=True)
def count_characters(data: Any, offsets: Any, classes: Any, lower: Any, heads: Any, words: Any, counts: Any) -> None:
    """Fill counts (D, 19) int64, its columns as of COLUMNS, for the texts data[offsets[d]:offsets[d + 1]].

    heads: what addresses begin with, a tuple of arrays of bytes. words (uint64) has room for the words of the longest text.
    """
    for d in range(len(offsets) - 1):
        i, end = offsets[d], offsets[d + 1]
        row = counts[d]
        row[:] = 0
        inside, alone, value = False, False, BASIS
        letters, uppers, last_words = 0, 0, 0  # letters of the word, words up to the end of the last sentence
        stopped, breaks = False, 0  # a stop was seen, line breaks since the last character that is seen
        picture, joined, region, before = False, False, False, np.int64(0)
        while i < end:
            code, after = decode(data, i)
            flags = _flags(classes, code)
            was_inside = inside
            if inside and (flags & ALONE or not flags & (BEGINS | INSIDE) or (alone and flags & BEGINS)):
                if (code == 39 or code == CURLY) and _flags_at(data, after, end, classes) & BEGINS:
                    row[CHARACTERS] += 1  # don't is one word
                    row[VISIBLE] += 1
                    row[PUNCTUATIONS] += 1
                    i = after
                    continue
                words[row[WORDS]] = value
                row[WORDS] += 1
                row[CAPITALS] += letters > 1 and letters == uppers
                inside = False
            skip, is_break = 0, False
            if not inside and code < 128:
                if code == 60:
                    skip = _line_break(data, i, end)
                    is_break = skip > 0
                elif not was_inside and (code | 32 == 104 or code | 32 == 102 or code | 32 == 119):
                    skip = _link(data, i, end, classes, heads)
                    row[LINKS] += skip > 0
            if skip > 0:
                row[CHARACTERS] += _n_characters(data, i, skip)
                i = skip
                if not is_break:
                    stopped, breaks, picture, joined, region, before = False, 0, False, False, False, np.int64(0)
                    continue
                flags, code = np.int64(SPACE), np.uint64(10)
            else:
                i = after
                row[CHARACTERS] += 1
            if flags & SPACE:
                if (
                    code == 10
                    or code == 0x85
                    or code == 0x2028
                    or code == 0x2029
                    or (code == 13 and not (i < end and data[i] == 10))
                ):
                    row[BREAKS] += 1
                    breaks += 1
                if (stopped or breaks > 1) and row[WORDS] > last_words:
                    row[SENTENCES] += 1
                    last_words = row[WORDS]
                stopped, picture, joined, region, before = False, False, False, False, np.int64(0)
                continue
            breaks = 0
            row[VISIBLE] += 1
            if flags & (BEGINS | INSIDE):
                if flags & BEGINS and (flags & ALONE or not inside):
                    inside, value, letters, uppers, alone = True, BASIS, 0, 0, flags & ALONE > 0
                if inside:
                    folded = np.uint64(lower[code]) if code < len(lower) else np.uint64(code)
                    value = (value ^ folded) * PRIME
                    row[IN_WORDS] += 1
                if flags & LETTER:
                    letters += 1
                    row[LETTERS] += 1
                    if flags & UPPER:
                        uppers += 1
                        row[UPPERS] += 1
                if flags & BEGINS:  # most characters: no mark, no picture
                    row[DIGITS] += (flags & DIGIT) != 0
                    stopped, picture, joined, region, before = False, False, False, False, flags
                    continue
            if flags & FULL_STOP:
                if row[WORDS] > last_words:
                    row[SENTENCES] += 1
                    last_words = row[WORDS]
            elif flags & STOP:
                stopped = True
            elif not flags & CLOSER:
                stopped = False
            row[PUNCTUATIONS] += (flags & PUNCTUATION) != 0
            row[EXCLAMATIONS] += (flags & EXCLAMATION) != 0
            row[QUESTIONS] += (flags & QUESTION) != 0
            row[QUOTES] += (flags & QUOTE) != 0
            if code == 64 or code == 0xFF20:
                begun = i < end and (data[i] == 95 or _flags_at(data, i, end, classes) & BEGINS > 0)
                row[MENTIONS] += not was_inside and begun
            elif code == 35 or code == 0xFF03:
                row[HASHTAGS] += not was_inside and _has_letter(data, i, end, classes)
            elif flags & EMOJI:
                row[EMOJIS] += not joined
                picture, joined, region = True, False, False
            elif code == JOINER:
                joined = picture
            elif code == SELECTOR and not picture and before & SIGN:
                row[EMOJIS] += 1
                picture = True
            elif code == KEYCAP:
                row[EMOJIS] += 1
            elif FIRST_REGION <= code <= LAST_REGION:  # two letters of a flag
                row[EMOJIS] += region
                region, picture = not region, False
            elif code != SELECTOR and not FIRST_TONE <= code <= LAST_TONE:
                picture, joined, region = False, False, False
            before = flags
        if inside:
            words[row[WORDS]] = value
            row[WORDS] += 1
            row[CAPITALS] += letters > 1 and letters == uppers
        row[SENTENCES] += row[WORDS] > last_words
        row[TYPES] = _n_different(words[: row[WORDS]])

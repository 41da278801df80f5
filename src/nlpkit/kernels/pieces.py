"""Texts cut into words whose tokens do not depend on each other."""

from __future__ import annotations

from typing import Any

from nlpkit.kernels import njit

SPACE, ALONE = 1, 2  # kinds of bytes; 0 is part of a word


@njit(nogil=True)
def split_words(text: Any, ends: Any, kinds: Any, starts: Any, stops: Any, n_words: Any) -> int:
    """Find what stands between spaces, and each byte that stands alone; return how many such words there are.

    text (N,) uint8 holds texts of UTF-8 end to end, text t up to ends[t]; kinds (256,) uint8 says what each byte is. Word w is
    text[starts[w]:stops[w]], n_words (T,) are those of each text. starts and stops need N places: a word has a byte at least.
    """
    n = at = 0
    for t in range(len(ends)):
        first, end = n, ends[t]
        while at < end:
            kind = kinds[text[at]]
            if kind == SPACE:
                at += 1
                continue
            starts[n] = at
            at += 1
            while kind == 0 and at < end and kinds[text[at]] == 0:
                at += 1
            stops[n] = at
            n += 1
        n_words[t] = n - first
    return n

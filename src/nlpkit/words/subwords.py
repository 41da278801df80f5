"""Vectors of words from those of their n-grams of characters, as fastText has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.types import Float32Array, IntArray


@dataclass(frozen=True, slots=True)
class Subwords:
    """The n-grams of a vocabulary: their lengths, the number of buckets, the buckets in use (B,), ascending, and their vectors (B, E)."""

    shortest: int
    longest: int
    buckets: int
    ids: IntArray
    vectors: Float32Array

    def vector(self, word: str) -> Float32Array | None:
        """Return the mean vector of the n-grams of a word that some word of the vocabulary has (E,); None where it has none.

        gensim and fastText also average over n-grams of no word, whose vectors were never trained.

        Source: Bojanowski, Grave, Joulin & Mikolov (2017), "Enriching Word Vectors with Subword Information", TACL 5, §3.2.
        """
        hashed = np.array(ngram_buckets(word, self.shortest, self.longest, self.buckets), np.int64)
        hashed = hashed[np.isin(hashed, self.ids)]
        return self.vectors[np.searchsorted(self.ids, hashed)].mean(axis=0) if len(hashed) else None


def ngram_buckets(word: str, shortest: int, longest: int, buckets: int) -> list[int]:
    """Return the buckets of the n-grams of <word>, in order, with repetitions: FNV-1a of their bytes, modulo the number of buckets.

    A first or last sign alone is no n-gram. Agrees with fastText and gensim, which take each byte as a signed number.
    """
    framed = f"<{word}>"
    ids = []
    for begin in range(len(framed)):
        for n in range(shortest, longest + 1):
            if begin + n > len(framed):
                break
            if n == 1 and (begin == 0 or begin + n == len(framed)):
                continue
            ids.append(_hash(framed[begin : begin + n].encode("utf-8", "surrogatepass")) % buckets)
    return ids


def _hash(text: bytes) -> int:
    """Return the 32-bit FNV-1a hash of bytes as fastText forms it."""
    value = 2166136261
    for byte in text:
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return value

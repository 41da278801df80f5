"""Shingles, min-hash bands and near copies as the definitions say, with Python's sets and whole numbers."""

from __future__ import annotations

import unicodedata
from typing import Any

START, PRIME, FINAL, MASK = 0x811C9DC5, 0x01000193, 0x9E3779B1, 0xFFFFFFFF
UNSPACED = [(0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3006), (0x3040, 0x30FF), (0x3400, 0x4DBF),
            (0x4E00, 0x9FFF), (0xF900, 0xFAFF)]  # fmt: skip


def mix(x: int, multiplier: int) -> int:
    product = x * multiplier
    return (product ^ (product >> 32)) & MASK


def words(text: str) -> list[str]:
    """Return runs of letters, marks and digits; characters of scripts without spaces and pictographs one by one."""
    found, run = [], ""
    for char in text:
        category = unicodedata.category(char)
        letter = category[0] in "LMN"
        alone = ord(char) >= 0x20000 or category == "So"
        alone = alone or (letter and any(first <= ord(char) <= last for first, last in UNSPACED))
        if letter and not alone:
            run += char
            continue
        if run:
            found.append(run)
            run = ""
        if alone:
            found.append(char)
    found += [run] if run else []
    return found or [char for char in text if not char.isspace()]


def word_hash(word: str) -> int:
    if len(word) == 1 and (words(word + "a") != [word + "a"]):  # a word by itself
        return mix(START ^ ord(word), FINAL)
    value = START
    for char in word:
        value = ((value ^ ord(char)) * PRIME) & MASK
    return mix(value, FINAL)


def shingles(text: str, width: int) -> list[int]:
    """Return the set of hashes of `width` words in a row, ascending; of a shorter text the hash of all its words."""
    hashes = [word_hash(w) for w in words(text)]
    n = min(width, len(hashes))
    found = set()
    for i in range(len(hashes) - n + 1 if n else 0):
        value = START
        for h in hashes[i : i + n]:
            value = ((value ^ h) * PRIME) & MASK
            value ^= value >> 15
        found.add(mix(value, FINAL))
    return sorted(found)


def band_tags(hashes: list[int], seeds: Any, multipliers: Any, n_bands: int) -> list[int]:
    """Return a tag for each band of min-hashes."""
    functions = list(zip(map(int, seeds), map(int, multipliers), strict=True))
    least = [min((mix(x ^ s, m) for x in hashes), default=MASK) for s, m in functions]
    rows = len(least) // n_bands
    tags = []
    for b in range(n_bands):
        value = START ^ b
        for k in range(b * rows, (b + 1) * rows):
            value = mix(value ^ least[k], FINAL)
        tags.append(value)
    return tags


def jaccard(a: list[int], b: list[int], most: int) -> float:
    """Return the Jaccard similarity of two sets, of large ones that of the `most` least hashes of their union."""
    union = sorted(set(a) | set(b))
    if max(len(a), len(b)) > most:
        union = union[:most]
    return sum(x in set(a) and x in set(b) for x in union) / len(union)


def drop_or_keep(sets: list[list[int]], tags: list[list[int]], threshold: float, most: int) -> list[tuple[int, float]]:
    """Return for each document the number of the most similar kept one and the similarity, (-1, 0) without one."""
    kept: list[int] = []
    out = []
    for d, own in enumerate(sets):
        candidates = [
            (jaccard(own, sets[k], most), -n)
            for n, k in enumerate(kept)
            if any(x == y for x, y in zip(tags[d], tags[k], strict=True))
            and min(len(own), len(sets[k])) >= threshold * max(len(own), len(sets[k])) - 1e-6  # as similar as can be
        ]
        best = max(candidates, default=(0.0, 1)) if own else (0.0, 1)
        if own and best[0] >= threshold - 1e-9:
            out.append((-best[1], best[0]))
            continue
        out.append((-1, 0.0))
        if own:
            kept.append(d)
    return out

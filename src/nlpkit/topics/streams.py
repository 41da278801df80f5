"""Keys of random streams, which depend on a seed and on what they are for."""

from __future__ import annotations

import hashlib


def stream_key(seed: int, *parts: int | str) -> int:
    """Return the 64-bit key of a random stream: the same for the same seed and parts on every machine."""
    return int.from_bytes(hashlib.blake2b(repr((int(seed), *parts)).encode(), digest_size=8).digest(), "little")

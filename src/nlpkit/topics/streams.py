"""Keys of random streams, which depend on a seed and on what they are for."""

from __future__ import annotations

import hashlib

import numpy as np


def stream_key(seed: int, *parts: int | str) -> int:
    """Return the 64-bit key of a random stream: the same for the same seed and parts on every machine."""
    return int.from_bytes(hashlib.blake2b(repr((int(seed), *parts)).encode(), digest_size=8).digest(), "little")


def run_seeds(seed: int, runs: int) -> tuple[int, ...]:
    """Return the seed of each run (R,): the first 32 bits of child r of `numpy.random.SeedSequence(seed mod 2⁶⁴)`.

    The seed of run r depends on `seed` and r alone: more runs do not change those before them.
    """
    return tuple(int(child.generate_state(1)[0]) for child in np.random.SeedSequence(seed % 2**64).spawn(runs))

"""The arguments of samplers: keys of random streams, priors, and weights of tokens, all checked.

Parts, in this order:
- Keys of random streams, which depend on a seed and on what they are for.
- Arguments of the samplers of LDA: what they must be, and weights of tokens as whole numbers.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.platform.types import FloatArray, TokenTable


def stream_key(seed: int, *parts: int | str) -> int:
    """Return the 64-bit key of a random stream: the same for the same seed and parts on every machine."""
    return int.from_bytes(hashlib.blake2b(repr((int(seed), *parts)).encode(), digest_size=8).digest(), "little")


def run_seeds(seed: int, runs: int) -> tuple[int, ...]:
    """Return the seed of each run (R,): the first 32 bits of child r of `numpy.random.SeedSequence(seed mod 2⁶⁴)`.

    The seed of run r depends on `seed` and r alone: more runs do not change those before them.
    """
    return tuple(int(child.generate_state(1)[0]) for child in np.random.SeedSequence(seed % 2**64).spawn(runs))


# ------------------------------------------------------------------------------------------------------------------------
# Arguments of the samplers of LDA: what they must be, and weights of tokens as whole numbers.

MAX_TOPICS = 65_535  # topics of tokens are stored in 16 bits
MAX_TOKENS = 2**32 - 1
UNIT = 256  # units of a token of weight 1 when tokens have weights


def checked_priors(alpha: FloatArray | float, eta: float, n_topics: int) -> tuple[FloatArray, float]:
    """Return alpha (K,) and eta. Raises UsageError where one is not above 0."""
    each: FloatArray = np.broadcast_to(np.asarray(alpha, np.float64), (n_topics,)).copy()
    if not (np.all(each > 0) and np.all(np.isfinite(each)) and 0 < eta < np.inf):
        raise UsageError(
            f"alpha and eta must be above 0, found alpha {each.min():g} and eta {eta:g}", parameter="alpha"
        )
    return each, float(eta)


def check_arguments(tokens: TokenTable, n_topics: int, **values: Any) -> None:
    """Refuse a corpus or K that is out of range, and values that are not one for each topic, document or token.

    Raises:
        UsageError: there is one. InputError: tokens that do not fit their vocabulary.
    """
    if not 1 <= n_topics <= MAX_TOPICS:
        raise UsageError(f"{n_topics} topics cannot be fitted: from 1 to {MAX_TOPICS:,} are possible", parameter="k")
    if len(tokens.term_ids) > MAX_TOKENS:
        raise UsageError(f"{len(tokens.term_ids):,} tokens are more than one model takes ({MAX_TOKENS:,})")
    tokens.check()
    sizes = {"alpha": n_topics, "fixed": n_topics, "frozen": tokens.n_docs, "weights": len(tokens.term_ids)}
    for name, value in values.items():
        is_number = name == "alpha" and not np.ndim(value)
        if value is not None and not is_number and np.shape(value) != (sizes[name],):
            raise UsageError(f"{name} must be {sizes[name]:,} values, found {np.shape(value)}")


def as_units(weights: FloatArray) -> np.ndarray:
    """Return weights of tokens as whole numbers of 1/256, at least 1. Raises UsageError where one is out of range."""
    if len(weights) and not (np.all(weights >= 0) and weights.max() * UNIT <= 65_535):
        raise UsageError(
            f"weights of tokens must be from 0 to {65_535 // UNIT}, found {weights.min():g} to {weights.max():g}"
        )
    return np.maximum(np.rint(np.asarray(weights) * UNIT), 1).astype(
        np.uint16
    )  # none without weight: lists hold counts above 0

"""Masks of BERT: which tokens a model has to guess, and what it sees in their place."""

from __future__ import annotations

import numpy as np

from nlpkit.types import BoolArray, LongArray

NO_TARGET = -100  # cross-entropy in torch leaves it out
MASKED, SWAPPED = 0.8, 0.1  # the rest is kept


def mask_tokens(
    ids: LongArray,
    maskable: BoolArray,
    offsets: LongArray,
    *,
    mask_id: int,
    ordinary: LongArray,
    share: float = 0.15,
    rng: np.random.Generator,
) -> tuple[LongArray, LongArray]:
    """Return (inputs, targets), both (N,): the ids with some of them masked, and the ids to guess, NO_TARGET elsewhere.

    Of each text `share` of the maskable tokens are chosen, at least one: exactly that share in the mean, as the part of a token is
    chosen with its own probability. Of the chosen, 80 % become [MASK], 10 % a random token and 10 % stay (Devlin et al. 2019, §3.1).
    transformers' collator throws a coin per token instead, so a short text may have none.

    Args:
        ids: (N,) of all texts, end to end. maskable: (N,) False for special tokens. offsets: (n + 1,) where the texts begin and end.
        ordinary: ids that a random token is drawn from, no special ones.
    """
    n = len(offsets) - 1
    owner = np.repeat(np.arange(n), np.diff(offsets))
    places = np.flatnonzero(maskable)
    text_of_place = owner[places]
    have = np.bincount(text_of_place, minlength=n)
    wanted = np.maximum(np.floor(share * have + rng.random(n)).astype(np.int64), 1)
    order = np.lexsort((rng.random(len(places)), text_of_place))  # at random within each text
    rank = np.arange(len(places)) - np.repeat(np.cumsum(have) - have, have)
    chosen = places[order[rank < np.repeat(wanted, have)]]

    inputs, targets = ids.copy(), np.full_like(ids, NO_TARGET)
    targets[chosen] = ids[chosen]
    fate, swaps = rng.random(len(chosen)), rng.choice(ordinary, len(chosen))
    inputs[chosen] = np.where(fate < MASKED, mask_id, np.where(fate < MASKED + SWAPPED, swaps, ids[chosen]))
    return inputs, targets

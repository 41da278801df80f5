"""Soft labels: the labels that several coders gave a document, as a distribution over the classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nlpkit.classify.labels import Labels, encode_single
from nlpkit.types import BoolArray, FloatArray


def most_votes(votes: Sequence[str]) -> str | None:
    """Return the label that most coders gave, of several the first in the order of the alphabet; None for no votes."""
    counts = Counter(votes)
    return min(counts, key=lambda name: (-counts[name], name)) if counts else None


def is_tie(votes: Sequence[str]) -> bool:
    """Return whether two labels were given most often."""
    counts = sorted(Counter(votes).values(), reverse=True)
    return len(counts) > 1 and counts[0] == counts[1]


def entropy(votes: Sequence[str]) -> float:
    """Return -Σ_j q_j ln q_j of the shares q of the labels that coders gave, in nats: 0 where they agree; NaN for no votes."""
    if not votes:
        return float("nan")
    q = np.array(sorted(Counter(votes).values()), np.float64) / len(votes)
    return float(max(-(q * np.log(q)).sum(), 0.0))


def encode_soft(values: Sequence[str | None], votes: Sequence[Sequence[str]], learn: BoolArray) -> Labels:
    """Return labels (D,) with the shares of the votes: classes are all labels of the rows that may be learned from, and all votes.

    Args:
        values: (D,) the one label of each document, which it is scored by; None for none. votes: (D,) what its coders gave. One without
            votes has the share 1 in its label.

    Raises:
        InputError: fewer than two classes.
    """
    given_votes = [(vote, yes) for row, yes in zip(votes, learn.tolist(), strict=True) for vote in row]
    both = [*values, *(vote for vote, _ in given_votes)]
    labels = encode_single(both, np.concatenate((learn, np.array([yes for _, yes in given_votes], bool))))
    assert labels.codes is not None
    n, place = len(values), {name: j for j, name in enumerate(labels.names)}
    codes = labels.codes[:n]
    shares: FloatArray = np.zeros((n, len(labels.names)))
    for d, row in enumerate(votes):
        if row:
            for vote, times in Counter(row).items():
                if vote in place:
                    shares[d, place[vote]] = times / len(row)
        elif codes[d] >= 0:
            shares[d, codes[d]] = 1.0
    return replace(labels, known=labels.known[:n], codes=codes, shares=shares)

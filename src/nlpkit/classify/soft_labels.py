"""Soft labels: the labels that several coders gave a document, as a distribution over the classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nlpkit.classify.labels import Labels, encode_single
from nlpkit.metrics.dawid_skene import EQUAL, dawid_skene
from nlpkit.types import BoolArray, FloatArray

Votes = Sequence[str | None]  # the label by each coder, None where there is none
Shares = Mapping[str, float]  # of labels, summing to 1; of a document that nobody labelled, empty


def vote_shares(votes: Votes) -> dict[str, float]:
    """Return the shares of the labels that coders gave."""
    counts = Counter(vote for vote in votes if vote is not None)
    return {name: n / counts.total() for name, n in counts.items()}


def dawid_skene_shares(votes: Sequence[Votes]) -> tuple[list[dict[str, float]], FloatArray]:
    """Return the probabilities of the true label of each document, and the accuracy (C,) of each coder; see `dawid_skene`.

    Args:
        votes: (D, C), of each document the labels by the same coders.
    """
    names = sorted({vote for row in votes for vote in row if vote is not None})
    place = {name: j for j, name in enumerate(names)} | {None: -1}
    model = dawid_skene(np.array([[place[vote] for vote in row] for row in votes], np.int64), len(names))
    p = np.where(
        model.probabilities > EQUAL, model.probabilities, 0.0
    )  # no class of a label that is as good as excluded
    rows = np.divide(p, p.sum(axis=1, keepdims=True), out=p, where=p > 0).tolist()
    return [{name: share for name, share in zip(names, row, strict=True) if share} for row in rows], model.accuracy


def most_probable(shares: Shares) -> str | None:
    """Return the label with the largest share, of several the first in the order of the alphabet; None for no shares."""
    return min(_largest(shares), default=None)


def is_tie(shares: Shares) -> bool:
    """Return whether two labels have the largest share."""
    return len(_largest(shares)) > 1


def _largest(shares: Shares) -> list[str]:
    most = max(shares.values(), default=0.0)
    return [name for name, share in shares.items() if share >= most - EQUAL]


def entropy(shares: Shares) -> float:
    """Return -Σ_j q_j ln q_j of the shares q, in nats: 0 where coders agree; NaN for no shares."""
    if not shares:
        return float("nan")
    q = np.array(sorted(shares.values()))
    return float(max(-(q * np.log(q)).sum(), 0.0))


def encode_soft(values: Sequence[str | None], shares: Sequence[Shares], learn: BoolArray) -> Labels:
    """Return labels (D,) with their shares: classes are all labels of the rows that may be learned from, and all that have a share there.

    Args:
        values: (D,) the one label of each document, which it is scored by; None for none. shares: (D,) of its labels. A document
            without any has the share 1 in its label.

    Raises:
        InputError: fewer than two classes.
    """
    of_shares = [(name, yes) for row, yes in zip(shares, learn.tolist(), strict=True) for name in row]
    both = [*values, *(name for name, _ in of_shares)]
    labels = encode_single(both, np.concatenate((learn, np.array([yes for _, yes in of_shares], bool))))
    assert labels.codes is not None
    n, place = len(values), {name: j for j, name in enumerate(labels.names)}
    codes = labels.codes[:n]
    matrix: FloatArray = np.zeros((n, len(labels.names)))
    for d, row in enumerate(shares):
        if row:
            for name, share in row.items():
                if name in place:
                    matrix[d, place[name]] = share
        elif codes[d] >= 0:
            matrix[d, codes[d]] = 1.0
    return replace(labels, known=labels.known[:n], codes=codes, shares=matrix)

"""The split of each document: training, test, dev, or a fold of cross-validation; and how documents are dealt into them.

This is the one place where the splits have their numbers and names. Every draw depends on the seed alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.types import IntArray, LongArray

TRAIN, TEST, DEV, UNUSED = 0, 1, 2, -1
NAMES = {
    "train": TRAIN, "training": TRAIN, "test": TEST, "testing": TEST, "eval": TEST, "dev": DEV, "valid": DEV, "validation": DEV,
    "val": DEV,
}  # fmt: skip


def split_column(spec: str) -> str:
    """Return the column of `COL` or `COL=VALUE`."""
    return spec.partition("=")[0]


def splits_of(values: Sequence[str | None], spec: str, *, dev: bool) -> IntArray:
    """Return the split of each row (D,) by its value in a column; UNUSED where it names none.

    Args:
        values: (D,) of the column. spec: `COL`, whose values are train, test and dev in one of their spellings; or `COL=VALUE`:
            rows of that value are the test, all others are training.
        dev: whether there are dev rows; they are UNUSED otherwise.
    """
    _, equals, value = spec.partition("=")
    if equals:
        return np.array([TEST if v == value else TRAIN for v in values], np.int32)
    split = np.array([NAMES.get((v or "").lower(), UNUSED) for v in values], np.int32)
    return split if dev else np.where(split == DEV, np.int32(UNUSED), split)


def check_splits(split: IntArray, values: Sequence[str | None], spec: str) -> None:
    """Raise UsageError where no row is training, or none is the test."""
    for number, name in ((TRAIN, "train"), (TEST, "test")):
        if not (split == number).any():
            different = sorted({v for v in values if v is not None})
            shown = ", ".join(different[:10]) + (" …" if len(different) > 10 else "")
            raise UsageError(
                f"`split={spec}`: no row is {name} (values found: {shown or 'none'}); to use one value as the test: "
                f"`split={split_column(spec)}=VALUE`",
                parameter="split",
            )


def stratified_folds(strata: IntArray, n_folds: int, *, seed: int, together: IntArray | None = None) -> IntArray:
    """Return the fold of each document (D,) int32: of every class each fold gets the same number, give or take one.

    Documents of a class are put in random order and dealt out in turn, going on where the class before ended.

    Args:
        strata: (D,) class of each document.
        together: (D,) documents of one group stay in one fold: the largest groups first, each into the fold that then comes
            nearest to its share of the classes (as scikit-learn's StratifiedGroupKFold).

    Raises:
        UsageError: more folds than documents or groups.
    """
    D = len(strata)
    units = D if together is None else len(np.unique(together))
    noun = "documents" if together is None else "groups"
    if n_folds > units:
        raise UsageError(f"`cv={n_folds}`: only {units:,} {noun} have a label; use fewer folds", parameter="cv")
    rng = np.random.default_rng(seed)
    if together is not None:
        return _grouped_folds(strata, n_folds, together, rng)
    folds = np.empty(D, np.int32)
    folds[_in_turn(strata, rng)] = np.arange(D) % n_folds
    return folds


def held_out(strata: IntArray, share: float, *, seed: int) -> LongArray:
    """Return the places (n,) of a share of the documents, the same share of every class give or take one.

    A share of one half, third, fourth … is the first of so many folds.

    Args:
        strata: (D,) class of each document, at least two documents. share: above 0, below 1.
    """
    D = len(strata)
    n_folds = max(2, round(1 / share)) if share <= 0.5 else 0
    if n_folds and abs(1 / n_folds - share) < 1e-9:
        return np.flatnonzero(stratified_folds(strata, min(n_folds, D), seed=seed) == 0)
    in_turn = _in_turn(strata, np.random.default_rng([seed, 5]))
    place = (np.arange(D) + 0.5) * share
    return np.sort(in_turn[np.floor(place) != np.floor(place - share)])


def stratified_sizes(sizes: LongArray, n: int, rng: np.random.Generator) -> LongArray:
    """Return how many of n documents each class (J,) gives: n sizes / Σ sizes, rounded so that their sum is n, at least one each.

    Of classes that are as near to the next number, chance takes one.

    Raises:
        UsageError: n is smaller than J.
    """
    if n < len(sizes):
        raise UsageError(
            f"`totals={n}`: {len(sizes)} classes need at least one document each; give a larger number",
            parameter="totals",
        )
    quota = n * sizes / sizes.sum()
    take = np.maximum(1, np.floor(quota)).astype(np.int64)
    ties = 1e-9 * rng.random(len(sizes))
    while take.sum() != n:
        step = 1 if take.sum() < n else -1
        wanted = np.where(take + step >= 1, step * (quota - take) + ties, -np.inf)
        take[wanted.argmax()] += step
    return np.asarray(take)


def _in_turn(strata: IntArray, rng: np.random.Generator) -> LongArray:
    """Return the places of documents in random order, class after class."""
    order = rng.permutation(len(strata))
    return order[np.argsort(strata[order], kind="stable")]


def _grouped_folds(strata: IntArray, n_folds: int, together: IntArray, rng: np.random.Generator) -> IntArray:
    classes, codes = np.unique(strata, return_inverse=True)
    groups, number = np.unique(together, return_inverse=True)
    table = np.zeros((len(groups), len(classes)))
    np.add.at(table, (number, codes), 1)
    sizes = table.sum(axis=0)
    held = np.zeros((n_folds, len(classes)))
    fold_of = np.empty(len(groups), np.int32)
    order = rng.permutation(len(groups))
    for g in order[np.argsort(-table[order].sum(axis=1), kind="stable")]:
        shares = held / sizes
        spread = np.empty(n_folds)
        for f in range(n_folds):
            tried = shares.copy()
            tried[f] += table[g] / sizes
            spread[f] = tried.std(axis=0).mean()
        lowest = np.flatnonzero(spread <= spread.min() + 1e-12)
        best = lowest[np.argmin(held[lowest].sum(axis=1))]
        held[best] += table[g]
        fold_of[g] = best
    return fold_of[number]

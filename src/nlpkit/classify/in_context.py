"""Which labelled examples a language model is shown before a text: some at random, as many of each label, or the nearest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.errors import InputError
from nlpkit.types import Float32Array, LongArray


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts with their labels; codes (n,): places of these among the labels that are asked for."""

    texts: Sequence[str]
    codes: LongArray

    def __len__(self) -> int:
        return len(self.texts)


def labelled_examples(texts: Sequence[str | None], labels: Sequence[str | None], names: Sequence[str]) -> Examples:
    """Return the examples that have a text and a label, each text once.

    Raises:
        InputError: there are none, a label that is none of the names, or one text with two labels.
    """
    codes: dict[str, int] = {}
    place = {name: j for j, name in enumerate(names)}
    for text, label in zip(texts, labels, strict=True):
        if text is None or not text.strip() or label is None:
            continue
        if label not in place:
            raise InputError(
                f"the label '{label}' of an example is not one of {', '.join(names)}; add it to `labels`, or leave "
                "the example out",
                parameter="examples",
            )
        if codes.setdefault(text, place[label]) != place[label]:
            raise InputError(
                f"the example '{text[:40]}' has two labels, {names[codes[text]]} and {label}", parameter="examples"
            )
    if not codes:
        raise InputError("no example has both text and label", parameter="examples")
    return Examples(list(codes), np.array(list(codes.values()), np.int64))


def random_examples(n_examples: int, shots: int, rng: np.random.Generator) -> LongArray:
    """Return `shots` of the examples at random, in the order in which they are drawn; all where there are fewer."""
    return rng.permutation(n_examples)[:shots].astype(np.int64)


def balanced_examples(codes: LongArray, shots: int, rng: np.random.Generator) -> LongArray:
    """Return `shots` of the examples at random, of each label in turn: as many of each, as far as they last, and mixed.

    Which labels have one more is drawn, too.
    """
    drawn = rng.permutation(len(codes))
    labels = rng.permutation(np.unique(codes))
    left = [drawn[codes[drawn] == j].tolist() for j in labels]
    chosen: list[int] = []
    while len(chosen) < shots and any(left):
        chosen += [of_label.pop(0) for of_label in left if of_label]
    return rng.permutation(np.array(chosen[:shots], np.int64)).astype(np.int64)


def nearest_examples(texts: Float32Array, examples: Float32Array, shots: int) -> LongArray:
    """Return for each text the `shots` nearest examples by cosine (D, shots), the nearest last (Liu et al. 2022, §3.1).

    Args:
        texts: (D, E) of length 1; examples: (n, E). Equal ones: the first example is nearer.
    """
    cosine = texts.astype(np.float64) @ examples.astype(np.float64).T
    order: LongArray = np.argsort(-cosine, axis=1, kind="stable")[:, :shots]
    return order[:, ::-1].astype(np.int64)

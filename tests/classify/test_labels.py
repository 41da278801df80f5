"""Labels as classes, and folds: every class in each fold, groups together, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from nlpkit.classify.dataset import encode_sets, encode_single
from nlpkit.errors import InputError


def every(n: int) -> np.ndarray:
    return np.ones(n, bool)


def test_classes_are_those_of_training_documents_in_order() -> None:
    learn = np.array([True, True, True, True, False])
    found = encode_single(["b", "a", None, "b", "z"], learn)
    assert found.names == ("a", "b")
    assert found.codes is not None
    assert found.codes.tolist() == [1, 0, -1, 1, -1]
    assert found.known.tolist() == [True, True, False, True, True]
    assert found.sizes(np.arange(5)).tolist() == [1, 2]


def test_numbers_are_ordered_as_numbers() -> None:
    assert encode_single(["10", "9", "2", "x"], every(4)).names == ("2", "9", "10", "x")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([None, None], "no training document has a label"),
        (["a", None, "a"], "all labelled training documents have the label 'a'"),
    ],
)
def test_two_classes_are_needed(values: list[str | None], says: str) -> None:
    with pytest.raises(InputError, match=says):
        encode_single(values, every(len(values)))


def test_sets_of_labels() -> None:
    found = encode_sets([["b", "a"], [], None, ["b", "z"]], np.array([True, True, True, False]))
    assert found.names == ("a", "b")
    assert found.sets is not None
    assert found.sets.tolist() == [[True, True], [False, False], [False, False], [False, True]]
    assert found.known.tolist() == [True, True, False, True]
    # a document of a and b is dealt out with the rarer a; one without any label is in a class of its own
    assert found.strata(np.arange(4)).tolist() == [0, 2, 2, 1]

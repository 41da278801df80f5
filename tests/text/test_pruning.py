"""Which terms stay, against a few lines of plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import InputError, UsageError
from nlpkit.text.fitted import REASONS, Pruned, prune
from nlpkit.text.options import PreprocessOptions
from tests.refusals import refuses
from tests.strategies import repeatable

TERMS = ("ant", "bee", "cat", "dog", "eel", "fox")
CF = (9, 4, 4, 4, 1, 0)  # fox was only ever a part of phrases
DF = (5, 3, 4, 3, 1, 0)
N_DOCS = 5


def run(*, stopped: tuple[str, ...] = (), cf: Any = CF, df: Any = DF, n_docs: int = N_DOCS, **options: Any) -> Pruned:
    return prune(
        np.array(cf, np.int64),
        np.array(df, np.int64),
        np.array([t in stopped for t in TERMS]),
        PreprocessOptions(**options),
        n_docs=n_docs,
        strings=lambda ids: [TERMS[i] for i in ids.tolist()],
    )


def kept(**options: Any) -> list[str]:
    return [TERMS[i] for i in run(**options).kept.tolist()]


def reasons(**options: Any) -> dict[str, str]:
    return dict(zip(TERMS, (REASONS[r] for r in run(**options).reasons.tolist()), strict=True))


@pytest.mark.parametrize(
    ("options", "terms"),
    [
        ({}, ["ant", "bee", "cat", "dog", "eel"]),
        ({"min_df": 3}, ["ant", "bee", "cat", "dog"]),
        ({"min_df": 0.7}, ["ant", "cat"]),  # 3.5 documents
        ({"max_df": 3}, ["bee", "dog", "eel"]),
        ({"max_df": 0.7}, ["bee", "dog", "eel"]),
        ({"min_cf": 4}, ["ant", "bee", "cat", "dog"]),
        ({"min_cf": 0.2}, ["ant"]),  # 4.4 of 22 tokens
        ({"max_cf": 4}, ["bee", "cat", "dog", "eel"]),
        ({"max_cf": 0.2}, ["bee", "cat", "dog", "eel"]),
        ({"min_df": 2, "max_cf": 8}, ["bee", "cat", "dog"]),
        ({"max_vocab": 1}, ["ant"]),
        ({"max_vocab": 2}, ["ant", "cat"]),  # of those with 4 occurrences it is in most documents
        ({"max_vocab": 3}, ["ant", "bee", "cat"]),  # bee before dog in the alphabet
        ({"max_vocab": 9}, ["ant", "bee", "cat", "dog", "eel"]),
        ({"max_vocab": 2, "stopped": ("ant",)}, ["bee", "cat"]),
        ({"max_vocab": 2, "max_df": 4}, ["bee", "cat"]),
        ({"stopped": TERMS}, []),
    ],
)
def test_bounds(options: dict[str, Any], terms: list[str]) -> None:
    assert kept(**options) == terms


def test_shares_of_occurrences_are_of_what_is_no_stop_word() -> None:
    assert kept(min_cf=0.3, stopped=("ant",)) == ["bee", "cat", "dog"]  # 3.9 of 13, not 6.6 of 22


def test_each_term_that_went_has_one_reason() -> None:
    assert reasons(min_df=2, max_df=4, max_vocab=2, stopped=("cat",)) == {
        "ant": "too frequent", "bee": "kept", "cat": "stop word", "dog": "kept", "eel": "too rare", "fox": "kept",
    }  # fmt: skip
    found = run(min_df=2, max_df=4, max_vocab=1, stopped=("cat",))
    assert [found.count(r) for r in range(1, 5)] == [1, 1, 1, 1]


def test_least_documents_by_default() -> None:
    assert (run(n_docs=99).min_df, run(n_docs=100).min_df) == (1, 2)
    assert run(min_df=0.3).min_df == 0.3


def test_new_ids_are_places_among_those_kept() -> None:
    assert run(min_df=3).new_ids().tolist() == [0, 1, 2, 3, -1, -1]
    assert run(vocab=("dog", "yak", "ant")).new_ids().tolist() == [2, -1, -1, 0, -1, -1]


def test_a_given_vocabulary_keeps_its_order_and_wins() -> None:
    found = run(vocab=("dog", "yak", "ant"), stopped=("ant", "bee"), min_df=5, max_vocab=1)
    assert found.kept.tolist() == [3, -1, 0]
    assert [REASONS[r] for r in found.reasons] == [
        "kept", "stop word", "not in the vocabulary", "kept", "not in the vocabulary", "kept",
    ]  # fmt: skip
    with refuses("vocab", InputError):
        run(vocab=("dog", "dog"))


def test_nothing_left_names_the_bounds_that_did_it() -> None:
    with pytest.raises(InputError):
        run(min_df=4, max_df=0.2, n_docs=20, df=(5, 3, 3, 3, 1, 0))
    with pytest.raises(InputError, match="`min_cf=10`"):
        run(min_cf=10)
    with pytest.raises(InputError):
        run(max_cf=0.15, min_df=5)  # 3.3 of 22


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_cf": 1.5}, "`min_cf=1.5`"),
        ({"max_cf": -1}, "`max_cf=-1`: a number of occurrences cannot be negative"),
        ({"min_df": 6, "n_docs": 5}, "no term can satisfy both"),
        ({"min_cf": 9, "max_cf": 8}, "`min_cf` is 9 and `max_cf=8` occurrences, so no term can satisfy both"),
        ({"max_cf": 0.01}, r"`min_cf` is 1 and `max_cf=0.22` occurrences, so no term can satisfy both"),
        ({"max_vocab": 0}, "a vocabulary has at least one term"),
    ],
)
def test_bounds_that_cannot_be_meant(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(**options)


@repeatable
@given(
    counts=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=6, max_size=6),
    stopped=st.frozensets(st.sampled_from(TERMS)),
    min_df=st.one_of(st.integers(0, 4), st.floats(0, 0.5)),
    max_df=st.one_of(st.integers(4, 9), st.floats(0.5, 1)),
    min_cf=st.one_of(st.integers(0, 4), st.floats(0, 0.1)),
    max_vocab=st.one_of(st.none(), st.integers(1, 6)),
)
def test_as_in_plain_python(
    counts: list[tuple[int, int]],
    stopped: frozenset[str],
    min_df: float,
    max_df: float,
    min_cf: float,
    max_vocab: int | None,
) -> None:
    df = [d for d, _ in counts]
    cf = [d * more for d, more in counts]
    n_docs, n_tokens = 8, sum(c for t, c in zip(TERMS, cf, strict=True) if t not in stopped)

    def number(value: float, of: int) -> float:
        return value if isinstance(value, int) else round(value * of, 6)

    seen = [i for i, t in enumerate(TERMS) if t not in stopped and cf[i]]
    stay = [
        i for i in seen
        if number(min_df, n_docs) <= df[i] <= number(max_df, n_docs) and cf[i] >= number(min_cf, n_tokens)
    ]  # fmt: skip
    best = sorted(stay, key=lambda i: (-cf[i], -df[i], TERMS[i]))[:max_vocab]
    options = {"min_df": min_df, "max_df": max_df, "min_cf": min_cf, "max_vocab": max_vocab}
    if seen and not stay:
        with pytest.raises((InputError, UsageError)):
            run(stopped=tuple(stopped), cf=cf, df=df, n_docs=n_docs, **options)
        return
    found = run(stopped=tuple(stopped), cf=cf, df=df, n_docs=n_docs, **options)
    assert found.kept.tolist() == sorted(best)

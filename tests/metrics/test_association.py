"""Measures of association: tables of papers, NLTK, and what holds of every table."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.metrics import association as of
from tests.strategies import repeatable


@pytest.mark.parametrize(
    ("both", "x_only", "y_only", "neither", "g2"),
    [(110, 2442, 111, 29114, 270.72), (29, 13, 123, 31612, 263.90), (31, 23, 139, 31584, 256.84)],
)
def test_the_table_of_dunning(both: int, x_only: int, y_only: int, neither: int, g2: float) -> None:
    # "the swiss", "can be", "previous year": Dunning (1993), Table 2
    n = both + x_only + y_only + neither
    assert float(of.log_likelihood(both, both + x_only, both + y_only, n)) == pytest.approx(g2, abs=0.005)


def test_by_hand() -> None:
    # 12 pairs, 4 with x, 3 with y, 2 with both: E = 1
    assert float(of.expected(4, 3, 12)) == 1
    assert float(of.pmi(2, 4, 3, 12)) == pytest.approx(log(2))
    assert float(of.npmi(2, 4, 3, 12)) == pytest.approx(log(2) / log(6))
    assert float(of.t_score(2, 4, 3, 12)) == pytest.approx(1 / 2**0.5)
    assert float(of.dice(2, 4, 3)) == pytest.approx(4 / 7)
    assert float(of.log_dice(1, 1, 1)) == 14
    assert float(of.npmi(5, 5, 5, 5)) == 1
    assert float(of.log_likelihood(0, 4, 3, 12)) < 0 < float(of.log_likelihood(2, 4, 3, 12))
    assert of.expected(np.zeros(2), 0, 0).tolist() == [0, 0]


@repeatable
@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 50), st.integers(1, 5000))
def test_like_nltk(both: int, x_only: int, y_only: int, neither: int) -> None:
    measures = pytest.importorskip("nltk.metrics.association").BigramAssocMeasures
    x, y, n = both + x_only, both + y_only, both + x_only + y_only + neither
    table = both, (x, y), n
    assert float(of.pmi(both, x, y, n)) == pytest.approx(measures.pmi(*table) * log(2), abs=1e-9)
    assert float(of.t_score(both, x, y, n)) == pytest.approx(measures.student_t(*table), abs=1e-9)
    assert float(of.dice(both, x, y)) == pytest.approx(measures.dice(*table), rel=1e-12)
    assert abs(float(of.log_likelihood(both, x, y, n))) == pytest.approx(measures.likelihood_ratio(*table), abs=1e-6)
    assert -1 <= float(of.npmi(both, x, y, n)) <= 1 + 1e-9

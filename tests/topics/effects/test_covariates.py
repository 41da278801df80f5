"""Columns of texts as covariates: what CSV has no other form for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.errors import ColumnError
from nlpkit.topics.effects.covariates import covariate_of
from nlpkit.topics.effects.design import Covariate


def read(*texts: str | None, is_category: bool = False) -> Covariate:
    return covariate_of(pa.table({"x": texts}), "x", where="the corpus", is_category=is_category)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (("12", "1999", "-3.5"), (12, 1999, -3.5)),
        (("1999",), (1999,)),  # alone as among others: a document that comes later is read as those of the fit
        (("1999", None, ""), (1999, np.nan, np.nan)),
        (("1970-01-02", "1971-01-01"), (1, 365)),
        (("19700102",), (1,)),
        (("99999999",), (99_999_999,)),
    ],
)
def test_numbers_and_dates(texts: tuple[str | None, ...], values: tuple[float, ...]) -> None:
    np.testing.assert_array_equal(read(*texts), values)


def test_other_texts_are_categories() -> None:
    assert read("4b", "4") == ["4b", "4"]
    assert read("1", "2", is_category=True) == ["1", "2"]
    assert read("1,5", is_category=True) == ["1,5"]


def test_numbers_with_a_comma_are_refused() -> None:
    with pytest.raises(ColumnError, match="column 'x' of the corpus holds numbers with a comma, such as 1,5"):
        read("1", None, "1,5")

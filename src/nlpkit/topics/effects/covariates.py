"""Columns of documents as covariates of a formula: numbers, dates as days, categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import ColumnError, missing_column
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import TEXT_HASH
from nlpkit.platform.documents.date_columns import date_format_of, days_of
from nlpkit.platform.types import FloatArray
from nlpkit.platform.values import python_values
from nlpkit.topics.effects.design import Covariate, Design
from nlpkit.topics.effects.formula import Formula


def covariates_of(rows: pa.Table, formula: Formula, *, where: str) -> dict[str, Covariate]:
    """Return the columns of a formula: numbers with NaN, or categories with None, where a document has no value.

    Dates are days since 1970-01-01. A column of texts that are all numbers (also years), or all dates (also 20240131), is what they
    are, as in a CSV file, unless the formula has it as factor(). Truth values and other texts are categories.

    Raises:
        ColumnError: a column is not there, or holds other than single values, or numbers with a comma.
    """
    categories = {factor.column for term in formula.terms for factor in term if factor.use == "factor"}
    return {name: covariate_of(rows, name, where=where, is_category=name in categories) for name in formula.columns}


def note_dropped_knots(design: Design) -> None:
    """Tell which splines have fewer degrees of freedom than the formula gives them."""
    for coding in design.codings:
        if coding.dropped:
            reporting.note(
                f"'{coding.factor}' has {len(coding.names(full=True))} degrees of freedom: "
                f"{wording.counted(coding.dropped, 'knot')} left out, as many values of '{coding.factor.column}' are equal"
            )


def covariate_of(
    rows: pa.Table, name: str, *, where: str, is_category: bool, parameter: str = "prevalence"
) -> Covariate:
    """Return a column as numbers, NaN where one is missing, or as categories.

    is_category: texts are categories even where they are all dates, or all numbers.

    Raises:
        ColumnError: it is not there, or holds other than single values, or numbers with a comma.
    """
    if name not in rows.column_names:
        raise missing_column(where, name, (n for n in rows.column_names if n != TEXT_HASH), parameter)
    column = rows.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    column = column.cast(kind)
    if pa.types.is_nested(kind):
        raise ColumnError(f"column '{name}' of {where} holds {kind}; a covariate needs one value per document")
    if pa.types.is_floating(kind) or (pa.types.is_integer(kind) and not (is_category and _beyond_floats(column))):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _as_days(rows, name)
    texts = [None if value is None or str(value) == "" else str(value) for value in python_values(column)]
    if is_category or pa.types.is_boolean(kind) or not any(map(str.isdigit, next(filter(None, texts), ""))):
        return texts
    numbers = _numbers_if_all(texts)
    # by the form of each value and not of all, so that a few new documents are read as those of the fit were
    if numbers is None or all(len(text) == len("20240131") for text in texts if text):
        days = _days_if_dates(rows, name, texts)
        if days is not None:
            return days
    if numbers is None and _numbers_if_all([text and text.replace(",", ".") for text in texts]) is not None:
        text = next(text for text in texts if text and "," in text)
        raise ColumnError(
            f"column '{name}' of {where} holds numbers with a comma, such as {text}: write them with a point, or factor() for categories"
        )
    return texts if numbers is None else numbers


def _beyond_floats(column: pa.ChunkedArray) -> bool:
    """Whether a column of integers has some that a float rounds, so that two categories could become one: ids of more than 53 bits."""
    least, most = pc.min_max(column).as_py().values()
    return least is not None and (least < -(2**53) or most > 2**53)


def _days_if_dates(rows: pa.Table, name: str, texts: Sequence[str | None]) -> FloatArray | None:
    """Return a column of texts as days where each that is there is a date, None otherwise."""
    days = _as_days(rows, name)
    return days if np.array_equal(np.isnan(days), [text is None for text in texts]) else None


def _numbers_if_all(texts: Sequence[str | None]) -> FloatArray | None:
    """Return texts as numbers, NaN for None, where all that are there are numbers, None otherwise."""
    try:
        return np.array([np.nan if text is None else float(text) for text in texts])
    except ValueError:
        return None


def _as_days(rows: pa.Table, name: str) -> FloatArray:
    days, _ = days_of(rows.column(name), name, format=date_format_of(rows.schema, name))
    return np.where(np.isnat(days), np.nan, days.astype(np.float64))

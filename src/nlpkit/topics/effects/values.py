"""The values of columns that a question about effects names: pairs that are compared, and values of a moderator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import UsageError, unknown_value
from nlpkit.platform.options import names_in
from nlpkit.topics.effects.data import EffectData
from nlpkit.topics.effects.design import Coding
from nlpkit.topics.effects.options import EffectOptions

QUANTILES = (0.1, 0.9)  # of a number that moderates
MOST_LINES = 8  # values of a moderator


@dataclass(frozen=True, slots=True)
class Moderator:
    """A column that is varied beside the one whose effect is asked for: its values, by name."""

    column: str
    values: tuple[tuple[str, float | str], ...]


def moderated(data: EffectData, column: str, moderator: str) -> Moderator:
    """Return a moderator of the effect of a column, COLUMN or COLUMN=VALUE,…, with its values.

    Raises:
        UsageError: it is the column itself, or has too many values; ColumnError: the formula does not have it.
    """
    whole = moderator in data.formula.columns
    name, _, text = (moderator, "", "") if whole else moderator.partition("=")
    coding = data.design.coding_of(name)
    if name == column:
        raise UsageError(f"`moderator={name}` is the column of the effect; name another one", parameter="moderator")
    if named := _values_in(text, coding):
        values = tuple((each, _value(each, data, name, "moderator")) for each in named)
    elif coding.is_number:
        ends = np.unique(np.quantile(np.asarray(data.values[name], np.float64), QUANTILES))
        dates = holds_dates(data, name)
        ends = np.unique(ends.round()) if dates else ends
        values = tuple((written(value, dates), value) for value in ends.tolist())
    else:
        values = tuple((level, level) for level in coding.levels)
    if len(values) > MOST_LINES:
        raise UsageError(
            f"`moderator={name}` has {len(values)} values, and lines of {MOST_LINES} at most can be told apart; name some: "
            f"{name}={','.join(each for each, _ in values[:2])}",
            parameter="moderator",
        )
    return Moderator(name, values)


Pair = tuple[tuple[str, float | str], tuple[str, float | str]]


def compared_pair(data: EffectData, options: EffectOptions) -> Pair | None:
    """Return the two values that are compared. Raises UsageError where there are not two."""
    if options.difference is None:
        return None
    column = str(options.column)
    names = _values_in(options.difference, data.design.coding_of(column))
    if len(names) != 2:
        raise UsageError(
            f"`difference` compares two values of '{column}', and {len(names)} are named: write VALUE,VALUE",
            parameter="difference",
        )
    first, second = ((name, _value(name, data, column, "difference")) for name in names)
    return first, second


def _values_in(text: Any, coding: Coding) -> list[str]:
    """Return the values that are named, with commas between; two levels may hold commas themselves."""
    if not isinstance(text, str):
        return [str(value) for value in text or ()]
    parts = text.split(",")
    pairs = ([",".join(parts[:at]).strip(), ",".join(parts[at:]).strip()] for at in range(1, len(parts)))
    return next((pair for pair in pairs if set(pair) <= set(coding.levels)), names_in(text))


def _value(name: str, data: EffectData, column: str, parameter: str) -> float | str:
    """Return a value of a column by its name: a level, a number, or the days of a date. Raises UsageError where it is none."""
    coding = data.design.coding_of(column)
    if not coding.is_number:
        if name not in coding.levels:
            raise unknown_value(parameter, name, coding.levels)
        return name
    dates = holds_dates(data, column)
    try:
        value = float(np.datetime64(name, "D").astype(np.int64)) if dates else float(name)
    except ValueError:
        kind = "a date, such as 2024-01-31" if dates else "a number"
        raise UsageError(
            f"`{parameter}`: '{name}' is not {kind}, and '{column}' holds such", parameter=parameter
        ) from None
    low, high = coding.ends
    if coding.knots and not low <= value <= high:
        raise UsageError(
            f"`{parameter}`: '{name}' is outside {written(low, dates)} to {written(high, dates)}, the values of '{column}' in the fit",
            parameter=parameter,
        )
    return value


def holds_dates(data: EffectData, column: str) -> bool:
    """Whether the numbers of a covariate are days of dates: neither numbers nor texts of the same numbers."""
    kind = data.rows.schema.field(column).type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or not data.design.coding_of(column).is_number:
        return False
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return True
    texts = data.rows.column(column).cast(pa.string()).to_pylist()
    try:
        return not np.array_equal([float(text) for text in texts], np.asarray(data.values[column]))
    except ValueError:
        return True


def written(value: float, is_date: bool) -> str:
    """Return a number as people write it: a date, or six digits."""
    return str(np.datetime64(int(value), "D")) if is_date else f"{value:.6g}"

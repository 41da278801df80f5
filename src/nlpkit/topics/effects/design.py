"""Design matrices: the columns of X that a formula makes of covariates, and what must be remembered to make them of new documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from nlpkit.errors import InputError, UsageError, missing_column
from nlpkit.platform import wording
from nlpkit.platform.types import BoolArray, FloatArray
from nlpkit.topics.effects.formula import Factor, Formula

LARGEST = 1e50  # of a covariate: the square of a product of three is a float64
DEGREE = 3
DF = 10  # degrees of freedom of a spline
MOST_LEVELS = 200  # of a categorical covariate
LEAST_ADDED = 1e-7  # share of a column's length that the columns before it do not explain

Covariate: TypeAlias = FloatArray | Sequence[str | None]  # numbers, NaN where one is missing, or categories


@dataclass(frozen=True, slots=True)
class Coding:
    """How one factor becomes columns: the levels of categories, the knots of a spline, or neither for a number.

    levels: the first is the reference. knots: (df + 1 + 4,) all of them. middle: the median of numbers, the most frequent category.
    ends: the least and the greatest number, 0 and 0 for categories. dropped: knots that the fit left out, as many values are equal.
    """

    factor: Factor
    levels: tuple[str, ...] = ()
    knots: tuple[float, ...] = ()
    middle: float | str = 0.0
    ends: tuple[float, float] = (0.0, 0.0)
    dropped: int = 0

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers and not categories."""
        return not self.levels

    def names(self, *, full: bool) -> list[str]:
        """Return the names of its columns; full: with one for the reference level."""
        if self.levels:
            return [f"{self.factor}[{level}]" for level in (self.levels if full else self.levels[1:])]
        if self.knots:
            return [f"{self.factor}[{i + 1}]" for i in range(len(self.knots) - DEGREE - 2)]
        return [str(self.factor)]

    def knows(self, values: Covariate) -> BoolArray:
        """Return which values (D,) have columns: those that are there, and of a category or within a spline that the fit had.

        Raises:
            InputError: numbers are needed and the values are texts.
        """
        if self.levels:
            return np.array([label in self.levels for label in as_labels(values)], bool)
        if not isinstance(values, np.ndarray):
            if any(value is not None for value in values):
                raise _no_numbers(values, self.factor.column)
            return np.zeros(len(values), bool)
        low, high = (self.knots[0], self.knots[-1]) if self.knots else (-np.inf, np.inf)
        return np.isfinite(values) & (values >= low) & (values <= high)

    def columns(self, values: Covariate, *, full: bool) -> FloatArray:
        """Return its columns (D, ·).

        Raises:
            InputError: a value that the fit did not have.
        """
        from scipy.interpolate import BSpline

        if self.levels:
            number: dict[str | None, int] = {level: i for i, level in enumerate(self.levels)}
            labels = as_labels(values)
            unknown = sorted({str(label) for label in labels if label not in number})
            if unknown:
                raise InputError(
                    f"'{self.factor.column}' has values that the model was not fitted with: {', '.join(unknown[:5])} (it has "
                    f"{', '.join(self.levels[:10])})"
                )
            rows = np.eye(len(self.levels))[[number[label] for label in labels]].reshape(-1, len(self.levels))
            return rows if full else rows[:, 1:]
        numbers = _as_numbers(values, self.factor.column)
        if not self.knots:
            return numbers[:, None]
        low, high = self.knots[0], self.knots[-1]
        outside = (numbers < low) | (numbers > high)
        if outside.any():
            raise InputError(
                f"'{self.factor.column}' has {int(outside.sum()):,} values outside {low:g} to {high:g}, the range "
                "of the fit; a spline is not defined there"
            )
        return np.asarray(BSpline.design_matrix(numbers, np.array(self.knots), DEGREE).toarray()[:, 1:])


@dataclass(frozen=True, slots=True)
class Design:
    """The columns of X: an intercept, then those of each term.

    A category in a term has no column for its reference level if the term without it is there, too, and one for every level otherwise,
    as in R (model.matrix).
    """

    formula: Formula
    codings: tuple[Coding, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns (P,)."""
        names = ["(intercept)"]
        for parts in self._terms():
            names += [":".join(each[::-1]) for each in product(*(c.names(full=f) for c, f in parts[::-1]))]
        return names

    def matrix(self, covariates: Mapping[str, Covariate]) -> FloatArray:
        """Return X (D, P) of documents.

        Raises:
            InputError: a value is missing, or the fit did not have it.
            ColumnError: a column is not there.
        """
        values = checked_covariates(self.formula, covariates)
        D = len(next(iter(values.values()))) if values else 0
        blocks = [np.ones((D, 1))]
        for parts in self._terms():
            block = np.ones((D, 1))
            for coding, full in parts:
                columns = coding.columns(values[coding.factor.column], full=full)
                block = (columns[:, :, None] * block[:, None, :]).reshape(D, -1)
            blocks.append(block)
        return np.hstack(blocks)

    def _terms(self) -> Iterator[list[tuple[Coding, bool]]]:
        """Yield the factors of each term, and whether their categories have all columns."""
        coding = {c.factor: c for c in self.codings}
        sets: set[frozenset[Factor]] = {frozenset(term) for term in self.formula.terms} | {frozenset()}
        for term in self.formula.terms:
            yield [(coding[factor], frozenset(term) - {factor} not in sets) for factor in term]

    def middle_values(self) -> dict[str, Covariate]:
        """Return the values of one document whose columns have their middles."""
        return {
            name: [value] if isinstance(value, str) else np.array([value]) for name, value in self.middles().items()
        }

    def middles(self) -> dict[str, float | str]:
        """Return the value of each column at which the others are looked at: the median, or the most frequent category."""
        return {coding.factor.column: coding.middle for coding in self.codings}

    def coding_of(self, column: str) -> Coding:
        """Return the coding of a column. Raises ColumnError where the formula does not have it."""
        for coding in self.codings:
            if coding.factor.column == column:
                return coding
        raise missing_column("the formula", column, self.formula.columns)

    def to_json(self) -> list[dict[str, Any]]:
        """Return what must be remembered beside the formula, as plain data."""
        return [
            {
                "factor": str(c.factor),
                "levels": list(c.levels),
                "knots": list(c.knots),
                "middle": c.middle,
                "ends": list(c.ends),
            }
            for c in self.codings
        ]


def design_from_json(formula: Formula, codings: Sequence[Mapping[str, Any]]) -> Design:
    """Return the design that `Design.to_json` wrote."""
    factors = {str(factor): factor for term in formula.terms for factor in term}
    return Design(
        formula,
        tuple(
            Coding(
                factors[c["factor"]], tuple(c["levels"]), tuple(map(float, c["knots"])), c["middle"], tuple(c["ends"])
            )
            for c in codings
        ),
    )


def fit_design(formula: Formula, covariates: Mapping[str, Covariate]) -> Design:
    """Return the design of a formula for documents: the levels of their categories, the knots of their splines.

    Knots of s(x, df) are those of bs(x, df) in R: df - 3 quantiles of x between its ends, without those that `supported_knots` drops.
    Levels are in ascending order.

    Raises:
        InputError: a value is missing, a category has one value, a column is a combination of others, or there are fewer documents
            than columns. ColumnError: a column is not there.
    """
    values = checked_covariates(formula, covariates)
    factors = dict.fromkeys(factor for term in formula.terms for factor in term)
    design = Design(formula, tuple(_coding(factor, values[factor.column]) for factor in factors))
    X, names = design.matrix(values), design.names
    if len(X) <= X.shape[1]:
        raise InputError(
            f"the formula '{formula.text}' has {X.shape[1]} columns, and there are {len(X)} documents with words; give fewer covariates "
            "or more documents"
        )
    surplus = np.flatnonzero(added_lengths(X) <= LEAST_ADDED)
    if len(surplus):
        splines = [c.factor.column for c in design.codings if len(c.knots) > 2 * (DEGREE + 1)]
        raise InputError(
            f"columns of the formula '{formula.text}' are determined by the others: "
            f"{', '.join(names[i] for i in surplus[:5])}; leave out a redundant covariate"
            + (f", or give splines fewer degrees of freedom: s({splines[0]}, 3)" if splines else "")
        )
    return design


def supported_knots(values: FloatArray, knots: FloatArray) -> tuple[float, ...]:
    """Return the inner knots of a cubic spline that its values can tell apart.

    Knots that equal another one, or an end, are dropped. So is, as long as the columns of the basis follow from each other, the knot
    with the fewest values between its neighbours: without values there nothing says how the curve bends (Schoenberg and Whitney 1953).

    Args:
        values: (n,) different values of the covariate in ascending order, at least four; knots: quantiles of the covariate.
    """
    from scipy.interpolate import BSpline

    low, high = values[0], values[-1]
    inner = np.unique(knots[(knots > low) & (knots < high)])
    while len(inner):
        every = np.concatenate([np.repeat(low, DEGREE + 1), inner, np.repeat(high, DEGREE + 1)])
        basis = BSpline.design_matrix(values, every, DEGREE).toarray()
        if len(values) >= basis.shape[1] and added_lengths(basis).min() > LEAST_ADDED:
            break
        between = np.diff(np.searchsorted(values, [low, *inner, high]))
        inner = np.delete(inner, (between[:-1] + between[1:]).argmin())
    return tuple(map(float, inner))


def added_lengths(X: FloatArray) -> FloatArray:
    """Return what each column of X (D, P), D ≥ P, scaled to length 1, adds to those before it: 0 where it is a combination of them."""
    lengths = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    return np.asarray(np.abs(np.diag(np.linalg.qr(X / lengths, mode="r"))))


def checked_covariates(formula: Formula, covariates: Mapping[str, Covariate]) -> dict[str, Covariate]:
    """Return the columns of a formula.

    Raises:
        ColumnError: one is not there; InputError: a value is missing.
    """
    values: dict[str, Covariate] = {}
    for column in formula.columns:
        if column not in covariates:
            raise missing_column("the table of documents", column, covariates, "prevalence")
        values[column] = covariates[column]
        missing = _missing(values[column])
        if missing:
            raise InputError(
                f"'{column}' has no value in {missing:,} of {len(values[column]):,} documents, but a covariate "
                "needs a value in each document; leave the covariate out, or leave these documents out (`keep_if`)"
            )
    return values


def _coding(factor: Factor, values: Covariate) -> Coding:
    """Return the coding of a factor for the values of its column."""
    is_numeric = isinstance(values, np.ndarray)
    if factor.use == "plain" and is_numeric:
        numbers = _as_numbers(values, factor.column)
        return Coding(factor, middle=float(np.median(numbers)), ends=(float(numbers.min()), float(numbers.max())))
    if factor.use == "spline":
        numbers = _as_numbers(values, factor.column)
        different = len(np.unique(numbers))
        df = min(DF, different - 1) if factor.df is None else factor.df
        if df < DEGREE or df >= different:
            raise InputError(
                f"'{factor}' needs at least {max(DEGREE, df) + 1} different values and '{factor.column}' has "
                f"{different}; use the column as it is, or as factor()"
            )
        quantiles = np.quantile(numbers, np.linspace(0, 1, df - DEGREE + 2)[1:-1])
        low, high = float(numbers.min()), float(numbers.max())
        knots = supported_knots(np.unique(numbers), quantiles)
        every = (*(low,) * (DEGREE + 1), *knots, *(high,) * (DEGREE + 1))
        return Coding(factor, (), every, float(np.median(numbers)), (low, high), df - DEGREE - len(knots))
    labels = as_labels(values)
    levels, sizes = np.unique(np.array(labels, str), return_counts=True)
    names = list(sorted_levels(values))
    if not 2 <= len(names) <= MOST_LEVELS:
        raise InputError(
            f"'{factor.column}' has {wording.counted(len(names), 'category', 'categories')}, and 2 to {MOST_LEVELS} are needed; "
            + (
                "it does not distinguish the documents; leave it out"
                if len(names) < 2
                else "use a column of groups, or of numbers"
            )
        )
    if factor.first is not None:
        if factor.first not in names:
            raise UsageError(
                f"`prevalence` names '{factor.first}' as first level of '{factor.column}', which has {', '.join(names[:10])}",
                parameter="prevalence",
            )
        names = [factor.first, *(name for name in names if name != factor.first)]
    return Coding(factor, levels=tuple(names), middle=str(levels[sizes.argmax()]))


def sorted_levels(values: Covariate) -> tuple[str, ...]:
    """Return the categories of values, numbers in the order of numbers, texts in that of the alphabet."""
    different = {label for label in as_labels(values) if label is not None}
    return tuple(sorted(different, key=float) if isinstance(values, np.ndarray) else sorted(different))


def as_labels(values: Covariate) -> list[str | None]:
    """Return values as categories: numbers as they are written, None where one is missing."""
    if isinstance(values, np.ndarray):
        return [None if np.isnan(value) else f"{value:.15g}" for value in values.tolist()]
    return [None if value is None else str(value) for value in values]


def _as_numbers(values: Covariate, column: str) -> FloatArray:
    """Return the numbers of a column.

    Raises:
        InputError: they are none, or too large to compute with.
    """
    if not isinstance(values, np.ndarray):
        raise _no_numbers(values, column)
    if not np.isfinite(values).all():
        raise InputError(f"'{column}' has values that are infinite; a covariate must be finite")
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise InputError(
            f"'{column}' has a value of size {largest:g}; covariates may be up to {LARGEST:g}; divide the column, "
            "or use its logarithm"
        )
    return np.asarray(values, np.float64)


def _no_numbers(values: Sequence[str | None], column: str) -> InputError:
    some = next((value for value in values if value is not None), "")
    return InputError(
        f"'{column}' must be a number but holds text such as '{some}'; s() needs a column of numbers or dates"
    )


def _missing(values: Covariate) -> int:
    """Return the number of documents without a value."""
    if isinstance(values, np.ndarray):
        return int(np.isnan(values).sum())
    return sum(value is None for value in values)

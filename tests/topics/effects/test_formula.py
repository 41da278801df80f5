"""Formulas and the columns they make: R's rules by hand, splines by the recursion, messages that show where."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nlpkit.errors import ColumnError, InputError, UsageError
from nlpkit.topics.effects.design import design_from_json, fit_design
from nlpkit.topics.effects.formula import parse_formula
from tests.reference.stm import spline

PARTY = ["b", "a", "a", "c", "b", "c", "a", "b", "c", "a"]
X = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 11])
DATA = {"party": PARTY, "x": X, "z": X**2, "odd name": X, "same": ["a"] * 10, "few": np.array([0.0, 1] * 5)}


def names(text: str) -> list[str]:
    return fit_design(parse_formula(text), DATA).names


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("party + s(x)", ["party", "s(x)"]),
        ("~ party", ["party"]),
        ("a*b", ["a", "b", "a:b"]),
        ("a*b*c", ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]),
        ("(a + b):c + 1", ["a:c", "b:c"]),
        ("a:b + c + a", ["c", "a", "a:b"]),
        ("s(`odd name`, 5):factor(year)", ["s(`odd name`, 5):factor(year)"]),
        ("factor(party, 'SPD')", ['factor(party, "SPD")']),
        ("a + a", ["a"]),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert [":".join(map(str, term)) for term in parse_formula(text).terms] == terms


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("party +", "at its end, after 'party +'"),
        ("party + + x", "at '+ x', character 9"),
        ("s(x", "at its end, after 's(x': expected ')'"),
        ("s(x, 2)", "at '2)', character 6"),
        ("poly(x, 2)", "there is no function 'poly'"),
        ("y ~ x", "no left side"),
        ("x - 1", "cannot be taken away"),
        ("party x", "at 'x', character 7"),
        ("`x", "expected the name of a column"),
        ("x^2", "at '^2', character 2"),
        ("", "at its end"),
    ],
)
def test_errors_show_where(text: str, where: str) -> None:
    with pytest.raises(UsageError, match="`prevalence` cannot be read") as error:
        parse_formula(text)
    assert where in str(error.value)


def test_columns_are_those_of_model_matrix() -> None:
    """Contrasts to the first level where the margin is there, all levels where it is not, as in R."""
    assert names("party + x") == ["(intercept)", "party[b]", "party[c]", "x"]
    assert names("party*x") == ["(intercept)", "party[b]", "party[c]", "x", "party[b]:x", "party[c]:x"]
    assert names("party:x") == ["(intercept)", "party[a]:x", "party[b]:x", "party[c]:x"]
    assert names("factor(party, c)") == ["(intercept)", 'factor(party, "c")[a]', 'factor(party, "c")[b]']
    assert names("factor(few)") == ["(intercept)", "factor(few)[1]"]
    matrix = fit_design(parse_formula("party*x"), DATA).matrix(DATA)
    np.testing.assert_array_equal(matrix[0], [1, 1, 0, 1, 1, 0])
    np.testing.assert_array_equal(matrix[3], [1, 0, 1, 4, 0, 4])
    np.testing.assert_array_equal(matrix[9], [1, 0, 0, 11, 0, 0])


def test_splines_are_those_of_bs() -> None:
    """df - 3 inner knots at quantiles, the first of the basis left out."""
    design = fit_design(parse_formula("s(x, 5)"), DATA)
    knots = np.array(design.codings[0].knots)
    np.testing.assert_allclose(knots, [1] * 4 + [4.0, 7.0] + [11] * 4)
    expected = [[spline(x, knots, i, 3) for i in range(1, 6)] for x in X]
    np.testing.assert_allclose(design.matrix(DATA)[:, 1:], expected, atol=1e-12)
    assert design.names[1:] == [f"s(x, 5)[{i}]" for i in range(1, 6)]
    days = np.arange(400.0)
    assert len(fit_design(parse_formula("s(x)"), {"x": days}).names) == 11


def counts_with(share: float) -> np.ndarray:
    """Counts such as likes: a share of zeros, then a long tail."""
    tail = np.floor(np.exp(np.random.default_rng(0).normal(1.5, 1.5, round(200 * (1 - share))))) + 1
    return np.concatenate([np.zeros(200 - len(tail)), tail])


@pytest.mark.parametrize("values", [
    counts_with(0.6), counts_with(0.9), -counts_with(0.5), np.repeat([0.0, 1, 2, 3, 400], [150, 20, 20, 5, 5]),
    np.repeat(np.arange(6.0), [1, 1, 50, 1, 1, 46]), np.concatenate([np.zeros(97), [1.0, 2, 1e6]]),
    np.concatenate([np.full(60, 5.0), np.arange(40.0)]), np.array([0.0] * 30 + [1] * 30 + [2] * 30 + [3]),
])  # fmt: skip
@pytest.mark.parametrize("text", ["s(x)", "s(x, 5)", "s(x, 4)"])
def test_splines_of_values_that_are_often_equal(values: np.ndarray, text: str) -> None:
    """Equal quantiles make knots equal, and columns of the basis vanish: such knots are left out."""
    different = len(np.unique(values))
    if text != "s(x)" and int(text[-2]) >= different:
        pytest.skip("refused: fewer values than degrees of freedom")
    design = fit_design(parse_formula(text), {"x": values})
    (coding,) = design.codings
    matrix = design.matrix({"x": values})
    assert np.linalg.matrix_rank(matrix / np.linalg.norm(matrix, axis=0)) == matrix.shape[1]
    asked = min(10, different - 1) if text == "s(x)" else int(text[-2])
    assert len(design.names) - 1 == asked - coding.dropped >= 3
    inner = np.array(coding.knots[4:-4])
    assert (np.diff(inner) > 0).all()
    assert design_from_json(design.formula, json.loads(json.dumps(design.to_json()))).names == design.names


def test_knots_that_differ_stay() -> None:
    assert not fit_design(parse_formula("s(x)"), {"x": np.arange(40.0)}).codings[0].dropped
    some = np.repeat(np.arange(30.0), np.arange(1, 31))  # ties, but no quantile twice
    (coding,) = fit_design(parse_formula("s(x)"), {"x": some}).codings
    np.testing.assert_allclose(coding.knots[4:-4], np.quantile(some, np.arange(1, 8) / 8))


def test_new_documents_have_the_same_columns() -> None:
    design = fit_design(parse_formula("party*s(x, 3)"), {**DATA, "x": X * 1.0, "party": ["a", "b"] * 5})
    again = design_from_json(design.formula, json.loads(json.dumps(design.to_json())))
    new = {"party": ["b", "a"], "x": np.array([2.5, 11.0])}
    np.testing.assert_array_equal(design.matrix(new), again.matrix(new))
    with pytest.raises(InputError, match="was not fitted with: zz"):
        design.matrix({**new, "party": ["zz", "a"]})
    with pytest.raises(InputError, match="1 values outside 1 to 11"):
        design.matrix({**new, "x": np.array([0.0, 2.0])})


@pytest.mark.parametrize(
    ("text", "data", "message"),
    [
        ("same", DATA, "'same' has 1 category"),
        ("nothing", DATA, "no column 'nothing'"),
        ("x + `odd name`", DATA, "are determined by the others"),
        ("party", {"party": [*PARTY[:-1], None]}, "no value in 1 of 10 documents"),
        ("x", {"x": np.array([1.0, np.nan, 2, 3])}, "no value in 1 of 4"),
        ("s(party)", DATA, "holds text"),
        ("s(few)", DATA, "at least 4 different values"),
        ("party*z", {"party": PARTY[:5], "z": X[:5]}, "has 6 columns, and there are 5 documents"),
        ("z", {"z": np.array([1.0, np.inf, 2, 3])}, "infinite"),
        ("party", {"party": [str(i) for i in range(300)]}, "300 categories, and 2 to"),
    ],
)
def test_bad_covariates(text: str, data: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises((InputError, ColumnError), match=message):
        fit_design(parse_formula(text), data)


def test_an_unknown_first_level() -> None:
    with pytest.raises(UsageError, match="names 'z' as first level"):
        fit_design(parse_formula("factor(party, z)"), DATA)

"""The types that columns get from the first rows, and what later rows may hold."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import EncodingError, InputError
from nlpkit.platform.documents.readers.value_types import (
    JUMBLED,
    NULL,
    TOKENS,
    ValueKind,
    encode_tokens,
    kind_of,
    merge,
    settle,
    to_array,
)


def place(row: int) -> str:
    return f"x.jsonl:{row + 1}"


def arrow(name: str, first: list[Any], later: list[Any] | None = None, **how: Any) -> pa.Array:
    column = settle(name, kind_of(first), how.pop("forced", None))
    array = to_array(column, first if later is None else later, place, **how)
    array.validate(full=True)
    return array


@pytest.mark.parametrize(
    ("values", "type_", "stored"),
    [
        ([None, None], pa.string(), [None, None]),
        ([True, None], pa.bool_(), [True, None]),
        ([1, None, -3], pa.int64(), [1, None, -3]),
        ([1, 2.5], pa.float64(), [1.0, 2.5]),
        ([2**53, 0.5], pa.float64(), [float(2**53), 0.5]),
        ([2**53 + 1, 0.5], pa.string(), [str(2**53 + 1), "0.5"]),  # no float has these digits
        (["a", ""], pa.string(), ["a", ""]),
        ([1, "a", None, [1]], pa.string(), ["1", "a", None, "[1]"]),
        ([True, 1], pa.string(), ["true", "1"]),
        ([2**64], pa.string(), [str(2**64)]),
        ([["a"], [], None], pa.list_(pa.string()), [["a"], [], None]),
        ([[]], pa.list_(pa.string()), [[]]),
        ([[1], [2.5]], pa.list_(pa.float64()), [[1.0], [2.5]]),
        ([["a", {"b": 1}]], pa.list_(pa.string()), [["a", '{"b": 1}']]),
        ([{}], pa.string(), ["{}"]),
        (
            [{"a": 1}, {"b": "x", "a": None}],
            pa.struct([("a", pa.int64()), ("b", pa.string())]),
            [{"a": 1, "b": None}, {"a": None, "b": "x"}],
        ),
        ([{"a": 1}, {"a": "x"}], pa.struct([("a", pa.string())]), [{"a": "1"}, {"a": "x"}]),
    ],
)
def test_types_of_first_rows(values: list[Any], type_: pa.DataType, stored: list[Any]) -> None:
    array = arrow("x", values)
    assert (array.type, array.to_pylist()) == (type_, stored)


def test_nlpkit_columns_come_back_as_they_are_stored() -> None:
    embedding = arrow("embedding", [[1, 0.5], None, [0, 1]])
    assert embedding.type == pa.list_(pa.float32(), 2)
    assert embedding.to_pylist() == [[1.0, 0.5], None, [0.0, 1.0]]
    assert arrow("embedding", [[1.0], [1.0, 2.0]]).type == pa.list_(pa.float64())  # no common length
    tokens = encode_tokens(arrow("tokens", [["a", "b"], [], None, ["a"]]))
    assert (tokens.type, tokens.to_pylist()) == (TOKENS, [["a", "b"], [], None, ["a"]])
    assert arrow("topic", [-1, 3]).type == pa.int32()
    assert arrow("topic", ["a"]).type == pa.string()
    assert arrow("topic_prob", [1, 0.25]).type == pa.float32()
    assert arrow("prediction_prob", [0.25]).type == pa.float32()


@pytest.mark.parametrize(
    ("name", "first", "later", "message"),
    [
        ("x", [1], [2, 4.5], r"x\.jsonl:2: column 'x' was int in the first rows, but 4\.5 here; use `types=x=float"),
        ("x", [1], ["a"], r"x\.jsonl:1: column 'x' was int in the first rows, but \"a\" here; use `types=x=string"),
        ("x", [1], [None, 2**63], "use `types=x=string"),
        ("x", ["a"], ["b", 7], "was string in the first rows, but 7 here; use `types=x=string"),
        ("x", [None], [7], "was empty in the first rows, but 7 here; use `types=x=int"),
        ("x", [True], [0], "was bool in the first rows, but 0 here; use `types=x=string"),
        ("x", [["a"]], [["a"], ["a", 1]], r"in the first rows, but"),
        ("x", [{"a": 1}], [{"a": 1, "b": 2}], "was an object in the first rows"),
        ("x", [{"a": 1}], [{"a": 1.5}], "was an object in the first rows"),
        ("embedding", [[1.0, 2.0]], [[1.0, 2.0], [1.0]], r"in the first rows, but"),
        ("topic", [1], [2**40], "column 'topic' was int"),
    ],
)
def test_a_later_value_that_does_not_fit_is_named(name: str, first: list[Any], later: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        arrow(name, first, later)


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ([1.5], [2, None]),
        ([None], ["a"]),
        ([[]], [["a"], None]),
        ([{"a": None}], [{}, {"a": "x"}, None]),
        ([["a"]], [[]]),
    ],
)
def test_later_values_that_fit(first: list[Any], later: list[Any]) -> None:
    assert len(arrow("x", first, later)) == len(later)


@pytest.mark.parametrize(
    ("forced", "values", "stored"),
    [
        ("int", ["17", " 4 ", "", None, 3, 2.0], [17, 4, None, None, 3, 2]),
        ("float", ["1.5", "1e3", "", 2], [1.5, 1000.0, None, 2.0]),
        ("bool", ["true", "No", "1", "", False], [True, False, True, None, False]),
        ("string", ["a", 1, 2.5, True, [1], None], ["a", "1", "2.5", "true", "[1]", None]),
    ],
)
def test_forced_types(forced: str, values: list[Any], stored: list[Any]) -> None:
    assert arrow("x", values, forced=forced).to_pylist() == stored


@pytest.mark.parametrize(
    ("forced", "value"), [("int", "4.5"), ("int", 4.5), ("int", [1]), ("float", "x"), ("bool", "2")]
)
def test_forced_types_name_the_value_they_cannot_hold(forced: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"x\.jsonl:2: column 'x' should be {forced} \(`types`\), but is"):
        arrow("x", [None, value], forced=forced)


def test_half_a_surrogate_pair() -> None:
    for name, values in (("x", ["ok", "\ud83d!"]), ("x", [["\ud83d!"]]), ("x", [{"a": "\ud83d!"}])):
        with pytest.raises(EncodingError):
            arrow(name, values)
        assert "\ufffd!" in str(arrow(name, values, replace_broken=True).to_pylist())
    assert arrow("x", ["\ud83d\ude00"], replace_broken=True).to_pylist() == ["😀"]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(json_values, max_size=8), st.integers(0, 8))
def test_any_json_fits_the_column_made_from_it(values: list[Any], cut: int) -> None:
    array = arrow("x", values)
    assert len(array) == len(values)
    assert [value is None for value in array.to_pylist()] == [value is None for value in values]
    halves = merge(kind_of(values[:cut]), kind_of(values[cut:]))
    assert settle("x", halves).type == array.type  # the type does not depend on where the rows are cut


@given(st.lists(json_values, max_size=6), st.lists(json_values, max_size=6), st.lists(json_values, max_size=6))
def test_merging_kinds_is_commutative_and_idempotent(a: list[Any], b: list[Any], c: list[Any]) -> None:
    def names(kind: ValueKind) -> object:  # fields in any order
        return kind.name, kind.item and names(kind.item), {name: names(field) for name, field in kind.fields}

    x, y, z = kind_of(a), kind_of(b), kind_of(c)
    assert names(merge(x, y)) == names(merge(y, x))
    assert merge(x, x) == x
    assert merge(x, NULL) == x
    assert merge(x, merge(y, z)).name == merge(merge(x, y), z).name
    assert merge(x, JUMBLED) == JUMBLED

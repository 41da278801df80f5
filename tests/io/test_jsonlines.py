"""Lines of JSON are read by orjson where it gives what json gives, else by json: nobody can tell which it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.errors import InputError
from nlpkit.io.readers import jsonlines

ODD_VALUES = [
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551615", "18446744073709551616", "123456789012345678901234567890", "-0", "-0.0", "0e0", "1E5", "1e-400",
    "1e999", "-1e999", "9.3e18", "1.0000000000000000000000001", "4.9e-324", "0.1", "5e-324", "1.7976931348623157e308",
    "NaN", "Infinity", "-Infinity", "nan", "true", "null", "True", "01", "1.", ".5", "+1", "-", "0x10", "1_000",
    '"\\ud800"', '"\\udc00x"', '"\\ud83d\\ude00"', '"\\ud83d \\ude00"',
    '"\\u0000"', '"\\x41"', '"\\u12"', '"a\tb"', '"a\x00b"', '"\x7f\x85\u2028"',
    '"é\U0001f600"', '"unfinished', '"', "[1, 18446744073709551616]", '{"b": [{"c": 1e20}]}', "[NaN]", "[]", "{}", "[1,]", '{"b": 1,}',
    "{'b': 1}", '{"b": 1, "b": 2}', '{"b" 1}', "[1 2]", "//", "1 // x", "[" * 499 + "]" * 499, "[" * 600 + "]" * 600,
    "[" * 1010 + "]" * 1010, "[" * 1030 + "]" * 1030, "[" * 5000, '{"b":' * 900 + "1" + "}" * 900,
]  # fmt: skip
ODD_LINES = [
    "", " ", "\t\r", "\xa0", "\u2028", "\ufeff", "\ufeff{}", "[]", "1", '"a"', "null", "{", "}", "{}x", "{} {}", "{},", '["nlpkit"]',
    '{"a": 1}\r', ' {"a": 1} ', '\x0b{"a": 1}', '\xa0{"a": 1}', '{"a": 1}\x00', '{"\\ud800": 1}', '{"": 1}', '{"a": 1, "a": "x"}',
    '{"a": 1, "b": 2, "a": 3}', '{a: 1}', "{1: 2}", '{"a": "' + "x" * 100_000 + '"}', '{"a": "cut off',
]  # fmt: skip
LINES = ODD_LINES + [f'{{"text": "t", "v": {value}}}' for value in ODD_VALUES]
GOOD = ['{"text": "one"}', '{"text": "two", "n": 1.5, "tags": ["a", {"b": null}]}']


def plainly(lines: list[str]) -> Any:
    """Return the objects and their lines as json alone reads them, or the message of the first line that is none."""
    rows, numbers = [], []
    for number, line in enumerate(lines, start=1):
        if not line or line.isspace():
            continue
        try:
            rows.append(jsonlines._whole_line(line, "f", number))
        except InputError as error:
            return str(error)
        numbers.append(number)
    return rows, numbers


def read(lines: list[str], piece: int) -> Any:
    text = "\n".join(lines)
    rows, numbers = [], []
    try:
        for block in jsonlines.read_jsonl((text[i : i + piece] for i in range(0, len(text), piece)), "f"):
            for i, number in enumerate(block.lines or ()):
                rows.append({name: values[i] for name, values in block.columns.items()})
                numbers.append(number)
    except InputError as error:
        return str(error)
    return rows, numbers


def same(one: Any, other: Any) -> bool:
    """Return whether values are equal with their types, the sign of zero and NaN; objects may miss names that are null elsewhere."""
    pairs = [(one, other)]
    while pairs:
        one, other = pairs.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, dict):
            pairs += [(one.get(name), other.get(name)) for name in {**one, **other}]
        elif isinstance(one, list | tuple):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif repr(one) != repr(other):
            return False
    return True


@pytest.mark.parametrize("piece", [1 << 20, 7])
@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_odd_lines_among_others(line: str, piece: int) -> None:
    if piece < len(line) > 2000:
        piece = 999
    for lines in ([line], [*GOOD, line, *GOOD], [line, line]):
        assert same(plainly(lines), read(lines, piece)), lines


def test_the_list_has_what_the_two_disagree_on() -> None:
    """Else the test above would pass without a way back to json."""
    import orjson

    def of(loads: Any, line: str) -> str:
        try:
            return repr(loads(line))
        except (ValueError, RecursionError) as error:
            return "refused" if isinstance(error, ValueError) else "nested too deeply"

    apart = [line for line in LINES if of(json.loads, line) != of(orjson.loads, line)]
    assert len(apart) >= 12
    assert any(of(orjson.loads, line) != "refused" for line in apart)  # read, but otherwise: no error tells


numbers = st.integers() | st.floats() | st.integers(-(1 << 70), 1 << 70)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@settings(max_examples=300)
@given(
    st.lists(st.dictionaries(st.text(max_size=3), values, max_size=4), max_size=6),
    st.booleans(),
    st.integers(1, 200),
    st.data(),
)
def test_any_objects(rows: list[dict[str, Any]], ascii: bool, piece: int, data: st.DataObject) -> None:
    lines = [json.dumps(row, ensure_ascii=ascii) for row in rows]
    if lines and data.draw(st.booleans()):  # one of them is cut off or altered
        at = data.draw(st.integers(0, len(lines) - 1))
        place = data.draw(st.integers(0, len(lines[at])))
        lines[at] = (
            lines[at][:place]
            + data.draw(st.sampled_from(["", '"', "}", "1", ",", "\\", "e99", "\x00"]))
            + lines[at][place + 1 :]
        )
    assert same(plainly(lines), read(lines, piece)), lines


def test_nesting_that_json_refuses_is_refused() -> None:
    deep = '{"text": "t", "v": ' + "[" * 1010 + "]" * 1010 + "}"
    with pytest.raises(InputError, match="f:2: the JSON is nested too deeply"):
        list(jsonlines.read_jsonl(iter([GOOD[0] + "\n" + deep + "\n"]), "f"))

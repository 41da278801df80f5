"""Lines of JSON are read by orjson where it gives what json gives, else by json: nobody can tell which it was."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.errors import InputError
from nlpkit.platform.documents.encoding import Utf8Lines
from nlpkit.platform.documents.readers import jsonlines
from nlpkit.platform.documents.readers import jsonlines as arrow_lines
from nlpkit.platform.documents.readers.blocks import ArrowBlock
from nlpkit.platform.documents.readers.jsonlines import ArrowLines
from nlpkit.platform.documents.readers.value_types import BOOL, FLOAT, INT, STRING, ValueKind

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


def read(lines: list[str], piece: int, arrow: ArrowLines | None = None) -> Any:
    stored = "\n".join(lines).encode()
    rows, numbers = [], []
    pieces = (stored[i : i + piece] for i in range(0, len(stored), piece))
    try:
        for block in jsonlines.read_jsonl(Utf8Lines(pieces, "f"), "f", arrow):
            if isinstance(block, ArrowBlock):
                rows += block.batch.to_pylist()
                numbers += block.numbers
                continue
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


@pytest.fixture(autouse=True)
def every_piece_with_an_end_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonlines, "_GROUP", 1)


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


@settings(max_examples=120)
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
    deep = '{"text": "t", "v": ' + "[" * 100_000 + "]" * 100_000 + "}"
    with pytest.raises(InputError, match="f:2: the JSON is nested too deeply"):
        list(jsonlines.read_jsonl(Utf8Lines([f"{GOOD[0]}\n{deep}\n".encode()], "f"), "f"))


# ---------------------------------------------------------------- by Arrow


def expecting(v: ValueKind) -> ArrowLines:
    arrow = ArrowLines()
    arrow.expect({"text": STRING, "v": v})
    return arrow


def as_floats(plain: Any) -> Any:
    """Return rows with whole numbers of v as the floats that a column of floats makes of them."""
    if isinstance(plain, str):
        return plain
    rows = [{**row, "v": float(row["v"])} if type(row.get("v")) is int else row for row in plain[0]]
    return rows, plain[1]


@pytest.fixture
def tireless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_lines, "_MOST_MISSES", 1 << 30)


BEYOND_FLOATS = 10**400
TWO_LINES = '{"text":\n"t"}{"text": "u"}'  # as many objects as lines, but not one on each
NULLS = [
    '{"text": "a"}null{"text": "b"}', '{"text": "a"} null', '{"text": "}null"}', '{"text": "a"}\tnull{}', "null{}",
    "{}null{}",
]  # fmt: skip
OTHERS = [
    TWO_LINES, *NULLS, '{"text": "t", "v": -NaN}', '{"text": "t", "v": Inf}', '{"v": 1}{"v": 2}', '{"text": "t"}\r',
    '{"w": 1}',
]  # fmt: skip


@pytest.mark.parametrize("kind", [STRING, INT, FLOAT, BOOL], ids=str)
@pytest.mark.parametrize("line", LINES + OTHERS, ids=range(len(LINES + OTHERS)))
@pytest.mark.usefixtures("tireless")
def test_arrow_reads_what_python_reads(line: str, kind: ValueKind) -> None:
    good = ['{"text": "one"}', '{"v": null, "text": "zwei \u2028 \U0001f600"}']
    for lines in ([*line.split("\n"), *good, ""], [*good, *line.split("\n"), *good, ""], [*good, ""]):
        one, other = plainly(lines), read(lines, 1 << 20, expecting(kind))
        if kind == FLOAT and BEYOND_FLOATS not in [row.get("v") for row in one[0] if isinstance(row, dict)]:
            one, other = as_floats(one), as_floats(other)
        assert same(one, other), lines


def test_arrow_reads_the_common_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above would pass without it."""
    monkeypatch.setattr(jsonlines, "_objects", None)
    lines = [json.dumps({"text": text, "v": v}) for text, v in [("a", 1), ("a } b null", None), ("é\n", -7)]]
    rows, numbers = read([*lines, ""], 1 << 20, expecting(INT))
    assert rows == [json.loads(line) for line in lines]
    assert numbers == [1, 2, 3]
    floats = ['{"text": "a", "v": 0.1}\r', '{"text": "b", "v": 3}\r', '{"text": "c"}\r', ""]
    assert [row["v"] for row in read(floats, 1 << 20, expecting(FLOAT))[0]] == [0.1, 3.0, None]


def test_arrow_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = expecting(INT)
    asked: list[str] = []
    monkeypatch.setattr(arrow, "_parsed", asked.append)
    lines = ['{"text": "t", "v": [1]}'] * 10
    assert len(read([*lines, ""], len(lines[0]) + 1, arrow)[0]) == 10
    assert len(asked) == arrow_lines._MOST_MISSES


typed = st.fixed_dictionaries(
    {}, optional={"text": st.none() | st.text(), "v": st.none() | numbers | st.booleans() | st.text()}
)


@settings(max_examples=300)
@given(st.lists(typed, min_size=1, max_size=6), st.booleans(), st.sampled_from([STRING, INT, FLOAT, BOOL]), st.data())
def test_any_plain_objects(rows: list[dict[str, Any]], ascii: bool, kind: ValueKind, data: st.DataObject) -> None:
    lines = [json.dumps(row, ensure_ascii=ascii) for row in rows]
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(lines) - 1))
        place = data.draw(st.integers(0, len(lines[at])))
        inserted = data.draw(
            st.sampled_from(["", '"', "}", "1", ",", "\\", "e99", "\x00", "}{", "null", "-", '}null{"v":'])
        )
        lines[at] = lines[at][:place] + inserted + lines[at][place + data.draw(st.integers(0, 1)) :]
    one, other = plainly(lines), read([*lines, ""], 1 << 20, expecting(kind))
    if kind == FLOAT:
        with suppress(OverflowError):  # an integer beyond all floats, which Arrow does not take
            one, other = as_floats(one), as_floats(other)
    assert same(one, other), lines


def test_blank_lines_are_passed_over_at_once() -> None:
    """753 bytes of bzip2 held a billion of them, which took minutes."""
    lines = b"\n" * (3 << 20) + b'{"text": "a"}\n'
    pieces = (lines[start : start + (1 << 18)] for start in range(0, len(lines), 1 << 18))
    (block,) = jsonlines.read_jsonl(Utf8Lines(pieces, "x"), "x")
    assert list(block.numbers) == [(3 << 20) + 1]

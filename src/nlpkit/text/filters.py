"""Rows to keep by a condition on their columns: label == 'pos' and rating >= 7.

    or    := and {"or" and}          and := not {"and" not}          not := "not" not | test
    test  := "(" or ")" | value {("==" | "!=" | "<" | "<=" | ">" | ">=") value} | column
           | column ["not"] ("in" list | ("contains" | "matches" | "startswith" | "endswith") text) | column "is" ["not"] "null"
    value := column | number | text | "true" | "false"               list := "[" value {"," value} "]", or with ( and )

A column is a word, or anything in backticks; a text stands in single or double quotes, doubled inside it ('it''s'). Words of
the language may be written in capitals; = and <> do for == and !=. Nothing is ever evaluated as Python.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import UsageError
from nlpkit.text.conditions import (
    FLIPPED,
    Alone,
    Column,
    Compare,
    Condition,
    In,
    IsNull,
    Join,
    Matches,
    Not,
    TextTest,
    Value,
)
from nlpkit.text.regex import compile_regex, regex_mask

__all__ = ["Filter", "parse_filter", "regex_mask"]

_TOKEN = re.compile(
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))|'(?P<single>(?:[^']|'')*)'|\"(?P<double>(?:[^\"]|\"\")*)\""
    r"|`(?P<quoted>(?:[^`]|``)+)`|(?P<sign>==|!=|<>|<=|>=|[=<>()\[\],])|(?P<word>[^\W\d]\w*(?:\.\w+)*)"
)
_SPACE = re.compile(r"\s*")
_SIGNS = {"=": "==", "<>": "!="}
_KEYWORDS = frozenset(
    ("and", "or", "not", "in", "contains", "matches", "startswith", "endswith", "is", "null", "none", "true", "false")
)
_TESTS = ("in", "contains", "matches", "startswith", "endswith")
_MOST_DIGITS = 25  # no column holds whole numbers of more
_CLOSING = {"[": "]", "(": ")"}
EXAMPLE = "label == 'pos' and rating >= 7"


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on the columns of a row."""

    text: str
    condition: Condition

    @property
    def columns(self) -> frozenset[str]:
        """The columns it looks at."""
        return self.condition.columns()

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Return which rows (D,) satisfy the condition; never null: a missing value satisfies no comparison, nor its opposite.

        Numbers are compared as such, texts by code point, dates and times with ISO 8601 texts ('2020-05' is its first
        moment; without an offset in the time zone of the column). A list contains a value; NaN is a missing value. Texts that are
        compared by order (<) with an ISO 8601 text, and those of the column of the date, are read as dates (`DateReader`).

        Raises:
            ColumnError: a column is not there.
            UsageError: the type of a column does not go with what it is compared with.
            ColumnError: texts that are compared with a date are none, or may be two.
        """
        return pc.fill_null(self.condition.evaluate(batch), False)

    def check(self, schema: pa.Schema) -> None:
        """Raise the errors that `mask` would raise for a batch with these columns, before the first is read."""
        self.mask(pa.RecordBatch.from_pylist([], schema))


def parse_filter(text: str, *, option: str = "`keep_if`") -> Filter:
    """Read a condition; the grammar is at the head of the module.

    Raises:
        UsageError: it is not one; the message names what was expected, and where.
    """
    try:
        return Filter(text, _Parser(text, option).whole())
    except RecursionError:
        raise UsageError(f"{option}: the condition has too many brackets or 'not' inside each other") from None


@dataclass(frozen=True, slots=True)
class _Token:
    """kind: number, text, column, sign, keyword or end; at: its place in the condition, from 0."""

    kind: str
    text: str
    at: int


class _Parser:
    """Recursive descent, a method per rule of the grammar."""

    def __init__(self, text: str, option: str) -> None:
        self._text, self._option = text, option
        self._tokens = self._cut()
        self._next = 0

    def _cut(self) -> list[_Token]:
        tokens: list[_Token] = []
        at = len(self._text) - len(self._text.lstrip())
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                raise self._wrong("a column, a value or a sign", _Token("", self._text[at], at))
            kind, text = str(match.lastgroup), str(match[str(match.lastgroup)])
            if kind in ("single", "double"):
                kind, text = "text", text.replace("''" if kind == "single" else '""', "'" if kind == "single" else '"')
                text = unicodedata.normalize("NFC", text)
            elif kind == "quoted":
                kind, text = "column", text.replace("``", "`")
            elif kind == "word":
                keyword = text.lower() in _KEYWORDS
                kind, text = ("keyword", text.lower()) if keyword else ("column", text)
            elif kind == "sign":
                text = _SIGNS.get(text, text)
            tokens.append(_Token(kind, text, at))
            at = _SPACE.match(self._text, match.end()).end()  # type: ignore[union-attr]  # it matches anything
        return [*tokens, _Token("end", "", at)]

    def _wrong(self, expected: str, token: _Token) -> UsageError:
        culprit = "the end" if token.kind == "end" else f"'{token.text}' at position {token.at + 1}"
        return UsageError(
            f"{self._option} {self._text!r}: expected {expected}, found {culprit}; write it as in {EXAMPLE!r}"
        )

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, kind: str, *texts: str) -> _Token | None:
        """Return the next token and go on, if it is one of these."""
        token = self._token
        if token.kind != kind or (texts and token.text not in texts):
            return None
        self._next += 1
        return token

    def whole(self) -> Condition:
        condition = self._or()
        if self._token.kind != "end":
            raise self._wrong("'and', 'or' or the end", self._token)
        return condition

    def _or(self) -> Condition:
        parts = [self._and()]
        while self._take("keyword", "or"):
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else Join("or", tuple(parts))

    def _and(self) -> Condition:
        parts = [self._not()]
        while self._take("keyword", "and"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else Join("and", tuple(parts))

    def _not(self) -> Condition:
        return Not(self._not()) if self._take("keyword", "not") else self._test()

    def _test(self) -> Condition:
        if self._take("sign", "("):
            condition = self._or()
            if not self._take("sign", ")"):
                raise self._wrong("')'", self._token)
            return condition
        first = self._token
        value = self._value("a column")
        if self._token.kind == "sign" and self._token.text in FLIPPED:
            return self._comparisons(value, first)
        if not isinstance(value, Column):
            raise self._wrong("a column", first)
        if self._take("keyword", "is"):
            negated = self._take("keyword", "not")
            if not self._take("keyword", "null", "none"):
                raise self._wrong("'null' or 'not null'", self._token)
            return Not(IsNull(value)) if negated else IsNull(value)
        negated = self._take("keyword", "not")
        test = self._take("keyword", *_TESTS)
        if test:
            condition = self._membership(value, test.text)
            return Not(condition) if negated else condition
        if negated:
            raise self._wrong("'in', 'contains', 'matches', 'startswith' or 'endswith'", self._token)
        return Alone(value)

    def _comparisons(self, value: Value | Column, first: _Token) -> Condition:
        """Read == 3, and the rest of 3 <= rating <= 7."""
        parts: list[Condition] = []
        while self._token.kind == "sign" and self._token.text in FLIPPED:
            sign = self._token.text
            self._next += 1
            following = self._value("a value or a column")
            if isinstance(value, Column):
                parts.append(Compare(value, sign, following))
            elif isinstance(following, Column):
                parts.append(Compare(following, FLIPPED[sign], value))
            else:
                raise self._wrong("a column on one side of the sign", first)
            value = following
        return parts[0] if len(parts) == 1 else Join("and", tuple(parts))

    def _membership(self, column: Column, test: str) -> Condition:
        if test == "in":
            return In(column, self._list())
        token = self._token
        value = self._value("a text in quotes")
        if isinstance(value, Column) or (test != "contains" and not isinstance(value, str)):
            raise self._wrong("a text in quotes", token)
        if test == "matches":
            compile_regex(str(value), f"{self._option}: matches")
            return Matches(column, str(value))
        return TextTest(column, test, value)

    def _list(self) -> tuple[Value, ...]:
        opening = self._take("sign", *_CLOSING)
        if not opening:
            raise self._wrong("a list such as ['a', 'b']", self._token)
        values: list[Value] = []
        while True:
            token = self._token
            value = self._value("a value")
            if isinstance(value, Column):
                raise self._wrong("a value (texts stand in quotes)", token)
            values.append(value)
            if not self._take("sign", ","):
                break
        if not self._take("sign", _CLOSING[opening.text]):
            raise self._wrong(f"',' or '{_CLOSING[opening.text]}'", self._token)
        return tuple(values)

    def _value(self, expected: str) -> Value | Column:
        token = self._token
        self._next += token.kind != "end"
        if token.kind == "column":
            return Column(token.text)
        if token.kind == "text":
            return token.text
        if token.kind == "number":
            whole = token.text.lstrip("+-").isdecimal() and len(token.text) < _MOST_DIGITS
            return int(token.text) if whole else float(token.text)
        if token.kind == "keyword" and token.text in ("true", "false"):
            return token.text == "true"
        if token.kind == "keyword" and token.text in ("null", "none"):
            raise self._wrong(f"{expected} (write: is null, or: is not null)", token)
        raise self._wrong(expected, token)

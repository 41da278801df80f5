"""Formulas of covariates as R writes them: party + s(date), a:b, a * b, factor(x), `a name with spaces`.

    formula = ["~"] sum            sum    = cross {"+" cross}
    cross   = inter {"*" inter}    inter  = atom {":" atom}        a * b = a + b + a:b
    atom    = name | "`" name "`" | "s(" name ["," degrees of freedom] ")" | "factor(" name ["," first level] ")" | "(" sum ")" | "1"

Well-kept libraries (formulaic, patsy) read more of R's language, but evaluate Python in a formula, which may come from a file that
somebody else wrote, load pandas, and keep what a fit must remember (levels, knots) in a form that only a pickle can store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NoReturn

from nlpkit.errors import UsageError

_TOKEN = re.compile(r"\s*(?:(`[^`]*`)|(\"[^\"]*\"|'[^']*')|([^\W\d][\w.]*)|(\d+(?:\.\d+)?)|(.))", re.DOTALL)


_FUNCTIONS = ("s", "factor")


@dataclass(frozen=True, slots=True, order=True)
class Factor:
    """One variable in a term: as it is, as a spline with so many degrees of freedom (None: 10), or as categories, the first level named."""

    column: str
    use: Literal["plain", "spline", "factor"] = "plain"
    df: int | None = None
    first: str | None = None

    def __str__(self) -> str:
        """Return it as a formula has it."""
        name = self.column if re.fullmatch(r"[^\W\d][\w.]*", self.column) else f"`{self.column}`"
        if self.use == "spline":
            return f"s({name})" if self.df is None else f"s({name}, {self.df})"
        if self.use == "factor":
            return f"factor({name})" if self.first is None else f'factor({name}, "{self.first}")'
        return name


Term = tuple[Factor, ...]  # that are multiplied; () for the intercept


@dataclass(frozen=True, slots=True)
class Formula:
    """The terms of a formula but for the intercept, which is always there: those of one factor first, as in R."""

    text: str
    terms: tuple[Term, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names, in its order."""
        return tuple(dict.fromkeys(factor.column for term in self.terms for factor in term))


def parse_formula(text: str, *, parameter: str = "prevalence") -> Formula:
    """Return the formula that a text has.

    Raises:
        UsageError: the text is no formula; the message shows where.
    """
    reader = _Reader(text, parameter)
    if reader.peek() == "~":
        reader.take()
    try:
        terms = reader.sum_of_terms()
    except RecursionError:
        raise UsageError(f"`{parameter}`: its brackets are nested too deeply; use fewer", parameter=parameter) from None
    if reader.peek() == "~":
        reader.refuse("a formula has no left side here; give the covariates alone")
    if reader.peek():
        reader.refuse("expected +, :, * or the end")
    unique = list(dict.fromkeys(term for term in terms if term))
    return Formula(text.strip(), tuple(sorted(unique, key=len)))


class _Reader:
    """The tokens of a formula, from left to right."""

    def __init__(self, text: str, parameter: str) -> None:
        self.text, self.parameter = text, parameter
        self.tokens: list[tuple[str, int]] = []
        end = len(text.rstrip())
        at = 0
        while at < end:
            match = _TOKEN.match(text, at)
            assert match is not None
            self.tokens.append((match[match.lastindex or 0], match.start(match.lastindex or 0)))
            at = match.end()
        self.place = 0

    def peek(self) -> str:
        """Return the next token, "" at the end."""
        return self.tokens[self.place][0] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        """Return the next token and go on."""
        token = self.peek()
        self.place += 1
        return token

    def refuse(self, why: str) -> NoReturn:
        """Raise the error at the next token."""
        at = self.tokens[self.place][1] if self.place < len(self.tokens) else len(self.text.rstrip())
        before, rest = self.text[:at].strip(), self.text[at:].strip()
        where = f"at '{rest}', character {at + 1}" if rest else "at its end"
        after = f", after '{before}'" if before else ""
        raise UsageError(
            f"`{self.parameter}` cannot be read {where}{after}: {why}; write for example: party + s(date)",
            parameter=self.parameter,
        )

    def expect(self, token: str) -> None:
        """Take a token that must come."""
        if self.peek() != token:
            self.refuse(f"expected '{token}'")
        self.take()

    def sum_of_terms(self) -> list[Term]:
        """Return the terms of a sum."""
        terms = self.crossing()
        while self.peek() == "+":
            self.take()
            terms += self.crossing()
        if self.peek() == "-":
            self.refuse("terms cannot be taken away; the intercept is always there")
        return terms

    def crossing(self) -> list[Term]:
        """Return the terms of a * b * …"""
        terms = self.interaction()
        while self.peek() == "*":
            self.take()
            other = self.interaction()
            terms = terms + other + _products(terms, other)
        return terms

    def interaction(self) -> list[Term]:
        """Return the terms of a:b:…"""
        terms = self.atom()
        while self.peek() == ":":
            self.take()
            terms = _products(terms, self.atom())
        return terms

    def atom(self) -> list[Term]:
        """Return the terms of a name, a function or what stands in parentheses."""
        token = self.peek()
        if token == "(":
            self.take()
            terms = self.sum_of_terms()
            self.expect(")")
            return terms
        if token == "1":
            self.take()
            return [()]
        if not _is_name(token):
            self.refuse("expected the name of a column")
        following = self.tokens[self.place + 1][0] if self.place + 1 < len(self.tokens) else ""
        if following == "(" and not token.startswith("`"):
            if token not in _FUNCTIONS:
                self.refuse(f"there is no function '{token}' here; known are s(x) and factor(x)")
            return [(self.function(),)]
        return [(Factor(_unquoted(self.take())),)]

    def function(self) -> Factor:
        """Return s(x), s(x, 5), factor(x) or factor(x, "level")."""
        name = self.take()
        self.expect("(")
        if not _is_name(self.peek()):
            self.refuse("expected the name of a column")
        column = _unquoted(self.take())
        df = first = None
        if self.peek() == ",":
            self.take()
            value = self.peek()
            if name == "factor":
                if not value or value in "()+:*,~-":
                    self.refuse("expected the first level")
                first = _unquoted(value)
            elif value.isdecimal() and int(value) >= 3:
                df = int(value)
            else:
                self.refuse("expected degrees of freedom, a whole number from 3")
            self.take()
        self.expect(")")
        return Factor(column, "spline" if name == "s" else "factor", df, first)


def _is_name(token: str) -> bool:
    return re.fullmatch(r"[^\W\d][\w.]*|`[^`]+`", token) is not None


def _unquoted(token: str) -> str:
    return token[1:-1] if token[:1] in "`\"'" and len(token) > 1 else token


def _products(terms: list[Term], others: list[Term]) -> list[Term]:
    """Return each term of one list times each of the other; a variable that is in both counts once."""
    return [tuple(dict.fromkeys((*a, *b))) for b in others for a in terms]

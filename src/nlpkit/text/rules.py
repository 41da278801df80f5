"""Replacements in texts: phrases as whole words, the longest first, and regular expressions in their order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from nlpkit.errors import UsageError
from nlpkit.text.scripts import UNSPACED

# Characters that Unicode sets aside for use inside a program stand around a match until it is replaced.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_MARKED = f"{_OPEN}[^{_CLOSE}]*{_CLOSE}"
_GROUP = re.compile(r"\\(?:(\d)|g<(\w+)>|(.))|\$", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\"}
_END = ""  # the key of a trie that ends a phrase


@dataclass(frozen=True)
class ReplacementRules:
    r"""Replacement rules; an empty replacement deletes.

    phrases: (phrase, replacement), matched as whole words with any white space between them; of those that begin at the
    same place the longest wins, and what was replaced is not looked at again. In scripts without spaces a phrase may stand
    inside a run. patterns: (regular expression of the Rust crate `regex`, replacement with \1 or \g<name> for groups),
    applied one after the other to what the phrases left.
    """

    phrases: tuple[tuple[str, str], ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()
    ignore_case: bool = False

    def apply(self, texts: pl.Series) -> pl.Series:
        """Return the texts (D,) with everything replaced.

        Raises:
            UsageError: a pattern is no regular expression, or there are too many phrases for one.
        """
        if self.phrases:
            texts = self._replace_phrases(texts)
        for pattern, replacement in self._templates:
            texts = texts.str.replace_all(pattern, replacement)
        return texts

    @cached_property
    def _templates(self) -> tuple[tuple[str, str], ...]:
        for pattern, _ in self.patterns:
            check_pattern(pattern)
        flag = "(?i)" if self.ignore_case else ""
        return tuple((flag + unicodedata.normalize("NFC", p), template(r)) for p, r in self.patterns)

    def _replace_phrases(self, texts: pl.Series) -> pl.Series:
        try:
            marked = texts.str.replace_all(self._regex, f"{_OPEN}${{0}}{_CLOSE}")
        except pl.exceptions.ComputeError as error:
            raise UsageError(
                f"{len(self.phrases)} phrases to replace are too many at once: {_first_line(error)}"
            ) from None
        matches = marked.str.extract_all(_MARKED).explode().drop_nulls().unique(maintain_order=True).to_list()
        if not matches:
            return texts
        meant = self._meant
        values = [meant[self._key(match[1:-1])] for match in matches]
        return marked.str.replace_many(matches, values)

    @cached_property
    def _meant(self) -> Mapping[str, str]:
        return {self._key(phrase): replacement for phrase, replacement in self.phrases}

    @cached_property
    def _regex(self) -> str:
        phrases = [" ".join(unicodedata.normalize("NFC", phrase).split()) for phrase, _ in self.phrases]
        inside = [p for p in phrases if UNSPACED.match(p[0]) or UNSPACED.match(p[-1])]
        whole = [p for p in phrases if not (UNSPACED.match(p[0]) or UNSPACED.match(p[-1]))]
        parts = []
        if whole:
            parts.append(rf"\b{{start-half}}(?:{_alternatives(whole, self.ignore_case)})\b{{end-half}}")
        if inside:
            parts.append(_alternatives(inside, self.ignore_case))
        return "|".join(parts)

    def _key(self, match: str) -> str:
        text = " ".join(unicodedata.normalize("NFC", match).replace("’", "'").split())
        return "".join(_folded(char) for char in text) if self.ignore_case else text


def check_pattern(pattern: str) -> None:
    """Check a regular expression of the Rust crate `regex`.

    Raises:
        UsageError: it is none, or matches where there is nothing.
    """
    try:
        empty = bool(pl.Series([""]).str.contains(pattern)[0])
    except pl.exceptions.ComputeError as error:
        raise UsageError(f"/{pattern}/ is not a regular expression: {_first_line(error)}") from None
    if empty:
        raise UsageError(f"/{pattern}/ matches the empty text, so it would match at every position")


def template(replacement: str) -> str:
    r"""Return a replacement as the Rust crate takes it: \1 and \g<name> are groups, \n, \t and \\ what they are, $ is $."""

    def write(match: re.Match[str]) -> str:
        number, name, char = match.groups()
        if number or name:
            return f"${{{number or name}}}"
        if char:
            return _ESCAPES.get(char, "\\" + char)
        return "$$"

    return _GROUP.sub(write, replacement)


def _alternatives(phrases: list[str], ignore_case: bool) -> str:
    """Return one regular expression for all phrases, shared beginnings written once: a plain list is 20 times as slow."""
    root: dict[str, dict[str, object]] = {}
    for phrase in phrases:
        node: dict[str, dict[str, object]] = root
        for char in phrase:
            node = node.setdefault(_folded(char) if ignore_case else char, {})  # type: ignore[assignment]
        node[_END] = {}
    return _written(root, ignore_case)


def _written(root: Mapping[str, object], ignore_case: bool) -> str:
    """Write a trie from its leaves upwards, without recursion: a phrase may be long."""
    order: list[Mapping[str, object]] = [root]
    for node in order:  # grows while it is walked
        order.extend(child for char, child in sorted(node.items()) if char != _END and isinstance(child, dict))
    text: dict[int, str] = {}
    for node in reversed(order):
        branches = [
            _char_class(char, ignore_case) + text.pop(id(child)) for char, child in sorted(node.items()) if char != _END
        ]
        ends = _END in node
        if not branches:
            text[id(node)] = ""
        elif len(branches) == 1 and not ends:
            text[id(node)] = branches[0]
        else:  # the longer phrase before the end of the shorter one
            text[id(node)] = f"(?:{'|'.join(branches)}){'?' if ends else ''}"
    return text[id(root)]


def _char_class(char: str, ignore_case: bool) -> str:
    if char == " ":
        return r"\s+"
    if char == "'":
        return "['’]"
    if ignore_case:
        upper = char.upper()
        if char == "σ":
            return "[σςΣ]"
        if upper != char and len(upper) == 1 and _folded(upper) == char:  # not ı, whose capital is the one of i
            return f"[{char}{upper}]"
    return re.escape(char) if char.isascii() else char


def _folded(char: str) -> str:
    """Return the lower case of a character, if that is one character."""
    lower = char.lower().replace("ς", "σ")
    return lower if len(lower) == 1 else char


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in reversed(lines) if line.startswith("error:")), lines[0]).removeprefix("error: ")

"""The cleaning of texts before they are tokenised: markup, Unicode form, replacements, emoji.

Parts, in this order:
- Replacements in texts: phrases as whole words, the longest first, and regular expressions in their order.
- `Cleaner`: all steps of the cleaning, in their order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl
import pyarrow as pa

from nlpkit.errors import UsageError, unknown_value
from nlpkit.platform.documents.regex import UNSPACED
from nlpkit.platform.documents.tags import distinct_matches, strip_markup, with_part
from nlpkit.text.tokenize import EMOJI_PATTERN

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


# ------------------------------------------------------------------------------------------------------------------------
# Cleaning of texts before they are cut into tokens: markup, Unicode form, replacements, emoji. Texts come in and go out by batch.

EMOJI_CHOICES = ("keep", "words", "remove")

# What Unicode's NFC changes: marks, which may go into the letter before them; Hangul written by letters; characters that
# stand for others (Ångström, Kelvin, CJK compatibility). All other texts are in NFC already.
_NOT_NFC = (
    r"[\p{M}\x{1161}-\x{1175}\x{11A8}-\x{11C2}\x{374}\x{37E}\x{387}\x{958}-\x{95F}\x{9DC}-\x{9DF}\x{A33}-\x{A5E}"
    r"\x{B5C}-\x{B5D}\x{F43}-\x{F69}\x{1F71}-\x{1FFD}\x{2000}-\x{2001}\x{2126}-\x{212B}\x{2329}-\x{232A}\x{2ADC}"
    r"\x{F900}-\x{FAD9}\x{FB1D}-\x{FB4E}\x{1D15E}-\x{1D1C0}\x{2F800}-\x{2FA1D}]"
)

# Signs that a reader of Arabic or Hebrew may do without: tatweel, vowels and recitation; points and accents. Hamza and madda are letters.
_MARKS = (
    r"[\x{640}\x{610}-\x{61A}\x{64B}-\x{652}\x{656}-\x{65F}\x{670}\x{6D6}-\x{6DC}\x{6DF}-\x{6E4}\x{6E7}\x{6E8}\x{6EA}-\x{6ED}\x{8D3}-\x{8FF}"
    r"\x{FE70}-\x{FE72}\x{FE74}\x{FE76}-\x{FE7F}\x{591}-\x{5BD}\x{5BF}\x{5C1}\x{5C2}\x{5C4}\x{5C5}\x{5C7}]"
)


@dataclass(frozen=True, slots=True)
class Cleaner:
    """The cleaning steps of the copy of a text that is tokenised, in this order.

    html: comments, scripts, styles and tags fall away, <br /> is a space; character entities become what they name;
    markup that was escaped, even twice, goes the same way. join_hyphens: see `join_line_ends`.
    nfc: Unicode NFC. fold_marks: vowel signs of Arabic and Hebrew go, and tatweel.
    replacements: see rules.ReplacementRules. emoji: "words" puts
    their names (CLDR, in `emoji_language`, else English) in their place, "remove" a space. Letters are never changed
    otherwise: umlauts and accents stay. ascii_only: letters and digits of ASCII are left, and spaces, also for line ends and tabs; what
    stood between two letters joins them: BERTopic does so for English.
    """

    html: bool = False
    nfc: bool = True
    replacements: ReplacementRules | None = None
    emoji: str = "keep"
    emoji_language: str = "en"
    join_hyphens: bool = False
    fold_marks: bool = False
    ascii_only: bool = False

    def __post_init__(self) -> None:
        """Raises UsageError: `emoji` is none of the choices."""
        if self.emoji not in EMOJI_CHOICES:
            raise unknown_value("emoji", self.emoji, EMOJI_CHOICES)

    def clean(self, texts: pa.Array, *, replaced: Callable[[], None] | None = None) -> pa.Array:
        """Return the cleaned texts (D,) of an Arrow string array (D,) as large_string; null stays null.

        Args:
            texts: the texts.
            replaced: called when a replacement changed a text.

        Raises:
            UsageError: a replacement is no regular expression.
        """
        series = pl.Series("text", texts, dtype=pl.String)
        if self.html:
            series = strip_markup(series)
        if self.join_hyphens:
            series = join_line_ends(series)
        if self.nfc:
            series = compose(series)
        if self.fold_marks:
            series = series.str.replace_all(_MARKS, "")
        if self.replacements is not None:
            before, series = series, self.replacements.apply(series)
            if replaced is not None and not series.equals(before):
                replaced()
        if self.emoji == "words":
            series = name_emoji(series, self.emoji_language)
        elif self.emoji == "remove":
            series = series.str.replace_all(EMOJI_PATTERN, " ")
        if self.ascii_only:
            series = series.str.replace_all(r"[\n\t]", " ").str.replace_all("[^A-Za-z0-9 ]+", "")
        return series.to_arrow().cast(pa.large_string())


_LONGEST_WORD = 64
# A small letter, a hyphen at the end of a line, a small letter; not before a word that joins two compounds (Hin- \n und Rückfahrt)
_LINE_END = re.compile(
    r"(?<=[^\W\d_])[-\u2010\u00ad][^\S\n]*\r?\n\s*(?!(?:and|or|und|oder|bzw|sowie|et|ou|y|o|e)\b)(?=[^\W\d_])"
)


def join_line_ends(texts: pl.Series) -> pl.Series:
    """Return texts (D,) in which words that a line end divides are whole: Men-/schen becomes Menschen.

    Only where a small letter follows the line end, and no word such as and or und: E-/Mail and Hin-/und Rückfahrt stay. A compound
    whose own hyphen stands at the end of the line loses it, unless there are hyphens in both of its parts (state-of-/the-art).
    """
    broken = texts.str.contains(r"[-\x{2010}\x{00AD}][^\S\n]*\n").fill_null(False)
    if not broken.any():
        return texts
    part = pl.Series("text", [_joined(text) for text in texts.filter(broken).to_list()], dtype=pl.String)
    return with_part(texts, broken, part)


def _joined(text: str) -> str:
    def between(end: re.Match[str]) -> str:
        if not text[end.end()].islower():
            return end[0]
        before = text[max(end.start() - _LONGEST_WORD, 0) : end.start()].split()[-1]
        after = text[end.end() : end.end() + _LONGEST_WORD].split()[0]
        return "-" if "-" in before and "-" in after.strip("-") else ""

    return _LINE_END.sub(between, text)


def compose(texts: pl.Series) -> pl.Series:
    """Return texts (D,) in Unicode NFC."""
    open_ = texts.str.contains(_NOT_NFC).fill_null(False)
    return with_part(texts, open_, texts.filter(open_).str.normalize("NFC")) if open_.any() else texts


def name_emoji(texts: pl.Series, language: str) -> pl.Series:
    """Return texts (D,) with the names of emoji in their place: 😀 becomes grinning face, 👍🏽 thumbs up medium skin tone."""
    import emoji

    code = language if language in emoji.LANGUAGES else "en"
    emoji_signs = distinct_matches(texts, EMOJI_PATTERN)
    if not emoji_signs:
        return texts
    names = [emoji.demojize(sign, language=code, delimiters=(" ", " ")) for sign in emoji_signs]
    words = [re.sub(r"[_:\ufe0e\ufe0f\u200d]+", " ", name.replace("’", "'")) for name in names]
    # a sign that no version of the package knows has no name; it stays
    return texts.str.replace_many(
        emoji_signs, [w if w.strip() else s for s, w in zip(emoji_signs, words, strict=True)], leftmost=True
    )

"""The search for keywords in context: where a pattern matches in a text, and what stands left and right of it."""

from __future__ import annotations

import importlib
import re
import unicodedata
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice, pairwise
from typing import Annotated, Any, ClassVar, NamedTuple

from nlpkit.errors import UsageError
from nlpkit.platform.options import Param, names_in, options

# ------------------------------------------------------------------------------------------------------------------------
# Keywords in context: where a pattern matches in a text, and what stands left and right of it.

# A word of a context: what stands between spaces; in scripts without spaces each character.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}][^\w\s]*|[^\s{_UNSPACED}]+")
_LETTERS = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_PARSE: Any = importlib.import_module("re._parser").parse  # what it returns knows how many characters can match
_LEADING_FLAGS = re.compile(r"\(\?[aiLmsux]+\)")
_CHARACTERS_PER_WORD = 16  # how far to look back at first
WINDOW = 8
SORTED_BY = ("document", "left", "right", "match")


@options
class SearchOptions:
    """Options of a search: the expression, the context that is shown, and the classes to score for.

    Raises:
        UsageError: an order that is none, or two sizes of the context.
    """

    PANEL: ClassVar[str] = "Search"

    word: Annotated[bool, Param("Match whole words only.", ("word", "w"))] = False
    glob: Annotated[bool, Param("Read PATTERN as words instead of a regex: * = any letters, ? = one letter.")] = False
    ignore_case: Annotated[bool, Param("Ignore case.", ("ignore_case", "i"))] = False
    by: Annotated[
        str | None,
        Param("Column with classes. Shows precision and recall of the pattern for each class.", metavar="COLUMN"),
    ] = None
    positive: Annotated[
        str | None,
        Param(
            "Show precision and recall for this class only. Default column: label, or the column in `by`.",
            metavar="CLASS",
        ),
    ] = None
    within: Annotated[
        str,
        Param(
            "What to search: text, or a column with lists of words such as tokens or lemmas. Positions are then "
            "counted in words.",
            ("in",),
            metavar="COLUMN",
        ),
    ] = "text"
    window: Annotated[int | None, Param("Words of context on each side. Default: 8.", metavar="N", min=0)] = None
    width: Annotated[
        int | None,
        Param("Characters of context on each side, instead of words.", metavar="N", min=0, excludes=("window",)),
    ] = None
    sort: Annotated[
        str,
        Param(
            "Sort hits by document, by the words left or right of the match, or by the match.",
            choices=SORTED_BY,
        ),
    ] = "document"
    show_cols: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Document columns to show and write with each hit. all = all columns except lists of words.",
            metavar="COLUMN,…",
        ),
    ] = None
    limit_hits: Annotated[
        int | None, Param("Show or write only the first N hits. All hits are counted.", metavar="N", min=1)
    ] = None
    count: Annotated[bool, Param("Show only the numbers of documents and hits.", ("count", "c"))] = False

    @property
    def columns(self) -> list[str]:
        """The names in show_cols."""
        return names_in(self.show_cols)

    @property
    def words(self) -> int:
        """Words of context where it is not counted in characters."""
        return WINDOW if self.window is None else self.window

    def pattern(self, text: str) -> re.Pattern[str]:
        """Return a pattern as these options read it. Raises UsageError when it is empty or no regular expression."""
        return compile_pattern(text, word=self.word, glob=self.glob, ignore_case=self.ignore_case)


class Hit(NamedTuple):
    """One match: text[start:end] is `match`, `left` ends and `right` begins beside it; all as in the text."""

    start: int
    end: int
    left: str
    match: str
    right: str


def compile_pattern(
    pattern: str, *, word: bool = False, glob: bool = False, ignore_case: bool = False
) -> re.Pattern[str]:
    """Return a pattern ready for `find_spans`: a regular expression of Python's `re`, where ^ and $ are ends of lines.

    Letters of all scripts are \\w, so \\b holds at umlauts.

    Args:
        word: match whole words only.
        glob: the pattern is one or several whole words, where * stands for any letters or none and ? for one.
        ignore_case: as re.IGNORECASE.

    Raises:
        UsageError: the pattern is empty or no regular expression.
    """
    if not pattern.strip():
        raise UsageError("the pattern is empty; give a word or a regular expression", parameter="pattern")
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
    source = unicodedata.normalize("NFC", pattern)
    if glob:
        source = r"\s+".join(map(_glob, source.split()))
    compiled = _compile(source, flags)
    if not word and not glob:
        return compiled
    # around the body only: flags such as (?i) must stay in front
    body = _LEADING_FLAGS.sub("", source, count=1) if _LEADING_FLAGS.match(source) else source
    closing = "\n)" if compiled.flags & re.VERBOSE else ")"  # a comment would swallow the bracket
    return _compile(rf"(?<!\w)(?:{body}{closing}(?!\w)", compiled.flags)


def finds_places_alone(pattern: re.Pattern[str]) -> bool:
    """Return whether all that a pattern can match is empty, as (?=a) and \\b are: it has no match to show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(_PARSE(pattern.pattern, pattern.flags).getwidth()[1] == 0)


def find_spans(text: str, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return start and end of the matches of a pattern that are not empty, in characters of the text.

    Letters written as letter and accent (Unicode NFD, as file systems and PDF files give them) match like composed ones.
    """
    if unicodedata.is_normalized("NFC", text):
        return [m.span() for m in pattern.finditer(text) if m.end() > m.start()]
    composed, places = _compose(text)
    return [(places[m.start()], places[m.end()]) for m in pattern.finditer(composed) if m.end() > m.start()]


def find_hits(
    text: str, spans: Iterable[tuple[int, int]], *, words: int | None = None, characters: int | None = None
) -> Iterator[Hit]:
    """Yield matches with their context.

    Args:
        spans: start and end of each, see `find_spans`.
        words: words of context on each side; a word is what stands between spaces, in scripts without spaces a character.
        characters: characters of context on each side, in place of words.
    """
    for start, end in spans:
        if characters is not None:
            left, right = max(start - characters, 0), min(end + characters, len(text))
        else:
            left, right = _back(text, start, words or 0), _ahead(text, end, words or 0)
        yield Hit(start, end, text[left:start], text[start:end], text[end:right])


def find_word_spans(words: Sequence[str], pattern: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the first word of each match and the one after its last, in a list of words that are searched with blanks between them.

    A match of a part of a word stands for the word.
    """
    starts = _starts(words)
    return [
        (bisect_right(starts, start) - 1, bisect_left(starts, end))
        for start, end in find_spans(" ".join(words), pattern)
    ]


def find_word_hits(
    words: Sequence[str], spans: Iterable[tuple[int, int]], *, n_words: int, characters: int | None = None
) -> Iterator[Hit]:
    """Yield matches with their context as `find_hits` does; start and end are places of words.

    Args:
        words: those to show, one for each that was searched.
        spans: first word of each match and the one after its last.
        n_words: words of context on each side; characters: the same in characters, in place of words.
    """
    text, starts = " ".join(words), [*_starts(words), sum(map(len, words)) + len(words)]
    for start, end in spans:
        place = (starts[start], max(starts[end] - 1, starts[start]))
        if characters is not None:
            (hit,) = find_hits(text, [place], characters=characters)
            yield hit._replace(start=start, end=end)
            continue
        left, right = starts[max(start - n_words, 0)], starts[min(end + n_words, len(words))] - 1
        yield Hit(start, end, text[left : place[0]], text[slice(*place)], text[place[1] : max(right, place[1])])


def _starts(words: Sequence[str]) -> list[int]:
    """Return where each word begins when they are joined by blanks."""
    return [0, *accumulate(len(word) + 1 for word in words[:-1])] if words else []


def context_key(left: str, match: str, right: str, *, sort: str) -> tuple[list[str], ...]:
    """Return what hits are sorted by: words to the left from the match outwards, to the right, or of the match; without case."""
    before, here, after = (_LETTERS.findall(part.casefold()) for part in (left, match, right))
    if sort == "left":
        return before[::-1], here, after
    return (here, after) if sort == "match" else (after, here)


def _ahead(text: str, start: int, n: int) -> int:
    """Return where the n-th word from `start` on ends."""
    end = start
    for word in islice(_WORD.finditer(text, start), n):
        end = word.end()
    return end


def _back(text: str, end: int, n: int) -> int:
    """Return where the n-th word before `end` starts."""
    if not n:
        return end
    size = _CHARACTERS_PER_WORD * n
    while True:
        low = max(end - size, 0)
        starts = [word.start() for word in _WORD.finditer(text, low, end)]
        if low == 0 or len(starts) > n:  # the first word may be cut
            return starts[-min(n, len(starts))] if starts else end
        size *= 4


def _compile(source: str, flags: int) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later Python may read otherwise; says nothing to the user
            return re.compile(source, flags)
    except re.error as error:
        at = error.pos if error.pos is not None else 0
        marked = f"{source[:at]}»{source[at:]}"
        raise UsageError(
            f"the pattern is not a regular expression: {error.msg} at position {at}, marked with »: {marked}",
            parameter="pattern",
        ) from None
    except (OverflowError, RecursionError) as error:
        raise UsageError(
            f"the pattern is not a regular expression that can be used: {error}", parameter="pattern"
        ) from None


def _glob(word: str) -> str:
    parts = {"*": r"\w*", "?": r"\w"}
    return "".join(parts.get(c) or re.escape(c) for c in word)


def _compose(text: str) -> tuple[str, list[int]]:
    """Return the NFC of a text, and for each of its characters (and the end) the place in the text where it starts."""
    # nothing composes over the start of a piece: normalising piece by piece is normalising the whole
    starts = [i for i, c in enumerate(text) if not i or not (unicodedata.combining(c) or c in _composing())]
    composed: list[str] = []
    places: list[int] = []
    for start, end in pairwise([*starts, len(text)]):
        piece = unicodedata.normalize("NFC", text[start:end])
        composed.append(piece)
        places += [start] * len(piece)
    return "".join(composed), [*places, len(text)]


@lru_cache(maxsize=1)
def _composing() -> frozenset[str]:
    """Return the characters of combining class 0 that a character before them can take in (Hangul vowels, some Indic vowel signs)."""
    seconds = (unicodedata.decomposition(chr(code)).split() for code in range(0x110000))
    pairs = {chr(int(parts[1], 16)) for parts in seconds if len(parts) == 2 and not parts[0].startswith("<")}
    hangul = {chr(code) for block in (range(0x1161, 0x1176), range(0x11A8, 0x11C3)) for code in block}
    return frozenset(pairs | hangul)

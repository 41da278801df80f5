"""XML and SGML → blocks of rows: one element is one document, its columns are paths below it.

Both parsers call the same target, which builds a tree of one record at a time: expat for XML, which must be
well-formed, and html.parser for SGML and for broken XML, which takes what it finds and knows no upper or lower case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from html.parser import HTMLParser
from itertools import chain
from typing import NamedTuple, Protocol
from xml.etree import ElementTree as ET

from nlpkit.errors import InputError
from nlpkit.platform.documents.readers.blocks import BLOCK_ROWS, RowBlock, from_rows
from nlpkit.platform.documents.readers.guess import NoRecordsError, NoTextsError
from nlpkit.platform.wording import listed

_BLOCK_CHARS = 1 << 20
_PIECE = 1 << 16  # characters given to the parser at once
_SURVEY_CHARS = 4 << 20  # read to say which elements there are
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Elements at whose ends a word ends: those of HTML, DocBook and TEI that stand for lines, blocks or a change of page.
_BREAKS = frozenset(
    re.findall(
        r"\w+",
        "br hr p div li dd dt tr td th pre blockquote para head title h1 h2 h3 h4 h5 h6 ul ol dl section article header footer "
        "aside figcaption caption option body lb pb cb gb milestone fw space note l lg sp stage speaker s ab item row cell list "
        "table figure opener closer salute signed dateline byline trailer epigraph argument postscript castitem titlepart",
    )
)
_MILESTONES = frozenset(("lb", "pb", "cb", "gb", "milestone"))  # beside one that is within a word, they are too
# Marks of editors on letters of a word (TEI, EpiDoc): one directly after another ends no word.
_IN_WORDS = frozenset(
    re.findall(r"\w+", "c g ex am unclear supplied surplus damage sic corr orig reg abbr expan add del subst")
)
# TEI elements that hold several forms of one place, with the names of their children in the order in which one is taken.
_FORMS = {
    "choice": ("reg", "corr", "expan", "orig", "sic", "abbr", "unclear", "seg", "ex", "am", "choice"),
    "app": ("lem", "rdg", "rdggrp"),
    "subst": ("add", "del"),
}
_BESIDE_FORMS = frozenset(("note", "wit", "witdetail", "witstart", "witend"))
_UNCLOSED = frozenset(("br", "hr", "img", "wbr"))  # SGML elements without an end tag


def read_markup(
    text: Iterator[str],
    path: str,
    *,
    record: str | None,
    fields: Mapping[str, str],
    texts: Sequence[str],
    lenient: bool,
) -> Iterator[RowBlock]:
    """Yield one row per outermost element `record`, with a column per (column, path below the record).

    texts: the columns of the text, whose values of several matches are lines.
    A path is 'a/b', 'a|b' for elements of either name, 'a/@attribute', '@attribute' or '.', all text inside; its first step
    is looked for among the children, then anywhere below. The values of several matches are joined, in the text by line breaks, elsewhere
    by '; '. Raises InputError when `record`
    is None or not there, listing the elements that are, NoTextsError when none of the first records has the path of
    the text, and InputError with path:line:column for XML that is not well-formed.
    """
    if record is None:
        raise InputError(_which_record(text, path, lenient))
    steps = {name: _parse_path(where, lenient) for name, where in fields.items()}
    target = _Records(_local(record.lower() if lenient else record))
    inside: Counter[str] = Counter()  # elements of the first records, for the message
    rows: list[dict[str, str | None]] = []
    done = size = 0
    for characters in chain(_parse(text, path, target, lenient), (None,)):
        size += characters or 0
        for element in target.take():
            rows.append({name: _value(element, where, name in texts) for name, where in steps.items()})
            if done == 0:
                inside.update(below.tag for below in element.iter())
        while len(rows) >= BLOCK_ROWS or (rows and (size > _BLOCK_CHARS or characters is None)):
            part, rows = rows[:BLOCK_ROWS], rows[BLOCK_ROWS:]
            if done == 0 and all(row.get(name) is None for row in part for name in texts):
                elements = [name for name in inside if name != target.record]
                raise NoTextsError(
                    f"{path}: no <{record}> has '{fields.get(texts[0], texts[0])}' (inside: {listed(elements, 20)}); "
                    f"name the path of the text with `xml_fields={texts[0]}=PATH`"
                )
            yield from_rows(part, range(done + 1, done + len(part) + 1), size, unit=record)
            done += len(part)
            size = 0
    if done == 0 and target.others:
        near = get_close_matches(target.record, target.others, n=1)
        names = ", ".join(f"{name} ({count})" for name, count in target.others.most_common(8))
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise NoRecordsError(f"{path} has no element '{record}' (found: {names}){hint}; name it with `xml_record`")


# ---------------------------------------------------------------- parsing


class _Target(Protocol):
    def start(self, tag: str, attributes: dict[str, str]) -> object: ...
    def data(self, text: str) -> object: ...
    def end(self, tag: str) -> object: ...
    def close(self) -> object: ...


def _parse(text: Iterator[str], path: str, target: _Target, lenient: bool) -> Iterator[int]:
    """Feed the target piece by piece, yielding the characters read after each."""
    parser = _Lenient(target) if lenient else ET.XMLParser(target=target)
    seen = False
    try:
        for piece in text:
            for start in range(0, len(piece), _PIECE):
                part = piece[start : start + _PIECE]
                seen = seen or not part.isspace()
                parser.feed(part)
                yield len(part)
        if seen:
            parser.close()
            yield 0
    except ET.ParseError as error:
        line, column = error.position
        what = str(error).split(": line")[0]
        raise InputError(
            f"{path}:{line}:{column + 1}: not well-formed XML: {what}; try `format=sgml`, which is lenient"
        ) from None
    except AssertionError as error:  # html.parser on a marked section it does not know
        raise InputError(f"{path}: markup that cannot be read even leniently: {error}") from None


class _Lenient(HTMLParser):
    """SGML, HTML and broken XML as well-nested events: names in lower case, an end tag closes what is open inside."""

    CDATA_CONTENT_ELEMENTS = ()  # type: ignore[misc]  # a <title> or <script> is an element as any other
    RCDATA_CONTENT_ELEMENTS = ()  # type: ignore[misc]

    def __init__(self, target: _Target) -> None:
        super().__init__(convert_charrefs=True)
        self._target = target
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._target.start(tag, {name: value or "" for name, value in attrs})
        if tag in _UNCLOSED:
            self._target.end(tag)
        else:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._target.start(tag, {name: value or "" for name, value in attrs})
        self._target.end(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._open:
            return
        while True:
            innermost = self._open.pop()
            self._target.end(innermost)
            if innermost == tag:
                return

    def handle_data(self, data: str) -> None:
        self._target.data(_CONTROL.sub("", data))

    def unknown_decl(self, data: str) -> None:
        if data.startswith("CDATA["):
            self.handle_data(data[len("CDATA[") :])

    def close(self) -> None:
        super().close()
        for tag in reversed(self._open):
            self._target.end(tag)
        self._open.clear()


@dataclass(slots=True)
class _Border:
    """What lies between the last word and the next: nothing, a border, a border that white space shows already."""

    after_end: bool = False  # nothing since an end tag
    in_word: bool = False  # that end tag was of _IN_WORDS
    broken: bool = False  # the next word is on another line
    after_space: bool = True
    space: str = ""  # the part of it that is not in the tree yet
    joined: bool = False  # the next letter belongs to the last word


class _Records:
    """The target that builds the tree of each record, and counts the elements outside of records.

    Words do not run together: a line break is put where one element directly follows another and around the
    elements that break lines in HTML and TEI, unless there is white space already. An element with break="no" is within a
    word, whatever white space stands around it (TEI, att.breaking). Of several forms of a place one is kept, see _FORMS.
    """

    def __init__(self, record: str) -> None:
        self.record = record
        self.others: Counter[str] = Counter()
        self._done: list[ET.Element] = []
        self._builder: ET.TreeBuilder | None = None
        self._depth = 0
        self._border = _Border()
        self._forms: list[_Form] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _name(tag)
        if self._builder is None:
            if name.local != self.record:
                self.others[name.local] += 1
                return
            self._builder = ET.TreeBuilder()
            self._border = _Border()
        self._depth += 1
        if self._forms and self._forms[-1].has(name, self._depth):
            self._border = replace(self._forms[-1].before)
        breaks = attributes.get("break")
        if breaks == "no":
            self._border = _Border(after_space=False, joined=True)
        else:
            border = self._border
            if border.space:
                self._give_space(self._builder)
            if breaks == "yes" or not border.joined or name.block:
                follows = border.after_end and not (border.in_word and name.in_word)
                border.broken = border.broken or follows or name.breaks or breaks == "yes"
                border.joined = False
            border.after_end = False
        if name.kind in _FORMS:
            self._forms.append(_Form(name.kind, self._depth, replace(self._border)))
        self._builder.start(name.local, {_local(key): value for key, value in attributes.items()} if attributes else {})

    def data(self, text: str) -> None:
        if self._builder is None or not text:
            return
        border = self._border
        if border.joined:
            text = text.lstrip()
        letters = text.rstrip()
        if letters:
            if border.space:
                self._give_space(self._builder)
            if border.broken and not border.after_space and not text[0].isspace():
                self._builder.data("\n")
            self._builder.data(letters)
            border.space = text[len(letters) :]
        else:
            border.space += text
        if text:
            border.after_space = text[-1].isspace()
            border.after_end = border.broken = border.joined = False

    def _give_space(self, builder: ET.TreeBuilder) -> None:
        builder.data(self._border.space)
        self._border.space = ""

    def end(self, tag: str) -> None:
        if self._builder is None:
            return
        name, border = _name(tag), self._border
        element = self._builder.end(name.local)
        border.joined = border.joined and not name.block
        border.after_end, border.in_word = not border.joined, name.in_word
        border.broken = border.broken or (name.breaks and not border.joined)
        if self._forms and self._forms[-1].depth == self._depth:
            self._border = self._forms.pop().kept(element, border)
        if self._forms and self._forms[-1].depth == self._depth - 1:
            self._forms[-1].after.append(replace(self._border))
        self._depth -= 1
        if self._depth == 0:
            self._done.append(self._builder.close())
            self._builder = None

    def close(self) -> None:
        """End of the file."""

    def take(self) -> list[ET.Element]:
        """Return the records that are complete, and forget them."""
        done, self._done = self._done, []
        return done


@dataclass(slots=True)
class _Form:
    """An element of _FORMS that is open."""

    kind: str
    depth: int
    before: _Border
    after: list[_Border] = field(default_factory=list)  # after each of its children

    def has(self, name: _Name, depth: int) -> bool:
        """Say whether an element at a depth is one of the forms."""
        return self.depth == depth - 1 and name.kind in _FORMS[self.kind]

    def kept(self, element: ET.Element, border: _Border) -> _Border:
        """Leave one child in the element, where all are forms, and return the border after it."""
        names = [child.tag.lower() for child in element]
        forms = [name for name in names if name in _FORMS[self.kind]]
        if not forms or any(name not in _BESIDE_FORMS for name in names if name not in forms):
            return border
        kept = names.index(min(forms, key=_FORMS[self.kind].index))
        element.text, element[kept].tail = None, None
        element[:] = [element[kept]]
        return self.after[kept]


class _Name(NamedTuple):
    """What the name of an element says."""

    local: str
    kind: str  # in lower case
    breaks: bool
    block: bool  # breaks and is no milestone
    in_word: bool


@lru_cache(1024)
def _name(tag: str) -> _Name:
    local = _local(tag)
    kind = local.lower()
    return _Name(local, kind, kind in _BREAKS, kind in _BREAKS - _MILESTONES, kind in _IN_WORDS)


def _local(name: str) -> str:
    """Return a name without its namespace: {uri}page and mw:page are page."""
    return name.rpartition("}")[2].rpartition(":")[2]


# ---------------------------------------------------------------- paths


@dataclass(frozen=True, slots=True)
class _Path:
    steps: tuple[tuple[str, ...], ...]  # the names of each, one or more
    attribute: str | None = None


def _parse_path(where: str, lenient: bool) -> _Path:
    parts = [part for part in (where.lower() if lenient else where).split("/") if part not in ("", ".")]
    attribute = _local(parts.pop()[1:]) if parts and parts[-1].startswith("@") else None
    return _Path(tuple(tuple(map(_local, part.split("|"))) for part in parts), attribute)


def _value(record: ET.Element, path: _Path, is_text: bool) -> str | None:
    elements = [record]
    for number, names in enumerate(path.steps):
        below = [child for element in elements for child in element if child.tag in names]
        deeper = set(names) - {child.tag for child in below} if number == 0 else set()
        if deeper:
            children = set(map(id, below))
            below = [element for element in record.iter() if element.tag in deeper or id(element) in children]
        elements = below
    if path.attribute is not None:
        values = [element.attrib[path.attribute].strip() for element in elements if path.attribute in element.attrib]
    else:
        values = ["".join(element.itertext()).strip() for element in elements]
    if not values:
        return None
    return ("\n" if is_text else "; ").join(values)


# ---------------------------------------------------------------- which elements there are


@dataclass(slots=True)
class _Survey:
    """Counts elements and the characters of text inside them."""

    counts: Counter[str] = field(default_factory=Counter)
    chars: Counter[str] = field(default_factory=Counter)
    _open: list[tuple[str, int]] = field(default_factory=list)
    _seen: int = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._open.append((_local(tag), self._seen))

    def data(self, text: str) -> None:
        self._seen += len(text.strip())

    def end(self, tag: str) -> None:
        name, before = self._open.pop()
        self.counts[name] += 1
        self.chars[name] += self._seen - before

    def close(self) -> None:
        """End of the file."""


def _which_record(text: Iterator[str], path: str, lenient: bool) -> str:
    survey = _Survey()
    read = 0
    for size in _parse(text, path, survey, lenient):
        read += size
        if read >= _SURVEY_CHARS:
            break
    repeated = [name for name, _ in survey.chars.most_common() if survey.counts[name] > 1 and survey.chars[name]]
    names = repeated or [name for name, _ in survey.chars.most_common() if survey.chars[name]]
    if not names:
        return f"{path}: no element holds text"
    listed = ", ".join(
        f"{n} ({survey.counts[n]:,}, {survey.chars[n] // survey.counts[n]:,} characters each)" for n in names[:6]
    )
    return (
        f"{path}: which element is one document? Elements with text: {listed}; "
        f"name it, for example `xml_record={names[0]}` `xml_fields=text=.`"
    )

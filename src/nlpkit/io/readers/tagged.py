"""Corpora with a word a line → blocks of rows: sentences of CoNLL-U, documents of vertical files (Sketch Engine, CWB)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

from nlpkit.errors import InputError
from nlpkit.io.readers.blocks import BLOCK_ROWS, RowBlock, from_rows, lines_with_ends

_ELEMENT = re.compile(r"<(/?)(\w+)([^<>]*)>\s*")
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*("[^"]*"|'[^']*')""")
_DOCUMENTS = ("doc", "text", "document", "file")
_N_FIELDS = 10
_WORD_ID = re.compile(r"\d+(?:[-.]\d+)?", re.ASCII)


def read_conllu(text: Iterable[str], path: str) -> Iterator[RowBlock]:
    """Yield sentences: text as `# text` has it, tokens (forms), lemma and pos (UPOS) as lists, and other comments `# name = value`.

    Ranges (1-2) give the form of the text, and the words 1 and 2 the tokens; empty nodes (1.1) are left out.

    Raises:
        InputError: a line does not have ten fields, or no number of a word.
    """
    rows: list[dict[str, Any]] = []
    done = size = 0
    for row in _sentences(text, path):
        rows.append(row)
        size += len(row["text"])
        if len(rows) == BLOCK_ROWS:
            yield from_rows(rows, range(done + 1, done + len(rows) + 1), size, unit="sentence")
            done, rows, size = done + len(rows), [], 0
    if rows:
        yield from_rows(rows, range(done + 1, done + len(rows) + 1), size, unit="sentence")


def _sentences(text: Iterable[str], path: str) -> Iterator[dict[str, Any]]:
    comments: dict[str, str] = {}
    document: str | None = None
    words: list[list[str]] = []
    for number, line in enumerate(lines_with_ends(text), start=1):
        line = line.rstrip("\r\n").removeprefix("\ufeff")
        if line.startswith("#"):
            name, equals, value = line[1:].partition("=")
            if name.strip() == "newdoc" or name.strip() == "newdoc id":
                document = value.strip() or None
            elif equals:
                comments[name.strip()] = value.strip()
        elif line.strip():
            fields = line.split("\t")
            if len(fields) != _N_FIELDS:
                raise InputError(
                    f"{path}:{number}: {len(fields)} fields, a word of CoNLL-U has {_N_FIELDS}, with tabs between"
                )
            if not _WORD_ID.fullmatch(fields[0]):
                raise InputError(f"{path}:{number}: '{fields[0]}' is not the number of a word, such as 1, 1-2 or 1.1")
            words.append(fields)
        elif words:
            yield _sentence(words, comments, document)
            comments, words = {}, []
    if words:
        yield _sentence(words, comments, document)


def _sentence(words: list[list[str]], comments: dict[str, str], document: str | None) -> dict[str, Any]:
    plain = [word for word in words if word[0].isdecimal()]
    row: dict[str, Any] = {
        "id": comments.get("sent_id"),
        "text": comments.get("text") or _surface(words),
        "tokens": [word[1] for word in plain],
        "lemma": [word[2] for word in plain],
        "pos": [word[3] for word in plain],
        "document": document,
    }
    if row["id"] is None:
        del row["id"]
    return row | {
        name: value for name, value in comments.items() if name not in ("sent_id", "text") and name not in row
    }


def _surface(words: list[list[str]]) -> str:
    """Return the text of a sentence: ranges in place of their words, no blank behind SpaceAfter=No."""
    text, covered = "", 0
    for word in words:
        first, dash, last = word[0].partition("-")
        if "." in word[0] or (not dash and int(first) <= covered):
            continue
        covered = int(last) if dash else covered
        text += word[1] + ("" if "SpaceAfter=No" in word[9].split("|") else " ")
    return text.rstrip(" ")


def read_vertical(text: Iterable[str], path: str) -> Iterator[RowBlock]:
    """Yield documents: the words of an element doc or text in its first column, its attributes as columns; sentences are lines.

    Raises:
        InputError: no such element is there, or one is not closed.
    """
    rows: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None
    sentences: list[list[str]] = [[]]
    opened = ""  # the element of the document; one inside it, such as a text in a doc, is part of it
    glued = False
    begun = done = 0
    for number, line in enumerate(lines_with_ends(text), start=1):
        element = _ELEMENT.fullmatch(line)
        if element is None:
            word = html.unescape(line.rstrip("\r\n").partition("\t")[0])
            if current is not None and word:
                if glued and sentences[-1]:
                    sentences[-1][-1] += word
                else:
                    sentences[-1].append(word)
            glued = False
            continue
        closing, name, attributes = element.groups()
        if name == "g":
            glued = True
        elif name in ("s", "p") and sentences[-1]:
            sentences.append([])
        elif name in _DOCUMENTS and not closing and current is None:
            opened, begun = name, number
            current = {key: html.unescape(value[1:-1]) for key, value in _ATTRIBUTE.findall(attributes)}
            sentences = [[]]
        elif name == opened and closing and current is not None:
            lines = [" ".join(words) for words in sentences if words]
            rows.append({**current, "text": "\n".join(lines)})
            current = None
            if len(rows) == BLOCK_ROWS:
                yield _block(rows, done)
                done, rows = done + len(rows), []
    if current is not None:
        raise InputError(f"{path}:{begun}: the element <{opened}> is not closed by the end of the file")
    if not rows and not done:
        raise InputError(f"{path}: no element {', '.join(f'<{name}>' for name in _DOCUMENTS)} that is closed")
    if rows:
        yield _block(rows, done)


def _block(rows: list[dict[str, Any]], done: int) -> RowBlock:
    size = sum(len(row["text"]) for row in rows)
    return from_rows(rows, range(done + 1, done + len(rows) + 1), size, unit="document")

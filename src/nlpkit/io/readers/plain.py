"""Plain text → blocks of rows: one document a line, or the whole file as one document."""

from __future__ import annotations

from collections.abc import Iterator

from nlpkit.io.readers.blocks import BLOCK_ROWS, RowBlock, lines_with_ends

_BLOCK_CHARS = 1 << 20


def read_lines(text: Iterator[str]) -> Iterator[RowBlock]:
    """Yield the lines that are not blank, without their ends, numbered by line."""
    texts: list[str] = []
    numbers: list[int] = []
    size = 0
    for number, line in enumerate(lines_with_ends(text), start=1):
        if line.isspace():
            continue
        texts.append(line.rstrip("\r\n"))
        numbers.append(number)
        size += len(line)
        if len(texts) == BLOCK_ROWS or size > _BLOCK_CHARS:
            yield RowBlock({"text": texts}, numbers, size, numbers)
            texts, numbers, size = [], [], 0
    if texts:
        yield RowBlock({"text": texts}, numbers, size, numbers)


def read_file(text: Iterator[str]) -> Iterator[RowBlock]:
    """Yield the whole text, as it is, as one document; an empty file is a document without words."""
    whole = "".join(text)
    yield RowBlock({"text": [whole]}, [1], len(whole), [1])

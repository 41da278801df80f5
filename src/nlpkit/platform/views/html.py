"""Blocks as HTML; whatever they say is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from nlpkit.platform.views.blocks import Block, Figure, Table

_CODE = re.compile("`([^`]+)`")


def write(blocks: Iterable[Block]) -> str:
    """Return blocks as HTML, one below the other."""
    return "".join(_html(block) for block in blocks)


def _html(block: Block) -> str:
    if isinstance(block, Table):
        numeric = [i for i, name in enumerate(block.columns) if name in block.right]
        return paragraphs([block.title] if block.title else []) + table(block.columns, block.rows, numeric=numeric)
    return f"<pre>{escape(block.text)}</pre>" if isinstance(block, Figure) else paragraphs([block.text])


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, numeric: Sequence[int] = (), id: str = ""
) -> str:
    """Return an HTML table; the first cell of a row is its heading. A heading without text is a cell, as it heads nothing."""

    def cell(place: int, value: object, scope: str = "") -> str:
        kind, text = ' class="n"' if place in numeric else "", escape("" if value is None else str(value))
        return f'<th scope="{scope}"{kind}>{text}</th>' if scope and text.strip() else f"<td{kind}>{text}</td>"

    head = "".join(cell(i, name, "col") for i, name in enumerate(columns))
    body = "\n".join(
        f"<tr>{''.join(cell(i, value, '' if i else 'row') for i, value in enumerate(row))}</tr>" for row in rows
    )
    name = f' id="{id}"' if id else ""
    return f'<div class="wide"><table{name}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def paragraphs(texts: Sequence[str], kind: str = "") -> str:
    """Return paragraphs of plain text; what stands in backticks is code."""
    name = f' class="{kind}"' if kind else ""
    marked = (_CODE.sub(r"<code>\1</code>", escape(text)) for text in texts)
    return "\n".join(f"<p{name}>{text}</p>" for text in marked)

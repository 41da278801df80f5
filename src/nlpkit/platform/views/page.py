"""The report as one HTML file: sections, data and the page's own code; it needs nothing else and sends nothing anywhere.

A content security policy that names the code by its hash forbids every request and every other script, so what is written in a
document stays text. Data is one container, compressed (zlib) and in base64: the length of its head (4 bytes, little-endian), the head
as JSON, then arrays, each at a multiple of 8 bytes, which the head lists under "arrays" as [type, offset, length].

Further parts, in this order:
- The code and the style of the page of a report, which lie beside the code of the package.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from nlpkit.platform.plain import to_json

TYPES = {"uint8": "u1", "uint16": "u2", "int16": "i2", "int32": "i4", "float32": "f4"}


@dataclass(frozen=True, slots=True)
class PageCode:
    """The page's own code and style."""

    script: str
    style: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page: id, heading, and what stands in it before any code runs, as HTML."""

    id: str
    heading: str
    html: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a report. data: for the page's code; arrays: numbers (N,) by name; texts: what may be read later."""

    title: str
    lead: str
    sections: Sequence[Section]
    data: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    texts: Mapping[str, Any]


def render(page: Page, code: PageCode, *, names: Sequence[str] = (), others: Sequence[Page] = ()) -> str:
    """Return the page; the same bytes for the same content.

    Args:
        others: further pages in the same file, one of which is shown at a time. names: of all of them, by which they are chosen.
    """
    script, style = code.script, code.style
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    choices = "".join(f'<option value="{i}">{escape(name)}</option>' for i, name in enumerate(names))
    picker = (
        f'<aside class="picker" aria-label="Runs"><label>Run <select id="run">{choices}</select></label></aside>'
        if others
        else ""
    )
    further = "\n".join(
        f"""<template id="run-{i}" data-title="{escape(other.title)}">
{_body(other)}
</template>
<script type="text/plain" id="data-{i}">{_packed(other.data, other.arrays)}</script>
<script type="text/plain" id="texts-{i}">{_packed(other.texts, {})}</script>"""
        for i, other in enumerate(others, 1)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="color-scheme" content="light dark">
<title>{escape(page.title)}</title>
<style>{style}</style>
</head>
<body>
{picker}{_body(page)}
<script type="text/plain" id="data">{_packed(page.data, page.arrays)}</script>
<script type="text/plain" id="texts">{_packed(page.texts, {})}</script>
{further}<script>{script}</script>
</body>
</html>
"""


def _body(page: Page) -> str:
    """Return heading, links and sections of a page."""
    links = "\n".join(f'<a href="#{s.id}">{escape(s.heading)}</a>' for s in page.sections)
    sections = "\n".join(
        f'<section id="{s.id}" aria-labelledby="{s.id}-h">\n<h2 id="{s.id}-h">{escape(s.heading)}</h2>\n{s.html}\n</section>'
        for s in page.sections
    )
    return f"""<header>
<h1 dir="auto">{escape(page.title)}</h1>
<p class="lead">{escape(page.lead)}</p>
</header>
<nav aria-label="Sections">
{links}
</nav>
<main>
<noscript><p class="note">Without JavaScript this page shows its text and tables, but no pictures.</p></noscript>
{sections}
</main>"""


def _packed(head: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Return a container of data and arrays, compressed, in base64."""
    places: dict[str, Any] = {}
    blobs: list[bytes] = []
    at = 0
    for name, array in arrays.items():
        kind = TYPES[array.dtype.name]
        raw = np.ascontiguousarray(array, f"<{kind}").tobytes()
        places[name] = [kind, at, len(array)]
        raw += b"\0" * (-len(raw) % 8)
        blobs.append(raw)
        at += len(raw)
    text = json.loads(to_json(head))  # numbers of NumPy, dates and NaN become what JSON has
    raw_head = json.dumps({**text, "arrays": places}, ensure_ascii=False, separators=(",", ":")).encode()
    raw_head += b" " * (-(len(raw_head) + 4) % 8)
    return base64.b64encode(zlib.compress(b"".join([struct.pack("<I", len(raw_head)), raw_head, *blobs]), 9)).decode()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# ------------------------------------------------------------------------------------------------------------------------
# The code and the style of the page of a report, which lie beside the code of the package.

CODE = (
    "base.js", "charts.js", "select.js", "map.js", "topics.js", "opening.js", "effects.js", "words.js", "panels.js", "review.js", "main.js",
)  # fmt: skip
STYLE = "style.css"


def read_page_code() -> PageCode:
    """Return the code of the page as one script, and its style."""
    parts = "\n".join(_asset(name) for name in CODE)
    return PageCode(f'"use strict";(()=>{{\n{parts}\n}})();', _asset(STYLE))


def read_attention_code() -> PageCode:
    """Return the code and style of a page of attention."""
    parts = "\n".join(map(_asset, ("base.js", "attention.js")))
    return PageCode(f'"use strict";(()=>{{\n{parts}\n}})();', _asset(STYLE) + _asset("attention.css"))


def read_page_style() -> str:
    """Return the style of the page alone, for a page without code."""
    return _asset(STYLE)


def _asset(name: str) -> str:
    """Return a part of the code or the style, without what is for its readers alone: indentation and lines of comments."""
    text = (files("nlpkit.platform.views") / "assets" / name).read_text(encoding="utf-8")
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"

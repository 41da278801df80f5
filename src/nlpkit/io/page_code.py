"""The code and the style of the page of a report, which lie beside the code of the package."""

from __future__ import annotations

from importlib.resources import files

from nlpkit.report.page import PageCode

CODE = ("base.js", "charts.js", "map.js", "topics.js", "panels.js", "main.js")
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
    return (files("nlpkit.report") / "assets" / name).read_text(encoding="utf-8")

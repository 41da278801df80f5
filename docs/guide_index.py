"""The index of the pages that `nlpkit help WORD` searches: title, first sentence and headings, for an installed wheel has no docs.

`python docs/generate.py` writes it to src/nlpkit/platform/cli/guides.json; a test fails while the file differs from the pages.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
INDEX = DOCS.parent / "src" / "nlpkit" / "platform" / "cli" / "guides.json"
FOLDERS = ("", "tutorials", "guides", "explanation")
LEFT_OUT = ("index.md",)


def guide_index() -> str:
    """Return the index as JSON, a page on each line."""
    pages = [path for folder in FOLDERS for path in sorted((DOCS / folder).glob("*.md")) if path.name not in LEFT_OUT]
    return "[\n" + ",\n".join(json.dumps(page(path), ensure_ascii=False) for path in pages) + "\n]\n"


def page(path: Path) -> dict[str, Any]:
    """Return path, title, first sentence and headings of a page."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    title, *headings = [plain(heading) for heading in re.findall(r"^#+ +(.+)$", text, re.MULTILINE)]
    prose = [part for part in text.split("\n\n") if re.match(r"[A-Z`\[*]", part.strip())]
    first = plain(" ".join(prose[0].split())) if prose else ""
    summary = re.split(r"(?<=[.!?:])\s+(?=[A-Z])", first)[0]
    return {"page": path.relative_to(DOCS).as_posix(), "title": title, "summary": summary, "headings": headings}


def plain(markdown: str) -> str:
    """Return Markdown without links and marks."""
    return re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)).strip()


def write() -> None:
    """Write the index."""
    INDEX.write_text(guide_index(), encoding="utf-8")

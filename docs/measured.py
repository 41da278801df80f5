"""When the figures of docs/benchmarks/ were measured, and whether the code that they measure is still the same.

docs/benchmarks/measured.toml has an entry for each table: which script made it, when, on what processor, and a digest of the
code that it measures.
`python docs/generate.py` writes these into the end of each page. After measuring again: `python docs/measured.py PAGE "HEADING"`.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
SOURCE = DOCS.parent / "src" / "nlpkit"
PAGES = DOCS / "benchmarks"
TABLE = PAGES / "measured.toml"
BEGIN, END = "<!-- written by docs/generate.py from measured.toml -->", "<!-- end -->"


def digest(paths: list[str], source: Path = SOURCE) -> str:
    """Return a digest of the Python code below paths of src/nlpkit, without comments, docstrings and blank lines."""
    found = hashlib.sha256()
    for path in paths:
        whole = source / path
        for file in sorted(whole.rglob("*.py")) if whole.is_dir() else [whole]:
            if not re.fullmatch(r"commands?|__init__|(.*_)?views?", file.stem):  # nothing is computed there
                found.update("\n".join(code_lines(file.read_text(encoding="utf-8"))).encode())
    return found.hexdigest()[:8]


def code_lines(text: str) -> list[str]:
    """Return the lines of a module that are code."""
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    kept = [line.strip() for number, line in enumerate(text.splitlines(), 1) if number not in prose]
    return [line for line in kept if line and not line.startswith("#")]


def tables(page: Path) -> list[str]:
    """Return the headings of a page that have a table of their own."""
    headings: list[str] = []
    heading = ""
    for line in page.read_text(encoding="utf-8").partition(BEGIN)[0].splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|") and (not headings or headings[-1] != heading):
            headings.append(heading)
    return headings


def section(page: str, entry: dict[str, Any]) -> str:
    """Return the last part of a page: a row for each table."""
    now = digest(entry["code"])
    lines = [
        "| table | script | measured | code since |",
        "|---|---|---|---|",
        *(
            f"| {heading} | {script(row)} | {row['on']}{', ' + row['with'] if 'with' in row else ''} "
            f"| {'the same' if row.get('code') == now else 'changed'} |"
            for heading in tables(PAGES / page)
            for row in [entry["tables"][heading]]
        ),
    ]
    code = ", ".join(f"`{path}`" for path in entry["code"])
    about = f"The code is {code} of `src/nlpkit`, without comments. Versions are those of constraints.txt at the time."
    return "\n".join(["## When this was measured", "", about, "", *lines])


def script(row: dict[str, Any]) -> str:
    """Return what made a table."""
    return f"`{row['by']}`" if "by" in row else "by hand"


def pages() -> dict[Path, str]:
    """Return every page of figures as it should be."""
    entries = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {PAGES / name: filled(PAGES / name, section(name, entry)) for name, entry in entries.items()}


def filled(page: Path, text: str) -> str:
    """Return a page with its last part written anew."""
    prose = page.read_text(encoding="utf-8").partition(BEGIN)[0].rstrip("\n")
    return f"{prose}\n\n{BEGIN}\n\n{text}\n\n{END}\n"


def write() -> None:
    """Write the last part of every page."""
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")


def record(page: str, heading: str) -> None:
    """Note that a table was measured today, with the code as it stands."""
    text = TABLE.read_text(encoding="utf-8")
    entry = tomllib.loads(text)[page]
    fields = {**entry["tables"].get(heading, {}), "on": datetime.date.today(), "code": digest(entry["code"])}
    fields["with"] = processor()
    row = ", ".join(f"{name} = {value if name == 'on' else quoted(value)}" for name, value in fields.items())
    line = f"{quoted(heading)} = {{ {row} }}"
    start = text.index(f'["{page}".tables]')
    end = text.find("\n[", start + 1) % (len(text) + 1)
    part = text[start:end].rstrip("\n")
    old = re.search(rf"^{re.escape(quoted(heading))} = .*$", part, re.MULTILINE)
    part = part.replace(old[0], line) if old else f"{part}\n{line}"
    TABLE.write_text(f"{text[:start]}{part}\n{text[end:]}", encoding="utf-8")
    write()


def quoted(value: str) -> str:
    """Return a string of TOML."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def processor() -> str:
    """Return the name of this machine's processor, and which fast products it has."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    names = re.findall(r"^model name\s*: (.*)$", text, re.MULTILINE) or ["unknown processor"]
    products = {"amx_tile": "AMX", "avx512_vnni": "VNNI", "avx512_bf16": "bf16", "avx512f": "AVX-512"}
    having = [name for flag, name in products.items() if f" {flag}" in text]
    return " ".join(names[0].split()) + (f" with {', '.join(having)}" if having else "")


if __name__ == "__main__":
    record(*sys.argv[1:])

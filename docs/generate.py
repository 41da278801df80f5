"""Write the pages of docs/reference/ that come from the code: `python docs/generate.py` (`make docs` runs it first).

commands.md, common-options.md and commands/ come from the command line (command_pages.py), python/ from the public functions
(python_pages.py), json-output.md and schemas/ from docs/json_output.toml and the tables that the code declares, and so are the columns
in tables.md (table_pages.py). The list of these pages in zensical.toml is written,
too. A test fails while a file differs from what this script would write.
"""

from __future__ import annotations

import re
from pathlib import Path

import guide_index
import json_output
import measured
import peers
import table_pages
from command_pages import command_files
from python_pages import python_files

REFERENCE = Path(__file__).parent / "reference"
SITE = Path(__file__).parents[1] / "zensical.toml"
GENERATED = "<!-- Written by docs/generate.py: change the code, then run `make docs`. -->\n"
FOLDERS = ("commands", "python")  # which hold generated pages alone


def pages() -> dict[str, str]:
    """Return the text of every file by its path below docs/reference."""
    texts = {**command_files(), **python_files(), "json-output.md": json_output.page()}
    made = {name: f"{GENERATED}\n{text}" for name, text in texts.items()}
    return {**made, **json_output.schema_files(), "tables.md": table_pages.page()}


def navigation(site: str, names: list[str]) -> str:
    """Return the text of zensical.toml with the generated pages of each folder between its marks."""
    for folder in FOLDERS:
        lines = "".join(f'      "reference/{name}",\n' for name in names if name.startswith(f"{folder}/"))
        begin, end = f"      # {folder}: by docs/generate.py\n", f"      # end of {folder}\n"
        site = re.sub(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", lambda _: lines, site, flags=re.DOTALL)  # noqa: B023
    return site


def main() -> None:
    """Write all files, and delete the pages of commands and tasks that are no longer there."""
    written = pages()
    for folder in ("schemas", *FOLDERS):
        (REFERENCE / folder).mkdir(parents=True, exist_ok=True)
    for folder in FOLDERS:
        for path in (REFERENCE / folder).glob("*.md"):
            if f"{folder}/{path.name}" not in written:
                path.unlink()
    for name, text in written.items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    SITE.write_text(navigation(SITE.read_text(encoding="utf-8"), list(written)), encoding="utf-8")
    guide_index.write()
    peers.write()
    measured.write()


if __name__ == "__main__":
    main()

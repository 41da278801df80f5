"""README, summary of the benchmarks, changelog and citation: short, current, and true to the tables they quote."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from nlpkit.version import __version__

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_readme_has_at_most_900_words() -> None:
    assert len(re.findall(r"\S*\w\S*", README)) <= 900


def test_comparisons_with_peers_are_those_of_the_tables() -> None:
    import peers

    for page, text in peers.pages().items():
        assert page.read_text(encoding="utf-8") == text, (
            f"{page.name} is older than the tables; run: python docs/peers.py"
        )


def test_another_table_gives_another_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import peers

    table, before = peers.table, peers.rows_of_labels()[0]
    worse = [[row[0], "0.1 / 0.9", *row[2:]] for row in table("classify.md", "# ")]
    monkeypatch.setattr(peers, "table", lambda page, head: worse if page == "classify.md" else table(page, head))
    assert peers.rows_of_labels()[0].losses != before.losses


def test_the_changelog_is_short_and_names_the_version() -> None:
    entry = CHANGELOG.partition(f"## [{__version__}]")[2].partition("\n## [")[0]
    assert entry
    assert len(entry.splitlines()) <= 60


def test_the_citation_names_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {__version__}\n" in citation


def test_readme_imports_only_what_make_demo_installs() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    extras = re.search(r'INSTALLED\): .*?-e "\.\[([a-z,]+)\]"', makefile, re.DOTALL)
    assert extras is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *(d for e in extras[1].split(",") for d in project["optional-dependencies"][e])]
    installed = {re.split(r"[^a-z0-9-]", d.lower())[0].replace("-", "_") for d in needed} | {"nlpkit"}
    code = "".join(re.findall(r"^```(?:sh|python)\n(.*?)^```", README, re.DOTALL | re.MULTILINE))
    imports = set(re.findall(r"(?:^|[\s\";])(?:import|from) ([a-z_]+)", code))
    assert imports
    assert imports <= installed
    assert "to_pandas" not in code or "pandas" in installed

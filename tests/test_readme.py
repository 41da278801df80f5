"""Every command of the README runs as printed, in order, in one folder that holds the sample data."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import needs_hdbscan, needs_minilm, run_line

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.split("  #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
    if line.strip() and not line.startswith("make ")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("readme")
    (path / "data").symlink_to(ROOT / "data")
    (path / "configs").symlink_to(ROOT / "configs")
    return path


@needs_minilm
@needs_hdbscan
@pytest.mark.parametrize("command", COMMANDS)
def test_readme_command_runs(command: str, folder: Path) -> None:
    done = run_line(command, folder)
    assert done.out or done.err


def test_readme_has_the_commands_of_the_cli() -> None:
    from nlpkit.cli.app import app

    names = [command.name for command in app.registered_commands]
    assert sorted(names) == sorted(set(re.findall(r"^\| `nlpkit ([a-z-]+)`", README, flags=re.MULTILINE)))


@needs_minilm
@needs_hdbscan
@pytest.mark.parametrize("config", sorted(p.name for p in (ROOT / "configs").glob("*.toml")))
def test_config_examples_run_as_their_first_line_says(config: str, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    command = (ROOT / "configs" / config).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    assert f"--config configs/{config}" in command
    run_line(command, tmp_path)


def test_there_is_a_config_for_every_command() -> None:
    from nlpkit.cli.app import app

    assert {p.stem for p in (ROOT / "configs").glob("*.toml")} == {c.name for c in app.registered_commands}


def test_readme_imports_only_what_make_demo_installs() -> None:
    extras = re.search(
        r'INSTALLED\): .*?-e "\.\[([a-z,]+)\]"', (ROOT / "Makefile").read_text(encoding="utf-8"), re.DOTALL
    )
    assert extras is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *(d for e in extras[1].split(",") for d in project["optional-dependencies"][e])]
    installed = {re.split(r"[^a-z0-9-]", d.lower())[0].replace("-", "_") for d in needed} | {"sklearn", "nlpkit"}
    blocks = re.findall(r"```(?:sh|python)\n(.*?)```", README, flags=re.DOTALL)
    imports = {name for block in blocks for name in re.findall(r"(?:^|[\s\";])(?:import|from) ([a-z_]+)", block)}
    assert imports >= {"polars"}
    assert imports <= installed | sys.stdlib_module_names

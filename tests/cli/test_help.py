"""Every --help: purpose, options, and examples that run as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import COMMANDS, ROOT, needs_hdbscan, needs_minilm, run_cli, run_line


def examples(command: str) -> list[str]:
    """The lines below 'Examples:' of a --help, as printed."""
    lines = run_cli(command, "--help").out.splitlines()
    found = []
    for line in lines[lines.index("  Examples:") + 1 :]:
        if not line.strip():
            break
        found.append(line.strip())
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_three_examples_and_fits_a_terminal(command: str) -> None:
    out = run_cli(command, "--help").out
    assert run_cli(command, "-h").out == out
    printed = examples(command)
    assert len(printed) >= 3
    assert all(line.startswith(f"nlpkit {command} ") for line in printed)
    others = [line for line in out.splitlines() if line.strip() not in printed]
    assert max(map(len, others)) <= 80
    assert max(map(len, out.splitlines())) <= 100
    for option in (
        "--seed",
        "--threads",
        "--json",
        "-q, --quiet",
        "-v, --verbose",
        "--config FILE",
        "--dry-run",
        "--debug",
    ):
        assert re.search(rf"^ +.*{re.escape(option)}", out, re.MULTILINE), option
    assert ("--output" in out) == (command != "info")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the examples find data/samples."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("bertopic", marks=[needs_minilm, needs_hdbscan]),
        pytest.param("lda-gibbs"),
        pytest.param("preprocess"),
        pytest.param("sbert-embed", marks=needs_minilm),
        pytest.param("tfidf"),
        pytest.param("ctfidf"),
        pytest.param("classify"),
        pytest.param("evaluate"),
        pytest.param("stats"),
        pytest.param("kwic"),
        pytest.param("similar-words"),
    ],
)
def test_examples_run_as_printed(command: str, folder: Path) -> None:
    for line in examples(command):
        output = re.search(r" -o (\S+)", line)
        run_line(line, folder)
        if output and output[1] != "-":
            assert (folder / output[1]).exists()


@needs_minilm
@needs_hdbscan
def test_examples_of_info_run_as_printed(folder: Path, news_run: Path) -> None:
    (folder / "run").symlink_to(news_run)
    for line in examples("info"):
        run_line(line, folder)


@needs_minilm
@needs_hdbscan
@pytest.mark.slow
def test_examples_of_the_program_run_as_printed(folder: Path) -> None:
    lines = [line.strip() for line in run_cli("--help").out.splitlines() if line.startswith("    nlpkit ")]
    assert len(lines) == 4
    for line in lines:
        run_line(line, folder)

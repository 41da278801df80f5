"""The R package clients/r: its tests, by Rscript where it is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from nlpkit.platform.cli.catalogue import COMMANDS
from nlpkit.version import __version__
from tests.test_rings import PACKAGE

CLIENT = PACKAGE.parents[1] / "clients" / "r"


def in_r(code: str) -> bool:
    return shutil.which("Rscript") is not None and subprocess.run(["Rscript", "-e", code], check=False).returncode == 0


def test_its_functions_are_commands_of_this_version() -> None:
    text = (CLIENT / "R" / "commands.R").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:_of|nlpkit)\("([a-z-]+)"', text)) - {"help"}
    functions = set(re.findall(r"^(nk_\w+) <-", text, re.MULTILINE))
    assert functions == {f"nk_{name.replace('-', '_')}" for name in named}
    assert named <= set(COMMANDS)
    namespace = (CLIENT / "NAMESPACE").read_text(encoding="utf-8")
    assert functions == set(re.findall(r"nk_\w+", namespace))
    assert f"Version: {__version__}" in (CLIENT / "DESCRIPTION").read_text(encoding="utf-8")


@pytest.mark.slow
def test_its_tests() -> None:
    if not in_r("library(jsonlite)"):
        pytest.skip("Rscript with jsonlite is not installed")
    env = {**os.environ, "TEST_NLPKIT": "\n".join([sys.executable, "-m", "nlpkit"]), "PYTHONPATH": str(PACKAGE.parent)}
    where = CLIENT / "tests"
    done = subprocess.run(
        ["Rscript", "nlpkit.R"], cwd=where, env=env, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stdout) == (0, "all tests passed\n"), done.stderr

"""The cases of compare_versions.toml: every command is run by one of them, and each has a name of its own."""

from __future__ import annotations

import re
import tomllib

from nlpkit.platform.cli.catalogue import COMMANDS
from tests.benchmarks.compare_versions import HERE, read_cases

CASES = HERE / "compare_versions.toml"


def test_every_command_has_a_case_that_runs_it() -> None:
    lines = [line["new"] for case in read_cases(CASES, [])[0] for line in case.lines]
    run = [
        words
        for line in lines
        if "--help" not in line
        for words in re.findall(r"\bnlpkit ([a-z-]+)(?: ([a-z-]+))?", line)
    ]
    names = {name for command, member in run for name in (command, f"{command} {member}")}
    commands = [f"{name} {member}" for name, entry in COMMANDS.items() for member in entry.members]
    commands += [name for name, entry in COMMANDS.items() if not entry.members]
    assert sorted(set(commands) - names) == []


def test_cases_are_named_once_and_end_as_their_kind() -> None:
    content = tomllib.loads(CASES.read_text(encoding="utf-8"))
    names = [case["name"] for case in content["case"]]
    assert sorted(names) == sorted(set(names))
    assert {case["then"] for case in content["case"] if "then" in case} == set(content["then"])

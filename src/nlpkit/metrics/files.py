"""Scores and gates as files: scores are written and read as a baseline, gates written as JUnit XML, tables as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from nlpkit.errors import InputError
from nlpkit.metrics.gates import Baseline, GateRules, gate_rules
from nlpkit.metrics.options import GateOptions
from nlpkit.metrics.results import ALL_TARGETS, Evaluation, Gate
from nlpkit.platform.plain import shell_line, to_json
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.runs.tables import save_table


def read_gates(options: GateOptions, metrics: Sequence[str] = ()) -> GateRules:
    """Return the gates that options ask for, with the scores of the baseline; read before long work, and not after it.

    Args:
        metrics: those that were asked for; see `gate_rules`.

    Raises:
        UsageError: a bound that is none; InputError: the baseline cannot be read.
    """
    rules = gate_rules(options, metrics)
    return rules if options.baseline is None else replace(rules, baseline=read_baseline(Path(options.baseline)))


def check_gates(evaluation: Evaluation | None, options: GateOptions, rules: GateRules) -> None:
    """Put the outcomes of gates into an evaluation, None where there are no labels to score against.

    Raises:
        InputError: a score of a bound was not made, or there are no scores at all.
    """
    if evaluation is not None:
        evaluation.gates = rules.check(evaluation)
    elif options != GateOptions():
        raise InputError("the gates cannot be checked, because the documents have no labels; see `label_col`")


def read_baseline(path: Path) -> Baseline:
    """Return the scores of a file that `nlpkit evaluate` or a run of a classifier wrote. Raises InputError when it has none."""
    needed = "the JSON of an earlier `evaluate()` (`output=metrics.json`) was needed"
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(
            f"the baseline {path} does not exist; make it with: {shell_line('nlpkit', 'evaluate')} … `output={path}`, or name "
            "the metrics.json of a run"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"the baseline {path} cannot be read ({error}); {needed}") from None
    try:
        scores = {str(t["target"]): dict(t["metrics"]) for t in value["targets"]}
        if value.get("together"):
            scores[ALL_TARGETS] = dict(value["together"])
        means = (value.get("seeds") or {}).get("mean") or {}  # what gates look at in a run of several seeds
        first = next(iter(scores.values()), {})
        for name in means.keys() & first.keys():
            first[name] = {**first[name], "value": means[name]}
        references = [t.get("reference") for t in value["targets"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"the baseline {path} has no scores of targets; {needed}") from None
    return Baseline(str(path), scores, references)


def write_scores(path: Path, evaluation: Evaluation, result: Mapping[str, Any], *, seed: int, force: bool) -> None:
    """Write `result` where the name ends in .json, else a table with a row for each score.

    Raises:
        UsageError: no format has that suffix; OutputExistsError, InputError: see `check_target`.
    """
    if path.suffix.lower() == ".json":
        with atomic_file(path, force=force) as part:
            part.write_text(to_json(dict(result), indent=2) + "\n", encoding="utf-8", newline="\n")
        return
    block = footer_block("scores", command="evaluate", parameters={}, seed=seed, inputs=[])
    save_table(path, evaluation.table(), block, force=force)


def write_junit(path: Path, gates: Sequence[Gate], *, suite: str, force: bool) -> None:
    """Write the gates as JUnit XML, a test case each. Raises OutputExistsError, UsageError, InputError: see `check_target`."""
    cases = [(g.target, f"{g.bound.metric} {g.bound.kind} {g.bound.value:g}", g.passed, g.line) for g in gates]
    with atomic_file(path, force=force) as part:
        part.write_text(junit(cases, suite=suite), encoding="utf-8", newline="\n")


def junit(cases: Sequence[tuple[str, str, bool, str]], *, suite: str) -> str:
    """Return gates as JUnit XML, which CI services show as tests.

    Args:
        cases: (class name, name, passed, line) of each gate.
        suite: name of the whole.
    """
    failed = sum(not passed for _, _, passed, _ in cases)
    root = ET.Element("testsuites", tests=str(len(cases)), failures=str(failed))
    tests = ET.SubElement(
        root, "testsuite", name=suite, tests=str(len(cases)), failures=str(failed), errors="0", skipped="0"
    )
    for group, name, passed, line in cases:
        case = ET.SubElement(tests, "testcase", classname=_clean(group), name=_clean(name))
        if passed:
            ET.SubElement(case, "system-out").text = _clean(line)
        else:
            ET.SubElement(case, "failure", message=_clean(line)).text = _clean(line)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """Leave out characters that XML 1.0 does not have."""
    return "".join(c for c in text if c in "\t\n\r" or ord(c) >= 32)

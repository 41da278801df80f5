"""The end of a command that makes scores: they are written and printed, and then what became of the gates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit import __version__
from nlpkit.errors import NlpkitError, QualityGateError, UsageError
from nlpkit.metrics.files import write_junit, write_scores
from nlpkit.metrics.options import GateOptions
from nlpkit.metrics.results import Evaluation, Gate
from nlpkit.metrics.views import evaluation_blocks, meanings
from nlpkit.platform import reporting
from nlpkit.platform.cli import console
from nlpkit.platform.cli.foreign import as_options
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.blocks import Note, Sentence

if TYPE_CHECKING:
    from nlpkit.platform.runs.passes import ColumnMaker


def print_scores(
    evaluation: Evaluation, gate: GateOptions, output: Path | None, *, suite: str, seed: int, force: bool
) -> None:
    """Write the scores where they are wanted as files, print them, and say what became of the gates.

    Raises:
        QualityGateError: a gate failed.
    """
    spell_options(evaluation)
    result = {"nlpkit_version": __version__, "seed": seed, **evaluation.to_dict()}
    if output is not None:
        write_scores(output, evaluation, result, seed=seed, force=force)
        later = f"; later: nlpkit evaluate … {shell_line('--baseline', output)}" if output.suffix == ".json" else ""
        reporting.note(f"wrote {output}{later}")
    if gate.junit is not None:
        write_junit(gate.junit, evaluation.gates, suite=suite, force=force)
    finish(result, evaluation.gates, lambda: show(evaluation, evaluation.gates, markdown=gate.markdown))


def spell_options(evaluation: Evaluation) -> None:
    """Write the parameters that notes and reasons name as the options of the command line."""
    for target in evaluation.targets:
        target.notes = [as_options(note) for note in target.notes]
        target.scores = {name: replace(s, why=as_options(s.why)) for name, s in target.scores.items()}


def show(evaluation: Evaluation, gates: Sequence[Gate], *, markdown: bool) -> None:
    """Print the evaluation on stdout; notes go to stderr, or into the Markdown."""
    blocks, notes = evaluation_blocks(evaluation), [Note(note) for note in evaluation.notes]
    if markdown:
        console.say_markdown([*_gates(gates), *blocks, *notes])
        return
    names = (name for target in evaluation.targets for name in target.scores)
    console.say([*blocks, *meanings(names), *notes])


def _gates(gates: Sequence[Gate]) -> list[Sentence]:
    if not gates:
        return []
    failed = sum(not gate.passed for gate in gates)
    head = f"### {'✅ all gates passed' if not failed else f'❌ {failed} of {len(gates)} gates failed'}\n"
    return [
        Sentence(text) for text in (head, *(f"- {'✅' if gate.passed else '❌'} {gate.line}" for gate in gates), "")
    ]


def finish_predictions(
    maker: ColumnMaker, summary: dict[str, Any], target: str | None, gate: GateOptions, *, force: bool
) -> None:
    """Say where predictions went, print their scores and say what became of the gates.

    Raises:
        QualityGateError: a gate failed. UsageError: neither scores nor output.
    """
    evaluation = maker.evaluation
    if target is not None and target != "-":
        reporting.note(f"wrote {target}{maker.reservation}")
    if evaluation is None:
        if console.settings.json and target != "-":
            console.emit_json({"output": target, **summary})
        elif target is None:
            raise UsageError(
                "there are no labels of sentiment to compare this with; say where to write it: `output=sentiment.parquet`"
            )
        return
    spell_options(evaluation)
    if gate.junit is not None:
        write_junit(gate.junit, evaluation.gates, suite=f"nlpkit {maker.command}", force=force)

    def show_scores() -> None:
        if target != "-":
            show(evaluation, evaluation.gates, markdown=gate.markdown)

    finish({"output": target, **summary, **evaluation.to_dict()}, evaluation.gates, show_scores)


def finish(
    result: Mapping[str, Any],
    gates: Sequence[Gate],
    show: Callable[[], None],
    *,
    then: Callable[[], None] | None = None,
    problem: NlpkitError | None = None,
) -> None:
    """Print a result as JSON, or let it be shown as tables; then say what became of the gates.

    Who closes the pipe has seen enough of the scores: the gates hold all the same.

    Args:
        result: printed with --json; show: prints the tables otherwise.
        then: what is said between scores and gates, such as where the run is.
        problem: why the gates could not be checked; raised in their place.

    Raises:
        QualityGateError: a gate failed.
    """
    try:
        if console.settings.json:
            console.emit_json(dict(result))
        else:
            show()
        sys.stdout.flush()
    except BrokenPipeError:
        report_gates(gates, problem)
        raise
    if then is not None:
        then()
    report_gates(gates, problem)


def report_gates(gates: Sequence[Gate], problem: NlpkitError | None = None) -> None:
    """Say what became of the gates, a line each. Raises QualityGateError when one failed, or the problem that kept them unchecked."""
    if problem is not None:
        raise problem
    failed = [gate for gate in gates if not gate.passed]
    for gate in gates:
        if gate.passed:
            reporting.note(f"gate passed: {gate.line}")
    for gate in failed[:-1]:
        console.error(f"gate failed: {gate.line}")
    if failed:
        raise QualityGateError(f"gate failed: {failed[-1].line}")

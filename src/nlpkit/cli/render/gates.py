"""The end of a command that makes scores: they are printed, and then what became of the gates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nlpkit import reporting
from nlpkit.cli import console
from nlpkit.errors import NlpkitError, QualityGateError
from nlpkit.evaluation.results import Gate


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

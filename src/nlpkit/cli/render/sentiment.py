"""The end of a command that labels documents without training: scores where there are labels, and the gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nlpkit import reporting
from nlpkit.cli import console
from nlpkit.cli.render.gates import finish
from nlpkit.cli.render.scores import show, spell_options
from nlpkit.errors import UsageError
from nlpkit.io.score_files import write_junit

if TYPE_CHECKING:
    from nlpkit.evaluation.options import GateOptions
    from nlpkit.workflows.passes import ColumnMaker


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

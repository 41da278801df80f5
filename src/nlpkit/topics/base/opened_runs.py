"""A run directory, or that of a model, opened for the tools that work on any run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.predict.model import RunModel
from nlpkit.topics.edit.files import RenamedRun

if TYPE_CHECKING:
    pass


def opened_run(run: str | Path | Run | RunModel, execution: Execution, kinds: Sequence[str] | None = None) -> Run:
    """Return a run directory, or that of a saved model, as a run that is open.

    Args:
        kinds: that a directory, or the one of a model, may have; None for all.

    Raises:
        InputError: it is no run; SchemaError: of another kind; UsageError: a model that is not saved yet.
    """
    if isinstance(run, RunModel):
        if not isinstance(run.run, Run) or isinstance(run.run, RenamedRun):
            raise UsageError("the model is not saved yet: give the folder that its `save` returns", parameter="run")
        run = run.run.path if kinds else run.run
    return run if isinstance(run, Run) else open_run(Path(run), kinds, verify=execution.verify)

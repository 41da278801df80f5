"""LDA models from run directories."""

from __future__ import annotations

from pathlib import Path

from nlpkit.io.lda_runs import KIND
from nlpkit.io.lda_tables import read_model
from nlpkit.io.runs import open_run
from nlpkit.parameters import Execution
from nlpkit.workflows.lda_model import FittedLda
from nlpkit.workflows.rolling_model import FittedRollingLda


def load_lda(path: Path, execution: Execution) -> FittedLda:
    """Return the model of a run of lda-gibbs or rolling-lda.

    Raises:
        InputError, SchemaError: there is none, or it is damaged.
    """
    run = open_run(path, [KIND], verify=execution.verify)
    is_rolling = bool(run.model_config("n_topics", "tokens").get("rolling"))
    return (FittedRollingLda if is_rolling else FittedLda)(run, read_model(run))

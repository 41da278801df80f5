"""`--dry-run`: the size of the work, and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nlpkit.cli import console
from nlpkit.io.read_options import ReadOptions


def dry_run(inputs: Sequence[str], read: ReadOptions, command: str = "", **work: Any) -> None:
    """Print how big the work of a command is; `work` as `nlpkit.workflows.estimate.estimate` takes it, which says what is raised."""
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.estimate import estimate

    console.plan(estimate(read_corpus(*inputs, options=read), command, **work))

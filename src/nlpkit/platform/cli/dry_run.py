"""`--dry-run`: the size of the work, and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nlpkit.platform.cli import console
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.models import resolved


def dry_run(inputs: Sequence[str], read: ReadOptions, command: str = "", **work: Any) -> None:
    """Print how big the work of a command is; `work` as `nlpkit.text.estimate.estimate` takes it, which says what is raised."""
    from nlpkit.platform.documents.corpus import read_corpus

    console.plan(resolved("nlpkit.text.estimate:estimate")(read_corpus(*inputs, options=read), command, **work))

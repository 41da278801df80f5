"""What the fits of a comparison cost."""

from __future__ import annotations

from nlpkit.topics.lda.options import SWEEPS
from nlpkit.workflows.mixtures import FITTERS


def usual_steps(model: str) -> int:
    """Return how many steps a model takes by default, at most."""
    if model == "lda-gibbs":
        return SWEEPS
    steps: int = FITTERS[model][1]().iterations if model in FITTERS else 1
    return steps

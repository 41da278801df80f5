"""What the fits of a comparison cost."""

from __future__ import annotations

from nlpkit.models import MODELS, resolved


def usual_steps(model: str) -> int:
    """Return how many steps a model takes by default, at most."""
    options = resolved(MODELS[model].options)()
    steps: int = getattr(options, "iterations", 1) if MODELS[model].fitter else getattr(options, "n_sweeps", 1)
    return steps

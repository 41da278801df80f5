"""The networks of `nlpkit.lab`, for what loads any model of transformers: by name, so that nothing imports the lab."""

from __future__ import annotations

from typing import Any

from nlpkit.platform.models import resolved

MODEL_TYPE = "nlpkit"


def register() -> None:
    """Let transformers' Auto classes know the networks that it does not have."""
    resolved("nlpkit.lab.architectures.model:register")()


def with_scan(model: Any) -> Any:
    """Return a Mamba model of transformers with the scan of `nlpkit.lab.architectures.state_space`."""
    return resolved("nlpkit.lab.architectures.state_space:with_scan")(model)


def layer_weights(model: Any) -> dict[str, Any] | None:
    """Return how much each layer of ELMo weighs, None for other models."""
    weights: dict[str, Any] | None = resolved("nlpkit.lab.architectures.recurrent:layer_weights")(model)
    return weights

"""Options of AdaSent with their defaults, as methods spell them in brackets: those of the domain's masked words, then those of SetFit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nlpkit.errors import UsageError
from nlpkit.finetune.setfit import setfit

# adapter: lora, or full for all weights; r, alpha: of LoRA; share: of the tokens that are masked; mlm_…: epochs, texts of a batch, rate
# (0: 1e-3 of an adapter, 1e-4 of all weights) and steps of a new head; sept: folder of an adapter that makes sentence vectors, or its run
_DOMAIN: dict[str, Any] = {
    "adapter": "lora", "r": 8, "alpha": 16.0, "share": 0.15, "mlm_epochs": 3, "mlm_batch": 32, "mlm_rate": 0.0, "mlm_head_steps": 200,
    "sept": "",
}  # fmt: skip
DEFAULTS: dict[str, dict[str, Any]] = {"adasent": {**_DOMAIN, **setfit.DEFAULTS["setfit"]}}
ADAPTERS = ("lora", "full")
RATES = {"lora": 1e-3, "full": 1e-4}


def of_setfit(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are SetFit's."""
    return {key: value for key, value in options.items() if key not in _DOMAIN}


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for options of the domain's masked words, or of SetFit, that cannot be."""
    setfit.check_options(name, of_setfit(options))
    if options["adapter"] not in ADAPTERS:
        raise UsageError(
            f"adasent(adapter={options['adapter']}): the adapter has to be one of {', '.join(ADAPTERS)}",
            parameter="method",
        )
    limits: dict[str, tuple[float, float]] = {
        "r": (1, 1024), "alpha": (1e-3, 1e4), "share": (0.01, 0.99), "mlm_epochs": (1, 1000), "mlm_batch": (1, 100_000), "mlm_rate": (0, 1),
        "mlm_head_steps": (0, 1_000_000),
    }  # fmt: skip
    for key, (least, most) in limits.items():
        if not least <= options[key] <= most:
            raise UsageError(
                f"adasent({key}={options[key]:g}): {key} has to be {least:g} to {most:g}", parameter="method"
            )

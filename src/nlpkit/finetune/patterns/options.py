"""Options of PET, iPET, PETapter and T-Few with their defaults, as methods spell them in brackets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nlpkit.errors import UsageError

# alpha: share of L_MLM; partners: unlabelled texts beside an example in L_MLM, share: of their tokens that are masked; temperature: of
# the soft labels; weights: of the patterns; n_words: that are searched for a label without words; growth: of the labelled set from
# generation to generation; raters: share of the other models that label for the next of a pattern
_PET: dict[str, Any] = {
    "alpha": 1e-4, "partners": 3, "share": 0.15, "temperature": 2.0, "weights": "accuracy", "n_words": 10,
}  # fmt: skip
DEFAULTS: dict[str, dict[str, Any]] = {
    "pet": _PET,
    "ipet": {**_PET, "generations": 3, "growth": 5, "raters": 0.25},
    "tfew": {"ul": 1.0, "ln": 1.0},  # shares of unlikelihood and of the length-normalised loss
}
WEIGHTS = ("accuracy", "uniform")
# of petapter: learned with the adapters from new weights, as published, or from those of the base; or the base's own, not learned
HEADS = ("new", "base", "frozen")


def adapter_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `petapter` that are those of its adapter."""
    return {name: value for name, value in options.items() if name not in ("adapter", "head")}


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for options of `pet`, `ipet` or `tfew` that cannot be."""
    limits: dict[str, tuple[float, float]] = {
        "alpha": (0, 1), "share": (0.01, 1), "raters": (0, 1), "partners": (1, 64), "temperature": (0.01, 100), "n_words": (1, 1000),
        "generations": (1, 10), "growth": (2, 100), "ul": (0, 100), "ln": (0, 100),
    }  # fmt: skip
    for key, value in options.items():
        if key in limits and not limits[key][0] <= value <= limits[key][1]:
            least, most = limits[key]
            raise UsageError(f"{name}({key}={value:g}): {key} has to be {least:g} to {most:g}", parameter="method")
    if options.get("weights", WEIGHTS[0]) not in WEIGHTS:
        raise UsageError(
            f"{name}(weights={options['weights']}): the weights of the patterns are one of {', '.join(WEIGHTS)}",
            parameter="method",
        )

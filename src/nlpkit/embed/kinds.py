"""The engines that run sentence encoders, by name: their precisions, and the packages they need."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

PRECISIONS_OF = {"torch": ("fp32", "bf16", "fp16", "int8"), "openvino": ("fp32", "bf16"), "onnx": ("fp32",)}


GRAPHS = ("openvino", "onnx")  # which run a graph on a CPU


ENGINES = ("auto", *PRECISIONS_OF, "static")


PRECISIONS = ("auto", "fp32", "bf16", "fp16", "int8")


def is_installed(engine: str) -> bool:
    """Return whether the packages of an engine are installed."""
    if engine == "openvino":
        return _has("openvino") and _has("onnx")
    return _has("onnxruntime") and _has("onnx") if engine == "onnx" else _has("torch")


def same_engine(made_by: Mapping[str, Any], *, engine: str, precision: str, device: str | None) -> tuple[str, str]:
    """Return the engine and the precision for new texts of a run: those given, else the engine that embedded the texts of the run.

    That engine is left to the usual choice where it is not installed, or does not have the device or the precision that is given.
    Only int8 is kept as a precision: any other is that of the machine, and close to fp32.

    Args:
        made_by: what footers say of an encoder. engine, precision, device: as given, "auto" and None where they are not.
    """
    int8 = made_by.get("precision") == "int8"
    before = (
        "torch" if int8 else str(made_by.get("engine", "torch"))
    )  # int8 was of onnx; without a name there was torch alone
    if engine != "auto" or before not in PRECISIONS_OF or not is_installed(before):
        return engine, precision
    if (int8 or before in GRAPHS) and device not in (None, "cpu"):
        return engine, precision
    if precision == "auto" and int8:
        precision = "int8"
    return (before, precision) if precision in ("auto", *PRECISIONS_OF[before]) else (engine, precision)


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None

"""Arrays in the format of safetensors, written and read without a library: 8 bytes of the length of a JSON head, the head, the bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_DTYPES = {"float64": "F64", "float32": "F32", "int64": "I64", "int32": "I32"}


def write_safetensors(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Write arrays of float64, float32, int64 or int32."""
    head: dict[str, Any] = {}
    offset = 0
    for name, array in tensors.items():
        head[name] = {
            "dtype": _DTYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file that `write_safetensors` wrote. Raises ValueError or KeyError where it is none."""
    content = path.read_bytes()
    if len(content) < 8:
        raise ValueError(f"{path.name} is too short")
    (length,) = struct.unpack("<Q", content[:8])
    head, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    names = {code: name for name, code in _DTYPES.items()}
    arrays = {}
    for name, entry in head.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[begin:end], names[entry["dtype"]]).reshape(entry["shape"])
    return arrays

"""The provenance of results: inputs, dropped rows and earlier commands, and what the run cost in time and memory.

Parts, in this order:
- Where documents come from: the inputs that were read, the rows that were dropped, what earlier commands did.
- What a run costs and by what it was made, as its manifest has it: peak memory, versions of packages, seconds of each stage.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, Self

from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.inputs import DroppedRow, InputInfo
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.footers import steps_of


class HasProvenance(Protocol):
    """Documents, or what was made from them, that know where they come from."""

    @property
    def inputs(self) -> Sequence[InputInfo]:
        """What was read."""

    @property
    def dropped(self) -> Sequence[DroppedRow]:
        """Rows that could not be used."""

    @property
    def steps(self) -> Sequence[dict[str, Any]]:
        """What earlier commands did to the documents."""


@dataclass(slots=True)
class Provenance:
    """Where documents come from: the inputs, the rows that could not be used, the blocks of the footers."""

    inputs: list[InputInfo] = field(default_factory=list)
    dropped: list[DroppedRow] = field(default_factory=list)
    blocks: list[dict[str, Any] | None] = field(default_factory=list)

    @classmethod
    def of_streams(cls, streams: Sequence[DocumentStream]) -> Self:
        """Return the provenance of streams that were read to their end."""
        return cls(
            [i for s in streams for i in s.inputs],
            [d for s in streams for d in s.dropped],
            [b for s in streams for b in s.blocks],
        )

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What earlier commands did to the documents."""
        return steps_of(self.blocks)


def source_block(
    kind: str, source: HasProvenance, *, command: str, parameters: Mapping[str, Any], seed: int | None = None
) -> dict[str, Any]:
    """Return the footer block of what a command made from documents."""
    return footer_block(
        kind, command=command, parameters=dict(parameters), seed=seed, inputs=source.inputs, steps=source.steps
    )


# ------------------------------------------------------------------------------------------------------------------------
# What a run costs and by what it was made, as its manifest has it: peak memory, versions of packages, seconds of each stage.


# packages on which numbers of a run may depend, by the name of their module
_PACKAGES = {
    "numpy": "numpy", "scipy": "scipy", "numba": "numba", "sklearn": "scikit-learn", "pyarrow": "pyarrow", "torch": "torch",
    "transformers": "transformers", "tokenizers": "tokenizers", "sentence_transformers": "sentence-transformers", "peft": "peft",
    "onnxruntime": "onnxruntime", "openvino": "openvino", "hdbscan": "hdbscan", "spacy": "spacy", "simplemma": "simplemma",
    "snowballstemmer": "snowballstemmer", "stopwordsiso": "stopwordsiso", "jieba": "jieba", "fugashi": "fugashi",
    "pythainlp": "pythainlp", "umap": "umap-learn", "pynndescent": "pynndescent",
}  # fmt: skip


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that this process has loaded of those that numbers may depend on."""
    versions = {"python": platform.python_version()}
    for module, package in _PACKAGES.items():
        if module in sys.modules:
            try:
                versions[package] = version(package)
            except PackageNotFoundError:  # loaded from a folder that nothing installed
                versions[package] = str(getattr(sys.modules[module], "__version__", "unknown"))
    return versions


def peak_memory_mb() -> int:
    """Return the peak resident memory of this process in MB, 0 on Windows, where it is not measured."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss starts with what the process that started this one had
        return round(int(status.read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) / 1024)
    try:
        resource: Any = import_module("resource")
    except ImportError:  # Windows has none
        return 0
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024))


@contextmanager
def stopwatch(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the wall seconds of a block to seconds[stage]."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start

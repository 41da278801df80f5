"""What is known of inputs that were read: their files, the rows that were dropped, and where the batches of their documents begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

OPENING_TEXTS = 300  # from which the language of a corpus is detected


@dataclass(frozen=True, slots=True)
class InputInfo:
    """One input as the manifest lists it: `rows` read (those dropped too), `sha256` of the bytes as stored.

    `reading`: options of reading that were not the defaults, so that the same documents can be read again. `dialect`: how the rows of a
    delimited file were told apart.
    """

    path: str
    rows: int
    sha256: str
    encoding: str | None
    reading: Mapping[str, Any] = field(default_factory=dict, hash=False)
    dialect: str = ""

    def listed(self) -> dict[str, Any]:
        """Return the entry of the manifest."""
        entry = {"path": self.path, "rows": self.rows, "sha256": self.sha256, "encoding": self.encoding}
        if self.dialect:
            entry["dialect"] = self.dialect
        return {**entry, "reading": dict(self.reading)} if self.reading else entry


@dataclass(frozen=True, slots=True)
class DroppedRow:
    """A row that is not yielded, and why."""

    id: str
    stage: str
    reason: str


class Origin(Protocol):
    """What a step made documents of."""

    @property
    def where(self) -> str:
        """Name of the inputs in messages."""

    @property
    def inputs(self) -> Sequence[InputInfo]:
        """What was read."""


class ReadStream(Protocol):
    """A stream of documents, as a scan reads it."""

    inputs: list[InputInfo]
    kept: list[int]
    dropped: list[DroppedRow]
    starts: list[tuple[int, int]] | None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the documents."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What is known of the documents of all inputs when they have been read once, which shares of them need.

    dropped_before (B,): how many rows had been dropped when batch b came. opening: the first batches, which have the texts by which
    languages are detected. starts (B,): the input, and the row of it, with which each batch begins; None where batches can only be
    reached by reading those before.
    """

    inputs: tuple[InputInfo, ...]
    kept: tuple[int, ...]
    dropped: tuple[DroppedRow, ...]
    dropped_before: tuple[int, ...]
    opening: tuple[pa.RecordBatch, ...]
    starts: tuple[tuple[int, int], ...] | None

    @classmethod
    def of_stream(cls, stream: ReadStream) -> Scan:
        """Return what a stream tells that is read to its end here."""
        dropped_before: list[int] = []
        opening: list[pa.RecordBatch] = []
        n_texts = 0
        for batch in stream:
            dropped_before.append(len(stream.dropped))
            if n_texts < OPENING_TEXTS:
                opening.append(batch)
                n_texts += pc.sum(pc.not_equal(batch.column("text"), "")).as_py() or 0
        return cls(
            tuple(stream.inputs), tuple(stream.kept), tuple(stream.dropped), tuple(dropped_before), tuple(opening),
            None if stream.starts is None else tuple(stream.starts),
        )  # fmt: skip

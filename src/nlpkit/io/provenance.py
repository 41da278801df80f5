"""Where documents come from: the inputs that were read, the rows that were dropped, what earlier commands did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from nlpkit.io.artifacts import footer_block
from nlpkit.io.corpora import DocumentStream, DroppedRow, InputInfo
from nlpkit.io.footers import steps_of


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

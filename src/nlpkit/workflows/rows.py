"""Rows before texts are cut: duplicates go, sentences or chunks become rows of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from nlpkit.io.corpora import DocumentStream, DroppedRow, InputInfo
    from nlpkit.text.rows import RowPlan


class Rows:
    """The documents of a stream as the plan leaves them; stands in for the stream.

    `dropped` lists the rows that went, with those that could not be read. `counts`: how many went at each stage.
    """

    def __init__(self, stream: DocumentStream, plan: RowPlan, language: str | None) -> None:
        from nlpkit.text.units import unit_schema

        self.schema: pa.Schema = stream.schema if plan.unit is None else unit_schema(stream.schema)
        self.blocks: list[dict[str, Any] | None] = stream.blocks
        self.counts: Counter[str] = Counter()
        self._stream, self._plan, self._language = stream, plan, language
        self._gone: list[DroppedRow] = []

    @property
    def where(self) -> str:
        """Name of the inputs in messages."""
        return self._stream.where

    @property
    def spool_directory(self) -> Path | None:
        """Directory for a copy that is read a second time."""
        return self._stream.spool_directory

    @property
    def inputs(self) -> Sequence[InputInfo]:
        """What was read."""
        return self._stream.inputs

    @property
    def dropped(self) -> list[DroppedRow]:
        """Rows that could not be read, then those that went here, in order."""
        return [*self._stream.dropped, *self._gone]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        from nlpkit.text.duplicates import Duplicates
        from nlpkit.text.units import unit_batch

        plan = self._plan
        seen = None if plan.dedupe is None else Duplicates(plan.dedupe)
        for batch in self._stream:
            kept = batch
            if seen is not None:
                kept = self._unique(kept, seen)
            if plan.unit is not None:
                kept = unit_batch(kept, plan.unit, self._language)
            if kept.num_rows:
                yield kept

    def _unique(self, batch: pa.RecordBatch, seen: Any) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        from nlpkit.io.corpora import DroppedRow

        exact = seen.spec.threshold is None
        kept = np.ones(batch.num_rows, bool)
        ids = batch.column("id")
        for row, twin, similarity in seen.check(ids, batch.column("text")):
            kept[row] = False
            relation = "same text as" if exact else f"{similarity:.2f} similar to"
            self._gone.append(DroppedRow(ids[row].as_py(), "dedupe", f"{relation} {twin}"))
            self.counts["dedupe"] += 1
        return batch if kept.all() else batch.filter(pa.array(kept))

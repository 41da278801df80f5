"""Row options of preprocessing, and the plan derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from nlpkit.parameters import Param, options

if TYPE_CHECKING:
    from nlpkit.text.duplicates import DuplicateSpec
    from nlpkit.text.units import Unit


@options
class RowOptions:
    """Options that divide documents into rows and leave repeated ones out."""

    PANEL: ClassVar[str] = "Rows"

    dedupe: Annotated[
        str | None,
        Param(
            "Keep one document of each set of duplicates: exact (same text), or near:0.9 (90 % of the word triples "
            "in common). The first is kept.",
            metavar="HOW",
        ),
    ] = None
    unit: Annotated[
        str,
        Param(
            "Make one row per document, paragraph, sentence or chunk:200 (words). The column parent_id links "
            "each row to its document."
        ),
    ] = "document"

    def plan(self) -> RowPlan:
        """Return the plan of these options.

        Raises:
            UsageError: a name cannot be read.
        """
        from nlpkit.text.duplicates import parse_duplicates
        from nlpkit.text.units import parse_unit

        unit = parse_unit(self.unit)
        return RowPlan(
            None if self.dedupe is None else parse_duplicates(self.dedupe),
            None if unit.kind == "document" else unit,
        )


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The treatment of rows, in the order of the fields."""

    dedupe: DuplicateSpec | None = None
    unit: Unit | None = None

    def parameters(self) -> dict[str, Any]:
        """Return the settings that the footer of the output records."""
        return {
            "dedupe": None if self.dedupe is None else str(self.dedupe),
            "unit": "document" if self.unit is None else str(self.unit),
        }

"""Row options of preprocessing, and the plan derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from nlpkit.parameters import Param

if TYPE_CHECKING:
    from nlpkit.text.duplicates import DuplicateSpec
    from nlpkit.text.filters import Filter
    from nlpkit.text.units import Unit


@dataclass(frozen=True, slots=True)
class RowOptions:
    """Options that select and split rows."""

    PANEL: ClassVar[str] = "Rows"

    where: Annotated[
        str | None,
        Param("Keep only documents whose text matches a regular expression (Python's re).", metavar="REGEX"),
    ] = None
    keep_if: Annotated[
        str | None,
        Param(
            "Keep only rows with, say, \"label == 'pos' and rating >= 7\"; there are also in, contains, matches, is null, not, or.",
            metavar="CONDITION",
        ),
    ] = None
    dedupe: Annotated[
        str | None,
        Param(
            "Keep the first of documents with the same text: exact, or near:0.9 = alike in 90 % of their word triples.",
            metavar="HOW",
        ),
    ] = None
    unit: Annotated[
        str,
        Param("Make a row of each document, paragraph, sentence or chunk:200 (words); parent_id names its document."),
    ] = "document"

    def plan(self) -> RowPlan:
        """Return the plan of these options.

        Raises:
            UsageError: a pattern, a condition or a name cannot be read.
        """
        from nlpkit.text.duplicates import parse_duplicates
        from nlpkit.text.filters import parse_filter
        from nlpkit.text.regex import compile_regex
        from nlpkit.text.units import parse_unit

        if self.where is not None:
            compile_regex(self.where)  # a bad pattern is reported before anything is read
        unit = parse_unit(self.unit)
        return RowPlan(
            self.where,
            None if self.keep_if is None else parse_filter(self.keep_if),
            self.keep_if,
            None if self.dedupe is None else parse_duplicates(self.dedupe),
            None if unit.kind == "document" else unit,
        )


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The treatment of rows, in the order of the fields."""

    where: str | None = None
    keep_if: Filter | None = None
    condition: str | None = None
    dedupe: DuplicateSpec | None = None
    unit: Unit | None = None

    def parameters(self) -> dict[str, Any]:
        """Return the settings that the footer of the output records."""
        return {
            "where": self.where,
            "keep_if": self.condition,
            "dedupe": None if self.dedupe is None else str(self.dedupe),
            "unit": "document" if self.unit is None else str(self.unit),
        }

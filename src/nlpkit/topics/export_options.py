"""Options of the export of a run, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from nlpkit.errors import unknown_value
from nlpkit.parameters import Param

FORMS = ("xlsx", "csv", "json", "gexf", "bertopic", "pyldavis", "r")
FOLDERS = ("csv", "bertopic", "r")


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of the export of a run.

    Raises:
        UsageError: an unknown form.
    """

    PANEL: ClassVar[str] = "Export"

    to: Annotated[
        str | None,
        Param(
            "Form: xlsx (a workbook), csv (a folder of tables), json, gexf (a network for Gephi), bertopic (a folder for "
            "BERTopic.load), pyldavis or r (a folder of tables and a script); default: that of the suffix of -o.",
            metavar="FORM",
        ),
    ] = None
    terms: Annotated[int, Param("Number of words of each topic; of gexf those that are nodes.", metavar="N", min=1)] = (
        30
    )
    texts: Annotated[
        bool, Param("Also write the texts of the documents, which are read from the corpus of the run.")
    ] = False
    similarity: Annotated[
        float,
        Param("Least cosine of the words of two topics that gexf joins by an edge.", min=0, max=1),
    ] = 0.1

    def __post_init__(self) -> None:
        """Check the form."""
        if self.to is not None and self.to not in FORMS:
            raise unknown_value("to", self.to, FORMS)

"""Options of the export of a run, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.parameters import Param, options

FORMS = ("xlsx", "csv", "json", "gexf", "bertopic", "pyldavis", "r")
FOLDERS = ("csv", "bertopic", "r")


@options
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
            choices=FORMS,
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

"""The options of `nlpkit export` and `nlpkit convert`, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from nlpkit.platform.options import READ, Param, options

FORMS = ("xlsx", "csv", "json", "gexf", "bertopic", "pyldavis", "r", "codebook")
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
            "Format: xlsx (workbook), csv (folder of tables), json, gexf (network for Gephi), bertopic (folder for "
            "BERTopic.load), pyldavis, r (folder of tables and a script), or codebook (CSV). Default: from the file name.",
            metavar="FORM",
            choices=FORMS,
        ),
    ] = None
    terms: Annotated[int, Param("Number of words per topic. For gexf: words used as nodes.", metavar="N", min=1)] = 30
    texts: Annotated[bool, Param("Also write the texts of the documents, read from the corpus of the run.")] = False
    similarity: Annotated[
        float,
        Param("For gexf: minimum cosine between the words of two topics to connect them.", min=0, max=1),
    ] = 0.1


# ------------------------------------------------------------------------------------------------------------------------
# How topic models are converted: what they become, and how a file of topics is read.

TARGETS = ("auto", "run", "mallet", "pyldavis", "octis", "lines", "table", "newick")


@options
class ConvertOptions:
    """What a topic model becomes, and how a file of topics is read."""

    PANEL: ClassVar[str] = "Conversion"

    to: Annotated[str, Param(f"Output format: {', '.join(TARGETS)}; auto: from the file name.")] = "auto"
    source_format: Annotated[
        str, Param("Format of a topic file: auto, lines, json, mallet (topic keys), csv, tsv or parquet.")
    ] = "auto"
    documents: Annotated[
        Path | Any | None,
        Param("For a model saved by BERTopic: the documents of its fit, in their order. The run then holds all that `edit` needs.",
              metavar="FILE"),
        READ,
    ] = None  # fmt: skip
    encoder: Annotated[
        str | None,
        Param(
            "For a model saved by BERTopic: its embedding model. Default: the one that the model names.",
            metavar="MODEL",
        ),
    ] = None

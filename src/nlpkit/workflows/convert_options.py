"""How topic models are converted: what they become, and how a file of topics is read."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.parameters import Param, options

TARGETS = ("auto", "run", "mallet", "pyldavis", "octis", "lines", "table", "newick")


@options
class ConvertOptions:
    """What a topic model becomes, and how a file of topics is read."""

    PANEL: ClassVar[str] = "Conversion"

    to: Annotated[str, Param(f"Output format: {', '.join(TARGETS)}; auto: from the file name.")] = "auto"
    source_format: Annotated[
        str, Param("Format of a topic file: auto, lines, json, mallet (topic keys), csv, tsv or parquet.")
    ] = "auto"
    encoding: Annotated[str | None, Param("Encoding of a topic file. Default: detected.")] = None

"""How topic models are converted: what they become, and how a file of topics is read."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.parameters import Param, options

TARGETS = ("auto", "run", "mallet", "pyldavis", "octis", "lines", "table", "newick")


@options
class ConvertOptions:
    """What a topic model becomes, and how a file of topics is read."""

    PANEL: ClassVar[str] = "Conversion"

    to: Annotated[str, Param(f"Form of the output: {', '.join(TARGETS)}; auto: by its name.")] = "auto"
    source_format: Annotated[
        str, Param("Format of a file of topics: auto, lines, json, mallet (topic keys), csv, tsv or parquet.")
    ] = "auto"
    encoding: Annotated[str | None, Param("Encoding of a file of topics; default: detected.")] = None

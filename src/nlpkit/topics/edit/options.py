"""Options of editing the topics of a run, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from nlpkit.platform.options import READ, Param, options


@options
class EditOptions:
    """Options of an edit: what happens to edits that do not apply, and where the documents of the fit are."""

    PANEL: ClassVar[str] = "Edit"

    strict: Annotated[bool, Param("Refuse edits that do not apply to the run, instead of skipping them.")] = False
    documents: Annotated[
        Path | Any | None,
        Param("Documents of the fit, if the run cannot find them (they were moved or came from stdin).", metavar="FILE"),
        READ,
    ] = None  # fmt: skip

"""Options of questions about word vectors, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.parameters import Param, options


@options
class VectorOptions:
    """Which words of the vectors take part, and how words are looked up."""

    PANEL: ClassVar[str] = "Vectors"

    most_frequent: Annotated[
        int | None,
        Param("Look among the N most frequent words; of files without counts, the first N; default: all.", min=1),
    ] = None
    lower: Annotated[
        bool, Param("Take a word in small letters where it is not there in its own; compare without regard to case.")
    ] = True

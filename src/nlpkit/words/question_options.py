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
        Param("Search only the N most frequent words (in files without counts, the first N). Default: all.", min=1),
    ] = None
    lower: Annotated[bool, Param("Use the lowercase form if a word is missing, and ignore case in comparisons.")] = True

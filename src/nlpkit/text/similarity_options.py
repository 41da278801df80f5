"""Options of word similarity, as plain data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from nlpkit.errors import UsageError
from nlpkit.parameters import READ, Param, options


@options
class SimilarityOptions:
    """Options of word similarity: the measure, and the words among which the nearest are searched."""

    PANEL: ClassVar[str] = "Comparison"

    within: Annotated[
        str | None,
        Param(
            "Find the most similar words in a corpus, a run directory, a Parquet file with a column 'term', or a "
            ".txt file with one word per line.",
            ("in",),
            metavar="CORPUS|VOCAB",
        ),
        READ,
    ] = None
    measure: Annotated[
        str | None,
        Param(
            "Similarity measure for `within`: jaccard (default), dice, overlap, cosine, levenshtein or "
            "levenshtein-normalized.",
            metavar="NAME",
        ),
    ] = None
    top: Annotated[
        int | None, Param("Number of words to find with `within`. Default: 10.", ("top", "top_n"), metavar="N", min=1)
    ] = None
    n: Annotated[int, Param("Number of characters of an n-gram.", min=1)] = 3
    pad: Annotated[bool, Param("Let n-grams extend over the ends of words.", off="no_pad")] = False
    lower: Annotated[bool, Param("Compare in lower case.")] = True
    min_df: Annotated[str | int, Param("For `within`: minimum number of documents that contain a word.")] = "1"

    def parameters(self) -> dict[str, Any]:
        """Return the options as a footer records them."""
        return {"n": self.n, "padded": self.pad, "lower": self.lower}

    def least_documents(self) -> int:
        """Return the number in min_df. Raises UsageError when it is none."""
        text = str(self.min_df)
        if not text.isdecimal():
            raise UsageError(f"`min_df` takes a number of documents here, got '{text}'", parameter="min_df")
        return int(text)

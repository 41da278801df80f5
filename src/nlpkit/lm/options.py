"""The options of an n-gram language model."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.options import Param, options

COUNTED = ("add-k", "mle")  # probabilities come from the counts alone
SMOOTHING = ("kneser-ney", "witten-bell", "backoff", *COUNTED)
UNITS = ("sentence", "paragraph", "document")
LAPLACE = 1.0


@options
class NgramModelOptions:
    """What a language model counts and how it smooths.

    Raises:
        UsageError: a value that is not known, or one that the smoothing does not use.
    """

    PANEL: ClassVar[str] = "Model"

    order: Annotated[
        int,
        Param("Length of the longest n-grams in words. A word is predicted from the order - 1 words before it.", min=1),
    ] = 3
    smoothing: Annotated[
        str,
        Param(
            "Smoothing: kneser-ney (modified, interpolated), witten-bell, backoff (absolute discounting; shorter "
            "n-grams only for unseen ones), add-k (full order), or mle (none; unseen n-grams have probability 0).",
            choices=SMOOTHING,
        ),
    ] = "kneser-ney"
    add: Annotated[
        float | None,
        Param(
            "add-k: number added to each count. Default: 1 (Laplace).", metavar="K", min=0, needs=("smoothing=add-k",)
        ),
    ] = None
    discount: Annotated[
        float | None,
        Param(
            "kneser-ney, backoff: one discount for all counts. Default: estimated from the counts of counts.",
            metavar="NUMBER",
            min=0,
            max=1,
            needs=("smoothing=kneser-ney", "smoothing=backoff"),
        ),
    ] = None
    min_count: Annotated[int, Param("Treat words with fewer occurrences as unknown (<unk>).", metavar="N", min=1)] = 1
    closed: Annotated[
        bool,
        Param(
            "Closed vocabulary: unknown words get no probability and are left out of the perplexity.",
            excludes=("min_count",),
        ),
    ] = False
    unit: Annotated[
        str, Param("Unit that starts with <s> and ends with </s>: sentence, paragraph or document.", choices=UNITS)
    ] = "sentence"

    def added(self) -> float:
        """Return what is added to each count where counts are all there is: k, or 0 for mle."""
        if self.smoothing == "mle":
            return 0.0
        return LAPLACE if self.add is None else self.add

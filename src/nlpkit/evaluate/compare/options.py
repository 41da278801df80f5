"""Options of comparing topic models, as plain data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from nlpkit.platform.options import Param, options
from nlpkit.topics.robust.options import WITH_K, WITHOUT_K, GridNumbers, GridSeeds, fits_of, listed_numbers, model_names

METRICS = ("npmi", "diversity", "exclusivity")
LABELLED = ("ami", "purity")


@options
class CompareOptions:
    """Which models are fitted, how often, and what they are scored by."""

    PANEL: ClassVar[str] = "Comparison"

    models: Annotated[
        str | tuple[str, ...],
        Param(
            f"Models to compare: {WITH_K}. {WITHOUT_K} choose the number of topics themselves.",
            metavar="NAME,…",
        ),
    ] = "lda,nmf,plsa,bertopic"
    k: GridNumbers = "10:50:10"
    seeds: GridSeeds = 3
    metrics: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Scores, as in `evaluate()`. Default: npmi, diversity, exclusivity, perplexity if it is defined, "
            "and ami and purity if there are labels.",
            metavar="NAME,…",
        ),
    ] = None
    held_out: Annotated[
        float,
        Param(
            "Share of the documents held out from each fit, different for each seed, to compute perplexity. 0 = none.",
            min=0.0,
            max=0.5,
        ),
    ] = 0.1
    resume: Annotated[
        bool, Param("Keep the fits that exist and add the missing ones. You may add models, numbers and seeds.")
    ] = False

    def __post_init__(self) -> None:
        """Raise UsageError for values that are not known."""
        self.names()
        self.numbers()

    def names(self) -> tuple[str, ...]:
        """Return the commands that fit the models. Raises UsageError."""
        return model_names(self.models)

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of topics, ascending. Raises UsageError."""
        return listed_numbers(self.k, "a comparison")

    def fits(self, seed: int) -> list[tuple[str, int | None, int]]:
        """Return the model, number of topics and seed of each fit; no number for a model that finds it."""
        return fits_of(self.names(), self.numbers(), self.seeds, seed)

    @property
    def folds(self) -> int:
        """Parts into which the documents are dealt, of which each fit leaves one out."""
        return max(2, round(1 / self.held_out)) if self.held_out else 1

    def scores(self) -> tuple[str, ...] | None:
        """Return the names of the scores that were asked for, None for the usual ones."""
        return tuple(self.metrics.split(",")) if isinstance(self.metrics, str) else self.metrics

    def identity(self) -> dict[str, Any]:
        """Return what fits that are there must have been made with."""
        return {"held_out": self.held_out}

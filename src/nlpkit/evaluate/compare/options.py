"""Options of comparing topic models, as plain data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from nlpkit.errors import UsageError, unknown_value
from nlpkit.platform.options import Param, names_in, options
from nlpkit.topics.robust.options import WITH_K, WITHOUT_K, GridSeeds, fits_of, listed_numbers, model_names

METRICS = ("npmi", "diversity", "exclusivity")
LABELLED = ("ami", "purity")
STEPS = ("punctuation", "numbers", "lowercase", "stem", "stop-words", "infrequent", "ngrams")
LLM_RATING = "llm_rating"  # mean rating of the topics by a language model, 1 to 3


@options
class CompareOptions:
    """Which models are fitted, how often, and what they are scored by."""

    PANEL: ClassVar[str] = "Comparison"

    models: Annotated[
        str | tuple[str, ...] | None,
        Param(
            f"Models to compare: {WITH_K}. {WITHOUT_K} choose the number of topics themselves. Default: "
            "lda,nmf,plsa,bertopic; with `preprocessing`, nmf.",
            metavar="NAME,…",
        ),
    ] = None
    k: Annotated[
        str | int | None,
        Param(
            "Numbers of topics: N, N,N,… or lo:hi:step. Default: 10:50:10; with `preprocessing`, 10.",
            ("k", "num_topics"),
            metavar="NUMBERS",
        ),
    ] = None
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

    preprocessing: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Compare combinations of preprocessing steps (preText) instead of models: all, or at least three of "
            f"{', '.join(STEPS)}.",
            metavar="STEP,…",
            excludes=("seeds", "metrics", "held_out", "resume"),
            panel="Preprocessing",
        ),
    ] = None
    pairs: Annotated[
        int,
        Param(
            "Number of document pairs of each combination that the preText score uses.",
            min=1,
            needs=("preprocessing",),
            panel="Preprocessing",
        ),
    ] = 50

    def __post_init__(self) -> None:
        """Raise UsageError for values that are not known."""
        self.names()
        self.numbers()
        if self.preprocessing is not None:
            self.steps()

    def steps(self) -> tuple[str, ...]:
        """Return the steps of preprocessing that are compared, in their order. Raises UsageError."""
        named = names_in(self.preprocessing)
        for name in named:
            if name not in (*STEPS, "all"):
                raise unknown_value("preprocessing", name, ("all", *STEPS))
        steps = STEPS if "all" in named else tuple(step for step in STEPS if step in named)
        if len(steps) < 3:
            raise UsageError(
                f"`preprocessing={','.join(named)}`: ranks are compared between combinations of at least 3 steps",
                parameter="preprocessing",
            )
        return steps

    def names(self) -> tuple[str, ...]:
        """Return the commands that fit the models. Raises UsageError."""
        usual = "lda,nmf,plsa,bertopic" if self.preprocessing is None else "nmf"
        return model_names(usual if self.models is None else self.models)

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of topics, ascending. Raises UsageError."""
        usual = "10:50:10" if self.preprocessing is None else 10
        return listed_numbers(usual if self.k is None else self.k, "a comparison")

    def fits(self, seed: int) -> list[tuple[str, int | None, int]]:
        """Return the model, number of topics and seed of each fit; no number for a model that finds it."""
        return fits_of(self.names(), self.numbers(), 1 if self.preprocessing is not None else self.seeds, seed)

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

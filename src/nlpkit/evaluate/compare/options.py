"""Options of comparing topic models, as plain data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from nlpkit.cluster.options import NumberOfTopics
from nlpkit.errors import UsageError, unknown_value
from nlpkit.platform.models import MODELS
from nlpkit.platform.options import Param, options

COMPARED = {kind: model for kind, model in MODELS.items() if model.compared is not None}
ALIASES = {model.short: kind for kind, model in COMPARED.items() if model.short}
_WITH_K = ", ".join(
    f"{m.short or m.kind}{f' ({m.compared})' if m.compared else ''}" for m in COMPARED.values() if not m.finds_number
)
_WITHOUT_K = " and ".join(kind for kind, model in COMPARED.items() if model.finds_number)
METRICS = ("npmi", "diversity", "exclusivity")
LABELLED = ("ami", "purity")
STEPS = 5  # numbers of topics of a range without steps


@options
class CompareOptions:
    """Which models are fitted, how often, and what they are scored by."""

    PANEL: ClassVar[str] = "Comparison"

    models: Annotated[
        str | tuple[str, ...],
        Param(
            f"Models to compare: {_WITH_K}. {_WITHOUT_K} choose the number of topics themselves.",
            metavar="NAME,…",
        ),
    ] = "lda,nmf,plsa,bertopic"
    k: Annotated[
        str | int, Param("Numbers of topics: N, N,N,… or lo:hi:step.", ("k", "num_topics"), metavar="NUMBERS")
    ] = "10:50:10"
    seeds: Annotated[
        int, Param("Number of fits (with different seeds) for each model and number of topics.", min=1)
    ] = 3
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
        listed = self.models.split(",") if isinstance(self.models, str) else self.models
        names = tuple(dict.fromkeys(ALIASES.get(name.strip(), name.strip()) for name in listed))
        for name in names:
            if name not in COMPARED:
                raise unknown_value("models", name, (*ALIASES, *COMPARED))
        return names

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of topics, ascending. Raises UsageError."""
        text = str(self.k)
        if all(part.strip().isdecimal() for part in text.split(",")):
            numbers = sorted({int(part) for part in text.split(",")})
        else:
            within = NumberOfTopics.parse(text).within
            if within.high is None:
                raise UsageError("`k=auto`: a comparison needs numbers of topics, such as 10:50:10", parameter="k")
            step = within.step or max((within.high - within.low) // (STEPS - 1), 1)
            numbers = list(range(within.low, within.high + 1, step))
        if numbers[0] < 2:
            raise UsageError(f"`k={text}`: a comparison needs models of 2 topics or more", parameter="k")
        return tuple(numbers)

    def fits(self, seed: int) -> list[tuple[str, int | None, int]]:
        """Return the model, number of topics and seed of each fit; no number for a model that finds it."""
        return [
            (name, k, seed + n)
            for name in self.names()
            for k in ((None,) if COMPARED[name].finds_number else self.numbers())
            for n in range(self.seeds)
        ]

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

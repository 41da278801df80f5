"""Options of robust topics and of grids of fits, as plain data."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, TypeAlias

from nlpkit.cluster.options import NumberOfTopics
from nlpkit.errors import UsageError, unknown_value
from nlpkit.platform.models import MODELS
from nlpkit.platform.options import Execution, Param, options

COMPARED = {kind: model for kind, model in MODELS.items() if model.compared is not None}
ALIASES = {model.short: kind for kind, model in COMPARED.items() if model.short}
WITH_K = ", ".join(
    f"{m.short or m.kind}{f' ({m.compared})' if m.compared else ''}" for m in COMPARED.values() if not m.finds_number
)
WITHOUT_K = " and ".join(kind for kind, model in COMPARED.items() if model.finds_number)
GridNumbers: TypeAlias = Annotated[
    str | int, Param("Numbers of topics: N, N,N,… or lo:hi:step.", ("k", "num_topics"), metavar="NUMBERS")
]
GridSeeds: TypeAlias = Annotated[
    int, Param("Number of fits (with different seeds) for each model and number of topics.", min=1)
]
STEPS = 5  # numbers of topics of a range without steps


def model_names(models: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the commands that fit some models. Raises UsageError for one that is not known."""
    listed = models.split(",") if isinstance(models, str) else models
    names = tuple(dict.fromkeys(ALIASES.get(name.strip(), name.strip()) for name in listed))
    for name in names:
        if name not in COMPARED:
            raise unknown_value("models", name, (*ALIASES, *COMPARED))
    return names


def listed_numbers(k: str | int, what: str) -> tuple[int, ...]:
    """Return numbers of topics, ascending. Raises UsageError; what: that needs them, such as "a comparison"."""
    text = str(k)
    if all(part.strip().isdecimal() for part in text.split(",")):
        numbers = sorted({int(part) for part in text.split(",")})
    else:
        within = NumberOfTopics.parse(text).within
        if within.high is None:
            raise UsageError(f"`k=auto`: {what} needs numbers of topics, such as 10:50:10", parameter="k")
        step = within.step or max((within.high - within.low) // (STEPS - 1), 1)
        numbers = list(range(within.low, within.high + 1, step))
    if numbers[0] < 2:
        raise UsageError(f"`k={text}`: {what} needs models of 2 topics or more", parameter="k")
    return tuple(numbers)


def fits_of(
    names: tuple[str, ...], numbers: tuple[int, ...], seeds: int, seed: int
) -> list[tuple[str, int | None, int]]:
    """Return the model, number of topics and seed of each fit of a grid; no number for a model that finds it."""
    return [
        (name, k, seed + n)
        for name in names
        for k in ((None,) if COMPARED[name].finds_number else numbers)
        for n in range(seeds)
    ]


GridShard: TypeAlias = Annotated[
    str | None,
    Param(
        "Make part I of N of the fits, such as 2/8, and nothing else. The parts share a directory; the last call is the same "
        "command with `resume` instead.",
        metavar="I/N",
        panel="Several machines",
    ),
]


@options
class GridOptions:
    """Where the fits of a grid are made; the result does not depend on it.

    A script calls the function below `if __name__ == "__main__":`, because each process reads it first.
    """

    PANEL: ClassVar[str] = "Several machines"

    workers: Annotated[
        int | None,
        Param("Number of processes that share the fits. Default: one fit after the other.", metavar="N", min=1),
    ] = None
    ray: Annotated[
        str | None,
        Param(
            "Ray cluster for these processes (extra 'ray'): local, auto (the running cluster), or ray://HOST:PORT.",
            metavar="ADDRESS",
        ),
    ] = None

    @property
    def divided(self) -> bool:
        """Whether other processes make the fits."""
        return self.workers is not None or self.ray is not None

    def of_each(self, execution: Execution) -> Execution:
        """Return how a worker computes: with the threads that were asked for, else with its part of the cores of this machine."""
        if not self.divided or execution.threads:
            return execution
        return replace(execution, threads=1 if self.ray else max(1, execution.n_threads() // (self.workers or 1)))


# ------------------------------------------------------------------------------------------------------------------------
# The options of robust topics.

OF_FITS = ("models", "k", "seeds", "leave_out", "by", "resume")  # that runs which are there have no use for


@options
class RobustOptions:
    """Which models are fitted, and when a topic is robust.

    Raises:
        UsageError: a value is out of its range, or there is one fit alone.
    """

    PANEL: ClassVar[str] = "Robust topics"

    models: Annotated[
        str | tuple[str, ...],
        Param(
            f"Models to fit: {WITH_K}. {WITHOUT_K} choose the number of topics themselves.",
            metavar="NAME,…",
        ),
    ] = "lda"
    k: GridNumbers = "10:50:10"
    seeds: GridSeeds = 3
    leave_out: Annotated[
        float,
        Param(
            "Share of the documents that each fit but the first of a number of topics leaves out, different for each seed. 0 = none.",
            min=0.0,
            max=0.5,
        ),
    ] = 0.1
    by: Annotated[
        str | None,
        Param("Column of segments: fit each value separately, and match the topics of the segments.", metavar="COLUMN"),
    ] = None
    match: Annotated[
        str,
        Param("Compare topics by words, by documents, or by the mean of both.", choices=("both", "words", "documents")),
    ] = "both"
    threshold: Annotated[
        str | float,
        Param(
            "Mean similarity (0 to 1) from which topics are the same, or auto: 90 % of the topics have no topic in their own run that "
            "is as similar (from 0.3 to 0.5).",
            metavar="auto|NUMBER",
        ),
    ] = "auto"
    min_runs: Annotated[
        float, Param("Share of the runs in which a robust topic comes back, at least two.", above=0.0, max=1.0)
    ] = 0.5
    shares_by: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Columns, such as party, for whose values the shares of the topics are listed. Default: label, if there is one.",
            metavar="COLUMN,…",
        ),
    ] = None
    resume: Annotated[
        bool,
        Param("Keep the fits that exist and add the missing ones. You may add models, numbers and seeds.", log=False),
    ] = False

    def __post_init__(self) -> None:
        """Raise UsageError for values that are not known, or one fit alone."""
        if len(self.fits(0)) < 2 and self.by is None:
            raise UsageError(
                "robust topics need at least 2 fits; use a range of `k` or more `seeds`", parameter="seeds"
            )
        self.least_similarity()
        if self.by is not None and self.match == "documents":
            raise UsageError(
                "`match=documents` does not go with `by`: segments have no document in common", parameter="match"
            )

    def fits(self, seed: int) -> list[tuple[str, int | None, int]]:
        """Return the model, number of topics and seed of each fit. Raises UsageError."""
        return fits_of(model_names(self.models), listed_numbers(self.k, "a grid of fits"), self.seeds, seed)

    def least_similarity(self) -> float | None:
        """Return the threshold, None for auto. Raises UsageError."""
        if self.threshold == "auto":
            return None
        try:
            value = float(self.threshold)
        except ValueError:
            value = -1.0
        if not 0 < value <= 1:
            raise UsageError(
                f"`threshold` takes auto or a number above 0 and up to 1, got '{self.threshold}'", parameter="threshold"
            )
        return value

    def columns(self) -> tuple[str, ...] | None:
        """Return the columns of the shares, None for the usual one."""
        return tuple(self.shares_by.split(",")) if isinstance(self.shares_by, str) else self.shares_by

    @property
    def folds(self) -> int:
        """Parts into which the documents are divided, of which a fit leaves one out; 0 where none does."""
        return max(2, round(1 / self.leave_out)) if self.leave_out else 0

"""Methods side by side: each trained on the same documents, with the same seeds, and scored on the same test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import UsageError
from nlpkit.finetune.data.dataset import FinetuneDataset
from nlpkit.finetune.methods import Method
from nlpkit.finetune.protocol import majority_vote
from nlpkit.finetune.scores import MAIN, score_task
from nlpkit.finetune.trials import TrialResult, TrialRunner, collect_predictions, size_columns
from nlpkit.metrics.mean_ranks import MeanRanks, interval_of_means, mean_ranks
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Uncertainty
from nlpkit.platform import reporting

INTEGERS = (
    "shots",
    "total",
    "sample",
    "seed",
    "trained_parameters",
    "parameters",
    "bytes",
    "steps",
    "training_documents",
)
CLOCKS = ("seconds", "predict_seconds")
GUESSES = ("majority", "mean")  # rows of no method
SIZES = ("shots", "total")
LEAST = {"spearman": -1.0}  # of the scores that methods are ranked by; of the others 0


@dataclass(frozen=True, slots=True)
class Draw:
    """A sample of the training documents, by its seed, and the seeds of the trainings on it. crossed: samples have seeds of their own."""

    sample: int
    seeds: Sequence[int]
    crossed: bool = False


@dataclass(slots=True)
class ComparisonRows:
    """What comes of a comparison.

    trainings: of each method, size, sample and seed the scores on the test, parameters, seconds, bytes. votes: of each method, size
    and sample with several trainings, the scores of their majority vote.
    """

    trainings: list[dict[str, Any]] = field(default_factory=list)
    votes: list[dict[str, Any]] = field(default_factory=list)


def compare(
    runner: TrialRunner,
    dataset: FinetuneDataset,
    methods: Sequence[Method],
    sizes: Sequence[int | None],
    draws: Sequence[Draw],
) -> ComparisonRows:
    """Return the scores of each method, size, sample and seed, and the majority votes.

    All methods see the same samples. A method that does not fit the base model is left out with a warning. The scores of the
    majority class are there as method 'majority', of numbers those of the mean as 'mean'.

    Raises:
        UsageError: no method fits the base model.
    """
    rows = ComparisonRows()
    refused: dict[str, str] = {}
    for size in sizes:
        for draw in draws:
            guess: dict[str, Any] = {}
            for method in methods:
                if method.spelling in refused:
                    continue
                try:
                    guess = _trainings(rows, runner, dataset, method, size, draw)
                except UsageError as error:
                    refused[method.spelling] = str(error)
                    reporting.warn(f"{method.spelling} is left out: {error}")
            if guess:
                name = "mean" if dataset.kind == "regression" else "majority"
                rows.trainings.append({**_where(name, dataset, size, draw, draw.seeds[0]), **guess})
    if not any("curves" in row for row in rows.trainings):
        raise UsageError(f"none of the methods fits the base model: {next(iter(refused.values()), 'none was given')}")
    return rows


def _trainings(
    rows: ComparisonRows, runner: TrialRunner, dataset: FinetuneDataset, method: Method, size: int | None, draw: Draw
) -> dict[str, Any]:
    """Add the rows of a method on one sample; return the scores of a guess without any text."""
    drawn, metric = dataset.drawn(size, seed=draw.sample), MAIN[dataset.kind]
    sample = draw.sample if draw.crossed else None
    predictions, guess = [], {}
    for seed in draw.seeds:
        results = runner.run_round(dataset, method, size, seed, sample=sample)
        predictions.append(collect_predictions(drawn, results))
        scores = score_task(drawn, predictions[-1], None, Uncertainty(None, seed))
        guess = _values(scores.majority)
        row = {**_where(method.spelling, dataset, size, draw, seed), **_row(_values(scores.model), results)}
        rows.trainings.append(row)
        shown = "–" if row.get(metric) is None else f"{row[metric]:.3f}"
        title = replace(results[-1].config, fold=None).title(dataset)
        reporting.note(f"{title}: {metric} {shown} in {row['seconds']:.1f} s")
    if len(predictions) > 1:
        vote = score_task(drawn, majority_vote(predictions), None, Uncertainty(None, draw.sample)).model
        rows.votes.append({**_where(method.spelling, dataset, size, draw, None), **_values(vote)})
    return guess


def _where(method: str, dataset: FinetuneDataset, size: int | None, draw: Draw, seed: int | None) -> dict[str, Any]:
    sample = {"sample": draw.sample} if draw.crossed else {}
    return {"method": method, **size_columns(dataset, size), **sample, **({} if seed is None else {"seed": seed})}


def _values(result: TargetResult) -> dict[str, Any]:
    return {name: score.value for name, score in result.scores.items()}


def _row(values: Mapping[str, Any], results: Sequence[TrialResult]) -> dict[str, Any]:
    facts = results[-1].facts
    return {
        **values,
        "trained_parameters": facts["trained_parameters"],
        "parameters": facts["parameters"],
        "seconds": sum(result.facts["seconds"] for result in results),
        "predict_seconds": sum(result.facts["predict_seconds"] for result in results),
        "bytes": facts["bytes"],
        "steps": facts["steps"],
        "training_documents": facts["training_documents"],
        "curves": [result.curve for result in results],
    }


def sample_of(row: Mapping[str, Any]) -> int:
    """Return the seed of the sample that the row of a training is of."""
    return int(row.get("sample", row["seed"]))


def size_of(row: Mapping[str, Any]) -> int | None:
    """Return the size of the sample that a row is of, None for all documents."""
    size: int | None = row.get("total", row["shots"])
    return size


def summary(rows: ComparisonRows, *, metric: str, level: float | None) -> list[dict[str, Any]]:
    """Return the means and standard deviations (n - 1) over the trainings of each method and size, and of the majority votes.

    Args:
        metric, level: of the interval of the mean, Student's over the means of the samples: what another sample would change, not
            what other test documents would. None: no interval.
    """
    votes: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows.votes:
        votes.setdefault(_cell(row), []).append(row)
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows.trainings:
        groups.setdefault(_cell(row), []).append(row)
    means = []
    for cell, runs in groups.items():
        mean = {
            "method": cell[0],
            **{n: runs[0][n] for n in SIZES if n in runs[0]},
            "runs": len(runs),
            **_moments(runs),
        }
        interval = None
        if level is not None and cell[0] not in GUESSES:
            interval = interval_of_means(_by_sample(runs, metric), level=level, limits=(LEAST.get(metric, 0.0), 1.0))
        if interval is not None:
            mean["interval"] = {"metric": metric, "level": level, "low": interval[0], "high": interval[1]}
        if cell in votes:
            mean["vote"] = _moments(votes[cell])
        means.append(mean)
    return means


def _cell(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (row["method"], *(row.get(name) for name in SIZES))


def _moments(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    numbers = [n for n, v in runs[0].items() if isinstance(v, float | int) and n not in (*SIZES, "sample", "seed")]
    mean = {n: _mean([run.get(n) for run in runs]) for n in numbers}
    return {"mean": mean, "sd": {n: _sd([run.get(n) for run in runs]) for n in numbers}}


def _by_sample(runs: Sequence[Mapping[str, Any]], metric: str) -> list[float]:
    """Return the mean of a score over the trainings of each sample; none where one has no score."""
    samples: dict[int, list[Any]] = {}
    for run in runs:
        samples.setdefault(sample_of(run), []).append(run.get(metric))
    values = [_mean(scores) for scores in samples.values()]
    return [] if any(v is None for v in values) else [float(v) for v in values if v is not None]


def ranks_of(rows: ComparisonRows, *, metric: str, level: float) -> MeanRanks | None:
    """Return the mean ranks of the methods over all sizes and samples, None for one method or one block.

    Methods are ranked by the mean of a score over the trainings of a sample; a method without a score somewhere is left out.
    """
    blocks: dict[tuple[Any, ...], dict[str, list[Any]]] = {}
    for row in rows.trainings:
        if row["method"] not in GUESSES:
            block = blocks.setdefault((*_cell(row)[1:], sample_of(row)), {})
            block.setdefault(row["method"], []).append(row.get(metric))
    means = [{name: _mean(values) for name, values in block.items()} for block in blocks.values()]
    names = [name for name in means[0] if all(block.get(name) is not None for block in means)]
    if len(names) < 2 or len(means) < 2:
        return None
    return mean_ranks(names, np.array([[block[name] for name in names] for block in means], float), level=level)


def best_of(means: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any] | None:
    """Return the row of `summary` with the best mean on the test, None where no method has one; the first of equal ones."""
    metric = MAIN[kind]
    scored = [row for row in means if row["method"] not in GUESSES and row["mean"].get(metric) is not None]
    return max(scored, key=lambda row: float(row["mean"][metric]), default=None)


def comparison_table(rows: Sequence[Mapping[str, Any]], *, clocks: bool = False) -> pa.Table:
    """Return rows as a table, shots null for all documents; without what clocks measured, or with nothing but that."""
    keys = ("method", *SIZES, "sample", "seed")
    names = list(dict.fromkeys(n for row in rows for n in row if n != "curves"))
    names = [n for n in names if n in keys or (n in CLOCKS) == clocks]
    columns = {}
    for name in names:
        kind = pa.string() if name == "method" else pa.int64() if name in INTEGERS else pa.float64()
        columns[name] = pa.array([row.get(name) for row in rows], kind)
    return pa.table(columns)


def _mean(values: Sequence[Any]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.mean(known)) if known else None


def _sd(values: Sequence[Any]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None

"""Methods side by side: each trained on the same documents, with the same seeds, and scored on the same test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.errors import UsageError
from nlpkit.finetune.dataset import FinetuneDataset
from nlpkit.finetune.methods import Method
from nlpkit.finetune.scores import MAIN, score_task
from nlpkit.finetune.trials import TrialConfig, TrialResult, TrialRunner, collect_predictions
from nlpkit.metrics.score import Uncertainty

INTEGERS = ("shots", "seed", "trained_parameters", "parameters", "bytes", "steps", "training_documents")


def compare(
    runner: TrialRunner,
    dataset: FinetuneDataset,
    methods: Sequence[Method],
    sizes: Sequence[int | None],
    seeds: Sequence[int],
) -> list[dict[str, Any]]:
    """Return a row for each method, number of shots and seed: scores on the test, parameters, seconds, bytes.

    With several seeds each draws its own documents; all methods see the same ones. A method that does not fit the base model is
    left out with a warning. The scores of the majority class are there as method 'majority', of numbers those of the mean as
    'mean'.

    Raises:
        UsageError: no method fits the base model.
    """
    rows: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for shots in sizes:
        for seed in seeds:
            drawn = dataset.drawn(shots, seed=seed)
            majority: dict[str, Any] = {}
            for method in methods:
                if method.spelling in refused:
                    continue
                try:
                    results = runner.run_round(dataset, method, shots, seed)
                except UsageError as error:
                    refused[method.spelling] = str(error)
                    reporting.warn(f"{method.spelling} is left out: {error}")
                    continue
                scores = score_task(drawn, collect_predictions(drawn, results), None, Uncertainty(None, seed))
                values = {name: score.value for name, score in scores.model.scores.items()}
                majority = {name: score.value for name, score in scores.majority.scores.items()}
                rows.append(_row(method, shots, seed, values, results))
                value = values.get(MAIN[drawn.kind])
                shown = "–" if value is None else f"{value:.3f}"
                title = TrialConfig(method, shots, seed).title
                reporting.note(f"{title}: {MAIN[drawn.kind]} {shown} in {rows[-1]['seconds']:.1f} s")
            if majority:
                name = "mean" if drawn.kind == "regression" else "majority"
                rows.append({"method": name, "shots": shots, "seed": seed, **majority})
    if not any("curves" in row for row in rows):
        raise UsageError(f"none of the methods fits the base model: {next(iter(refused.values()), 'none was given')}")
    return rows


def _row(
    method: Method, shots: int | None, seed: int, values: Mapping[str, Any], results: Sequence[TrialResult]
) -> dict[str, Any]:
    facts = results[-1].facts
    return {
        "method": method.spelling,
        "shots": shots,
        "seed": seed,
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


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the means and standard deviations (n - 1) over the seeds of each method and number of shots."""
    groups: dict[tuple[str, int | None], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["method"], row["shots"]), []).append(row)
    means = []
    for (method, shots), runs in groups.items():
        numbers = [n for n, v in runs[0].items() if isinstance(v, float | int) and n not in ("shots", "seed")]
        mean = {n: _mean([run.get(n) for run in runs]) for n in numbers}
        sd = {n: _sd([run.get(n) for run in runs]) for n in numbers}
        means.append({"method": method, "shots": shots, "runs": len(runs), "mean": mean, "sd": sd})
    return means


def best_of(means: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any] | None:
    """Return the row of `summary` with the best mean on the test, None where no method has one; the first of equal ones."""
    metric = MAIN[kind]
    scored = [row for row in means if row["method"] not in ("majority", "mean") and row["mean"].get(metric) is not None]
    return max(scored, key=lambda row: float(row["mean"][metric]), default=None)


def comparison_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the rows as a table; shots is null for all documents."""
    names = list(dict.fromkeys(n for row in rows for n in row if n != "curves"))
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

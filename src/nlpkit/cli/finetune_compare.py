"""Methods side by side: each trained on the same documents, with the same seeds, and scored on the same test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.cli.finetune_cells import Bench, Cell, guesses_of
from nlpkit.cli.finetune_corpus import TuneDocuments, with_shots
from nlpkit.cli.finetune_scores import MAIN, score_guesses
from nlpkit.cli.finetune_show import curve_lines
from nlpkit.errors import UsageError
from nlpkit.finetune.methods import Method
from nlpkit.finetune.train import Point
from nlpkit.io.runs import RunTables, write_run
from nlpkit.metrics.score import Uncertainty
from nlpkit.plain import shell_line

SHOWN = {
    "single": ("accuracy", "macro_f1"),
    "multi": ("micro_f1", "macro_f1", "subset_accuracy"),
    "regression": ("spearman", "rmse"),
    "tokens": ("accuracy", "macro_f1", "span_f1"),
}


def compare(
    bench: Bench, documents: TuneDocuments, methods: Sequence[Method], sizes: Sequence[int | None], seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """Return a row for each method, number of documents and seed: scores on the test, parameters, seconds, bytes.

    With several seeds each draws its own documents; all methods see the same ones. A method that does not fit the base model is
    left out, and the reason said. The scores of the majority class are there as method 'majority', of numbers those of the mean
    as 'mean'.
    """
    rows: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for shots in sizes:
        for seed in seeds:
            own = with_shots(documents, shots, seed=seed)
            majority: dict[str, Any] = {}
            for method in methods:
                if method.spelling in refused:
                    continue
                folds = range(own.n_folds) if own.n_folds else [None]
                try:
                    done = [bench.run(Cell(method, shots, seed, fold), own, keep=False) for fold in folds]
                except UsageError as error:
                    refused[method.spelling] = str(error)
                    reporting.warn(f"{method.spelling} is left out: {error}")
                    continue
                scores = score_guesses(own, guesses_of(own, done), None, Uncertainty(None, seed))
                facts = done[-1].facts
                values = {n: s.value for n, s in scores.model.scores.items()}
                majority = {n: s.value for n, s in scores.majority.scores.items()}
                rows.append(
                    {
                        "method": method.spelling, "shots": shots, "seed": seed, **values,
                        "trained_parameters": facts["trained_parameters"], "parameters": facts["parameters"],
                        "seconds": sum(d.facts["seconds"] for d in done),
                        "predict_seconds": sum(d.facts["predict_seconds"] for d in done),
                        "bytes": facts["bytes"], "steps": facts["steps"], "training_documents": facts["training_documents"],
                        "curves": [d.curve for d in done],
                    }
                )  # fmt: skip
                told = MAIN[own.kind]
                value = values.get(told)
                shown = "–" if value is None else f"{value:.3f}"
                reporting.note(f"{Cell(method, shots, seed).title}: {told} {shown} in {rows[-1]['seconds']:.1f} s")
            if majority:
                name = "mean" if own.kind == "regression" else "majority"
                rows.append({"method": name, "shots": shots, "seed": seed, **majority})
    if not any("curves" in row for row in rows):
        raise UsageError(f"none of the methods fits the base model: {next(iter(refused.values()), 'none was given')}")
    return rows


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the means and standard deviations (n - 1) over the seeds of each method and number of documents."""
    groups: dict[tuple[str, int | None], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["method"], row["shots"]), []).append(row)
    found = []
    for (method, shots), own in groups.items():
        numbers = [n for n, v in own[0].items() if isinstance(v, float | int) and n not in ("shots", "seed")]
        means = {n: _mean([r.get(n) for r in own]) for n in numbers}
        sds = {n: _sd([r.get(n) for r in own]) for n in numbers}
        found.append({"method": method, "shots": shots, "runs": len(own), "mean": means, "sd": sds})
    return found


def best_of(found: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any] | None:
    """Return the row of `summary` with the best mean on the test, None where no method has one; the first of equal ones."""
    told = MAIN[kind]
    own = [row for row in found if row["method"] not in ("majority", "mean") and row["mean"].get(told) is not None]
    return max(own, key=lambda row: float(row["mean"][told]), default=None)


def training_line(command: Sequence[str], best: Mapping[str, Any], target: str) -> str:
    """Return the command line that trains one method of a comparison and keeps its model.

    Args:
        command: that of the comparison; best: a row of `summary`; target: the run to write.
    """
    wanted = {"--method": best["method"], "--shots": best["shots"], "--output": target}
    spelled = {"-o": "--output", **{name: name for name in wanted}}
    kept: list[str] = []
    words = iter(command)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in spelled:
            kept.append(word)
        elif not equals:
            next(words, None)
    given = [part for name, value in wanted.items() if value is not None for part in (name, str(value))]
    return shell_line(*kept, *given)


def _mean(values: Sequence[Any]) -> float | None:
    given = [v for v in values if v is not None]
    return float(np.mean(given)) if given else None


def _sd(values: Sequence[Any]) -> float | None:
    given = [v for v in values if v is not None]
    return float(np.std(given, ddof=1)) if len(given) > 1 else None


def comparison_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the rows as a table; shots is null for all documents."""
    names = list(dict.fromkeys(n for row in rows for n in row if n != "curves"))
    integers = ("shots", "seed", "trained_parameters", "parameters", "bytes", "steps", "training_documents")
    columns = {}
    for name in names:
        kind = pa.string() if name == "method" else pa.int64() if name in integers else pa.float64()
        columns[name] = pa.array([row.get(name) for row in rows], kind)
    return pa.table(columns)


def write_comparison(
    target: Path,
    rows: Sequence[Mapping[str, Any]],
    documents: TuneDocuments,
    block: dict[str, Any],
    manifest: dict[str, Any],
    report: dict[str, Any],
    *,
    force: bool,
) -> None:
    """Write the run of a comparison: comparison.parquet, metrics.json, the curves, and no model."""
    lines = [
        curve_lines_of(row["curves"], method=row["method"], shots=row["shots"], seed=row["seed"])
        for row in rows
        if "curves" in row
    ]
    tables = {"comparison": comparison_table(rows)}
    config = {"kind": "finetune-comparison"}
    write_run(
        target,
        RunTables(
            tables, {}, config, documents.provenance.dropped, {"metrics": report}, {"curve.jsonl": "".join(lines)}
        ),
        block,
        manifest,
        force=force,
    )


def curve_lines_of(curves: Sequence[Sequence[Point]], **facts: Any) -> str:
    """Return points of curves as JSON lines that begin with some facts."""
    return "".join(curve_lines([], points=own, facts=facts) for own in curves)

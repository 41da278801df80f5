"""A comparison of topic models on the screen: a row for each model and number of topics, the best of each score marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.metrics.catalogue import METRICS
from nlpkit.plain import shell_line

if TYPE_CHECKING:
    from nlpkit.workflows.compare import ModelComparison

TITLES = {
    "stability_words": "stable words",
    "stability_documents": "stable docs",
    "seconds": "seconds",
    "memory_mb": "MB",
}


def show_comparison(result: ModelComparison) -> None:
    """Print the means over seeds, with the standard deviation where there are several."""
    rows = result.summary.to_pylist()
    if console.settings.json:
        console.emit_json(
            {"comparison": str(result.path), "summary": rows, "fits": result.fits.to_pylist(),
             "best": {name: {"model": model, "k": k} for name, (model, k) in result.best().items()}}
        )  # fmt: skip
        return
    best = result.best()
    names = [*result.scores, *TITLES]
    lower = [name for name in result.scores if name in METRICS and METRICS[name].better == "low"]
    cells = [
        [
            row["model"],
            "found" if row["k"] is None else str(row["k"]),
            *(_cell(row, name, is_best=best.get(name) == (row["model"], row["k"])) for name in names),
        ]
        for row in rows
    ]
    columns = ["model", "k", *(TITLES.get(name, name.replace("_", " ")) for name in names)]
    better = f"; lower is better for {', '.join(lower)}, higher for the others" if lower else "; higher is better"
    title = f"Means of {wording.counted(max(row['fits'] for row in rows), 'fit')} (± standard deviation); * best of a column{better}"
    console.table(columns, cells, right=columns[1:], title=title, noun="models", rest="summary.parquet")
    reporting.note(
        "stable words: share of a topic's ten first words that its match in another fit has; stable docs: AMI of the topics in two "
        "fits. Each fit has another seed and leaves out other documents. Seconds are without reading."
    )
    line = shell_line("nlpkit", "report", result.path, "-o", f"{result.path}.html")
    reporting.note(f"wrote {result.path}/: runs/, fits.parquet and summary.parquet; next: {line}")


def _cell(row: dict[str, Any], name: str, *, is_best: bool) -> str:
    value, spread = row[name], row[f"{name}_sd"]
    if value is None:
        return ""
    digits = 0 if name in ("memory_mb", "perplexity") else 1 if name == "seconds" else 3
    shown = f"{value:,.{digits}f}"
    if spread is not None and name in METRICS:
        shown += f" ±{spread:,.{digits}f}"
    return f"{shown}*" if is_best else shown

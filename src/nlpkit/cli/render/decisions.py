"""What a classifier decides by, for people: a parameter that was searched for, thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nlpkit import wording
from nlpkit.cli.render.page import Page
from nlpkit.evaluation.predictions import short

if TYPE_CHECKING:
    import pyarrow as pa


def show_search(page: Page, search: Mapping[str, Any] | None) -> None:
    """Print the values of a parameter that were compared, and how often each was taken in the folds of the scores."""
    if search is None:
        return
    option, folds = search["option"], search["folds"]
    columns = ["", option, search["metric"], *(["taken in folds"] if folds else [])]
    rows = []
    for row in search["tried"]:
        taken = [str(folds.count(row["value"]) or "")] if folds else []
        arrow = "→" if row["value"] == search["value"] else ""
        rows.append([arrow, f"{row['value']:g}", wording.score_text(row[search["metric"]]), *taken])
    title = f"Values of {option}, by cross-validation in the training documents"
    page.table(title, columns, rows, columns[1:])


def show_thresholds(page: Page, thresholds: Sequence[Mapping[str, Any]]) -> None:
    """Print the threshold of each class, with recall and precision in folds of the training documents and on test documents."""
    if not thresholds:
        return
    columns = ["class", "wanted", "threshold", "on", "recall", "precision"]
    rows = []
    for one in thresholds:
        cells = [short(one["label"]), f"{one['measure']} {one['wanted']:g}", f"{one['scale']} {one['score']:.4g}"]
        for where, on in (("expected", "training"), ("test", "test")):
            rows.append([*cells, on, *(_share(one[where][measure]) for measure in ("recall", "precision"))])
            cells = [""] * len(cells)
    page.table("Thresholds, chosen in folds of the training documents", columns, rows, columns[4:])


def show_costs(page: Page, costs: Mapping[str, Any] | None) -> None:
    """Print what the decisions cost on the test documents, and what other decisions would have cost."""
    if costs is None:
        return
    rows = []
    for one in costs["decisions"]:
        saved = f"{one['saved']:.4f}" + _interval(one, "saved_") if "saved" in one else ""
        rows.append([one["decision"], f"{one['mean_cost']:.4f}" + _interval(one, ""), saved])
    columns = ["decision", "mean cost", "saved by least expected cost"]
    page.table(f"Costs of {wording.counted(costs['documents'], 'test document')}", columns, rows, columns[1:])


def _interval(values: Mapping[str, Any], prefix: str) -> str:
    if f"{prefix}low" not in values:
        return ""
    return f" [{values[f'{prefix}low']:.4f}, {values[f'{prefix}high']:.4f}]"


def show_learning_curve(page: Page, curve: pa.Table | None) -> None:
    """Print the score of shares of the training documents."""
    if curve is None:
        return
    rows, metric = [], curve.column_names[2]
    for point in curve.to_pylist():
        value, low, high = (None if point[n] is None else wording.score_text(point[n]) for n in (metric, "low", "high"))
        interval = "" if low is None else f"[{low}, {high}]"
        rows.append([f"{point['share']:.0%}", f"{point['documents']:,}", value or "–", interval])
    columns = ["share", "training documents", metric, "interval"]
    page.table("Learning curve: fitted on parts of the training documents", columns, rows, columns)


def _share(share: Mapping[str, Any]) -> str:
    if share["value"] is None:
        return "–"
    interval = f" [{share['low']:.3f}, {share['high']:.3f}]" if "low" in share else ""
    return f"{share['value']:.3f}{interval}"

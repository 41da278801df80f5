"""What similar shows: the nearest documents of each query, or the closest pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlpkit import reporting, wording
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.workflows.similar import DocumentPairs, NearestDocuments


def similar(result: NearestDocuments | DocumentPairs, target: str | None) -> None:
    """Print a table, or one JSON object."""
    from nlpkit.workflows.similar import NearestDocuments

    if target == "-":
        return
    if console.settings.json:
        console.emit_json(result.to_dict())
    elif isinstance(result, NearestDocuments):
        _nearest(result)
    else:
        _pairs(result)


def _nearest(result: NearestDocuments) -> None:
    measure = result.metric.value
    for number, query in enumerate(result.queries):
        rows = [[str(n["rank"]), n["id"], f"{n[measure]:.3f}", n["text"]] for n in result.nearest(number)]
        title = wording.truncated(" ".join(query.split()), 80)
        if rows:
            console.table(["rank", "id", measure, "text"], rows, right=["rank", measure], title=title)
        else:
            reporting.note(f"there is no other document than '{title}'")


def _pairs(result: DocumentPairs) -> None:
    measure, closest = result.metric.value, result.closest()
    least = "at least" if result.metric.is_similarity else "at most"
    reporting.note(
        f"{wording.counted(result.n_pairs, 'pair')} of {wording.counted(len(result.vectors.rows), 'document')} with a {measure} of "
        f"{least} {result.options.pairs:g}"
        + (f"; the closest {len(closest)}:" if 0 < len(closest) < result.n_pairs else "")
    )
    rows = [[p["id"], p["other_id"], f"{p[measure]:.3f}", p["text"]] for p in closest]
    if rows:
        console.table(["id", "other id", measure, "text"], rows, right=[measure])

"""What cluster shows: the numbers of clusters that were compared, and the clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nlpkit import wording
from nlpkit.views.blocks import Block, Note, Table, cell

if TYPE_CHECKING:
    from nlpkit.workflows.cluster import ClusteredDocuments


def cluster_blocks(clustered: ClusteredDocuments) -> Iterator[Block]:
    """Yield the numbers of clusters that were compared, and the clusters."""
    yield from _choice(clustered)
    result = clustered.clusters
    left_out = clustered.vectors.table.num_rows - int((result.labels >= 0).sum())
    yield Note(
        f"{wording.counted(len(result.sizes), 'cluster')} of {wording.counted(clustered.vectors.table.num_rows, 'document')} by "
        f"{clustered.options.method} ({clustered.options.distance()}); silhouette {_score(result.silhouette)}, "
        f"inertia {result.inertia:,.4g}"
        + (f"; {wording.counted(left_out, 'document')} in no cluster" if left_out else "")
    )
    rows = [
        [str(c["cluster"]), wording.count(c["size"]), f"{c['share']:.1%}", c["id"], c["text"]]
        for c in clustered.typical()
    ]
    if rows:
        columns = ["cluster", "size", "share", "central document", "text"]
        yield Table(columns, rows, right=columns[:3], noun="clusters", rest="--json", texts=["text"])


def _choice(clustered: ClusteredDocuments) -> Iterator[Block]:
    """Print inertia and silhouette of each number of clusters, and why one was chosen."""
    candidates = clustered.clusters.candidates
    if not candidates:
        return
    rows = [[str(c.k), f"{c.inertia:,.4g}", _score(c.silhouette), "chosen" if c.chosen else ""] for c in candidates]
    yield Table(["k", "inertia", "silhouette", ""], rows, right=["k", "inertia", "silhouette"])
    best, *others = sorted(candidates, key=lambda c: (not c.chosen, -c.silhouette))
    second = f" (then k = {others[0].k} with {_score(others[0].silhouette)})" if others else ""
    yield Note(
        f"k = {best.k}: its silhouette, {_score(best.silhouette)}, is the largest{second}; inertia falls with every further cluster, "
        "look for the elbow where it falls slower"
    )


def _score(value: float) -> str:
    return cell(value, missing="–")

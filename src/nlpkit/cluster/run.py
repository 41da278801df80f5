"""Clusters of documents, or of the rows of any table with numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.cluster.files import merges_table, newick, write_newick
from nlpkit.cluster.model import TableClusters, cluster_points
from nlpkit.cluster.options import ClusterOptions
from nlpkit.cluster.vectors import DocumentVectors, check_vector_options, read_vectors
from nlpkit.embed.options import EncoderOptions
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import as_corpus
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import finite_or_none, whole_or_text
from nlpkit.platform.runs.provenance import source_block
from nlpkit.platform.runs.saving import save_derived_table
from nlpkit.platform.runs.tables import save_table
from nlpkit.text.options import TokenOptions
from nlpkit.weights.options import WeightOptions

COLUMNS = ("cluster", "cluster_distance")


@dataclass(frozen=True, slots=True)
class ClusteredDocuments(Tabular):
    """Documents with their clusters. clusters: of those that have a vector; seed: of the methods that draw."""

    vectors: DocumentVectors
    clusters: TableClusters
    options: ClusterOptions
    seed: int

    def __repr__(self) -> str:
        documents = wording.counted(self.vectors.table.num_rows, "document")
        return wording.described(self, wording.counted(len(self.clusters.sizes), "cluster"), documents)

    def table(self) -> pa.Table:
        """Return the table with the columns cluster (int32, 0 for the largest, -1 for none) and cluster_distance."""
        table = self.vectors.table
        labels, distance = np.full(table.num_rows, -1, np.int32), np.full(table.num_rows, np.nan, np.float32)
        labels[self.vectors.rows], distance[self.vectors.rows] = self.clusters.labels, self.clusters.distance
        table = table.drop_columns([name for name in COLUMNS if name in table.column_names])
        table = table.append_column("cluster", pa.array(labels))
        return table.append_column("cluster_distance", pa.array(distance, from_pandas=True))

    def typical(self) -> list[dict[str, Any]]:
        """Return cluster, size, share, and the document next to the center (id, distance, text) of each cluster."""
        labels, distance, table = self.clusters.labels, self.clusters.distance, self.vectors.table
        rows = []
        for cluster, size in enumerate(self.clusters.sizes.tolist()):
            members = np.flatnonzero(labels == cluster)
            nearest = int(members[np.argmin(distance[members])])
            row = int(self.vectors.rows[nearest])
            text = table.column("text")[row].as_py() if "text" in table.column_names else ""
            rows.append(
                {"cluster": cluster, "size": size, "share": size / table.num_rows, "id": table.column("id")[row].as_py(),
                 "distance": float(distance[nearest]), "text": wording.truncated(" ".join(text[:400].split()), 100)}
            )  # fmt: skip
        return rows

    def parameters(self) -> dict[str, Any]:
        """Return what the footer records."""
        options = asdict(replace(self.options, tree=None, merges=None))
        del options["tree"], options["merges"]
        shown = {
            **options,
            "k": whole_or_text(self.options.k),
            "metric": self.options.distance(),
            "feature_cols": self.options.columns(),
        }
        return {
            **self.vectors.parameters,
            **shown,
            "by": self.options.vectors(),
            "n_clusters": len(self.clusters.sizes),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the clusters and their scores in plain values."""
        clusters, table = self.clusters, self.vectors.table
        return {
            "by": self.options.vectors(), "method": self.options.method, "metric": self.options.distance(),
            "scale": self.options.scale, "documents": table.num_rows,
            "unassigned": table.num_rows - int((clusters.labels >= 0).sum()), "n_clusters": len(clusters.sizes),
            "inertia": clusters.inertia, "silhouette": finite_or_none(clusters.silhouette),
            "candidates": [{**asdict(c), "silhouette": finite_or_none(c.silhouette)} for c in clusters.candidates],
            "clusters": self.typical(),
        }  # fmt: skip

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table with the clusters, which every command takes as documents.

        Raises:
            UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there.
        """
        save_derived_table(
            target, self.table(), "documents", self.vectors.source, command="cluster", parameters=self.parameters(),
            row="document", force=force,
        )  # fmt: skip

    def save_dendrogram(self, *, force: bool = False) -> None:
        """Write the tree and the table of merges that the options name. Raises OutputExistsError when one is there."""
        merges = self.clusters.merges
        if merges is None:
            return
        ids = self.vectors.table.column("id").take(pa.array(self.vectors.rows)).to_pylist()
        if self.options.tree is not None:
            write_newick(self.options.tree, newick(merges, ids), force=force)
            reporting.note(f"wrote {self.options.tree}: the dendrogram of {wording.counted(len(ids), 'document')}")
        if self.options.merges is not None:
            block = source_block("merges", self.vectors.source, command="cluster", parameters=self.parameters())
            save_table(self.options.merges, merges_table(merges), block, force=force)
            reporting.note(f"wrote {self.options.merges}: {wording.counted(len(merges), 'merge')}")


def cluster(
    data: Any,
    *,
    options: ClusterOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    tokens: TokenOptions | None = None,
    weights: WeightOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> ClusteredDocuments:
    """Cluster documents by their embeddings or tf-idf, or the rows of a table by numeric columns.

    Args:
        data: a Corpus, texts, or a data frame; with `feature_cols` it needs no text.
        options: method, number of clusters, metric, scaling.
        encoder: which model makes embeddings; tokens, weights: how tf-idf is made.
        execution: the seed of the methods that draw.
        settings: single fields of these records, such as method="kmedoids", k=5, feature_cols=["age", "income"].

    Raises:
        UsageError: options that contradict each other; InputError: no documents, fewer different ones than clusters, more than a matrix
        of distances takes, or features that are not numbers; ColumnError: a column is not there.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> clusters = nk.cluster(texts, k=2, by="tfidf")
        >>> len(clusters.clusters.sizes)
        2
    """
    records = (
        options or ClusterOptions(), EncoderOptions.from_value(encoder), tokens or TokenOptions(), weights or WeightOptions(),
        execution or Execution(),
    )  # fmt: skip
    options, embedding, tokens, weights, execution = with_settings(records, settings)
    by = options.vectors()
    if by == "columns":
        embedding.refuse("it makes embeddings, and `feature_cols` are the vectors; leave one out")
    check_vector_options(by, embedding, tokens, weights)
    corpus = as_corpus(data).with_options(text_needed=by != "columns")
    unit = options.distance() == "cosine" and options.scale == "none"
    vectors = read_vectors(
        corpus, by=by, unit=unit, encoder=embedding, tokens=tokens, weights=weights, execution=execution,
        columns=options.columns(),
    )  # fmt: skip
    if by == "columns" and not any(vectors.table.column("text").to_pylist()):
        vectors = replace(vectors, table=vectors.table.drop_columns("text"))
    for name in COLUMNS:
        if name in vectors.table.column_names:
            reporting.warn(f"the column '{name}' of the input is replaced")
    with reporting.progress("clusters", None):
        clusters = cluster_points(vectors.points, options, seed=execution.seed)
    return ClusteredDocuments(vectors, clusters, options, execution.seed)

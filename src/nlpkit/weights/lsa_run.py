"""LSA and PCA of weighted documents: vectors of documents and terms, saved as a run directory."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import embedding_column
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.runs import RunTables, new_run
from nlpkit.platform.runs.saving import save_run
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import FloatArray
from nlpkit.weights.files import stacked
from nlpkit.weights.lsa import Lsa, lsa, pca
from nlpkit.weights.run import DocumentTermWeights

TOP_TERMS = 10
Method = Literal["lsa", "pca"]  # the kind of the run, and the column of the vectors
COMPONENTS = TableSpec(
    "components", "A component of lsa or pca, the largest first.",
    Column("component", pa.int32(), "Its number, from 0."),
    Column("singular_value", pa.float64(), "Its singular value."),
    Column("explained_variance_ratio", pa.float64(), "Share of the variance that it explains."),
    Column("center", pa.float64(), "Of pca, the mean of the documents in it.", always=False),
    Column("top_terms", pa.list_(pa.string()), "Terms at its upper end."),
    Column("bottom_terms", pa.list_(pa.string()), "Terms at its lower end."),
)  # fmt: skip
TERM_VECTORS = TableSpec(
    "term_vectors", "A term.",
    Column("term", pa.string(), "The term."),
    Column("vector", pa.list_(pa.float32()), "Its vector, a number for each component."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LatentSpace:
    """Documents and terms in the dimensions that explain most of the weights.

    method: lsa, or pca, around the mean of the documents.
    """

    weights: DocumentTermWeights
    decomposition: Lsa
    method: Method
    asked: int
    rows: list[pa.RecordBatch]
    n_weights: int
    n_empty: int
    seconds: dict[str, float]
    execution: Execution

    def components(self) -> pa.Table:
        """Return a row for each component: singular value, explained variance, center (of a PCA), the terms at its two ends."""
        terms, strongest = self.weights.terms, np.argsort(-self.decomposition.terms, axis=0, kind="stable").T
        tops, bottoms = [], []
        for k, order in enumerate(strongest):
            column = self.decomposition.terms[:, k]
            high, low = order[:TOP_TERMS], order[::-1][:TOP_TERMS]
            tops.append([terms[i] for i in high if column[i] > 0])
            bottoms.append([terms[i] for i in low if column[i] < 0])
        center = {"center": self.decomposition.center} if self.method == "pca" else {}
        return COMPONENTS.table(
            component=range(len(tops)), singular_value=self.decomposition.singular_values, **center, top_terms=tops,
            explained_variance_ratio=self.decomposition.explained_variance_ratio, bottom_terms=bottoms,
        )  # fmt: skip

    def documents(self) -> pa.Table:
        """Return the documents with their vectors."""
        table = pa.Table.from_batches(self.rows)
        if self.method in table.column_names:
            reporting.warn(
                f"the column '{self.method}' of the input is dropped, because the run has a column with this name"
            )
            table = table.drop_columns(self.method)
        return table.append_column(self.method, _vectors(self.decomposition.documents))

    def tables(self) -> dict[str, pa.Table]:
        """Return documents, components, term_vectors and vocab."""
        terms = TERM_VECTORS.table(term=self.weights.terms, vector=_vectors(self.decomposition.terms))
        return {
            "documents": self.documents(),
            "components": self.components(),
            "term_vectors": terms,
            "vocab": self.weights.vocabulary(),
        }

    def results(self) -> dict[str, Any]:
        """Return sizes, singular values, and how much of the variance they explain."""
        decomposition = self.decomposition
        return {
            "documents": self.weights.corpus.n_docs,
            "terms": len(self.weights.kept),
            "components": len(decomposition.singular_values),
            "singular_values": decomposition.singular_values.tolist(),
            "explained_variance_ratio": decomposition.explained_variance_ratio.tolist(),
            "explained_variance": float(decomposition.explained_variance_ratio.sum()),
        }

    def save(self, path: str | Path, *, force: bool = False) -> dict[str, Any]:
        """Write a run directory; return what was written.

        Raises:
            OutputExistsError: it is there and `force` was not given.
        """
        weights, results, left_out = self.weights, self.results(), self.weights.left_out()
        weigher = weights.weighting
        config = {
            "kind": self.method, "scheme": asdict(weigher.scheme), "n_docs": weights.corpus.n_docs,
            "mean_length": weigher.mean_length, "pivot": weigher.pivot,
        }  # fmt: skip
        files = RunTables(self.tables(), {} if left_out is None else {"terms": left_out}, config)
        run = new_run(
            self.method, files, weights.stream, command="tfidf", parameters=weights.block["parameters"],
            further={self.method: self.asked}, results=results, execution=self.execution, seconds=self.seconds,
        )  # fmt: skip
        save_run(run, path, force=force)
        if self.n_empty:
            keep = "is a row of zeros" if self.n_empty == 1 else "are rows of zeros"
            if self.method == "pca":
                keep = "stand where a row of zeros does" if self.n_empty > 1 else "stands where a row of zeros does"
            reporting.note(f"{wording.counted(self.n_empty, 'document')} without a term {keep}")
        return {"run": str(Path(path)), "weights": self.n_weights, "empty": self.n_empty, **results}


def decompose(
    weights: DocumentTermWeights, dimensions: int, *, method: Method = "lsa", execution: Execution | None = None
) -> LatentSpace:
    """Return the latent semantic analysis of weights (Deerwester et al. 1990), or their PCA, in at most so many dimensions."""
    execution = execution or Execution()
    seconds: dict[str, float] = {}
    rows: list[pa.RecordBatch] = []
    with stopwatch(seconds, "weights"):
        X = stacked([group.weights for group in weights.groups(rows)])
    with stopwatch(seconds, "svd"):
        decomposition = (pca if method == "pca" else lsa)(X, dimensions, seed=execution.seed)
    rank = len(decomposition.singular_values)
    if dimensions > rank:
        reporting.note(f"the weights have rank {rank}: {rank} components instead of {dimensions}")
    n_empty = int((np.diff(X.indptr) == 0).sum())
    return LatentSpace(weights, decomposition, method, dimensions, rows, X.nnz, n_empty, seconds, execution)


def _vectors(matrix: FloatArray) -> pa.FixedSizeListArray:
    return embedding_column(matrix.astype(np.float32))

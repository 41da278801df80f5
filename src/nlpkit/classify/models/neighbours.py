"""Classes by what lies near: the k nearest documents vote, or the nearest mean of a class decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from scipy import sparse

from nlpkit.classify.models.linear import Array, Features, LinearModel, Link, checked_features, row_lengths
from nlpkit.cluster.neighbours import nearest_neighbours
from nlpkit.errors import SchemaError
from nlpkit.platform.kernels.topk import top_k_rows
from nlpkit.platform.types import BoolArray, Float32Array, FloatArray, IntArray

Vote: TypeAlias = Literal["similarity", "uniform"]

BLOCK_ROWS = 256  # documents whose similarities to all others are there at a time, where features are sparse


@dataclass(frozen=True, slots=True)
class NeighboursModel:
    """The k nearest documents by cosine vote for their labels (Cover & Hart 1967; Manning et al. 2008, §14.3).

    P(j | x) is the share of label j in the votes; a vote weighs its similarity, 0 where that is negative ("similarity",
    scikit-learn's weights=lambda d: maximum(1 - d, 0)), or 1 ("uniform", scikit-learn's default). A document that is like none
    of the others, such as an empty one, gets the shares of the labels in the training documents. Of equally near
    documents the earlier one counts. Scores are P; multi-label: P - ½.

    points: (N, E) float32, or (N, V) CSR of float64, rows of length 1.
    labels: (N, J) bool; shares: (J,) of each label in the training documents.
    """

    points: Features
    labels: BoolArray
    k: int
    vote: Vote = "similarity"
    multi_label: bool = False
    threads: int = 1

    kind: ClassVar[str] = "knn"
    converged: ClassVar[bool] = True

    @property
    def n_classes(self) -> int:
        """J."""
        return int(self.labels.shape[1])

    @property
    def link(self) -> Link:
        """Scores are probabilities, which calibration takes as margins."""
        return "margin"

    def decision(self, X: Features) -> FloatArray:
        """Return the probabilities (D, J), less ½ if multi-label.

        Raises:
            InputError: X has another number of features than the model, or values that are not finite.
        """
        p = self.probabilities(X)
        return p - 0.5 if self.multi_label else p

    def probabilities(self, X: Features) -> FloatArray:
        """Return the shares of the labels in the votes, (D, J) float64."""
        features = checked_features(X, self.points.shape[1])
        index, similarity = _nearest(features, self.points, self.k, self.threads)
        votes = np.maximum(similarity.astype(np.float64), 0.0)
        alone = ~(votes > 0).any(axis=1)
        if self.vote == "uniform":
            votes = np.ones(votes.shape)
        votes[alone] = 0.0
        total = votes.sum(axis=1)
        rows = np.repeat(np.arange(len(index)), index.shape[1])
        voters = sparse.csr_array((votes.ravel(), (rows, index.ravel())), shape=(len(index), len(self.labels)))
        p = np.asarray(voters @ self.labels.astype(np.float64)) / np.where(alone, 1.0, total)[:, None]
        p[alone] = self.labels.mean(axis=0)
        return np.minimum(p, 1.0)

    def config(self) -> dict[str, Any]:
        """Return kind, n_features, n_classes, k, vote and whether it is multi-label."""
        return {
            "kind": self.kind,
            "n_features": int(self.points.shape[1]),
            "n_classes": self.n_classes,
            "k": self.k,
            "vote": self.vote,
            "multi_label": self.multi_label,
        }

    def arrays(self) -> dict[str, Array]:
        """Return labels (N, J) uint8 and points (N, E), or data, indices and indptr of sparse points."""
        labels = {"labels": self.labels.astype(np.uint8)}
        if not sparse.issparse(self.points):
            return {"points": self.points, **labels}
        return {
            "data": self.points.data,
            "indices": self.points.indices,
            "indptr": self.points.indptr,
            **labels,
        }

    @classmethod
    def restored(cls, config: Mapping[str, Any], arrays: Mapping[str, Array]) -> NeighboursModel:
        """Return the model of `config` and `arrays`. Raises KeyError, SchemaError."""
        labels = np.asarray(arrays["labels"]).astype(np.bool_)
        shape = (len(labels), config["n_features"])
        points: Features
        if "points" in arrays:
            points = np.ascontiguousarray(arrays["points"], np.float32)
        elif len(arrays["indptr"]) == shape[0] + 1:
            points = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        else:
            points = np.zeros((0, 0))
        if points.shape != shape or labels.shape[1:] != (config["n_classes"],) or config["vote"] not in get_args(Vote):
            raise SchemaError(f"the neighbours of a knn model do not fit {shape[0]} documents of {shape[1]} features")
        return cls(points, labels, int(config["k"]), config["vote"], bool(config["multi_label"]))


def fit_neighbours(
    X: Features, labels: BoolArray, *, k: int, vote: Vote = "similarity", multi_label: bool = False, threads: int = 1
) -> NeighboursModel:
    """Return the model that keeps the documents X (D, V) or (D, E), scaled to length 1, and their labels (D, J) bool."""
    return NeighboursModel(_unit_rows(checked_features(X)), labels.copy(), k, vote, multi_label, threads)


def fit_nearest(
    X: Features, y: IntArray, n_classes: int, *, k: int, vote: Vote = "similarity", threads: int = 1
) -> NeighboursModel:
    """Return the neighbours of documents of one class each, y (D,) 0 … J-1."""
    return fit_neighbours(X, y[:, None] == np.arange(n_classes), k=k, vote=vote, threads=threads)


def fit_label_nearest(
    X: Features,
    Y: BoolArray,
    varies: BoolArray,
    fixed: FloatArray,
    *,
    k: int,
    vote: Vote = "similarity",
    threads: int = 1,
) -> NeighboursModel:
    """Return the neighbours of documents with labels Y (D, J); those that all have, or none, are the same for all neighbours."""
    return fit_neighbours(X, Y, k=k, vote=vote, multi_label=True, threads=threads)


def fit_centroids(X: Features, y: IntArray, n_classes: int) -> LinearModel:
    """Return the nearest centroid, Rocchio's classifier (Manning et al. 2008, §14.2), as a linear model of margins.

        argmin_j |x - m_j|²  =  argmax_j  2 x·m_j - |m_j|²,   m_j the mean of the class's documents; all x have length 1

    Equal to scikit-learn's NearestCentroid on rows of length 1. The softmax of -|x - m_j|² is no probability of anything:
    there are none without calibration.

    Args:
        X: (D, V) CSR or (D, E) array; rows are scaled to length 1. y: (D,) 0 … J-1, each in at least one document.
    """
    unit = _unit_rows(checked_features(X), np.float64)
    sizes = np.bincount(y, minlength=n_classes).astype(np.float64)
    members = sparse.csr_array((np.ones(len(y)), (y, np.arange(len(y)))), shape=(n_classes, len(y)))
    sums = members @ unit
    means = np.asarray(sums.toarray() if sparse.issparse(sums) else sums, np.float64) / sizes[:, None]
    return LinearModel(
        "centroid", np.ascontiguousarray(2.0 * means.T), -(means**2).sum(axis=1), "margin", unit_rows=True
    )


def _unit_rows(X: Features, dtype: Any = np.float32) -> Features:
    """Return the rows scaled to length 1, 0 where they are 0: CSR of float64, or an array of dtype."""
    lengths = row_lengths(X)
    if not sparse.issparse(X):
        return np.ascontiguousarray(X / lengths[:, None], dtype)
    data = X.data / np.repeat(lengths, np.diff(X.indptr))
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def _nearest(X: Features, points: Features, k: int, threads: int) -> tuple[IntArray, Float32Array]:
    """Return the index (D, k) and cosine (D, k) float32 of the nearest points, nearest first."""
    unit = _unit_rows(X)
    if not sparse.issparse(points):
        dense = unit.toarray().astype(np.float32) if sparse.issparse(unit) else unit
        nearest = nearest_neighbours(dense, points, k=k, threads=threads)
        return nearest.index, nearest.similarity
    rows = unit if sparse.issparse(unit) else sparse.csr_array(unit, dtype=np.float64)
    k = min(k, points.shape[0])
    index = np.full((rows.shape[0], k), -1, np.int32)
    similarity = np.full((rows.shape[0], k), -np.inf, np.float32)
    columns = points.T.tocsr()
    for start in range(0, rows.shape[0], BLOCK_ROWS):
        block = slice(start, min(start + BLOCK_ROWS, rows.shape[0]))
        scores = (rows[block] @ columns).toarray().astype(np.float32)
        top_k_rows(scores, 0, -1, index[block], similarity[block])
    return index, similarity

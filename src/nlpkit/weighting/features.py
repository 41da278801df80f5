"""The classes of documents, the features that distinguish them, and the best of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.types import FloatArray, IntArray
from nlpkit.weighting.contingency import Contingency
from nlpkit.weighting.selection import (
    ClassFeatures,
    FeatureSelection,
    best_features,
    feature_scores,
    features_of_class,
)

FEATURES_SCHEMA = pa.schema(
    [("class", pa.string()), ("rank", pa.int32()), ("term", pa.string()), ("score", pa.float64()),
     ("df_class", pa.int64()), ("df", pa.int64())]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DocumentClasses:
    """The classes of documents: names (J,) in order, of each document (D,) int32, -1 for none; what they share with terms."""

    by: str
    names: list[str]
    of_documents: IntArray
    table: Contingency | None

    @property
    def sizes(self) -> list[int]:
        """Documents of each class."""
        return [int(n) for n in np.bincount(self.of_documents[self.of_documents >= 0], minlength=len(self.names))]


@dataclass(frozen=True, slots=True)
class SelectedFeatures:
    """The terms that are kept, in the order of the vocabulary, the score of every term (V,), and the best of each class."""

    selection: FeatureSelection
    kept: IntArray
    scores: FloatArray
    of_classes: list[ClassFeatures]


def select_features(classes: DocumentClasses, selection: FeatureSelection, top_n: int) -> SelectedFeatures:
    """Return the features that a selection keeps, and the top_n of them for each class.

    Raises:
        InputError: no term has a score.
    """
    assert classes.table is not None
    table, score = classes.table, selection.score
    scores = feature_scores(table, score)
    if selection.n is None:
        kept = np.arange(len(scores), dtype=np.int32)
    else:
        kept = np.sort(best_features(scores, table.df, selection.count(len(scores)), score))
    if not len(kept):
        raise InputError(
            f"no term has a score by {score.name}: see the classes of '{classes.by}', or use another score"
        )
    among = np.zeros(len(scores), bool)
    among[kept] = True
    best = [features_of_class(table, score, j, top_n, among) for j in range(len(classes.names))]
    return SelectedFeatures(selection, kept, scores, best)


def features_table(selected: SelectedFeatures, classes: DocumentClasses, terms: Sequence[str]) -> pa.Table:
    """Return the best features of each class: class, rank, term, score, df_class, df."""
    assert classes.table is not None
    df = classes.table.df
    rows: dict[str, list[Any]] = {name: [] for name in FEATURES_SCHEMA.names}
    for name, best in zip(classes.names, selected.of_classes, strict=True):
        rows["class"] += [name] * len(best.term_ids)
        rows["rank"] += range(1, len(best.term_ids) + 1)
        rows["term"] += [terms[i] for i in best.term_ids]
        rows["score"] += best.scores.tolist()
        rows["df_class"] += best.df_class.tolist()
        rows["df"] += df[best.term_ids].tolist()
    return pa.table(rows, schema=FEATURES_SCHEMA)

"""`nlpkit tfidf --select`: classes of the documents, scores of the features, the best of each class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import wording
from nlpkit.cli import console
from nlpkit.errors import InputError
from nlpkit.types import CsrMatrix, FloatArray, IntArray
from nlpkit.weighting.contingency import ClassCounts, Contingency
from nlpkit.weighting.selection import (
    ClassFeatures,
    FeatureSelection,
    Score,
    best_features,
    feature_scores,
    features_of_class,
)
from nlpkit.workflows.groups import Groups

if TYPE_CHECKING:
    from nlpkit.weighting.tfidf import Weighting

FEATURES_SCHEMA = pa.schema(
    [
        ("class", pa.string()),
        ("rank", pa.int32()),
        ("term", pa.string()),
        ("score", pa.float64()),
        ("df_class", pa.int64()),
        ("df", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of documents: names (J,) in order, of each document (D,) int32, -1 for none; what they share with terms."""

    by: str
    names: list[str]
    of_documents: IntArray
    table: Contingency | None

    @property
    def sizes(self) -> list[int]:
        """Documents of each class."""
        return [int(n) for n in np.bincount(self.of_documents[self.of_documents >= 0], minlength=len(self.names))]


def read_classes(
    batches: Iterable[tuple[pa.RecordBatch, CsrMatrix]],
    groups: Groups,
    score: Score | None,
    how: Weighting,
) -> Classes:
    """Return the classes of all documents and, when there is a score, the table it is made from.

    Raises:
        ColumnError, InputError: see `Groups`; InputError: fewer than two classes.
    """
    made = None if score is None else ClassCounts(len(how.idf), with_values=score.of != "presence")
    codes = []
    for batch, counts in batches:
        codes.append(groups.of(batch))
        if made is not None and score is not None:
            made.add(how.weigh(counts) if score.of == "weights" else counts, codes[-1])
    names, places = groups.finish()
    if score is not None and len(names) < 2:
        raise InputError(
            f"'{groups.by}' has 1 class ({names[0]}); --select compares at least two: name another column with --by"
        )
    order = np.empty(len(names), np.int64)
    order[places[:-1]] = np.arange(len(names))
    table = None if made is None else made.table(order.tolist())
    return Classes(groups.by, names, places[np.concatenate(codes)], table)


@dataclass(frozen=True, slots=True)
class Selection:
    """The terms that are kept, in the order of the vocabulary, the score of every term (V,), and the best of each class."""

    wish: FeatureSelection
    kept: IntArray
    scores: FloatArray
    of_classes: list[ClassFeatures]


def select(classes: Classes, wish: FeatureSelection, top_n: int) -> Selection:
    """Return the features that the wish keeps, and the top_n of them for each class."""
    assert classes.table is not None
    table, score = classes.table, wish.score
    scores = feature_scores(table, score)
    if wish.n is None:
        kept = np.arange(len(scores), dtype=np.int32)
    else:
        kept = np.sort(best_features(scores, table.df, wish.count(len(scores)), score))
    if not len(kept):
        raise InputError(
            f"no term has a score by {score.name}: see the classes of '{classes.by}', or take another score"
        )
    among = np.zeros(len(scores), bool)
    among[kept] = True
    best = [features_of_class(table, score, j, top_n, among) for j in range(len(classes.names))]
    return Selection(wish, kept, scores, best)


def features_table(selection: Selection, classes: Classes, terms: Sequence[str]) -> pa.Table:
    """Return the best features of each class: class, rank, term, score, df_class, df."""
    assert classes.table is not None
    df = classes.table.df
    rows: dict[str, list[Any]] = {name: [] for name in FEATURES_SCHEMA.names}
    for name, best in zip(classes.names, selection.of_classes, strict=True):
        rows["class"] += [name] * len(best.term_ids)
        rows["rank"] += range(1, len(best.term_ids) + 1)
        rows["term"] += [terms[i] for i in best.term_ids]
        rows["score"] += best.scores.tolist()
        rows["df_class"] += best.df_class.tolist()
        rows["df"] += df[best.term_ids].tolist()
    return pa.table(rows, schema=FEATURES_SCHEMA)


def show_features(selection: Selection, classes: Classes, terms: Sequence[str], n: int = 10) -> None:
    """Print the best features of each class."""
    rows = [
        [name, wording.count(size), " ".join(terms[i] for i in best.term_ids[:n])]
        for name, size, best in zip(classes.names, classes.sizes, selection.of_classes, strict=True)
    ]
    console.table([classes.by, "documents", f"best features by {selection.wish.score.name}"], rows, right=["documents"],
        noun="classes", sizes=classes.sizes, rest="--features FILE")  # fmt: skip

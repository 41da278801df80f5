"""Features of documents for a classifier, fitted to training documents only: weighted words, hand-made features, columns of the
user's table, embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit import wording
from nlpkit.classify.columns import ColumnFeatures
from nlpkit.classify.rule_list import RuleList
from nlpkit.errors import InputError
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.pruning import prune
from nlpkit.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.weighting.contingency import Contingency, ContingencyCounter
from nlpkit.weighting.schemes import Scheme
from nlpkit.weighting.selection import FeatureScore, best_features, feature_scores
from nlpkit.weighting.tfidf import CorpusStats, Weighting, kept_columns, weighting


@dataclass(frozen=True, slots=True)
class VectorizerOptions:
    """Options of turning words into features: weights, bounds (those of `PreprocessOptions`), and a score that selects features."""

    scheme: Scheme
    bounds: PreprocessOptions
    select: FeatureScore | None = None
    count: Callable[[int], int] | None = None  # features to keep of so many


@dataclass(frozen=True, slots=True)
class Vectorizer:
    """Words that count, and their weights. terms, cf, df (V,) of the training documents, terms ascending;
    selected (F,) int32 ascending places among them, None for all; n_docs: training documents."""

    terms: tuple[str, ...]
    weighting: Weighting
    n_docs: int
    cf: LongArray
    df: LongArray
    selected: IntArray | None = None

    @property
    def feature_terms(self) -> list[str]:
        """The terms (F,) that the model sees."""
        return list(self.terms) if self.selected is None else [self.terms[i] for i in self.selected]

    def weigh(self, counts: CsrMatrix) -> CsrMatrix:
        """Return the features (D, F) float64 CSR of counts (D, V) of the terms."""
        weights = self.weighting.weigh(counts)
        if self.selected is None:
            return weights
        return kept_columns(weights, _places(self.selected, len(self.terms)), len(self.selected))

    def weigh_columns(self, counts: CsrMatrix, columns: IntArray) -> CsrMatrix:
        """Return the features of counts over other terms: columns (V',) int32 gives the place of each here, -1 for none, ascending."""
        return self.weigh(kept_columns(counts, columns, len(self.terms)))


def fit_vectorizer(
    counts: CsrMatrix, terms: Sequence[str], classes: IntArray | BoolArray, options: VectorizerOptions
) -> tuple[Vectorizer, IntArray]:
    """Return the features that training documents give, and the place of each of their V' terms among those that count, -1 for none.

    Args:
        counts: (n, V') CSR of the training documents. terms: (V',) in alphabetical order.
        classes: (n,) int32, or (n, J) bool of documents with several labels.

    Raises:
        InputError: no term is left; UsageError: an invalid bound.
    """
    n, n_terms = counts.shape
    df = np.bincount(counts.indices, minlength=n_terms).astype(np.int64)
    cf = np.bincount(counts.indices, counts.data, minlength=n_terms).astype(np.int64)
    pruned = prune(
        cf, df, np.zeros(n_terms, bool), options.bounds, n_docs=n, strings=lambda ids: [terms[i] for i in ids.tolist()]
    )
    kept = np.sort(pruned.kept[pruned.kept >= 0])
    if not len(kept):
        raise InputError(
            f"no word to learn from in {wording.counted(n, 'training document')}; try `min_df=1`, or another `text_col`"
        )
    columns = _places(kept, n_terms)
    names = tuple(terms[i] for i in kept)
    stats = CorpusStats(n, names, cf[kept], df[kept])
    # made when it is read: most weights need only the statistics
    fitted = weighting(stats, options.scheme, map(kept_columns, [counts], [columns], [len(kept)]))
    if options.select is None:
        return Vectorizer(names, fitted, n, cf[kept], df[kept]), columns
    score, kept_counts = options.select, kept_columns(counts, columns, len(kept))
    table = contingency(
        fitted.weigh(kept_counts) if score.basis == "weights" else kept_counts,
        classes,
        with_values=score.basis != "presence",
    )
    scores = feature_scores(table, score)
    wanted = len(scores) if options.count is None else options.count(len(scores))
    best = np.sort(best_features(scores, table.df, wanted, score))
    if not len(best):
        raise InputError(f"no word has a score by {score.name} in the training documents; use another `select`")
    return Vectorizer(names, fitted, n, cf[kept], df[kept], best), columns


def contingency(matrix: CsrMatrix, classes: IntArray | BoolArray, *, with_values: bool) -> Contingency:
    """Return terms against classes; a document of several labels counts once for each, one of none not at all."""
    class_counts = ContingencyCounter(matrix.shape[1], with_values=with_values)
    if classes.ndim == 2:
        rows, codes = np.nonzero(classes)
        class_counts.add(sparse.csr_array(matrix)[rows], codes.astype(np.int32))
    else:
        class_counts.add(matrix, classes.astype(np.int32))
    return class_counts.table()


@dataclass(frozen=True, slots=True)
class Scaling:
    """Hand-made features by name, with the mean and standard deviation (F,) of each in the training documents."""

    names: tuple[str, ...]
    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def fit(cls, names: Sequence[str], values: FloatArray) -> Scaling:
        """Return the scaling of training values (n, F); a feature that never varies is left out by a deviation of 0."""
        return cls(tuple(names), values.mean(axis=0), values.std(axis=0))

    def apply(self, values: FloatArray) -> FloatArray:
        """Return values (D, F) with mean 0 and standard deviation 1 in the training documents."""
        safe = np.where(self.deviation > 1e-12, self.deviation, np.inf)
        scaled: FloatArray = (values - self.mean) / safe
        return scaled


@dataclass(frozen=True, slots=True)
class Features:
    """Inputs of a model: words, hand-made features and columns side by side; or which rules match; or embeddings (all None)."""

    vectorizer: Vectorizer | None
    scaling: Scaling | None = None
    columns: ColumnFeatures | None = None
    rules: RuleList | None = None

    @property
    def sees(self) -> str:
        """What the model sees: words (perhaps with the others), columns (without words), rules, or embedding."""
        if self.vectorizer is not None:
            return "words"
        if self.rules is not None:
            return "rules"
        return "embedding" if self.scaling is None and self.columns is None else "columns"

    @property
    def names(self) -> list[str]:
        """The features (F,) by name; hand-made ones and columns in angle brackets. None of an embedding."""
        if self.rules is not None:
            return self.rules.names
        words = [] if self.vectorizer is None else self.vectorizer.feature_terms
        hand = () if self.scaling is None else self.scaling.names
        columns = [] if self.columns is None else self.columns.names
        return [*words, *(f"<{name}>" for name in (*hand, *columns))]

    def join(self, words: CsrMatrix | None, hand: FloatArray | None, columns: CsrMatrix | None = None) -> Any:
        """Return the features (D, F) of weighted words (D, F'), hand-made values (D, H) and encoded columns (D, C)."""
        parts = [] if words is None else [words]
        if self.scaling is not None:
            assert hand is not None
            parts.append(sparse.csr_array(self.scaling.apply(hand)))
        if self.columns is not None:
            assert columns is not None
            parts.append(columns)
        return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.hstack(parts, format="csr"))


def _places(kept: IntArray, n: int) -> IntArray:
    places = np.full(n, -1, np.int32)
    places[kept] = np.arange(len(kept), dtype=np.int32)
    return places

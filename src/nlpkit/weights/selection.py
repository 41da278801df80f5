"""The selection of features for classification: counts of terms in classes, scores, and the best terms.

Parts, in this order:
- Terms against classes: counts that add up batch by batch, and from which every score of `selection` is made.
- Scores of features for classification, one feature at a time (lecture), and the best features by them.
- The classes of documents, the features that distinguish them, and the best of each class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray

MAX_CELLS = 1 << 28  # of one (J, V) array: 2 GB


@dataclass(frozen=True, slots=True)
class Contingency:
    """The contingency table of classes and terms.

    present (J, V) int64: documents of the class that hold the term; sizes (J,) int64: documents of the class;
    sums, squares (J, V) float64: Σ x and Σ x² over the documents of the class of the counts or weights x, or None.
    """

    present: LongArray
    sizes: LongArray
    sums: FloatArray | None = None
    squares: FloatArray | None = None

    @property
    def n_docs(self) -> int:
        """M: documents of all classes."""
        return int(self.sizes.sum())

    @property
    def df(self) -> LongArray:
        """Documents of all classes that hold each term (V,)."""
        df: LongArray = self.present.sum(axis=0)
        return df

    def columns(self, start: int, stop: int) -> Contingency:
        """Return the part of some terms; shares memory."""

        def cut(a: Any) -> Any:
            return None if a is None else a[:, start:stop]

        return Contingency(cut(self.present), self.sizes, cut(self.sums), cut(self.squares))

    def one_against_rest(self, j: int) -> Contingency:
        """Return the table of two rows: class j, and all others together."""
        rest = np.arange(len(self.sizes)) != j

        def two(a: Any) -> Any:  # the rest is summed: a difference of sums of weights could come out below zero
            return None if a is None else np.stack([a[j], a[rest].sum(axis=0)])

        return Contingency(two(self.present), two(self.sizes), two(self.sums), two(self.squares))


class ContingencyCounter:
    """The accumulator of a `Contingency`. Sums continue document by document: batches of any size give the same bits."""

    def __init__(self, n_terms: int, *, with_values: bool) -> None:
        """Start with no class; with_values: sums and squares of the counts or weights are wanted."""
        self.n_unlabelled = 0
        self._n_terms = n_terms
        self._sizes = np.zeros(0, np.int64)
        self._present = np.zeros(0, np.int64)
        self._sums = np.zeros(0) if with_values else None
        self._squares = np.zeros(0) if with_values else None

    def add(self, matrix: CsrMatrix, classes: IntArray) -> None:
        """Add documents: counts or weights (D_b, V) CSR, every stored entry a term that is there; class (D_b,), -1 for none.

        Raises:
            InputError: classes times terms do not fit into memory.
        """
        self._grow(int(classes.max(initial=-1)) + 1)
        known = classes >= 0
        self.n_unlabelled += int(len(classes) - known.sum())
        self._sizes += np.bincount(classes[known], minlength=len(self._sizes))
        lengths = np.diff(matrix.indptr)
        cells = np.repeat(classes.astype(np.int64) * self._n_terms, lengths) + matrix.indices
        values = matrix.data
        if not known.all():
            inside = np.repeat(known, lengths)
            cells, values = cells[inside], values[inside]
        np.add.at(self._present, cells, 1)
        if self._sums is not None and self._squares is not None:
            x = values.astype(np.float64)
            np.add.at(self._sums, cells, x)
            np.add.at(self._squares, cells, x * x)

    def _grow(self, n_classes: int) -> None:
        n_new = n_classes - len(self._sizes)
        if n_new <= 0:
            return
        if n_classes * self._n_terms > MAX_CELLS:
            raise InputError(
                f"more than {n_classes - 1:,} classes times {self._n_terms:,} terms do not fit into memory; use a "
                "column of fewer classes, or fewer terms (`min_df`)"
            )
        self._sizes = np.append(self._sizes, np.zeros(n_new, np.int64))
        self._present = np.append(self._present, np.zeros(n_new * self._n_terms, np.int64))
        if self._sums is not None and self._squares is not None:
            self._sums = np.append(self._sums, np.zeros(n_new * self._n_terms))
            self._squares = np.append(self._squares, np.zeros(n_new * self._n_terms))

    def table(self, order: Sequence[int] | None = None) -> Contingency:
        """Return the table of the documents added so far, classes as numbered, or in another order: order[i] is the number of class i."""
        rows = range(len(self._sizes)) if order is None else order

        def shaped(a: Any) -> Any:
            return None if a is None else a.reshape(-1, self._n_terms)[list(rows)]

        n = self._sizes[list(rows)]
        return Contingency(shaped(self._present), n, shaped(self._sums), shaped(self._squares))


# ------------------------------------------------------------------------------------------------------------------------
# Scores of features for classification, one feature at a time (lecture), and the best features by them.
#
# o_j documents of class j hold the term, n_j are in the class, df hold it in all, M are there. Logarithms are natural and
# 0 · ln 0 = 0. A class without documents counts for nothing. A score that is not defined is nan: a term in no labelled
# document under Gini or PMI, an F without two classes or without spread.


def gini(table: Contingency) -> FloatArray:
    """Return 1 - Σ_j P(c_j|f)², P(c_j|f) = o_j / df (V,): 0 for a term of one class, at most 1 - 1/J.

    Every term of a single document has 0, the best there is: bound document frequency from below (`min_df`).
    """
    return _impurity(table.present.astype(np.float64))


def gini_normalised(table: Contingency) -> FloatArray:
    """Return 1 - Σ_j [(P(c_j|f) / n_j) / Σ_s (P(c_s|f) / n_s)]² (V,): Gini as if all classes had the same size."""
    return _impurity(_ratio(table.present, table.sizes[:, None]))


def conditional_entropy(table: Contingency) -> FloatArray:
    """Return E(f) = -Σ_j [df/M · P(c_j|f) ln P(c_j|f) + (M-df)/M · P(c_j|¬f) ln P(c_j|¬f)] (V,), in nats."""
    M, df, n = table.n_docs, table.df, table.sizes[:, None]
    with_f, without_f = _ratio(table.present, df), _ratio(n - table.present, M - df)
    inner = df * _xlogy(with_f, with_f) + (M - df) * _xlogy(without_f, without_f)
    entropy: FloatArray = np.maximum(-_ratio(inner.sum(axis=0), M), 0.0)
    return entropy


def class_pmi(table: Contingency) -> FloatArray:
    """Return PMI(f, c_j) = ln(P(c_j|f) / P(c_j)) (J, V): minus infinity for a class without the term, nan for an empty one."""
    M, n = table.n_docs, table.sizes[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi: FloatArray = np.log(table.present * (M / n) / table.df)
    return pmi


def pmi_average(table: Contingency) -> FloatArray:
    """Return Σ_j n_j/M · ln(P(c_j|f) / P(c_j)) (V,).

    The lecture prefers large values, as Yang & Pedersen (1997). It is minus the Kullback-Leibler divergence of
    P(c|f) from P(c): 0 at most, reached by uninformative terms. For a class that never has the term the logarithm would be
    minus infinity, and all such terms, which are most, would be equal. They get one additional document, which is of every
    class in part, P(c_j|f) = (o_j + n_j/M) / (df + 1), so that they rank by how many documents of theirs the class has missed.
    """
    filled = table.sizes > 0
    share = table.sizes[filled] / max(table.n_docs, 1)
    present, expected = table.present[filled].astype(np.float64), share[:, None]
    added = ((present == 0).any(axis=0) & (table.df > 0)).astype(np.float64)  # documents added
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log((present + added * expected) / ((table.df + added) * expected))
    average: FloatArray = (expected * pmi).sum(axis=0)
    return average


def pmi_maximum(table: Contingency) -> FloatArray:
    """Return max_j ln(P(c_j|f) / P(c_j)) (V,)."""
    filled = table.sizes > 0
    if not filled.any():
        return np.full(table.present.shape[1], np.nan)
    pmi: FloatArray = class_pmi(table)[filled].max(axis=0)
    return pmi


def mutual_information(table: Contingency) -> FloatArray:
    """Return Σ_j P(c_j,f) ln(P(c_j|f)/P(c_j)) + P(c_j,¬f) ln(P(c_j|¬f)/P(c_j)) (V,), in nats: the information gain.

    Equal to scikit-learn's `mutual_info_classif(presence, discrete_features=True)`, and to H(c) - E(f).
    """
    M, df, n = table.n_docs, table.df, table.sizes[:, None]
    absent = n - table.present
    with_f = _xlogy(table.present, _ratio(table.present * float(M), df * n))
    without_f = _xlogy(absent, _ratio(absent * float(M), (M - df) * n))
    information: FloatArray = np.maximum(_ratio((with_f + without_f).sum(axis=0), M), 0.0)
    return information


def chi_squared(table: Contingency) -> FloatArray:
    """Return χ² of presence and absence against the classes, Σ_ij (o_ij - e_ij)² / e_ij, e_ij = #f_i·n_j / M (V,)."""
    M, df, n = table.n_docs, table.df, table.sizes[:, None]
    expected = _ratio(df * n.astype(np.float64), M)
    squared = (table.present - expected) ** 2
    chi2: FloatArray = (_ratio(squared, expected) + _ratio(squared, n - expected)).sum(axis=0)
    return chi2


def chi_squared_counts(table: Contingency) -> FloatArray:
    """Return χ² of the sums of counts per class against those expected by class size (V,): scikit-learn's `chi2(X, y)`."""
    sums = _values(table.sums)
    expected = _ratio(table.sizes[:, None] * sums.sum(axis=0), table.n_docs)
    chi2: FloatArray = _ratio((sums - expected) ** 2, expected).sum(axis=0)
    return chi2


def chi_squared_presence(table: Contingency) -> FloatArray:
    """Return χ² of the documents per class that hold a term against those expected by class size (V,), Σ_j (o_j - e_j)² / e_j.

    The half of `chi_squared` that looks at presence: scikit-learn's `chi2(X > 0, y)`, as on a CountVectorizer(binary=True).
    """
    expected = _ratio(table.df * table.sizes[:, None].astype(np.float64), table.n_docs)
    chi2: FloatArray = _ratio((table.present - expected) ** 2, expected).sum(axis=0)
    return chi2


def cramers_v_lecture(table: Contingency) -> FloatArray:
    """Return sqrt(χ² / (M · min{I, J})) (V,) with I = 2: the lecture's Cramér's V, which stays below 1."""
    return _cramers_v(table, min(2, _filled(table)))


def cramers_v(table: Contingency) -> FloatArray:
    """Return sqrt(χ² / (M · (min{I, J} - 1))) (V,) with I = 2: Cramér's V as usual, in [0, 1]; 0 for a single class."""
    return _cramers_v(table, min(2, _filled(table)) - 1)


def anova_f(table: Contingency) -> FloatArray:
    """Return F = [SSB / (J-1)] / [SSW / (M-J)] of the counts or weights of a term between the classes (V,).

    SSB = Σ_j n_j (x̄_j - x̄)², SSW = Σ_j (Σ x² - (Σ x)² / n_j). Equal to scikit-learn's `f_classif` on
    float64 (which takes int32 as float32). Infinity where classes differ but nothing varies within them.
    """
    sums, squares = _values(table.sums), _values(table.squares)
    M, J, n = table.n_docs, _filled(table), table.sizes[:, None]
    if J < 2 or M <= J:
        return np.full(sums.shape[1], np.nan)
    between = (n * (_ratio(sums, n) - sums.sum(axis=0) / M) ** 2).sum(axis=0)
    within = (squares - _ratio(sums**2, n)).sum(axis=0)
    noise = 8 * np.finfo(float).eps * np.sqrt(M) * squares.sum(axis=0)  # of sums of M numbers
    between, within = np.where(between > noise, between, 0.0), np.where(within > noise, within, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        f: FloatArray = (between / (J - 1)) / (within / (M - J))
    return f


@dataclass(frozen=True, slots=True)
class FeatureScore:
    """A score of features: its function of a `Contingency`, which direction is better, and the numbers it is based on."""

    name: str
    what: str
    function: Callable[[Contingency], FloatArray]
    larger_is_better: bool
    basis: Literal["presence", "counts", "weights"] = "presence"


SCORES = {
    score.name: score
    for score in (
        FeatureScore("chi2", "χ² of presence × class", chi_squared, True),
        FeatureScore("chi2-counts", "χ² of counts as scikit-learn", chi_squared_counts, True, "counts"),
        FeatureScore("chi2-presence", "χ² of presence alone as scikit-learn on 0 and 1", chi_squared_presence, True),
        FeatureScore("cramer-v", "Cramér's V, denominator M·min{I, J} (lecture)", cramers_v_lecture, True),
        FeatureScore("cramer-v-usual", "Cramér's V, denominator M·(min{I, J} - 1)", cramers_v, True),
        FeatureScore("mi", "mutual information = information gain (nats)", mutual_information, True),
        FeatureScore("entropy", "conditional entropy of the class (nats)", conditional_entropy, False),
        FeatureScore("gini", "Gini index (ties by document frequency)", gini, False),
        FeatureScore("gini-norm", "Gini index normalised by class size", gini_normalised, False),
        FeatureScore("pmi-avg", "mean PMI with the classes", pmi_average, True),
        FeatureScore("pmi-max", "largest PMI with a class", pmi_maximum, True),
        FeatureScore("anova-f", "ANOVA F of counts", anova_f, True, "counts"),
        FeatureScore("anova-f-weights", "ANOVA F of weights", anova_f, True, "weights"),
    )
}
_ALIASES = {"ig": "mi", "f": "anova-f", "chi2-sklearn": "chi2-counts", "cramers-v": "cramer-v", "anova": "anova-f"}


def score_named(name: str) -> FeatureScore:
    """Return a score by its name. Raises UsageError for an unknown one."""
    full_name = _ALIASES.get(name, name)
    if full_name not in SCORES:
        raise unknown_value("select", name, SCORES)
    return SCORES[full_name]


_CELLS = 1 << 21  # of a (J, terms) array at a time


def feature_scores(table: Contingency, score: FeatureScore) -> FloatArray:
    """Return the score of each term (V,), some terms at a time."""
    J, V = table.present.shape
    step = max(_CELLS // max(J, 1), 1)
    parts = [score.function(table.columns(start, start + step)) for start in range(0, V, step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def class_feature_scores(table: Contingency, score: FeatureScore, j: int) -> FloatArray:
    """Return the score of each term for class j against all other documents (V,); of a PMI the one with class j."""
    if score.function in (pmi_average, pmi_maximum):
        pmi: FloatArray = class_pmi(table.one_against_rest(j))[0]
        return pmi
    return feature_scores(table.one_against_rest(j), score)


def best_features(scores: FloatArray, df: LongArray, n: int, score: FeatureScore) -> IntArray:
    """Return the n terms of best score, best first; ties by higher df, then by term id; terms without a score never."""
    key = -scores if score.larger_is_better else scores
    order = np.lexsort((np.arange(len(scores)), -df, key))
    best: IntArray = order[~np.isnan(scores[order])][:n].astype(np.int32)
    return best


@dataclass(frozen=True, slots=True)
class ClassFeatures:
    """The best features of a class, best first: term_ids (n,), scores (n,), df_class (n,) documents of it that hold the term."""

    term_ids: IntArray
    scores: FloatArray
    df_class: LongArray


def features_of_class(
    table: Contingency, score: FeatureScore, j: int, n: int, among: BoolArray | None = None
) -> ClassFeatures:
    """Return the n best features of class j against the rest, of those that are more frequent in it than in all documents.

    Args:
        among: (V,) terms that may be taken; None for all.
    """
    scores = class_feature_scores(table, score, j)
    if score.basis == "presence":
        overrepresented = table.present[j] * table.n_docs > table.df * table.sizes[j]
    else:
        sums = _values(table.sums)
        overrepresented = sums[j] * table.n_docs > sums.sum(axis=0) * table.sizes[j]
    allowed = np.flatnonzero(overrepresented if among is None else overrepresented & among)
    best = allowed[best_features(scores[allowed], table.present[j][allowed], n, score)]
    return ClassFeatures(best.astype(np.int32), scores[best], table.present[j][best])


def _impurity(amounts: FloatArray) -> FloatArray:
    total = amounts.sum(axis=0)
    impurity = 1.0 - (_ratio(amounts, total) ** 2).sum(axis=0)
    return np.where(total > 0, impurity, np.nan)


def _cramers_v(table: Contingency, degrees: int) -> FloatArray:
    v: FloatArray = np.sqrt(_ratio(chi_squared(table), table.n_docs * degrees))
    return v


def _xlogy(x: Any, y: FloatArray) -> FloatArray:
    """Return x · ln y, 0 where x is 0; as scipy.special's, which takes longer to load than all scores of a corpus."""
    product: FloatArray = x * np.log(np.where(np.asarray(x) != 0, y, 1.0))
    return product


def _filled(table: Contingency) -> int:
    return int((table.sizes > 0).sum())


def _values(array: FloatArray | None) -> FloatArray:
    if array is None:
        raise ValueError("this score needs sums of counts or weights: ContingencyCounter(…, with_values=True)")
    return array


def _ratio(above: Any, below: Any) -> FloatArray:
    """Return above / below, 0 where below is 0."""
    above, below = np.broadcast_arrays(np.asarray(above, np.float64), np.asarray(below, np.float64))
    ratio: FloatArray = np.divide(above, below, out=np.zeros(above.shape), where=below != 0)
    return ratio


@dataclass(frozen=True, slots=True)
class FeatureSelection:
    """A score by which terms are selected, and how many are kept: None for all, a number below 1 for a share of them."""

    score: FeatureScore
    n: float | None

    @classmethod
    def parse(cls, text: str | None) -> FeatureSelection | None:
        """Return the selection that a text such as chi2:2000 names, None for None. Raises UsageError when it names none."""
        if text is None:
            return None
        name, colon, number = text.partition(":")
        score = score_named(name)
        if not colon:
            return cls(score, None)
        try:
            n = float(number)
        except ValueError:
            n = 0.0
        if not n > 0 or (n >= 1 and n != int(n)):
            raise UsageError(
                f"`select={text}`: after the colon, write a number of terms or a share such as 0.1", parameter="select"
            )
        return cls(score, n)

    def count(self, n_terms: int) -> int:
        """Return the number of terms to keep of so many."""
        if self.n is None:
            return n_terms
        return max(round(self.n * n_terms), 1) if self.n < 1 else int(self.n)


# ------------------------------------------------------------------------------------------------------------------------
# The classes of documents, the features that distinguish them, and the best of each class.

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

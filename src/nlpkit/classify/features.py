"""The features of documents for a classifier: words, hand-made features, columns of the table, embeddings.

Parts, in this order:
- Features of a text that need no vocabulary, on the scales that suit a linear classifier (for reviews, posts and mail).
- Columns of the user's table as features: numbers with mean 0 and standard deviation 1, texts as categories, 0 or 1
  each.
- Weighted words and all other features together, fitted to training documents only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.classify.models.rule_list import RuleList
from nlpkit.errors import ColumnError, InputError
from nlpkit.platform import wording
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.platform.values import as_label, python_values
from nlpkit.text.fitted import prune
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.surface import RATIOS, surface_counts, surface_ratio
from nlpkit.weights.options import Scheme
from nlpkit.weights.selection import Contingency, ContingencyCounter, FeatureScore, best_features, feature_scores
from nlpkit.weights.tfidf import CorpusStats, Weighting, kept_columns, weighting

HAND_FEATURES: dict[str, str] = {
    "characters": "log(1 + n) of the characters",
    "words": "log(1 + n) of the words",
    "sentences": "log(1 + n) of the sentences",
    "word_length": "log(1 + mean number of characters of a word)",
    "sentence_length": "log(1 + mean number of words of a sentence)",
    "type_token_ratio": "share of different words, case aside",
    "upper_share": "share of letters that are upper case",
    "capital_words": "share of words of two letters or more that are all upper case",
    "digit_share": "share of characters that are digits",
    "punctuation_share": "share of characters that are punctuation",
    "exclamations": "log(1 + n) of exclamation marks",
    "questions": "log(1 + n) of question marks",
    "quotes": "log(1 + n) of quotation marks",
    "links": "log(1 + n) of web addresses",
    "mentions": "log(1 + n) of @names",
    "hashtags": "log(1 + n) of #words",
    "emoji": "log(1 + n) of emoji",
    "line_breaks": "log(1 + n) of line breaks",
}

_SHARES = ("type_token_ratio", "upper_share", "capital_words", "digit_share", "punctuation_share")
_COUNTED = {"line_breaks": "breaks"}  # whose column of counts is called otherwise


def hand_features(texts: pa.Array) -> FloatArray:
    """Return the features of each text (D, F), in the order of HAND_FEATURES; all are 0 for an empty text, none is ever NaN.

    Counts n and mean lengths enter as log(1 + n), shares lie in [0, 1]; `nlpkit.text.surface.surface_counts` says what is counted.

    Args:
        texts: (D,) Arrow string or large_string, null counts as empty.
    """
    counts = surface_counts(texts)
    columns = []
    for name in HAND_FEATURES:
        values = surface_ratio(name, counts, undefined=0.0) if name in RATIOS else counts[_COUNTED.get(name, name)]
        columns.append(values if name in _SHARES else np.log1p(values))
    return np.stack(columns, axis=1)


# ------------------------------------------------------------------------------------------------------------------------
# Columns of the user's table as features: numbers with mean 0 and standard deviation 1, texts as categories, 0 or 1 each.

Column: TypeAlias = pa.Array | pa.ChunkedArray
CONSTANT = 1e-12  # a standard deviation that is rounding


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers, with its mean and standard deviation over the training documents that have a value.

    indicator: whether a second feature says where the value is missing; a missing value itself is the mean.
    """

    name: str
    mean: float
    deviation: float
    indicator: bool

    @classmethod
    def fit(cls, name: str, column: Column) -> NumberColumn:
        """Return the scaling of training values (n,); the mean of no value is 0."""
        values = read_numbers(name, column)
        present = values[~np.isnan(values)]
        if not len(present):
            return cls(name, 0.0, 0.0, indicator=False)
        return cls(name, float(present.mean()), float(present.std()), indicator=len(present) < len(values))

    @property
    def features(self) -> list[str]:
        """The names of its features (F,)."""
        return [self.name, f"{self.name} is missing"] if self.indicator else [self.name]

    def encode(self, column: Column) -> EncodedColumn:
        """Return the features of values (D,): (x - mean) / deviation, 0 where it is missing or never varied."""
        values = read_numbers(self.name, column)
        missing = np.isnan(values)
        scale = self.deviation if self.deviation > CONSTANT else np.inf
        parts = [np.where(missing, 0.0, (values - self.mean) / scale)]
        if self.indicator:
            parts.append(missing.astype(np.float64))
        return EncodedColumn(sparse.csr_array(np.stack(parts, axis=1)), missing, np.zeros(len(values), bool))


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """A column of texts, with the different ones of the training documents, ascending.

    indicator: whether a feature says where the value is missing. A text that no training document has is none of the categories.
    """

    name: str
    categories: tuple[str, ...]
    indicator: bool

    @classmethod
    def fit(cls, name: str, column: Column) -> CategoryColumn:
        """Return the categories of training values (n,)."""
        values = read_texts(column)
        return cls(name, tuple(sorted({v for v in values if v is not None})), indicator=None in values)

    @property
    def features(self) -> list[str]:
        """The names of its features (F,)."""
        named = [f"{self.name}={category}" for category in self.categories]
        return [*named, f"{self.name} is missing"] if self.indicator else named

    def encode(self, column: Column) -> EncodedColumn:
        """Return the features of values (D,): 1 for the category of a document, 0 for the others."""
        values = read_texts(column)
        places = {category: i for i, category in enumerate(self.categories)}
        missing = np.fromiter((v is None for v in values), bool, len(values))
        place: IntArray = np.fromiter((-1 if v is None else places.get(v, -1) for v in values), np.int32, len(values))
        unseen = (place < 0) & ~missing
        if self.indicator:
            place[missing] = len(self.categories)
        rows = np.flatnonzero(place >= 0).astype(np.int32)  # LIBLINEAR reads no indices of 64 bits
        shape = (len(values), len(self.features))
        return EncodedColumn(
            sparse.csr_array((np.ones(len(rows)), (rows, place[rows])), shape=shape), missing, np.asarray(unseen)
        )


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """matrix (D, F) float64 CSR; missing, unseen (D,) bool: rows without a value, and with one that no training document has."""

    matrix: CsrMatrix
    missing: BoolArray
    unseen: BoolArray


@dataclass(frozen=True, slots=True)
class ColumnFeatures:
    """Columns as features, fitted to training documents and to no others."""

    columns: tuple[NumberColumn | CategoryColumn, ...]

    @classmethod
    def fit(cls, table: pa.Table) -> ColumnFeatures:
        """Return the features of a table of training documents (n rows): a column of numbers or of true and false is scaled, a
        column of texts gives a feature for each different one.

        Raises:
            ColumnError: a column of dates, lists or the like.
        """
        fitted: list[NumberColumn | CategoryColumn] = []
        for name in table.column_names:
            kind = NumberColumn if kind_of(name, table.schema.field(name).type) == "number" else CategoryColumn
            fitted.append(kind.fit(name, table.column(name)))
        return cls(tuple(fitted))

    @property
    def column_names(self) -> list[str]:
        """The columns, in order."""
        return [column.name for column in self.columns]

    @property
    def names(self) -> list[str]:
        """The features (F,) by name."""
        return [feature for column in self.columns for feature in column.features]

    def encode(self, table: pa.Table | pa.RecordBatch, counts: ColumnCounts | None = None) -> CsrMatrix:
        """Return the features (D, F) float64 CSR of the columns of any documents.

        counts: where missing and unseen values are counted.

        Raises:
            ColumnError: a value of a column of numbers that is none.
        """
        parts = []
        for column in self.columns:
            encoded = column.encode(table.column(column.name))
            parts.append(encoded.matrix)
            if counts is not None:
                counts.add(column.name, encoded)
        return sparse.csr_array(sparse.hstack(parts, format="csr"))


@dataclass(slots=True)
class ColumnCounts:
    """Documents without a value of a column, and those with one that no training document has, by column; those of none are left out."""

    missing: dict[str, int] = field(default_factory=dict)
    unseen: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, encoded: EncodedColumn) -> None:
        """Count the rows of a column."""
        for counts, rows in ((self.missing, encoded.missing), (self.unseen, encoded.unseen)):
            n = int(rows.sum())
            if n:
                counts[name] = counts.get(name, 0) + n


def kind_of(name: str, kind: pa.DataType) -> str:
    """Return number or category. Raises ColumnError for a column of another type."""
    types = pa.types
    if types.is_dictionary(kind):
        return kind_of(name, kind.value_type)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return "category"
    raise ColumnError(
        f"column '{name}' holds {kind}. A feature column needs numbers, true and false, or texts; convert it, or "
        f"read it as text with `types={name}=string`"
    )


def read_numbers(name: str, column: Column) -> FloatArray:
    """Return values (D,) float64, NaN for a missing or infinite one; texts are read as numbers.

    Raises:
        ColumnError: a text that is no number.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    if kind_of(name, array.type) == "category":
        array = _parsed(name, array.cast(pa.large_string()))
    values: FloatArray = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _parsed(name: str, texts: pa.Array) -> pa.Array:
    """Return texts as numbers, empty ones as null."""
    trimmed = pc.utf8_trim_whitespace(texts)
    trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        wrong = next(text for text in trimmed.to_pylist() if text is not None and not _is_number(text))
        raise ColumnError(
            f"column '{name}' held numbers in the training documents and holds '{wrong}' here; write it as a number, or leave it empty"
        ) from None


def _is_number(text: str) -> bool:
    try:
        pa.scalar(text).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def read_texts(column: Column) -> list[str | None]:
    """Return values (D,) as texts, None for a missing or empty one; 1.0 is 1."""
    return [as_label(value) for value in python_values(column)]


def tells_labels(column: Column, labels: Sequence[str | None]) -> bool:
    """Return whether each value of a column (D,) comes with one label only, as a copy of the labels does, or what they were made of.

    Values that hardly repeat (more than one for two documents, as ids) tell nothing.
    """
    pairs = {
        (value, label) for value, label in zip(read_texts(column), labels, strict=True) if None not in (value, label)
    }
    values = {value for value, _ in pairs}
    n_labels = len({label for _, label in pairs})
    return n_labels > 1 and len(pairs) == len(values) and 2 * len(values) <= _known(labels)


def _known(labels: Iterable[str | None]) -> int:
    return sum(label is not None for label in labels)


# ------------------------------------------------------------------------------------------------------------------------
# Features of documents for a classifier, fitted to training documents only: weighted words, hand-made features, columns of the
# user's table, embeddings.


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

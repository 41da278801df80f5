"""What a classifier is fitted to: documents in every form that a model may want, its configuration, and the features of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.calibration import Method
from nlpkit.classify.columns import ColumnFeatures
from nlpkit.classify.costs import Costs
from nlpkit.classify.decision_options import Wanted
from nlpkit.classify.features import Features, Scaling, VectorizerOptions, fit_vectorizer
from nlpkit.classify.kinds import KINDS, ModelOptions
from nlpkit.classify.rule_list import RuleList
from nlpkit.classify.search import Search
from nlpkit.classify.word_networks import WordRows
from nlpkit.classify.words import CutWords, TokenizedWords, WordCounts
from nlpkit.errors import InputError
from nlpkit.types import CsrMatrix, Float32Array, FloatArray, LongArray


@dataclass(frozen=True, slots=True)
class FeatureSources:
    """All documents in every form a model may want: words, hand-made features (D, H), columns (D rows), embeddings (D, E), and which
    rules match (D, R)."""

    n_docs: int
    words: CutWords | TokenizedWords | None = None
    hand_names: tuple[str, ...] = ()
    hand: FloatArray | None = None
    columns: pa.Table | None = None
    embeddings: Float32Array | None = None
    rules: RuleList | None = None
    matches: CsrMatrix | None = None


@dataclass(frozen=True, slots=True)
class ClassifierConfig:
    """Configuration of a classifier. vectorizer: None where the model sees no words; ngrams: None for those of the words;
    hand, columns: whether it sees these; without any of the three it sees embeddings. calibrate: None for none; search: the
    number of the model that training documents choose, None for none; wanted: of the decisions for single classes;
    costs: of errors, None where the most probable class is predicted."""

    name: str
    model: ModelOptions
    vectorizer: VectorizerOptions | None
    ngrams: tuple[int, int] | None = None
    hand: bool = False
    calibrate: Method | None = None
    search: Search | None = None
    wanted: tuple[Wanted, ...] = ()
    columns: bool = False
    costs: Costs | None = None

    @property
    def sees_embeddings(self) -> bool:
        """Whether the model sees embeddings."""
        return self.vectorizer is None and not self.hand and not self.columns and self.model.kind != "rules"

    @property
    def least(self) -> int:
        """Documents of a term below which it is not even counted; a share of documents is left to each training set."""
        bound = None if self.vectorizer is None else self.vectorizer.bounds.min_df
        return bound if isinstance(bound, int) else 1


@dataclass(frozen=True, slots=True)
class PreparedFeatures:
    """Features fitted to training documents, a function that gives those (n, F) of any rows, and the words they are made of."""

    features: Features
    matrix: Callable[[LongArray], Any]
    counted: WordCounts | None = None


def prepare_features(sources: FeatureSources, y: Any, train: LongArray, config: ClassifierConfig) -> PreparedFeatures:
    """Return the features of all documents, fitted to the training documents, which have the classes y.

    Raises:
        InputError: the training documents have nothing that tells one from another.
    """
    if config.sees_embeddings:
        assert sources.embeddings is not None
        embeddings = sources.embeddings
        if all((embeddings[d] == embeddings[train[0]]).all() for d in train):  # as a rule the second one differs
            raise InputError(
                f"nothing to learn from: all {len(train):,} training documents have the same embedding; are their "
                "texts empty?"
            )
        return PreparedFeatures(Features(None), lambda rows: embeddings[rows])
    if config.model.kind == "rules":
        assert sources.matches is not None
        matches = sources.matches
        return PreparedFeatures(Features(None, rules=sources.rules), lambda rows: matches[rows])
    vectorizer = counted = scaling = fitted_columns = None
    if config.vectorizer is not None:
        assert sources.words is not None
        ordered = KINDS[config.model.kind].ordered
        counted = sources.words.counted(train, ngrams=config.ngrams, least=config.least, ordered=ordered)
        vectorizer, places = fit_vectorizer(_some(counted.counts, train), counted.terms, y, config.vectorizer)
    if config.hand:
        assert sources.hand is not None
        scaling = Scaling.fit(sources.hand_names, sources.hand[train])
    if config.columns:
        assert sources.columns is not None
        fitted_columns = ColumnFeatures.fit(sources.columns.take(pa.array(train)))
    features = Features(vectorizer, scaling, fitted_columns)

    if vectorizer is not None and counted is not None and counted.tokens is not None:
        offsets, ids = counted.tokens.offsets, places[counted.tokens.term_ids]
        n_words = len(vectorizer.terms)
        return PreparedFeatures(features, lambda rows: WordRows.from_tokens(offsets, ids, rows, n_words), counted)

    def matrix(rows: LongArray) -> Any:
        words = None
        if vectorizer is not None and counted is not None:
            words = vectorizer.weigh_columns(_some(counted.counts, rows), places)
        hand = None if sources.hand is None else sources.hand[rows]
        encoded = None
        if fitted_columns is not None and sources.columns is not None:
            encoded = fitted_columns.encode(sources.columns.take(pa.array(rows)))
        return features.join(words, hand, encoded)

    return PreparedFeatures(features, matrix, counted)


def _some(counts: CsrMatrix, rows: LongArray) -> CsrMatrix:
    """Return the counts of some rows; of rows that follow each other, such as those of a training file, without a copy."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return counts[int(rows[0]) : int(rows[-1]) + 1]
    return counts[rows]

"""Estimators for scikit-learn: nlpkit's vectoriser, classifiers and LDA for a Pipeline and GridSearchCV.

They are thin wrappers over the functions of nlpkit, and pass scikit-learn's `check_estimator`. They can be cloned and pickled.
`get_feature_names_out` gives the names of the columns that the vectoriser and LDA return.

Example:
    >>> from nlpkit.estimators import Classifier, TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> texts, labels = ["river water fish", "money bank loan"] * 5, ["nature", "finance"] * 5
    >>> model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), Classifier("svm")).fit(texts, labels)
    >>> [str(label) for label in model.predict(["a loan", "some fish"])]
    ['finance', 'nature']
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from nlpkit.classify.fit import fit_model
from nlpkit.classify.kinds import KINDS, ModelOptions
from nlpkit.classify.models.linear import Model
from nlpkit.platform.documents.corpus import Corpus
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.platform.values import is_missing
from nlpkit.topics.base.heldout import infer_topics
from nlpkit.topics.base.model import MixtureModel
from nlpkit.topics.lda.fit import fit_lda
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.weights.run import tfidf, weigh

COUNTS = ("nb", "complement-nb")  # kinds that take counts or weights of words only

__all__ = ["Classifier", "LatentDirichletAllocation", "TfidfVectorizer"]


class TfidfVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn texts into weighted terms as `nlpkit.tfidf` does; the result is a CSR matrix (D, V).

    Args:
        scheme: the weighting by its SMART letters or scikit-learn's name. ntn is tf · ln(M / df).
        language: language of the texts: an ISO code, "auto" (detected) or "none".
        tokenizer: how texts are cut: "words", "sklearn", "whitespace" or "chars:3-5".
        stop_words: words to leave out: "auto" (the list of the language), "none", codes or files.
        lower: turn texts into lower case.
        ngrams: lengths of terms in words, such as "1,2" or (1, 2).
        min_df: least number of documents of a term, or a share; "auto": 2 from 100 documents on, else 1.
        max_df: greatest number of documents of a term, or a share.
        max_vocab: keep only the most frequent terms; None: all.
        ngram_range: scikit-learn's name of `ngrams`, such as (1, 2); it takes the place of `ngrams`.
        n_jobs: threads, None for all. The result does not depend on them.

    Attributes:
        vocabulary_: each term with its column.
        model_: the weights that `transform` uses, as `nlpkit.tfidf` gives them.

    Example:
        >>> from nlpkit.estimators import TfidfVectorizer
        >>> vectorizer = TfidfVectorizer(min_df=1).fit(["river water", "bank money"])
        >>> vectorizer.get_feature_names_out().tolist()
        ['bank', 'money', 'river', 'water']
        >>> vectorizer.transform(["water"]).shape
        (1, 4)
    """

    def __init__(
        self,
        scheme: str = "ntn",
        *,
        language: str = "auto",
        tokenizer: str = "words",
        stop_words: str = "auto",
        lower: bool = True,
        ngrams: str | int | tuple[int, int] = "1",
        min_df: str | float = "auto",
        max_df: str | float = "1.0",
        max_vocab: int | None = None,
        ngram_range: tuple[int, int] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.scheme, self.language, self.tokenizer, self.stop_words = scheme, language, tokenizer, stop_words
        self.lower, self.ngrams, self.min_df, self.max_df = lower, ngrams, min_df, max_df
        self.max_vocab, self.ngram_range, self.n_jobs = max_vocab, ngram_range, n_jobs

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the terms and their weights from texts (D,)."""
        self.fit_transform(raw_documents)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the terms from texts (D,) and return their weights (D, V) CSR."""
        settings = self.get_params()
        execution = Execution(threads=_threads(settings.pop("n_jobs")))
        if (sizes := settings.pop("ngram_range")) is not None:
            settings["ngrams"] = sizes
        for bound in ("min_df", "max_df"):
            settings[bound] = str(settings[bound])
        weights = tfidf(_corpus(raw_documents), execution=execution, **settings)
        self.model_ = weights.model
        self.vocabulary_ = {term: column for column, term in enumerate(weights.terms)}
        return sparse.csr_matrix(weights.matrix)

    def transform(self, raw_documents: Any) -> Any:
        """Return the weights (D, V) CSR of texts, of the terms that were learned."""
        check_is_fitted(self)
        execution = Execution(threads=_threads(self.n_jobs))
        return sparse.csr_matrix(weigh(self.model_, _corpus(raw_documents), execution=execution).matrix)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the terms by column (V,)."""
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify rows of a matrix of features, which is dense, or CSR as a vectoriser returns it.

    `predict_proba` exists for kinds with probabilities (not svm and centroid), `decision_function` for all but nb and complement-nb.

    Args:
        kind: nb, bernoulli-nb, complement-nb, logreg, svm, knn, centroid, mlp or kan.
        alpha: smoothing (nb, bernoulli-nb, complement-nb).
        C: inverse strength of the penalty (logreg, svm).
        balanced: weight classes equally (logreg, svm, mlp, kan).
        k: number of neighbours (knn).
        hidden: number of hidden units (mlp, kan).
        epochs: number of passes over the data (mlp).
        random_state: seed (svm, mlp, kan).
        n_jobs: threads, None for all. The result does not depend on them.

    Attributes:
        classes_: the classes (J,).
        n_features_in_: number of features V.
        model_: the fitted `nlpkit.classify.models.linear.Model`.

    Example:
        >>> from nlpkit.estimators import Classifier
        >>> model = Classifier("logreg").fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
        >>> model.predict([[0.2, 0.9]]).tolist()
        ['a']
        >>> model.predict_proba([[0.2, 0.9]]).shape
        (1, 2)
    """

    def __init__(
        self,
        kind: str = "logreg",
        *,
        alpha: float = 1.0,
        C: float = 1.0,
        balanced: bool = False,
        k: int = 15,
        hidden: int = 128,
        epochs: int = 200,
        random_state: Any = 42,
        n_jobs: int | None = None,
    ) -> None:
        self.kind, self.alpha, self.C, self.balanced = kind, alpha, C, balanced
        self.k, self.hidden, self.epochs = k, hidden, epochs
        self.random_state, self.n_jobs = random_state, n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier to features X (D, V) and the class of each document y (D,). Raises ValueError where they do not fit."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        if self.kind in COUNTS and _least(X) < 0:
            raise ValueError(f"Negative values in data passed to {self.kind}: it takes counts or weights of words")
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"a classifier needs at least two classes, y has one class: {self.classes_[0]}")
        options = ModelOptions(
            self.kind,
            alpha=self.alpha,
            C=self.C,
            balanced=self.balanced,
            k=self.k,
            hidden=self.hidden,
            epochs=self.epochs,
        )
        self.model_: Model = fit_model(
            _features(X),
            codes.astype(np.int32),
            len(self.classes_),
            options,
            seed=_seed(self.random_state),
            threads=_threads(self.n_jobs),
        )
        return self

    @available_if(lambda self: self.kind not in COUNTS)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the score of each class (D, J), of two classes that of the second over the first (D,)."""
        features = self._checked(X)
        scores = self.model_.decision(features)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Return the class of each document (D,)."""
        features = self._checked(X)
        return self.classes_[self.model_.decision(features).argmax(axis=1)]

    @available_if(lambda self: self.kind not in KINDS or KINDS[self.kind].probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class (D, J); svm and centroid have none."""
        features = self._checked(X)
        return self.model_.probabilities(features)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return _features(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.kind in COUNTS
        tags.classifier_tags.poor_score = self.kind in COUNTS  # on features that are not counts
        return tags


class LatentDirichletAllocation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fit LDA by collapsed Gibbs sampling to a matrix of counts (D, V); other numbers are rounded to whole ones.

    `get_feature_names_out` names the topics as scikit-learn does: latentdirichletallocation0, latentdirichletallocation1 …

    Args:
        n_components: number of topics K.
        alpha: prior of each topic in a document; None: 1 / K at the start, then re-estimated every ten sweeps.
        eta: prior of each term in a topic; None: 1 / K.
        sweeps: passes over the corpus.
        random_state: seed.
        n_jobs: threads, None for all. The result does not depend on them.

    Attributes:
        components_: counts n_kv + eta (K, V). Each row divided by its sum is a row of phi.
        n_features_in_: number of terms V.
        model_: the fitted `nlpkit.topics.base.model.MixtureModel`.

    Example:
        >>> from nlpkit.estimators import LatentDirichletAllocation
        >>> counts = [[3, 2, 0, 0], [0, 0, 2, 3]] * 5
        >>> LatentDirichletAllocation(2, sweeps=20).fit_transform(counts).shape
        (10, 2)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        alpha: float | None = None,
        eta: float | None = None,
        sweeps: int = 200,
        random_state: Any = 42,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components, self.alpha, self.eta, self.sweeps = n_components, alpha, eta, sweeps
        self.random_state, self.n_jobs = random_state, n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit topics to counts X (D, V). Raises ValueError for negative numbers, and where there is no token."""
        self._fit(self._checked(X, reset=True))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit topics and return theta (D, K) as `transform` gives it."""
        X = self._checked(X, reset=True)
        return self._theta(self._fit(X), X.dtype)

    def transform(self, X: Any) -> Any:
        """Return theta (D, K), the shares of the topics in each document, rows summing to 1."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        return self._theta(_tokens(X), X.dtype)

    def _theta(self, tokens: TokenTable, dtype: Any) -> Any:
        theta = infer_topics(
            self.model_,
            tokens.offsets,
            tokens.term_ids,
            seed=_seed(self.random_state),
            threads=_threads(self.n_jobs),
        )
        return theta.astype(dtype)

    def _fit(self, X: Any) -> TokenTable:
        tokens = _tokens(X)
        if not len(tokens.term_ids):
            raise ValueError("there is no token in X: all counts are 0 when rounded to whole numbers")
        options = LdaOptions(self.n_components, alpha=self.alpha, eta=self.eta, sweeps=self.sweeps)
        execution = Execution(_seed(self.random_state), _threads(self.n_jobs))
        self.model_: MixtureModel = fit_lda(tokens, options, execution).model
        self.components_ = self.model_.topic_term.toarray() + self.model_.eta
        return tokens

    def _checked(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
        if _least(X) < 0:
            raise ValueError("Negative values in data passed to LatentDirichletAllocation: it takes counts")
        return X

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags


def _least(X: Any) -> float:
    """Return the lowest value, at most 0."""
    return float((X.data if sparse.issparse(X) else X).min(initial=0.0))


def _features(X: Any) -> Any:
    """Return features as the core takes them: a CSR array or a dense one."""
    return sparse.csr_array(X) if sparse.issparse(X) else X


def _tokens(X: Any) -> TokenTable:
    """Return counts (D, V), rounded, as tokens in the order of the terms."""
    counts = sparse.csr_array(X)
    counts.sort_indices()
    n = np.rint(counts.data).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(n)])[counts.indptr]
    terms = tuple(map(str, range(counts.shape[1])))
    return TokenTable(ends.astype(np.int64), np.repeat(counts.indices, n).astype(np.int32), terms)


def _corpus(texts: Any) -> Corpus:
    """Return texts as a corpus; one that is missing (None, NaN, pandas.NA) is empty, so that no row is lost."""
    if isinstance(texts, str) or hasattr(texts, "columns"):
        what = "string" if isinstance(texts, str) else "data frame"
        raise ValueError(f"Iterable over raw text documents expected, {what} object received.")
    return Corpus.from_texts(["" if not isinstance(text, str) and is_missing(text) else text for text in texts])


def _seed(random_state: Any) -> int:
    """Return a seed from what scikit-learn calls random_state: a number as it is, else one drawn from it."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _threads(n_jobs: int | None) -> int:
    return Execution(threads=0 if n_jobs is None or n_jobs < 1 else n_jobs).n_threads()

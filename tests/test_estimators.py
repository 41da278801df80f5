"""scikit-learn estimators: its own checks, a Pipeline, a grid search, and the numbers of nlpkit's own functions."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import nlpkit as nk
from nlpkit.classify.kinds import KINDS
from nlpkit.errors import InputError, UsageError
from nlpkit.estimators import Classifier, LatentDirichletAllocation, TfidfVectorizer

TEXTS = [
    "river bank water",
    "bank money loan",
    "river water fish",
    "money loan debt",
    "fish water",
    "debt bank money",
] * 4
LABELS = ["nature", "finance", "nature", "finance", "nature", "finance"] * 4

NO_CLASSIFIERS = ("ridge", "rules")  # they learn numbers, and nothing
OF_ORDER = ("lstm", "cnn")  # a matrix has no order of words


@pytest.mark.parametrize("kind", NO_CLASSIFIERS)
def test_what_is_no_classifier_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match=f"{kind} gives documents no class"):
        Classifier(kind).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("kind", OF_ORDER)
def test_what_reads_words_in_their_order_takes_no_matrix(kind: str) -> None:
    with pytest.raises(InputError, match="words in their order"):
        Classifier(kind).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize(
    "estimator",
    [
        *(Classifier(kind, epochs=5) for kind in KINDS if kind not in (*NO_CLASSIFIERS, *OF_ORDER, "kan")),
        pytest.param(Classifier("kan"), marks=pytest.mark.slow),  # fifty trainings
        LatentDirichletAllocation(n_components=3, sweeps=3),
        TfidfVectorizer(min_df=1),
    ],
    ids=str,
)
def test_checks_of_scikit_learn(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(checks) > (0 if isinstance(estimator, TfidfVectorizer) else 40)  # nearly none is for texts
    failed = {c["check_name"]: c["exception"] for c in checks if c["status"] == "failed"}
    assert not failed


def test_a_pipeline_and_a_grid_search() -> None:
    search = GridSearchCV(make_pipeline(CountVectorizer(), Classifier("svm")), {"classifier__C": [0.1, 1.0]}, cv=3)
    search.fit(TEXTS, LABELS)
    assert search.predict(["river fish", "loan"]).tolist() == ["nature", "finance"]
    assert not hasattr(search, "predict_proba")


def test_naive_bayes_is_that_of_scikit_learn() -> None:
    X = CountVectorizer().fit_transform(TEXTS)
    ours, theirs = Classifier("nb").fit(X, LABELS), MultinomialNB().fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-10)


def test_topics_of_two_kinds_of_texts_come_apart() -> None:
    pipeline = make_pipeline(CountVectorizer(), LatentDirichletAllocation(2, alpha=0.1, eta=0.1, sweeps=100))
    theta = pipeline.fit_transform(TEXTS)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-6)
    main = theta.argmax(axis=1)
    assert len({(label, topic) for label, topic in zip(LABELS, main.tolist(), strict=True)}) == 2
    np.testing.assert_array_equal(pipeline.transform(TEXTS), theta)


def test_topics_have_names_and_come_as_a_data_frame() -> None:
    """users.md U6: `set_output` and the names of a ColumnTransformer need names of the columns."""
    X = CountVectorizer().fit_transform(TEXTS)
    topics = LatentDirichletAllocation(2, sweeps=5).set_output(transform="pandas").fit(X)
    names = ["latentdirichletallocation0", "latentdirichletallocation1"]
    assert topics.get_feature_names_out().tolist() == names
    assert topics.transform(X).columns.tolist() == names
    assert topics.fit_transform(X).columns.tolist() == names
    both = ColumnTransformer(
        [("topics", make_pipeline(CountVectorizer(), LatentDirichletAllocation(2, sweeps=5)), "text")]
    )
    both.fit(pd.DataFrame({"text": TEXTS}))
    assert both.get_feature_names_out().tolist() == [f"topics__{name}" for name in names]


@pytest.mark.parametrize(
    ("ours", "plain"),
    [
        ({"min_df": 2}, {"min_df": "2"}),
        ({"min_df": np.int64(2)}, {"min_df": "2"}),
        ({"min_df": 0.25, "max_df": 0.5}, {"min_df": "0.25", "max_df": "0.5"}),
        ({"max_df": np.float64(0.5), "min_df": 1}, {"min_df": "1", "max_df": "0.5"}),
        ({"ngram_range": (1, 2), "min_df": 1}, {"ngrams": "1,2", "min_df": "1"}),
        ({"ngrams": (2, 2), "min_df": 1}, {"ngrams": "2", "min_df": "1"}),
    ],
)
def test_the_vectorizer_takes_numbers_and_ranges_as_scikit_learn_does(
    ours: dict[str, Any], plain: dict[str, Any]
) -> None:
    vectorizer = clone(TfidfVectorizer(language="en", **ours)).fit(TEXTS)
    expected = nk.tfidf(TEXTS, language="en", **plain)
    assert vectorizer.get_feature_names_out().tolist() == list(expected.terms)
    with pytest.raises(UsageError, match="one length or two"):
        TfidfVectorizer(ngram_range=(2, 1)).fit(TEXTS)


def test_classes_and_counts_that_cannot_be_used() -> None:
    with pytest.raises(ValueError, match="one class: a"):
        Classifier().fit([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(ValueError, match="there is no token"):
        LatentDirichletAllocation(2).fit([[0.2, 0.1]])


def test_the_vectorizer_gives_the_weights_of_tfidf() -> None:
    vectorizer = TfidfVectorizer(min_df=1, language="en")
    weights = vectorizer.fit_transform(TEXTS)
    plain = nk.tfidf(TEXTS, min_df=1, language="en")
    assert vectorizer.get_feature_names_out().tolist() == plain.terms
    np.testing.assert_array_equal(weights.toarray(), plain.matrix.toarray())
    np.testing.assert_array_equal(vectorizer.transform(TEXTS[:2]).toarray(), weights.toarray()[:2])
    assert vectorizer.transform(["nothing known", "", "fish"]).toarray().any(axis=1).tolist() == [False, False, True]
    search = GridSearchCV(make_pipeline(vectorizer, Classifier()), {"tfidfvectorizer__scheme": ["ntn", "ltc"]}, cv=2)
    assert search.fit(TEXTS, LABELS).predict(["fish in the water"]).tolist() == ["nature"]


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, pd.NaT])
def test_a_missing_text_is_an_empty_one_and_keeps_its_row(missing: Any) -> None:
    texts = ["apple pie good", "apple tart good", "cherry tart pie"] * 4
    pipeline = make_pipeline(TfidfVectorizer(min_df=1), Classifier()).fit(texts, [0, 0, 1] * 4)
    new = pd.Series(["apple good", missing, "cherry"], dtype=object)
    assert pipeline.predict(new).tolist() == pipeline.predict(["apple good", "", "cherry"]).tolist()
    with pytest.raises(ValueError, match="data frame object received"):
        pipeline.predict(pd.DataFrame({"text": texts}))

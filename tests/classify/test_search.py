"""The search for a value of cost or alpha: scikit-learn's, and what it may see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.naive_bayes import MultinomialNB

from nlpkit.classify import classifier as classifier_module
from nlpkit.classify.classifier import CALIBRATION_FOLDS, Learner
from nlpkit.classify.configs import ClassifierConfig, FeatureSources
from nlpkit.classify.dataset import Labels, stratified_folds
from nlpkit.classify.kinds import ModelOptions
from nlpkit.classify.options import parse_thresholds
from nlpkit.classify.search import AUTO, INNER_FOLDS, Search, values_of
from nlpkit.errors import InputError
from tests.refusals import refuses

GRIDS = {"cost": (0.01, 0.1, 1.0, 10.0), "alpha": (30.0, 3.0, 0.3, 0.03)}


def counted(D: int = 240, V: int = 60, J: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of words that depend on the class a little, and the classes, of unequal size."""
    rng = np.random.default_rng(5)
    y = rng.choice(J, D, p=[0.5, 0.3, 0.2]).astype(np.int32)
    rates = rng.gamma(0.6, 0.8, (J, V)) + 0.4
    return rng.poisson(rates[y]).astype(np.float32), y


@pytest.mark.parametrize(("kind", "option", "peer"), [("logreg", "cost", "C"), ("nb", "alpha", "alpha")])
def test_equals_the_grid_search_of_scikit_learn(kind: str, option: str, peer: str) -> None:
    X, y = counted()
    train = np.arange(0, 240, 2)
    labels = Labels(("a", "b", "c"), np.ones(240, bool), y)
    config = ClassifierConfig(kind, ModelOptions(kind), None, search=Search(option, GRIDS[option]))
    searched = Learner(FeatureSources(240, embeddings=X), labels, 3).fit(train, config)
    folds = PredefinedSplit(stratified_folds(y[train], INNER_FOLDS, seed=3))
    model = LogisticRegression(tol=1e-8, max_iter=5000) if kind == "logreg" else MultinomialNB()
    grid = GridSearchCV(model, {peer: list(GRIDS[option])}, scoring="f1_macro", cv=folds).fit(X[train], y[train])
    assert searched.searched is not None
    assert searched.searched.scores == pytest.approx(grid.cv_results_["mean_test_score"], abs=1e-12)
    assert len(set(searched.searched.scores)) > 1
    assert searched.searched.value == grid.best_params_[peer]
    rest = np.arange(1, 240, 2)
    assert (searched.predict(rest).codes == grid.predict(X[rest])).all()
    assert getattr(searched.config.model, peer) == grid.best_params_[peer]


@pytest.mark.parametrize("what", ["search", "wanted", "calibrate"])
def test_groups_stay_together_in_inner_folds(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of each group is a copy of another: a fold that tore them apart would test on what it learned from."""
    X, y = counted(120)
    groups = np.tile(np.arange(60, dtype=np.int32), 2)
    X, y = np.concatenate([X[:60], X[:60]]), np.concatenate([y[:60], y[:60]])
    labels = Labels(("a", "b", "c"), np.ones(120, bool), y, groups=groups)
    options = {
        "search": {"search": Search("cost", GRIDS["cost"])},
        "wanted": {"wanted": parse_thresholds(("recall=0.8:a",))},
        "calibrate": {"calibrate": "sigmoid"},
    }
    config = ClassifierConfig("logreg", ModelOptions("logreg"), None, **options[what])  # type: ignore[arg-type]
    parts: list[np.ndarray] = []
    whole = classifier_module.prepare_features

    def prepare(sources: Any, targets: Any, train: np.ndarray, config: Any) -> Any:
        parts.append(train)
        return whole(sources, targets, train, config)

    monkeypatch.setattr(classifier_module, "prepare_features", prepare)
    Learner(FeatureSources(120, embeddings=X), labels, 3).fit(np.arange(120), config)
    inner = [train for train in parts if len(train) < 120]
    assert len(inner) == (INNER_FOLDS if what == "search" else CALIBRATION_FOLDS)
    for train in inner:
        held_out = np.setdiff1d(np.arange(120), train)
        assert not set(groups[train]) & set(groups[held_out])
    with pytest.raises(InputError, match="all of one group"):
        replace(labels, groups=np.zeros(120, np.int32)).folds(np.arange(120), 3, seed=0)


def test_labels_of_other_documents_do_not_matter() -> None:
    X, y = counted()
    train = np.arange(0, 240, 2)
    other = y.copy()
    other[1::2] = (other[1::2] + 1) % 3
    config = ClassifierConfig("logreg", ModelOptions("logreg"), None, search=Search("cost", GRIDS["cost"]))
    chosen = [
        Learner(FeatureSources(240, embeddings=X), Labels(("a", "b", "c"), np.ones(240, bool), codes), 3).fit(train, config).searched
        for codes in (y, other)
    ]  # fmt: skip
    assert chosen[0] == chosen[1]


def test_values() -> None:
    assert values_of("cost", "10,0.1,1,1") == (0.1, 1.0, 10.0)
    assert values_of("alpha", (0.1, 1)) == (1.0, 0.1)
    assert values_of("cost", 3) == (3.0,)
    assert values_of("cost", "auto") == AUTO["cost"] == tuple(sorted(AUTO["cost"]))
    for wrong in ("0", "1,,2", "much", "-1,1", "inf", "", (), None):
        with refuses("cost"):
            values_of("cost", wrong)  # type: ignore[arg-type]


def test_one_training_document_is_too_few() -> None:
    X, y = counted()
    labels = Labels(("a", "b", "c"), np.ones(240, bool), y)
    config = ClassifierConfig("nb", ModelOptions("nb"), None, search=Search("alpha", GRIDS["alpha"]))
    with refuses("alpha", InputError):
        Learner(FeatureSources(240, embeddings=X), labels, 3).fit(np.array([3]), config)

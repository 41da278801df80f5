"""Every kind of classifier: what all of them do alike, their copies, and what is refused."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from nlpkit.classify.fit import fit_model, fit_multilabel, model_from
from nlpkit.classify.kinds import FEW, KINDS, ModelOptions
from nlpkit.classify.models.linear import LinearModel, Model
from nlpkit.errors import InputError, SchemaError, UsageError
from tests.few import few
from tests.refusals import refuses

TORCH = importlib.util.find_spec("torch") is not None  # which kan needs
LEARNED = [
    k for k, about in KINDS.items()
    if about.learned and about.task != "regression" and not about.ordered and (TORCH or k != "kan")
]  # fmt: skip
LABELLED = [kind for kind in LEARNED if KINDS[kind].multi_label]


def corpus(dense: bool = False, J: int = 3) -> tuple[Any, np.ndarray]:
    """Return 240 documents, class j mostly of the terms j, j + J, … ."""
    rng = np.random.default_rng(11)
    y = np.concatenate((np.arange(J), rng.integers(0, J, 240 - J))).astype(np.int32)
    rate = np.where(np.arange(30) % J == np.arange(J)[:, None], 1.2, 0.15)
    X = rng.poisson(rate[y]).astype(np.float64)
    return (X.astype(np.float32) if dense else sparse.csr_array(X)), y


def options(kind: str, **more: Any) -> ModelOptions:
    return ModelOptions(kind, hidden=16, epochs=40, **more)


def copied(model: Model) -> Model:
    """Return the copy from what files can hold: JSON, and arrays of one or two axes."""
    arrays = {name: array.copy() for name, array in model.arrays().items()}
    assert all(array.ndim in (1, 2) for array in arrays.values())
    return model_from(json.loads(json.dumps(model.config())), arrays)


@pytest.mark.parametrize("kind", LEARNED)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("J", few([3, 2], 1))
def test_every_kind_learns_and_its_copy_is_equal_to_the_bit(kind: str, dense: bool, J: int) -> None:
    X, y = corpus(dense, J)
    model = fit_model(X, y, J, options(kind), seed=0, threads=2)
    assert isinstance(model, Model)
    assert isinstance(model, LinearModel) == KINDS[kind].linear
    assert (model.kind, model.n_classes, model.multi_label) == (kind, J, False)
    decision, p = model.decision(X), model.probabilities(X)
    assert decision.shape == (240, J)
    assert (decision.argmax(axis=1) == y).mean() > 0.9
    assert (p is not None) == KINDS[kind].probabilities
    copy = copied(model)
    assert (copy.decision(X) == decision).all()
    if p is not None:
        assert p.sum(axis=1) == pytest.approx(np.ones(240))
        assert (p.argmax(axis=1) == decision.argmax(axis=1)).all()
        assert (copy.probabilities(X) == p).all()


@pytest.mark.parametrize("kind", LABELLED)
@pytest.mark.parametrize("dense", [False, True])
def test_every_kind_of_labels_learns(kind: str, dense: bool) -> None:
    X, y = corpus(dense)
    everything, nothing = np.ones(240, np.bool_), np.zeros(240, np.bool_)
    Y = np.stack([y == 0, everything, y != 2, nothing], axis=1)
    model = fit_multilabel(X, Y, options(kind), seed=0, threads=2)
    decision, p = model.decision(X), model.probabilities(X)
    assert model.multi_label
    assert ((decision > 0) == Y).mean() > 0.93
    assert ((decision > 0) == Y)[:, [1, 3]].all()
    copy = copied(model)
    assert (copy.decision(X) == decision).all()
    if kind != "svm":
        assert p is not None
        assert ((p >= 0) & (p <= 1)).all()
        assert ((p > 0.5) == (decision > 0)).all()
    fixed = fit_multilabel(X, Y[:, [1, 3]], options(kind))
    assert ((fixed.decision(X[:5]) > 0) == [True, False]).all()


@pytest.mark.parametrize("kind", LEARNED)
def test_one_document_a_class(kind: str) -> None:
    X = sparse.csr_array(np.eye(4) * 3)
    model = fit_model(X, np.arange(4, dtype=np.int32), 4, options(kind, k=1), seed=0)
    assert np.isfinite(model.decision(X)).all()
    if kind not in ("mlp", "kan"):
        assert (model.decision(X).argmax(axis=1) == np.arange(4)).all()


@pytest.mark.parametrize("kind", LEARNED)
def test_documents_without_features(kind: str) -> None:
    X, y = corpus()
    model = fit_model(X, y, 3, options(kind), seed=0)
    assert np.isfinite(model.decision(sparse.csr_array((2, 30)))).all()
    assert model.decision(sparse.csr_array((0, 30))).shape == (0, 3)


@pytest.mark.parametrize("kind", LEARNED)
def test_arguments_come_back_as_they_went_in(kind: str) -> None:
    for dense in (False, True):
        X, y = corpus(dense)
        before, classes = X.copy(), y.copy()
        fit_model(X, y, 3, options(kind), seed=0).decision(X)
        assert (before != X).sum() == 0
        assert (y == classes).all()


@pytest.mark.parametrize("kind", ["logreg", "svm"])
def test_balanced_weighs_classes_and_labels(kind: str) -> None:
    X, y = corpus()
    rare = np.where(np.arange(240) < 200, np.minimum(y, 1), 0).astype(np.int32)
    plain, balanced = (fit_model(X, rare, 2, options(kind, C=0.01, balanced=b), seed=0) for b in (False, True))
    labels = fit_multilabel(X, (rare == 1)[:, None], options(kind, C=0.01, balanced=True), seed=0)
    decision = balanced.decision(X)
    assert labels.decision(X)[:, 0] == pytest.approx(decision[:, 1] - decision[:, 0], abs=1e-6)
    assert not np.allclose(plain.decision(X), decision)


def test_a_regression_weighs_classes_by_itself_while_documents_are_few() -> None:
    X, y = corpus()
    rare = np.where(np.arange(240) < 200, np.minimum(y, 1), 0).astype(np.int32)

    def decision(n: int, kind: str, balanced: bool | None) -> np.ndarray:
        return fit_model(X[:n], rare[:n], 2, options(kind, C=0.01, balanced=balanced), seed=0).decision(X)

    for n, same in ((2 * FEW - 1, True), (2 * FEW, False)):
        np.testing.assert_array_equal(decision(n, "logreg", None), decision(n, "logreg", same))
        assert not np.allclose(decision(n, "logreg", True), decision(n, "logreg", False))
        np.testing.assert_array_equal(decision(n, "svm", None), decision(n, "svm", False))
    labels = [fit_multilabel(X[:90], (rare[:90] == 1)[:, None], options("logreg", balanced=b)) for b in (None, False)]
    np.testing.assert_array_equal(*(model.decision(X) for model in labels))


def test_a_regression_has_a_weak_penalty_where_documents_are_many() -> None:
    X, y = corpus()
    for n, C in ((16 * 3 - 1, 1.0), (16 * 3, 10.0)):
        for kind, taken in (("logreg", C), ("svm", 1.0)):
            ours, named = (fit_model(X[:n], y[:n], 3, options(kind, C=c), seed=0).decision(X) for c in (None, taken))
            np.testing.assert_array_equal(ours, named)
    for n, C in ((31, 1.0), (32, 10.0)):  # each label is two classes, and so is each place between two ordered ones
        ours, named = (fit_model(X[:n], y[:n], 3, options("ordinal", C=c)).probabilities(X) for c in (None, C))
        np.testing.assert_array_equal(ours, named)
        labels = [fit_multilabel(X[:n], y[:n, None] == np.arange(3), options("logreg", C=c)) for c in (None, C)]
        np.testing.assert_array_equal(*(model.decision(X) for model in labels))


def test_what_is_refused() -> None:
    X, y = corpus()
    with pytest.raises(InputError):
        fit_model(X, y, 5, options("nb"))
    with pytest.raises(InputError):
        fit_model(X, y * 0, 1, options("nb"))
    with pytest.raises(InputError):
        fit_model(X, y, 2, options("nb"))
    with pytest.raises(InputError):
        fit_model(X, y[:5], 3, options("nb"))
    with refuses("model"):
        fit_model(-X, y, 3, options("nb"))
    with refuses("model"):
        fit_multilabel(X, y[:, None] == np.arange(3), options("centroid"))
    with refuses("priors"):
        fit_multilabel(X, y[:, None] == np.arange(3), options("nb", priors=(0.5, 0.5)))
    with refuses("class_weight"):
        fit_multilabel(X, y[:, None] == np.arange(3), options("mlp", balanced=True))
    for kind, more, says in (
        ("tree", {}, "unknown model"),
        ("knn", {"balanced": True}, "does not weight classes"),
        ("logreg", {"priors": "uniform"}, "no class priors"),
        ("nb", {"priors": "flat"}, "empirical, uniform"),
        ("nb", {"alpha": 0.0}, "alpha must be"),
        ("svm", {"C": -1.0}, "C must be"),
        ("knn", {"k": 0}, "k must be"),
        ("knn", {"vote": "loud"}, "vote by"),
    ):
        with pytest.raises(UsageError, match=says):
            ModelOptions(kind, **more)


def test_what_does_not_fit_a_model() -> None:
    X, y = corpus()
    for kind in LEARNED:
        model = fit_model(X, y, 3, options(kind), seed=0)
        with pytest.raises(InputError):
            model.decision(X[:, :29])
        first = next(iter(model.arrays()))
        with pytest.raises(SchemaError):
            model_from(model.config(), {name: a for name, a in model.arrays().items() if name != first})
        with pytest.raises(SchemaError):
            model_from({**model.config(), "n_classes": 7}, model.arrays())
    with pytest.raises(SchemaError):
        model_from({"kind": "tree"}, {})


def test_applying_a_model_needs_no_scikit_learn() -> None:
    code = """
import sys, numpy as np
from scipy import sparse
from nlpkit.classify.calibration import Calibrator
from nlpkit.classify.kinds import KINDS
from nlpkit.classify.models.sklearn_models import MlpModel
from nlpkit.classify.models.linear import LinearModel
from nlpkit.classify.models.neighbours import NeighboursModel
X = sparse.csr_array(np.eye(3))
LinearModel("nb", np.ones((3, 2)), np.zeros(2), "softmax").probabilities(X)
MlpModel(np.ones((3, 2)), np.ones(2), np.ones((2, 2)), np.ones(2)).decision(X)
NeighboursModel(X, np.eye(3, 2).astype(bool), 2).decision(X)
Calibrator("isotonic", 1, True, "margin", {"score": np.zeros(1), "value": np.zeros(1), "ends": np.arange(2)})
assert "sklearn" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr

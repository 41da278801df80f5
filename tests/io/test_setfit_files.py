"""Folders of the setfit library: theirs read here, ours loaded there, and pickles that want to run something."""

from __future__ import annotations

import json
import os
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import pytest
import torch
from tests.embed.conftest import write_model

from nlpkit.classify.labels import encode_sets, encode_single
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.embedder import Embedder, load_embedder
from nlpkit.finetune.heads import fit_head, linear_head
from nlpkit.finetune.setfit import SetFitModel
from nlpkit.io.setfit_files import CONFIG, HEAD, is_setfit_folder, read_setfit_head, write_setfit_folder

TEXTS = ["the cat ran", "a dog sat", "old house", "the mat", "bird", "very new house", "cat and dog", "on the mat"]
VALUES = ["zoo", "zoo", "home", "home", "zoo", "home", "10", "10"]
SETS = [["zoo"], ["zoo", "all"], ["home", "all"], ["home"], [], ["home"], ["zoo"], ["home", "zoo"]]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    path = write_model(tmp_path_factory.mktemp("setfit-files") / "tiny")
    return load_embedder(path, max_tokens=None, device=torch.device("cpu"))


@contextmanager
def their_library() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        setfit = pytest.importorskip("setfit")
        yield setfit


def vectors(embedder: Embedder) -> Any:
    return embedder.model.encode(TEXTS, show_progress_bar=False)


def theirs(embedder: Embedder, head: Any, folder: Path, **more: Any) -> Any:
    """Save a model of the library in the folder, and return its probabilities."""
    with their_library() as setfit:
        model = setfit.SetFitModel(model_body=embedder.model, model_head=head, **more)
        model.save_pretrained(folder)
        return np.asarray(model.predict_proba(TEXTS)), model.predict(TEXTS, as_numpy=True)


@pytest.mark.parametrize("how", ["strings", "objects", "numbers", "two", "normal"])
def test_a_folder_of_the_library(embedder: Embedder, tmp_path: Path, how: str) -> None:
    from sklearn.linear_model import LogisticRegression

    values: Any = VALUES if how != "two" else ["zoo" if v == "zoo" else "home" for v in VALUES]
    names, labels = sorted(set(values)), None
    if how == "objects":
        values = np.array(values, object)
    if how == "numbers":
        labels = ["zoo", "10", "home"]
        names, values = labels, [labels.index(v) for v in values]
    head = LogisticRegression(C=10.0).fit(vectors(embedder), values)
    chances, classes = theirs(embedder, head, tmp_path, labels=labels, normalize_embeddings=how == "normal")
    assert is_setfit_folder(tmp_path)
    model = read_setfit_head(tmp_path)
    assert model.names == tuple(names)
    assert model.normalize == (how == "normal")
    again = load_embedder(tmp_path, max_tokens=None, device=torch.device("cpu"))
    np.testing.assert_allclose(model.probabilities(vectors(again)), chances, atol=1e-6)
    assert model.predict(vectors(again)) == [str(c) for c in classes]


@pytest.mark.parametrize("strategy", ["one-vs-rest", "multi-output"])
def test_a_folder_with_several_labels(embedder: Embedder, tmp_path: Path, strategy: str) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.multioutput import MultiOutputClassifier

    names = ["zoo", "home", "all"]
    Y = np.array([[int(n in own) for n in names] for own in SETS])
    kind = OneVsRestClassifier if strategy == "one-vs-rest" else MultiOutputClassifier
    head = kind(LogisticRegression(C=10.0)).fit(vectors(embedder), Y)
    chances, found = theirs(embedder, head, tmp_path, labels=names, multi_target_strategy=strategy)
    if chances.ndim == 3:  # the library stacks (D, J, 2)
        chances = chances[:, :, 1]
    model = read_setfit_head(tmp_path)
    assert (model.multiple, model.names) == (True, tuple(names))
    np.testing.assert_allclose(model.probabilities(vectors(embedder)), chances, atol=1e-6)
    expected = [tuple(n for n, yes in zip(names, row, strict=True) if yes) for row in np.asarray(found)]
    assert model.predict(vectors(embedder)) == expected


@pytest.mark.parametrize("several", [False, True])
def test_a_folder_with_a_differentiable_head(embedder: Embedder, tmp_path: Path, several: bool) -> None:
    with their_library() as setfit:
        head = setfit.SetFitHead(in_features=32, out_features=3, temperature=0.5, device="cpu", multitarget=several)
    chances, _ = theirs(embedder, head, tmp_path, labels=["a", "b", "c"])
    model = read_setfit_head(tmp_path)
    assert (model.multiple, model.head, model.names) == (several, "differentiable", ("a", "b", "c"))
    np.testing.assert_allclose(model.probabilities(vectors(embedder)), chances, atol=1e-6)


@pytest.mark.parametrize("values", [VALUES, ["zoo" if v == "zoo" else "home" for v in VALUES], SETS])
def test_ours_in_the_library(embedder: Embedder, tmp_path: Path, values: Any) -> None:
    known = np.ones(8, bool)
    labels = encode_sets(values, known) if values is SETS else encode_single(values, known)
    model = SetFitModel(labels.names, fit_head(vectors(embedder), labels, np.arange(8), C=20.0))
    write_setfit_folder(tmp_path / "theirs", embedder, model)
    with their_library() as setfit:
        other = setfit.SetFitModel.from_pretrained(str(tmp_path / "theirs"))
        chances, found = np.asarray(other.predict_proba(TEXTS)), other.predict(TEXTS)
    np.testing.assert_allclose(chances, model.probabilities(vectors(embedder)), atol=1e-6)
    if values is SETS:
        found = [tuple(n for n, yes in zip(model.names, row, strict=True) if yes) for row in np.asarray(found)]
    assert found == model.predict(vectors(embedder))
    again = read_setfit_head(tmp_path / "theirs")
    assert again.names == model.names
    np.testing.assert_allclose(
        again.probabilities(vectors(embedder)), model.probabilities(vectors(embedder)), atol=1e-12
    )


def test_a_single_label_has_no_place_in_their_format(embedder: Embedder, tmp_path: Path) -> None:
    model = SetFitModel(("a",), linear_head(np.zeros((32, 1)), np.zeros(1), multiple=True))
    with pytest.raises(UsageError, match="single label"):
        write_setfit_folder(tmp_path / "x", embedder, model)
    assert not (tmp_path / "x").exists()


class Evil:
    """Runs a command when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return (os.system, (f"touch {self.target}",))


@pytest.mark.parametrize("hidden", ["root", "state", "array", "setattr"])
def test_a_pickle_that_wants_to_run_something_is_refused(tmp_path: Path, hidden: str) -> None:
    from sklearn.linear_model import LogisticRegression

    target = tmp_path / "ran"
    head = LogisticRegression().fit(np.eye(4), [0, 1, 0, 1])
    if hidden == "root":
        (tmp_path / HEAD).write_bytes(pickle.dumps(Evil(target)))
    elif hidden == "setattr":
        code = "cbuiltins\nsetattr\n(cjoblib.numpy_pickle\nNumpyArrayWrapper\nX\x01\x00\x00\x00ai1\ntR."
        (tmp_path / HEAD).write_bytes(b"\x80\x02" + code.encode())
    else:
        if hidden == "state":
            head.classes_ = Evil(target)
        else:
            head.classes_ = np.array([Evil(target), 1], object)
        joblib.dump(head, tmp_path / HEAD)
    with pytest.raises(InputError, match=r"asks for (posix\.system|nt\.system|builtins\.setattr).*nothing was run"):
        read_setfit_head(tmp_path)
    assert not target.exists()
    if hidden in ("root", "state"):  # the test itself can fail
        joblib.load(tmp_path / HEAD)
        assert target.exists()


def test_damaged_files_and_unknown_heads(tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    with pytest.raises(InputError, match=r"no setfit folder: model_head\.pkl"):
        read_setfit_head(tmp_path)
    head = LogisticRegression().fit(np.eye(4), [0, 1, 0, 1])
    joblib.dump(head, tmp_path / HEAD)
    whole = (tmp_path / HEAD).read_bytes()
    for size in (0, 1, 30, len(whole) // 2, len(whole) - 200, len(whole) - 1):
        (tmp_path / HEAD).write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"model_head\.pkl"):
            read_setfit_head(tmp_path)
    joblib.dump(head, tmp_path / HEAD, compress=3)
    with pytest.raises(InputError, match="without compression"):
        read_setfit_head(tmp_path)
    joblib.dump(LogisticRegression(), tmp_path / HEAD)
    with pytest.raises(InputError, match="no fitted head"):
        read_setfit_head(tmp_path)
    joblib.dump(SVC(), tmp_path / HEAD)
    with pytest.raises(InputError, match=r"sklearn\.svm"):
        read_setfit_head(tmp_path)
    joblib.dump(head, tmp_path / HEAD)
    (tmp_path / CONFIG).write_text(json.dumps({"labels": ["only one"]}), encoding="utf-8")
    with pytest.raises(InputError, match=r"no label for class 1 of model_head\.pkl \(it has 1\)"):
        read_setfit_head(tmp_path)
    (tmp_path / CONFIG).write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="is not JSON"):
        read_setfit_head(tmp_path)


@pytest.mark.parametrize("kind", ["logistic", "one-vs-rest", "differentiable"])
def test_a_head_with_a_wrong_byte_is_an_error_or_another_head(tmp_path: Path, kind: str) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    head: Any = LogisticRegression().fit(np.eye(4), [0, 1, 0, 1])
    if kind == "one-vs-rest":
        head = OneVsRestClassifier(LogisticRegression()).fit(np.eye(4), np.array([[0, 1], [1, 0], [1, 1], [0, 1]]))
    if kind == "differentiable":
        with their_library() as setfit:
            head = setfit.SetFitHead(in_features=4, out_features=3, device="cpu")
    joblib.dump(head, tmp_path / HEAD)
    whole, n_refused = (tmp_path / HEAD).read_bytes(), 0
    for i in range(0, len(whole), 7):
        (tmp_path / HEAD).write_bytes(whole[:i] + bytes([whole[i] ^ 0xFF]) + whole[i + 1 :])
        try:
            read_setfit_head(tmp_path)
        except InputError as error:  # nothing else
            assert HEAD in str(error) or "setfit" in str(error)  # noqa: PT017
            n_refused += 1
    assert n_refused > len(whole) // 7 // 2


def test_names_given_for_the_outputs(embedder: Embedder, tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    head = LogisticRegression().fit(vectors(embedder), [{"zoo": 0, "home": 2, "10": 5}[v] for v in VALUES])
    joblib.dump(head, tmp_path / HEAD)
    (tmp_path / CONFIG).write_text('{"labels": null}')
    assert read_setfit_head(tmp_path).names == ("0", "2", "5")
    model = read_setfit_head(tmp_path, ["zoo", "home", "10"])
    assert model.names == ("zoo", "home", "10")
    np.testing.assert_allclose(model.probabilities(vectors(embedder)), head.predict_proba(vectors(embedder)), atol=1e-6)
    (tmp_path / CONFIG).write_text('{"labels": ["too few"]}')
    assert read_setfit_head(tmp_path, ["a", "b", "c"]).names == ("a", "b", "c")
    with pytest.raises(UsageError, match=r"--labels names 2 classes, the model in .* has 3"):
        read_setfit_head(tmp_path, ["a", "b"])


def test_a_reader_of_one_file_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    """A pickle may set attributes of a class it names: here of the stand-in, which is of this file alone."""
    code = (
        b"\x80\x02csklearn.linear_model._logistic\nLogisticRegression\n(N}X\x05\x00\x00\x00stateX\x01\x00\x00\x00xstb."
    )
    (tmp_path / HEAD).write_bytes(code)
    with pytest.raises(InputError):
        read_setfit_head(tmp_path)
    from nlpkit.io import setfit_files

    assert setfit_files._Inert.state is None

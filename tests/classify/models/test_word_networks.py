"""Classifiers that read words in their order: what no count of words tells, padding, copies, threads, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import nlpkit as nk  # noqa: E402
from nlpkit.classify.fit import fit_model, fit_multilabel, model_from  # noqa: E402
from nlpkit.classify.kinds import ModelOptions  # noqa: E402
from nlpkit.classify.model import load_classifier  # noqa: E402
from nlpkit.classify.models.networks import WordRows, fit_word_network  # noqa: E402
from nlpkit.errors import InputError, SchemaError, UsageError  # noqa: E402
from nlpkit.platform.options import Execution  # noqa: E402
from nlpkit.predict.options import PredictOptions  # noqa: E402

KINDS = ("lstm", "cnn")


def order(D: int = 128) -> tuple[WordRows, np.ndarray]:
    """Texts of the same words: "not" stands before "good" or before "bad"."""
    rng = np.random.default_rng(0)
    rows, y = np.zeros((D, 9), np.int32), rng.integers(0, 2, D).astype(np.int32)
    for row, label in zip(rows, y, strict=True):
        pair = [[1, 2], [3]] if label else [[1, 3], [2]]  # not, good, bad
        parts = [*pair, *([int(w)] for w in rng.integers(4, 9, rng.integers(1, 6)))]
        words = [w for i in rng.permutation(len(parts)) for w in parts[i]]
        row[: len(words)] = words
    return WordRows(rows, 8), y


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_from_order_on_any_threads_and_its_copy_is_equal(kind: str) -> None:
    X, y = order()
    models = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        models.append(fit_model(X, y, 2, ModelOptions(kind, hidden=64), seed=0))
        torch.set_num_threads(before)
    model = models[0]
    decision = model.decision(X)
    assert (decision.argmax(axis=1) == y).mean() > 0.95
    for name, array in model.arrays().items():
        assert array.ndim in (1, 2)
        assert (array == models[1].arrays()[name]).all()
    copy = model_from(json.loads(json.dumps(model.config())), model.arrays())
    assert (copy.decision(X) == decision).all()
    wider = WordRows(np.pad(X.ids, ((0, 0), (0, 7))), 8)
    assert model.decision(wider) == pytest.approx(decision, abs=1e-5)
    nothing = model.decision(WordRows(np.zeros((2, 1), np.int32), 8))
    assert np.isfinite(nothing).all()
    with pytest.raises(InputError, match="same vocabulary"):
        model.decision(WordRows(X.ids, 9))
    with pytest.raises(InputError, match="in their order"):
        model.decision(X.ids)
    with pytest.raises(SchemaError, match="do not fit"):
        model_from({**model.config(), "hidden": 5}, model.arrays())


def test_the_convolution_by_hand() -> None:
    """The maximum over the windows of a text, also of one that is shorter than a filter."""
    X, y = order(40)
    model = fit_word_network(X, y, 2, kind="cnn", hidden=3, seed=0)
    p = model.parameters
    vectors = p["words.weight"]
    assert (vectors[0] == 0).all()
    for row in (X.ids[0], np.array([1, 2, 0, 0], np.int32)):
        words = row[row > 0]
        x = np.concatenate([vectors[words], np.zeros((max(0, 5 - len(words)), 3), np.float32)])
        maxima = []
        for i, n in enumerate((3, 4, 5)):
            W, b = p[f"filters.{i}.weight"], p[f"filters.{i}.bias"]
            windows = range(max(1, len(words) - n + 1))
            values = [np.einsum("ocn,nc->o", W, x[t : t + n]) + b for t in windows]
            maxima.append(np.maximum(np.max(values, axis=0), 0))
        expected = p["out.weight"] @ np.concatenate(maxima) + p["out.bias"]
        assert model.decision(WordRows(row[None], 8))[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_have_a_score_each(kind: str) -> None:
    X, y = order(64)
    Y = np.stack([y == 1, np.ones(64, bool), np.zeros(64, bool)], axis=1)
    model = fit_multilabel(X, Y, ModelOptions(kind, hidden=8), seed=0)
    assert ((model.decision(X) > 0) == Y)[:, 1:].all()
    fixed = fit_multilabel(X, Y[:, 1:], ModelOptions(kind, hidden=8), seed=0)
    assert ((fixed.decision(X[:5]) > 0) == [True, False]).all()


def test_rows_are_cut_and_unknown_words_go() -> None:
    offsets, places = np.array([0, 3, 3, 303]), np.concatenate([[4, -1, 2], np.arange(300) % 7]).astype(np.int32)
    rows = WordRows.from_tokens(offsets, places, np.array([2, 0, 1]), 8)
    assert rows.shape == (3, 8)
    assert rows.ids[0].tolist() == [w % 7 + 1 for w in range(256)]
    assert rows.ids[1, :3].tolist() == [5, 3, 0]
    assert not rows.ids[2].any()
    words, without = rows[1:2].without_each()
    assert words == [4, 2]
    assert without.ids[:, :2].tolist() == [[5, 3], [3, 0], [5, 0]]


def texts(n: int = 48) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(1)
    labels = ["praise" if i % 2 else "blame" for i in range(n)]
    fill = ["film", "actor", "scene", "music", "story"]
    return [
        " ".join(rng.choice(fill, 3)) + (" not bad but good" if label == "praise" else " not good but bad")
        for label in labels
    ], labels


def test_a_run_is_saved_predicts_and_explains(tmp_path: Path) -> None:
    documents, labels = texts()
    corpus = nk.Corpus.from_texts(documents, labels=labels)
    options: dict[str, Any] = {"model": "cnn", "hidden": 12, "near_duplicates": 0, "ci": 0}
    result = nk.cross_validate(corpus, folds=2, threads=1, **options)
    assert result.evaluation["accuracy"].value > 0.9
    result.classifier.save(tmp_path / "run")
    assert nk.cross_validate(corpus, folds=2, threads=2, **options).predictions.equals(result.predictions)
    new = nk.Corpus.from_texts([documents[0], "an unknown text"], ids=["x", "y"])
    with load_classifier(tmp_path / "run", Execution()).predict_batches(
        new, options=PredictOptions(explain=("x",))
    ) as predictions:
        rows = [row for batch in predictions.batches() for row in batch.to_pylist()]
        summary = predictions.maker.summary()
    assert rows[0]["prediction"] == labels[0]
    assert summary["without_known_words"] == 1
    pushed = [word["term"] for word in summary["explained"]["x"][0]["words"]]
    assert set(pushed) == set(documents[0].split())
    assert {"good", "bad", "not", "but"} & set(pushed[:2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "lstm", "on": "embedding"}, "reads words in their order"),
        ({"model": "cnn", "select": "chi2:10"}, "is about counts of words"),
        ({"model": "lstm", "scheme": "log"}, "reads words in their order"),
        ({"model": "kan", "on": "words"}, "kan has a spline for each feature and only uses embeddings;"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    documents, labels = texts(8)
    with pytest.raises(UsageError, match=message):
        nk.train_classifier(nk.Corpus.from_texts(documents, labels=labels), **options)

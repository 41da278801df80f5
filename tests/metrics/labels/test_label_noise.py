"""Scores against noisy labels: by hand, by simulation, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.errors import ColumnError, InputError, UsageError
from nlpkit.metrics.intervals import wilson
from nlpkit.metrics.labels import noise as label_noise
from tests.command_line import run_cli

NAMES = ("a", "b", "c")


def table(labels: Any, predictions: Any, **others: Any) -> pa.Table:
    ids = [str(d) for d in range(len(predictions))]
    return pa.table({"id": ids, "label": labels, "prediction": predictions, **others})


def noisy(rng: np.random.Generator, right: Any, noise: Any) -> Any:
    return np.array([rng.choice(len(noise), p=noise[label]) for label in right])


def scores(documents: Any, **settings: Any) -> Any:
    return nk.evaluate(documents, **settings).targets[0].scores


def test_accuracy_is_that_of_rogan_and_gladen() -> None:
    counts = np.array([[30.0, 5, 1, 0], [4, 20, 2, 0], [3, 1, 34, 0]])
    rate = 0.1
    inverse = label_noise.check_noise(label_noise.symmetric_noise(rate, 3))
    observed = (30 + 20 + 34) / 100
    specificity, sensitivity = 1 - rate / 2, 1 - rate
    by_hand = (observed + specificity - 1) / (sensitivity + specificity - 1)
    assert label_noise.corrected_score(counts, inverse, "accuracy", beta=1.0) == pytest.approx(by_hand)
    corrected = label_noise.corrected_counts(counts, inverse)
    np.testing.assert_allclose(corrected.sum(axis=0), counts.sum(axis=0))
    back = label_noise.symmetric_noise(rate, 3).T @ corrected
    np.testing.assert_allclose(back, counts)
    seen, bounds = wilson(84, 100, level=0.95), label_noise.corrected_accuracy_interval(84, 100, rate, 3, level=0.95)
    assert seen is not None
    assert bounds is not None
    assert bounds.high - bounds.low == pytest.approx((seen.high - seen.low) / (1 - rate * 3 / 2))


def test_no_noise_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    right = rng.integers(3, size=60)
    guesses = np.where(rng.random(60) < 0.7, right, rng.integers(3, size=60))
    documents = table([NAMES[j] for j in right], [NAMES[j] for j in guesses])
    plain, corrected = scores(documents), scores(documents, label_noise=0)
    for name in ("accuracy", "macro_f1", "mcc", "kappa", "balanced_accuracy", "weighted_f1"):
        assert corrected[name].value == pytest.approx(plain[name].value)
        assert corrected[name].parameters["uncorrected"] == pytest.approx(plain[name].value)
        assert corrected[name].parameters["label_noise"] == 0
    assert corrected["accuracy"].interval.low == pytest.approx(plain["accuracy"].interval.low)


@pytest.mark.parametrize("by", ["rate", "confusion"])
def test_the_score_of_right_labels_comes_back(by: str, tmp_path: Path) -> None:
    """A classifier that is right 85 % of the time, and labels of which a fifth is wrong."""
    rng = np.random.default_rng(1)
    noise = label_noise.symmetric_noise(0.2, 3)
    if by == "confusion":
        noise = np.array([[0.9, 0.1, 0.0], [0.0, 0.7, 0.3], [0.2, 0.0, 0.8]])
    right = rng.integers(3, size=20_000)
    guesses = np.where(rng.random(len(right)) < 0.775, right, rng.integers(3, size=len(right)))
    given = noisy(rng, right, noise)
    path = tmp_path / "noise.csv"
    rows = [f"{NAMES[i]},{NAMES[j]},{100 * noise[i, j]:g}" for i in range(3) for j in range(3)]
    path.write_text("label,given,share\n" + "\n".join(rows) + "\n")
    documents = table([NAMES[j] for j in given], [NAMES[j] for j in guesses])
    truth = scores(table([NAMES[j] for j in right], [NAMES[j] for j in guesses]), ci=0)
    settings = {"label_noise": 0.2 if by == "rate" else str(path), "metrics": "accuracy,macro_f1,kappa"}
    corrected = scores(documents, **settings)
    for name in ("accuracy", "macro_f1", "kappa"):
        assert corrected[name].value == pytest.approx(truth[name].value, abs=0.02)
        assert abs(corrected[name].parameters["uncorrected"] - truth[name].value) > 0.1
        assert corrected[name].interval.low < truth[name].value < corrected[name].interval.high


def test_intervals_over_annotators() -> None:
    rng = np.random.default_rng(2)
    right = rng.integers(2, size=150)
    guesses = np.where(rng.random(150) < 0.8, right, 1 - right)
    good = np.where(rng.random((150, 3)) < 0.95, right[:, None], 1 - right[:, None])
    rough = good.copy()
    rough[:, 2] = rng.integers(2, size=150)
    intervals = []
    for given in (np.repeat(right[:, None], 3, axis=1), good, rough):
        columns = {f"x{c}": [NAMES[j] for j in given[:, c]] for c in range(3)}
        documents = table([None] * 150, [NAMES[j] for j in guesses], **columns)
        result = nk.evaluate(documents, annotators="x0,x1,x2").targets[0]
        accuracy = result.scores["accuracy"]
        assert accuracy.value == pytest.approx(np.mean(given == guesses[:, None]))
        assert set(result.facts["by_annotator"]) == set(columns)
        intervals.append(accuracy.interval.high - accuracy.interval.low)
    plain = scores(table([NAMES[j] for j in right], [NAMES[j] for j in guesses]))["accuracy"].interval
    assert intervals[0] == pytest.approx(plain.high - plain.low, abs=0.02)  # annotators who agree are one
    assert intervals[2] > intervals[0] + 0.05


def test_documents_that_some_annotators_left_out() -> None:
    documents = table(
        [None] * 4, ["a", "a", "b", "b"], x=["a", "b", None, None], y=["a", None, "b", None], z=["b", None, "b", None]
    )
    result = nk.evaluate(documents, annotators=["x", "y", "z"], ci=0).targets[0]
    assert result.scores["accuracy"].value == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert (result.scores["accuracy"].n, result.facts["by_annotator"]["x"]["accuracy"]) == (3, 0.5)
    assert any("1 row without a label" in note for note in result.notes)


def test_what_cannot_be(tmp_path: Path) -> None:
    documents = table(["a", "b", "a"], ["a", "b", "b"], x=["a", "b", "a"])
    for noise in (0.5, -0.1, 2):
        with pytest.raises(UsageError, match=r"a rate from 0 to less than 0\.5"):
            scores(documents, label_noise=noise)
    path = tmp_path / "noise.csv"
    for content, message in (
        ("label,given,share\na,a,1\n", "the confusion table has no row for the true label"),
        ("label,given,share\na,a,1\nb,z,1\n", "'z' that no document has"),
        ("label,given,share\na,a,much\n", "a share were needed"),
        ("label,given,share\na,a,-1\n", "a share were needed"),
        ("label,given,share\na,a,.5\na,b,.5\nb,a,.5\nb,b,.5\n", "carry no information about the true labels"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            scores(documents, label_noise=str(path))
    with pytest.raises(InputError):
        scores(documents, label_noise=str(tmp_path / "none.csv"))
    with pytest.raises(ColumnError, match="'y'"):
        scores(documents, annotators="x,y")
    for settings in ({"annotators": "x"}, {"annotators": "x,x"}, {"annotators": "x,label", "label_noise": 0.1}):
        with pytest.raises(UsageError):
            scores(documents, **settings)
    with pytest.raises(UsageError, match="one predicted class"):
        scores(table([1.5, 2.5, 3.5], [1.25, 2.75, 3.1]), label_noise=0.1)
    with pytest.raises(UsageError, match="no score of a table of predictions"):
        scores(documents, label_noise=0.1, metrics="ece")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{n},{'ab'[n % 2]},{'ab'[n % 2 if n % 5 else 1 - n % 2]},{'ab'[n % 2]}" for n in range(40)]
    (tmp_path / "t.csv").write_text("id,label,prediction,anna\n" + "\n".join(rows) + "\n")
    done = run_cli("evaluate", "t.csv", "--label-noise", "0.05", "--json").json()["targets"][0]["metrics"]["accuracy"]
    assert done["value"] == pytest.approx((0.8 - 0.05) / 0.9)
    assert done["low"] < done["value"] < done["high"]
    assert json.loads(json.dumps(done))["parameters"]["uncorrected"] == pytest.approx(0.8)
    said = run_cli("evaluate", "t.csv", "--annotators", "label,anna")
    assert "predictions against label, anna" in said.out
    run_cli("evaluate", "t.csv", "--label-noise", "0.05", "--fail-under", "accuracy=0.9", code=1)
    assert "--label-noise" in run_cli("evaluate", "t.csv", "--label-noise", "0.6", code=2).error()

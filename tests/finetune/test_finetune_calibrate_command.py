"""`nlpkit finetune --calibrate`: a temperature from dev documents alone, in the weights, so that all programs have its probabilities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from nlpkit.finetune.tasks import FinetuneTask, fit_temperature, probabilities
from tests.command_line import read, run_cli, write_jsonl
from tests.few import few
from tests.finetune.finetune_data import FIRST, VOCABULARY, refused, tune

pytest.importorskip("torch")
TASK = FinetuneTask("single", ("a", "b", "c"))


def noisy(n: int, seed: int, names: tuple[str, ...] = ("no", "yes")) -> list[dict[str, Any]]:
    """The word `goal` says the label, of four in five documents."""
    rng = np.random.default_rng(seed)
    others = [word for word in VOCABULARY if word != "goal"]
    rows = []
    for i in range(n):
        k = int(rng.integers(0, len(names)))
        marks = k if rng.random() < 0.8 else int(rng.integers(0, len(names)))
        text = " ".join(["goal"] * marks + list(rng.choice(others, 5)))
        rows.append({"id": f"{seed}-{i}", "text": text, "label": names[k]})
    return rows


def write_splits(names: tuple[str, ...] = ("no", "yes"), dev: int = 120) -> list[str]:
    for split, n, seed in (("train", 40, 1), ("dev", dev, 2), ("test", 150, 3)):
        write_jsonl(Path(f"{split}.jsonl"), noisy(n, seed, names))
    return ["train.jsonl", "--dev", "dev.jsonl", "--test", "test.jsonl", "--twins", "0"]


def test_the_temperature_is_that_of_the_least_cross_entropy() -> None:
    rng = np.random.default_rng(0)
    z, y = 4 * rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    z[np.arange(200), y] += 3
    best = minimize_scalar(
        lambda t: -log_softmax(z / t, axis=1)[np.arange(200), y].mean(), bounds=(0.1, 50), method="bounded"
    )
    assert fit_temperature(TASK, z, y) == pytest.approx(best.x, rel=1e-4)
    assert fit_temperature(TASK, 10 * z, y) == pytest.approx(10 * best.x, rel=1e-4)


def test_without_an_error_there_is_no_best_temperature() -> None:
    z = np.eye(3)
    assert fit_temperature(TASK, z, np.arange(3)) is None
    ordered = FinetuneTask("ordinal", ("a", "b", "c"))
    assert fit_temperature(ordered, np.array([[-1.0, -2.0], [1.0, -1.0], [2.0, 1.0]]), np.arange(3)) is None


def test_the_temperature_of_ordered_classes_changes_no_prediction() -> None:
    rng = np.random.default_rng(1)
    ordered, y = FinetuneTask("ordinal", ("a", "b", "c")), rng.integers(0, 3, 100)
    z = 6 * ((y[:, None] > np.arange(2)) - 0.5) + 6 * rng.normal(size=(100, 2))
    temperature = fit_temperature(ordered, z, y)
    assert temperature is not None
    assert temperature > 1  # too sure of itself
    each = [np.cumsum(probabilities(ordered, scores), axis=1)[:, :-1] < 0.5 for scores in (z, z / temperature)]
    np.testing.assert_array_equal(*each)


@pytest.mark.parametrize("method", few(["full", "head", "lora(r=4)", "pfeiffer", "setfit(R=4)"], 2))
def test_probabilities_are_scaled_and_predictions_stay(method: str, base: Path) -> None:
    common = (
        [*write_splits(), "--probabilities", "--patience", "0"]
        if "setfit" not in method
        else [*write_splits(), "--probabilities"]
    )
    tune(*common, "-q", "-o", "plain", base=base, method=method, steps=10)
    done = tune(*common, "--calibrate", "-o", "run", base=base, method=method, steps=10)
    report = json.loads(Path("run/metrics.json").read_text())
    found = report["calibration"]
    assert found["dev_documents"] == 120
    assert report["training"]["temperature"] == found["temperature"]
    assert f"temperature {found['temperature']:.3g}, fitted to 120 dev documents" in done.err
    assert report["targets"][0]["metrics"]["ece"]["value"] == found["ece"]
    before = json.loads(Path("plain/metrics.json").read_text())["targets"][0]["metrics"]["ece"]["value"]
    assert found["ece_before"] == pytest.approx(before, abs=1e-6)
    plain, scaled = read("plain/documents.parquet").to_pylist(), read("run/documents.parquet").to_pylist()
    assert [row["prediction"] for row in plain] == [row["prediction"] for row in scaled]
    odds = [
        np.log([dict(row["probabilities"])[n] for row in table for n in ("no", "yes")]).reshape(-1, 2)
        for table in (plain, scaled)
    ]
    gaps = [z[:, 1] - z[:, 0] for z in odds]
    np.testing.assert_allclose(gaps[0], gaps[1] * found["temperature"], rtol=1e-2, atol=1e-3)
    run_cli("predict", "run", "test.jsonl", "--probabilities", "--threads", "1", "-f", "-o", "p.parquet")
    probs = [np.array([row["prediction_prob"] for row in table]) for table in (read("p.parquet").to_pylist(), scaled)]
    np.testing.assert_allclose(*probs, atol=1e-5)
    (folder,) = (p for p in Path("run/model").iterdir() if p.is_dir())
    assert "the last layer is divided by it" in (folder / "README.md").read_text()


def test_transformers_has_the_calibrated_probabilities(base: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tune(*write_splits(), "--calibrate", *FIRST, "-q", "-o", "run", base=base, steps=30)
    tested = read("run/documents.parquet").to_pylist()
    texts = [row["text"] for row in noisy(150, 3)][:10]
    tokenizer = AutoTokenizer.from_pretrained("run/model/transformers")
    model = AutoModelForSequenceClassification.from_pretrained("run/model/transformers").eval()
    with torch.no_grad():
        p = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.softmax(-1).numpy()
    np.testing.assert_allclose(p.max(axis=1), [row["prediction_prob"] for row in tested[:10]], atol=1e-5)


def test_test_documents_do_not_move_the_temperature(base: Path) -> None:
    words = [*write_splits(("a", "b", "c")), "--calibrate", "--task", "ordinal", "--order", "a,b,c"]
    tune(*words, "-q", "-o", "one", base=base, steps=12)
    write_jsonl(Path("test.jsonl"), noisy(30, 9, ("a", "b", "c")))
    tune(*words, "-q", "-o", "three", base=base, steps=12)
    found = [
        json.loads(Path(f"{run}/metrics.json").read_text())["calibration"]["temperature"] for run in ("one", "three")
    ]
    assert found[0] == found[1]


def test_dev_documents_without_an_error_are_told(base: Path) -> None:
    words = write_splits(dev=2)
    write_jsonl(Path("dev.jsonl"), [{"id": "x", "text": "goal goal goal goal", "label": "yes"}])
    done = tune(*words, "--lr", "0.003", "--calibrate", "-o", "run", base=base, steps=60)
    assert "so no temperature can be fitted and probabilities are" in done.err
    assert "calibration" not in json.loads(Path("run/metrics.json").read_text())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "needs dev documents; name them with"),
        (["--cv", "3"], "--dev"),
        (["--dev", "dev.jsonl", "--task", "labels"], "--calibrate is not for several"),
    ],
)
def test_what_it_needs(more: list[str], said: str, base: Path) -> None:
    write_splits()
    assert said in refused("train.jsonl", "--calibrate", *more, "-o", "run", base=base, code=2)

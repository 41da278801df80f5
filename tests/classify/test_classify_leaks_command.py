"""No information leaks from test to training documents, under any option: random labels score at chance, and the model that a
training set gives is the same whatever the test documents are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command_line import read, run_cli, write_jsonl
from tests.few import few

N, VOCABULARY, LENGTH = 240, 2000, 25
CHANCE = 4 * np.sqrt(0.25 / N)  # four standard errors
FOLDS = ("--cv", "3")

OPTIONS = [
    ["--model", "nb"],
    ["--model", "bernoulli-nb", "--alpha", "0.1"],
    ["--model", "complement-nb"],
    ["--model", "svm"],
    ["--select", "chi2:50"],
    ["--select", "mi:0.05", "--ngrams", "1,2"],
    ["--select", "anova-f-weights:30", "--calibrate", "isotonic"],
    ["--phrases", "npmi:0.1:2", "--ngrams", "1,2"],
    ["--max-vocab", "100", "--min-df", "3", "--max-df", "0.5"],
    ["--calibrate", "sigmoid", "--class-weight", "balanced"],
    ["--calibrate", "temperature", "--scheme", "bm25"],
    ["--hand-features", "all"],
    ["--cost", "auto"],
    ["--threshold", "recall=0.5:a"],
    ["--model", "bernoulli-nb", "--alpha", "auto", "--select", "chi2:50"],
    ["--feature-cols", "size,author"],
    ["--on", "columns", "--feature-cols", "size,author", "--calibrate", "sigmoid"],
    ["--model", "auto", "--budget", "1000", "--select", "chi2:40"],
]
NUMBERS = ["--label-col", "number", "--task", "regression"]
RATINGS = ["--label-col", "rating", "--task", "ordinal"]
OF_NUMBERS = [
    [*NUMBERS],
    [*NUMBERS, "--cost", "auto", "--phrases", "npmi:0.1:2", "--hand-features", "all"],
    [*NUMBERS, "--on", "columns", "--feature-cols", "size,author"],
    [*RATINGS, "--select", "chi2:50"],
    [*RATINGS, "--cost", "0.1,10", "--class-weight", "balanced", "--feature-cols", "size,author"],
]


def name(options: list[str]) -> str:
    return " ".join(options)


def random_rows(n: int, seed: int, prefix: str = "d") -> list[dict[str, Any]]:
    """Documents of random words, which labels have nothing to do with; words of one document come in pairs, as phrases do."""
    rng = np.random.default_rng(seed)
    words = [f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(VOCABULARY)]
    found = []
    for i in range(n):
        own = rng.integers(0, VOCABULARY // 2, LENGTH)
        text = " ".join(f"{words[2 * w]} {words[2 * w + 1]}" for w in own)
        found.append({"id": f"{prefix}{i}", "text": text, "label": "ab"[rng.integers(2)]})
    for row in found:  # after all the others, which stay what they were
        author = None if rng.random() < 0.1 else f"author {rng.integers(60)}"
        row |= {"size": None if rng.random() < 0.1 else float(rng.lognormal()), "author": author}
    for row in found:
        row |= {"number": float(rng.normal(100.0, 7.0)), "rating": int(rng.integers(1, 6))}
    return found


# of the others, the quick tests show that their model is the same whatever the test documents are
QUICK = ("nb", "chi2:50", "isotonic", "--cost", "--threshold", "auto", "columns")


@pytest.mark.parametrize(
    "options",
    [pytest.param(o, marks=() if set(o) & set(QUICK) else pytest.mark.slow) for o in OPTIONS],
    ids=[name(o) for o in OPTIONS],
)
def test_random_labels_score_at_chance(options: list[str], tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", random_rows(N, 0))
    run_cli("classify", "t.jsonl", *FOLDS, *options, "--ci", "0", "-q", "-o", "run")
    report = json.loads(Path("run/metrics.json").read_text())
    assert abs(report["targets"][0]["metrics"]["balanced_accuracy"]["value"] - 0.5) < CHANCE


@pytest.mark.parametrize("options", OF_NUMBERS, ids=name)
def test_random_numbers_and_ratings_are_not_predicted(options: list[str], tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", random_rows(N, 0))
    run_cli("classify", "t.jsonl", *FOLDS, *options, "--ci", "0", "-q", "-o", "run")
    scores = json.loads(Path("run/metrics.json").read_text())["targets"][0]["metrics"]
    rho = scores["spearman"]["value"]
    assert rho is None or abs(rho) < 4 / np.sqrt(N)


def test_a_leak_would_be_seen(tmp_path: Path) -> None:
    """The same selection made on all documents, as is often done by mistake, scores far above chance."""
    write_jsonl(tmp_path / "t.jsonl", random_rows(N, 0))
    run_cli("tfidf", "t.jsonl", "--select", "chi2:50", "--stop-words", "none", "-q", "-o", "w.parquet")
    kept = set(read("w.vocab.parquet").column("term").to_pylist())
    rows = [
        {**row, "text": " ".join(word for word in row["text"].split() if word in kept)} for row in random_rows(N, 0)
    ]
    write_jsonl(tmp_path / "leak.jsonl", rows)
    run_cli("classify", "leak.jsonl", "--ci", "0", "-q", "-o", "run")
    report = json.loads(Path("run/metrics.json").read_text())
    assert report["targets"][0]["metrics"]["balanced_accuracy"]["value"] > 0.5 + CHANCE


def model_of(run: str) -> dict[str, Any]:
    """Everything that a model is made of: tables without their footers, and the configuration."""
    tables: dict[str, Any] = {p.name: read(p).to_pydict() for p in sorted(Path(run, "model").glob("*.parquet"))}
    return {**tables, "config": json.loads(Path(run, "model", "config.json").read_text())}


@pytest.mark.parametrize("options", few([*(o for o in OPTIONS if "auto" not in o), *OF_NUMBERS], 10), ids=name)
def test_the_model_does_not_know_the_test_documents(options: list[str], tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", random_rows(120, 1))
    test = random_rows(60, 2, "t")
    write_jsonl(tmp_path / "one.jsonl", test)
    # other words, other labels, and all the phrases and terms that the training documents nearly have
    other = [
        {
            **row,
            "text": row["text"].replace("w", "v", 10) + " waaa wbaa" * 3,
            "label": "a",
            "number": 1e6,
            "rating": 1,
            "size": 1e6,
            "author": "new",
        }
        for row in test
    ]
    write_jsonl(tmp_path / "two.jsonl", other)
    language = () if "columns" in options else ("--language", "en")
    for test_set in ("one", "two"):
        run_cli("classify", "train.jsonl", "--test", f"{test_set}.jsonl", *options, *language, "-q", "-o", test_set)
    assert model_of("one") == model_of("two")


@pytest.mark.parametrize("how", ["file", "split"])
def test_the_language_is_that_of_training_documents(how: str, tmp_path: Path) -> None:
    english = ["The minister said that the vote was lost", "They have been on the moon and they will be there again"]
    german = [
        "Die Ministerin hat gesagt, dass man die Wahl verloren hat",
        "Sie sind auf dem Mond gewesen und das war gut",
    ]
    train = [{"id": f"a{i}", "text": english[i % 2], "label": "ab"[i % 2], "part": "train"} for i in range(20)]
    for name, other in (("one", english), ("two", german)):
        test = [{"id": f"t{i}", "text": other[i % 2], "label": "ab"[i % 2], "part": "test"} for i in range(400)]
        if how == "file":
            write_jsonl(tmp_path / "train.jsonl", train)
            write_jsonl(tmp_path / "test.jsonl", test)
            files = ["train.jsonl", "--test", "test.jsonl"]
        else:
            write_jsonl(tmp_path / "both.jsonl", [*test, *train])
            files = ["both.jsonl", "--split", "part"]
        run_cli("classify", *files, "--model", "nb", "--stop-words", "auto", "--twins", "0", "-q", "-o", name)
    assert model_of("one") == model_of("two")
    assert [code for code, _ in model_of("two")["config"]["tokens"]["languages"]] == ["en"]

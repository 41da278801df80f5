"""Soft labels: the shares of coders as targets of logistic regression; one label each as their limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.classify.logistic import fit_logistic, fit_soft_logistic
from nlpkit.classify.model import softmax
from nlpkit.classify.soft_labels import encode_soft, entropy, is_tie, most_votes
from tests.cli.conftest import files, planted_rows, read, run_cli, write_jsonl


def test_votes_by_hand() -> None:
    assert most_votes(["b", "a", "b"]) == "b"
    assert (most_votes(["b", "a"]), is_tie(["b", "a"]), is_tie(["a", "a", "b"]), is_tie([])) == (
        "a",
        True,
        False,
        False,
    )
    assert most_votes([]) is None
    assert entropy(["a", "a", "b", "b"]) == pytest.approx(np.log(2))
    assert entropy(["a", "a"]) == 0.0
    assert np.isnan(entropy([]))


def test_shares_have_a_row_for_each_document() -> None:
    learn = np.array([True, True, True, False])
    labels = encode_soft(["a", "b", None, "z"], [["a", "a", "c"], [], [], ["z"]], learn)
    assert labels.names == ("a", "b", "c")  # z is a label of the test only
    assert labels.shares is not None
    assert labels.shares == pytest.approx(np.array([[2 / 3, 0, 1 / 3], [0, 1, 0], [0, 0, 0], [0, 0, 0]]))
    assert labels.codes is not None
    assert labels.codes.tolist() == [0, 1, -1, -1]


@pytest.mark.parametrize("J", [2, 3])
def test_the_optimum_has_no_gradient(J: int) -> None:
    """C Σ_d x_d (p_d - q_d) + w = 0 at the optimum, and Σ_d (p_d - q_d) = 0 by the intercept."""
    rng = np.random.default_rng(J)
    X, Q, C = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(J), 60), 0.7
    model = fit_soft_logistic(X, Q, C=C)
    residual = softmax(X @ model.coef + model.intercept) - Q
    penalty = 2.0 if J == 2 else 1.0  # of two classes the penalty is that of their difference
    assert C * X.T @ residual + penalty * model.coef == pytest.approx(np.zeros((4, J)), abs=1e-3)
    assert residual.sum(axis=0) == pytest.approx(np.zeros(J), abs=1e-3)


def test_one_label_each_is_the_limit_to_the_byte() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 6)), rng.integers(0, 3, 50).astype(np.int32)
    soft, hard = fit_soft_logistic(X, np.eye(3)[y]), fit_logistic(X, y, 3)
    assert soft.coef.tobytes() == hard.coef.tobytes()
    assert soft.intercept.tobytes() == hard.intercept.tobytes()


def rows(disagree: int) -> list[dict[str, Any]]:
    """Planted texts by three coders, the third of whom calls every so many-th text otherwise."""
    return [
        {"id": row["id"], "text": row["text"], "label": row["label"], "anna": row["label"], "ben": row["label"],
         "chiara": "music" if disagree and i % disagree == 0 else row["label"]}
        for i, row in enumerate(planted_rows())
    ]  # fmt: skip


def test_coders_who_agree_give_the_model_of_their_labels(tmp_path: Path) -> None:
    corpus = write_jsonl(tmp_path / "c.jsonl", rows(0))
    run_cli("classify", corpus, "-q", "-o", "hard")
    done = run_cli("classify", corpus, "--annotators", "anna,ben,chiara", "-o", "soft")
    assert "soft labels by 3 coders, who disagree on 0 of 120 documents" in done.err
    hard, soft = files(Path("hard/model")), files(Path("soft/model"))
    assert set(hard) == set(soft)
    assert hard["config.json"] == soft["config.json"]
    for name in set(hard) - {"config.json"}:  # whose footers name the options
        assert read(f"hard/model/{name}").equals(read(f"soft/model/{name}")), name
    assert read("soft/documents.parquet")["label_entropy"].to_pylist() == [0.0] * 120


def test_disagreement_makes_probabilities_softer(tmp_path: Path) -> None:
    corpus = write_jsonl(tmp_path / "c.jsonl", [{k: v for k, v in row.items() if k != "label"} for row in rows(2)])
    run_cli("annotate", "majority", corpus, "--annotators", "anna,ben,chiara", "-q", "-o", "m.parquet")
    run_cli("classify", "m.parquet", "--cost", 100, "-q", "-o", "hard")
    run_cli("classify", corpus, "--cost", 100, "--annotators", "anna,ben,chiara", "-q", "-o", "soft")
    hard, soft = (read(f"{name}/documents.parquet") for name in ("hard", "soft"))
    assert soft["label"].to_pylist() == hard["label"].to_pylist()
    assert np.mean(soft["prediction_prob"].to_pylist()) < np.mean(hard["prediction_prob"].to_pylist()) - 0.05
    values = soft["label_entropy"].to_pylist()
    assert max(values) == pytest.approx(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)))


def test_a_test_file_may_have_one_label_and_ties_are_told(tmp_path: Path) -> None:
    train = [{k: v for k, v in row.items() if k not in ("label", "ben")} for row in rows(4)]
    path = write_jsonl(tmp_path / "t.jsonl", train)
    test = write_jsonl(tmp_path / "e.jsonl", [{"id": "x", "text": "violin choir concert", "label": "music"}])
    done = run_cli("classify", path, "--annotators", "anna,chiara", "--test", test, "-o", "r")
    assert "30 ties" in done.err
    assert read("r/documents.parquet")["prediction"].to_pylist() == ["music"]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("classify c.jsonl --annotators anna,ben --model nb", 2, "--model logreg"),
        ("classify c.jsonl --annotators anna,ben --task ordinal", 2, "--annotators"),
        ("classify c.jsonl --annotators anna,dora", 3, "no column 'dora'"),
        ("classify c.jsonl --annotators anna,anna", 2, "twice"),
        ("classify lists.jsonl --annotators anna,ben", 3, "lists"),
        ("classify same.jsonl --annotators anna,ben", 3, "x"),
        ("classify none.jsonl --annotators anna,ben", 3, "no training document has a label"),
        ("classify empty.jsonl --annotators anna,ben", 3, "empty.jsonl"),
    ],
)
def test_what_cannot_be(line: str, code: int, words: str, tmp_path: Path) -> None:
    texts = [row["text"] for row in planted_rows(3)]
    write_jsonl(tmp_path / "c.jsonl", rows(3)[:12])
    write_jsonl(tmp_path / "lists.jsonl", [{"text": t, "anna": ["a"], "ben": ["b"]} for t in texts])
    write_jsonl(tmp_path / "same.jsonl", [{"text": t, "anna": "x", "ben": "x"} for t in texts])
    write_jsonl(tmp_path / "none.jsonl", [{"text": t, "anna": None, "ben": None} for t in texts])
    (tmp_path / "empty.jsonl").write_text("")
    assert words in run_cli(*line.split(), "-o", "r", code=code).error()
    assert not Path("r").exists()

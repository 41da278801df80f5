"""Soft labels: the shares of coders, or probabilities that weigh them, as targets of classifiers; one label each as their limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.classify.fit import fit_model
from nlpkit.classify.kinds import KINDS, ModelOptions
from nlpkit.classify.labelled import dawid_skene_shares, encode_soft, entropy, is_tie, most_probable, vote_shares
from nlpkit.classify.models.linear import softmax
from nlpkit.classify.models.logistic import fit_logistic, fit_soft_logistic
from nlpkit.classify.models.networks import WordRows
from nlpkit.classify.options import SOFT
from nlpkit.errors import UsageError
from tests.command_line import files, planted_rows, read, run_cli, write_jsonl


def test_votes_by_hand() -> None:
    def of(*votes: str | None) -> dict[str, float]:
        return vote_shares(votes)

    assert of("b", "a", "b", None) == {"a": pytest.approx(1 / 3), "b": pytest.approx(2 / 3)}
    assert most_probable(of("b", "a", "b")) == "b"
    assert most_probable(of("b", "a")) == "a"
    assert [is_tie(of(*votes)) for votes in ("ba", "aab", "")] == [True, False, False]
    assert most_probable({}) is None
    assert entropy(of("a", "a", "b", "b")) == pytest.approx(np.log(2))
    assert entropy(of("a", "a")) == 0.0
    assert np.isnan(entropy({}))


def test_dawid_skene_by_hand() -> None:
    """Two coders agree, the third says the opposite: where the third is alone, the opposite of that label is the probable one."""
    votes: list[tuple[str | None, ...]] = (
        [("x", "x", "y")] * 6 + [("y", "y", "x")] * 4 + [(None, None, "y"), (None,) * 3]
    )
    shares, accuracy = dawid_skene_shares(votes)
    assert shares == [{"x": 1.0}] * 6 + [{"y": 1.0}] * 4 + [{"x": 1.0}, {}]
    assert accuracy == pytest.approx([1, 1, 0], abs=1e-9)
    assert vote_shares(votes[10]) == {"y": 1.0}


def careless_coders(seed: int, D: int = 300) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """Return the true classes of documents, and the labels by two coders who are right in 85 % and three who guess."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, D)
    right = rng.random((D, 5)) < np.array([0.85, 0.85, 0, 0, 0])
    codes = np.where(right, truth[:, None], rng.integers(0, 3, (D, 5)))
    return truth, [tuple("abc"[j] for j in row) for row in codes.tolist()]


def test_dawid_skene_is_nearer_to_the_truth_than_votes_where_coders_are_careless() -> None:
    truth, votes = careless_coders(0)
    by_votes, (by_skill, accuracy) = [vote_shares(row) for row in votes], dawid_skene_shares(votes)
    right = [
        np.mean([most_probable(q) == "abc"[j] for q, j in zip(s, truth, strict=True)]) for s in (by_votes, by_skill)
    ]
    assert right[1] > right[0] + 0.05
    assert accuracy[:2].min() > 0.8
    assert accuracy[2:].max() < 0.5


def test_shares_have_a_row_for_each_document() -> None:
    learn = np.array([True, True, True, False])
    labels = encode_soft(["a", "b", None, "z"], [vote_shares(["a", "a", "c"]), {}, {}, {"z": 1.0}], learn)
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


@pytest.mark.parametrize("kind", SOFT)
def test_every_kind_that_learns_shares_learns_one_label_each_alike(kind: str) -> None:
    """To the byte, but for networks, whose losses torch adds up in another order; two half labels are between the two whole ones."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20).astype(np.int32)
    ids = rng.integers(1, 4, (40, 5)).astype(np.int32) + 3 * y[:, None]
    X = WordRows(ids, 7) if KINDS[kind].ordered else np.eye(7)[ids].sum(axis=1)[:, 1:]
    options = ModelOptions(kind, hidden=8, balanced=KINDS[kind].balanced)
    hard, same, half = (
        fit_model(X, target, 2, options, seed=0).decision(X)
        for target in (y, np.eye(2)[y], np.full((40, 2), 0.5) + 0.2 * (np.eye(2)[y] - 0.5))
    )
    if kind in ("kan", "lstm", "cnn"):
        assert same == pytest.approx(hard, abs=1e-4)
    else:
        assert same.tobytes() == hard.tobytes()
    assert (hard.argmax(axis=1) == y).all()
    assert abs(half[:, 1] - half[:, 0]).mean() < abs(hard[:, 1] - hard[:, 0]).mean()


def test_kinds_that_learn_one_label_a_document_refuse_shares() -> None:
    for kind in ("svm", "knn", "centroid", "mlp"):
        with pytest.raises(UsageError, match=f"{kind} learns from one label per document, not from shares"):
            fit_model(np.eye(4), np.full((4, 2), 0.5), 2, ModelOptions(kind))


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


def test_labels_weighed_by_reliability_predict_better_than_votes(tmp_path: Path) -> None:
    truth, votes = careless_coders(1, 120)
    rng, words = np.random.default_rng(2), {"a": "violin choir", "b": "goal keeper", "c": "planet orbit"}
    texts = [f"{words['abc'[j]].split()[rng.integers(2)]} w{rng.integers(30)}" for j in truth]
    coded = [
        {"id": str(d), "text": text, **dict(zip("vwxyz", row, strict=True))}
        for d, (text, row) in enumerate(zip(texts, votes, strict=True))
    ]
    train = write_jsonl(tmp_path / "c.jsonl", coded)
    test = [{"id": f"t{j}", "text": words[name], "label": name} for j, name in enumerate("abc")]
    write_jsonl(tmp_path / "t.jsonl", test)
    line = ["classify", train, "--annotators", "v,w,x,y,z", "--test", "t.jsonl", "--probabilities"]
    done = run_cli(*line, "--annotators-by", "dawid-skene", "-o", "skill")
    assert "accuracy by Dawid & Skene: v 0." in done.err
    run_cli(*line, "-q", "-o", "votes")
    by_skill, by_votes = (
        read(f"{name}/documents.parquet")["prediction_prob"].to_pylist() for name in ("skill", "votes")
    )
    assert read("skill/documents.parquet")["prediction"].to_pylist() == ["a", "b", "c"]
    assert min(by_skill) > max(by_votes)
    facts = json.loads(Path("skill/manifest.json").read_text())["parameters"]
    assert (facts["annotators"], facts["annotators_by"]) == (list("vwxyz"), "dawid-skene")


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (
            "classify c.jsonl --annotators anna,ben --model svm",
            2,
            "can learn; use one of these, or write one label per text",
        ),
        ("classify c.jsonl --annotators anna,ben --annotators-by skill", 2, "votes, dawid-skene"),
        ("classify c.jsonl --annotators-by dawid-skene", 2, "needs --annotators"),
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

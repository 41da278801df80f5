"""Costs of errors: decisions by hand, intervals against scipy, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import bootstrap

from nlpkit.classify.classifier import Learner
from nlpkit.classify.configs import ClassifierConfig, FeatureSources
from nlpkit.classify.dataset import Labels
from nlpkit.classify.files import read_costs
from nlpkit.classify.kinds import ModelOptions
from nlpkit.classify.thresholds import compare_costs, cost_matrix, least_cost
from nlpkit.errors import InputError
from nlpkit.metrics.score import Uncertainty
from tests.refusals import refuses


def test_the_matrix() -> None:
    assert cost_matrix({"b": {"a": 5, "b": -1}}, ("a", "b", "c")) == ((0, 1, 1), (5, -1, 1), (1, 1, 0))
    for wrong in ({"d": {"a": 1}}, {"a": {"d": 1}}, {"a": {"b": "x"}}, {"a": {"b": True}}, {"a": {"b": float("nan")}},
                  {"a": {"a": 1.0, "b": 1, "c": 1}, "b": {"b": 1}, "c": {"c": 1}}):  # fmt: skip
        with refuses("costs"):
            cost_matrix(wrong, ("a", "b", "c"))  # type: ignore[arg-type]


def test_the_decision_by_hand() -> None:
    p = np.array([[0.8, 0.2], [0.85, 0.15], [0.2, 0.8]])
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])  # a missed b costs five false alarms: b from 1/6 on
    assert least_cost(p, costs).tolist() == [1, 0, 1]
    errors = 1 - np.eye(2)
    assert least_cost(p, errors).tolist() == p.argmax(axis=1).tolist()
    three = np.array([[0.4, 0.35, 0.25]])
    assert least_cost(three, np.array([[0, 1, 1], [1, 0, 1], [9, 1, 0]])).tolist() == [1]  # 2.6, 0.65, 0.75


def test_a_classifier_decides_by_its_probabilities() -> None:
    rng = np.random.default_rng(2)
    y = rng.choice(3, 300, p=[0.6, 0.3, 0.1]).astype(np.int32)
    X = rng.normal(np.eye(3, 6)[y], 1.0).astype(np.float32)
    labels = Labels(("a", "b", "c"), np.ones(300, bool), y)
    costs = cost_matrix({"c": {"a": 20, "b": 20}}, labels.names)
    train, rest = np.arange(0, 300, 2), np.arange(1, 300, 2)
    config = ClassifierConfig("svm", ModelOptions("svm"), None, calibrate="sigmoid", costs=costs)
    predicted = Learner(FeatureSources(300, embeddings=X), labels, 1).fit(train, config).predict(rest)
    assert predicted.probabilities is not None
    assert predicted.codes is not None
    expected = (predicted.probabilities[:, :, None] * np.array(costs)[None]).sum(axis=1).argmin(axis=1)
    assert (predicted.codes == expected).all()
    assert (predicted.codes == 2).sum() > (predicted.probabilities.argmax(axis=1) == 2).sum()
    # a class that the training documents lack is not predicted, whatever it costs
    lacks = train[y[train] != 2]
    fitted = Learner(FeatureSources(300, embeddings=X), labels, 1).fit(lacks, config)
    assert set(np.unique(fitted.predict(rest).codes)) <= {0, 1}


def test_mean_costs_and_their_intervals() -> None:
    rng = np.random.default_rng(3)
    true = rng.integers(0, 2, 400).astype(np.int32)
    one = np.where(rng.random(400) < 0.8, true, 1 - true).astype(np.int32)
    two = np.where(rng.random(400) < 0.6, true, 1 - true).astype(np.int32)
    costs = np.array([[0.0, 1.0], [4.0, 0.5]])
    rows = compare_costs(true, {"one": one, "two": two}, costs, Uncertainty(0.95, 0))
    values = [costs[true, codes] for codes in (one, two)]
    assert [row["mean_cost"] for row in rows] == pytest.approx([v.mean() for v in values])
    assert rows[1]["saved"] == pytest.approx(values[1].mean() - values[0].mean())
    for row, prefix, of in ((rows[0], "", values[0]), (rows[1], "saved_", values[1] - values[0])):
        peer = bootstrap((of,), np.mean, confidence_level=0.95, rng=np.random.default_rng(1), n_resamples=5000)
        interval = peer.confidence_interval
        assert (row[f"{prefix}low"], row[f"{prefix}high"]) == pytest.approx((interval.low, interval.high), abs=0.03)
    perfect = compare_costs(true, {"one": true}, 1 - np.eye(2), Uncertainty(0.95, 0))[0]
    assert (perfect["mean_cost"], perfect["low"]) == (0, 0)
    assert perfect["high"] > 0  # Wilson: 400 of 400
    assert set(compare_costs(true, {"one": one}, costs, Uncertainty(None, 0))[0]) == {"decision", "mean_cost"}


def test_files(tmp_path: Path) -> None:
    toml, table, tabs = tmp_path / "c.toml", tmp_path / "c.csv", tmp_path / "c.tsv"
    toml.write_text('["not spam"]\nspam = 5\n[spam]\n"not spam" = 1.5\n')
    table.write_text("true,spam,not spam\nspam,0,1.5\nnot spam,5,0\n\n")
    tabs.write_text("\tspam\tnot spam\nspam\t0\t1.5\nnot spam\t5\t0\n")
    names = ("not spam", "spam")
    assert {cost_matrix(read_costs(file), names) for file in (toml, table, tabs)} == {((0.0, 5.0), (1.5, 0.0))}
    for name, text in (("a.toml", "x = 1"), ("b.toml", "["), ("c.toml", ""), ("d.csv", "a,b\n"), ("e.csv", "t,a\nb,x\n"),
                       ("f.csv", "t,a\nb\n")):  # fmt: skip
        (tmp_path / name).write_text(text)
        with refuses("costs", InputError):
            read_costs(tmp_path / name)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for missing in (tmp_path / "binary.toml", tmp_path / "none.toml"):
        with refuses("costs", InputError):
            read_costs(missing)

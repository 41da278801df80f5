"""Data sets for fine-tuning: splits, shots, folds, targets and predictions of the four kinds of labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import t as t_distribution

from nlpkit.classify.dataset import DEV, TEST, TRAIN, UNUSED
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.comparison import ComparisonRows, best_of, comparison_table, ranks_of, summary
from nlpkit.finetune.data.checks import check_dataset
from nlpkit.finetune.data.dataset import FinetuneDataset, deal, encode_labels, leave_empty_out, tag_names_of
from nlpkit.finetune.data.texts import neighbours, words_of
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.options import DatasetOptions, FinetuneOptions
from nlpkit.finetune.predictions import empty_predictions, predictions_of
from nlpkit.finetune.protocol import majority_vote
from nlpkit.finetune.scores import MAIN, score_task
from nlpkit.finetune.tasks import IGNORED, FinetuneTask, TaskKind
from nlpkit.finetune.trials import FINAL, TrialConfig, TrialResult, collect_predictions
from nlpkit.metrics.score import Uncertainty
from tests.refusals import refuses


def dataset(
    labels: list[Any], kind: TaskKind = "single", split: list[int] | None = None, **more: Any
) -> FinetuneDataset:
    table = pa.table({"id": [f"d{i}" for i in range(len(labels))], "text": [f"word {i}" for i in range(len(labels))]})
    known = np.array([label is not None for label in labels])
    splits = np.array(split if split is not None else [TRAIN] * len(labels), np.int32)
    tags = labels if kind == "tokens" else None
    return FinetuneDataset(
        table, labels, encode_labels(kind, labels, known, (splits == TRAIN) & known), splits, more.pop("n_folds", 0), kind,
        tags=tags, tag_names=tag_names_of(tags, splits == TRAIN), **more,
    )  # fmt: skip


def test_shots_are_drawn_once_and_what_is_left_is_the_test() -> None:
    data = dataset(["a", "b"] * 10)
    drawn = data.drawn(3, seed=1)
    assert drawn is data.drawn(3, seed=1)
    assert drawn is not data.drawn(3, seed=2)
    assert data.drawn(None, seed=1) is data
    assert drawn.labels.sizes(drawn.train).tolist() == [3, 3]
    assert (drawn.split == TEST).sum() == 14
    with_test = dataset(["a", "b"] * 10, split=[TRAIN] * 16 + [TEST] * 4).drawn(2, seed=0)
    assert (with_test.split == UNUSED).sum() == 12
    assert (with_test.split == TEST).sum() == 4
    with refuses("shots"):
        dataset([0.5, 1.5], "regression", values=np.array([0.5, 1.5])).drawn(2, seed=0)


def test_totals_are_of_all_classes_together_and_of_any_task() -> None:
    data = dataset(["a"] * 12 + ["b"] * 8, by_total=True)
    drawn = data.drawn(5, seed=1)
    assert drawn.labels.sizes(drawn.train).tolist() == [3, 2]
    assert (drawn.split == TEST).sum() == 15
    assert drawn.describe_size(5) == "5 documents"
    numbers = dataset([0.5, 1.5, 2.5], "regression", values=np.array([0.5, 1.5, 2.5]), by_total=True)
    assert len(numbers.drawn(2, seed=0).train) == 2
    with refuses("totals"):
        data.drawn(1, seed=0)


def test_a_share_is_held_out_of_every_class_or_all_are_dealt_into_folds() -> None:
    data = dataset(["a", "b"] * 10)
    deal(data, DatasetOptions(), seed=3)
    test = data.rounds[0][1]
    assert data.labels.sizes(test).tolist() == [2, 2]
    folds = dataset(["a", "b"] * 10, n_folds=5)
    deal(folds, DatasetOptions(cv=5), seed=3)
    assert sorted(folds.split.tolist()) == [fold for fold in range(5) for _ in range(4)]
    shots = dataset(["a", "b"] * 10)
    deal(shots, DatasetOptions(shots=2), seed=3)  # what these leave over is the test
    assert (shots.split == TRAIN).all()
    with pytest.raises(InputError):
        deal(dataset(["a", "a", "b"]), DatasetOptions(), seed=0)


def test_what_no_training_can_use_is_refused() -> None:
    with pytest.raises(InputError):
        check_dataset(dataset(["a", "b", "c"], split=[TRAIN, TRAIN, DEV]), DatasetOptions(), seed=0)
    with pytest.raises(InputError):
        check_dataset(dataset(["a", "b", "c"], split=[TRAIN, TRAIN, TEST]), DatasetOptions(), seed=0)
    values = np.array([1.0, 1.0, 2.0])
    alike = dataset([1.0, 1.0, 2.0], "regression", [TRAIN, TRAIN, TEST], values=values)
    with pytest.raises(InputError):
        check_dataset(alike, DatasetOptions(), seed=0)
    empty = dataset(["a", "b"])
    empty.table = empty.table.set_column(1, "text", pa.array([" ", ""]))
    with pytest.raises(InputError, match="word"):
        leave_empty_out(empty)


def test_targets_are_what_the_network_learns() -> None:
    task, y = dataset(["b", "a", None, "b"]).task_and_targets(np.array([0, 1, 3]))
    assert task == FinetuneTask("single", ("a", "b"))
    assert y.tolist() == [1, 0, 0, 1]
    _, several = dataset([["b"], ["a", "b"]], "multi").task_and_targets(np.array([0, 1]))
    assert several.tolist() == [[0.0, 1.0], [1.0, 1.0]]
    numbers = dataset([1.0, 3.0, 9.0], "regression", values=np.array([1.0, 3.0, 9.0]))
    task, scaled = numbers.task_and_targets(np.array([0, 1]))
    assert (task.mean, task.scale) == (2.0, 1.0)
    assert scaled.tolist() == [-1.0, 1.0, 7.0]
    task, tags = dataset([["X", None], ["O", "X"]], "tokens").task_and_targets(np.array([0, 1]))
    assert [own.tolist() for own in tags] == [[1, IGNORED], [0, 1]]


def test_predictions_of_all_four_tasks() -> None:
    one = predictions_of(FinetuneTask("single", ("a", "b")), np.array([[2.0, 0.0], [0.0, 1.0]])).predicted
    assert one is not None
    assert one.codes is not None
    assert one.codes.tolist() == [0, 1]
    several = predictions_of(FinetuneTask("multi", ("a", "b")), np.array([[2.0, -1.0]])).predicted
    assert several is not None
    assert several.sets is not None
    assert several.sets.tolist() == [[True, False]]
    numbers = predictions_of(FinetuneTask("regression", (), 10.0, 2.0), np.array([[1.5]])).values
    assert numbers is not None
    assert numbers.tolist() == [13.0]
    cut = np.array([[0.0, 3.0], [np.nan, np.nan]])  # the second word lies beyond the window
    words = predictions_of(FinetuneTask("tokens", ("O", "X")), [cut])
    assert words.tags == [["X", None]]


def test_the_predictions_of_folds_are_those_of_all_documents_and_are_scored() -> None:
    data = dataset(["a", "b"] * 3, split=[0, 0, 1, 1, 2, 2], n_folds=3)
    results = []
    for fold in range(3):
        config = TrialConfig(parse_method("head"), None, 1, fold)
        train, dev, rows = config.rows(data)
        assert len(train) == 4
        assert not len(dev)
        outputs = np.array([[1.0, 0.0], [0.0, 1.0]]) if fold else np.array([[1.0, 0.0], [1.0, 0.0]])
        results.append(TrialResult(config, {}, rows, outputs, []))
    predictions = collect_predictions(data, results)
    assert predictions.predicted is not None
    assert predictions.predicted.codes is not None
    assert predictions.predicted.codes.tolist() == [0, 0, 0, 1, 0, 1]
    scores = score_task(data, predictions, None, Uncertainty(None, 1))
    assert scores.model.scores["accuracy"].value == pytest.approx(5 / 6)
    assert scores.majority.scores["accuracy"].value == pytest.approx(0.5)
    assert TrialConfig(parse_method("head"), None, 1, FINAL).rows(data)[0].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_trial_has_a_key_of_its_own_and_a_title() -> None:
    data = dataset(["a", "b"] * 10)
    by_total = replace(data, by_total=True)
    configs = [
        TrialConfig(parse_method(method), shots, seed, fold)
        for method in ("head", "lora(r=2)") for shots in (None, 8) for seed in (1, 2) for fold in (None, 0, FINAL)
    ]  # fmt: skip
    assert len({config.key for config in configs}) == len(configs)
    configs.append(replace(configs[0], sample=1))
    assert len({config.key for config in configs}) == len(configs)
    assert TrialConfig(parse_method("head"), 8, 2, sample=1).title(by_total) == "head, 8 documents, sample 1, seed 2"
    assert TrialConfig(parse_method("lora(r=2)"), 8, 1, 0).title(data) == "lora(r=2), 8 shots, seed 1, fold 1"


def test_a_comparison_ranks_by_the_mean_over_seeds() -> None:
    rows = [
        {"method": method, "shots": 4, "seed": seed, "accuracy": value}
        for method, values in (("head", (0.5, 0.7)), ("full", (0.9, 0.1)), ("majority", (1.0, 1.0)))
        for seed, value in enumerate(values)
    ]
    means = summary(ComparisonRows(rows), metric="accuracy", level=0.95)
    best = best_of(means, "single")
    assert MAIN["single"] == "accuracy"
    assert best is not None
    assert (best["method"], best["runs"]) == ("head", 2)
    assert best["mean"]["accuracy"] == pytest.approx(0.6)
    assert best["sd"]["accuracy"] == pytest.approx(0.1414, abs=1e-4)
    assert best_of([row for row in means if row["method"] == "majority"], "single") is None
    assert "interval" not in best  # of two seeds
    timed = [{**row, "seconds": 1.0, "curves": []} for row in rows]
    assert comparison_table(timed).column_names == ["method", "shots", "seed", "accuracy"]
    assert comparison_table(timed, clocks=True).column_names == ["method", "shots", "seed", "seconds"]


def test_repeats_on_a_sample_count_once_in_interval_and_ranks() -> None:
    rows = ComparisonRows()
    for sample, (head, full) in enumerate([(0.5, 0.7), (0.6, 0.8), (0.7, 0.6)]):
        for seed, noise in enumerate((-0.05, 0.05)):
            for method, value in (("head", head), ("full", full)):
                at = {"method": method, "shots": None, "total": 10, "sample": sample}
                rows.trainings.append({**at, "seed": seed, "accuracy": value + noise})
        rows.votes.append({"method": "head", "shots": None, "total": 10, "sample": sample, "accuracy": head + 0.1})
    head, full = summary(rows, metric="accuracy", level=0.9)
    assert (head["total"], head["runs"]) == (10, 6)
    assert head["vote"]["mean"]["accuracy"] == pytest.approx(0.7)
    assert head["vote"]["sd"]["accuracy"] == pytest.approx(0.1)
    assert "vote" not in full
    expected = t_distribution.interval(0.9, 2, loc=0.6, scale=0.1 / np.sqrt(3))
    assert (head["interval"]["low"], head["interval"]["high"]) == pytest.approx(expected)
    assert summary(rows, metric="accuracy", level=None)[0].keys() == {
        "method",
        "shots",
        "total",
        "runs",
        "mean",
        "sd",
        "vote",
    }
    ranks = ranks_of(rows, metric="accuracy", level=0.95)
    assert ranks is not None
    assert ranks.blocks == 3
    assert dict(zip(ranks.names, ranks.ranks.tolist(), strict=True)) == pytest.approx({"head": 5 / 3, "full": 4 / 3})


def test_the_vote_of_models_and_what_decides_a_tie() -> None:
    task = FinetuneTask("single", ("a", "b", "c"))
    outputs = [[[9, 0, 0], [1, 0, 0]], [[0, 1, 0], [0, 8, 0]], [[0, 1, 0], [0, 0, 1.5]]]  # (R, D, J)
    vote = majority_vote([predictions_of(task, np.array(own, float)) for own in outputs]).predicted
    assert vote is not None
    assert vote.codes is not None
    assert vote.codes.tolist() == [
        1,
        1,
    ]  # two votes against a surer one; of one vote each, the largest mean probability
    assert vote.probabilities is not None
    np.testing.assert_allclose(vote.probabilities.sum(axis=1), 1)
    unknown = empty_predictions(task, 2)
    unknown.fill(task, np.array([1]), np.array([[0.0, 0.0, 1.0]]))
    of_one = majority_vote([unknown]).predicted
    assert of_one is not None
    assert of_one.codes is not None
    assert of_one.codes.tolist() == [-1, 2]
    several = FinetuneTask("multi", ("a", "b"))
    both = majority_vote([predictions_of(several, np.array([own], float)) for own in ([3, -1], [-1, 0.5])]).predicted
    assert both is not None
    assert both.sets is not None
    assert both.sets.tolist() == [[True, False]]  # one of two models each: the mean probability decides


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lecture", "majority"),
        ("majority(folds=3)", "samples"),
        ("majority(repeats=0)", "1 or more"),
        ("majority(samples=2.5)", "whole"),
    ],
)
def test_protocols_that_cannot_be(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        FinetuneOptions(protocol=text).repeated()


def test_a_protocol_is_a_comparison_with_seeds_of_its_own() -> None:
    protocol = FinetuneOptions(method="head", protocol="majority(repeats=2)").repeated()
    assert protocol is not None
    assert (protocol.spelling, protocol.samples) == ("majority(samples=5,repeats=2)", 5)
    assert FinetuneOptions(method="head", protocol="majority").compares(DatasetOptions())
    assert FinetuneOptions(method="head", protocol="course(repeats=2)").repeated() == protocol  # its earlier name
    with pytest.raises(UsageError, match="leave `seeds` out"):
        FinetuneOptions(protocol="majority", seeds=2).repeated()


@pytest.mark.parametrize(
    ("shots", "sizes"),
    [(None, [None]), (8, [8]), ("8,64,all", [8, 64, None]), ((8, "all"), [8, None]), ("all", [None])],
)
def test_shots_as_python_and_the_shell_write_them(shots: Any, sizes: list[int | None]) -> None:
    assert DatasetOptions(shots=shots).sizes() == sizes


@pytest.mark.parametrize(
    "values",
    [
        {"shots": "0"},
        {"shots": (8, 8)},
        {"near_duplicates": 0.1},
        {"totals": "x"},
        {"pair_col": None, "task": "answers"},
    ],
)
def test_options_that_cannot_be_name_the_parameter(values: dict[str, Any]) -> None:
    with refuses(next(iter(values))):
        DatasetOptions(**values)


def test_what_is_compared_is_known_from_the_options() -> None:
    assert not FinetuneOptions(method="head").compares(DatasetOptions(shots=8))
    assert FinetuneOptions(method="head,ia3").compares(DatasetOptions())
    assert FinetuneOptions().compares(DatasetOptions(shots="8,all"))


def test_neighbours_end_with_their_group() -> None:
    before, after = neighbours(["a", "b", "c", "d"], [0, 0, 1, 1], 1)
    assert before == ["", "a", "", "c"]
    assert after == ["b", "", "d", ""]


def test_words_are_those_of_the_column_or_of_the_text() -> None:
    table = pa.table({"text": ["a b", None], "words": [["x", "y z"], None]})
    assert words_of(table, "words") == [["x", "y z"], []]
    assert words_of(table, "none") == [["a", "b"], []]

"""Data sets for fine-tuning: splits, shots, folds, targets and predictions of the four kinds of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.classify.splits import DEV, TEST, TRAIN, UNUSED
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.comparison import best_of, comparison_table, summary
from nlpkit.finetune.dataset import FinetuneDataset, deal, encode_labels, leave_empty_out, tag_names_of
from nlpkit.finetune.dataset_checks import check_dataset
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.options import DatasetOptions, FinetuneOptions, HeldOutOptions, ScheduleOptions, TrainingOptions
from nlpkit.finetune.predictions import predictions_of
from nlpkit.finetune.scores import MAIN, score_task
from nlpkit.finetune.tasks import IGNORED, FinetuneTask, TaskKind
from nlpkit.finetune.text_inputs import neighbours, words_of
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
    configs = [
        TrialConfig(parse_method(method), shots, seed, fold)
        for method in ("head", "lora(r=2)") for shots in (None, 8) for seed in (1, 2) for fold in (None, 0, FINAL)
    ]  # fmt: skip
    assert len({config.key for config in configs}) == len(configs)
    assert TrialConfig(parse_method("lora(r=2)"), 8, 1, 0).title == "lora(r=2), 8 shots, seed 1, fold 1"


def test_a_comparison_ranks_by_the_mean_over_seeds() -> None:
    rows = [
        {"method": method, "shots": 4, "seed": seed, "accuracy": value}
        for method, values in (("head", (0.5, 0.7)), ("full", (0.9, 0.1)), ("majority", (1.0, 1.0)))
        for seed, value in enumerate(values)
    ]
    means = summary(rows)
    best = best_of(means, "single")
    assert MAIN["single"] == "accuracy"
    assert best is not None
    assert (best["method"], best["runs"]) == ("head", 2)
    assert best["mean"]["accuracy"] == pytest.approx(0.6)
    assert best["sd"]["accuracy"] == pytest.approx(0.1414, abs=1e-4)
    assert best_of([row for row in means if row["method"] == "majority"], "single") is None
    assert comparison_table(rows).column_names == ["method", "shots", "seed", "accuracy"]


@pytest.mark.parametrize(
    ("shots", "sizes"),
    [(None, [None]), (8, [8]), ("8,64,all", [8, 64, None]), ((8, "all"), [8, None]), ("all", [None])],
)
def test_shots_as_python_and_the_shell_write_them(shots: Any, sizes: list[int | None]) -> None:
    assert DatasetOptions(shots=shots).sizes() == sizes


@pytest.mark.parametrize(
    ("record", "parameter"),
    [
        (DatasetOptions(shots="0"), "shots"), (DatasetOptions(shots=(8, 8)), "shots"), (DatasetOptions(holdout=1.0), "holdout"),
        (DatasetOptions(twins=0.1), "twins"), (DatasetOptions(task="word"), "task"), (DatasetOptions(cv=3, shots=2), "cv"),
        (DatasetOptions(context_by="a"), "context_by"), (HeldOutOptions(split="a", dev="b"), "dev"), (ScheduleOptions(lr=0), "lr"),
        (TrainingOptions(head_lr=11), "head_lr"), (TrainingOptions(class_weight="x"), "class_weight"),
        (ScheduleOptions(warmup=2), "warmup"), (TrainingOptions(weight_decay=1), "weight_decay"),
    ],
)  # fmt: skip
def test_options_out_of_range_name_the_parameter(record: Any, parameter: str) -> None:
    with pytest.raises(UsageError) as caught:
        record.check()
    assert caught.value.parameter == parameter


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

"""Losses of the four tasks against torch's and by hand; parts of a batch sum to the whole; weights of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor
from torch.nn import functional

from nlpkit.finetune.tasks import IGNORED, FinetuneTask, Targets, TaskKind, balanced, probabilities
from tests.finetune.eight import one_thread  # noqa: F401

D, J, T = 7, 3, 6
RNG = np.random.default_rng(0)
ROWS = np.array([5, 0, 3, 2, 6])
LOGITS = torch.from_numpy(RNG.normal(size=(D, J)))
WORD_LOGITS = torch.from_numpy(RNG.normal(size=(D, T, J)))
WEIGHTS = torch.tensor([0.5, 2.0, 1.5])
WORDS = [np.array(y, np.int64) for y in ([0, -100, 2], [1], [-100, -100], [2, 2, 1, 0, -100, 1], [], [0], [1, 1, 2, 0])]


def targets(kind: TaskKind, weights: Tensor | None = None) -> Targets:
    y: Any = {
        "single": np.array([0, 1, 2, 2, 1, 0, 0]),
        "ordinal": np.array([0, 1, 2, 2, 1, 0, 0]),
        "multi": RNG.integers(0, 2, (D, J)).astype(np.float32),
        "regression": RNG.normal(size=D).astype(np.float32),
        "tokens": WORDS,
    }[kind]
    return Targets(FinetuneTask(kind, () if kind == "regression" else ("a", "b", "c")), y, weights)


def logits(kind: TaskKind, rows: Any) -> Tensor:
    width = {"regression": 1, "ordinal": J - 1}.get(kind, J)
    return WORD_LOGITS[rows] if kind == "tokens" else LOGITS[rows][:, :width]


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_cross_entropy_of_one_class_is_torchs(weights: Tensor | None) -> None:
    own = targets("single", weights)
    expected = functional.cross_entropy(LOGITS[ROWS].float(), torch.from_numpy(own.y[ROWS]), weights)
    found = own.loss(LOGITS[ROWS], ROWS) / own.weight(ROWS)
    torch.testing.assert_close(found, expected)


def test_cross_entropy_by_hand() -> None:
    own = Targets(FinetuneTask("single", ("a", "b")), np.array([0, 1]), torch.tensor([1.0, 3.0]))
    z = torch.tensor([[np.log(3.0), 0.0], [0.0, 0.0]])  # p = 3/4, 1/4 and 1/2, 1/2
    assert own.loss(z, np.array([0, 1])).item() == pytest.approx(-np.log(0.75) - 3 * np.log(0.5), abs=1e-6)
    assert own.weight(np.array([0, 1])) == 4


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_several_classes_by_hand(weights: Tensor | None) -> None:
    own = targets("multi", weights)
    y, p = own.y[ROWS].astype(float), 1 / (1 + np.exp(-LOGITS[ROWS].numpy()))
    w = np.ones(J) if weights is None else weights.numpy()
    expected = -(w * y * np.log(p) + (1 - y) * np.log(1 - p)).mean()
    assert (own.loss(LOGITS[ROWS], ROWS) / own.weight(ROWS)).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_ordered_classes_by_hand(weights: Tensor | None) -> None:
    own = targets("ordinal", weights)
    p = 1 / (1 + np.exp(-LOGITS[ROWS][:, :2].numpy()))
    total = weight = 0.0
    for i, row in enumerate(ROWS):
        k = own.y[row]
        w = 1.0 if weights is None else float(weights[k])
        total -= w * sum(np.log(p[i, j] if k > j else 1 - p[i, j]) for j in range(2)) / 2
        weight += w
    assert own.weight(ROWS) == pytest.approx(weight)
    assert own.loss(LOGITS[ROWS][:, :2], ROWS).item() == pytest.approx(total, abs=1e-5)


def test_probabilities_of_ordered_classes() -> None:
    task = FinetuneTask("ordinal", ("bad", "ok", "good"))
    assert (task.n_outputs, task.output_names) == (2, (">bad", ">ok"))
    above = np.log(np.array([[0.75 / 0.25, 0.2 / 0.8], [0.3 / 0.7, 0.6 / 0.4]]))  # the second rises, and is lowered
    np.testing.assert_allclose(probabilities(task, above), [[0.25, 0.55, 0.2], [0.7, 0.0, 0.3]], atol=1e-12)


def test_squared_error_of_a_number() -> None:
    own = targets("regression")
    expected = ((LOGITS[ROWS, 0].numpy() - own.y[ROWS]) ** 2).mean()
    assert (own.loss(LOGITS[ROWS][:, :1], ROWS) / own.weight(ROWS)).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_words_by_hand_and_tokens_without_a_target_do_not_count(weights: Tensor | None) -> None:
    own = targets("tokens", weights)
    w = np.ones(J) if weights is None else weights.numpy()
    log_p = torch.log_softmax(WORD_LOGITS, -1).numpy()
    total = weight = 0.0
    for row in ROWS:
        for t, y in enumerate(WORDS[row]):
            if y != IGNORED:
                total, weight = total - w[y] * log_p[row, t, y], weight + w[y]
    assert own.weight(ROWS) == pytest.approx(weight)
    assert own.loss(WORD_LOGITS[ROWS], ROWS).item() == pytest.approx(total, abs=1e-5)
    changed = WORD_LOGITS.clone()
    changed[0, 1] = 99.0  # the place of an ignored token
    changed[1, 1:] = -99.0  # padding
    assert own.loss(changed[ROWS], ROWS).item() == pytest.approx(total, abs=1e-5)


def test_words_wider_than_their_logits_are_cut() -> None:
    own = targets("tokens")
    assert own.loss(WORD_LOGITS[[3], :2], np.array([3])).item() == pytest.approx(
        functional.cross_entropy(WORD_LOGITS[3, :2].float(), torch.tensor([2, 2]), reduction="sum").item(), abs=1e-6
    )


def test_texts_without_a_label_weigh_nothing() -> None:
    own = targets("tokens", WEIGHTS)
    assert own.weight(np.array([2, 4])) == 0
    assert own.loss(WORD_LOGITS[[2, 4]], np.array([2, 4])).item() == 0


@pytest.mark.parametrize("kind", ["single", "multi", "ordinal", "regression", "tokens"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_parts_sum_to_the_whole(kind: TaskKind, weights: Tensor | None) -> None:
    own = targets(kind, None if kind == "regression" else weights)
    parts = [ROWS[:2], ROWS[2:3], ROWS[3:]]
    whole = own.loss(logits(kind, ROWS), ROWS).item()
    assert sum(own.loss(logits(kind, part), part).item() for part in parts) == pytest.approx(whole, abs=1e-5)
    assert sum(own.weight(part) for part in parts) == pytest.approx(own.weight(ROWS))


def test_logits_of_half_precision_give_a_loss_in_float32() -> None:
    assert targets("single").loss(LOGITS[ROWS].bfloat16(), ROWS).dtype == torch.float32


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    y = np.repeat([0, 1, 2], [10, 5, 25])
    expected = compute_class_weight("balanced", classes=np.arange(3), y=y)
    found = balanced(np.bincount(y), len(y))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    assert found.dtype == torch.float32
    assert [float(found[j] * n) for j, n in enumerate((10, 5, 25))] == pytest.approx(
        [40 / 3] * 3
    )  # classes weigh alike


def test_balanced_weights_of_several_labels() -> None:
    assert balanced(np.array([10, 40, 50]), 50, positive=True).tolist() == pytest.approx([4.0, 0.25, 1.0])


def test_a_class_without_examples_weighs_as_one_of_one() -> None:
    assert balanced(np.array([4, 0, 1]), 5).tolist() == pytest.approx([5 / 12, 5 / 3, 5 / 3])
    assert balanced(np.array([0, 1]), 5, positive=True).tolist() == pytest.approx([4.0, 4.0])


def test_probabilities() -> None:
    z = np.array([[np.log(3.0), 0.0, 0.0], [1000.0, 0.0, 999.0]])
    found = probabilities(FinetuneTask("single", ("a", "b", "c")), z)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[0], [0.6, 0.2, 0.2])
    np.testing.assert_allclose(found[1], [np.e / (1 + np.e), 0, 1 / (1 + np.e)], atol=1e-12)
    several = probabilities(FinetuneTask("multi", ("a", "b", "c")), np.array([[0.0, np.log(4.0), -np.log(4.0)]]))
    np.testing.assert_allclose(several, [[0.5, 0.8, 0.2]])
    np.testing.assert_allclose(
        probabilities(FinetuneTask("multi", ("a", "b")), np.array([[-800.0, 800.0]])), [[0.0, 1.0]]
    )


def test_outputs_of_a_task() -> None:
    assert FinetuneTask("regression").n_outputs == 1
    assert FinetuneTask("tokens", ("O", "B-X")).n_outputs == 2

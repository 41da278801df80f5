"""Losses of sentence encoders on vectors worked out by hand, and beside sentence-transformers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from nlpkit.finetune.encoders.encoders import (
    cosine_loss,
    mnrl_loss,
    not_negatives,
    softmax_features,
    softmax_loss,
    triplet_loss,
)
from nlpkit.finetune.training.engine import Engine
from nlpkit.platform.types import LongArray


def rows(*values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


def test_softmax_features_by_hand() -> None:
    assert softmax_features(rows([1, 2]), rows([3, -1])).tolist() == [[1, 2, 3, -1, 2, 3]]


def test_softmax_loss_by_hand() -> None:
    # features (1, 0, 0, 1, 1, 1); class 0 weighs the first, class 1 the last twice: logits 1 and 2
    weight = rows([1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 2])
    loss = softmax_loss(rows([1, 0]), rows([0, 1]), weight, torch.tensor([1]))
    assert float(loss) == pytest.approx(math.log(1 + math.exp(-1)), abs=1e-6)


def test_triplet_loss_by_hand() -> None:
    a, p, n = rows([0, 0], [0, 0]), rows([3, 4], [0, 1]), rows([0, 5.5], [6, 8])
    # 5 - 5.5 + 1 = 0.5; 1 - 10 + 1 < 0
    assert float(triplet_loss(a, p, n)) == pytest.approx(0.25)
    assert float(triplet_loss(a, p, n, margin=10.0)) == pytest.approx((9.5 + 1) / 2)


def test_triplet_loss_has_a_gradient_where_anchor_and_positive_are_one() -> None:
    a = rows([1, 1]).requires_grad_()
    triplet_loss(a, a.detach(), rows([1, 2])).backward()
    assert a.grad is not None
    assert torch.isfinite(a.grad).all()


def test_cosine_loss_by_hand() -> None:
    u, v = rows([1, 0], [2, 0]), rows([1, 1], [0, 3])
    # cos = 0.70711 and 0; scores 0.2 and 0.5
    assert float(cosine_loss(u, v, torch.tensor([0.2, 0.5]))) == pytest.approx(
        ((math.sqrt(0.5) - 0.2) ** 2 + 0.25) / 2, abs=1e-6
    )


def test_mnrl_loss_by_hand() -> None:
    a, p = rows([1, 0], [0, 2]), rows([3, 0], [1, 1])
    # scale 2: the first row's logits are 2 and √2, the second's 0 and √2
    r = math.sqrt(2)
    first, second = math.log(math.exp(2) + math.exp(r)) - 2, math.log(1 + math.exp(r)) - r
    assert float(mnrl_loss(a, p, scale=2.0)) == pytest.approx((first + second) / 2, abs=1e-6)


def test_mnrl_loss_with_hard_negatives_and_one_left_out_by_hand() -> None:
    a, p, n = rows([1, 0], [0, 1]), rows([1, 0], [0, 1]), rows([0, 1], [1, 0])
    skip = torch.tensor([[False, False, True, False], [False, False, False, False]])
    # scale 1; row 1: p₁ 1, p₂ 0, n₁ left out, n₂ 1; row 2: p₁ 0, p₂ 1, n₁ 1, n₂ 0
    first, second = math.log(2 * math.e + 1) - 1, math.log(2 * math.e + 2) - 1
    assert float(mnrl_loss(a, p, n, scale=1.0, skip=skip)) == pytest.approx((first + second) / 2, abs=1e-6)


def test_not_negatives() -> None:
    # text 9 is the positive of anchor 1 in two rows; anchor 1 has the positive 5 besides; text 2 is an anchor and a hard negative
    skip = not_negatives(torch.tensor([1, 2, 1]), torch.tensor([9, 9, 5]), torch.tensor([7, 2, 9]))
    assert skip.int().tolist() == [[0, 1, 1, 0, 0, 1], [1, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 1]]


def test_a_batch_of_one_text_as_every_positive_has_no_loss() -> None:
    torch.manual_seed(0)
    a, p = torch.randn(3, 4), torch.randn(1, 4).expand(3, 4)
    skip = not_negatives(torch.tensor([0, 1, 2]), torch.tensor([7, 7, 7]))
    assert float(mnrl_loss(a, p, skip=skip)) == 0.0
    assert float(mnrl_loss(a, p)) == pytest.approx(math.log(3), abs=1e-5)


class Given(nn.Module):
    """A model whose vectors are given."""

    device = torch.device("cpu")

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return features

    def get_embedding_dimension(self) -> int:
        return 8


@pytest.mark.parametrize("name", ["triplet", "mnrl", "mnrl with negatives", "cosine", "softmax"])
def test_same_as_sentence_transformers(name: str) -> None:
    losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    generator = torch.Generator().manual_seed(3)
    a, p, n = (torch.randn(6, 8, generator=generator) for _ in range(3))
    scores = torch.rand(6, generator=generator)
    own, theirs = {
        "triplet": lambda: (
            triplet_loss(a, p, n),
            losses.TripletLoss(Given(), triplet_margin=1).compute_loss_from_embeddings([a, p, n], None),
        ),
        "mnrl": lambda: (
            mnrl_loss(a, p),
            losses.MultipleNegativesRankingLoss(Given()).compute_loss_from_embeddings([a, p], None),
        ),
        "mnrl with negatives": lambda: (
            mnrl_loss(a, p, n),
            losses.MultipleNegativesRankingLoss(Given()).compute_loss_from_embeddings([a, p, n], None),
        ),
        "cosine": lambda: (
            cosine_loss(a, p, scores),
            losses.CosineSimilarityLoss(Given()).compute_loss_from_embeddings([a, p], scores),
        ),
        "softmax": lambda: softmax_pair(losses, a, p),
    }[name]()
    assert float(own) == pytest.approx(float(theirs), rel=1e-5)


def softmax_pair(losses: object, a: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    with torch.random.fork_rng():
        theirs = losses.SoftmaxLoss(Given(), embedding_dimension=8, num_labels=3)  # type: ignore[attr-defined]
    nn.init.zeros_(theirs.classifier.bias)
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    given = [{"sentence_embedding": a}, {"sentence_embedding": p}]
    return softmax_loss(a, p, theirs.classifier.weight.detach(), labels), theirs(given, labels).detach()


@dataclass
class Columns:
    """Vectors that are parameters, the first half beside the second, as an engine runs a loss of them."""

    vectors: Tensor
    of: Callable[[Tensor, Tensor], Tensor]

    @property
    def unit_lengths(self) -> LongArray:
        return np.full(len(self.vectors), 100)

    def units(self, rows: LongArray) -> LongArray:
        return np.arange(len(self.vectors))

    def encode(self, units: LongArray) -> Tensor:
        return self.vectors[torch.from_numpy(units)]

    def joint_loss(self, vectors: Tensor, units: LongArray, rows: LongArray) -> Tensor:
        return self.of(*vectors.chunk(2))


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("name", ["mnrl", "sbert-softmax", "cosine", "triplet"])
def test_losses_of_float_vectors_are_in_fp32_in_any_precision(name: str, precision: str) -> None:
    generator = torch.Generator().manual_seed(2)
    vectors = torch.randn(24, 16, generator=generator) + 2.0  # far from 0, as those of encoders: cosines alike
    weight = torch.randn(3, 48, generator=generator, requires_grad=True)
    labels, scores = torch.arange(12) % 3, torch.linspace(0, 1, 12)
    losses: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "mnrl": mnrl_loss,
        "sbert-softmax": lambda a, b: softmax_loss(a, b, weight, labels),
        "cosine": lambda a, b: cosine_loss(a, b, scores),
        "triplet": lambda a, b: triplet_loss(a, b, b.flip(0)),
    }
    vectors.requires_grad_()
    plain = losses[name](*vectors.chunk(2))
    own = {"vectors": vectors} | ({"weight": weight} if name == "sbert-softmax" else {})
    expected = torch.autograd.grad(plain, list(own.values()))
    with Engine(torch.device("cpu"), precision, threads=1) as engine:
        found = engine.joint(Columns(vectors, losses[name]), np.arange(12), own, seed=(0,))
        assert engine.unscale(own)
    assert found == plain.item()
    for parameter, gradient in zip(own.values(), expected, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-6, atol=1e-8)

"""Integrated gradients by hand and their axioms, words from pieces, and what is left out."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nlpkit.errors import InputError
from nlpkit.finetune.attribution import integrated_gradients, word_spans


class Square(torch.nn.Module):
    """f(x) = (Σ_t w · x_t)², of which the integral is (w · x_t) · Σ_s w · x_s."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(5, 3)
        self.w = torch.tensor([1.0, -2.0, 0.5])

    def logits(self, n: int) -> Tensor:
        x = self.table(torch.tensor([[0, 3, 4, 3]]).expand(n, 4))
        return ((x @ self.w).sum(dim=1) ** 2)[:, None]


def test_a_square_by_hand() -> None:
    torch.manual_seed(1)
    model = Square()
    values, f_x, f_0 = integrated_gradients(model.logits, model.table, lambda z: z[:, 0])
    with torch.no_grad():
        parts = (model.table(torch.tensor([0, 3, 4, 3])) @ model.w).double()
    assert values == pytest.approx((parts * parts.sum()).numpy(), abs=1e-6)
    assert values.sum() == pytest.approx(f_x - f_0, abs=1e-5)
    assert f_0 == 0
    assert values[1] == values[3]  # symmetry
    assert not model.table._forward_hooks


def test_a_kink_takes_more_points() -> None:
    """A rectifier that opens at a point of the path no quadrature of few points meets."""
    table = torch.nn.Embedding(1, 1)
    torch.nn.init.constant_(table.weight, 1.0)
    calls: list[int] = []

    def logits(n: int) -> Tensor:
        calls.append(n)
        return 50 * torch.relu(table(torch.zeros(n, 1, dtype=torch.long))[:, :, 0] - 0.337)

    values, f_x, f_0 = integrated_gradients(logits, table, lambda z: z[:, 0])
    assert (f_x, f_0) == (pytest.approx(50 * 0.663), 0)
    assert sum(calls) > 2 + 32
    assert values.sum() == pytest.approx(f_x, rel=5e-3)


def test_a_table_that_is_read_twice_is_refused() -> None:
    table = torch.nn.Embedding(2, 2)
    ids = torch.zeros(1, 2, dtype=torch.long)
    with pytest.raises(InputError, match="one table of vectors"):
        integrated_gradients(lambda n: (table(ids) + table(ids)).sum(dim=1), table, lambda z: z[:, 0])


def test_words_of_a_text() -> None:
    text = "Don't sell 日本 state-of-the-art, naïve!"
    assert [text[a:b] for a, b in word_spans(text)] == ["Don't", "sell", "日", "本", "state-of-the-art", "naïve"]

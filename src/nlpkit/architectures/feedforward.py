"""The neural language model of Bengio et al. (2003): the next word from the vectors of the n − 1 words before it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class WordsBefore(nn.Module):  # type: ignore[misc]
    """tanh(d + H x) with x = (C(w_t), C(w_{t−1}), …, C(w_{t−n+2})) side by side, zeros before the text (§2, equation 1 and 2).

    (B, T, H) → (B, T, H); words: n − 1.
    """

    def __init__(self, H: int, words: int, dropout: float) -> None:
        super().__init__()
        self.words, self.dropout, self.H = words, dropout, nn.Linear(words * H, H)

    def forward(self, x: Tensor) -> Tensor:
        """Return the hidden units."""
        before = functional.pad(x, (0, 0, self.words - 1, 0)).unfold(1, self.words, 1)  # (B, T, H, n − 1)
        return functional.dropout(torch.tanh(self.H(before.flatten(2))), self.dropout, self.training)

"""PETapter's head: it scores the words of the verbalizer alone, and is trained with the adapters (Rieger et al. 2024, §3).

    z = W_t LN(GELU(W_h x + b_h)) + b_t        W_h (h, h), W_t (t, h), t the tokens of all words that stand for labels

Agrees with `PEThead` of github.com/JonasRieger/petapter (code/petapter.py): its layers, the epsilon of its norm, its new weights.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.types import LongArray


class WordHead(nn.Module):  # type: ignore[misc]
    """The head. tokens (t,) int64: ids in the vocabulary, ascending; scores are in their order."""

    tokens: Tensor

    def __init__(self, tokens: LongArray, width: int, *, eps: float = 1e-12) -> None:
        super().__init__()
        self.register_buffer("tokens", torch.from_numpy(np.asarray(tokens, np.int64)))
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=eps)
        self.words = nn.Linear(width, len(tokens))

    def forward(self, hidden: Tensor) -> Tensor:
        """Return the scores (m, t) of the words at m places from the encoder's vectors (m, h) there."""
        scores: Tensor = self.words(self.norm(functional.gelu(self.dense(hidden))))
        return scores

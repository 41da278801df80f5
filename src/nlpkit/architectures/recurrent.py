"""Recurrent networks of torch, in layers: RNN (Elman 1990), LSTM (Hochreiter & Schmidhuber 1997), GRU (Cho et al. 2014)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

CELLS: dict[str, Any] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU, "bilstm": nn.LSTM}


def backward_order(mask: Tensor) -> Tensor:
    """Return the place (B, T) of the token that comes at each place when texts are read backward; padding stays; its own inverse."""
    lengths, at = mask.sum(1, keepdim=True), torch.arange(mask.shape[1], device=mask.device)
    return torch.where(at < lengths, lengths - 1 - at, at)


class RecurrentBlock(nn.Module):  # type: ignore[misc]
    """A recurrent layer, forward; of bilstm another one backward, each of half the width. (B, T, H) → (B, T, H)."""

    def __init__(self, kind: str, H: int, dropout: float) -> None:
        super().__init__()
        self.both, self.dropout = kind == "bilstm", dropout
        width = H // 2 if self.both else H
        self.forth = CELLS[kind](H, width, batch_first=True)
        self.back = CELLS[kind](H, width, batch_first=True) if self.both else None

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the states; mask (B, T): 1 for tokens, which the way back starts from."""
        h = self.forth(x)[0]
        if self.back is not None:
            turned = backward_order(mask)[..., None]
            h_back = self.back(x.gather(1, turned.expand_as(x)))[0]
            h = torch.cat([h, h_back.gather(1, turned.expand_as(h_back))], -1)
        return functional.dropout(h, self.dropout, self.training)

"""Recurrent and window language models: Bengio's network, RNN, LSTM and GRU, and ELMo.

Parts, in this order:
- The neural language model of Bengio et al. (2003): the next word from the vectors of the n − 1 words before it.
- Recurrent networks of torch, in layers: RNN (Elman 1990), LSTM (Hochreiter & Schmidhuber 1997), GRU (Cho et al. 2014).
- ELMo: characters → words, a language model forward and one backward, and a weighted sum of their layers (Peters et al.
  2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


# ------------------------------------------------------------------------------------------------------------------------
# Recurrent networks of torch, in layers: RNN (Elman 1990), LSTM (Hochreiter & Schmidhuber 1997), GRU (Cho et al. 2014).

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


# ------------------------------------------------------------------------------------------------------------------------
# ELMo: characters → words, a language model forward and one backward, and a weighted sum of their layers (Peters et al. 2018).
#
# A token is the vector that a convolution over its characters makes of it (Kim et al. 2016, §2.2). Two LSTMs read these, each L layers
# deep; a layer h_j is both directions side by side, and x is there twice in h_0. The vector of token k is equation 1 of the paper:
#
# ELMo_k = γ Σ_j s_j h_kj,   s = softmax(w)
#
# w and γ learn when the model is fine-tuned; before, all layers weigh the same. Characters are the bytes of UTF-8.

MAX_CHARACTERS = 32  # bytes of a token, its two ends included; longer ones are cut
BEGIN, END, N_SYMBOLS = 257, 258, 259  # 0: nothing, 1 … 256: bytes
WIDTH = 16  # of the vector of a character
FILTERS = ((1, 4), (2, 4), (3, 2), (4, 2), (5, 2))  # characters that one sees, and which part of the width H there are


def spelling(tokens: Sequence[str]) -> Tensor:
    """Return the characters of tokens (V, MAX_CHARACTERS), uint8 symbols and their ends as int64."""
    symbols = torch.zeros(len(tokens), MAX_CHARACTERS, dtype=torch.long)
    for row, token in zip(symbols, tokens, strict=True):
        inside = [byte + 1 for byte in token.encode()[: MAX_CHARACTERS - 2]]
        row[: len(inside) + 2] = torch.tensor([BEGIN, *inside, END])
    return symbols


class Highway(nn.Module):  # type: ignore[misc]
    """g ⊙ ReLU(W_H x) + (1 − g) ⊙ x with g = σ(W_T x) (Srivastava, Greff & Schmidhuber 2015, equation 3)."""

    def __init__(self, H: int) -> None:
        super().__init__()
        self.W_H, self.W_T = nn.Linear(H, H), nn.Linear(H, H)

    def forward(self, x: Tensor) -> Tensor:
        """Return (…, H)."""
        g = torch.sigmoid(self.W_T(x))
        return g * torch.relu(self.W_H(x)) + (1 - g) * x


class CharacterCNN(nn.Module):  # type: ignore[misc]
    """Token ids (B, T) → vectors (B, T, E): convolutions over characters, the maximum of each filter, two highway layers, a projection."""

    def __init__(self, V: int, H: int, E: int) -> None:
        super().__init__()
        self.register_buffer("characters", torch.zeros(V, MAX_CHARACTERS, dtype=torch.long))
        self.C = nn.Embedding(N_SYMBOLS, WIDTH)
        self.filters = nn.ModuleList(nn.Conv1d(WIDTH, max(1, H // part), width) for width, part in FILTERS)
        n_filters = sum(conv.out_channels for conv in self.filters)
        self.highways, self.projection = nn.Sequential(*(Highway(n_filters) for _ in range(2))), nn.Linear(n_filters, E)

    def reset(self) -> None:
        """Draw vectors of characters; highways let most of x pass."""
        nn.init.normal_(self.C.weight)
        for highway in self.highways:
            nn.init.constant_(highway.W_T.bias, -2.0)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors; each kind of token is computed once."""
        kinds, at = torch.unique(ids, return_inverse=True)
        y = self.C(self.characters[kinds]).transpose(1, 2)
        y = torch.relu(torch.cat([conv(y).amax(-1) for conv in self.filters], -1))
        return self.projection(self.highways(y))[at]


class BilmLayer(nn.Module):  # type: ignore[misc]
    """A layer of both language models: an LSTM forward and one backward, of H cells each, projected to H/2. (B, T, H) → (B, T, H).

    From the second layer on its input is added (§3.3). The cells read their H values of the step before, in the paper the projected ones.
    """

    def __init__(self, H: int, dropout: float, *, residual: bool) -> None:
        super().__init__()
        self.forth, self.back = (nn.LSTM(H // 2, H, batch_first=True) for _ in range(2))
        self.W_forth, self.W_back = (nn.Linear(H, H // 2, bias=False) for _ in range(2))
        self.dropout, self.residual = dropout, residual

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the states of both directions side by side; mask (B, T): 1 for tokens."""
        forward, backward = x.chunk(2, -1)
        turned = backward_order(mask)[..., None].expand_as(backward)
        h_forth = self.W_forth(self.forth(forward)[0])
        h_back = self.W_back(self.back(backward.gather(1, turned))[0]).gather(1, turned)
        h = functional.dropout(torch.cat([h_forth, h_back], -1), self.dropout, self.training)
        return h + x if self.residual else h


class LayerWeights(nn.Module):  # type: ignore[misc]
    """γ Σ_j s_j h_j of n layers."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.w, self.gamma = nn.Parameter(torch.empty(n)), nn.Parameter(torch.empty(1))

    def reset(self) -> None:
        """Let all layers weigh the same, and γ = 1."""
        nn.init.zeros_(self.w)
        nn.init.ones_(self.gamma)

    def shares(self) -> Tensor:
        """Return s (n,)."""
        return torch.softmax(self.w, 0)

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """Return (B, T, H)."""
        s = self.shares()
        return self.gamma * torch.stack([s_j * h_j for s_j, h_j in zip(s, layers, strict=True)]).sum(0)


def layer_weights(model: nn.Module) -> dict[str, Any] | None:
    """Return γ and s of a model, the share of the words made of characters first, then of each layer; None where it is no ELMo."""
    for module in model.modules():
        if isinstance(module, LayerWeights):
            return {"gamma": round(module.gamma.item(), 6), "shares": [round(s, 6) for s in module.shares().tolist()]}
    return None

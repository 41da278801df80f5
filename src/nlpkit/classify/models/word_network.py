"""Networks that read the words of a text in their order and give it scores: an LSTM, and the convolution of Kim (2014)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

FILTERS = (3, 4, 5)  # words that a filter sees
DROPOUT = 0.5


class WordNetwork(nn.Module):  # type: ignore[misc]
    """Word ids (B, T), 0 behind the end → scores (B, J).

    lstm: the mean of the states of an LSTM (Hochreiter & Schmidhuber 1997), H units. cnn: the maximum over the text of H filters each
    over 3, 4 and 5 words, rectified (Kim 2014, §2). Dropout of a half before the last layer; the places behind the end have no effect.
    """

    def __init__(self, kind: str, V: int, H: int, J: int) -> None:
        super().__init__()
        self.kind = kind
        self.words = nn.Embedding(V + 1, H, padding_idx=0)
        if kind == "lstm":
            self.lstm, width = nn.LSTM(H, H, batch_first=True), H
        else:
            self.filters, width = nn.ModuleList(nn.Conv1d(H, H, n) for n in FILTERS), H * len(FILTERS)
        self.dropout, self.out = nn.Dropout(DROPOUT), nn.Linear(width, J)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the scores."""
        x, lengths = self.words(ids), (ids > 0).sum(1)
        pooled = self._states(x, lengths) if self.kind == "lstm" else self._maxima(x, lengths)
        return self.out(self.dropout(pooled))

    def _states(self, x: Tensor, lengths: Tensor) -> Tensor:
        inside = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
        return (self.lstm(x)[0] * inside).sum(1) / lengths.clamp(min=1)[:, None]

    def _maxima(self, x: Tensor, lengths: Tensor) -> Tensor:
        x = nn.functional.pad(x, (0, 0, 0, max(0, max(FILTERS) - x.shape[1]))).transpose(1, 2)
        maxima = []
        for conv in self.filters:
            y = torch.relu(conv(x))
            windows = (lengths - conv.kernel_size[0] + 1).clamp(min=1)[
                :, None
            ]  # those inside the text; of a short one, the first
            maxima.append(y.masked_fill((torch.arange(y.shape[2]) >= windows)[:, None], 0.0).amax(2))
        return torch.cat(maxima, 1)

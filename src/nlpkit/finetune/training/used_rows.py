"""Training of word embeddings of the tokens that the training texts have, and not of the whole vocabulary.

Of 30,000 tokens a few examples have some hundreds. The gradients of all other rows are 0, but AdamW would go over them in every step, and
keep two moments and a gradient of each: half of the parameters of MiniLM. A row without a token stays exactly as it is, where
AdamW would let it decay.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.platform.types import IntArray, LongArray

SHARE = 0.5  # of the vocabulary; with more tokens than that the embeddings are trained as they are


class UsedRows(nn.Module):  # type: ignore[misc]
    """Embeddings (U, d) of some tokens, in the place of a table of all; `weight` has its name, so that trained parameters keep theirs."""

    def __init__(self, table: nn.Embedding, tokens: LongArray) -> None:
        super().__init__()
        device = table.weight.device
        rows = torch.from_numpy(tokens).to(device)
        self.weight = nn.Parameter(table.weight.detach()[rows])
        self._place = torch.zeros(table.num_embeddings, dtype=torch.int64, device=device)
        self._place[rows] = torch.arange(len(rows), device=device)
        self._pad = None if table.padding_idx is None else int(self._place[table.padding_idx])

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors of token ids, all of them among the tokens."""
        return functional.embedding(self._place[ids], self.weight, self._pad)


@contextmanager
def used_rows(model: Any, tokens: IntArray | LongArray) -> Iterator[dict[Tensor, Tensor]]:
    """Within it the word embeddings of a transformers model, where these are trained, are those of some tokens; then they are put back.

    Yields the parameter that stands for another, none where all stay.

    Args:
        tokens: ids of all texts that the model reads meanwhile; those of padding are added.
    """
    table = model.get_input_embeddings()
    wanted = np.unique(tokens).astype(np.int64)
    if type(table) is nn.Embedding and table.padding_idx is not None:
        wanted = np.union1d(wanted, [table.padding_idx])
    if type(table) is not nn.Embedding or not table.weight.requires_grad or len(wanted) > SHARE * table.num_embeddings:
        yield {}
        return
    part = UsedRows(table, wanted)
    model.set_input_embeddings(part)
    try:
        yield {table.weight: part.weight}
    finally:
        with torch.no_grad():
            table.weight[torch.from_numpy(wanted).to(table.weight.device)] = part.weight
        model.set_input_embeddings(table)

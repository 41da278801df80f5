"""PETapter's head: it scores the words of the verbalizer alone, and is trained with the adapters (Rieger et al. 2024, §3).

    z = W_t LN(GELU(W_h x + b_h)) + b_t        W_h (h, h), W_t (t, h), t the tokens of all words that stand for labels

Agrees with `PEThead` of github.com/JonasRieger/petapter (code/petapter.py): its layers, the epsilon of its norm, its new weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.errors import UsageError
from nlpkit.types import LongArray

if TYPE_CHECKING:
    from nlpkit.finetune.mlm import MlmNetwork

_DRAWS = 37  # so that no two draws of one seed are the same


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


def make_word_head(mlm: MlmNetwork, tokens: LongArray, start: str, *, seed: int) -> WordHead:
    """Return the head of a masked language model for some of its tokens (t,), on the model's device.

    Args:
        start: "new": normal weights of the model's `initializer_range`, biases of 0; they depend on the seed alone. "base": the
            dense layer and the norm of the model's own head, and its rows for the tokens.

    Raises:
        UsageError: "base" of a model whose head is no h → h, norm, h → V.
    """
    config = mlm.model.config
    width = int(config.hidden_size)
    if start == "base":
        head = _of_base(mlm, tokens, width)
    else:
        with torch.random.fork_rng(devices=[]):  # torch draws weights of its own first
            head = WordHead(tokens, width)
        rng, deviation = np.random.default_rng([seed, _DRAWS]), float(getattr(config, "initializer_range", 0.02))
        with torch.no_grad():
            for layer in (head.dense, head.words):
                drawn = rng.normal(0.0, deviation, tuple(layer.weight.shape))
                layer.weight.copy_(torch.from_numpy(drawn))
                layer.bias.zero_()
    head.to(next(mlm.model.parameters()).device)
    return head


def _of_base(mlm: MlmNetwork, tokens: LongArray, width: int) -> WordHead:
    own = [mlm.model.get_submodule(name) for name in sorted({name.rpartition(".")[0] for name in mlm.head})]
    dense = [m for m in own if isinstance(m, nn.Linear) and m.weight.shape == (width, width)]
    norms = [m for m in own if isinstance(m, nn.LayerNorm)]
    weight, bias = mlm.output_words()
    if len(dense) != 1 or len(norms) != 1 or weight.shape[1] != width:
        raise UsageError(
            f"`head=base` needs a head of one layer h → h, a norm and h → words, and a {mlm.model.config.model_type} model has "
            "another; take head=new or head=frozen",
            parameter="method",
        )
    with torch.random.fork_rng(devices=[]):
        head = WordHead(tokens, width, eps=norms[0].eps)
    at = head.tokens.to(weight.device)
    sources = [(head.dense, dense[0].weight, dense[0].bias), (head.norm, norms[0].weight, norms[0].bias),
               (head.words, weight[at], None if bias is None else bias[at])]  # fmt: skip
    with torch.no_grad():
        for layer, values, shift in sources:
            layer.weight.copy_(values)
            if shift is None:
                layer.bias.zero_()
            else:
                layer.bias.copy_(shift)
    return head

"""Dropout that draws from a generator of its own, and not from the one of all threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_STEPS = 2**16  # shares of 16 bits


class OwnDropout(TorchFunctionMode):  # type: ignore[misc]
    """Within it, dropout of this thread draws from `draws`; also that of attention.

    draws: of NumPy for tensors on the CPU, where its raw bits are six times as fast as torch's Bernoulli draws from a generator: 16 bits
    decide on a number, so that shares are multiples of 2⁻¹⁶, and what is kept is divided by the share that they make. Else of torch.
    """

    def __init__(self, draws: torch.Generator | np.random.BitGenerator) -> None:
        super().__init__()
        self._draws = draws

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is functional.dropout:
            return self._dropout(*args, **kwargs)
        if func is functional.scaled_dot_product_attention and kwargs.get("dropout_p", 0.0) > 0:
            return self._attention(*args, **kwargs)
        return func(*args, **kwargs)

    def _dropout(self, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or p == 0.0:
            return input
        if isinstance(self._draws, torch.Generator):
            kept = torch.empty(input.shape, dtype=input.dtype, device=input.device)
            return input * kept.bernoulli_(1.0 - p, generator=self._draws).div_(1.0 - p)
        dropped = min(round(p * _STEPS), _STEPS - 1)
        bits = self._draws.random_raw(-(-input.numel() // 4)).view(np.uint16)[: input.numel()]
        factors = np.multiply(bits >= dropped, np.float32(_STEPS / (_STEPS - dropped)), dtype=np.float32)
        return input * torch.from_numpy(factors).view(input.shape).to(input.dtype)

    def _attention(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, **options: Any
    ) -> Tensor:
        scale = options.get("scale")
        scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
        barred = None
        if attn_mask is not None:
            # added, not filled in: the mask has no heads, and the backward pass of a sum costs nothing
            bars = attn_mask.dtype == torch.bool
            barred = ~attn_mask if bars else attn_mask == float("-inf")
            added = torch.zeros(attn_mask.shape, dtype=scores.dtype, device=scores.device) if bars else attn_mask
            scores = scores + added.masked_fill(barred, torch.finfo(scores.dtype).min / 2)
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
        if barred is not None and (barred.device.type != "cpu" or bool(barred.all(dim=-1).any())):
            weights = weights.masked_fill(
                barred, 0.0
            )  # a place that sees nothing, such as padding far from the text, gets zeros
        return self._dropout(weights, options["dropout_p"]) @ value

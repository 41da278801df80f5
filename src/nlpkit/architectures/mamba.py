"""Mamba of transformers with a selective scan of our own (Gu & Dao 2023).

Where the CUDA kernels of its authors are missing, transformers runs the recurrence token by token, and its way back takes seconds.
The weights, their names and the results are the same.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers.models.mamba.modeling_mamba import MambaMixer

from nlpkit.architectures.scan import causal_convolution, selective_scan


class ScanningMixer(MambaMixer):  # type: ignore[misc]
    """The mixer of a layer: gate, causal convolution, selective state space."""

    def forward(
        self, hidden_states: Tensor, cache_params: Any = None, attention_mask: Tensor | None = None, **options: Any
    ) -> Tensor:
        """Return (B, T, H); with a cache, which generates token by token, as transformers does."""
        if cache_params is not None:
            whole: Tensor = super().forward(hidden_states, cache_params, attention_mask, **options)
            return whole
        seen = 1.0 if attention_mask is None else attention_mask[..., None].to(hidden_states.dtype)
        u, z = self.in_proj(hidden_states * seen).chunk(2, -1)
        u = self.act(causal_convolution(u, self.conv1d.weight, self.conv1d.bias)) * seen
        rank, N = self.time_step_rank, self.ssm_state_size
        step, B, C = self.x_proj(u).split([rank, N, N], -1)
        y = selective_scan(u, functional.softplus(self.dt_proj(step)), -torch.exp(self.A_log.float()), B, C, self.D)
        out: Tensor = self.out_proj(y * functional.silu(z))
        return out


def with_scan(model: Any) -> Any:
    """Let the layers of a Mamba of transformers run by the scan; the model is returned, other models as they are."""
    for module in model.modules():
        if type(module) is MambaMixer:
            module.__class__ = ScanningMixer
    return model

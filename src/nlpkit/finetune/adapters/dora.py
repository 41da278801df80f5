"""DoRA (Liu et al. 2024) with the norms of its directions from factors.

Each row of W + s B A is scaled to a trained magnitude m, its norm taken for a constant (§4.3). peft 0.21 makes the matrix B A and its
sum with W for each part of a batch; of W (out, in), A (r, in) and B (out, r), all that the norm of row i needs is

    ‖w_i + s b_i A‖² = ‖w_i‖² + 2 s b_i (W Aᵀ)_i + s² b_i (A Aᵀ) b_i
"""

from __future__ import annotations

from typing import Any

import torch
from peft.tuners.lora.dora import DoraLinearLayer
from torch import Tensor

from nlpkit.finetune.training.engine import in_fp32


def use_factors(model: Any) -> None:
    """Let the DoRA layers of a peft model compute as here; what they train and save is the same."""
    for module in model.modules():
        if type(module) is DoraLinearLayer:
            module.__class__ = FactoredDora


class FactoredDora(DoraLinearLayer):  # type: ignore[misc]
    """A layer of peft, which adds to the result of the base."""

    _squares: Tensor | None = None

    def forward(
        self, x: Tensor, *, lora_A: Any, lora_B: Any, scaling: float, base_layer: Any, base_result: Tensor | None = None, **_: Any
    ) -> Tensor:  # fmt: skip
        """Return (m / ‖w + s B A‖ - 1) W x + m / ‖w + s B A‖ · s B A x of x (…, in): (…, out).

        base_result: W x + b, where x is what the base saw; None: with dropout.
        """
        if base_result is None:
            base_result = base_layer(x)
        scale = self.weight / self._norms(base_layer, lora_A.weight, lora_B.weight, scaling)
        change = base_result * (scale - 1)
        if base_layer.bias is not None:
            change = change - base_layer.bias * (scale - 1)
        return torch.addcmul(change, lora_B(lora_A(x)).to(change.dtype), scale * scaling)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _norms(self, base_layer: Any, a: Tensor, b: Tensor, scaling: float) -> Tensor:
        """Return the norms of the rows of W + s B A, (out,)."""
        with in_fp32(a.device):
            w = base_layer.weight.float()
            w = w.T if self.fan_in_fan_out else w
            if self._squares is None or self._squares.device != w.device:
                self._squares = w.square().sum(dim=1)
            mixed = 2 * scaling * (w @ a.T) + scaling**2 * (b @ (a @ a.T))
            return (self._squares + (mixed * b).sum(dim=1)).clamp_(min=0).sqrt()

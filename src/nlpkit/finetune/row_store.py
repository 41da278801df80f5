"""Matrices of 8-bit integers with a step for each row, and products of integers: LLM.int8() (Dettmers et al. 2022, §2.1, vector-wise).

The rows of a frozen W (out, in) are stored as integers, and those of the input X (n, in) are rounded likewise for each product:

    x̂_ij = round(127 x_ij / max_j |x_ij|),    X Wᵀ ≈ s_x s_wᵀ ∘ (X̂ Ŵᵀ),    s: a 127th of the largest magnitude of each row

On the way back the gradient G (n, out), times the steps s_w, is rounded by its rows and multiplied by Ŵ. That paper multiplies columns of
outliers by themselves, which models of more than 6 billion parameters have; here there are none.

Processors multiply such integers several times as fast as floats, where they have the instructions for it (VNNI). Elsewhere the
integers are multiplied as floats, which is exact while sums are below 2²⁴, those of 1,040 products and more.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nlpkit.kernels.integer_rows import INFINITE, LEAST, LEVELS, round_rows, scale_products


class RowStore(nn.Module):  # type: ignore[misc]
    """A matrix (out, in) as integers. codes (out, in) int8, steps (out) float32."""

    codes: Tensor
    steps: Tensor

    def __init__(self, values: Tensor) -> None:
        super().__init__()
        matrix = values.detach().float()
        codes, steps = _rounded(matrix, matrix.new_ones(matrix.shape[1]))
        self.register_buffer("codes", codes, persistent=False)
        self.register_buffer("steps", steps, persistent=False)

    def dense(self) -> Tensor:
        """Return the matrix, dequantised."""
        return self.codes.float() * self.steps[:, None]

    def linear(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """Return x Ŵᵀ + b of the rounded rows of x (…, in): (…, out)."""
        rows = x.reshape(-1, x.shape[-1]).float()
        codes, steps = _rounded(rows, self.steps.new_ones(rows.shape[1]))
        shift = torch.zeros_like(self.steps) if bias is None else bias.detach().float()
        return _product(codes, self.codes.t(), steps, self.steps, shift).view(*x.shape[:-1], -1).to(x.dtype)

    def back(self, gradient: Tensor) -> Tensor:
        """Return g Ŵ of the rounded rows of g (…, out) times the steps: (…, in)."""
        rows = gradient.reshape(-1, gradient.shape[-1]).float()
        codes, steps = _rounded(rows, self.steps)
        ones = self.steps.new_ones(self.codes.shape[1])
        out = _product(codes, self.codes, steps, ones, torch.zeros_like(ones))
        return out.view(*gradient.shape[:-1], -1).to(gradient.dtype)

    @property
    def n_bytes(self) -> int:
        """Bytes of all that is stored."""
        return sum(b.numel() * b.element_size() for b in self.buffers())


def _rounded(values: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows of values (n, k) · factors (k,) as integers (n, k) int8, and their steps (n,) float32."""
    if values.device.type != "cpu":
        return rounded_on_gpu(values, factors)
    codes = torch.empty(values.shape, dtype=torch.int8)
    steps = torch.empty(len(values))
    round_rows(values.contiguous().numpy(), factors.numpy(), codes.numpy(), steps.numpy())
    return codes, steps


def rounded_on_gpu(values: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:
    """Return what the kernel writes."""
    scaled = values * factors
    absmax = scaled.abs().amax(dim=1)
    within = (absmax > float(LEAST)) & (absmax < float(INFINITE))
    inverse = torch.full_like(absmax, float(LEVELS)) / absmax
    return torch.where(within[:, None], scaled * inverse[:, None], 0.0).round_().to(torch.int8), absmax / float(LEVELS)


def _product(left: Tensor, right: Tensor, rows: Tensor, columns: Tensor, shift: Tensor) -> Tensor:
    """Return left (n, k) times right (k, m), both int8, times the steps of rows (n,) and columns (m,), plus shift (m,): float32.

    A sum of k products is at most 127² k, below 2³¹ for k < 133,000: no layer is that wide. With k = 1 torch 2.13 reads a transposed
    matrix wrongly.
    """
    if left.device.type != "cpu":
        return product_of_floats(left, right) * rows[:, None] * columns + shift
    fast = len(right) > 1 and torch.cpu._is_vnni_supported()
    integers = torch._int_mm(left, right) if fast else product_of_floats(left, right).int()
    out = torch.empty(integers.shape)
    scale_products(integers.numpy(), rows.numpy(), columns.numpy(), shift.numpy(), out.numpy())
    return out


def product_of_floats(left: Tensor, right: Tensor) -> Tensor:
    """Return the product of integers as float32, whatever the precision of others is."""
    with torch.autocast(left.device.type, enabled=False):
        return left.float() @ right.float()

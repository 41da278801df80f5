"""Matrices of 8-bit integers with a step for each row, and products of integers: LLM.int8() (Dettmers et al. 2022, §2, row by row).

The rows of W (out, in) are 127 steps to either side of zero. Those of the input X (n, in) are rounded for each product to the 256
integers that span all of a row and 0, with a zero of their own (§2.1.1, zeropoint): one large number, as the outputs of norms have, takes
the range of its own sign alone.

    ŵ_ij = round(w_ij / s_i),  s_i = max_j |w_ij| / 127        x̂_ij = round(x_ij / t_i) + z_i,  t_i = (max_j x_ij - min_j x_ij) / 255

    (X Wᵀ)_ij ≈ t_i s_j (Σ_k x̂_ik ŵ_jk - z_i Σ_k ŵ_jk)

On the way back the gradient G (n, out), times the steps s, is rounded by its rows and multiplied by Ŵ likewise. That paper multiplies
columns of outliers by themselves, which models of more than 6 billion parameters have; here there are none.

Processors multiply such integers several times as fast as floats, where they have the instructions for it (AVX-512 VNNI). Elsewhere the
integers are multiplied as floats, which is exact while sums are below 2²⁴: of 1,030 products always, of more nearly always.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from nlpkit.kernels.integer_rows import INFINITE, LEAST, LEVELS, round_rows, scale_products


class Rounded(NamedTuple):
    """Rows x ≈ step · (code - zero). codes (n, k) int8, steps (n,) float32, zeros (n,) int32."""

    codes: Tensor
    steps: Tensor
    zeros: Tensor


class RowStore(nn.Module):  # type: ignore[misc]
    """A matrix (out, in) as integers. codes (out, in) int8, steps (out) float32, and the sums of codes of rows and columns, int32."""

    codes: Tensor
    steps: Tensor
    row_sums: Tensor
    column_sums: Tensor

    def __init__(self, values: Tensor) -> None:
        super().__init__()
        matrix = values.detach().float()
        absmax = matrix.abs().amax(dim=1, keepdim=True)
        codes = (matrix / torch.where(absmax > float(LEAST), absmax / 127, 1.0)).round_().to(torch.int8)
        sums = {f"{name}_sums": codes.sum(dim=dim, dtype=torch.int32) for name, dim in (("row", 1), ("column", 0))}
        for name, tensor in {"codes": codes, "steps": absmax[:, 0] / 127, **sums}.items():
            self.register_buffer(name, tensor, persistent=False)

    def dense(self) -> Tensor:
        """Return the matrix, dequantised."""
        return self.codes.float() * self.steps[:, None]

    def linear(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """Return x Ŵᵀ + b of the rounded rows of x (…, in): (…, out)."""
        rows = x.reshape(-1, x.shape[-1]).float()
        shift = torch.zeros_like(self.steps) if bias is None else bias.detach().float()
        rounded = _rounded(rows, self.steps.new_ones(rows.shape[1]))
        product = _product(rounded, self.codes.t(), self.steps, self.row_sums, shift)
        return product.view(*x.shape[:-1], -1).to(x.dtype)

    def back(self, gradient: Tensor) -> Tensor:
        """Return g Ŵ of the rounded rows of g (…, out) times the steps: (…, in)."""
        rows = gradient.reshape(-1, gradient.shape[-1]).float()
        ones = self.steps.new_ones(self.codes.shape[1])
        product = _product(_rounded(rows, self.steps), self.codes, ones, self.column_sums, torch.zeros_like(ones))
        return product.view(*gradient.shape[:-1], -1).to(gradient.dtype)


def has_integer_products() -> bool:
    """Whether this processor multiplies integers of 8 bits (AVX-512 VNNI)."""
    return bool(torch.cpu._is_vnni_supported())


def _rounded(values: Tensor, factors: Tensor) -> Rounded:
    """Return the rows of values (n, k) · factors (k,) as integers."""
    if values.device.type != "cpu":
        return rounded_on_gpu(values, factors)
    n = len(values)
    # the kernel writes a code for each value, a step and a zero for each row, and reads a factor for each column
    assert len(factors) == values.shape[1]
    rounded = Rounded(torch.empty(values.shape, dtype=torch.int8), torch.empty(n), torch.empty(n, dtype=torch.int32))
    round_rows(values.contiguous().numpy(), factors.numpy(), *(tensor.numpy() for tensor in rounded))
    return rounded


def rounded_on_gpu(values: Tensor, factors: Tensor) -> Rounded:
    """Return what the kernel writes."""
    scaled = values * factors
    least, most = scaled.amin(dim=1).clamp(max=0.0), scaled.amax(dim=1).clamp(min=0.0)
    span = most - least
    within = (span > float(LEAST)) & (span < float(INFINITE))
    inverse = torch.full_like(span, float(LEVELS)) / span
    zeros = torch.where(within, (-least * inverse).round_() - 128, 0.0)
    codes = torch.where(within[:, None], (scaled * inverse[:, None]).round_() + zeros[:, None], 0.0).clamp_(max=127)
    return Rounded(codes.to(torch.int8), span / float(LEVELS), zeros.to(torch.int32))


def _product(left: Rounded, right: Tensor, columns: Tensor, sums: Tensor, shift: Tensor) -> Tensor:
    """Return left (n, k) times right (k, m) int8 with steps (m,) and sums (m,) of codes, plus shift (m,): float32.

    No sum of k products is larger than 127 · 128 k, and none less z Σ than twice that, below 2³¹ for k < 66,000: no layer is that wide.
    With k = 1 torch 2.13 reads a transposed matrix wrongly.
    """
    codes, rows, zeros = left
    if codes.device.type != "cpu":
        return (product_of_floats(codes, right) - zeros[:, None] * sums) * rows[:, None] * columns + shift
    fast = len(right) > 1 and has_integer_products()
    integers = torch._int_mm(codes, right) if fast else product_of_floats(codes, right).int()
    out = torch.empty(integers.shape)  # (n, m): the kernel writes each place once, from those of the product
    assert integers.shape == (len(rows), len(columns))
    arrays = (tensor.numpy() for tensor in (integers, rows, zeros, columns, sums, shift, out))
    scale_products(*arrays)
    return out


def product_of_floats(left: Tensor, right: Tensor) -> Tensor:
    """Return the product of integers as float32, whatever the precision of others is."""
    with torch.autocast(left.device.type, enabled=False):
        return left.float() @ right.float()

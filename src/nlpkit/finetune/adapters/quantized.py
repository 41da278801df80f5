"""Frozen weights in 4 or 8 bits, from which low-rank updates and adapters learn: QLoRA (Dettmers et al. 2023)."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import torch
from scipy.special import ndtri
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.embed.bert import RowStore
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.quantization import ABSMAX_BLOCK, BLOCK, Quantization

# ------------------------------------------------------------------------------------------------------------------------
# Frozen weights in 4 or 8 bits, from which low-rank updates and adapters learn: QLoRA (Dettmers et al. 2023).
#
# Blockwise k-bit quantisation (§2): the values of a block are divided by the largest of their magnitudes, its absmax, and each is
# stored as the number of the nearest value of a codebook q:
#
# c_i = argmin_j |x_i / absmax - q_j|,    x̂_i = absmax · q_(c_i)
#
# where q is the 4-bit NormalFloat, nf4 (§3): quantiles of N(0, 1), so that each of 16 values is taken equally often by normal weights.
# Blocks have 64 values and a float32 absmax, 32 / 64 = 0.5 bits a value. Double quantisation (§3) stores these, less their mean, in
# 8-bit floats with blocks of 256: 8 / 64 + 32 / (64 · 256) = 0.127 bits.
#
# int8 is not blockwise, but of integers that are multiplied as they are; see `row_store`.
#
# The values agree with bitsandbytes 0.50, `quantize_4bit` with `compress_statistics` among it (tests/finetune/adapters/test_quantized.py).

OFFSET = 0.9677083  # of the outermost quantile: the mean of 1 - 1/32 and 1 - 1/30


def normal_float() -> Tensor:
    """Return the 16 values of NF4, ascending from -1 to 1, with an exact 0: (16,) float32.

    Of 2⁴ + 1 quantiles on either side, 8 are kept above 0 and 7 below, then all are divided by the largest (§3, appendix E).
    """
    above = ndtri(torch.linspace(OFFSET, 0.5, 9)[:-1].numpy())
    below = -ndtri(torch.linspace(OFFSET, 0.5, 8)[:-1].numpy())
    values = torch.tensor([*below, 0.0, *above[::-1]], dtype=torch.float64)
    return (values / values.max()).float()


def dynamic_float() -> Tensor:
    """Return the values of the 8-bit float of Dettmers (2016; 2022, §1.3), a sign, a power of ten and a linear fraction: (256,) float32.

    The smaller the power, the fewer bits are left for the fraction: ± 10⁻⁶ … ± 1 are all there, and 0 and 1 besides.
    """
    values = [0.0, 1.0]
    for exponent in range(7):
        edges = torch.linspace(0.1, 1.0, 2**exponent + 1)
        centres = 10.0 ** (exponent - 6) * (edges[:-1] + edges[1:]) / 2
        values += [*centres.tolist(), *(-centres).tolist()]
    return torch.tensor(sorted(values))


_CODEBOOKS = {"nf4": normal_float, "float8": dynamic_float}


@cache
def codebook(code: str) -> Tensor:
    """Return the values of a code, ascending."""
    return _CODEBOOKS[code]()


@cache
def _table(code: str, device: torch.device) -> Tensor:
    """Return what each byte stands for: a value, or of nf4 two, whose 64 bits are read as one number, for the sake of speed."""
    values = codebook(code)
    if code != "nf4":
        return values.to(device)
    return torch.stack([values.repeat_interleave(16), values.repeat(16)], dim=1).view(torch.int64).flatten().to(device)


class BlockStore(nn.Module):  # type: ignore[misc]
    """A tensor as codes and the absmax of its blocks. dense() gives it back, in float32.

    codes (⌈n / 2⌉ of nf4, else n) uint8: of nf4 two values a byte, the first in the upper half
    absmax (⌈n / block⌉) float32; with double quantisation a store of absmax - mean, in 8-bit floats
    """

    codes: Tensor
    mean: Tensor

    def __init__(self, values: Tensor, code: str, *, block: int = BLOCK, double: bool = False) -> None:
        super().__init__()
        self.code, self.block, self.shape = code, block, values.shape
        flat = values.detach().flatten().float()
        blocks = functional.pad(flat, (0, -len(flat) % block)).view(-1, block)
        absmax = blocks.abs().amax(dim=1)
        q = codebook(code).to(flat.device)
        scaled = blocks / torch.where(absmax > 0, absmax, 1.0)[:, None]
        codes = torch.bucketize(scaled, (q[:-1] + q[1:]) / 2, out_int32=True).to(torch.uint8).flatten()
        if code == "nf4":
            codes = codes[::2] << 4 | codes[1::2]
        self.register_buffer("codes", codes, persistent=False)
        if double:
            self.register_buffer("mean", absmax.mean(), persistent=False)
            self.absmax = BlockStore(absmax - self.mean, "float8", block=ABSMAX_BLOCK)
        else:
            self.register_buffer("absmax", absmax, persistent=False)

    def dense(self) -> Tensor:
        """Return the tensor, dequantised."""
        absmax: Any = self.absmax
        if isinstance(absmax, BlockStore):
            absmax = absmax.dense() + self.mean
        values = _table(self.code, self.codes.device).index_select(0, self.codes.int()).view(torch.float32)
        flat = values.view(-1, self.block).mul_(absmax[:, None]).flatten()
        return flat[: self.shape.numel()].view(self.shape)

    def linear(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """Return x Ŵᵀ + b; Ŵ is dequantised for this product and not kept."""
        return functional.linear(x, self.dense(), bias)

    def back(self, gradient: Tensor) -> Tensor:
        """Return g Ŵ."""
        return gradient @ self.dense().to(gradient.dtype)

    @property
    def n_bytes(self) -> int:
        """Bytes of all that is stored."""
        return sum(b.numel() * b.element_size() for b in self.buffers())


class _Product(torch.autograd.Function):  # type: ignore[misc]
    """x Ŵᵀ + b, of which nothing but x has a gradient, and nothing but codes is kept for it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, store: BlockStore | RowStore, bias: Tensor | None) -> Tensor:
        ctx.store = store
        with torch._C.DisableTorchFunction():  # dropout's mode need not see what the product is made of
            return store.linear(x, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return ctx.store.back(gradient), None, None


class QuantizedLinear(nn.Linear):  # type: ignore[misc]
    """A frozen linear layer whose matrix is stored in few bits; peft and hooks take it for the nn.Linear that it stands for."""

    def __init__(self, layer: nn.Linear, quantization: Quantization) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.bias = layer.bias
        self.store: BlockStore | RowStore
        if quantization.code == "int8":
            self.store = RowStore(layer.weight)
        else:
            self.store = BlockStore(layer.weight, quantization.code, double=quantization.double)

    @property
    def weight(self) -> Tensor:
        """The matrix (out, in), dequantised."""
        return self.store.dense()

    def forward(self, x: Tensor) -> Tensor:
        """Return x Ŵᵀ + b."""
        return _Product.apply(x, self.store, self.bias)

    def plain(self) -> nn.Linear:
        """Return the same layer with its matrix dequantised for good."""
        layer = nn.Linear(self.in_features, self.out_features, device="meta")
        layer.weight, layer.bias = nn.Parameter(self.weight, requires_grad=False), self.bias
        return layer


def quantize(model: Any, quantization: Quantization, *, keep: frozenset[str]) -> None:
    """Store the matrices of all linear layers of a model in few bits, in place, one after the other.

    Args:
        keep: names of parameters that stay as they are, those of the head.

    Raises:
        InputError: a weight is no number, or infinite. UsageError: there is no linear layer.
    """
    linear = [(n, m) for n, m in model.named_modules() if type(m) is nn.Linear and f"{n}.weight" not in keep]
    if not linear:
        raise UsageError(
            f"the base, a {model.config.model_type}, has no linear layers that could be quantised, because its "
            "matrices are transposed; leave `quantize` out",
            parameter="quantize",
        )
    for name, layer in linear:
        if not torch.isfinite(layer.weight).all():
            raise InputError(f"the base has a weight that is not a finite number ({name}.weight); use another `base`")
        _replace(model, name, QuantizedLinear(layer, quantization))
        _trim()
    for parameter in model.parameters():  # those left are parts of a file in memory, which would stay there as a whole
        parameter.data = parameter.data.clone()


def dequantize(model: Any) -> None:
    """Put dense linear layers with the same values in the place of those stored in few bits."""
    for name, layer in list(model.named_modules()):
        if isinstance(layer, QuantizedLinear):
            _replace(model, name, layer.plain())


def _trim() -> None:
    """Give freed memory back to the system: the C library of Linux keeps that between the small tensors that stay."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _replace(model: Any, name: str, layer: nn.Module) -> None:
    parent, _, leaf = name.rpartition(".")
    setattr(model.get_submodule(parent), leaf, layer)

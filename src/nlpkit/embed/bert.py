"""The forward pass of BERT and its kin, written out, in floats or in 8-bit integers.

In 8-bit integers the rows of W (out, in) are 127 steps to either side of zero. Those of the input X (n, in) are rounded for
each product to the 256 integers that span all of a row and 0, with a zero of their own (§2.1.1, zeropoint): one large
number, as the outputs of norms have, takes the range of its own sign alone.

    ŵ_ij = round(w_ij / s_i),  s_i = max_j |w_ij| / 127        x̂_ij = round(x_ij / t_i) + z_i,  t_i = (max_j x_ij - min_j x_ij) / 255

    (X Wᵀ)_ij ≈ t_i s_j (Σ_k x̂_ik ŵ_jk - z_i Σ_k ŵ_jk)

On the way back the gradient G (n, out), times the steps s, is rounded by its rows and multiplied by Ŵ likewise. That paper multiplies
columns of outliers by themselves, which models of more than 6 billion parameters have; here there are none.

Processors multiply such integers several times as fast as floats, where they have the instructions for it (AVX-512 VNNI). Elsewhere the
integers are multiplied as floats, which is exact while sums are below 2²⁴: of 1,030 products always, of more nearly always.

Parts, in this order:
- Matrices of 8-bit integers with a step for each row, and products of integers: LLM.int8() (Dettmers et al. 2022, §2,
  row by row).
- The forward pass of BERT and its kin (RoBERTa, XLM-RoBERTa, CamemBERT, DistilBERT, MPNet), written out.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.embed.kernels import INFINITE, LEAST, LEVELS, round_rows, scale_products


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


# ------------------------------------------------------------------------------------------------------------------------
# The forward pass of BERT and its kin (RoBERTa, XLM-RoBERTa, CamemBERT, DistilBERT, MPNet), written out.
#
# Devlin et al. 2019, §3; agrees with the transformers classes of the same names (tests/embed/test_bert.py). It is
# here because importing those takes 2 s, and because documents can be laid end to end: products with a weight
# matrix run over all tokens of a batch without padding, only attention runs document by document: on CPUs by one call for
# each width, on GPUs by FlashAttention-2 (Dao 2023), which takes documents of any widths in 16 bits. On CPUs the
# matrices are packed once for oneDNN, where fp32 products run twice as fast as in torch.nn.functional.linear.
#
# x ← LN(word + position + type);  per layer:  x ← LN(x + W_o softmax(q kᵀ / √d + bias) v)
# x ← LN(x + W_2 act(W_1 x))
#
# x stays in fp32 and so do the norms; products and attention are in the precision asked for. In int8 the products with matrices are of
# integers (`row_store`), and attention is in fp32.

MODEL_TYPES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet")
# Every product has so many rows, the last one filled up. A product of another number of rows can take another way through oneDNN or
# cuBLAS, with other last digits (docs/explanation/reproducibility.md), and oneDNN keeps the code of each size that it has met.
ROWS_ON_CPU, ROWS_ON_GPU = 512, 8192
_ACTIVATIONS = {
    "gelu": ("gelu", "none"),
    "gelu_new": ("gelu", "tanh"),
    "gelu_pytorch_tanh": ("gelu", "tanh"),
    "relu": ("relu", ""),
}
_RENAME: dict[str, tuple[tuple[str, str], ...]] = {
    "distilbert": (
        ("transformer.layer.", "encoder.layer."),
        ("attention.q_lin", "attention.self.query"),
        ("attention.k_lin", "attention.self.key"),
        ("attention.v_lin", "attention.self.value"),
        ("attention.out_lin", "attention.output.dense"),
        ("sa_layer_norm", "attention.output.LayerNorm"),
        ("ffn.lin1", "intermediate.dense"),
        ("ffn.lin2", "output.dense"),
        ("output_layer_norm", "output.LayerNorm"),
    ),
    "mpnet": (
        ("attention.attn.q.", "attention.self.query."),
        ("attention.attn.k.", "attention.self.key."),
        ("attention.attn.v.", "attention.self.value."),
        ("attention.attn.o.", "attention.output.dense."),
        ("attention.LayerNorm", "attention.output.LayerNorm"),
    ),
}


def supports(config: Mapping[str, Any]) -> bool:
    """Return whether this forward pass implements the model that a transformers config.json describes."""
    return (
        config.get("model_type") in MODEL_TYPES
        and _activation_name(config) in _ACTIVATIONS
        and config.get("position_embedding_type", "absolute") in ("absolute", None)
        and not any(config.get(key) for key in ("is_decoder", "auto_map", "quantization_config"))
        and all(isinstance(config.get(key), int) for key in _needed(config))
    )


def _needed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a config.json without which a model is left to transformers, which has values of its own for them."""
    heads = "n_heads" if config["model_type"] == "distilbert" else "num_attention_heads"
    padding = () if config["model_type"] in ("bert", "distilbert") else ("pad_token_id",)
    return ("max_position_embeddings", heads, *padding)


def max_positions(config: Mapping[str, Any]) -> int:
    """Return the largest number of tokens of a document, special ones included."""
    return int(config["max_position_embeddings"]) - _first_position(config)


def _first_position(config: Mapping[str, Any]) -> int:
    """BERT and DistilBERT count positions from 0, the others from the one after the padding token's id."""
    return 0 if config["model_type"] in ("bert", "distilbert") else int(config["pad_token_id"]) + 1


def _activation_name(config: Mapping[str, Any]) -> str:
    return str(config.get("hidden_act", config.get("activation", "gelu")))


def activation(config: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kind of the activation, gelu or relu, and how gelu is approximated: none or tanh."""
    return _ACTIVATIONS[_activation_name(config)]


def heads(config: Mapping[str, Any]) -> int:
    """Return the number of attention heads."""
    return int(config["n_heads" if config["model_type"] == "distilbert" else "num_attention_heads"])


def epsilon(config: Mapping[str, Any]) -> float:
    """Return what norms add to the variance."""
    return float(config.get("layer_norm_eps", 1e-12))


def depth(weights: Mapping[str, Tensor]) -> int:
    """Return the number of layers of weights under canonical names."""
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))


def position_vectors(config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> Tensor:
    """Return what each position adds to a word, with the type of the first text: (positions, H) float32."""
    positions = weights["embeddings.position_embeddings.weight"][_first_position(config) :].float()
    if "embeddings.token_type_embeddings.weight" in weights:
        positions = positions + weights["embeddings.token_type_embeddings.weight"][0].float()
    return positions


class Bert:
    """The encoder stack: token ids in, token vectors out. Raises KeyError for a weight that is missing."""

    def __init__(
        self, config: Mapping[str, Any], weights: Mapping[str, Tensor], *, dtype: torch.dtype, device: torch.device
    ) -> None:
        w = canonical_names(str(config["model_type"]), weights)
        self.dtype = torch.float32 if dtype == torch.int8 else dtype  # of attention, and of what goes into products
        self.device, self.rows = device, ROWS_ON_CPU if device.type == "cpu" else ROWS_ON_GPU
        self.words = w["embeddings.word_embeddings.weight"].to(device)
        self.dim = int(self.words.shape[1])
        self.heads, self.eps = heads(config), epsilon(config)
        positions = position_vectors(config, w)
        self.positions = positions.to(device)
        self.bias: Tensor | None = None
        if config["model_type"] == "mpnet":
            bias = relative_bias(w["encoder.relative_attention_bias.weight"].float(), len(positions))
            self.bias = bias.to(device, self.dtype)
        self.packed = packed_attention(self.dtype, device) if self.bias is None else None
        self.norm = self._norm(w, "embeddings.LayerNorm")
        self.layers = [self._layer(w, f"encoder.layer.{i}.", activation(config), dtype) for i in range(depth(w))]

    def forward(self, ids: Tensor, groups: Sequence[tuple[int, int]], lengths: Tensor | None) -> Tensor:
        """Return the token vectors of documents laid end to end in rectangles.

        ids      (N,) int64; document after document, each as wide as its group says
        groups   (count, width) per rectangle of documents, Σ count · width = N
        lengths  (count,) tokens of each document when the one group has padding, else None
        returns  (N, H) float32
        """
        places = torch.cat([torch.arange(width, device=self.device).repeat(count) for count, width in groups])
        return self._through(ids, places, lambda qkv: self._attention(qkv, groups, lengths))

    def forward_packed(self, ids: Tensor, starts: Tensor, longest: int) -> Tensor:
        """Return the token vectors of documents of any widths laid end to end, where there is a `packed` attention.

        ids      (N,) int64; document after document
        starts   (B + 1,) int32, where each document begins, and N
        longest  tokens of the longest document
        returns  (N, H) float32
        """
        assert self.packed is not None
        packed, n = self.packed, len(ids)
        first = starts[:-1].repeat_interleave(starts.diff(), output_size=n)
        places = torch.arange(n, device=self.device) - first

        def attend(qkv: Tensor) -> Tensor:
            q, k, v = qkv[:n].view(n, 3, self.heads, -1).unbind(1)
            mixed = packed(q, k, v, starts, starts, longest, longest, scale=1.0).reshape(n, self.dim)
            return functional.pad(mixed, (0, 0, 0, len(qkv) - n))

        return self._through(ids, places, attend)

    def _through(self, ids: Tensor, places: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the vectors (N, H) float32 of tokens at their places; `attend` takes q, k and v (rows, 3H) to (rows, H), filled up."""
        n, padding = len(ids), -len(ids) % self.rows
        ids, places = (functional.pad(values, (0, padding)) for values in (ids, places))
        x = functional.embedding(ids, self.words).float() + functional.embedding(places, self.positions)
        x = self._normed(x, self.norm)
        for qkv, out, norm_1, up, down, norm_2 in self.layers:
            mixed = attend(torch.cat([qkv(part.to(self.dtype)) for part in x.split(self.rows)]))
            for part, of_others in zip(x.split(self.rows), mixed.split(self.rows), strict=True):
                h = self._normed(part + out(of_others), norm_1)  # the sum is in fp32, as x is
                part.copy_(self._normed(h + down(up(h.to(self.dtype))), norm_2))
        return x[:n]

    def _attention(self, qkv: Tensor, groups: Sequence[tuple[int, int]], lengths: Tensor | None) -> Tensor:
        """Attention within each document: (rows, 3H) to (rows, H)."""
        mixed = torch.zeros(len(qkv), self.dim, dtype=qkv.dtype, device=qkv.device)
        start = 0
        for count, width in groups:
            stop = start + count * width
            q, k, v = qkv[start:stop].view(count, width, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            bias = None if self.bias is None else self.bias[:, :width, :width]
            seen = None if lengths is None else torch.arange(width, device=self.device) < lengths[:, None]
            mixed[start:stop] = _attend(q, k, v, bias, seen).transpose(1, 2).reshape(stop - start, self.dim)
            start = stop
        return mixed

    def _normed(self, x: Tensor, norm: tuple[Tensor, Tensor]) -> Tensor:
        return functional.layer_norm(x, (self.dim,), norm[0], norm[1], self.eps)

    def _norm(self, w: Mapping[str, Tensor], name: str) -> tuple[Tensor, Tensor]:
        return w[f"{name}.weight"].to(self.device).float(), w[f"{name}.bias"].to(self.device).float()

    def _layer(self, w: Mapping[str, Tensor], at: str, act: tuple[str, str], dtype: torch.dtype) -> tuple[Any, ...]:
        def linear(name: str, act: tuple[str, str] = ("none", "")) -> Callable[[Tensor], Tensor]:
            return _linear(w[f"{at}{name}.weight"], w[f"{at}{name}.bias"], act, dtype, self.device)

        scale = (self.dim // self.heads) ** -0.5  # 1/√d is put into the weights of q; q, k and v are one product
        parts = (("query", scale), ("key", 1.0), ("value", 1.0))
        weight, bias = (
            torch.cat([w[f"{at}attention.self.{part}.{kind}"].float() * factor for part, factor in parts])
            for kind in ("weight", "bias")
        )
        return (
            _linear(weight, bias, ("none", ""), dtype, self.device),
            linear("attention.output.dense"),
            self._norm(w, f"{at}attention.output.LayerNorm"),
            linear("intermediate.dense", act),
            linear("output.dense"),
            self._norm(w, f"{at}output.LayerNorm"),
        )


def packed_attention(dtype: torch.dtype, device: torch.device) -> Callable[..., Tensor] | None:
    """Return torch's attention over documents laid end to end; None where this torch, device or precision has none."""
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return None
    if torch.cuda.get_device_capability(device)[0] < 8:
        return None
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    attention: Callable[..., Tensor] = varlen_attn
    return attention if "scale" in inspect.signature(attention).parameters else None  # torch 2.11 has both


def _attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, seen: Tensor | None) -> Tensor:
    """softmax(q kᵀ + bias) v over the tokens that are `seen`.

    q, k, v (B, h, T, d), 1/√d already in q; bias (h, T, T); seen (B, T) bool, None when all are. Returns (B, h, T, d).
    """
    n, h, T, _ = q.shape
    mask = None if bias is None else bias.expand(n, h, T, T)
    if seen is not None:
        unseen = ~seen[:, None, None, :]
        mask = ~unseen if mask is None else mask.masked_fill(unseen, -math.inf)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0)


def _linear(
    weight: Tensor, bias: Tensor, act: tuple[str, str], dtype: torch.dtype, device: torch.device
) -> Callable[[Tensor], Tensor]:
    """Return x ↦ act(x Wᵀ + b) for x (N, in), W (out, in): oneDNN's packed product where this torch has it."""
    if dtype == torch.int8:
        store, shift = RowStore(weight.to(device)), bias.float().to(device)
        return lambda x: _activated(store.linear(x, shift), act)
    weight, bias = weight.to(device, dtype).contiguous(), bias.to(device, dtype)
    if device.type == "cpu" and torch.backends.mkldnn.is_available():
        try:
            packed = torch.ops.mkldnn._reorder_linear_weight(weight, 1024)
            product = torch.ops.mkldnn._linear_pointwise
            product(weight[:1], packed, bias, act[0], [], act[1])
            return lambda x: product(x, packed, bias, act[0], [], act[1])
        except (AttributeError, NotImplementedError, RuntimeError):
            pass  # an operator torch keeps for its own compiler: not in every build
    return lambda x: _activated(functional.linear(x, weight, bias), act)


def _activated(x: Tensor, act: tuple[str, str]) -> Tensor:
    if act[0] == "gelu":
        return functional.gelu(x, approximate=act[1])
    return functional.relu(x) if act[0] == "relu" else x


def relative_bias(table: Tensor, size: int) -> Tensor:
    """Return MPNet's bias for each pair of positions, (h, size, size), from its table (buckets, h).

    Song et al. 2020 took it from T5 (Raffel et al. 2020, §2.1): the distance j - i falls into one of 32 buckets, 16
    per direction: 8 of one distance each, then 8 that widen with the logarithm up to distance 128.
    """
    distance = torch.arange(size) - torch.arange(size)[:, None]
    half, exact = len(table) // 2, len(table) // 4
    far = exact + (torch.log(distance.abs().clamp(min=1) / exact) / math.log(128 / exact) * (half - exact)).long()
    bucket = torch.where(distance.abs() < exact, distance.abs(), far.clamp(max=half - 1))
    return table[bucket + half * (distance > 0)].permute(2, 0, 1).contiguous()


def canonical_names(model_type: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights under the names BERT has for them, without the prefix of a task model."""
    anchor = "embeddings.word_embeddings.weight"
    prefix = next((name.removesuffix(anchor) for name in weights if name.endswith(anchor)), "")
    renamed = {}
    for name, tensor in weights.items():
        if not name.startswith(prefix):
            continue
        name = name.removeprefix(prefix).replace("LayerNorm.gamma", "LayerNorm.weight")
        name = name.replace("LayerNorm.beta", "LayerNorm.bias")
        for theirs, ours in _RENAME.get(model_type, ()):
            name = name.replace(theirs, ours)
        renamed[name] = tensor
    return renamed

"""Prefix tuning: trained keys and values before those of the text, in every layer and head (Li & Liang 2021).

Attn(x W_q, [P_K; C W_k], [P_V; C W_v]) = (1 − λ) Attn(x W_q, C W_k, C W_v) + λ softmax(x W_q P_Kᵀ) P_V, where λ is the
share of the softmax that falls on the prefix (He et al. 2022, eq. 7). With a gate g the prefix's share before
normalising is multiplied by g: g = 1 is prefix tuning, g = 0 the base itself. Mao et al. (2022) multiply P_K and P_V
by g instead, where g = 0 still takes attention away from the text.

Models that call transformers' attention functions get one that prepends; the others (DeBERTa, MPNet) keep their own
attention, whose softmax is widened by the prefix's scores while it runs.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.overrides import TorchFunctionMode

from nlpkit.errors import UsageError
from nlpkit.finetune.adapters.bottleneck import AdapterGate
from nlpkit.finetune.training.architectures import check_attention

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from nlpkit.finetune.training.architectures import Architecture, Layer

_KEYWORD = "nlpkit_prefix"
_NAMES = {"sdpa": "nlpkit_prefix_sdpa", "eager": "nlpkit_prefix_eager"}


@dataclass(frozen=True)
class PrefixStates:
    """A prefix on its way to the attention: keys, values (H, l, d_h); log_gate (B, 1, T, 1) or None."""

    keys: Tensor
    values: Tensor
    log_gate: Tensor | None = None


class Prefix(nn.Module):  # type: ignore[misc]
    """The prefix of one layer.

    keys, values  (l, d) from N(0, 0.02²); head h has columns h · d_h to (h + 1) · d_h
    gate          of the layer's attention input; None for 1
    """

    def __init__(
        self, d: int, length: int, heads: int, *, generator: Generator, gate: AdapterGate | None = None
    ) -> None:
        super().__init__()
        self.heads = heads
        self.keys = nn.Parameter(torch.empty(length, d).normal_(0.0, 0.02, generator=generator))
        self.values = nn.Parameter(torch.empty(length, d).normal_(0.0, 0.02, generator=generator))
        self.gate = gate

    def forward(self, x: Tensor) -> PrefixStates:
        """Return the prefix for the attention input x (B, T, d)."""
        keys, values = (p.unflatten(-1, (self.heads, -1)).transpose(0, 1) for p in (self.keys, self.values))
        return PrefixStates(keys, values, None if self.gate is None else self.gate.log(x)[:, None])

    def give(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Pre-hook of an attention module: the prefix goes with its keyword arguments to the attention function."""
        return args, {**kwargs, _KEYWORD: self(args[0])}


def prefix_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    prefix: PrefixStates,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    weights: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return softmax(s Q [P_K; K]ᵀ + mask) [P_V; V], and the softmax when `weights` is true.

    query, key, value  (B, H, T, d_h)
    mask     boolean (true: attend) or additive, broadcast to (B, 1, T, T); None for no mask
    scaling  s, by default 1/√d_h
    returns  (B, T, H, d_h) and (B, H, T, l + T) or None
    """
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    batch, length = len(query), prefix.keys.shape[1]
    key = torch.cat([prefix.keys.to(key.dtype).expand(batch, -1, -1, -1), key], 2)
    value = torch.cat([prefix.values.to(value.dtype).expand(batch, -1, -1, -1), value], 2)
    wide = _widen(mask, prefix, length, query, key.shape[2] - length)
    if not weights:
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=wide, dropout_p=dropout, scale=scaling)
        return out.transpose(1, 2).contiguous(), None
    scores = query @ key.transpose(2, 3) * scaling
    if wide is not None:
        scores = scores.masked_fill(~wide, float("-inf")) if wide.dtype == torch.bool else scores + wide
    shares = F.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    return (F.dropout(shares, dropout) @ value).transpose(1, 2).contiguous(), shares


def _widen(mask: Tensor | None, prefix: PrefixStates, length: int, query: Tensor, columns: int) -> Tensor | None:
    """Return the mask with the prefix's columns before its own: open to all, or the logarithm of the gate."""
    if prefix.log_gate is None:
        if mask is None:
            return None
        opened = torch.ones if mask.dtype == torch.bool else torch.zeros
        return torch.cat([opened(*mask.shape[:-1], length, dtype=mask.dtype, device=mask.device), mask], -1)
    batch, rows = len(query), query.shape[2]
    if mask is None:
        mask = torch.zeros(batch, 1, rows, columns, dtype=query.dtype, device=query.device)
    elif mask.dtype == torch.bool:
        closed = torch.finfo(query.dtype).min
        mask = torch.zeros(mask.shape, dtype=query.dtype, device=query.device).masked_fill(~mask, closed)
    gate = prefix.log_gate.to(query.dtype).expand(batch, 1, rows, length)
    return torch.cat([gate, mask.to(query.dtype).expand(batch, -1, rows, columns)], -1)


def _sdpa(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
) -> tuple[Tensor, Tensor | None]:
    chosen = {name: kwargs[name] for name in ("scaling", "dropout") if name in kwargs}
    return prefix_attention(query, key, value, _causal(module, query, attention_mask), kwargs[_KEYWORD], **chosen)


def _causal(module: nn.Module, query: Tensor, mask: Tensor | None) -> Tensor | None:
    """Return the mask; of causal attention, which transformers gives none where no text is padded, that of the places so far (T, T)."""
    if mask is not None or not getattr(module, "is_causal", False):
        return mask
    T = query.shape[2]
    return torch.ones(1, 1, T, T, dtype=torch.bool, device=query.device).tril()


def _eager(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
) -> tuple[Tensor, Tensor | None]:
    chosen = {name: kwargs[name] for name in ("scaling", "dropout") if name in kwargs}
    mask = _causal(module, query, attention_mask)
    return prefix_attention(query, key, value, mask, kwargs[_KEYWORD], weights=True, **chosen)


class _JointSoftmax(TorchFunctionMode):  # type: ignore[misc]
    """While it is on, in its thread alone, softmax(scores) is the right-hand part of softmax([prefix scores, scores])."""

    def __init__(self, scores: Tensor) -> None:
        super().__init__()
        self.scores = scores
        self.shares: list[Tensor] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is not F.softmax:
            return func(*args, **(kwargs or {}))
        length = self.scores.shape[-1]
        joint = F.softmax(torch.cat([self.scores.to(args[0].dtype), args[0]], -1), dim=-1)
        self.shares.append(joint[..., :length])
        return joint[..., length:]


class SoftmaxAttention:
    """Stands in for the forward of an attention module that has its own softmax: DeBERTa's, DeBERTa-v2's, MPNet's.

    The queries are computed a second time, for the prefix's scores; relative positions do not concern the prefix.
    """

    def __init__(self, module: nn.Module, prefix: Prefix, model_type: str) -> None:
        self.module, self.prefix, self.model_type = module, prefix, model_type

    def forward(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        module, prefix = self.module, self.prefix(args[0])
        query, scaling = self._query(args[0])
        scores = query @ prefix.keys.to(query.dtype).transpose(1, 2) * scaling
        if prefix.log_gate is not None:
            scores = scores + prefix.log_gate
        with _JointSoftmax(scores) as joint:
            output, *rest = type(module).forward(module, *args, **kwargs)
        if len(joint.shares) != 1:
            raise RuntimeError(f"the attention of {self.model_type} has {len(joint.shares)} softmaxes, not one")
        shares = F.dropout(joint.shares[0], module.dropout.p, module.training)
        added = (shares @ prefix.values.to(shares.dtype)).transpose(1, 2).flatten(-2)
        if self.model_type == "mpnet":
            added = F.linear(added, module.o.weight)
        return (output + added, *rest)

    def _query(self, x: Tensor) -> tuple[Tensor, float]:
        """Return the queries (B, H, T, d_h) and what their products with keys are multiplied by."""
        module, heads = self.module, self.prefix.heads
        size = int(module.attention_head_size)
        if self.model_type == "mpnet":
            return module.q(x).unflatten(-1, (heads, -1)).transpose(1, 2), 1 / sqrt(size)
        kinds = set(module.pos_att_type) & {"c2p", "p2c"}
        if self.model_type == "deberta-v2":
            return module.query_proj(x).unflatten(-1, (heads, -1)).transpose(1, 2), 1 / sqrt(size * (1 + len(kinds)))
        query = module.in_proj(x).unflatten(-1, (heads, -1))[..., :size] + module.q_bias.view(heads, size)
        return query.transpose(1, 2), 1 / sqrt(size * (1 + len(module.pos_att_type)))


def check_prefix(model: Any, architecture: Architecture) -> None:
    """Raise UsageError when a prefix cannot be put before this model's attention."""
    check_attention(architecture)
    implementation = model.config._attn_implementation
    if architecture.attention == "interface" and implementation not in _NAMES:
        raise UsageError(
            f"a prefix needs attention of the kind {' or '.join(_NAMES)}; the base runs with '{implementation}'. "
            "Load it with attn_implementation='sdpa'",
            parameter="base",
        )
    if getattr(model.config, "talking_head", False):
        raise UsageError(
            "a prefix cannot go into a DeBERTa with talking heads; choose pfeiffer, parallel or lora",
            parameter="method",
        )


class Attached:
    """A prefix in its place; `remove` puts the attention back as it was."""

    def __init__(self, model: Any, architecture: Architecture, layer: Layer, prefix: Prefix) -> None:
        self.module = model.get_submodule(layer.attention)
        self.config: Any = None
        self.handle: Any = None
        if architecture.attention == "softmax":
            self.module.__dict__["forward"] = SoftmaxAttention(self.module, prefix, architecture.model_type).forward
            return
        _register()
        self.config = self.module.config
        self.module.config = copy.copy(self.config)
        self.module.config._attn_implementation = _NAMES[model.config._attn_implementation]
        self.handle = self.module.register_forward_pre_hook(prefix.give, with_kwargs=True)

    def remove(self) -> None:
        if self.handle is None:
            self.module.__dict__.pop("forward", None)
            return
        self.handle.remove()
        self.module.config = self.config


def _register() -> None:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(_NAMES["sdpa"], _sdpa)
    ALL_ATTENTION_FUNCTIONS.register(_NAMES["eager"], _eager)

"""The pooling of token vectors into one vector per document, as the model's pooling module configures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def mean_of_tokens(hidden: Tensor, mask: Tensor) -> Tensor:
    """Return the mean (B, H) of the vectors (B, T, H) where mask is 1; it may have places more in front, of keys that have no vectors."""
    seen = mask[:, -hidden.shape[1] :, None].to(hidden.dtype)
    return (hidden * seen).sum(1) / seen.sum(1)


# ------------------------------------------------------------------------------------------------------------------------
# Pooling of token vectors into one vector per document, as configured by the model's pooling module.
#
# Agrees with sentence_transformers.Pooling (Reimers & Gurevych 2019, §3, and its later modes); several modes are
# concatenated in the order of that module.

MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
_OLD_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


def read_modes(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modes of a pooling config.json, in the layout of sentence-transformers 6 or of those before it.

    Raises ValueError for a mode that is not one of MODES.
    """
    stored = config.get("pooling_mode")
    if stored is None:
        modes = tuple(mode for key, mode in _OLD_KEYS.items() if config.get(key)) or ("mean",)
    else:
        modes = (stored,) if isinstance(stored, str) else tuple(stored)
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise ValueError(f"unknown pooling mode {unknown[0]!r} (known: {', '.join(MODES)})")
    return modes


def pool(hidden: Tensor, lengths: Tensor | None, modes: Sequence[str]) -> Tensor:
    """Pool token vectors into document vectors.

    hidden   (B, T, H) float; a document's tokens come first, its padding last
    lengths  (B,) tokens of each document, at least 1; None when none is padded
    returns  (B, H · len(modes)), the parts in the order of `modes`

    cls x_1 · lasttoken x_L · max max_t x_t · mean 1/L Σ x_t · mean_sqrt_len_tokens 1/√L Σ x_t ·
    weightedmean Σ t x_t / Σ t.
    """
    import torch

    B, T, _ = hidden.shape
    if lengths is None:
        lengths = torch.full((B,), T, device=hidden.device)
    else:
        padding = torch.arange(T, device=hidden.device) >= lengths[:, None]
        hidden = hidden.masked_fill(padding[:, :, None], 0.0)
    L = lengths[:, None].to(hidden.dtype)
    parts: list[Tensor] = []
    for mode in modes:
        if mode == "cls":
            parts.append(hidden[:, 0])
        elif mode == "lasttoken":
            parts.append(hidden[torch.arange(B, device=hidden.device), lengths - 1])
        elif mode == "max":
            absent = (torch.arange(T, device=hidden.device) >= lengths[:, None])[:, :, None]
            parts.append(hidden.masked_fill(absent, float("-inf")).amax(1))
        elif mode == "mean":
            parts.append(hidden.sum(1) / L)
        elif mode == "mean_sqrt_len_tokens":
            parts.append(hidden.sum(1) / L.sqrt())
        else:
            weights = torch.arange(1, T + 1, device=hidden.device, dtype=hidden.dtype)
            parts.append((hidden * weights[:, None]).sum(1) / (L * (L + 1) / 2))
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

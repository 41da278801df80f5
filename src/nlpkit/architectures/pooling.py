"""The mean of the vectors of tokens, padding left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def mean_of_tokens(hidden: Tensor, mask: Tensor) -> Tensor:
    """Return the mean (B, H) of the vectors (B, T, H) where mask is 1; it may have places more in front, of keys that have no vectors."""
    seen = mask[:, -hidden.shape[1] :, None].to(hidden.dtype)
    return (hidden * seen).sum(1) / seen.sum(1)

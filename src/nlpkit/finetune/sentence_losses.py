"""Losses of sentence encoders, as functions of vectors: classes of pairs, triplets, ranks among a batch, scores of pairs."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def softmax_features(u: Tensor, v: Tensor) -> Tensor:
    """Return (u, v, |u - v|), (B, 3E), of the vectors u, v (B, E) of two sentences.

    Reimers & Gurevych 2019, §3, classification objective. The lecture writes |u - v| as well.
    """
    return torch.cat([u, v, (u - v).abs()], dim=-1)


def softmax_loss(u: Tensor, v: Tensor, weight: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy of softmax(W (u, v, |u - v|)), a scalar.

    Args:
        weight: W (J, 3E) for J classes; there is no bias. labels: (B,) class numbers.

    Reimers & Gurevych 2019, §3, classification objective. sentence-transformers' SoftmaxLoss has a bias besides.
    """
    return functional.cross_entropy(functional.linear(softmax_features(u.float(), v.float()), weight).float(), labels)


def triplet_loss(a: Tensor, p: Tensor, n: Tensor, *, margin: float = 1.0) -> Tensor:
    """Return the mean of max(‖a - p‖ - ‖a - n‖ + margin, 0) over anchors, positives and negatives (B, E).

    Reimers & Gurevych 2019, §3, triplet objective: Euclidean, margin 1. (sentence-transformers' margin is 5.) A distance of 0 has
    the gradient 0; taken as the root of a sum of squares it would have none.
    """
    a, p, n = a.float(), p.float(), n.float()
    near, far = torch.linalg.vector_norm(a - p, dim=-1), torch.linalg.vector_norm(a - n, dim=-1)
    return functional.relu(near - far + margin).mean()


def mnrl_loss(
    a: Tensor, p: Tensor, n: Tensor | None = None, *, scale: float = 20.0, skip: Tensor | None = None
) -> Tensor:
    """Return the multiple negatives ranking loss: the mean cross-entropy of finding p_i for a_i among all p and n.

    The logits are scale · cos(a_i, c_j) over the candidates c: the positives of the batch and, where given, the hard negatives.

    Args:
        a, p, n: (B, E). skip: (B, C) bool, candidates that are no negatives of an anchor and are left out, C = B or 2B.

    Henderson et al. 2017, §4.4, with cosine and scale as in sentence-transformers' MultipleNegativesRankingLoss.
    """
    candidates = p if n is None else torch.cat([p, n])
    logits = scale * functional.normalize(a.float(), dim=-1) @ functional.normalize(candidates.float(), dim=-1).T
    if skip is not None:
        logits = logits.masked_fill(skip, float("-inf"))
    return functional.cross_entropy(logits, torch.arange(len(a), device=a.device))


def not_negatives(anchors: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """Return which candidates of a batch are no negatives of an anchor, (B, C) bool, for `mnrl_loss`.

    A candidate is none where its text is the anchor, or is a positive of the same anchor text anywhere in the batch; the anchor's
    own column is never left out. sentence-transformers has a sampler that keeps such rows out of a batch instead.

    Args:
        anchors, positives, negatives: (B,) numbers of texts; equal texts have equal numbers.
    """
    candidates = positives if negatives is None else torch.cat([positives, negatives])
    same_anchor = anchors[:, None] == anchors[None, :]  # (B, B)
    is_positive = positives[:, None] == candidates[None, :]  # (B, C)
    skip = (same_anchor.float() @ is_positive.float() > 0) | (anchors[:, None] == candidates[None, :])
    place = torch.arange(len(anchors), device=anchors.device)
    skip[place, place] = False
    return skip


def cosine_loss(u: Tensor, v: Tensor, scores: Tensor) -> Tensor:
    """Return the mean of (cos(u, v) - score)² over pairs; scores (B,) are -1 … 1, as a rule 0 … 1.

    Reimers & Gurevych 2019, §3, regression objective.
    """
    return (functional.cosine_similarity(u.float(), v.float(), dim=-1) - scores.float()).square().mean()

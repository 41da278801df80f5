"""Content covariates: the words of a topic at each level of a column (Roberts, Stewart and Airoldi 2016, section 3.1).

    φ_kv|a ∝ p_v exp(κ_kv + κ_av + κ_akv)        p_v: share of the term in all tokens

The deviations κ from the words of the whole corpus (SAGE, Eisenstein, Ahmed and Xing 2011) are sparse: L1-penalised Poisson regressions,
one for each term (`mnreg` of R's stm with kappa.prior="L1", after Taddy 2015).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.platform import wording
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import FloatArray, IntArray, LongArray
from nlpkit.topics.effects.design import Covariate, as_labels, sorted_levels
from nlpkit.topics.stm import content_kernels as kernels

MOST_LEVELS = 50
PATH = kernels.Path(250, 0.001, 1e-5)  # nlambda, lambda.min.ratio and tol of R's stm
CHUNK = 16  # terms that a thread takes at a time


@dataclass(frozen=True, slots=True)
class Content:
    """A column of categories that the words of topics depend on: levels (A,); numbers (D,) of the level of each document, -1 for none."""

    column: str
    levels: tuple[str, ...]
    numbers: IntArray


@dataclass(frozen=True, slots=True)
class ContentModel:
    """The words of topics at each level.

    baseline (V,) p_v; topic (K, V) κ_kv; level (A, V) κ_av; cell (A * K, V) κ_akv, level by level, None without interactions;
    weights (A,): share of the tokens at each level.
    """

    baseline: FloatArray
    topic: FloatArray
    level: FloatArray
    cell: FloatArray | None
    weights: FloatArray

    @property
    def phi(self) -> FloatArray:
        """φ_kv|a (A, K, V)."""
        log = self.topic[None] + self.level[:, None]
        if self.cell is not None:
            log = log + self.cell.reshape(log.shape)
        phi = self.baseline * np.exp(log - log.max(axis=2, keepdims=True))
        return np.asarray(phi / phi.sum(axis=2, keepdims=True))

    @property
    def mean_phi(self) -> FloatArray:
        """Σ_a w_a φ_kv|a (K, V): the average over levels, each by its tokens."""
        return np.asarray(np.tensordot(self.weights, self.phi, axes=1))

    def renumbered(self, order: LongArray) -> ContentModel:
        """Return the same with topic order[k] as topic k."""
        A, V = self.level.shape
        cell = None if self.cell is None else self.cell.reshape(A, -1, V)[:, order].reshape(-1, V)
        return ContentModel(self.baseline, self.topic[order], self.level, cell, self.weights)

    def arrays(self) -> dict[str, FloatArray]:
        """Return the parameters by the names that runs give them."""
        cell = {} if self.cell is None else {"content_topic_level": self.cell}
        return {
            "content_baseline": self.baseline,
            "content_topic": self.topic,
            "content_level": self.level,
            "content_weights": self.weights,
            **cell,
        }


def content_from_arrays(arrays: Mapping[str, FloatArray]) -> ContentModel | None:
    """Return what `ContentModel.arrays` gave, None where there is nothing of it."""
    if "content_baseline" not in arrays:
        return None
    baseline, topic, level, weights = (arrays[f"content_{name}"] for name in ("baseline", "topic", "level", "weights"))
    return ContentModel(baseline, topic, level, arrays.get("content_topic_level"), weights)


def fit_content(column: str, values: Covariate) -> Content:
    """Return a column as levels of content, in ascending order.

    Raises:
        InputError: a value is missing, or there are fewer than two levels, or more than 50.
    """
    labels = as_labels(values)
    missing = sum(label is None for label in labels)
    if missing:
        raise InputError(
            f"'{column}' has no value in {missing:,} of {len(labels):,} documents, but `content` needs a value in "
            "each document; leave these documents out, or leave out `content`",
            parameter="content",
        )
    levels = sorted_levels(values)
    if not 2 <= len(levels) <= MOST_LEVELS:
        raise InputError(
            f"'{column}' has {wording.counted(len(levels), 'level')}, but 2 to {MOST_LEVELS} are possible; "
            + ("leave `content` out" if len(levels) < 2 else "take a column of fewer groups"),
            parameter="content",
        )
    return Content(column, levels, levels_of(levels, values))


def levels_of(levels: Sequence[str], values: Covariate) -> IntArray:
    """Return the number of the level of each document (D,), -1 where it has none of them."""
    number = {level: a for a, level in enumerate(levels)}
    return np.array([number.get(str(label), -1) if label is not None else -1 for label in as_labels(values)], np.int32)


def update_content(
    level_counts: FloatArray, baseline: FloatArray, weights: FloatArray, *, interactions: bool, threads: int = 1
) -> ContentModel:
    """Return the M-step of the words: the sparse deviations that expected counts of terms ask for.

        n_akv ~ Poisson(n_ak p_v exp(κ_kv + κ_av + κ_akv)),  λ of each term by the least deviance + 2 · (number of κ ≠ 0)

    along 250 λ from the greatest that matters to a thousandth of it. Terms are independent: the bytes do not depend on the threads.

    Args:
        level_counts: (A, K, V) expected counts n_akv.
    """
    A, K, V = level_counts.shape
    counts = np.ascontiguousarray(level_counts.reshape(A * K, V).T)
    totals = counts.sum(axis=0)
    best = kernels.Effects(np.zeros((V, K)), np.zeros((V, A)), np.zeros((V, A * K if interactions else 0)))

    def work(begin: int) -> None:
        kernels.fit_terms(counts, baseline, totals, PATH, begin, min(begin + CHUNK, V), best)

    for _ in map_ahead(work, range(0, V, CHUNK), threads=threads):
        pass
    cell = np.ascontiguousarray(best.cell.T) if interactions else None
    return ContentModel(baseline, np.ascontiguousarray(best.topic.T), np.ascontiguousarray(best.level.T), cell, weights)


@dataclass(frozen=True, slots=True)
class ContentTerms:
    """Words of topics at levels, a row (R,) for each: numbers of topic, level and term; rank by weight, from 1.

    weight: φ_kv|a; log_ratio: log (φ_kv|a / φ_kv), φ_kv the average of the levels; contrast_rank: rank by weight · log_ratio, from 1,
    the terms first that set the level apart.
    """

    topic: LongArray
    level: LongArray
    term: LongArray
    rank: LongArray
    weight: FloatArray
    log_ratio: FloatArray
    contrast_rank: LongArray


def content_terms(model: ContentModel, n_terms: int) -> ContentTerms:
    """Return the n most probable terms of each topic at each level, and the n that set it apart most."""
    phi, mean = model.phi, model.mean_phi
    n_terms = min(n_terms, phi.shape[2])
    rows: dict[str, list[FloatArray | LongArray]] = {name: [] for name in ContentTerms.__dataclass_fields__}
    for k in range(phi.shape[1]):
        for a in range(phi.shape[0]):
            weight = phi[a, k]
            ratio = np.log(np.maximum(weight, 1e-300) / np.maximum(mean[k], 1e-300))
            orders = [np.argsort(-values, kind="stable") for values in (weight, weight * ratio)]
            rank, contrast = (np.argsort(order) + 1 for order in orders)
            kept = orders[0][np.minimum(rank, contrast)[orders[0]] <= n_terms]
            here = {"topic": np.full(len(kept), k), "level": np.full(len(kept), a), "term": kept, "rank": rank[kept]}
            here |= {"weight": weight[kept], "log_ratio": ratio[kept], "contrast_rank": contrast[kept]}
            for name, values in here.items():
                rows[name].append(values)
    columns: dict[str, Any] = {name: np.concatenate(values) for name, values in rows.items()}
    return ContentTerms(**columns)

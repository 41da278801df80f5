"""Tables of effects: coefficients, shares at values, differences between two values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nlpkit.metrics.intervals import benjamini_hochberg
from nlpkit.platform.types import FloatArray
from nlpkit.topics.effects.data import EffectData
from nlpkit.topics.effects.design import Design
from nlpkit.topics.effects.regression import GRID, Effects, cases, compared_rows
from nlpkit.topics.effects.values import Moderator, Pair, holds_dates, written


def coefficients_table(effects: Effects, level: float) -> pa.Table:
    """Return a row for each topic and column of X."""
    K, P = effects.coefficients.shape
    half = effects.quantiles(level)[..., None] * effects.errors
    columns = {
        "estimate": effects.coefficients, "se": effects.errors, "low": effects.coefficients - half,
        "high": effects.coefficients + half, "t": effects.t, "p": effects.p,
    }  # fmt: skip
    return pa.table(
        {
            "topic": pa.array(np.repeat(np.arange(K, dtype=np.int32), P)),
            "covariate": pa.array(list(effects.names) * K, pa.string()),
            **{name: _known(column) for name, column in columns.items()},
        }
    )


def shares_table(effects: Effects, data: EffectData, column: str, varied: Moderator | None, level: float) -> pa.Table:
    """Return a row for each topic, value of the moderator, and value of a column."""
    design, is_date = data.design, holds_dates(data, column)
    grid = np.unique(np.linspace(*design.coding_of(column).ends, GRID).round()) if is_date else None
    blocks = []
    for others in _others(varied):
        shown, X = cases(design, column, values=grid, others=others)
        share, difference = effects.at(X, level=level), effects.between(X, X[:1], level=level)
        p = np.where(difference.error > 0, effects.p_of(difference.mean, difference.error), np.nan)
        blocks.append((share.mean, share.low, share.high, difference.mean, difference.low, difference.high, p))
    names = [written(float(value), True) for value in shown] if is_date else shown
    columns = ("share", "low", "high", "difference", "difference_low", "difference_high", "p")
    flat = {
        name: np.stack(values).transpose(2, 0, 1).ravel()
        for name, values in zip(columns, zip(*blocks, strict=True), strict=True)
    }  # (M, N, K) to topics first
    K, M = len(effects.coefficients), len(blocks)
    moderator = (
        {} if varied is None else {"moderator": np.tile(np.repeat([n for n, _ in varied.values], len(shown)), K)}
    )
    return pa.table(
        {
            "topic": pa.array(np.repeat(np.arange(K, dtype=np.int32), M * len(shown))),
            **moderator,
            "value": pa.array(names * (K * M)),
            **{name: _known(values) for name, values in flat.items()},
        }
    )


def differences_table(
    effects: Effects, design: Design, column: str, pair: Pair, varied: Moderator | None, level: float
) -> pa.Table:
    """Return a row for each topic and value of the moderator: the share at the first value less that at the second."""
    (_, first), (_, second) = pair
    X = np.stack([compared_rows(design, column, first, second, others=others) for others in _others(varied)])
    expected = effects.between(X[:, 0], X[:, 1], level=level)
    p = effects.p_of(expected.mean, expected.error)
    q = np.stack([benjamini_hochberg(row) for row in p])
    K, M = len(effects.coefficients), len(X)
    moderator = {} if varied is None else {"moderator": [name for name, _ in varied.values] * K}
    columns = {
        "difference": expected.mean,
        "se": expected.error,
        "low": expected.low,
        "high": expected.high,
        "p": p,
        "q": q,
    }
    topics = np.repeat(np.arange(K, dtype=np.int32), M)
    return pa.table({"topic": topics, **moderator, **{name: _known(values.T) for name, values in columns.items()}})


def _known(values: FloatArray) -> pa.Array:
    """Return numbers, null for NaN: of a topic without an estimate, or a difference from the value itself."""
    flat = np.ravel(values)
    return pa.array(flat, mask=np.isnan(flat))


def _others(varied: Moderator | None) -> list[dict[str, float | str]]:
    return [{}] if varied is None else [{varied.column: value} for _, value in varied.values]

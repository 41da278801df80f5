"""Which column explains the topics: columns of documents ranked by how much of the variance of topics lies between their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from scipy import sparse

from nlpkit.errors import ColumnError, InputError, missing_column
from nlpkit.platform.documents.date_columns import date_format_of, days_of
from nlpkit.platform.options import Execution
from nlpkit.platform.types import FloatArray, IntArray
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.tables import read_membership
from nlpkit.topics.over_time.prevalence import CellSums, Membership, sum_cells
from nlpkit.topics.over_time.tables import TopicTable, labels_of, topic_run

PARTS = 10  # of equal size, into which numbers and dates are divided
FOLDS = 20  # of the jackknife
PERMUTATIONS, TESTED = 199, 10_000  # documents of the test at most
FEWEST_IN_GROUP = 5  # documents of a value on average
MOST_GROUPS = 1000
LEADING = 3
BESIDE = ("id", "topic", "topic_prob", "nearest_topic", "margin", "chunk")


@dataclass(frozen=True, slots=True)
class Explained:
    """How much of the variance of topics lies between the values of a column.

    effect: R² corrected for chance, between low and high; of_topics (K,): that of each topic, NaN for one that is the same everywhere;
    p: of the permutation test; groups: values with documents; documents: those that have a value.
    """

    effect: float
    low: float
    high: float
    p: float
    of_topics: FloatArray
    groups: int
    documents: int


def corrected_shares(cells: CellSums) -> tuple[float, FloatArray]:
    """Return the share of the variance of topics that lies between groups, of all topics and of each (K,), corrected for chance.

        R² = Σ_k Σ_g n_g (p_gk - p_k)² / Σ_k Σ_d (θ_dk - p_k)²,   E = (G - 1) / (N - 1),   (R² - E) / (1 - E)

    E is the mean of R² over all permutations of the documents, so that a column without meaning has 0 on average, however many values
    it has. For documents with one topic each, R² is the τ of Goodman and Kruskal (1954); for one topic, its square root is Cramér's V.

    Args:
        cells: groups; the last column, of documents without a topic, does not count.
    """
    n = cells.n.astype(np.float64)[:, None]
    used, N = n[:, 0] > 0, float(n.sum())
    sums, squares = cells.sums[:, :-1], cells.squares[:, :-1].sum(axis=0)
    p = sums.sum(axis=0) / max(N, 1.0)
    between = (sums[used] ** 2 / n[used]).sum(axis=0) - N * p**2
    total = np.maximum(squares - N * p**2, 0.0)
    chance = (int(used.sum()) - 1) / max(N - 1, 1.0)
    if chance >= 1 or total.sum() <= 1e-12:
        return np.nan, np.full(len(p), np.nan)
    ratio = np.divide(between, total, out=np.full(len(p), np.nan), where=total > 1e-12)
    return (float(between.sum() / total.sum()) - chance) / (1 - chance), (ratio - chance) / (1 - chance)


def explain(membership: Membership, groups: IntArray, *, seed: int, level: float = 0.95) -> Explained:
    """Return how much a column explains of the topics.

    The interval is that of a jackknife over 20 parts of the documents. The permutation test compares R² with that of 199 permutations
    of at most 10,000 documents.

    Args:
        groups: (D,) value of each document from 0, -1 for none; documents without a topic do not count.
    """
    cells: IntArray = np.where(membership.none, -1, groups).astype(np.int32)
    G = int(cells.max(initial=-1)) + 1
    rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "explain")))
    rows = rng.permutation(np.flatnonzero(cells >= 0))
    fold = np.zeros(len(cells), np.int64)
    fold[rows] = np.arange(len(rows)) % FOLDS
    parts = sum_cells(membership, np.where(cells < 0, -1, fold * G + cells).astype(np.int32), FOLDS * G)
    of_fold = [np.tile(np.arange(G), FOLDS), np.repeat(np.arange(FOLDS), G)]
    effect, of_topics = corrected_shares(parts.merged(of_fold[0], G))
    without = [corrected_shares(parts.merged(np.where(of_fold[1] == f, -1, of_fold[0]), G))[0] for f in range(FOLDS)]
    spread = np.sqrt((FOLDS - 1) / FOLDS * ((np.array(without) - np.mean(without)) ** 2).sum())
    half = float(scipy.special.stdtrit(FOLDS - 1, (1 + level) / 2)) * spread
    used = len(np.unique(cells[rows]))
    return Explained(
        effect, float(np.clip(effect - half, 0, 1)), float(np.clip(effect + half, 0, 1)),
        _p_value(membership, cells, rows[:TESTED], G, rng),
        of_topics, used, len(rows),
    )  # fmt: skip


def _p_value(membership: Membership, cells: IntArray, rows: IntArray, G: int, rng: np.random.Generator) -> float:
    """Return the share of permutations with an R² at least as large, the documents themselves being one of them."""
    U, scale = membership.parts()
    U, scale = U[rows], scale[rows]
    prior = np.zeros(U.shape[1]) if membership.prior is None else membership.prior
    values = cells[rows]
    n = np.maximum(np.bincount(values, minlength=G), 1).astype(np.float64)[:, None]

    def between(cell: IntArray) -> float:
        member = sparse.csr_array((np.ones(len(cell)), (cell, np.arange(len(cell)))), shape=(G, len(cell)))
        sums = (member @ U).toarray() + (member @ scale)[:, None] * prior
        return float((sums**2 / n).sum())

    fitted = between(values)
    larger = sum(between(rng.permutation(values)) >= fitted - 1e-9 * abs(fitted) for _ in range(PERMUTATIONS))
    return (1 + larger) / (PERMUTATIONS + 1)


def topic_columns(run: Any, columns: Sequence[str] | None = None, *, execution: Execution | None = None) -> TopicTable:
    """Return the columns of the documents of a run by how well they explain its topics, the best first (see `corrected_shares`).

    A row holds the effect with low, high and p, the kind of values (text, number or date), the number of values, and the documents
    with one. It names the three topics that the column explains best, with their share. Numbers and dates are divided into ten parts of
    equal size.

    Args:
        run: a run directory, or a run that is open.
        columns: by default all that have 2 to 1,000 values, and 5 documents for each on average.

    Raises:
        ColumnError: a column is not there; InputError: one has no two values, or there is none.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> run = nk.fit_lda(corpus, k=2, sweeps=20).save("run")
        >>> nk.topic_columns(run).table["column"].to_pylist()
        ['label']
    """
    execution = execution or Execution()
    opened = topic_run(run, execution)
    documents, labels = opened.table("documents"), labels_of(opened)
    membership = read_membership(opened, mixed=opened.is_mixture)
    candidates = [n for n in documents.column_names if n not in BESIDE and not n.startswith("layer_")]
    rows: list[dict[str, Any]] = []
    for name in candidates if columns is None else columns:
        if name not in documents.column_names:
            raise missing_column(str(opened.path), name, documents.column_names, "columns")
        kind, values = _values_of(documents, name)
        n, D = len(np.unique(values[values >= 0])), int((values >= 0).sum())
        if n < 2 or n > MOST_GROUPS or FEWEST_IN_GROUP * n > D:
            if columns is not None:
                raise InputError(
                    f"'{name}' has {n:,} values in {D:,} documents; 2 to {MOST_GROUPS:,} are needed, and "
                    f"{FEWEST_IN_GROUP} documents for each",
                    parameter="columns",
                )
            continue
        one = explain(membership, values, seed=execution.seed)
        if np.isnan(one.effect):
            continue
        best = np.argsort(-np.nan_to_num(one.of_topics, nan=-1.0), kind="stable")[:LEADING].tolist()
        rows.append(
            {
                "column": name, "kind": kind, "values": one.groups, "documents": one.documents, "effect": one.effect,
                "low": one.low, "high": one.high, "p": one.p, "topics": best,
                "topic_labels": [labels[k] for k in best],
                "topic_effects": [float(one.of_topics[k]) for k in best],
            }
        )  # fmt: skip
    if not rows:
        raise InputError(f"{opened.path} has no column of 2 to {MOST_GROUPS:,} values", parameter="columns")
    rows.sort(key=lambda row: (-row["effect"], row["column"]))
    return TopicTable(
        [opened], "columns", pa.Table.from_pylist(rows), {"run": str(opened.path), "n_topics": len(labels)}
    )


def _values_of(documents: pa.Table, name: str) -> tuple[str, IntArray]:
    """Return what a column holds, and the value of each document (D,) from 0, -1 for none."""
    column = documents.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    none = np.full(len(column), -1, np.int32)
    if pa.types.is_nested(kind):
        return "list", none
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = pc.cast(column.cast(kind), pa.float64(), safe=False).to_numpy().astype(np.float64)
        if len(np.unique(numbers[np.isfinite(numbers)])) > PARTS:
            return "number", _parts(np.where(np.isfinite(numbers), numbers, np.nan))
    elif name == "date" or pa.types.is_temporal(kind):
        try:
            days, _ = days_of(column, name, format=date_format_of(documents.schema, name))
        except ColumnError:
            days = np.full(len(column), np.datetime64("NaT"))
        if not np.isnat(days).all():
            return "date", _parts(np.where(np.isnat(days), np.nan, days.astype("datetime64[D]").astype(np.float64)))
    texts = column.cast(kind).cast(pa.string())
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    codes = texts.combine_chunks().dictionary_encode().indices
    return "text", np.asarray(pc.fill_null(codes, -1).to_numpy(zero_copy_only=False), np.int32)


def _parts(values: FloatArray) -> IntArray:
    """Return numbers (D,) as parts of about equal size, equal numbers in one part; -1 for NaN."""
    edges = np.unique(np.nanquantile(values, np.linspace(0, 1, PARTS + 1)[1:-1], method="higher"))
    parts = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), -1, parts).astype(np.int32)

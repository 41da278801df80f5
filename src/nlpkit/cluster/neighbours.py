"""Exact nearest neighbours by cosine, in blocks, the same bytes on any number of threads and in any company.

Further parts, in this order:
- Distances of rows by cosine, Euclid, Manhattan and Minkowski: the nearest rows, and all close pairs, exactly and in blocks.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.errors import UsageError, unknown_value
from nlpkit.platform.kernels.topk import merge_rows, rescore_rows, top_k_pairs, top_k_rows
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import ByteArray, Float32Array, FloatArray, IntArray, LongArray

BLOCK_ROWS = 512
BLOCK_COLUMNS = 1024  # products of a block stay in the cache of a core
SPARE = 16
SUMMED_ROWS = 8192
PRODUCTS_FOR_GPU = 1 << 26  # a tenth of a second of a core
ROWS_OF_GPU, COLUMNS_OF_GPU = 4096, 1 << 16  # a gigabyte of products
logger = logging.getLogger("nlpkit.cluster")


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The k nearest other rows: index (D, k) int32 and similarity (D, k) float32 (cosine), nearest first."""

    index: IntArray
    similarity: Float32Array


def distinct_rows(embeddings: Float32Array) -> tuple[LongArray, LongArray]:
    """Return the first row of each different embedding (U,), ascending, and which of these each row is (D,)."""
    if not len(embeddings):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    as_bytes = row_digests(embeddings, 16).view("V16")  # in place of the rows, which would be sorted as a copy
    _, first, inverse = np.unique(as_bytes, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


def row_digests(rows: Float32Array, size: int, *, key: bytes = b"") -> ByteArray:
    """Return `size` bytes of BLAKE2b for each row, one after the other; equal rows have equal ones."""
    rows = np.ascontiguousarray(rows)
    return np.frombuffer(b"".join(blake2b(row, digest_size=size, key=key).digest() for row in rows), np.uint8)


def unit_rows(rows: FloatArray | Float32Array) -> Float32Array:
    """Return rows scaled to unit length, float32; a row of zeros stays one. Memory: a block."""
    unit = np.empty(rows.shape, np.float32)
    for start in range(0, len(rows), SUMMED_ROWS):
        block = rows[start : start + SUMMED_ROWS]
        unit[start : start + SUMMED_ROWS] = block / np.maximum(np.linalg.norm(block, axis=1, keepdims=True), 1e-12)
    return unit


def group_sums(
    rows: FloatArray | Float32Array, groups: IntArray, n_groups: int, times: LongArray | None = None
) -> FloatArray:
    """Return the sum of the rows (N, E), each `times` (N,), of each group (n_groups, E), in double; groups (N,) below 0 are none."""
    sums = np.zeros((n_groups, rows.shape[1]))
    for start in range(0, len(rows), SUMMED_ROWS):
        group = groups[start : start + SUMMED_ROWS]
        inside = np.flatnonzero(group >= 0)
        weights = (
            np.ones(len(inside)) if times is None else times[start : start + SUMMED_ROWS][inside].astype(np.float64)
        )
        members = sparse.csr_array((weights, (group[inside], inside)), shape=(n_groups, len(group)))
        sums += members @ rows[start : start + SUMMED_ROWS].astype(np.float64)
    return sums


def nearest_neighbours(
    queries: Float32Array, points: Float32Array | None = None, *, k: int, threads: int = 1
) -> Neighbours:
    """Return the k nearest rows of `points` for each row of `queries` by cosine similarity, exactly.

    A BLAS held to one thread finds k + 16 candidates of each row, in blocks that run beside each other. How it rounds
    depends on the place of a row in its block, so the candidates' similarities are then summed again in double, each
    from its two rows alone: what a row finds depends neither on `threads` nor on the rows around it, unless more than 16
    points lie within the rounding of float32 (about 1e-7) of its k-th neighbour. Memory: threads · 512 · 1024 · 4 bytes, and
    threads · D · (k + 16) · 8 where rows are compared among themselves: the product of each two is then made once.

    Where an encoder of this process is on a GPU, the candidates of many rows come from there, with the same result: a row
    whose last candidate is not clearly behind its k-th neighbour, and a GPU without room, are left to the CPU.

    Args:
        queries: (D, E) float32, rows L2-normalised.
        points: (P, E) likewise; None = the queries themselves, where a row is not its own neighbour.
        k: neighbours of each row; lowered to what there is.
        threads: workers.
    """
    base = queries if points is None else points
    D, P = len(queries), len(base)
    most = P - 1 if points is None else P
    k = max(min(k, most), 0)
    index = np.full((D, k), -1, np.int32)
    similarity = np.full((D, k), -np.inf, np.float32)
    if k:
        candidates = min(k + SPARE, most)
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(max(threads, 1)) as pool:
            device = _gpu(D * P)
            of_gpu = device and _among_on_gpu(queries, points, candidates, device)
            if of_gpu:
                rough = of_gpu[0]
            elif points is None:
                rough = _among_themselves(queries, candidates, pool, max(threads, 1))
            else:
                rough = _among(queries, points, candidates, pool)
            blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, D, BLOCK_ROWS)]
            list(pool.map(lambda b: rescore_rows(queries[b], base, rough[b], index[b], similarity[b]), blocks))
            if of_gpu and candidates < most:
                # what is no candidate has at most the last one's product and twice its rounding: E products of at most 1 in all
                rounding = 2.0**-23 * (queries.shape[1] + 2)
                unsure = np.flatnonzero(of_gpu[1] > similarity[:, -1] - rounding)
                exact = _among(queries[unsure], base, candidates, pool, unsure if points is None else None)
                part = np.full((len(unsure), k), -1, np.int32), np.empty((len(unsure), k), np.float32)
                rescore_rows(queries[unsure], base, exact, *part)
                index[unsure], similarity[unsure] = part
    return Neighbours(index, similarity)


def _gpu(products: int) -> str | None:
    """Return the GPU that an encoder of this process is on, for so many products; None where there is none, or it does not pay."""
    hardware = sys.modules.get("nlpkit.embed.hardware")
    in_use = hardware.gpus_in_use if hardware is not None and products >= PRODUCTS_FOR_GPU else []
    return str(in_use[0]) if in_use else None


def _among_on_gpu(
    queries: Float32Array, points: Float32Array | None, k: int, device: str
) -> tuple[IntArray, Float32Array] | None:
    """Return what `_among` does, in any order, and the least product of each row (D,); None where the device has no room."""
    import torch

    from nlpkit.embed.hardware import free_gpu_memory, is_out_of_memory

    precision, parts = torch.get_float32_matmul_precision(), []
    torch.set_float32_matmul_precision("highest")  # not by numbers of 19 bits
    try:
        with torch.inference_mode():
            base = torch.from_numpy(np.ascontiguousarray(queries if points is None else points)).to(device)
            for start in range(0, len(queries), ROWS_OF_GPU):
                rows = torch.from_numpy(np.ascontiguousarray(queries[start : start + ROWS_OF_GPU])).to(device)
                item, score = _largest_products(rows, base, k, start if points is None else None)
                parts.append((item.to("cpu", torch.int32).numpy(), score.amin(dim=1).cpu().numpy()))
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        parts = []
    finally:
        torch.set_float32_matmul_precision(precision)
    if not parts:
        free_gpu_memory(device)
        logger.warning(
            "%s has no room for %s vectors: their neighbours are found on the CPU", device, f"{len(queries):,}"
        )
        return None
    return np.concatenate([item for item, _ in parts]), np.concatenate([least for _, least in parts])


def _largest_products(rows: Any, base: Any, k: int, first: int | None) -> tuple[Any, Any]:
    """Return the k largest products of each row with those of `base`, of torch: item and score (R, k), in any order.

    Args:
        first: the item that the first row is, and so on, which are none of their own; None where the rows are not in `base`.
    """
    import torch

    item, score = rows.new_empty((len(rows), 0), dtype=torch.int64), rows.new_empty((len(rows), 0))
    for column in range(0, len(base), COLUMNS_OF_GPU):
        products = rows @ base[column : column + COLUMNS_OF_GPU].T
        if first is not None:
            products.diagonal(first - column).fill_(-torch.inf)
        largest, at = products.topk(min(k, products.shape[1]), sorted=False)
        item, score = torch.cat([item, at + column], dim=1), torch.cat([score, largest], dim=1)
        score, at = score.topk(min(k, score.shape[1]), sorted=False)
        item = item.gather(1, at)
    return item, score


def _among(
    queries: Float32Array, points: Float32Array, k: int, pool: ThreadPoolExecutor, themselves: LongArray | None = None
) -> IntArray:
    """Return the rows of `points` of the k largest products with each query (D, k), as float32 has them.

    Args:
        themselves: (D,) the point that each query is, which is none of its neighbours.
    """
    nearest, rough = _nothing(len(queries), k)

    def work(start: int) -> None:
        rows = slice(start, start + BLOCK_ROWS)
        for column in range(0, len(points), BLOCK_COLUMNS):
            scores = queries[rows] @ points[column : column + BLOCK_COLUMNS].T
            if themselves is not None:
                inside = np.flatnonzero((themselves[rows] >= column) & (themselves[rows] < column + BLOCK_COLUMNS))
                scores[inside, themselves[rows][inside] - column] = -np.inf
            top_k_rows(scores, column, -1, nearest[rows], rough[rows])

    list(pool.map(work, range(0, len(queries), BLOCK_ROWS)))
    return nearest


def _among_themselves(rows: Float32Array, k: int, pool: ThreadPoolExecutor, threads: int) -> IntArray:
    """Return the other rows of the k largest products with each row (D, k); each worker has a list of its own for every row."""
    starts = iter(range(0, len(rows), BLOCK_ROWS))  # each worker takes the next one: the first blocks are the longest

    def work(_: int) -> tuple[IntArray, Float32Array]:
        nearest, rough = _nothing(len(rows), k)
        worst = rough[:, -1].copy()
        for start in iter(partial(next, starts, None), None):
            for column in range(start, len(rows), BLOCK_COLUMNS):
                scores = rows[start : start + BLOCK_ROWS] @ rows[column : column + BLOCK_COLUMNS].T
                top_k_pairs(scores, start, column, nearest, rough, worst)
        return nearest, rough

    (nearest, rough), *others = pool.map(work, range(threads))
    for other in others:
        merge_rows(nearest, rough, *other)
    return nearest


def _nothing(n: int, k: int) -> tuple[IntArray, Float32Array]:
    return np.full((n, k), -1, np.int32), np.full((n, k), -np.inf, np.float32)


# ------------------------------------------------------------------------------------------------------------------------
# Distances of rows by cosine, Euclid, Manhattan and Minkowski: the nearest rows, and all close pairs, exactly and in blocks.
#
# Rows are dense (D, E), such as embeddings, or sparse (D, V) CSR, such as tf-idf. What a pair has depends on its two rows alone,
# neither on the block it came in nor on the number of threads. Definitions: lecture.

METRICS = ("cosine", "euclidean", "manhattan", "minkowski")
Rows: TypeAlias = Any  # (D, E) float array, or (D, V) CSR
Pairs: TypeAlias = tuple[LongArray, LongArray, FloatArray]

DISTANCES_BLOCK_ROWS = 256
DISTANCES_BLOCK_COLUMNS = 4096
EXACT_PAIRS = 1 << 14  # whose values are worked out at a time
DENSE_VALUES = 1 << 22  # of sparse rows that are made dense at a time
ROUGH = 1e-4  # by which a product in float32 may be off, for rows of length 1
TIE = 1e-9  # by which a pair may miss the threshold: equal rows have a cosine of 1 within rounding


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure by name, with the exponent p of `minkowski`: cosine similarity, or a distance.

    Raises:
        UsageError: the name is unknown, or p is missing, below 1, or not of this measure.
    """

    name: str = "cosine"
    p: float | None = None

    def __post_init__(self) -> None:
        """Check name and p."""
        if self.name not in METRICS:
            raise unknown_value("metric", self.name, METRICS)
        if self.name != "minkowski" and self.p is not None:
            raise UsageError(f"`p` is the exponent of `metric=minkowski`; the metric is {self.name}", parameter="p")
        if self.name == "minkowski" and not (self.p is not None and 1 <= self.p < float("inf")):
            raise UsageError("`metric=minkowski` needs its exponent, a number from 1 on: `p=3`", parameter="p")

    @property
    def is_similarity(self) -> bool:
        """Whether the largest value is the nearest, as of cosines."""
        return self.name == "cosine"

    @property
    def value(self) -> str:
        """What its numbers are: similarity or distance."""
        return "similarity" if self.is_similarity else "distance"


def nearest_rows(
    queries: Rows, points: Rows, metric: Metric, *, k: int, threads: int = 1
) -> tuple[IntArray, FloatArray]:
    """Return the k nearest rows of `points` for each query: index (Q, k) int32 and value (Q, k), nearest first.

    Ties keep the lower index; k is lowered to what there is. Dense rows by cosine go through `nearest_neighbours`.
    """
    k = min(k, points.shape[0])
    if metric.is_similarity and not sparse.issparse(points):
        near = nearest_neighbours(unit_rows(queries), unit_rows(points), k=k, threads=threads)
        return near.index, np.clip(near.similarity, -1.0, 1.0).astype(np.float64)
    index, values = np.zeros((queries.shape[0], k), np.int32), np.zeros((queries.shape[0], k))
    sign = -1.0 if metric.is_similarity else 1.0
    for q in range(queries.shape[0]):
        of_query = values_between(queries[q : q + 1], points, metric)[0]
        index[q] = np.argsort(sign * of_query, kind="stable")[:k]
        values[q] = of_query[index[q]]
    return index, values


def values_between(rows: Rows, points: Rows, metric: Metric) -> FloatArray:
    """Return the values of every row with every point (R, D) float64: cosine similarities, or distances.

    A row of zeros has the cosine 0 with all. Memory: R · D values.
    """
    if metric.is_similarity:
        return np.asarray(np.clip(_dense(unit_points(rows) @ unit_points(points).T), -1.0, 1.0), np.float64)
    if sparse.issparse(points) and metric.name in ("euclidean", "manhattan"):
        from sklearn.metrics import pairwise

        return np.asarray(getattr(pairwise, f"{metric.name}_distances")(_narrow(rows), _narrow(points)))
    if not sparse.issparse(points):
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(rows, points, _SCIPY[metric.name], **({} if metric.p is None else {"p": metric.p})))
    step = max(DENSE_VALUES // points.shape[1], 1)
    result = np.empty((rows.shape[0], points.shape[0]))
    for i in range(0, rows.shape[0], step):
        for j in range(0, points.shape[0], step):
            block = values_between(rows[i : i + step].toarray(), points[j : j + step].toarray(), metric)
            result[i : i + step, j : j + step] = block
    return result


def _narrow(rows: sparse.csr_array) -> sparse.csr_array:
    """Return sparse rows with indices of 32 bits, as scikit-learn's Manhattan distances need them."""
    indices, indptr = sparse.safely_cast_index_arrays(rows, np.int32)
    return sparse.csr_array((rows.data, indices, indptr), shape=rows.shape)


_SCIPY = {"euclidean": "euclidean", "manhattan": "cityblock", "minkowski": "minkowski"}


def close_pairs(points: Rows, metric: Metric, threshold: float, *, threads: int = 1) -> Iterator[Pairs]:
    """Yield the pairs i < j with a similarity of at least the threshold, or a distance of at most it, in the order of (i, j).

    A product of matrices leaves the candidates of a block by cosine and Euclid, whose values are then worked out from their two
    rows in double; Manhattan and Minkowski take every pair. Memory: threads · 256 rows of distances, never D².

    Yields:
        i (n,), j (n,), value (n,) of 256 rows i at a time, which may be none.
    """
    D = points.shape[0]
    prepared = unit_points(points) if metric.is_similarity else points
    squares = _squares(points) if metric.name == "euclidean" else None

    def of_rows(start: int) -> Pairs:
        stop, parts = min(start + DISTANCES_BLOCK_ROWS, D), []
        for column in range(start, D, DISTANCES_BLOCK_COLUMNS):
            end = min(column + DISTANCES_BLOCK_COLUMNS, D)
            rows, columns = prepared[start:stop], prepared[column:end]
            values = None
            if metric.is_similarity:
                near = _dense(rows @ columns.T) >= threshold - ROUGH
            elif squares is not None:
                a, b = squares[start:stop, None], squares[None, column:end]
                apart = a + b - 2.0 * _dense(rows @ columns.T)
                near = apart <= threshold**2 + ROUGH * (a + b)
            else:
                values = values_between(rows, columns, metric)
                near = values <= threshold + TIE
            i, j = np.nonzero(near)
            ahead = i + start < j + column
            i, j = i[ahead], j[ahead]
            exact = _of_pairs(points, i + start, j + column, metric) if values is None else values[i, j]
            kept = exact >= threshold - TIE if metric.is_similarity else exact <= threshold + TIE
            parts.append((i[kept] + start, j[kept] + column, exact[kept]))
        first, second, of_pair = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((second, first))
        return first[order], second[order], of_pair[order]

    with threadpool_limits(1, user_api="blas"):
        for _, pairs in map_ahead(of_rows, range(0, D, DISTANCES_BLOCK_ROWS), threads=threads):
            yield pairs


def _of_pairs(points: Rows, i: LongArray, j: LongArray, metric: Metric) -> FloatArray:
    """Return the cosine or the Euclidean distance of some pairs (n,), from their rows in double."""
    values = np.empty(len(i))
    for start in range(0, len(i), EXACT_PAIRS):
        part = slice(start, start + EXACT_PAIRS)
        a, b = (points[rows[part]].astype(np.float64) for rows in (i, j))
        if metric.is_similarity:
            lengths = np.sqrt(_squares(a) * _squares(b))
            product = np.asarray((a * b).sum(axis=1)).ravel()
            values[part] = np.divide(product, lengths, out=np.zeros_like(product), where=lengths > 0)
        else:
            values[part] = np.sqrt(_squares(a - b))
    return np.clip(values, -1.0, 1.0) if metric.is_similarity else values


def unit_points(rows: Rows) -> Rows:
    """Return rows of length 1; a row of zeros stays one."""
    if not sparse.issparse(rows):
        return unit_rows(rows)
    lengths = np.sqrt(_squares(rows))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ rows)


def _squares(rows: Rows) -> FloatArray:
    """Return the squared length of each row."""
    if sparse.issparse(rows):
        return np.asarray((rows * rows).sum(axis=1), np.float64).ravel()
    wide = np.asarray(rows, np.float64)
    return np.asarray((wide * wide).sum(axis=1))


def _dense(product: Any) -> Any:
    return product.toarray() if sparse.issparse(product) else product

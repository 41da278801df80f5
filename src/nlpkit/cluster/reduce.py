"""Embeddings to a few dimensions by UMAP (McInnes, Healy & Melville 2018), the same bytes on any number of threads.

umap-learn is reproducible on one core only, and spends most of its time compiling. This is the same method: exact
neighbours, fuzzy union, then the layout with all points of an epoch moved at once (as `batch = TRUE` in uwot does), with
counter-based random numbers. The start is the principal axes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import scipy
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.cluster.neighbours import Neighbours
from nlpkit.errors import InputError, UsageError, first_line, missing_extra
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray

NEGATIVE_SAMPLES = 5
BLOCK_ROWS = 4096
PARALLEL_FROM = 4096


def fuzzy_graph(neighbours: Neighbours) -> CsrMatrix:
    """Return the symmetric fuzzy neighbour graph (D, D) float32: w = u + uᵀ - u ∘ uᵀ, u_ij = exp(-(d_ij - rho_i)/sigma_i).

    The cosine distance is 1 - similarity. As in umap-learn a point counts among its own k neighbours, so `neighbours`
    with k = 14 is its n_neighbors = 15.
    """
    from nlpkit.cluster.kernels import bandwidths

    D, k = neighbours.index.shape
    distances = np.maximum(1.0 - neighbours.similarity.astype(np.float64), 0.0)
    rho, sigma = np.empty(D), np.empty(D)
    _start_threads()
    bandwidths(distances, rho, sigma)
    u = np.exp(-np.maximum(distances - rho[:, None], 0.0) / sigma[:, None]).astype(np.float32)
    rows = np.repeat(np.arange(D, dtype=np.int32), k)
    directed = sparse.csr_array((u.ravel(), (rows, neighbours.index.ravel())), shape=(D, D))
    transposed = sparse.csr_array(directed.T)
    graph = sparse.csr_array(directed + transposed - directed * transposed)
    graph.sort_indices()
    return graph


def _start_threads() -> None:
    """Start the threads of Numba; it sets those of OpenMP, also for PyTorch, to all cores, and this sets them back."""
    import numba

    with threadpool_limits(user_api="openmp"):
        numba.get_num_threads()


# a, b by (min_dist, spread): what is fitted below for the two distances in use, which saves loading scipy.optimize, .25 s
CURVES = {
    (0.0, 1.0): (1.93280839734315, 0.7904949732233831),
    (0.1, 1.0): (1.5769434602697652, 0.8950608778515733),
}


def low_dimensional_curve(min_dist: float, spread: float = 1.0) -> tuple[float, float]:
    """Return a, b of 1/(1 + a d^2b) fitted to the target curve of UMAP (§3.2): 1 up to min_dist, then exp(-(d - min_dist)/spread).

    Raises:
        UsageError: min_dist is not between 0 and spread, where no curve of this form fits.
    """
    if not 0 <= min_dist <= spread:
        raise UsageError(f"min_dist must lie between 0 and the spread, {spread:g}; got {min_dist:g}")
    if (min_dist, spread) in CURVES:
        return CURVES[min_dist, spread]
    d = np.linspace(0.0, 3.0 * spread, 300)
    target = np.where(d < min_dist, 1.0, np.exp(-(d - min_dist) / spread))
    (a, b), _ = scipy.optimize.curve_fit(lambda x, a, b: 1.0 / (1.0 + a * x ** (2 * b)), d, target)
    return float(a), float(b)


def slope_tables(a: float, b: float) -> Float32Array:
    """Return the pull and the push of UMAP (§3.2) by the squared distance g, as `slope` of the kernels reads them (2, N + 1) float32.

    The pull is -2 a b g^(b-1) / (1 + a g^b), the push 2 b / ((0.001 + g) (1 + a g^b)). A table in place of a power for each pair of
    points takes a quarter of the time; lines between its entries are off by less than 1e-4 of the value.
    """
    from nlpkit.cluster.kernels import FIRST_SLOPE, N_SLOPES, SLOPE_BITS

    bits = (np.arange(N_SLOPES + 1, dtype=np.int32) + FIRST_SLOPE) << SLOPE_BITS
    g = bits.view(np.float32).astype(np.float64)
    power = g**b
    return np.stack([-2 * a * b * power / (g * (1 + a * power)), 2 * b / ((0.001 + g) * (1 + a * power))]).astype(
        np.float32
    )


def principal_axes(embeddings: Float32Array, n: int) -> Float32Array:
    """Return the first n principal component scores (D, n) float32; signs make the largest loading positive. Memory: a block."""
    E = embeddings.shape[1]
    mean = embeddings.mean(axis=0, dtype=np.float64)
    blocks = range(0, len(embeddings), BLOCK_ROWS)
    scatter = np.zeros((E, E))
    with threadpool_limits(1, user_api="blas"):  # the order of summation must not depend on the number of cores
        for row in blocks:
            centred = embeddings[row : row + BLOCK_ROWS] - mean
            scatter += centred.T @ centred
        _, vectors = np.linalg.eigh(scatter)
        axes = vectors[:, ::-1][:, :n]
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
        scores = [((embeddings[row : row + BLOCK_ROWS] - mean) @ axes).astype(np.float32) for row in blocks]
    return np.concatenate(scores)


def umap_layout(
    graph: CsrMatrix,
    start: Float32Array,
    *,
    min_dist: float = 0.0,
    n_epochs: int | None = None,
    seed: int = 42,
    threads: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Float32Array:
    """Return the layout (D, L) float32 of a fuzzy graph, from `start` (D, L).

    Args:
        graph: (D, D) CSR of `fuzzy_graph`.
        start: first positions; each dimension is scaled to 0 … 10 and jittered by 1e-4.
        min_dist: closest distance of points that belong together.
        n_epochs: passes; None = 500 up to 10,000 points, else 200, as umap-learn.
        seed: of jitter and negative samples.
        threads: workers; a layout of under 4,096 points stays on one, which is faster.
        progress: called with the share of passes done.
    """
    from nlpkit.cluster.kernels import layout_epochs

    D = graph.shape[0]
    n_epochs = n_epochs or (500 if D <= 10_000 else 200)
    slopes = slope_tables(*low_dimensional_curve(min_dist))
    low = start.min(axis=0)
    layout = np.ascontiguousarray(10.0 * (start - low) / np.maximum(start.max(axis=0) - low, 1e-12), np.float32)
    layout += np.random.default_rng(seed).normal(scale=1e-4, size=layout.shape).astype(np.float32)
    weights = graph.data
    top = float(weights.max()) if len(weights) else 1.0
    rate: FloatArray = np.where(
        weights * n_epochs < top, 0.0, weights / np.float64(top)
    )  # of the epochs in which it is due
    import numba

    _start_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS) if D >= PARALLEL_FROM else 1)
    step = max(n_epochs // 50, 1)
    draws = seed * 1_000_003 % 2**62  # of 64 bits, whatever the seed
    for first in range(0, n_epochs, step):
        last = min(first + step, n_epochs)
        layout_epochs(layout, graph.indptr, graph.indices, rate, slopes, draws, first, last, n_epochs, NEGATIVE_SAMPLES)
        if progress:
            progress(last / n_epochs)
    return layout


def umap_learn_layout(
    embeddings: Float32Array, *, n_neighbors: int = 15, n_components: int = 2, min_dist: float = 0.0, seed: int = 42
) -> Float32Array:
    """Return the layout (D, L) float32 that the package umap-learn gives by cosine distance; `seed` is its random_state.

    It runs on one thread, as umap-learn does with a random_state.

    Raises:
        MissingError: the extra `neural` is not installed. InputError: umap-learn cannot lay out so few rows.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Tensorflow not installed")
            from umap import UMAP
    except ImportError:
        raise missing_extra("umap-learn", "neural") from None
    model = UMAP(
        n_neighbors=n_neighbors, n_components=n_components, min_dist=min_dist, metric="cosine", random_state=seed, n_jobs=1
    )  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numba, and of neighbours that are as many as the rows
            return np.nan_to_num(np.asarray(model.fit_transform(embeddings), np.float32))
    except (TypeError, ValueError) as error:
        if len(embeddings) > 2 * n_neighbors:
            raise
        raise InputError(
            f"umap-learn cannot lay out {len(embeddings)} documents in {n_components} dimensions ({first_line(error)})"
        ) from None

"""Neighbour graph and layout of UMAP."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from nlpkit.cluster.neighbours import nearest_neighbours
from nlpkit.cluster.reduce import fuzzy_graph, low_dimensional_curve, principal_axes, umap_layout
from nlpkit.errors import UsageError
from tests.strategies import planted, unit_rows

ROOT = Path(__file__).parents[2]


def test_graph_by_its_formula() -> None:
    X = unit_rows(np.random.default_rng(0), 60, 5)
    found = nearest_neighbours(X, k=6)
    graph = fuzzy_graph(found).toarray()
    u = np.zeros((60, 60))
    for i in range(60):
        d = 1.0 - found.similarity[i].astype(float)
        gaps = d - d.min()
        low, high = 1e-6, 10.0
        for _ in range(100):  # sigma of Σ exp(-gap / sigma) = log2(7)
            sigma = (low + high) / 2
            low, high = (low, sigma) if np.exp(-gaps / sigma).sum() > np.log2(7) else (sigma, high)
        u[i, found.index[i]] = np.exp(-gaps / max(sigma, 1e-3 * d.mean()))
    np.testing.assert_allclose(graph, u + u.T - u * u.T, atol=1e-4)


def test_graph_is_symmetric_with_weights_up_to_one() -> None:
    graph = fuzzy_graph(nearest_neighbours(planted([30] * 4, seed=1).embeddings, k=14))
    assert (abs(graph - graph.T) > 0).nnz == 0
    assert graph.dtype == np.float32
    assert graph.data.min() > 0
    assert graph.data.max() <= 1
    assert np.isclose(graph.max(axis=1).toarray(), 1, atol=1e-6).all()  # the nearest neighbour of each point
    assert graph.diagonal().sum() == 0


UMAP = """
import numpy as np
from scipy import sparse
from umap.umap_ import fuzzy_simplicial_set
x, index, distances = (np.load(name + ".npy") for name in ("x", "index", "distances"))
graph, _, _ = fuzzy_simplicial_set(x, 15, np.random.RandomState(0), "cosine", knn_indices=index, knn_dists=distances)
sparse.save_npz("graph.npz", graph)
"""


def test_graph_equals_umap_learn(tmp_path: Path) -> None:
    """In a process that compiles nothing: importing umap-learn compiles for half a minute."""
    if importlib.util.find_spec("umap") is None:
        pytest.skip("umap-learn is not installed")
    X = planted([60] * 5, seed=2, spread=0.8).embeddings
    found = nearest_neighbours(X, k=14)
    # umap-learn counts a point as its own first neighbour
    index = np.column_stack([np.arange(len(X)), found.index])
    distances = np.column_stack([np.zeros(len(X)), 1.0 - found.similarity.astype(np.float64)]).astype(np.float32)
    for name, values in (("x", X), ("index", index), ("distances", distances)):
        np.save(tmp_path / f"{name}.npy", values)
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", UMAP], cwd=tmp_path, env=plain, check=True, capture_output=True
    )
    theirs = sparse.load_npz(tmp_path / "graph.npz")
    ours = fuzzy_graph(found)
    assert ours.nnz == theirs.nnz
    assert abs(ours - sparse.csr_array(theirs)).max() < 1e-5


def test_copies_are_neighbours_at_distance_zero() -> None:
    X = np.repeat(unit_rows(np.random.default_rng(1), 5, 4), 4, axis=0)
    graph = fuzzy_graph(nearest_neighbours(X, k=3)).toarray()
    assert np.isfinite(graph).all()
    for group in range(5):
        block = graph[4 * group : 4 * group + 4, 4 * group : 4 * group + 4]
        np.testing.assert_allclose(block, 1 - np.eye(4), atol=1e-6)


@pytest.mark.parametrize(("min_dist", "a", "b"), [(0.0, 1.932808, 0.790495), (0.1, 1.576943, 0.895061)])
def test_curve_equals_the_one_of_umap_learn(min_dist: float, a: float, b: float) -> None:
    assert low_dimensional_curve(min_dist) == pytest.approx((a, b), rel=1e-4)
    assert low_dimensional_curve(min_dist) == pytest.approx(low_dimensional_curve(min_dist + 1e-9), rel=1e-6)  # fitted


@pytest.mark.filterwarnings("error")
def test_curve_takes_no_distance_beyond_the_spread() -> None:
    assert all(x > 0 for x in low_dimensional_curve(1.0))
    for min_dist in (1.001, 2.0, -0.1, float("nan")):
        with pytest.raises(UsageError):
            low_dimensional_curve(min_dist)


def test_principal_axes() -> None:
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(80, 6)) * [5, 1, 3, 0.1, 0.5, 2]).astype(np.float32)
    scores = principal_axes(X, 3)
    centered = X - X.mean(axis=0, dtype=np.float64)
    _, singular, axes = np.linalg.svd(centered)
    expected = centered @ axes[:3].T
    np.testing.assert_allclose(np.abs(scores), np.abs(expected), atol=1e-4)
    np.testing.assert_allclose((scores**2).sum(axis=0), singular[:3] ** 2, rtol=1e-4)
    # signs: the largest loading of each axis is positive, so a mirrored start mirrors nothing
    for x in range(3):
        loadings = np.linalg.lstsq(centered, scores[:, x], rcond=None)[0]
        assert loadings[np.abs(loadings).argmax()] > 0


def layout_of(seed: int = 42, n_epochs: int | None = 100) -> tuple[np.ndarray, np.ndarray]:
    corpus = planted([50] * 4, seed=5)
    graph = fuzzy_graph(nearest_neighbours(corpus.embeddings, k=14))
    return umap_layout(graph, principal_axes(corpus.embeddings, 2), seed=seed, n_epochs=n_epochs), corpus.labels


def test_layout_separates_planted_topics() -> None:
    layout, labels = layout_of()
    centers = np.array([layout[labels == k].mean(axis=0) for k in range(4)])
    radius = max(np.linalg.norm(layout[labels == k] - centers[k], axis=1).max() for k in range(4))
    apart = min(np.linalg.norm(centers[i] - centers[j]) for i in range(4) for j in range(i))
    assert apart > 2 * radius
    assert layout.dtype == np.float32


def test_layout_is_the_same_twice_and_another_with_another_seed() -> None:
    assert layout_of()[0].tobytes() == layout_of()[0].tobytes()
    assert layout_of()[0].tobytes() != layout_of(seed=43)[0].tobytes()


def test_layout_tells_its_progress_and_leaves_its_arguments() -> None:
    X = unit_rows(np.random.default_rng(0), 40, 6)
    graph, start = fuzzy_graph(nearest_neighbours(X, k=5)), principal_axes(X, 2)
    data, before, said = graph.data.tobytes(), start.tobytes(), []
    umap_layout(graph, start, n_epochs=120, progress=said.append)
    assert (graph.data.tobytes(), start.tobytes()) == (data, before)
    assert said == sorted(said)
    assert said[-1] == 1.0


THREADS = """
import hashlib
import numpy as np
from nlpkit.cluster.neighbours import nearest_neighbours
from nlpkit.cluster.reduce import PARALLEL_FROM, fuzzy_graph, principal_axes, umap_layout
from tests.strategies import planted

corpus = planted([900] * 5, seed=1)
assert len(corpus.labels) > PARALLEL_FROM
for threads in (1, 2, 3):
    found = nearest_neighbours(corpus.embeddings, k=14, threads=threads)
    graph = fuzzy_graph(found)
    layout = umap_layout(graph, principal_axes(corpus.embeddings, 5), n_epochs=12, threads=threads)
    digest = hashlib.sha256()
    for array in (found.index, found.similarity, graph.data, graph.indices, layout):
        digest.update(np.ascontiguousarray(array).tobytes())
    print(digest.hexdigest())
"""


def test_same_bytes_on_1_2_and_3_threads() -> None:
    """In a process of its own, where Numba has three threads on a machine of fewer cores."""
    done = subprocess.run(
        [sys.executable, "-c", THREADS],
        cwd=ROOT,
        env=os.environ | {"NUMBA_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    digests = done.stdout.split()
    assert len(digests) == 3
    assert len(set(digests)) == 1


def test_any_seed_will_do() -> None:
    assert np.isfinite(layout_of(seed=10**30, n_epochs=2)[0]).all()


def test_threads_of_torch_stay_as_many_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, the first layout set them to all cores, for all that came after it in the process."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    monkeypatch.setattr(
        "numba.get_num_threads", lambda: torch.set_num_threads(before + 1)
    )  # as when Numba starts its own
    graph = fuzzy_graph(nearest_neighbours(planted([20] * 3, seed=1).embeddings, k=5))
    assert torch.get_num_threads() == before
    umap_layout(graph, np.zeros((60, 2), np.float32), n_epochs=1)
    assert torch.get_num_threads() == before

"""Bandwidths and layout of UMAP against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.cluster.kernels import bandwidths, hash_uniform, layout_epochs, slope
from nlpkit.cluster.reduce import low_dimensional_curve, slope_tables
from nlpkit.platform.kernels import njit
from tests.reference import layout as plain
from tests.strategies import repeatable


def run_bandwidths(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rho, sigma = np.empty(len(distances)), np.empty(len(distances))
    bandwidths(distances, rho, sigma)
    return rho, sigma


@njit()
def draw_bits(a: int, b: int, c: int) -> int:
    return hash_uniform(a, b, c)


def test_two_neighbours_by_hand() -> None:
    # 1 + exp(-(d - rho)/sigma) = log2(3)  →  sigma = -0.5 / ln(log2(3) - 1)
    rho, sigma = run_bandwidths(np.array([[0.25, 0.75]]))
    assert rho[0] == 0.25
    assert sigma[0] == pytest.approx(-0.5 / math.log(math.log2(3) - 1), rel=1e-4)


def test_rho_is_the_first_distance_above_zero() -> None:
    rho, sigma = run_bandwidths(np.array([[0.0, 0.0, 0.3, 0.4], [0.0, 0.0, 0.0, 0.0]]))
    assert rho.tolist() == [0.3, 0.0]
    assert sigma[1] == pytest.approx(1e-3 * 0.7 / 8)  # all neighbours are copies: a thousandth of the mean of all


@repeatable
@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(1, 8), st.integers(0, 3))
def test_bandwidths_equal_the_plain_bisection(seed: int, k: int, D: int, copies: int) -> None:
    distances = np.sort(np.random.default_rng(seed).gamma(2.0, 0.2, (D, k)), axis=1)
    distances[:, : min(copies, k - 1)] = 0.0
    rho, sigma = run_bandwidths(distances)
    expected = plain.bandwidths(distances.tolist())
    np.testing.assert_array_equal(rho, expected[0])
    np.testing.assert_allclose(sigma, expected[1], rtol=1e-9)


def test_bandwidths_solve_their_equation() -> None:
    distances = np.sort(np.random.default_rng(3).gamma(2.0, 0.2, (50, 14)), axis=1)
    rho, sigma = run_bandwidths(distances)
    sums = np.exp(-np.maximum(distances - rho[:, None], 0) / sigma[:, None]).sum(axis=1)
    np.testing.assert_allclose(sums, np.log2(15), atol=1e-5)


@repeatable
@given(st.integers(0, 2**40), st.integers(0, 2**31), st.integers(0, 50))
def test_counter_bits_equal_whole_numbers(a: int, b: int, c: int) -> None:
    with np.errstate(over="ignore"):
        assert int(draw_bits(a, b, c)) == plain.hash_bits(a, b, c)


def test_counter_bits_look_uniform() -> None:
    bits = [plain.hash_bits(42, e, n) for e in range(400) for n in range(5)]
    assert len(set(bits)) == len(bits)
    filled = np.bincount([x % 16 for x in bits], minlength=16)
    expected = len(bits) / 16
    assert ((filled - expected) ** 2 / expected).sum() < 37.7  # chi², 15 degrees of freedom, p = 0.001


@repeatable
@given(seed=st.integers(0, 10_000), D=st.integers(2, 12), L=st.integers(1, 4), negatives=st.integers(0, 5))
def test_layout_equals_plain_loops(seed: int, D: int, L: int, negatives: int) -> None:
    rng = np.random.default_rng(seed)
    dense = np.triu(rng.random((D, D)) * (rng.random((D, D)) < 0.5), 1).astype(np.float32)
    graph = sparse.csr_array(dense + dense.T)
    start = (rng.random((D, L)) * 10).astype(np.float32)
    start[-1] = start[0]  # two points in one place
    rate = np.where(graph.data < 0.1, 0.0, graph.data).astype(np.float64)
    slopes, n_epochs = slope_tables(1.9, 0.79), 8
    layout = start.copy()
    with np.errstate(over="ignore"):
        layout_epochs(layout, graph.indptr, graph.indices, rate, slopes, seed, 0, 3, n_epochs, negatives)
        layout_epochs(layout, graph.indptr, graph.indices, rate, slopes, seed, 3, 6, n_epochs, negatives)
    expected = plain.layout_epochs(start, graph, rate, slopes, seed, range(6), n_epochs, negatives)
    np.testing.assert_array_equal(layout, expected)
    assert np.isfinite(layout).all()


@njit()
def read_slopes(table: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    values = np.empty(len(gaps), np.float32)
    for i in range(len(gaps)):
        values[i] = slope(table, gaps[i])
    return values


@pytest.mark.parametrize("min_dist", [0.0, 0.1, 0.5, 1.0])
def test_slopes_by_table_are_those_of_the_curve(min_dist: float) -> None:
    a, b = low_dimensional_curve(min_dist)
    gaps = np.exp2(np.random.default_rng(0).uniform(-32, 32, 20_000)).astype(np.float32)
    g = gaps.astype(np.float64)
    tables = slope_tables(a, b)
    np.testing.assert_allclose(read_slopes(tables[0], gaps), -2 * a * b * g ** (b - 1) / (1 + a * g**b), rtol=1e-4)
    np.testing.assert_allclose(read_slopes(tables[1], gaps), 2 * b / ((0.001 + g) * (1 + a * g**b)), rtol=1e-4)


def test_slopes_outside_of_the_table_stay_near_its_ends() -> None:
    tables = slope_tables(1.9, 0.79)
    gaps = np.array([5e-324, 1e-45, 1e-30, 1e30, np.finfo(np.float32).max, np.inf], np.float32)[1:]
    for table in tables:
        values = read_slopes(table, gaps)
        assert np.isfinite(values).all()
        assert (np.abs(values[:2]) <= np.abs(table[0])).all()
        assert (np.abs(values[2:]) <= np.abs(table[-2])).all()  # farther points are pushed less


def test_no_edges_no_motion() -> None:
    graph = sparse.csr_array((3, 3), dtype=np.float32)
    layout = np.arange(6, dtype=np.float32).reshape(3, 2)
    layout_epochs(layout, graph.indptr, graph.indices, np.zeros(0), slope_tables(1.9, 0.79), 1, 0, 2, 2, 5)
    assert layout.ravel().tolist() == [0, 1, 2, 3, 4, 5]

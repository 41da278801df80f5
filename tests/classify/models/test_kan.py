"""Kolmogorov-Arnold networks: scipy's B-splines, functions that an MLP of equal size fits worse, XOR, one thread or two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BSpline

torch = pytest.importorskip("torch")

from nlpkit.classify.models.kan import KAN, KANLayer, bspline_bases, fit_kan  # noqa: E402
from nlpkit.errors import SchemaError  # noqa: E402
from tests.classify.models.test_mlp import xor  # noqa: E402


@pytest.mark.parametrize("k", [1, 2, 3])
def test_bases_are_those_of_scipy(k: int) -> None:
    t = np.sort(np.random.default_rng(k).uniform(-2, 2, 12))
    x = np.random.default_rng(0).uniform(t[k], t[-k - 1], 200)
    ours = bspline_bases(torch.from_numpy(x), torch.from_numpy(t), k).numpy()
    assert ours == pytest.approx(BSpline.design_matrix(x, t, k).toarray(), abs=1e-6)
    assert ours.sum(axis=1) == pytest.approx(np.ones(200))


def test_a_layer_is_a_sum_of_functions_by_scipy() -> None:
    torch.manual_seed(0)
    layer, x = KANLayer(3, 2), torch.rand(40, 3) * 8 - 4  # some beyond the grid of ±3
    t, c = layer.t.double().numpy(), layer.c.detach().double().numpy().reshape(2, 3, 8)
    values = x.double().numpy()
    silu = values / (1 + np.exp(-values))
    expected = silu @ layer.w_b.detach().double().numpy().T
    for j in range(2):
        for i in range(3):
            on_knots = np.array(
                [BSpline.basis_element(t[p : p + 5], extrapolate=False)(values[:, i]) for p in range(8)]
            )
            expected[:, j] += c[j, i] @ np.nan_to_num(on_knots)
    assert layer(x).detach().numpy() == pytest.approx(expected, abs=1e-5)


def error(network: Any, X: Any, y: Any, T: Any, target: Any) -> float:
    """Return the root mean square error on T after 100 steps of L-BFGS, as the paper trains."""
    optimizer = torch.optim.LBFGS(network.parameters(), max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Any:
        optimizer.zero_grad()
        value = (network(X)[:, 0] - y).square().mean()
        value.backward()
        return value

    optimizer.step(loss)
    with torch.no_grad():
        return float((network(T)[:, 0] - target).square().mean().sqrt())


@pytest.mark.parametrize(
    ("n", "function", "shape", "units", "most"),
    [
        (2, lambda X: X[:, 0] * X[:, 1], {"widths": (2, 3, 1), "reach": 2.0}, (torch.nn.ReLU,), 0.01),
        pytest.param(1, lambda X: torch.sin(3 * torch.pi * X[:, 0]), {"widths": (1, 2, 1), "reach": 1.0, "intervals": 8},
                     (torch.nn.ReLU, torch.nn.Tanh), 0.06, marks=pytest.mark.slow),  # three trainings
    ],
    ids=["x times y", "sin"],
)  # fmt: skip
def test_it_fits_better_than_an_mlp_of_equal_size(
    n: int, function: Any, shape: dict[str, Any], units: tuple[Any, ...], most: float
) -> None:
    """The product against rectified units alone: tanh of the same number fits this smooth function as well."""
    torch.manual_seed(0)
    X, T = torch.rand(200, n) * 2 - 1, torch.rand(500, n) * 2 - 1
    kan = KAN(**shape)
    size = sum(p.numel() for p in kan.parameters())
    ours = error(kan, X, function(X), T, function(T))
    assert ours < most
    for unit in units:
        h = (size - 1) // (n + 2) + 1
        mlp = torch.nn.Sequential(torch.nn.Linear(n, h), unit(), torch.nn.Linear(h, 1))
        assert sum(p.numel() for p in mlp.parameters()) >= size
        assert ours < 0.6 * error(mlp, X, function(X), T, function(T))


def test_a_classifier_learns_xor_on_any_threads() -> None:
    X, y = xor()
    models = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        models.append(fit_kan(X, y, 2, hidden=4, seed=0))
        torch.set_num_threads(before)
    assert (models[0].decision(X).argmax(axis=1) == y).mean() > 0.95
    for name, array in models[0].arrays().items():
        assert (array == models[1].arrays()[name]).all(), name
    with pytest.raises(SchemaError, match="do not fit"):
        type(models[0]).restored({**models[0].config(), "hidden": 5}, models[0].arrays())

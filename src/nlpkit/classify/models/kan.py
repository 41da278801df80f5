"""Kolmogorov–Arnold networks as classifiers: a spline on each edge, sums at the nodes (Liu et al. 2024).

A layer is y_j = Σ_i φ_ij(x_i) with φ(x) = w_b SiLU(x) + Σ_p c_p B_p(x) (equations 2.10 and 2.11): G + k B-splines of order k on G equal
intervals. The factor w_s of the paper is part of c. Grids stay as they are; beyond them SiLU alone is left.

Parts, in this order:
- The network: a spline on each edge, and nothing but sums at the nodes.
- A Kolmogorov–Arnold network as a classifier: two layers of splines on the features of a document (Liu et al. 2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.classify.models.linear import Array, Features, Link, by_link, checked_features, labels_that_vary, widened
from nlpkit.classify.models.networks import Passes, run_network, train_network
from nlpkit.errors import SchemaError
from nlpkit.platform.types import BoolArray, Float32Array, FloatArray, IntArray

ORDER = 3  # k: cubic


def bspline_bases(x: Tensor, t: Tensor, k: int = ORDER) -> Tensor:
    """Return B_p(x) (…, G + k) of x (…) on knots t (G + 2k + 1,), by the recursion of de Boor (1978, chapter X).

    B_p,0(x) = 1 in [t_p, t_{p+1}), else 0
    B_p,k(x) = (x − t_p) / (t_{p+k} − t_p) B_p,k−1(x) + (t_{p+k+1} − x) / (t_{p+k+1} − t_{p+1}) B_{p+1,k−1}(x)
    """
    x = x[..., None]
    B = ((x >= t[:-1]) & (x < t[1:])).to(x.dtype)
    for d in range(1, k + 1):
        rise = (x - t[: -d - 1]) / (t[d:-1] - t[: -d - 1])
        fall = (t[d + 1 :] - x) / (t[d + 1 :] - t[1:-d])
        B = rise * B[..., :-1] + fall * B[..., 1:]
    return B


class KANLayer(nn.Module):  # type: ignore[misc]
    """n_in → n_out functions on G intervals of [−reach, reach]: (D, n_in) → (D, n_out)."""

    def __init__(self, n_in: int, n_out: int, *, intervals: int = 5, reach: float = 3.0) -> None:
        super().__init__()
        steps = torch.arange(-ORDER, intervals + ORDER + 1, dtype=torch.get_default_dtype())
        self.register_buffer("t", (2 * steps / intervals - 1) * reach)
        self.w_b = nn.Parameter(torch.empty(n_out, n_in))
        self.c = nn.Parameter(torch.empty(n_out, n_in * (intervals + ORDER)))
        self.reset()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def reset(self) -> None:
        """Draw w_b as Xavier does, and splines near 0 (§2.2)."""
        nn.init.xavier_normal_(self.w_b)
        nn.init.normal_(self.c, std=0.1 * self.w_b.shape[1] ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sums of the functions."""
        return functional.silu(x) @ self.w_b.T + bspline_bases(x, self.t).flatten(1) @ self.c.T


class KAN(nn.Module):  # type: ignore[misc]
    """Layers of given widths, one after the other, and a bias of the outputs."""

    def __init__(self, widths: Sequence[int], *, intervals: int = 5, reach: float = 3.0) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(KANLayer(a, b, intervals=intervals, reach=reach) for a, b in pairwise(widths)))
        self.bias = nn.Parameter(torch.zeros(widths[-1]))

    def forward(self, x: Tensor) -> Tensor:
        """Return (D, widths[-1])."""
        return self.layers(x) + self.bias


# ------------------------------------------------------------------------------------------------------------------------
# A Kolmogorov–Arnold network as a classifier: two layers of splines on the features of a document (Liu et al. 2024).

INTERVALS, REACH = 5, 3.0  # of each grid: five intervals of three standard deviations to either side
PASSES = Passes(epochs=25, rate=0.02, decay=0.01)
BLOCK_ROWS = 256
PATHS = {
    "base_1": "layers.0.w_b", "spline_1": "layers.0.c", "base_2": "layers.1.w_b", "spline_2": "layers.1.c", "bias": "bias"
}  # fmt: skip
NAMES = ("mean", "scale", *PATHS)


@dataclass(frozen=True, slots=True)
class KanModel:
    """Scores of a network on (x − mean) ⊙ scale; their softmax, or sigmoid of each if multi-label, are probabilities.

    mean, scale: (E,), 1 / the standard deviation, 0 for a feature that never varies. base_1 (H, E), spline_1 (H, E (G + k)),
    base_2 (J, H), spline_2 (J, H (G + k)): w_b and c of each layer. bias: (J,). All float32.
    """

    mean: Float32Array
    scale: Float32Array
    base_1: Float32Array
    spline_1: Float32Array
    base_2: Float32Array
    spline_2: Float32Array
    bias: Float32Array
    multi_label: bool = False

    kind: ClassVar[str] = "kan"
    converged: ClassVar[bool] = True

    @property
    def n_classes(self) -> int:
        """J."""
        return len(self.bias)

    @property
    def link(self) -> Link:
        """Function that turns scores into probabilities."""
        return "sigmoid" if self.multi_label else "softmax"

    def decision(self, X: Features) -> FloatArray:
        """Return the scores (D, J) float64. Raises InputError for features that do not fit, MissingError without torch."""
        rows = _scaled(checked_features(X, len(self.mean)), self.mean, self.scale)
        sizes = (len(self.mean), len(self.base_1), self.n_classes)
        parts = {path: getattr(self, name) for name, path in PATHS.items()}
        return run_network(lambda: _new_network(*sizes), parts, rows, n_classes=self.n_classes, block=BLOCK_ROWS)

    def probabilities(self, X: Features) -> FloatArray:
        """Return the softmax of a row's scores, or the sigmoid of each if multi-label, (D, J) float64."""
        return by_link(self.decision(X), self.link)

    def config(self) -> dict[str, Any]:
        """Return kind, sizes and flags."""
        return {
            "kind": self.kind, "n_features": len(self.mean), "n_classes": self.n_classes, "hidden": len(self.base_1),
            "multi_label": self.multi_label, "converged": True,
        }  # fmt: skip

    def arrays(self) -> dict[str, Array]:
        """Return the arrays by name."""
        return {name: getattr(self, name) for name in NAMES}

    @classmethod
    def restored(cls, config: Mapping[str, Any], arrays: Mapping[str, Array]) -> KanModel:
        """Return the model of `config` and `arrays`. Raises KeyError, SchemaError."""
        parts = [np.ascontiguousarray(arrays[name], np.float32) for name in NAMES]
        E, H, J = config["n_features"], config["hidden"], config["n_classes"]
        n = INTERVALS + 3
        if [part.shape for part in parts] != [(E,), (E,), (H, E), (H, E * n), (J, H), (J, H * n), (J,)]:
            raise SchemaError(f"the weights of a kan model do not fit {E} features, {H} hidden nodes and {J} classes")
        m, s, b_1, c_1, b_2, c_2, bias = parts
        return cls(m, s, b_1, c_1, b_2, c_2, bias, bool(config["multi_label"]))


def fit_kan(
    X: Features,
    target: IntArray | BoolArray | FloatArray,
    n_classes: int,
    *,
    hidden: int,
    weights: FloatArray | None = None,
    seed: int,
) -> KanModel:
    """Return a network of E → H → J: the least cross-entropy that Adam finds in 25 passes, on one thread.

    Args:
        X: (D, E) array or CSR. target: see `train_network`.
        hidden: H. weights: (D,) of the documents. seed: of the first weights and the order of the documents.

    Raises:
        MissingError: the extra `neural` is not installed.
    """
    features = checked_features(X)
    mean, scale = _scaling(features)
    rows, multi_label = _scaled(features, mean, scale), target.dtype == np.bool_
    sizes = (rows.shape[1], hidden, n_classes)
    learned = train_network(lambda: _new_network(*sizes), rows, target, PASSES, weights=weights, seed=seed)
    b_1, c_1, b_2, c_2, bias = (learned[path] for path in PATHS.values())
    return KanModel(mean, scale, b_1, c_1, b_2, c_2, bias, multi_label)


def _new_network(E: int, H: int, J: int) -> Any:

    return KAN((E, H, J), intervals=INTERVALS, reach=REACH)


def _scaling(X: Features) -> tuple[Float32Array, Float32Array]:
    """Return the mean of each feature, and 1 / its standard deviation, 0 where it never varies."""
    X = X.astype(np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel()
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    deviation = np.sqrt(np.maximum(np.asarray(squares.mean(axis=0)).ravel() - mean**2, 0.0))
    varies = deviation > 1e-6 * np.maximum(np.abs(mean), 1e-6)
    return mean.astype(np.float32), np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0).astype(np.float32)


def _scaled(X: Features, mean: Float32Array, scale: Float32Array) -> Float32Array:
    rows = X.toarray() if sparse.issparse(X) else X
    return np.ascontiguousarray((rows.astype(np.float32) - mean) * scale)


def fit_label_kan(
    X: Features, Y: BoolArray, varies: BoolArray, fixed: FloatArray, *, hidden: int, seed: int
) -> KanModel:
    """Return a network of labels Y (D, J); a label that does not vary has its fixed score whatever the document."""
    rows, some = labels_that_vary(X, Y, varies)
    model = fit_kan(rows, some, some.shape[1], hidden=hidden, seed=seed)
    base, spline = (widened(values, varies) for values in (model.base_2, model.spline_2))
    return replace(model, base_2=base, spline_2=spline, bias=widened(model.bias, varies, fixed))

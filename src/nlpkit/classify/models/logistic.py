"""Linear models of labels: logistic regression, its form for ordered classes, and ridge regression for numbers.

In logistic regression the scores of J classes are only known up to a constant, and at the optimum of a penalised model the
weights of a term sum to 0 over the classes. So J - 1 columns are fitted, in the orthonormal coordinates of
`kernels.logistic.spread`: as many sums less.

Parts, in this order:
- Logistic regression by Newton's method: conjugate gradients on centred features, two threaded sparse products a step.
- Classes in an order: one logistic regression for each place between two of them.
- Ridge regression: a number of each document as a weighted sum of its features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.classify.models import kernels as kernel
from nlpkit.classify.models.linear import Array, Features, LinearModel, Link, checked_features, two_sided
from nlpkit.platform.types import BoolArray, FloatArray, IntArray

TOLERANCE = 1e-9  # of the objective: how far above the optimum it may be, as its curvature has it
MOST_STEPS = 100  # Newton steps
MOST_INNER = 500  # conjugate gradient steps in one of them
FLOOR = 0.05  # of a term's curvature that centring leaves at least, in the preconditioner
SMALL = 200_000  # entries below which threads cost more than they save

Run: TypeAlias = Callable[..., None]


def fit_logistic(
    X: Features,
    y: IntArray | FloatArray,
    n_classes: int,
    *,
    C: float = 1.0,
    weights: FloatArray | None = None,
    tolerance: float = TOLERANCE,
    max_steps: int = MOST_STEPS,
    threads: int = 1,
) -> LinearModel:
    """Return the logistic regression with the least C · Σ_d s_d · -log P(y_d | x_d) + ½ Σ w², as a linear model.

    P(c | x) is the softmax of x·w_c + b_c; for two classes the sigmoid of x·w + b with one vector w, whose penalty is that of the
    half differences -w/2, +w/2 that the model keeps. The intercept has no penalty. scikit-learn's LogisticRegression(C=C) has
    the same objective and optimum; its default tolerance stops farther from it.

    Newton's method with a line search (Nocedal & Wright 2006, Algorithm 7.1; Galli & Lin 2021); each step solves H δ = -g by
    conjugate gradients, preconditioned by the diagonal of H, to a residual that falls with the gradient. Features are centred at
    their means without being changed (the intercept takes the difference), which halves the steps on texts. It ends when
    ½ gᵀ diag(H)⁻¹ g, an estimate of how much the objective can still fall, is below `tolerance` times the objective, or when
    rounding lets it fall no more.

    Args:
        X: (D, V) CSR, or (D, E) array; computed in float64.
        y: (D,) 0 … J-1, each in at least one document; or shares of the classes, see `fit_soft_logistic`.
        n_classes: J, at least 2.
        C: inverse strength of the penalty, above 0.
        weights: s (D,) of the documents; None = 1 each.
        tolerance: see above.
        max_steps: of Newton; the model says whether it converged.
        threads: at work at a time; bytes do not depend on it.
    """
    if y.ndim == 2:
        return fit_soft_logistic(
            X, np.asarray(y, np.float64), C=C, weights=weights, max_steps=max_steps, threads=threads
        )
    features = checked_features(X)
    s = np.ones(len(y)) if weights is None else np.ascontiguousarray(weights, np.float64)
    penalty = (2.0 if n_classes == 2 else 1.0) / C
    with threadpool_limits(1, user_api="blas"), _products(features, threads) as products:
        loss = _Loss(products.run, np.ascontiguousarray(y, np.int64), s, n_classes)
        solution, converged = _newton(products, loss, penalty, tolerance, max_steps)
    solution[-1] -= products.mean @ solution[:-1]
    rows = np.empty((len(solution), n_classes))
    kernel.spread_rows(solution, rows)
    if n_classes == 2:
        return two_sided("logreg", rows[:-1, 1] * 2, float(rows[-1, 1] * 2), "softmax", converged=converged)
    return LinearModel("logreg", np.ascontiguousarray(rows[:-1]), rows[-1].copy(), "softmax", converged=converged)


def fit_soft_logistic(
    X: Features,
    Q: FloatArray,
    *,
    C: float = 1.0,
    weights: FloatArray | None = None,
    max_steps: int = MOST_STEPS,
    threads: int = 1,
) -> LinearModel:
    """Return the logistic regression with the least C · Σ_d s_d · -Σ_c q_dc log P(c | x_d) + ½ Σ w²: soft labels as targets.

    A document counts once for each label that it has a share of, with that share as its weight. Where every document has one label, it is
    `fit_logistic` of these labels, to the byte (Peterson et al. 2019 train on the labels of several people so).

    Args:
        X: as in `fit_logistic`. Q: (D, J) shares, at least two columns, each with a share of some document.
        weights: s (D,) of the documents; None = 1 each.
        C, max_steps, threads: as in `fit_logistic`.
    """
    rows, y = np.nonzero(Q)
    s = Q[rows, y] if weights is None else Q[rows, y] * weights[rows]
    return fit_logistic(
        checked_features(X)[rows], y.astype(np.int32), Q.shape[1], C=C, weights=s, max_steps=max_steps, threads=threads
    )


def fit_label_logistic(
    X: Features,
    Y: BoolArray,
    *,
    C: float = 1.0,
    weights: FloatArray | None = None,
    max_steps: int = MOST_STEPS,
    threads: int = 1,
) -> LinearModel:
    """Return logistic regressions of each label against the documents without it; scores (D, J) are log-odds.

    Args:
        X: as in `fit_logistic`. Y: (D, J) bool, every label on some, not all documents.
        weights: s (D, J); None = 1 each.
        C, max_steps, threads: as in `fit_logistic`; labels are fitted beside each other.
    """
    features = checked_features(X)
    J = Y.shape[1]

    def one(j: int) -> LinearModel:
        s = None if weights is None else weights[:, j]
        return fit_logistic(features, Y[:, j].astype(np.int32), 2, C=C, weights=s, max_steps=max_steps)

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(max(threads, 1), "nlpkit") as pool:
        models = list(pool.map(one, range(J)))
    coef = np.stack([m.coef[:, 1] - m.coef[:, 0] for m in models], axis=1)
    intercept = np.array([m.intercept[1] - m.intercept[0] for m in models])
    return LinearModel(
        "logreg", coef, intercept, "sigmoid", multi_label=True, converged=all(m.converged for m in models)
    )


def _newton(
    products: _Products, loss: _Loss, penalty: float, tolerance: float, max_steps: int
) -> tuple[FloatArray, bool]:
    """Return the weights (V+1, J-1), intercept last, and whether they are the optimum."""
    U = np.zeros((len(products.mean) + 1, loss.J - 1))
    scores = np.zeros((len(loss.y), loss.J - 1))
    value = loss.value(scores)
    start = 0.0
    for step in range(max_steps + 1):
        gradient = products.backward(loss.gradient())
        gradient[:-1] += penalty * U[:-1]
        scale = products.diagonal(loss.diagonal())
        scale[:-1] += penalty
        np.maximum(scale, np.finfo(np.float64).tiny, out=scale)
        left = _dot(gradient, gradient / scale)
        start = start or left
        if left <= 2 * tolerance * value:
            return U, True
        if step == max_steps:
            break
        target = max(min(0.25, left / start), tolerance * value / (2 * left))
        move, reach = _solve(products, loss, penalty, gradient, scale, target)
        slope, t = _dot(gradient, move), 1.0
        while True:
            new_U, new_scores = U + t * move, scores + t * reach
            new_value = loss.value(new_scores) + 0.5 * penalty * _dot(new_U[:-1], new_U[:-1])
            if new_value <= value + 1e-4 * t * slope:
                break
            t /= 2
            if not -t * slope >= 1e-15 * value:  # rounding: it falls no more; or numbers beyond float64
                return U, bool(np.isfinite(slope))
        U, scores, value = new_U, new_scores, new_value
    return U, False


def _solve(
    products: _Products, loss: _Loss, penalty: float, gradient: FloatArray, scale: FloatArray, target: float
) -> tuple[FloatArray, FloatArray]:
    """Return δ with H δ ≈ -g (V+1, J-1) and its scores (D, J-1): conjugate gradients until r' diag(H)⁻¹ r falls to target."""
    move, reach = np.zeros_like(gradient), np.zeros((len(loss.y), loss.J - 1))
    r = -gradient
    z = r / scale
    p, size = z.copy(), _dot(r, z)
    end = size * target
    for _ in range(MOST_INNER):
        Xp = products.forward(p)
        Hp = products.backward(loss.curvature(Xp))
        Hp[:-1] += penalty * p[:-1]
        bend = _dot(p, Hp)
        if bend <= 0:  # rounding
            break
        a = size / bend
        move += a * p
        reach += a * Xp
        r -= a * Hp
        z = r / scale
        before, size = size, _dot(r, z)
        if size <= end:
            break
        p *= size / before
        p += z
    return move, reach


def _dot(a: FloatArray, b: FloatArray) -> float:
    return float(np.vdot(a, b))


class _Loss:
    """The losses of D documents at their scores, and their derivatives by these; rows are dealt to threads by `run`."""

    def __init__(self, run: Run, y: Any, weights: FloatArray, n_classes: int) -> None:
        self.run, self.y, self.weights, self.J = run, y, weights, n_classes
        D = len(y)
        self.p, self.room = np.empty((D, n_classes)), np.empty((D, n_classes))
        self.losses, self.out = np.empty(D), np.empty((D, n_classes - 1))

    def value(self, scores: FloatArray) -> float:
        """Return Σ s_d · -log p_d[y_d], and keep p at these scores (D, J-1)."""
        self.run(kernel.losses, scores, self.y, self.losses, self.p)
        return float((self.weights * self.losses).sum())

    def gradient(self) -> FloatArray:
        """Return the gradient (D, J-1) by the scores; the array is used again."""
        self.run(kernel.residuals, self.p, self.y, self.weights, self.out)
        return self.out

    def curvature(self, steps: FloatArray) -> FloatArray:
        """Return the Hessian by the scores times steps, (D, J-1); the array is used again."""
        self.run(kernel.curvatures, self.p, self.weights, steps, self.room, self.out)
        return self.out

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the Hessian (D, J-1); the array is used again."""
        self.run(kernel.diagonals, self.p, self.weights, self.out)
        return self.out


class _Products(Protocol):
    """Products with the centred features and a last column of ones, (D, V+1); mean: (V,) of the features.

    run: calls a kernel over ranges of the documents.
    """

    mean: FloatArray
    run: Run

    def forward(self, U: FloatArray) -> FloatArray:
        """Return (X - mean, 1) · U, (D, K)."""
        ...

    def backward(self, R: FloatArray) -> FloatArray:
        """Return (X - mean, 1)ᵀ · R, (V+1, K)."""
        ...

    def diagonal(self, h: FloatArray) -> FloatArray:
        """Return Σ_d h_d (x_d - mean)², (V+1, K), as if means were the same under h; at least FLOOR of Σ h x²."""
        ...


@contextmanager
def _products(X: Features, threads: int) -> Iterator[_Products]:
    size = X.nnz if sparse.issparse(X) else X.size
    if size < SMALL or threads <= 1:
        yield _make(X, None, 1)
        return
    with ThreadPoolExecutor(threads, "nlpkit") as pool:
        yield _make(X, pool, threads)


def _make(X: Features, pool: ThreadPoolExecutor | None, threads: int) -> _Products:
    return _Sparse(X, pool, threads) if sparse.issparse(X) else _Dense(X, pool, threads)


@dataclass(frozen=True)
class _Split:
    """Calls a kernel(…, begin, end) over all rows, in ranges that threads work on at the same time."""

    pool: ThreadPoolExecutor | None
    cuts: list[int]

    def __call__(self, function: Callable[..., None], *arrays: Any) -> None:
        if self.pool is None:
            function(*arrays, 0, self.cuts[-1])
            return
        for done in [self.pool.submit(function, *arrays, a, b) for a, b in zip(self.cuts, self.cuts[1:], strict=False)]:
            done.result()


def _split(pool: ThreadPoolExecutor | None, ends: Any, parts: int) -> _Split:
    """Return ranges of the rows that hold about as many entries each; ends (N+1,): entries before each row."""
    inner = np.searchsorted(ends, np.linspace(0, ends[-1], parts + 1)[1:-1])
    return _Split(pool, [0, *(int(cut) for cut in inner), len(ends) - 1])


class _Sparse:
    """Products of a CSR matrix by its rows, and by the rows of its transpose, which is a copy."""

    def __init__(self, X: Any, pool: ThreadPoolExecutor | None, threads: int) -> None:
        rows = sparse.csr_array(X, dtype=np.float64)
        columns = rows.tocsc()
        D, self.V = rows.shape
        self.rows = (rows.indptr, rows.indices, rows.data)
        self.columns = (columns.indptr, columns.indices, columns.data)
        self.by_row, self.by_column = _split(pool, rows.indptr, threads), _split(pool, columns.indptr, threads)
        self.run: Run = _split(pool, np.arange(D + 1), threads)
        sums = np.empty((self.V, 1))
        self.by_column(kernel.times, *self.columns, np.ones((D, 1)), sums)
        self.mean: FloatArray = sums[:, 0] / max(D, 1)

    def forward(self, U: FloatArray) -> FloatArray:
        out = np.empty((len(self.rows[0]) - 1, U.shape[1]))
        self.by_row(kernel.times, *self.rows, U, out)
        out += U[-1] - self.mean @ U[:-1]
        return out

    def backward(self, R: FloatArray) -> FloatArray:
        out = np.empty((self.V + 1, R.shape[1]))
        self.by_column(kernel.times, *self.columns, R, out)
        out[-1] = R.sum(axis=0)
        out[:-1] -= self.mean[:, None] * out[-1]
        return out

    def diagonal(self, h: FloatArray) -> FloatArray:
        out = np.empty((self.V + 1, h.shape[1]))
        self.by_column(kernel.squares_times, *self.columns, h, out)
        out[-1] = h.sum(axis=0)
        return _centred(out, self.mean)


class _Dense:
    """Products of an array, in float64 and by a BLAS that is held to one thread."""

    def __init__(self, X: Any, pool: ThreadPoolExecutor | None, threads: int) -> None:
        self.X = np.ascontiguousarray(X, np.float64)
        self.mean: FloatArray = self.X.mean(axis=0)
        self.run: Run = _split(pool, np.arange(len(X) + 1), threads)

    def forward(self, U: FloatArray) -> FloatArray:
        out: FloatArray = self.X @ U[:-1]
        out += U[-1] - self.mean @ U[:-1]
        return out

    def backward(self, R: FloatArray) -> FloatArray:
        total = R.sum(axis=0)
        return np.concatenate((self.X.T @ R - self.mean[:, None] * total, total[None]))

    def diagonal(self, h: FloatArray) -> FloatArray:
        return _centred(np.concatenate(((self.X**2).T @ h, h.sum(axis=0)[None])), self.mean)


def _centred(squares: FloatArray, mean: FloatArray) -> FloatArray:
    squares[:-1] = np.maximum(squares[:-1] - mean[:, None] ** 2 * squares[-1], FLOOR * squares[:-1])
    return squares


# ------------------------------------------------------------------------------------------------------------------------
# Classes in an order: one logistic regression for each place between two of them.

LEAST = 1e-12  # probability of a class whose logarithm is taken


@dataclass(frozen=True, slots=True)
class OrdinalModel:
    """Probabilities of J ordered classes by the J - 1 places between them (Frank & Hall 2001, "A simple approach to ordinal
    classification", §2).

        G_k = P(y > k | x) = σ(x·w_k + b_k),  k = 0 … J-2;   P(0) = 1 - G_0,  P(k) = G_{k-1} - G_k,  P(J-1) = G_{J-2}

    The regressions know nothing of each other, so G may rise where it must not; G_k is then lowered to G_{k-1}. above: the
    log-odds of G, a linear model of J - 1 labels.
    """

    above: LinearModel
    kind: ClassVar[str] = "ordinal"
    link: ClassVar[Link] = "softmax"
    multi_label: ClassVar[bool] = False

    @property
    def n_classes(self) -> int:
        """J."""
        return self.above.n_classes + 1

    @property
    def converged(self) -> bool:
        """Whether all regressions converged."""
        return self.above.converged

    @property
    def direction(self) -> FloatArray:
        """How much a unit of each feature (V,) moves a document up: the mean of w_k over k."""
        mean: FloatArray = self.above.coef.mean(axis=1)
        return mean

    def probabilities(self, X: Features) -> FloatArray:
        """Return the probability (D, J) of each class."""
        above = self.above.probabilities(X)
        assert above is not None
        return class_probabilities(above)

    def decision(self, X: Features) -> FloatArray:
        """Return the log-probability (D, J) of each class."""
        return np.log(np.maximum(self.probabilities(X), LEAST))

    def config(self) -> dict[str, Any]:
        """Return kind, n_features, n_classes and converged."""
        whole = {"kind": self.kind, "n_classes": self.n_classes, "multi_label": False, "link": self.link}
        return whole | {"n_features": len(self.above.coef), "converged": self.converged}

    def arrays(self) -> dict[str, Array]:
        """Return coef (V, J-1) and intercept (J-1,)."""
        return self.above.arrays()

    @classmethod
    def restored(cls, config: Mapping[str, Any], arrays: Mapping[str, Array]) -> OrdinalModel:
        """Return the model of `config` and `arrays`. Raises KeyError, SchemaError."""
        flags = {"link": "sigmoid", "presence": False, "unit_rows": False, "multi_label": True}
        return cls(LinearModel.restored({**config, **flags, "n_classes": config["n_classes"] - 1}, arrays))


def fit_ordinal(
    X: Features,
    y: IntArray,
    n_classes: int,
    *,
    C: float = 1.0,
    weights: FloatArray | None = None,
    max_steps: int,
    threads: int = 1,
) -> OrdinalModel:
    """Return the model of ordered classes whose regressions each have all documents, those above k against the others.

    Args:
        X: (D, V) CSR, or (D, E) array. y: (D,) 0 … J-1, the lowest first, each in at least one document. n_classes: J, at least 2.
        C, max_steps: of the regressions (see `logistic.fit_logistic`). weights: (D,) of the documents; None = 1 each.
        threads: at work at a time; bytes do not depend on them.
    """
    above = y[:, None] > np.arange(n_classes - 1)
    of_places = None if weights is None else np.repeat(weights[:, None], n_classes - 1, axis=1)
    return OrdinalModel(fit_label_logistic(X, above, C=C, weights=of_places, max_steps=max_steps, threads=threads))


def class_probabilities(above: FloatArray) -> FloatArray:
    """Return the probabilities (D, J) of ordered classes from G (D, J-1), P(y > k), which is lowered where it rises."""
    falling = np.minimum.accumulate(above, axis=1)
    ends = np.ones((len(above), 1)), np.zeros((len(above), 1))
    p: FloatArray = -np.diff(np.hstack([ends[0], falling, ends[1]]), axis=1)
    return p


def median_class(probabilities: FloatArray) -> IntArray:
    """Return the median class (D,) of each row of (D, J): the first up to which the probability is ½, which errs by the fewest
    classes on average."""
    below = np.cumsum(probabilities, axis=1)[:, :-1] < 0.5 - 1e-12
    return np.asarray(below.sum(axis=1), np.int32)


# ------------------------------------------------------------------------------------------------------------------------
# Ridge regression: a number of each document as a weighted sum of its features.

RIDGE_TOLERANCE = 1e-10  # of the residual of the normal equations, against their right side
RIDGE_MOST_STEPS = 2000


def fit_ridge(X: Features, y: FloatArray, *, C: float = 1.0, max_steps: int = RIDGE_MOST_STEPS) -> LinearModel:
    """Return the ridge regression with the least Σ_d (y_d - x_d·w - b)² + |w|² / C, as a linear model of one score.

        (X̃ᵀX̃ + I / C) w = X̃ᵀ(y - ȳ),   b = ȳ - x̄·w,   X̃ = X - 1x̄ᵀ

    by conjugate gradients preconditioned by the diagonal (Hoerl & Kennard 1970; Golub & Van Loan 2013, §11.5.2); X̃ is never made, so
    a sparse X stays sparse. The intercept has no penalty, so the scale and the mean of y change nothing else. scikit-learn's
    Ridge(alpha=1 / C) has the same solution.

    Args:
        X: (D, V) CSR, or (D, E) array; computed in float64. y: (D,) finite.
        C: inverse strength of the penalty, above 0.
        max_steps: of the conjugate gradients; the model says whether they converged.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    features: Any = checked_features(X).astype(np.float64)
    turned: Any = features.T
    if sparse.issparse(features):
        turned, squares = turned.tocsr(), features.multiply(features).sum(axis=0)
    else:
        squares = np.einsum("dv,dv->v", features, features)
    D, V = features.shape
    y = np.asarray(y, np.float64)
    with threadpool_limits(1, user_api="blas"):  # sums of several threads would depend on them
        mean = np.asarray(features.sum(axis=0), np.float64).ravel() / D
        diagonal = np.maximum(np.asarray(squares).ravel() - D * mean**2, 0.0) + 1.0 / C

        def centred_back(u: FloatArray) -> FloatArray:
            back: FloatArray = turned @ u - mean * u.sum()
            return back

        def normal(w: FloatArray) -> FloatArray:
            return centred_back(features @ w - mean @ w) + w / C

        right = centred_back(y - y.mean())
        operator = LinearOperator((V, V), matvec=normal, dtype=np.float64)
        inverse = LinearOperator((V, V), matvec=lambda r: r / diagonal, dtype=np.float64)
        weights, steps_left = cg(operator, right, rtol=RIDGE_TOLERANCE, maxiter=max_steps, M=inverse)
        intercept = float(y.mean() - mean @ weights)
    return LinearModel("ridge", weights[:, None], np.array([intercept]), "identity", converged=steps_left == 0)

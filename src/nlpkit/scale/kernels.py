"""Newton's method for Poisson regressions on one variable, one for each word or each document of Wordfish."""

from __future__ import annotations

import numpy as np

from nlpkit.platform.kernels import njit


@njit(nogil=True)
def _objective(y, yx, offsets, x, a, b, precision):  # type: ignore[no-untyped-def]
    """Return Σ_i y_i log λ_i - λ_i without what a and b do not change, and Σλ, Σλx, Σλx²; λ_i = exp(offset_i + a + b x_i)."""
    s0 = s1 = s2 = 0.0
    for i in range(len(x)):
        rate = np.exp(offsets[i] + a + b * x[i])
        s0 += rate
        s1 += rate * x[i]
        s2 += rate * x[i] * x[i]
    return y * a + yx * b - s0 - 0.5 * precision * b * b, s0, s1, s2


@njit(nogil=True)
def fit_regressions(y, yx, offsets, x, a, b, precision, begin, end, steps, tolerance):  # type: ignore[no-untyped-def]
    """Maximise for each unit j = begin … end - 1 over a_j and b_j: Σ_i y_ij log λ_ij - λ_ij - precision b_j² / 2, in place.

    λ_ij = exp(offset_i + a_j + b_j x_i). y (J,) is Σ_i y_ij above 0, yx (J,) is Σ_i y_ij x_i; offsets and x (I,), a and b (J,) where it
    begins. A step of Newton is halved until it does not lower the objective, which is concave. At most so many steps are made, until
    none changes a or b by more than the tolerance.
    """
    for j in range(begin, end):
        value, s0, s1, s2 = _objective(y[j], yx[j], offsets, x, a[j], b[j], precision)
        for _ in range(steps):
            g0, g1 = y[j] - s0, yx[j] - s1 - precision * b[j]
            h2 = s2 + precision
            determinant = s0 * h2 - s1 * s1
            if not determinant > 0.0:
                break
            step_a, step_b = (h2 * g0 - s1 * g1) / determinant, (s0 * g1 - s1 * g0) / determinant
            size = 1.0
            for _ in range(40):
                new_a, new_b = a[j] + size * step_a, b[j] + size * step_b
                tried, t0, t1, t2 = _objective(y[j], yx[j], offsets, x, new_a, new_b, precision)
                if tried >= value - 1e-12 * (1.0 + abs(value)):  # NaN and infinity are not
                    break
                size *= 0.5
            else:
                break
            a[j], b[j], value, s0, s1, s2 = new_a, new_b, tried, t0, t1, t2
            if abs(size * step_a) < tolerance and abs(size * step_b) < tolerance:
                break

"""The recurrence of a selective state space over time, and its gradients (Gu & Dao 2023, algorithm 2).

h_t = a_t ⊙ h_{t−1} + B_t x_tᵀ,  y_t = C_t h_t, with a, h (B, T, N, E), x = Δ ⊙ u (B, T, E), B and C (B, T, N) and a_t = exp(Δ_t A).
Texts are independent, and every sum over them goes in their order.
"""

from __future__ import annotations

from nlpkit.platform.kernels import njit


@njit(nogil=True)
def forward(a, x, B, C, h, y):  # type: ignore[no-untyped-def]
    """Fill h (B, T, N, E) and add to y (B, T, E)."""
    for b in range(len(x)):
        for t in range(x.shape[1]):
            for n in range(B.shape[2]):
                B_n, C_n = B[b, t, n], C[b, t, n]
                for e in range(x.shape[2]):
                    h_e = B_n * x[b, t, e]
                    if t > 0:
                        h_e += a[b, t, n, e] * h[b, t - 1, n, e]
                    h[b, t, n, e] = h_e
                    y[b, t, e] += C_n * h_e


@njit(nogil=True)
def backward(g, a, h, delta, x, A, B, C, by_h, by_delta, by_x, by_A, by_B, by_C):  # type: ignore[no-untyped-def]
    """Add to by_delta and by_x (B, T, E) and by_A (N, E), and fill by_B and by_C (B, T, N), from g = ∂y (B, T, E).

    λ_t = C_t g_tᵀ + a_{t+1} ⊙ λ_{t+1} is the gradient by h_t; by_h (N, E) has room for the second summand.
    """
    for b in range(len(x)):
        by_h[:] = 0
        for t in range(x.shape[1] - 1, -1, -1):
            for n in range(B.shape[2]):
                B_n, C_n = B[b, t, n], C[b, t, n]
                sum_B, sum_C = by_B[b, t, n], by_C[b, t, n]
                for e in range(x.shape[2]):
                    lam = by_h[n, e] + C_n * g[b, t, e]
                    sum_C += g[b, t, e] * h[b, t, n, e]
                    sum_B += lam * x[b, t, e]
                    by_x[b, t, e] += lam * B_n
                    by_h[n, e] = lam * a[b, t, n, e]
                by_B[b, t, n], by_C[b, t, n] = sum_B, sum_C
                if t > 0:
                    for e in range(x.shape[2]):
                        by_step = by_h[n, e] * h[b, t - 1, n, e]
                        by_delta[b, t, e] += by_step * A[n, e]
                        by_A[n, e] += by_step * delta[b, t, e]

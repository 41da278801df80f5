"""Identities of state spaces: recurrence, convolution and scan are one; the signs of HiPPO; zero-order hold by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

torch = pytest.importorskip("torch")

from nlpkit.lab.architectures.s4 import S4, by_scan, convolution, hippo_legs, kernel, recurrent, zero_order_hold  # noqa: E402
from nlpkit.lab.architectures.state_space import causal_convolution, matrix_scan, scan, selective_scan  # noqa: E402


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_hippo_by_hand() -> None:
    """N = 3: the diagonal is −1, −2, −3, below it stand −√((2n+1)(2k+1)); the state fades."""
    A, B = hippo_legs(3)
    root = np.sqrt([1, 3, 5])
    by_hand = [[-1, 0, 0], [-root[1] * root[0], -2, 0], [-root[2] * root[0], -root[2] * root[1], -3]]
    np.testing.assert_allclose(A, by_hand)
    np.testing.assert_allclose(B, root)
    assert sorted(np.linalg.eigvals(hippo_legs(16)[0].numpy()).real) == pytest.approx(range(-16, 0))


def test_zero_order_hold_of_one_dimension_and_of_matrices() -> None:
    """x' = −x + u held for Δ: Ā = e^−Δ, B̄ = 1 − e^−Δ; of matrices the integral ∫₀^Δ exp(sA) ds B."""
    A_bar, B_bar = zero_order_hold(*hippo_legs(1), torch.tensor([0.5], dtype=torch.float64))
    assert A_bar.item() == pytest.approx(np.exp(-0.5))
    assert B_bar.item() == pytest.approx(1 - np.exp(-0.5))
    A, B = hippo_legs(4)
    A_bar, B_bar = zero_order_hold(A, B, torch.tensor([0.1, 0.3], dtype=torch.float64))
    for h, delta in enumerate((0.1, 0.3)):
        whole = scipy.linalg.expm(np.block([[A.numpy() * delta, B.numpy()[:, None] * delta], [np.zeros((1, 5))]]))
        np.testing.assert_allclose(A_bar[h], whole[:4, :4], atol=1e-12)
        np.testing.assert_allclose(B_bar[h], whole[:4, 4], atol=1e-12)


@pytest.mark.parametrize(("T", "N", "H"), [(1, 1, 1), (2, 4, 3), (17, 8, 2), (64, 16, 3), (100, 32, 2)])
def test_recurrent_convolutional_and_scan_are_one(T: int, N: int, H: int) -> None:
    A, B = (x.float() for x in hippo_legs(N))
    A_bar, B_bar = zero_order_hold(A, B, torch.linspace(0.001, 0.1, H))
    C, u = drawn(H, N).float(), drawn(2, T, H, seed=1).float()
    by_steps = recurrent(A_bar, B_bar, C, u)
    scale = max(1.0, float(by_steps.abs().max()))
    for other in (convolution(kernel(A_bar, B_bar, C, T), u), by_scan(A_bar, B_bar, C, u)):
        assert other.shape == (2, T, H)
        assert float((other - by_steps).abs().max()) / scale < 1e-5


def test_the_layer_adds_the_input_and_sees_no_future() -> None:
    layer = S4(3, 8)
    with torch.no_grad():
        layer.reset()
        u = drawn(1, 20, 3).float()
        changed = u.clone()
        changed[:, 12:] += 1
        y, z = layer(u), layer(changed)
        A_bar, B_bar = zero_order_hold(layer.A, layer.B, layer.log_delta.exp())
        torch.testing.assert_close(y, recurrent(A_bar, B_bar, layer.C, u) + layer.D * u, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(y[:, :12], z[:, :12], atol=1e-5, rtol=1e-5)
    assert float((y[:, 12:] - z[:, 12:]).abs().min()) > 0


@pytest.mark.parametrize("T", [1, 2, 3, 5, 8, 13, 64])
def test_the_associative_scan_is_the_loop_and_so_are_the_gradients(T: int) -> None:
    a, b = (drawn(2, T, 3, seed=s).sigmoid().requires_grad_() for s in (1, 2))
    h, states = torch.zeros(2, 3, dtype=torch.float64), []
    for t in range(T):
        h = a[:, t] * h + b[:, t]
        states.append(h)
    loop, weights = torch.stack(states, 1), drawn(2, T, 3, seed=3)
    expected = torch.autograd.grad((loop * weights).sum(), (a, b), allow_unused=True)
    found = scan(a, b)
    torch.testing.assert_close(found, loop)
    for gradient, other in zip(
        torch.autograd.grad((found * weights).sum(), (a, b), allow_unused=True), expected, strict=True
    ):
        torch.testing.assert_close(
            torch.zeros_like(a) if gradient is None else gradient, torch.zeros_like(a) if other is None else other
        )


@pytest.mark.parametrize("T", [1, 2, 7, 32])
def test_the_scan_of_one_matrix_is_the_loop(T: int) -> None:
    A, b = drawn(4, 4) / 4, drawn(2, T, 4, seed=1)
    h, states = torch.zeros(2, 4, dtype=torch.float64), []
    for t in range(T):
        h = h @ A.T + b[:, t]
        states.append(h)
    torch.testing.assert_close(matrix_scan(A, b), torch.stack(states, 1))


@pytest.mark.parametrize("T", [1, 2, 9])
def test_the_selective_scan_and_its_gradients_by_the_letters_of_the_paper(T: int) -> None:
    B_, E, N = 2, 3, 4
    u, delta = drawn(B_, T, E).float(), drawn(B_, T, E, seed=1).float().exp()
    A, D = -drawn(E, N, seed=2).float().exp(), drawn(E, seed=3).float()
    B, C = drawn(B_, T, 2 * N, seed=4).float()[..., :N], drawn(B_, T, N, seed=5).float()  # B has gaps
    letters = [x.requires_grad_() for x in (u, delta, A, B, C, D)]
    h, ys = torch.zeros(B_, E, N), []
    for t in range(T):
        h = torch.exp(delta[:, t, :, None] * A) * h + delta[:, t, :, None] * B[:, t, None, :] * u[:, t, :, None]
        ys.append((h * C[:, t, None, :]).sum(-1) + D * u[:, t])
    weights = drawn(B_, T, E, seed=6).float()
    both = [
        (y, *torch.autograd.grad((y * weights).sum(), letters)) for y in (torch.stack(ys, 1), selective_scan(*letters))
    ]
    torch.testing.assert_close(both[1], both[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("T", [1, 7])
@pytest.mark.parametrize("bias", [False, True])
def test_the_convolution_of_the_past_is_that_of_torch(T: int, bias: bool) -> None:
    conv = torch.nn.Conv1d(3, 3, 4, groups=3, padding=3, bias=bias).double()
    u = drawn(2, T, 3).requires_grad_()
    letters, weights = (u, *conv.parameters()), drawn(2, T, 3, seed=1)
    theirs, ours = conv(u.transpose(1, 2))[..., :T].transpose(1, 2), causal_convolution(u, conv.weight, conv.bias)
    both = [(y, *torch.autograd.grad((y * weights).sum(), letters)) for y in (theirs, ours)]
    torch.testing.assert_close(both[1], both[0])

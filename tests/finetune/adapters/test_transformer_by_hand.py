"""The lecture's transformer step by step, to the digits it prints, through the attention that prefixes go into.

Sentence: when you play game of thrones; d = 6, d_k = d_v = 4, one head. Every step starts from the printed inputs of
that step, which are rounded: a tolerance is half a unit of the last printed digit plus what rounded inputs can add.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.models.bert.modeling_bert import eager_attention_forward

from nlpkit.finetune.adapters.prefix import PrefixStates, prefix_attention


def _matrix(text: str) -> Tensor:
    return torch.tensor([[float(number) for number in row.split()] for row in text.strip().splitlines()])


# fmt: off
EMBEDDED = _matrix("""
 0.79  0.60  0.96  0.64  0.97  0.20
 0.38 -0.37  0.01 -0.21  0.90 -0.26
 0.01  1.93  0.18  0.31  0.56  0.59
 0.12  1.73  0.52 -0.77  0.06 -0.63
 0.88  1.24  0.62 -0.36  0.49 -0.30
 0.60  1.02  0.53  0.51  0.93  0.21""")
POSITIONS = _matrix("""
 0.0000  1.0000 0.0000 1.0000 0.0000 1.0000
 0.8415  0.5403 0.0464 0.9989 0.0022 1.0000
 0.9093 -0.4161 0.0927 0.9957 0.0043 1.0000
 0.1411 -0.9900 0.1388 0.9903 0.0065 1.0000
-0.7568 -0.6536 0.1846 0.9828 0.0086 1.0000
-0.9589  0.2837 0.2300 0.9732 0.0108 0.9999""")
X = _matrix("""
 0.79 1.60 0.96 1.64 0.97 1.20
 1.22 0.17 0.06 0.79 0.90 0.74
 0.92 1.51 0.27 1.31 0.56 1.59
 0.26 0.74 0.66 0.22 0.07 0.37
 0.12 0.59 0.80 0.62 0.50 0.70
-0.36 1.30 0.76 1.48 0.94 1.21""")
W_Q = _matrix("""
0.52 0.45 0.91 0.69
0.05 0.85 0.37 0.83
0.49 0.10 0.56 0.61
0.71 0.64 0.40 0.14
0.76 0.27 0.92 0.67
0.85 0.56 0.57 0.07""")
W_K = _matrix("""
0.74 0.57 0.21 0.73
0.55 0.16 0.90 0.17
0.25 0.74 0.80 0.98
0.80 0.73 0.20 0.31
0.37 0.96 0.42 0.08
0.28 0.41 0.87 0.86""")
W_V = _matrix("""
0.62 0.07 0.70 0.95
0.20 0.97 0.61 0.35
0.57 0.80 0.61 0.50
0.67 0.35 0.98 0.54
0.47 0.83 0.34 0.94
0.60 0.69 0.13 0.98""")
Q = _matrix("""
3.88 3.80 4.08 3.42
2.55 1.86 2.77 1.78
3.39 3.60 3.49 2.72
1.02 1.18 1.24 1.30
1.90 1.56 1.88 1.53
3.04 2.90 2.73 2.22""")
K = _matrix("""
3.71 4.04 4.15 3.41
2.18 2.51 1.64 1.93
3.28 3.11 3.65 3.01
1.07 1.13 1.64 1.35
1.49 1.97 2.14 1.81
2.51 3.04 3.45 2.28""")
V = _matrix("""
3.63 4.58 4.21 4.76
2.22 1.83 2.17 3.25
3.12 3.77 3.41 4.33
1.09 1.65 1.32 1.38
1.72 2.34 1.80 2.21
2.63 3.98 2.93 3.36""")
QK = _matrix("""
58.34 31.29 49.73 19.75
34.54 18.21 29.62 11.78
50.88 27.40 43.24 17.09
18.13  9.73 15.45  6.21
26.37 14.09 22.55  8.94
41.89 22.67 35.64 14.00""")  # the slide's last two columns are cut but for the last row: 20.10 30.93
SCALED = _matrix("""
29.17 15.64 24.86 9.88 14.10 21.58
17.27  9.11 14.81 5.89  8.30 12.84
25.44 13.70 21.62 8.54 12.27 18.85
 9.06  4.87  7.72 3.10  4.42  6.70
13.19  7.04 11.28 4.47  6.35  9.74
20.95 11.34 17.82 7.00 10.05 15.46""")
SHARES = _matrix("""
0.9862 0.0000 0.0133 0.0000 0.0000 0.0005
0.9111 0.0003 0.0777 0.0000 0.0001 0.0108
0.9772 0.0000 0.0214 0.0000 0.0000 0.0013
0.7231 0.0108 0.1897 0.0019 0.0070 0.0676
0.8450 0.0018 0.1251 0.0001 0.0009 0.0270
0.9542 0.0001 0.0418 0.0000 0.0000 0.0040""")
Z = _matrix("""
3.6227 4.5689 4.1987 4.7536
3.5790 4.5095 4.1332 4.7108
3.6174 4.5614 4.1908 4.7485
3.4326 4.3353 3.9277 4.5437
3.5343 4.4548 4.0688 4.6626
3.6049 4.5439 4.1717 4.7368""")
W_0 = _matrix("""
0.80 0.34 0.45 0.54 0.07 0.53
0.85 0.74 0.78 0.50 0.75 0.55
0.53 0.81 0.55 0.59 0.49 0.14
0.70 0.60 0.12 0.42 0.29 0.87""")
ATTENDED = _matrix("""
12.33 10.87 8.07 8.71 7.12 9.16
12.18 10.73 7.97 8.60 7.02 9.05
12.32 10.85 8.06 8.70 7.10 9.14
11.69 10.28 7.63 8.25 6.73 8.71
12.03 10.59 7.86 8.49 6.93 8.95
12.27 10.81 8.03 8.67 7.08 9.11""")
ADDED = _matrix("""
13.12 12.47 9.03 10.35 8.09 10.36
13.40 10.90 8.03  9.39 7.92  9.79
13.24 12.36 8.33 10.01 7.66 10.73
11.95 11.02 8.29  8.47 6.80  9.08
12.15 11.18 8.66  9.11 7.43  9.65
11.91 12.11 8.79 10.15 8.02 10.32""")
NORMALISED = _matrix("""
1.3176 0.9817 -0.7957 -0.1137 -1.2814 -0.1085
1.7078 0.4862 -0.9162 -0.2516 -0.9699 -0.0562
1.3026 0.9007 -0.9402 -0.1728 -1.2463  0.1561
1.4140 0.9236 -0.5159 -0.4209 -1.3015 -0.0993
1.4270 0.8628 -0.6030 -0.3412 -1.3184 -0.0271
1.0371 1.1596 -0.8738 -0.0408 -1.3454  0.0633""")
W = _matrix("""
0.50 0.05 0.97 0.22 0.56 0.02
0.17 0.52 0.63 0.48 0.06 0.60
0.53 0.87 0.47 0.10 0.31 0.79
0.83 0.58 0.38 0.09 0.64 0.25
0.81 0.85 0.74 0.35 0.31 0.53
0.25 0.31 0.22 0.77 0.57 0.85""")
XW = _matrix("""
-0.7555 -1.3047 0.5073 0.1392  0.0182 -0.8130
-0.5575 -1.4466 0.7066 0.1121  0.2078 -1.0226
-0.8078 -1.3957 0.4355 0.2933  0.0841 -0.7473
-0.8378 -1.2790 0.5661 0.1330 -0.0421 -0.7045
-0.8173 -1.3315 0.5331 0.1548  0.0214 -0.7372
-0.8552 -1.2530 0.3287 0.2716 -0.0276 -0.6433""")
BIAS = _matrix("0.4200 0.1800 0.2500 0.4200 0.3500 0.4500")
ACTIVATED = _matrix("""
0.0000 0.0000 0.7573 0.5592 0.3682 0.0000
0.0000 0.0000 0.9566 0.5321 0.5578 0.0000
0.0000 0.0000 0.6855 0.7133 0.4341 0.0000
0.0000 0.0000 0.8161 0.5530 0.3079 0.0000
0.0000 0.0000 0.7831 0.5748 0.3714 0.0000
0.0000 0.0000 0.5787 0.6916 0.3224 0.0000""")
# fmt: on

TWO_DIGITS, FOUR_DIGITS = 5.1e-3, 5.1e-5  # half a unit of the last digit, and a rest for float32


def _close(found: Tensor, printed: Tensor, tolerance: float) -> None:
    torch.testing.assert_close(found, printed, atol=tolerance, rtol=0.0)


def test_steps_3_and_4_position_and_word() -> None:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i + 1) = cos of the same; the input is word plus position."""
    found = torch.zeros(6, 6)
    for position in range(6):
        for x in range(0, 6, 2):
            angle = position / 10_000 ** (x / 6)
            found[position, x], found[position, x + 1] = math.sin(angle), math.cos(angle)
    _close(found, POSITIONS, FOUR_DIGITS)
    _close(EMBEDDED + POSITIONS, X, TWO_DIGITS)


@pytest.mark.parametrize(("weight", "printed"), [(W_Q, Q), (W_K, K), (W_V, V)], ids=["query", "key", "value"])
def test_step_5_1_query_key_and_value(weight: Tensor, printed: Tensor) -> None:
    projection = torch.nn.Linear(6, 4, bias=False)
    with torch.no_grad():
        projection.weight.copy_(weight.T)
        _close(projection(X), printed, TWO_DIGITS)


def test_step_5_2_scores_and_scaling() -> None:
    scores = Q @ K.T
    _close(scores[:, :4], QK, TWO_DIGITS)
    _close(scores[5, 4:], torch.tensor([20.10, 30.93]), TWO_DIGITS)
    _close(QK / math.sqrt(4), SCALED[:, :4], TWO_DIGITS)
    # the last two columns from exact products, where the slide halves rounded ones
    _close(scores[:, 4:] / math.sqrt(4), SCALED[:, 4:], TWO_DIGITS + 2.5e-3)


def _heads(matrix: Tensor) -> Tensor:
    return matrix[None, None]


def _ours(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, prefix: int, weights: bool) -> Any:
    given = PrefixStates(k[0, :, :prefix], v[0, :, :prefix])
    mask = None if mask is None else mask[..., prefix:]
    return prefix_attention(q, k[:, :, prefix:], v[:, :, prefix:], mask, given, weights=weights)


def _theirs(function: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Any:
    module = SimpleNamespace(training=False, is_causal=False)
    return function(module, q, k, v, mask, scaling=0.5, dropout=0.0)


ATTENTIONS = {
    "transformers eager": lambda *a: _theirs(eager_attention_forward, *a),
    "transformers sdpa": lambda *a: _theirs(sdpa_attention_forward, *a),
    "ours, no prefix": lambda *a: _ours(*a, prefix=0, weights=True),
    "ours, no prefix, sdpa": lambda *a: _ours(*a, prefix=0, weights=False),
    "ours, when and you as prefix": lambda *a: _ours(*a, prefix=2, weights=True),
    "ours, when and you as prefix, sdpa": lambda *a: _ours(*a, prefix=2, weights=False),
}


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_step_5_3_softmax_and_values(name: str, padded: bool) -> None:
    """Printed Q, K, V into every attention function: the shares to four digits, Z to what V's two digits allow."""
    q, k, v, mask = _heads(Q), _heads(K), _heads(V), None
    if padded:  # to ten tokens, of which the last four are −∞ in the mask
        q, k, v = (F.pad(t, (0, 0, 0, 4), value=7.0) for t in (q, k, v))
        mask = torch.zeros(1, 1, 10, 10)
        mask[..., 6:] = float("-inf")
    out, shares = ATTENTIONS[name](q, k, v, mask)
    assert out.shape == (1, len(q[0, 0]), 1, 4)
    if shares is not None:
        _close(shares[0, 0, :6, :6], SHARES, FOUR_DIGITS)
        assert not shares[..., 6:].any()
    else:
        assert "sdpa" in name
    _close(out[0, :6, 0], Z, 6 * 5e-5 * float(V.max()))


def test_step_5_3_values_from_printed_shares() -> None:
    _close(SHARES @ V, Z, FOUR_DIGITS)
    _close(F.softmax(SCALED, -1), SHARES, 1e-3)  # scores of two digits: half a hundredth is 0.5 % of a share


def test_step_5_4_and_6_output_residual_sum() -> None:
    _close(Z @ W_0, ATTENDED, TWO_DIGITS)
    _close(ATTENDED + X, ADDED, 1e-5)


def test_step_6_normalise() -> None:
    """(x − x̄) / (s + 0.0001) with s over n − 1; LayerNorm's is over n, so it is longer by √(n / (n − 1))."""
    mean, sd = ADDED.mean(-1, keepdim=True), ADDED.std(-1, keepdim=True)
    _close((ADDED - mean) / (sd + 1e-4), NORMALISED, FOUR_DIGITS)
    over_n = F.layer_norm(ADDED, (6,), eps=0.0)
    _close(over_n * math.sqrt(5 / 6), NORMALISED, FOUR_DIGITS + 1e-4)
    assert (over_n - NORMALISED).abs().max() > 0.1


def test_step_7_ffn() -> None:
    _close(NORMALISED @ W, XW, FOUR_DIGITS)
    layer = torch.nn.Linear(6, 6)
    with torch.no_grad():
        layer.weight.copy_(W.T)
        layer.bias.copy_(BIAS[0])
        _close(F.relu(layer(NORMALISED)), ACTIVATED, FOUR_DIGITS)
    _close(torch.relu(XW + BIAS), ACTIVATED, 1e-6)

"""Weights of 4 and 8 bits: the codebook, round trips, sizes and bounds by hand, values of bitsandbytes, products, gradients, training."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from nlpkit.embed import bert as row_store
from nlpkit.embed.bert import rounded_on_gpu
from nlpkit.errors import InputError
from nlpkit.finetune.adapters.quantized import BlockStore, QuantizedLinear, codebook, dequantize, quantize
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.fit import fit_network
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.quantization import ABSMAX_BLOCK, BLOCK, Quantization
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.trained import Trained
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.network import load_network
from tests.few import few
from tests.finetune.tiny import tiny_bert

# Dettmers et al. 2023, appendix E
PUBLISHED = [
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
]  # fmt: skip
NF4, DOUBLE, INT8 = WAYS = [Quantization("nf4"), Quantization("nf4", double=True), Quantization("int8")]


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.empty(shape).normal_(0.0, 0.05, generator=torch.Generator().manual_seed(seed))


def stored(values: Tensor, way: Quantization) -> BlockStore:
    return BlockStore(values, way.code, double=way.double)


def rounded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a matrix as whole numbers of steps, and the steps, by NumPy."""
    span = np.maximum(values.max(axis=1), 0) - np.minimum(values.min(axis=1), 0)
    steps = np.where(span > 0, span / 255, 1)[:, None]
    return np.rint(values / steps), steps


def test_the_sixteen_values() -> None:
    assert codebook("nf4").double().numpy() == pytest.approx(PUBLISHED, abs=1e-7)


@pytest.mark.parametrize("code", ["nf4", "float8"])
def test_codebooks_rise_and_hold_0_and_1(code: str) -> None:
    values = codebook(code)
    assert (values.diff() > 0).all()
    assert 0.0 in values
    assert values[-1] == 1.0
    assert len(values) == {"nf4": 16, "float8": 256}[code]


def test_values_of_the_codebook_come_back() -> None:
    """Blocks of 64 that hold values of the codebook times a power of two, and 1 itself, are stored without loss."""
    rng = np.random.default_rng(3)
    blocks = codebook("nf4")[torch.from_numpy(rng.integers(0, 16, (9, BLOCK)))]
    blocks[:, 5] = 1.0
    values = blocks * torch.tensor([2.0 ** (i - 4) for i in range(9)])[:, None]
    assert torch.equal(BlockStore(values, "nf4").dense(), values)


@given(st.integers(1, 300), st.integers(0, 5), st.sampled_from([1e-30, 1e-3, 1.0, 1e20]))
def test_each_value_is_the_nearest(n: int, seed: int, scale: float) -> None:
    values = normal(n, seed=seed) * scale
    store, q = BlockStore(values, "nf4"), codebook("nf4")
    dense = store.dense()
    assert dense.shape == values.shape
    for start in range(0, n, BLOCK):
        block, given_back = values[start : start + BLOCK].double(), dense[start : start + BLOCK].double()
        absmax = block.abs().max()
        least = (block[:, None] - absmax * q[None, :].double()).abs().amin(dim=1)
        assert (block - given_back).abs() == pytest.approx(least.numpy(), abs=1e-6 * float(absmax))


def test_two_codes_lie_in_a_byte() -> None:
    store = BlockStore(torch.tensor([1.0, -1.0, 0.0, 0.7229568]), "nf4")
    assert store.codes[:2].tolist() == [0xF0, 0x7E]
    assert len(store.codes) == BLOCK // 2


def test_blocks_of_zeros_are_zeros() -> None:
    for way in (NF4, DOUBLE):
        values = torch.zeros(3, 100)
        values[2, 50:] = normal(50)
        assert not stored(values, way).dense()[0].any()
        assert not stored(torch.zeros(7), way).dense().any()


@pytest.mark.parametrize("way", [NF4, DOUBLE], ids=str)
def test_bits_of_a_weight(way: Quantization) -> None:
    """0.5 bits for absmax, 0.127 with double quantisation (§3 of the paper); beside them the 4 bytes of one mean."""
    n = BLOCK * ABSMAX_BLOCK * 8
    bits = 8 * stored(normal(n // 64, 64), way).n_bytes / n
    assert bits == pytest.approx(way.bits, abs=64 / n)
    assert way.bits - 4 == pytest.approx(0.127 if way.double else 0.5, abs=1e-4)


@given(seed=st.integers(0, 20), blocks=st.integers(1, 600))
def test_error_of_double_quantisation_is_bounded(seed: int, blocks: int) -> None:
    """|ŵ₂ - ŵ| ≤ |q| · g/2 · max |absmax - mean| of the 256, g the widest gap of the 8-bit floats."""
    values = normal(blocks, BLOCK, seed=seed) * torch.arange(1, blocks + 1)[:, None]
    once, twice = BlockStore(values, "nf4"), BlockStore(values, "nf4", double=True)
    assert torch.equal(once.codes, twice.codes)
    absmax: Any = once.absmax
    centred = (absmax - absmax.mean()).abs()
    widest = float(codebook("float8").diff().max()) / 2
    for start in range(0, blocks, ABSMAX_BLOCK):
        rows = slice(start, start + ABSMAX_BLOCK)
        levels = once.dense()[rows] / absmax[rows, None]
        error = (once.dense()[rows] - twice.dense()[rows]).abs()
        assert (error <= levels.abs() * widest * centred[rows].max() + 1e-6 * absmax.max()).all()


@pytest.mark.skipif(importlib.util.find_spec("bitsandbytes") is None, reason="bitsandbytes is not installed")
@pytest.mark.parametrize("double", [False, True])
def test_values_of_bitsandbytes(double: bool) -> None:
    from bitsandbytes import functional as theirs

    values = normal(96, 512)
    codes, state = theirs.quantize_4bit(values, blocksize=BLOCK, quant_type="nf4", compress_statistics=double)
    store = BlockStore(values, "nf4", double=double)
    assert (store.codes == codes.flatten()).float().mean() > 0.9999  # a value in the middle of two goes either way
    apart = (store.dense() - theirs.dequantize_4bit(codes, state)).abs() > 1e-6
    assert apart.float().mean() < 2e-4
    if double:
        assert codebook("float8").numpy() == pytest.approx(state.state2.code.numpy(), abs=1e-7)


@pytest.mark.parametrize("way", [NF4, DOUBLE], ids=str)
def test_product_and_gradients_of_the_dense_layer(way: Quantization) -> None:
    layer = nn.Linear(40, 24)
    low = QuantizedLinear(layer, way)
    dense = low.plain()
    x = normal(5, 7, 40).requires_grad_()
    target = normal(5, 7, 24, seed=1)
    outputs = [module(x) for module in (low, dense)]
    assert torch.equal(*outputs)
    assert torch.equal(*(torch.autograd.grad((y * target).sum(), x)[0] for y in outputs))
    assert [name for name, _ in low.named_parameters()] == ["bias"]


@pytest.mark.parametrize("bias", [True, False])
@given(n=st.integers(1, 20), k=st.integers(1, 90), m=st.integers(1, 40), seed=st.integers(0, 5))
def test_products_of_integers_by_hand(bias: bool, n: int, k: int, m: int, seed: int) -> None:
    """X̂ Ŵᵀ and Ĝ Ŵ by NumPy from the rounded rows; a row of zeros among them, and others of one sign."""
    layer = nn.Linear(k, m, bias=bias)
    low = QuantizedLinear(layer, INT8)
    dense = low.weight.detach().numpy().astype(float)
    steps = np.abs(layer.weight.detach().numpy()).max(axis=1, keepdims=True) / 127
    assert (np.abs(dense - layer.weight.detach().numpy()) <= 0.501 * steps).all()
    assert np.rint(dense / steps) == pytest.approx(dense / steps, abs=1e-3)
    x = normal(n, k, seed=seed) * torch.arange(n)[:, None]
    x[1::3] = x[1::3].abs()
    x[2::3] = -x[2::3].abs()
    x.requires_grad_()
    y = low(x)
    codes, x_steps = rounded(x.detach().numpy().astype(float))
    by_hand = codes * x_steps @ dense.T + (layer.bias.detach().numpy() if bias else 0)
    one_off = 1.01 * x_steps * np.abs(dense).max(axis=1)  # a half may be rounded the other way
    assert (np.abs(y.detach().numpy() - by_hand) <= one_off + 1e-6).all()
    gradient = normal(n, m, seed=seed + 1)
    codes, g_steps = rounded(gradient.numpy() * steps[:, 0].astype(float))
    back = torch.autograd.grad(y, x, gradient)[0].numpy()
    assert (np.abs(back - codes * g_steps @ (dense / steps)) <= 1.01 * 127 * g_steps + 1e-6).all()


def test_a_row_is_rounded_within_its_own_range() -> None:
    """One large number takes the range of its sign alone; 0 stays 0, and no number is more than half a step off."""
    x = normal(40, 384)
    x[:, 7] = 5.0
    x[3], x[:, 9] = 0.0, 0.0
    codes, steps, zeros = row_store._rounded(x, torch.ones(384))
    values = (codes.float() - zeros[:, None]) * steps[:, None]
    assert ((values - x).abs() <= 0.5001 * steps[:, None]).all()
    assert not values[:, 9].any()
    assert steps[0] == pytest.approx(float(5.0 - x[0].min()) / 255)


def test_processors_without_products_of_integers_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    low = QuantizedLinear(nn.Linear(384, 100), INT8)
    x, gradient = normal(30, 384).requires_grad_(), normal(30, 100)
    with_them = low(x)
    back = torch.autograd.grad(with_them, x, gradient)[0]
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    without = low(x)
    assert torch.equal(with_them, without)
    assert torch.equal(back, torch.autograd.grad(without, x, gradient)[0])


def test_a_gpu_rounds_as_the_kernel_does() -> None:
    """On tensors of the CPU; `product_of_floats`, the other half, is what processors without such products do."""
    x = normal(40, 33) * 10.0 ** torch.arange(-32, 8)[:, None]
    x[3], x[4, 1], x[5, 0] = 0.0, float("nan"), float("inf")
    factors = normal(33, seed=1)
    by_torch, by_kernel = rounded_on_gpu(x, factors), row_store._rounded(x, factors)
    for one, other in zip(by_torch, by_kernel, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


def test_rows_that_are_no_numbers_stay_so() -> None:
    """Else a training that has come to nothing would go on unseen."""
    low = QuantizedLinear(nn.Linear(8, 3), INT8)
    x = torch.ones(4, 8)
    x[1, 2], x[2, 5] = float("nan"), float("inf")
    finite = torch.isfinite(low(x)).all(dim=1)
    assert finite.tolist() == [True, False, False, True]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_nothing_but_codes_is_kept_for_the_way_back(way: Quantization) -> None:
    low = QuantizedLinear(nn.Linear(64, 64), way)
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        low(normal(3, 64).requires_grad_())
    assert kept == []


def test_weights_that_are_no_numbers_are_refused() -> None:
    model = nn.Sequential(nn.Linear(8, 8))
    with torch.no_grad():
        model[0].weight[1, 2] = float("nan")
    with pytest.raises(InputError, match=r"the base has a weight that is not a finite number"):
        quantize(model, NF4, keep=frozenset())


WORDS = ("red", "green", "blue", "sky", "grass", "rose")
TEXTS = [f"{word} {other}" for word in WORDS for other in WORDS]
COLOURS = FinetuneTask("single", ("red", "green", "blue"))
Y = np.array([i % 3 for i in range(len(TEXTS))])
ROWS = np.arange(len(TEXTS))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("tiny") / "bert", words=WORDS)


def trained(base: Path, method: str, way: Quantization | None, *, threads: int = 1, precision: str = "fp32") -> Trained:
    with Engine(torch.device("cpu"), precision, threads=threads) as engine:
        return fit_network(
            base, parse_method(method), COLOURS, TextInputs(TEXTS), Y, train_rows=ROWS, dev_rows=ROWS[:0], predict_rows=ROWS,
            training=TrainingOptions(max_steps=6), engine=engine, seed=1, quantization=way,
        )  # fmt: skip


METHODS = ["lora", "dora", "ia3", "prompt", "houlsby", "compacter++", "unipelt"]


@pytest.mark.parametrize("method", few(METHODS, 3))
def test_trained_as_on_the_dense_dequantised_base(base: Path, method: str) -> None:
    """Logits after training are those of the same training on a folder whose weights are the dequantised ones."""
    low = trained(base, method, DOUBLE)
    network = load_network(base, COLOURS, parse_method("full"), seed=1, device=torch.device("cpu"), quantization=DOUBLE)
    assert sum(isinstance(m, QuantizedLinear) for m in network.model.modules()) == 12
    assert type(network.model.classifier) is nn.Linear
    dequantize(network.model)
    dense = base.parent / "dense"
    network.model.base_model.save_pretrained(dense)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (dense / name).write_bytes((base / name).read_bytes())
    assert low.outputs == pytest.approx(trained(dense, method, None).outputs, abs=1e-5)
    if method == METHODS[0]:
        assert low.n_parameters == trained(base, method, None).n_parameters


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_same_bytes_on_any_number_of_threads(base: Path, way: Quantization) -> None:
    one, four = (trained(base, "lora(dropout=0.1)", way, threads=threads) for threads in (1, 4))
    assert np.array_equal(one.outputs, four.outputs)


@pytest.mark.parametrize("way", [NF4, INT8], ids=str)
def test_16_bit_products(way: Quantization, base: Path) -> None:
    outputs = trained(base, "lora", way, precision="bf16").outputs
    assert outputs == pytest.approx(trained(base, "lora", way).outputs, abs=0.1)

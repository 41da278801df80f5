"""Blockwise 4-bit and 8-bit weights: the codebook, round trips, sizes and bounds by hand, values of bitsandbytes, gradients, training."""

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

from nlpkit.errors import InputError
from nlpkit.finetune.engine import Engine
from nlpkit.finetune.fit import fit_network
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.network import load_network
from nlpkit.finetune.quantization import ABSMAX_BLOCK, BLOCK, Quantization
from nlpkit.finetune.quantized import (
    BlockStore,
    QuantizedLinear,
    codebook,
    dequantize,
    quantize,
)
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.text_inputs import TextInputs
from nlpkit.finetune.trained import Trained
from nlpkit.finetune.training_options import TrainingOptions
from tests.few import few
from tests.finetune.tiny import tiny_bert

# Dettmers et al. 2023, appendix E
PUBLISHED = [
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
]  # fmt: skip
WAYS = [Quantization(code, double) for code in ("nf4", "int8") for double in (False, True)]


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.empty(shape).normal_(0.0, 0.05, generator=torch.Generator().manual_seed(seed))


def stored(values: Tensor, way: Quantization) -> BlockStore:
    return BlockStore(values, way.code, double=way.double)


def test_the_sixteen_values() -> None:
    assert codebook("nf4").double().numpy() == pytest.approx(PUBLISHED, abs=1e-7)


@pytest.mark.parametrize("code", ["nf4", "int8", "float8"])
def test_codebooks_rise_and_hold_0_and_1(code: str) -> None:
    values = codebook(code)
    assert (values.diff() > 0).all()
    assert 0.0 in values
    assert values[-1] == 1.0
    assert len(values) == {"nf4": 16, "int8": 255, "float8": 256}[code]


@pytest.mark.parametrize("code", ["nf4", "int8"])
def test_values_of_the_codebook_come_back(code: str) -> None:
    """Blocks of 64 that hold values of the codebook times a power of two, and 1 itself, are stored without loss."""
    rng = np.random.default_rng(3)
    blocks = codebook(code)[torch.from_numpy(rng.integers(0, len(codebook(code)), (9, BLOCK)))]
    blocks[:, 5] = 1.0
    values = blocks * torch.tensor([2.0 ** (i - 4) for i in range(9)])[:, None]
    assert torch.equal(BlockStore(values, code).dense(), values)


@pytest.mark.parametrize("code", ["nf4", "int8"])
@given(st.integers(1, 300), st.integers(0, 5), st.sampled_from([1e-30, 1e-3, 1.0, 1e20]))
def test_each_value_is_the_nearest(code: str, n: int, seed: int, scale: float) -> None:
    values = normal(n, seed=seed) * scale
    store, q = BlockStore(values, code), codebook(code)
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
    for way in WAYS:
        values = torch.zeros(3, 100)
        values[2, 50:] = normal(50)
        assert not stored(values, way).dense()[0].any()
        assert not stored(torch.zeros(7), way).dense().any()


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_bits_of_a_weight(way: Quantization) -> None:
    """0.5 bits for absmax, 0.127 with double quantisation (§3 of the paper); beside them the 4 bytes of one mean."""
    n = BLOCK * ABSMAX_BLOCK * 8
    bits = 8 * stored(normal(n // 64, 64), way).n_bytes / n
    assert bits == pytest.approx(way.bits, abs=64 / n)
    assert way.bits - (4 if way.code == "nf4" else 8) == pytest.approx(0.127 if way.double else 0.5, abs=1e-4)


@pytest.mark.parametrize("code", ["nf4", "int8"])
@given(seed=st.integers(0, 20), blocks=st.integers(1, 600))
def test_error_of_double_quantisation_is_bounded(code: str, seed: int, blocks: int) -> None:
    """|ŵ₂ - ŵ| ≤ |q| · g/2 · max |absmax - mean| of the 256, g the widest gap of the 8-bit floats."""
    values = normal(blocks, BLOCK, seed=seed) * torch.arange(1, blocks + 1)[:, None]
    once, twice = BlockStore(values, code), BlockStore(values, code, double=True)
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


@pytest.mark.parametrize("way", WAYS, ids=str)
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


def test_nothing_but_codes_is_kept_for_the_way_back() -> None:
    low = QuantizedLinear(nn.Linear(64, 64), WAYS[0])
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        low(normal(3, 64).requires_grad_())
    assert kept == []


def test_weights_that_are_no_numbers_are_refused() -> None:
    model = nn.Sequential(nn.Linear(8, 8))
    with torch.no_grad():
        model[0].weight[1, 2] = float("nan")
    with pytest.raises(InputError, match=r"no finite number \(0\.weight\)"):
        quantize(model, WAYS[0], keep=frozenset())


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
    low = trained(base, method, WAYS[1])
    network = load_network(
        base, COLOURS, parse_method("full"), seed=1, device=torch.device("cpu"), quantization=WAYS[1]
    )
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


def test_16_bit_products(base: Path) -> None:
    outputs = trained(base, "lora", WAYS[0], precision="bf16").outputs
    assert outputs == pytest.approx(trained(base, "lora", WAYS[0]).outputs, abs=0.1)

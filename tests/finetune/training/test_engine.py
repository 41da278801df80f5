"""Batches in parts: the gradients of plain torch, the same bytes for any number of threads, memory that runs out."""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.errors import OutOfMemoryError
from nlpkit.finetune.training.engine import (
    CPU_PART_TOKENS,
    CPU_PARTS,
    PART_COST,
    Engine,
    OwnDropout,
    _add,
    cheapest_parts,
)
from nlpkit.platform import torch_threads
from nlpkit.platform.types import LongArray
from tests.finetune.eight import build, one_thread  # noqa: F401

CPU = torch.device("cpu")
N = 48
LENGTHS = np.random.default_rng(0).integers(3, 30, N)


@dataclass
class Texts:
    """Random ids through a tiny model, a class for each, weights that differ."""

    model: Any
    lengths: LongArray = field(default_factory=lambda: LENGTHS.copy())
    calls: list[int] = field(default_factory=list)
    most: int | None = None  # rows that fit into memory at once

    def __post_init__(self) -> None:
        rng = np.random.default_rng(1)
        self.ids = [torch.from_numpy(rng.integers(3, 60, n)) for n in self.lengths]
        self.y = torch.from_numpy(rng.integers(0, 3, len(self.lengths)))
        self.w = torch.from_numpy(rng.uniform(0.5, 2.0, len(self.lengths)).astype(np.float32))

    def batch(self, rows: LongArray) -> dict[str, Tensor]:
        own = [self.ids[row] for row in rows]
        ids = torch.nn.utils.rnn.pad_sequence(own, batch_first=True, padding_value=0)
        return {"input_ids": ids, "attention_mask": (ids != 0).long()}

    def weight(self, rows: LongArray) -> float:
        return float(self.w[rows].double().sum())

    def loss(self, rows: LongArray) -> Tensor:
        self.calls.append(len(rows))
        if self.most is not None and len(rows) > self.most:
            raise torch.OutOfMemoryError("out of memory")
        logits = self.model(**self.batch(rows)).logits
        return (functional.cross_entropy(logits, self.y[rows], reduction="none") * self.w[rows]).sum()


def parameters(model: Any) -> dict[str, Tensor]:
    return dict(model.named_parameters())


def gradients(of: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in of.items() if p.grad is not None}


def run(
    model: Any, *, threads: int, seed: tuple[int, ...] = (0, 5), precision: str = "fp32"
) -> tuple[float, dict[str, Tensor]]:
    own = parameters(model)
    with Engine(CPU, precision, threads=threads) as engine:
        loss = engine.separate(Texts(model), np.arange(N)[::-1].copy(), own, seed=seed)
    return loss, gradients(own)


def same(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_bytes_do_not_depend_on_threads_with_dropout_on(kind: str) -> None:
    rates = {"attention_dropout": 0.1, "mlp_dropout": 0.1} if kind == "modernbert" else {}
    model = build(kind, **rates).train()
    first = run(model, threads=1)
    assert len(first[1]) > 15
    assert all(bool(torch.isfinite(g).all()) for g in first[1].values())
    for threads in (2, 3):
        loss, found = run(model, threads=threads)
        assert loss == first[0]
        assert same(found, first[1])
    other = run(model, threads=1, seed=(0, 6))  # dropout was there, and draws from the step
    assert other[0] != first[0]
    assert not same(other[1], first[1])


def test_bytes_do_not_depend_on_threads_where_a_weight_is_used_twice_in_bf16() -> None:
    model = build("deberta-v2").train()  # its keys of places are those of words
    first = run(model, threads=1, precision="bf16")
    for threads in (2, 4, 4, 4):
        loss, found = run(model, threads=threads, precision="bf16")
        assert loss == first[0]
        assert same(found, first[1])
    assert not same(first[1], run(model, threads=1)[1])


def test_on_a_cpu_no_thread_reads_the_weights_another_has_cast() -> None:
    model = build("deberta-v2")
    texts, own = Texts(model), parameters(model)
    rows = np.argsort(-LENGTHS[:6], kind="stable")  # one part, in its order
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        loss = texts.loss(rows) / texts.weight(rows)
    expected = dict(zip(own, torch.autograd.grad(loss, list(own.values()), allow_unused=True), strict=True))
    with Engine(CPU, "bf16", threads=1) as engine:
        engine.separate(texts, rows, own, seed=(0,))
    assert same(gradients(own), {name: g for name, g in expected.items() if g is not None})


def test_parts_sum_to_the_gradient_of_the_whole_batch() -> None:
    model = build("bert")
    texts = Texts(model)
    rows = np.arange(N)
    whole = texts.loss(rows) / texts.w.sum()
    own = parameters(model)
    expected = dict(zip(own, torch.autograd.grad(whole, list(own.values()), allow_unused=True), strict=True))
    texts.calls.clear()
    with Engine(CPU, "fp32", threads=2) as engine:
        loss = engine.separate(texts, rows, own, seed=(0,))
    assert len(texts.calls) > 2
    assert sum(texts.calls) == N
    assert loss == pytest.approx(whole.item(), abs=1e-5)
    for name, parameter in own.items():
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, expected[name], atol=1e-5, rtol=1e-4)


def test_gradients_of_the_batch_before_are_forgotten() -> None:
    model = build("bert")
    once = run(model, threads=1)[1]
    assert same(run(model, threads=1)[1], once)


def test_sparse_gradients_of_embeddings_are_the_dense_ones() -> None:
    model = build("bert")
    dense = run(model, threads=1)[1]
    model.get_input_embeddings().sparse = True
    sparse = run(model, threads=2)[1]
    assert not any(g.is_sparse for g in sparse.values())
    for name, gradient in dense.items():
        torch.testing.assert_close(sparse[name], gradient, atol=1e-6, rtol=1e-5)


@dataclass
class Sum:
    """Two vectors that are only ever seen as their sum: autograd gives one tensor as the gradient of both."""

    p: Tensor = field(default_factory=lambda: torch.ones(4, requires_grad=True))
    q: Tensor = field(default_factory=lambda: torch.ones(4, requires_grad=True))
    lengths: LongArray = field(default_factory=lambda: np.full(4, 200))

    def weight(self, rows: LongArray) -> float:
        return 1.0

    def loss(self, rows: LongArray) -> Tensor:
        return ((self.p + self.q) ** 2).sum() * len(rows)


def test_parameters_that_share_a_gradient_do_not_share_its_memory() -> None:
    terms = Sum()
    with Engine(CPU, "fp32", threads=1) as engine:
        engine.separate(terms, np.arange(4), {"p": terms.p, "q": terms.q}, seed=(0,))
    for parameter in (terms.p, terms.q):
        assert parameter.grad is not None
        assert parameter.grad.tolist() == [16.0] * 4  # 2 (1 + 1) of each of 4 rows
    assert terms.p.grad is not None
    terms.p.grad.zero_()
    assert terms.q.grad is not None
    assert terms.q.grad.tolist() == [16.0] * 4


def test_a_gradient_is_laid_out_as_its_parameter() -> None:
    """That of some products is transposed, which the fused AdamW of GPUs refuses."""
    W = torch.zeros(2, 3, requires_grad=True)
    transposed = torch.arange(6.0).view(3, 2).T
    _add([W], [transposed])
    assert W.grad is not None
    assert W.grad.stride() == W.stride() != transposed.stride()
    assert W.grad.tolist() == transposed.tolist()


@dataclass
class Pairs:
    """A loss over all products of vectors of texts, with a parameter of its own."""

    texts: Texts
    temperature: Tensor = field(default_factory=lambda: torch.tensor(0.3, requires_grad=True))

    @property
    def unit_lengths(self) -> LongArray:
        return self.texts.lengths

    def units(self, rows: LongArray) -> LongArray:
        return np.unique(np.concatenate([rows, (rows + 1) % N]))

    def encode(self, units: LongArray) -> Tensor:
        found = self.texts.model(**self.texts.batch(units)).last_hidden_state[:, 0]
        return functional.normalize(found, dim=1)

    def joint_loss(self, vectors: Tensor, units: LongArray, rows: LongArray) -> Tensor:
        at = {int(unit): i for i, unit in enumerate(units)}
        a, b = vectors[[at[int(r)] for r in rows]], vectors[[at[int(r + 1) % N] for r in rows]]
        return functional.cross_entropy(a @ b.T / self.temperature, torch.arange(len(rows)))


@pytest.mark.parametrize("seed", range(20))
def test_no_other_parts_are_cheaper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    lengths = -np.sort(-rng.integers(1, int(rng.choice([20, 400])), n))
    most = max(CPU_PART_TOKENS, -(-int(lengths.sum()) // CPU_PARTS))

    def cost(parts: list[tuple[int, int]]) -> float:
        tokens = [(end - start) * int(lengths[start]) for start, end in parts]
        if any(t > most and end - start > 1 for t, (start, end) in zip(tokens, parts, strict=True)):
            return np.inf
        return sum(tokens) + PART_COST * len(parts)

    def every(start: int) -> list[list[tuple[int, int]]]:
        if start == n:
            return [[]]
        return [[(start, end), *rest] for end in range(start + 1, n + 1) for rest in every(end)]

    parts = cheapest_parts(lengths)
    assert [row for start, end in parts for row in range(start, end)] == list(range(n))
    assert cost(parts) == min(map(cost, every(0)))


def test_parts_of_a_row_without_tokens_and_of_one_that_is_too_long() -> None:
    assert cheapest_parts(np.zeros(3, np.int64)) == [(0, 3)]
    assert cheapest_parts(np.array([5000, 3])) == [(0, 1), (1, 2)]
    assert cheapest_parts(np.full(64, 256)) == [(8 * i, 8 * i + 8) for i in range(8)]


@pytest.mark.parametrize("threads", [1, 3])
def test_joint_gives_the_gradient_of_plain_autograd(threads: int) -> None:
    pairs = Pairs(Texts(build("bert", "")))
    own = {name: p for name, p in parameters(pairs.texts.model).items() if "pooler" not in name}
    own["temperature"] = pairs.temperature
    rows = np.array([3, 40, 11, 27, 8, 15, 30, 22, 5, 44, 1, 19, 35, 36, 37, 0])
    units = pairs.units(rows)
    whole = pairs.joint_loss(pairs.encode(units), units, rows)
    expected = torch.autograd.grad(whole, list(own.values()))
    with Engine(CPU, "fp32", threads=threads) as engine:
        assert len(engine._cut(LENGTHS[units], units)) > 1
        loss = engine.joint(pairs, rows, own, seed=(1,))
    assert loss == pytest.approx(whole.item(), abs=1e-5)
    for parameter, gradient in zip(own.values(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, atol=1e-5, rtol=1e-4)


def test_joint_has_the_same_bytes_with_dropout_for_any_number_of_threads() -> None:
    pairs = Pairs(Texts(build("bert", "").train()))
    own = {name: p for name, p in parameters(pairs.texts.model).items() if "pooler" not in name}
    found = []
    for threads in (1, 2, 3):
        with Engine(CPU, "fp32", threads=threads) as engine:
            found.append((engine.joint(pairs, np.arange(20), own, seed=(1,)), gradients(own)))
    assert found[0][0] == found[1][0] == found[2][0]
    assert same(found[0][1], found[1][1])
    assert same(found[0][1], found[2][1])


@dataclass
class Masks:
    """Keeps what dropout did to a vector of ones, of each part."""

    w: Tensor = field(default_factory=lambda: torch.ones(1, requires_grad=True))
    lengths: LongArray = field(default_factory=lambda: np.full(4, 200))
    seen: dict[int, Tensor] = field(default_factory=dict)

    def weight(self, rows: LongArray) -> float:
        return float(len(rows))

    def loss(self, rows: LongArray) -> Tensor:
        mask = functional.dropout(torch.ones(64), 0.5, True)
        self.seen[int(rows[0])] = mask
        return self.w.sum() * mask.sum()


def test_masks_depend_on_seed_and_part_and_leave_torchs_generator_alone() -> None:
    def masks(seed: tuple[int, ...]) -> dict[int, Tensor]:
        own = Masks()
        with Engine(CPU, "fp32", threads=2) as engine:
            engine.separate(own, np.arange(4), {"w": own.w}, seed=seed)
        return own.seen

    before = torch.random.get_rng_state()
    first = masks((7, 13, 0))
    assert torch.equal(before, torch.random.get_rng_state())
    torch.rand(3)
    again, later, other = masks((7, 13, 0)), masks((7, 13, 1)), masks((8, 13, 0))
    assert len(first) == 4
    parts = list(first.values())
    assert not any(torch.equal(a, b) for i, a in enumerate(parts) for b in parts[:i])
    for part in first:
        assert torch.equal(first[part], again[part])
        assert not torch.equal(first[part], later[part])
        assert not torch.equal(first[part], other[part])


DRAWS = {"torch": lambda: torch.Generator().manual_seed(1), "numpy": lambda: np.random.PCG64(1)}


@pytest.mark.parametrize("draws", DRAWS)
def test_own_dropout_keeps_the_mean_and_drops_the_share(draws: str) -> None:
    x = torch.full((200, 500), 3.0)
    with OwnDropout(DRAWS[draws]()):
        found = functional.dropout(x, 0.2, True)
        assert functional.dropout(x, 0.2, False) is x
        assert torch.equal(torch.nn.Dropout(0.2).eval()(x), x)
        assert not torch.equal(torch.nn.Dropout(0.2)(x), x)
    assert sorted(found.unique().tolist()) == pytest.approx([0.0, 3.75], rel=1e-5)
    assert (found == 0).float().mean().item() == pytest.approx(0.2, abs=0.005)  # 4 sd = 0.005
    assert found.mean().item() == pytest.approx(3.0, abs=0.02)


def test_shares_of_sixteen_bits_by_hand() -> None:
    """Below 0.25 · 2¹⁶ bits drop a number; the rest is divided by 0.75, in the order of the bits of 64."""
    bits = np.random.PCG64(5).random_raw(2).view(np.uint16)
    with OwnDropout(np.random.PCG64(5)):
        kept = functional.dropout(torch.ones(7, dtype=torch.bfloat16), 0.25, True)
    assert kept.dtype == torch.bfloat16
    assert ((kept > 0).numpy() == (bits >= 2**14)[:7]).all()


@pytest.mark.parametrize("mask", ["none", "bool", "added"])
@pytest.mark.parametrize("scale", [None, 0.7])
def test_own_attention_without_dropout_is_torchs(mask: str, scale: float | None) -> None:
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2, 4, 9, 8, generator=generator) for _ in range(3))
    seen = torch.rand(2, 1, 9, 9, generator=generator) > 0.3
    seen[..., 0] = True
    masks = {"none": None, "bool": seen, "added": torch.zeros(2, 1, 9, 9).masked_fill(~seen, -1e9)}
    own = OwnDropout(generator)
    found = own._attention(q, k, v, masks[mask], dropout_p=0.0, scale=scale)
    expected = functional.scaled_dot_product_attention(q, k, v, masks[mask], scale=scale)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("added", [False, True])
def test_a_place_that_sees_nothing_gets_zeros_and_no_nan_goes_back(added: bool) -> None:
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(1, 2, 4, 8, generator=generator).requires_grad_() for _ in range(3))
    mask: Tensor = torch.ones(1, 1, 4, 4, dtype=torch.bool)
    mask[..., 2, :] = False
    if added:
        mask = torch.zeros(1, 1, 4, 4).masked_fill(~mask, float("-inf"))
    found = OwnDropout(generator)._attention(q, k, v, mask, dropout_p=0.0)
    torch.testing.assert_close(found, functional.scaled_dot_product_attention(q, k, v, mask))
    assert found[:, :, 2].abs().max() == 0
    back = torch.autograd.grad(found.sum(), [q, k, v])
    assert all(bool(torch.isfinite(g).all()) for g in back)


@pytest.mark.parametrize("draws", DRAWS)
def test_own_attention_drops_weights_and_keeps_the_mean(draws: str) -> None:
    q, k, v = torch.zeros(1, 1, 400, 8), torch.zeros(1, 1, 400, 8), torch.ones(1, 1, 400, 8)
    before = torch.random.get_rng_state()
    with OwnDropout(DRAWS[draws]()):
        found = functional.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    assert torch.equal(before, torch.random.get_rng_state())
    assert found.std() > 0.01
    assert found.mean().item() == pytest.approx(1.0, abs=0.01)


def test_scale_of_fp16_is_undone() -> None:
    model = build("bert")
    loss, plain = run(model, threads=1)
    own = parameters(model)
    with Engine(CPU, "fp32", threads=1) as engine:
        engine._scale = 1024.0
        scaled = engine.separate(Texts(model), np.arange(N)[::-1].copy(), own, seed=(0, 5))
        assert scaled == loss
        name = "classifier.weight"
        torch.testing.assert_close(own[name].grad, plain[name] * 1024, rtol=1e-5, atol=1e-5)
        assert engine.unscale(own)
    for name, gradient in plain.items():
        torch.testing.assert_close(own[name].grad, gradient, rtol=1e-5, atol=1e-7)


def test_scale_of_fp16_halves_when_gradients_overflow_and_doubles_after_2000_good_steps() -> None:
    engine = Engine(CPU, "fp16", threads=1)
    assert engine._scale == 2.0**16
    p = torch.zeros(2, requires_grad=True)
    p.grad = torch.tensor([1.0, float("inf")])
    assert not engine.unscale({"p": p})
    assert engine._scale == 2.0**15
    for _ in range(2000):
        p.grad = torch.tensor([2.0**15, 0.0])
        assert engine.unscale({"p": p})
        assert p.grad.tolist() == [1.0, 0.0]
    assert engine._scale == 2.0**16


def small_gpu(model: Any, most: int) -> tuple[Engine, Texts]:
    """Return an engine that takes the CPU for a GPU, and texts of which only so many fit at once."""
    engine = Engine(CPU, "fp32", threads=1)
    engine._cpu = False
    return engine, Texts(model, most=most)


def test_parts_that_do_not_fit_are_halved_and_the_result_is_the_same(caplog: pytest.LogCaptureFixture) -> None:
    model = build("bert")
    loss, expected = run(model, threads=1)
    own = parameters(model)
    engine, texts = small_gpu(model, 2)
    with engine, caplog.at_level("WARNING", "nlpkit.finetune"):
        found = engine.separate(texts, np.arange(N)[::-1].copy(), own, seed=(0, 5))
    assert texts.calls[0] == N  # all at once, then halves
    assert sum(n for n in texts.calls if n <= 2) == N
    assert engine.halvings == sum(n > 2 for n in texts.calls)
    assert "48 rows at once: halving them" in caplog.text
    assert found == pytest.approx(loss, abs=1e-5)
    for name, gradient in expected.items():
        torch.testing.assert_close(own[name].grad, gradient, atol=1e-5, rtol=1e-4)
    texts.calls.clear()
    with engine:
        engine.separate(texts, np.arange(N), own, seed=(0, 6))
    assert max(texts.calls) < N // 4  # learnt from the first step


def test_not_even_one_row_fits() -> None:
    engine, texts = small_gpu(build("bert"), 0)
    with engine, pytest.raises(OutOfMemoryError):
        engine.separate(texts, np.arange(4), parameters(texts.model), seed=(0,))


@dataclass
class Failing:
    """A loss that fails in its last part."""

    error: BaseException
    w: Tensor = field(default_factory=lambda: torch.ones(1, requires_grad=True))
    lengths: LongArray = field(default_factory=lambda: np.full(8, 200))

    @property
    def unit_lengths(self) -> LongArray:
        return self.lengths

    def weight(self, rows: LongArray) -> float:
        return float(len(rows))

    def units(self, rows: LongArray) -> LongArray:
        return rows

    def loss(self, rows: LongArray) -> Tensor:
        if rows[0] >= 6:
            raise self.error
        return self.w.sum()

    def encode(self, units: LongArray) -> Tensor:
        return self.loss(units).expand(len(units), 1)

    def joint_loss(self, vectors: Tensor, units: LongArray, rows: LongArray) -> Tensor:
        return vectors.sum()


@pytest.mark.parametrize("call", ["separate", "joint"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), OutOfMemoryError),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 5 bytes"), OutOfMemoryError),
        (RuntimeError("shapes do not fit"), RuntimeError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_errors_of_a_part_come_out(call: str, threads: int, error: BaseException, expected: type) -> None:
    failing = Failing(copy.copy(error))
    with pytest.raises(expected) as found, Engine(CPU, "fp32", threads=threads) as engine:
        getattr(engine, call)(failing, np.arange(8), {"w": failing.w}, seed=(0,))
    assert type(found.value) is expected


def test_rows_without_a_label_have_no_gradient() -> None:
    class Bare(Masks):
        def loss(self, rows: LongArray) -> Tensor:
            return torch.zeros(()) if rows[0] != 2 else self.w.sum() * 2

    own = Bare()
    with Engine(CPU, "fp32", threads=2) as engine:
        assert engine.separate(own, np.arange(4), {"w": own.w}, seed=(0,)) == pytest.approx(0.5)
        assert own.w.grad is not None
        assert own.w.grad.tolist() == [0.5]
        engine.separate(own, np.array([0, 1]), {"w": own.w}, seed=(0,))
    assert own.w.grad is None


def test_run_gives_all_rows_once_without_gradients_for_any_number_of_threads() -> None:
    lengths = np.random.default_rng(2).integers(1, 900, 40)
    w = torch.ones(1, requires_grad=True)
    found = []
    for threads in (1, 3):
        with Engine(CPU, "fp32", threads=threads) as engine:
            found.append(list(engine.run(lambda own: (w * torch.from_numpy(lengths[own])).requires_grad, lengths)))
    assert not any(value for _, value in found[0])
    assert sorted(np.concatenate([rows for rows, _ in found[0]]).tolist()) == list(range(40))
    assert [rows.tolist() for rows, _ in found[0]] == [rows.tolist() for rows, _ in found[1]]
    assert all(len(rows) * lengths[rows].max() <= 2048 for rows, _ in found[0])


class Counted:
    """Counts how many results there are at once, from when they are made until nobody holds them."""

    def __init__(self) -> None:
        self._lock, self._now, self.most, self.made = threading.RLock(), 0, 0, 0

    def result(self, of: LongArray) -> Tensor:
        found = torch.from_numpy(of.copy())
        with self._lock:
            self._now, self.made = self._now + 1, self.made + 1
            self.most = max(self.most, self._now)
        weakref.finalize(found, self._gone)
        return found

    def _gone(self) -> None:
        with self._lock:
            self._now -= 1


@pytest.mark.parametrize("threads", [2, 3])
def test_results_do_not_pile_up(threads: int) -> None:
    counted, lengths = Counted(), np.full(640, 128)
    seen: list[int] = []
    with Engine(CPU, "fp32", threads=threads) as engine:
        for rows, found in engine.run(counted.result, lengths):
            assert found.tolist() == rows.tolist()
            seen += found.tolist()
            del found
    assert counted.made == 160
    assert sorted(seen) == list(range(640))
    # threads + 1 in order, and of each thread one that it has handed over and not yet let go of
    assert counted.most <= 2 * threads + 1


@pytest.mark.parametrize("threads", [2, 3])
def test_after_an_error_no_more_parts_are_run(threads: int) -> None:
    done: list[int] = []

    def work(rows: LongArray) -> int:
        if not done:
            done.append(0)
            raise ValueError("the first")
        done.append(1)
        return 0

    with pytest.raises(ValueError, match="the first"), Engine(CPU, "fp32", threads=threads) as engine:
        list(engine.run(work, np.full(640, 128)))
    assert len(done) <= threads + 2  # of 40: those under way when it came out


def test_torchs_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with Engine(CPU, "fp32", threads=2):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_numbers_near_zero_are_zero_in_training_alone() -> None:
    """Of what Adam remembers of dead units most would be such numbers, and a step take several times as long."""

    def product() -> float:
        return float(torch.full((8,), 1e-30).mul(1e-10).sum())

    assert product() > 0
    with torch_threads.one_thread():
        assert product() == 0
    assert product() > 0
    with Engine(torch.device("cpu"), "fp32", threads=2) as engine:
        assert engine._pool is not None
        assert product() == engine._pool.submit(product).result() == 0
    assert product() > 0

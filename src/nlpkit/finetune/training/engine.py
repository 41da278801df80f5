"""The execution of a training batch: in parts, on CPU threads or a GPU, with the same bytes for any number of threads.

Parts, in this order:
- Dropout that draws from a generator of its own, and not from the one of all threads.
- The engine, and the losses that it runs.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from nlpkit.embed.hardware import free_gpu_memory, is_out_of_memory
from nlpkit.errors import OutOfMemoryError
from nlpkit.platform.torch_threads import compute_alone, compute_on
from nlpkit.platform.types import IntArray, LongArray

_STEPS = 2**16  # shares of 16 bits


class OwnDropout(TorchFunctionMode):  # type: ignore[misc]
    """Within it, dropout of this thread draws from `draws`; also that of attention.

    draws: of NumPy for tensors on the CPU, where its raw bits are six times as fast as torch's Bernoulli draws from a generator: 16 bits
    decide on a number, so that shares are multiples of 2⁻¹⁶, and what is kept is divided by the share that they make. Else of torch.
    """

    def __init__(self, draws: torch.Generator | np.random.BitGenerator) -> None:
        super().__init__()
        self._draws = draws

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is functional.dropout:
            return self._dropout(*args, **kwargs)
        if func is functional.scaled_dot_product_attention and kwargs.get("dropout_p", 0.0) > 0:
            return self._attention(*args, **kwargs)
        return func(*args, **kwargs)

    def _dropout(self, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or p == 0.0:
            return input
        if isinstance(self._draws, torch.Generator):
            kept = torch.empty(input.shape, dtype=input.dtype, device=input.device)
            return input * kept.bernoulli_(1.0 - p, generator=self._draws).div_(1.0 - p)
        dropped = min(round(p * _STEPS), _STEPS - 1)
        bits = self._draws.random_raw(-(-input.numel() // 4)).view(np.uint16)[: input.numel()]
        factors = np.multiply(bits >= dropped, np.float32(_STEPS / (_STEPS - dropped)), dtype=np.float32)
        return input * torch.from_numpy(factors).view(input.shape).to(input.dtype)

    def _attention(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, **options: Any
    ) -> Tensor:
        scale = options.get("scale")
        scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
        barred = None
        if attn_mask is not None:
            # added, not filled in: the mask has no heads, and the backward pass of a sum costs nothing
            bars = attn_mask.dtype == torch.bool
            barred = ~attn_mask if bars else attn_mask == float("-inf")
            added = torch.zeros(attn_mask.shape, dtype=scores.dtype, device=scores.device) if bars else attn_mask
            scores = scores + added.masked_fill(barred, torch.finfo(scores.dtype).min / 2)
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
        if barred is not None and (barred.device.type != "cpu" or bool(barred.all(dim=-1).any())):
            weights = weights.masked_fill(
                barred, 0.0
            )  # a place that sees nothing, such as padding far from the text, gets zeros
        return self._dropout(weights, options["dropout_p"]) @ value


# ------------------------------------------------------------------------------------------------------------------------
# Execution of a batch: in parts, on CPU threads or a GPU, with the same bytes for any number of threads.
#
# On a CPU the rows of a batch are sorted by length and cut into parts; each part is padded to its own longest row and run, forward
# and back, by one thread that computes alone (torch's own threads split sums by their number, and would change last digits). The
# gradients of the parts are added in the order of the parts. Dropout draws from a generator that is made of the seed, the step and
# the part, so the threads do not share one. On a GPU a part is as large as memory allows: one that does not fit is halved.

logger = logging.getLogger("nlpkit.finetune")
Lengths = IntArray | LongArray

DTYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}
FP32_ONLY = {"deberta": "DeBERTa v1"}  # it fills scores of 16 bits with the least number of fp32
CPU_PARTS, CPU_PART_TOKENS = 8, 256  # a part has at most an eighth of a batch, or so many tokens where that is less
PART_COST = 64  # tokens that take as long as what a part costs beside its tokens
GPU_PART_TOKENS = 16384
RUN_TOKENS = {"cpu": 512, "cuda": 32768, "mps": 8192}
CPU_ROW_TOKENS = 128  # of a batch of rows of one length at most, where it is not one row
_FIRST_SCALE = 2.0**16  # of losses in fp16, as torch's GradScaler starts


class PerExampleLoss(Protocol):
    """A loss that is a weighted mean over the rows of a batch, so each part has its share."""

    lengths: Lengths  # (n,) tokens of each example

    def weight(self, rows: LongArray) -> float:
        """Return the weight of some rows, which the sum of their losses is divided by."""

    def loss(self, rows: LongArray) -> Tensor:
        """Return the weighted sum of the losses of some rows. Called in several threads at once."""


class InBatchLoss(Protocol):
    """A loss that sees the whole batch at once: the vectors of its units, such as the different texts of pairs."""

    unit_lengths: Lengths  # (U,) tokens of each unit

    def units(self, rows: LongArray) -> LongArray:
        """Return the units (u,) that some rows are made of, each once."""

    def encode(self, units: LongArray) -> Tensor:
        """Return the vectors of units, (u, E). Called in several threads at once."""

    def joint_loss(self, vectors: Tensor, units: LongArray, rows: LongArray) -> Tensor:
        """Return the loss of rows whose units have the vectors (u, E)."""


def in_fp32(device: torch.device) -> torch.autocast:
    """Return a context in which autocast is off: what is float stays so, in products as well."""
    return torch.autocast(device.type, enabled=False)


_warned: set[torch.dtype] = set()
_warning = Lock()


@contextmanager
def autocast_if_supported(model: Any) -> Iterator[None]:
    """Within it a transformers model can be run: one of FP32_ONLY is so in fp32 whatever the precision, which is said once."""
    kind = str(getattr(getattr(model, "config", None), "model_type", ""))
    device = next(model.parameters()).device
    if kind not in FP32_ONLY or not torch.is_autocast_enabled(device.type):
        yield
        return
    dtype = torch.get_autocast_dtype(device.type)
    with _warning:
        if dtype not in _warned:
            _warned.add(dtype)
            precision = next(name for name, candidate in DTYPES.items() if candidate == dtype)
            logger.warning("%s runs in fp32: transformers cannot run it in %s", FP32_ONLY[kind], precision)
    with in_fp32(device):
        yield


class Engine:
    """Runs losses and networks on a device; the numbers do not depend on `threads`."""

    def __init__(self, device: torch.device, precision: str, *, threads: int) -> None:
        self.device, self.precision, self.threads = device, precision, threads
        self._dtype = DTYPES[precision]
        self._cpu = device.type == "cpu"
        self.start()
        self.part_tokens = GPU_PART_TOKENS  # of a GPU; halved when memory runs out
        self.halvings = 0
        self.joint_rows: int | None = None  # of a joint batch at once, where memory is too small for all
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Engine:
        self._torch_threads = torch.get_num_threads()
        if self._cpu:
            compute_alone()
            if self.threads > 1:
                self._pool = ThreadPoolExecutor(self.threads, "finetune", compute_alone)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        compute_on(self._torch_threads)

    def separate(
        self, objective: PerExampleLoss, rows: LongArray, parameters: Mapping[str, Tensor], *, seed: Sequence[int]
    ) -> float:
        """Set `.grad` of the parameters to the gradient of the loss of a batch, and return the loss.

        Args:
            rows: (B,) examples of the batch. seed: what dropout draws from, such as (seed, step).

        Raises:
            OutOfMemoryError: not even one row fits.
        """
        weight = max(objective.weight(rows), 1e-12)
        tensors = list(parameters.values())

        def work(part: LongArray, number: int) -> tuple[float, list[Tensor | None]]:
            with self._within((*seed, number)):
                loss = objective.loss(part) / weight
            if not loss.requires_grad:  # nothing of these rows has a label
                return float(loss), [None] * len(tensors)
            # outside, or the way back of what ran in fp32 would be cast
            gradients = torch.autograd.grad(loss * self._scale, tensors, allow_unused=True)
            return float(loss.detach()), list(gradients)

        total = 0.0
        _forget(tensors)
        for loss, gradients in self._each(work, self._cut(objective.lengths[rows], rows), objective.lengths):
            total += loss
            _add(tensors, gradients)
        return total

    def joint(
        self, objective: InBatchLoss, rows: LongArray, parameters: Mapping[str, Tensor], *, seed: Sequence[int]
    ) -> float:
        """Set `.grad` of the parameters as `separate` does, for a loss over the whole batch.

        The parts are run forward, the loss and its gradient by the vectors follow, in fp32 whatever the precision, then the parts are
        run back with it.
        """
        units = objective.units(rows)
        tensors = list(parameters.values())
        parts = self._cut(objective.unit_lengths[units], np.arange(len(units)))

        def forward(part: LongArray, number: int) -> Tensor:
            with self._within((*seed, number)):
                return objective.encode(units[part])

        try:
            outputs = list(self._map(forward, parts))
            order = np.argsort(np.concatenate(parts))
            vectors = torch.cat([o.detach().float() for o in outputs])
            leaf = vectors[torch.from_numpy(order).to(self.device)].requires_grad_()
            with self._within((*seed, len(parts))), in_fp32(self.device):
                loss = objective.joint_loss(leaf, units, rows)
            by_vectors, *by_head = torch.autograd.grad(loss * self._scale, [leaf, *tensors], allow_unused=True)

            def back(part: LongArray, number: int) -> list[Tensor | None]:
                share = by_vectors[torch.from_numpy(part).to(self.device)].to(outputs[number].dtype)
                return list(torch.autograd.grad(outputs[number], tensors, share, allow_unused=True))

            _forget(tensors)
            _add(tensors, by_head)
            for gradients in self._map(back, parts):
                _add(tensors, gradients)
        except (MemoryError, RuntimeError) as error:
            raise self._no_memory(error, len(rows)) from None
        return float(loss.detach())

    @property
    def scaling(self) -> tuple[float, int]:
        """The factor of losses in fp16, and the steps since it was last changed; 1 in other precisions."""
        return self._scale, self._good_steps

    def start(self, scaling: tuple[float, int] | None = None) -> None:
        """Begin a training, as if there had been none before; or go on with the `scaling` of one that was cut off."""
        self._scale, self._good_steps = scaling or (_FIRST_SCALE if self.precision == "fp16" else 1.0, 0)

    def unscale(self, parameters: Mapping[str, Tensor]) -> bool:
        """Undo the scale of losses in fp16; False when the gradients have overflown, and the step is to be left out."""
        if self._scale == 1.0 and self.precision != "fp16":
            return True
        gradients = [p.grad for p in parameters.values() if p.grad is not None]
        for gradient in gradients:
            gradient.div_(self._scale)
        fine = all(bool(torch.isfinite(g).all()) for g in gradients)
        self._good_steps = self._good_steps + 1 if fine else 0
        if not fine:
            self._scale /= 2
        elif self._good_steps == 2000:
            self._scale, self._good_steps = self._scale * 2, 0
        return fine

    def run(self, work: Callable[[LongArray], Any], lengths: Lengths) -> Iterator[tuple[LongArray, Any]]:
        """Yield (rows, work(rows)) over all rows, without gradients; parts are a function of the lengths (n,) alone."""
        from nlpkit.embed.token_ids import plan_batches

        plans = plan_batches(lengths, RUN_TOKENS.get(self.device.type, RUN_TOKENS["cpu"]), pad=True)
        todo = [batch.rows for batch in plans]

        def quiet(part: LongArray, number: int) -> tuple[LongArray, Any]:
            with torch.no_grad(), self._cast():
                return part, work(part)

        yield from self._each(quiet, todo, lengths)

    def run_rows(self, work: Callable[[LongArray], Any], lengths: Lengths) -> Iterator[tuple[LongArray, Any]]:
        """Yield (rows, the values of these rows) over all rows, without gradients; `work` returns a value for each of its rows.

        On a CPU the bytes of a value depend on its row alone, not on the rows beside it. Products of few rows and of many are added
        up in different orders, and so are attention scores of different widths. So each batch has rows of one length, and for each
        length as many of them (`rows_of_length`); where there are too few, rows are repeated.
        """
        if not self._cpu:
            yield from self.run(work, lengths)
            return
        widths = np.maximum(np.asarray(lengths, np.int64), 1)
        parts = []
        for width in np.unique(widths)[::-1].tolist():
            rows, size = np.flatnonzero(widths == width), rows_of_length(width)
            parts += [rows[start : start + size] for start in range(0, len(rows), size)]

        def full(part: LongArray, number: int) -> tuple[LongArray, Any]:
            with torch.no_grad(), self._cast():
                return part, work(np.resize(part, rows_of_length(int(widths[part[0]]))))[: len(part)]

        yield from self._each(full, parts, lengths)

    def _cut(self, lengths: Lengths, rows: LongArray) -> list[LongArray]:
        """Return the rows in parts, longest first: on a CPU the cheapest ones, else of about as many tokens each."""
        order = np.argsort(-lengths, kind="stable")
        if self._cpu:
            return [rows[order[start:end]] for start, end in cheapest_parts(lengths[order])]
        ends = np.cumsum(lengths[order])
        total = int(ends[-1])
        most = -(-total // self.part_tokens)
        starts = ends - np.asarray(lengths[order], np.int64)
        which = np.minimum(starts * most // max(total, 1), most - 1)
        return [rows[order[which == i]] for i in range(most) if (which == i).any()]

    def _each(
        self, work: Callable[[LongArray, int], Any], parts: Sequence[LongArray], lengths: Lengths
    ) -> Generator[Any]:
        """Yield what `work` returns of each part, in order; a part that memory is too small for is halved."""
        if self._cpu:
            try:
                yield from self._map(work, parts)
            except (MemoryError, RuntimeError) as error:
                raise self._no_memory(error, max(map(len, parts))) from None
            return
        todo, number = list(parts[::-1]), 0
        while todo:
            part = todo.pop()
            try:
                result = work(part, number)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error) or len(part) == 1:
                    raise self._no_memory(error, len(part)) from None
            else:
                number += 1
                yield result
                continue
            # not within except: the traceback holds on to the memory
            free_gpu_memory(str(self.device))
            self.halvings += 1
            self.part_tokens = max(1, min(self.part_tokens, int(lengths[part].sum()) // 2))
            logger.warning("no memory on %s for %d rows at once: halving them", self.device, len(part))
            half = len(part) // 2
            todo += [part[half:], part[:half]]

    def _map(self, work: Callable[[LongArray, int], Any], parts: Sequence[LongArray]) -> Generator[Any]:
        """Yield what `work` returns of each part, in order; at most threads + 1 are under way or wait to be yielded."""
        if self._pool is None or len(parts) < 2:
            yield from (work(part, number) for number, part in enumerate(parts))
            return
        ahead: deque[Future[Any]] = deque()
        try:
            for number, part in enumerate(parts):
                ahead.append(self._pool.submit(work, part, number))
                if len(ahead) > self.threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()

    @contextmanager
    def _within(self, seed: Sequence[int]) -> Iterator[None]:
        entropy = np.random.SeedSequence([int(s) for s in seed])
        draws: Any = np.random.PCG64(entropy)
        if not self._cpu:
            draws = torch.Generator(self.device)
            draws.manual_seed(int(entropy.generate_state(1, np.uint64)[0] >> np.uint64(1)))
        with OwnDropout(draws), self._cast():
            yield

    def _cast(self) -> torch.autocast:
        """Return the context of the precision, on a CPU without torch's memory of cast weights.

        That is one for all threads: which of them cast a weight first, and has its gradients summed in 16 bits, would be chance.
        """
        kind, on = self.device.type, self._dtype is not None
        return torch.autocast(kind, self._dtype or torch.bfloat16, enabled=on, cache_enabled=not self._cpu)

    def _no_memory(self, error: BaseException, rows: int) -> BaseException:
        if not is_out_of_memory(error):
            return error
        return OutOfMemoryError(
            f"no memory on {self.device} to train with {rows} rows at once; lower `batch_size` or `max_tokens`, "
            "or use a smaller model"
        )


def rows_of_length(width: int) -> int:
    """Return how many rows of `width` tokens are run together on a CPU: one, or a multiple of four.

    A product with a vector, such as that of a head with one output, adds up otherwise in the rows after the last four.
    """
    return CPU_ROW_TOKENS // width // 4 * 4 or 1


def cheapest_parts(lengths: Lengths) -> list[tuple[int, int]]:
    """Return the parts (start, end) of rows sorted from long to short that are computed in the least time.

    A part is padded to its first row, so it takes (end − start) · lengths[start] + PART_COST; the sum is minimised by dynamic
    programming over the ends. No part has more tokens than CPU_PART_TOKENS or, where that is more, an eighth of all, but one row
    may.

    Args:
        lengths: (n,) tokens, n ≥ 1.
    """
    widths = np.maximum(np.asarray(lengths, np.int64), 1)
    n = len(widths)
    most = max(CPU_PART_TOKENS, -(-int(widths.sum()) // CPU_PARTS))
    costs = np.zeros(n + 1, np.int64)
    first = np.zeros(n + 1, np.int64)
    for end in range(1, n + 1):
        tokens = np.arange(end, 0, -1) * widths[:end]
        total = np.where(
            (tokens <= most) | (np.arange(end) == end - 1), costs[:end] + tokens + PART_COST, np.iinfo(np.int64).max
        )
        first[end] = total.argmin()
        costs[end] = total[first[end]]
    parts: list[tuple[int, int]] = []
    end = n
    while end:
        parts.append((int(first[end]), end))
        end = int(first[end])
    return parts[::-1]


def _forget(parameters: Sequence[Tensor]) -> None:
    for parameter in parameters:
        parameter.grad = None


def _add(parameters: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> None:
    kept: set[int] = set()
    for parameter, gradient in zip(parameters, gradients, strict=True):
        if gradient is None:
            continue
        if gradient.is_sparse:  # rows of an embedding
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad.add_(gradient.coalesce())
        elif parameter.grad is None:
            shared = (
                gradient._base is not None or gradient.data_ptr() in kept
            )  # of p + q, autograd gives one tensor twice
            if gradient.stride() != parameter.stride():  # of a transposed product; AdamW on a GPU takes none such
                parameter.grad = torch.empty_like(parameter).copy_(gradient.detach())
            else:
                parameter.grad = gradient.detach().clone() if shared else gradient.detach()
            kept.add(gradient.data_ptr())
        else:
            parameter.grad.add_(gradient)

"""Documents to embeddings: load a sentence-embedding model, run it over texts.

What the bytes depend on. On a CPU, with a model of the BERT family: the text, the model, the precision, and the
machine and library versions. Not the other texts, their order, the batches or the number of threads: texts are laid
end to end without padding, each product is computed row by row alike, and threads work on batches of their own
(one torch thread each). With other models and on GPUs the texts of a batch are padded to one width, so the batch a
text falls into can change last digits: the same texts in the same order with the same `batch_tokens` give the same
bytes, on any number of threads.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from nlpkit.embed.batching import Batch, plan_batches, split_batch
from nlpkit.embed.kinds import ENGINES, GRAPHS, PRECISIONS
from nlpkit.embed.models import DEFAULT_MODEL, ModelFiles, find_model, weights_fingerprint
from nlpkit.errors import InputError, OutOfMemoryError, UsageError, missing_extra, unknown_value

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from nlpkit.embed.engines import EncoderEngine, MovableTexts, Texts

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
logger = logging.getLogger("nlpkit.embed")

BATCH_TOKENS = {"cpu": 2048, "cuda": 32768, "mps": 8192}
STATIC_BATCH_TOKENS = 16384


@dataclass(frozen=True)
class EncodeReport:
    """Statistics of one call of `encode`; tokens are those of the texts, without special ones, over all documents."""

    n_docs: int
    n_unique: int  # texts that were run through the model
    tokens: int
    tokens_cut: int  # tokens the model did not see
    docs_cut: int
    seconds: float
    precision: str  # "fp32" | "bf16" | "fp16"
    device: str
    max_tokens: int  # special tokens included


class Encoder:
    """A loaded model; make one with `load_encoder`."""

    def __init__(
        self,
        files: ModelFiles,
        engine: EncoderEngine,
        *,
        device: str,
        batch_tokens: int,
        threads: int,
        cosine: float = 1.0,
        others: Sequence[EncoderEngine] = (),
    ) -> None:
        """Take an engine; `others` hold the same model on more devices, and read what it has read (MovableTexts)."""
        self.name, self.origin, self.path = files.name, files.origin, files.path
        self.dim, self.max_tokens = engine.dim, engine.max_tokens
        self.engine, self.precision, self.cosine = engine.name, engine.precision, cosine
        self.device, self.batch_tokens, self.threads = device, batch_tokens, threads
        self._engine, self._others = engine, others
        self.static: dict[str, Any] | None = None  # figures of an encoder that was tuned on the documents themselves

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer, without cut and padding; None for a model whose tokenizer is not of the library tokenizers."""
        tokenizer: Tokenizer | None = self._engine.tokenizer
        return tokenizer

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the weights, hex; computed when first asked for."""
        return weights_fingerprint(self.path)

    def encode(
        self,
        texts: Sequence[str],
        *,
        normalize: bool = True,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[FloatArray, EncodeReport]:
        """Return the embeddings of texts, (D, E) float32 in the order of `texts`, and a report.

        Equal texts are run once. Each text is cut to `max_tokens`. With `normalize` the vectors have length 1;
        without, they are what pooling gives, also for models that end in a norm of their own. `progress` is called
        in this thread with the number of documents done since the last call. An empty text has a vector like any other.

        Raises InputError for a text that is not a string, OutOfMemoryError when not even one document fits.
        """
        start = time.perf_counter()
        unique: dict[str, int] = {}
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(f"text {i + 1} of {len(texts)} is {type(text).__name__}, needed str")
            unique.setdefault(text, len(unique))
        which = np.fromiter((unique[text] for text in texts), np.int64, count=len(texts))
        copies = np.bincount(which, minlength=len(unique))
        read = self._engine.read([encodable(text) for text in unique])

        def done(rows: IntArray) -> None:
            if progress is not None:
                progress(int(copies[rows].sum()))

        vectors = self._run(read, normalize, done)
        embeddings = vectors if len(unique) == len(texts) else vectors[which]
        return embeddings, EncodeReport(
            n_docs=len(texts),
            n_unique=len(unique),
            tokens=int((read.counts * copies).sum()),
            tokens_cut=int((read.cut * copies).sum()),
            docs_cut=int(copies[read.cut > 0].sum()),
            seconds=time.perf_counter() - start,
            precision=self.precision,
            device=self.device,
            max_tokens=self.max_tokens,
        )

    def _run(self, read: Texts, normalize: bool, done: Callable[[IntArray], None]) -> FloatArray:
        """Embed all texts that were read: (U, E). `done` gets the rows of each batch."""
        import torch

        batches = plan_batches(read.lengths, self.batch_tokens, pad=self._engine.pads)
        out = np.zeros((len(read.lengths), self.dim), np.float32)

        def work(batch: Batch, read: Texts = read) -> IntArray:
            vectors = self._embed(read, batch)
            out[batch.rows] = unit_length(vectors) if normalize else vectors
            return batch.rows

        if self.device != "cpu":
            finished = self._on_gpus(read, batches, work) if self._others else self._in_turn(read, batches, work)
            with closing(finished):
                for rows in finished:
                    done(rows)
            return out
        torch_threads = torch.get_num_threads()
        torch.set_num_threads(1)  # threads within a product split its sums, and wait for each other
        try:
            with closing(self._in_parallel(batches, work)) as finished:  # closed: nothing runs on after an error
                for rows in finished:
                    done(rows)
        finally:
            torch.set_num_threads(torch_threads)
        return out

    def _in_parallel(self, batches: Sequence[Batch], work: Callable[[Batch], IntArray]) -> Generator[IntArray]:
        """Run batches on CPU threads, one torch thread each; yield the rows of those that are done."""
        import torch

        if self.threads == 1 or len(batches) < 2:
            yield from map(work, batches)
            return
        with ThreadPoolExecutor(self.threads, "embed", torch.set_num_threads, (1,)) as pool:
            futures = [pool.submit(work, batch) for batch in batches]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                for future in futures:
                    future.cancel()

    def _on_gpus(
        self, read: Texts, batches: Sequence[Batch], work: Callable[[Batch, Texts], IntArray]
    ) -> Generator[IntArray]:
        """Run batch i on device i mod n, a thread for each device; yield the rows of those that are done.

        Batches are dealt by their number, from long to short texts, and not to whichever device is free: so a batch is always computed
        by the same one. When one device fails, the others end with the batch they have.
        """
        texts = [read, *(cast("MovableTexts", read).on(engine) for engine in self._others)]
        finished: SimpleQueue[IntArray | None] = SimpleQueue()
        failed = Event()

        def run(lane: int) -> None:
            try:
                here = texts[lane]
                for rows in self._in_turn(here, batches[lane :: len(texts)], lambda batch: work(batch, here)):
                    finished.put(rows)
                    if failed.is_set():
                        return
            except BaseException:
                failed.set()
                raise
            finally:
                finished.put(None)

        with ThreadPoolExecutor(len(texts), "gpu") as pool:
            futures = [pool.submit(run, lane) for lane in range(len(texts))]
            running = len(texts)
            try:
                while running:
                    rows = finished.get()
                    if rows is None:
                        running -= 1
                    else:
                        yield rows
            finally:
                failed.set()
            for future in futures:
                future.result()

    def _in_turn(self, read: Texts, batches: Sequence[Batch], work: Callable[[Batch], IntArray]) -> Generator[IntArray]:
        """Run batches on a GPU; one it has not the memory for is halved, and so are those as large that follow."""
        from nlpkit.embed.hardware import free_gpu_memory

        todo, most = list(batches[::-1]), sum(batch.tokens for batch in batches)
        while todo:
            batch = todo.pop()
            if batch.tokens <= most or len(batch.rows) == 1:
                try:
                    rows = work(batch)
                except OutOfMemoryError:
                    if len(batch.rows) == 1:
                        raise
                else:
                    yield rows
                    continue
                # Not within except: the traceback holds on to the memory.
                most = batch.tokens // 2
                logger.warning("no memory on %s for a batch of %d tokens: halving it", self.device, batch.tokens)
                free_gpu_memory(self.device)
            todo.extend(split_batch(batch, read.lengths, pad=self._engine.pads)[::-1])

    def _embed(self, read: Texts, batch: Batch) -> FloatArray:
        """Embed one batch: (B, E)."""
        from nlpkit.embed.hardware import is_out_of_memory

        try:
            return read.embed(batch)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise OutOfMemoryError(
                f"no memory on {self.device} to embed {len(batch.rows)} documents of up to {batch.groups[0][1]} "
                f"tokens with {self.name}; lower batch_tokens (now {self.batch_tokens}), max_tokens or the number of "
                "threads, or take a smaller model"
            ) from None


def load_encoder(
    name: str = DEFAULT_MODEL,
    *,
    device: str | None = None,
    engine: str = "auto",
    precision: str = "auto",
    batch_tokens: int | None = None,
    max_tokens: int | None = None,
    threads: int | None = None,
    offline: bool = False,
) -> Encoder:
    """Find a model, load it and return its encoder.

    device        "cpu", "cuda", "cuda:1", "mps", or several GPUs, "cuda:0,cuda:1"; None takes the best there is
    engine        what runs the model: "torch", "openvino", "onnx", "static" (of a static encoder); "auto" is the fastest
                  whose vectors have a cosine of at least 0.9999 to those in fp32: torch, in one of its precisions (choice.py)
    precision     of the products: "fp32", "bf16", "fp16" (cuda only), "int8" (onnx only); "auto" is bf16 where the hardware
                  computes in it and where that is as close
    batch_tokens  tokens run at once; None takes what suits the device (BATCH_TOKENS)
    max_tokens    cut texts here, special tokens included; None takes the model's own limit
    threads       CPU threads; None takes all this process may use. The embeddings do not depend on it
    offline       never ask the hub

    Raises MissingError (no such model, no torch, an engine that is not installed), UsageError (an option that cannot be), OutOfMemoryError.
    """
    if engine not in ENGINES:
        raise unknown_value("engine", engine, ENGINES)
    if precision not in PRECISIONS:
        raise unknown_value("precision", precision, PRECISIONS)
    for option, value in (("batch_tokens", batch_tokens), ("max_tokens", max_tokens), ("threads", threads)):
        if value is not None and value < 1:
            raise UsageError(f"`{option}={value}`: at least 1 is needed")
    if any(importlib.util.find_spec(module) is None for module in ("torch", "tokenizers", "safetensors")):
        raise missing_extra("sbert-embed", "neural")
    files = find_model(name, offline=offline)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # said aloud, it does not warn when a process forks

    from nlpkit.embed.choice import choose_engine
    from nlpkit.embed.engines import several
    from nlpkit.embed.hardware import available_cpus, choose_devices, is_out_of_memory

    where, *more = choose_devices("cpu" if device is None and (engine in GRAPHS or precision == "int8") else device)
    threads = threads or available_cpus()
    try:
        loaded, cosine = choose_engine(
            files.path, device=where, engine=engine, precision=precision, max_tokens=max_tokens, threads=threads
        )
        others = several(loaded, files.path, more, max_tokens=max_tokens)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemoryError(f"no memory on {where} to load {files.name}; take a smaller model") from None
    static = loaded.name == "static"
    usual = STATIC_BATCH_TOKENS if static else BATCH_TOKENS.get(where.type, BATCH_TOKENS["cpu"])
    return Encoder(
        files,
        loaded,
        device="cpu" if static else ",".join(map(str, (where, *more))),
        batch_tokens=batch_tokens or usual,
        threads=threads,
        cosine=cosine,
        others=others,
    )


def unit_length(vectors: FloatArray) -> FloatArray:
    """Return vectors (B, E) divided by their Euclidean length, which is summed in float64; zero stays zero."""
    lengths = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1, keepdims=True))
    unit: FloatArray = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit


def encodable(text: str) -> str:
    """Return the text with lone surrogates, which JSON can bring in and UTF-8 cannot hold, replaced by '?'."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text

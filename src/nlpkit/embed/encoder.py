"""Documents to embeddings: load a sentence-embedding model, run it over texts.

What the bytes depend on. On a CPU: the text, the model, the precision, and the machine and library versions. Not the other texts,
their order, the batches or the number of threads: texts are laid end to end without padding, or run one at a time; each product has
one number of rows; and threads work on batches of their own (one torch thread each). `choice.keeps_vectors` tries it out when a
model is loaded. On a GPU it is the same where texts are laid end to end (bf16, fp16). Where they are padded, the batch a text falls into
can change last digits: the same texts in the same order with the same `batch_tokens` give the same bytes. A vector that a cache has is
taken as it was made, perhaps by another machine.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from nlpkit.embed.models import ModelFiles, files_fingerprint, weights_fingerprint
from nlpkit.embed.token_ids import Batch, plan_batches, split_batch
from nlpkit.errors import InputError, OutOfMemoryError, UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from nlpkit.embed.engines import EncoderEngine, MovableTexts, Texts

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
logger = logging.getLogger("nlpkit.embed")

LONG = ("truncate", "mean", "max")
BATCH_TOKENS = {"cpu": 1024, "cuda": 32768, "mps": 8192}
STATIC_BATCH_TOKENS = 16384
REVISION = 2  # of what a vector depends on besides the model and its settings: raise it, and caches are no longer used
_STEP, _FIRST = 2048, 128  # texts on a CPU that are embedded before they are stored: at most, and to begin with
_SECONDS = 20.0  # that this may take; then fewer are
_CALLS = 4  # at a time, on a GPU


@dataclass(frozen=True)
class EncodeReport:
    """Statistics of one call of `encode`; tokens are those of the texts, without special ones, over all documents."""

    n_docs: int
    n_unique: int  # different texts
    n_known: int  # documents whose vectors the cache had
    tokens: int
    tokens_cut: int  # tokens the model did not see
    docs_cut: int
    docs_long: int  # that have more tokens than the model reads at once
    seconds: float
    precision: str  # "fp32" | "bf16" | "fp16"
    device: str
    max_tokens: int  # special tokens included


class VectorCache(Protocol):
    """Vectors that were made before, by text."""

    def get(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.bool_], IntArray, FloatArray]:
        """Return which texts are there (n,), their tokens and tokens cut (n, 2), and their vectors (n, E)."""

    def put(self, texts: Sequence[str], counts: IntArray, vectors: FloatArray) -> None:
        """Keep the vectors (n, E) of texts, and their tokens and tokens cut (n, 2)."""


class Encoder:
    """A loaded model; make one with `load_encoder`.

    cache: where vectors are looked up and stored, of texts by this model with these settings (`identity`).
    """

    cache: VectorCache | None = None

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
        long: str = "truncate",
        prompt: str = "",
        truncate_dim: int | None = None,
    ) -> None:
        """Take an engine; `others` hold the same model on more devices, and read what it has read (MovableTexts)."""
        self.name, self.origin, self.path = files.name, files.origin, files.path
        self.max_tokens = engine.max_tokens
        self.dim, self.whole_dim = truncate_dim or engine.dim, engine.dim
        self.engine, self.precision, self.cosine = engine.name, engine.precision, cosine
        self.device, self.batch_tokens, self.threads = device, batch_tokens, threads
        self.long, self.prompt = long, encodable(prompt)
        self._engine, self._others = engine, others
        self.static: dict[str, Any] | None = None  # figures of an encoder that was tuned on the documents themselves

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer, without cut and padding; None for a model whose tokenizer is not of the library tokenizers."""
        tokenizer: Tokenizer | None = self._engine.tokenizer
        return tokenizer

    @property
    def at_once(self) -> int:
        """Calls of `encode` that are worth running at a time: on a GPU some read texts while another computes."""
        return _CALLS if self.device != "cpu" and not self._engine.pads else 1

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the weights, hex; computed when first asked for."""
        return weights_fingerprint(self.path)

    @property
    def identity(self) -> dict[str, Any]:
        """All that the stored vector of a text depends on, which is whole (`whole_dim`) and not normalised."""
        return {
            "files": files_fingerprint(self.path) if self.static is None else self.fingerprint,
            "engine": self.engine,
            "device": self.device.partition(":")[0],
            "precision": self.precision,
            "max_tokens": self.max_tokens,
            "long": self.long,
            "prompt": self.prompt,
            "revision": REVISION,
        }

    def encode(
        self,
        texts: Sequence[str],
        *,
        normalize: bool = True,
        copies: IntArray | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[FloatArray, EncodeReport]:
        """Return the embeddings of texts, (D, E) float32 in the order of `texts`, and a report.

        Equal texts are run once, texts that the cache has not at all. With x_w the vector that pooling gives for window w of a
        text and n_w the tokens of the window,

            truncate  x = x_1     mean  x = Σ_w n_w x_w / Σ_w n_w     max  x_e = max_w x_we

        of which the first E numbers are kept. Windows hold at most `max_tokens` and end where a sentence does, if one ends in
        their second half, else between words. With `normalize` the vectors have length 1; without, they are what pooling gives,
        also for models that end in a norm of their own. `copies` (D,) are the documents that each text stands for in the report,
        1 by default. `progress` is called in this thread with the number of documents done since the last call. An empty text
        has a vector like any other.

        Raises InputError for a text that is not a string, OutOfMemoryError when not even one document fits.
        """
        start = time.perf_counter()
        unique: dict[str, int] = {}
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(f"text {i + 1} of {len(texts)} is {type(text).__name__}, needed str")
            unique.setdefault(text, len(unique))
        which = np.fromiter((unique[text] for text in texts), np.int64, count=len(texts))
        documents = np.bincount(which, copies, minlength=len(unique)).astype(np.int64)
        known, counts, vectors = self._look_up([encodable(self.prompt + text) for text in unique], documents, progress)
        vectors = vectors[:, : self.dim]
        if normalize:
            vectors = unit_length(vectors)
        return vectors if len(unique) == len(texts) else vectors[which], EncodeReport(
            n_docs=int(documents.sum()),
            n_unique=len(unique),
            n_known=int(documents[known].sum()),
            tokens=int(counts[:, 0] @ documents),
            tokens_cut=int(counts[:, 1] @ documents),
            docs_cut=int(documents[counts[:, 1] > 0].sum()),
            docs_long=int(documents[counts[:, 0] > self.max_tokens].sum()),
            seconds=time.perf_counter() - start,
            precision=self.precision,
            device=self.device,
            max_tokens=self.max_tokens,
        )

    def _check_numbers(self, vectors: FloatArray, documents: IntArray) -> None:
        """Raise InputError when vectors have values that are not finite: too large for a precision, or of a damaged model."""
        broken = ~np.isfinite(vectors).all(axis=1)
        if broken.any():
            remedy = "try `precision=fp32`" if self.precision != "fp32" else "download the model again"
            raise InputError(
                f"{self.name} in {self.precision} gives vectors with values that are not finite to {int(documents[broken].sum())} of "
                f"{int(documents.sum())} documents; {remedy}"
            )

    def _look_up(
        self, texts: Sequence[str], documents: IntArray, progress: Callable[[int], None] | None
    ) -> tuple[npt.NDArray[np.bool_], IntArray, FloatArray]:
        """Return which distinct texts the cache has (U,), tokens and tokens cut (U, 2) and vectors (U, E), made and stored if need be."""
        known = np.zeros(len(texts), bool)
        counts, vectors = np.zeros((len(texts), 2), np.int64), np.zeros((len(texts), self.whole_dim), np.float32)
        for part in self._parts(len(texts)):
            if self.cache is not None:
                known[part], counts[part], vectors[part] = self.cache.get(texts[part])
                if progress is not None and known[part].any():
                    progress(int(documents[part][known[part]].sum()))
            new, of_new, where = texts[part], documents[part], part
            if known[part].any():
                missing = part.start + np.flatnonzero(~known[part])
                new, of_new, where = [texts[i] for i in missing.tolist()], documents[missing], missing
            if not new:
                continue

            def done(rows: IntArray, of_new: IntArray = of_new) -> None:
                if progress is not None:
                    progress(int(of_new[rows].sum()))

            counts[where], vectors[where] = embedded = self._embed_texts(new, done)
            self._check_numbers(embedded[1], of_new)
            if self.cache is not None:
                self.cache.put(new, *embedded)
        return known, counts, vectors

    def _parts(self, n: int) -> Iterator[slice]:
        """Yield the parts of n texts that are stored when they are done; no vector depends on which texts are in one."""
        step, start = (min(_FIRST, _STEP) if self.device == "cpu" else max(1, n)), 0
        while start < n:
            begin = time.perf_counter()
            yield slice(start, start + step)
            start += step
            seconds = time.perf_counter() - begin
            if seconds > _SECONDS:
                step = max(1, step // 2)
            elif seconds < _SECONDS / 2 and 2 * step <= _STEP:
                step *= 2

    def _embed_texts(self, texts: Sequence[str], done: Callable[[IntArray], None]) -> tuple[IntArray, FloatArray]:
        """Return tokens and tokens cut (U, 2) and vectors (U, E) of texts; `done` gets the rows of those that are done."""
        read = self._engine.read(texts)
        counts = np.column_stack([read.counts, read.cut])
        if self.long == "truncate" or not read.cut.any():
            return counts, self._run(read, done)
        windows = [self._windows(text) if cut else [text] for text, cut in zip(texts, read.cut.tolist(), strict=True)]
        ends = np.cumsum([len(parts) for parts in windows])
        firsts = np.concatenate([[0], ends[:-1]])
        read = self._engine.read([part for parts in windows for part in parts])
        counts[:, 1] = np.add.reduceat(read.cut, firsts)
        vectors = self._run(read, lambda rows: done(np.flatnonzero(np.isin(firsts, rows))))
        if self.long == "max":
            return counts, np.maximum.reduceat(vectors, firsts)
        weights = np.maximum(read.counts - read.cut, 1).astype(np.float64)
        sums = np.add.reduceat(vectors * weights[:, None], firsts)
        return counts, (sums / np.add.reduceat(weights, firsts)[:, None]).astype(np.float32)

    def _windows(self, text: str) -> list[str]:
        """Return a text, which begins with the prompt, in parts that the model sees whole, each with the prompt."""
        from nlpkit.embed.token_ids import special_ids, windows

        tokenizer = getattr(self._engine, "tokenizer", None)
        if tokenizer is None:
            raise UsageError(
                f"`long={self.long}`: {self.name} has no tokenizer with token positions; use `long=truncate`"
            )
        prompt = len(tokenizer.encode(self.prompt, add_special_tokens=False).ids) if self.prompt else 0
        size = self.max_tokens - sum(map(len, special_ids(tokenizer))) - prompt
        if size < 1:
            raise UsageError(
                f"`prompt`: its {prompt} tokens leave no room for a text, because the model reads {self.max_tokens} "
                "tokens"
            )
        return [self.prompt + part for part in windows(tokenizer, text[len(self.prompt) :], size)]

    def _run(self, read: Texts, done: Callable[[IntArray], None]) -> FloatArray:
        """Embed all texts that were read: (U, E). `done` gets the rows of each batch."""
        import torch

        batches = plan_batches(read.lengths, self.batch_tokens, pad=self._engine.pads)
        out = np.zeros((len(read.lengths), self.whole_dim), np.float32)

        def work(batch: Batch, read: Texts = read) -> IntArray:
            out[batch.rows] = self._embed(read, batch)
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
                f"tokens with {self.name}; lower batch_tokens (now {self.batch_tokens}), max_tokens or the number "
                "of threads, or use a smaller model"
            ) from None


def unit_length(vectors: FloatArray) -> FloatArray:
    """Return vectors (B, E) divided by their Euclidean length, which is summed in float64; zero stays zero."""
    unit = np.zeros(vectors.shape, np.float32)
    for start in range(0, len(vectors), _STEP):
        part = vectors[start : start + _STEP]
        lengths = np.sqrt(np.square(part, dtype=np.float64).sum(axis=1, keepdims=True))
        unit[start : start + _STEP] = part / np.maximum(lengths, 1e-12)
    return unit


def encodable(text: str) -> str:
    """Return the text with lone surrogates, which JSON can bring in and UTF-8 cannot hold, replaced by '?'."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text

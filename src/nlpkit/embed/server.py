"""Embeddings by a server that speaks OpenAI's protocol (ollama, vLLM, LM Studio, llama.cpp or a hosted model): URL#MODEL.

The texts are sent to this address and nowhere else. A server cuts long texts, pads or rounds as it likes, so the same text may have
other last digits beside other texts; nlpkit sends each text once, and keeps its vector in the cache.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from nlpkit.embed.encoder import Encoder
from nlpkit.embed.models import ModelFiles, is_address
from nlpkit.embed.token_ids import NO_LIMIT, windows
from nlpkit.errors import InputError, MissingError, UsageError
from nlpkit.platform.llm_options import CHARACTERS_A_TOKEN
from nlpkit.platform.plain import to_json
from nlpkit.platform.types import Float32Array, LongArray
from nlpkit.platform.web import TOO_LONG, NotTakenError, ask, endpoint, without_key

T = TypeVar("T")
R = TypeVar("R")

TEXTS, TOKENS = 64, 8192  # of one request, at most
REQUESTS = 4  # at a time
STORED = 512  # texts that are embedded before their vectors are stored
TIMEOUT = 300.0  # seconds: a small machine needs that for a request
# About one token: four letters, or a character beyond Latin letters, as in `nlpkit.platform.llm_options.estimated_tokens`.
_TOKEN = re.compile(rf"[\u0300-\U0010ffff]|[^\u0300-\U0010ffff]{{1,{CHARACTERS_A_TOKEN}}}")
_FEWER = (400, 413, 422, 500)  # codes of servers that take fewer texts, or fewer tokens, at a time


class Server:
    """A model at an address. url, model: its parts; host: for messages and reports."""

    def __init__(self, name: str) -> None:
        """Take URL#MODEL. Raises UsageError when it is none."""
        self.url, _, self.model = name.partition("#")
        self.address = endpoint(self.url, "embeddings", "encoder")
        self.host = urlsplit(self.url).netloc
        if not self.model:
            raise UsageError(
                f"`encoder={name}`: name the model of the server after #, such as http://localhost:11434/v1#nomic-embed-text",
                parameter="encoder",
            )

    def vectors(self, texts: Sequence[str]) -> Float32Array:
        """Return the vectors (n, E) of texts.

        Raises:
            NotTakenError: the server refuses them; MissingError: it cannot be reached; InputError: what it sends is not a vector of
            numbers for each text, or a single text is too long for it.
        """
        try:
            content = ask(
                self.address, {"model": self.model, "input": list(texts)}, url=self.url, parameter="encoder", timeout=TIMEOUT
            )  # fmt: skip
        except NotTakenError as refusal:
            if len(texts) == 1 and refusal.code in _FEWER and TOO_LONG.search(refusal.reply):
                raise InputError(
                    f"{refusal}: the text '{texts[0][:40]}…' of about {_count(texts[0]):,} tokens is too long for {self.model}. Give "
                    "`max_tokens` (about as many as the model reads) with `long=mean`, which reads texts in parts",
                    parameter="encoder",
                ) from None
            raise
        return self._read(content, len(texts))

    def _read(self, content: bytes, n: int) -> Float32Array:
        """Return the vectors in an answer for n texts."""
        try:
            rows = json.loads(content)["data"]
            places = [int(row.get("index", i)) for i, row in enumerate(rows)]
            lists = [row["embedding"] for row in rows]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            shown = without_key(content[:80].decode("utf-8", "replace"))
            raise InputError(f"{self.url} sent no embeddings: {shown}", parameter="encoder") from None
        if sorted(places) != list(range(n)):
            raise InputError(
                f"{self.url} sent {len(rows)} vectors for {n} texts"
                + ("" if len(rows) != n else ", with wrong places"),
                parameter="encoder",
            )
        try:
            vectors = np.array(lists, np.float64)
        except (ValueError, TypeError):  # of several lengths, or no numbers
            vectors = np.zeros(0)
        if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
            raise InputError(
                f"{self.url} sent embeddings that are not vectors of numbers, all of the same length",
                parameter="encoder",
            )
        ordered = np.empty(vectors.shape, np.float32)
        ordered[places] = vectors
        return ordered


class _ServerTexts:
    """Texts as they are sent; tokens are estimated."""

    def __init__(self, texts: Sequence[str], max_tokens: int) -> None:
        self.counts = np.fromiter(map(_count, texts), np.int64, count=len(texts))
        self.cut = np.maximum(self.counts - max_tokens, 0)
        self.lengths = np.maximum(self.counts - self.cut, 1)
        ends = (
            next(islice(_TOKEN.finditer(text), max_tokens, None)).start() if cut else None
            for text, cut in zip(texts, self.cut, strict=True)
        )
        self.texts = [text[:end] for text, end in zip(texts, ends, strict=True)]


class _ServerEngine:
    """What an encoder needs to know of a model that runs elsewhere."""

    name, pads, precision, tokenizer = "server", True, "unknown", None

    def __init__(self, dim: int, max_tokens: int | None) -> None:
        self.dim, self.max_tokens = dim, max_tokens or NO_LIMIT

    def read(self, texts: Sequence[str]) -> _ServerTexts:
        return _ServerTexts(texts, self.max_tokens)


class ServerEncoder(Encoder):
    """A model at an address; make one with `load_server`. A text without a character but white space is not sent, its vector is 0."""

    def __init__(self, name: str, server: Server, dim: int, max_tokens: int | None, **settings: Any) -> None:
        files = ModelFiles(name, Path(), server.host)
        engine: Any = _ServerEngine(dim, max_tokens)
        super().__init__(files, engine, device="server", batch_tokens=TOKENS, threads=REQUESTS, **settings)
        self._server, self._most = server, TEXTS

    @property
    def fingerprint(self) -> str:
        """sha256 of the name of the model and of the length of its vectors: no more is known of it, and it may move to another host."""
        return hashlib.sha256(to_json([self._server.model, self.whole_dim]).encode()).hexdigest()

    @property
    def identity(self) -> dict[str, Any]:
        """All that is known of what the stored vector of a text depends on."""
        return {**super().identity, "files": self.fingerprint, "address": self._server.address}

    def _parts(self, n: int) -> Iterator[slice]:
        yield from (slice(start, start + STORED) for start in range(0, n, STORED))

    def _windows(self, text: str) -> list[str]:
        size = self.max_tokens - _count(self.prompt)
        if size < 1:
            raise UsageError(f"`prompt`: it leaves no room for a text in {self.max_tokens} tokens (`max_tokens`)")
        return [self.prompt + part for part in windows(_ESTIMATE, text[len(self.prompt) :], size)]

    def _run(self, read: Any, done: Callable[[LongArray], None]) -> Float32Array:
        """Return the vectors of texts (U, E), several requests at a time; `done` gets the rows of each."""
        out = np.zeros((len(read.texts), self.whole_dim), np.float32)
        sent = np.flatnonzero([bool(text[len(self.prompt) :].strip()) for text in read.texts])
        tokens = np.cumsum(read.lengths[sent])
        ends, first = [0], 0
        while first < len(sent):
            limit = np.searchsorted(tokens, (tokens[first - 1] if first else 0) + TOKENS, side="right")
            first = int(min(max(limit, first + 1), first + TEXTS))
            ends.append(first)
        batches = (sent[start:stop] for start, stop in pairwise(ends))
        for rows, vectors in _at_once(lambda rows: self._request([read.texts[i] for i in rows]), batches, REQUESTS):
            out[rows] = vectors
            done(rows)
        return out

    def _request(self, texts: list[str]) -> Float32Array:
        """Return the vectors of texts, in smaller requests where the server does not take as many."""
        if len(texts) > self._most:
            half = len(texts) // 2
            return np.concatenate([self._request(texts[:half]), self._request(texts[half:])])
        try:
            vectors = self._server.vectors(texts)
        except NotTakenError as refusal:
            if len(texts) == 1 or refusal.code not in _FEWER:
                raise
            self._most = min(self._most, len(texts) // 2)
            return self._request(texts)
        if vectors.shape[1] != self.whole_dim:
            raise InputError(
                f"{self._server.url} sent vectors of {vectors.shape[1]} numbers, and of {self.whole_dim} before; does it serve one model?",
                parameter="encoder",
            )
        return vectors


def load_server(
    name: str,
    *,
    device: str | None,
    engine: str,
    precision: str,
    max_tokens: int | None,
    offline: bool,
    long: str | None,
    prompt: str | None,
    truncate_dim: int | None,
) -> Encoder:
    """Return the encoder at an address URL#MODEL, which is asked for one vector. The settings are those of `load_encoder`.

    Raises:
        UsageError: the address is none, or a setting is the server's; MissingError: it cannot be reached, refuses, or is not to be asked;
        InputError: it sends no embeddings.
    """
    assert is_address(name)
    server = Server(name)
    for option, value, usual in (
        ("device", device, None),
        ("engine", engine, "auto"),
        ("precision", precision, "auto"),
    ):
        if value != usual:
            raise UsageError(
                f"`{option}={value}`: the server at {server.host} chooses it; leave it out", parameter=option
            )
    if offline:
        raise MissingError(
            f"{name} is not asked, because texts would be sent to {server.host} (`offline`)", parameter="encoder"
        )
    dim = server.vectors(["a"]).shape[1]
    if truncate_dim is not None and truncate_dim > dim:
        raise UsageError(f"`truncate_dim={truncate_dim}`: the vectors of {server.model} have {dim} numbers")
    long = long or ("truncate" if max_tokens else "mean")
    return ServerEncoder(name, server, dim, max_tokens, long=long, prompt=prompt or "", truncate_dim=truncate_dim)


class _Estimate:
    """Offsets of what is about a token each, as a tokenizer gives them."""

    def encode(self, text: str, *, add_special_tokens: bool) -> Any:
        return SimpleNamespace(offsets=[match.span() for match in _TOKEN.finditer(text)])


_ESTIMATE: Any = _Estimate()


def _count(text: str) -> int:
    return sum(1 for _ in _TOKEN.finditer(text))


def _at_once(work: Callable[[T], R], items: Iterable[T], n: int) -> Iterator[tuple[T, R]]:
    """Yield (item, work(item)) as they are done, n at a time; after an error, or Ctrl-C, nothing is waited for."""
    todo, results, stopped = SimpleQueue[T](), SimpleQueue[tuple[T, R | None, BaseException | None]](), Event()
    n_items = 0
    for item in items:
        todo.put(item)
        n_items += 1

    def run() -> None:
        while not stopped.is_set() and not todo.empty():
            try:
                item = todo.get_nowait()
            except Exception:  # another thread was faster
                return
            try:
                results.put((item, work(item), None))
            except BaseException as error:
                results.put((item, None, error))

    for _ in range(min(n, n_items)):
        Thread(target=run, daemon=True, name="nlpkit embeddings").start()
    try:
        for _ in range(n_items):
            item, result, error = results.get()
            if error is not None:
                raise error
            yield item, result  # type: ignore[misc]
    finally:
        stopped.set()

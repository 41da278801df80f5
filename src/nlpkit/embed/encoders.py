"""Opened encoders with their cache of vectors, and the embeddings of documents batch by batch.

Each process that writes to the cache has a shard of its own, two files that only grow: `.vectors` (float32, E to a row) and
`.entries` (ENTRY), whose row says which text the vector is of. A vector is written before its entry, so a process that is
killed leaves whole rows and a tail that nobody reads. A row that does not agree with its checksums counts as absent. There
are no locks, which network file systems do not keep: what others write is seen at the next look, and a text that two
processes embed at the same moment is stored twice.

SQLite, which would be less code, cannot be shared over a network, loses all that lies behind a damaged page, and takes a third more space
(docs/benchmarks/embeddings.md).

Parts, in this order:
- Vectors by the texts that they were made from: a folder of append-only files that several processes and machines may
  share.
- Whether an encoder knows the language of the texts that it is about to encode.
- Encoders with their cache, and the embeddings of one batch of documents after the other.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import embedding_column
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.atomic import LITTER, naming
from nlpkit.platform.types import BoolArray, Float32Array, LongArray

if TYPE_CHECKING:
    from nlpkit.embed.encoder import Encoder, EncodeReport

ENTRY = np.dtype([("key", "<u8", 2), ("tokens", "<i4"), ("cut", "<i4"), ("vector_sum", "<u4"), ("entry_sum", "<u4")])
IDENTITY, ENTRIES, VECTORS = "identity.json", ".entries", ".vectors"
_ROWS = 1 << 32  # place of a vector = shard · _ROWS + row
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD3A2646D, 0xFD7046C5], np.uint32)

log = logging.getLogger("nlpkit.io")


@dataclass(slots=True)
class _Shard:
    """A pair of files. rows: how many of its entries are in the index. damaged: that it is has been said."""

    entries: Path
    rows: int = 0
    damaged: bool = False

    @property
    def vectors(self) -> Path:
        return self.entries.with_suffix(VECTORS)

    def tell_damage(self) -> None:
        if not self.damaged:
            log.warning(
                "%s is damaged: the texts whose embeddings there do not agree with their checksums are embedded again",
                self.entries.with_suffix(""),
            )
        self.damaged = True


class VectorStore:
    """Vectors (E,) and counts of tokens by text, of one model with its settings, in a folder. Memory: 16 bytes a vector.

    Threads may use one store at the same time.

    The key is a hash of text and identity, so a vector of another model is never taken for one of this, whatever lies in the folder.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], dim: int) -> None:
        """Open the folder, which is made as soon as something is stored. identity: all that the vector of a text depends on.

        Raises:
            InputError: it cannot be read.
        """
        self.folder, self.dim = folder, dim
        self._identity = to_json(dict(identity))
        self._salt = hashlib.blake2b(self._identity.encode(), digest_size=32).digest()
        self._shards: list[_Shard] = []
        self._index: list[tuple[npt.NDArray[np.uint64], LongArray]] = []  # sorted halves of keys, and places
        self._own: _Shard | None = None
        self._full = False
        self._lock = Lock()
        self._update()

    def get(self, texts: Sequence[str]) -> tuple[BoolArray, LongArray, Float32Array]:
        """Return which texts are there (n,), their tokens and tokens cut (n, 2), and their vectors (n, E); 0 for the others.

        Raises:
            InputError: the folder cannot be read.
        """
        keys = self._keys(texts)
        with self._lock:
            self._update()
            places = self._places(keys[:, 0])
            there = places >= 0
            at = np.flatnonzero(there)
            at = at[np.argsort(places[at])]
            entries, rows = self._read(places[at])
        whole = (entries["entry_sum"] == _sums(entries)) & (entries["vector_sum"] == _checksums(rows))
        for number in np.unique(places[at][~whole] // _ROWS).tolist():
            self._shards[number].tell_damage()
        whole &= (entries["key"] == keys[at]).all(axis=1)
        there[at] = whole
        counts, vectors = np.zeros((len(texts), 2), np.int64), np.zeros((len(texts), self.dim), np.float32)
        counts[at[whole]] = np.column_stack([entries["tokens"], entries["cut"]])[whole]
        vectors[at[whole]] = rows[whole]
        return there, counts, vectors

    def put(self, texts: Sequence[str], counts: LongArray, vectors: Float32Array) -> None:
        """Store the vectors (n, E) of texts, their tokens and tokens cut (n, 2); once that fails nothing more is stored, with a warning."""
        if self._full or not len(texts):
            return
        rows = np.ascontiguousarray(vectors, "<f4")
        entries = np.empty(len(rows), ENTRY)
        entries["key"] = self._keys(texts)
        entries["tokens"], entries["cut"] = counts.T
        entries["vector_sum"] = _checksums(rows)
        entries["entry_sum"] = _sums(entries)
        try:
            with self._lock:
                self._own = self._own or self._begin()
                _append(self._own.vectors, rows)
                _append(self._own.entries, entries)
        except OSError as error:
            self._full = True
            log.warning(
                "%s: %s; the embeddings that are stored there stay, those made from here on are not stored",
                self.folder,
                error.strerror,
            )

    def _begin(self) -> _Shard:
        """Make the folder; return a shard for this process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        identity, name = self.folder / IDENTITY, f"{time.time_ns()}-{os.urandom(4).hex()}"
        if not identity.exists():
            part = identity.with_suffix(f".{name}.part")
            part.write_text(self._identity + "\n", encoding="utf-8", newline="\n")
            part.replace(identity)
        return _Shard(self.folder / f"{name}{ENTRIES}")

    def _keys(self, texts: Sequence[str]) -> npt.NDArray[np.uint64]:
        """Return the keys (n, 2) of texts."""
        digests = [hashlib.blake2b(text.encode(), digest_size=16, key=self._salt).digest() for text in texts]
        return np.frombuffer(b"".join(digests), "<u8").reshape(-1, 2)

    def _places(self, halves: npt.NDArray[np.uint64]) -> LongArray:
        """Return the places (n,) of the newest vectors whose keys begin so, -1 where there is none."""
        places = np.full(len(halves), -1, np.int64)
        for known, where in self._index:
            at = np.searchsorted(known, halves, side="right") - 1
            places = np.where((at >= 0) & (known[at] == halves), np.maximum(places, where[at]), places)
        return places

    def _read(self, places: LongArray) -> tuple[npt.NDArray[Any], Float32Array]:
        """Return the entries (n,) and vectors (n, E) at sorted places, zeros for what is no longer there."""
        entries, vectors = np.zeros(len(places), ENTRY), np.zeros((len(places), self.dim), "<f4")
        ends = [*(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
        firsts = places[[0, *ends[:-1]]].tolist() if len(places) else []
        runs = zip(firsts, pairwise([0, *ends]), strict=False)
        for number, of_shard in groupby(runs, lambda run: run[0] // _ROWS):
            wanted = [(first % _ROWS, start, stop) for first, (start, stop) in of_shard]
            for file, array in ((self._shards[number].entries, entries), (self._shards[number].vectors, vectors)):
                view, size = array.view(np.uint8).reshape(-1).data, array.nbytes // len(places)
                try:
                    with file.open("rb", buffering=0) as opened:
                        for row, start, stop in wanted:
                            opened.seek(row * size)
                            opened.readinto(view[start * size : stop * size])
                except FileNotFoundError:
                    continue
                except OSError as error:
                    raise InputError(f"cannot read stored embeddings in {self.folder}: {error.strerror}") from None
        return entries, vectors

    def _update(self) -> None:
        """Take what has been written since the last time into the index."""
        try:
            files = sorted(file for file in self.folder.iterdir() if file.suffix == ENTRIES)
            known = {shard.entries for shard in self._shards}
            self._shards += [_Shard(file) for file in files if file not in known]
            for number, shard in enumerate(self._shards):
                n = shard.entries.stat().st_size // ENTRY.itemsize
                if n > shard.rows:
                    entries = np.fromfile(shard.entries, ENTRY, n - shard.rows, offset=shard.rows * ENTRY.itemsize)
                    self._take(shard, entries, number * _ROWS + shard.rows)
                    shard.rows = n
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"cannot read stored embeddings in {self.folder}: {error.strerror}") from None

    def _take(self, shard: _Shard, entries: npt.NDArray[Any], place: int) -> None:
        """Put entries that begin at a place into the index: sorted parts, each less than half as long as the one before it."""
        whole = entries["entry_sum"] == _sums(entries)
        if not whole.all():
            shard.tell_damage()
        halves = entries["key"][whole, 0]
        places = place + np.flatnonzero(whole)
        while self._index and len(self._index[-1][0]) <= 2 * len(halves):
            before = self._index.pop()
            halves, places = np.concatenate([before[0], halves]), np.concatenate([before[1], places])
        if len(halves):
            order = np.lexsort((places, halves))
            self._index.append((halves[order], places[order]))


def stored_identity(folder: Path) -> dict[str, Any]:
    """Return what the vectors in the folder of a store were made with. Raises InputError when that cannot be read."""
    try:
        identity = json.loads((folder / IDENTITY).read_text(encoding="utf-8"))
        return {str(key): value for key, value in identity.items()}
    except (OSError, ValueError, AttributeError):
        raise InputError(
            f"{folder} does not say what its embeddings were made with; `force` without `resume` deletes it"
        ) from None


def remove_store(folder: Path) -> None:
    """Remove the folder of a store. Raises UsageError where it holds anything else."""
    others = [
        file.name
        for file in folder.iterdir()
        if file.name != IDENTITY and file.suffix not in (ENTRIES, VECTORS, ".part")
    ]
    others = sorted(set(others) - set(LITTER))
    if others:
        raise UsageError(f"{folder} holds {others[0]}, which nlpkit did not write; move it, or give another `output`")
    shutil.rmtree(folder)


def _append(file: Path, array: npt.NDArray[Any]) -> None:
    """Add the bytes of an array to the end of a file; of rows that a full disk takes in part, no entry is read."""
    with file.open("ab", buffering=0) as opened:
        rest = array.view(np.uint8).reshape(-1).data
        while rest:
            rest = rest[opened.write(rest) :]


def _checksums(vectors: Float32Array) -> npt.NDArray[np.uint32]:
    """Return the CRC-32 of each row (n,)."""
    return np.fromiter(map(zlib.crc32, vectors), np.uint32, len(vectors))


def _sums(entries: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Return a checksum of each entry without its last field (n,): Σ word · odd factor mod 2³², 1 for zeros."""
    words = np.ascontiguousarray(entries).view("<u4").reshape(len(entries), ENTRY.itemsize // 4)[:, :-1]
    sums: npt.NDArray[np.uint32] = (words * _FACTORS).sum(axis=1, dtype=np.uint32) + np.uint32(1)
    return sums


# ------------------------------------------------------------------------------------------------------------------------
# Whether an encoder knows the language of the texts that it is about to encode.


def warn_of_language(texts: Iterable[str | None], encoder: Encoder) -> None:
    """Warn when an encoder that knows English best is about to encode texts that are mostly in another language."""
    if "all-minilm" not in encoder.name.lower():
        return
    from nlpkit.text.language import SAMPLE_DOCS, foreign_language
    from nlpkit.text.settings import NO_LANGUAGE

    foreign = foreign_language(islice((text for text in texts if text), SAMPLE_DOCS), ["en"])
    if foreign is not None and foreign.code != NO_LANGUAGE:
        reporting.warn(
            f"the texts are mostly '{foreign.code}' and {encoder.name} knows English best: topics and classes may "
            "reflect style more than content; use a multilingual model, such as `encoder=multilingual` (extra 'multilingual')"
        )


# ------------------------------------------------------------------------------------------------------------------------
# Encoders with their cache, and the embeddings of one batch of documents after the other.

T = TypeVar("T")


@dataclass(slots=True)
class EmbedTotals:
    """What encoding a corpus came to."""

    docs: int = 0
    known: int = 0  # of them, in the cache
    tokens: int = 0
    tokens_cut: int = 0
    docs_cut: int = 0
    docs_long: int = 0  # longer than the model reads at once
    seconds: float = 0.0

    def add(self, report: Any) -> None:
        """Count one more batch."""
        self.docs += report.n_docs
        self.known += report.n_known
        self.tokens += report.tokens
        self.tokens_cut += report.tokens_cut
        self.docs_cut += report.docs_cut
        self.docs_long += report.docs_long
        self.seconds += report.seconds

    def describe(self, encoder: Encoder) -> str:
        """Return one line on what was encoded and how much the model never saw."""
        cut = ""
        if self.docs_long and encoder.long != "truncate":
            cut = (
                f"; {wording.counted(self.docs_long, 'document')} longer than the {wording.counted(encoder.max_tokens, 'token')} that the "
                "model reads at once, read in parts (`long=truncate` is faster and reads the beginning alone)"
            )
        elif self.tokens_cut:
            cut = (
                f"; the model reads the first {wording.counted(encoder.max_tokens, 'token')} of a text: "
                f"{wording.counted(self.docs_cut, 'document')} cut off, {wording.percent(self.tokens_cut / self.tokens)} of all tokens "
                "never seen (`long=mean` reads all of them in parts, `max_tokens` more where the model can)"
            )
        precision = (
            encoder.precision if encoder.cosine == 1.0 else f"{encoder.precision}, cosine to fp32 {encoder.cosine:.5f}"
        )
        rate = self.docs / self.seconds if self.seconds else 0.0
        where = (
            f"{encoder.origin}, {encoder.engine} on {encoder.device}, {precision}, "
            if encoder.engine != "server"
            else ""
        )
        kept = f"; {wording.counted(self.known, 'document')} embedded before" if self.known else ""
        return (
            f"embeddings: {wording.counted(self.docs, 'document')} by {encoder.name} ({where}{rate:,.0f} docs/s)"
            f"{kept}{cut}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the counts that do not depend on the clock."""
        return {"docs": self.docs, "tokens": self.tokens, "tokens_cut": self.tokens_cut, "docs_cut": self.docs_cut}


def open_encoder(options: EncoderOptions, threads: int) -> Encoder:
    """Return the encoder, which looks into the cache first where there is one.

    Raises:
        MissingError: the model or the extra is not there; InputError: the cache cannot be read; UsageError: it is a file.
    """
    encoder = options.load(threads)
    if options.cache is not None:
        encoder.cache = open_cache(options.cache, encoder)
    return encoder


def open_cache(folder: Path, encoder: Encoder) -> VectorStore:
    """Return the part of a cache that holds vectors by an encoder with its settings.

    Raises:
        InputError: it cannot be read or made; UsageError: it is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"`cache={folder}` is a file, but a folder is needed", parameter="cache")
    identity = encoder.identity
    mark = hashlib.sha256(to_json(identity).encode()).hexdigest()[:12]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", encoder.name.rstrip("/").rpartition("/")[2]) or "model"
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
    of_model = next(folder.glob(f"*-{mark}"), folder / f"{name}-{mark}")  # the model may have had another name
    return VectorStore(of_model, identity, encoder.whole_dim)


def encoder_parameters(encoder: Encoder, *, normalize: bool = True) -> dict[str, Any]:
    """Return what identifies an encoder, for footers and models."""
    further: dict[str, Any] = {} if encoder.static is None else {"static": encoder.static}
    if encoder.engine != "server":  # whose precision nobody knows
        further["cosine_to_fp32"] = round(encoder.cosine, 6)
    return {
        "encoder": encoder.name,
        "fingerprint": encoder.fingerprint,
        "dim": encoder.dim,
        "max_tokens": encoder.max_tokens,
        "engine": encoder.engine,
        "precision": encoder.precision,
        "long": encoder.long,
        "prompt": encoder.prompt,
        "normalize": normalize,
        **further,
    }


def embed_batches(
    batches: Iterator[pa.RecordBatch],
    encoder: Encoder,
    totals: EmbedTotals,
    *,
    normalize: bool = True,
    dtype: str = "float32",
) -> Iterator[tuple[pa.RecordBatch, dict[str, pa.Array]]]:
    """Yield the batches and their embedding column, counting into `totals`."""

    def read() -> Iterator[tuple[pa.RecordBatch, list[str], None]]:
        for number, batch in enumerate(batches):
            texts = [t or "" for t in batch.column("text").to_pylist()]
            if not number:
                warn_of_language(texts, encoder)
            yield batch, texts, None

    for batch, vectors in encode_ahead(read(), encoder, totals, normalize=normalize):
        yield batch, {"embedding": embedding_column(vectors, dtype)}


def encode_ahead(
    parts: Iterable[tuple[T, list[str], LongArray | None]],
    encoder: Encoder,
    totals: EmbedTotals,
    *,
    normalize: bool = True,
    n_docs: int | None = None,
) -> Iterator[tuple[T, Float32Array]]:
    """Yield what each part is of and the vectors of its texts, in order; on a GPU several parts are under way at a time.

    Args:
        parts: what it is of, texts, and the documents that each text stands for. n_docs: of all parts, for the progress.
    """
    done, threads = 0, encoder.at_once
    with reporting.progress("embeddings", n_docs) as update:

        def advance(n: int) -> None:
            nonlocal done
            done += n
            update(done)

        def encode(part: tuple[T, list[str], LongArray | None]) -> tuple[Float32Array, EncodeReport]:
            progress = advance if threads == 1 else None
            return encoder.encode(part[1], normalize=normalize, copies=part[2], progress=progress)

        start = time.perf_counter()
        one_by_one = ((part, encode(part)) for part in parts)
        encoded = one_by_one if threads == 1 else map_ahead(encode, parts, threads=threads)
        for (key, _, _), (vectors, report) in encoded:
            if threads > 1:
                advance(report.n_docs)
                seconds = time.perf_counter() - start
                report, start = replace(report, seconds=seconds), start + seconds
            totals.add(report)
            yield key, vectors

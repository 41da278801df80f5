"""Encoders with their cache, and the embeddings of one batch of documents after the other."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.io.atomic import naming
from nlpkit.io.documents import embedding_column
from nlpkit.io.vector_store import VectorStore
from nlpkit.parallel import map_ahead
from nlpkit.plain import to_json
from nlpkit.workflows.encoder_language import warn_of_language

if TYPE_CHECKING:
    from nlpkit.embed.encoder import Encoder, EncodeReport
    from nlpkit.types import Float32Array, LongArray

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
        kept = f"; {wording.counted(self.known, 'document')} embedded before" if self.known else ""
        return (
            f"embeddings: {wording.counted(self.docs, 'document')} by {encoder.name} ({encoder.origin}, {encoder.engine} on "
            f"{encoder.device}, {precision}, {rate:,.0f} docs/s){kept}{cut}"
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
    tuned = {} if encoder.static is None else {"static": encoder.static}
    return {
        "encoder": encoder.name,
        "fingerprint": encoder.fingerprint,
        "dim": encoder.dim,
        "max_tokens": encoder.max_tokens,
        "engine": encoder.engine,
        "precision": encoder.precision,
        "cosine_to_fp32": round(encoder.cosine, 6),
        "long": encoder.long,
        "prompt": encoder.prompt,
        "normalize": normalize,
        **tuned,
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

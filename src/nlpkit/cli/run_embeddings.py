"""Embeddings of documents that a run is fitted to, and of new ones as those were made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit.cli import console
from nlpkit.cli.pipeline import embedded_by
from nlpkit.cli.sbert_embed import EmbedTotals, EncoderFlags, embed_batches, encoder_parameters
from nlpkit.errors import ColumnError, InputError, MissingError
from nlpkit.io.documents import embedding_matrix

if TYPE_CHECKING:
    from nlpkit.io.corpora import DocumentStream
    from nlpkit.types import Float32Array


def embeddings_of(
    table: pa.Table, made: dict[str, Any] | None, flags: EncoderFlags, threads: int
) -> tuple[Float32Array, dict[str, Any] | None]:
    """Return the embeddings of a document table and what made them: its own column (`made`), else encoded now."""
    if "embedding" in table.column_names:
        if made is None:
            console.warn(
                "the column 'embedding' does not say which model made it; "
                "to predict new text with this run, it must bring its own embeddings"
            )
        return embedding_matrix(table.column("embedding")), made
    model, totals = flags.load(threads), EmbedTotals()
    text_only = table.select(["text"])
    batches = embed_batches(iter(text_only.to_batches()), model, totals, rows=table.num_rows)
    parts = [batch.column("embedding") for batch in batches]
    console.note(totals.describe(model))
    return embedding_matrix(pa.chunked_array(parts)), encoder_parameters(model)


class RunEmbeddings:
    """Embeddings of batches by the model of the run: their own column when it was made by it, else encoded now."""

    def __init__(self, config: dict[str, Any], flags: EncoderFlags, threads: int, stream: DocumentStream) -> None:
        self.config, self.flags, self.threads = config, flags, threads
        self.made: dict[str, Any] | None = None
        if "embedding" in stream.schema.names:
            self.made = embedded_by(stream)
            if self.made is None and config["encoder"] is not None:
                console.warn(
                    "the column 'embedding' does not say which model made it; "
                    f"its vectors must be those of {config['encoder']['encoder']}"
                )
        self.encoder: Any = None

    def of(self, batch: pa.RecordBatch) -> Float32Array:
        """Return the embeddings (D_b, E) of a batch of documents. Raises ColumnError, InputError, MissingError."""
        if "embedding" in batch.schema.names:
            vectors = embedding_matrix(pa.chunked_array([batch.column("embedding")]))
            self._check(vectors.shape[1], self.made)
            return vectors
        return self.encode([t or "" for t in batch.column("text").to_pylist()])

    def encode(self, texts: list[str]) -> Float32Array:
        """Return the embeddings (n, E) of texts by the model of the run."""
        if self.encoder is None:
            self._load()
        vectors, _ = self.encoder.encode(texts)
        return np.asarray(vectors, np.float32)

    def _load(self) -> None:
        wanted = self.config["encoder"]
        if wanted is None:
            raise InputError(
                "this run was fitted on a column 'embedding' that did not say which model made it; "
                "give the new documents an 'embedding' column made in the same way"
            )
        from nlpkit.embed.encoder import load_encoder

        self.encoder = load_encoder(
            wanted["encoder"],
            device=self.flags.device,
            precision=self.flags.precision,
            max_tokens=wanted["max_tokens"],
            threads=self.threads,
            offline=self.flags.offline,
        )
        if encoder_parameters(self.encoder)["fingerprint"] != wanted["fingerprint"]:
            raise MissingError(
                f"the weights of {wanted['encoder']} here are not those the run was fitted with "
                f"(sha256 {self.encoder.fingerprint[:12]}… against {wanted['fingerprint'][:12]}…); fit again"
            )

    def _check(self, dim: int, made: dict[str, Any] | None) -> None:
        wanted = self.config["encoder"]
        if dim != self.config["dim"]:
            raise ColumnError(
                f"column 'embedding' has {dim} dimensions, the run was fitted on {self.config['dim']}; "
                "embed with the same model, or leave the column out"
            )
        if wanted and made and wanted["fingerprint"] != made["fingerprint"]:
            raise ColumnError(
                f"column 'embedding' was made by {made['encoder']}, the run by {wanted['encoder']}; "
                "embed with the same model, or leave the column out"
            )

"""Embeddings of documents that a run is fitted to, and of new ones as those were made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.embed.encoders import EmbedTotals, encode_ahead, encoder_parameters, open_encoder, warn_of_language
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import ColumnError, InputError, MissingError, UsageError
from nlpkit.platform import reporting
from nlpkit.platform.documents.arrays import embedding_matrix, has_unit_rows
from nlpkit.platform.runs.footers import step_parameters, steps_of

if TYPE_CHECKING:
    from nlpkit.embed.encoder import Encoder
    from nlpkit.platform.documents.corpora import DocumentStream
    from nlpkit.platform.runs.provenance import Provenance
    from nlpkit.platform.types import BoolArray, Float32Array, LongArray

BATCH = 10_000  # texts that are Python strings at a time
ENCODER_KEYS = (
    "encoder", "fingerprint", "dim", "max_tokens", "engine", "precision", "cosine_to_fp32", "long", "prompt", "normalize", "method",
    "static",
)  # fmt: skip
SAME = {
    "fingerprint": None,
    "max_tokens": None,
    "dim": None,
    "long": "truncate",
    "prompt": "",
}  # and what older footers mean


def embedded_by(documents: DocumentStream | Provenance) -> dict[str, Any] | None:
    """Return the encoder that made the column 'embedding' of documents, None when an input does not say.

    Raises:
        ColumnError: the inputs were embedded by different models, whose vectors have nothing to do with each other.
    """
    by_input = [step_parameters(steps_of([block]), "sbert-embed") for block in documents.blocks]
    known = {m.get("fingerprint"): m for m in by_input if m}
    if len(known) > 1:
        names = ", ".join(sorted({str(m.get("encoder")) for m in known.values()}))
        raise ColumnError(f"the inputs were embedded by different models ({names}); use one model for all")
    if not known or None in by_input:
        return None
    encoder = next(iter(known.values()))
    return {k: encoder[k] for k in ENCODER_KEYS if k in encoder}


def embeddings_of(
    table: pa.Table,
    made_by: dict[str, Any] | None,
    flags: EncoderOptions,
    threads: int,
    needed: BoolArray | None = None,
    encoder: Encoder | None = None,
) -> tuple[Float32Array, dict[str, Any] | None]:
    """Return the embeddings of a document table and what made them: its own column (`made_by`), else encoded now.

    An encoder that was asked for by name wins over a column that another one made.

    needed (D,): documents that are encoded, None for all; the embedding of another is 0 where there is no column. encoder: in place
    of the one that `flags` names.

    Raises:
        UsageError: an option that would not change the column; ColumnError: a column that holds no embeddings.
    """
    there = "embedding" in table.column_names
    if there and flags.encoder is None:
        flags.refuse(
            "the documents have embeddings already, which this would not change; name the model too (`encoder`) to "
            "make them again, or leave it out"
        )
    model = encoder
    if model is None and (flags.encoder is not None or not there):
        model = open_encoder(flags, threads)
    if there and (model is None or _same_embeddings(made_by, encoder_parameters(model))):
        if made_by is None:
            reporting.warn(
                "the column 'embedding' does not record its model; new documents for this run need their own embeddings"
            )
        vectors = embedding_matrix(table.column("embedding"))
        if not has_unit_rows(table.column("embedding")):
            reporting.warn(
                "the vectors in the column 'embedding' are of different lengths; each is scaled to length 1, so "
                "only their directions count"
            )
        return vectors, made_by
    assert model is not None
    warn_of_language((text.as_py() for text in table.column("text")), model)
    if there:
        reporting.note(
            f"the column 'embedding' was made by {'an unknown model' if made_by is None else made_by['encoder']}; "
            f"{model.name} computes the embeddings again"
        )
    totals = EmbedTotals()
    wanted = np.ones(table.num_rows, bool) if needed is None else needed
    texts = pc.fill_null(table.column("text"), "")
    texts = texts if wanted.all() else texts.filter(pa.array(wanted))
    distinct = texts.unique()
    which = pc.index_in(texts, value_set=distinct).to_numpy()
    copies = np.bincount(which, minlength=len(distinct))
    embeddings = np.zeros((table.num_rows, model.dim), np.float32)  # of different texts, then of the documents
    parts = (slice(start, min(start + BATCH, len(distinct))) for start in range(0, len(distinct), BATCH))
    read = ((part, distinct[part].to_pylist(), copies[part]) for part in parts)
    for part, of_part in encode_ahead(read, model, totals, n_docs=len(texts)):
        embeddings[part] = of_part
    reporting.note(totals.describe(model))
    if len(distinct) < table.num_rows:
        _spread(embeddings, np.flatnonzero(wanted), which)
        embeddings[~wanted] = 0
    return embeddings, encoder_parameters(model)


def _spread(rows: Float32Array, to: LongArray, which: LongArray) -> None:
    """Copy row which[i] to row to[i] for each i, in place: to ascends, and which[i] <= i <= to[i], so that from the end on no row that
    is still to be read has been written."""
    for start in reversed(range(0, len(to), BATCH)):
        rows[to[start : start + BATCH]] = rows[which[start : start + BATCH]]


def _same_embeddings(made_by: dict[str, Any] | None, wanted: dict[str, Any]) -> bool:
    """Whether two models, as footers tell them, give a text the same vector up to the precision of the products."""
    return made_by is not None and not different_settings(made_by, wanted)


def different_settings(made_by: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Return the settings in which two models, as footers tell them, differ so that they give a text different vectors."""
    return [key for key, usual in SAME.items() if made_by.get(key, usual) != wanted.get(key, usual)]


class RunEmbeddings:
    """Embeddings of batches by the model of the run: their own column when it was made by it, else encoded now.

    An encoder that was asked for by name must be that of the run: a model that was moved is found so. A column that another
    model made is then made anew.
    """

    def __init__(
        self,
        config: dict[str, Any],
        flags: EncoderOptions,
        threads: int,
        stream: DocumentStream | None,
        encoder: Encoder | None = None,
    ) -> None:
        """Take the model of a run. stream: None to encode texts only. encoder: the one that the run keeps, which is then not loaded."""
        self.config, self.flags, self.threads = config, flags, threads
        self.made_by: dict[str, Any] | None = None
        self.encoder: Any = encoder
        wanted = config["encoder"]
        for flag, key in (
            ("max_tokens", "max_tokens"),
            ("long", "long"),
            ("prompt", "prompt"),
            ("truncate_dim", "dim"),
        ):
            value, of_run = getattr(flags, flag), {**SAME, **(wanted or {})}[key]
            if value is not None and value != of_run:
                raise UsageError(
                    f"`{flag}={value}`: new documents are embedded as in the run"
                    + (f", with {of_run!r}" if wanted else "")
                    + "; leave it out"
                )
        if flags.encoder is not None and encoder is None:
            self._load()
        self.has_column = stream is not None and "embedding" in stream.schema.names
        if stream is not None and self.has_column:
            self.made_by = embedded_by(stream)
            if (
                flags.encoder is not None
                and not (wanted and "fingerprint" not in wanted)
                and not _same_embeddings(self.made_by, wanted)
            ):
                reporting.note(f"{flags.encoder} computes the column 'embedding' again")
                self.has_column = False
                return
            if self.made_by is None and config["encoder"] is not None:
                reporting.warn(
                    "the column 'embedding' does not record its model; its vectors must come from "
                    f"{config['encoder']['encoder']}"
                )

    def of_batch(self, batch: pa.RecordBatch, needed: BoolArray | None = None) -> Float32Array:
        """Return the embeddings (D_b, E) of a batch of documents: its column, else those of the documents needed and 0.

        Raises:
            ColumnError, InputError, MissingError: they are not those of the run, or cannot be made.
        """
        if self.has_column:
            vectors = embedding_matrix(pa.chunked_array([batch.column("embedding")]))
            self._check(vectors.shape[1], self.made_by)
            return vectors
        texts = [t or "" for t in batch.column("text").to_pylist()]
        if needed is None:
            return self.encode(texts)
        vectors = np.zeros((len(texts), self.config["dim"]), np.float32)
        if needed.any():
            vectors[needed] = self.encode([texts[i] for i in np.flatnonzero(needed)])
        return vectors

    def encode(self, texts: list[str]) -> Float32Array:
        """Return the embeddings (n, E) of texts by the model of the run."""
        if self.encoder is None:
            self._load()
        vectors, _ = self.encoder.encode(texts)
        return np.asarray(vectors, np.float32)

    def _load(self) -> None:
        wanted = self.config["encoder"]
        if wanted is None:
            self.flags.refuse("the run was fitted on embeddings that did not say which model made them; leave it out")
            raise InputError(
                "this run was fitted on a column 'embedding' that did not say which model made it; give the new "
                "documents a column 'embedding' computed in the same way"
            )
        if "method" in wanted:
            raise InputError(
                f"the run was fitted on vectors by {wanted['encoder']}, which no model can compute again; give the "
                "new documents a column 'embedding' computed in the same way: `embed()` "
                "`method=mean-words` `vectors=VECTORS`"
            )
        if "static" in wanted and self.flags.encoder is None:
            raise InputError(
                f"the run was fitted on vectors of an encoder, {wanted['encoder']}, that was tuned on its documents and is not kept. "
                "Give the new documents a column 'embedding' by the same encoder, or make one that is kept: `train_encoder()` "
                "`objective=static`"
            )
        from nlpkit.embed.kinds import same_engine

        engine, precision = same_engine(
            wanted, engine=self.flags.engine, precision=self.flags.precision, device=self.flags.device
        )
        settings = {key: wanted.get(key, SAME[key]) for key in ("max_tokens", "long", "prompt")}
        name = self.flags.encoder or wanted["encoder"]
        flags = replace(self.flags, encoder=name, engine=engine, precision=precision, truncate_dim=None, **settings)
        self.encoder = open_encoder(flags, self.threads)
        if wanted.get("fingerprint") is None:  # of a model of another program, which records the name alone
            if self.encoder.dim != self.config["dim"]:
                raise UsageError(
                    f"{name} makes vectors of {self.encoder.dim} dimensions, the run has {self.config['dim']}; name its encoder (`encoder`)"
                )
            return
        if encoder_parameters(self.encoder)["fingerprint"] != wanted["fingerprint"]:
            named = self.flags.encoder
            differ = f"(sha256 {self.encoder.fingerprint[:12]}… against {wanted['fingerprint'][:12]}…)"
            if named is not None:
                raise UsageError(
                    f"`encoder={named}`: the run was fitted with {wanted['encoder']} {differ}; leave it out"
                )
            raise MissingError(
                f"the weights of {wanted['encoder']} here are not those the run was fitted with {differ}; fit again"
            )
        self.encoder.dim = wanted.get("dim", self.encoder.dim)

    def _check(self, dim: int, made_by: dict[str, Any] | None) -> None:
        wanted = self.config["encoder"]
        if dim != self.config["dim"]:
            raise ColumnError(
                f"column 'embedding' has {dim} dimensions, the run was fitted on {self.config['dim']}; "
                "embed with the same model, or leave the column out"
            )
        if wanted and "fingerprint" not in wanted:
            return
        if wanted and made_by and wanted["fingerprint"] != made_by["fingerprint"]:
            raise ColumnError(
                f"column 'embedding' was made by {made_by['encoder']}, but the run by {wanted['encoder']}; embed "
                "with the same model, leave the column out, or set `encoder` to the run's model"
            )
        if wanted and made_by and not _same_embeddings(made_by, wanted):
            name = different_settings(made_by, wanted)[0]
            theirs, ours = ({**SAME, **model}[name] for model in (made_by, wanted))
            raise ColumnError(
                f"column 'embedding' was made with `{name}={theirs}`, the embeddings of the run with "
                f"`{name}={ours}`; embed with the same options, leave the column out, or set `encoder` to the run's "
                "model"
            )

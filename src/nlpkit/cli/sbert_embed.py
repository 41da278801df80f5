"""nlpkit sbert-embed: texts to sentence embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.options import Inputs, OutputFlags, ReadFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.parameters import READ, Param

if TYPE_CHECKING:
    import pyarrow as pa

    from nlpkit.embed.encoder import Encoder


DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class EncoderFlags:
    """Which model makes embeddings, and how."""

    encoder: Annotated[
        str | None,
        Param(
            "A sentence-transformers model: folder, or name on the hub. When it is given, a column 'embedding' that another "
            f"model made is made anew; default: that column, else {DEFAULT_ENCODER}."
        ),
        READ,
    ] = None
    device: Annotated[str | None, Param("cpu, cuda, mps; default: the best there is.")] = None
    precision: Annotated[str, Param("auto, fp32, bf16 or fp16; auto = bf16 where the device has it.")] = "auto"
    max_tokens: Annotated[
        int | None,
        Param("Tokens of a text that the model sees; default: its own.", min=2),
    ] = None
    offline: Annotated[bool, Param("Never ask the hub.")] = False

    @property
    def name(self) -> str:
        """The model that was asked for, else the usual one."""
        return self.encoder or DEFAULT_ENCODER

    def given(self) -> list[str]:
        """Return the options that say which embeddings are wanted, as flags."""
        asked = {
            "--encoder": self.encoder is not None,
            "--max-tokens": self.max_tokens is not None,
        }
        return [name for name, yes in asked.items() if yes]

    def refuse(self, why: str) -> None:
        """Raise UsageError when one of these options is given and would change nothing."""
        if self.given():
            raise UsageError(f"{', '.join(self.given())}: {why}")

    def load(self, threads: int) -> Encoder:
        """Load the encoder. Raises MissingError when the model or the extra is not there."""
        from nlpkit.embed.encoder import load_encoder

        return load_encoder(
            self.name, device=self.device, precision=self.precision, max_tokens=self.max_tokens, threads=threads, offline=self.offline
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SbertFlags(EncoderFlags):
    """The same, where the model is what the command is about."""

    encoder: Annotated[
        str,
        Param("A sentence-transformers model: folder, or name on the hub.", ("model", "encoder")),
        READ,
    ] = DEFAULT_ENCODER


@dataclass(slots=True)
class EmbedTotals:
    """What encoding a corpus came to."""

    docs: int = 0
    tokens: int = 0
    tokens_cut: int = 0
    docs_cut: int = 0
    seconds: float = 0.0

    def add(self, report: Any) -> None:
        """Count one more batch."""
        self.docs += report.n_docs
        self.tokens += report.tokens
        self.tokens_cut += report.tokens_cut
        self.docs_cut += report.docs_cut
        self.seconds += report.seconds

    def describe(self, encoder: Encoder) -> str:
        """Return one line on what was encoded and how much the model never saw."""
        cut = ""
        if self.tokens_cut:
            cut = (
                f"; the model reads the first {wording.counted(encoder.max_tokens, 'token')} of a text: "
                f"{wording.counted(self.docs_cut, 'document')} cut off, {wording.percent(self.tokens_cut / self.tokens)} of all tokens "
                "never seen (--max-tokens reads more where the model can, nlpkit preprocess --unit chunk:200 cuts texts into parts)"
            )
        rate = self.docs / self.seconds if self.seconds else 0.0
        return (
            f"embeddings: {wording.counted(self.docs, 'document')} by {encoder.name} ({encoder.origin}, {encoder.device}, "
            f"{encoder.precision}, {rate:,.0f} docs/s){cut}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the counts that do not depend on the clock."""
        return {"docs": self.docs, "tokens": self.tokens, "tokens_cut": self.tokens_cut, "docs_cut": self.docs_cut}


def encoder_parameters(encoder: Encoder, *, normalize: bool = True) -> dict[str, Any]:
    """Return what identifies an encoder, for footers and models."""
    return {
        "encoder": encoder.name,
        "fingerprint": encoder.fingerprint,
        "dim": encoder.dim,
        "max_tokens": encoder.max_tokens,
        "precision": encoder.precision,
        "normalize": normalize,
    }


def embed_batches(
    batches: Iterator[pa.RecordBatch],
    encoder: Encoder,
    totals: EmbedTotals,
    *,
    normalize: bool = True,
    rows: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the batches with their embedding column, counting into `totals`; `rows` is their number if it is known."""
    from nlpkit.io.documents import add_column, embedding_column

    done = 0
    with reporting.progress("embeddings", rows) as update:

        def more(n: int) -> None:
            nonlocal done
            done += n
            update(done)

        for batch in batches:
            texts = [t or "" for t in batch.column("text").to_pylist()]
            vectors, report = encoder.encode(texts, normalize=normalize, progress=more)
            totals.add(report)
            yield add_column(batch, "embedding", embedding_column(vectors))


def sbert_embed_cli(
    inputs: Inputs,
    out: OutputFlags,
    read: ReadFlags,
    run: RunFlags,
    encoder: SbertFlags,
    normalize: Annotated[bool, Param("Vectors of length 1.")] = True,
) -> None:
    """Encode texts as sentence embeddings, column 'embedding'.

    Any sentence-transformers model will do. The default one comes as a package (extra 'minilm') and needs no network.
    Texts are batched by length, equal texts encoded once; the bytes do not depend on the number of threads. What the
    model cut off long texts is reported.

    \b
    Examples:
      nlpkit sbert-embed data/samples/news.jsonl -o embedded.parquet
      nlpkit sbert-embed data/samples/news.jsonl --limit 20 --precision fp32 -o twenty.parquet
      nlpkit sbert-embed data/samples/news.jsonl --limit 20 --max-tokens 64 --offline -o cut.parquet
    """
    from nlpkit.cli.pipeline import no_documents, steps, warn_dropped
    from nlpkit.cli.preprocess import dry_run
    from nlpkit.io.artifacts import footer_block
    from nlpkit.io.corpora import open_documents
    from nlpkit.io.documents import embedding_field
    from nlpkit.io.run_reading import check_encoder
    from nlpkit.io.spool import spool_beside
    from nlpkit.io.tables import is_readable, table_sink, write_dropped

    if run.dry_run:
        dry_run(inputs, read, embeds=True)
        return
    target = out.target("embedded.parquet")
    check_encoder(encoder.encoder, verify=run.verify)
    with open_documents(inputs, read.read_options()) as stream, spool_beside(target) as spool:
        model, totals = encoder.load(run.n_threads()), EmbedTotals()
        # the footer names the inputs, which are known (rows, sha256) only when all is read
        for batch in embed_batches(iter(stream), model, totals, normalize=normalize):
            spool.write(batch)
        if not totals.docs:
            raise no_documents(stream, inputs)
        block = footer_block(
            "documents",
            command="sbert-embed",
            parameters={**encoder_parameters(model, normalize=normalize), **totals.as_dict()},
            seed=None,
            inputs=stream.inputs,
            steps=steps(stream),
        )
        with table_sink(target, embedding_field(stream.schema, model.dim), block, force=out.force) as sink:
            for batch in spool:
                sink.write(batch)
        dropped = write_dropped(target, stream.dropped, block)
    reporting.note(totals.describe(model))
    warn_dropped(stream, dropped)
    if target != "-":
        goes_on = console.next_step("bertopic", target, "-o", "run/") if is_readable(target) else ""
        reporting.note(f"wrote {target}: {wording.counted(totals.docs, 'document')}{goes_on}")
        if run.json:
            report = {"output": target, **totals.as_dict(), **encoder_parameters(model, normalize=normalize)}
            console.emit_json({**report, "dropped": len(stream.dropped), "device": model.device})

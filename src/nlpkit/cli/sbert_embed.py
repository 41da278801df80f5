"""nlpkit sbert-embed: texts to sentence embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import SbertOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Param

if TYPE_CHECKING:
    pass


def sbert_embed_cli(
    inputs: Inputs,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
    encoder: SbertOptions,
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
    from nlpkit.cli.dry_run import dry_run
    from nlpkit.io.artifacts import footer_block
    from nlpkit.io.corpora import open_documents
    from nlpkit.io.documents import embedding_field
    from nlpkit.io.run_reading import check_encoder
    from nlpkit.io.spool import spool_beside
    from nlpkit.io.tables import is_readable, table_sink, write_dropped
    from nlpkit.workflows.corpus import no_documents, steps, warn_dropped
    from nlpkit.workflows.embeddings import EmbedTotals, embed_batches, encoder_parameters

    if run.dry_run:
        dry_run(inputs, read, embeds=True)
        return
    target = out.target("embedded.parquet")
    check_encoder(encoder.encoder, verify=run.verify)
    with open_documents(inputs, read) as stream, spool_beside(target) as spool:
        model, totals = encoder.load(run.n_threads()), EmbedTotals()
        # the footer names the inputs, which are known (rows, sha256) only when all is read
        for batch in embed_batches(iter(stream), model, totals, normalize=normalize):
            spool.write(batch)
        if not totals.docs:
            raise no_documents(stream)
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

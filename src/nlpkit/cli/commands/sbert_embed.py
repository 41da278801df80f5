"""nlpkit sbert-embed: texts to sentence embeddings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from nlpkit.cli import console
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.cli.parts import divided
from nlpkit.embed.options import DocumentMethodOptions, SbertOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.shards import ShardOptions
from nlpkit.parameters import Param


def sbert_embed_cli(
    inputs: Inputs,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
    kind: DocumentMethodOptions,
    encoder: SbertOptions,
    sharing: ShardOptions,
    normalize: Annotated[bool, Param("Scale each vector to length 1.")] = True,
) -> None:
    """Encode texts as sentence embeddings, column 'embedding'.

    Any sentence-transformers model will do. The default one (English) comes as a package (extra 'minilm') and needs no
    network, as does --model multilingual (extra 'multilingual'; 16 languages).
    Texts are batched by length, equal texts encoded once; the bytes do not depend on the number of threads. What the
    model cut off long texts is reported. What is done is kept beside the output until it is written, and --resume goes on
    with it; --cache DIR keeps it for all later commands. --method mean-words and doc2vec make the column of words instead, for comparison.

    \b
    Examples:
      nlpkit sbert-embed data/samples/news.jsonl -o embedded.parquet
      nlpkit sbert-embed data/samples/news.jsonl --limit 20 --precision fp32 -o twenty.parquet
      nlpkit sbert-embed data/samples/news.jsonl --limit 20 --long mean --dtype int8 -o small.parquet
    """
    kind.check(encoder, normalize=normalize)
    if run.dry_run:
        dry_run(
            inputs, read, "sbert-embed", encoder=encoder if kind.method == "sbert" else None, threads=run.n_threads()
        )
        return
    from nlpkit.cli.render.predictions import show_embeddings
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.embed import check_stored, embed_batched
    from nlpkit.workflows.predict import write_predictions

    target = out.target("embedded.parquet")
    work = {"options": encoder, "kind": kind, "normalize": normalize}
    resume = sharing.resume and not sharing.on_ray and sharing.shard is None
    parts = replace(sharing, resume=False) if resume else sharing
    if divided("sbert-embed", inputs, target, sharing=parts, read=read, out=out, run=run, **work):
        return
    corpus = read_corpus(*inputs, options=read, beside=target)
    check_stored(target, kind.dtype)
    file = None if target == "-" else Path(target)
    with embed_batched(
        corpus,
        options=encoder,
        kind=kind,
        normalize=normalize,
        checkpoint=file,
        resume=resume,
        force=out.force,
        execution=run,
    ) as documents:
        summary = write_predictions(documents, target, force=out.force)
    if target != "-":
        show_embeddings(summary, target)
        if run.json:
            console.emit_json({"output": target, **summary})

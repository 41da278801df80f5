"""nlpkit sbert-embed: texts to sentence embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from nlpkit.embed.options import DocumentMethodOptions, SbertOptions
from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions
from nlpkit.platform.options import Param
from nlpkit.shards.command import divided


def show_embeddings(summary: Mapping[str, Any], target: str) -> None:
    """Say how many documents were written, and the next command."""
    from nlpkit.platform.runs.tables import is_readable

    goes_on = console.next_step("bertopic", target, "-o", "run/") if is_readable(target) else ""
    reporting.note(f"wrote {target}: {wording.counted(summary['docs'], 'document')}{goes_on}")


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
    """Compute sentence embeddings, written to the column 'embedding'.

    Any sentence-transformers model works. The default model (English, extra 'minilm') and --model multilingual (16 languages,
    extra 'multilingual') come as packages and need no network.

    Identical texts are encoded once, and the bytes do not depend on the number of threads. nlpkit reports how much of long
    texts the model could not read. Finished vectors are saved next to the output until it is written, and --resume continues
    from them. --cache DIR keeps them for all later commands. For comparison, --method mean-words and doc2vec compute the column
    from words.

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
    from nlpkit.embed.run import check_stored, embed_batched
    from nlpkit.platform.documents.corpus import read_corpus

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
        summary = documents.save(target, force=out.force)
    if target != "-":
        show_embeddings(summary, target)
        if run.json:
            console.emit_json({"output": target, **summary})

"""nlpkit similar: documents similar to a text, or to each other."""

from __future__ import annotations

from typing import Annotated

from nlpkit.embed.options import EncoderOptions
from nlpkit.explore.similar.options import SimilarOptions
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import READ
from nlpkit.text.options import TokenOptions
from nlpkit.weights.options import WeightOptions


def similar_cli(
    docs: Annotated[
        str,
        Argument(
            "Documents to search: a file, directory, glob, - (stdin), or a run, for the documents of its fit.",
            metavar="DOCS",
        ),
        READ,
    ],
    options: SimilarOptions,
    out: OutputFlags,
    encoder: EncoderOptions,
    weights: WeightOptions,
    read: ReadOptions,
    run: RunFlags,
    tokens: TokenOptions,
    queries: Annotated[list[str] | None, Argument("Texts to search for.", metavar="QUERY")] = None,
) -> None:
    """Find documents similar to a text, or to each other.

    Documents are compared by their embeddings (the column if present, otherwise computed), or with --by tfidf by their words. A
    query is a text, a document (--id) or a file (--text). nlpkit lists its nearest documents, nearest first. --pairs finds all
    pairs of similar documents, such as near-duplicates.

    The search is exact. Up to 100,000 documents it takes minutes at most. The time for --pairs grows with the square of the
    number of documents; memory does not.

    \b
    Examples:
      nlpkit similar data/samples/news.jsonl "hackers in office networks" --by tfidf
      nlpkit similar data/samples/news.jsonl --id news-0001 --limit 60 -o near.parquet
      nlpkit similar data/samples/news.jsonl --pairs 0.2 --by tfidf --scheme ltc -o pairs.csv
    """
    from nlpkit.explore.similar.run import check_search, files_to_search

    check_search(queries or [], options)
    target = out.given_table_target("similar.parquet")
    files, read, of_docs = files_to_search(docs, read, encoder, verify=run.verify)
    if options.by == "embedding":
        encoder = of_docs
    if run.dry_run:
        dry_run(files, read, encoder=encoder if options.by == "embedding" else None, threads=run.n_threads())
        return
    from nlpkit.explore import views as render
    from nlpkit.explore.similar.run import similar
    from nlpkit.platform.documents.corpus import read_corpus

    corpus = read_corpus(*files, options=read, beside=target)
    result = similar(
        corpus, queries or [], options=options, encoder=encoder, tokens=tokens, weights=weights, execution=run
    )  # fmt: skip
    if target is not None:
        result.save(target, force=out.force)
    render.similar(result, target)

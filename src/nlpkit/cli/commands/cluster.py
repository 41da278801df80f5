"""nlpkit cluster: clusters of documents, or of the rows of any table with numbers."""

from __future__ import annotations

from nlpkit.cli import console
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TokenOptions
from nlpkit.topics.cluster_options import ClusterOptions
from nlpkit.weighting.options import WeightOptions


def cluster_cli(
    inputs: Inputs,
    options: ClusterOptions,
    out: OutputFlags,
    encoder: EncoderOptions,
    weights: WeightOptions,
    read: ReadOptions,
    run: RunFlags,
    tokens: TokenOptions,
) -> None:
    """Cluster documents, or the rows of any table with numbers.

    Documents are clustered by their embeddings (the column if present, otherwise computed), or with --by tfidf by their words.
    --feature-cols clusters the rows of any table by numeric columns. If the number of clusters is open, a table shows the
    inertia (for the elbow) and the silhouette of each number. nlpkit takes the number with the largest silhouette.

    The output is the table with two new columns: cluster (0 for the largest, -1 for none) and cluster_distance (from the mean
    or the medoid).

    \b
    Examples:
      nlpkit cluster data/samples/news.jsonl --by tfidf --scheme ltc --k 2:10 -o clustered.parquet
      nlpkit cluster data/samples/predictions.csv --feature-cols prediction_prob --method kmedoids --k 3
      nlpkit cluster data/samples/news.jsonl --by tfidf --method average --k 8 --tree tree.nwk
    """
    target = out.given_table_target("clustered.parquet")
    if run.dry_run:
        dry_run(inputs, read, encoder=encoder if options.vectors() == "embedding" else None, threads=run.n_threads())
        return
    from nlpkit.cli.render import cluster as render
    from nlpkit.workflows.cluster import cluster
    from nlpkit.workflows.corpus import read_corpus

    corpus = read_corpus(*inputs, options=read, beside=target)
    clustered = cluster(corpus, options=options, encoder=encoder, tokens=tokens, weights=weights, execution=run)
    if target is not None:
        clustered.save(target, force=out.force)
    clustered.save_dendrogram(force=out.force)
    console.say(render.cluster_blocks(clustered), None if target == "-" else clustered.to_dict, target)

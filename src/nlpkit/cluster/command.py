"""What cluster shows: the numbers of clusters that were compared, and the clusters.

Further parts, in this order:
- nlpkit cluster: clusters of documents, or of the rows of any table with numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nlpkit.cluster.options import ClusterOptions
from nlpkit.embed.options import EncoderOptions
from nlpkit.platform import wording
from nlpkit.platform.cli import console
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.views.blocks import Block, Note, Table, cell
from nlpkit.text.options import TokenOptions
from nlpkit.weights.options import WeightOptions

if TYPE_CHECKING:
    from nlpkit.cluster.run import ClusteredDocuments


def cluster_blocks(clustered: ClusteredDocuments) -> Iterator[Block]:
    """Yield the numbers of clusters that were compared, and the clusters."""
    yield from _choice(clustered)
    result = clustered.clusters
    left_out = clustered.vectors.table.num_rows - int((result.labels >= 0).sum())
    yield Note(
        f"{wording.counted(len(result.sizes), 'cluster')} of {wording.counted(clustered.vectors.table.num_rows, 'document')} by "
        f"{clustered.options.method} ({clustered.options.distance()}); silhouette {_score(result.silhouette)}, "
        f"inertia {result.inertia:,.4g}"
        + (f"; {wording.counted(left_out, 'document')} in no cluster" if left_out else "")
    )
    rows = [
        [str(c["cluster"]), wording.count(c["size"]), f"{c['share']:.1%}", c["id"], c["text"]]
        for c in clustered.typical()
    ]
    if rows:
        columns = ["cluster", "size", "share", "central document", "text"]
        yield Table(columns, rows, right=columns[:3], noun="clusters", rest="--json", texts=["text"])


def _choice(clustered: ClusteredDocuments) -> Iterator[Block]:
    """Print inertia and silhouette of each number of clusters, and why one was chosen."""
    candidates = clustered.clusters.candidates
    if not candidates:
        return
    rows = [[str(c.k), f"{c.inertia:,.4g}", _score(c.silhouette), "chosen" if c.chosen else ""] for c in candidates]
    yield Table(["k", "inertia", "silhouette", ""], rows, right=["k", "inertia", "silhouette"])
    best, *others = sorted(candidates, key=lambda c: (not c.chosen, -c.silhouette))
    second = f" (then k = {others[0].k} with {_score(others[0].silhouette)})" if others else ""
    yield Note(
        f"k = {best.k}: its silhouette, {_score(best.silhouette)}, is the largest{second}; inertia falls with every further cluster, "
        "look for the elbow where it falls slower"
    )


def _score(value: float) -> str:
    return cell(value, missing="–")


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit cluster: clusters of documents, or of the rows of any table with numbers.


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
    from nlpkit.cluster.run import cluster
    from nlpkit.platform.documents.corpus import read_corpus

    corpus = read_corpus(*inputs, options=read, beside=target)
    clustered = cluster(corpus, options=options, encoder=encoder, tokens=tokens, weights=weights, execution=run)
    if target is not None:
        clustered.save(target, force=out.force)
    clustered.save_dendrogram(force=out.force)
    console.say(cluster_blocks(clustered), None if target == "-" else clustered.to_dict, target)

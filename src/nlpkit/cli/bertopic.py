"""nlpkit bertopic: topics from sentence embeddings, and topics of new text from a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Param
from nlpkit.text.options import TopicTokenOptions


@dataclass(frozen=True, slots=True)
class TopicFlags:
    """How topics are found; names and defaults are BERTopic's where it has the option."""

    k: Annotated[
        str,
        Param("auto; a number N; a range lo:hi or lo:hi:step.", ("k", "nr_topics", "num_topics")),
    ] = "auto"
    min_topic_size: Annotated[
        int | None,
        Param("Least documents of a topic; default: 1 in 100, from 3 to 10, or what --k N needs.", min=2),
    ] = None
    n_neighbors: Annotated[int, Param("UMAP: neighbours of a document, itself included.", min=3)] = 15
    n_components: Annotated[int, Param("UMAP: dimensions that are clustered.", min=2)] = 5
    min_dist: Annotated[float, Param("UMAP: closest distance of points, at most its spread, 1.", min=0.0, max=1.0)] = (
        0.0
    )
    min_samples: Annotated[int, Param("HDBSCAN: higher leaves more documents unassigned.", min=1)] = 5
    assign_outliers: Annotated[bool, Param("Move documents without a topic to their nearest one.")] = False
    join_neighbors: Annotated[
        bool,
        Param("A document between clusters joins the topic around it."),
    ] = True
    novelty_quantile: Annotated[
        float | None,
        Param(
            "New text that is less like its nearest training documents than this share of those with a topic is to theirs "
            "gets topic -1; 1: no bound. Default: 0.95, with --model that of the run."
        ),
    ] = None
    core_terms: Annotated[
        bool,
        Param(
            "Rank the words of a topic by its typical documents, or by plain c-tf-idf of all its documents (the column "
            "ctfidf of topic_terms.parquet in any case).",
            off="plain_terms",
        ),
    ] = True


def bertopic_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: Annotated[
        Path | None,
        Param("Predict with this run instead of fitting.", metavar="RUN"),
    ] = None,
    topics: TopicFlags,
    encoder: EncoderOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Find topics in documents, or predict those of new ones.

    Steps: embed, reduce (UMAP), cluster (HDBSCAN), weigh words (c-tf-idf), name. Columns that are there are used
    (embedding, tokens), missing ones are made. Leaves a run directory with topics.parquet, documents.parquet and more;
    without -o it is <input>.bertopic/ in the current directory. With --model it gives new documents the topics of a run
    and writes a document table.

    --k auto tries minimum topic sizes on the cluster trees of two layouts, scores each cut by six numbers, prints the
    table and marks the choice. --k N gives exactly N topics, or an error where the documents have no N groups.

    \b
    Examples:
      nlpkit bertopic data/samples/news.jsonl --k auto -o run/
      nlpkit bertopic data/samples/news.jsonl --k 8 --json -q -o run8/
      nlpkit bertopic data/samples/hard.jsonl --model run/ -o predicted.parquet
    """
    if model is not None:
        from nlpkit.cli.bertopic_predict import predict

        predict(inputs, out, topics, encoder, read, run, model)
    else:
        from nlpkit.cli.bertopic_fit import fit

        fit(inputs, out, topics, encoder, tokens, read, run)


def topic_parameters(flags: TopicFlags, novelty_quantile: float) -> dict[str, Any]:
    """Return the topic options as footer parameters, with the quantile in force."""
    from dataclasses import asdict

    return {**asdict(flags), "novelty_quantile": novelty_quantile}

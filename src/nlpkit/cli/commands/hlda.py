"""nlpkit hlda: a tree of topics that grows with the documents."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.count_options import HldaOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions


def hlda_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: HldaOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit a tree of topics that grows with the documents (hierarchical LDA).

    \b
    Examples:
      nlpkit hlda data/samples/news.jsonl -o hlda/
      nlpkit hlda data/samples/news.jsonl --eta 1 --iterations 100 -o coarse/
      nlpkit hlda data/samples/news.jsonl --depth 2 --gamma 0.1 --iterations 50 -o flat/

    Gibbs sampling of hierarchical LDA (Blei, Griffiths and Jordan 2010): each document is on a path of --depth topics from the
    root to a leaf, and each of its words comes from one of them. There is no --k: branches begin and end as documents
    choose among them by the nested Chinese restaurant process.

    The result is the same on any number of threads. A column tokens is used, else made. Leaves a run directory with
    topics.parquet, layers.parquet (the tree), doc_topics.parquet and more, and the path of each document in the columns
    layer_0, layer_1 … of documents.parquet; `nlpkit info RUN --tree` shows the tree, `nlpkit predict RUN NEW` gives new
    documents a path. Without -o the run is <input>.hlda/ in the current directory.
    """
    fit_mixture("hlda", inputs, out, model, terms, tokens, read, run, checkpoints)

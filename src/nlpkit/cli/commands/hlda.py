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
    """Fit a tree of topics (hierarchical LDA).

    \b
    Examples:
      nlpkit hlda data/samples/news.jsonl -o hlda/
      nlpkit hlda data/samples/news.jsonl --eta 1 --iterations 100 -o coarse/
      nlpkit hlda data/samples/news.jsonl --depth 2 --gamma 0.1 --iterations 50 -o flat/

    Each document follows a path of --depth topics from the root to a leaf (Blei, Griffiths and Jordan 2010). Each of its words
    comes from one of these topics. There is no --k: branches are added and removed as documents choose among them (nested
    Chinese restaurant process, Gibbs sampling).

    The command writes a run directory with topics.parquet, layers.parquet (the tree), doc_topics.parquet and more. The columns
    layer_0, layer_1 … of documents.parquet hold the path of each document. Without -o, it is <input>.hlda/ in the current
    directory. `nlpkit info RUN --tree` shows the tree, and `nlpkit predict RUN NEW` assigns a path to new documents. An
    existing column 'tokens' is reused. The result does not depend on the number of threads.
    """
    fit_mixture("hlda", inputs, out, model, terms, tokens, read, run, checkpoints)

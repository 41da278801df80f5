"""nlpkit biterm: the biterm topic model for short texts."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.count_options import BitermOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions


def biterm_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: BitermOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit a biterm topic model (BTM) for short texts.

    \b
    Examples:
      nlpkit biterm data/samples/news.jsonl --k 8 --iterations 30 -o biterm/
      nlpkit biterm data/samples/news.jsonl --k 8 --iterations 30 --window 5 -o near/
      nlpkit biterm data/samples/news.jsonl --k 4:12:4 --iterations 20 -o biterm-k/

    Use it for titles, tweets and queries (Gibbs sampling after Yan, Guo, Lan and Cheng 2013). One short text has too few words
    to learn its mixture of topics. The model therefore learns from the word pairs of all texts together, and each pair has one
    topic. Two different words form a pair if they occur within --window consecutive words. The topics of a text are the mean
    over its pairs.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.biterm/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents. An existing column
    'tokens' is reused. The result does not depend on the number of threads.

    --k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity, coherence and other scores for
    each, and keeps the number with the highest mean score.
    """
    fit_mixture("biterm", inputs, out, model, terms, tokens, read, run, checkpoints)

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
    """Fit a biterm topic model for short texts (BTM): each pair of words has one topic.

    \b
    Examples:
      nlpkit biterm data/samples/news.jsonl --k 8 --iterations 30 -o biterm/
      nlpkit biterm data/samples/news.jsonl --k 8 --iterations 30 --window 5 -o near/
      nlpkit biterm data/samples/news.jsonl --k 4:12:4 --iterations 20 -o biterm-k/

    Gibbs sampling of the biterm topic model (Yan, Guo, Lan and Cheng 2013), for titles, tweets and queries: it learns from
    the pairs of words of all texts together, since one short text has too few words to learn its mixture of topics from. Two
    different words of a text are a pair where both stand among --window words in a row. A text has the mean of the topics of
    its pairs.

    The result is the same on any number of threads. A column tokens is used, else made. Leaves a run directory with
    topics.parquet, topic_terms.parquet, doc_topics.parquet and more; without -o it is <input>.biterm/ in the current
    directory. `nlpkit predict RUN NEW` gives new documents its topics.

    --k auto and --k lo:hi fit several numbers of topics, print held-out perplexity, coherence and more of each, and keep the
    number of the highest score, a mean of them.
    """
    fit_mixture("biterm", inputs, out, model, terms, tokens, read, run, checkpoints)

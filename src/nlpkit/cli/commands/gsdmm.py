"""nlpkit gsdmm: a mixture model for short texts."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.count_options import GsdmmOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions


def gsdmm_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: GsdmmOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit a mixture model for short texts (GSDMM): one topic per document.

    \b
    Examples:
      nlpkit gsdmm data/samples/news.jsonl --k 30 -o gsdmm/
      nlpkit gsdmm data/samples/news.jsonl --k 30 --eta 0.05 --iterations 30 -o small/
      nlpkit gsdmm data/samples/news.jsonl --k 10:30:10 --iterations 20 -o gsdmm-k/

    Use it for titles, tweets and queries, which have too few words for the topic mixtures of LDA. The method is Gibbs sampling
    of the Dirichlet multinomial mixture (Yin and Wang 2014). --k is the maximum number of topics: topics that lose all
    documents are dropped.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.gsdmm/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents. An existing column
    'tokens' is reused. The result does not depend on the number of threads.
    """
    fit_mixture("gsdmm", inputs, out, model, terms, tokens, read, run, checkpoints)

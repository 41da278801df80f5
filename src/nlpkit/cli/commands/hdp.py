"""nlpkit hdp: a mixture of topics whose number is found with them."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.count_options import HdpOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions


def hdp_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: HdpOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit a mixture of topics whose number is found with them (HDP).

    \b
    Examples:
      nlpkit hdp data/samples/news.jsonl -o hdp/
      nlpkit hdp data/samples/news.jsonl --eta 0.3 --min-share 0.01 --iterations 100 -o few/
      nlpkit hdp data/samples/news.jsonl --alpha 1 --gamma 1 --iterations 100 -o fixed/

    Gibbs sampling of a hierarchical Dirichlet process (Teh et al. 2006): LDA whose topics come and go. There is no --k: the
    number follows from the corpus, --eta and the concentrations, which are drawn, too, unless they are given. Topics with
    less than --min-share of the tokens are left out at the end, and the result says how many.

    The result is the same on any number of threads. A column tokens is used, else made. Leaves a run directory with
    topics.parquet, topic_terms.parquet, doc_topics.parquet and more; without -o it is <input>.hdp/ in the current
    directory. `nlpkit predict RUN NEW` gives new documents its topics.
    """
    fit_mixture("hdp", inputs, out, model, terms, tokens, read, run, checkpoints)

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
    """Fit HDP: LDA that also finds the number of topics.

    \b
    Examples:
      nlpkit hdp data/samples/news.jsonl -o hdp/
      nlpkit hdp data/samples/news.jsonl --eta 0.3 --min-share 0.01 --iterations 100 -o few/
      nlpkit hdp data/samples/news.jsonl --alpha 1 --gamma 1 --iterations 100 -o fixed/

    The method is Gibbs sampling of a hierarchical Dirichlet process (Teh et al. 2006). There is no --k: topics are added and
    removed during sampling. The number depends on the corpus, on --eta and on the concentrations, which are sampled too unless
    you set them. Topics with less than --min-share of the tokens are left out at the end, and nlpkit reports how many.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.hdp/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents. An existing column 'tokens'
    is reused. The result does not depend on the number of threads.
    """
    fit_mixture("hdp", inputs, out, model, terms, tokens, read, run, checkpoints)

"""nlpkit plsa: probabilistic latent semantic analysis."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.count_options import PlsaOptions
from nlpkit.topics.mixtures.options import TermOptions


def plsa_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: PlsaOptions,
    terms: TermOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit probabilistic latent semantic analysis (pLSA).

    \b
    Examples:
      nlpkit plsa data/samples/news.jsonl --k 8 -o plsa/
      nlpkit plsa data/samples/news.jsonl --k 8 --tempered -o tempered/
      nlpkit plsa data/samples/news.jsonl --k 4:12:4 -o plsa-k/

    As in LDA, each document is a mixture of topics, but without priors. The model is fitted by expectation maximisation. It
    fits the documents as closely as possible and overfits where LDA does not. --tempered reduces the overfitting.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.plsa/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents. An existing column
    'tokens' is reused. The result does not depend on the number of threads.

    --k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity, coherence, stability and other
    scores for each, and keeps the number with the highest mean score.
    """
    fit_mixture("plsa", inputs, out, model, terms, tokens, read, run)

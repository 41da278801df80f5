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

    Expectation maximisation of the probability of the words of each document, a mixture of topics without priors. It
    fits a document as closely as it can, and overfits where LDA does not: --tempered holds against it.

    The result is the same on any number of threads. A column tokens is used, else made. Leaves a run directory with
    topics.parquet, topic_terms.parquet, doc_topics.parquet and more; without -o it is <input>.plsa/ in the current
    directory. `nlpkit predict RUN NEW` gives new documents its topics.

    --k auto and --k lo:hi fit several numbers of topics, print held-out perplexity, coherence, stability and more of each,
    and keep the number of the highest score, a mean of them.
    """
    fit_mixture("plsa", inputs, out, model, terms, tokens, read, run)

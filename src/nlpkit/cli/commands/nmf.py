"""nlpkit nmf: non-negative matrix factorisation."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.count_options import NmfOptions
from nlpkit.topics.mixtures.options import TermOptions


def nmf_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: NmfOptions,
    terms: TermOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Factorise document-term weights into topics without negative numbers (NMF).

    \b
    Examples:
      nlpkit nmf data/samples/news.jsonl --k 8 -o nmf/
      nlpkit nmf data/samples/news.jsonl --k 8 --loss kullback-leibler -o nmf-kl/
      nlpkit nmf data/samples/news.jsonl --k 4:12:4 -o nmf-k/

    scikit-learn's NMF: the factors of tf-idf are divided by their sums, so that they are read as probabilities of words
    in topics and of topics in documents. Fast, and hardly dependent on the seed; it is no model of probabilities.

    The result is the same on any number of threads. A column tokens is used, else made. Leaves a run directory with
    topics.parquet, topic_terms.parquet, doc_topics.parquet and more; without -o it is <input>.nmf/ in the current
    directory. `nlpkit predict RUN NEW` gives new documents its topics.

    --k auto and --k lo:hi fit several numbers of topics, print held-out perplexity, coherence, stability and more of each,
    and keep the number of the highest score, a mean of them.
    """
    fit_mixture("nmf", inputs, out, model, terms, tokens, read, run)

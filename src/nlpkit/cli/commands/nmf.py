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
    """Find topics by non-negative matrix factorisation (NMF).

    \b
    Examples:
      nlpkit nmf data/samples/news.jsonl --k 8 -o nmf/
      nlpkit nmf data/samples/news.jsonl --k 8 --loss kullback-leibler -o nmf-kl/
      nlpkit nmf data/samples/news.jsonl --k 4:12:4 -o nmf-k/

    The method is scikit-learn's NMF on tf-idf weights. The factors are divided by their sums, so that they read as shares of
    words in topics and of topics in documents. It is fast and hardly depends on the seed, but it is not a probability model.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.nmf/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents. An existing column 'tokens'
    is reused. The result does not depend on the number of threads.

    --k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity, coherence, stability and other
    scores for each, and keeps the number with the highest mean score.
    """
    fit_mixture("nmf", inputs, out, model, terms, tokens, read, run)

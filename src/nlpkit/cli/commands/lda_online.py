"""nlpkit lda-online: LDA by variational Bayes."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.lda.online_options import LdaOnlineOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions


def lda_online_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: LdaOnlineOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit LDA by variational Bayes, in batches or on the whole corpus.

    \b
    Examples:
      nlpkit lda-online data/samples/news.jsonl --k 8 -o lda/
      nlpkit lda-online data/samples/news.jsonl --k 8 --batch-size all -o batch/
      nlpkit lda-online data/samples/news.jsonl --k 4:12:4 --iterations 10 -o lda-k/

    The topics are updated after each batch of documents (Hoffman, Blei and Bach 2010), so a few passes are enough for a large
    corpus. With --batch-size all, they are updated once per pass (Blei, Ng and Jordan 2003). `nlpkit lda-gibbs` usually finds
    better topics, especially in short texts. For short texts, a larger --eta such as 0.5 helps.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.lda-online/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents. An existing column
    'tokens' is reused. The result does not depend on the number of threads.

    --k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity, coherence, stability and other
    scores for each, and keeps the number with the highest mean score.
    """
    fit_mixture("lda-online", inputs, out, model, terms, tokens, read, run, checkpoints)

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
    """Fit LDA by variational Bayes, batch by batch or on the whole corpus.

    \b
    Examples:
      nlpkit lda-online data/samples/news.jsonl --k 8 -o lda/
      nlpkit lda-online data/samples/news.jsonl --k 8 --batch-size all -o batch/
      nlpkit lda-online data/samples/news.jsonl --k 4:12:4 --iterations 10 -o lda-k/

    The topics move after each batch of documents (Hoffman, Blei and Bach 2010), so that few passes are enough for a large
    corpus; with --batch-size all once in a pass, as in the paper of Blei, Ng and Jordan (2003). Topics of `nlpkit lda-gibbs` are
    usually better, above all of short texts, for which a larger --eta such as 0.5 helps here.

    The result is the same on any number of threads. A column tokens is used, else made. Leaves a run directory with
    topics.parquet, topic_terms.parquet, doc_topics.parquet and more; without -o it is <input>.lda-online/ in the current
    directory. `nlpkit predict RUN NEW` gives new documents its topics.

    --k auto and --k lo:hi fit several numbers of topics, print held-out perplexity, coherence, stability and more of each,
    and keep the number of the highest score, a mean of them.
    """
    fit_mixture("lda-online", inputs, out, model, terms, tokens, read, run, checkpoints)

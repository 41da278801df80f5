"""nlpkit etm: the embedded topic model."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions
from nlpkit.topics.neural.options import EtmOptions


def etm_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: EtmOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit the embedded topic model (ETM): topics in the space of word vectors.

    \b
    Examples:
      nlpkit etm data/samples/news.jsonl --k 8 --iterations 20 -o etm/
      nlpkit etm data/samples/news.jsonl --k 8 --iterations 20 --tune -o tuned/
      nlpkit etm data/samples/news.jsonl --k 8 --iterations 20 --vectors random -o learned/

    The embedded topic model (Dieng, Ruiz and Blei 2020): topics are vectors among those of the words, and a word is the more
    probable in a topic the nearer it is; a neural network reads the topics of a document from its words. --vectors names a
    run of embed-words or a file of word vectors; without it they are learned from the documents themselves (PMI-SVD), and
    stay as they are unless --tune is given. It takes minutes where lda-gibbs takes seconds.

    A column tokens is used, else made. Needs the extra 'neural'; `nlpkit predict RUN NEW` gives new documents its topics. The
    result is the same on any number of threads. Leaves a run directory with topics.parquet, topic_terms.parquet,
    doc_topics.parquet and more; without -o it is <input>.etm/ in the current directory.

    --k auto and --k lo:hi fit several numbers of topics, print held-out perplexity, coherence and more of each, and keep the
    number of the highest score, a mean of them.
    """
    fit_mixture("etm", inputs, out, model, terms, tokens, read, run, checkpoints)

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
    """Fit the embedded topic model (ETM): topics based on word vectors.

    \b
    Examples:
      nlpkit etm data/samples/news.jsonl --k 8 --iterations 20 -o etm/
      nlpkit etm data/samples/news.jsonl --k 8 --iterations 20 --tune -o tuned/
      nlpkit etm data/samples/news.jsonl --k 8 --iterations 20 --vectors random -o learned/

    Topics are vectors in the space of the word vectors (Dieng, Ruiz and Blei 2020). The nearer a word is to a topic, the more
    probable it is in that topic. A neural network infers the topics of a document from its words. --vectors takes a run of
    embed-words or a file of word vectors. Without it, they are learned from the documents (PMI-SVD). The vectors stay fixed
    unless you set --tune. Training takes minutes where lda-gibbs takes seconds.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.etm/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents. An existing column 'tokens'
    is reused. The result does not depend on the number of threads. The command needs the extra 'neural'.

    --k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity, coherence and other scores for
    each, and keeps the number with the highest mean score.
    """
    fit_mixture("etm", inputs, out, model, terms, tokens, read, run, checkpoints)

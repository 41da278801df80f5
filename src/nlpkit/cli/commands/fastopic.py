"""nlpkit fastopic: topics, words and documents as vectors in one space."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions
from nlpkit.topics.neural.options import FastopicOptions


def fastopic_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: FastopicOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    embeddings: EncoderOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit FASTopic: topics and words as vectors in the space of sentence embeddings, by optimal transport.

    \b
    Examples:
      nlpkit fastopic data/samples/news.jsonl --k 8 --min-df 5 -o fastopic/
      nlpkit fastopic data/samples/questions.jsonl --k 2:4 -o chosen/
      nlpkit fastopic data/samples/questions.jsonl --k 4 --theta-temp 0.2 -o clearer/

    FASTopic (Wu et al. 2024) learns a vector for each topic and each word in the space of the embeddings of the documents, and
    moves documents to topics and topics to words at low cost (Sinkhorn's algorithm), so that the words of the documents come
    out. A fit takes seconds for thousands of documents, beside the embeddings. It needs no training of a network, and topics
    of new texts are those of their embeddings alone, whatever their words.

    Columns embedding and tokens are used, else made; embeddings need the extra 'neural'. The result is the same on any number of
    threads. Leaves a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more; without -o it is
    <input>.fastopic/ in the current directory.

    --k auto and --k lo:hi fit several numbers of topics, print held-out perplexity (of the topics as a mixture), coherence and
    more of each, and keep the number of the highest score, a mean of them.
    """
    fit_mixture("fastopic", inputs, out, model, terms, tokens, read, run, checkpoints, encoder=embeddings)

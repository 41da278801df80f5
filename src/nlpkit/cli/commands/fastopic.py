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
    """Fit FASTopic: topics from sentence embeddings by optimal transport.

    \b
    Examples:
      nlpkit fastopic data/samples/news.jsonl --k 8 --min-df 5 -o fastopic/
      nlpkit fastopic data/samples/questions.jsonl --k 2:4 -o chosen/
      nlpkit fastopic data/samples/questions.jsonl --k 4 --theta-temp 0.2 -o clearer/

    FASTopic (Wu et al. 2024) learns a vector for each topic and each word in the space of the document embeddings. It moves
    documents to topics and topics to words at low cost (Sinkhorn's algorithm), so that the words of the documents are
    reproduced. No network is trained: a fit takes seconds for thousands of documents, plus the embeddings. Topics of new texts
    depend on their embeddings only.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.fastopic/ in the current directory. Existing columns 'embedding' and 'tokens' are reused; computing embeddings needs
    the extra 'neural'. The result does not depend on the number of threads.

    --k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity (of the topics as a mixture),
    coherence and other scores for each, and keeps the number with the highest mean score.
    """
    fit_mixture("fastopic", inputs, out, model, terms, tokens, read, run, checkpoints, encoder=embeddings)

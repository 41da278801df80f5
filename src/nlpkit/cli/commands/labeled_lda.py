"""nlpkit labeled-lda: topics that are the labels of the documents."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions
from nlpkit.topics.supervised.options import LabeledLdaOptions


def labeled_lda_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: LabeledLdaOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit labelled LDA: one topic for each label.

    \b
    Examples:
      nlpkit labeled-lda data/samples/news.jsonl --iterations 60 -o labeled/
      nlpkit labeled-lda data/samples/news.jsonl --latent 2 --iterations 60 -o labeled-latent/
      nlpkit labeled-lda data/samples/news.jsonl --label-col source --iterations 60 -o sources/

    The model finds which words of a document belong to which of its labels (Ramage et al. 2009). The column holds a list of
    labels, labels separated by --separator, or one label. Topics are named after the labels, and a document only uses the
    topics of its own labels. --latent adds topics that are open to every document. A document without labels may use every
    topic.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.labeled-lda/ in the current directory. `nlpkit predict RUN NEW` assigns the topics of all labels to new documents,
    and predicts the most probable label. An existing column 'tokens' is reused. The result does not depend on the number of
    threads.
    """
    fit_mixture("labeled-lda", inputs, out, model, terms, tokens, read, run, checkpoints)

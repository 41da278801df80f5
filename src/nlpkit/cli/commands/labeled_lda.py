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
    """Fit labelled LDA: a topic for each label, and each document only uses those of its labels.

    \b
    Examples:
      nlpkit labeled-lda data/samples/news.jsonl --iterations 60 -o labeled/
      nlpkit labeled-lda data/samples/news.jsonl --latent 2 --iterations 60 -o labeled-latent/
      nlpkit labeled-lda data/samples/news.jsonl --label-col source --iterations 60 -o sources/

    Which words of a document belong to which of its labels (Ramage et al. 2009). The column holds a list of labels, labels
    separated by --separator, or one. Topics have the names of the labels; --latent adds topics that are open to every document.
    A document without labels may use every topic.

    `nlpkit predict RUN NEW` gives new documents the topics of all labels, and as prediction the label that is most probable.

    The result is the same on any number of threads. A column tokens is used, else made. Leaves a run directory with
    topics.parquet, topic_terms.parquet, doc_topics.parquet and more; without -o it is <input>.labeled-lda/ in the current
    directory.
    """
    fit_mixture("labeled-lda", inputs, out, model, terms, tokens, read, run, checkpoints)

"""nlpkit slda: supervised LDA."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions
from nlpkit.topics.supervised.options import SldaOptions


def slda_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: SldaOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit supervised LDA (sLDA): topics that answer to a label of the documents, and predict it.

    \b
    Examples:
      nlpkit slda data/samples/news.jsonl --k 8 --iterations 60 -o slda/
      nlpkit slda data/samples/news.jsonl --k 8 --label-col source --iterations 60 -o sources/
      nlpkit slda data/samples/news.jsonl --k 4:12:4 --iterations 30 -o slda-k/

    Topics and a regression of the label on them are fitted in turns (Blei and McAuliffe 2007): a number by ridge regression,
    classes by multinomial logistic regression. Documents without a label take part as in LDA. coefficients.parquet says which
    topics go with which label.

    `nlpkit predict RUN NEW` gives new documents topics, prediction and, of classes, prediction_prob, all from their words alone;
    where they have labels it prints how good the predictions are.

    The result is the same on any number of threads. A column tokens is used, else made. Leaves a run directory with
    topics.parquet, topic_terms.parquet, doc_topics.parquet and more; without -o it is <input>.slda/ in the current directory.
    """
    fit_mixture("slda", inputs, out, model, terms, tokens, read, run, checkpoints)

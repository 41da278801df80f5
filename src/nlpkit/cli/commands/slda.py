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
    """Fit supervised LDA (sLDA): topics that predict a label.

    \b
    Examples:
      nlpkit slda data/samples/news.jsonl --k 8 --iterations 60 -o slda/
      nlpkit slda data/samples/news.jsonl --k 8 --label-col source --iterations 60 -o sources/
      nlpkit slda data/samples/news.jsonl --k 4:12:4 --iterations 30 -o slda-k/

    The model alternates between the topics and a regression of the label on them (Blei and McAuliffe 2007): ridge regression
    for numbers, multinomial logistic regression for classes. Documents without a label are used as in LDA. coefficients.parquet
    shows which topics go with which label.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.slda/ in the current directory. An existing column 'tokens' is reused. The result does not depend on the number of
    threads.

    `nlpkit predict RUN NEW` adds topics, prediction and, for classes, prediction_prob to new documents, from their words alone.
    If they have labels, it also prints how good the predictions are.
    """
    fit_mixture("slda", inputs, out, model, terms, tokens, read, run, checkpoints)

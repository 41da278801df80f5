"""nlpkit stm: the structural topic model."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions
from nlpkit.topics.stm.options import StmOptions


def stm_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: StmOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit a structural topic model: topics with covariates, correlated topics without (STM, CTM).

    \b
    Examples:
      nlpkit stm data/samples/news.jsonl --k 8 --prevalence label -o stm/
      nlpkit stm data/samples/news.jsonl --k 8 --prevalence "label + s(date, 5)" -o stm-dates/
      nlpkit stm data/samples/nachrichten.jsonl --k 2 --content source -o stm-content/
      nlpkit stm data/samples/news.jsonl --k 8 -o ctm/

    What documents talk about depends on columns of theirs: --prevalence is a formula as R writes it. Numbers and dates are
    taken as they are (dates in days), or as splines with s(x) or s(x, degrees of freedom); texts are categories, and numbers
    in factor(x); factor(x, "level") chooses the first level. Without it, this is the correlated topic model.

    How documents talk about a topic depends on the categories of --content: the words of each topic at each level are printed
    and in topic_terms_by_content.parquet; all else shows their average over the levels.

    The start is that of anchor words, and the result the same for every seed and on any number of threads. A column tokens is
    used, else made. Leaves a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more; without
    -o it is <input>.stm/ in the current directory. `nlpkit predict RUN NEW` gives new documents its topics.

    --k auto and --k lo:hi fit several numbers of topics, without covariates, print held-out perplexity, coherence and more of
    each, and keep the number of the highest score, a mean of them.
    """
    fit_mixture("stm", inputs, out, model, terms, tokens, read, run, checkpoints)

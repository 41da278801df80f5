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
    """Fit a structural topic model: topics that depend on covariates.

    \b
    Examples:
      nlpkit stm data/samples/news.jsonl --k 8 --prevalence label -o stm/
      nlpkit stm data/samples/news.jsonl --k 8 --prevalence "label + s(date, 5)" -o stm-dates/
      nlpkit stm data/samples/nachrichten.jsonl --k 2 --content source -o stm-content/
      nlpkit stm data/samples/news.jsonl --k 8 -o ctm/

    --prevalence lists the columns that influence what documents are about, as an R formula. Numbers and dates (in days) enter
    as they are, or as splines with s(x) or s(x, degrees of freedom). Texts are categories, as are numbers in factor(x);
    factor(x, "level") sets the first level. Without --prevalence, this is the correlated topic model (CTM).

    --content is a column of categories that influences which words a topic uses. The words of each topic at each level are
    printed and stored in topic_terms_by_content.parquet. Everything else shows their average over the levels.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.stm/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents. An existing column 'tokens'
    is reused. The fit starts from anchor words. The result does not depend on the seed or on the number of threads.

    --k auto and --k lo:hi try several numbers of topics without covariates. nlpkit prints held-out perplexity, coherence and
    other scores for each, and keeps the number with the highest mean score.
    """
    fit_mixture("stm", inputs, out, model, terms, tokens, read, run, checkpoints)

"""nlpkit ctm: contextualized topic models, and ProdLDA."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions
from nlpkit.topics.neural.options import CtmOptions


def ctm_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: CtmOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    embeddings: EncoderOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit a neural topic model from sentence embeddings (ZeroShotTM, CombinedTM) or words (ProdLDA).

    \b
    Examples:
      nlpkit ctm data/samples/news.jsonl --k 8 --iterations 20 -o ctm/
      nlpkit ctm data/samples/news.jsonl --k 8 --iterations 20 --inference combined -o combined/
      nlpkit ctm data/samples/news.jsonl --k 8 --iterations 20 --inference bow -o prodlda/

    A contextualized topic model (Bianchi, Terragni and Hovy 2021): a neural network reads the topics of a document from its
    embedding, with --inference combined also from its words, with bow from these alone, and is trained to give its words
    back (ProdLDA, Srivastava and Sutton 2017). It takes minutes where lda-gibbs takes seconds. A model of embeddings of many
    languages gives texts in all of them the topics of one.

    Columns embedding and tokens are used, else made. Needs the extra 'neural'; `nlpkit predict RUN NEW` gives new documents
    its topics. The result is the same on any number of threads. Leaves a run directory with topics.parquet,
    topic_terms.parquet, doc_topics.parquet and more; without -o it is <input>.ctm/ in the current directory.

    --k auto and --k lo:hi fit several numbers of topics, print held-out perplexity (of the topics as a mixture), coherence and
    more of each, and keep the number of the highest score, a mean of them.

    This is not the correlated topic model, which is `nlpkit stm` without covariates.
    """
    fit_mixture("ctm", inputs, out, model, terms, tokens, read, run, checkpoints, encoder=embeddings)

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
    """Fit a neural topic model (ZeroShotTM, CombinedTM, ProdLDA).

    \b
    Examples:
      nlpkit ctm data/samples/news.jsonl --k 8 --iterations 20 -o ctm/
      nlpkit ctm data/samples/news.jsonl --k 8 --iterations 20 --inference combined -o combined/
      nlpkit ctm data/samples/news.jsonl --k 8 --iterations 20 --inference bow -o prodlda/

    The model is a contextualized topic model (Bianchi, Terragni and Hovy 2021). A neural network infers the topics of a
    document from its embedding (zeroshot), from embedding and words (--inference combined), or from words alone (bow). It is
    trained to reconstruct the words (ProdLDA, Srivastava and Sutton 2017). With a multilingual embedding model, texts in all
    its languages share the topics. Training takes minutes where lda-gibbs takes seconds.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.ctm/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents. Existing columns
    'embedding' and 'tokens' are reused. The result does not depend on the number of threads. The command needs the extra
    'neural'.

    --k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity (of the topics as a mixture),
    coherence and other scores for each, and keeps the number with the highest mean score.

    For the correlated topic model, which is also called CTM, use `nlpkit stm` without covariates.
    """
    fit_mixture("ctm", inputs, out, model, terms, tokens, read, run, checkpoints, encoder=embeddings)

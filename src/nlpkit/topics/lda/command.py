"""nlpkit lda-gibbs: LDA by collapsed Gibbs sampling."""

from __future__ import annotations

from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.base.options import CheckpointOptions
from nlpkit.topics.lda.options import DescriptionOptions, GuideOptions, LdaOptions, PrototypeOptions, WorkerOptions


def lda_gibbs_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    chain: LdaOptions,
    guide: GuideOptions,
    prototypes: PrototypeOptions,
    description: DescriptionOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    workers: WorkerOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit LDA by collapsed Gibbs sampling.

    \b
    Examples:
      nlpkit lda-gibbs data/samples/news.jsonl --k 8 --sweeps 200 -o lda/
      nlpkit lda-gibbs data/samples/news.jsonl --k 4:12:4 --sweeps 100 -o lda-k/
      nlpkit lda-gibbs data/samples/news.jsonl --k 8 --prototype 10 -o prototype/

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.lda/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents. `nlpkit convert RUN` writes
    the run for MALLET and pyLDAvis. `nlpkit rolling-lda` fits a time series of models. An existing column 'tokens' is reused.
    The result does not depend on the number of threads.

    --k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity, coherence, stability and other
    scores for each, and keeps the number with the highest mean score. --prototype N fits N chains and keeps the one most
    similar to the others (LDAPrototype).
    """
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.text.estimate import estimate
    from nlpkit.topics.lda.run import fit_lda, plan_lda
    from nlpkit.topics.mixture_views import show_lda

    target = out.run_target(inputs, "lda")
    corpus = read_corpus(*inputs, options=read, beside=target)
    if run.dry_run:
        plan = plan_lda(chain, guide, prototypes, checkpoints, tokens, workers, run, checkpoint=target, force=out.force)
        console.plan(
            estimate(
                corpus,
                "lda-gibbs",
                tokens=tokens,
                k=chain.exactly or 0,
                iterations=plan.sweeps,
                threads=run.n_threads(),
            )
        )
        return
    model = fit_lda(
        corpus,
        options=chain,
        guide=guide,
        prototypes=prototypes,
        description=description,
        checkpoints=checkpoints,
        tokens=tokens,
        workers=workers,
        execution=run,
        checkpoint=target,
        force=out.force,
    )
    model.save(target, force=out.force)
    show_lda(model, target)

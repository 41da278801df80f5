"""nlpkit dtm: the dynamic topic model."""

from __future__ import annotations

from nlpkit.cli import console
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.dtm.options import DtmOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions


def dtm_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: DtmOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit a dynamic topic model: topics whose words drift over dates.

    \b
    Examples:
      nlpkit dtm data/samples/news.jsonl --k 8 --every quarter -o dtm/
      nlpkit dtm data/samples/news.jsonl --k 4 --every "2 months" --chain-variance 0.005 -o slower/
      nlpkit dtm data/samples/news.jsonl --k 4:8:4 --every quarter --iterations 10 -o dtm-k/

    Each topic has its own words in each period, and they move by a random walk from one period to the next (Blei and Lafferty
    2006): a topic stays one topic while what is said of it changes. --chain-variance tells how far. Documents without a date are
    left out and listed; periods without documents lie between their neighbours.

    The result is the same on any number of threads. A column tokens is used, else made. Leaves a run directory as lda-gibbs
    does, its topics averaged over time, with topic_terms_over_time.parquet, topic_changes.parquet and periods.parquet; without
    -o it is <input>.dtm/ in the current directory. `nlpkit predict RUN NEW` gives new documents the topics that their words
    have at their date, or in the nearest period.

    --k auto and --k lo:hi fit several numbers of topics, print held-out perplexity, coherence, stability and more of each,
    and keep the number of the highest score, a mean of them.
    """
    from nlpkit.cli.render.dtm import show_dynamic
    from nlpkit.topics.options import NumberOfTopics
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.dtm import fit_dtm
    from nlpkit.workflows.estimate import estimate

    target = out.run_target(inputs, "dtm")
    corpus = read_corpus(*inputs, options=read, beside=target)
    if run.dry_run:
        console.plan(
            estimate(
                corpus, "dtm", tokens=tokens, every=model.every, k=NumberOfTopics.parse(model.k).exactly,
                iterations=model.iterations, threads=run.n_threads(),
            )
        )  # fmt: skip
        return
    fitted = fit_dtm(
        corpus, options=model, terms=terms, tokens=tokens, execution=run, checkpoints=checkpoints, checkpoint=target, force=out.force
    )  # fmt: skip
    fitted.save(target, force=out.force)
    show_dynamic(fitted, target)

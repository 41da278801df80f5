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
    """Fit a dynamic topic model: topics whose words change over time.

    \b
    Examples:
      nlpkit dtm data/samples/news.jsonl --k 8 --every quarter -o dtm/
      nlpkit dtm data/samples/news.jsonl --k 4 --every "2 months" --chain-variance 0.005 -o slower/
      nlpkit dtm data/samples/news.jsonl --k 4:8:4 --every quarter --iterations 10 -o dtm-k/

    Each topic has its own words in each period. They follow a random walk from period to period (Blei and Lafferty 2006), so a
    topic stays the same topic while its vocabulary changes. --chain-variance sets how fast. Documents without a date are left
    out and listed. Periods without documents are interpolated.

    The command writes a run directory as lda-gibbs does, with topics averaged over time. It also has
    topic_terms_over_time.parquet, topic_changes.parquet and periods.parquet. Without -o, it is <input>.dtm/ in the current
    directory. `nlpkit predict RUN NEW` assigns topics to new documents, with the words of their date or of the nearest period.
    An existing column 'tokens' is reused. The result does not depend on the number of threads.

    --k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity, coherence, stability and other
    scores for each, and keeps the number with the highest mean score.
    """
    from nlpkit.cli.render.mixtures import show_dynamic
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

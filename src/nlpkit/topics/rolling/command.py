"""nlpkit rolling-lda: a time series of LDA models, and newer documents added to one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Param
from nlpkit.text.options import TokenOptions
from nlpkit.topics.lda.options import DescriptionOptions, PrototypeOptions
from nlpkit.topics.rolling.options import ChangeOptions, RollingOptions


def rolling_lda_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    update: Annotated[
        Path | None,
        Param("Add newer documents to this rolling run. The output is the extended run.", metavar="RUN"),
    ] = None,
    rolling: RollingOptions,
    changes: ChangeOptions,
    prototypes: PrototypeOptions,
    description: DescriptionOptions,
    tokens: TokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit a time series of LDA models and detect changes.

    \b
    Examples:
      nlpkit rolling-lda data/samples/news.jsonl --k 8 --init 2024-06-30 -o rolling/
      nlpkit rolling-lda newer.jsonl --update rolling/ -o longer/
      nlpkit rolling-lda data/samples/news.jsonl --k 8 --chunks quarter --prototype 3 -o quarters/

    RollingLDA (Rieger, Jentsch and Rahnenführer 2021) keeps the topics of the first period and follows them chunk by chunk.
    Each chunk is sampled together with the memory of earlier chunks. The command writes a run directory as lda-gibbs does, with
    chunks.parquet, topic_shares.parquet and changes.parquet. Without -o, it is <input>.lda/ in the current directory.

    --update RUN adds newer documents to a rolling run. The result equals one fit to all documents. All other model options stay
    as in the run.
    """
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.text.estimate import estimate
    from nlpkit.topics.mixture_views import show_rolling
    from nlpkit.topics.rolling.run import fit_rolling_lda, plan_rolling, update_rolling_lda

    target = out.run_target(inputs, "lda")
    corpus = read_corpus(*inputs, options=read)
    records: dict[str, Any] = {
        "options": rolling, "changes": changes, "prototypes": prototypes, "tokens": tokens, "execution": run
    }  # fmt: skip
    if run.dry_run:
        console.plan(
            estimate(
                corpus, "lda-gibbs", tokens=tokens, iterations=plan_rolling(update, **records), threads=run.n_threads()
            )
        )
        return
    if update is None:
        model = fit_rolling_lda(corpus, description=description, **records)
    else:
        model = update_rolling_lda(update, corpus, description=description, **records)
    model.save(target, force=out.force)
    show_rolling(model, target, update)

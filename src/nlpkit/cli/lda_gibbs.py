"""nlpkit lda-gibbs: LDA by collapsed Gibbs sampling, LDAPrototype, RollingLDA, and topics of new text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.cli.lda_flags import ChainFlags, ExtraFlags, GuideFlags, PrototypeFlags, RollingFlags
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Param
from nlpkit.text.options import TopicTokenOptions


def lda_gibbs_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: Annotated[
        Path | None,
        Param("Predict with this run instead of fitting.", metavar="RUN"),
    ] = None,
    chain: ChainFlags,
    guide: GuideFlags,
    prototype: PrototypeFlags,
    rolling: RollingFlags,
    extra: ExtraFlags,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit LDA by Gibbs sampling, or predict topics of new text.

    Latent Dirichlet allocation by collapsed Gibbs sampling; the result is the same on any number of threads. A column
    tokens is used, else made. Leaves a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more;
    without -o it is <input>.lda/ in the current directory. With --model it gives new documents the topics of a run and
    writes a document table.

    --k auto and --k lo:hi fit several numbers of topics, print held-out perplexity, coherence, stability and more of each,
    and keep the number of the highest score, a mean of them. --prototype N fits N chains and keeps the one most like
    the others (LDAPrototype). --rolling month fits a time series of models over a date column (RollingLDA) and tests for
    changes; --update RUN adds newer documents to one.

    \b
    Examples:
      nlpkit lda-gibbs data/samples/news.jsonl --k 8 --sweeps 200 -o lda/
      nlpkit lda-gibbs data/samples/hard.jsonl --model lda/ -o topics.parquet
      nlpkit lda-gibbs data/samples/news.jsonl --k 8 --prototype 10 -o prototype/
    """
    if model is not None:
        _refuse(("--k, --alpha and the like", chain), ("--seed-words and the like", guide), ("--prototype", prototype),
                ("--rolling and its options", rolling), ("--save-state and the like", extra),
                why="the run of --model was fitted already; leave it out")  # fmt: skip
        from nlpkit.cli.lda_predict import predict

        predict(inputs, out, model, tokens, read, run)
        return
    if extra.from_mallet:
        _refuse(("--k, --alpha and the like", chain), ("--seed-words and the like", guide), ("--prototype", prototype),
                ("--rolling and its options", rolling), ("--stop-words, --min-df and the like", tokens),
                ("--text-col, --limit and the like", read),
                why="the state of --from-mallet was sampled already; leave it out")  # fmt: skip
        from nlpkit.cli.lda_import import make_run

        make_run(inputs, out, extra, run)
        return
    if rolling.rolling is not None or rolling.update is not None:
        from nlpkit.cli.lda_rolling import roll

        roll(inputs, out, chain, guide, prototype, rolling, extra, tokens, read, run)
        return
    _refuse(("--init, --memory and the like", rolling), why="is for --rolling SPAN, such as --rolling month; add it")
    from nlpkit.cli.lda_fit import fit

    fit(inputs, out, chain, guide, prototype, extra, tokens, read, run)


def _refuse(*groups: tuple[str, object], why: str) -> None:
    """Refuse options that would change nothing.

    Raises:
        UsageError: a group of options is not that of the defaults.
    """
    for names, flags in groups:
        if flags != type(flags)():
            raise UsageError(f"{names}: {why}")

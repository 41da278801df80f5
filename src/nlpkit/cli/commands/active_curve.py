"""nlpkit active-curve: strategies of active learning against random choice."""

from __future__ import annotations

from nlpkit.classify.active_options import ActiveCurveOptions
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TokenOptions
from nlpkit.weighting.options import WeightOptions


def active_curve_cli(
    inputs: Inputs,
    options: ActiveCurveOptions,
    out: OutputFlags,
    encoder: EncoderOptions,
    weights: WeightOptions,
    read: ReadOptions,
    run: RunFlags,
    tokens: TokenOptions,
) -> None:
    """Compare active learning strategies with random choice.

    The documents must have labels. nlpkit reveals them round by round, as if a person gave them. After each round it fits a
    quick classifier to the revealed labels, scores it on held-out documents, and lets the strategy choose the next texts.

    The table shows mean accuracy and macro F1 by number of labels, and the gain of each strategy over random choice. Intervals
    cover the repetitions.

    \b
    Examples:
      nlpkit active-curve data/samples/news.jsonl --vectors tfidf --by margin --seeds 2
      nlpkit active-curve data/samples/news.jsonl --vectors tfidf --by badge --rounds 3 -o c.csv
      nlpkit active-curve data/samples/news.jsonl --vectors tfidf --by diverse --model nb --json
    """
    target = out.given_table_target("curves.csv")
    if run.dry_run:
        dry_run(inputs, read, encoder=encoder if options.vectors == "embedding" else None, threads=run.n_threads())
        return
    from nlpkit.cli.render import active as render
    from nlpkit.workflows.active_curve import compare_strategies
    from nlpkit.workflows.corpus import read_corpus

    corpus = read_corpus(*inputs, options=read, beside=target)
    curves = compare_strategies(corpus, options=options, encoder=encoder, tokens=tokens, weights=weights, execution=run)
    if target is not None:
        curves.save(target, force=out.force)
    if options.plot is not None:
        curves.save_plot(options.plot, force=out.force)
    render.curves(curves, target)

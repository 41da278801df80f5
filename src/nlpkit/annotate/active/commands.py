"""The commands of active learning: `nlpkit active` and `nlpkit active-curve`.

Parts, in this order:
- nlpkit active: which texts to label next.
- nlpkit active-curve: strategies of active learning against random choice.
"""

from __future__ import annotations

from nlpkit.annotate.active.options import BY_VECTORS, ActiveCurveOptions, ActiveOptions
from nlpkit.embed.options import EncoderOptions
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.text.options import TokenOptions
from nlpkit.weights.options import WeightOptions


def active_cli(
    inputs: Inputs,
    options: ActiveOptions,
    out: OutputFlags,
    encoder: EncoderOptions,
    weights: WeightOptions,
    read: ReadOptions,
    run: RunFlags,
    tokens: TokenOptions,
) -> None:
    """Choose which texts to label next, and write a page for labelling.

    With a classifier, nlpkit chooses the texts that the classifier is least certain about (entropy, margin, least-confident).
    badge also makes them differ from each other. Without a classifier, at the start, it chooses texts that differ (diverse,
    core-set). Use random as the baseline: `nlpkit active-curve` compares it with the other strategies.

    Texts that already have a label are left out, and identical texts are chosen once. The output is a table with score and
    rank. `nlpkit annotate labels` turns the answers to the page into labels.

    \b
    Examples:
      nlpkit active data/samples/questions.jsonl --relabel --vectors tfidf -o batch.parquet
      nlpkit active data/samples/questions.jsonl --relabel --by random --page p.html --labels a,b
      nlpkit active data/samples/questions.jsonl --relabel --by core-set --vectors tfidf --json -q
    """
    from nlpkit.annotate.active.run import check_page

    target = out.given_table_target("batch.parquet")
    check_page(options.page, target, force=out.force)
    if run.dry_run:
        embeds = options.strategy in BY_VECTORS and options.vectors == "embedding"
        dry_run(inputs, read, encoder=encoder if embeds else None, threads=run.n_threads())
        return
    from nlpkit.annotate.active import views as render
    from nlpkit.annotate.active.run import propose_texts
    from nlpkit.platform.documents.corpus import read_corpus

    corpus = read_corpus(*inputs, options=read, beside=target)
    proposals = propose_texts(corpus, options=options, encoder=encoder, tokens=tokens, weights=weights, execution=run)
    if target is not None:
        proposals.save(target, force=out.force)
    if options.page is not None:
        proposals.save_task(options.page, force=out.force)
    render.proposals(proposals, target)


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit active-curve: strategies of active learning against random choice.


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
    from nlpkit.annotate.active import views as render
    from nlpkit.annotate.active.curve import compare_strategies
    from nlpkit.platform.documents.corpus import read_corpus

    corpus = read_corpus(*inputs, options=read, beside=target)
    curves = compare_strategies(corpus, options=options, encoder=encoder, tokens=tokens, weights=weights, execution=run)
    if target is not None:
        curves.save(target, force=out.force)
    if options.plot is not None:
        curves.save_plot(options.plot, force=out.force)
    render.curves(curves, target)

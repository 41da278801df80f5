"""nlpkit active: which texts to label next."""

from __future__ import annotations

from nlpkit.classify.active_options import BY_VECTORS, ActiveOptions
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TokenOptions
from nlpkit.weighting.options import WeightOptions


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
    from nlpkit.workflows.active import check_page

    target = out.given_table_target("batch.parquet")
    check_page(options.page, target, force=out.force)
    if run.dry_run:
        embeds = options.strategy in BY_VECTORS and options.vectors == "embedding"
        dry_run(inputs, read, encoder=encoder if embeds else None, threads=run.n_threads())
        return
    from nlpkit.cli.render import active as render
    from nlpkit.workflows.active import propose_texts
    from nlpkit.workflows.corpus import read_corpus

    corpus = read_corpus(*inputs, options=read, beside=target)
    proposals = propose_texts(corpus, options=options, encoder=encoder, tokens=tokens, weights=weights, execution=run)
    if target is not None:
        proposals.save(target, force=out.force)
    if options.page is not None:
        proposals.save_task(options.page, force=out.force)
    render.proposals(proposals, target)

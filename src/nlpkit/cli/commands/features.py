"""nlpkit features: texts to a table of features."""

from __future__ import annotations

from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.cli.parts import divided
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.shards import ShardOptions
from nlpkit.text.feature_options import TextFeatureOptions


def features_cli(
    inputs: Inputs,
    out: OutputFlags,
    options: TextFeatureOptions,
    read: ReadOptions,
    sharing: ShardOptions,
    run: RunFlags,
) -> None:
    """Make a table of text features: counts, readability, lexicon words.

    The output is the documents with one column per feature. Any model in R, Excel or scikit-learn can use it, and so can nlpkit
    classify --feature-cols. Counts of an empty text are 0; shares and means over nothing are left empty. The guide lists all
    features with their formulas.

    \b
    Examples:
      nlpkit features data/samples/news.jsonl -o features.parquet
      nlpkit features data/samples/hard.jsonl --include words,lix --keep-cols none -o few.csv
      nlpkit features data/samples/news.jsonl --include counts --bins words:4 -o binned.parquet
    """
    target = out.target("features.parquet")
    if run.dry_run:
        dry_run(inputs, read)
        return
    if divided("features", inputs, target, sharing=sharing, read=read, out=out, run=run, options=options):
        return
    from nlpkit.cli.render.features import show_features
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.features import text_feature_batches

    corpus = read_corpus(*inputs, options=read, beside=target)
    with text_feature_batches(corpus, options=options, execution=run) as features:
        summary = features.save(target, force=out.force)
    show_features(summary, target)

"""nlpkit ctfidf: the terms that tell the classes of a column, or of two columns crossed, apart."""

from __future__ import annotations

from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TokenOptions
from nlpkit.weighting.class_term_options import ClassTermOptions


def ctfidf_cli(
    inputs: Inputs, classes: ClassTermOptions, tokens: TokenOptions, out: OutputFlags, read: ReadOptions, run: RunFlags
) -> None:
    """Weight terms by class: the words that distinguish the classes.

    The default is c-tf-idf: tf / words of the class · ln(1 + A / tf of the term), where A is the mean number of words per
    class. --weighting chooses the importance score, or keyness (log-odds against all other classes with a Dirichlet prior and
    z-scores). --target compares two classes by keyness, with G², effect sizes and dispersion.

    The classes are the values of a column, or pairs of values of two columns. Documents without a value, or with topic -1, are
    left out. Missing tokens are computed. The ten strongest terms of each class are printed, and -o writes a table (class,
    rank, term, weight …). INPUT can be a run: nlpkit then reads and tokenises its corpus again, and columns such as topic are
    available.

    \b
    Examples:
      nlpkit ctfidf data/samples/news.jsonl --by label
      nlpkit ctfidf data/samples/news.jsonl --by label --over date:year --top-n 10
      nlpkit ctfidf data/samples/news.jsonl --by source --weighting keyness -o terms.parquet
    """
    if run.dry_run:
        dry_run(inputs, read)
        return
    from nlpkit.cli.render.weights import show_class_terms
    from nlpkit.workflows.class_terms import ctfidf
    from nlpkit.workflows.corpus import read_corpus

    target = out.given_table_target("terms.parquet")
    terms = ctfidf(read_corpus(*inputs, options=read, beside=target), options=classes, tokens=tokens, execution=run)
    if target is not None:
        terms.save(target, force=out.force)
    if target != "-":
        show_class_terms(terms, target)

"""The commands `nlpkit ctfidf` and `nlpkit keyness`: words that distinguish classes or groups.

Parts, in this order:
- nlpkit ctfidf: the terms that tell the classes of a column, or of two columns crossed, apart.
- nlpkit keyness: the words that distinguish two groups of documents.
"""

from __future__ import annotations

from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.text.options import TokenOptions
from nlpkit.weights.options import ClassTermOptions, KeynessOptions


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
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.weights.class_terms import ctfidf
    from nlpkit.weights.views import show_class_terms

    target = out.given_table_target("terms.parquet")
    terms = ctfidf(read_corpus(*inputs, options=read, beside=target), options=classes, tokens=tokens, execution=run)
    if target is not None:
        terms.save(target, force=out.force)
    if target != "-":
        show_class_terms(terms, target)


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit keyness: the words that distinguish two groups of documents.


def keyness_cli(
    inputs: Inputs, groups: KeynessOptions, tokens: TokenOptions, out: OutputFlags, read: ReadOptions, run: RunFlags
) -> None:
    """Find the words that distinguish two groups of documents.

    The groups are values of a column, such as parties, sources or years. --target names a group and --reference the group to
    compare it with; without --reference, all other documents. Without --target, each group is compared with all others.
    Several files are read as one corpus, so a column must tell their groups apart.

    Words are ranked by z, the log-odds with a Dirichlet prior divided by their standard error (Monroe et al. 2008). For a single
    word, chance alone rarely gives a z above 2; among thousands of words, it gives some. With --target the table also shows G²,
    the log ratio, %DIFF, frequencies and dispersion. INPUT can be a run, to compare its topics (--by topic).

    \b
    Examples:
      nlpkit keyness data/samples/news.jsonl --by label --target economy --reference courts
      nlpkit keyness data/samples/news.jsonl --by source --target "Wire Seven" -o key.csv
      nlpkit keyness data/samples/news.jsonl --by date:year --top-n 10
    """
    if run.dry_run:
        dry_run(inputs, read)
        return
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.weights.class_terms import keyness
    from nlpkit.weights.views import show_class_terms

    target = out.given_table_target("key.csv")
    terms = keyness(read_corpus(*inputs, options=read, beside=target), options=groups, tokens=tokens, execution=run)
    if target is not None:
        terms.save(target, force=out.force)
    if target != "-":
        show_class_terms(terms, target)

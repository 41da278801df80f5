"""nlpkit keyness: the words that distinguish two groups of documents."""

from __future__ import annotations

from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TokenOptions
from nlpkit.weighting.class_term_options import KeynessOptions


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
    from nlpkit.cli.render.weights import show_class_terms
    from nlpkit.workflows.class_terms import keyness
    from nlpkit.workflows.corpus import read_corpus

    target = out.given_table_target("key.csv")
    terms = keyness(read_corpus(*inputs, options=read, beside=target), options=groups, tokens=tokens, execution=run)
    if target is not None:
        terms.save(target, force=out.force)
    if target != "-":
        show_class_terms(terms, target)

"""nlpkit ctfidf: the terms that tell the classes of a column, or of two columns crossed, apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Param
from nlpkit.text.options import TokenOptions

WEIGHTINGS = ("ctfidf", "importance", "keyness")


@dataclass(frozen=True, slots=True)
class ClassFlags:
    """What the classes are, and how their terms are weighed."""

    by: Annotated[
        str,
        Param(
            "Column of the classes: label, topic, source …; date:year (decade, quarter, month, week, day) takes a part of a date."
        ),
    ] = "label"
    over: Annotated[
        str | None,
        Param("A second column, crossed with the first: each pair is a class."),
    ] = None
    top_n: Annotated[int, Param("Terms of each class.", min=1)] = 30
    weighting: Annotated[
        str,
        Param("ctfidf; importance (score of the lecture); keyness (log-odds of a class against the rest)."),
    ] = "ctfidf"
    reduce_frequent_words: Annotated[
        bool,
        Param("ctfidf: square root of the first factor."),
    ] = False
    bm25: Annotated[
        bool,
        Param("ctfidf: ln(1 + (A - tf + 0.5) / (tf + 0.5)).", ("bm25", "bm25_weighting")),
    ] = False
    compat: Annotated[
        str | None,
        Param("bertopic: ctfidf with A cut to a whole number, as BERTopic does."),
    ] = None
    epsilon: Annotated[float | None, Param("importance: the number added to shares; default 1e-5.")] = None
    prior_words: Annotated[
        float | None,
        Param("keyness: size of the prior in words; default: mean words per class."),
    ] = None

    def check(self) -> None:
        """Refuse a weighting that is none, and options of another one; raises UsageError."""
        if self.weighting not in WEIGHTINGS:
            raise UsageError(f"--weighting {self.weighting}: known are {', '.join(WEIGHTINGS)}")
        if self.compat not in (None, "bertopic"):
            raise UsageError(f"--compat {self.compat}: known is bertopic")
        given = {
            "--reduce-frequent-words": ("ctfidf", self.reduce_frequent_words),
            "--bm25": ("ctfidf", self.bm25),
            "--compat": ("ctfidf", self.compat is not None),
            "--epsilon": ("importance", self.epsilon is not None),
            "--prior-words": ("keyness", self.prior_words is not None),
        }
        for option, (weighting, is_given) in given.items():
            if is_given and weighting != self.weighting:
                raise UsageError(f"{option} goes with --weighting {weighting}, not {self.weighting}")
        if self.over == self.by:
            raise UsageError(f"--by and --over are both '{self.by}'; cross it with another column")


def ctfidf_cli(
    inputs: Inputs,
    classes: ClassFlags,
    tokens: TokenOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Weigh terms by class: which words tell the classes apart.

    c-tf-idf: tf / words of the class · ln(1 + A / tf of the term), A = mean words per class; or the importance score,
    or log-odds against all other classes with a Dirichlet prior and z-scores. The classes are the values of any column,
    or pairs of values; documents without a value (or of topic -1) are left out. Tokens are made when they are missing.
    Prints the ten strongest terms of each class; with -o a table (class, rank, term, weight) is written. INPUT can be a
    run: then its corpus is read again and cut as it was, and the columns of its documents are there, such as topic.

    \b
    Examples:
      nlpkit ctfidf data/samples/news.jsonl --by label
      nlpkit ctfidf data/samples/news.jsonl --by label --over date:year --top-n 10
      nlpkit ctfidf data/samples/news.jsonl --by source --weighting keyness -o terms.parquet
    """
    from nlpkit.cli.ctfidf_run import weigh_classes
    from nlpkit.cli.dry_run import dry_run

    classes.check()
    from nlpkit.workflows.token_options import preprocess_options

    options = preprocess_options(tokens)
    if run.dry_run:
        dry_run(inputs, read)
        return
    weigh_classes(inputs, classes, options, out, read, threads=run.n_threads())

"""The options of evaluations: which scores, by which definition, with which intervals, and the gates they must pass."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, cast

from nlpkit.errors import UsageError
from nlpkit.platform.llm_options import LOCAL, LlmOptions
from nlpkit.platform.options import MOST, READ, WRITTEN, Param, names_in, options

ENCODER = "encoder"  # the value of `vectors` that stands for a sentence encoder
DEFINITION, TARGETS = "Definition of scores", "Targets"
VOTES, DAWID_SKENE = "votes", "dawid-skene"
LABELLINGS = (VOTES, DAWID_SKENE)
AnnotatorsBy = Annotated[
    str,
    Param(
        "How to combine the labels of `annotators`: votes (shares), or dawid-skene (probabilities of the true "
        "label; reliable coders count more).",
        metavar="votes|dawid-skene",
        choices=LABELLINGS,
        needs=("annotators",),
    ),
]
OF_STM = {"coherence": "semantic_coherence", "exclusivity": "frex_exclusivity"}  # what R's stm calls so
_FLAGS = ("npmi", "pmi", "umass", "c_v", "c_p", "diversity", "perplexity")


@options
class IntervalOptions:
    """Which intervals scores have."""

    PANEL: ClassVar[str] = "Scores"

    ci: Annotated[float, Param("Confidence level of the intervals; 0 = no intervals.", min=0, below=1)] = 0.95

    def level(self) -> float | None:
        """Return the level, None for no intervals."""
        return self.ci or None


@options
class EvaluationOptions(IntervalOptions):
    """Which scores are made, and by which definition; and how targets that are tables or files of topics are read.

    metrics: names or groups, with commas or as a sequence; None for the usual ones. window: "document", a number of tokens, or
    "own". top_n: numbers of top words, also as text with commas. prediction_col, prob_col, topic_col: columns of tables.

    Raises:
        UsageError: a value that is not possible.
    """

    PANEL: ClassVar[str] = "Scores"

    metrics: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Scores or groups of scores: npmi,c_v,diversity, coherence, distinctness, fit, clustering, all. The "
            "evaluate guide lists them.",
            metavar="NAMES",
        ),
    ] = None
    npmi: Annotated[bool, Param("Compute topic coherence by NPMI.")] = False
    pmi: Annotated[bool, Param("Compute topic coherence by PMI (C_UCI).", ("pmi", "c_uci"))] = False
    umass: Annotated[bool, Param("Compute topic coherence by UMass (Mimno et al. 2011).", ("umass", "u_mass"))] = False
    c_v: Annotated[bool, Param("Compute topic coherence by C_V (Röder et al. 2015).")] = False
    c_p: Annotated[bool, Param("Compute topic coherence by C_P (Röder et al. 2015).")] = False
    diversity: Annotated[bool, Param("Compute the share of different words among the top words of all topics.")] = False
    perplexity: Annotated[bool, Param("Compute the perplexity of the documents in `heldout`.")] = False
    stability: Annotated[bool, Param("Measure how well the topics of several models agree.")] = False
    ci_over: Annotated[
        str,
        Param(
            "Intervals of coherence over topics (another sample of topics) or documents (another corpus).",
            choices=("topics", "documents"),
        ),
    ] = "topics"
    window: Annotated[
        int | str,
        Param(
            "Window for coherence: document, a number of tokens, or own (the window in the paper of each measure).",
            panel=DEFINITION,
        ),
    ] = "own"
    top_n: Annotated[
        int | str | tuple[int, ...],
        Param(
            "Top words per topic. A list (5,10,20) averages coherence over the values; other scores use the largest.",
            ("top_n", "topn"),
            panel=DEFINITION,
        ),
    ] = "10"
    compat: Annotated[
        str | None,
        Param(
            "Compute coherence as another program does: gensim, octis, tomotopy, palmetto; stm: semantic coherence and "
            "exclusivity of R's stm.",
            panel=DEFINITION,
            choices=("gensim", "octis", "tomotopy", "palmetto", "stm"),
        ),
    ] = None
    absent: Annotated[
        str,
        Param(
            "Top words missing from the reference: worst (count as never co-occurring) or skip.",
            panel=DEFINITION,
            choices=("worst", "skip"),
            excludes=("compat",),
        ),
    ] = "worst"
    vectors: Annotated[
        str | None,
        Param(
            "Word vectors for we_pairwise (C_ex), we_centroid, intruder_found, interpretability; or 'encoder'.",
            metavar="FILE",
            panel=DEFINITION,
        ),
        READ,
    ] = None
    method: Annotated[
        str,
        Param(
            "Estimator of perplexity: completion or left-to-right.",
            panel=DEFINITION,
            choices=("completion", "left-to-right"),
        ),
    ] = "completion"
    particles: Annotated[int, Param("Number of particles of the left-to-right estimator.", min=1, panel=DEFINITION)] = (
        100
    )
    beta: Annotated[float, Param("Weight of recall relative to precision in F scores.", panel=DEFINITION, above=0)] = (
        1.0
    )
    label_noise: Annotated[
        str | float | None,
        Param(
            "Label errors to correct scores for: a rate such as 0.05, or a table with label, given and share.",
            metavar="RATE|FILE",
            panel=TARGETS,
        ),
        READ,
    ] = None
    annotators: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Columns of several annotators (a,b,c) instead of one label column. Intervals then also cover the "
            "annotators.",
            metavar="NAMES",
            panel=TARGETS,
        ),
    ] = None
    layer: Annotated[
        int | None,
        Param("Layer of `encoder` whose token vectors bertscore compares. Default: the last.", min=0, panel=DEFINITION),
    ] = None
    token_idf: Annotated[
        bool,
        Param("Weight bertscore tokens by inverse frequency in the reference texts.", panel=DEFINITION),
    ] = False
    target_format: Annotated[
        str,
        Param(
            "Format of the targets: auto, run, table, or a format of topic files (lines json mallet csv tsv parquet).",
            panel=TARGETS,
        ),
    ] = "auto"
    prediction_col: Annotated[str, Param("Column with the predicted label.", panel=TARGETS)] = "prediction"
    prob_col: Annotated[str, Param("Column with the probability of the prediction.", panel=TARGETS)] = "prediction_prob"
    topic_col: Annotated[str, Param("Column with the topic or cluster.", panel=TARGETS)] = "topic"
    label_sep: Annotated[
        str | None,
        Param("Separator of several labels in one cell, such as ';'.", metavar="TEXT", panel=TARGETS, filled=True),
    ] = None

    def __post_init__(self) -> None:
        """Refuse values that are not possible, but for names of metrics."""
        self.window_size()
        self.depths()

    def names(self) -> list[str]:
        """Return the names of the metrics that were asked for, in their order; empty when none was.

        Raises:
            UsageError: a name is unknown.
        """
        from nlpkit.metrics.catalogue import ALIASES, FAMILIES, GROUPS, METRICS, in_group, no_metric

        as_stm = self.compat == "stm"
        named: set[str] = {name for name in _FLAGS if getattr(self, name)}
        if self.stability:
            named.update(in_group("stability"))
        for item in names_in(self.metrics):
            key = item.lower().replace("-", "_")
            key = OF_STM.get(key, key) if as_stm else ALIASES.get(key, key)
            if key == "all":
                named.update(METRICS)
            elif key in METRICS:
                named.add(key)
            elif key in FAMILIES:
                named.update(FAMILIES[key])
            elif key in GROUPS:
                named.update(in_group(key))
            else:
                raise UsageError(f"`metrics`: {no_metric(item, groups=True)}", parameter="metrics")
        named.update(in_group("stm") if as_stm and not named else ())
        return [name for name in METRICS if name in named]

    def is_named(self, name: str) -> bool:
        """Whether a metric was asked for by its own name, not by that of a group."""
        from nlpkit.metrics.catalogue import FAMILIES, metric_of

        items = names_in(self.metrics)
        metrics = [metric_of(item) for item in items]
        return (
            getattr(self, name, False) is True
            or any(m is not None and m.name == name for m in metrics)
            or any(name in FAMILIES.get(item.lower(), ()) for item in items)
        )

    def depths(self) -> list[int]:
        """Return the numbers of top words. Raises UsageError when they are not whole numbers of at least 2."""
        values = self.top_n if isinstance(self.top_n, tuple) else str(self.top_n).split(",")
        try:
            depths = sorted({int(value) for value in values})
        except ValueError:
            depths = []
        if not depths or depths[0] < 2 or depths[-1] > MOST:
            raise UsageError(
                f"`top_n={self.top_n}`: whole numbers from 2 to {MOST:,} are needed, such as 10 or 5,10,20",
                parameter="top_n",
            )
        return depths

    def window_size(self) -> int | Literal["own"] | None:
        """Return "own", None for whole documents, or a number of tokens. Raises UsageError when it is none of these."""
        window = str(self.window)
        if window == "own":
            return "own"
        if window in ("document", "documents", "doc"):
            return None
        if window.isdecimal() and 2 <= int(window) <= MOST:
            return int(window)
        raise UsageError(
            f"`window={window}`: it must be document, a number of tokens from 2 to {MOST:,}, or own (the window in the measure's paper)",
            parameter="window",
        )

    def absent_rule(self) -> Literal["worst", "skip"]:
        """Return `absent` as the metrics take it."""
        return cast(Literal["worst", "skip"], self.absent)

    def annotator_columns(self) -> list[str]:
        """Return the columns of annotators. Raises UsageError for one alone or one named twice, and where noise is named, too."""
        columns = names_in(self.annotators)
        if self.annotators is not None and (len(columns) < 2 or len(set(columns)) < len(columns)):
            raise UsageError(
                "`annotators` needs the columns of two annotators or more, each once, such as a,b",
                parameter="annotators",
            )
        if columns and self.label_noise is not None:
            raise UsageError("`label_noise` and `annotators` do not go together", parameter="label_noise")
        return columns

    def refuse_noise(self) -> None:
        """Raise UsageError where there are no predictions and labels, of which alone noise can be told."""
        for name in ("label_noise", "annotators"):
            if getattr(self, name) is not None:
                raise UsageError(f"`{name}` only applies to tables with predictions; leave it out", parameter=name)

    def refuse_token_options(self) -> None:
        """Raise UsageError for options of BERTScore where it is not made."""
        for name in ("layer", "token_idf"):
            if getattr(self, name) not in (None, False):
                raise UsageError(f"`{name}` is for `metrics=bertscore`; leave it out", parameter=name)

    def refuse_separator(self) -> None:
        """Raise UsageError where there is nothing to split at `label_sep`."""
        if self.label_sep is not None:
            raise UsageError(
                "`label_sep` is for tables with several labels and predictions in a cell; leave it out",
                parameter="label_sep",
            )


@options
class AgreementOptions:
    """How the labels of coders are measured. order: labels from low to high, with commas or as a sequence."""

    PANEL: ClassVar[str] = "Scores"

    measurement: Annotated[
        str | None,
        Param("Scale of the labels: nominal (default), ordinal, interval or ratio. Ratings are ordinal."),
    ] = None
    order: Annotated[
        str | tuple[str, ...] | None,
        Param("Ordinal labels from lowest to highest, such as low,mid,high.", metavar="LABELS"),
    ] = None

    def labels(self) -> list[str]:
        """Return the labels in their order."""
        return names_in(self.order)


@options
class JudgeOptions(LlmOptions):
    """Options of a language model that answers a task for people.

    Raises:
        UsageError: no model is named; or several judges by a model on this machine, which always answers alike.
    """

    PANEL: ClassVar[str] = "Judges"

    judges: Annotated[
        int,
        Param(
            "Number of coders that the model plays. Several are sampled at temperature 1, each with its own seed; "
            "a single one at temperature 0.",
            metavar="N",
            min=1,
        ),
    ] = 1
    expected: Annotated[
        bool,
        Param(
            "Also ask for the probabilities of ratings and add their expected value, which separates topics with "
            "equal ratings (G-Eval, Liu et al. 2023)."
        ),
    ] = False

    def __post_init__(self) -> None:
        """Check that there is a model that can be what is wanted."""
        if self.llm is None:
            raise UsageError("no language model is named; add `llm=URL` and `llm_model`", parameter="llm")
        if self.llm == LOCAL and self.judges > 1:
            raise UsageError("`llm=local` always gives the same answer; leave `judges` out", parameter="judges")


@options
class GateOptions:
    """Bounds that scores must keep, and how a CI job is told of them."""

    PANEL: ClassVar[str] = "Gates"

    fail_under: Annotated[
        str | None, Param("Exit with 1 if a score is lower than this: npmi=0.05,diversity=0.7.", metavar="SCORES")
    ] = None
    fail_over: Annotated[
        str | None, Param("Exit with 1 if a score is higher than this: perplexity=900.", metavar="SCORES")
    ] = None
    baseline: Annotated[
        Path | None,
        Param(
            "Scores of an earlier evaluation (`output=metrics.json`) that must not get worse (see `max_drop`).",
            metavar="FILE",
        ),
    ] = None
    max_drop: Annotated[
        str | None,
        Param(
            "Exit with 1 if a score is worse than in `baseline` by more than this: 0.02, 2%, npmi=0.02,perplexity=1%.",
            metavar="DROP",
        ),
    ] = None
    markdown: Annotated[bool, Param("Print Markdown on stdout, for the summary of a CI job.")] = False
    junit: Annotated[Path | None, Param("Write the results of the gates as JUnit XML.", metavar="FILE"), WRITTEN] = None

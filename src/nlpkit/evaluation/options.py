"""The options of `nlpkit evaluate`, and what they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, cast

from nlpkit.errors import UsageError
from nlpkit.parameters import MOST, READ, WRITTEN, Param

COMPATS = ("gensim", "octis", "tomotopy", "palmetto")


@dataclass(frozen=True, slots=True)
class TargetFlags:
    """What the targets are, and what they are held against."""

    reference: Annotated[
        list[str] | None,
        Param("Corpus to count words in; default: that of the fit. Repeat it for several files.", metavar="DOCS"),
        READ,
    ] = None
    target_format: Annotated[
        str,
        Param("auto, run, table; or of topics: lines json mallet csv tsv parquet."),
    ] = "auto"
    prediction_col: Annotated[str, Param("Table: column of the predicted label.")] = "prediction"
    prob_col: Annotated[str, Param("Table: column of its probability.")] = "prediction_prob"
    topic_col: Annotated[str, Param("Table: column of the topic or cluster.")] = "topic"
    label_sep: Annotated[
        str | None,
        Param("Table: several labels in a cell, apart by this: ';'.", metavar="TEXT"),
    ] = None

    def check_separator(self, *, of_tables: bool) -> None:
        """Refuse --label-sep where there is nothing to split. Raises UsageError."""
        if self.label_sep == "":
            raise UsageError("--label-sep needs the text between two labels, such as ';'")
        if self.label_sep is not None and not of_tables:
            raise UsageError("--label-sep is for tables with several labels and predictions in a cell; leave it out")


@dataclass(frozen=True, slots=True)
class MetricFlags:
    """Which scores, and by which definition."""

    metrics: Annotated[
        str | None,
        Param(
            "Names or groups: npmi,c_v,diversity, coherence, distinctness, fit, clustering, all; see README.",
            metavar="NAMES",
        ),
    ] = None
    npmi: Annotated[bool, Param("Coherence by NPMI.")] = False
    pmi: Annotated[bool, Param("Coherence by PMI (C_UCI).", ("pmi", "c_uci"))] = False
    umass: Annotated[bool, Param("Coherence by Mimno et al.", ("umass", "u_mass"))] = False
    c_v: Annotated[bool, Param("Coherence C_V of Röder et al.")] = False
    c_p: Annotated[bool, Param("Coherence C_P of Röder et al.")] = False
    diversity: Annotated[bool, Param("Share of different top words.")] = False
    perplexity: Annotated[bool, Param("Of --heldout documents.")] = False
    stability: Annotated[bool, Param("Agreement of several models.")] = False
    window: Annotated[str, Param("document, a number of tokens, or own: that of each measure's paper.")] = "own"
    top_n: Annotated[
        str,
        Param(
            "Top words of a topic; 5,10,20: coherence is the mean of the three, the rest takes 20.", ("top_n", "topn")
        ),
    ] = "10"
    compat: Annotated[
        str | None,
        Param("Another program's coherence: gensim, octis, tomotopy, palmetto."),
    ] = None
    absent: Annotated[str, Param("Words the reference does not have: worst (never together) or skip.")] = "worst"
    vectors: Annotated[
        str | None,
        Param("Word vectors for we_pairwise, we_centroid, intruder_found; or 'encoder'.", metavar="FILE"),
        READ,
    ] = None
    heldout: Annotated[
        list[str] | None,
        Param("Documents for perplexity that no fit has seen.", metavar="DOCS"),
        READ,
    ] = None
    method: Annotated[str, Param("Of perplexity: completion or left-to-right.")] = "completion"
    particles: Annotated[int, Param("Of left-to-right.", min=1)] = 100
    beta: Annotated[float, Param("Of F-beta.")] = 1.0

    def asked(self) -> list[str]:
        """Return the names of the metrics that were asked for, in their order; empty when none was.

        Raises:
            UsageError: a name is unknown.
        """
        from nlpkit.metrics.score import ALIASES, GROUPS, METRICS, in_group, no_metric

        named: set[str] = set()
        for name in ("npmi", "pmi", "umass", "c_v", "c_p", "diversity", "perplexity"):
            if getattr(self, name):
                named.add(name)
        if self.stability:
            named.update(in_group("stability"))
        for item in (self.metrics or "").split(","):
            key = item.strip().lower().replace("-", "_")
            key = ALIASES.get(key, key)
            if key == "all":
                named.update(METRICS)
            elif key in METRICS:
                named.add(key)
            elif key in GROUPS:
                named.update(in_group(key))
            elif key:
                raise UsageError(f"--metrics: {no_metric(item, groups=True)}")
        return [name for name in METRICS if name in named]

    def named(self, name: str) -> bool:
        """Tell whether a metric was asked for by its own name, not by that of a group."""
        from nlpkit.metrics.score import metric_of

        given = [metric_of(item) for item in (self.metrics or "").split(",") if item.strip()]
        return getattr(self, name, False) is True or any(m is not None and m.name == name for m in given)

    def depths(self) -> list[int]:
        """Return the numbers of top words. Raises UsageError when they are not whole numbers of at least 2."""
        try:
            depths = sorted({int(part) for part in self.top_n.split(",")})
        except ValueError:
            depths = []
        if not depths or depths[0] < 2 or depths[-1] > MOST:
            raise UsageError(
                f"--top-n {self.top_n}: whole numbers from 2 to {MOST:,} are needed, such as 10 or 5,10,20"
            )
        return depths

    def windows(self) -> int | Literal["own"] | None:
        """Return "own", None for whole documents, or a number of tokens. Raises UsageError when it is none of these."""
        if self.window == "own":
            return "own"
        if self.window in ("document", "documents", "doc"):
            return None
        if self.window.isdecimal() and 2 <= int(self.window) <= MOST:
            return int(self.window)
        raise UsageError(
            f"--window {self.window}: document, a number of tokens from 2 to {MOST:,}, or own (that of each measure's paper)"
        )

    def absent_rule(self) -> Literal["worst", "skip"]:
        """Return --absent as the core takes it, after `check`."""
        return cast(Literal["worst", "skip"], self.absent)

    def check(self) -> None:
        """Refuse values that cannot be meant. Raises UsageError."""
        if self.compat is not None and self.compat not in COMPATS:
            raise UsageError(f"--compat {self.compat}: known are {', '.join(COMPATS)}")
        if self.absent not in ("worst", "skip"):
            raise UsageError(f"--absent {self.absent}: worst or skip is needed")
        if self.method not in ("completion", "left-to-right"):
            raise UsageError(f"--method {self.method}: completion or left-to-right is needed")
        if not 0 < self.beta < float("inf"):
            raise UsageError(f"--beta {self.beta:g}: a number above 0 is needed")
        if self.compat is not None and self.absent != "worst":
            raise UsageError("--absent is ours, --compat theirs; leave one of them out")
        self.windows()
        self.depths()


@dataclass(frozen=True, slots=True)
class CiFlags:
    """Intervals."""

    ci: Annotated[float, Param("Level of the bootstrap intervals; 0 for none.")] = 0.95
    ci_over: Annotated[str, Param("Coherence: topics (another sample of topics) or documents (another corpus).")] = (
        "topics"
    )

    def level(self) -> float | None:
        """Return the level, None for no intervals. Raises UsageError when it is none."""
        from nlpkit.metrics.bootstrap import check_level

        if self.ci_over not in ("topics", "documents"):
            raise UsageError(f"--ci-over {self.ci_over}: topics or documents is needed")
        return None if self.ci == 0 else check_level(self.ci)


@dataclass(frozen=True, slots=True)
class GateOptions:
    """When the exit code is 1, and what a CI job gets."""

    fail_under: Annotated[
        str | None,
        Param("Exit 1 when a score is lower: npmi=0.05,diversity=0.7.", metavar="SCORES"),
    ] = None
    fail_over: Annotated[
        str | None,
        Param("Exit 1 when a score is higher: perplexity=900.", metavar="SCORES"),
    ] = None
    baseline: Annotated[
        Path | None,
        Param("Scores of before (-o metrics.json); see --max-drop.", metavar="FILE"),
    ] = None
    max_drop: Annotated[
        str | None,
        Param(
            "Exit 1 when a score is worse than the baseline by more: 0.02, 2%, npmi=0.02,perplexity=1%.", metavar="DROP"
        ),
    ] = None
    markdown: Annotated[bool, Param("Markdown on stdout: the summary of a CI job.")] = False
    junit: Annotated[Path | None, Param("Write the gates as JUnit XML.", metavar="FILE"), WRITTEN] = None


@dataclass(frozen=True, slots=True)
class PeopleFlags:
    """Tasks for people, their answers, and how well they agree."""

    make_task: Annotated[
        str | None,
        Param(
            "word-intrusion, topic-intrusion, word-set-intrusion or rating: a page for people; needs -o task.html.",
            metavar="KIND",
        ),
    ] = None
    items: Annotated[
        int | None,
        Param("Questions of a task; default: one for each topic; topic-intrusion: 50.", min=1),
    ] = None
    answers: Annotated[
        list[Path] | None,
        Param("Answers to a task; the target is its key, task.key.json.", metavar="FILE"),
    ] = None
    annotators: Annotated[
        str | None,
        Param("PredictionTable of a table that hold each coder's labels: a,b,c.", metavar="COLS"),
    ] = None
    judgements: Annotated[
        str | None,
        Param("A table of a row a judgement: unit,coder,value.", metavar="COLS"),
    ] = None
    measurement: Annotated[
        str | None,
        Param("Of the labels: nominal (default), ordinal, interval or ratio."),
    ] = None
    order: Annotated[
        str | None,
        Param("Ordinal labels from low to high: low,mid,high.", metavar="LABELS"),
    ] = None
    majority: Annotated[
        str | None,
        Param("With -o: the table with the label most coders gave.", metavar="COL"),
    ] = None

"""nlpkit evaluate: scores of topic models and predictions, with error bars, definitions and gates."""

from __future__ import annotations

from typing import Annotated

from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.evaluation.options import CiFlags, GateOptions, MetricFlags, PeopleFlags, TargetFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import READ

Targets = Annotated[
    list[str] | None,
    Argument(
        "Run directories, topics of other tools, or tables with labels and predictions; several are compared. Without one: "
        "the only run in this folder.",
        metavar="[TARGET]",
    ),
    READ,
]


def evaluate_cli(
    targets: Targets = None,
    *,
    target: TargetFlags,
    metric: MetricFlags,
    ci: CiFlags,
    gate: GateOptions,
    people: PeopleFlags,
    encoder: EncoderOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Score topic models and predictions; gates for CI.

    A run directory is scored on the corpus it was fitted to, or on --reference: coherence (NPMI with -1 for words that
    never meet, C_V, PMI, UMass, C_P), diversity, significance, fit; against the labels of its documents; several runs by
    --stability. Topics of other tools (a topic a line, OCTIS, MALLET, gensim, tomotopy, stm, CSV) need --reference. A table
    with columns label and prediction gives accuracy, precision, recall, F and calibration; one with label and topic NMI,
    AMI, ARI, purity. Every score has its definition and, where one can be had, an interval; several targets are compared.

    --fail-under npmi=0.05 makes it a step of a CI job; --baseline holds scores against earlier ones. --make-task writes
    questions for people, --answers scores what comes back, --annotators tells how well coders agree.

    \b
    Examples:
      nlpkit evaluate data/samples/topics.txt --reference data/samples/news.jsonl
      nlpkit evaluate data/samples/predictions.csv --fail-under macro_f1=0.7,accuracy=0.7
      nlpkit evaluate data/samples/coders.csv --annotators anna,ben,chiara
      nlpkit evaluate data/samples/topics.txt --make-task word-intrusion -o task.html
    """
    from nlpkit.cli.evaluate_run import evaluate

    evaluate(targets, target, metric, ci, gate, people, encoder, out, read, run)

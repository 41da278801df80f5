"""nlpkit evaluate: scores of topic models and predictions, with error bars, definitions and gates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.metrics.options import TARGETS, EvaluationOptions, GateOptions
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import READ, WRITTEN, Param

Targets = Annotated[
    list[str] | None,
    Argument(
        "Run directories, topics of other tools, or tables with labels and predictions. Several are compared. "
        "Default: the only run in this folder.",
        metavar="TARGET",
    ),
    READ,
]
Reference = Annotated[
    list[str] | None,
    Param(
        "Corpus in which words are counted. Default: the corpus of the fit. Repeat the option for several files.",
        metavar="DOCS",
        panel=TARGETS,
    ),
    READ,
]
HeldOut = Annotated[list[str] | None, Param("Held-out documents for perplexity.", metavar="DOCS", panel=TARGETS), READ]

Plot = Annotated[
    Path | None,
    Param(
        "Draw semantic coherence against exclusivity, with --compat stm (.svg .pdf .png).",
        metavar="FILE",
        panel="Output",
    ),
    WRITTEN,
]
SearchK = Annotated[
    Path | None,
    Param(
        "Write the table of R's searchK, a row for each stm run, with --compat stm: K, exclus, semcoh, heldout (of --heldout), residual, "
        "bound, lbound, em.its.",
        metavar="FILE",
        panel="Output",
    ),
    WRITTEN,
]


def evaluate_cli(
    targets: Targets = None,
    *,
    reference: Reference = None,
    heldout: HeldOut = None,
    plot: Plot = None,
    search_k: SearchK = None,
    options: EvaluationOptions,
    gate: GateOptions,
    encoder: EncoderOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Score topic models and predictions, and gate CI jobs.

    A run directory is scored on the corpus of its fit, or on --reference. The scores are coherence (NPMI with -1 for words that
    never co-occur, C_V, PMI, UMass, C_P), diversity, significance, fit, and agreement with labels. --stability compares several
    runs. Topics of other tools need --reference (one topic per line, OCTIS, MALLET, gensim, tomotopy, stm, CSV).

    A table with columns label and prediction gives accuracy, precision, recall, F and calibration. A table with label and topic
    gives NMI, AMI, ARI and purity. Every score comes with its definition and, where one can be computed, an interval. Several
    targets are compared.

    --fail-under npmi=0.05 makes the command a step of a CI job. --baseline compares scores with earlier ones. For tasks for
    people and agreement between coders, use `nlpkit annotate`.

    \b
    Examples:
      nlpkit evaluate data/samples/topics.txt --reference data/samples/news.jsonl
      nlpkit evaluate data/samples/predictions.csv --fail-under macro_f1=0.7,accuracy=0.7
      nlpkit evaluate data/samples/predictions.csv --metrics accuracy,macro_f1 --ci 0.9 --json -q
    """
    from nlpkit.evaluate.run import describe_targets, evaluate, only_run
    from nlpkit.metrics.gate_views import print_scores
    from nlpkit.platform.documents.corpus import read_corpus

    if gate.markdown and run.json:
        raise UsageError("--markdown and --json both write to stdout; -o metrics.json writes the JSON to a file")
    output = out.scores_target()
    if (plot or search_k) is not None and options.compat != "stm":
        name = "plot" if plot is not None else "search_k"
        raise UsageError(f"`{name}` needs the scores of R's stm; add `compat=stm`", parameter=name)
    if search_k is not None:
        from nlpkit.platform.runs.tables import check_table

        check_table(search_k, force=out.force)
    if plot is not None:
        from nlpkit.platform.runs.atomic import check_target
        from nlpkit.platform.views.picture import check_picture_name

        check_target(check_picture_name(plot, "quality"), force=out.force)
    targets = targets or [only_run(Path())]
    if run.dry_run:
        console.plan(describe_targets(targets, options, read, gate, run))
        return
    evaluation = evaluate(
        targets,
        reference=read_corpus(*reference, options=read) if reference else None,
        heldout=read_corpus(*heldout, options=read) if heldout else None,
        options=options,
        gates=gate,
        read=read,
        encoder=encoder,
        execution=run,
    )
    if plot is not None:
        from nlpkit.evaluate.as_stm import plot_quality

        plot_quality(evaluation).save(plot, force=out.force)
    if search_k is not None:
        from nlpkit.evaluate.as_stm import write_search_k

        write_search_k(evaluation, search_k, seed=run.seed, force=out.force)
    print_scores(evaluation, gate, output, suite="nlpkit evaluate", seed=run.seed, force=out.force)

"""Scores of topic models and predictions, with error bars, definitions and gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.evaluate.models import evaluate_models
from nlpkit.evaluate.tables import GENERATION, USED, evaluate_tables
from nlpkit.evaluate.targets import TableTarget, opened_targets, scorable
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.files import read_gates
from nlpkit.metrics.options import ENCODER, EvaluationOptions, GateOptions
from nlpkit.metrics.results import Evaluation
from nlpkit.metrics.score import Uncertainty
from nlpkit.metrics.texts.generation import BERTSCORE
from nlpkit.platform import reporting
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import shell_line
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.reading import check_encoder
from nlpkit.platform.runs.runs import open_run
from nlpkit.topics.base.reference import EvaluationSettings, TopicTarget, as_reference


def evaluate(
    targets: Any,
    metrics: str | Sequence[str] | None = None,
    *,
    reference: Any = None,
    heldout: Any = None,
    gates: GateOptions | None = None,
    options: EvaluationOptions | None = None,
    read: ReadOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> Evaluation:
    """Return the scores of a target, or of several that are compared with the first.

    Args:
        targets: a fitted model; a run directory, a file of topics or a table of labels, by its path; a data frame with the
            columns label and prediction, or label and topic; topics as lists of words; or a list of several of these, or a
            mapping from names to them.
        metrics: names of scores or of groups of them; None for the usual ones.
        reference: a corpus to count words in: a path, texts, a data frame or a Corpus; default: the corpus of the fit.
        heldout: documents that no fit has seen, for perplexity.
        gates: bounds; their outcomes are in `Evaluation.gates`.
        options, read, encoder, execution: see these records; read applies to all files, also to `reference`.
        settings: single fields of these records and of `gates`, such as top_n=20, ci=0.9 or fail_under="npmi=0.05".

    Raises:
        UsageError: a score that the targets cannot have, or options that do not go together; InputError, SchemaError,
            ColumnError: a target or corpus that cannot be used.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_lda(texts, k=2, sweeps=20)
        >>> scores = nk.evaluate(model, ["npmi", "diversity"])
        >>> sorted(scores)
        ['diversity', 'npmi']
    """
    if metrics is not None:
        settings["metrics"] = metrics if isinstance(metrics, str) else tuple(metrics)
    options, read, embedding, execution, gates = with_settings(
        (options, read, EncoderOptions.from_value(encoder), execution, gates), settings,
        (EvaluationOptions, ReadOptions, EncoderOptions, Execution, GateOptions),
    )  # fmt: skip
    names = options.names()
    annotators = options.annotator_columns()
    if annotators:
        read = replace(read, label_col=annotators[0])
    by_tokens = bool(set(names) & set(BERTSCORE)) and set(names) <= {*GENERATION, *BERTSCORE}
    if by_tokens:
        embedding.refuse_others(USED, "bertscore has no use for it; leave it out")
    else:
        options.refuse_token_options()
    if not by_tokens and options.vectors != ENCODER:
        embedding.refuse(f"only `vectors={ENCODER}` embeds anything here; add that, or leave it out")
    uncertainty = Uncertainty(options.level(), execution.seed)
    rules = read_gates(gates, names)
    check_encoder(embedding.encoder, verify=execution.verify)
    wanted = rules.metrics or tuple(bound.metric for bound in rules.bounds)
    scoring = EvaluationSettings(
        options,
        wanted,
        bool(rules.metrics),
        uncertainty,
        as_reference(reference, read),
        as_reference(heldout, read),
        read,
        execution.n_threads(),
    )
    with opened_targets(
        targets, options, read, topics_first=_topics_first(rules.metrics), verify=execution.verify
    ) as opened:
        tables = [target for target in opened if isinstance(target, TableTarget)]
        if not any(table.kind == "predictions" for table in tables):
            options.refuse_separator()
            options.refuse_noise()
        if tables:
            evaluation = evaluate_tables(tables, scoring, embedding)
        else:
            models = [target for target in opened if isinstance(target, TopicTarget)]
            evaluation = evaluate_models(models, scoring, embedding)
    evaluation.gates = rules.check(evaluation)
    return evaluation


def describe_targets(
    targets: Any, options: EvaluationOptions, read: ReadOptions, gates: GateOptions, execution: Execution
) -> dict[str, str]:
    """Return what each target is, after all checks that come before work. Raises what `evaluate` does for targets."""
    rules = read_gates(gates, options.names())
    annotators = options.annotator_columns()
    if annotators:
        read = replace(read, label_col=annotators[0])
    first = _topics_first(rules.metrics)
    with opened_targets(targets, options, read, topics_first=first, verify=execution.verify) as opened:
        return {
            target.name: target.kind + (f", {len(target.topics):,} topics" if isinstance(target, TopicTarget) else "")
            for target in opened
        }


def only_run(folder: Path) -> str:
    """Return the run with topics or predictions that a folder is, or holds. Raises UsageError when there is none, or are several."""
    places = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    runs = [path for path in places if (path / MANIFEST).is_file() and scorable(open_run(path, verify=False))]
    if len(runs) == 1:
        reporting.note(f"target: {runs[0]}, the only run here")
        return str(runs[0])
    if not runs:
        raise UsageError("no target is named, and this folder holds no run: `evaluate(RUN)`, TOPICS or TABLE")
    raise UsageError(f"this folder holds several runs; name one: nlpkit evaluate {' or '.join(map(shell_line, runs))}")


def _topics_first(metrics: Sequence[str]) -> bool:
    """Whether only scores of topics are wanted, so that these are meant in a table that has predictions, too."""
    return bool(metrics) and all(METRICS[n].group in ("clustering", "separation") for n in metrics if n in METRICS)

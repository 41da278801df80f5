"""Tables of labels: the scores of predictions, or of topics, against them."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit.cli.evaluate_clusters import CLUSTERING, add_clustering
from nlpkit.cli.evaluate_compare import compare_labelled
from nlpkit.cli.evaluate_flags import MetricFlags, TargetFlags
from nlpkit.cli.evaluate_labels import read_labelled
from nlpkit.cli.evaluate_predictions import CALIBRATION, CLASSIFICATION, add_calibration, add_classification
from nlpkit.cli.evaluate_result import Evaluation, TargetResult
from nlpkit.cli.evaluate_separation import add_table_separation
from nlpkit.cli.evaluate_targets import TableTarget
from nlpkit.cli.options import ReadFlags
from nlpkit.errors import UsageError
from nlpkit.metrics.score import METRICS, Uncertainty, in_group

DEFAULT_CLASSIFICATION = (
    "accuracy",
    "balanced_accuracy",
    "macro_precision",
    "macro_recall",
    "macro_f1",
    "weighted_f1",
    "mcc",
    "kappa",
)


def evaluate_tables(
    tables: Sequence[TableTarget],
    wanted: Sequence[str],
    asked: bool,
    target: TargetFlags,
    metric: MetricFlags,
    how: Uncertainty,
    read: ReadFlags,
) -> Evaluation:
    """Score tables, all of them with predictions or all with topics.

    Args:
        wanted: metrics to make at least; asked: only them.
    """
    predictions = tables[0].kind == "predictions"
    embedded = all("embedding" in table.columns for table in tables)
    separation = in_group("separation") if embedded else []
    possible = [*CLASSIFICATION, *CALIBRATION] if predictions else [*CLUSTERING, *separation]
    default = [*DEFAULT_CLASSIFICATION, *CALIBRATION] if predictions else possible
    kind = "predictions" if predictions else "topics"
    names = [n for n in METRICS if n in possible and (n in wanted or (not asked and n in default))]
    wrong = [n for n in wanted if n not in possible and (metric.named(n) or not names)]
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)}: no score of a table of {kind} and labels; there are {', '.join(possible)}"
        )
    data = [read_labelled(table, target, read) for table in tables]
    results = []
    for table, own in zip(tables, data, strict=True):
        result = TargetResult(table.name, f"{kind} against '{read.label_col}'")
        if predictions:
            add_classification(result, own, [n for n in names if n in CLASSIFICATION], how, beta=metric.beta)
            if own.prob is not None or asked:
                add_calibration(result, own, [n for n in names if n in CALIBRATION], how)
        else:
            add_clustering(result, own, [n for n in names if n in CLUSTERING], how)
            apart = [n for n in names if n in separation]
            if apart:
                add_table_separation(result, table, target.topic_col, apart, how)
        results.append(result)
    return Evaluation(results, compare_labelled(data, results, how, beta=metric.beta))

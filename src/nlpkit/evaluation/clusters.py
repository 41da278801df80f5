"""Topics against labels: clustering scores, and the best matching of topics and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nlpkit import wording
from nlpkit.evaluation.labels import NO_TOPIC, ContingencyCells, LabelledPredictions, contingency_cells, note_unlabelled
from nlpkit.evaluation.results import TargetResult, detail_table
from nlpkit.metrics import partitions
from nlpkit.metrics.bootstrap import Statistic
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.score import Uncertainty, statistic_score

SHOWN_TOPICS = 30

CLUSTERING = {{"v": "v_measure"}.get(name, name): score for name, score in partitions.SCORES.items()}
CLUSTERING = {name: score for name, score in CLUSTERING.items() if name in METRICS}


def clustering_statistic(data: LabelledPredictions, cells: ContingencyCells, name: str) -> Statistic:
    """Return a clustering score of weighted documents."""
    shape = (len(data.assigned_names), len(data.class_names))
    score = CLUSTERING[name]
    return lambda w: score(partitions.weighted_contingency(w, cells.assigned, cells.true, shape=shape))


def add_clustering(
    result: TargetResult, data: LabelledPredictions, names: Sequence[str], uncertainty: Uncertainty
) -> None:
    """Add scores of topics against labels, and the best matching."""
    cells = contingency_cells(data)
    parameters: dict[str, Any] = {"documents": int(cells.counts.sum()), "labels": len(data.class_names)}
    without = [i for i, n in enumerate(data.assigned_names) if n in NO_TOPIC]
    n_without = int(cells.counts[np.isin(cells.assigned, without)].sum())
    parameters["without_topic"] = n_without
    for name in names:
        result.add(
            statistic_score(
                METRICS[name],
                clustering_statistic(data, cells, name),
                cells.counts,
                uncertainty,
                over="documents",
                parameters=parameters,
                jackknife=True,
            )
        )
    table = partitions.contingency(data.assigned[data.true >= 0], data.true[data.true >= 0])
    matches, _ = partitions.best_matching(table)
    rows = []
    for k in np.argsort(-table.sum(axis=1), kind="stable")[:SHOWN_TOPICS]:
        size, best = int(table[k].sum()), int(table[k].argmax())
        matched = data.class_names[matches[k]] if matches[k] >= 0 else ""
        share = float(table[k, best] / max(size, 1))
        rows.append((data.assigned_names[k], size, data.class_names[best], share, matched))
    names = ("topic", "documents", "most of them", "share", "matched")
    result.tables["Topics and labels"] = detail_table(names, rows, {"share": ".0%"})
    result.facts["matched_labels"] = {
        data.assigned_names[k]: data.class_names[m] for k, m in enumerate(matches) if m >= 0
    }
    if n_without:
        result.notes.append(f"{wording.counted(n_without, 'document')} without a topic, together one more cluster")
    note_unlabelled(result, data)

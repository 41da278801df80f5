"""What is said of hand-written rules: how many documents each matches and decides, and how often it is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit import wording
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.classify.predicted import Predicted
from nlpkit.classify.rule_list import RuleList
from nlpkit.metrics.proportion import wilson
from nlpkit.types import BoolArray

if TYPE_CHECKING:
    from nlpkit.workflows.classify_job import Job

DEFAULT = "(no rule)"


def rule_tables(job: Job, rules: RuleList, predicted: Predicted) -> tuple[pa.Table, list[str]]:
    """Return a row for each rule, in their order, and one for documents that none matches; and notes.

    Of the test documents with a label: matched by the rule; decided by it (the first that matches; of several labels all that match);
    correct: those decided whose label it is; precision = correct / decided, with its Wilson interval; conflicts: matched, and decided by
    another rule with another label.
    """
    dataset, matches, level = job.dataset, job.data.sources.matches, job.options.report.level
    rows = dataset.labelled(dataset.tested())
    matched = np.asarray(sparse.csr_array(matches)[rows].toarray() > 0, bool)
    multiple = dataset.labels.multiple
    labels = [set(raw) if isinstance(raw, list) else {raw} for raw in (dataset.raw_labels[d] for d in rows)]
    has_rule = np.asarray(matched.any(axis=1), bool)
    first = np.where(has_rule, matched.argmax(axis=1), -1)
    table: list[dict[str, Any]] = []
    for r, rule in enumerate(rules.rules):
        decided = np.asarray(matched[:, r] if multiple else first == r, bool)
        other = np.array([rules.rules[f].label != rule.label for f in first], bool) & has_rule
        conflicts = np.zeros(len(rows), bool) if multiple else matched[:, r] & other
        right = np.fromiter((rule.label in one for one in labels), bool, len(labels))
        head = {"rule": rule.name, "label": rule.label, "priority": rule.priority, "place": rule.place}
        table.append(head | _row(np.asarray(matched[:, r]), decided, right, conflicts, level))
    if not multiple or rules.default is not None:
        right = _right_without(dataset, rules, predicted)[rows]
        head = {"rule": DEFAULT, "label": rules.default, "priority": None, "place": None}
        table.append(head | _row(np.asarray(~has_rule), np.asarray(~has_rule), right, np.zeros(len(rows), bool), level))
    return pa.Table.from_pylist(table, _SCHEMA), _notes(rules, matched, first, n=len(rows), multiple=multiple)


_SCHEMA = pa.schema(
    [("rule", pa.string()), ("label", pa.string()), ("priority", pa.int32()), ("place", pa.string()), ("matched", pa.int64()),
     ("decided", pa.int64()), ("share", pa.float64()), ("correct", pa.int64()), ("precision", pa.float64()), ("low", pa.float64()),
     ("high", pa.float64()), ("conflicts", pa.int64())]
)  # fmt: skip


def _row(
    matched: BoolArray, decided: BoolArray, right: BoolArray, conflicts: BoolArray, level: float | None
) -> dict[str, Any]:
    n, correct = int(decided.sum()), int((decided & right).sum())
    interval = None if level is None else wilson(correct, n, level=level)
    return {
        "matched": int(matched.sum()), "decided": n, "share": n / len(decided) if len(decided) else None, "correct": correct,
        "precision": correct / n if n else None, "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high, "conflicts": int(conflicts.sum()),
    }  # fmt: skip


def _right_without(dataset: LabelledDataset, rules: RuleList, predicted: Predicted) -> BoolArray:
    """Return which documents (D,) have the label that they get where no rule matches."""
    names = dataset.labels.names
    if predicted.codes is None:
        return np.array([rules.default in (raw or ()) for raw in dataset.raw_labels], bool)
    predictions = [names[code] if code >= 0 else None for code in predicted.codes.tolist()]
    return np.array(
        [raw is not None and raw == label for raw, label in zip(dataset.raw_labels, predictions, strict=True)], bool
    )


def _notes(rules: RuleList, matched: BoolArray, first: Any, *, n: int, multiple: bool) -> list[str]:
    notes = []
    without = int((first < 0).sum())
    if without:
        default = f"'{rules.default}'" if rules.default is not None else "the largest class of the training documents"
        gets = "no label" if multiple and rules.default is None else default
        notes.append(f"{without:,} of {wording.counted(n, 'test document')} match no rule: {gets}")
    if not multiple:
        labels = np.array([rule.label for rule in rules.rules])
        conflicts = sum(len(set(labels[row].tolist())) > 1 for row in matched)
        if conflicts:
            notes.append(
                f"{wording.counted(conflicts, 'test document')} match rules of different labels: the first rule decides"
            )
    return notes

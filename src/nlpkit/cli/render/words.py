"""Answers of word vectors on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.workflows.words import WordTable

HIDDEN = ("low", "high")  # shown as one column


def show(answer: WordTable, target: str | None, *, force: bool) -> None:
    """Write a table where there is a target, and print it, or one JSON object."""
    if target is not None:
        answer.save(target, force=force)
    if target == "-":
        return
    if console.settings.json:
        console.emit_json(answer.to_dict())
        return
    for note in _notes(answer):
        reporting.note(note)
    rows = answer.table.to_pylist()
    if answer.kind == "drift":
        rows = rows[: answer.facts["top"]]
    if not rows:
        return
    columns = [
        name for name in answer.table.column_names if name not in HIDDEN and any(row[name] is not None for row in rows)
    ]
    right = [name for name in columns if not isinstance(rows[0][name], str | bool | list)]
    first = columns[0]
    lines, before = [], None
    for row in rows:
        same = first == "word" and answer.kind == "neighbours" and row[first] == before
        before = row[first]
        lines.append(["" if same and name == first else _cell(name, row) for name in columns])
    console.table([name.replace("_", " ") for name in columns], lines, right=right, noun=answer.kind, rest="-o FILE")


def _notes(answer: WordTable) -> list[str]:
    facts = answer.facts
    if answer.kind == "sections":
        return [f"{facts['coverage']:.1%} of the questions have four words with a vector; the accuracy is of these"]
    if "p_value" in facts:
        (x, y), (a, b) = facts["targets"], facts["attributes"]
        size = "undefined" if facts["effect_size"] is None else f"{facts['effect_size']:.3f}"
        kind = "all" if facts["exact"] else "a sample of"
        return [
            f"{x} and {a}, {y} and {b}: effect size {size}, p {facts['p_value']:.4g} (one-sided, {kind} {facts['partitions']:,} partitions)"
        ]
    if answer.kind == "drift":
        return [
            f"{wording.counted(facts['shared'], 'shared word')}; mean cosine after the rotation {facts['agreement']:.3f}"
        ]
    if "spearman" in facts:
        covered, listed = facts["pairs_with_vectors"], facts["pairs_in_file"]
        scores = []
        for name, title in (("spearman", "Spearman's rho"), ("pearson", "Pearson's r")):
            ends = f" ({facts[f'{name}_low']:.3f} to {facts[f'{name}_high']:.3f})" if f"{name}_low" in facts else ""
            scores += [] if facts[name] is None else [f"{title} {facts[name]:.4f}{ends}"]
        return [
            f"{', '.join(scores) or 'no correlation'}; {covered:,} of {wording.counted(listed, 'pair')} have two vectors"
        ]
    return []


def _cell(name: str, row: dict[str, Any]) -> str:
    value = row[name]
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(value)
    if name == "accuracy" and row.get("low") is not None:
        return f"{value:.3f} ({row['low']:.3f} to {row['high']:.3f})"
    if isinstance(value, bool):
        return "←" if value else ""
    if isinstance(value, float):
        return f"{value:.4f}"
    return wording.count(value) if isinstance(value, int) else str(value)

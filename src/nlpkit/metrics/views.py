"""An evaluation for people: its tables, and what scores measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.intervals import Interval
from nlpkit.metrics.labels.predictions import short
from nlpkit.metrics.results import FORMAT, Evaluation, TargetResult
from nlpkit.metrics.score import Score
from nlpkit.platform import wording
from nlpkit.platform.views.blocks import Note, Table, cell

ALPHA = 0.05
UNUSUAL = {
    "c_v", "c_p", "umass", "inverted_rbo", "frex", "semantic_coherence", "frex_exclusivity", "ami", "purity", "inverse_purity", "mcc",
    "kappa", "ece", "brier", "brier_top",
}  # fmt: skip  # scores whose names do not say what they are


def meanings(names: Iterable[str]) -> list[Note]:
    """Return the note on what scores measure whose names do not say it, if there are any."""
    shown = [f"{name}: {METRICS[name].title}" for name in dict.fromkeys(names) if name in UNUSUAL]
    return [Note(" · ".join(shown))] if shown else []


def evaluation_blocks(evaluation: Evaluation) -> Iterator[Table]:
    """Yield the tables of an evaluation: scores, of several targets side by side, how they differ, and what lies behind them."""
    targets = evaluation.targets
    if len(targets) == 1:
        yield _scores(targets[0].scores, _headline(targets[0]))
    elif any(target.scores for target in targets):
        yield _side_by_side(targets)
    if evaluation.shared:
        yield _scores(evaluation.shared, "All targets together")
    if evaluation.comparisons:
        yield _comparisons(evaluation)
    for title, table in evaluation.tables.items():
        yield detail_block(title, table)
    if len(targets) > 1:  # what is told of one target only would bury the comparison; --json has it
        return
    for target in targets:
        if target.unit == "topic":
            yield from _units(target)
        for title, table in target.tables.items():
            yield replace(detail_block(title, table), noun="rows", rest="-o FILE")


def detail_block(title: str, table: pa.Table) -> Table:
    """Return a table of details (see `detail_table`) as people see it."""
    formats = [field.metadata[FORMAT.encode()].decode() for field in table.schema]
    columns = (
        [_cell(v, form) for v in column.to_pylist()] for column, form in zip(table.columns, formats, strict=True)
    )
    rows = list(zip(*columns, strict=True))
    return Table(table.column_names, rows, _numbers(table.column_names, rows), title)


def _cell(value: Any, form: str) -> str:
    return short(value) if form == "short" and isinstance(value, str) else cell(value, form, "–")


def _headline(target: TargetResult) -> str:
    parts = [f"{target.name}: {target.kind}"]
    if target.unit == "topic" and target.units:
        parts.append(wording.counted(len(target.units), "topic"))
    reference = target.facts.get("reference")
    if reference:
        files = [i["path"] for i in reference["inputs"]]
        shown = ", ".join(files[:2]) + (f" and {len(files) - 2} more" if len(files) > 2 else "")
        parts.append(
            f"counted in {shown} ({wording.counted(reference['documents'], 'document')}, {reference['tokens']})"
        )
    return ", ".join(parts)


def _scores(scores: Mapping[str, Score], title: str) -> Table:
    level = next((s.interval.level for s in scores.values() if s.interval is not None), None)
    medians = any(s.median is not None for s in scores.values())
    head = f"{100 * (level or 0):g}% interval"
    columns = ["metric", "score", *([head] if level else []), *(["median"] if medians else []), "definition"]
    rows = []
    for name, score in scores.items():
        interval = [] if level is None else [ends(score.interval)]
        median = ["" if score.median is None else wording.score_text(score.median)] if medians else []
        rows.append([titled(name, score), value_text(score, "–"), *interval, *median, definition(score)])
    return Table(columns, rows, columns[1:-1], title)


def _side_by_side(targets: Sequence[TargetResult]) -> Table:
    names = list(dict.fromkeys(name for target in targets for name in target.scores))
    columns = ["metric", *(target.name for target in targets)]
    better = {s.metric.name: s.metric.better for t in targets for s in t.scores.values()}
    titles = {name: titled(name, score) for target in targets for name, score in target.scores.items()}
    rows = [["", *(_kind(target) for target in targets)]]
    for name in names:
        cells = []
        for target in targets:
            score = target.scores.get(name)
            cells.append(f"{value_text(score, '–')} {ends(score.interval) if score is not None else ''}".rstrip())
        rows.append([titles[name] + (" (lower is better)" if better[name] == "low" else ""), *cells])
    return Table(columns, rows)


def _kind(target: TargetResult) -> str:
    return (
        f"{target.kind}, {len(target.units):,} {target.unit}{'es' if target.unit == 'class' else 's'}"
        if target.units
        else target.kind
    )


def _comparisons(evaluation: Evaluation) -> Table:
    rows = []
    for c in evaluation.comparisons:
        p = "" if c.comparison.p_value is None else _p_value(c.comparison.p_value)
        rows.append(
            [c.metric, f"{c.first} − {c.second}", f"{c.comparison.difference:+.4g}", ends(c.comparison.interval), p]
        )
    columns = ["metric", "difference of", "by", "interval", "p"]
    return Table(columns, rows, columns[2:], f"Differences (* p < {ALPHA:g})")


def _p_value(p: float) -> str:
    return ("< 0.0001" if p < 0.0001 else f"{p:.4f}") + (" *" if p < ALPHA else "")


def _units(target: TargetResult) -> Iterator[Table]:
    scores = {
        name: s for name, s in target.scores.items() if s.values is not None and len(s.values) == len(target.units)
    }
    if not scores or not target.units:
        return
    heads = [titled(name, score) for name, score in scores.items()]
    columns = [target.unit, *heads, "words"]
    rows = []
    for k, name in enumerate(target.units):
        values = [s.values[k] for s in scores.values() if s.values is not None]
        cells = [wording.score_text(value) if np.isfinite(value) else "–" for value in values]
        rows.append([name, *cells, target.unit_texts[k]])
    noun = f"{target.unit}{'es' if target.unit == 'class' else 's'}"
    yield Table(columns, rows, heads, noun=noun, rest="-o FILE", texts=["words"])


def ends(interval: Interval | None) -> str:
    """Return the interval of a score for a table, empty if there is none."""
    return "" if interval is None else f"[{wording.score_text(interval.low)}, {wording.score_text(interval.high)}]"


def value_text(score: Score | None, missing: str = "") -> str:
    """Return the value of a score for a table."""
    return missing if score is None or score.value is None else wording.score_text(score.value)


def titled(name: str, score: Score) -> str:
    """Return the name of a score, of NPMI with what its words are counted in: that of a fit is of whole documents."""
    if score.metric.name != "npmi" or "window" not in score.parameters:
        return name
    window = score.parameters["window"]
    return f"{name} ({'documents' if window in (None, 'document') else f'window {window}'})"


def definition(score: Score) -> str:
    """Return what was measured, on one line."""
    p = score.parameters
    parts = []
    if score.value is None:
        parts.append(f"not defined: {score.why}")
    if p.get("compat"):
        parts.append(f"as {p['compat']}")
    if "window" in p:
        parts.append("whole documents" if p["window"] in (None, "document") else f"window {p['window']}")
    if "top_n" in p:
        parts.append(f"top {', '.join(map(str, p['top_n']))}")
    if p.get("method"):
        parts.append(str(p["method"]))
    if score.value is not None and score.over in ("topics", "documents", "tokens", "pairs of topics"):
        one = {"pairs of topics": "pair of topics"}.get(score.over, score.over.removesuffix("s"))
        parts.append(wording.counted(score.n, one, score.over))
    if score.metric.better and score.value is not None:
        parts.append(f"{score.metric.better}er is better" if score.metric.better == "low" else "higher is better")
    return ", ".join(parts)


def _numbers(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return the columns whose cells are all numbers: those that are set to the right."""

    def numeric(cell: str) -> bool:
        return not cell or cell.replace(",", "").replace(".", "").replace("%", "").lstrip("+-").isdecimal()

    return [name for i, name in enumerate(columns) if i and rows and all(numeric(row[i]) for row in rows)]

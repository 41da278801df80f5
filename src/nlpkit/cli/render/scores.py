"""An evaluation for people: tables on the terminal or in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import __version__, reporting, wording
from nlpkit.cli import console
from nlpkit.cli.render.gates import finish
from nlpkit.cli.spelling import as_options
from nlpkit.evaluation.options import GateOptions
from nlpkit.evaluation.predictions import short
from nlpkit.evaluation.results import FORMAT, Evaluation, Gate, TargetResult
from nlpkit.io.score_files import markdown_table, write_junit, write_scores
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.score import Score
from nlpkit.plain import shell_line

ALPHA = 0.05
UNUSUAL = (
    "c_v",
    "c_p",
    "umass",
    "inverted_rbo",
    "frex",
    "ami",
    "purity",
    "inverse_purity",
    "mcc",
    "kappa",
    "ece",
    "brier",
    "brier_top",
)  # scores whose names do not say what they are


@dataclass(frozen=True, slots=True)
class Block:
    """A table with a title."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str]
    noun: str = ""  # of the rows, where they may be many
    texts: Sequence[str] = ()  # columns that are cut so that a row is a line


def print_scores(
    evaluation: Evaluation, gate: GateOptions, output: Path | None, *, suite: str, seed: int, force: bool
) -> None:
    """Write the scores where they are wanted as files, print them, and say what became of the gates.

    Raises:
        QualityGateError: a gate failed.
    """
    spell_options(evaluation)
    result = {"nlpkit_version": __version__, "seed": seed, **evaluation.to_dict()}
    if output is not None:
        write_scores(output, evaluation, result, seed=seed, force=force)
        later = f"; later: nlpkit evaluate … {shell_line('--baseline', output)}" if output.suffix == ".json" else ""
        reporting.note(f"wrote {output}{later}")
    if gate.junit is not None:
        write_junit(gate.junit, evaluation.gates, suite=suite, force=force)
    finish(result, evaluation.gates, lambda: show(evaluation, evaluation.gates, markdown=gate.markdown))


def spell_options(evaluation: Evaluation) -> None:
    """Write the parameters that notes and reasons name as the options of the command line."""
    for target in evaluation.targets:
        target.notes = [as_options(note) for note in target.notes]
        target.scores = {name: replace(s, why=as_options(s.why)) for name, s in target.scores.items()}


def show(evaluation: Evaluation, gates: Sequence[Gate], *, markdown: bool) -> None:
    """Print the evaluation on stdout; notes go to stderr, or into the Markdown."""
    blocks = list(_blocks(evaluation))
    if not markdown:
        for block in blocks:
            console.table(
                block.columns,
                block.rows,
                right=block.right,
                title=block.title,
                noun=block.noun,
                rest="-o FILE",
                texts=block.texts,
            )
        note_meanings(name for target in evaluation.targets for name in target.scores)
        for target in evaluation.targets:
            for note in target.notes:
                reporting.note(f"{target.name}: {note}")
        return
    if gates:
        failed = sum(not gate.passed for gate in gates)
        console.out(f"### {'✅ all gates passed' if not failed else f'❌ {failed} of {len(gates)} gates failed'}\n")
        for gate in gates:
            console.out(f"- {'✅' if gate.passed else '❌'} {gate.line}")
        console.out("")
    for block in blocks if console.settings.show != 0 else ():
        if block.title:
            console.out(f"#### {block.title}\n")
        kept = console.shown_rows(len(block.rows)) if block.noun else range(len(block.rows))
        console.out(markdown_table(block.columns, [block.rows[i] for i in kept], right=block.right) + "\n")
        if len(kept) < len(block.rows):
            console.out(console.rest_line(len(kept), len(block.rows), block.noun, "-o FILE") + "\n")
    for target in evaluation.targets:
        for note in target.notes:
            console.out(f"> {target.name}: {note}\n")


def note_meanings(names: Iterable[str]) -> None:
    """Say what scores measure whose names do not say it."""
    meanings = [f"{name}: {METRICS[name].title}" for name in dict.fromkeys(names) if name in UNUSUAL]
    if meanings:
        reporting.note(" · ".join(meanings))


def _blocks(evaluation: Evaluation) -> list[Block]:
    targets = evaluation.targets
    blocks = []
    if len(targets) == 1:
        blocks.append(_scores(targets[0].scores, _headline(targets[0])))
    elif any(target.scores for target in targets):
        blocks.append(_side_by_side(targets))
    if evaluation.shared:
        blocks.append(_scores(evaluation.shared, "All targets together"))
    if evaluation.comparisons:
        blocks.append(_comparisons(evaluation))
    for title, table in evaluation.tables.items():
        rows = cells_of(table)
        blocks.append(Block(title, table.column_names, rows, _numbers(table.column_names, rows)))
    for target in targets:
        if len(targets) > 1:  # what is told of one target only would bury the comparison; --json has it
            continue
        if target.unit == "topic":
            blocks += _units(target)
        for title, table in target.tables.items():
            rows = cells_of(table)
            blocks.append(Block(title, table.column_names, rows, _numbers(table.column_names, rows), noun="rows"))
    return blocks


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


def _scores(scores: Mapping[str, Score], title: str) -> Block:
    level = next((s.interval.level for s in scores.values() if s.interval is not None), None)
    medians = any(s.median is not None for s in scores.values())
    head = f"{100 * (level or 0):g}% interval"
    columns = ["metric", "score", *([head] if level else []), *(["median"] if medians else []), "definition"]
    rows = []
    for name, score in scores.items():
        interval = [] if level is None else [interval_of(score)]
        median = ["" if score.median is None else wording.score_text(score.median)] if medians else []
        value = "–" if score.value is None else wording.score_text(score.value)
        rows.append([titled(name, score), value, *interval, *median, definition(score)])
    return Block(title, columns, rows, columns[1:-1])


def _side_by_side(targets: Sequence[TargetResult]) -> Block:
    names = list(dict.fromkeys(name for target in targets for name in target.scores))
    columns = ["metric", *(target.name for target in targets)]
    better = {s.metric.name: s.metric.better for t in targets for s in t.scores.values()}
    titles = {name: titled(name, score) for target in targets for name, score in target.scores.items()}
    rows = [["", *(_kind(target) for target in targets)]]
    for name in names:
        cells = []
        for target in targets:
            score = target.scores.get(name)
            value = "–" if score is None or score.value is None else wording.score_text(score.value)
            cells.append(value if score is None or score.interval is None else f"{value} {interval_of(score)}")
        rows.append([titles[name] + (" (lower is better)" if better[name] == "low" else ""), *cells])
    return Block("", columns, rows, [])


def _kind(target: TargetResult) -> str:
    return (
        f"{target.kind}, {len(target.units):,} {target.unit}{'es' if target.unit == 'class' else 's'}"
        if target.units
        else target.kind
    )


def _comparisons(evaluation: Evaluation) -> Block:
    rows = []
    for c in evaluation.comparisons:
        low_high = (
            ""
            if c.comparison.interval is None
            else f"[{wording.score_text(c.comparison.interval.low)}, {wording.score_text(c.comparison.interval.high)}]"
        )
        p = "" if c.comparison.p_value is None else _p_value(c.comparison.p_value)
        rows.append([c.metric, f"{c.first} − {c.second}", f"{c.comparison.difference:+.4g}", low_high, p])
    columns = ["metric", "difference of", "by", "interval", "p"]
    return Block(f"Differences (* p < {ALPHA:g})", columns, rows, columns[2:])


def _p_value(p: float) -> str:
    return ("< 0.0001" if p < 0.0001 else f"{p:.4f}") + (" *" if p < ALPHA else "")


def _units(target: TargetResult) -> list[Block]:
    scores = {
        name: s for name, s in target.scores.items() if s.values is not None and len(s.values) == len(target.units)
    }
    if not scores or not target.units:
        return []
    heads = [titled(name, score) for name, score in scores.items()]
    columns = [target.unit, *heads, "words"]
    rows = []
    for k, name in enumerate(target.units):
        cells = [
            "–" if not np.isfinite(s.values[k]) else wording.score_text(s.values[k])
            for s in scores.values()
            if s.values is not None
        ]
        rows.append([name, *cells, target.unit_texts[k]])
    noun = f"{target.unit}{'es' if target.unit == 'class' else 's'}"
    return [Block("", columns, rows, heads, noun=noun, texts=["words"])]


def cells_of(table: pa.Table) -> list[list[str]]:
    """Return the cells of a table of details as people see them, row by row."""
    columns = [
        [_cell(value, field.metadata[FORMAT.encode()].decode()) for value in column.to_pylist()]
        for field, column in zip(table.schema, table.columns, strict=True)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _cell(value: Any, format: str) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, str):
        return short(value) if format == "short" else value
    return f"{value:{format or (',' if isinstance(value, int) else '.3f')}}"


def interval_of(score: Score) -> str:
    """Return the interval of a score for a table, empty if there is none."""
    return (
        ""
        if score.interval is None
        else f"[{wording.score_text(score.interval.low)}, {wording.score_text(score.interval.high)}]"
    )


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

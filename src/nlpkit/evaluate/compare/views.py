"""What compare shows: a row for each model and number of topics, the best scores marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nlpkit.evaluate.compare.run import OWN
from nlpkit.metrics.catalogue import METRICS
from nlpkit.platform import wording
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.blocks import Block, Note, Table
from nlpkit.topics.diff.views import DIGITS, NAMES

if TYPE_CHECKING:
    from nlpkit.evaluate.compare.run import ModelComparison


def summary_block(comparison: ModelComparison) -> Table:
    """Return the means over seeds of each model and number of topics, the best of each score marked."""
    best, rows = comparison.best(), comparison.summary.to_pylist()
    names = [*comparison.scores, *OWN]
    lower = [name for name in comparison.scores if name in METRICS and METRICS[name].better == "low"]
    cells = [
        [
            row["model"],
            number_of_topics(row),
            *(_cell(row, name, is_best=best.get(name) == (row["model"], row["k"])) for name in names),
        ]
        for row in rows
    ]
    columns = ["model", "k", *map(title_of, names)]
    better = f"; lower is better for {', '.join(lower)}, higher for the others" if lower else "; higher is better"
    title = f"Means of {wording.counted(max(row['fits'] for row in rows), 'fit')} (± standard deviation); * best of a column{better}"
    return Table(columns, cells, columns[1:], title, noun="models", rest="summary.parquet")


def number_of_topics(row: Mapping[str, Any]) -> str:
    """Return the number of topics that was asked for."""
    return "found" if row["k"] is None else str(row["k"])


def title_of(name: str) -> str:
    """Return the name of a score as people read it."""
    return NAMES.get(name, name.replace("_", " "))


def direction(name: str) -> str:
    """Return a remark behind the name of a score, where less of it is better."""
    lower = name in ("seconds", "memory_mb") or (name in METRICS and METRICS[name].better == "low")
    return " (lower is better)" if lower else ""


def number(value: float | None, name: str) -> str:
    """Return a score, "" where there is none."""
    return "" if value is None else f"{value:,.{DIGITS.get(name, 3)}f}"


def _cell(row: Mapping[str, Any], name: str, *, is_best: bool) -> str:
    spread = row[f"{name}_sd"]
    shown = number(row[name], name)
    if shown and spread is not None and name in METRICS:
        shown += f" ±{number(spread, name)}"
    return f"{shown}*" if is_best and shown else shown


def comparison_blocks(result: ModelComparison) -> Iterator[Block]:
    """Yield the means over seeds, and how it goes on."""
    yield summary_block(result)
    yield Note(
        "stable words: share of a topic's ten first words that its match in another fit has; stable docs: AMI of the topics in two "
        "fits. Each fit has another seed and leaves out other documents. Seconds are without reading."
    )
    line = shell_line("nlpkit", "report", result.path, "-o", f"{result.path}.html")
    yield Note(f"wrote {result.path}/: runs/, fits.parquet and summary.parquet; next: {line}")

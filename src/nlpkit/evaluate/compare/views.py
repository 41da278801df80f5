"""What compare shows: a row for each model and number of topics, the best scores marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nlpkit.evaluate.compare.options import LLM_RATING
from nlpkit.evaluate.compare.run import OWN
from nlpkit.metrics.catalogue import METRICS
from nlpkit.platform import wording
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.blocks import Block, Note, Sentence, Table, cell
from nlpkit.topics.diff.views import DIGITS, NAMES

LEGEND = "P punctuation, N numbers, L lowercase, S stem, W stop words, I infrequent terms, 3 n-grams."

if TYPE_CHECKING:
    from nlpkit.evaluate.compare.preprocessing import PreprocessingComparison
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
    if shown and spread is not None and (name in METRICS or name == LLM_RATING):
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


def preprocessing_blocks(result: PreprocessingComparison, saved: bool) -> Iterator[Block]:
    """Yield the effects of steps on the preText score and on topics, the combinations, and what to do."""
    steps = result.steps.to_pylist()
    rows = [
        [
            row["step"],
            cell(row["estimate"], "+.4f"),
            f"{row['low']:+.4f} to {row['high']:+.4f}",
            cell(row["topics"], ".2f", ""),
        ]
        for row in steps[1:]
    ]
    heads = ["step", "effect on score", "95% interval", "topics with and without"]
    title = f"Effects of preprocessing steps on the preText score, and agreement of topics ({', '.join(result.models)})"
    yield Table(heads, rows, right=heads[1:], title=title)
    yield Note(
        f"score: {steps[0]['estimate']:.4f} without a step; a positive effect makes the distances of documents unlike those after "
        "other combinations. topics with and without: AMI of two fits that differ in this step alone; two fits of the same words, "
        f"one with another seed and a tenth of the documents left out, agree by {result.refit:.2f}"
    )
    decisive = [row["step"] for row in steps[1:] if row["low"] * row["high"] > 0]
    moves = [row["step"] for row in steps[1:] if row["topics"] < result.refit]
    yield Sentence(f"Steps whose interval leaves out 0: {', '.join(decisive) or 'none'}.")
    yield Sentence(f"Steps that change topics more than another seed and sample do: {', '.join(moves) or 'none'}.")
    cells = [
        [row["name"], wording.count(row["terms"]), cell(row["score"], ".4f", "–"), cell(row["topics"], ".2f")]
        for row in result.table.to_pylist()
    ]
    names = ["combination", "terms", "score", "topics"]
    title = f"Combinations of steps, the least unusual first ({wording.counted(result.n_docs, 'document')})"
    rest = "" if saved else "-o FILE"
    yield Table(names, cells, right=names[1:], title=title, noun="combinations", rest=rest)
    if result.n_compared < result.n_docs:
        yield Note(f"distances are those of {wording.count(result.n_compared)} documents, drawn at random")
    yield Note("topics: mean AMI of the topics with those of all other combinations. " + LEGEND)

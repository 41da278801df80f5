"""What active learning shows: the texts that were chosen, and the learning curves of strategies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nlpkit.classify.views import COMMAND_VIEWS_TEXT_WIDTH as TEXT_WIDTH
from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.blocks import Table, cell, interval

if TYPE_CHECKING:
    from nlpkit.annotate.active.curve import ActiveCurves
    from nlpkit.annotate.active.run import Proposals


def proposals(chosen: Proposals, target: str | None) -> None:
    """Print the texts, and how it goes on, or one JSON object."""
    options = chosen.options
    repeated = f", {wording.counted(chosen.n_repeated, 'repetition')} left out" if chosen.n_repeated else ""
    reporting.note(
        f"{wording.counted(chosen.documents.num_rows, 'text')} of {wording.count(chosen.n_candidates)} chosen by {options.strategy}; "
        f"{wording.count(chosen.n_labelled)} labelled{repeated}"
    )
    if options.page is not None:
        key = options.page.with_suffix(".key.json")
        reporting.note(f"wrote {options.page}, {options.page.with_suffix('.csv')} and {key}")
        line = shell_line("nlpkit", "annotate", "labels", key, "--answers", "FILE", "-o", "labelled.parquet")
        reporting.note(f"next: label the texts on the page or in the spreadsheet (column answer), then {line}")
    if target != "-":
        console.say(_proposals(chosen), chosen.to_dict)


def _proposals(chosen: Proposals) -> Iterator[Table]:
    names = ["rank", "score", "id", *(["prediction"] if "prediction" in chosen.documents.column_names else []), "text"]
    rows = [[_cell(name, row[name]) for name in names] for row in chosen.documents.select(names).to_pylist()]
    yield Table(names, rows, ["rank", "score"], noun="texts", rest="-o FILE")


def _cell(name: str, value: Any) -> str:
    if name == "text":
        return wording.truncated(" ".join(str(value)[:400].split()), TEXT_WIDTH)
    return cell(value) if name == "score" else str(value)


def curves(compared: ActiveCurves, target: str | None) -> None:
    """Print the scores by number of labels, or one JSON object."""
    n, facts = compared.curves, compared.to_dict()
    reporting.note(
        f"{wording.counted(n.n_pool, 'document')} to choose from, {wording.count(n.n_test)} held out to score on, "
        f"{wording.counted(len(compared.classes), 'class', 'classes')}; mean of {wording.counted(n.scores.shape[2], 'repetition')}"
    )
    if target != "-":
        console.say(_curves(facts), lambda: facts)


def _curves(facts: dict[str, Any]) -> Iterator[Table]:
    names = ["by", "labels", "accuracy", "macro F1", "accuracy above random"]
    rows = [
        [row["by"], cell(row["labels"]), f"{row['accuracy']:.3f}{_bounds(row, 'accuracy')}",
         f"{row['macro_f1']:.3f}{_bounds(row, 'macro_f1')}",
         "" if row["accuracy_gain"] is None else f"{row['accuracy_gain']:+.3f}{_bounds(row, 'accuracy_gain', '+')}"]
        for row in facts["curves"]
    ]  # fmt: skip
    yield Table(names, rows, names[1:], noun="rows", rest="-o FILE")


def _bounds(row: dict[str, Any], name: str, sign: str = "") -> str:
    ends = interval(row[f"{name}_low"], row[f"{name}_high"], f"{sign}.3f")
    return ends and f" {ends}"

"""What kwic shows: lines of matches, numbers, precision and recall of the pattern."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.workflows.corpus import warn_dropped

if TYPE_CHECKING:
    import pyarrow as pa

    from nlpkit.workflows.kwic import Concordance


def concordance(hits: Concordance, target: str | None) -> None:
    """Print lines where nothing was written, numbers, and scores where there are classes."""
    lines: list[dict[str, Any]] = []
    if target is None:
        lines = _lines(hits)
        scores = hits.scores()
        warn_dropped(hits.stream, None)
    else:
        scores = hits.scores()
    if console.settings.json:
        console.emit_json({**hits.summary(), **({} if hits.options.count or target is not None else {"lines": lines})})
        return
    _numbers(hits)
    if hits.n_unclassed:
        reporting.note(f"not scored: {wording.counted(hits.n_unclassed, 'document')} without a value in '{hits.by}'")
    if hits.by is not None:
        _scores(scores, hits.by, to_stderr=target == "-")


def _lines(hits: Concordance) -> list[dict[str, Any]]:
    """Print the matches as they are found; return them where they go into JSON."""
    from nlpkit.cli.render.concordance import Lines

    if console.settings.json:
        return [row for batch in hits.batches() for row in batch.to_pylist()]
    lines = Lines(hits.columns)
    batches: Iterable[pa.RecordBatch] = hits.batches()
    if hits.options.positive is not None:
        batches = list(batches)
        hits.scores()  # a class that no document has is refused before a line is printed
    for batch in batches:
        lines.show(batch)
    return []


def _numbers(hits: Concordance) -> None:
    share = f"{hits.matched / hits.documents:.1%}"
    if hits.options.count and hits.by is None:
        columns = ["documents", "with a hit", "share", "hits"]
        row = [wording.count(hits.documents), wording.count(hits.matched), share, wording.count(hits.hits)]
        console.table(columns, [row], right=columns)
        return
    some = not hits.options.count and hits.n_shown < hits.hits
    shown = f" (the first {wording.count(hits.n_shown)} here)" if some else ""
    reporting.note(
        f"{wording.counted(hits.hits, 'hit')}{shown} in {wording.count(hits.matched)} of "
        f"{wording.counted(hits.documents, 'document')} ({share})"
    )


def _scores(scores: dict[str, dict[str, Any]], by: str, *, to_stderr: bool) -> None:
    """Print precision and recall for each class, those with most documents first; parts of dates stay in their order."""
    largest_first = sorted(scores.items(), key=lambda item: 0 if ":" in by else -item[1]["documents"])
    rows = [
        [name, wording.count(s["documents"]), wording.count(s["matched"]), _share(s["precision"]), _ends(s, "precision"),
         _share(s["recall"]), _ends(s, "recall"), _share(s["f1"])]
        for name, s in largest_first
    ]  # fmt: skip
    if to_stderr:  # stdout is for the lines
        for row in rows:
            reporting.note(f"{row[0]}: precision {row[3]} ({row[4]}), recall {row[5]} ({row[6]}), F1 {row[7]}")
        return
    columns = [by, "documents", "with a hit", "precision", "95 %", "recall", "95 %", "F1"]
    console.table(columns, rows, right=columns[1:], noun="classes", rest="--json")


def _share(value: float) -> str:
    return "" if value != value else f"{value:.3f}"


def _ends(score: dict[str, Any], name: str) -> str:
    low, high = score[f"{name}_low"], score[f"{name}_high"]
    return "" if low != low else f"{low:.3f}–{high:.3f}"

"""Rolling models on the screen: chunks, topics over time, changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.render.lda import show_prototype
from nlpkit.cli.render.mixtures import show_topics
from nlpkit.plain import shell_line
from nlpkit.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from nlpkit.topics.lda.rolling_options import ChangeOptions
    from nlpkit.workflows.rolling_model import FittedRollingLda

CHUNKS_SHOWN = 30
CHANGES_SHOWN = 30
WORDS_SHOWN = 6
PLOT_WIDTH = 60
NAME_WIDTH = 22
BARS = "▁▂▃▄▅▆▇█"
MAX_BAR = 4  # characters of a chunk, where there are few
NOTHING, MARK, UNCERTAIN = "·", "▲", " ≈"


def show_rolling(model: FittedRollingLda, target: Path, previous: Path | None = None) -> None:
    """Print a rolling model that was written: the result as JSON, or topics, chunks, shares over time and changes.

    Args:
        previous: the run that was updated.
    """
    tables = model.tables()
    if console.settings.json:
        show_json(model, target)
        return
    assert model.report is not None
    if model.report.prototype is not None:
        show_prototype(model.report.prototype)
    show_topics(tables["topics"], tables["documents"].num_rows)
    show_chunks(tables["chunks"].to_pylist())
    names = tables["topics"].column("label").to_pylist()
    show_shares(tables["chunks"].to_pylist(), tables["topic_shares"], tables["changes"], names)
    console.out("")
    show_changes(tables["changes"].to_pylist(), names, model.change_options)
    result, fit = model.summary, model.report.fit
    reporting.note(
        f"{wording.counted(fit.model.n_topics, 'topic')} in {wording.counted(result['chunks'], 'chunk')} in "
        f"{sum(model.report.seconds.values()):.0f} s; log-likelihood {fit.log_likelihood:.4f} a token, diversity "
        f"{wording.if_defined(model.run.description.diversity)}; alpha sums to {fit.model.alpha.sum():.4g}, eta {fit.model.eta:.4g} each"  # type: ignore[union-attr]
    )
    reporting.note(f"wrote {target}/ (over time: topic_shares.parquet, changes.parquet, chunks.parquet)")
    reporting.note(f"next: {shell_line('nlpkit', 'info', target)}")
    longer = "longer/" if Path(target).name != "longer" else "still-longer/"  # a run is never updated in its place
    reporting.note(f"  or: {shell_line('nlpkit', 'rolling-lda', 'NEWER.jsonl', '--update', target, '-o', longer)}")
    if model.renumbered:
        listed = ", ".join(f"{old} → {new}" for old, new in model.renumbered[:20])
        reporting.note(
            f"topics are numbered by size, so some have another number than in {previous}: {listed}"
            f"{' …' if len(model.renumbered) > 20 else ''} (the column chain_topic stays the same)"
        )


def show_json(model: FittedRollingLda, target: Path) -> None:
    """Print the result as one JSON object."""
    tables = model.tables()
    console.emit_json(
        {
            "run": str(target),
            **model.summary,
            "topics": tables["topics"].to_pylist(),
            "chunks": tables["chunks"].to_pylist(),
            "changes": [row for row in tables["changes"].to_pylist() if row["changed"]],
        }
    )


def show_chunks(chunks: Sequence[dict[str, Any]]) -> None:
    """Print the chunk table; of many the first and the last."""
    rows = [
        [
            str(c["chunk"]),
            str(c["start_date"]),
            str(c["end_date"]),
            wording.count(c["n"]),
            wording.count(c["n_discarded"]),
            "" if c["n_memory"] is None else f"{wording.count(c['n_memory'])} since {c['memory']}",
            wording.count(c["n_vocab"]),
            wording.count(c["n_tokens"]),
        ]
        for c in chunks
    ]
    left_out = len(rows) - CHUNKS_SHOWN
    if left_out > 1:
        half = CHUNKS_SHOWN // 2
        rows = [*rows[:half], ["…", *[""] * 7], *rows[-half:]]
    columns = ["chunk", "from", "to", "docs", "discarded", "memory", "vocabulary", "tokens"]
    right = ["chunk", "docs", "discarded", "vocabulary", "tokens"]
    omitted = f"; {left_out} in the middle are left out here (all: chunks.parquet)" if left_out > 1 else ""
    console.table(columns, rows, right=right, title=f"Chunks; the first is the initial period{omitted}")


def show_shares(chunks: Sequence[dict[str, Any]], shares: pa.Table, changes: pa.Table, names: Sequence[str]) -> None:
    """Print a line of bars for each topic: its share of the tokens of each chunk, from 0 to its own largest."""
    K = len(names)
    share = shares.column("share").to_numpy(zero_copy_only=False).reshape(len(chunks), K)
    changed = np.zeros((len(chunks), K), bool)
    at = {c["chunk"]: row for row, c in enumerate(chunks)}
    for row in changes.select(["topic", "chunk", "changed"]).to_pylist():
        changed[at[row["chunk"]], row["topic"]] = row["changed"]
    if console.settings.show == 0:
        return
    columns = columns_of(share, changed, np.array([c["n_tokens"] for c in chunks]), PLOT_WIDTH)
    wide = max(1, min(MAX_BAR, PLOT_WIDTH // len(columns.first)))  # characters of a column
    console.out(_title(wide, columns.per_column))
    axis = date_axis([chunks[row]["start_date"] for row in columns.first], wide)
    console.out(f"{'topic':<5} {'name':<{NAME_WIDTH}} {'least–most':>12}  {axis}".rstrip())
    tokens = np.array([c["n_tokens"] for c in chunks], np.float64)
    shown = console.shown_rows(K, (np.nan_to_num(share) * tokens[:, None]).sum(axis=0).tolist())
    for k in shown:
        values = share[:, k][~np.isnan(share[:, k])]
        span = f"{100 * values.min():.1f}–{100 * values.max():.1f} %" if len(values) else ""
        console.out(f"{k:>5} {_fitted(names[k])} {span:>12}  {sparkline(columns.share[:, k], wide)}")
        if columns.changed[:, k].any():
            marks = "".join((MARK if c else "").ljust(wide) for c in columns.changed[:, k])
            console.out(f"{'':>5} {'':<{NAME_WIDTH}} {'':>12}  {marks}".rstrip())
    if len(shown) < K:
        console.out(console.rest_line(len(shown), K, "topics", "topic_shares.parquet of the run", largest=True))


def _title(wide: int, per_column: int) -> str:
    """Return two lines above the plot."""
    size = "a column" if wide == 1 else f"{wide} columns"
    each = f"{size} for each chunk" if per_column == 1 else f"a column for {per_column} chunks"
    return (
        f"Topics over time: share of the tokens, from 0 to the most of each topic;\n{each}, first the initial period; "
        f"{MARK} a change of its words"
    )


@dataclass(frozen=True, slots=True)
class Columns:
    """Chunks joined to P columns: share (P, K), changed (P, K), first chunk of each (P,), chunks in one."""

    share: FloatArray
    changed: BoolArray
    first: list[int]
    per_column: int


def columns_of(share: FloatArray, changed: BoolArray, n_tokens: Any, width: int) -> Columns:
    """Join neighbouring chunks until they fit; the initial period stays alone. Shares are means weighted by tokens.

    Args:
        share: (C, K), nan where a chunk has no tokens; changed: (C, K); n_tokens: (C,); width: at most so many columns.
    """
    C = len(share)
    size = max(1, -(-(C - 1) // (width - 1)))
    first = [0, *range(1, C, size)]
    weights = np.where(np.isnan(share), 0.0, n_tokens[:, None].astype(np.float64))
    sums = np.add.reduceat(np.nan_to_num(share) * weights, first, axis=0)
    totals = np.add.reduceat(weights, first, axis=0)
    joined = np.divide(sums, totals, out=np.full_like(sums, np.nan), where=totals > 0)
    return Columns(joined, np.logical_or.reduceat(changed, first, axis=0), first, size)


def sparkline(values: FloatArray, wide: int = 1) -> str:
    """Return a bar for each value, as high as its share of the largest and so many characters wide; dots for nan."""
    known = values[~np.isnan(values)]
    most = known.max() if len(known) and known.max() > 0 else 1.0
    bars = [NOTHING if np.isnan(v) else BARS[min(int(len(BARS) * v / most), len(BARS) - 1)] for v in values]
    return "".join(bar * wide for bar in bars)


def date_axis(starts: Sequence[date], wide: int = 1) -> str:
    """Return years, within three years months, each above the first column that begins in it, where there is room.

    Args:
        starts: first day of each column; wide: characters of a column.
    """
    form = "%Y-%m" if (starts[-1] - starts[0]).days < 3 * 366 else "%Y"
    axis, before = "", ""
    for number, start in enumerate(starts):
        text = start.strftime(form)
        if text != before and (not axis or number * wide > len(axis)):
            axis = axis.ljust(number * wide) + text
        before = text
    return axis


def _fitted(name: str) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(name) > NAME_WIDTH:
        return set_cell_size(name, NAME_WIDTH - 1).rstrip() + "…"
    return set_cell_size(name, NAME_WIDTH)


def _signed(words: Sequence[str], rose: Sequence[bool]) -> str:
    return " ".join(f"{'+' if up else '−'}{word}" for word, up in zip(words, rose, strict=False))


def show_changes(tests: Sequence[dict[str, Any]], names: Sequence[str], options: ChangeOptions) -> None:
    """Print the changes found, earliest first."""
    changes = sorted((row for row in tests if row["changed"]), key=lambda row: (row["chunk"], row["topic"]))
    missed = sum(row.get("uncertain", False) for row in tests if not row["changed"])
    before = "the chunk before" if options.change_span == 1 else f"the {options.change_span} chunks before at most"
    usual = f"{options.change_mixture:.0%} of the usual change expected"
    method = f"significance level {options.change_level:g}, {usual}, against {before}"
    if not changes:
        console.out(f"No topic changed in any chunk ({wording.counted(len(tests), 'test')}; {method}).")
        _show_uncertain(0, missed)
        return
    rows = [
        [
            str(row["start_date"]),
            str(row["topic"]),
            names[row["topic"]],
            f"{row['similarity']:.3f} < {row['threshold']:.3f}{UNCERTAIN if row.get('uncertain') else ''}",
            _signed(row["words"][:WORDS_SHOWN], row["rose"]),
        ]
        for row in changes[:CHANGES_SHOWN]
    ]
    title = f"Changes: {len(changes)} in {wording.counted(len(tests), 'test')}\n({method})"
    columns = ["chunk from", "topic", "name", "similarity", "words that drove it: + more, − less"]
    console.table(columns, rows, right=["topic"], title=title)
    if len(changes) > CHANGES_SHOWN:
        console.out(f"({len(changes) - CHANGES_SHOWN} later ones are in changes.parquet)")
    _show_uncertain(sum(row.get("uncertain", False) for row in changes), missed)


def _show_uncertain(changes: int, missed: int) -> None:
    """Tell how many tests are within the noise of their threshold: changes found, and changes just missed."""
    if changes:
        console.out(
            f"{UNCERTAIN.strip()} {wording.counted(changes, 'change')} within the noise of the threshold: with another seed it may be none"
        )
    if missed:
        console.out(
            f"{wording.counted(missed, 'test')} without a change within that noise: with another seed it may be one (column uncertain "
            "of changes.parquet)"
        )

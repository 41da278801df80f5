"""What `nlpkit lda-gibbs --rolling` and `--update` print: chunks, topics over time, changes."""

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
from nlpkit.cli.lda_rolling_options import alpha_sum
from nlpkit.cli.lda_show import show_topics
from nlpkit.plain import shell_line
from nlpkit.topics.lda.chunks import Chunk, Days, parse_span
from nlpkit.topics.lda.rolling_plan import RollingOptions, RollingState
from nlpkit.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from nlpkit.cli.lda_rolling_corpus import Base
    from nlpkit.cli.lda_write import Written
    from nlpkit.topics.lda.changes import ChangeOptions
    from nlpkit.topics.lda.fit import LdaFit

CHUNKS_SHOWN = 30
MANY_DISCARDED = 0.1  # share of the documents that is worth a warning
CHANGES_SHOWN = 30
WORDS_SHOWN = 6
PLOT_WIDTH = 60
NAME_WIDTH = 22
BARS = "▁▂▃▄▅▆▇█"
MAX_BAR = 4  # characters of a chunk, where there are few
NOTHING, MARK = "·", "▲"


def say_plan(options: RollingOptions, chunks: Sequence[Chunk]) -> None:
    """Say what is about to run."""
    first, later = chunks[0], chunks[1:]
    tokens = sum(chunk.n_tokens for chunk in chunks)
    K = options.n_topics
    alpha, eta = alpha_sum(options) / K, 1 / K if options.eta is None else options.eta
    reporting.note(
        f"RollingLDA of {wording.counted(K, 'topic')}: first period {first.start_date} to {first.end_date} "
        f"({wording.counted(first.n, 'document')}), then {wording.counted(len(later), 'chunk')} of "
        f"{parse_span(options.chunks, 'chunks')} with a memory of {parse_span(options.memory, 'memory')}; alpha {alpha:.4g} and "
        f"eta {eta:.4g} each, {wording.counted(options.sweeps, 'sweep')} a chunk over {wording.counted(tokens, 'token')}"
    )
    if first.n_tokens < 100 * K:
        reporting.warn(
            f"the first period has only {wording.counted(first.n_tokens, 'token')} for {wording.counted(K, 'topic')}, and all "
            "later topics come from it; a longer --init or a smaller --k may be better"
        )
    lost, kept = sum(chunk.n_discarded for chunk in chunks), sum(chunk.n for chunk in chunks)
    if lost > MANY_DISCARDED * (lost + kept):
        often = "once" if options.vocab_abs == 1 else f"{options.vocab_abs} times"
        reporting.warn(
            f"{wording.count(lost)} of {wording.counted(lost + kept, 'document')} have too few words that are frequent enough and "
            f"get no topic; a word enters when a chunk has it more than {often} (--vocab-abs): give less, or "
            "longer chunks"
        )


def show_rolling(
    target: Path, written: Written, found: LdaFit, changes: ChangeOptions, seconds: dict[str, float]
) -> None:
    """Print topics, chunks, shares over time and changes, and say what to type next."""
    tables = written.tables
    show_topics(tables["topics"], tables["documents"].num_rows)
    show_chunks(tables["chunks"].to_pylist())
    names = tables["topics"].column("label").to_pylist()
    show_shares(tables["chunks"].to_pylist(), tables["topic_shares"], tables["changes"], names)
    console.out("")
    show_changes(tables["changes"].to_pylist(), names, changes)
    result = written.summary
    reporting.note(
        f"{wording.counted(found.model.n_topics, 'topic')} in {wording.counted(result['chunks'], 'chunk')} in "
        f"{sum(seconds.values()):.0f} s; log-likelihood {found.log_likelihood:.4f} a token, diversity "
        f"{written.description.diversity:.3f}; alpha sums to {found.model.alpha.sum():.4g}, eta {found.model.eta:.4g} each"
    )
    reporting.note(f"wrote {target}/ (over time: topic_shares.parquet, changes.parquet, chunks.parquet)")
    reporting.note(f"next: {shell_line('nlpkit', 'info', target)}")
    reporting.note(f"  or: {shell_line('nlpkit', 'lda-gibbs', 'NEWER.jsonl', '--update', target, '-o', 'longer/')}")


def say_longer(run: Path, state: RollingState, days: Days) -> None:
    """Say what is added to what."""
    reporting.note(
        f"{run}: {wording.counted(len(state.ids), 'document')} in {wording.counted(len(state.chunks), 'chunk')} up to "
        f"{state.chunks[-1].end_date}; {wording.counted(len(days), 'document')} of {days.min()} to {days.max()} are added"
    )


def say_renumbered(base: Base, found: LdaFit) -> None:
    """Say which topics have another number than in the run that was updated: they are numbered by size."""
    was = {k: number for number, k in enumerate(base.chain_topics)}
    moved = [(was[int(k)], number) for number, k in enumerate(found.order) if was[int(k)] != number]
    if moved:
        listed = ", ".join(f"{old} → {new}" for old, new in sorted(moved)[:20])
        reporting.note(
            f"topics are numbered by size, so some have another number than in {base.run.path}: {listed}"
            f"{' …' if len(moved) > 20 else ''} (the column chain_topic stays the same)"
        )


def show_json(target: Path, written: Written) -> None:
    """Print the result as one JSON object."""
    tables = written.tables
    console.emit_json(
        {
            "run": str(target),
            **written.summary,
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
    more = f"; {left_out} in the middle are left out here (all: chunks.parquet)" if left_out > 1 else ""
    console.table(columns, rows, right=right, title=f"Chunks; the first is the initial period{more}")


def show_shares(chunks: Sequence[dict[str, Any]], shares: pa.Table, changes: pa.Table, names: Sequence[str]) -> None:
    """Print a line of bars for each topic: its share of the tokens of each chunk, from 0 to its own largest."""
    K = len(names)
    share = shares.column("share").to_numpy(zero_copy_only=False).reshape(len(chunks), K)
    changed = np.zeros((len(chunks), K), bool)
    at = {c["chunk"]: row for row, c in enumerate(chunks)}
    for row in changes.select(["topic", "chunk", "changed"]).to_pylist():
        changed[at[row["chunk"]], row["topic"]] = row["changed"]
    columns = columns_of(share, changed, np.array([c["n_tokens"] for c in chunks]), PLOT_WIDTH)
    wide = max(1, min(MAX_BAR, PLOT_WIDTH // len(columns.first)))  # characters of a column
    console.out(_title(wide, columns.per_column))
    axis = date_axis([chunks[row]["start_date"] for row in columns.first], wide)
    console.out(f"{'topic':<5} {'name':<{NAME_WIDTH}} {'least–most':>12}  {axis}".rstrip())
    for k in range(K):
        values = share[:, k][~np.isnan(share[:, k])]
        span = f"{100 * values.min():.1f}–{100 * values.max():.1f} %" if len(values) else ""
        console.out(f"{k:>5} {_fitted(names[k])} {span:>12}  {sparkline(columns.share[:, k], wide)}")
        if columns.changed[:, k].any():
            marks = "".join((MARK if c else "").ljust(wide) for c in columns.changed[:, k])
            console.out(f"{'':>5} {'':<{NAME_WIDTH}} {'':>12}  {marks}".rstrip())


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
    return " ".join(f"{'+' if more else '−'}{word}" for word, more in zip(words, rose, strict=False))


def show_changes(tests: Sequence[dict[str, Any]], names: Sequence[str], options: ChangeOptions) -> None:
    """Print the changes found, earliest first."""
    found = sorted((row for row in tests if row["changed"]), key=lambda row: (row["chunk"], row["topic"]))
    before = "the chunk before" if options.max_span == 1 else f"the {options.max_span} chunks before at most"
    how = f"level {options.level:g}, {options.mixture:.0%} of change usual, against {before}"
    if not found:
        console.out(f"No topic changed in any chunk ({wording.counted(len(tests), 'test')}; {how}).")
        return
    rows = [
        [
            str(row["start_date"]),
            str(row["topic"]),
            names[row["topic"]],
            f"{row['similarity']:.3f} < {row['threshold']:.3f}",
            _signed(row["words"][:WORDS_SHOWN], row["rose"]),
        ]
        for row in found[:CHANGES_SHOWN]
    ]
    title = f"Changes: {len(found)} in {wording.counted(len(tests), 'test')} ({how})"
    columns = ["chunk from", "topic", "name", "similarity", "words that drove it: + more, − less"]
    console.table(columns, rows, right=["topic"], title=title)
    if len(found) > CHANGES_SHOWN:
        console.out(f"({len(found) - CHANGES_SHOWN} later ones are in changes.parquet)")

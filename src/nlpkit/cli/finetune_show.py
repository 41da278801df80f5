"""Fine-tuning for people: scores over seeds, methods side by side, and the learning curve."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.render.classes import Page
from nlpkit.finetune.train import Point

if TYPE_CHECKING:
    from nlpkit.cli.finetune_cells import Done

WIDTH, HEIGHT = 60, 8
GROWTH = 2  # of the loss, from which on it is told
_BARS = "▁▂▃▄▅▆▇█"


def curve_lines(done: Sequence[Done], *, points: Sequence[Point] = (), facts: Mapping[str, Any] | None = None) -> str:
    """Return learning curves as JSON lines: method, shots, seed, fold, step, epoch, loss, rate, seconds, dev."""
    lines = []
    for one in done:
        cell = one.cell
        own = {"method": cell.method.spelling, "shots": cell.shots, "seed": cell.seed, "fold": cell.fold}
        lines += [{**own, **asdict(point)} for point in one.curve]
    lines += [{**(facts or {}), **asdict(point)} for point in points]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def show_seeds(page: Page, spread: Mapping[str, Any]) -> None:
    """Print the scores of each seed, their mean and standard deviation."""
    names = [
        n
        for n in ("accuracy", "macro_f1", "micro_f1", "subset_accuracy", "spearman", "rmse", "span_f1")
        if n in spread["mean"]
    ]
    rows = [[str(row["seed"]), *(f"{row[n]:.3f}" for n in names)] for row in spread["runs"]]
    rows.append(["mean ± sd", *(f"{spread['mean'][n]:.3f} ± {spread['sd'][n]:.3f}" for n in names)])
    page.table(f"{len(spread['runs'])} seeds", ["seed", *names], rows, names)


def show_comparison(page: Page, table: pa.Table, kind: str, *, scarce: Collection[int] = ()) -> None:
    """Print methods side by side, the means of their seeds with standard deviations.

    Args:
        scarce: numbers of documents a class that some class does not have.
    """
    from nlpkit.cli.finetune_compare import SHOWN, summary

    found = summary(table.to_pylist())
    names = [n for n in SHOWN[kind] if any(own["mean"].get(n) is not None for own in found)]
    columns = ["method", "documents a class", *names, "trained parameters", "seconds", "MB"]
    rows = []
    for own in found:
        mean, sd = own["mean"], own["sd"]
        shots = "all" if own["shots"] is None else str(own["shots"])
        cells = [own["method"], f"{shots} at most" if own["shots"] in scarce else shots]
        cells += [_pm(mean.get(n), sd.get(n)) for n in names]
        size, trained, seconds = mean.get("bytes"), mean.get("trained_parameters"), mean.get("seconds")
        cells.append("" if trained is None else f"{trained:,.0f}")
        cells.append("" if seconds is None else f"{seconds:,.1f}")
        cells.append("" if size is None else f"{size / 1e6:,.2f}")
        rows.append(cells)
    runs = max(own["runs"] for own in found)
    page.table(f"Methods on test documents, {wording.counted(runs, 'seed')}", columns, rows, columns[1:])


def _pm(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.3f}" if sd is None else f"{mean:.3f} ± {sd:.3f}"


def show_curve(curve: Sequence[Point], *, markdown: bool = False) -> None:
    """Print the loss of training over the steps as a chart of text, and below it the score on dev documents."""
    if len(curve) < 2:
        return
    if markdown:
        console.out("```text")
    console.out(chart([p.loss for p in curve], [p.step for p in curve], "loss of training"))
    dev = [next(iter(p.dev.values())) for p in curve if p.dev]
    if len(dev) > 1:
        console.out(f"dev  {spark(dev)}  {dev[0]:.3f} → {dev[-1]:.3f}, best {max(dev):.3f}")
    if markdown:
        console.out("```")


def say_growth(curve: Sequence[Point]) -> None:
    """Warn where the loss ended well above its start."""
    if len(curve) > 1 and curve[-1].loss > GROWTH * curve[0].loss:
        reporting.warn(f"the loss grew from {curve[0].loss:.3g} to {curve[-1].loss:.3g} in training; lower --lr")


def chart(values: Sequence[float], steps: Sequence[int], title: str) -> str:
    """Return a chart of text: values against steps, at most WIDTH columns of means."""
    cells = _columns(values)
    low, high = float(min(cells)), float(max(cells))
    span = (high - low) or 1.0
    heights = [round((v - low) / span * (HEIGHT * 8 - 1)) + 1 for v in cells]
    lines = [title]
    for row in range(HEIGHT - 1, -1, -1):
        edge = f"{high:8.3f}" if row == HEIGHT - 1 else f"{low:8.3f}" if row == 0 else " " * 8
        body = "".join(" " if h <= row * 8 else _BARS[min(h - row * 8, 8) - 1] for h in heights)
        lines.append(f"{edge} ┤{body}")
    end = f"{steps[-1]:,}"
    lines.append(" " * 9 + "└" + "─" * len(cells))
    lines.append(
        " " * 10 + "step " + f"{steps[0]:,}" + end.rjust(max(len(end) + 1, len(cells) - 5 - len(f"{steps[0]:,}")))
    )
    return "\n".join(line.rstrip() for line in lines)


def spark(values: Sequence[float]) -> str:
    """Return values as a line of bars."""
    cells = _columns(values)
    low, high = min(cells), max(cells)
    span = (high - low) or 1.0
    return "".join(_BARS[round((v - low) / span * 7)] for v in cells)


def _columns(values: Sequence[float]) -> list[float]:
    own = np.asarray(values, np.float64)
    if len(own) <= WIDTH:
        return [float(v) for v in np.repeat(own, max(1, min(4, WIDTH // len(own))))]
    return [float(part.mean()) for part in np.array_split(own, WIDTH)]

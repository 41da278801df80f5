"""Fine-tuning for people: scores, seeds, methods side by side, the learning curve, and what a training would take."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit.classify.views import errors_blocks, run_table, scores_blocks
from nlpkit.errors import UsageError
from nlpkit.finetune.comparison import size_of
from nlpkit.finetune.encoders.run import BETTER
from nlpkit.finetune.run import warn_growth
from nlpkit.finetune.tasks import CLASSES
from nlpkit.finetune.training.train import LogPoint
from nlpkit.metrics.gate_views import spell_options
from nlpkit.metrics.results import Evaluation
from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.blocks import Block, Figure, Note, Table, cell
from nlpkit.platform.views.sparkline import chart, spark

if TYPE_CHECKING:
    from nlpkit.finetune.encoders.run import EncoderResult
    from nlpkit.finetune.run import FinetuneResult, MethodComparison
    from nlpkit.platform.cli.options import RunFlags

SEED_METRICS = (
    "accuracy", "quadratic_kappa", "rank_mae", "macro_f1", "micro_f1", "subset_accuracy", "spearman", "rmse", "span_f1", "answer_exact",
    "answer_f1",
)  # fmt: skip
COMPARED = {
    "single": ("accuracy", "macro_f1"),
    "multi": ("micro_f1", "macro_f1", "subset_accuracy"),
    "ordinal": ("quadratic_kappa", "rank_mae", "accuracy"),
    "regression": ("spearman", "rmse"),
    "tokens": ("accuracy", "macro_f1", "span_f1"),
    "answer": ("answer_exact", "answer_f1"),
}


def check_stdout(markdown: bool, run: RunFlags) -> None:
    """Raise UsageError when two forms of the scores are wanted on stdout."""
    if markdown and run.json:
        raise UsageError(
            "`markdown` and `json` both write to stdout; metrics.json in the run has the scores", parameter="markdown"
        )


def spell_scores(result: FinetuneResult) -> None:
    """Write the parameters that notes and reasons of the scores name as the options of the command line."""
    spell_options(Evaluation(result.scores.results))


def result_blocks(result: FinetuneResult) -> Iterator[Block]:
    """Yield the scores of a fine-tuned model, of each seed, its errors and its learning curve."""
    facts, dataset = result.facts, result.dataset
    n = wording.counted(facts["training_documents"], "training document")
    tested = f"cross-validation in {dataset.n_folds} folds" if dataset.n_folds else "on test documents"
    title = f"{facts['method']} ({facts['trained_parameters']:,} of {facts['parameters']:,} parameters, {n}), {tested}"
    yield from scores_blocks(result.scores, title)
    if result.spread is not None:
        yield _seeds(result.spread)
    if dataset.kind in CLASSES:
        yield from errors_blocks(result.tables()["errors"])
    yield from curve_figure(result.curve)


def note_finetuned(result: FinetuneResult, target: Path) -> None:
    """Say what is to be known of the scores and the training, where the run is, and how it predicts."""
    if result.gates and result.spread is not None:
        reporting.note(f"gates look at the means of {len(result.spread['runs'])} seeds")
    warn_growth(result.curve)
    for note in result.notes:
        reporting.note(note)
    seconds = sum(result.job.seconds.values())
    following = console.next_step("predict", target, "NEW.jsonl", "-o", "predictions.parquet")
    reporting.note(f"wrote {target}/ in {seconds:.1f} s{following}")


def _seeds(spread: Mapping[str, Any]) -> Table:
    """Return the scores of each seed, their mean and standard deviation."""
    names = [name for name in SEED_METRICS if name in spread["mean"]]
    rows = [[str(run["seed"]), *(f"{run[n]:.3f}" for n in names)] for run in spread["runs"]]
    rows.append(["mean ± sd", *(f"{spread['mean'][n]:.3f} ± {spread['sd'][n]:.3f}" for n in names)])
    return run_table(f"{len(spread['runs'])} seeds", ["seed", *names], rows, names)


def comparison_blocks(comparison: MethodComparison) -> Iterator[Table]:
    """Yield methods side by side, the means of their seeds with standard deviations, and their mean ranks."""
    means, scarce, dataset = comparison.means, comparison.scarce_shots(), comparison.job.dataset
    names = [n for n in COMPARED[dataset.kind] if any(row["mean"].get(n) is not None for row in means)]
    main = names[0]
    interval = any("interval" in row for row in means)
    unit = "documents" if dataset.by_total else "documents a class"
    columns = [
        "method",
        unit,
        main,
        *([f"{main} from … to"] if interval else ()),
        *([f"{main} of the vote"] if comparison.votes else ()),
    ]
    columns += [*names[1:], "trained parameters", "seconds", "MB"]
    rows = []
    for row in means:
        mean, sd, size = row["mean"], row["sd"], size_of(row)
        cells = [row["method"], "all" if size is None else f"{size} at most" if size in scarce else str(size)]
        cells.append(_with_deviation(mean.get(main), sd.get(main)))
        if interval:
            cells.append("{low:.3f} … {high:.3f}".format(**row["interval"]) if "interval" in row else "")
        if comparison.votes:
            cells.append(
                _with_deviation(*(row["vote"][part].get(main) for part in ("mean", "sd"))) if "vote" in row else ""
            )
        cells += [_with_deviation(mean.get(n), sd.get(n)) for n in names[1:]]
        weights, trained, seconds = mean.get("bytes"), mean.get("trained_parameters"), mean.get("seconds")
        cells += [cell(trained, ",.0f"), cell(seconds, ",.1f"), "" if weights is None else f"{weights / 1e6:,.2f}"]
        rows.append(cells)
    draws = comparison.job.draws
    several = f"{wording.counted(len(draws), 'sample')}, {wording.counted(len(draws[0].seeds), 'training')} on each"
    runs = several if draws[0].crossed else wording.counted(len(draws), "seed")
    yield run_table(f"Methods on test documents, {runs}", columns, rows, columns[1:])
    if comparison.ranks is not None:
        ranks = comparison.ranks
        order = np.argsort(ranks.ranks, kind="stable").tolist()
        shown = [[ranks.names[k], f"{ranks.ranks[k]:.2f}"] for k in order]
        title = f"Mean ranks by {main}, {wording.counted(ranks.blocks, 'sample')}"
        yield run_table(title, ["method", "mean rank"], shown, ["mean rank"])


def note_comparison(comparison: MethodComparison, target: Path, line: str) -> None:
    """Say where the run of a comparison is, what its ranks mean, and how the best method is trained."""
    following = "" if comparison.ranks is None else console.next_step("plot", target, "ranks", "-o", "ranks.svg")
    reporting.note(f"wrote {target}/ in {sum(comparison.job.seconds.values()):.1f} s{following}")
    ranks = comparison.ranks
    if ranks is not None:
        p = "" if ranks.p_value is None else f"; that all are alike has a p-value of {ranks.p_value:.2g} (Friedman)"
        reporting.note(
            f"methods differ where their mean ranks are {ranks.critical_difference:.2f} apart (Nemenyi, level {ranks.level:g}){p}"
        )
    best = comparison.best
    if best is not None:
        size, unit = size_of(best), "documents" if comparison.job.dataset.by_total else "documents of a class"
        shown = "" if size is None else f" with {size} {unit}"
        reporting.note(f"a comparison keeps no model; to train the best on this test, {best['method']}{shown}: {line}")


def training_line(comparison: MethodComparison, target: Path) -> str:
    """Return the command line that trains the best method of a comparison and keeps its model, "" where there is none."""
    best = comparison.best
    if best is None:
        return ""
    return best_line(["nlpkit", *sys.argv[1:]], best, str(target.with_name(f"{target.name}.best")))


def best_line(command: Sequence[str], best: Mapping[str, Any], target: str) -> str:
    """Return the command line of a comparison as one that trains one method.

    Args:
        command: that of the comparison; best: a row of its means; target: the run to write.
    """
    size = "--totals" if "total" in best else "--shots"
    wanted = {"--method": best["method"], size: size_of(best), "--output": target}
    spelled = {"-o", "--method", "--shots", "--totals", "--output", "--protocol"}
    kept: list[str] = []
    words = iter(command)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in spelled:
            kept.append(word)
        elif not equals:
            next(words, None)
    changed = [part for name, value in wanted.items() if value is not None for part in (name, str(value))]
    return shell_line(*kept, *changed)


def _with_deviation(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.3f}" if sd is None else f"{mean:.3f} ± {sd:.3f}"


def encoder_blocks(result: EncoderResult) -> Iterator[Block]:
    """Yield the scores of an encoder before and after its training, and the learning curve."""
    rows = []
    for metric, value in (result.after or {}).items():
        before = None if result.before is None else result.before.get(metric)
        values = [cell(before, ",.4f", "–"), f"{value:,.4f}"]
        rows.append([f"{metric} ({BETTER[metric]} is better)", *values])
    title = f"{result.objective}, on {result.n_tested:,} test rows"
    yield run_table(title, ["score", "before", "after"], rows, ["before", "after"])
    yield from curve_figure(result.curve)


def note_encoder(result: EncoderResult, target: Path) -> None:
    """Say which scores became worse, where the run is, and how it embeds."""
    for metric, (before, after) in result.worse.items():
        reporting.warn(
            f"{metric} is worse than before, {after:,.4g} after {before:,.4g}; lower `lr`, or train on more rows"
        )
    warn_growth(result.curve)
    following = (
        ""
        if result.objective in ("sft", "dpo")
        else console.next_step("sbert-embed", "NEW.jsonl", "--model", target, "-o", "embedded.parquet")
    )
    reporting.note(f"wrote {target}/ in {sum(result.job.seconds.values()):.1f} s{following}")


def show_estimate(estimate: Mapping[str, Any]) -> None:
    """Print what would be trained, about how long it takes, and the memory and disk it needs; as JSON with --json."""
    console.say(_estimate(estimate), lambda: estimate)


def _estimate(estimate: Mapping[str, Any]) -> Iterator[Block]:
    size = "totals" if any("totals" in load for load in estimate["plan"]) else "shots"
    header = ["method", size, "trainings", "documents", "steps each", "seconds, about"]
    counts = ("trainings", "training_documents", "steps", "seconds_about")
    rows = [
        [load["method"], load[size] or "all", *(wording.count(load[name]) for name in counts)]
        for load in estimate["plan"]
    ]
    yield Table(header, rows, right=header[1:])
    yield Note(
        f"about {wording.count(estimate['seconds_about'])} s, {wording.count(estimate['memory_mb_about'])} MB of memory and "
        f"{wording.count(estimate['disk_mb_about'])} MB on disk; dry run: nothing was written"
    )


def curve_figure(curve: Sequence[LogPoint]) -> Iterator[Figure]:
    """Yield the loss of training over the steps as a chart of text, and below it the score on dev documents."""
    if len(curve) < 2:
        return
    lines = chart([p.loss for p in curve], [p.step for p in curve], "loss of training")
    dev = [next(iter(p.dev.values())) for p in curve if p.dev]
    if len(dev) > 1:
        lines += f"\ndev  {spark(dev)}  {dev[0]:.3f} → {dev[-1]:.3f}, best {max(dev):.3f}"
    yield Figure(lines)

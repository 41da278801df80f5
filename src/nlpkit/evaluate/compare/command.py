"""What compare shows: a row for each model and number of topics, the best scores marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nlpkit.embed.options import EncoderOptions
from nlpkit.evaluate.compare.options import CompareOptions
from nlpkit.evaluate.compare.run import OWN
from nlpkit.metrics.catalogue import METRICS
from nlpkit.platform import wording
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.models import MODELS, resolved
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.blocks import Block, Note, Table
from nlpkit.text.options import TextOptions
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
    """Return a remark behind the name of a score of which less is better."""
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


# ------------------------------------------------------------------------------------------------------------------------
# What compare shows: a row for each model and number of topics.


def comparison_blocks(result: ModelComparison) -> Iterator[Block]:
    """Yield the means over seeds, and how it goes on."""
    yield summary_block(result)
    yield Note(
        "stable words: share of a topic's ten first words that its match in another fit has; stable docs: AMI of the topics in two "
        "fits. Each fit has another seed and leaves out other documents. Seconds are without reading."
    )
    line = shell_line("nlpkit", "report", result.path, "-o", f"{result.path}.html")
    yield Note(f"wrote {result.path}/: runs/, fits.parquet and summary.parquet; next: {line}")


# ------------------------------------------------------------------------------------------------------------------------
# What the fits of a comparison cost.


def usual_steps(model: str) -> int:
    """Return how many steps a model takes by default, at most."""
    options = resolved(MODELS[model].options)()
    steps: int = getattr(options, "iterations", 1) if MODELS[model].fitter else getattr(options, "n_sweeps", 1)
    return steps


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit compare: topic models on one corpus, side by side.


def compare_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    options: CompareOptions,
    tokens: TextOptions,
    encoder: EncoderOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Compare topic models on one corpus, by number of topics and seed.

    \b
    Examples:
      nlpkit compare data/samples/news.jsonl --models nmf,plsa --k 8 --seeds 1 -o compared/
      nlpkit compare data/samples/news.jsonl --models nmf --k 4,8 --seeds 1 -o two/
      nlpkit compare data/samples/news.jsonl --models nmf,gsdmm --k 4,8 --seeds 1 --resume -o two/

    The documents are tokenised once. Each model is fitted by its own command with its defaults, in a separate process, so that
    time and memory are measured per model. Each seed leaves out a different tenth of the documents. The tables show coherence,
    diversity, agreement with labels, stability, and perplexity on held-out documents. No single score shows which model is best
    for you.

    The command writes a directory with documents.parquet, runs/, fits.parquet and summary.parquet. Without -o, it is
    <input>.compare/ in the current directory. --resume continues it, also with more models, numbers and seeds.
    """
    from nlpkit.evaluate.compare.run import check_comparison, compare_models
    from nlpkit.platform.documents.corpus import read_corpus

    target = out.new_directory(inputs, "compare")
    facts = check_comparison(target, options, force=out.force)
    corpus = read_corpus(*inputs, options=read)
    if run.dry_run:
        from nlpkit.text.estimate import estimate

        fits = [(name, k, usual_steps(name)) for name, k, _ in options.fits(run.seed)]
        console.plan({**estimate(corpus, tokens=tokens, threads=run.n_threads(), fits=fits), **facts})
        return
    result = compare_models(
        corpus, target, options=options, tokens=tokens, encoder=encoder, execution=run, force=out.force
    )
    best = {name: {"model": model, "k": k} for name, (model, k) in result.best().items()}
    rows = {"summary": result.summary.to_pylist(), "fits": result.fits.to_pylist(), "best": best}
    console.say(comparison_blocks(result), lambda: {"comparison": str(result.path), **rows})

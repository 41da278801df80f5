"""Mixture models on the screen: how many topics, the topics, how the fit went, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.render.column_tables import show_column_tables
from nlpkit.workflows.topic_notes import TopicResult, note_advice

if TYPE_CHECKING:
    from nlpkit.io.mixture_runs import MixtureRun
    from nlpkit.topics.mixtures.choose import TopicChoice
    from nlpkit.types import TokenTable
    from nlpkit.workflows.mixture_model import FittedMixture
    from nlpkit.workflows.mixtures import FittedTopics

TERMS_SHOWN = 8
TEXT_WIDTH = 60
BY_LEVEL = "topic_terms_by_content"  # table of a structural topic model


def show_mixture(model: FittedTopics, target: Path) -> None:
    """Print a model that was written: the result as JSON, or tables and what to type next."""
    if console.settings.json:
        by_level = {name: model.tables()[name].to_pylist() for name in (BY_LEVEL,) if name in model.tables()}
        console.emit_json({"run": str(target), **model.summary, "topics": model.topics.to_pylist(), **by_level})
        return
    report, run = model.report, model.run
    assert report is not None
    if report.choice is not None:
        show_choice(report.choice)
    show_topics(model.topics, model.documents.num_rows)
    tables = model.tables()
    show_column_tables(tables)
    if BY_LEVEL in tables:
        show_content(tables[BY_LEVEL], model.topics.column("label").to_pylist())
    went = [
        _said(name.replace("_", " "), value)
        for name, value in report.fit.numbers.items()
        if isinstance(value, int | float)
    ]
    show_result(run, sum(report.seconds.values()), ", ".join(went))  # type: ignore[arg-type]
    show_further(model, report.tokens, target)


def _said(name: str, value: float) -> str:
    """Return a number as "steps 12", and what holds or not as "converged", "not converged"."""
    if isinstance(value, bool):
        return name if value else f"not {name}"
    figure = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.5g}"
    return f"{name.replace('in sample', 'in the documents of the fit')} {figure}"


def show_content(terms: pa.Table, labels: Sequence[str]) -> None:
    """Print the words of topics at each level of the content: the most probable, and those that set the level apart."""
    cells: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in terms.to_pylist():
        cells.setdefault((row["topic"], row["level"]), []).append(row)
    rows = []
    for (k, level), words in cells.items():
        apart = sorted((w for w in words if w["log_ratio"] > 0), key=lambda w: w["contrast_rank"])
        shown = (" ".join(word["term"] for word in some[:TERMS_SHOWN]) for some in (words, apart))
        rows.append([str(k), labels[k], level, *shown])
    columns = ["topic", "name", "level", "most probable words", "more probable than on average"]
    console.table(
        columns, rows, right=columns[:1], title="Words of the topics at each level", noun="topics at levels",
        rest=f"{BY_LEVEL}.parquet of the run",
    )  # fmt: skip


def show_result(run: MixtureRun, seconds: float, went: str) -> None:
    """Say how many topics there are, how the fit went, and how coherent and different the topics are."""
    described = run.description
    known = described.npmi[np.isfinite(described.npmi)]
    coherence = wording.if_defined(known.mean() if len(known) else None)
    reporting.note(
        f"{wording.counted(len(described.labels), 'topic')} in {seconds:.0f} s; {went}; NPMI (documents) {coherence}, diversity "
        f"{wording.if_defined(described.diversity)} (of the 10 most probable words of each topic, higher is better)"
    )


def show_further(model: FittedMixture, tokens: TokenTable, target: Path) -> None:
    """Say what the columns are, what should be known or done, and what to type next."""
    reporting.note(
        "docs: documents whose main topic it is · tokens: its share of all words · words are ranked by relevance; topic_terms.parquet "
        "ranks them by probability"
    )
    run: MixtureRun = model.run  # type: ignore[assignment]
    topics = model.documents.column("topic").to_numpy()
    note_advice(TopicResult(topics, run.description.relevant, tokens))
    if run.files.model_config["tokens"] is not None:
        console.note_topic_run(target)
        return
    reporting.note(f"wrote {target}/{console.next_step('info', target)}")
    reporting.note(
        "the tokens came without the settings that made them, as JSON lines and pipes hold them. This run cannot cut new texts: predict "
        "and evaluate need documents with such tokens. A run that can is fitted to a file of nlpkit preprocess -o docs.parquet"
    )


def show_choice(choice: TopicChoice) -> None:
    """Print the numbers of topics that were compared."""
    scores = ["npmi", "exclusivity", "stability", "small_topics", "score"]  # those that the score is made of
    names = [name for name in scores if any(getattr(row, name) == getattr(row, name) for row in choice.rows)]
    heads = [{"npmi": "NPMI"}.get(name, name.replace("_", " ")) for name in names]
    columns = ["", "topics", "perplexity ± se", "behind best ± se", *heads]
    rows: list[Sequence[str]] = []
    for row in choice.rows:
        mark = "→" if row.chosen else "*" if row.best else ""
        held = [
            f"{_perplexity(row.perplexity)} ± {_perplexity(row.perplexity_se)}",
            f"{row.behind:.3f} ± {row.behind_se:.3f}",
        ]
        rows.append([mark, str(row.n_topics), *held, *(_score(getattr(row, name)) for name in names)])
    title = (
        f"How many topics? {wording.counted(choice.seeds, 'fit')} each. Lower is better for perplexity, behind best and small topics, "
        "higher for the others."
    )
    nearest = [-abs(row.behind) + (1e9 if row.chosen or row.best else 0) for row in choice.rows]
    console.table(
        columns,
        rows,
        right=columns[1:],
        title=title,
        noun="numbers of topics",
        sizes=nearest,
        rest="manifest.json of the run",
    )
    reporting.note(
        f"perplexity: of {wording.counted(choice.n_held_out, 'held-out document')} · behind best: log-likelihood per token minus the best "
        "number's, on the same documents · small topics: share with fewer than 10 documents"
    )


def _perplexity(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def _score(value: float) -> str:
    return "" if value != value else f"{value:.3f}"


def show_topics(topics: pa.Table, n_documents: int) -> None:
    """Print the topics with their words and a representative document."""
    rows = []
    for row in topics.to_pylist():
        text = wording.truncated(" ".join((row["representative_texts"] or [""])[0].split()), TEXT_WIDTH)
        words = wording.further_words(row["label"], row["top_terms"], TERMS_SHOWN)
        rows.append([str(row["topic"]), wording.count(row["size"]), f"{row['share']:.1%}", row["label"], words, text])
    lost = n_documents - sum(topics.column("size").to_pylist())
    none = [["-1", wording.count(lost), "", "(no tokens)", "", ""]] if lost else []
    columns = ["topic", "docs", "tokens", "name", "further words", "a representative document"]
    sizes = [float(size) for size in topics.column("size").to_pylist()]
    rest = "topics.parquet of the run"
    console.table(
        columns, rows, right=columns[:3], noun="topics", sizes=sizes, rest=rest, after=none, texts=columns[3:]
    )

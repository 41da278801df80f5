"""LDA models on the screen: how many topics, how much chains agree, the topics, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.topics.mixtures.choose import SEEDS
from nlpkit.workflows.topic_notes import note_leading_term

if TYPE_CHECKING:
    from nlpkit.topics.lda.chains import ComparedChains
    from nlpkit.topics.mixtures.choose import TopicChoice
    from nlpkit.workflows.lda_model import FittedLda

TERMS_SHOWN = 8
TEXT_WIDTH = 60


def show_lda(model: FittedLda, target: Path) -> None:
    """Print a model that was written: the result as JSON, or tables and what to type next."""
    if console.settings.json:
        console.emit_json({"run": str(target), **model.summary, "topics": model.topics.to_pylist()})
        return
    assert model.report is not None
    if model.report.choice is not None:
        show_choice(model.report.choice)
    if model.report.prototype is not None:
        show_prototype(model.report.prototype)
    show_topics(model.topics, model.documents.num_rows)
    show_next(model, target)


def show_choice(choice: TopicChoice) -> None:
    """Print the numbers of topics that were compared."""
    names = ["npmi", "diversity", "exclusivity", "stability", "small_topics", "score"]
    columns = ["", "topics", "perplexity", "± se", "behind best", "± se", *(name.replace("_", " ") for name in names)]
    rows: list[Sequence[str]] = []
    for row in choice.rows:
        mark = "→" if row.chosen else "*" if row.best else ""
        held = [f"{row.perplexity:,.1f}", f"{row.perplexity_se:,.1f}", f"{row.behind:.4f}", f"{row.behind_se:.4f}"]
        rows.append([mark, str(row.n_topics), *held, *(_score(getattr(row, name)) for name in names)])
    title = (
        f"How many topics? {SEEDS} fits each; perplexity of {choice.n_held_out:,} held-out documents and small topics (share with "
        "fewer than 10 documents): lower is better; all else: higher."
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


def _score(value: float) -> str:
    return "" if value != value else f"{value:.3f}"


def show_prototype(compared: ComparedChains) -> None:
    """Print the chains with their mean S-CLOP."""
    runs, prototype = compared.runs, compared.prototype
    mean = prototype.mean_sclop
    shown = np.argsort(-mean, kind="stable")[:10]
    rows = [
        [
            "→" if r == prototype.run else "",
            str(r),
            str(runs.seeds[r]),
            f"{mean[r]:.3f}",
            f"{runs.log_likelihood[r]:,.0f}",
        ]
        for r in shown
    ]
    columns = ["", "run", "seed", "mean S-CLOP", "log p(w, z)"]
    console.table(columns, rows, right=columns[1:], title="How much do the chains agree? 1 = the same topics.")
    reporting.note(
        f"run {prototype.run} is the prototype: mean S-CLOP {mean.max():.3f} with the others, mean of all runs "
        f"{mean.mean():.3f}, worst {mean.min():.3f} ({compared.measure} similarity of topics)"
    )


def show_topics(topics: pa.Table, n_documents: int) -> None:
    """Print the topics with their words and a representative document."""
    rows = []
    for row in topics.to_pylist():
        text = wording.truncated(" ".join((row["representative_texts"] or [""])[0].split()), TEXT_WIDTH)
        words = " ".join(row["top_terms"][:TERMS_SHOWN])
        rows.append([str(row["topic"]), wording.count(row["size"]), f"{row['share']:.1%}", row["label"], words, text])
    lost = n_documents - sum(topics.column("size").to_pylist())
    none = [["-1", wording.count(lost), "", "(no tokens)", "", ""]] if lost else []
    columns = ["topic", "docs", "tokens", "name", "most relevant words", "a representative document"]
    sizes = [float(size) for size in topics.column("size").to_pylist()]
    rest = "topics.parquet of the run"
    console.table(columns, rows, right=columns[:3], noun="topics", sizes=sizes, rest=rest, after=none)


def show_next(model: FittedLda, target: Path) -> None:
    """Say how the fit went, what was written, and what to type next."""
    report, run = model.report, model.run
    assert report is not None
    fit, described = report.fit, run.description  # type: ignore[union-attr]
    finite = described.npmi[np.isfinite(described.npmi)]
    coherence = f"{finite.mean():.3f}" if len(finite) else "not defined"
    if fit.stopped is not None:
        reporting.note(f"the chain had settled after {wording.counted(fit.stopped, 'sweep')} (--early-stop)")
    averaged = f" (counts: mean of {fit.samples} states)" if fit.samples > 1 else ""
    reporting.note(
        f"{wording.counted(fit.model.n_topics, 'topic')} in {sum(report.seconds.values()):.0f} s{averaged}; log-likelihood "
        f"{fit.log_likelihood:.4f} a token, NPMI {coherence}, diversity {described.diversity:.3f} (the 10 most probable words of each "
        f"topic, this corpus, whole documents); alpha sums to {fit.model.alpha.sum():.4g}, eta {fit.model.eta:.4g} each"
    )
    reporting.note(
        "docs are those a topic is the main one of, tokens its share of all tokens; words are ranked by relevance, topic_terms.parquet "
        "has them by probability"
    )
    note_leading_term(described.relevant, fit.model.terms, report.documents_with)
    console.note_topic_run(target)

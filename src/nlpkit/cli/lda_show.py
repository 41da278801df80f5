"""What `nlpkit lda-gibbs` prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.plain import shell_line
from nlpkit.workflows.topic_notes import say_leading_term

if TYPE_CHECKING:
    from nlpkit.topics.lda.describe import TopicDescription
    from nlpkit.topics.lda.fit import LdaFit
    from nlpkit.types import FloatArray

TERMS_SHOWN = 8
TEXT_WIDTH = 60


def show_topics(topics: pa.Table, n_documents: int) -> None:
    """Print the topics with their words and a representative document."""
    rows = []
    for row in topics.to_pylist():
        text = " ".join((row["representative_texts"] or [""])[0].split())
        short = text if len(text) <= TEXT_WIDTH else text[: TEXT_WIDTH - 1].rstrip() + "…"
        words = " ".join(row["top_terms"][:TERMS_SHOWN])
        rows.append([str(row["topic"]), wording.count(row["size"]), f"{row['share']:.1%}", row["label"], words, short])
    lost = n_documents - sum(r["size"] for r in topics.select(["size"]).to_pylist())
    none = [["-1", wording.count(lost), "", "(no tokens)", "", ""]] if lost else []
    columns = ["topic", "docs", "tokens", "name", "most relevant words", "a representative document"]
    console.table(columns, rows, right=columns[:3], noun="topics", rest="topics.parquet of the run", after=none)


def show_next(
    target: Path, found: LdaFit, described: TopicDescription, seconds: dict[str, float], documents_with: FloatArray
) -> None:
    """Say how the fit went, what was written, and what to type next.

    Args:
        documents_with: (V,) share of the documents that have each term.
    """
    finite = described.npmi[np.isfinite(described.npmi)]
    coherence = f"{finite.mean():.3f}" if len(finite) else "not defined"
    if found.stopped is not None:
        reporting.note(f"the chain had settled after {wording.counted(found.stopped, 'sweep')} (--early-stop)")
    of = f" (counts: mean of {found.samples} states)" if found.samples > 1 else ""
    reporting.note(
        f"{wording.counted(found.model.n_topics, 'topic')} in {sum(seconds.values()):.0f} s{of}; log-likelihood "
        f"{found.log_likelihood:.4f} a token, NPMI {coherence}, diversity {described.diversity:.3f} (the 10 most probable words of each "
        f"topic, this corpus, whole documents); alpha sums to {found.model.alpha.sum():.4g}, eta {found.model.eta:.4g} each"
    )
    reporting.note(
        "docs are those a topic is the main one of, tokens its share of all tokens; words are ranked by relevance, topic_terms.parquet "
        "has them by probability"
    )
    say_leading_term(described.relevant, found.model.terms, documents_with)
    reporting.note(f"wrote {target}/{console.next_step('info', target)}")
    predict = shell_line("nlpkit", "lda-gibbs", "NEW.jsonl", "--model", target, "-o", "predicted.parquet")
    reporting.note(f"              or: {predict}")

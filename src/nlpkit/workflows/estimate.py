"""How big the work on documents is, without doing it."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from nlpkit.text.rows import RowPlan
from nlpkit.workflows.corpus import Corpus, Documents, no_documents
from nlpkit.workflows.rows import Rows

NEURAL_SECONDS = 1e-4  # of a document in a pass of a neural topic model with 1,600 words on one core


def estimate(
    corpus: Corpus, *, embeds: bool = False, sweeps: int = 0, epochs: int = 0, plan: RowPlan | None = None
) -> dict[str, Any]:
    """Return rows, characters, and about how many tokens, MB of memory and disk, and seconds the work takes; reads the input once.

    Args:
        corpus: the documents.
        embeds: texts are encoded.
        sweeps: passes of Gibbs sampling over the tokens.
        epochs: passes of a neural topic model over the documents.
        plan: what is done to rows first.

    Raises:
        InputError: there are no documents.
    """
    with corpus.open() as stream:
        documents: Documents = stream if plan is None else Rows(stream, plan, None)
        rows = chars = 0
        for batch in documents:
            rows += batch.num_rows
            chars += pc.sum(pc.utf8_length(batch.column("text"))).as_py() or 0
        if not rows:
            raise no_documents(documents)
        embeds = embeds and "embedding" not in stream.schema.names
        tokens = chars // 6
        sampled = tokens / 2 if sweeps else 0  # about half of the words are stop words or rare
        memory = 200 + chars / 1e6 * 3 + (rows * 384 * 4 * 3 / 1e6 + 900 if embeds else 0) + sampled * 30 / 1e6
        seconds = (
            chars / 8e6
            + (tokens * 1.35 / 12_000 + rows / 2000 + 10 if embeds else 0)
            + sampled * sweeps * 8e-8
            + rows * epochs * NEURAL_SECONDS
        )
        return {
            "rows": rows,
            "characters": chars,
            "tokens_about": tokens,
            "memory_mb_about": round(memory),
            "seconds_about": round(seconds),
            "disk_mb_about": round(chars / 1e6 * 0.6 + (rows * 384 * 4 / 1e6 if embeds else 0)),
            "dropped": len(documents.dropped),
        }

"""Word embeddings on the screen: sizes, losses, and the neighbours of a few words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.words.vectors import nearest_words

if TYPE_CHECKING:
    from nlpkit.workflows.embed_words import WordEmbedding

WORDS, NEIGHBOURS = 10, 6
FIRST_RANK = 30  # words before it are seldom of interest: the, of, and


def show_embedding(learned: WordEmbedding, target: Path) -> None:
    """Print what was learned: a JSON object, or some words with their neighbours, and what to type next."""
    results = learned.results()
    if console.settings.json:
        console.emit_json({"run": str(target), "method": learned.options.method, **results})
        return
    losses = results["losses"]
    facts = [f"{wording.counted(results['words'], 'word')} in {results['dimensions']} dimensions"]
    if losses:
        facts.append(f"loss {losses[0]:.4g} in the first epoch, {losses[-1]:.4g} in the last")
    facts.append(f"learned in {learned.seconds['learning']:.1f} s")
    reporting.note(f"{learned.options.method}: {'; '.join(facts)}")
    word = _neighbours(learned)
    reporting.note(f"wrote {target}/{console.next_step('words', 'nearest', target, word)}")


def _neighbours(learned: WordEmbedding) -> str:
    """Print words of all frequencies with those nearest to them; return the first of them."""
    vectors = learned.vectors
    V = len(vectors.words)
    rows = np.unique(np.geomspace(min(FIRST_RANK, V), V, WORDS).astype(np.int64)) - 1
    nearest = nearest_words(vectors, vectors.vectors[rows], top=NEIGHBOURS, leave_out=[[row] for row in rows.tolist()])
    counts = vectors.counts
    assert counts is not None
    lines = [
        [vectors.words[row], wording.count(int(counts[row])), ", ".join(vectors.words[i] for i in near.tolist())]
        for row, (near, _) in zip(rows.tolist(), nearest, strict=True)
    ]
    console.table(["word", "count", "nearest words"], lines, right=["count"], title="Words of all frequencies.")
    return str(lines[0][0])

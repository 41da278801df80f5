"""The views of words on the screen: answers of word vectors, how these were learned, similar words.

Parts, in this order:
- Word vectors: their answers, and how they were learned.
- What similar-words shows: all pairs by all measures, or the nearest words of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.views.blocks import Block, Note, Table, cell
from nlpkit.words.vectors import nearest_words

if TYPE_CHECKING:
    from nlpkit.words.query import WordTable
    from nlpkit.words.run import WordEmbedding
    from nlpkit.words.similar_run import NearestWords, WordPairs

HIDDEN = ("low", "high")  # shown as one column
WORDS, NEIGHBOURS = 10, 6
FIRST_RANK = 30  # words before it are seldom of interest: the, of, and


def show(answer: WordTable, target: str | None, *, force: bool) -> None:
    """Write a table where there is a target, and print it, or one JSON object."""
    if target is not None:
        answer.save(target, force=force)
    if target == "-":
        return
    console.say(answer_blocks(answer), answer.to_dict)


def answer_blocks(answer: WordTable) -> Iterator[Block]:
    """Yield what is to be known of an answer, and its table."""
    yield from map(Note, _notes(answer))
    rows = answer.table.to_pylist()
    if answer.kind == "drift":
        rows = rows[: answer.facts["top"]]
    if not rows:
        return
    columns = [
        name for name in answer.table.column_names if name not in HIDDEN and any(row[name] is not None for row in rows)
    ]
    right = [name for name in columns if not isinstance(rows[0][name], str | bool | list)]
    first = columns[0]
    lines, before = [], None
    for row in rows:
        same = first == "word" and answer.kind == "neighbours" and row[first] == before
        before = row[first]
        lines.append(["" if same and name == first else _cell(name, row) for name in columns])
    yield Table([name.replace("_", " ") for name in columns], lines, right=right, noun=answer.kind, rest="-o FILE")


def _notes(answer: WordTable) -> list[str]:
    facts = answer.facts
    if answer.kind == "sections":
        return [f"{facts['coverage']:.1%} of the questions have four words with a vector; the accuracy is of these"]
    if "p_value" in facts:
        (x, y), (a, b) = facts["targets"], facts["attributes"]
        size = "undefined" if facts["effect_size"] is None else f"{facts['effect_size']:.3f}"
        kind = "all" if facts["exact"] else "a sample of"
        return [
            f"{x} and {a}, {y} and {b}: effect size {size}, p {facts['p_value']:.4g} (one-sided, {kind} {facts['partitions']:,} partitions)"
        ]
    if answer.kind == "drift":
        return [
            f"{wording.counted(facts['shared'], 'shared word')}; mean cosine after the rotation {facts['agreement']:.3f}"
        ]
    if "spearman" in facts:
        covered, listed = facts["pairs_with_vectors"], facts["pairs_in_file"]
        scores = []
        for name, title in (("spearman", "Spearman's rho"), ("pearson", "Pearson's r")):
            ends = f" ({facts[f'{name}_low']:.3f} to {facts[f'{name}_high']:.3f})" if f"{name}_low" in facts else ""
            scores += [] if facts[name] is None else [f"{title} {facts[name]:.4f}{ends}"]
        return [
            f"{', '.join(scores) or 'no correlation'}; {covered:,} of {wording.counted(listed, 'pair')} have two vectors"
        ]
    return []


def _cell(name: str, row: dict[str, Any]) -> str:
    value = row[name]
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(value)
    if name == "accuracy" and row.get("low") is not None:
        return f"{value:.3f} ({row['low']:.3f} to {row['high']:.3f})"
    if isinstance(value, bool):
        return "←" if value else ""
    if isinstance(value, float):
        return f"{value:.4f}"
    return wording.count(value) if isinstance(value, int) else str(value)


def embedding_blocks(learned: WordEmbedding, results: Mapping[str, Any], target: Path) -> Iterator[Block]:
    """Yield sizes, losses and the neighbours of some words, and what to type next."""
    losses = results["losses"]
    facts = [f"{wording.counted(results['words'], 'word')} in {results['dimensions']} dimensions"]
    if losses:
        facts.append(f"loss {losses[0]:.4g} in the first epoch, {losses[-1]:.4g} in the last")
    facts.append(f"learned in {learned.seconds['learning']:.1f} s")
    yield Note(f"{learned.options.method}: {'; '.join(facts)}")
    table = _neighbours(learned)
    yield table
    yield Note(f"wrote {target}/{console.next_step('words', 'nearest', target, table.rows[0][0])}")


def _neighbours(learned: WordEmbedding) -> Table:
    """Return words of all frequencies with those nearest to them."""
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
    return Table(["word", "count", "nearest words"], lines, ["count"], "Words of all frequencies.")


# ------------------------------------------------------------------------------------------------------------------------
# What similar-words shows: all pairs by all measures, or the nearest words of each.


def plan(words: Sequence[str], within: str | None) -> dict[str, Any]:
    """Return how big the work is."""
    if within is not None:
        return {"words": len(dict.fromkeys(words)), "searched_in": within}
    return {"words": len(words), "pairs": len(words) * (len(words) - 1) // 2}


def similar_words(similar: WordPairs | NearestWords, target: str | None) -> None:
    """Print a table, or one JSON object."""
    from nlpkit.words.similar_run import WordPairs

    if target == "-":
        return
    short = similar.too_short() if isinstance(similar, WordPairs) else []
    if short and isinstance(similar, WordPairs):
        reporting.note(
            f"shorter than {similar.options.n} characters, so without n-grams: {', '.join(short)} (see --n, --pad)"
        )
    console.say(_pairs(similar) if isinstance(similar, WordPairs) else _nearest(similar), similar.to_dict)


def _pairs(similar: WordPairs) -> Iterator[Block]:
    from nlpkit.words.similar_run import PAIR_MEASURES

    rows = [[p.first, p.second, *(cell(getattr(p, m), missing="–") for m in PAIR_MEASURES)] for p in similar.pairs]
    columns = ["word", "other", *(m.replace("_", " ") for m in PAIR_MEASURES)]
    yield Table(columns, rows, right=columns[2:])


def _nearest(similar: NearestWords) -> Iterator[Block]:
    for word in similar.nearest:
        if similar.known(word) is None:
            yield Note(f"'{word}' itself is not among them")
        if not similar.rows(word):
            yield Note(f"no word shares an n-gram of {similar.options.n} characters with '{word}'")
    counts = [name for name, known in (("cf", similar.cf), ("df", similar.df)) if known is not None]
    score = "distance" if similar.measure.startswith("levenshtein") else similar.measure
    rows = [
        [
            word if i == 0 else "",
            row["term"],
            str(int(row["score"])) if similar.measure == "levenshtein" else f"{row['score']:.3f}",
            *(wording.count(row[name]) for name in counts),
        ]
        for word in similar.nearest
        for i, row in enumerate(similar.rows(word))
    ]
    if rows:
        yield Table(["word", "nearest", score, *counts], rows, right=[score, *counts])

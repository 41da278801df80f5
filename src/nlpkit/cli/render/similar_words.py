"""What similar-words shows: all pairs by all measures, or the nearest words of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.views.blocks import Block, Note, Table, cell

if TYPE_CHECKING:
    from nlpkit.workflows.similar_words import NearestWords, WordPairs


def plan(words: Sequence[str], within: str | None) -> dict[str, Any]:
    """Return how big the work is."""
    if within is not None:
        return {"words": len(dict.fromkeys(words)), "searched_in": within}
    return {"words": len(words), "pairs": len(words) * (len(words) - 1) // 2}


def similar_words(similar: WordPairs | NearestWords, target: str | None) -> None:
    """Print a table, or one JSON object."""
    from nlpkit.workflows.similar_words import WordPairs

    if target == "-":
        return
    short = similar.too_short() if isinstance(similar, WordPairs) else []
    if short and isinstance(similar, WordPairs):
        reporting.note(
            f"shorter than {similar.options.n} characters, so without n-grams: {', '.join(short)} (see --n, --pad)"
        )
    console.say(_pairs(similar) if isinstance(similar, WordPairs) else _nearest(similar), similar.to_dict)


def _pairs(similar: WordPairs) -> Iterator[Block]:
    from nlpkit.workflows.similar_words import PAIR_MEASURES

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

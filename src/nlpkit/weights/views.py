"""Weights of words on the screen: the best features of classes, the components of an LSA, the strongest terms of classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.documents.corpus import warn_dropped
from nlpkit.platform.views.blocks import Block, Table, shown_rows

if TYPE_CHECKING:
    from nlpkit.weights.class_terms import ClassTerms
    from nlpkit.weights.lsa_run import LatentSpace
    from nlpkit.weights.run import DocumentTermWeights

SHOWN_TERMS = 10


def weights(weighted: DocumentTermWeights, saved: Mapping[str, Any] | None) -> None:
    """Print the best features of each class where features were selected; `saved`: what was written, None for nothing."""
    if saved is None or saved["output"] != "-":
        console.say(_features(weighted), lambda: {**(saved or {}), **weighted.summary()})


def latent_space(space: LatentSpace, saved: Mapping[str, Any]) -> None:
    """Print the first components of an LSA or PCA, or the best features of each class where features were selected."""
    path = saved["run"]
    reporting.note(
        f"wrote {path}/: {saved['components']} components explain {saved['explained_variance']:.1%} of the variance of "
        f"the weights{console.next_step('tfidf', 'NEW.jsonl', '--model', path, '-o', 'new.parquet')}"
    )
    blocks = _features(space.weights) if space.weights.selected is not None else _components(space)
    console.say(blocks, lambda: {**saved, **space.weights.summary()})


def placed(saved: Mapping[str, Any]) -> None:
    """Print how many documents were placed in the space of an LSA, as JSON where that is wanted."""
    if console.settings.json and saved["output"] != "-":
        console.emit_json(dict(saved))


def _features(weighted: DocumentTermWeights, n: int = 10) -> Iterator[Block]:
    """Yield the best features of each class."""
    selected, classes = weighted.selected, weighted.classes
    if selected is None or classes is None:
        return
    terms = weighted.corpus.terms
    rows = [
        [name, wording.count(size), " ".join(terms[i] for i in best.term_ids[:n])]
        for name, size, best in zip(classes.names, classes.sizes, selected.of_classes, strict=True)
    ]
    yield Table([classes.by, "documents", f"best features by {selected.selection.score.name}"], rows,
        right=["documents"], noun="classes", sizes=classes.sizes, rest="--features FILE")  # fmt: skip


def _components(space: LatentSpace, n: int = 10) -> Iterator[Block]:
    """Yield the first components with the terms at their ends."""
    rows = []
    for row in space.components().slice(0, n).to_pylist():
        numbers = [str(row["component"]), f"{row['singular_value']:.3f}", f"{row['explained_variance_ratio']:.1%}"]
        rows.append([*numbers, " ".join(row["top_terms"][:5]), " ".join(row["bottom_terms"][:5])])
    columns = ["component", "singular value", "explained", "top terms", "bottom terms"]
    yield Table(columns, rows, right=columns[:3])


def show_class_terms(terms: ClassTerms, target: str | None) -> None:
    """Say what was written, if it was, and print the classes with their terms, or their JSON object."""
    if target is None:
        warn_dropped(terms.source, None)
    else:
        reporting.note(f"wrote {target}: {wording.counted(terms.table.num_rows, 'term')} of {len(terms.names)} classes")
    console.say(class_term_blocks(terms, console.settings.show), terms.to_dict)


def class_term_blocks(terms: ClassTerms, most: int | None = None) -> Iterator[Table]:
    """Yield the classes with their terms, or the key terms of two sides; most: classes that will be shown."""
    if terms.options.target is not None:
        yield from _comparison(terms)
        return
    rows, before = [], ""
    sizes = terms.documents.tolist()
    kept = set(shown_rows(len(sizes), most, sizes))
    for i, (names, documents) in enumerate(zip(terms.names, sizes, strict=True)):
        ids = terms.best.term_ids[i, :SHOWN_TERMS]
        shown = list(names) if len(names) == 1 or names[0] != before else ["", *names[1:]]
        rows.append([*shown, wording.count(documents), " ".join(terms.terms[t] for t in ids if t >= 0)])
        before = names[0] if i in kept else before
    heads = [*terms.columns, "documents", "top terms"]
    yield Table(heads, rows, right=["documents"], noun="classes", sizes=sizes, rest="-o FILE")


_COLUMNS = {
    "term": "term", "z": "z", "g2": "G²", "log_ratio": "log ratio", "difference": "%DIFF", "tf": "tf", "tf_rest": "tf ref",
    "rate": "per million", "rate_rest": "ref", "range": "parts", "dp": "DP", "juilland_d": "D",
}  # fmt: skip
_DIGITS = {"z": 2, "g2": 1, "log_ratio": 2, "difference": 0, "rate": 0, "rate_rest": 0, "dp": 3, "juilland_d": 3}


def _comparison(terms: ClassTerms) -> Iterator[Table]:
    """Yield the key terms of both sides with everything that was counted."""
    sides = [" ".join(names) for names in terms.names]
    for side, other, documents in zip(sides, sides[::-1], terms.documents.tolist(), strict=True):
        rows = [
            [_cell(name, row[name]) for name in _COLUMNS]
            for row in terms.table.to_pylist()
            if row["class"] == side and row["rank"] <= SHOWN_TERMS
        ]
        title = f"Key terms of {side} ({wording.counted(documents, 'document')}) against {other}, by z"
        heads = list(_COLUMNS.values())
        yield Table(heads, rows, right=heads[1:], title=title)


def _cell(name: str, value: object) -> str:
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:,.{_DIGITS[name]}f}"
    return "" if value is None else wording.count(value) if isinstance(value, int) else str(value)

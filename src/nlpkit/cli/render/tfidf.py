"""What tfidf shows: the best features of each class, the components of an LSA, one JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.workflows.lsa import LatentSpace
    from nlpkit.workflows.tfidf import DocumentTermWeights


def weights(weighted: DocumentTermWeights, saved: Mapping[str, Any] | None) -> None:
    """Print the best features of each class where features were selected; `saved`: what was written, None for nothing."""
    if saved is not None and saved["output"] == "-":
        return
    if console.settings.json:
        console.emit_json({**(saved or {}), **weighted.summary()})
    else:
        _features(weighted)


def latent_space(space: LatentSpace, saved: Mapping[str, Any]) -> None:
    """Print the first components of an LSA or PCA, or the best features of each class where features were selected."""
    path = saved["run"]
    reporting.note(
        f"wrote {path}/: {saved['components']} components explain {saved['explained_variance']:.1%} of the variance of "
        f"the weights{console.next_step('tfidf', 'NEW.jsonl', '--model', path, '-o', 'new.parquet')}"
    )
    if console.settings.json:
        console.emit_json({**saved, **space.weights.summary()})
    elif space.weights.selected is None:
        _components(space)
    else:
        _features(space.weights)


def placed(saved: Mapping[str, Any]) -> None:
    """Print how many documents were placed in the space of an LSA, as JSON where that is wanted."""
    if console.settings.json and saved["output"] != "-":
        console.emit_json(dict(saved))


def _features(weighted: DocumentTermWeights, n: int = 10) -> None:
    """Print the best features of each class."""
    selected, classes = weighted.selected, weighted.classes
    if selected is None or classes is None:
        return
    terms = weighted.corpus.terms
    rows = [
        [name, wording.count(size), " ".join(terms[i] for i in best.term_ids[:n])]
        for name, size, best in zip(classes.names, classes.sizes, selected.of_classes, strict=True)
    ]
    console.table([classes.by, "documents", f"best features by {selected.selection.score.name}"], rows,
        right=["documents"], noun="classes", sizes=classes.sizes, rest="--features FILE")  # fmt: skip


def _components(space: LatentSpace, n: int = 10) -> None:
    """Print the first components with the terms at their ends."""
    rows = []
    for row in space.components().slice(0, n).to_pylist():
        numbers = [str(row["component"]), f"{row['singular_value']:.3f}", f"{row['explained_variance_ratio']:.1%}"]
        rows.append([*numbers, " ".join(row["top_terms"][:5]), " ".join(row["bottom_terms"][:5])])
    columns = ["component", "singular value", "explained", "top terms", "bottom terms"]
    console.table(columns, rows, right=columns[:3])

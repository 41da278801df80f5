"""The strongest terms of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.workflows.corpus import warn_dropped

if TYPE_CHECKING:
    from nlpkit.workflows.class_terms import ClassTerms

SHOWN_TERMS = 10


def show_class_terms(terms: ClassTerms, target: str | None) -> None:
    """Say what was written, if it was, and print the classes with their terms, or their JSON object."""
    if target is None:
        warn_dropped(terms.source, None)
    else:
        reporting.note(f"wrote {target}: {wording.counted(terms.table.num_rows, 'term')} of {len(terms.names)} classes")
    if console.settings.json:
        console.emit_json(terms.to_dict())
        return
    if terms.options.target is not None:
        _show_comparison(terms)
        return
    rows, before = [], ""
    sizes = terms.documents.tolist()
    kept = set(console.shown_rows(len(sizes), sizes))
    for i, (names, documents) in enumerate(zip(terms.names, sizes, strict=True)):
        ids = terms.best.term_ids[i, :SHOWN_TERMS]
        shown = list(names) if len(names) == 1 or names[0] != before else ["", *names[1:]]
        rows.append([*shown, wording.count(documents), " ".join(terms.terms[t] for t in ids if t >= 0)])
        before = names[0] if i in kept else before
    heads = [*terms.columns, "documents", "top terms"]
    console.table(heads, rows, right=["documents"], noun="classes", sizes=sizes, rest="-o FILE")


_COLUMNS = {
    "term": "term", "z": "z", "g2": "G²", "log_ratio": "log ratio", "difference": "%DIFF", "tf": "tf", "tf_rest": "tf ref",
    "rate": "per million", "rate_rest": "ref", "range": "parts", "dp": "DP", "juilland_d": "D",
}  # fmt: skip
_DIGITS = {"z": 2, "g2": 1, "log_ratio": 2, "difference": 0, "rate": 0, "rate_rest": 0, "dp": 3, "juilland_d": 3}


def _show_comparison(terms: ClassTerms) -> None:
    """Print the key terms of both sides with everything that was counted."""
    sides = [" ".join(names) for names in terms.names]
    for side, other, documents in zip(sides, sides[::-1], terms.documents.tolist(), strict=True):
        rows = [
            [_cell(name, row[name]) for name in _COLUMNS]
            for row in terms.table.to_pylist()
            if row["class"] == side and row["rank"] <= SHOWN_TERMS
        ]
        title = f"Key terms of {side} ({wording.counted(documents, 'document')}) against {other}, by z"
        heads = list(_COLUMNS.values())
        console.table(heads, rows, right=heads[1:], title=title)


def _cell(name: str, value: object) -> str:
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:,.{_DIGITS[name]}f}"
    return "" if value is None else wording.count(value) if isinstance(value, int) else str(value)

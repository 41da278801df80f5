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

"""What collocations shows: the best pairs with their counts and all measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlpkit import reporting, wording
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.workflows.collocations import Collocations

_HEADS = {"pmi": "PMI", "npmi": "NPMI", "g2": "G²", "t": "t", "dice": "Dice", "log_dice": "logDice"}
_DIGITS = {"pmi": 2, "npmi": 3, "g2": 1, "t": 2, "dice": 4, "log_dice": 2}


def show_collocations(collocations: Collocations) -> None:
    """Print a table, or one JSON object."""
    if console.settings.json:
        console.emit_json(collocations.to_dict())
        return
    options, pairs = collocations.options, collocations.pairs
    if not len(pairs):
        reporting.note(f"no pair occurs {options.min_count} times within the bounds; try --min-count 2")
        return
    node = collocations.node
    counts = ["n_xy", *(["left", "right"] if node is not None else []), "n_x", "n_y"]
    rows = [
        [
            str(row["rank"]), *([] if node is not None else [row["x"]]), row["y"],
            *(wording.count(row[{"left": "n_left", "right": "n_right"}.get(name, name)]) for name in counts),
            *(f"{row[name]:,.{_DIGITS[name]}f}" for name in _HEADS),
        ]
        for row in collocations.table().slice(0, options.top).to_pylist()
    ]  # fmt: skip
    names = ["x", "y"] if node is None else ["collocate y"]
    right = ["rank", *counts, *_HEADS.values()]
    near = "neighbours" if options.distance == 1 else f"words at most {options.distance} apart"
    order = "in either order" if options.both_orders else "x before y"
    title = (
        f"{'Pairs' if node is None else f'Collocates of x = {node}'}: {near}, {order}; N = {wording.count(pairs.n_pairs)} pairs of "
        f"places; by {options.measure}"
    )
    console.table(["rank", *names, *counts, *_HEADS.values()], rows, right=right, title=title)
    if len(pairs) > options.top:
        reporting.note(
            f"the first {wording.count(options.top)} of {wording.counted(len(pairs), 'pair')}: see --top, -o"
        )

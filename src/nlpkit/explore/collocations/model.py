"""Collocations: pairs of words near each other, counted over a finished vocabulary, with the association of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.metrics.association import dice, expected, log_dice, log_likelihood, npmi, pmi, t_score
from nlpkit.platform.kernels.idtable import IdTable, new_table
from nlpkit.platform.options import Param, options
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray
from nlpkit.text.kernels.ngrams import count_window_pairs
from nlpkit.text.segment import is_piece, overlap

if TYPE_CHECKING:
    from nlpkit.text.vocab import EncodedBatch

MEASURES: dict[str, Callable[[LongArray, LongArray, LongArray, int], FloatArray]] = {
    "pmi": pmi,
    "npmi": npmi,
    "g2": log_likelihood,
    "t": t_score,
    "dice": lambda n_xy, n_x, n_y, _: dice(n_xy, n_x, n_y),
    "log_dice": lambda n_xy, n_x, n_y, _: log_dice(n_xy, n_x, n_y),
}
NODE_WINDOW = 5
SORTED_BY = ("count", *(name.replace("_", "-") for name in MEASURES))


@options
class CollocationOptions:
    """Options of collocations: which pairs are counted, and how they are sorted.

    Raises:
        UsageError: a measure that is none, or options that contradict each other.
    """

    PANEL: ClassVar[str] = "Collocations"

    node: Annotated[
        str | None,
        Param("Show the collocates of this word: the words near it, left and right.", metavar="WORD"),
    ] = None
    window: Annotated[
        int | None,
        Param(
            "Maximum distance between two words; 1 = neighbours. Default: 1; 5 with `node`.",
            metavar="N",
            min=1,
            max=1000,
        ),
    ] = None
    any_order: Annotated[bool, Param("Count x y and y x as one pair (always with `node`).", off="")] = False
    measure: Annotated[
        str,
        Param(
            "Sort by g2, pmi, npmi, t, dice, log-dice or count.", ("measure", "sort"), metavar="NAME", choices=SORTED_BY
        ),
    ] = "g2"
    min_count: Annotated[int, Param("Minimum number of occurrences of a pair.", min=1)] = 5
    min_score: Annotated[float | None, Param("Minimum value of the measure.", metavar="X")] = None
    top: Annotated[int, Param("Number of pairs to show. The output file holds all pairs.", ("top", "top_n"), min=1)] = (
        30
    )

    def __post_init__(self) -> None:
        """Check what can be checked without documents."""
        if self.node is not None and not self.node.strip():
            raise UsageError("`node` is empty; give a word", parameter="node")

    @property
    def distance(self) -> int:
        """The window in force."""
        return self.window or (1 if self.node is None else NODE_WINDOW)

    @property
    def both_orders(self) -> bool:
        """Whether x y and y x are one pair."""
        return self.any_order or self.node is not None


@dataclass(frozen=True, slots=True)
class PairTable:
    """M pairs (x, y) of term ids (M,), best first, with their counts and measures (M,) by name.

    n_xy: occurrences of the pair; n_x, n_y (M,): pairs with x in the first place and with y in the second; n_pairs: all pairs; expected:
    n_x n_y / n_pairs; n_left, n_right: occurrences with y before and after x. Where order does not count, each two places are two
    pairs, one in each order: n_x is then the number of words within the windows of x, and n_pairs twice the number of pairs of places.
    """

    x: IntArray
    y: IntArray
    n_xy: LongArray
    n_left: LongArray
    n_right: LongArray
    n_x: LongArray
    n_y: LongArray
    n_pairs: int
    expected: FloatArray
    scores: dict[str, FloatArray]

    def __len__(self) -> int:
        """M."""
        return len(self.x)

    def where(self, kept: BoolArray) -> PairTable:
        """Return the pairs of a mask (M,), with the counts that they have."""
        return PairTable(
            self.x[kept], self.y[kept], self.n_xy[kept], self.n_left[kept], self.n_right[kept], self.n_x[kept], self.n_y[kept],
            self.n_pairs, self.expected[kept], {name: of_all[kept] for name, of_all in self.scores.items()},
        )  # fmt: skip


def overlapping(pairs: PairTable, terms: Sequence[str]) -> BoolArray:
    """Return which pairs (M,) are neighbouring pieces of a text without spaces, which share all characters but one.

    They stand side by side because of how they were cut, not because the text has them together.
    """
    pieces = np.fromiter(map(is_piece, terms), bool, len(terms))
    both: BoolArray = pieces[pairs.x] & pieces[pairs.y]
    for m in np.flatnonzero(both).tolist():
        x, y = terms[pairs.x[m]], terms[pairs.y[m]]
        both[m] = overlap(x, y) or overlap(y, x)
    return both


class CollocationCounter:
    """Counts pairs of terms at most `window` places apart, in batches over a finished vocabulary (V,).

    Memory: the different pairs of wanted terms, of which one is a node; pairs do not span documents. Counts are sums, so neither the
    batches nor their order matter but for the order of pairs that are equal in all.

    Args:
        wanted: (V,) terms of pairs that are kept; all count for n_x, n_y and n_pairs.
        node: the id of the node, None for all pairs.
    """

    def __init__(self, wanted: BoolArray, *, window: int, node: int | None = None) -> None:
        V = len(wanted)
        self._window, self._wanted, self._node = window, wanted, node
        self._nodes = np.ones(V, np.bool_)
        if node is not None:
            self._nodes[:] = False
            self._nodes[node] = True
        self._table: IdTable = new_table(max(1024, window))
        self._counts: LongArray = np.zeros(len(self._table.keys), np.int64)
        self._before, self._after = np.zeros(V, np.int64), np.zeros(V, np.int64)

    def count(self, batch: EncodedBatch) -> None:
        """Count the pairs of a batch."""
        self._table, self._counts = count_window_pairs(
            self._table, self._counts, batch.offsets, batch.term_ids, self._window, self._wanted, self._nodes,
            self._before, self._after,
        )  # fmt: skip

    def pairs(self, *, measure: str, min_count: int, both_orders: bool, min_score: float | None = None) -> PairTable:
        """Return the pairs of at least min_count occurrences, highest value of the measure first, equals by n_xy, then by id."""
        size = int(self._table.size[0])
        keys, counts = self._table.keys[:size], self._counts[:size]
        first, second = keys >> 32, keys & 0xFFFFFFFF
        n_pairs = int(self._before.sum())
        if both_orders:
            x, y, left, right = self._folded(first, second, counts)
            margins = self._before + self._after
            n_xy, n_x, n_y, n_pairs = left + right, margins[x], margins[y], 2 * n_pairs
        else:
            x, y, n_xy, left, right = first, second, counts, np.zeros_like(counts), counts
            n_x, n_y = self._before[x], self._after[y]
        often = np.flatnonzero(n_xy >= min_count)
        n_xy, n_x, n_y = n_xy[often], n_x[often], n_y[often]
        scores = {
            name: score(n_xy, n_x, n_y, n_pairs) if len(often) else np.zeros(0) for name, score in MEASURES.items()
        }
        values = n_xy if measure == "count" else scores[measure.replace("-", "_")]
        order = np.lexsort((y[often], x[often], -n_xy, -values))
        if min_score is not None:
            order = order[values[order] >= min_score]
        kept = often[order]
        return PairTable(
            x[kept].astype(np.int32), y[kept].astype(np.int32), n_xy[order], left[kept], right[kept], n_x[order], n_y[order],
            n_pairs, expected(n_x, n_y, n_pairs)[order], {name: of_all[order] for name, of_all in scores.items()},
        )  # fmt: skip

    def _folded(
        self, first: LongArray, second: LongArray, counts: LongArray
    ) -> tuple[LongArray, LongArray, LongArray, LongArray]:
        """Return x, y and how often y is left and right of x (M,): x is the node, else the smaller id; x x counts in both."""
        swapped = second < first if self._node is None else (second == self._node) & (first != self._node)
        x, y = np.where(swapped, second, first), np.where(swapped, first, second)
        pairs, places = np.unique((x << 32) | y, return_inverse=True)
        left = np.bincount(places, np.where(swapped | (x == y), counts, 0), len(pairs)).astype(np.int64)
        right = np.bincount(places, np.where(swapped, 0, counts), len(pairs)).astype(np.int64)
        return pairs >> 32, pairs & 0xFFFFFFFF, left, right

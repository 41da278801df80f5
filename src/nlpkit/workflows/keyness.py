"""Two classes compared word by word: which documents belong to them, and how their words are dispersed over parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from nlpkit import wording
from nlpkit.errors import InputError
from nlpkit.metrics.dispersion import dispersion
from nlpkit.types import FloatArray, IntArray
from nlpkit.weighting.dtm import group_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from nlpkit.weighting.class_term_options import ClassTermOptions
    from nlpkit.workflows.counts import CountedCorpus
    from nlpkit.workflows.groups import Groups


def compared_classes(names: Sequence[str], options: ClassTermOptions) -> tuple[list[tuple[str, ...]], IntArray]:
    """Return the names of the two sides, and the side of each class (C,): 0 the target, 1 the reference, -1 neither.

    Raises:
        InputError: there is no such class; the nearest one, or those there are, are named.
    """
    sides = np.full(len(names), 1 if options.reference is None else -1, np.int32)
    for side, parameter in ((1, "reference"), (0, "target")):
        name = getattr(options, parameter)
        if name is None:
            continue
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {wording.listed(names, 10)}"
            raise InputError(f"`{parameter}={name}`: '{options.by}' has no such value; {hint}", parameter=parameter)
        sides[names.index(name)] = side
    return [(str(options.target),), (options.reference or f"not {options.target}",)], sides


def dispersion_of(
    counts: CountedCorpus,
    assign: Callable[[pa.RecordBatch], IntArray],
    side_of: IntArray,
    parts: Groups | None,
    term_ids: IntArray,
) -> dict[str, FloatArray]:
    """Return the dispersion of terms (S, n), -1 for none, over the parts of their side: dp, dp_norm, juilland_d, range.

    Args:
        counts: a counted corpus, which is read once more.
        assign: returns the number of the class of each document of a batch (D,), -1 for none.
        side_of: (G,) side of each class by the number that `assign` gives it, -1 for none.
        parts: groups that are the parts; None for documents. Documents of no group are in no part.
    """
    places, columns = np.unique(term_ids, return_inverse=True)
    columns = columns.reshape(term_ids.shape)
    rows, sizes, sides, part_of, n_docs = [], [], [], [], 0
    for batch, dtm in counts.batches():
        numbers = assign(batch)
        part = np.arange(n_docs, n_docs + batch.num_rows) if parts is None else parts.assign(batch).astype(np.int64)
        n_docs += batch.num_rows
        side = np.where(numbers < 0, -1, side_of[numbers])
        used = np.flatnonzero((side >= 0) & (part >= 0))
        rows.append(dtm[used][:, places[places >= 0]])
        sizes.append(np.asarray(dtm.sum(axis=1)).ravel()[used])
        sides.append(side[used])
        part_of.append(part[used])
    of_terms, tokens, side, part = sparse.vstack(rows).tocsr(), *map(np.concatenate, (sizes, sides, part_of))
    values = {name: np.full(term_ids.shape, np.nan) for name in ("dp", "dp_norm", "juilland_d", "range")}
    first = int(len(places) > 0 and places[0] < 0)  # where -1 is among the terms, it is the first
    for s in range(len(term_ids)):
        here = np.flatnonzero(side == s)
        groups, place = np.unique(part[here], return_inverse=True)
        summed = group_rows(of_terms[here], place.astype(np.int32), len(groups))
        spread = dispersion(summed, np.bincount(place, tokens[here], len(groups)).astype(np.int64))
        is_term = term_ids[s] >= 0
        for name, row in values.items():
            row[s, is_term] = getattr(spread, name)[columns[s, is_term] - first]
    return values

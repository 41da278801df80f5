"""How evenly words are spread over the documents of a corpus and of its groups, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from nlpkit import reporting
from nlpkit.kernels.counts import count_rows
from nlpkit.metrics.dispersion import Dispersion, DispersionSums
from nlpkit.types import IntArray, LongArray
from nlpkit.workflows.encoded import EncodedDocuments


def word_dispersion(
    documents: EncodedDocuments, column: str, places: IntArray, words: Sequence[tuple[IntArray, LongArray]]
) -> list[Dispersion]:
    """Return the dispersion over documents of the words of the corpus, and of each group.

    Args:
        documents: read twice. column: of their batches, a number of which `places` gives the group, -1 for none.
        words: ids (V_g,) and cf (V_g,) of the words of the corpus, then of each group.
    """
    V, sizes, members = len(documents.terms), [], []
    for batch, encoded in documents:
        sizes.append(np.diff(encoded.offsets))
        members.append(places[batch.column(column).to_numpy()])
    n_tokens, group = np.concatenate(sizes), np.concatenate(members)
    sums = []
    for number, (ids, cf) in enumerate(words, -1):
        tf = np.zeros(V)
        tf[ids] = cf
        sums.append(DispersionSums(tf, n_tokens if number < 0 else n_tokens[group == number]))
    rows = 0
    with reporting.progress("dispersion", len(n_tokens)) as update:
        for _, encoded in documents:
            indptr, terms, counts = count_rows(encoded.offsets, encoded.term_ids, V)
            dtm = sparse.csr_array((counts, terms, indptr), shape=(len(indptr) - 1, V))
            here, of_group = (values[rows : rows + dtm.shape[0]] for values in (n_tokens, group))
            sums[0].add(dtm, here)
            for number in np.unique(of_group[of_group >= 0]):
                sums[number + 1].add(dtm[of_group == number], here[of_group == number])
            update(rows := rows + dtm.shape[0])
    return [one.result().take(ids) for one, (ids, _) in zip(sums, words, strict=True)]

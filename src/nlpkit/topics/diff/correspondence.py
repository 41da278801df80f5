"""Which topics of one model are those of another: matched, split, merged, vanished, new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray

Relation = Literal["matched", "split", "merged", "vanished", "new"]
RELATIONS: tuple[Relation, ...] = ("matched", "split", "merged", "vanished", "new")


@dataclass(frozen=True, slots=True)
class Link:
    """A relation of a topic of A and one of B; a topic that vanished has no b, a new one no a."""

    relation: Relation
    a: int | None
    b: int | None


def correspondence(forward: FloatArray, backward: FloatArray, *, threshold: float) -> list[Link]:
    """Return how the topics of A and B correspond; every topic is in at least one link.

        parts of i      { j : i = argmax_i' backward_i'j, backward_ij ≥ threshold }
        sources of j    { i : j = argmax_j' forward_ij', forward_ij ≥ threshold }
        split i         it has two parts or more: a link to each
        merged j        it has two sources or more: a link from each
        matched i, j    each is the other's largest, forward or backward reaches half the threshold, neither is split or merged
        vanished, new   all others

    The transitions of MONIC (Spiliopoulou et al. 2006) for survival, split, absorption, disappearance and emergence, with the
    largest overlap deciding where several reach the threshold, so that the result is the same from A to B and back. Two topics that
    choose each other need half as much.

    Args:
        forward: (K, L) how much of topic i of A is in topic j of B; backward: (K, L) how much of j is in i.
        threshold: least value that counts, above 0.
    """
    K, L = forward.shape
    if not K or not L:
        return [Link("vanished", i, None) for i in range(K)] + [Link("new", None, j) for j in range(L)]
    source, target = backward.argmax(axis=0), forward.argmax(axis=1)
    parts = [np.flatnonzero((source == i) & (backward[i] >= threshold)) for i in range(K)]
    sources = [np.flatnonzero((target == j) & (forward[:, j] >= threshold)) for j in range(L)]
    links = [Link("split", i, int(j)) for i in range(K) if len(parts[i]) > 1 for j in parts[i]]
    pairs = {(link.a, link.b) for link in links}
    links += [
        Link("merged", int(i), j)
        for j in range(L)
        if len(sources[j]) > 1
        for i in sources[j]
        if (int(i), j) not in pairs
    ]
    linked_a, linked_b = {link.a for link in links}, {link.b for link in links}
    for i in range(K):
        j = int(target[i])
        strong = max(forward[i, j], backward[i, j]) >= threshold / 2
        if i not in linked_a and j not in linked_b and source[j] == i and strong:
            links.append(Link("matched", i, j))
            linked_a.add(i)
            linked_b.add(j)
    links += [Link("vanished", i, None) for i in range(K) if i not in linked_a]
    links += [Link("new", None, j) for j in range(L) if j not in linked_b]
    return sorted(links, key=lambda link: (RELATIONS.index(link.relation), _order(link)))


def _order(link: Link) -> tuple[int, int]:
    first, second = (link.b, link.a) if link.relation == "merged" else (link.a, link.b)
    return (-1 if first is None else first, -1 if second is None else second)


def ranked_words(topics: IntArray, terms: IntArray, ranks: IntArray, shape: tuple[int, int]) -> CsrMatrix:
    """Return words of topics with weights by their rank alone, 1 / log₂(rank + 1), rows of length 1: (K, V) CSR.

    Weights of different models (probabilities, c-tf-idf) are on scales of their own; ranks are not. The discount is that of
    Järvelin & Kekäläinen (2002).

    Args:
        topics, terms, ranks: of each stored word, ranks from 1.
    """
    weights = 1 / np.log2(ranks.astype(np.float64) + 1)
    matrix = sparse.coo_array((weights, (topics, terms)), shape=shape).tocsr()
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    scale = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0)
    matrix.data *= np.repeat(scale, np.diff(matrix.indptr))
    return sparse.csr_array(matrix)

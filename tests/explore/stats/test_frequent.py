"""Frequent n-grams against counting with dictionaries, in one pass and in many."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.explore.stats import frequent
from nlpkit.explore.stats.frequent import frequent_ngrams, ngram_keys, spelled
from tests.reference import tally as plain
from tests.strategies import repeatable
from tests.text.kernels.test_tally_kernel import batch_of


def search(
    documents: list[list[int]], groups: list[int], n_groups: int, n: int, top: int, size: int = 3, n_words: int = 6
) -> list:
    """The frequent n-grams as [(words, count)] of each group; ids are ranks."""

    def batches() -> list:
        parts = range(0, len(documents), size)
        return [(batch_of(documents[at : at + size]), np.array(groups[at : at + size], np.int32)) for at in parts]

    words = Counter(w for d in documents for w in d if w >= 0)
    frequencies = np.array([words[w] for w in range(n_words)], np.int64)
    found = frequent_ngrams(
        batches, n, top=top, frequencies=frequencies, n_tokens=sum(map(len, documents)), n_groups=n_groups
    )
    return [list(zip(map(tuple, f.ranks.tolist()), f.counts.tolist(), strict=True)) for f in found]


def expected(documents: list[list[int]], groups: list[int], n: int, group: int, top: int) -> list:
    counts = plain.ngrams(documents, groups, n, group)
    return [item for item in sorted(counts.items(), key=lambda i: (-i[1], i[0])) if item[1] > 1][:top]


def test_sam_i_am() -> None:
    # I am Sam / Sam I am / I do not like ham and eggs (lecture, L1475); ranks: I 0, Sam 1, am 2, the others behind
    documents = [[0, 2, 1], [1, 0, 2], [0, 3, 4, 5, 6, 7, 8]]
    assert search(documents, [0, 0, 0], 1, 2, 10, n_words=9) == [[((0, 2), 2)]]  # I am; all others occur once
    words = ["I", "Sam", "am"]
    (found,) = frequent_ngrams(
        lambda: [(batch_of(documents), np.zeros(3, np.int32))], 2, top=3, frequencies=np.array([3, 2, 2, 1, 1, 1, 1, 1, 1]),
        n_tokens=13,
    )  # fmt: skip
    assert spelled(found, words) == [("I am", 2)]


@pytest.mark.parametrize("tokens_per_pass", [1 << 23, 5])
@repeatable
@given(st.lists(st.lists(st.integers(-1, 5), max_size=15), max_size=8), st.data())
def test_as_counted_plainly(tokens_per_pass: int, documents: list[list[int]], data: st.DataObject) -> None:
    n_groups, n, top = data.draw(st.integers(1, 3)), data.draw(st.integers(2, 5)), data.draw(st.integers(1, 6))
    low = 0 if n_groups == 1 else -1
    groups = [data.draw(st.integers(low, n_groups - 1)) for _ in documents]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frequent, "TOKENS_PER_PASS", tokens_per_pass)
        found = search(documents, groups, n_groups, n, top, data.draw(st.integers(1, 4)))
    assert found == [expected(documents, groups, n, g, top) for g in range(n_groups)]


def test_words_that_do_not_fit_into_a_key_never_make_a_wrong_list() -> None:
    # V^5 passes 63 bits from 6209 words on: what is as rare as the first word beyond may be beaten by unseen n-grams
    n_words = 6300
    seen, unseen = [5, 6, 7, 8, 9], [6210, 6211, 6212, 6213, 6214]
    alone = [[w] for w in range(n_words) for _ in range(1 if w in seen or w in unseen else 4)]
    documents = [[0, 1, 2, 3, 4]] * 9 + [seen] * 3 + [unseen] * 3 + alone  # all but the first five words occur 4 times
    assert frequent._largest_base(5) < 6210
    (found,) = search(documents, [0] * len(documents), 1, 5, 10, size=1000, n_words=n_words)
    assert found == [((0, 1, 2, 3, 4), 9)]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_keys_use_63_bits_and_no_more(n: int) -> None:
    base = frequent._largest_base(n)
    assert base**n <= 2**63 < (base + 1) ** n
    word = min(base, 2**31) - 1
    keys, _ = ngram_keys(batch_of([[word] * n]), n, base)
    assert keys.tolist() == [sum(word * base**j for j in range(n))]


def test_nothing_there() -> None:
    assert search([], [], 1, 2, 5) == [[]]
    assert search([[], [0]], [0, 0], 1, 3, 5) == [[]]

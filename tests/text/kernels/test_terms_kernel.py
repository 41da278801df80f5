"""Types to terms, counts and renumbering against lists and dictionaries."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.kernels.scan import NOTHING, OTHER, WORD, count_ids, expand_terms, local_terms, map_ids, plain_words
from tests.reference import terms as plain
from tests.strategies import repeatable

KINDS = {WORD: "word", NOTHING: "nothing", OTHER: "other"}
TYPES, TERMS = 5, 6
documents_of_types = st.lists(st.lists(st.integers(0, TYPES - 1), max_size=8), max_size=6)


def offsets_of(documents: list[list[int]]) -> Any:
    return np.cumsum([0, *map(len, documents)]).astype(np.int64)


def flat(documents: list[list[int]]) -> Any:
    return np.array([v for document in documents for v in document], np.int32)


def kinds(tokens: list[str], longest: int = 64, *, apostrophes: bool = True) -> list[str]:
    encoded = [token.encode() for token in tokens]
    arena = np.frombuffer(bytearray().join(encoded), np.uint8)  # may be written to, as that of the program
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    out = np.full(len(tokens), 9, np.uint8)
    plain_words(arena, ends[:-1], ends[1:], longest, apostrophes, out)
    return [KINDS[kind] for kind in out.tolist()]


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("storm", "word"),
        ("don't", "word"),
        ("at&t", "word"),
        ("state-of-the-art", "word"),
        ("snake_case", "word"),
        ("2nd", "word"),
        ("1999", "nothing"),
        ("a", "nothing"),
        ("7", "nothing"),
        ("a" * 64, "word"),
        ("a" * 65, "nothing"),
        ("a" * 33 + "-" + "a" * 32, "other"),  # the normaliser decides
        ("12-40", "other"),
        ("-storm", "other"),
        ("storm'", "other"),
        ("über", "other"),
        ("Storm", "other"),
        ("u.s.a.", "other"),
    ],
)
def test_what_is_a_word_as_it_stands(token: str, kind: str) -> None:
    assert kinds([token]) == [kind]


def test_apostrophes_are_for_the_normaliser_where_articles_are_elided() -> None:
    assert kinds(["don't", "storm"], apostrophes=False) == ["other", "word"]


@repeatable
@given(st.lists(st.text("azAZ019-&_'é", max_size=8)), st.integers(1, 6), st.booleans())
def test_kinds_as_plainly(tokens: list[str], longest: int, apostrophes: bool) -> None:
    assert kinds(tokens, longest, apostrophes=apostrophes) == [
        plain.kind_of(token, longest, apostrophes=apostrophes) for token in tokens
    ]


def expanded(batches: list[list[list[int]]], terms_of: list[list[int]]) -> tuple[list[list[int]], list[int], list[int]]:
    """Run both kernels over batches; types of a batch are numbered in order of appearance, as the scanner does."""
    starts = offsets_of(terms_of)
    flat_terms = flat(terms_of)
    cf, df, last = np.zeros(TERMS, np.int64), np.zeros(TERMS, np.int64), np.full(TERMS, -1, np.int64)
    found: list[list[int]] = []
    for documents in batches:
        raw_ids = list(dict.fromkeys(t for document in documents for t in document))
        codes = [[raw_ids.index(t) for t in document] for document in documents]
        raw_cf, raw_df = plain.frequencies(codes, len(raw_ids))
        ids = np.array(raw_ids, np.int32)
        local, users = np.empty(len(ids), np.int32), np.zeros(TERMS, np.uint8)
        room = local_terms(
            ids, starts, flat_terms, np.array(raw_cf, np.int32), np.array(raw_df, np.int32), users, local, cf, df
        )
        offsets, out = np.zeros(len(documents) + 1, np.int64), np.empty(room, np.int32)
        n = expand_terms(
            offsets_of(codes), flat(codes), local, ids, starts, flat_terms, cf, df, last, len(found), offsets, out
        )
        assert n == room == offsets[-1]
        found += [out[a:b].tolist() for a, b in pairwise(offsets)]
    return found, cf.tolist(), df.tolist()


def test_types_with_none_one_and_several_terms_by_hand() -> None:
    # type 0 is term 2, type 1 falls away, type 2 is terms 0 and 2, type 3 is term 1, type 4 is term 1 too
    terms_of = [[2], [], [0, 2], [1], [1]]
    found, cf, df = expanded([[[0, 1, 0, 3], [2, 4]], [[], [3, 3, 2]]], terms_of)
    assert found == [[2, 2, 1], [0, 2, 1], [], [1, 1, 0, 2]]
    assert cf[:3] == [2, 4, 4]
    assert df[:3] == [2, 3, 3]


@repeatable
@given(
    st.lists(documents_of_types, max_size=3),
    st.lists(st.lists(st.integers(0, TERMS - 1), max_size=3), min_size=TYPES, max_size=TYPES),
)
def test_expansion_as_plainly(batches: list[list[list[int]]], terms_of: list[list[int]]) -> None:
    found, cf, df = expanded(batches, terms_of)
    expected = plain.term_documents([document for documents in batches for document in documents], terms_of)
    assert found == expected
    assert (cf, df) == plain.frequencies(expected, TERMS)


@repeatable
@given(st.lists(documents_of_types, max_size=3))
def test_counting_as_plainly_whatever_the_batches(batches: list[list[list[int]]]) -> None:
    cf, df, last = (np.zeros(TYPES, np.int64), np.zeros(TYPES, np.int64), np.full(TYPES, -1, np.int64))
    before = 0
    for documents in batches:
        count_ids(offsets_of(documents), flat(documents), cf, df, last, before)
        before += len(documents)
    every = [document for documents in batches for document in documents]
    assert (cf.tolist(), df.tolist()) == plain.frequencies(every, TYPES)


@repeatable
@given(documents_of_types, st.lists(st.integers(-1, 3), min_size=TYPES, max_size=TYPES))
def test_renumbering_as_plainly(documents: list[list[int]], new_ids: list[int]) -> None:
    offsets, ids = offsets_of(documents), flat(documents)
    out_offsets, out = np.zeros(len(offsets), np.int64), np.empty(len(ids), np.int32)
    n = map_ids(offsets, ids, np.array(new_ids, np.int32), out_offsets, out)
    found = [out[a:b].tolist() for a, b in pairwise(out_offsets)]
    assert found == plain.mapped(documents, new_ids)
    assert n == sum(map(len, found))

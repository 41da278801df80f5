"""tf-idf against numbers by hand, its formulas, scikit-learn and gensim; the same bits however documents are cut."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.weights.options import IDF, NORM, TF, Scheme, parse_scheme
from nlpkit.weights.tfidf import CorpusStats, Weighting, inverse_document_frequency, kept_columns, weighting
from tests.reference import tfidf as plain
from tests.strategies import counts_dv, repeatable

PLAIN_TF = [name for name in TF if not name.startswith("bm25")]
PLAIN_IDF = [name for name in IDF if name != "okapi"]
WORDS = ["a", "bb", "ccc", "ä", "日本", "f", "g", "hhhhhhhh"]


def used(counts: Any) -> Any:
    """Counts (D, V) without columns of zeros: what a corpus leaves; of all zeros one column stays."""
    counts = np.asarray(counts, np.int32)
    kept = counts.any(axis=0)
    return counts[:, kept] if kept.any() else counts[:, :1]


def stats_of(counts: Any) -> CorpusStats:
    counts = np.asarray(counts)
    return CorpusStats(len(counts), WORDS[: counts.shape[1]], counts.sum(axis=0), (counts > 0).sum(axis=0))


def fit(counts: Any, scheme: Scheme) -> Weighting:
    return weighting(stats_of(counts), scheme, [sparse.csr_array(np.asarray(counts))])


def weigh(counts: Any, scheme: Scheme) -> Any:
    return fit(counts, scheme).weigh(sparse.csr_array(np.asarray(counts, np.int32))).toarray()


# ---------------------------------------------------------------- by hand

COUNTS = [[2, 1, 0], [0, 4, 0], [1, 1, 1], [0, 1, 0]]  # df 2, 4, 1 of 4


def test_the_lectures_weight_by_hand() -> None:
    ln2, ln4 = math.log(2), math.log(4)
    expected = [[2 * ln2, 0, 0], [0, 0, 0], [ln2, 0, ln4], [0, 0, 0]]
    np.testing.assert_allclose(weigh(COUNTS, Scheme()), expected, rtol=1e-15)


def test_variants_of_idf_by_hand() -> None:
    """M = 4; a term in 2, in all and in 1 of the documents (lecture L1432)."""
    ln = math.log
    expected = {
        "none": [1, 1, 1],
        "idf": [ln(2), 0, ln(4)],
        "plus1": [ln(4 / 3), ln(4 / 5), ln(2)],
        "prob": [0, 0, ln(3)],
        "smooth": [ln(5 / 3) + 1, 1, ln(5 / 2) + 1],
        "sklearn": [ln(2) + 1, 1, ln(4) + 1],
        "rsj": [0, ln(0.5 / 4.5), ln(3.5 / 1.5)],
        "lucene": [ln(2), ln(1 + 0.5 / 4.5), ln(1 + 3.5 / 1.5)],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(inverse_document_frequency(stats_of(COUNTS), name), values, atol=1e-15)


def test_variants_of_tf_by_hand() -> None:
    """A document with tf 1, 2 and 6: 9 tokens, mean tf 3, highest 6."""
    ln = math.log
    expected = {
        "raw": [1, 2, 6],
        "binary": [1, 1, 1],
        "log": [1, 1 + ln(2), 1 + ln(6)],
        "log1p": [ln(2), ln(3), ln(7)],
        "loglog": [1, 1 + ln(1 + ln(2)), 1 + ln(1 + ln(6))],
        "sqrt": [1, math.sqrt(2), math.sqrt(6)],
        "augmented": [0.5 + 0.5 / 6, 0.5 + 1 / 6, 1],
        "logave": [1 / (1 + ln(3)), (1 + ln(2)) / (1 + ln(3)), (1 + ln(6)) / (1 + ln(3))],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(weigh([[1, 2, 6]], Scheme(name, "none")), [values], rtol=1e-15)


def test_pivots_by_hand() -> None:
    """Different terms 2, 1, 3, 1: mean 7/4; words a, bb, ccc: bytes with a blank 2, 3, 4, so 7, 12, 9, 3: mean 31/4."""
    got = weigh(COUNTS, Scheme("raw", "none", "pivoted-unique", slope=0.5))
    np.testing.assert_allclose(got[0], [2 / (7 / 8 + 1), 1 / (7 / 8 + 1), 0], rtol=1e-15)
    got = weigh(COUNTS, Scheme("raw", "none", "pivoted-bytes", slope=0.5))
    np.testing.assert_allclose(got[1], [0, 4 / (31 / 8 + 6), 0], rtol=1e-15)
    got = weigh(COUNTS, Scheme("raw", "none", "pivoted-l2", slope=0.5))
    mean = (math.sqrt(5) + 4 + math.sqrt(3) + 1) / 4
    np.testing.assert_allclose(got[3], [0, 1 / (mean / 2 + 0.5), 0], rtol=1e-15)


def test_bytes_of_terms_are_those_of_utf8() -> None:
    assert CorpusStats(1, ("a", "ä", "日"), np.ones(3, np.int64), np.ones(3, np.int64)).term_bytes().tolist() == [
        2,
        3,
        4,
    ]


def test_counts_above_the_table_of_logarithms() -> None:
    for tf in (1, 1023, 1024, 1025, 70_000, 2**31 - 1):
        assert weigh([[tf]], Scheme("log", "none"))[0, 0] == pytest.approx(1 + math.log(tf), rel=1e-15)


# ---------------------------------------------------------------- the formulas


@pytest.mark.parametrize(("tf", "idf"), list(itertools.product(PLAIN_TF, PLAIN_IDF)))
def test_every_scheme_equals_its_formula(tf: str, idf: str) -> None:
    rng = np.random.default_rng(0)
    for norm in NORM:
        counts = used(rng.poisson(0.7, (rng.integers(1, 9), 8)))
        sizes = [len(w.encode()) + 1 for w in WORDS][: counts.shape[1]]
        expected = plain.weights(counts.tolist(), tf, idf, norm, term_bytes=sizes)
        np.testing.assert_allclose(weigh(counts, Scheme(tf, idf, norm)), expected, rtol=1e-12, atol=1e-14)


@repeatable
@given(counts_dv().map(used), st.sampled_from(PLAIN_TF), st.sampled_from(PLAIN_IDF), st.sampled_from(list(NORM)))
def test_any_counts_equal_the_formula(counts: Any, tf: str, idf: str, norm: str) -> None:
    if not counts.any():
        idf = "none"
    sizes = [len(w.encode()) + 1 for w in WORDS][: counts.shape[1]]
    expected = plain.weights(counts.tolist(), tf, idf, norm, term_bytes=sizes) if counts.any() else counts
    np.testing.assert_allclose(weigh(counts, Scheme(tf, idf, norm)), expected, rtol=1e-12, atol=1e-14)


@repeatable
@given(counts_dv(max_docs=14).map(used), st.sampled_from(list(TF)), st.sampled_from(list(NORM)), st.data())
def test_batches_of_any_size_give_the_same_bits(counts: Any, tf: str, norm: str, data: st.DataObject) -> None:
    matrix = sparse.csr_array(counts)
    scheme = Scheme(tf, "smooth", norm)
    whole = fit(counts, scheme).weigh(matrix)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(counts)), max_size=4)))
    pieces = [matrix[a:b] for a, b in itertools.pairwise([0, *cuts, len(counts)])]
    how = weighting(stats_of(counts), scheme, pieces)
    parts = [how.weigh(piece) for piece in pieces]
    assert b"".join(p.data.tobytes() for p in parts) == whole.data.tobytes()
    assert np.array_equal(np.concatenate([p.indices for p in parts]), whole.indices)


@repeatable
@given(counts_dv().map(used), st.sampled_from(list(TF)))
def test_norms_are_one(counts: Any, tf: str) -> None:
    for norm, order in (("l1", 1), ("l2", 2)):
        lengths = np.linalg.norm(weigh(counts, Scheme(tf, "smooth", norm)), ord=order, axis=1)
        np.testing.assert_allclose(lengths, counts.any(axis=1).astype(float), atol=1e-12)


# ---------------------------------------------------------------- scikit-learn and gensim


def corpus(seed: int, D: int = 60, V: int = 90) -> tuple[Any, list[str]]:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.lognormal(-2, 1.5, V), (D, V))
    counts = counts[:, counts.any(axis=0)]
    return counts, [f"w{v:02d}" for v in range(counts.shape[1])]


@pytest.mark.parametrize("norm", [None, "l1", "l2"])
@pytest.mark.parametrize("use_idf", [True, False])
def test_equals_scikit_learn_for_every_setting_both_have(norm: str | None, use_idf: bool) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    counts, words = corpus(1)
    texts = [" ".join(w for w, n in zip(words, row, strict=True) for _ in range(n)) for row in counts]
    for sublinear, binary, smooth in itertools.product([False, True], repeat=3):
        theirs = TfidfVectorizer(
            norm=norm, use_idf=use_idf, smooth_idf=smooth, sublinear_tf=sublinear, binary=binary, token_pattern=r"\S+"
        )
        expected = theirs.fit_transform(texts)
        expected.sort_indices()
        assert theirs.get_feature_names_out().tolist() == words
        # of 0s and 1s, the logarithm of scikit-learn leaves 0s and 1s
        tf = "binary" if binary else "log" if sublinear else "raw"
        idf = "none" if not use_idf else "smooth" if smooth else "sklearn"
        how = weighting(stats_like(counts, words), Scheme(tf, idf, norm or "none"))
        got = how.weigh(sparse.csr_array(counts.astype(np.int32)))
        np.testing.assert_array_equal(got.indptr, expected.indptr)
        np.testing.assert_array_equal(got.indices, expected.indices)
        np.testing.assert_allclose(got.data, expected.data, rtol=1e-12)


def stats_like(counts: Any, words: list[str]) -> CorpusStats:
    return CorpusStats(len(counts), words, counts.sum(axis=0), (counts > 0).sum(axis=0))


@pytest.mark.parametrize(
    ("smart", "base"), [("nfn", 1), ("nfc", 0), ("bfc", 0), ("afc", 0), ("bpn", 1), ("nfu", 1), ("afb", 1)]
)
def test_equals_gensim_but_for_the_base_of_the_logarithm(smart: str, base: int) -> None:
    """Under the cosine the base of the idf falls out; else gensim's is 1 / ln 2 of ours."""
    models = pytest.importorskip("gensim.models")
    corpora = pytest.importorskip("gensim.corpora")
    counts, words = corpus(2)
    rare = ~(counts > 0).all(axis=0)  # gensim leaves weights of 0 out, also where it counts different terms
    counts, words = counts[:, rare], [w for w, r in zip(words, rare, strict=True) if r]
    texts = [[w for w, n in zip(words, row, strict=True) for _ in range(n)] for row in counts]
    dictionary = corpora.Dictionary(texts)
    model = models.TfidfModel(dictionary=dictionary, smartirs=smart, slope=0.2)
    expected = np.zeros(counts.shape)
    for d, text in enumerate(texts):
        for token, weight in model[dictionary.doc2bow(text)]:
            expected[d, words.index(dictionary[token])] = weight
    how = weighting(stats_like(counts, words), parse_scheme(smart))
    got = how.weigh(sparse.csr_array(counts.astype(np.int32))).toarray() / math.log(2) ** base
    np.testing.assert_allclose(got, expected, atol=1e-11)


# ---------------------------------------------------------------- small corpora


def test_one_document_has_no_idf() -> None:
    assert weigh([[3, 1]], Scheme()).tolist() == [[0, 0]]
    assert weigh([[3, 1]], parse_scheme("ltc")).tolist() == [[0, 0]]  # divided by 1, not by 0
    np.testing.assert_allclose(weigh([[3, 4]], parse_scheme("sklearn")), [[0.6, 0.8]])


def test_weights_of_zero_are_stored() -> None:
    got = fit([[1, 1], [0, 1]], Scheme()).weigh(sparse.csr_array([[1, 1], [0, 1]]))
    assert (got.nnz, got.data.tolist()) == (3, [math.log(2), 0, 0])


@pytest.mark.parametrize("tf", list(TF))
@pytest.mark.parametrize("norm", list(NORM))
def test_documents_without_tokens(tf: str, norm: str) -> None:
    got = weigh([[0, 0], [2, 1], [0, 0]], Scheme(tf, "idf", norm))
    assert got[[0, 2]].tolist() == [[0, 0], [0, 0]]
    assert np.isfinite(got).all()
    nothing = Weighting(Scheme(tf, "idf", norm), np.zeros(0), 0.0, np.zeros(0, np.int64)).weigh(
        sparse.csr_array((3, 0), dtype=np.int32)
    )
    assert nothing.shape == (3, 0)


@pytest.mark.parametrize("idf", list(IDF))
def test_terms_of_a_given_vocabulary_that_are_in_no_document(idf: str) -> None:
    stats = CorpusStats(3, ("a", "b"), np.array([2, 0]), np.array([1, 0]))
    values = inverse_document_frequency(stats, idf)
    assert np.isfinite(values).all()
    if idf in ("idf", "prob", "sklearn"):
        assert values[1] == 0


def test_counts_come_back_as_they_went_in() -> None:
    counts = sparse.csr_array(np.array(COUNTS, np.int32))
    for tf in TF:
        fit(COUNTS, Scheme(tf, "idf", "l2")).weigh(counts)
    assert (counts.toarray().tolist(), counts.dtype) == (COUNTS, np.int32)


@repeatable
@given(counts_dv(), st.data())
def test_kept_columns(counts: Any, data: st.DataObject) -> None:
    V = counts.shape[1]
    kept = sorted(data.draw(st.sets(st.integers(0, V - 1))))
    places = np.full(V, -1, np.int32)
    places[kept] = np.arange(len(kept))
    got = kept_columns(sparse.csr_array(counts), places, len(kept))
    np.testing.assert_array_equal(got.toarray(), counts[:, kept])
    assert got.has_sorted_indices
    assert got.nnz == (counts[:, kept] > 0).sum()


def test_names_that_are_none() -> None:
    with pytest.raises(ValueError, match="no idf is called x"):
        inverse_document_frequency(stats_of(COUNTS), "x")

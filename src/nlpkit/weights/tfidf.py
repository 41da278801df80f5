"""The weights of terms in documents: tf-idf in all its schemes, and BM25.

Parts, in this order:
- BM25 as a weighting of terms in documents (Robertson & Zaragoza 2009; variants as in Kamphuis et al. 2020).
- tf-idf of document-term counts: corpus statistics first, then batch by batch (lecture).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.weights.options import Scheme

EPSILON = 0.25


def saturated_tf(tf: FloatArray, lengths: FloatArray, mean_length: float, *, k1: float, b: float) -> FloatArray:
    """Return tf / (tf + k1·(1 - b + b·dl / mean dl)): Robertson & Zaragoza (2009), eq. 3.15 without its idf.

    Args:
        tf: (n,) counts, each at least 1.
        lengths: (n,) tokens of the document of each count.
        mean_length: mean tokens of a document, above 0.
    """
    return tf / (tf + k1 * (1 - b + b * lengths / mean_length))


def rsj_idf(n_docs: int, df: LongArray) -> FloatArray:
    """Return ln((M - df + 0.5) / (df + 0.5)) (V,): below 0 for terms in more than half of the documents."""
    idf: FloatArray = np.log((n_docs - df + 0.5) / (df + 0.5))
    return idf


def lucene_idf(n_docs: int, df: LongArray) -> FloatArray:
    """Return ln(1 + (M - df + 0.5) / (df + 0.5)) (V,): always above 0."""
    idf: FloatArray = np.log1p((n_docs - df + 0.5) / (df + 0.5))
    return idf


def okapi_idf(n_docs: int, df: LongArray) -> FloatArray:
    """Return rsj_idf (V,) with values below 0 replaced by 0.25 times its mean over the terms, as rank-bm25's BM25Okapi."""
    idf = rsj_idf(n_docs, df)
    if not len(idf):
        return idf
    floor = EPSILON * math.fsum(idf) / len(idf)
    return np.where(idf < 0, floor, idf)


# ------------------------------------------------------------------------------------------------------------------------
# tf-idf of document-term counts: corpus statistics first, then batch by batch (lecture).
#
# A weight depends on its document and on integer sums over the corpus alone, so how documents are cut into batches does
# not change a bit of it. Rows are summed one at a time, in the order of their terms.


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """Corpus statistics that weights depend on: n_docs = M, documents without tokens included; terms, cf, df (V,)."""

    n_docs: int
    terms: Sequence[str]
    cf: LongArray
    df: LongArray

    @property
    def mean_length(self) -> float:
        """Mean tokens of a document."""
        return int(self.cf.sum()) / max(self.n_docs, 1)

    @property
    def mean_unique(self) -> float:
        """Mean different terms of a document."""
        return int(self.df.sum()) / max(self.n_docs, 1)

    def term_bytes(self) -> LongArray:
        """Return the UTF-8 bytes (V,) of each term and of the blank after it."""
        return np.fromiter((len(t.encode("utf-8", "surrogatepass")) + 1 for t in self.terms), np.int64, len(self.terms))


@dataclass(frozen=True, slots=True)
class Weighting:
    """A scheme with what it takes from a corpus: idf (V,), mean_length, and for pivoted norms term_bytes (V,) and pivot."""

    scheme: Scheme
    idf: FloatArray
    mean_length: float
    term_bytes: LongArray | None = None
    pivot: float = 0.0

    def weigh(self, counts: CsrMatrix) -> CsrMatrix:
        """Return the weights (D_b, V) float64 of counts (D_b, V); a weight is stored for every count, also when it is 0.

        Args:
            counts: CSR of integers, none of the stored ones 0, term ids of a row ascending.
        """
        rows = sparse.csr_array(counts)
        lengths = np.diff(rows.indptr)
        data = _product(rows, self)
        norms = _norms(rows, lengths, data, self)
        if norms is not None:
            data /= np.repeat(norms, lengths)
        return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def weighting(stats: CorpusStats, scheme: Scheme, batches: Iterable[CsrMatrix] = ()) -> Weighting:
    """Return the weighting of a corpus by `scheme`.

    Args:
        batches: the counts of the whole corpus; read for the norm `pivoted-l2` only, whose pivot is the mean L2 norm of all
            documents (Singhal, Buckley & Mitra 1996); it is summed exactly.
    """
    base = Weighting(scheme, inverse_document_frequency(stats, scheme.idf), stats.mean_length)
    match scheme.norm:
        case "pivoted-unique":
            return _with_pivot(base, stats.mean_unique)
        case "pivoted-bytes":
            size = stats.term_bytes()
            return _with_pivot(base, int(stats.cf @ size) / max(stats.n_docs, 1), size)
        case "pivoted-l2":
            norms = [_l2(counts, np.diff(counts.indptr), _product(counts, base)) for counts in batches]
            return _with_pivot(base, math.fsum(n for batch in norms for n in batch) / max(stats.n_docs, 1))
    return base


def _with_pivot(base: Weighting, pivot: float, term_bytes: LongArray | None = None) -> Weighting:
    return Weighting(base.scheme, base.idf, base.mean_length, term_bytes, pivot)


def kept_columns(matrix: CsrMatrix, places: IntArray, n_terms: int) -> CsrMatrix:
    """Return the matrix (D, n_terms) of some columns: column v becomes places[v], -1 leaves it out; places ascend."""
    rows = sparse.csr_array(matrix)
    new = places[rows.indices]
    kept = new >= 0
    before = np.concatenate((np.zeros(1, rows.indptr.dtype), np.cumsum(kept, dtype=rows.indptr.dtype)))
    return sparse.csr_array((rows.data[kept], new[kept], before[rows.indptr]), shape=(rows.shape[0], n_terms))


def inverse_document_frequency(stats: CorpusStats, name: str) -> FloatArray:
    """Return idf (V,) by its name in `schemes.IDF`; where df is 0 and the formula divides by it, idf is 0."""
    M, df = stats.n_docs, stats.df
    idf: FloatArray
    if name in ("idf", "prob", "sklearn") and not df.all():  # a given vocabulary: some terms of it are in no document
        seen = CorpusStats(M, (), stats.cf, np.maximum(df, 1))
        return np.where(df > 0, inverse_document_frequency(seen, name), 0.0)
    match name:
        case "none":
            idf = np.ones(len(df))
        case "idf":
            idf = np.log(M / df)
        case "plus1":
            idf = np.log(M / (df + 1))
        case "prob":
            # max inside the logarithm: that of 0, for a term in all documents, is minus infinity
            idf = np.log(np.maximum((M - df) / df, 1.0))
        case "smooth":
            idf = np.log((1 + M) / (1 + df)) + 1
        case "sklearn":
            idf = np.log(M / df) + 1
        case "rsj":
            idf = rsj_idf(M, df)
        case "lucene":
            idf = lucene_idf(M, df)
        case "okapi":
            idf = okapi_idf(M, df)
        case _:
            raise ValueError(f"no idf is called {name}")
    return idf


def _product(counts: CsrMatrix, weighting: Weighting) -> FloatArray:
    data: FloatArray = _tf(counts, np.diff(counts.indptr), weighting)
    if weighting.scheme.idf != "none":
        data *= weighting.idf[counts.indices]
    return data


def _tf(rows: CsrMatrix, lengths: LongArray, weighting: Weighting) -> FloatArray:
    """Return the first factor (nnz,) of the weights."""
    scheme, tf = weighting.scheme, rows.data
    match scheme.tf:
        case "raw":
            raw: FloatArray = tf.astype(np.float64)
            return raw
        case "binary":
            return np.ones(len(tf))
        case "log" | "log1p" | "loglog" | "sqrt":
            return _by_table(tf, scheme.tf)
        case "augmented":
            most = np.repeat(_reduced(np.maximum, tf, rows.indptr), lengths)
            augmented: FloatArray = scheme.augment + (1 - scheme.augment) * (tf / most)
            return augmented
        case "logave":
            mean = _reduced(np.add, tf.astype(np.int64), rows.indptr) / np.maximum(lengths, 1)
            ratio: FloatArray = _by_table(tf, "log") / np.repeat(1 + np.log(np.maximum(mean, 1)), lengths)
            return ratio
        case "bm25" | "bm25-scaled":
            tokens = np.repeat(_reduced(np.add, tf.astype(np.int64), rows.indptr), lengths).astype(np.float64)
            part = saturated_tf(tf.astype(np.float64), tokens, weighting.mean_length, k1=scheme.k1, b=scheme.b)
            return part if scheme.tf == "bm25" else (scheme.k1 + 1) * part
    raise ValueError(f"no tf is called {scheme.tf}")


_TABLE = np.arange(1, 1025, dtype=np.float64)  # counts are small: a logarithm of each that occurs, not of each token


def _by_table(tf: LongArray, name: str) -> FloatArray:
    """Return a function of tf (nnz,), computed once for the small counts."""
    if not len(tf):
        return np.zeros(0)
    tf_values: FloatArray = _of_tf(_TABLE, name)[np.minimum(tf, len(_TABLE)) - 1]
    large = np.flatnonzero(tf > len(_TABLE))
    if len(large):
        tf_values[large] = _of_tf(tf[large].astype(np.float64), name)
    return tf_values


def _of_tf(tf: FloatArray, name: str) -> FloatArray:
    if name == "sqrt":
        return np.sqrt(tf)
    if name == "log1p":
        return np.log1p(tf)
    log: FloatArray = 1 + np.log(tf)
    return log if name == "log" else 1 + np.log(log)


def _norms(rows: CsrMatrix, lengths: LongArray, data: FloatArray, weighting: Weighting) -> FloatArray | None:
    """Return the norms by which the rows (D_b,) are divided, 1 for a row of zeros; None for no normalisation."""
    slope = weighting.scheme.slope
    old: FloatArray
    match weighting.scheme.norm:
        case "none":
            return None
        case "l1":
            old = _reduced(np.add, np.abs(data), rows.indptr)
            return np.where(old > 0, old, 1.0)
        case "l2":
            old = _l2(rows, lengths, data)
            return np.where(old > 0, old, 1.0)
        case "pivoted-unique":
            old = lengths.astype(np.float64)
        case "pivoted-bytes":
            assert weighting.term_bytes is not None
            size = weighting.term_bytes[rows.indices] * rows.data
            old = _reduced(np.add, size, rows.indptr).astype(np.float64)
        case "pivoted-l2":
            old = _l2(rows, lengths, data)
    norms = (1 - slope) * weighting.pivot + slope * old
    return np.where(norms > 0, norms, 1.0)


def _l2(rows: CsrMatrix, lengths: LongArray, data: FloatArray) -> FloatArray:
    norms: FloatArray = np.sqrt(_reduced(np.add, data * data, rows.indptr))
    return norms


def _reduced(ufunc: np.ufunc, values: Any, indptr: LongArray) -> Any:
    """Return a ufunc over the values of each row (D_b,), 0 for an empty row; of the type of the values."""
    out = np.zeros(len(indptr) - 1, values.dtype)
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        out[filled] = ufunc.reduceat(values, indptr[:-1][filled])
    return out

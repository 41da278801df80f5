"""Non-negative matrix factorisation by scikit-learn, its factors read as topics."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, expected_counts, order_by_size, reordered
from nlpkit.topics.base.scores import Fitted, Keeper, TokenFitter
from nlpkit.topics.matrix.options import NmfOptions
from nlpkit.topics.matrix.plsa import fold_in
from nlpkit.weights.dtm import count_terms
from nlpkit.weights.tfidf import CorpusStats, Weighting, weighting

_ALONE = Lock()  # filters of warnings are those of the whole process


def fit_nmf(
    tokens: TokenTable, n_topics: int, options: NmfOptions | None = None, execution: Execution | None = None
) -> MixtureFit:
    """Factorise the weighted document-term matrix X (D, V) into W (D, K) and H (K, V), both of 0 or more.

        phi_kv = H_kv / Σ_u H_ku,   theta_dk = W_dk h_k / Σ_l W_dl h_l,   h_k = Σ_u H_ku

    so that X ≈ W H is a mixture of topics up to the sums of the rows. scikit-learn's NMF solves it: coordinate descent from NNDSVD
    for the Frobenius norm, multiplicative updates from NNDSVDa for Kullback-Leibler. Its products run on one thread, so that the
    result does not depend on how many there are. The start is that of a singular value decomposition: seeds hardly matter.

    Args:
        tokens: corpus; documents may be empty.
        n_topics: K, at most the smaller of D and V.

    Raises:
        UsageError: no tokens, or more topics than documents or terms.

    Source: Lee & Seung (1999), Nature 401; Boutsidis & Gallopoulos (2008) for NNDSVD.
    """
    from sklearn.decomposition import NMF
    from threadpoolctl import threadpool_limits

    options, execution = options or NmfOptions(), execution or Execution()
    if not len(tokens.term_ids):
        raise UsageError("the corpus has no tokens to find topics in")
    dtm = count_terms(tokens)
    lengths = np.asarray(dtm.sum(axis=1), np.float64).ravel()
    df = np.bincount(dtm.indices, minlength=dtm.shape[1])
    most = min(int((lengths > 0).sum()), int((df > 0).sum()))
    if not 1 <= n_topics <= most:
        raise UsageError(
            f"`k={n_topics}`: NMF has from 1 topic to as many as there are documents and terms, {most:,} here",
            parameter="k",
        )
    weights = _weighting(options, tokens, df, len(lengths))
    kullback = options.loss == "kullback-leibler"
    solver = NMF(
        n_topics, init="nndsvda" if kullback else "nndsvd", solver="mu" if kullback else "cd", beta_loss=options.loss,
        tol=options.tolerance, max_iter=options.iterations, random_state=execution.seed % 2**32,
    )  # fmt: skip
    with _ALONE, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged is told below
        documents = solver.fit_transform(weights.weigh(dtm))
    heights = solver.components_.sum(axis=1)
    phi = np.divide(
        solver.components_, heights[:, None], out=np.zeros_like(solver.components_), where=heights[:, None] > 0
    )
    theta = documents * heights
    whole = theta.sum(axis=1, keepdims=True)
    theta = np.divide(theta, whole, out=np.zeros_like(theta), where=whole > 0)
    doc_topic, alpha = expected_counts(theta, lengths), np.zeros(n_topics)
    order = order_by_size(doc_topic, alpha)
    doc_topic = reordered(doc_topic, order)
    totals = np.maximum(np.asarray(doc_topic.sum(axis=0), np.float64).ravel(), 1.0)
    model = MixtureModel(tokens.terms, expected_counts(phi[order], totals), alpha, 0.0)
    numbers = {"reconstruction_error": round(float(solver.reconstruction_err_), 6), "steps": int(solver.n_iter_),
               "converged": bool(solver.n_iter_ < options.iterations)}  # fmt: skip
    return MixtureFit(model, doc_topic, (), numbers, arrays={"idf": weights.idf})


def _weighting(options: NmfOptions, tokens: TokenTable, df: LongArray, n_docs: int) -> Weighting:
    cf = np.bincount(tokens.term_ids, minlength=tokens.n_terms)
    return weighting(CorpusStats(n_docs, tokens.terms, cf, df), options.scheme)


def project(
    weights: Callable[[CsrMatrix], CsrMatrix], phi: FloatArray, offsets: LongArray, term_ids: IntArray
) -> Float32Array:
    """Return theta (D, K) of new documents: the non-negative least squares argmin_w ‖x − w φ‖² of each, rows divided by their sums.

    A document without a term of any topic has equal shares.

    Args:
        weights: makes x of counts. phi: (K, V).
        offsets, term_ids: the documents, as in `fold_in`.
    """
    from scipy.optimize import nnls

    first = int(offsets[0])
    dtm = count_terms(TokenTable(offsets - first, term_ids[first : int(offsets[-1])], ("",) * phi.shape[1]))
    K = len(phi)
    # ‖x − w φ‖² = ‖L ᵀw − L⁻¹ φ x‖² + const with φ φᵀ = L Lᵀ; a ridge of rounding size keeps L of equal topics
    gram = phi @ phi.T
    lower = np.linalg.cholesky(gram + 1e-12 * np.trace(gram) / K * np.eye(K))
    right = np.linalg.solve(lower, np.asarray((weights(dtm) @ phi.T), np.float64).T)
    theta = np.full((dtm.shape[0], K), 1.0 / K, np.float32)
    for d in range(len(theta)):
        w, _ = nnls(lower.T, right[:, d])
        if w.sum() > 0:
            theta[d] = w / w.sum()
    return theta


@dataclass(frozen=True, slots=True)
class NmfFitter(TokenFitter):
    """NMF whose numbers of topics are compared, and that is fitted."""

    options: NmfOptions
    seeds: int = 1

    def check(self, fit: MixtureFit) -> None:
        """Look whether any topic has a word, on which documents are projected. Raises ValueError."""
        if not fit.model.topic_totals.any():
            raise ValueError("no topic has a word")

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus; scikit-learn says nothing on the way."""
        if progress is not None:
            progress(0)
        return fit_nmf(tokens, n_topics, self.options, execution)

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model with every term possible in every topic, and what finds the weights of its topics in documents."""
        smooth = fit.model.smoothed()
        if self.options.loss == "kullback-leibler":
            return smooth, partial(fold_in, np.ascontiguousarray(smooth.phi.T), threads=threads)
        weigh = Weighting(self.options.scheme, fit.arrays["idf"], 0.0).weigh
        return smooth, partial(project, weigh, fit.model.phi)

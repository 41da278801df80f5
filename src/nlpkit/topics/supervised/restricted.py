"""The author-topic model and labelled LDA, and what supervised topic models have in common.

Parts, in this order:
- Models whose tokens are drawn with columns of their documents in sight: what supervised LDA and its relatives have in
  common.
- The author-topic model and labelled LDA: each token chooses a row of topics, its author's or those of its document's
  labels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import BoolArray, CsrMatrix, IntArray, LongArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.by_term import words_of
from nlpkit.topics.base.choose import SEEDS
from nlpkit.topics.base.heldout import dirichlet_multinomial, infer_topics
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, order_by_size, reordered
from nlpkit.topics.base.scores import Fitted, Keeper, RunningState, TokenFitter, resumable
from nlpkit.topics.supervised import kernels as kernel
from nlpkit.topics.supervised.options import AuthorTopicOptions, LabeledLdaOptions, prior

TRACE_EVERY = 10  # sweeps between two points of the trace


class ColumnFitter(TokenFitter):
    """A kind of model that takes a column of the documents, whose numbers of topics are compared, and that is fitted."""

    __slots__ = ()

    @property
    def seeds(self) -> int:
        """Fits of each number of topics that is compared."""
        return SEEDS

    @abstractmethod
    def take(self, documents: LongArray, terms: LongArray) -> Self:
        """Return the fitter with the column of some of the documents."""

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model, and Gibbs sampling of the topics of documents from their words alone."""
        return fit.model, partial(infer_topics, words_of(fit.model), seed=seed, threads=threads)


def check(tokens: TokenTable, n_topics: int) -> None:
    """Raise UsageError where there are no tokens or no topics."""
    if not len(tokens.term_ids):
        raise UsageError("the corpus has no tokens to find topics in")
    if n_topics < 1:
        raise UsageError(f"`k={n_topics}`: at least 1 topic is needed", parameter="k")


def doc_topics(tokens: TokenTable, z: IntArray, n_topics: int) -> CsrMatrix:
    """Return n_dk (D, K), CSR int32 with ascending topics, of the topics z (N,) of the tokens."""
    rows = np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))
    return _counted(rows, z, (tokens.n_docs, n_topics))


def mixture_of(
    tokens: TokenTable, z: IntArray, n_topics: int, *, alpha: float, eta: float, trace: Sequence[Any]
) -> tuple[MixtureFit, LongArray]:
    """Return a state, topics z (N,) of the tokens, as a fit with its topics by size, and their order: topic order[k] is now k.

    trace: points of the chain with a `sweep` and a `log_likelihood`.
    """
    doc_topic, each = doc_topics(tokens, z, n_topics), np.full(n_topics, alpha)
    order = order_by_size(doc_topic, each)
    place = np.empty(n_topics, np.int32)
    place[order] = np.arange(n_topics, dtype=np.int32)
    topics = place[z]
    model = MixtureModel(tokens.terms, _counted(topics, tokens.term_ids, (n_topics, tokens.n_terms)), each, eta)
    numbers = {
        "log_likelihood_per_token": round(trace[-1].log_likelihood, 6),
        "sweeps": trace[-1].sweep,
        "alpha": round(alpha, 8),
        "eta": round(eta, 8),
    }
    return MixtureFit(model, reordered(doc_topic, order), trace, numbers, assignments=topics), order


def _counted(rows: IntArray | LongArray, columns: IntArray, shape: tuple[int, int]) -> CsrMatrix:
    """Return how often each pair occurs, CSR int32."""
    counts = sparse.coo_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape).tocsr()
    counts.sort_indices()
    return counts


# ------------------------------------------------------------------------------------------------------------------------
# The author-topic model and labelled LDA: each token chooses a row of topics, its author's or those of its document's labels.


@dataclass(frozen=True, slots=True)
class NameSets:
    """Names of each of D documents. start (D + 1,) int64: document d has codes[start[d] : start[d + 1]], int32, of names."""

    start: LongArray
    codes: IntArray
    names: tuple[str, ...]

    @classmethod
    def encode(cls, values: Sequence[Sequence[str]]) -> NameSets:
        """Return the names of documents, in alphabetical order, each once a document."""
        names = tuple(sorted({name for several in values for name in several}))
        code = {name: j for j, name in enumerate(names)}
        sets = [list(dict.fromkeys(code[name] for name in several)) for several in values]
        flat = np.fromiter((c for one in sets for c in one), np.int32)
        return cls(np.cumsum([0, *map(len, sets)], dtype=np.int64), flat, names)

    @property
    def unnamed(self) -> BoolArray:
        """Whether a document has no name (D,)."""
        return np.asarray(np.diff(self.start) == 0)

    @property
    def documents(self) -> LongArray:
        """Documents of each name."""
        return np.bincount(self.codes, minlength=len(self.names)).astype(np.int64)

    def take(self, documents: LongArray) -> NameSets:
        """Return the names of some documents, without those that none of them has."""
        parts = [self.codes[self.start[d] : self.start[d + 1]] for d in documents]
        used, codes = np.unique(np.concatenate([*parts, np.zeros(0, np.int32)]), return_inverse=True)
        start = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return NameSets(start, codes.astype(np.int32), tuple(self.names[c] for c in used))


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of topics, and which of them a document may use.

    start (D + 1,), rows: document d has rows[start[d] : start[d + 1]]; topic_start (R + 1,), topics: row r has
    topics[topic_start[r] : topic_start[r + 1]].
    """

    start: LongArray
    rows: IntArray
    topic_start: LongArray
    topics: IntArray


@dataclass(frozen=True, slots=True)
class RestrictedPoint:
    """After a sweep: log p(w | z) per token, and share of the tokens that changed their topic."""

    sweep: int
    log_likelihood: float
    moved: float


def rows_of_authors(authors: NameSets, n_topics: int) -> Rows:
    """Return a row of all topics for each author, and one of its own for each document without an author."""
    single = np.flatnonzero(authors.unnamed)
    sizes = np.diff(authors.start)
    sizes[single] = 1
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    rows = np.empty(start[-1], np.int32)
    rows[start[single]] = len(authors.names) + np.arange(len(single))
    is_name = np.ones(len(rows), bool)
    is_name[start[single]] = False
    rows[is_name] = authors.codes
    n_rows = len(authors.names) + len(single)
    topics = np.tile(np.arange(n_topics, dtype=np.int32), n_rows)
    return Rows(start, rows, np.arange(n_rows + 1) * n_topics, topics)


def rows_of_labels(labels: NameSets, latent: int) -> Rows:
    """Return a row for each document: the topics of its labels and the latent ones; all topics where it has no label."""
    L, D = len(labels.names), len(labels.start) - 1
    free = np.arange(L, L + latent, dtype=np.int32)
    everything = np.arange(L + latent, dtype=np.int32)
    lists = [
        everything if begin == end else np.concatenate([np.sort(labels.codes[begin:end]), free])
        for begin, end in pairwise(labels.start.tolist())
    ]
    topic_start = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return Rows(
        np.arange(D + 1), np.arange(D, dtype=np.int32), topic_start, np.concatenate([*lists, free[:0]])
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chain:
    """The state after the last sweep: topics (N,) of the tokens, row_topic (R, K) CSR n_rk, and the points on the way."""

    topics: IntArray
    row_topic: CsrMatrix
    trace: list[RestrictedPoint]


def sample(
    tokens: TokenTable,
    n_topics: int,
    rows: Rows,
    *,
    alpha: float,
    eta: float,
    sweeps: int,
    key: int,
    progress: Callable[[int], None] | None = None,
    keeper: Keeper | None = None,
) -> Chain:
    """Draw the row and the topic of each token, sweep after sweep, given those of all others.

    p(row r, topic k | others) ∝ (n_rk + α) / (n_r + α |T_r|) · (n_kw + η) / (n_k + Vη), of the rows of its document and their topics.
    """
    rng = np.random.Generator(np.random.Philox(key=key))
    owner = np.repeat(np.arange(len(rows.topic_start) - 1, dtype=np.int32), np.diff(rows.topic_start))
    # places[i], counts[p], sizes[r] and n_vk[v, k] are written: i < N; p < P, a place of a row r < R of the document; v < V, k < K
    places, counts = np.full(len(tokens.term_ids), -1, np.int64), np.zeros(len(owner), np.int64)
    sizes, n_k = np.zeros(len(rows.topic_start) - 1, np.int64), np.zeros(n_topics, np.int64)
    n_vk = np.zeros((tokens.n_terms, n_topics), np.int32)
    widths = np.diff(rows.topic_start)[rows.rows]
    of_document = np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])[rows.start])
    weights = np.empty(int(of_document.max(initial=1)))  # a weight for each place of a document
    trace: list[RestrictedPoint] = []
    arrays: dict[str, np.ndarray] = {"places": places, "counts": counts, "sizes": sizes, "n_vk": n_vk, "n_k": n_k}
    for sweep in resumable(sweeps, RunningState(trace, RestrictedPoint, arrays, rng), keeper):
        moved = kernel.sweep(
            tokens.offsets, tokens.term_ids, rows.start, rows.rows, rows.topic_start, rows.topics, owner, places, counts, sizes,
            n_vk, n_k, alpha, eta, rng.random(len(places)), weights,
        )  # fmt: skip
        if sweep % TRACE_EVERY == 0 or sweep == sweeps:
            likelihood = dirichlet_multinomial(sparse.csr_array(n_vk.T), eta) / len(places)
            trace.append(RestrictedPoint(sweep, likelihood, moved / len(places)))
        if progress is not None:
            progress(sweep)
    row_topic = sparse.coo_array((counts, (owner, rows.topics)), shape=(len(sizes), n_topics)).tocsr()
    return Chain(rows.topics[places], row_topic, trace)


def fit_author_topic(
    tokens: TokenTable,
    n_topics: int,
    authors: NameSets,
    options: AuthorTopicOptions | None = None,
    execution: Execution | None = None,
    *,
    progress: Callable[[int], None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit the author-topic model by collapsed Gibbs sampling.

        p(x_i = a, z_i = k | others) ∝ (n_ak + α) / (n_a + Kα) · (n_kw + η) / (n_k + Vη),   a one of the authors of the document

    Its array `authors` (A, K) is n_ak, from which θ_ak = (n_ak + α) / (n_a + Kα). A document without an author is one of its own,
    which is no row of `authors`: as in LDA. n_dk are the topics of the tokens of a document. One thread samples.

    Args:
        tokens: corpus; n_topics: K; authors: of its documents; execution: the seed.
        progress: called after each sweep; keeper: keeps states to go on from.

    Raises:
        UsageError: no tokens, or no topic.

    Source: Rosen-Zvi, Griffiths, Steyvers & Smyth (2004), "The Author-Topic Model for Authors and Documents", UAI, section 4.
    """
    options, execution = options or AuthorTopicOptions(), execution or Execution()
    check(tokens, n_topics)
    alpha, eta = prior(options.alpha, n_topics), prior(options.eta, n_topics)
    key = stream_key(execution.seed, "author-topic")
    rows = rows_of_authors(authors, n_topics)
    chain = sample(
        tokens, n_topics, rows, alpha=alpha, eta=eta, sweeps=options.iterations, key=key, progress=progress, keeper=keeper
    )  # fmt: skip
    fit, order = mixture_of(tokens, chain.topics, n_topics, alpha=alpha, eta=eta, trace=chain.trace)
    counts = chain.row_topic[: len(authors.names)].toarray()[:, order].astype(np.float64)
    return replace(fit, numbers={**fit.numbers, "authors": len(authors.names)}, arrays={"authors": counts})


def fit_labeled_lda(
    tokens: TokenTable,
    labels: NameSets,
    options: LabeledLdaOptions | None = None,
    execution: Execution | None = None,
    *,
    progress: Callable[[int], None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit labelled LDA by collapsed Gibbs sampling: a topic for each label, and a document uses those of its labels alone.

        p(z_i = k | others) ∝ (n_dk + α) (n_kw + η) / (n_k + Vη),   k one of the labels of the document or a latent topic

    A document without labels may use every topic. `names` of the fit are the labels, "" for latent topics. One thread samples.

    Args:
        tokens: corpus; labels: of its documents; execution: the seed.
        progress: called after each sweep; keeper: keeps states to go on from.

    Raises:
        UsageError: no tokens; InputError: no labels.

    Source: Ramage, Hall, Nallapati & Manning (2009), "Labeled LDA: A supervised topic model for credit attribution in multi-labeled
    corpora", EMNLP, section 3; latent topics: Ramage, Manning & Dumais (2011), "Partially labeled topic models", KDD.
    """
    options, execution = options or LabeledLdaOptions(), execution or Execution()
    K = len(labels.names) + options.latent
    check(tokens, K)
    alpha, eta = prior(options.alpha, K), prior(options.eta, K)
    rows, key = rows_of_labels(labels, options.latent), stream_key(execution.seed, "labeled-lda")
    chain = sample(
        tokens, K, rows, alpha=alpha, eta=eta, sweeps=options.iterations, key=key, progress=progress, keeper=keeper
    )
    names = (*labels.names, *[""] * options.latent)
    fit, order = mixture_of(tokens, chain.topics, K, alpha=alpha, eta=eta, trace=chain.trace)
    return replace(fit, names=tuple(names[k] for k in order))


@dataclass(frozen=True, slots=True)
class AuthorTopicFitter(ColumnFitter):
    """The author-topic model. authors: of the documents."""

    options: AuthorTopicOptions
    authors: NameSets | None = None

    def take(self, documents: LongArray, terms: LongArray) -> AuthorTopicFitter:
        """Return the fitter with the authors of some of the documents."""
        assert self.authors is not None
        return replace(self, authors=self.authors.take(documents))

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        assert self.authors is not None
        return fit_author_topic(
            tokens, n_topics, self.authors, self.options, execution, progress=progress, keeper=keeper
        )


@dataclass(frozen=True, slots=True)
class LabeledLdaFitter(ColumnFitter):
    """Labelled LDA, whose number of topics follows from the labels of the documents."""

    options: LabeledLdaOptions
    labels: NameSets | None = None

    def take(self, documents: LongArray, terms: LongArray) -> LabeledLdaFitter:
        """Return the fitter with the labels of some of the documents."""
        assert self.labels is not None
        return replace(self, labels=self.labels.take(documents))

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        assert self.labels is not None
        return fit_labeled_lda(tokens, self.labels, self.options, execution, progress=progress, keeper=keeper)

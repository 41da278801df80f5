"""FASTopic: topics, words and documents as vectors in one space, joined by two transport plans.

Parts, in this order:
- Optimal transport with entropy by Sinkhorn's algorithm, and the gradient of what is made of its plan.
- The model: its weights, its fit, and topics of new documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.model import MixtureFit
from nlpkit.topics.base.scores import Keeper, RunningState, resumable
from nlpkit.topics.matrix.plsa import ExpectedCounts
from nlpkit.topics.neural.embedded import EmbeddedFitter, Weights, renumbered
from nlpkit.topics.neural.options import FastopicOptions
from nlpkit.topics.neural.points import as_counts, documents_of

TOLERANCE = 1e-7  # sum of the differences between the mass that topics receive and the mass they are to receive
MOST_ROUNDS = 2000
FAR = 1e100  # scaling of a topic beyond which the kernel is made anew with it


class Transport(NamedTuple):
    """A plan (n, K), the potentials g (K,) of the topics, rounds of Sinkhorn's algorithm, and the sum of the errors of the columns."""

    plan: FloatArray
    potentials: FloatArray
    rounds: int
    error: float


def transport(
    costs: FloatArray, rows: FloatArray, columns: FloatArray, strength: float, start: FloatArray
) -> Transport:
    """Return the plan π (n, K) that moves the mass of rows to columns at least Σ π M - H(π) / α, H(π) = -Σ π (ln π - 1).

        π_ik = exp(f_i + g_k - α M_ik),   Σ_k π_ik = a_i,   Σ_i π_ik = b_k

    Sinkhorn's algorithm scales the rows and the columns of the kernel by turns. The kernel holds the potentials of the columns that
    are known and is 1 at the largest of each row, so that no cost is too high for float64. Rows end exact, columns up to 1e-7.

    Args:
        costs: M (n, K). rows: a (n,), columns: b (K,), positive, with sum 1. strength: α. start: g (K,) to begin with, such as those of
            costs that were nearly the same; the plan does not depend on it.

    Source: Cuturi (2013), "Sinkhorn Distances: Lightspeed Computation of Optimal Transport", NIPS 26; Schmitzer (2019), SIAM Journal on
        Scientific Computing 41(3), for the kernel that holds the potentials.
    """
    potentials, rounds, error = start.copy(), 0, np.inf
    while True:
        kernel = costs * -strength
        kernel += potentials
        kernel -= kernel.max(axis=1, keepdims=True)
        np.exp(kernel, out=kernel)
        v = np.ones(len(columns))
        while True:
            u = rows / (kernel @ v)
            mass = v * (u @ kernel)
            error = float(np.abs(mass - columns).sum())
            if error <= TOLERANCE or rounds == MOST_ROUNDS:
                kernel *= u[:, None]
                kernel *= v
                potentials += np.log(v)
                return Transport(kernel, potentials - potentials.mean(), rounds, error)
            v *= columns / np.maximum(mass, columns / FAR)
            rounds += 1
            if v.max() > FAR or v.min() < 1 / FAR:
                break
        potentials += np.log(v)


class Pulled(NamedTuple):
    """Gradients of a loss by the costs (n, K), and by the masses of the rows (n,) and the columns (K,), up to a constant of all masses."""

    costs: FloatArray
    rows: FloatArray
    columns: FloatArray


def pull_back(plan: FloatArray, weighted: FloatArray, rows: FloatArray, columns: FloatArray, strength: float) -> Pulled:
    """Return the gradients of a loss through a plan, by the implicit function theorem: those of the plan itself, not of its iterations.

    With H = π ∘ ∂L/∂π, λ and μ solve a ∘ λ + π μ = H 1 and π' λ + b ∘ μ = H' 1, a system of K equations once λ is eliminated; then
    ∂L/∂M = α (π ∘ (λ 1' + 1 μ') - H), ∂L/∂a = λ and ∂L/∂b = μ.

    Args:
        plan: π (n, K), whose marginals are rows and columns. weighted: H (n, K), which is overwritten. strength: α.

    Source: Luise, Rudi, Pontil & Ciliberto (2018), "Differential Properties of Sinkhorn Approximation", NeurIPS 31, §4.
    """
    scaled = weighted.sum(axis=1) / rows
    system = np.diag(columns) - plan.T @ (plan / rows[:, None])
    # a constant moves from λ to μ without a change: the least solution
    by_column = np.linalg.lstsq(system, weighted.sum(axis=0) - plan.T @ scaled, rcond=1e-10)[0]
    by_row = scaled - (plan @ by_column) / rows
    weighted -= plan * by_row[:, None]
    weighted -= plan * by_column
    weighted *= -strength
    return Pulled(weighted, by_row, by_column)


# ------------------------------------------------------------------------------------------------------------------------
# FASTopic: topics, words and documents are vectors in one space, and two transport plans say how they belong together.

BETAS, EPSILON = (0.9, 0.999), 1e-8  # of Adam
BLOCK = 4096  # documents at a time
_ALONE = Lock()  # fits of several threads take turns: each sets how many threads BLAS has


@dataclass(frozen=True, slots=True)
class FastopicPoint:
    """Before a step: ln p of the words, per token; costs of the plans of documents and of words; of both, rounds of Sinkhorn's algorithm
    and the sum of the errors of the marginals."""

    epoch: int
    log_likelihood: float
    document_cost: float
    word_cost: float
    rounds: int
    error: float


def fit_fastopic(
    tokens: TokenTable,
    n_topics: int,
    options: FastopicOptions | None = None,
    execution: Execution | None = None,
    *,
    embeddings: Float32Array,
    progress: Callable[..., None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit FASTopic by Adam; `Objective` says what is minimised.

    Each step takes all documents, as in the authors' program. φ is the plan between topics and words times K. θ is as for new documents:
    see `infer_theta`. Products are computed on one thread, sums over the words of a document or the documents of a word on all, each in
    a fixed order: the result does not depend on how many there are. Memory: 4 E + 40 K bytes a document and a word, and 24 a count.

    Args:
        tokens: corpus; documents without tokens have no topic.
        n_topics: K; execution: seed and threads.
        embeddings: (D, E) of the documents; those of other lengths are divided by them.
        progress: called after each step; keeper: keeps states to go on from.

    Raises:
        UsageError: no topic, or more than tokens; or a rate so high that the vectors go beyond all bounds. InputError: fewer than ten
            documents with words.

    Source: Wu, Nguyen, Zhang, Wang & Luu (2024), "FASTopic: Pretrained Transformer is a Fast, Adaptive, Stable, and Transferable Topic
        Model", NeurIPS 37.
    """
    options, execution = options or FastopicOptions(), execution or Execution()
    full, dtm = documents_of(tokens, n_topics)
    documents = unit_rows(embeddings[full])
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "fastopic")))
    weights = start_weights(rng, n_topics, dtm.shape[1], documents.shape[1])
    moments = {f"{name} {n}": np.zeros_like(values) for name, values in weights.items() for n in (1, 2)}
    trace: list[FastopicPoint] = []
    with (
        _ALONE, threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(execution.n_threads(), "fastopic") as pool,
        np.errstate(over="ignore", invalid="ignore"),  # `Objective` refuses what is not finite
    ):  # fmt: skip
        objective = Objective(dtm, documents, options, n_topics, pool)
        arrays: dict[str, np.ndarray] = {**weights, **moments, **objective.potentials}
        for epoch in resumable(options.iterations, RunningState(trace, FastopicPoint, arrays), keeper):
            point, gradients = objective(weights, epoch)
            for name, values in weights.items():
                adam_step(values, gradients[name], moments[f"{name} 1"], moments[f"{name} 2"], epoch, options.rate)
            trace.append(point)
            if progress is not None:
                progress(epoch, point)
        last, _ = objective(weights, options.iterations + 1)
        phi = objective.word_plan.T / objective.word_plan.sum(axis=0)[:, None]
        mass = topic_mass(weights["topics"], documents, options.theta_temp)
        weights = {**weights, "topic_mass": mass}
        theta = _theta(weights, documents, options.theta_temp)
    model, doc_topic, order = as_counts(tokens, full, theta, phi)
    numbers = {
        "log_likelihood_per_token": round(last.log_likelihood, 6),
        "document_cost": round(last.document_cost, 6),
        "word_cost": round(last.word_cost, 6),
        "marginal_error": float(f"{last.error:.2g}"),
        "epochs": len(trace),
        "dimensions": int(documents.shape[1]),
    }
    return MixtureFit(model, doc_topic, trace, numbers, weights=renumbered(weights, order))


def start_weights(rng: np.random.Generator, K: int, V: int, E: int) -> dict[str, Float32Array]:
    """Return the weights that a fit begins with.

    topics (K, E) and words (V, E): normal numbers from -2 to 2, then of length 1; topic_weights (K,) and word_weights (V,): zeros, of
    which the masses of topics and words are the softmax.
    """

    def vectors(n: int) -> Float32Array:
        x = rng.standard_normal((n, E), np.float32)
        while (beyond := np.abs(x) > 2).any():
            x[beyond] = rng.standard_normal(int(beyond.sum()), np.float32)
        return unit_rows(x)

    return {
        "topics": vectors(K),
        "words": vectors(V),
        "topic_weights": np.zeros(K, np.float32),
        "word_weights": np.zeros(V, np.float32),
    }


class Objective:
    """The loss of FASTopic and its gradient, for documents that stay the same.

        L = Σ π M + Σ ψ M' - 1/D Σ_dv n_dv ln Σ_k θ_dk φ_kv,   θ = D π,   φ = K ψ

    π is the plan between documents, each of mass 1/D, and topics, of masses softmax(s); ψ that between topics, each of mass 1/K, and
    words, of masses softmax(r). Costs M, M' are squared distances between vectors, α is dt_alpha for π and tw_alpha for ψ. The first
    two terms are the embedding transport plans of the paper (§3.2), the third its dual semantic-relation reconstruction (§3.3).

    The gradient is that of plans that have converged; the authors' program takes that of at most some hundred iterations, which end at an
    error of .005. Of counts of 0 nothing is computed.
    """

    def __init__(
        self, dtm: CsrMatrix, documents: Float32Array, options: FastopicOptions, K: int, pool: ThreadPoolExecutor
    ) -> None:
        """Take counts (D, V) and vectors (D, E) of the documents."""
        self.documents, self.options = documents, options
        self.counts, self.n_tokens = ExpectedCounts(dtm, pool), float(dtm.sum())
        self.potentials = {"document_potentials": np.zeros(K), "word_potentials": np.zeros(K)}
        self.word_plan: FloatArray = np.zeros((dtm.shape[1], K))  # ψ of the last call, by word

    def __call__(self, weights: Weights, epoch: int) -> tuple[FastopicPoint, dict[str, Float32Array]]:
        """Return the parts of the loss and the gradient by each of the weights."""
        topics, words = weights["topics"], weights["words"]
        D, K = len(self.documents), len(topics)
        each_document, each_topic = np.full(D, 1.0 / D), np.full(K, 1.0 / K)
        of_topics, of_words = softmax(weights["topic_weights"]), softmax(weights["word_weights"])
        document_costs, word_costs = distances(self.documents, topics), distances(words, topics)
        if not np.isfinite(document_costs.sum() + word_costs.sum()):
            raise UsageError(
                f"`rate={self.options.rate:g}`: the vectors diverged in step {epoch - 1}; use a lower rate",
                parameter="rate",
            )
        dt_alpha, tw_alpha = self.options.dt_alpha, self.options.tw_alpha
        of_documents = self._solved("document_potentials", document_costs, each_document, of_topics, dt_alpha)
        of_pairs = self._solved("word_potentials", word_costs, of_words, each_topic, tw_alpha)
        plan, self.word_plan = of_documents.plan, of_pairs.plan
        # with π and ψ in place of θ and φ, every probability is smaller by the same factor, which expected counts do not see
        of_plan, of_word_plan, logs = self.counts(plan, self.word_plan)
        log_likelihood = logs / self.n_tokens + math.log(D) + math.log(K)
        document_costs *= plan
        word_costs *= self.word_plan
        point = FastopicPoint(
            epoch, log_likelihood, float(document_costs.sum()), float(word_costs.sum()),
            of_documents.rounds + of_pairs.rounds, of_documents.error + of_pairs.error,
        )  # fmt: skip
        of_plan /= D
        of_word_plan /= D
        document_costs -= of_plan
        word_costs -= of_word_plan
        by_documents = pull_back(plan, document_costs, each_document, of_topics, dt_alpha)
        by_words = pull_back(self.word_plan, word_costs, of_words, each_topic, tw_alpha)
        near = (plan + by_documents.costs).astype(np.float32)  # ∂L/∂M, of which the plan is the part of Σ π M itself
        far = (self.word_plan + by_words.costs).astype(np.float32)
        by_topic = near.sum(axis=0) + far.sum(axis=0)
        return point, {
            "topics": 2 * (by_topic[:, None] * topics - near.T @ self.documents - far.T @ words),
            "words": 2 * (far.sum(axis=1)[:, None] * words - far @ topics),
            "topic_weights": (of_topics * (by_documents.columns - of_topics @ by_documents.columns)).astype(np.float32),
            "word_weights": (of_words * (by_words.rows - of_words @ by_words.rows)).astype(np.float32),
        }

    def _solved(
        self, name: str, costs: FloatArray, rows: FloatArray, columns: FloatArray, strength: float
    ) -> Transport:
        """Return a plan, from the potentials of the step before, which are replaced."""
        solved = transport(costs, rows, columns, strength, self.potentials[name])
        self.potentials[name][:] = solved.potentials
        return solved


def adam_step(
    values: Float32Array, gradient: Float32Array, mean: Float32Array, square: Float32Array, step: int, rate: float
) -> None:
    """Make step number `step` ≥ 1 of Adam (Kingma & Ba 2015, algorithm 1) in place: of the values and both moments of their gradients."""
    mean += (1 - BETAS[0]) * (gradient - mean)
    square += (1 - BETAS[1]) * (gradient * gradient - square)
    scale = np.sqrt(square / np.float32(1 - BETAS[1] ** step)) + np.float32(EPSILON)
    values -= np.float32(rate / (1 - BETAS[0] ** step)) * mean / scale


def distances(rows: Float32Array, topics: Float32Array) -> FloatArray:
    """Return squared Euclidean distances (n, K) between vectors (n, E) and (K, E)."""
    squares = np.einsum("ne,ne->n", rows, rows)[:, None] + np.einsum("ke,ke->k", topics, topics)
    return np.asarray(np.maximum(squares - 2 * (rows @ topics.T), 0), np.float64)


def unit_rows(vectors: Float32Array) -> Float32Array:
    """Return vectors (n, E) divided by their lengths; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def softmax(x: Float32Array) -> FloatArray:
    """Return the softmax (n,) of numbers (n,), in float64; the least is above 0."""
    shares = np.exp(np.maximum(x.astype(np.float64) - float(x.max()), -500.0))
    return np.asarray(shares / shares.sum())


def topic_mass(topics: Float32Array, documents: Float32Array, temperature: float) -> Float32Array:
    """Return ln Σ_d exp(-‖x_d - t_k‖² / τ) (K,) over the documents of the fit, of length 1."""
    mass = np.full(len(topics), -np.inf)
    for begin in range(0, len(documents), BLOCK):
        near = distances(documents[begin : begin + BLOCK], topics) / -temperature
        mass = np.logaddexp(mass, np.logaddexp.reduce(near, axis=0))
    return mass.astype(np.float32)


def infer_theta(weights: Weights, embeddings: Float32Array, temperature: float) -> Float32Array:
    """Return θ (D, K) of documents by their embeddings (D, E), as in the authors' program.

    θ_dk ∝ exp(-‖x_d - t_k‖² / τ) / Σ_d' exp(-‖x_d' - t_k‖² / τ), d' over the documents of the fit.
    """
    with threadpool_limits(1, user_api="blas"):  # so that the number of threads changes no digit
        return _theta(weights, unit_rows(embeddings), temperature)


def _theta(weights: Weights, documents: Float32Array, temperature: float) -> Float32Array:
    theta = np.empty((len(documents), len(weights["topics"])), np.float32)
    for begin in range(0, len(documents), BLOCK):
        block = documents[begin : begin + BLOCK]
        near = distances(block, weights["topics"]) / -temperature - weights["topic_mass"]
        near -= near.max(axis=1, keepdims=True)
        np.exp(near, out=near)
        theta[begin : begin + BLOCK] = near / near.sum(axis=1, keepdims=True)
    return theta


@dataclass(frozen=True, slots=True)
class FastopicFitter(EmbeddedFitter):
    """FASTopic whose numbers of topics are compared, and that is fitted."""

    options: FastopicOptions

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        assert self.embeddings is not None
        return fit_fastopic(
            tokens, n_topics, self.options, execution, embeddings=self.embeddings, progress=progress, keeper=keeper
        )

    def width(self, weights: Weights) -> int:
        """Return E, the dimensions of the embeddings that the weights are for."""
        return int(weights["topics"].shape[1])

    def theta(self, weights: Weights, dtm: CsrMatrix, embeddings: Float32Array | None) -> Float32Array:
        """Return θ (D, K) of new documents by their embeddings."""
        assert embeddings is not None
        return infer_theta(weights, embeddings, self.options.theta_temp)

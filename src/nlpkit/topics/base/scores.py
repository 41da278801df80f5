"""The scores of fits with different numbers of topics, and the steps in which these fits are made.

Parts, in this order:
- The steps of a fit, whose state can be kept between two of them and taken up again.
- Fits of one corpus with different numbers of topics, and what they are judged by on documents that were held out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import scipy
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.metrics.topics.coherence import Postings, npmi_by_document, postings
from nlpkit.metrics.topics.diversity import exclusivity, unique_share
from nlpkit.platform.options import Execution
from nlpkit.platform.parallel import result_of
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base import kernels as gibbs_infer
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.by_term import strongest, words_of
from nlpkit.topics.base.heldout import hold_out, split_documents
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, main_topics, select_documents
from nlpkit.topics.base.topic_words import share_in_topic
from nlpkit.weights.dtm import count_terms

if TYPE_CHECKING:
    from nlpkit.topics.base.guide import Guidance

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class StepState:
    """What a fit is after a step: arrays, the state of its random numbers, and the points of its trace, each as a dictionary."""

    step: int
    arrays: Arrays
    rng: Mapping[str, Any] | None
    trace: Sequence[Mapping[str, Any]]


class Keeper(Protocol):
    """Keeps states of a fit, and knows the one to go on from."""

    def earlier(self) -> StepState | None:
        """Return the state to go on from, None to begin."""

    def after(self, step: int, last: int, state: Callable[[], StepState]) -> None:
        """Be told that a step is done, of at most `last`, and keep the state where it is time; raises KeyboardInterrupt to end the fit."""


@dataclass(frozen=True, slots=True)
class RunningState:
    """What changes from step to step in a fit.

    arrays: those that are changed in place. replaced: returns those that are not, `restore` puts them back. trace: points of the type
    `point`. rng: the generator that steps draw from; None for fits whose draws depend on the step alone, or that draw nothing.
    """

    trace: list[Any]
    point: Callable[..., Any]
    arrays: Arrays = field(default_factory=dict)
    rng: np.random.Generator | None = None
    replaced: Callable[[], Arrays] = dict
    restore: Callable[[Arrays], None] = lambda arrays: None

    def now(self, step: int) -> StepState:
        """Return the state after a step."""
        rng = None if self.rng is None else _plain(self.rng.bit_generator.state)
        return StepState(step, {**self.arrays, **self.replaced()}, rng, [asdict(point) for point in self.trace])

    def resume(self, state: StepState) -> None:
        """Become a state that was kept.

        Raises:
            ValueError, KeyError: it is not one of such a fit.
        """
        for name, values in self.arrays.items():
            if state.arrays[name].shape != values.shape or state.arrays[name].dtype != values.dtype:
                raise ValueError(f"{name} is {state.arrays[name].dtype}{state.arrays[name].shape}")
        for name, values in self.arrays.items():
            values[...] = state.arrays[name]
        self.restore(state.arrays)
        if self.rng is not None:
            assert state.rng is not None
            self.rng.bit_generator.state = dict(state.rng)
        self.trace[:] = [self.point(**point) for point in state.trace]


def resumable(last: int, state: RunningState, keeper: Keeper | None) -> Iterator[int]:
    """Yield the numbers of the steps from the first, or that after a state that was kept, to the last."""
    earlier = None if keeper is None else keeper.earlier()
    if earlier is not None:
        state.resume(earlier)
    for step in range(1 if earlier is None else earlier.step + 1, last + 1):
        yield step
        if keeper is not None:
            keeper.after(step, last, lambda step=step: state.now(step))  # type: ignore[misc]


def _plain(value: Any) -> Any:
    """Return a state of a generator with lists in place of arrays."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


# ------------------------------------------------------------------------------------------------------------------------
# Fits of one corpus with different numbers of topics, and what they are judged by on documents that were held out.

TOP_TERMS = 10
SMALL_TOPIC = 10  # documents
FEWEST_DOCS = 20
LEAST_HELD_OUT = 50  # documents, where a third of the corpus is as many
GROUPS = 100  # of held-out documents
BLOCK = 1024  # held-out documents whose theta is there at a time
TOKENS_AT_ONCE = 50_000_000  # of all chains in memory together


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of one fit.

    log_likelihood (G,): natural logarithm of the probability of the second halves of the held-out documents, by group of
    documents; n_tokens (G,): tokens in these. npmi, diversity, exclusivity: of the ten most probable terms of each topic,
    means over topics, NaN where no topic has two. small_topics: share of topics that are
    the main topic of fewer than ten of the fitted documents. top_terms (K, 10): their ids in the corpus, -1 for none.
    """

    log_likelihood: tuple[float, ...]
    n_tokens: tuple[int, ...]
    npmi: float
    diversity: float
    exclusivity: float
    small_topics: float
    top_terms: tuple[tuple[int, ...], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, from which `from_dict` makes the same scores."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scores:
        """Return the scores of a dictionary that has been through JSON, where NaN is null and tuples are lists."""
        plain = {
            name: math.nan if values[name] is None else values[name] for name in ("npmi", "diversity", "exclusivity")
        }
        return cls(
            tuple(values["log_likelihood"]),
            tuple(values["n_tokens"]),
            small_topics=values["small_topics"],
            top_terms=tuple(tuple(row) for row in values["top_terms"]),
            **plain,
        )


@dataclass(frozen=True, slots=True)
class HeldOutCorpus:
    """The documents that are fitted, with the terms they have, and the halves of those held out, without other words.

    documents: rows in the corpus of those that are fitted. group (H,): of each held-out document, at random, alike in size.
    vocabulary (V',): ids of the terms in the whole corpus, whose document lists are `reference`.
    """

    train: TokenTable
    documents: LongArray
    guidance: Guidance | None
    weights: FloatArray | None
    observed: TokenTable
    scored: TokenTable
    group: LongArray
    vocabulary: LongArray
    reference: Postings
    seed: int

    @property
    def n_tokens(self) -> tuple[int, ...]:
        """Tokens that are scored, by group (G,)."""
        return tuple(np.bincount(self.group, np.diff(self.scored.offsets)).astype(int).tolist())


def split_corpus(
    tokens: TokenTable, share: float, seed: int, guidance: Guidance | None, weights: FloatArray | None
) -> HeldOutCorpus:
    """Hold out a share of the documents of two tokens or more; at least 50 of them, or a third where 50 are more.

    Args:
        guidance, weights: of all tokens.

    Raises:
        UsageError: fewer than 20 such documents.
    """
    lengths = np.diff(tokens.offsets)
    usable = np.flatnonzero(lengths >= 2)
    if len(usable) < FEWEST_DOCS:
        raise UsageError(
            f"comparing numbers of topics needs at least {FEWEST_DOCS} documents of two words or more, because some are held "
            f"out; found {len(usable)} among {tokens.n_docs}; give one number of topics, `k=N`"
        )
    share = max(share, min(LEAST_HELD_OUT, len(usable) // 3) / len(usable))
    held = usable[hold_out(len(usable), share, seed)]
    fitted = lengths > 0
    fitted[held] = False
    documents = np.flatnonzero(fitted)
    train, test = select_documents(tokens, documents), select_documents(tokens, held)
    vocabulary = np.unique(train.term_ids).astype(np.int64)
    number = np.full(tokens.n_terms, -1, np.int32)
    number[vocabulary] = np.arange(len(vocabulary), dtype=np.int32)
    terms = tuple(tokens.terms[v] for v in vocabulary)
    there = number[test.term_ids] >= 0
    offsets = np.concatenate([[0], np.cumsum(there)])[test.offsets].astype(np.int64)
    if guidance is not None:
        kept = number[guidance.term_ids] >= 0
        guidance = replace(guidance, term_ids=number[guidance.term_ids[kept]], topics=guidance.topics[kept])
    observed, scored = split_documents(TokenTable(offsets, number[test.term_ids[there]], terms), seed)
    if not observed.n_docs:
        raise UsageError(
            f"none of the {len(held)} held-out documents has two words of the others, so numbers of topics cannot be compared; "
            "give one, `k=N`"
        )
    rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "groups")))
    return HeldOutCorpus(
        train=TokenTable(train.offsets, number[train.term_ids], terms),
        documents=documents,
        guidance=guidance,
        weights=None if weights is None else weights[np.repeat(fitted, lengths)],
        observed=observed,
        scored=scored,
        group=rng.permutation(observed.n_docs) % GROUPS,
        vocabulary=vocabulary,
        reference=postings(count_terms(tokens)),
        seed=seed,
    )


class _UnwantedError(Exception):
    """Nobody waits for the fit any longer."""


class Fitted(Protocol):
    """A model that was fitted, and n_dk (D, K) of its documents."""

    @property
    def model(self) -> MixtureModel:
        """phi and its priors."""

    @property
    def doc_topic(self) -> CsrMatrix:
        """Counts of which theta is made."""

    @property
    def arrays(self) -> Mapping[str, FloatArray]:
        """Further parameters that inference needs."""

    @property
    def weights(self) -> Mapping[str, Float32Array]:
        """Weights of a neural network, where the model has one."""


class Fitter(Protocol):
    """A kind of model whose numbers of topics are compared."""

    def fit(self, corpus: HeldOutCorpus, n_topics: int, execution: Execution, progress: Callable[..., None]) -> Fitted:
        """Fit the documents that are not held out. progress: to be called after each step; what it raises ends the fit."""

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model whose phi scores held-out words, which gives each a probability, and what infers their topics."""


class TokenFitter(ABC):
    """A kind of model whose documents that are not held out are fitted as any others.

    counts_tokens: whether held-out documents can be scored token by token, as those of LDA.
    """

    __slots__ = ()
    counts_tokens: ClassVar[bool] = False

    def take(self, documents: LongArray, terms: LongArray) -> Self:
        """Return the fitter with what it knows, beside counts, of some of the documents and terms: nothing, for most kinds."""
        return self

    def check(self, fit: MixtureFit) -> None:  # noqa: B027
        """Look at a fit that was read from files, whose arrays have the shapes that they should have. Raises ValueError."""

    @abstractmethod
    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""

    def fit(
        self, corpus: HeldOutCorpus, n_topics: int, execution: Execution, progress: Callable[..., None]
    ) -> MixtureFit:
        """Fit the documents that are not held out."""
        return self.take(corpus.documents, corpus.vocabulary).fit_tokens(corpus.train, n_topics, execution, progress)


def score_fits(
    corpus: HeldOutCorpus,
    jobs: Sequence[tuple[int, int]],
    fitter: Fitter,
    *,
    threads: int,
    known: Mapping[tuple[int, int], Scores],
    done: Callable[[int, int, Scores], None] | None,
) -> list[Scores]:
    """Return the scores of fits (K, seed), in their order, several at a time; an interrupt ends them after their sweep.

    Args:
        fitter: makes a fit with K topics.
        threads: of all fits together.
        known: scores that are there already; done: called with those that are not, in their order, in the caller's thread.
    """
    new = [job for job in jobs if job not in known]
    at_once = max(1, min(threads, len(new), TOKENS_AT_ONCE // max(len(corpus.train.term_ids), 1)))
    stop = Event()

    def check(*_: Any) -> None:
        if stop.is_set():
            raise _UnwantedError

    def one(job: tuple[int, int]) -> Scores:
        check()
        K, seed = job
        execution = Execution(seed, max(1, threads // at_once))
        fit = fitter.fit(corpus, K, execution, check)
        return _score(fit, corpus, *fitter.inference(fit, corpus.seed, execution.n_threads()))

    scores = dict(known)
    with ThreadPoolExecutor(at_once, thread_name_prefix="nlpkit") as pool:
        try:  # from the first fit on: an interrupt between two of them would else wait for all sweeps
            futures = [pool.submit(one, job) for job in new]
            for job, future in zip(new, futures, strict=True):
                scores[job] = result_of(future)
                if done is not None:
                    done(*job, scores[job])
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    return [scores[job] for job in jobs]


def _score(fit: Fitted, corpus: HeldOutCorpus, smooth: MixtureModel, infer: Inference) -> Scores:
    model, main = fit.model, main_topics(fit.doc_topic, fit.model.alpha).topic
    size = np.bincount(main[main >= 0], minlength=model.n_topics)
    top = np.full((model.n_topics, TOP_TERMS), -1, np.int32)
    counts = model.topic_term
    for k, terms in enumerate(top):
        row = slice(counts.indptr[k], counts.indptr[k + 1])
        most = strongest(counts.data[row], counts.indices[row], TOP_TERMS)
        terms[: len(most)] = counts.indices[row][most]
    in_corpus = np.where(top >= 0, corpus.vocabulary[top], -1).astype(np.int32)
    return Scores(
        log_likelihood=tuple(completion(smooth, corpus, infer).tolist()),
        n_tokens=corpus.n_tokens,
        npmi=mean_of_known(npmi_by_document(in_corpus, corpus.reference).tolist()),
        diversity=unique_share(top),
        exclusivity=mean_of_known(exclusivity(top, share_in_topic(top, counts)).tolist()),
        small_topics=float(np.mean(size < SMALL_TOPIC)),
        top_terms=tuple(tuple(row) for row in in_corpus.tolist()),
    )


def completion(model: MixtureModel, corpus: HeldOutCorpus, infer: Inference) -> FloatArray:
    """Return the log-probability of the second halves of the held-out documents, by group (G,); as `perplexity` has it."""
    words, log_probs = words_of(model), np.zeros(int(corpus.group.max()) + 1)
    for begin in range(0, len(corpus.group), BLOCK):
        rows = slice(begin, begin + BLOCK + 1)
        seen, offsets = corpus.observed.offsets[rows], corpus.scored.offsets[rows]
        theta = infer(seen, corpus.observed.term_ids)
        log_p = np.empty(offsets[-1] - offsets[0])
        gibbs_infer.log_probs(theta, offsets, corpus.scored.term_ids, words, log_p)
        log_probs += np.bincount(
            np.repeat(corpus.group[begin : begin + BLOCK], np.diff(offsets)), log_p, len(log_probs)
        )
    return log_probs


def stability(top_terms: Sequence[IntArray]) -> float:
    """Return how alike the topics of several fits are, in [0, 1]: mean over pairs of fits and matched topics of |A ∩ B| / n.

    A and B are the top terms of two topics and n the larger number of them. Topics of two fits are matched one to one for
    the highest sum. NaN for one fit.

    Args:
        top_terms: (K, n) term ids of each fit, -1 for none.
    """
    width = max((int(terms.max(initial=-1)) for terms in top_terms), default=-1) + 1
    sets = []
    for terms in top_terms:
        rows, columns = np.nonzero(terms >= 0)
        sets.append(sparse.csr_array((np.ones(len(rows)), (rows, terms[rows, columns])), shape=(len(terms), width)))
    similarities = []
    for a, b in combinations(sets, 2):
        size = np.maximum(np.diff(a.indptr)[:, None], np.diff(b.indptr))
        alike = (a @ b.T).toarray() / np.maximum(size, 1)
        similarities.append(float(alike[scipy.optimize.linear_sum_assignment(alike, maximize=True)].mean()))
    return mean_of_known(similarities)


def mean_of_known(values: Sequence[float] | FloatArray) -> float:
    """Return the mean of what is not NaN, NaN where there is nothing."""
    known = [v for v in values if not math.isnan(v)]
    return math.fsum(known) / len(known) if known else math.nan

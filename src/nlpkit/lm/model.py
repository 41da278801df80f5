"""An n-gram language model: probabilities of words and sentences, and texts drawn from it.

Parts, in this order:
- An n-gram language model: the probability of each word of a sentence, and of each word that could come next.
- Text from a language model: the likeliest continuations, or ones that are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from nlpkit.lm.options import NgramModelOptions
from nlpkit.lm.smoothing import Smoothed, backoff, kneser_ney, witten_bell
from nlpkit.lm.trie import END_ID, SPECIAL, START_ID, UNKNOWN_ID, Trie
from nlpkit.platform.options import Param, options
from nlpkit.platform.runs.scratch import Scratch
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class ScoredWords:
    """The words of sentences and their ends, one behind the other (N + S,).

    log_prob: natural logarithms, -inf where the model gives probability 0. unknown: words that the model does not have. length: words of
    the n-gram that was used, its last word included. offsets (S + 1,): of each sentence.
    """

    log_prob: FloatArray
    unknown: BoolArray
    length: IntArray
    offsets: LongArray


@dataclass(frozen=True)
class NgramModel:
    """Counts of n-grams, and what smoothing made of them.

    words (V,): <unk>, <s>, </s>, then the others. counts (T,): of each node of the trie, None for a model that was read from an ARPA file.
    smoothed: None where the counts are all there is (add-k, mle).
    """

    options: NgramModelOptions
    words: Sequence[str]
    trie: Trie
    counts: IntArray | None
    smoothed: Smoothed | None

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each word."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def _after(self) -> FloatArray:
        """How often something follows each context (C,)."""
        assert self.counts is not None
        before = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        return np.diff(before[self.trie.starts]).astype(np.float64)

    @property
    def n_choices(self) -> int:
        """The words that can come next: all but <s>, and but <unk> in a closed vocabulary."""
        return len(self.words) - 1 - self.options.closed

    def encode(self, sentences: Sequence[Sequence[str]]) -> tuple[LongArray, IntArray]:
        """Return offsets (S + 1,) and word ids of sentences; a word that the model does not have is <unk>, its markers are unknown, too."""
        known = {word: i for word, i in self.ids.items() if i >= len(SPECIAL)}
        offsets = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
        return offsets, np.array([known.get(w, UNKNOWN_ID) for s in sentences for w in s], np.int32)

    def score(self, offsets: LongArray, words: IntArray) -> ScoredWords:
        """Return the probability of each word of sentences, and of their ends.

        Args:
            offsets (S + 1,) of words (N,), ids; <unk> for those that are unknown.
        """
        closed = self.options.closed
        nodes, starts = self.trie.look_up(offsets, np.where((words == UNKNOWN_ID) & closed, -1, words).astype(np.int32))
        log_prob = self._by_counts(nodes, starts) if self.smoothed is None else self._by_backoff(nodes)
        predicted = ~starts
        length = np.where(nodes >= 0, np.arange(1, nodes.shape[1] + 1), 0).max(axis=1)
        last = nodes[predicted, 0]
        lengths = np.diff(offsets) + 1
        return ScoredWords(
            log_prob[predicted], (last == UNKNOWN_ID) | (last < 0), length[predicted].astype(np.int32),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        )  # fmt: skip

    def _by_backoff(self, nodes: LongArray) -> FloatArray:
        """Return log p of each row: of the longest n-gram that is there, times the weights of the longer contexts that are."""
        assert self.smoothed is not None
        prob, weight = self.smoothed.log_prob, self.smoothed.log_backoff
        result = np.where(nodes[:, 0] >= 0, prob[np.maximum(nodes[:, 0], 0)], -np.inf)
        for m in range(1, nodes.shape[1]):
            context = np.full(len(nodes), -1, np.int64)
            context[1:] = nodes[:-1, m - 1]
            context[nodes[:, 0] == START_ID] = -1
            there = np.where(context >= 0, weight[np.clip(context, 0, len(weight) - 1)], 0.0)
            result = np.where(nodes[:, m] >= 0, prob[np.maximum(nodes[:, m], 0)], result + there)
        return result

    def _by_counts(self, nodes: LongArray, starts: BoolArray) -> FloatArray:
        """Return log (n(c w) + k) / (n(c) + k V) of each row, with as many words before as the order or the sentence has."""
        assert self.counts is not None
        k, n = self.options.added(), self.trie.order
        position = np.arange(len(nodes)) - np.maximum.accumulate(np.where(starts, np.arange(len(nodes)), 0))
        m = np.minimum(position, n - 1)  # words of the context
        rows = np.arange(len(nodes))
        node = nodes[rows, m]
        context = np.where(m > 0, nodes[np.maximum(rows - 1, 0), np.maximum(m - 1, 0)], -1)
        words = self.counts[self.trie.level(1)]
        all_words = float(words.sum(dtype=np.int64) - words[START_ID])
        total = np.where(context >= 0, self._after[np.maximum(context, 0)] if n > 1 else 0.0, 0.0)
        total = np.where(m == 0, all_words, total)
        count = np.where(node >= 0, self.counts[np.maximum(node, 0)], 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            prob = (count + k) / (total + k * self.n_choices)
        if self.options.closed:
            prob[nodes[:, 0] < 0] = 0.0
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.nan_to_num(prob)))

    def next_words(self, context: Sequence[int]) -> FloatArray:
        """Return the probability of each word (V,) after others, ids that begin with that of <s>; it sums to 1 unless mle has none."""
        trie, n = self.trie, self.trie.order
        tail = list(context)[-(n - 1) :] if n > 1 else []
        nodes = [self._node(tail[i:]) for i in range(len(tail) - 1, -1, -1)]  # of the last word, the last two …
        if self.smoothed is None:
            return self._next_by_counts(nodes[-1] if nodes else None)
        result = np.exp(self.smoothed.log_prob[trie.level(1)])
        result[START_ID] = 0.0
        for node in nodes:
            if node < 0:
                break
            inside = slice(int(trie.starts[node]), int(trie.starts[node + 1]))
            result *= np.exp(self.smoothed.log_backoff[node])
            result[trie.words[inside]] = np.exp(self.smoothed.log_prob[inside])
        return result

    def _next_by_counts(self, node: int | None) -> FloatArray:
        assert self.counts is not None
        counts = np.zeros(len(self.words))
        if node is None:
            counts[:] = self.counts[self.trie.level(1)]
        elif node >= 0:
            inside = slice(int(self.trie.starts[node]), int(self.trie.starts[node + 1]))
            counts[self.trie.words[inside]] = self.counts[inside]
        counts += self.options.added()
        counts[START_ID] = 0.0
        if self.options.closed:
            counts[UNKNOWN_ID] = 0.0
        return np.asarray(counts / max(counts.sum(), 1e-300))

    def _node(self, words: Sequence[int]) -> int:
        node = words[0]
        for word in words[1:]:
            if not 0 <= node < len(self.trie.starts) - 1:
                return -1
            low, high = self.trie.starts[node], self.trie.starts[node + 1]
            at = low + int(np.searchsorted(self.trie.words[low:high], word))
            node = int(at) if at < high and self.trie.words[at] == word else -1
        return node if node < len(self.trie.starts) - 1 else -1


def fit(
    options: NgramModelOptions, words: Sequence[str], trie: Trie, counts: IntArray, scratch: Scratch | None = None
) -> NgramModel:
    """Return the model of counted n-grams. scratch: where what does not fit into memory is kept."""
    smoothed = None
    if options.smoothing == "kneser-ney":
        smoothed = kneser_ney(trie, counts, discount=options.discount, closed=options.closed, scratch=scratch)
    elif options.smoothing == "witten-bell":
        smoothed = witten_bell(trie, counts, closed=options.closed, scratch=scratch)
    elif options.smoothing == "backoff":
        smoothed = backoff(trie, counts, discount=options.discount, closed=options.closed, scratch=scratch)
    return NgramModel(options, words, trie, counts, smoothed)


@dataclass(frozen=True, slots=True)
class Perplexity:
    """How well a model predicts sentences.

    perplexity: exp(-1/N Σ log p) over all N words and ends of sentences (lecture), in a closed vocabulary over those that the
    model has; without_unknown: over these in any case. n_words: N; n_unknown: words that the model does not have; n_impossible:
    words that count and have probability 0.
    """

    perplexity: float
    without_unknown: float
    n_words: int
    n_sentences: int
    n_unknown: int
    n_impossible: int


class PerplexitySums:
    """The perplexity of sentences that come in parts. closed: whether the vocabulary is."""

    def __init__(self, *, closed: bool) -> None:
        self.closed = closed
        self._every = self._known = 0.0
        self._words = self._sentences = self._unknown = self._impossible = 0

    def add(self, scored: ScoredWords) -> None:
        """Take in sentences."""
        known = scored.log_prob[~scored.unknown]
        self._every += float(scored.log_prob.sum())
        self._known += float(known.sum())
        self._words += len(scored.log_prob)
        self._sentences += len(scored.offsets) - 1
        self._unknown += int(scored.unknown.sum())
        self._impossible += int(np.isneginf(known if self.closed else scored.log_prob).sum())

    def result(self) -> Perplexity:
        """Return the perplexity of all; NaN of nothing."""
        known = _perplexity(self._known, self._words - self._unknown)
        every = known if self.closed else _perplexity(self._every, self._words)
        return Perplexity(every, known, self._words, self._sentences, self._unknown, self._impossible)


def _perplexity(log_prob: float, n: int) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(-log_prob / n)) if n else float("nan")


# ------------------------------------------------------------------------------------------------------------------------
# Text from a language model: the likeliest continuations, or ones that are drawn.

DRAWN = ("sample", "top-k", "top-p", "temperature")
_DRAWN = tuple(f"decode={way}" for way in DRAWN)
DECODE = (*DRAWN, "greedy", "beam")
TOP_K, TOP_P = 50, 0.9  # of `decode=top-k` and `decode=top-p` without a number


@options
class GenerateOptions:
    """How texts are continued.

    Raises:
        UsageError: a value that is not known, or one that the way of decoding does not use.
    """

    PANEL: ClassVar[str] = "Generation"

    prompt: Annotated[str, Param("Words at the start of every text.", metavar="TEXT")] = ""
    decode: Annotated[
        str,
        Param(
            "How to choose words: sample (at random), top-k, top-p or temperature (at random within that limit), "
            "greedy (the most probable) or beam (keep several candidates).",
            choices=DECODE,
        ),
    ] = "sample"
    texts: Annotated[int, Param("Number of texts.", metavar="N", min=1)] = 5
    max_words: Annotated[int, Param("Maximum number of words of a text, without the prompt.", metavar="N", min=1)] = 50
    temperature: Annotated[
        float,
        Param(
            "sample: below 1 favours probable words, above 1 rare ones. 0 is the same as `decode=greedy`.",
            min=0.01,
            needs=_DRAWN,
        ),
    ] = 1.0
    top_k: Annotated[
        int | None, Param("sample: draw from the N most probable words only.", metavar="N", min=1, needs=_DRAWN)
    ] = None
    top_p: Annotated[
        float | None,
        Param(
            "sample: draw only from the most probable words that together have this probability.",
            metavar="SHARE",
            min=0,
            max=1,
            needs=_DRAWN,
        ),
    ] = None
    beams: Annotated[int, Param("beam: number of candidate texts kept at each word.", metavar="N", min=1)] = 8

    @property
    def drawn(self) -> bool:
        """Whether words are drawn."""
        return self.decode in DRAWN

    @property
    def bounds(self) -> tuple[int | None, float | None]:
        """Return top-k and top-p as they are in force."""
        top_k = TOP_K if self.decode == "top-k" and self.top_k is None else self.top_k
        top_p = TOP_P if self.decode == "top-p" and self.top_p is None else self.top_p
        return top_k, top_p


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """words: ids, without the prompt; log_prob: natural logarithm of their probability, and of the end; ended: whether there is one."""

    words: tuple[int, ...]
    log_prob: float
    ended: bool


def generate(model: NgramModel, prompt: Sequence[int], options: GenerateOptions, *, seed: int) -> list[GeneratedText]:
    """Return texts that begin with a prompt (word ids); <unk> is never written.

    Holtzman et al. (2020) for top-p, Fan et al. (2018) for top-k. A draw depends on the seed and the number of the text alone.
    """
    context = [START_ID, *prompt]
    if options.decode == "beam":
        return _beam(model, context, options)
    if options.decode == "greedy":
        return [_one(model, context, options, None)]
    return [_one(model, context, options, np.random.default_rng([seed, i])) for i in range(options.texts)]


def choices(prob: FloatArray, options: GenerateOptions) -> FloatArray:
    """Return the probabilities (V,) from which a word is drawn; ties at a bound go to the lower id."""
    weight = prob.copy()
    weight[UNKNOWN_ID] = 0.0
    order = np.argsort(-weight, kind="stable")
    top_k, top_p = options.bounds
    if top_k is not None:
        weight[order[top_k:]] = 0.0
    if top_p is not None:
        reached = np.cumsum(weight[order]) / max(weight.sum(), 1e-300)
        weight[order[1 + int(np.searchsorted(reached, top_p)) :]] = 0.0
    top = weight.max()
    if top > 0:
        weight = np.where(weight > 0, (weight / top) ** (1 / options.temperature), 0.0)
    total = weight.sum()
    return np.asarray(weight / total if total > 0 else weight)


def _one(
    model: NgramModel, context: list[int], options: GenerateOptions, rng: np.random.Generator | None
) -> GeneratedText:
    words, log_prob = list(context), 0.0
    for _ in range(options.max_words):
        prob = model.next_words(words)
        weight = choices(prob, options)
        if weight.sum() == 0:
            return GeneratedText(tuple(words[len(context) :]), log_prob, False)
        if rng is None:
            word = int(weight.argmax())
        else:
            word = int(np.searchsorted(np.cumsum(weight), rng.random(), side="right"))
            word = min(word, int(np.flatnonzero(weight)[-1]))
        log_prob += float(np.log(prob[word]))
        if word == END_ID:
            return GeneratedText(tuple(words[len(context) :]), log_prob, True)
        words.append(word)
    return GeneratedText(tuple(words[len(context) :]), log_prob, False)


def _beam(model: NgramModel, context: list[int], options: GenerateOptions) -> list[GeneratedText]:
    """Return the likeliest texts; those that ended compete with those that go on by the probability of all their words."""
    width = max(options.beams, options.texts)
    going: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    ended: list[tuple[float, tuple[int, ...]]] = []
    for _ in range(options.max_words):
        longer: list[tuple[float, tuple[int, ...]]] = []
        for log_prob, words in going:
            prob = model.next_words([*context, *words])
            prob[UNKNOWN_ID] = 0.0
            best = np.argsort(-prob, kind="stable")[: width + 1]
            longer += [(log_prob + float(np.log(prob[w])), (*words, int(w))) for w in best if prob[w] > 0]
        longer.sort(key=lambda one: (-one[0], one[1]))
        ended += [(p, words[:-1]) for p, words in longer[: 2 * width] if words[-1] == END_ID]
        ended.sort(key=lambda one: (-one[0], one[1]))
        going = [one for one in longer if one[1][-1] != END_ID][:width]
        enough = len(ended) >= options.texts and (not going or ended[options.texts - 1][0] >= going[0][0])
        if enough or not going:
            break
    results = [GeneratedText(words, p, True) for p, words in ended[: options.texts]]
    results += [GeneratedText(words, p, False) for p, words in going[: options.texts - len(results)]]
    return results

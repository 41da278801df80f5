"""Text from a language model: the likeliest continuations, or ones that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from nlpkit.lm.model import NgramModel
from nlpkit.lm.trie import END_ID, START_ID, UNKNOWN_ID
from nlpkit.parameters import Param, options
from nlpkit.types import FloatArray

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

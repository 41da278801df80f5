"""Small models of sentences that are lists of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nlpkit.lm.counting import NgramCounter
from nlpkit.lm.model import NgramModel, Perplexity, PerplexitySums, fit
from nlpkit.lm.options import NgramModelOptions
from nlpkit.lm.trie import SPECIAL

SAM = [s.split() for s in ("I am Sam", "Sam I am", "I do not like ham and eggs")]


def model_of(sentences: Sequence[Sequence[str]], parts: int = 1, **settings: Any) -> NgramModel:
    """Return the model of sentences, counted in so many parts."""
    options = NgramModelOptions(**settings)
    words = [*SPECIAL, *dict.fromkeys(w for s in sentences for w in s)]
    ids = {word: i for i, word in enumerate(words)}
    counter = NgramCounter(options.order, len(words))
    for part in np.array_split(np.arange(len(sentences)), parts):
        some = [sentences[i] for i in part]
        offsets = np.cumsum([0, *map(len, some)]).astype(np.int64)
        counter.add(offsets, np.array([ids[w] for s in some for w in s], np.int32))
    return fit(options, words, *counter.finish())


def perplexity_of(model: NgramModel, sentences: Sequence[Sequence[str]]) -> Perplexity:
    """Return the perplexity of sentences."""
    sums = PerplexitySums(closed=model.options.closed)
    sums.add(model.score(*model.encode(sentences)))
    return sums.result()


def prob(model: NgramModel, context: str, word: str) -> float:
    """Return p(word | context), which begins with a sentence only where it says <s>."""
    ids = [model.ids.get(w, 0) for w in context.split()]
    return float(model.next_words(ids)[model.ids[word]])

"""Knowledge given to LDA before it starts: seed words, fixed topics, weights of tokens.

Seed words and fixed topics are documents beside the corpus whose tokens have their topics and keep them: pseudo-counts. A seed
word with n pseudo-counts in topic k has the prior η + n there instead of η (as tomotopy's set_word_prior, in counts).

Parts, in this order:
- Seed words, fixed topics and weights, as a chain takes them.
- Seed words of topics from a TOML file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.types import FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.model import MixtureModel


@dataclass(frozen=True, slots=True)
class Seeds:
    """Seed words of one topic: words, each may hold * ? [abc]; weight = pseudo-counts per occurrence in the corpus."""

    name: str
    words: tuple[str, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Guidance:
    """Pseudo-counts of the first topics: term_ids, topics (M,) int32; how many topics are fixed; which seed words were found.

    names: of the first topics, "" for none; missing: seed words that match no term.
    """

    term_ids: IntArray
    topics: IntArray
    n_fixed: int
    names: tuple[str, ...]
    missing: tuple[str, ...] = ()


def seed_counts(seeds: Sequence[Seeds], terms: Sequence[str], cf: LongArray, *, first: int = 0) -> Guidance:
    """Return the pseudo-counts of seed words; seeds[j] guides topic first + j.

    A word that occurs cf times gets ⌈weight · cf⌉ pseudo-counts; one that seeds two topics gets them in both.

    Raises:
        UsageError: no seed word of a topic is a term of the corpus, or a weight is not above 0.
    """
    number: Mapping[str, int] = {term: i for i, term in enumerate(terms)}
    ids: list[IntArray] = []
    topics: list[IntArray] = []
    missing: list[str] = []
    for j, topic in enumerate(seeds):
        if not 0 < topic.weight < np.inf:
            raise UsageError(f"the weight of the seed words of '{topic.name}' must be above 0, got {topic.weight:g}")
        matched: dict[int, None] = {}
        for word in topic.words:
            hits = matching_terms(word, terms, number)
            if not hits:
                missing.append(word)
            matched.update(dict.fromkeys(hits))
        if not matched:
            raise UsageError(
                f"none of the seed words of topic '{topic.name}' is a term of the corpus "
                f"({', '.join(topic.words[:5])}); terms must be written as by preprocess; see `stats()`, or use "
                "a pattern such as econom*",
                parameter="seed_words",
            )
        here = np.fromiter(matched, np.int32, len(matched))
        times = np.ceil(np.round(topic.weight * cf[here], 9)).astype(np.int64)  # 0.07 · 100 is a little over 7
        ids.append(np.repeat(here, times))
        topics.append(np.full(int(times.sum()), first + j, np.int32))
    return Guidance(
        np.concatenate([np.zeros(0, np.int32), *ids]),
        np.concatenate([np.zeros(0, np.int32), *topics]),
        0,
        tuple(topic.name for topic in seeds),
        tuple(missing),
    )


def matching_terms(word: str, terms: Sequence[str], number: Mapping[str, int]) -> list[int]:
    """Return the ids of the terms that a seed word is, or matches where it holds * ? [abc]; number: id of each term."""
    if any(c in word for c in "*?["):
        return [i for i, term in enumerate(terms) if fnmatchcase(term, word)]
    return [number[word]] if word in number else []


def fixed_counts(model: MixtureModel, terms: Sequence[str], names: Sequence[str]) -> Guidance:
    """Return the word counts of an earlier model as pseudo-counts of topics 0 … K − 1, which stay as they are.

    Terms the corpus has not are left out. Means of samples are rounded.

    Raises:
        UsageError: the vocabularies have no term in common.
    """
    number = {term: i for i, term in enumerate(terms)}
    place = np.array([number.get(term, -1) for term in model.terms], np.int32)
    counts = model.topic_term.tocoo()
    term_ids = place[counts.col]
    times = np.where(term_ids >= 0, np.rint(counts.data), 0).astype(np.int64)
    if not times.sum():
        raise UsageError(
            "the run of `fixed_topics` and the corpus have no term in common; were both preprocessed alike?",
            parameter="fixed_topics",
        )
    return Guidance(
        np.repeat(term_ids, times), np.repeat(counts.row.astype(np.int32), times), model.n_topics, tuple(names)
    )


def joined(first: Guidance | None, second: Guidance | None) -> Guidance | None:
    """Return two guidances as one: the topics of the second come after those of the first."""
    if first is None or second is None:
        return first or second
    return Guidance(
        np.concatenate([first.term_ids, second.term_ids]),
        np.concatenate([first.topics, second.topics]),
        first.n_fixed + second.n_fixed,
        first.names + second.names,
        first.missing + second.missing,
    )


def seeded_start(tokens: TokenTable, guidance: Guidance, seed: int) -> IntArray:
    """Return the topics to start from (N,): tokens of guided words in a topic that has them, by pseudo-counts; -1 for the rest."""
    order = np.argsort(guidance.term_ids, kind="stable")
    begins = np.searchsorted(guidance.term_ids[order], np.arange(tokens.n_terms + 1))
    counts = np.diff(begins)
    here = np.flatnonzero(counts[tokens.term_ids])
    rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "guided start")))
    which = (rng.random(len(here)) * counts[tokens.term_ids[here]]).astype(np.int64)
    start = np.full(len(tokens.term_ids), -1, np.int32)
    start[here] = guidance.topics[order][begins[tokens.term_ids[here]] + which]
    return start


def token_weights(tokens: TokenTable, scheme: str) -> FloatArray | None:
    """Return the weight of each token (N,), None for "one" (Wilson & Chew 2010, Term weighting schemes for LDA).

    idf: ln(D / df_v). pmi: max(0, ln(n_dv · N / (N_d · n_v))). Weights below 1/256 count 1/256.
    """
    if scheme == "one":
        return None
    lengths = np.diff(tokens.offsets)
    docs = np.repeat(np.arange(tokens.n_docs), lengths)
    keys = docs * np.int64(tokens.n_terms) + tokens.term_ids
    pairs, pair, times = np.unique(keys, return_inverse=True, return_counts=True)
    if scheme == "idf":
        df = np.bincount(pairs % tokens.n_terms, minlength=tokens.n_terms)
        return np.asarray(np.log(tokens.n_docs / df[tokens.term_ids]))
    cf = np.bincount(tokens.term_ids, minlength=tokens.n_terms)
    together = times[pair] * (len(tokens.term_ids) / (lengths[docs] * cf[tokens.term_ids]))
    return np.asarray(np.maximum(np.log(together), 0.0))


# ------------------------------------------------------------------------------------------------------------------------
# Seed words of topics from a TOML file.

_EXAMPLE = "write it as: [topics], then a line a topic: economy = ['bank', 'tax*']"


def read_seed_words(path: Path) -> tuple[Seeds, ...]:
    """Return the topics of a file in its order.

        [topics]
        economy = ["bank", "tax*"]
        sports = { words = ["team", "match"], weight = 2.0 }

    Raises:
        InputError: the file cannot be read or does not look like this.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"seed words {path}: cannot be opened ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"seed words {path} is not TOML: {error}; {_EXAMPLE}") from None
    topics = content.get("topics")
    if not isinstance(topics, dict) or not topics or len(content) > 1:
        names = ", ".join(content) or "nothing"
        raise InputError(f"seed words {path} needs one table [topics], found: {names}; {_EXAMPLE}")
    return tuple(_topic(path, name, value) for name, value in topics.items())


def _topic(path: Path, name: str, value: Any) -> Seeds:
    words, weight = value, 1.0
    if isinstance(value, dict):
        unknown = set(value) - {"words", "weight"}
        if unknown:
            raise InputError(f"seed words {path}: topic '{name}' has '{min(unknown)}'; known are words and weight")
        words, weight = value.get("words"), value.get("weight", 1.0)
    if not isinstance(words, list) or not words or not all(isinstance(w, str) and w for w in words):
        raise InputError(f"seed words {path}: topic '{name}' needs a list of words; {_EXAMPLE}")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= 1000:
        raise InputError(
            f"seed words {path}: the weight of topic '{name}' must be above 0 and at most 1000, got {weight!r}"
        )
    return Seeds(name, tuple(words), float(weight))

"""What a fit is told before it starts: seed words, fixed topics, weights of tokens; and a structure that topics shall not mirror.

Seed words and fixed topics are documents beside the corpus whose tokens have their topics and keep them: pseudo-counts. A seed
word with n pseudo-counts in topic k has the prior η + n there instead of η (as tomotopy's set_word_prior, in counts).

Parts, in this order:
- Seed words, fixed topics and weights, as a chain takes them.
- Seed words of topics from a TOML file.
- A known structure, such as source or author: words and embeddings without what tells its groups apart.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy

from nlpkit.cluster.neighbours import group_sums, unit_rows
from nlpkit.errors import ColumnError, InputError, UsageError, missing_column
from nlpkit.metrics.labels.clustering import adjusted_mutual_information
from nlpkit.platform import reporting, wording
from nlpkit.platform.types import BoolArray, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.platform.values import as_label, python_values
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


# ------------------------------------------------------------------------------------------------------------------------
# A known structure that topics shall not mirror, such as source or author: words and embeddings without what tells its groups apart.

QUANTILE = 0.95
NOTHING = 1e-9  # of the variance between groups, such as rounding leaves within them


def groups_of(table: pa.Table, column: str, usable: BoolArray, *, where: str) -> IntArray:
    """Return the groups (D,) of `debias`, -1 for none. Raises ColumnError, InputError: see `codes_of`, or each has one document."""
    groups = codes_of(table, column, usable, shown=column, parameter="debias", where=where)
    if groups.max() + 1 == (groups >= 0).sum():
        raise InputError(
            f"column '{column}' has a different value in each document, but groups of documents are needed",
            parameter="debias",
        )
    return groups


def codes_of(table: pa.Table, column: str, usable: BoolArray, *, shown: str, parameter: str, where: str) -> IntArray:
    """Return which of the different values of a column, in their order, each usable document has (D,), -1 for none.

    Args:
        shown: name of the column in the input; parameter: the option that names it.

    Raises:
        ColumnError: there is no such column, or it holds lists; InputError: usable documents have fewer than two values.
    """
    if column not in table.column_names:
        raise missing_column(where, shown, table.column_names, parameter)
    if pa.types.is_nested(table.schema.field(column).type):
        raise ColumnError(f"column '{shown}' holds lists, but one value per document is needed", parameter=parameter)
    cells = zip(python_values(table.column(column)), usable, strict=True)
    values = [as_label(cell) if used else None for cell, used in cells]
    names = sorted({value for value in values if value is not None})
    if len(names) < 2:
        only = f"has only '{names[0]}'" if names else "is empty"
        raise InputError(
            f"column '{shown}' {only} in documents with text, but two different values are needed; name another "
            f"with `{parameter}`",
            parameter=parameter,
        )
    number = {name: i for i, name in enumerate(names)} | {None: -1}
    return np.array([number[value] for value in values], np.int32)


@dataclass(frozen=True, slots=True)
class DebiasedTokens:
    """Tokens of D documents without some of those that tell groups apart; kept (N,): which of the N tokens these are.

    information, information_left: mutual information of words and groups in bits, before and after.
    """

    tokens: TokenTable
    kept: BoolArray
    information: float
    information_left: float


def debiased_tokens(tokens: TokenTable, groups: IntArray, *, seed: int) -> DebiasedTokens:
    """Leave out tokens at random where a group uses a word improbably often (Thompson & Mimno 2018, Authorless Topic Models, section 4).

    A token of word v in group g stays with probability min(1, q_gv / r_gv): r_gv = n_gv / n_g is the rate of the word there, q_gv the
    95 % quantile of a gamma distribution of its rates. They fit it to the rates of all groups, the one in question among them, so that
    in ten groups or fewer even a word that one group alone uses stays. Here the mean is the rate in the other groups,
    (n_v - n_gv + 1/2) / (N - n_g), the variance that of their rates and of counting: two groups are enough.

    Args:
        groups: (D,) group of each document, -1 for none, whose tokens all stay.
        seed: of the draw, one number a token, so that the result depends on nothing else.
    """
    group = np.repeat(groups, np.diff(tokens.offsets))
    member = group >= 0
    V, G = tokens.n_terms, int(groups.max(initial=-1)) + 1
    keys = group[member].astype(np.int64) * V + tokens.term_ids[member]
    pairs, pair, n_gv = np.unique(keys, return_inverse=True, return_counts=True)
    share = _share_that_stays(pairs // V, pairs % V, n_gv.astype(np.float64), G, V)
    kept = np.ones(len(group), bool)
    draw = np.random.Generator(np.random.Philox(key=stream_key(seed, "debias"))).random(len(group))
    kept[member] = draw[member] < share[pair]
    ends = np.concatenate([[0], np.cumsum(kept)])
    left = TokenTable(ends[tokens.offsets], tokens.term_ids[kept], tokens.terms)
    counts = n_gv, np.bincount(pair[kept[member]], minlength=len(pairs))
    before, after = (_information(pairs // V, pairs % V, n.astype(np.float64), G, V) for n in counts)
    return DebiasedTokens(left, kept, before, after)


def _share_that_stays(g: IntArray, v: IntArray, n_gv: FloatArray, G: int, V: int) -> FloatArray:
    """Return the share of the tokens of each pair of group and word that stays (P,)."""
    n_g, n_v = np.bincount(g, n_gv, minlength=G), np.bincount(v, n_gv, minlength=V)
    n_others = n_g.sum() - n_g[g]
    if G < 2 or not n_others.all():
        return np.ones(len(g))
    rate = n_gv / n_g[g]
    mean = (n_v[v] - n_gv + 0.5) / n_others
    variance = mean * (1 / n_g[g] + 1 / n_others)
    groups = np.count_nonzero(n_g)
    if groups > 2:
        other_mean = (np.bincount(v, rate, minlength=V)[v] - rate) / (groups - 1)
        other_square = (np.bincount(v, rate**2, minlength=V)[v] - rate**2) / (groups - 1)
        variance += np.maximum(other_square - other_mean**2, 0.0) * (groups - 1) / (groups - 2)
    return np.asarray(np.minimum(1.0, scipy.special.gdtrix(mean / variance, mean**2 / variance, QUANTILE) / rate))


def _information(g: IntArray, v: IntArray, n_gv: FloatArray, G: int, V: int) -> float:
    """Return the mutual information of groups and words in bits."""
    n_g, n_v, some = np.bincount(g, n_gv, minlength=G), np.bincount(v, n_gv, minlength=V), n_gv > 0
    n = n_gv[some]
    return float((n / n.sum() * np.log2(n * n.sum() / (n_g[g[some]] * n_v[v[some]]))).sum()) if len(n) else 0.0


def without_groups(embeddings: Float32Array, groups: IntArray) -> Float32Array:
    """Return embeddings moved so that the means of all groups meet, scaled to unit length (D, E).

    From each row is taken how far the mean of its group lies from that of all, shrunk by B / (B + W / n_g) as far as documents drawn
    at random would have it there (the best linear predictor of a random effect; W and B: variance within and between groups). After
    it no linear rule tells large groups apart by their means (Belrose et al. 2023, LEACE). Where groups differ in what they write
    about, that goes, too.

    Args:
        embeddings: (D, E) rows of unit length; groups: (D,) of each document, -1 for none, which stays where it is; more documents than
            groups.

    Raises:
        InputError: the documents of each group have the same embedding, so that nothing is left.
    """
    rows = np.flatnonzero(groups >= 0)
    G = int(groups.max(initial=-1)) + 1
    X, g = embeddings[rows].astype(np.float64), groups[rows]
    n, N = np.bincount(g, minlength=G), len(rows)
    means = group_sums(X, g, G) / np.maximum(n, 1)[:, None]
    away = means - X.mean(axis=0)
    within = ((X - means[g]) ** 2).sum() / max(N - G, 1)
    between = ((n @ (away**2).sum(axis=1)) - (G - 1) * within) / (N - (n**2).sum() / N)
    if within <= NOTHING * between:
        raise InputError(
            "the documents of each group have the same embedding, so `debias` leaves nothing to find topics in; "
            "name a column whose groups have different documents",
            parameter="debias",
        )
    if between <= 0:
        return embeddings
    shrink = between / (between + within / np.maximum(n, 1))
    result = embeddings.copy()
    result[rows] = unit_rows(X - (shrink[:, None] * away)[g])
    return result


def note_debiased(
    tokens: DebiasedTokens, groups: IntArray, column: str, topics: IntArray, before: IntArray | None
) -> dict[str, Any]:
    """Say how much less words and topics tell of a column, and return the figures.

    Args:
        groups, topics: (D,) of the documents, -1 for none. before: (D,) topics of a fit without it, None where there is none.
    """

    def agreement(z: IntArray) -> float:
        both = (groups >= 0) & (z >= 0)
        return round(adjusted_mutual_information(groups[both], z[both]), 6)

    figures = {
        "column": column,
        "groups": int(groups.max()) + 1,
        "tokens": len(tokens.kept),
        "tokens_left_out": int((~tokens.kept).sum()),
        "words_bits": round(tokens.information_left, 6),
        "words_bits_before": round(tokens.information, 6),
        "topics_ami": agreement(topics),
        "topics_ami_before": None if before is None else agreement(before),
    }
    without = "" if before is None else f" (without it {figures['topics_ami_before']:.3f})"
    reporting.note(
        f"debias: {figures['tokens_left_out']:,} of {wording.counted(len(tokens.kept), 'token')} left out; a word "
        f"carries {tokens.information_left:.4f} bits about '{column}' instead of {tokens.information:.4f}; topics "
        f"agree with it at AMI {figures['topics_ami']:.3f}{without}"
    )
    return figures

"""Notes on fitted topics: what a person should look at or try next.

Parts, in this order:
- What a look at fitted topics tells about the next fit: copies that make a topic, a column that topics mirror.
- What to do next about fitted topics of every kind of model: the page docs/what-now.md explains each of these lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from scipy import sparse

from nlpkit.platform import reporting, wording
from nlpkit.platform.types import BoolArray, CsrMatrix, IntArray
from nlpkit.topics.base.topic_words import leading_term
from nlpkit.weights.dtm import count_terms

if TYPE_CHECKING:
    from nlpkit.platform.types import IntArray, TokenTable

COPY, FEWEST_WORDS, MOST_COMPARED = 0.9, 5, 500
STRONG = 0.3  # AMI of topics and a column
FEWEST_OF_A_VALUE = 5


def topics_of_copies(topics: IntArray, dtm: CsrMatrix) -> list[int]:
    """Return the topics of at least five documents of which half or more have a near-copy in the topic.

    Near-copies share 90 % of their different words (Jaccard); documents of fewer than five different words are not compared.
    Of a large topic 500 documents are compared, evenly spaced, so that pairs in it do not count but many copies do.

    Args:
        topics: (D,) topic of each document, -1 for none; dtm: (D, V) counts.
    """
    enough = np.diff(dtm.indptr) >= FEWEST_WORDS
    copied = []
    for k in range(int(topics.max(initial=-1)) + 1):
        rows = np.flatnonzero((topics == k) & enough)
        rows = rows[:: -(-len(rows) // MOST_COMPARED) or 1]
        if len(rows) >= FEWEST_WORDS and has_copy(dtm[rows]).mean() >= 0.5:
            copied.append(k)
    return copied


def has_copy(dtm: CsrMatrix) -> BoolArray:
    """Return which documents (n,) share 90 % of their different words with another one."""
    present = sparse.csr_array((np.ones(dtm.nnz, np.float32), dtm.indices, dtm.indptr), shape=dtm.shape)
    shared = (present @ present.T).toarray()
    n_words = np.diag(shared)
    similarity = shared / np.maximum(n_words[:, None] + n_words[None, :] - shared, 1)
    np.fill_diagonal(similarity, 0)
    return np.asarray((similarity >= COPY).any(axis=1))


def mirrored_column(topics: IntArray, columns: Mapping[str, IntArray]) -> tuple[str, float] | None:
    """Return the column that agrees most with the topics, and its AMI with them; None where none has an AMI of 0.3 or more.

    Compared are documents with a topic and a value. A column counts if it has two values or more, of five documents or more each.

    Args:
        topics: (D,) topic of each document, -1 for none; columns: (D,) values of each as numbers from 0 on, -1 for none.
    """
    best = None
    for name, values in columns.items():
        both = (topics >= 0) & (values >= 0)
        counts = np.bincount(values[both])
        counts = counts[counts > 0]
        if len(counts) < 2 or counts.min() < FEWEST_OF_A_VALUE:
            continue
        from nlpkit.metrics.labels.clustering import adjusted_mutual_information

        agreement = adjusted_mutual_information(topics[both], values[both])
        if agreement >= STRONG and (best is None or agreement > best[1]):
            best = name, agreement
    return best


# ------------------------------------------------------------------------------------------------------------------------
# What to do next about fitted topics of every kind of model: the page docs/what-now.md explains each of these lines.

PAGE = "docs/what-now.md"
MOST_ADVICE = 2
MOST_NAMED = 10
MOST_VALUES = 30
FEW_DOCUMENTS, FEW_OF_A_TOPIC, MANY_WITHOUT = 100, 10, 0.3


@dataclass(frozen=True, slots=True)
class TopicResult:
    """Topics that were fitted, as far as advice needs them.

    topics (D,): topic of each document, -1 for none; top_terms (K, n): words of each topic, best first, -1 for none; tokens: of the
    documents; unreliable: topics that did not come back, and `repeated`, where they were looked for; columns: of the documents, those
    that topics should not mirror, None where the model has no `debias`. can_assign: whether it has `assign_outliers`.
    """

    topics: IntArray
    top_terms: IntArray
    tokens: TokenTable
    unreliable: Sequence[int] = ()
    repeated: str = ""
    columns: pa.Table | None = None
    can_assign: bool = False


def note_advice(result: TopicResult) -> None:
    """Note the two most useful things to know or to do about topics, each in one line."""
    lines = list(islice(advice(result), MOST_ADVICE))
    for number, line in enumerate(lines, start=1):
        reporting.note(f"what now? {line}{f' (see {PAGE})' if number == len(lines) else ''}")


def advice(result: TopicResult) -> Iterator[str]:
    """Yield what should be known and done about topics, the most useful first; each line is computed when it is asked for."""
    K, sizes = len(result.top_terms), np.bincount(result.topics[result.topics >= 0], minlength=len(result.top_terms))
    if len(result.unreliable):
        yield (
            f"Do not rely on {_topics(result.unreliable)} (marked !): {_it(result.unreliable)} did not come back in {result.repeated}"
        )
    dtm = count_terms(result.tokens)
    if copies := topics_of_copies(result.topics, dtm):
        yield (
            f"{_topics(copies).capitalize()}: most documents are near-copies of others; fit again after `preprocess()` with "
            "`dedupe=near:0.7`"
        )
    leading = leading_term(result.top_terms)
    if leading is not None:
        term, n = leading
        share = float((dtm.indices == term).sum()) / max(dtm.shape[0], 1)
        auto = f"`auto_stop={(math.ceil(share * 20) - 1) / 20:g}` leaves out such words, " if share > 0.1 else ""
        yield (
            f"'{result.tokens.terms[term]}' is the first word of {n} of {K} topics (it is in {share:.0%} of the documents): "
            f"{auto}`stop_words=FILE` those you name"
        )
    mirrored = None if result.columns is None else mirrored_column(result.topics, _few_values(result.columns))
    if mirrored is not None:
        name, agreement = mirrored
        yield (
            f"Topics follow the column '{name}' (AMI {agreement:.2f}; 0: unrelated, 1: the same). If they should not, fit again with "
            f"`debias={name}`"
        )
    without = int((np.diff(result.tokens.offsets)[result.topics < 0] > 0).sum())
    if result.can_assign and without > MANY_WITHOUT * len(result.topics):
        yield (
            f"{without / len(result.topics):.0%} of the documents have no topic: `assign_outliers` gives each its nearest topic, "
            "`cluster=kmeans` leaves none out"
        )
    if len(result.topics) < FEW_DOCUMENTS:
        yield f"Only {wording.counted(len(result.topics), 'document')}: add documents before you rely on details of the topics"
    elif K > 1 and sizes.sum() < FEW_OF_A_TOPIC * K:
        yield f"Only {sizes.sum() / K:.1f} documents a topic on average: add documents, or ask for fewer topics (`k`)"


def _topics(numbers: Sequence[int]) -> str:
    return f"{'topic' if len(numbers) == 1 else 'topics'} {wording.listed(numbers, MOST_NAMED)}"


def _it(numbers: Sequence[int]) -> str:
    return "it" if len(numbers) == 1 else "they"


def _few_values(documents: pa.Table) -> dict[str, IntArray]:
    """Return the columns of texts that have 2 to 30 values, such as a source or an author, as numbers; -1 for no value."""
    columns = {}
    for name in documents.column_names:
        column = documents.column(name)
        if (pt.is_string(column.type) or pt.is_large_string(column.type)) and 1 < pc.count_distinct(
            column
        ).as_py() <= MOST_VALUES:
            codes = column.combine_chunks().dictionary_encode().indices
            columns[name] = np.asarray(codes.fill_null(-1).to_numpy(zero_copy_only=False), np.int32)
    return columns

"""Questions to the topics of a run: their documents, the topics of a word, topics like another one, topics that go together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import translate
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.cluster.neighbours import unit_rows
from nlpkit.errors import InputError
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import FloatArray, LongArray
from nlpkit.topics.base.tables import TopicWords, read_membership, read_topic_words
from nlpkit.topics.base.topic_run import BESIDE, ranked_documents, texts_of_run
from nlpkit.topics.base.topic_tables import read_centroids
from nlpkit.topics.over_time.prevalence import correlations, cosines
from nlpkit.topics.over_time.tables import TopicTable, labels_of, topic_number, topic_run


def topic_documents(
    run: Any, topics: Sequence[str | int] | str | int, *, top: int = 20, execution: Execution | None = None
) -> TopicTable:
    """Return the documents that have most of some topics, most first, with their texts (stm's findThoughts).

    Documents are ranked by probability. LDA ranks all documents by theta.
    bertopic ranks the documents of the topic by topic_prob, then by margin.

    Args:
        run: a run directory, or a run that is open.
        topics: numbers or names. top: documents of each.

    Raises:
        InputError: no such topic.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> nk.topic_documents(run, 0, top=2).table["rank"].to_pylist()
        [1, 2]
    """
    opened = topic_run(run, execution or Execution())
    wanted = [topics] if isinstance(topics, str | int) else list(topics)
    chosen = [topic_number(topic, opened, "documents") for topic in wanted]
    labels, table = labels_of(opened), opened.table("documents")
    parts = []
    for k in chosen:
        rows, prob = _ranked(opened, table, k, top)
        columns: dict[str, Any] = {
            "topic": pa.array([k] * len(rows), pa.int32()),
            "topic_label": pa.array([labels[k]] * len(rows), pa.string()),
            "rank": pa.array(range(1, len(rows) + 1), pa.int32()),
            "id": table.column("id").take(pa.array(rows)),
            "prob": pa.array(prob.astype(np.float64)),
        }
        names = [n for n in BESIDE if n in table.column_names]
        parts.append(pa.table({**columns, **{name: table.column(name).take(pa.array(rows)) for name in names}}))
    result = pa.concat_tables(parts)
    result = result.append_column("text", texts_of_run(opened, result.column("id")))
    return TopicTable([opened], "documents", result, {"run": str(opened.path), "documents_of": chosen, "top": top})


def _ranked(run: Run, table: pa.Table, k: int, top: int) -> tuple[LongArray, FloatArray]:
    """Return the rows of the documents that have most of a topic and how much, most first, ties in order."""
    with run.intact():
        return ranked_documents(table, run.table("doc_topics") if run.is_mixture else None, k, top)


def find_topics(
    run: Any, words: Sequence[str] | str, *, top: int = 20, execution: Execution | None = None
) -> TopicTable:
    """Return the topics that have some words. Topics with most of their occurrences come first.

    weight: probability of the word in the topic (LDA) or its c-tf-idf (bertopic, among the words stored); rank: place among the words of
    the topic; share: of the word's occurrences that falls to the topic.

    Args:
        run: a run directory, or a run that is open.
        words: terms of the vocabulary; * stands for any letters. top: topics of each word.

    Raises:
        InputError: no topic has a word.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> nk.find_topics(run, "money").table["term"].to_pylist()[:1]
        ['money']
    """
    opened = topic_run(run, execution or Execution())
    labels, stored = labels_of(opened), read_topic_words(opened)
    by_term = sparse.csc_array(stored.weights)
    by_term_shares = sparse.csc_array(stored.shares)
    rows: list[dict[str, Any]] = []
    for word in [words] if isinstance(words, str) else words:
        for v in _matching(stored, word, opened):
            begin, end = by_term.indptr[v], by_term.indptr[v + 1]
            topics, weights, shares = (
                by_term.indices[begin:end],
                by_term.data[begin:end],
                by_term_shares.data[begin:end],
            )
            order = np.lexsort((topics, -weights, -np.nan_to_num(shares)))[:top]
            for i in order.tolist():
                k = int(topics[i])
                share = None if np.isnan(shares[i]) else float(shares[i])
                rows.append(
                    {
                        "term": stored.terms[v],
                        "topic": k,
                        "topic_label": labels[k],
                        "rank": _rank(stored, k, v),
                        "weight": float(weights[i]),
                        "share": share,
                    }
                )
    kinds = [
        ("term", pa.string()),
        ("topic", pa.int32()),
        ("topic_label", pa.string()),
        ("rank", pa.int32()),
        ("weight", pa.float64()),
        ("share", pa.float64()),
    ]
    facts = {
        "run": str(opened.path),
        "search": [words] if isinstance(words, str) else list(words),
        "weighting": stored.weighting,
        "top": top,
    }
    return TopicTable([opened], "terms", pa.Table.from_pylist(rows, schema=pa.schema(kinds)), facts)


def _rank(stored: TopicWords, k: int, v: int) -> int:
    """Return the place of a word among the words of a topic, 1 for the strongest, ties by term."""
    begin, end = stored.weights.indptr[k], stored.weights.indptr[k + 1]
    terms, weights = stored.weights.indices[begin:end], stored.weights.data[begin:end]
    weight = weights[terms == v][0]
    return 1 + int(((weights > weight) | ((weights == weight) & (terms < v))).sum())


def _matching(stored: TopicWords, word: str, run: Run) -> list[int]:
    """Return the terms that a word or pattern means and that a topic has."""
    has = np.unique(stored.weights.indices)
    pattern = re.compile(translate(word.casefold().strip()))
    matches = [v for v in has.tolist() if pattern.fullmatch(stored.terms[v].casefold())]
    if not matches:
        known = [stored.terms[v] for v in has.tolist()]
        near = get_close_matches(word.casefold(), known, n=3)
        depth = "" if stored.complete else f" among its {int(np.diff(stored.weights.indptr).max(initial=0))} words"
        there = word in set(stored.terms)
        why = (
            "; the corpus has it, but in no topic it stands out"
            if there
            else f"; near it are {', '.join(near)}"
            if near
            else ""
        )
        raise InputError(f"`search={word}`: no topic of {run.path} has this word{depth}{why}", parameter="search")
    return matches


def similar_topics(run: Any, topic: str | int, *, top: int = 20, execution: Execution | None = None) -> TopicTable:
    """Return the topics most like another one, most like it first.

    words: cosine of their words (probabilities, or c-tf-idf of the words stored); centroids: cosine of the mean embeddings, of
    bertopic alone, by which they are then ranked; documents: correlation of their probabilities over documents.

    Args:
        run: a run directory, or a run that is open.
        topic: number or name. top: number of topics.

    Raises:
        InputError: no such topic.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> nk.similar_topics(run, 0).table["topic"].to_pylist()
        [1]
    """
    opened = topic_run(run, execution or Execution())
    k, labels = topic_number(topic, opened, "similar"), labels_of(opened)
    stored = read_topic_words(opened)
    words = cosines(stored.weights[[k]], stored.weights)[0]
    columns: dict[str, FloatArray] = {"words": words}
    if opened.manifest["kind"] == "bertopic":
        centroids = unit_rows(read_centroids(opened, len(labels)))
        columns = {"centroids": (centroids @ centroids[k]).astype(np.float64), "words": words}
    columns["documents"] = correlations(read_membership(opened, mixed=True))[k]
    first = next(iter(columns))
    others = np.delete(np.arange(len(labels)), k)
    order = others[np.lexsort((others, -columns[first][others]))][:top]
    table = pa.table(
        {
            "topic": pa.array(order, pa.int32()),
            "topic_label": pa.array([labels[other] for other in order.tolist()], pa.string()),
            **{
                name: pa.array(values[order], pa.float64(), mask=np.isnan(values[order]))
                for name, values in columns.items()
            },
        }
    )
    facts = {"run": str(opened.path), "similar_to": k, "topic_label": labels[k], "top": top}
    return TopicTable([opened], "topics", table, facts)


def topic_correlations(run: Any, *, top: int | None = None, execution: Execution | None = None) -> TopicTable:
    """Return the pairs of topics by the correlation of their probabilities over documents, the highest first (see `correlations`).

    Args:
        run: a run directory, or a run that is open.
        top: number of pairs; None for all.

    Raises:
        InputError: the run has fewer than two topics.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> nk.topic_correlations(run).table.select(["topic", "other"]).to_pylist()
        [{'topic': 0, 'other': 1}]
    """
    opened = topic_run(run, execution or Execution())
    labels, membership = labels_of(opened), read_membership(opened, mixed=True)
    K = len(labels)
    if K < 2:
        raise InputError(f"{opened.path} has {K} topic; correlations need two", parameter="correlations")
    first, second = np.triu_indices(K, 1)
    r = correlations(membership)[first, second]
    order = np.lexsort((second, first, np.where(np.isnan(r), 2.0, -r)))[:top]
    table = pa.table(
        {
            "topic": pa.array(first[order], pa.int32()),
            "topic_label": pa.array([labels[k] for k in first[order].tolist()], pa.string()),
            "other": pa.array(second[order], pa.int32()),
            "other_label": pa.array([labels[k] for k in second[order].tolist()], pa.string()),
            "correlation": pa.array(r[order], pa.float64(), mask=np.isnan(r[order])),
        }
    )
    return TopicTable(
        [opened],
        "pairs",
        table,
        {"run": str(opened.path), "documents": int((~membership.none).sum()), "n_topics": K, "top": top},
    )

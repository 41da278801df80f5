"""The words of the topics of a run in periods and groups: the corpus is read again, nothing is embedded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.reading import open_run_documents
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.tokens import cut_as_model
from nlpkit.topics.base.tables import read_membership, read_model
from nlpkit.topics.lda.edited import ExpectedCounts
from nlpkit.topics.over_time.options import PrevalenceOptions, TopicWordOptions
from nlpkit.topics.over_time.run import TopicShares, topics
from nlpkit.topics.over_time.tables import TopicTable
from nlpkit.weights.counts import CountedCorpus, count_corpus
from nlpkit.weights.ctfidf import class_shares, inverse_class_frequency, keyness, top_terms
from nlpkit.weights.dtm import ClassTermCounts, group_rows, without_terms

WORDS = 10
LEAST_DOCUMENTS = 1.0  # of a topic in a cell, for its words there


def topic_words(
    run: Any,
    *,
    options: PrevalenceOptions | None = None,
    word_options: TopicWordOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> TopicTable:
    """Return the words of each topic in each period or group that has documents of it.

    Texts are cut as they were for the run. Where documents count for their main topic, tf counts the words of these. For LDA it is the
    expected number of a topic's words in all documents of the cell, by the mixture of each and the words of the topics. Topics
    that add up to less than one document have none there. Weights, with the inverse class frequency over topics:

        cell          w_ckv = tf_ckv / Σ_u tf_cku · ln(1 + A / tf_v), divided by its sum over v
        global        (w_ckv + w_kv) / 2, w_kv of all cells together
        evolving      the mean of global and evolving of the last period before in which the topic has documents
        distinctive   z-score of the log-odds against the other cells of the topic (`keyness`)

    BERTopic's topics_over_time has the first three as global_tuning and evolution_tuning.

    Args:
        run: a run directory, a run that is open, or a saved model.
        options: periods and groups; word_options: how many (10 where it says 0), and which; execution: threads.
        settings: single fields of these records, such as over="date:year", by=("label",), words=5.

    Raises:
        InputError: the corpus of the run is gone or has changed; and what `topics` raises.

    Example:
        >>> from pathlib import Path
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> _ = Path("texts.txt").write_text("\\n".join(texts))
        >>> run = nk.fit_lda(nk.read_corpus("texts.txt"), k=2, sweeps=20).save("run")
        >>> nk.topic_words(run).table.num_rows > 0
        True
    """
    options, word_options, execution = with_settings(
        (options, word_options, execution),
        settings,
        (PrevalenceOptions, TopicWordOptions, Execution),
    )
    return words_of_shares(topics(run, options=options, execution=execution), word_options, execution)


def words_of_shares(shares: TopicShares, words: TopicWordOptions, execution: Execution) -> TopicTable:
    """Return the words of topics in the cells of shares that are known, as `topic_words` does, which says what is raised."""
    n, K = words.words or WORDS, len(shares.labels)
    terms, counts, used = (_expected if _is_expected(shares) else _of_main_topics)(shares, execution)
    hidden = set((shares.run.manifest.get("lineage") or {}).get("stop_words", ()))  # of `nlpkit edit`
    counts = without_terms(counts, [v for v, term in enumerate(terms) if term in hidden])
    cell, of_topic = used // K, (used % K).astype(np.int32)
    if words.terms == "distinctive":
        weights = _distinctive(counts, of_topic, K)
    else:
        groups = len(shares.cells.n) // (len(shares.periods.names) if shares.periods is not None else 1)
        weights = _tuned(counts, of_topic, K, cell % groups, words.terms)
    best = top_terms(weights, n)
    at, rank = np.nonzero(best.term_ids >= 0)
    table = pa.table(
        {
            **shares.cell_names(cell[at]),
            "topic": pa.array(of_topic[at], pa.int32()),
            "topic_label": pa.array(shares.labels, pa.string()).take(pa.array(of_topic[at])),
            "documents": pa.array(shares.cells.sums[cell[at], of_topic[at]]),
            "rank": pa.array(rank + 1, pa.int32()),
            "term": pa.array(terms, pa.string()).take(pa.array(best.term_ids[at, rank])),
            "weight": pa.array(best.weights[at, rank].astype(np.float64)),
        }
    )
    return TopicTable([shares.run], "words", table, {**shares.facts(), "terms": words.terms, "top_n": n})


def _is_expected(shares: TopicShares) -> bool:
    """Return whether the words of a topic are counted in all documents, by probability."""
    return shares.mixed and shares.run.is_mixture


def _of_main_topics(shares: TopicShares, execution: Execution) -> tuple[tuple[str, ...], CsrMatrix, LongArray]:
    """Return the terms, their counts (C, V) in the documents of a cell whose main topic it is, and cell · K + topic of each row."""
    K, main = len(shares.labels), shares.run.table("documents", ["id", "topic"])
    topic = main.column("topic").to_numpy().astype(np.int64)
    classes = np.where((shares.cell_of < 0) | (topic < 0), -1, shares.cell_of * K + topic)
    used, numbered = np.unique(classes, return_inverse=True)
    first = int(len(used) > 0 and used[0] < 0)
    used, classes_of = used[first:], np.asarray(numbered - first, np.int32)
    terms, counts, _ = class_counts(shares.run, main.column("id"), classes_of, len(used), execution)
    return terms, counts, used


def _expected(shares: TopicShares, execution: Execution) -> tuple[tuple[str, ...], CsrMatrix, LongArray]:
    """Return the same of expected counts, see `ExpectedCounts`, where a cell has at least one document of a topic in sum."""
    run, theta = shares.run, read_membership(shares.run, mixed=True).weights
    known = run.table("documents", ["id"]).column("id").combine_chunks()
    with _counts_of(run, execution) as counted:
        sums = ExpectedCounts(read_model(run))
        for batch, dtm in counted.batches():
            rows = pc.index_in(batch.column("id"), value_set=known).to_numpy(zero_copy_only=False).astype(np.int64)
            sums.add(shares.cell_of[rows], theta[rows], dtm)
    used = np.flatnonzero(shares.cells.sums[:, :-1].ravel() >= LEAST_DOCUMENTS)
    return counted.terms, sums.finish(used), used


@contextmanager
def _counts_of(run: Run, execution: Execution) -> Iterator[CountedCorpus]:
    """Read the corpus of a run again as counts of its terms, cut as they were for it."""
    with open_run_documents(run, ReadOptions()) as stream:
        cut = cut_as_model(stream, run.manifest["parameters"].get("tokens"), f"the run {run.path}", bounds=False)
        vocab = tuple(run.table("vocab", ["term"]).column("term").to_pylist())
        options = replace(cut or PreprocessOptions(), vocab=vocab)
        with count_corpus(
            stream, options, columns=[], threads=execution.n_threads(), own_tokens=cut is None
        ) as counted:
            yield counted


def document_lengths(run: Run, execution: Execution) -> FloatArray:
    """Return how many tokens of the vocabulary each document (D,) of a run has, counted anew.

    Raises:
        InputError: the corpus of the run is gone or has changed.
    """
    known = run.table("documents", ["id"]).column("id").combine_chunks()
    lengths = np.zeros(len(known))
    with _counts_of(run, execution) as counted:
        for batch, dtm in counted.batches():
            rows = pc.index_in(batch.column("id"), value_set=known).to_numpy(zero_copy_only=False).astype(np.int64)
            lengths[rows] = np.asarray(dtm.sum(axis=1)).ravel()
    return lengths


def class_counts(
    run: Run, ids: pa.ChunkedArray, classes: IntArray, C: int, execution: Execution
) -> tuple[tuple[str, ...], CsrMatrix, Any]:
    """Return the terms of a run, their counts (C, V) in classes of its documents, and the documents of each class (C,).

    Args:
        ids: (D,) of the documents; classes: (D,) class of each, -1 for none.

    Raises:
        InputError: the corpus of the run is gone or has changed.
    """
    known = ids.combine_chunks()
    with _counts_of(run, execution) as counted:
        sums = ClassTermCounts(len(counted.terms))
        sums.add(np.arange(C, dtype=np.int32), sparse.csr_array((C, len(counted.terms)), dtype=np.int32))
        for batch, dtm in counted.batches():
            rows = pc.index_in(batch.column("id"), value_set=known).to_numpy(zero_copy_only=False)
            sums.add(classes[rows.astype(np.int64)], dtm)
    counts, documents = sums.finish(np.arange(C, dtype=np.int32))
    return counted.terms, counts, documents - 1  # each class was begun with an empty document


def _tuned(counts: CsrMatrix, of_topic: IntArray, K: int, group: Any, tuning: str) -> CsrMatrix:
    """Return the weights of the words of each class, as `topic_words` has them; classes of a topic and group stand in order of time."""
    whole = group_rows(counts, of_topic, K)
    icf = inverse_class_frequency(whole)
    weights = _weighted(counts, icf)
    if tuning == "cell":
        return weights
    weights = (weights + _weighted(whole, icf)[of_topic]) / 2
    if tuning == "global":
        return sparse.csr_array(weights)
    rows: list[CsrMatrix] = []
    before: dict[tuple[int, int], CsrMatrix] = {}
    for c, key in enumerate(zip(of_topic.tolist(), group.tolist(), strict=True)):
        row = weights[[c]]
        before[key] = (row + before[key]) / 2 if key in before else row
        rows.append(before[key])
    return sparse.csr_array(sparse.vstack(rows)) if rows else sparse.csr_array(weights)


def _weighted(counts: CsrMatrix, icf: Any) -> CsrMatrix:
    weights = class_shares(counts)
    weights.data *= icf[weights.indices]
    return class_shares(weights)


def _distinctive(counts: CsrMatrix, of_topic: IntArray, K: int) -> CsrMatrix:
    """Return the z-scores of the words of each class against the other classes of its topic, with a row for each class."""
    parts, rows = [], []
    for k in range(K):
        of_this = np.flatnonzero(of_topic == k)
        if len(of_this):
            rows.append(of_this)
            parts.append(keyness(counts[of_this]).z if len(of_this) > 1 else counts[of_this] * 0.0)
    if not parts:
        return counts
    order = np.argsort(np.concatenate(rows), kind="stable")
    return sparse.csr_array(sparse.csr_array(sparse.vstack(parts))[order])

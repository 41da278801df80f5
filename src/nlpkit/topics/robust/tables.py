"""The tables of robust topics: runs, the topics of each, words and shares with their spread over the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import FloatArray, IntArray
from nlpkit.topics.base.by_term import strongest
from nlpkit.topics.base.tables import MIXTURE_TOPICS
from nlpkit.topics.robust.model import Clusters, RunTopics, indicator, runs_with, term_shares

TOP = 10  # first words of a topic
EVERYTHING = ""  # column and value of all documents
_SPREAD = (
    Column("sd", pa.float64(), "Standard deviation over the runs, null for one run.", gaps=True),
    Column("low", pa.float64(), "Lowest of the runs.", gaps=True),
    Column("high", pa.float64(), "Highest of the runs.", gaps=True),
)
TOPICS = MIXTURE_TOPICS.plus(
    "topics_of_robust", "A robust topic; the last one, 'not robust', is what did not come back.",
    Column("runs", pa.int32(), "Runs in which it came back.", gaps=True),
    Column("of_runs", pa.int32(), "Runs in which it could: all, or those of its segments.", gaps=True),
    Column("k_low", pa.int32(), "Fewest topics of a run that has it.", gaps=True),
    Column("k_high", pa.int32(), "Most topics of a run that has it.", gaps=True),
    Column("similarity", pa.float64(), "Mean similarity of its topics in the runs to one another.", gaps=True),
    Column("mean_share", pa.float64(), "Mean share of the documents, over the runs that have it.", gaps=True),
    *_SPREAD,
    Column("segments", pa.list_(pa.string()), "Segments that have it.", always=False),
)  # fmt: skip
RUNS = TableSpec(
    "robust_runs", "A run whose topics were compared.",
    Column("run", pa.int32(), "Its number."),
    Column("path", pa.string(), "Its directory."),
    Column("model", pa.string(), "Kind of its model."),
    Column("seed", pa.int64(), "Its seed."),
    Column("topics", pa.int32(), "Number of its topics."),
    Column("robust_topics", pa.int32(), "Number of robust topics that it has."),
    Column("documents", pa.int64(), "Documents of it that were compared."),
    Column("segment", pa.string(), "Segment to which it was fitted.", always=False),
)  # fmt: skip
MEMBERS = TableSpec(
    "robust_members", "A topic of a run.",
    Column("run", pa.int32(), "Number of the run."),
    Column("run_topic", pa.int32(), "Number of the topic in its run."),
    Column("cluster", pa.int32(), "Number of its cluster of topics."),
    Column("cluster_runs", pa.int32(), "Runs with a topic in this cluster."),
    Column("topic", pa.int32(), "Robust topic that it is, -1 for none."),
    Column("similarity", pa.float64(), "Mean similarity to the others of the cluster, null where it is alone.", gaps=True),
    Column("share", pa.float64(), "Its share of the documents of the run."),
    Column("top_terms", pa.list_(pa.string()), "Its ten most probable words."),
)  # fmt: skip
TERMS = TableSpec(
    "robust_terms", "A word of a robust topic, with its spread over the runs that have the topic.",
    Column("topic", pa.int32(), "Number of the robust topic."),
    Column("rank", pa.int32(), "Rank of the word by its mean, from 1."),
    Column("term", pa.string(), "The word."),
    Column("mean", pa.float64(), "Mean probability in the topic."),
    *_SPREAD,
    Column("runs_in_top", pa.int32(), "Runs with the word among the ten most probable of the topic."),
    Column("runs", pa.int32(), "Runs that have the topic."),
)  # fmt: skip
SHARES = TableSpec(
    "robust_shares", "A robust topic in the documents of a value of a column, or in all of them.",
    Column("column", pa.string(), "The column, empty for all documents."),
    Column("value", pa.string(), "Its value."),
    Column("topic", pa.int32(), "Number of the topic; the last one is what did not come back."),
    Column("documents", pa.int64(), "Documents of the value."),
    Column("runs", pa.int32(), "Runs that have the topic and documents of the value."),
    Column("share", pa.float64(), "Mean share over these runs.", gaps=True),
    *_SPREAD,
)  # fmt: skip
RUN_SHARES = TableSpec(
    "robust_run_shares", "A robust topic of a run in the documents of a value of a column.",
    Column("column", pa.string(), "The column, empty for all documents."),
    Column("value", pa.string(), "Its value."),
    Column("topic", pa.int32(), "Number of the topic."),
    Column("run", pa.int32(), "Number of the run."),
    Column("share", pa.float64(), "Share of the documents of the run with this value."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run: its directory, kind and seed, and the name of its segment, None where there are none."""

    path: str
    model: str
    seed: int
    segment: str | None = None


def spread(values: FloatArray) -> dict[str, float | None]:
    """Return sd, low and high of values (n,); sd is None for one of them, all are for none."""
    if not len(values):
        return {"sd": None, "low": None, "high": None}
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"sd": sd, "low": float(values.min()), "high": float(values.max())}


def share_tables(
    runs: Sequence[RunTopics],
    clusters: Clusters,
    columns: Mapping[str, tuple[Sequence[str], IntArray]],
    *,
    with_rest: bool,
) -> tuple[pa.Table, pa.Table]:
    """Return the shares of robust topics by value of each column with their spread over the runs, and those of each run.

    Args:
        columns: values of a column, and that of each document (D,), -1 for none. with_rest: whether what did not come back is a topic.
    """
    D, M = len(runs[0].present), clusters.n_topics
    has = np.column_stack([runs_with(clusters, len(runs)), np.ones(len(runs), bool)])
    rows: list[dict[str, Any]] = []
    of_runs: list[dict[str, Any]] = []
    for column, (values, codes) in {EVERYTHING: ([EVERYTHING], np.zeros(D, np.int32)), **columns}.items():
        shares = np.full((len(runs), len(values), M + 1), np.nan)
        for r, run in enumerate(runs):
            whole = np.asarray(run.documents.sum(axis=1)).ravel() if run.documents.nnz else np.zeros(D)
            theta = (run.documents @ indicator(clusters, r)).toarray()
            theta[:, M] += np.where(run.present, np.maximum(1.0 - whole, 0.0), 0.0)  # of documents without a topic
            used = run.present & (codes >= 0)
            n = np.bincount(codes[used], minlength=len(values)).astype(np.float64)
            sums = np.zeros((len(values), M + 1))
            np.add.at(sums, codes[used], theta[used])
            np.divide(sums, n[:, None], out=shares[r], where=n[:, None] > 0)
            shares[r, :, ~has[r]] = np.nan
        n_docs = np.bincount(codes[codes >= 0], minlength=len(values))
        for (v, value), m in product(enumerate(values), range(M + with_rest)):
            held = np.flatnonzero(np.isfinite(shares[:, v, m]))
            known = shares[held, v, m]
            key = {"column": column, "value": value, "topic": m}
            mean = float(known.mean()) if len(known) else None
            rows.append({**key, "documents": n_docs[v], "runs": len(known), "share": mean, **spread(known)})
            of_runs += [{**key, "run": r, "share": s} for r, s in zip(held.tolist(), known.tolist(), strict=True)]
    return SHARES.rows(rows), RUN_SHARES.rows(of_runs)


def terms_table(runs: Sequence[RunTopics], clusters: Clusters, terms: Sequence[str], n: int) -> pa.Table:
    """Return the n words of each robust topic with the highest mean probability, and how much the runs differ."""
    rows = []
    for m in range(clusters.n_topics):
        shares = term_shares(runs, clusters, m)
        mean = shares.mean(axis=0)
        every = np.arange(len(terms), dtype=np.int32)
        top = [set(strongest(row, every, TOP).tolist()) for row in shares]
        for rank, v in enumerate(strongest(mean, every, n).tolist(), 1):
            if mean[v] > 0:
                rows.append(
                    {"topic": m, "rank": rank, "term": terms[v], "mean": float(mean[v]), **spread(shares[:, v]),
                     "runs_in_top": sum(v in words for words in top), "runs": len(shares)}
                )  # fmt: skip
    return TERMS.rows(rows)


def run_tables(
    runs: Sequence[RunTopics], clusters: Clusters, facts: Sequence[RunFacts], terms: Sequence[str]
) -> dict[str, pa.Table]:
    """Return the table of the runs and that of their topics."""
    has = runs_with(clusters, len(runs))
    rows, members = [], []
    pairs = np.unique(np.column_stack([clusters.cluster, clusters.run]), axis=0)
    back = np.bincount(pairs[:, 0])
    every = np.arange(len(terms), dtype=np.int32)
    for r, (run, fact) in enumerate(zip(runs, facts, strict=True)):
        n = int(run.present.sum())
        rows.append({"run": r, "path": fact.path, "model": fact.model, "seed": fact.seed, "topics": run.n_topics,
                     "robust_topics": int(has[r].sum()), "documents": n, "segment": fact.segment})  # fmt: skip
        share = np.asarray(run.documents.sum(axis=0), np.float64).ravel() / max(n, 1)
        for k, i in enumerate(np.flatnonzero(clusters.run == r).tolist()):
            weights = run.words[[k]].toarray().ravel()
            words = [terms[v] for v in strongest(weights, every, TOP).tolist() if weights[v] > 0]
            cluster = int(clusters.cluster[i])
            members.append(
                {"run": r, "run_topic": k, "cluster": cluster, "cluster_runs": int(back[cluster]),
                 "topic": int(clusters.topic[i]), "similarity": finite_or_none(float(clusters.similarity[i])),
                 "share": float(share[k]), "top_terms": words}
            )  # fmt: skip
    whole = TableSpec("", "", *(c for c in RUNS.columns if c.always or facts[0].segment is not None))
    schema = pa.schema([(c.name, c.type) for c in whole.columns])
    return {RUNS.name: pa.Table.from_pylist(rows, schema=schema), MEMBERS.name: MEMBERS.rows(members)}


def topic_columns(
    runs: Sequence[RunTopics], clusters: Clusters, facts: Sequence[RunFacts], shares: pa.Table, K: int
) -> dict[str, pa.Array]:
    """Return the columns of topics.parquet that robust topics have; K of them, with what did not come back."""
    has, sizes = runs_with(clusters, len(runs)), np.array([run.n_topics for run in runs])
    segment = np.array([run.segment for run in runs])
    overall = {row["topic"]: row for row in shares.to_pylist() if row["column"] == EVERYTHING}
    rows: list[dict[str, Any]] = []
    for m in range(K):
        held = np.flatnonzero(has[:, m]) if m < clusters.n_topics else np.zeros(0, np.int64)
        row: dict[str, Any] = {name: overall[m][name] for name in ("sd", "low", "high")}
        row |= {"mean_share": overall[m]["share"], "segments": []}
        if len(held):
            alike = clusters.similarity[clusters.topic == m]
            row |= {
                "runs": len(held), "of_runs": int(np.isin(segment, segment[held]).sum()), "k_low": int(sizes[held].min()),
                "k_high": int(sizes[held].max()),
                "similarity": float(np.nanmean(alike)) if np.isfinite(alike).any() else None,
                "segments": list(dict.fromkeys(facts[r].segment for r in held.tolist())),
            }  # fmt: skip
        rows.append(row)
    of_kind = [c for c in TOPICS.columns if c.name not in MIXTURE_TOPICS.schema.names]
    wanted = [c for c in of_kind if c.name in rows[0] or c.name in ("runs", "of_runs", "k_low", "k_high", "similarity")]
    wanted = [c for c in wanted if c.always or facts[0].segment is not None]
    return {c.name: pa.array([row.get(c.name) for row in rows], c.type) for c in wanted}

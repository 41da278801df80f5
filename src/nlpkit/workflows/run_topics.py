"""The scores that a run stores with its topics or that its model gives: exclusivity, FREX, divergences, MALLET's diagnostics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.evaluation.results import TargetResult, detail_table
from nlpkit.io.memberships import read_counts_and_prior, read_membership
from nlpkit.io.mixture_tables import read_model
from nlpkit.io.runs import Run
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.score import Score, Uncertainty, mean_score
from nlpkit.metrics.topic_significance import topic_significance
from nlpkit.types import FloatArray
from nlpkit.workflows.reference import TopicTarget

DIAGNOSTICS = (
    "n_tokens", "document_entropy", "word_length", "coherence", "uniform_dist", "corpus_dist", "eff_num_words", "token_doc_diff",
    "rank_1_docs", "allocation_ratio", "allocation_count", "mallet_exclusivity",
)  # fmt: skip
SHOWN = 30


def add_significance(
    result: TargetResult, target: TopicTarget, names: Sequence[str], n: int, uncertainty: Uncertainty, *, asked: bool
) -> None:
    """Add the scores that a run has of its topics; where a target has none, a score that is not defined if it was asked for."""
    run = target.run
    for name in names:
        values, why = (None, "it is of run directories") if run is None else _values(run, target, name, n)
        if values is None:
            if asked:
                result.add(Score(METRICS[name], None, "topics", 0, why=why))
            continue
        depth = {"exclusivity": 10, "frex": n}.get(name)
        result.add(mean_score(METRICS[name], values, uncertainty, parameters={"top_n": [depth]} if depth else {}))
    if asked and run is not None and run.is_mixture and any(name.startswith("kl_") for name in names):
        _add_diagnostics(result, run)


def _values(run: Run, target: TopicTarget, name: str, n: int) -> tuple[FloatArray | None, str]:
    """Return a score of each topic (K,), or None and why there is none."""
    K = len(target.topics)
    if name == "exclusivity":
        column = run.table("topics", ["exclusivity"]).column("exclusivity")
        return np.array([np.nan if v is None else v for v in column.to_pylist()], np.float64), ""
    if name == "frex":
        table = run.table("topic_terms")
        if "frex" not in table.column_names:
            return None, "the run does not store it (those of nlpkit lda-gibbs do)"
        rank, topic = table.column("rank").to_numpy(), table.column("topic").to_numpy()
        kept = rank <= n
        frex = table.column("frex").to_numpy()[kept].astype(np.float64)
        sums, counts = np.bincount(topic[kept], frex, minlength=K), np.bincount(topic[kept], minlength=K)
        return np.divide(sums, counts, out=np.full(K, np.nan), where=counts > 0), ""
    if not run.is_mixture:
        return None, "it needs the probability of every word, which runs of nlpkit lda-gibbs and models like it have"
    model = read_model(run)
    cf = run.table("vocab", ["cf"]).column("cf").to_numpy().astype(np.float64)
    n_dk, alpha = read_counts_and_prior(run, K)
    prior: FloatArray | None = alpha
    if n_dk is None:  # a run of before 2026-11-23: theta as far as doc_topics.parquet has it
        documents, prior = read_membership(run, mixed=True).weights, None
    else:
        documents = n_dk[np.flatnonzero(n_dk.sum(axis=1) > 0)]
    scores = topic_significance(model.topic_term, eta=model.eta, corpus=cf, doc_topic=documents, alpha=prior)
    return np.asarray(getattr(scores, name), np.float64), ""


def _add_diagnostics(result: TargetResult, run: Run) -> None:
    """Show MALLET's diagnostics, which nlpkit lda-gibbs stores with the topics."""
    table = run.table("topics")
    stored = [name for name in DIAGNOSTICS if name in table.column_names]
    columns = {name: table.column(name).to_pylist() for name in stored}
    result.facts["mallet_diagnostics"] = columns
    result.tables["MALLET's diagnostics"] = detail_table(
        ("topic", *stored),
        zip(table.column("topic").to_pylist()[:SHOWN], *(columns[name][:SHOWN] for name in stored), strict=True),
        dict.fromkeys(stored, ".4g"),
    )

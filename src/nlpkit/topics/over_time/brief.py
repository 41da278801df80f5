"""A brief of each period: topics that are new, grew, fell or begin to burst in it, with documents that show it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.metrics.intervals import benjamini_hochberg
from nlpkit.platform import wording
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import FloatArray, LongArray
from nlpkit.topics.base.topic_run import ranked_documents, texts_of_run
from nlpkit.topics.over_time.options import PrevalenceOptions, SignalOptions
from nlpkit.topics.over_time.prevalence import CellSums
from nlpkit.topics.over_time.run import TopicShares, topics
from nlpkit.topics.over_time.signal_run import check_periods, cycle_of, period_noise
from nlpkit.topics.over_time.signals import scatter_of, signals
from nlpkit.topics.over_time.tables import TopicTable

BRIEF = TableSpec(
    "topic_brief", "What a period brought: a topic that is new, grew or fell, or whose burst begins.",
    Column("period", pa.string(), "The period."),
    Column("documents", pa.int64(), "Its documents."),
    Column("before", pa.string(), "The last period before with documents, null for the first.", gaps=True),
    Column("what", pa.string(), "new, grew, fell or burst."),
    Column("until", pa.string(), "Last period of a burst, null for the others.", gaps=True),
    Column("topic", pa.int32(), "Number of the topic."),
    Column("topic_label", pa.string(), "Name of the topic."),
    Column("share_before", pa.float64(), "Its share in the period before.", gaps=True),
    Column("share", pa.float64(), "Its share in the period."),
    Column("q", pa.float64(), "False discovery rate over all topics and periods; of a burst that of the signals."),
    Column("ids", pa.list_(pa.string()), "Documents that have most of the topic in the period, of a fall in the one before."),
    Column("quotes", pa.list_(pa.string()), "Their beginnings, empty where nlpkit cannot read the corpus any more."),
)  # fmt: skip
QUOTES = 2  # documents of a topic
QUOTE_LENGTH = 200
LEAST_BRIEF = 6  # periods with documents
NEW_BELOW = 0.5  # documents in all periods before, below which a topic was not there


@dataclass(frozen=True, slots=True)
class Changes:
    """What each period (T,) brought to each topic (K,), arrays (T, K); rows of periods without documents, and the first, are empty.

    before: (T,) number of the last period before that has documents, -1 for none; new: whether the topic was not there before;
    p, q: of the test, NaN where there is none.
    """

    before: LongArray
    new: np.ndarray
    p: FloatArray
    q: FloatArray


def changes(cells: CellSums) -> Changes:
    """Return how the share of each topic differs from the period before, tested against the scatter of the periods.

        F = G / φ with 1 and T - 4 degrees,   G = 2 Σ o log(o / e) of the two periods with and without the topic

    φ = Σ_s (y_s - n_s μ_s)² / (n_s μ_s (1 - μ_s)) / (T - 4) over the other periods, μ the line of `trends`; it is at least 1
    where documents have one topic each. A topic of less than half a document in all periods before is new, with
    p = (n_t / Σ_{s≤t} n_s)^c, the chance that its c documents are all in period t.

    Args:
        cells: periods (T,) in order, of which at least LEAST_BRIEF have documents.
    """
    from scipy.special import fdtrc, xlogy

    (T, width), used = cells.sums.shape, np.flatnonzero(cells.n > 0)
    K = width - 1
    scatter = scatter_of(cells)
    before, new, p = np.full(T, -1), np.zeros((T, K), bool), np.full((T, K), np.nan)
    for i, (s, t) in enumerate(pairwise(used.tolist())):
        n, o = cells.n[[s, t]].astype(np.float64)[:, None], cells.sums[[s, t], :K]
        total = o.sum(axis=0)
        e = n * total / n.sum()
        pairs = ((o, e), (n - o, n - e))
        gain = 2 * sum(xlogy(a, np.maximum(a, 1e-300) / np.maximum(b, 1e-300)).sum(axis=0) for a, b in pairs)
        others = (scatter.sum(axis=0) - scatter[i] - scatter[i + 1]) / (len(used) - 4)
        phi = np.maximum(others, 1e-9 if cells.is_mixed else 1.0)
        p[t] = np.where(total > 0, fdtrc(1, len(used) - 4, np.maximum(gain, 0) / phi), np.nan)
        earlier, count = cells.sums[:t, :K].sum(axis=0), cells.sums[t, :K]
        new[t] = (earlier < NEW_BELOW) & (count >= 1)
        p[t] = np.where(new[t], (cells.n[t] / cells.n[: t + 1].sum()) ** count, p[t])
        before[t] = s
    return Changes(before, new, p, benjamini_hochberg(p.ravel()).reshape(T, K))


def topic_brief(
    run: Any,
    *,
    options: PrevalenceOptions | None = None,
    signal_options: SignalOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> TopicTable:
    """Return what each period brought: topics that are new, grew or fell since the period before, or begin to burst.

    A change is listed where its false discovery rate over all topics and periods is at most 1 - ci (see `changes`). A burst is
    listed by the rate of its signal (see `topic_signals`).

    Args:
        run: a run directory, a run that is open, or a saved model.
        options: periods (`over`), how documents count, and the level; signal_options: the length of a season.
        execution: the seed of simulations.
        settings: single fields of these records, such as over="date:month".

    Raises:
        UsageError: no periods, or groups; InputError: fewer than six periods with documents; and what `topics` raises.

    Example:
        >>> texts = ["river water fish bank"] * 60 + ["money bank loan debt"] * 30
        >>> corpus = nk.Corpus.from_texts(texts, dates=[f"2024-{n // 15 + 1:02}-01" for n in range(90)])
        >>> run = nk.fit_lda(corpus, k=2, sweeps=20).save("run")
        >>> set(nk.topic_brief(run, over="date:month", count="main").table["what"].to_pylist()) <= {"new", "grew", "fell", "burst"}
        True
    """
    options, signal_options, execution = with_settings(
        (options, signal_options, execution), settings, (PrevalenceOptions, SignalOptions, Execution)
    )
    check_periods(options, "brief")
    return brief_of_shares(topics(run, options=options, execution=execution), signal_options, execution)


def brief_of_shares(shares: TopicShares, options: SignalOptions, execution: Execution) -> TopicTable:
    """Return the brief of shares that are known, as `topic_brief` does, which says what is raised."""
    cells = shares.over_time
    assert cells is not None
    assert shares.periods is not None
    if int((cells.n > 0).sum()) < LEAST_BRIEF:
        raise InputError(
            f"a brief needs at least {LEAST_BRIEF} periods with documents. Name a shorter part of the date with `over`",
            parameter="over",
        )
    cycle, level = cycle_of(shares, options), shares.options.ci
    tested = signals(cells, cycle, period_noise(cells, cycle, execution), level=level)
    moved, limit, values = changes(cells), 1 - level + 1e-12, cells.shares
    rows: list[dict[str, Any]] = []
    for t in np.flatnonzero(cells.n > 0).tolist():
        s = int(moved.before[t])
        for k in range(len(shares.labels)):
            whats = []
            if moved.q[t, k] <= limit:
                whats.append(
                    (("new" if moved.new[t, k] else "grew" if values[t, k] > values[s, k] else "fell"), moved.q[t, k])
                )
            if tested.q_burst[k] <= limit and tested.burst_first[k] == t:
                whats.append(("burst", tested.q_burst[k]))
            for what, q in whats:
                until = int(tested.burst_last[k]) if what == "burst" else -1
                rows.append(
                    {
                        "period": t, "before": s, "what": what, "until": until, "topic": k, "q": float(q),
                        "share": float(values[t, k]), "share_before": float(values[s, k]) if s >= 0 else None,
                    }
                )  # fmt: skip
    order = {"new": 0, "burst": 1, "grew": 2, "fell": 3}
    rows.sort(key=lambda r: (r["period"], order[r["what"]], -abs(r["share"] - (r["share_before"] or 0))))
    facts = {**shares.facts(), "periods": len(shares.periods.names), "quiet": _quiet(rows, cells, shares)}
    return TopicTable([shares.run], "brief", _table(rows, shares, cells), facts)


def _quiet(rows: list[dict[str, Any]], cells: CellSums, shares: TopicShares) -> list[str]:
    """Return the periods with documents in which nothing stands out."""
    assert shares.periods is not None
    eventful = {row["period"] for row in rows}
    return [name for t, name in enumerate(shares.periods.names) if cells.n[t] and t not in eventful]


def _table(rows: list[dict[str, Any]], shares: TopicShares, cells: CellSums) -> pa.Table:
    assert shares.periods is not None
    ids = _typical(rows, shares)
    flat = pa.chunked_array([pa.array([name for names in ids for name in names], pa.string())])
    texts = texts_of_run(shares.run, flat).to_pylist() if len(flat) else []
    quotes = iter(wording.truncated(" ".join((text or "")[: 4 * QUOTE_LENGTH].split()), QUOTE_LENGTH) for text in texts)
    names = [*shares.periods.names, None]
    return BRIEF.table(
        period=[names[r["period"]] for r in rows], documents=[int(cells.n[r["period"]]) for r in rows],
        before=[names[r["before"]] for r in rows], until=[names[r["until"]] for r in rows],
        topic_label=[shares.labels[r["topic"]] for r in rows],
        ids=ids, quotes=[[next(quotes) for _ in names_of] for names_of in ids],
        **{name: [r[name] for r in rows] for name in ("what", "topic", "share_before", "share", "q")},
    )  # fmt: skip


def _typical(rows: list[dict[str, Any]], shares: TopicShares) -> list[list[str]]:
    """Return the ids of the documents that have most of the topic of a row in its period, of a fall in the period before."""
    documents = shares.run.table("documents")
    listed = shares.run.table("doc_topics") if shares.run.is_mixture else None
    period_of, names = shares.cell_of, documents.column("id")
    ranked: dict[int, LongArray] = {}
    result = []
    for row in rows:
        k, period = row["topic"], row["before"] if row["what"] == "fell" else row["period"]
        if k not in ranked:
            with shares.run.intact():
                ranked[k] = ranked_documents(documents, listed, k, documents.num_rows)[0]
        here = ranked[k][period_of[ranked[k]] == period][:QUOTES]
        result.append([names[int(d)].as_py() for d in here])
    return result

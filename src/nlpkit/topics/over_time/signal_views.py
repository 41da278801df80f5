"""Trends with names and briefs of periods, as blocks for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.views import markdown
from nlpkit.platform.views.blocks import Block, Note, Sentence, Table, cell
from nlpkit.topics.over_time.options import PrevalenceOptions, SignalOptions
from nlpkit.topics.over_time.signals import CALLED, QUIET
from nlpkit.topics.over_time.tables import TopicTable

LABEL_WIDTH = 40


def say_signals(
    source: Path, cells: PrevalenceOptions, options: SignalOptions, execution: Execution, target: str | None, *,
    save_brief: Path | None, force: bool,
) -> None:  # fmt: skip
    """Print what topics do over time, what each period brought, or both, or their JSON object; the first of them goes to a file."""
    from nlpkit.topics.over_time.brief import brief_of_shares
    from nlpkit.topics.over_time.run import topics
    from nlpkit.topics.over_time.signal_run import check_periods, signals_of_shares

    check_periods(cells, "signals" if options.signals else "brief")
    shares = topics(source, options=cells, execution=execution)
    answers, blocks = [], []
    if options.signals:
        answers.append(signals_of_shares(shares, options, execution))
        blocks.append(signal_blocks(answers[0]))
    if options.brief or save_brief is not None:
        answers.append(brief_of_shares(shares, options, execution))
        if options.brief:
            blocks.append(brief_blocks(answers[-1]))
    if target is not None:
        answers[0].save(target, force=force)
    if save_brief is not None:
        write_brief(answers[-1], save_brief, force=force)
    if target != "-":
        facts = {name: value for answer in answers for name, value in answer.to_dict().items()}
        console.say(chain.from_iterable(blocks), lambda: facts)


def signal_blocks(result: TopicTable) -> Iterator[Block]:
    """Yield the signals of topics, those that a test has found first, and what the tests do on dates without meaning."""
    rows, facts = result.table.to_pylist(), result.facts
    order = {name: number for number, name in enumerate((*CALLED, *QUIET))}
    cells = []
    for row in sorted(rows, key=lambda row: (order[row["signal"]], -row["share_last"], row["topic"])):
        q, when = _evidence(row, 1 - facts["ci"] + 1e-12)
        name = wording.truncated(row["topic_label"], LABEL_WIDTH)
        shown = [cell(row["share"], ".1%"), cell(row["share_last"], ".1%")]
        cells.append([str(row["topic"]), name, row["signal"], row["also"], *shown, _p(q), when])
    heads = ["topic", "name", "signal", "also", "share", "last", "q", "when"]
    yield Table(heads, cells, right=["topic", "share", "last", "q"], noun="topics", rest="-o FILE", texts=["name"])
    counts = Counter(row["signal"] for row in rows)
    yield Note(wording.listed([f"{counts[name]} {name}" for name in (*CALLED, *QUIET) if counts[name]], len(order)))
    yield Note(
        f"on permuted dates, the same tests name {facts['false_alarms']:.1%} of the topics ({facts['permutations']} permutations, "
        f"{facts['permutations_with_false_alarms']} with a named topic)"
    )
    yield Note(
        f"q: false discovery rate over all topics and tests; named at q ≤ {1 - facts['ci']:.2g}. last: fitted share of the last period; "
        "weak or strong: below or above the median topic there. steady, noise: the same where no test finds anything"
        "; when: height of the season by its low, documents of the burst by those expected"
    )
    if not facts["season_tested"]:
        yield Note("no season is tested: that needs periods of at least two cycles (--cycle N sets another cycle)")
    if not facts["burst_tested"]:
        yield Note("no burst is tested: there are too few periods with documents")


def brief_blocks(result: TopicTable) -> Iterator[Block]:
    """Yield for each period a table of topics that are new, grew, fell or begin to burst in it, and quotes."""
    for period, of_period in groupby(result.table.to_pylist(), key=lambda row: row["period"]):
        rows = list(of_period)
        first = rows[0]
        since = "" if first["before"] is None else f", compared with {first['before']}"
        cells = [
            [
                _what(row), str(row["topic"]), wording.truncated(row["topic_label"], LABEL_WIDTH),
                cell(row["share_before"], ".1%"), cell(row["share"], ".1%"), _p(row["q"]),
            ]
            for row in rows
        ]  # fmt: skip
        yield Table(
            ["", "topic", "name", "before", "share", "q"], cells, right=["topic", "before", "share", "q"],
            title=f"{period}: {wording.counted(first['documents'], 'document')}{since}", texts=["name"],
        )  # fmt: skip
        quoted = set()
        for row in rows:
            when = f" in {row['before']}" if row["what"] == "fell" else ""
            for name, text in zip(row["ids"], row["quotes"], strict=True):
                if text and (row["topic"], name) not in quoted:
                    quoted.add((row["topic"], name))
                    yield Sentence(f"- topic {row['topic']}{when}: “{text}” ({name})")
        yield Sentence("")
    quiet = result.facts["quiet"]
    if quiet:
        n = wording.counted(len(quiet), "period")
        yield Note(f"nothing beyond chance in {n}: {wording.listed(quiet, 12)}")
    yield Note(
        "new, grew, fell: against the period before, in relation to the scatter of the periods; burst: against trend and season. "
        "q: false discovery rate over all topics and periods. Quotes: documents with most of the topic"
    )


def write_brief(brief: TopicTable, target: Path, *, force: bool = False) -> None:
    """Write a brief as Markdown.

    Raises:
        OutputExistsError: the file is there.
    """
    written = []
    for block in brief_blocks(brief):
        shown = Sentence(block.text.replace("<", "&lt;")) if isinstance(block, Sentence) else block
        written.append(markdown.write(shown))
    with atomic_file(target, force=force) as part:
        part.write_text("".join(written), encoding="utf-8", newline="\n")
    reporting.note(f"wrote {target}")


def _evidence(row: dict[str, Any], limit: float) -> tuple[float | None, str]:
    """Return the q of the test that gives a topic its name, the smallest where none does, and the season and the burst that were found."""
    q = {name: row[f"q_{name}"] for name in ("trend", "season", "burst")}
    when = []
    if "seasonal" in (row["signal"], *row["also"].split(", ")):
        when.append(f"most in {row['season_peak']} ({row['season_ratio']:,.1f}×)")
    if q["burst"] is not None and q["burst"] <= limit:
        first, last = row["burst_first"], row["burst_last"]
        when.append(f"{first if first == last else f'{first} to {last}'} ({row['burst_ratio']:,.1f}×)")
    test = {"seasonal": "season", "burst": "burst"}.get(row["signal"], "trend")
    known = [value for value in q.values() if value is not None]
    return (q[test] if row["signal"] in CALLED else min(known, default=None)), ", ".join(when)


def _what(row: dict[str, Any]) -> str:
    return row["what"] if row["until"] in (None, row["period"]) else f"burst until {row['until']}"


def _p(value: float | None) -> str:
    return "" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"

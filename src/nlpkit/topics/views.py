"""What is done with topics, on the screen: their shares in cells, edits, two runs or several models compared, names; clusters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.blocks import Block, Note, Table, cell
from nlpkit.platform.views.sparkline import sparkline
from nlpkit.platform.views.terminal import width
from nlpkit.topics.base.views import TERMS_SHOWN
from nlpkit.topics.mixture_views import topic_run_notes

if TYPE_CHECKING:
    from nlpkit.topics.edit.run import EditedRun
    from nlpkit.topics.name.run import TopicNames
    from nlpkit.topics.over_time.run import Axis, TopicShares
    from nlpkit.topics.over_time.tables import TopicTable

LINE_WIDTH = 24
MOST_GROUPS = 6  # whose shares fit beside each other
LABEL_WIDTH = 40
UNIT_TOPICS = 3  # of a unit that are shown
SHOWN_VALUES = 5  # of a number whose effects are shown
TEXT_WIDTH = 160
REST = "-o FILE"


def shares(result: TopicShares, words: TopicTable | None) -> None:
    """Print the tables of topics in cells, or their JSON object."""
    extra = {} if words is None else {"terms": words.facts["terms"], "words": words.table.to_pylist()}
    console.say(
        shares_blocks(result, words, LINE_WIDTH if width() > 100 else LINE_WIDTH // 2),
        lambda: {**result.to_dict(), **extra},
    )


def shares_blocks(result: TopicShares, words: TopicTable | None, most: int) -> Iterator[Block]:
    """Yield the shares of topics, over time as lines of at most so many blocks, by group, and the words of cells."""
    yield _overall(result, most)
    for axis in result.groups:
        yield _groups(result, axis)
    if words is not None:
        yield _words(result, words)
    yield from _cell_notes(result)


def _overall(result: TopicShares, most: int) -> Table:
    trends = None if result.trends is None else result.trends.to_pylist()
    lines = _lines(result, most)
    rows, sizes, none = [], [], []
    for k, row in enumerate(result.overall.to_pylist()):
        is_topic = row["topic"] >= 0
        if not is_topic and not row["count"]:
            continue
        cells = [
            str(row["topic"]),
            _label(row["topic_label"]),
            _count(row["count"], result.mixed),
            _percent(row["share"]),
        ]
        cells.append(_range(row["low"], row["high"]))
        if lines:
            cells.append(lines[k])
        if trends:
            cells += _trend(trends[k]) if is_topic else [""] * 3
        if is_topic:
            rows.append(cells)
            sizes.append(row["count"])
        else:
            none.append(cells)
    columns = ["topic", "name", "docs", "share", f"{result.options.ci:.0%}"]
    if lines:
        assert result.periods is not None
        columns.append(f"{result.periods.names[0]} to {result.periods.names[-1]}")
    columns += ["trend", "q", ""] if trends else []
    right = ["topic", "docs", "share", f"{result.options.ci:.0%}", "q"]
    return Table(columns, rows, right=right, noun="topics", sizes=sizes, rest=REST, after=none, texts=["name"])


def _lines(result: TopicShares, most: int) -> list[str]:
    """Return a line of blocks for each topic: its share in each period, or each few periods; a blank where there are no documents."""
    cells = result.over_time
    if cells is None or len(cells.n) < 2:
        return []
    size = min(len(cells.n), most)
    values = cells.merged(np.arange(len(cells.n)) * size // len(cells.n), size).shares
    return [sparkline(of_topic, missing=" ") for of_topic in values.T]


def _trend(row: dict[str, Any]) -> list[str]:
    if row["p"] is None:
        return ["", "", ""]
    return [f"{_percent(row['share_first'])} → {_percent(row['share_last'])}", _p(row["q"]), row["change"]]


def _groups(result: TopicShares, axis: Axis) -> Table:
    assert result.differences is not None
    cells = result.by_group(axis)
    values, rows, sizes = cells.shares, [], []
    few = len(axis.names) <= MOST_GROUPS
    for row in result.differences.filter(pc.equal(result.differences.column("by"), axis.column)).to_pylist():
        k = row["topic"]
        named = [str(k), _label(row["topic_label"])]
        if few:
            named += [_percent(value) for value in values[:, k]]
        else:
            named += [
                f"{row['lowest']} {_percent(row['lowest_share'])}",
                f"{row['highest']} {_percent(row['highest_share'])}",
            ]
        rough = row["least_expected"] is not None and row["least_expected"] < 5
        rows.append([*named, cell(row["effect"], ".2f"), _p(row["q"]) + (" ~" if rough else "  ")])
        sizes.append(float(cells.sums[:, k].sum()))
    heads = (
        [f"{name} ({wording.count(n)})" for name, n in zip(axis.names, cells.n, strict=True)]
        if few
        else ["lowest", "highest"]
    )
    brackets = " (in brackets: documents)" if few else ""
    title = f"Shares by {axis.column}, {wording.counted(len(axis.names), 'group')}{brackets}"
    right = ["topic", *(heads if few else ()), "effect", "q"]
    columns = ["topic", "name", *heads, "effect", "q"]
    return Table(columns, rows, right, title, noun="topics", sizes=sizes, rest=REST, texts=["name"])


def _words(result: TopicShares, words: TopicTable) -> Table:
    names = [axis.column for axis in result.axes]
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in words.table.to_pylist():
        rows[row["topic"], *(row[name] for name in names)].append(row)
    cells, sizes = [], []
    for key, of_cell in sorted(rows.items(), key=lambda item: item[0]):
        first, terms = of_cell[0], " ".join(row["term"] for row in of_cell)
        cells.append([str(key[0]), _label(first["topic_label"]), *key[1:], wording.count(first["documents"]), terms])
        sizes.append(first["documents"])
    columns = ["topic", "name", *names, "documents", "words"]
    title = f"Words of topics by {' and '.join(names)}" if names else "Words of topics"
    right, rest = ["topic", "documents"], "--save-words FILE"
    return Table(columns, cells, right, title, noun="cells", sizes=sizes, rest=rest)


def _cell_notes(result: TopicShares) -> Iterator[Block]:
    counting = (
        "documents count for all their topics by probability (--count main: for their main one)"
        if result.mixed
        else "documents count for their main topic"
    )
    yield Note(f"{wording.counted(int(result.cells.n.sum()), 'document')}; {counting}")
    if result.periods is not None:
        empty = int((result.by_group(result.periods).n == 0).sum())
        without = f", {empty} of them without documents" if empty else ""
        yield Note(
            f"{wording.counted(len(result.periods.names), 'period')}{without}; blocks: share, the highest of each topic is full"
        )
        if result.trends is None:
            yield Note("no trends: they need at least three periods with documents")
        else:
            yield Note(
                "trend: fitted share in the first and the last period; q: false discovery rate over all topics, periods are the units"
            )
    rough = result.differences is not None and any(
        v is not None and v < 5 for v in result.differences.column("least_expected").to_pylist()
    )
    if result.groups:
        yield Note(
            "effect: root of the share of the variance that lies between groups"
            + ("; ~: fewer than 5 documents expected in a group, q is rough" if rough else "")
        )


def answer_blocks(result: TopicTable) -> Iterator[Block]:
    """Yield the answer to a question about topics."""
    rows, columns = result.table.to_pylist(), result.table.column_names
    special = {
        "documents": _documents,
        "tests": _permutations,
        "effects": _effects,
        "columns": _columns,
        "units": _units,
    }
    if result.kind in special:
        yield from special[result.kind](rows, result.facts)
        return
    cells = [
        [_label(row[n]) if n in ("topic_label", "other_label") else _number(row[n]) for n in columns] for row in rows
    ]
    heads = [name.replace("_", " ") for name in columns]
    right = [head for head in heads if head not in ("topic label", "other label", "term")]
    titles = {
        "topics": f"Topics like {result.facts.get('similar_to')} {result.facts.get('topic_label')}",
        "pairs": "Correlations of topics over documents",
    }
    yield Table(heads, cells, right, titles.get(result.kind, ""), noun=result.kind, rest=REST)


def _effects(rows: list[dict[str, Any]], facts: dict[str, Any]) -> Iterator[Block]:
    """Yield the share of each topic at the values of a column, or the coefficients of the regression, topic by topic."""
    if facts.get("difference"):
        yield from _effect_differences(rows, facts)
        return
    if facts.get("scale") == "number":
        rows = _some_values(rows)
    level = f"{facts['ci']:.0%} interval"
    has_shares = facts["of"] is not None
    heads = (
        [f"topic, {facts['of']}", "share", level, "difference", f"{level} of it", "p"]
        if has_shares
        else ["topic, covariate", "estimate", level, "se", "t", "p"]
    )
    cells: list[list[str]] = []
    for number, row in enumerate(rows):
        same = number and all(rows[number - 1].get(key) == row.get(key) for key in ("topic", "moderator"))
        if not same:
            at = f", {facts['moderator']} {row['moderator']}" if facts.get("moderator") else ""
            cells.append([f"{row['topic']} {row['topic_label']}{at}", *[""] * 5])
        cells.append(_share_cells(row) if has_shares else _coefficient_cells(row))
    title = f"Effects on shares of topics in {wording.count(facts['documents'])} documents: {facts['prevalence']}"
    yield Table(heads, cells, right=heads[1:], title=title, noun="effects", rest=REST, texts=heads[:1])
    if any((row.get("low") or 0) < 0 or (row.get("high") or 0) > 1 for row in rows if "share" in row):
        yield Note(
            "shares come from a linear regression, so they and their intervals can pass 0% and 100%; --link logit keeps them within"
        )
    if has_shares:
        yield Note("difference: from the value marked (reference), in percentage points")
    if any(row["share"] is not None and row["low"] == row["high"] for row in rows if "share" in row):
        yield Note(
            "an interval without width is too short: there, all documents, or none, have the topic in the same share; "
            "--count mixed uses probabilities"
        )
    if facts["link"] == "logit" and not has_shares:
        yield Note("estimates are of the logit of a share, log(share / (1 - share))")
    yield _of_intervals(facts)


def _of_intervals(facts: dict[str, Any]) -> Note:
    """Return what is in the intervals of effects, and what is not."""
    parts = [
        f"topics of documents drawn {facts['draws']} times from their posteriors"
        if facts["draws"]
        else "topics of documents taken as known"
    ]
    if facts["clusters"]:
        intercepts = f"random intercepts and errors by {facts['random']}"
        by = intercepts if facts["random"] else f"errors clustered by {facts['cluster']}"
        parts.append(f"{by} ({wording.count(facts['clusters'])} values)")
    if facts["bootstrap"]:
        parts.append(f"{wording.counted(facts['bootstrap'], 'bootstrap sample')}")
    if facts.get("refits"):
        return Note(
            f"{'; '.join(parts)}. Intervals include how topics differ between the {facts['refits']} fits; each topic counts in the fits "
            "that have it"
        )
    return Note(
        f"{'; '.join(parts)}. Intervals hold for the topics of this fit; that another start or number of topics could give others is "
        "not in them"
    )


def _effect_differences(rows: list[dict[str, Any]], facts: dict[str, Any]) -> Iterator[Block]:
    """Yield the difference of each topic between two values of a column, at each value of a moderator."""
    first, second = facts["difference"]
    moderator = facts["moderator"]
    heads = ["topic", *([moderator] if moderator else []), "difference", f"{facts['ci']:.0%} interval", "p", "q"]
    cells = []
    for number, row in enumerate(rows):
        again = number > 0 and rows[number - 1]["topic"] == row["topic"]
        name = "" if again else f"{row['topic']} {row['topic_label']}"
        points = [_points(row["difference"]), _range(row["low"], row["high"])]
        cells.append([name, *([row["moderator"]] if moderator else []), *points, _p(row["p"]), _p(row["q"])])
    title = (
        f"{facts['of']}: share of topics at {first} less at {second}, in {wording.count(facts['documents'])} documents"
    )
    yield Table(heads, cells, right=heads[1:], title=title, noun="differences", rest=REST, texts=heads[:1])
    yield Note(f"{facts['prevalence']}; percentage points; q: false discovery rate over all topics")
    yield _of_intervals(facts)


def _points(difference: float | None) -> str:
    return "" if difference is None else f"{100 * difference:+.1f}"


def _share_cells(row: dict[str, Any]) -> list[str]:
    """Return the share of a topic at a value, and its difference from the value that the others are compared with."""
    value = f"{row['value']:.6g}" if isinstance(row["value"], float) else str(row["value"])
    share = [_percent(row["share"]), _range(row["low"], row["high"])]
    if row["difference"] == 0 and row["p"] is None:
        return [f"  {value}", *share, "(reference)", "", ""]
    return [
        f"  {value}",
        *share,
        _points(row["difference"]),
        _range(row["difference_low"], row["difference_high"]),
        _p(row["p"]),
    ]


def _coefficient_cells(row: dict[str, Any]) -> list[str]:
    ends = "" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"
    estimate, *numbers = (cell(row[name]) for name in ("estimate", "se", "t"))
    return [f"  {row['covariate']}", estimate, ends, *numbers, _p(row["p"])]


def _p(value: float | None) -> str:
    return "" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _permutations(rows: list[dict[str, Any]], facts: dict[str, Any]) -> Iterator[Block]:
    names = ("difference", "permuted_mean", "permuted_low", "permuted_high")
    cells = [
        [
            str(row["topic"]), _label(row["topic_label"]), *(_percent(row[name]) for name in names), f"{row['p']:.3f}",
            f"{row['match']:.2f}",
        ]
        for row in rows
    ]  # fmt: skip
    heads = ["topic", "topic label", *(name.replace("_", " ") for name in names), "p", "match"]
    first, second = facts["values"]
    yield Table(
        heads, cells, right=[head for head in heads if head != "topic label"], noun="topics", rest=REST,
        title=f"Effect of {facts['of']} on shares of topics, {second} less {first}, beside {facts['permutations']} permutations",
    )  # fmt: skip
    least = 1 / (facts["permutations"] + 1)
    small = sum(row["p"] < 0.05 for row in rows)
    yield Note(
        f"the effect on {small} of {wording.counted(len(rows), 'topic')} has p < 0.05 (the smallest possible p is {least:.3f}). Each topic "
        "is tested alone, without a correction for their number. match: how alike the words of matched topics are, at most 1"
    )


def _columns(rows: list[dict[str, Any]], facts: dict[str, Any]) -> Iterator[Block]:
    """Yield columns of documents by how well they explain the topics."""
    cells = [
        [
            row["column"], wording.count(row["values"]) + ("" if row["kind"] == "text" else " parts"),
            wording.count(row["documents"]), _percent(row["effect"]), _range(row["low"], row["high"]), _p(row["p"]),
            "; ".join(f"{k} {_label(label)}" for k, label in zip(row["topics"][:2], row["topic_labels"], strict=False)),
        ]
        for row in rows
    ]  # fmt: skip
    heads = ["column", "values", "documents", "explained", "95% interval", "p", "best explained topics"]
    title = f"Columns by how well they explain {wording.counted(facts['n_topics'], 'topic')}"
    yield Table(heads, cells, right=heads[1:6], title=title, noun="columns", rest=REST, texts=heads[6:])
    yield Note(
        "explained: share of the variance of topics between the values of a column, corrected for chance (0 for a column without "
        "meaning); p: permutation test. Should topics not follow a column, fit bertopic or lda-gibbs with --debias COLUMN"
    )


def _units(rows: list[dict[str, Any]], facts: dict[str, Any]) -> Iterator[Block]:
    """Yield units with their largest topics."""
    labels, cells = facts["topic_labels"], []
    for row in rows:
        best = sorted(range(len(labels)), key=lambda k: -row[f"topic_{k}"])[:UNIT_TOPICS]
        shares = [
            f"{k} {_percent(row[f'topic_{k}'])} ({_range(row[f'topic_{k}_low'], row[f'topic_{k}_high'])})" for k in best
        ]
        tokens = "" if row["tokens"] is None else wording.count(row["tokens"])
        cells.append(
            [
                str(row[facts["up"]]),
                wording.count(row["documents"]),
                tokens,
                *shares,
                *[""] * (UNIT_TOPICS - len(shares)),
            ]
        )
    ranks = ["largest topic", *(f"{n} largest" for n in ("second", "third"))]
    heads = [facts["up"], "documents", "tokens", *ranks]
    title = f"Topics of {wording.counted(len(rows), 'unit')} of {wording.counted(facts['documents'], 'document')}"
    yield Table(heads, cells, right=heads[1:3], title=title, noun="units", rest=REST, texts=heads[:1])
    yield Note("; ".join(f"{k} {label}" for k, label in enumerate(labels[:12])) + (" …" if len(labels) > 12 else ""))
    yield Note(
        f"{facts['ci']:.0%} intervals allow for {facts['between']}, whose topics have a correlation of {facts['correlation']:.2f}"
    )


def _some_values(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of each topic at five values of a number, from the least to the greatest; the table has them all."""
    n = sum(all(row.get(key) == rows[0].get(key) for key in ("topic", "moderator")) for row in rows)
    shown = sorted({round(i * (n - 1) / (SHOWN_VALUES - 1)) for i in range(SHOWN_VALUES)})
    return [rows[first + i] for first in range(0, len(rows), n) for i in shown]


def _documents(rows: list[dict[str, Any]], facts: dict[str, Any]) -> Iterator[Block]:
    """Yield the documents of topics, topic by topic."""
    for topic, of_topic in groupby(rows, key=lambda row: row["topic"]):
        cells = []
        for row in of_topic:
            text = " ".join((row["text"] or row.get("title") or "")[: 4 * TEXT_WIDTH].split())
            cells.append([str(row["rank"]), f"{row['prob']:.3f}", row["id"], wording.truncated(text, TEXT_WIDTH)])
        title = f"Topic {topic}: {row['topic_label']}"
        yield Table(["rank", "prob", "id", "text"], cells, ["rank", "prob"], title, noun="documents", rest=REST)


def _label(text: str) -> str:
    return wording.truncated(text, LABEL_WIDTH)


def _count(value: float, mixed: bool) -> str:
    return f"{value:,.1f}" if mixed else wording.count(value)


def _percent(share: float | None) -> str:
    return cell(share, ".1%")


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"{100 * low:.1f} to {100 * high:.1f}" if low < 0 else f"{100 * low:.1f}–{100 * high:.1f}"


def _number(value: Any) -> str:
    return cell(value) if isinstance(value, float) or value is None else str(value)


def template(text: str, path: Path | None, run: Path) -> None:
    """Print a file of edits, or say where it is and how it is used."""
    if console.settings.json:
        console.emit_json({"output": None if path is None else str(path), "edits": text})
    elif path is None:
        console.out(text.rstrip("\n"))
    if path is None:
        return
    command = shell_line("nlpkit", "edit", run, path, "-o", f"{run.name}-edited/")
    reporting.note(f"wrote {path}; take the # from the lines that you need, then: {command}")


def undone(before: dict[str, Any]) -> None:
    """Say which run an edit is undone by, or print one JSON object."""
    applied = before["edits"].get("applied") or {}
    done = [name for name, value in applied.items() if value not in (None, [], {}, ()) and name != "stop_words"]
    what = f" ({wording.listed(done, 8)})" if done else ""
    console.say([Note(f"{before['undone']} was made from {before['run']}{what}, which is unchanged: use it")],
                lambda: before)  # fmt: skip


def edited(result: EditedRun, target: Path) -> None:
    """Print the topics of a run that was written with those they were, or one JSON object."""

    def facts() -> dict[str, Any]:
        figures = {k: v for k, v in result.model.run.manifest["results"].items() if k not in ("evidence", "trace")}
        pairs = zip(result.topics.to_pylist(), result.lineage["topics"], strict=True)
        rows = [{**topic, "from": row["from"], "split": row["split"]} for topic, row in pairs]
        return {"run": str(target), **result.lineage, "results": figures, "topics": rows}

    console.say([*edited_blocks(result), *topic_run_notes(target)], facts)


def edited_blocks(result: EditedRun) -> Iterator[Block]:
    """Yield the topics after the edit, what each of them was, and what was done."""
    topics, lineage = result.topics.to_pylist(), result.lineage
    columns = ["topic", "was", "size", "share", "npmi", "name", "top words"]
    cells = []
    for topic, row in zip(topics, lineage["topics"], strict=True):
        numbers = [cell(topic["size"]), cell(topic["share"], ".1%"), cell(topic["npmi"])]
        terms = " ".join(topic["top_terms"][:TERMS_SHOWN])
        cells.append([str(topic["topic"]), _was(row), *numbers, topic["label"], terms])
    yield Table(
        columns, cells, right=["topic", "size", "share", "npmi"], noun="topics", rest="topics.parquet of the run"
    )
    yield from _edit_notes(lineage, len(topics), result)


def _was(row: dict[str, Any]) -> str:
    """Return the topics of the run before that a topic is made of: 1 + 4, or part of 3; "" for one that kept its number."""
    sources = row["from"]
    if row["split"]:
        return "part of " + " + ".join(map(str, sources))
    return "" if sources == [row["topic"]] else " + ".join(map(str, sources))


def _edit_notes(lineage: dict[str, Any], K: int, result: EditedRun) -> Iterator[Block]:
    for a, b, similarity in lineage["reduced"]:
        first, second = (" + ".join(map(str, topics)) for topics in (a, b))
        yield Note(f"reduce: topics {first} and {second} merged (cosine of c-tf-idf {similarity:.3f})")
    if lineage["dropped"]:
        n = len(lineage["dropped"])
        yield Note(f"{wording.counted(n, 'topic')} dropped: {wording.listed(lineage['dropped'], 10)}")
    if lineage["outliers_moved"]:
        n = lineage["outliers_moved"]
        yield Note(
            f"{wording.counted(n, 'document')} without a topic {'was' if n == 1 else 'were'} moved to the nearest one"
        )
    figures = result.model.run.manifest["results"]
    npmi, diversity = (wording.if_defined(figures.get(name)) for name in ("npmi", "diversity"))
    lost = round(float(figures["unassigned"]) * int(figures["documents"]))
    yield Note(
        f"{wording.counted(K, 'topic')}; NPMI {npmi} (documents), diversity {diversity}; "
        f"{wording.counted(lost, 'document')} without a topic"
    )


def names_blocks(result: TopicNames, target: Path | None) -> Iterator[Block]:
    """Yield the names with the passages that speak for them, and how it goes on."""
    rows = [[str(one.topic), one.before, one.name, wording.truncated(one.evidence, 60)] for one in result.names]
    yield Table(["topic", "before", "name", "evidence"], rows, right=["topic"])
    if result.layers:
        of_layers = [
            [str(o.layer), str(o.topic), o.before, o.name, wording.truncated(o.evidence, 60)] for o in result.layers
        ]
        yield Table(["layer", "topic", "before", "name", "evidence"], of_layers, ["layer", "topic"], "Other layers")
    if result.calls or result.cached:
        yield Note(f"{wording.counted(result.calls, 'question')} asked, {wording.count(result.cached)} answered before")
    if target is not None:
        is_edits = target.suffix == ".toml"
        words = ("edit", result.run.path, target, "-o", "named/") if is_edits else ("info", target)
        follow = shell_line("nlpkit", *words)
        yield Note(f"wrote {target}; next: {follow}")

"""Topic models of counts on the screen: how many topics, the topics, over time, and what to type next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.platform import wording
from nlpkit.platform.cli import console
from nlpkit.platform.plain import shell_line
from nlpkit.platform.types import BoolArray, FloatArray
from nlpkit.platform.views.blocks import Block, Figure, Note, Sentence, Table, cell, rest_line, shown_rows
from nlpkit.platform.views.sparkline import sparkline
from nlpkit.platform.views.terminal import fitted
from nlpkit.topics.base.notes import TopicResult, note_advice
from nlpkit.topics.base.views import TERMS_SHOWN, topics_block

if TYPE_CHECKING:
    from nlpkit.platform.types import TokenTable
    from nlpkit.topics.base.choose import TopicChoice
    from nlpkit.topics.base.mixture import FittedMixture
    from nlpkit.topics.base.run import FittedTopics
    from nlpkit.topics.base.runs import MixtureRun
    from nlpkit.topics.dtm.run import FittedDynamicTopics
    from nlpkit.topics.lda.chain import ComparedChains
    from nlpkit.topics.lda.model import FittedLda
    from nlpkit.topics.rolling.model import FittedRollingLda
    from nlpkit.topics.rolling.options import ChangeOptions

TEXT_WIDTH = 60
BY_LEVEL = "topic_terms_by_content"  # table of a structural topic model
TOPICS_SHOWN = 3  # topics of a class or an author
SHIFTS_SHOWN = 5
CHUNKS_SHOWN = 30
CHANGES_SHOWN = 30
WORDS_OF_A_CHANGE = 6
PLOT_WIDTH = 60
NAME_WIDTH = 22
MAX_BAR = 4  # characters of a chunk, where there are few
MARK, UNCERTAIN = "▲", " ≈"


def show_mixture(model: FittedTopics, target: Path) -> None:
    """Print a model that was written: the result as JSON, or tables and what to type next."""
    console.say(mixture_blocks(model, target), lambda: _facts(model, target, BY_LEVEL))


def _facts(model: FittedMixture, target: Path, *tables: str) -> dict[str, Any]:
    """Return a model as values that go into JSON, with some of its tables where it has them."""
    rows = {name: model.tables()[name].to_pylist() for name in ("topics", *tables) if name in model.tables()}
    return {"run": str(target), **model.summary, **rows}


def mixture_blocks(model: FittedTopics, target: Path) -> Iterator[Block]:
    """Yield the tables of a model, how its fit went, and what to type next."""
    report, tables = model.report, model.tables()
    assert report is not None
    if report.choice is not None:
        yield from choice_blocks(report.choice)
    yield mixture_topics(model.topics, model.documents.num_rows)
    yield from column_blocks(tables)
    if BY_LEVEL in tables:
        yield from content_blocks(tables[BY_LEVEL], model.topics.column("label").to_pylist())
    went = [
        _said(name.replace("_", " "), value)
        for name, value in report.fit.numbers.items()
        if isinstance(value, int | float)
    ]
    yield result_note(model.run, sum(report.seconds.values()), ", ".join(went))  # type: ignore[arg-type]
    yield from further_blocks(model, report.tokens, target)


def _said(name: str, value: float) -> str:
    """Return a number as "steps 12", and what holds or not as "converged", "not converged"."""
    if isinstance(value, bool):
        return name if value else f"not {name}"
    figure = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.5g}"
    return f"{name.replace('in sample', 'in the documents of the fit')} {figure}"


def content_blocks(terms: pa.Table, labels: Sequence[str]) -> Iterator[Block]:
    """Yield the words of topics at each level of the content: the most probable, and those that set the level apart."""
    cells: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in terms.to_pylist():
        cells.setdefault((row["topic"], row["level"]), []).append(row)
    rows = []
    for (k, level), words in cells.items():
        apart = sorted((w for w in words if w["log_ratio"] > 0), key=lambda w: w["contrast_rank"])
        shown = (" ".join(word["term"] for word in some[:TERMS_SHOWN]) for some in (words, apart))
        rows.append([str(k), labels[k], level, *shown])
    columns = ["topic", "name", "level", "most probable words", "more probable than on average"]
    yield Table(
        columns, rows, right=columns[:1], title="Words of the topics at each level", noun="topics at levels",
        rest=f"{BY_LEVEL}.parquet of the run",
    )  # fmt: skip


def result_note(run: MixtureRun, seconds: float, went: str) -> Note:
    """Return how many topics there are, how the fit went, and how coherent and different the topics are."""
    described = run.description
    known = described.npmi[np.isfinite(described.npmi)]
    coherence = wording.if_defined(known.mean() if len(known) else None)
    return Note(
        f"{wording.counted(len(described.labels), 'topic')} in {seconds:.0f} s; {went}; NPMI (documents) {coherence}, diversity "
        f"{wording.if_defined(described.diversity)} (of the 10 most probable words of each topic, higher is better)"
    )


def further_blocks(model: FittedMixture, tokens: TokenTable, target: Path) -> Iterator[Block]:
    """Yield what the columns are, what should be known or done, and what to type next."""
    yield Note(
        "docs: documents whose main topic it is · tokens: its share of all words · words are ranked by relevance; topic_terms.parquet "
        "ranks them by probability"
    )
    run: MixtureRun = model.run  # type: ignore[assignment]
    topics = model.documents.column("topic").to_numpy()
    note_advice(TopicResult(topics, run.description.relevant, tokens))
    if run.files.model_config["tokens"] is not None:
        yield from topic_run_notes(target)
        return
    yield Note(f"wrote {target}/{console.next_step('info', target)}")
    yield Note(
        "the tokens came without the settings that made them, as JSON lines and pipes hold them. This run cannot cut new texts: predict "
        "and evaluate need documents with such tokens. A run that can is fitted to a file of nlpkit preprocess -o docs.parquet"
    )


def choice_blocks(choice: TopicChoice) -> Iterator[Block]:
    """Yield the numbers of topics that were compared."""
    scores = ["npmi", "exclusivity", "stability", "small_topics", "score"]  # those that the score is made of
    names = [name for name in scores if any(getattr(row, name) == getattr(row, name) for row in choice.rows)]
    heads = [{"npmi": "NPMI"}.get(name, name.replace("_", " ")) for name in names]
    columns = ["", "topics", "perplexity ± se", "behind best ± se", *heads]
    rows: list[Sequence[str]] = []
    for row in choice.rows:
        mark = "→" if row.chosen else "*" if row.best else ""
        held = [
            f"{_perplexity(row.perplexity)} ± {_perplexity(row.perplexity_se)}",
            f"{row.behind:.3f} ± {row.behind_se:.3f}",
        ]
        rows.append([mark, str(row.n_topics), *held, *(cell(getattr(row, name)) for name in names)])
    title = (
        f"How many topics? {wording.counted(choice.seeds, 'fit')} each. Lower is better for perplexity, behind best and small topics, "
        "higher for the others."
    )
    nearest = [-abs(row.behind) + (1e9 if row.chosen or row.best else 0) for row in choice.rows]
    yield Table(
        columns,
        rows,
        right=columns[1:],
        title=title,
        noun="numbers of topics",
        sizes=nearest,
        rest="manifest.json of the run",
    )
    yield Note(
        f"perplexity: of {wording.counted(choice.n_held_out, 'held-out document')} · behind best: log-likelihood per token minus the best "
        "number's, on the same documents · small topics: share with fewer than 10 documents"
    )


def _perplexity(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def mixture_topics(topics: pa.Table, n_documents: int) -> Table:
    """Return the topics of a mixture model with their words and a representative document."""
    rows = topics.to_pylist()
    texts = [wording.truncated(" ".join((row["representative_texts"] or [""])[0].split()), TEXT_WIDTH) for row in rows]
    lost = n_documents - sum(row["size"] for row in rows)
    none = [["-1", wording.count(lost), "", "(no tokens)", "", ""]] if lost else []
    return topics_block(rows, {"docs": "size", "tokens": "share"}, texts, after=none)


def topic_run_notes(target: Path) -> list[Note]:
    """Return where the run of a topic model is, and which commands read it."""
    predict = shell_line("nlpkit", "predict", target, "NEW.jsonl", "-o", "predicted.parquet")
    return [Note(f"wrote {target}/{console.next_step('info', target)}"), Note(f"              or: {predict}")]


def column_blocks(tables: Mapping[str, pa.Table]) -> Iterator[Block]:
    """Yield the coefficients of a label and the topics of authors, where a run has them."""
    names = dict(enumerate(tables["topics"].column("label").to_pylist()))
    if "coefficients" in tables:
        yield from _coefficients(tables["coefficients"].to_pylist(), names)
    if "authors" in tables:
        yield from _authors(tables["authors"].to_pylist(), names)


def _coefficients(rows: list[dict[str, Any]], names: Mapping[int, str]) -> Iterator[Block]:
    rows = sorted(rows, key=lambda row: -row["coefficient"])
    classes = sorted({row["class"] for row in rows if row["class"] is not None})
    rest = "coefficients.parquet of the run"
    if len(classes) < 2:  # a number, or the log-odds of the second of two classes
        title = "Coefficients of the topics" + (f": log-odds of {classes[0]}" if classes else "")
        cells = [[str(row["topic"]), names[row["topic"]], f"{row['coefficient']:+.3g}"] for row in rows]
        sizes = [abs(row["coefficient"]) for row in rows]
        columns = ["topic", "name", "coefficient"]
        yield Table(columns, cells, right=["topic", "coefficient"], title=title, noun="topics", sizes=sizes, rest=rest)
        return
    cells = []
    for name in classes:
        one = [(row["topic"], row["coefficient"]) for row in rows if row["class"] == name]
        speaks_for = [pair for pair in one if pair[1] > 0]
        against = [pair for pair in reversed(one) if pair[1] < 0]
        cells.append([name, _some_topics(speaks_for, names, "+.2g"), _some_topics(against, names, "+.2g")])
    title = "Topics that go with each class, by their coefficients"
    yield Table(["class", "topics for it", "topics against it"], cells, title=title, noun="classes", rest=rest)


def _authors(rows: list[dict[str, Any]], names: Mapping[int, str]) -> Iterator[Block]:
    cells, sizes = [], []
    for author, of_author in groupby(rows, key=lambda row: row["author"]):
        topics = list(of_author)
        first = topics[0]
        shares = [(row["topic"], row["prob"]) for row in topics]
        cells.append([author, cell(first["documents"]), cell(first["n_tokens"]), _some_topics(shares, names, ".0%")])
        sizes.append(float(first["n_tokens"]))
    yield Table(
        ["author", "docs", "words", "topics"], cells, right=["docs", "words"], title="Topics of the authors", noun="authors",
        sizes=sizes, rest="authors.parquet of the run",
    )  # fmt: skip


def _some_topics(topics: Sequence[tuple[int, float]], names: Mapping[int, str], form: str) -> str:
    """Return the first of some topics, with their names and a number of each, as in 3 bread, oven (+2.1)."""
    return ", ".join(f"{k} {names[k]} ({value:{form}})" for k, value in topics[:TOPICS_SHOWN])


def show_lda(model: FittedLda, target: Path) -> None:
    """Print a model that was written: the result as JSON, or tables and what to type next."""
    console.say(lda_blocks(model, target), lambda: _facts(model, target))


def lda_blocks(model: FittedLda, target: Path) -> Iterator[Block]:
    """Yield the tables of a model, how much its chains agree, how the fit went, and what to type next."""
    report, run = model.report, model.run
    assert report is not None
    if report.choice is not None:
        yield from choice_blocks(report.choice)
    if report.prototype is not None:
        yield from prototype_blocks(report.prototype)
    yield mixture_topics(model.topics, model.documents.num_rows)
    fit, mixture = report.fit, model.model
    if fit.stopped is not None:
        yield Note(f"the chain had settled after {wording.counted(fit.stopped, 'sweep')} (--early-stop)")
    averaged = f" (counts: mean of {fit.samples} states)" if fit.samples > 1 else ""
    went = f"log-likelihood {fit.log_likelihood:.4f} a token{averaged}, alpha sums to {mixture.alpha.sum():.4g}, eta {mixture.eta:.4g} each"
    yield result_note(run, sum(report.seconds.values()), went)  # type: ignore[arg-type]
    yield from further_blocks(model, report.tokens, target)


def prototype_blocks(compared: ComparedChains) -> Iterator[Block]:
    """Yield the chains with their mean S-CLOP."""
    runs, prototype = compared.runs, compared.prototype
    mean = prototype.mean_sclop
    shown = np.argsort(-mean, kind="stable")[:10]
    rows = [
        [
            "→" if r == prototype.run else "",
            str(r),
            str(runs.seeds[r]),
            f"{mean[r]:.3f}",
            f"{runs.log_likelihood[r]:,.0f}",
        ]
        for r in shown
    ]
    columns = ["", "run", "seed", "mean S-CLOP", "log p(w, z)"]
    yield Table(columns, rows, right=columns[1:], title="How much do the chains agree? 1 = the same topics.")
    yield Note(
        f"run {prototype.run} is the prototype: mean S-CLOP {mean.max():.3f} with the others, mean of all runs "
        f"{mean.mean():.3f}, worst {mean.min():.3f} ({compared.measure} similarity of topics)"
    )


def show_dynamic(model: FittedDynamicTopics, target: Path) -> None:
    """Print a model that was written: the result as JSON, or topics, their words over time and what to type next."""
    blocks = chain(mixture_blocks(model, target), words_over_time(model))
    console.say(blocks, lambda: {**_facts(model, target, "periods"), "changes": model.changes.to_pylist()})


def words_over_time(model: FittedDynamicTopics) -> Iterator[Block]:
    """Yield the words of each topic in the first, the middle and the last period, and those that rose and fell most."""
    starts, T = model.periods.start_dates, model.periods.n
    shown = sorted({0, T // 2, T - 1})
    words: dict[tuple[int, int], list[str]] = defaultdict(list)
    wanted = model.terms_over_time.filter(pc.less_equal(model.terms_over_time.column("rank"), TERMS_SHOWN))
    for row in wanted.to_pylist():
        words[row["topic"], row["period"]].append(row["term"])
    moved: dict[tuple[int, str], list[str]] = defaultdict(list)
    for row in model.changes.to_pylist():
        if row["rank"] <= SHIFTS_SHOWN:
            moved[row["topic"], row["change"]].append(row["term"])
    rows = []
    sizes = model.topics.column("size").to_pylist()
    for k, label in enumerate(model.topics.column("label").to_pylist()):
        for at, t in enumerate(shown):
            change = {0: f"+ {' '.join(moved[k, 'rose'])}", len(shown) - 1: f"− {' '.join(moved[k, 'fell'])}"}.get(
                at, ""
            )
            rows.append(
                [str(k) if at == 0 else "", label if at == 0 else "", str(starts[t]), " ".join(words[k, t]), change]
            )
    yield Table(
        ["topic", "name", "from", "most probable words", "rose +, fell − most"],
        rows,
        right=["topic"],
        title="Words over time: first, middle and last period",
        noun="rows",
        sizes=[float(size) for size in sizes for _ in shown],
        rest="topic_terms_over_time.parquet of the run",
    )
    yield Note("over time: topic_terms_over_time.parquet, topic_changes.parquet, periods.parquet of the run")


def show_rolling(model: FittedRollingLda, target: Path, previous: Path | None = None) -> None:
    """Print a rolling model that was written: the result as JSON, or topics, chunks, shares over time and changes.

    Args:
        previous: the run that was updated.
    """

    def facts() -> dict[str, Any]:
        changes = model.tables()["changes"].to_pylist()
        return {**_facts(model, target, "chunks"), "changes": [row for row in changes if row["changed"]]}

    console.say(rolling_blocks(model, target, previous, console.settings.show), facts)


def rolling_blocks(
    model: FittedRollingLda, target: Path, previous: Path | None, most: int | None = None
) -> Iterator[Block]:
    """Yield the topics of a rolling model, its chunks, the shares over time and the changes; most: topics over time."""
    tables, report = model.tables(), model.report
    assert report is not None
    if report.prototype is not None:
        yield from prototype_blocks(report.prototype)
    yield mixture_topics(tables["topics"], tables["documents"].num_rows)
    chunks, names = tables["chunks"].to_pylist(), tables["topics"].column("label").to_pylist()
    yield chunks_block(chunks)
    if most != 0:
        yield shares_figure(chunks, tables["topic_shares"], tables["changes"], names, most)
    yield Sentence("")
    yield from changes_blocks(tables["changes"].to_pylist(), names, model.change_options)
    result, fit = model.summary, report.fit
    yield Note(
        f"{wording.counted(fit.model.n_topics, 'topic')} in {wording.counted(result['chunks'], 'chunk')} in "
        f"{sum(report.seconds.values()):.0f} s; log-likelihood {fit.log_likelihood:.4f} a token, diversity "
        f"{wording.if_defined(model.run.description.diversity)}; alpha sums to {fit.model.alpha.sum():.4g}, eta {fit.model.eta:.4g} each"  # type: ignore[union-attr]
    )
    yield Note(f"wrote {target}/ (over time: topic_shares.parquet, changes.parquet, chunks.parquet)")
    yield Note(f"next: {shell_line('nlpkit', 'info', target)}")
    longer = "longer/" if Path(target).name != "longer" else "still-longer/"  # a run is never updated in its place
    yield Note(f"  or: {shell_line('nlpkit', 'rolling-lda', 'NEWER.jsonl', '--update', target, '-o', longer)}")
    if model.renumbered:
        listed = ", ".join(f"{old} → {new}" for old, new in model.renumbered[:20])
        yield Note(
            f"topics are numbered by size, so some have another number than in {previous}: {listed}"
            f"{' …' if len(model.renumbered) > 20 else ''} (the column chain_topic stays the same)"
        )


def chunks_block(chunks: Sequence[dict[str, Any]]) -> Table:
    """Return the chunk table; of many the first and the last."""
    rows = []
    for chunk in chunks:
        names = [str(chunk[name]) for name in ("chunk", "start_date", "end_date")]
        memory = "" if chunk["n_memory"] is None else f"{cell(chunk['n_memory'])} since {chunk['memory']}"
        docs, discarded, *words = (cell(chunk[name]) for name in ("n", "n_discarded", "n_vocab", "n_tokens"))
        rows.append([*names, docs, discarded, memory, *words])
    left_out = len(rows) - CHUNKS_SHOWN
    if left_out > 1:
        half = CHUNKS_SHOWN // 2
        rows = [*rows[:half], ["…", *[""] * 7], *rows[-half:]]
    columns = ["chunk", "from", "to", "docs", "discarded", "memory", "vocabulary", "tokens"]
    right = ["chunk", "docs", "discarded", "vocabulary", "tokens"]
    omitted = f"; {left_out} in the middle are left out here (all: chunks.parquet)" if left_out > 1 else ""
    return Table(columns, rows, right=right, title=f"Chunks; the first is the initial period{omitted}")


def shares_figure(
    chunks: Sequence[dict[str, Any]], shares: pa.Table, changes: pa.Table, names: Sequence[str], most: int | None
) -> Figure:
    """Return a line of bars for each topic: its share of the tokens of each chunk, from 0 to its own largest."""
    K = len(names)
    share = shares.column("share").to_numpy(zero_copy_only=False).reshape(len(chunks), K)
    changed = np.zeros((len(chunks), K), bool)
    at = {c["chunk"]: row for row, c in enumerate(chunks)}
    for row in changes.select(["topic", "chunk", "changed"]).to_pylist():
        changed[at[row["chunk"]], row["topic"]] = row["changed"]
    columns = columns_of(share, changed, np.array([c["n_tokens"] for c in chunks]), PLOT_WIDTH)
    wide = max(1, min(MAX_BAR, PLOT_WIDTH // len(columns.first)))  # characters of a column
    lines = [_title(wide, columns.per_column)]
    axis = date_axis([chunks[row]["start_date"] for row in columns.first], wide)
    lines.append(f"{'topic':<5} {'name':<{NAME_WIDTH}} {'least–most':>12}  {axis}".rstrip())
    tokens = np.array([c["n_tokens"] for c in chunks], np.float64)
    shown = shown_rows(K, most, (np.nan_to_num(share) * tokens[:, None]).sum(axis=0).tolist())
    for k in shown:
        values = share[:, k][~np.isnan(share[:, k])]
        span = f"{100 * values.min():.1f}–{100 * values.max():.1f} %" if len(values) else ""
        lines.append(f"{k:>5} {fitted(names[k], NAME_WIDTH)} {span:>12}  {sparkline(columns.share[:, k], wide)}")
        if columns.changed[:, k].any():
            marks = "".join((MARK if c else "").ljust(wide) for c in columns.changed[:, k])
            lines.append(f"{'':>5} {'':<{NAME_WIDTH}} {'':>12}  {marks}".rstrip())
    if len(shown) < K:
        lines.append(rest_line(len(shown), K, "topics", "topic_shares.parquet of the run", largest=True))
    return Figure("\n".join(lines))


def _title(wide: int, per_column: int) -> str:
    """Return two lines above the plot."""
    size = "a column" if wide == 1 else f"{wide} columns"
    each = f"{size} for each chunk" if per_column == 1 else f"a column for {per_column} chunks"
    return (
        f"Topics over time: share of the tokens, from 0 to the most of each topic;\n{each}, first the initial period; "
        f"{MARK} a change of its words"
    )


@dataclass(frozen=True, slots=True)
class Columns:
    """Chunks joined to P columns: share (P, K), changed (P, K), first chunk of each (P,), chunks in one."""

    share: FloatArray
    changed: BoolArray
    first: list[int]
    per_column: int


def columns_of(share: FloatArray, changed: BoolArray, n_tokens: Any, width: int) -> Columns:
    """Join neighbouring chunks until they fit; the initial period stays alone. Shares are means weighted by tokens.

    Args:
        share: (C, K), nan where a chunk has no tokens; changed: (C, K); n_tokens: (C,); width: at most so many columns.
    """
    C = len(share)
    size = max(1, -(-(C - 1) // (width - 1)))
    first = [0, *range(1, C, size)]
    weights = np.where(np.isnan(share), 0.0, n_tokens[:, None].astype(np.float64))
    sums = np.add.reduceat(np.nan_to_num(share) * weights, first, axis=0)
    totals = np.add.reduceat(weights, first, axis=0)
    joined = np.divide(sums, totals, out=np.full_like(sums, np.nan), where=totals > 0)
    return Columns(joined, np.logical_or.reduceat(changed, first, axis=0), first, size)


def date_axis(starts: Sequence[date], wide: int = 1) -> str:
    """Return years, within three years months, each above the first column that begins in it, where there is room.

    Args:
        starts: first day of each column; wide: characters of a column.
    """
    form = "%Y-%m" if (starts[-1] - starts[0]).days < 3 * 366 else "%Y"
    axis, before = "", ""
    for number, start in enumerate(starts):
        text = start.strftime(form)
        if text != before and (not axis or number * wide > len(axis)):
            axis = axis.ljust(number * wide) + text
        before = text
    return axis


def _signed(words: Sequence[str], rose: Sequence[bool]) -> str:
    return " ".join(f"{'+' if up else '−'}{word}" for word, up in zip(words, rose, strict=False))


def changes_blocks(tests: Sequence[dict[str, Any]], names: Sequence[str], options: ChangeOptions) -> Iterator[Block]:
    """Yield the changes found, earliest first."""
    changes = sorted((row for row in tests if row["changed"]), key=lambda row: (row["chunk"], row["topic"]))
    missed = sum(row.get("uncertain", False) for row in tests if not row["changed"])
    before = "the chunk before" if options.change_span == 1 else f"the {options.change_span} chunks before at most"
    usual = f"{options.change_mixture:.0%} of the usual change expected"
    method = f"significance level {options.change_level:g}, {usual}, against {before}"
    if not changes:
        yield Sentence(f"No topic changed in any chunk ({wording.counted(len(tests), 'test')}; {method}).")
        yield from _uncertain(0, missed)
        return
    rows = [
        [
            str(row["start_date"]),
            str(row["topic"]),
            names[row["topic"]],
            f"{row['similarity']:.3f} < {row['threshold']:.3f}{UNCERTAIN if row.get('uncertain') else ''}",
            _signed(row["words"][:WORDS_OF_A_CHANGE], row["rose"]),
        ]
        for row in changes[:CHANGES_SHOWN]
    ]
    title = f"Changes: {len(changes)} in {wording.counted(len(tests), 'test')}\n({method})"
    columns = ["chunk from", "topic", "name", "similarity", "words that drove it: + more, − less"]
    yield Table(columns, rows, right=["topic"], title=title)
    if len(changes) > CHANGES_SHOWN:
        yield Sentence(f"({len(changes) - CHANGES_SHOWN} later ones are in changes.parquet)")
    yield from _uncertain(sum(row.get("uncertain", False) for row in changes), missed)


def _uncertain(changes: int, missed: int) -> Iterator[Block]:
    """Yield how many tests are within the noise of their threshold: changes found, and changes just missed."""
    if changes:
        yield Sentence(
            f"{UNCERTAIN.strip()} {wording.counted(changes, 'change')} within the noise of the threshold: with another seed it may be none"
        )
    if missed:
        yield Sentence(
            f"{wording.counted(missed, 'test')} without a change within that noise: with another seed it may be one (column uncertain "
            "of changes.parquet)"
        )

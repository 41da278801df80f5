"""nlpkit topics: the topics of a run over time and by group, their documents and words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.options import READ, TABLE_WRITTEN, WRITTEN, Param, options
from nlpkit.topics.over_time.options import (
    PrevalenceOptions,
    SignalOptions,
    TopicQueryOptions,
    TopicWordOptions,
    UnitOptions,
)


@options
class SideTables:
    """Further tables of topics in cells."""

    PANEL: ClassVar[str] = "Output"

    save_trends: Annotated[Path | None, Param("Table of the trends.", metavar="FILE"), TABLE_WRITTEN] = None
    save_differences: Annotated[
        Path | None, Param("Table of the differences between groups.", metavar="FILE"), TABLE_WRITTEN
    ] = None
    save_words: Annotated[
        Path | None, Param("Table of topic words by period and group (see `words`).", metavar="FILE"), TABLE_WRITTEN
    ] = None
    save_brief: Annotated[
        Path | None, Param("Write the brief of each period as Markdown.", metavar="FILE"), WRITTEN
    ] = None


def _names_trends(signals: SignalOptions, side: SideTables, *, others: bool) -> bool:
    """Return whether signals or a brief are wanted. Raises UsageError beside other questions and tables."""
    named = signals.signals or signals.brief or side.save_brief is not None
    if named and (others or side.save_trends or side.save_differences):
        raise UsageError(
            "`signals` and `brief` stand alone; leave questions, words and further tables out", parameter="signals"
        )
    if signals.cycle is not None and not named:
        raise UsageError("`cycle` belongs to `signals` and `brief`", parameter="cycle")
    return named


def topics_cli(
    source: Annotated[Path, Argument("Run directory of a topic model.", metavar="RUN"), READ],
    cells: PrevalenceOptions,
    words: TopicWordOptions,
    signals: SignalOptions,
    units: UnitOptions,
    query: TopicQueryOptions,
    out: OutputFlags,
    side: SideTables,
    run: RunFlags,
) -> None:
    """Show topics over time, by group, and by their documents.

    nlpkit prints the share of each topic in every period and group with 95 % intervals, also where there are no documents. It
    adds a trend for each topic and a test for differences between groups. The false discovery rate (q) covers all topics.

    --signals names what each topic does: weak signal, strong signal, fading, seasonal or burst, with the share of topics
    that the same tests name on permuted dates. --brief shows what is new, grew and fell in each period, with quotes.

    --up parent_id adds topics of sentences up to documents, --up author topics of documents to authors. Intervals allow for
    documents of one unit that depend on each other. `nlpkit effects` and R take the table.

    The command works on every run of a topic model. It computes no embeddings, and it reads texts only for words or documents.

    \b
    Examples:
      nlpkit topics run/ --over date:month
      nlpkit topics run/ --over date:quarter --by source --words 5 -o shares.csv
      nlpkit topics run/ --over date:month --signals --save-brief brief.md
      nlpkit topics run/ --by label --terms distinctive --words 8
      nlpkit topics run/ --documents 3 --top 5
      nlpkit topics run/ --search "court*"
      nlpkit topics run/ --columns
      nlpkit topics run/ --up source -o sources.csv
    """
    asked = query.asked()
    if units.up is not None:
        if asked:
            raise UsageError(f"`{asked[0]}` is a question of its own; leave `up` out", parameter="up")
        asked = ["up"]
    for name in ("over", "by"):
        if asked and getattr(cells, name):
            raise UsageError(f"`{name}` belongs to the shares; use `{asked[0]}` on its own", parameter=name)
    if asked and (words.words or any((side.save_trends, side.save_differences, side.save_words))):
        raise UsageError(
            f"`words` and further tables belong to the shares; use `{asked[0]}` on its own", parameter=asked[0]
        )
    named = _names_trends(signals, side, others=bool(asked or words.words))
    if side.save_words is not None and not words.words:
        raise UsageError("`save_words` needs `words`, the number of words per period and group", parameter="save_words")
    target = out.given_table_target("topics.csv")
    if run.dry_run:
        from nlpkit.topics.over_time.tables import size_of

        console.plan(size_of(source, run))
        return
    if named:
        from nlpkit.topics.over_time.signal_views import say_signals

        say_signals(source, cells, signals, run, target, save_brief=side.save_brief, force=out.force)
        return
    from nlpkit.topics import views as render

    if asked:
        from nlpkit.topics.over_time import queries as topic_queries
        from nlpkit.topics.over_time.columns import topic_columns
        from nlpkit.topics.over_time.units import topic_units

        question = {
            "documents": lambda: topic_queries.topic_documents(source, query.documents, top=query.top, execution=run),
            "search": lambda: topic_queries.find_topics(source, query.search, top=query.top, execution=run),
            "similar": lambda: topic_queries.similar_topics(source, str(query.similar), top=query.top, execution=run),
            "correlations": lambda: topic_queries.topic_correlations(source, top=query.top, execution=run),
            "columns": lambda: topic_columns(source, execution=run),
            "up": lambda: topic_units(source, options=cells, units=units, execution=run),
        }
        answer = question[asked[0]]()
        if target is not None:
            answer.save(target, force=out.force)
        if target != "-":
            console.say(render.answer_blocks(answer), answer.to_dict)
        return
    from nlpkit.topics.over_time.run import topics

    shares = topics(source, options=cells, execution=run)
    of_cells = None
    if words.words:
        from nlpkit.topics.over_time.words import words_of_shares

        of_cells = words_of_shares(shares, words, run)
    tables = [
        (table, path) for table, path in (("trends", side.save_trends), ("differences", side.save_differences)) if path
    ]
    for table, _ in tables:
        shares.rows(table)  # a table that there is none of is refused before any is written
    for table, path in tables:
        shares.save(path, table=table, force=out.force)
    if of_cells is not None and side.save_words is not None:
        of_cells.save(side.save_words, force=out.force)
    if target is not None:
        shares.save(target, force=out.force)
    if target != "-":
        render.shares(shares, of_cells)

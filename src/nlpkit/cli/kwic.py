"""nlpkit kwic: keywords in context, and what a pattern is worth as a classifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.options import Argument, Inputs, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Param

if TYPE_CHECKING:
    import re

    import pyarrow as pa

    from nlpkit.io.corpora import DocumentStream
    from nlpkit.workflows.groups import Groups


@dataclass(frozen=True, slots=True)
class SearchFlags:
    """What is searched, and how much is shown of it."""

    word: Annotated[bool, Param("Match whole words only.", ("word", "w"))] = False
    glob: Annotated[bool, Param("PATTERN is words, not a regex: * = any letters, ? = one letter.")] = False
    ignore_case: Annotated[bool, Param("A and a are one letter.", ("ignore_case", "i"))] = False
    window: Annotated[int, Param("Words of context on each side.", min=0)] = 8
    width: Annotated[int | None, Param("Characters of context instead of words.", min=0)] = None
    limit_hits: Annotated[int | None, Param("Show or write the first N hits; all are counted.", min=1)] = None
    count: Annotated[bool, Param("Documents and hits only, no lines.", ("count", "c"))] = False


@dataclass(slots=True)
class _Tally:
    """Documents, documents with a hit, hits; the first two by group too."""

    documents: int = 0
    matched: int = 0
    hits: int = 0
    shown: int = 0
    of_group: dict[int, list[int]] = field(default_factory=dict)  # group → [documents, matched]


def kwic_cli(
    pattern: Annotated[str, Argument("Regular expression (Python's re) or, with --glob, words.", metavar="PATTERN")],
    inputs: Inputs,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
    search: SearchFlags,
    by: Annotated[
        str | None,
        Param("Column of classes: precision and recall of the pattern for each."),
    ] = None,
    positive: Annotated[str | None, Param("Only this class of --by (default column: label).")] = None,
) -> None:
    """Show every match of a pattern in its context.

    The pattern is searched in the text as it is: umlauts and letters of all scripts are letters, ^ and $ are the ends
    of a line, \\b of a word; an empty match is none. With -o a table (id, start, end, left, match, right) is written,
    places in characters. With --by the pattern is scored as a classifier: a document that matches is said to be of
    the class.

    \b
    Examples:
      nlpkit kwic "\\b[tT]he (judge|jury)\\b" data/samples/news.jsonl --limit-hits 10
      nlpkit kwic "climat* chang*" data/samples/news.jsonl --glob -i -o hits.parquet
      nlpkit kwic "judge|jury|court" data/samples/news.jsonl --count --by label
    """
    from nlpkit.cli.dry_run import dry_run
    from nlpkit.text.kwic import compile_pattern

    regex = compile_pattern(pattern, word=search.word, glob=search.glob, ignore_case=search.ignore_case)
    by = by or ("label" if positive is not None else None)
    if run.dry_run:
        dry_run(inputs, read)
        return
    if search.count and out.output is not None:
        raise UsageError("--count writes no table of hits; leave out -o, or --count")
    target = out.given_table_target("hits.parquet")
    _run(regex, pattern, inputs, out, read, search, by, positive, target)


def _run(
    regex: re.Pattern[str], pattern: str, inputs: Sequence[str], out: OutputFlags, read: ReadOptions,
    search: SearchFlags, by: str | None, positive: str | None, target: str | None,
) -> None:  # fmt: skip
    from nlpkit.cli.kwic_show import Lines
    from nlpkit.io.artifacts import footer_block
    from nlpkit.io.corpora import open_documents
    from nlpkit.io.spool import spool_beside
    from nlpkit.io.tables import table_sink, write_dropped
    from nlpkit.workflows.corpus import no_documents, steps, warn_dropped
    from nlpkit.workflows.groups import Groups

    tally = _Tally()
    kept: list[dict[str, Any]] = []
    with open_documents(inputs, read) as stream, spool_beside(target or "-") as spool:
        groups = None if by is None else Groups(by, stream.schema, stream.where)
        lines = Lines()
        found = _hits(stream, regex, search, groups, tally)
        schema = _schema(classes=groups is not None)
        if target == "-":
            with table_sink("-", schema, {}, force=False) as sink:
                for batch in found:
                    sink.write(batch)
        else:
            for batch in found:
                if target is not None:
                    spool.write(batch)
                elif console.settings.json:
                    kept += batch.to_pylist()
                else:
                    lines.show(batch)
        if not tally.documents:
            raise no_documents(stream)
        names, places = groups.finish() if groups is not None else ([], None)
        if positive is not None and positive not in names:
            raise _unknown(positive, str(by), names)
        if target not in (None, "-"):
            parameters = {
                "pattern": pattern, "regex": regex.pattern, "word": search.word, "glob": search.glob,
                "ignore_case": search.ignore_case, "window": None if search.width is not None else search.window,
                "width": search.width, "limit_hits": search.limit_hits, "by": by,
            }  # fmt: skip
            block = footer_block(
                "kwic", command="kwic", parameters=parameters, seed=None, inputs=stream.inputs, steps=steps(stream)
            )
            with table_sink(str(target), schema, block, force=out.force) as sink:
                for batch in spool:
                    sink.write(batch)
            warn_dropped(stream, write_dropped(str(target), stream.dropped, block))
        else:
            warn_dropped(stream, None)
    scores = {} if places is None else _scores(tally, names, places.tolist())
    if positive is not None:
        scores = {positive: scores[positive]}
    _tell(tally, scores, kept, pattern=pattern, search=search, by=by, target=target)


def _hits(
    stream: DocumentStream, regex: re.Pattern[str], search: SearchFlags, groups: Groups | None, tally: _Tally
) -> Iterator[pa.RecordBatch]:
    """Yield the hits of each batch of documents that has any, as far as they are to be shown; counts all."""
    import pyarrow as pa

    from nlpkit.text.kwic import find_hits, find_spans
    from nlpkit.text.regex import limited

    schema = _schema(classes=groups is not None)
    left_to_show = 0 if search.count else search.limit_hits
    with reporting.progress("search", None) as update:
        for batch in stream:
            numbers = [-1] * batch.num_rows if groups is None else groups.of(batch).tolist()
            names = [] if groups is None else groups.names()
            rows: list[tuple[Any, ...]] = []
            for id_, text, number in zip(
                batch.column("id").to_pylist(), batch.column("text").to_pylist(), numbers, strict=True
            ):
                with limited(regex.pattern, len(text or ""), f"document {id_}"):
                    spans = find_spans(text or "", regex)
                tally.documents += 1
                tally.hits += len(spans)
                tally.matched += bool(spans)
                counts = tally.of_group.setdefault(number, [0, 0])
                counts[0] += 1
                counts[1] += bool(spans)
                more = spans if left_to_show is None else spans[: left_to_show - len(rows)]
                name = (names[number] if number >= 0 else None,) if groups is not None else ()
                for hit in find_hits(text or "", more, words=search.window, characters=search.width):
                    rows.append((id_, *hit, *name))
            if rows:
                columns = [pa.array(column, f.type) for column, f in zip(zip(*rows, strict=True), schema, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
                tally.shown += len(rows)
                left_to_show = None if left_to_show is None else left_to_show - len(rows)
            update(tally.documents)


def _schema(*, classes: bool) -> pa.Schema:
    import pyarrow as pa

    columns = [("id", pa.string()), ("start", pa.int32()), ("end", pa.int32())]
    columns += [(name, pa.large_string()) for name in ("left", "match", "right")]
    return pa.schema([*columns, *([("class", pa.string())] if classes else [])])


def _unknown(positive: str, by: str, names: Sequence[str]) -> UsageError:
    near = get_close_matches(positive, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"found: {', '.join(names[:20])}{' …' if len(names) > 20 else ''}"
    return UsageError(f"--positive {positive}: no document has this value in '{by}'; {hint}")


def _scores(tally: _Tally, names: Sequence[str], places: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Return what the pattern is worth for each class; documents without a class are left out."""
    from dataclasses import asdict

    from nlpkit.metrics.retrieval import score_retrieval

    counts = {places[number]: pair for number, pair in tally.of_group.items() if number >= 0}
    documents, matched = (sum(pair[i] for pair in counts.values()) for i in (0, 1))
    found = {}
    for place, name in enumerate(names):
        n, tp = counts[place]
        score = score_retrieval(tp=tp, fp=matched - tp, fn=n - tp, tn=documents - n - (matched - tp))
        found[name] = {"documents": n, "matched": tp, **asdict(score)}
    return found


def _tell(
    tally: _Tally, scores: dict[str, dict[str, Any]], lines: list[dict[str, Any]],
    *, pattern: str, search: SearchFlags, by: str | None, target: str | None,
) -> None:  # fmt: skip
    unclassed = tally.of_group.get(-1, [0, 0])[0] if by is not None else 0
    if target not in (None, "-"):
        reporting.note(f"wrote {target}: {wording.counted(tally.shown, 'hit')}")
    if console.settings.json:
        result: dict[str, Any] = {
            "pattern": pattern, "documents": tally.documents, "matched": tally.matched, "hits": tally.hits,
        }  # fmt: skip
        if by is not None:
            result |= {"by": by, "without_class": unclassed, "classes": scores}
        console.emit_json(result if search.count or target is not None else {**result, "lines": lines})
        return
    shown = f" (the first {wording.count(tally.shown)} here)" if not search.count and tally.shown < tally.hits else ""
    said = (
        f"{wording.counted(tally.hits, 'hit')}{shown} in {wording.count(tally.matched)} of "
        f"{wording.counted(tally.documents, 'document')} ({tally.matched / tally.documents:.1%})"
    )
    if search.count and by is None:
        console.table(
            ["documents", "with a hit", "share", "hits"],
            [[wording.count(tally.documents), wording.count(tally.matched), f"{tally.matched / tally.documents:.1%}",
              wording.count(tally.hits)]],
            right=["documents", "with a hit", "share", "hits"],
        )  # fmt: skip
    else:
        reporting.note(said)
    if unclassed:
        reporting.note(f"not scored: {wording.counted(unclassed, 'document')} without a value in '{by}'")
    if by is None:
        return
    head = [by, "documents", "with a hit", "precision", "95 %", "recall", "95 %", "F1"]
    rows = [
        [name, wording.count(s["documents"]), wording.count(s["matched"]), _share(s["precision"]), _ends(s, "precision"),
         _share(s["recall"]), _ends(s, "recall"), _share(s["f1"])]
        for name, s in _largest_first(scores, by)
    ]  # fmt: skip
    if target == "-":  # stdout is for the lines
        for row in rows:
            reporting.note(f"{row[0]}: precision {row[3]} ({row[4]}), recall {row[5]} ({row[6]}), F1 {row[7]}")
        return
    console.table(head, rows, right=head[1:], noun="classes", rest="--json")


def _largest_first(scores: dict[str, dict[str, Any]], by: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the classes with most documents first; parts of dates stay in their order."""
    return list(scores.items()) if ":" in by else sorted(scores.items(), key=lambda item: -item[1]["documents"])


def _share(value: float) -> str:
    return "" if value != value else f"{value:.3f}"


def _ends(score: dict[str, Any], name: str) -> str:
    low, high = score[f"{name}_low"], score[f"{name}_high"]
    return "" if low != low else f"{low:.3f}–{high:.3f}"

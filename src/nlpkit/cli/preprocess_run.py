"""What nlpkit preprocess does once its options are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.options import shown as show_at_most
from nlpkit.errors import UsageError
from nlpkit.io.artifacts import footer_block
from nlpkit.io.tables import is_readable, table_sink, write_dropped
from nlpkit.workflows.corpus import read_corpus, steps, warn_dropped
from nlpkit.workflows.rows import Rows
from nlpkit.workflows.tokens import found_parameters, say_tokens, token_parameters, tokenized

if TYPE_CHECKING:
    from nlpkit.cli.options import RunFlags
    from nlpkit.cli.preprocess import SideFlags
    from nlpkit.io.corpora import DocumentStream
    from nlpkit.io.read_options import ReadOptions
    from nlpkit.text.preprocess import Finished, PreprocessOptions
    from nlpkit.workflows.rows import RowPlan

SHOWN_CHARS = 400


def make(
    inputs: Sequence[str],
    target: str | None,
    plan: RowPlan,
    options: PreprocessOptions,
    side: SideFlags,
    read: ReadOptions,
    run: RunFlags,
    *,
    force: bool,
) -> None:
    """Read, cut, write, and say what was done."""
    if side.save_phrases is not None and options.phrases is None:
        raise UsageError("--save-phrases saves what --phrases finds; give --phrases npmi:0.5 too")
    language = None if options.language in ("auto", "none") else options.language
    with read_corpus(*inputs, options=read, beside=target).open() as stream, ExitStack() as stack:
        rows = Rows(stream, plan, language)
        made = tokenized(rows, options, threads=run.n_threads())
        schema, batches, found = stack.enter_context(made)
        block = _block(stream, plan, options, found)
        shown: list[dict[str, Any]] = []
        most = 0 if side.show is None else show_at_most(side.show)
        sink = None if target is None else stack.enter_context(table_sink(target, schema, block, force=force))
        n_rows = empty = 0
        for batch in batches:
            shown += _shown(batch, batch.num_rows if most is None else most - len(shown))
            if sink is not None:
                sink.write(batch)
            n_rows += batch.num_rows
            empty += pc.sum(pc.equal(batch.column("tokens").value_lengths(), 0)).as_py() or 0
        sides = _write_sides(side, found, options, block, stack, force=force)
    dropped = None if target is None else write_dropped(target, rows.dropped, block)
    for line in sides:
        reporting.note(line)
    _say(rows, found, empty, dropped, stream, options)
    if shown and not run.json:
        _show(shown, to_stderr=target == "-")
    if target == "-":
        return
    if target is None:
        reporting.note("no documents were written; give -o FILE to write them")
    else:
        goes_on = console.next_step("bertopic", target, "-o", "run/") if is_readable(target) else ""
        reporting.note(f"wrote {target}: {wording.counted(n_rows, 'document')}{goes_on}")
    if run.json:
        report = asdict(found.report)
        console.emit_json(
            {"output": target, "rows": n_rows, "empty": empty, "dropped": len(rows.dropped), **report}
            | ({"shown": shown} if side.show else {})
        )


def _block(stream: DocumentStream, plan: RowPlan, options: PreprocessOptions, found: Finished) -> dict[str, Any]:
    parameters = {**plan.parameters(), **token_parameters(options), **found_parameters(found.report)}
    return footer_block(
        "documents", command="preprocess", parameters=parameters, seed=None, inputs=stream.inputs, steps=steps(stream)
    )


def _shown(batch: pa.RecordBatch, n: int) -> list[dict[str, Any]]:
    """Return id, text and tokens of the first n documents of a batch."""
    rows: list[dict[str, Any]] = batch.slice(0, max(n, 0)).select(["id", "text", "tokens"]).to_pylist()
    return rows


def _show(shown: list[dict[str, Any]], *, to_stderr: bool) -> None:
    """Print documents before and after."""
    lines = []
    for row in shown:
        text = " ".join((row["text"] or "").split())
        cut = f"{text[:SHOWN_CHARS]} …" if len(text) > SHOWN_CHARS else text
        terms = list(_until(row["tokens"], SHOWN_CHARS))
        more = len(row["tokens"]) - len(terms)
        after = " | ".join(terms) + (f" … {more:,} more" if more else "")
        lines.append(f"{row['id']}\n  before  {cut or '(empty)'}\n  after   {after or '(no token)'}")
    for line in lines:
        reporting.note(line) if to_stderr else console.out(line)


def _until(terms: Sequence[str], chars: int) -> Iterator[str]:
    for term in terms:
        chars -= len(term) + 3
        if chars < 0:
            return
        yield term


def _write_sides(
    side: SideFlags,
    found: Finished,
    options: PreprocessOptions,
    block: dict[str, Any],
    stack: ExitStack,
    *,
    force: bool,
) -> list[str]:
    """Write the vocabulary, the phrases and the removed terms where they were asked for; return what to say of them.

    They appear when the stack is closed, with the documents: all or none.
    """
    said = []

    def write(path: Path, kind: str, table: pa.Table, what: str) -> None:
        sink = stack.enter_context(table_sink(path, table.schema, {**block, "kind": kind}, force=force))
        for batch in table.to_batches():
            sink.write(batch)
        said.append(f"wrote {path}: {what}")

    if side.save_vocab is not None:
        from nlpkit.io.vocabularies import vocabulary_table

        at = np.arange(len(found.terms))  # a given vocabulary keeps its order; else that of the columns of tfidf
        if options.vocab is None:
            at = np.array(sorted(at.tolist(), key=found.terms.__getitem__), np.int64)
        table = vocabulary_table(tuple(found.terms[i] for i in at), found.cf[at], found.df[at])
        write(side.save_vocab, "vocab", table, f"{wording.counted(len(found.terms), 'term')}; use it with --vocab")
    if side.save_phrases is not None and found.phrases is not None:
        from nlpkit.io.phrase_files import PHRASES, phrases_table

        count = wording.counted(len(found.phrases), "phrase")
        write(side.save_phrases, PHRASES, phrases_table(found.phrases), f"{count}; use it with --phrase-file")
    if side.save_removed is not None:
        removed = found.removed()
        terms = pa.array(removed.terms, pa.string())
        table = pa.table({"term": terms, "cf": removed.cf, "df": removed.df, "reason": removed.reasons})
        count = wording.counted(table.num_rows, "term")
        write(side.save_removed, "removed_terms", table, f"{count} that went, with the reason")
    return said


_STAGES = {"where": "do not match --where", "keep-if": "do not fulfil --keep-if", "dedupe": "are duplicates"}


def _say(
    rows: Rows,
    found: Finished,
    empty: int,
    dropped: Path | None,
    stream: DocumentStream,
    options: PreprocessOptions,
) -> None:
    for stage, count in rows.counts.items():
        if count:
            reporting.note(f"{wording.counted(count, 'document')} left out: they {_STAGES[stage]}")
    say_tokens(found.report, options)
    if empty:
        keep = "keeps its row" if empty == 1 else "keep their rows"
        reporting.note(f"{wording.counted(empty, 'document')} without a token {keep}")
    warn_dropped(stream, dropped)
    if rows.counts and dropped is not None:
        reporting.note(f"what was left out is listed in {dropped}")

"""nlpkit ctfidf: the terms that tell the classes of a column apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nlpkit.cli import console
from nlpkit.cli.options import Inputs, OutputFlags, ReadFlags, RunFlags, command
from nlpkit.errors import ColumnError, InputError, UsageError, missing_column

if TYPE_CHECKING:
    import pyarrow as pa


def ctfidf_cli(
    inputs: Inputs,
    out: OutputFlags,
    read: ReadFlags,
    run: RunFlags,
    by: Annotated[
        str,
        typer.Option(help="Column of the classes: label, topic, source …; date:year, date:month, date:day cut a date."),
    ] = "label",
    top_n: Annotated[int, typer.Option("--top-n", min=1, help="Terms of each class.")] = 30,
) -> None:
    """Weigh terms by class: which words tell the classes apart.

    c-tf-idf: tf / words of the class · ln(1 + mean words per class / tf of the term). The classes are the values of any
    column; documents without a value (or of topic -1) are left out. Tokens are made when they are missing. Prints the
    ten strongest terms of each class; with -o a table (class, rank, term, weight) is written.

    \b
    Examples:
      nlpkit ctfidf data/samples/news.jsonl --by label
      nlpkit ctfidf data/samples/news.jsonl --by date:year --top-n 10
      nlpkit ctfidf data/samples/news.jsonl --by source -o terms.parquet
    """
    import pyarrow as pa

    from nlpkit.cli.pipeline import no_documents, steps, tokens_of, warn_dropped
    from nlpkit.cli.preprocess import dry_run, say_tokens
    from nlpkit.io.artifacts import document_sink, footer_block, write_dropped
    from nlpkit.io.atomic import check_target
    from nlpkit.io.corpora import open_documents
    from nlpkit.text.preprocess import PreprocessOptions
    from nlpkit.weighting.ctfidf import class_tfidf, top_terms
    from nlpkit.weighting.dtm import count_terms, group_rows

    if run.dry_run:
        dry_run(inputs, read)
        return
    target = None if out.output is None else out.table_target(out.output, "terms.parquet")
    if target not in (None, "-"):
        check_target(Path(str(target)), force=out.force)
    with open_documents(inputs, read.read_options()) as stream:
        table = stream.read_all()
    if not table.num_rows:
        raise no_documents(stream, inputs)
    classes, names = class_column(table, by, inputs[0])
    tokens, report = tokens_of(table, PreprocessOptions())
    if not tokens.n_terms:
        raise InputError(f"no words are left in the documents of {inputs[0]}; preprocess them with --stop-words none")
    weights = class_tfidf(group_rows(count_terms(tokens), classes, len(names)))
    best = top_terms(weights, top_n)

    rows: list[dict[str, Any]] = []
    for c, name in enumerate(names):
        for rank, (term, weight) in enumerate(zip(best.term_ids[c], best.weights[c], strict=True), 1):
            if term >= 0:
                rows.append({"class": name, "rank": rank, "term": tokens.terms[term], "weight": weight})
    schema = pa.schema([("class", pa.string()), ("rank", pa.int32()), ("term", pa.string()), ("weight", pa.float32())])
    result = pa.Table.from_pylist(rows, schema=schema)
    left_out = int((classes < 0).sum())
    parameters = {"by": by, "top_n": top_n, "classes": len(names), "left_out": left_out}
    block = footer_block(
        "class_terms",
        command="ctfidf",
        parameters=parameters,
        seed=None,
        inputs=stream.inputs,
        steps=steps(stream),
    )
    if report is not None:
        say_tokens(report)
    if left_out:
        what = "a topic" if by == "topic" else f"a value in '{by}'"
        console.note(f"left out: {console.counted(left_out, 'document')} without {what}")
    if target is not None:
        with document_sink(target, schema, block, force=out.force) as sink:
            for batch in result.to_batches():
                sink.write(batch)
        warn_dropped(stream, write_dropped(target, stream.dropped, block))
        if target == "-":
            return
        console.note(f"wrote {target}: {console.counted(len(rows), 'term')} of {len(names)} classes")
    else:
        warn_dropped(stream, None)
    if run.json:
        terms: dict[str, list[str]] = {name: [] for name in names}
        for row in rows:
            terms[row["class"]].append(row["term"])
        console.emit_json({"by": by, "documents": table.num_rows, "left_out": left_out, "terms": terms})
        return
    sizes = [int((classes == c).sum()) for c in range(len(names))]
    console.table(
        [by, "documents", "top terms"],
        [
            [name, console.count(sizes[c]), " ".join(tokens.terms[t] for t in best.term_ids[c, :10] if t >= 0)]
            for c, name in enumerate(names)
        ],
        right=["documents"],
    )


DATE_PARTS = {"year": r"\d{4}", "month": r"\d{4}-\d\d", "day": r"\d{4}-\d\d-\d\d"}


def class_column(table: pa.Table, by: str, where: str) -> tuple[Any, list[str]]:
    """Return the class of each document (D,) int32, -1 for none, and the class names in sorted order.

    Null, an empty string, NaN and topic -1 are no class; with date:year and the like, so is what begins with no date.

    Raises:
        ColumnError: no such column, its values are not single values, or are no dates.
        InputError: fewer than two classes.
    """
    import numpy as np
    import pyarrow as pa

    name, _, part = (by, "", "") if by in table.column_names else by.partition(":")
    if name not in table.column_names:
        raise missing_column(where, name, table.column_names, "--by")
    if part and part not in DATE_PARTS:
        raise UsageError(f"--by {by}: after the colon goes year, month or day")
    column = table.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_nested(kind):
        raise ColumnError(f"column '{name}' holds {kind}; classes must be single values")
    values = [None if v is None or v != v or str(v) == "" else str(v) for v in column.to_pylist()]
    if name == "topic":
        values = [None if v == "-1" else v for v in values]
    if part:
        found = [None if v is None else re.match(DATE_PARTS[part], v) for v in values]
        if any(values) and not any(found):
            example = next(v for v in values if v)
            raise ColumnError(
                f"column '{name}' of {where} has no dates like 2024-01-31 (found '{example[:40]}'); cut them to years in "
                "a column of their own, then name it with --by"
            )
        values = [None if m is None else m.group() for m in found]
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    names = sorted({v for v in values if v is not None}, key=(lambda v: (float(v), v)) if numeric else None)
    if len(names) < 2:
        raise InputError(
            f"'{by}' of {where} has {console.counted(len(names), 'class', 'classes')}"
            f"{f' ({names[0]})' if names else ''}; c-tf-idf compares at least two: name another column with --by"
        )
    number = {v: i for i, v in enumerate(names)}
    return np.array([-1 if v is None else number[v] for v in values], np.int32), names


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    command(app, "ctfidf", ctfidf_cli)

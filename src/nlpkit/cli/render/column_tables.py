"""What a model learned from columns of documents, on the screen: topics that go with a label, topics of authors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from nlpkit.cli import console

SHOWN = 3  # topics of a class or an author


def show_column_tables(tables: Mapping[str, pa.Table]) -> None:
    """Print the coefficients of a label and the topics of authors, where a run has them."""
    names = dict(enumerate(tables["topics"].column("label").to_pylist()))
    if "coefficients" in tables:
        _show_coefficients(tables["coefficients"].to_pylist(), names)
    if "authors" in tables:
        _show_authors(tables["authors"].to_pylist(), names)


def _show_coefficients(rows: list[dict[str, Any]], names: Mapping[int, str]) -> None:
    rows = sorted(rows, key=lambda row: -row["coefficient"])
    classes = sorted({row["class"] for row in rows if row["class"] is not None})
    rest = "coefficients.parquet of the run"
    if len(classes) < 2:  # a number, or the log-odds of the second of two classes
        title = "Coefficients of the topics" + (f": log-odds of {classes[0]}" if classes else "")
        cells = [[str(row["topic"]), names[row["topic"]], f"{row['coefficient']:+.3g}"] for row in rows]
        sizes = [abs(row["coefficient"]) for row in rows]
        columns = ["topic", "name", "coefficient"]
        console.table(
            columns, cells, right=["topic", "coefficient"], title=title, noun="topics", sizes=sizes, rest=rest
        )
        return
    cells = []
    for name in classes:
        one = [(row["topic"], row["coefficient"]) for row in rows if row["class"] == name]
        speaks_for = [pair for pair in one if pair[1] > 0]
        against = [pair for pair in reversed(one) if pair[1] < 0]
        cells.append([name, _topics(speaks_for, names, "+.2g"), _topics(against, names, "+.2g")])
    title = "Topics that go with each class, by their coefficients"
    console.table(["class", "topics for it", "topics against it"], cells, title=title, noun="classes", rest=rest)


def _show_authors(rows: list[dict[str, Any]], names: Mapping[int, str]) -> None:
    cells, sizes = [], []
    for author, of_author in groupby(rows, key=lambda row: row["author"]):
        topics = list(of_author)
        first = topics[0]
        shares = [(row["topic"], row["prob"]) for row in topics]
        cells.append([author, f"{first['documents']:,}", f"{first['n_tokens']:,}", _topics(shares, names, ".0%")])
        sizes.append(float(first["n_tokens"]))
    console.table(
        ["author", "docs", "words", "topics"], cells, right=["docs", "words"], title="Topics of the authors", noun="authors",
        sizes=sizes, rest="authors.parquet of the run",
    )  # fmt: skip


def _topics(topics: Sequence[tuple[int, float]], names: Mapping[int, str], form: str) -> str:
    """Return the first of some topics, with their names and a number of each, as in 3 bread, oven (+2.1)."""
    return ", ".join(f"{k} {names[k]} ({value:{form}})" for k, value in topics[:SHOWN])

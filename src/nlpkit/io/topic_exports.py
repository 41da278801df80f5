"""The tables of a run for other programs: a workbook, a folder of CSV files, one JSON file, a folder for R.

Lists become text, words with commas between them: neither spreadsheets nor R have cells that hold lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from nlpkit.io.atomic import MANIFEST, atomic_directory, atomic_file
from nlpkit.io.corpora import InputInfo
from nlpkit.io.footers import SCHEMA_VERSION
from nlpkit.io.runs import Run, manifest_of, sha256_of
from nlpkit.io.tables import workbook, write_sheet
from nlpkit.plain import to_json
from nlpkit.version import __version__

XLSX_TEXT = 32_000  # characters of a text in a workbook, whose cells hold 32,767
TITLES = {"topics": "topics", "terms": "terms", "documents": "documents", "doc_topics": "topics of documents"}


def flat(table: pa.Table) -> pa.Table:
    """Return a table whose lists are text: words with commas, texts with bars between them."""
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            between = " | " if name.endswith("texts") else ", "
            texts = [None if row is None else between.join(map(str, row)) for row in column.to_pylist()]
            column = pa.chunked_array([pa.array(texts, pa.string())])
        elif pa.types.is_nested(column.type):
            column = pa.chunked_array(
                [pa.array([None if row is None else str(row) for row in column.to_pylist()], pa.string())]
            )
        columns[name] = column
    return pa.table(columns)


def write_workbook(path: Path, tables: Mapping[str, pa.Table], *, force: bool) -> int:
    """Write one workbook with a sheet for each table, and return how many texts were cut to the size of a cell.

    Raises:
        UsageError: a table has more rows than a sheet; OutputExistsError: the file is there.
    """
    cut = 0
    with atomic_file(path, force=force) as part, workbook(part) as book:
        for name, table in tables.items():
            table, n = _cut(flat(table))
            cut += n
            write_sheet(path, book, table.column_names, table.to_batches(), TITLES.get(name, name))
    return cut


def _cut(table: pa.Table) -> tuple[pa.Table, int]:
    cut = 0
    for at, name in enumerate(table.column_names):
        column = table.column(name)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            long = pc.greater(pc.utf8_length(column), XLSX_TEXT)
            n = pc.sum(long).as_py() or 0
            if n:
                cut += n
                table = table.set_column(at, name, pc.utf8_slice_codeunits(column, 0, XLSX_TEXT))
    return table, cut


def write_csv_folder(
    path: Path,
    run: Run,
    form: str,
    tables: Mapping[str, pa.Table | pa.RecordBatchReader],
    texts: Mapping[str, str],
    *,
    force: bool,
) -> None:
    """Write a folder with a CSV file for each table, and further files of text. Raises OutputExistsError when it is there."""
    options = pa_csv.WriteOptions(quoting_style="needed")
    with atomic_directory(path, force=force) as part:
        for name, table in tables.items():
            rows = table if isinstance(table, pa.RecordBatchReader) else flat(table).to_reader()
            with pa_csv.CSVWriter(part / f"{name}.csv", rows.schema, write_options=options) as file:
                for batch in rows:
                    file.write_batch(batch)
        for name, text in texts.items():
            (part / name).write_text(text, encoding="utf-8", newline="\n")
        write_export_manifest(part, run, form)


def write_export_manifest(part: Path, run: Run, form: str, results: Mapping[str, Any] | None = None) -> None:
    """Write the manifest of an exported folder: from which run it comes, and its files, so that it can be replaced.

    results: what was measured of it.
    """
    outputs = {f.relative_to(part).as_posix(): sha256_of(f) for f in sorted(part.rglob("*")) if f.is_file()}
    documents = int(run.manifest["results"].get("documents", 0))
    source = InputInfo(str(run.path / MANIFEST), documents, sha256_of(run.path / MANIFEST), None)
    manifest = manifest_of(
        "export", parameters={"to": form, "run": str(run.path)}, seed=run.manifest["seed"], threads=1, inputs=[source],
        seconds={}, results=results or {},
    )  # fmt: skip
    head = {"schema_version": SCHEMA_VERSION, "nlpkit_version": __version__}
    (part / MANIFEST).write_text(
        to_json({**head, **manifest, "outputs": outputs}, indent=2) + "\n", encoding="utf-8", newline="\n"
    )


def write_json_export(path: Path, head: Mapping[str, Any], tables: Mapping[str, pa.Table], *, force: bool) -> None:
    """Write one JSON object: what the run is, its topics with their words, its documents with their topics."""
    terms: dict[int, list[dict[str, Any]]] = {}
    for row in tables["terms"].to_pylist():
        terms.setdefault(row.pop("topic"), []).append(row)
    topics = [{**row, "terms": terms.get(row["topic"], [])} for row in tables["topics"].to_pylist()]
    mixtures: dict[str, list[dict[str, Any]]] = {}
    for row in tables["doc_topics"].to_pylist():
        mixtures.setdefault(row["id"], []).append({"topic": row["topic"], "prob": row["prob"]})
    documents = [{**row, "topics": mixtures.get(row["id"], [])} for row in tables["documents"].to_pylist()]
    with atomic_file(path, force=force) as part:
        part.write_text(
            to_json({**head, "topics": topics, "documents": documents}, indent=1) + "\n", encoding="utf-8", newline="\n"
        )


R_SCRIPT = """# Topics of an nlpkit run for R: source("load.R", chdir = TRUE), or set `folder` first.
# Data frames as tidytext names them: tidy(model, "beta") is `beta`, tidy(model, "gamma") is `gamma`.
# Topics are numbered from 1 here, as in R's topicmodels and stm; nlpkit_topic is the number in the run, from 0.

if (!exists("folder")) folder <- "."
read_table <- function(name, ...) {
  read.csv(file.path(folder, paste0(name, ".csv")), fileEncoding = "UTF-8", na.strings = "", check.names = FALSE, ...)
}

topics    <- read_table("topics")                                             # topic, label, size, share, top_terms, ...
beta      <- read_table("beta", colClasses = c(term = "character"))           # topic, term, beta: @BETA@
gamma     <- read_table("gamma", colClasses = c(document = "character"))      # document, topic, gamma: @GAMMA@
documents <- read_table("documents", colClasses = c(document = "character"))  # document, topic of each, and its columns: label, date, ...

K <- nrow(topics)
# Rows of theta sum to 1. A document without a word of the model has topic NA, and the mean of the prior in theta.
theta <- matrix(0, nrow(documents), K, dimnames = list(documents$document, topics$label))
theta[cbind(match(gamma$document, documents$document), gamma$topic)] <- gamma$gamma

# The words of a topic, as labelTopics(model)$prob of stm and terms(model, n) of topicmodels give them
top_words <- function(n = 10) {
  words <- lapply(split(beta, beta$topic), function(rows) head(rows$term[order(-rows$beta)], n))
  stats::setNames(words, topics$label[as.integer(names(words))])
}

# The documents that have most of a topic, as stm's findThoughts
find_thoughts <- function(topic, n = 3) {
  documents[head(order(-theta[, topic]), n), , drop = FALSE]
}

# Topic shares against columns of the documents: lm(theta[, 3] ~ label, data = documents)
"""

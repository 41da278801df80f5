"""Vocabularies to search in: of a run, a Parquet table of terms, a word list, or any corpus."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.io.artifacts import parquet_shape, read_footer, read_table
from nlpkit.io.atomic import MANIFEST
from nlpkit.io.corpora import DroppedRow, InputInfo, open_documents
from nlpkit.io.footers import steps_of
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.runs import open_run
from nlpkit.io.sources import Source, StoredBytes, split_suffix
from nlpkit.io.wordlists import numbered_lines
from nlpkit.text.preprocess import PreprocessOptions
from nlpkit.types import LongArray
from nlpkit.workflows.counts import count_corpus

MOST_WORDS = 5  # of an entry of a word list; a line with more is a text


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words to search in, with their occurrences and documents where these are known, and where they come from."""

    terms: Sequence[str]
    cf: LongArray | None
    df: LongArray | None
    inputs: Sequence[InputInfo]
    steps: Sequence[dict[str, Any]] = ()
    dropped: Sequence[DroppedRow] = ()


def read_vocabulary(where: str, read: ReadOptions, *, lower: bool, threads: int, verify: bool = True) -> Vocabulary:
    """Return the words of a run directory, a Parquet file with a column 'term', a word list, or else of a corpus.

    Raises:
        InputError, SchemaError: it cannot be read, or is none of these.
    """
    path = Path(where)
    if path.is_dir() and (path / MANIFEST).is_file():
        return _of_table(path / "vocab.parquet", open_run(path, verify=verify).table("vocab"), [])
    if path.is_file() and read.format is None:
        _, format, packed = split_suffix(path.name)
        if format == "txt":
            return _word_list(path, read.encoding)
        if format == "parquet" and not packed:
            columns = parquet_shape(path)[2]
            if "term" in columns and read.text_col not in columns:
                wanted = [name for name in ("term", "cf", "df") if name in columns]
                return _of_table(path, read_table(path, ["vocab"], wanted), steps_of([read_footer(path)]))
    return _of_corpus(where, read, lower=lower, threads=threads)


def _of_table(path: Path, table: pa.Table, steps: Sequence[dict[str, Any]]) -> Vocabulary:
    def counts(name: str) -> LongArray | None:
        if name not in table.column_names:
            return None
        return np.asarray(table.column(name).cast(pa.int64()).fill_null(0).to_numpy(), np.int64)

    column = table.column("term")
    terms = column.to_pylist() if column.null_count == 0 else []
    if len(terms) != len(column) or not all(isinstance(term, str) for term in terms):
        raise InputError(
            f"column 'term' of {path} holds {column.type} with gaps or other than words; strings were needed"
        )
    if len(set(terms)) < len(terms):
        raise InputError(f"column 'term' of {path} has repeated words; a vocabulary needs one row per word")
    return Vocabulary(terms, counts("cf"), counts("df"), [_info(path, len(terms))], steps)


def _word_list(path: Path, encoding: str | None) -> Vocabulary:
    """Read one term a line; # begins a comment, and what follows a tab (a count, a score) is left out."""
    terms: dict[str, None] = {}
    for number, line in numbered_lines(path, encoding=encoding):
        term = line.partition("\t")[0].strip()
        if not term or term.startswith("#"):
            continue
        if len(term.split()) > MOST_WORDS:
            raise InputError(
                f"{path}:{number} is not a word but {len(term.split())} ('{term[:40]}…'); a word list has one word "
                "or n-gram per line. If it is a corpus, set `format` to txt"
            )
        terms[term] = None
    return Vocabulary(list(terms), None, None, [_info(path, len(terms))])


def _info(path: Path, rows: int) -> InputInfo:
    with StoredBytes(Source(str(path), path.name, None)) as stored:
        return InputInfo(str(path), rows, stored.sha256(), None)


def _of_corpus(where: str, read: ReadOptions, *, lower: bool, threads: int) -> Vocabulary:
    with open_documents([where], read) as stream, ExitStack() as stack:
        options = PreprocessOptions()
        if "tokens" not in stream.schema.names:
            # every word counts: a misspelling is rare, and a stop word may be asked for
            options = PreprocessOptions(stop_words="none", lower=lower, min_df=1)
        corpus = stack.enter_context(count_corpus(stream, options, threads=threads))
        return Vocabulary(corpus.terms, corpus.cf, corpus.df, stream.inputs, stream.steps, stream.dropped)

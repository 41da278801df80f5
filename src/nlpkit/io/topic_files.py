"""Files with the topics of other programs: six formats, recognised by the name of the file or its first line.

bytes ─▶ text ─[format]─▶ topic_text_files · topic_json_files · topic_table_files ─▶ topics as they stand ─[finish]─▶ TopicFile
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nlpkit.errors import InputError, MissingFileError, first_line, unknown_value
from nlpkit.io import topic_text_files as texts
from nlpkit.io.encoding import decode
from nlpkit.io.plain_tables import refuse_spreadsheet
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.readers.delimited import dialect_of, read_delimited
from nlpkit.io.sources import STDIN, Source, StoredBytes, missing_path, split_suffix
from nlpkit.io.topic_json_files import parse_json, read_json_topics
from nlpkit.io.topic_table_files import Columns, is_numbered_header, is_topic_header, read_table_topics
from nlpkit.io.topic_text_files import MOST_WORDS, RawTopics
from nlpkit.io.validity import check_values
from nlpkit.types import FloatArray

TopicFormat: TypeAlias = Literal["auto", "lines", "json", "mallet", "csv", "tsv", "parquet"]
FORMATS: tuple[TopicFormat, ...] = get_args(TopicFormat)

MOST_BYTES = 512 << 20
OUTLIERS = "-1"  # BERTopic's topic of the documents that are in none

# What gensim prints, and summaries of tomotopy and stm: written for people, so that words cannot be distinguished from the rest.
_PRINTED = re.compile(r"\d?\.\d+\s?\*\s?\S|^[\[(]{1,2}['\"]|^<Topics>|^\W*Highest Prob: ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TopicFile:
    """The topics of a file, K in all, each with one word or more.

    topics: the words of each, best first, none twice.
    weights: of these words, as the file has them (probabilities, counts, c-tf-idf; LSI's are signed), or None without.
    names (K,): number or label in the file; where it has none the place among all its topics, from 0.
    format: one of `FORMATS`; layout: what of it, such as "topic keys", "" where there is only one.
    n_empty: topics without words, n_outlier: topics -1, both left out; n_repeated: words that a topic had already, left out.
    """

    topics: tuple[tuple[str, ...], ...]
    weights: tuple[FloatArray, ...] | None
    names: tuple[str, ...]
    format: str
    layout: str = ""
    n_empty: int = 0
    n_outlier: int = 0
    n_repeated: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Clauses about topics and words that were left out or look odd."""
        left_out = (
            (self.n_empty, "topic without words left out", "topics without words left out"),
            (self.n_outlier, "outlier topic (-1) left out", "outlier topics (-1) left out"),
            (self.n_repeated, "repeated word of a topic left out", "repeated words of topics left out"),
        )
        again = len(self.names) - len(set(self.names))
        odd = (
            again,
            "name of a topic occurs twice: are there several models?",
            "topics have the name of another: several models?",
        )
        return tuple(f"{n:,} {one if n == 1 else many}" for n, one, many in (*left_out, odd) if n)


def read_topic_file(path: Path, *, format: str = "auto", encoding: str | None = None) -> TopicFile:
    """Return the topics of a file, packed or not, in any encoding that corpora may have; `-` is standard input.

        lines      a line a topic; "3<TAB>…", "Topic 3: …" and "name: …" name it
        json       {"topics": [[word, …], …]} as OCTIS writes, {name: [word, …]}, BERTopic's topics.json (`read_json_topics`)
        mallet     --output-topic-keys, --topic-word-weights-file
        csv tsv parquet   a table: a row a word, a row a topic, a column a topic, a matrix (`read_table_topics`)

    auto takes the format from the name (.json .jsonl .csv .tsv), else from the first line: JSON begins with a bracket, a line of
    MALLET is number, tab, …, a table has a header with a column of topics; all else is a line a topic.

    Where a file weighs every word of the vocabulary, the 1000 strongest of a topic are kept.

    Raises:
        UsageError: no such format.
        InputError: the file cannot be read or holds no topics; the message names the place.
    """
    if format not in FORMATS:
        raise unknown_value("format", format, FORMATS)
    shown, data = _read(path)
    if data.startswith(b"PAR1") or format == "parquet":
        raw = _parquet(data, shown)
    else:
        text = "".join(decode(iter([data]), shown, encoding=encoding).text)
        if not text.strip():
            raise InputError(f"{shown} is empty; a file of topics needs at least one")
        raw = _parse(text, shown, _format_of(text, shown) if format == "auto" else format)
    return _finish(raw, shown)


def _read(path: Path) -> tuple[str, bytes]:
    """Return the path as messages say it and the unpacked bytes."""
    if str(path) != STDIN and path.is_dir():
        raise InputError(f"{path} is a directory, and no run of nlpkit; name a file of topics in it")
    if str(path) != STDIN and not path.exists():
        raise MissingFileError(missing_path(path))
    refuse_spreadsheet(path)
    parts, size = [], 0
    with StoredBytes(Source(str(path), path.name, None)) as stored:
        for chunk in stored:
            parts.append(chunk)
            size += len(chunk)
            if size > MOST_BYTES:
                raise InputError(
                    f"{stored.path}: more than {MOST_BYTES >> 20} MB, too much for the topics of a model; if it is "
                    "a corpus, pass it as `reference`"
                )
        return stored.path, b"".join(parts)


# ---------------------------------------------------------------- which format


def _format_of(text: str, path: str) -> str:
    """Return the format of a text.

    Raises:
        InputError: it is markup, what a program printed for people, or looks like documents.
    """
    start = text.lstrip()
    if start[:200].lower().startswith(("<?xml", "<!doctype", "<html", "<model", "<topics>\n<topic ")):
        raise InputError(f"{path} is XML or HTML; for MALLET, give --output-topic-keys or --topic-word-weights-file")
    suffix = split_suffix(Path(path).name)[1]
    if suffix in ("json", "jsonl") or start.startswith(("{", "[")):
        return "json"
    if suffix in ("csv", "tsv"):
        return suffix
    if texts.is_mallet(text):
        return "mallet"
    if _PRINTED.search(text, 0, 1 << 20):
        raise InputError(
            f"{path} is printed output of a program; write the words of its topics as JSON. For gensim: "
            "json.dump([[w for w, _ in model.show_topic(k)] for k in range(model.num_topics)], file)"
        )
    header, _, below = start.partition("\n")
    names = [name.strip('"') for name in re.split(r"[,;|\t]", header)]
    if is_numbered_header(names) or (
        is_topic_header(names) and re.search(r"(?:^|[,;|\t])\"?[-.\d\[]", below.partition("\n")[0])
    ):
        return "tsv" if "\t" in header else "csv"
    _refuse_documents(text, path)
    return "lines"


def _refuse_documents(text: str, path: str) -> None:
    longest = max(((len(line.split()), i) for i, line in enumerate(text.splitlines(), start=1)), default=(0, 0))
    if longest[0] > MOST_WORDS:
        raise InputError(
            f"{path}:{longest[1]}: a line of {longest[0]:,} words; if these are documents, pass them as "
            "`reference`; if each line is a topic, set the format: lines"
        )


# ---------------------------------------------------------------- reading


def _parse(text: str, path: str, format: str) -> RawTopics:
    if format == "json":
        return read_json_topics(parse_json(text, path), path)
    if format == "lines":
        return texts.read_lines(text, path)
    if format == "mallet":
        return texts.read_mallet(text, path)
    columns: dict[str, list[object]] = {}
    lines: list[int] = []
    delimiter = "\t" if format == "tsv" else None
    dialect = dialect_of(lambda: [text], path, delimiter=delimiter, options=ReadOptions(text_col="topic"))
    for block in read_delimited([text], path, dialect):
        for name, values in block.columns.items():
            columns.setdefault(name, []).extend(values)
        lines.extend(block.lines or ())
    if not lines:
        raise InputError(f"{path} has a header and no rows; a table of topics needs at least one")
    return replace(read_table_topics(columns, lambda row: f"{path}:{lines[row]}", path), format=format)


def _parquet(data: bytes, path: str) -> RawTopics:
    try:
        table = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read as Parquet ({first_line(error)}); write it again") from None
    check_values(table, path)
    columns: Columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return replace(read_table_topics(columns, lambda row: f"{path}: row {row + 1}", path), format="parquet")


# ---------------------------------------------------------------- finishing


def _finish(raw: RawTopics, path: str) -> TopicFile:
    """Leave out what cannot be scored, and count it."""
    topics, weights, names = [], [], []
    empty = outlier = repeated = 0
    weighted = all(topic.weights is not None for topic in raw.topics if topic.words)
    for place, topic in enumerate(raw.topics):
        name = str(place) if topic.name is None else topic.name
        first = {word: i for i, stored in reversed(list(enumerate(topic.words))) if (word := _storable(stored))}
        kept = sorted(first.values())[:MOST_WORDS]
        repeated += sum(bool(_storable(word)) for word in topic.words) - len(first)
        if name == OUTLIERS:
            outlier += 1
        elif not kept:
            empty += 1
        else:
            topics.append(tuple(_storable(topic.words[i]) for i in kept))
            names.append(name)
            if weighted and topic.weights is not None:
                values = np.array([topic.weights[i] for i in kept], np.float64)
                if not np.isfinite(values).all():
                    raise InputError(
                        f"{topic.where}: the weight of '{topics[-1][int(np.argmin(np.isfinite(values)))]}' is not a number"
                    )
                weights.append(values)
    if not topics:
        left = f" ({empty} without words, {outlier} of outliers)" if empty or outlier else ""
        raise InputError(f"{path} holds no topics{left}; a file of topics needs at least one word in one topic")
    return TopicFile(
        tuple(topics), tuple(weights) if weighted else None, tuple(names), raw.format, raw.layout,
        empty, outlier, repeated,
    )  # fmt: skip


def _storable(word: str) -> str:
    """Return a word without blanks around it, and without the halves of characters that JSON can hold and no file can."""
    return word.strip().encode("utf-8", "replace").decode()

"""Documents from files, lists or data frames, that several steps can read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import notebook, reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream, open_documents, open_table
from nlpkit.platform.documents.inputs import Scan
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.selection import KEEP_IF, WHERE
from nlpkit.platform.documents.sources import check_there
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import with_settings

if TYPE_CHECKING:
    from nlpkit.platform.documents.inputs import DroppedRow


@dataclass(frozen=True, slots=True)
class Corpus(Tabular):
    """Documents in order. nlpkit reads them anew each time a function needs them.

    inputs: files, directories, globs or "-" (stdin, which can be read once); or a table in memory. spool_directory: where work
    that needs a second pass puts its copy, None for the temporary directory. scan: what is known of all documents, for a corpus that
    is one share of them; else they are read once more for it.
    """

    inputs: tuple[str, ...] = ()
    memory: pa.Table | None = None
    options: ReadOptions = field(default_factory=ReadOptions)
    spool_directory: Path | None = None
    scan: Scan | None = None

    def __repr__(self) -> str:
        rows = "nothing" if self.memory is None else wording.counted(self.memory.num_rows, "row") + " in memory"
        return wording.described(self, ", ".join(self.inputs) or rows)

    def _repr_html_(self) -> str:
        """Return the first documents for a notebook; standard input, which can be read once, is not read."""
        if "-" in self.inputs:
            return notebook.html(["corpus"], [[repr(self)]])
        with self.open() as stream:
            first = next(iter(stream), None)
        return notebook.html(["corpus"], [[repr(self)]]) if first is None else notebook.table_html(pa.table(first), 5)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str | None],
        *,
        labels: Iterable[Any] | None = None,
        ids: Iterable[str] | None = None,
        dates: Iterable[Any] | None = None,
    ) -> Corpus:
        """Return a corpus of texts (D,), with labels, ids and dates where there are any; None is a text that cannot be used.

        Raises:
            UsageError: texts is one string, has no order or holds other things than strings, or one of the others is of another
                length.
        """
        rows = _as_list(texts, "texts")
        columns: dict[str, Any] = {}
        for name, column in (("id", ids), ("text", texts), ("label", labels), ("date", dates)):
            if column is None:
                continue
            values = rows if name == "text" else _as_list(column, f"{name}s")
            if len(values) != len(rows):
                raise UsageError(f"there are {len(rows):,} texts and {len(values):,} {name}s", parameter=f"{name}s")
            columns[name] = _as_column(values, f"{name}s", pa.string() if name in ("id", "text") else None)
        return cls(memory=pa.table(columns))

    @classmethod
    def from_frame(
        cls, frame: Any, *, text: str = "text", id: str = "id", label: str = "label", date: str = "date"
    ) -> Corpus:
        """Return a corpus of the rows of a data frame of pandas or Polars, or of an Arrow table; its columns travel along.

        text, id, label, date: names of the columns with these roles; rows without an id column are numbered.

        Raises:
            UsageError: it is no data frame.
        """
        if isinstance(frame, pa.Table):
            table = frame
        elif hasattr(frame, "to_parquet") and hasattr(frame, "index"):  # pandas: without its index
            table = pa.Table.from_pandas(frame, preserve_index=False)
        elif hasattr(frame, "__arrow_c_stream__"):
            table = pa.table(frame)
        else:
            raise UsageError(
                f"a data frame of pandas or Polars or an Arrow table was needed, not {type(frame).__name__}",
                parameter="frame",
            )
        return cls(memory=table, options=ReadOptions(text_col=text, id_col=id, label_col=label, date_col=date))

    def open(self) -> DocumentStream:
        """Return the documents as a stream that is read once; a context manager that closes the files.

        Raises:
            InputError, ColumnError, SchemaError, UsageError: as `nlpkit.platform.documents.corpora.open_documents`.
        """
        stream = (
            open_documents(self.inputs, self.options, scan=self.scan)
            if self.memory is None
            else open_table(self.memory, self.options, scan=self.scan)
        )
        stream.spool_directory = self.spool_directory
        return stream

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the documents: id, text and all other columns."""
        with self.open() as stream:
            yield from stream

    def table(self) -> pa.Table:
        """Return the documents as one table in memory."""
        with self.open() as stream:
            return stream.read_all()

    def with_options(self, **changes: Any) -> Corpus:
        """Return the corpus as it is read with other options."""
        return replace(self, options=replace(self.options, **changes))


def _as_list(values: Any, name: str) -> list[Any]:
    """Return the values of a list, an array, a column of a data frame or a generator.

    Raises:
        UsageError: they are one string, no sequence, or have no order.
    """
    if isinstance(values, str | bytes):
        raise UsageError(f"{name} is one string; a list was needed", parameter=name)
    if isinstance(values, Mapping | Set) or not isinstance(values, Iterable):
        raise UsageError(f"{name} is of type {type(values).__name__}; a list was needed", parameter=name)
    for method in (
        "to_pylist",
        "tolist",
        "to_list",
    ):  # Arrow; NumPy and pandas; Polars: plain values instead of their own
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def _as_column(values: list[Any], name: str, kind: pa.DataType | None) -> pa.Array:
    """Return values as a column of a table; NaN is a missing one.

    Raises:
        UsageError: a value is not of the type, or they are of several types.
    """
    try:
        return pa.array(values, kind, from_pandas=True)
    except (TypeError, ValueError) as error:
        if kind is None:
            raise UsageError(f"{name} are of several types ({error})", parameter=name) from None
    for number, value in enumerate(values):
        try:
            pa.array([value], kind, from_pandas=True)
        except (TypeError, ValueError):
            shown = wording.truncated(repr(value), 40)
            raise UsageError(
                f"{name}[{number}] is {shown}, of type {type(value).__name__}; a string was needed", parameter=name
            ) from None
    raise AssertionError("a column that fails has a value that fails")


def as_corpus(data: Any) -> Corpus:
    """Return documents as a corpus: a Corpus as it is, texts, or a data frame of pandas, Polars or Arrow.

    Raises:
        UsageError: it is none of these.
    """
    if isinstance(data, Corpus):
        return data
    is_column = hasattr(data, "to_list") or isinstance(data, pa.ChunkedArray | pa.Array)
    if isinstance(data, pa.Table) or (
        not is_column and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "to_parquet"))
    ):
        return Corpus.from_frame(data)
    if isinstance(data, str | Path):
        raise UsageError(
            "a single string is not a corpus; give a list of texts, or read_corpus(FILE)", parameter="data"
        )
    if isinstance(data, Mapping | Set) or not isinstance(data, Iterable):
        raise UsageError(
            f"data of type {type(data).__name__} is not a corpus; give a list of texts, a data frame, or "
            "read_corpus(FILE)",
            parameter="data",
        )
    return Corpus.from_texts(data)


def read_corpus(
    *inputs: str | Path, options: ReadOptions | None = None, beside: str | Path | None = None, **settings: Any
) -> Corpus:
    """Return the documents of files, directories or globs. nlpkit reads them when a function needs them.

    Args:
        inputs: jsonl, json, csv, tsv, xlsx, parquet, txt, md, xml, html, pdf, docx, eml, mbox, also .gz .zst .bz2; "-" is stdin.
        options: columns, format, encoding and so on.
        beside: the output of the work; copies that are read a second time lie in its directory (else in the temporary one).
        settings: single fields of the options, such as text_col="body".

    Raises:
        UsageError: there is no input, or one that is not a path. MissingFileError: a file or directory does not exist.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("reviews.csv").write_text("body,stars\\nA fine book.,5\\nToo long.,2\\n")
        >>> corpus = nk.read_corpus("reviews.csv", text_col="body")
        >>> corpus.table()["text"].to_pylist()
        ['A fine book.', 'Too long.']
    """
    if not inputs:
        raise UsageError("a corpus needs at least one file or directory", parameter="inputs")
    for value in inputs:
        if not isinstance(value, str | os.PathLike):
            raise UsageError(
                f"read_corpus takes files, not {type(value).__name__}: every function takes a list of texts or a data frame as it "
                "is; Corpus.from_frame names the columns of one, Corpus.from_texts gives texts labels and dates",
                parameter="inputs",
            )
        check_there(os.fspath(value))
    (options,) = with_settings((options,), settings, (ReadOptions,))
    directory = None if beside is None or str(beside) == "-" else Path(beside).resolve().parent
    return Corpus(tuple(map(str, inputs)), None, options, directory)


class Documents(Protocol):
    """What a stream of documents is to the steps here."""

    schema: pa.Schema

    @property
    def where(self) -> str:
        """Name of the inputs in messages."""

    @property
    def spool_directory(self) -> Path | None:
        """Directory for a copy that is read a second time, None for the temporary one."""

    @property
    def dropped(self) -> Sequence[DroppedRow]:
        """Rows that went, so far."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the documents in order."""


class Drops(Protocol):
    """What knows which rows went."""

    @property
    def dropped(self) -> Sequence[DroppedRow]:
        """Rows that went."""


def no_words(n_documents: int, so: str = "") -> InputError:
    """Return the error for documents of which no token is left, with what keeps more. so: what that means, from a comma on."""
    return InputError(
        f'no words are left in {wording.counted(n_documents, "document")}{so}; try `stop_words="none"`, `min_df=1`, '
        '`tokenizer="whitespace"` (numbers and single letters count), or another `text_col`; '
        '`preprocess()` takes emoji for words with `keep="emoji"`'
    )


def no_documents(stream: Documents) -> InputError:
    """Return the error for inputs without a row that can be used; says why the rows there were not."""
    where = stream.where
    if not stream.dropped:
        return InputError(f"no documents: {where} has no rows")
    reasons = Counter(row.reason for row in stream.dropped).most_common(2)
    if any(row.stage != "read" for row in stream.dropped):
        return InputError(
            f"no documents are left of {wording.counted(len(stream.dropped), 'row')} of {where} "
            f"({'; '.join(f'{count:,} × {reason}' for reason, count in reasons)})"
        )
    by_value = any(reason.startswith("text is ") for reason, _ in reasons)
    hint = "; is the text in another column? See `text_col`" if by_value else ""
    return InputError(
        f"no documents: {wording.counted(len(stream.dropped), 'row')} of {where} cannot be used "
        f"({'; '.join(f'{count:,} × {reason}' for reason, count in reasons)}){hint}"
    )


def warn_dropped(stream: Drops, where: Path | None) -> None:
    """Count on stderr the documents that the user's conditions leave out, and the rows that could not be used, with the first reason
    and the list of all."""
    stages = Counter(row.stage for row in stream.dropped)
    for stage, failing in ((WHERE, "do not match `where`"), (KEEP_IF, "do not fulfil `keep_if`")):
        if stages[stage]:
            reporting.note(f"{wording.counted(stages[stage], 'document')} left out: they {failing}")
    unusable = [row for row in stream.dropped if row.stage not in (WHERE, KEEP_IF)]
    if unusable:
        first = unusable[0]
        see = f"; all are listed in {where}" if where else ""
        reporting.warn(
            f"{wording.counted(len(unusable), 'row')} could not be used, such as {first.id}: {first.reason}{see}"
        )


def has_text(column: pa.ChunkedArray, *, blank: bool = False) -> Any:
    """Return which texts hold more than white space (D,). blank: which are there at all."""
    import pyarrow.compute as pc

    if blank:
        return column.is_valid().to_numpy(zero_copy_only=False)
    return pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0).to_numpy(zero_copy_only=False)

"""One input of a format that is read row by row: bytes → text → blocks of rows, and a look at the first of them."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from itertools import chain
from typing import Any, BinaryIO

from nlpkit.errors import InputError
from nlpkit.platform.documents.encoding import SAMPLE_BYTES, Decoded, decode
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers.blocks import ArrowBlock, RowBlock, read_file, read_lines
from nlpkit.platform.documents.readers.delimited import Dialect, dialect_of, read_delimited, with_lists, with_numbers
from nlpkit.platform.documents.readers.guess import SAMPLE_ROWS, decimal_comma
from nlpkit.platform.documents.readers.jsonlines import ArrowLines, read_json, read_jsonl
from nlpkit.platform.documents.readers.roles import NUMBERED, Roles, text_columns
from nlpkit.platform.documents.readers.value_types import NULL, STRING, ValueKind, kind_of, merge
from nlpkit.platform.documents.sources import Source, StoredBytes

FIRST_ROWS = 1_000


class RowInput:
    """One input whose rows become known by reading them.

    It is opened for its first rows and again for all of them; only a pipe, and a file that was read to its end
    for the first rows, is read once.
    """

    def __init__(
        self,
        source: Source,
        format: str,
        options: ReadOptions,
        *,
        alone: bool,
        per_file: bool,
        on_detect: Callable[[str, str], None],
        stdin: BinaryIO | None = None,
        stored: StoredBytes | None = None,
        lists: bool = True,
    ) -> None:
        """Take `stored` over where the bytes are open already, because the format had to be detected from them.

        lists: read columns of JSON lists of strings in CSV as lists.
        """
        self.source = source
        self.format = format
        self.encoding = options.encoding
        self.open_ended = format in ("json", "jsonl")
        self._options = options
        self._alone = alone
        self._per_file = per_file
        self._on_detect = on_detect
        self._stdin = stdin
        self._stored = stored
        self._lists = lists
        self._blocks: Iterator[RowBlock | ArrowBlock] | None = None
        self._arrow = ArrowLines()
        self._dialect: Dialect | None = None  # of CSV, once it is known
        self.samples: dict[str, list[Any]] = {}  # the first values of each column

    @property
    def dialect(self) -> str:
        """How the rows of a delimited file are told apart, as people read it; "" for another format."""
        return "" if self._dialect is None else str(self._dialect)

    @property
    def remarks(self) -> str:
        """How a delimited file is read, where something is unlike UTF-8 with commas and a header; "" for a usual one."""
        if self._dialect is None:
            return ""
        mark = self._options.decimal
        usual = self._dialect.is_usual(self.format) and self.encoding == "utf-8" and mark == "."
        comma = decimal_comma(self.samples) if mark == "." and self._dialect.delimiter != "," else ""
        if usual and not comma:
            return ""
        facts = [str(self._dialect), *["header in the first line"] * (self._dialect.header and not self._dialect.skip)]
        facts += [f"encoding {self.encoding}", f"decimal mark {mark}"]
        return ", ".join(facts) + (f" (but {comma} in the file: `decimal=,`)" if comma else "")

    def roles(self, roles: Roles) -> Roles:
        """Return the roles as they apply here: a text file has no columns to name."""
        return Roles("text", roles.id, roles.label, roles.date) if self.format == "txt" else roles

    def columns(self) -> dict[str, ValueKind]:
        """Return the columns of the first 1,000 rows, in the order found, with what they hold."""
        if self.format == "txt":
            return {"text": STRING}
        blocks = self._start()
        head: list[RowBlock | ArrowBlock] = []
        kinds: dict[str, ValueKind] = {}
        room = FIRST_ROWS
        for block in blocks:
            assert isinstance(block, RowBlock)  # no columns are expected yet
            head.append(block)
            for name, values in block.cut(0, room).columns.items():
                kinds[name] = reduce(merge, (kinds.get(name, NULL), kind_of(values)))
                sample = self.samples.setdefault(name, [])
                sample += values[: SAMPLE_ROWS - len(sample)]
            room -= len(block.numbers)
            if room <= 0:
                break
        if self._stored is not None and (not self.source.rereadable or (self._alone and self._stored.exhausted)):
            self._blocks = chain(head, blocks)
        else:
            self.close()
        return kinds

    def expect(self, columns: Mapping[str, ValueKind]) -> None:
        """Take the columns of all rows, none of them nested: of JSON Lines, `blocks` yields batches of Arrow from here on where it can."""
        if self.format == "jsonl":
            self._arrow.expect(columns)

    def blocks(self) -> Iterator[RowBlock | ArrowBlock]:
        """Yield all rows; raises what the reader of the format raises."""
        blocks, self._blocks = self._blocks, None
        try:
            yield from self._start() if blocks is None else blocks
        except InputError:
            if self._stored is not None and self._stored.packed:
                for (
                    _
                ) in self._stored:  # a corrupt file may unpack to nonsense, which its checksum tells only at the end
                    pass
            raise

    def sha256(self) -> str:
        """Return the sha256 of the file as stored, of a pipe that of the bytes read."""
        if self._stored is None:
            self._stored = StoredBytes(self.source, self._stdin)
        return self._stored.sha256()

    def close(self) -> None:
        """Close the file."""
        if self._stored is not None:
            self._stored.close()
            self._stored = None

    def _start(self) -> Iterator[RowBlock | ArrowBlock]:
        if self._stored is None:
            self._stored = StoredBytes(self.source, self._stdin)
        markup = self.format in ("xml", "sgml")
        decoded = decode(
            self._stored,
            self.source.shown,
            encoding=self.encoding,
            errors=self._options.encoding_errors,
            declared=markup,
        )
        if decoded.detected:
            self._on_detect(self.source.shown, decoded.encoding)
        self.encoding = decoded.encoding
        return self._read(decoded)

    def _read(self, decoded: Decoded) -> Iterator[RowBlock | ArrowBlock]:
        path, options = self.source.shown, self._options
        if self.format == "jsonl":
            return read_jsonl(decoded.utf8(), path, self._arrow)
        text = decoded.text
        match self.format:
            case "json":
                return read_json(text, path, options.text_col, record=options.json_record)
            case "csv" | "tsv":
                na_values = [value for value in options.na_values.split(",") if value]
                text = self._with_dialect(text)
                assert self._dialect is not None
                texts = text_columns(options.text_col)
                blocks = read_delimited(text, path, self._dialect, na_values=na_values)
                if options.decimal != "." or options.thousands:
                    blocks = with_numbers(blocks, options.decimal, options.thousands, {*texts, options.id_col})
                return with_lists(blocks, texts) if self._lists else blocks
            case "srt" | "vtt":
                from nlpkit.platform.documents.readers.tagged import read_subtitles

                return read_subtitles(text, path)
            case "chat":
                from nlpkit.platform.documents.readers.messages import read_chat

                return read_chat(text, path)
            case "conllu":
                from nlpkit.platform.documents.readers.tagged import read_conllu

                return read_conllu(text, path)
            case "vertical":
                from nlpkit.platform.documents.readers.tagged import read_vertical

                return read_vertical(text, path)
            case "txt":
                return read_file(text) if self._per_file else read_lines(text)
            case _:
                from nlpkit.platform.documents.readers.markup import read_markup

                lenient = self.format == "sgml"
                fields = _fields(options)
                texts = [options.text_col] if options.text_col in fields else text_columns(options.text_col)
                return read_markup(text, path, record=options.xml_record, fields=fields, texts=texts, lenient=lenient)

    def _with_dialect(self, text: Iterator[str]) -> Iterator[str]:
        """Return the text, once it is known how it is quoted: a file is looked at whole for that, of a pipe its first 4 MB."""
        if self._dialect is not None:
            return text
        head, text, ended = _head(text)
        whole = ended or self.source.rereadable
        again = whole and not ended
        open_text = self._text_again if again else lambda: head
        if not whole:
            last = "".join(head)
            head = [last[: max(last.rfind("\n"), last.rfind("\r", 0, -1)) + 1]]
        delimiter = "\t" if self.format == "tsv" else None
        self._dialect = dialect_of(
            open_text,
            self.source.shown,
            delimiter=delimiter,
            options=self._options,
            whole=whole,
            open_bytes=self._bytes_again if again and self.encoding == "utf-8" else None,
        )
        return text

    def _bytes_again(self) -> Iterator[bytes]:
        with StoredBytes(self.source) as stored:
            yield next(stored, b"").removeprefix(codecs.BOM_UTF8)
            yield from stored

    def _text_again(self) -> Iterator[str]:
        with StoredBytes(self.source) as stored:
            errors = self._options.encoding_errors
            yield from decode(stored, self.source.shown, encoding=self.encoding, errors=errors).text


def _head(text: Iterator[str]) -> tuple[list[str], Iterator[str], bool]:
    """Return the first pieces of a text, all of it with them, and whether they are all; a piece that cannot be read fails in its turn."""
    head: list[str] = []
    size = 0
    try:
        while size < SAMPLE_BYTES:
            piece = next(text, None)
            if piece is None:
                return head, iter(head), True
            head.append(piece)
            size += len(piece)
    except InputError as error:
        return head, chain(head, _failing(error)), False
    return head, chain(head, text), False


def _failing(error: InputError) -> Iterator[str]:
    yield from ()
    raise error


def _fields(options: ReadOptions) -> dict[str, str]:
    """Return the paths of the columns; a column named for a role that has no path is a path itself."""
    fields = dict(options.xml_fields)
    for role, column in options.roles().items():
        for name in text_columns(column) if role == "text" and column not in fields else [column]:
            if name not in fields and name not in (role, NUMBERED):
                fields[name] = name
    defaults = {"text": "."} if options.text_col == "text" else {}
    if options.id_col == "id":
        defaults["id"] = "@id"
    return defaults | fields

"""The options of reading documents: format, columns, encoding, types, and how many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Annotated, Any, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.documents.readers.roles import Roles
from nlpkit.platform.options import Param, options

Pairs = tuple[tuple[str, str], ...]
SELECTING = ("where", "keep_if", "sample")  # which documents are used
_TABS = {"tab": "\t", "\\t": "\t"}
_OF_THE_WORK = ("words_col", "text_needed", "columns", "batch_rows")  # what a command reads, not how the user wants it


@options
class ReadOptions:
    """Options of reading inputs.

    `xml_fields` and `types` are pairs; a mapping and strings `NAME=VALUE` become these. `words_col`: lists of words that are the
    text where there is no column of it. `text_needed`: whether a table without a text is refused; else its texts are empty.
    `columns`: those to keep beside id and text. `shard`: "2/8" for the second of eight shares of the documents, see `ShardOptions`.
    `limit`: the first N of the documents that `where`, `keep_if` and `sample` leave;
    the sha256 is the one of the whole file even then.

    Raises:
        UsageError: a pair without `=`.
    """

    PANEL: ClassVar[str] = "Input"

    text_col: Annotated[
        str,
        Param(
            "Column with the text. Combine columns with a comma (title,text); reach into JSON with a path "
            "(body.text, paragraphs[].text).",
            metavar="COLUMN",
        ),
    ] = "text"
    id_col: Annotated[
        str,
        Param(
            "Column with the document ID ('none': number the rows). The output also has it as column id.",
            metavar="COLUMN",
        ),
    ] = "id"
    label_col: Annotated[
        str, Param("Column with the label. The output also has it as column label.", metavar="COLUMN")
    ] = "label"
    date_col: Annotated[
        str, Param("Column with the date. The output also has it as column date.", metavar="COLUMN")
    ] = "date"
    date_format: Annotated[
        str | None,
        Param(
            "Format of dates, such as %d/%m/%Y. Default: 2011-12-25 and 25.12.2011; 25/12/2011 if the column shows "
            "whether the day or the month comes first.",
            metavar="FORMAT",
            panel="More",
        ),
    ] = None
    format: Annotated[
        str | None,
        Param(
            "Input format: jsonl, json, csv, tsv, xlsx, parquet, txt, xml, sgml, html, pdf, docx, eml, mbox, srt, vtt, conllu, "
            "vertical, chat, dta, sav, por, sas7bdat, rds or rdata. Default: from the file name.",
            metavar="NAME",
        ),
    ] = None
    encoding: Annotated[
        str | None, Param("Input encoding. Default: UTF-8; if that fails, detected.", metavar="NAME")
    ] = None
    encoding_errors: Annotated[
        str,
        Param("Bytes that are not valid text: strict (stop with an error) or replace.", metavar="HOW", panel="More"),
    ] = "strict"
    na_values: Annotated[
        str,
        Param(
            "Comma-separated values to treat as missing in CSV and TSV. Default: NA, as R writes it; '' for none.",
            metavar="CELLS",
            panel="More",
        ),
    ] = "NA"
    delimiter: Annotated[
        str | None,
        Param(
            "Character between the fields of CSV and TSV, or 'tab'; default: a tab in .tsv, else found in the first lines.",
            metavar="CHAR",
            panel="More",
        ),
    ] = None
    header: Annotated[
        bool,
        Param(
            "The first row of CSV and TSV has the names of the columns; else these are column_1, column_2 and so on.",
            panel="More",
        ),
    ] = True
    skip_rows: Annotated[
        int,
        Param(
            "Lines above the header of CSV and TSV, and rows above it in a workbook, to leave out.",
            metavar="N",
            min=0,
            panel="More",
        ),
    ] = 0
    quoting: Annotated[
        str,
        Param(
            "Quotation marks in CSV and TSV: all (they quote a cell), none (they are text), or auto (found in the file).",
            metavar="HOW",
            choices=("auto", "all", "none"),
            panel="More",
        ),
    ] = "auto"
    escape: Annotated[
        str | None,
        Param(
            "Character in CSV and TSV that takes the meaning from the one behind it, such as a backslash.",
            metavar="CHAR",
            panel="More",
        ),
    ] = None
    decimal: Annotated[
        str,
        Param(
            "Decimal mark of numbers in CSV and TSV; with ',' the cell 1,5 is read as 1.5.",
            metavar="CHAR",
            choices=(".", ","),
            panel="More",
        ),
    ] = "."
    thousands: Annotated[
        str | None,
        Param(
            "Mark between thousands in numbers of CSV and TSV, which is left out: 1.234 is read as 1234.",
            metavar="CHAR",
            panel="More",
        ),
    ] = None
    sheet: Annotated[
        str | None,
        Param(
            "Sheet of a workbook by name or number (default: the first one), or data frame of a file of R.",
            metavar="NAME",
            panel="More",
        ),
    ] = None
    path_cols: Annotated[
        str | None,
        Param(
            "Columns from folders and file names: party/year_speaker of R/1964_Smith.txt; also makes a column path.",
            metavar="PATTERN",
            panel="More",
        ),
    ] = None
    meta: Annotated[
        str | None,
        Param(
            "Table whose columns join the documents; what has no partner is counted and listed.",
            metavar="FILE",
            panel="More",
        ),
    ] = None
    meta_on: Annotated[
        str,
        Param(
            "Column of that table with the key: the same column of the documents, else their id, or the name of their file.",
            metavar="COLUMN",
            panel="More",
        ),
    ] = "id"
    txt_docs: Annotated[
        str,
        Param(
            "What one document of a .txt file is: line, file, or auto (lines if there is a single file).",
            metavar="UNIT",
            panel="More",
        ),
    ] = "auto"
    json_record: Annotated[
        str | None,
        Param(
            "Place of the documents in JSON, such as personnel.person or chats.list.messages.",
            metavar="PLACE",
            panel="More",
        ),
    ] = None
    xml_record: Annotated[
        str | None, Param("Name of the XML or SGML element that holds one document.", metavar="NAME", panel="More")
    ] = None
    xml_fields: Annotated[
        Pairs,
        Param(
            "Column of XML and its path in an element, such as text=revision/text, id=@id or text=p|l.",
            ("xml_field",),
            metavar="COL=PATH",
            panel="More",
        ),
    ] = ()
    types: Annotated[
        Pairs, Param("Type of a column: string, int, float or bool.", metavar="COL=TYPE", panel="More")
    ] = ()
    where: Annotated[
        str | None,
        Param("Use only documents whose text matches a regular expression (Python's re).", metavar="REGEX"),
    ] = None
    keep_if: Annotated[
        str | None,
        Param(
            "Use only documents that meet a condition, such as \"label == 'pos' and rating >= 7\". Also: in, "
            "contains, matches, is null, not, or.",
            metavar="CONDITION",
        ),
    ] = None
    sample: Annotated[
        int | None,
        Param(
            "Use a random sample of N documents. The sample is always the same.",
            metavar="N",
            min=1,
        ),
    ] = None
    limit: Annotated[int | None, Param("Use the first N documents after filtering.", metavar="N", min=1)] = None
    words_col: str | None = None
    text_needed: bool = True
    columns: tuple[str, ...] | None = None
    shard: str | None = None
    batch_rows: int = 10_000

    def __post_init__(self) -> None:
        """Make pairs of what stands for them."""
        object.__setattr__(self, "xml_fields", _pairs(self.xml_fields, "xml_fields"))
        object.__setattr__(self, "types", _pairs(self.types, "types"))
        object.__setattr__(self, "delimiter", _TABS.get(self.delimiter or "", self.delimiter))

    def recorded(self) -> dict[str, Any]:
        """Return the options that are not the defaults, as what is made of the documents records them; `again` takes them."""
        chosen = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in _OF_THE_WORK and f.default != getattr(self, f.name)
        }
        return {
            name: [list(pair) for pair in value] if isinstance(value, tuple) else value
            for name, value in chosen.items()
        }

    def again(self, recorded: Mapping[str, Any]) -> ReadOptions:
        """Return the options with those that were recorded; what is not a default here stays."""
        changed = self.recorded()
        earlier = {f.name: recorded[f.name] for f in fields(self) if f.name in recorded and f.name not in changed}
        values: dict[str, Any] = {n: tuple(map(tuple, v)) if isinstance(v, list) else v for n, v in earlier.items()}
        return replace(self, **values)

    def roles(self) -> Roles:
        """Return the names of the four columns with a role."""
        return Roles(
            self.text_col, self.id_col, self.label_col, self.date_col, self.words_col, self.text_needed
        )  # fmt: skip


def _pairs(values: Mapping[str, str] | Iterable[Any] | None, parameter: str) -> Pairs:
    if isinstance(values, Mapping):
        return tuple(values.items())
    return tuple(value if isinstance(value, tuple) else _pair(value, parameter) for value in values or ())


def _pair(text: str, parameter: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise UsageError(f"`{parameter}` takes NAME=VALUE, got '{text}'", parameter=parameter)
    return name, value

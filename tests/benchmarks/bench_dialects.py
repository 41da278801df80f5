"""Delimited files as people have them: which rows and cells nlpkit, pandas, polars, duckdb and readr (with R) read by default.

    python tests/benchmarks/bench_dialects.py            # the table of docs/benchmarks/reading.md
    python tests/benchmarks/bench_dialects.py --wrong    # and what was read instead

A reader is right when all documents are there with their text and their class, and nothing else. `told` adds the options of nlpkit that
a person would give after its message. An error is better than a wrong table: the user knows.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import logging
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Rows = list[tuple[str, str]]  # text and label
TEXTS = [f"This is text number {i}, with a comma; and more." for i in range(12)]
LABELS = ["pos" if i % 2 else "neg" for i in range(12)]


@dataclass(frozen=True)
class Dialect:
    """A file: its bytes, the documents that are in it, and the options that nlpkit needs to be told."""

    name: str
    content: bytes
    rows: Rows
    suffix: str = ".csv"
    told: dict[str, Any] = field(default_factory=dict)
    text: str = "text"
    label: str = "label"


def quoted(cell: str, mark: str = '""') -> str:
    return '"' + cell.replace('"', mark) + '"'


def table(
    texts: list[str] = TEXTS,
    delimiter: str = ",",
    *,
    head: str = "id,text,label",
    end: str = "\n",
    quote: Callable[[str], str] = quoted,
) -> str:
    """Return a file of ids, texts and labels."""
    lines = [head.replace(",", delimiter)] if head else []
    lines += [delimiter.join((str(i), quote(text), LABELS[i])) for i, text in enumerate(texts)]
    return end.join(lines) + end


def rows(texts: list[str] = TEXTS) -> Rows:
    return list(zip(texts, LABELS[: len(texts)], strict=True))


def dialects() -> Iterator[Dialect]:
    """Yield the files."""
    plain = [text.replace(",", "").replace(";", "") for text in TEXTS]
    for delimiter, name in ((",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar")):
        yield Dialect(f"{name}, quoted", table(delimiter=delimiter).encode(), rows())
    yield Dialect("tab in .tsv", table(delimiter="\t").encode(), rows(), ".tsv")
    yield Dialect("no quotes", table(plain, quote=str).encode(), rows(plain))
    for end, name in (("\r\n", "CRLF"), ("\r", "CR")):
        yield Dialect(name, table(end=end).encode(), rows())
    yield Dialect("no line end at the end", table().rstrip("\n").encode(), rows())
    yield Dialect("CRLF and LF mixed", table().replace("\n", "\r\n", 4).encode(), rows())
    umlauts = [text.replace("text", "Täxt – „ü“ €") for text in TEXTS]
    for encoding in ("utf-8-sig", "utf-16", "cp1252", "utf-8"):
        yield Dialect(f"encoding {encoding}", table(umlauts).encode(encoding), rows(umlauts))
    breaks = [f"{text}\nsecond line\n\nfourth" for text in TEXTS]
    yield Dialect("line breaks in cells", table(breaks).encode(), rows(breaks))
    crlf = [f"{text}\r\nsecond line" for text in TEXTS]
    yield Dialect("CRLF in cells", table(crlf, end="\r\n").encode(), rows(crlf))
    marks = [f'{text} "quoted" words' for text in TEXTS]
    yield Dialect("quotes doubled", table(marks).encode(), rows(marks))
    yield Dialect("quotes after a backslash", table(marks, quote=lambda c: quoted(c, '\\"')).encode(), rows(marks))
    yield Dialect("quotes inside not doubled", table(marks, quote=lambda c: f'"{c}"').encode(), rows(marks))
    titles = [f'"Title {i}" is a film' for i in range(12)]
    yield Dialect("titles in quotes, not quoted", table(titles, quote=str).encode(), rows(titles))
    yield Dialect("the same in .tsv", table(titles, "\t", quote=str).encode(), rows(titles), ".tsv")
    lone = [f'"{text}' if i in (3, 8) else text for i, text in enumerate(plain)]
    yield Dialect("two lone quotes, .tsv", table(lone, "\t", quote=str).encode(), rows(lone), ".tsv")
    yield Dialect("two lone quotes, comma", table(lone, quote=str).encode(), rows(lone))
    one = [f'"{text}' if i == 3 else text for i, text in enumerate(plain)]
    yield Dialect("one lone quote, .tsv", table(one, "\t", quote=str).encode(), rows(one), ".tsv")
    inches = [f'a screen of 5" number {i}' for i in range(12)]
    yield Dialect("inches", table(inches, quote=str).encode(), rows(inches))
    yield Dialect("blanks around quotes", table(quote=lambda c: f' "{c}" ').encode(), rows())
    yield Dialect(
        "single quotes as text",
        table([f"'{text}'" for text in plain], quote=str).encode(),
        rows([f"'{t}'" for t in plain]),
    )
    yield Dialect("sep=;", ("sep=;\n" + table(delimiter=";")).encode(), rows())
    yield Dialect("comment lines above", ("# exported by me\n# on Monday, at 5\n" + table()).encode(), rows())
    yield Dialect("a title above", ("Survey of 2024\n\n" + table()).encode(), rows())
    yield Dialect("a padded title above", ("Survey of 2024,,\n,,\n" + table()).encode(), rows())
    yield Dialect("three title lines", ("Survey\nby me\n2024\n" + table()).encode(), rows())
    yield Dialect("no header, .tsv", table(plain, "\t", head="", quote=str).encode(), rows(plain), ".tsv",
                  {"header": False, "text_col": "column_2", "label_col": "column_3"}, "1", "2")  # fmt: skip
    yield Dialect("no header, quoted", table(head="").encode(), rows(), ".csv",
                  {"header": False, "text_col": "column_2", "label_col": "column_3"}, "1", "2")  # fmt: skip
    body = table(head="").splitlines()
    yield Dialect(
        "header again in the middle",
        "\n".join(["id,text,label", *body[:5], "id,text,label", *body[5:], ""]).encode(),
        rows(),
    )
    joined = "id,text,label\n" + "\n".join(body[:5]) + "\n\ufeffid,text,label\n" + "\n".join(body[5:]) + "\n"
    yield Dialect("two files put together, with BOM", ("\ufeff" + joined).encode(), rows())
    yield Dialect("blank rows below", (table() + ",,\n" * 20).encode(), rows())
    yield Dialect("blank lines between", table().replace("\n", "\n\n").encode(), rows())
    yield Dialect("header with blanks", table(head=" id , text , label ").encode(), rows())
    yield Dialect("header in capitals", table(head="ID,Text,Label").encode(), rows(), ".csv",
                  {"text_col": "Text", "label_col": "Label"}, "Text", "Label")  # fmt: skip
    yield Dialect("delimiter at the end of lines", table().replace("\n", ",\n").encode(), rows())
    yield Dialect("names of rows, as R (blank)", "".join(
        ['"text" "label"\n', *(f'"{i + 1}" {quoted(t)} "{LABELS[i]}"\n' for i, t in enumerate(TEXTS))]).encode(), rows(),
        ".csv", {"delimiter": " "})  # fmt: skip
    yield Dialect("names of rows, as R (comma)", "".join(
        ['"text","label"\n', *(f'"{i + 1}",{quoted(t)},"{LABELS[i]}"\n' for i, t in enumerate(TEXTS))]).encode(), rows())  # fmt: skip
    yield Dialect("nameless first column", table(head=",text,label").encode(), rows())
    yield Dialect("text under another name", table(head="id,review,label").encode(), rows(), ".csv", {}, "review")
    empty = ["" if i == 4 else text for i, text in enumerate(TEXTS)]
    yield Dialect("an empty text", table(empty).encode(), rows(empty))
    words = ["NA" if i == 4 else "null" if i == 5 else "None" if i == 6 else text for i, text in enumerate(TEXTS)]
    yield Dialect("texts that are NA, null, None", table(words).encode(), rows(words), ".csv", {"na_values": ""})
    numbers = [f"00{i}" for i in range(12)]
    yield Dialect("texts of digits", table(numbers, quote=str).encode(), rows(numbers))
    long = [f"90071992547409{i:02}" for i in range(12)]
    yield Dialect(
        "texts of long numbers", table([*long[:6], *plain[6:]], quote=str).encode(), rows([*long[:6], *plain[6:]])
    )
    yield Dialect("texts such as True and 1e5", table([*["True", "1e5", "1.0", "inf"] * 3], quote=str).encode(),
                  rows([*["True", "1e5", "1.0", "inf"] * 3]))  # fmt: skip
    dates = [f"2024-01-{i + 1:02}" for i in range(12)]
    yield Dialect("texts that are dates", table(dates, quote=str).encode(), rows(dates))
    yield Dialect(
        "other line ends in cells",
        table([f"{t}\u2028next\x85line" for t in TEXTS]).encode(),
        rows([f"{t}\u2028next\x85line" for t in TEXTS]),
    )
    yield Dialect("blanks around texts", table([f"  {t}  " for t in TEXTS]).encode(), rows([f"  {t}  " for t in TEXTS]))
    emoji = [f"{t} 👩‍👩‍👧 Ω 漢字" for t in TEXTS]
    yield Dialect("emoji and other scripts", table(emoji).encode(), rows(emoji))
    huge = [text * 5_000 for text in TEXTS[:3]]
    yield Dialect("cells of 200 kB", table(huge).encode(), rows(huge))
    yield Dialect("one column", ("text\n" + "\n".join(plain) + "\n").encode(), [(t, "") for t in plain], label="")
    yield Dialect("one row", table(TEXTS[:1]).encode(), rows(TEXTS[:1]))
    yield Dialect(
        "lists in cells",
        table([f"['a', 'b', {i}]" for i in range(12)]).encode(),
        rows([f"['a', 'b', {i}]" for i in range(12)]),
    )
    yield Dialect("gzip", gzip.compress(table().encode()), rows(), ".csv.gz")
    many = [plain[i % 12] for i in range(3_000)]
    text = "id,text,label\n" + "".join(f"{i},{t},{'pos' if i % 2 else 'neg'}\n" for i, t in enumerate(many))
    text = text.replace(f"\n2900,{many[2900]}", f'\n2900,"{many[2900]}, quoted ""late"""')
    many[2900] += ', quoted "late"'
    yield Dialect(
        "the first quotes after 2,900 rows", text.encode(), [(t, "pos" if i % 2 else "neg") for i, t in enumerate(many)]
    )


# ---------------------------------------------------------------- readers


def by_nlpkit(path: Path, dialect: Dialect, told: dict[str, Any]) -> Rows:
    from nlpkit.platform.documents.corpora import open_documents
    from nlpkit.platform.documents.options import ReadOptions

    read = open_documents([str(path)], ReadOptions(**told)).read_all()
    label = "label" if "label" in read.column_names else dialect.label
    labels = read.column(label).to_pylist() if label else [""] * read.num_rows
    return list(zip(read.column("text").to_pylist(), labels, strict=True))


def by_pandas(path: Path, dialect: Dialect) -> Rows:
    import pandas as pd

    frame = pd.read_csv(path, sep="\t" if ".tsv" in path.name else ",")
    return _rows_of(list(map(str, frame.columns)), {str(name): frame[name].tolist() for name in frame.columns}, dialect)


def by_polars(path: Path, dialect: Dialect) -> Rows:
    import polars as pl

    frame = pl.read_csv(path, separator="\t" if ".tsv" in path.name else ",")
    return _rows_of(frame.columns, frame.to_dict(as_series=False), dialect)


def by_duckdb(path: Path, dialect: Dialect) -> Rows:
    import duckdb

    read = duckdb.connect().read_csv(str(path)).to_arrow_table()
    return _rows_of(read.column_names, read.to_pydict(), dialect)


_IN_R = """
frame <- suppressWarnings(readr::read_delim(commandArgs(TRUE)[1], show_col_types = FALSE, progress = FALSE))
if (is.null(names(frame)) || ncol(frame) == 0) stop("no columns")
columns <- lapply(unname(as.list(frame)), function(values) ifelse(is.na(values), "", as.character(values)))
cat(jsonlite::toJSON(list(names = I(names(frame)), columns = columns)))
"""


def by_readr(path: Path, dialect: Dialect) -> Rows:
    done = subprocess.run(["Rscript", "-e", _IN_R, str(path)], capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[0])
    read = json.loads(done.stdout)
    return _rows_of(read["names"], dict(zip(read["names"], read["columns"], strict=True)), dialect)


def _rows_of(names: list[str], columns: dict[str, list[Any]], dialect: Dialect) -> Rows:
    """Return texts and labels; columns are found by their names, as written in the file, or by their place."""

    def column(name: str) -> list[str]:
        found = names[int(name)] if name.isdecimal() else next(n for n in names if n == name)
        return ["" if value is None or value != value else str(value) for value in columns[found]]

    texts = column(dialect.text)
    return list(zip(texts, column(dialect.label) if dialect.label else [""] * len(texts), strict=True))


READERS: dict[str, Callable[[Path, Dialect], Rows]] = {
    "nlpkit": lambda path, dialect: by_nlpkit(path, dialect, {}),
    "nlpkit, told": lambda path, dialect: by_nlpkit(path, dialect, dialect.told),
    "pandas": by_pandas,
    "polars": by_polars,
    "duckdb": by_duckdb,
    **({"readr": by_readr} if shutil.which("Rscript") else {}),
}


def outcome(reader: Callable[[Path, Dialect], Rows], path: Path, dialect: Dialect) -> tuple[str, str]:
    """Return right, error or wrong, and the first thing that differs."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            read = reader(path, dialect)
    except Exception as error:  # a reader may raise anything
        return "error", f"{type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"
    if read == dialect.rows:
        return "right", ""
    first = next((a for a, b in zip(read, dialect.rows, strict=False) if a != b), None)
    return "wrong", f"{len(read)} rows of {len(dialect.rows)}; first that differs: {str(first)[:80]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="print what was read instead")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    totals = {name: Counter[str]() for name in READERS}
    print("| file | " + " | ".join(READERS) + " |\n|---|" + "---|" * len(READERS))
    with tempfile.TemporaryDirectory() as folder:
        for dialect in dialects():
            path = Path(folder) / f"x{dialect.suffix}"
            path.write_bytes(dialect.content)
            results = {name: outcome(reader, path, dialect) for name, reader in READERS.items()}
            for name, (what, why) in results.items():
                totals[name][what] += 1
                if arguments.wrong and what != "right":
                    print(f"    {dialect.name}: {name}: {what}: {why}")
            print(f"| {dialect.name} | " + " | ".join(what for what, _ in results.values()) + " |")
    sums = (f"{t['right']} right, {t['error']} errors, {t['wrong']} wrong" for t in totals.values())
    print("| **sum** | " + " | ".join(sums) + " |")


if __name__ == "__main__":
    main()

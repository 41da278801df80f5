"""Validation of the options of reading."""

from __future__ import annotations

from nlpkit.errors import UsageError
from nlpkit.io.encoding import check_codec
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.readers.columns import TYPES
from nlpkit.io.sources import FORMATS


def check_options(options: ReadOptions) -> None:
    """Raise UsageError for values of options that are invalid."""
    formats = sorted(set(FORMATS.values()))
    allowed: tuple[tuple[str, str, list[str]], ...] = (
        ("format", options.format or formats[0], formats),
        ("encoding_errors", options.encoding_errors, ["strict", "replace"]),
        ("txt_docs", options.txt_docs, ["auto", "line", "file"]),
        *((f"types={name}", type_, list(TYPES)) for name, type_ in options.types),
    )
    for parameter, value, values in allowed:
        if value not in values:
            raise UsageError(f"`{parameter}` takes {', '.join(values)}, not '{value}'")
    if options.encoding is not None:
        check_codec(options.encoding)
    if options.batch_rows < 1:
        raise UsageError(f"a batch has at least one row, not {options.batch_rows}")
    if options.limit is not None and options.limit < 0:
        raise UsageError(f"`limit` is a number of documents, not {options.limit}")

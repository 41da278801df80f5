"""Validation of the options of reading."""

from __future__ import annotations

import logging
from collections.abc import Collection

from nlpkit.errors import UsageError
from nlpkit.io.encoding import check_codec
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.readers.columns import TYPES
from nlpkit.io.sources import FORMATS, OTHER_FORMATS
from nlpkit.wording import listed

log = logging.getLogger("nlpkit.io")


_DELIMITED = ("csv", "tsv")
# options that only some formats have a use for
_OF_FORMATS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("delimiter", "header", "quoting", "escape", "decimal", "thousands"), _DELIMITED),
    "skip_rows": (*_DELIMITED, "xlsx"),
    "sheet": ("xlsx", "rds", "rdata"),
    "json_record": ("json",),
}


def warn_of_unused(options: ReadOptions, formats: Collection[str | None]) -> None:
    """Warn of options that no input has a use for; the formats are those of names and options, None where the content tells."""
    if None in formats:
        return
    for name in [name for name in options.recorded() if name in _OF_FORMATS]:
        if not set(formats) & set(_OF_FORMATS[name]):
            log.warning("`%s` changes nothing: it is for %s", name, listed(_OF_FORMATS[name], 5))


def check_options(options: ReadOptions) -> None:
    """Raise UsageError for values of options that are invalid."""
    formats = sorted({*FORMATS.values(), *OTHER_FORMATS})
    allowed: tuple[tuple[str, str, list[str]], ...] = (
        ("format", options.format or formats[0], formats),
        ("encoding_errors", options.encoding_errors, ["strict", "replace"]),
        ("txt_docs", options.txt_docs, ["auto", "line", "file"]),
        *((f"types={name}", type_, list(TYPES)) for name, type_ in options.types),
    )
    for parameter, value, values in allowed:
        if value not in values:
            raise UsageError(f"`{parameter}` takes {', '.join(values)}, not '{value}'")
    for parameter in ("delimiter", "escape", "thousands"):
        character = getattr(options, parameter)
        if character is not None and (len(character) != 1 or character in '"\r\n'):
            raise UsageError(f"`{parameter}` is one character, not {character!r}", parameter=parameter)
    if options.thousands is not None and (options.thousands == options.decimal or options.thousands.isdigit()):
        raise UsageError(
            f"`thousands={options.thousands}` is the decimal mark or a digit; name another", parameter="thousands"
        )
    if options.encoding is not None:
        check_codec(options.encoding)
    if options.batch_rows < 1:
        raise UsageError(f"a batch has at least one row, not {options.batch_rows}")
    if options.limit is not None and options.limit < 0:
        raise UsageError(f"`limit` is a number of documents, not {options.limit}")

"""Checks that Arrow skips when it reads a file: that text is valid UTF-8, and codes are within their dictionary."""

from __future__ import annotations

import pyarrow as pa

from nlpkit.errors import EncodingError, InputError, first_line


def check_values(data: pa.RecordBatch | pa.Table, where: str) -> None:
    """Raise unless each column holds what its type says: the kernels read text byte by byte and trust it to be UTF-8.

    Raises:
        EncodingError: text that is not UTF-8; InputError: anything else that is broken.
    """
    for name, column in zip(data.schema.names, data.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            reason = first_line(error)
            if "UTF8" in reason:
                raise EncodingError(
                    f"{where}: column '{name}' is stored as text, but holds bytes that are not UTF-8; write the file "
                    "again"
                ) from None
            raise InputError(f"{where}: column '{name}' is corrupt ({reason})") from None

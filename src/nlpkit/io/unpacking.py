"""Bytes inside gzip, zstd and bzip2, known by their first bytes."""

from __future__ import annotations

import bz2
from collections.abc import Callable, Iterator
from typing import Any

import zstandard
from isal import isal_zlib  # takes a third of the time of zlib

from nlpkit.errors import InputError


def compression(first: bytes) -> tuple[str, Callable[[], Any]] | None:
    """Return the name of the compression that the first bytes are of, and what makes its unpacker; None for none."""
    if first.startswith(b"\x1f\x8b"):
        return "gzip", lambda: isal_zlib.decompressobj(wbits=31)
    if first.startswith(b"\x28\xb5\x2f\xfd") or (first[1:4] == b"\x2a\x4d\x18" and first[0] >> 4 == 5):
        return "zstd", zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj
    if first.startswith(b"BZh") and first[4:10].startswith((b"1AY&", b"\x17rE8")):
        return "bzip2", bz2.BZ2Decompressor
    return None


def members(stored: Iterator[bytes], path: str, name: str, make: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the bytes inside, of several members too. Raises InputError for a truncated or corrupt file."""
    unpacker: Any = None  # None between two members
    n_done = 0
    for chunk in stored:
        while chunk:
            if unpacker is None:
                chunk = chunk.lstrip(b"\0")  # zeros may pad the end of a member
                if not chunk:
                    break
                unpacker = make()
            try:
                data = unpacker.decompress(chunk)
            except (isal_zlib.IsalError, zstandard.ZstdError, OSError, EOFError, ValueError) as error:  # type: ignore[misc]
                raise InputError(f"{path}: corrupt {name} file ({error}); fetch it again") from error
            if data:
                yield data
            chunk = unpacker.unused_data if unpacker.eof else b""
            if unpacker.eof:
                unpacker, n_done = None, n_done + 1
    if unpacker is not None:
        what = (
            f"truncated {name} file"
            if not n_done
            else f"something that is no whole {name} file follows the {name} file"
        )
        raise InputError(f"{path}: {what}; fetch it again")

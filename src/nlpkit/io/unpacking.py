"""Bytes inside gzip, zstd and bzip2, known by their first bytes, a bounded piece at a time."""

from __future__ import annotations

import bz2
from collections.abc import Callable, Iterator
from typing import Protocol

import zstandard
from isal import isal_zlib  # takes a third of the time of zlib

from nlpkit.errors import InputError

_PIECE = 1 << 20  # bytes that are unpacked at a time
# a block of zstd has at least 4 bytes and gives at most 128 KB: of so many bytes come at most 64 MB
_ZSTD_STEP = 1 << 11


class _Unpacker(Protocol):
    """The unpacker of one member; what follows the member is in `unused_data`."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def pieces(self, stored: bytes) -> Iterator[bytes]:
        """Yield what some bytes unpack to, in pieces of bounded size."""


class _Gzip:
    """Members of gzip."""

    def __init__(self) -> None:
        self._unpacker = isal_zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return bool(self._unpacker.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._unpacker.unused_data)

    def pieces(self, stored: bytes) -> Iterator[bytes]:
        while stored:
            yield self._unpacker.decompress(stored, _PIECE)
            stored = self._unpacker.unconsumed_tail


class _Bzip2:
    """Members of bzip2."""

    def __init__(self) -> None:
        self._unpacker = bz2.BZ2Decompressor()

    @property
    def eof(self) -> bool:
        return self._unpacker.eof

    @property
    def unused_data(self) -> bytes:
        return self._unpacker.unused_data

    def pieces(self, stored: bytes) -> Iterator[bytes]:
        yield self._unpacker.decompress(stored, _PIECE)
        while not self._unpacker.eof and not self._unpacker.needs_input:
            yield self._unpacker.decompress(b"", _PIECE)


class _Zstd:
    """Frames of zstd; the library bounds what goes in, not what comes out."""

    def __init__(self) -> None:
        self._unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
        self._left = b""

    @property
    def eof(self) -> bool:
        return bool(self._unpacker.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._unpacker.unused_data) + self._left

    def pieces(self, stored: bytes) -> Iterator[bytes]:
        parts: list[bytes] = []
        size = 0
        for start in range(0, len(stored), _ZSTD_STEP):
            part = self._unpacker.decompress(stored[start : start + _ZSTD_STEP])
            parts.append(part)
            size += len(part)
            if size >= _PIECE:
                yield b"".join(parts)
                parts, size = [], 0
            if self._unpacker.eof:
                self._left = stored[start + _ZSTD_STEP :]
                break
        yield b"".join(parts)


def compression(first: bytes) -> tuple[str, Callable[[], _Unpacker]] | None:
    """Return the name of the compression that the first bytes are of, and what makes its unpacker; None for none."""
    if first.startswith(b"\x1f\x8b"):
        return "gzip", _Gzip
    if first.startswith(b"\x28\xb5\x2f\xfd") or (first[1:4] == b"\x2a\x4d\x18" and first[0] >> 4 == 5):
        return "zstd", _Zstd
    if first.startswith(b"BZh") and first[4:10].startswith((b"1AY&", b"\x17rE8")):
        return "bzip2", _Bzip2
    return None


def members(stored: Iterator[bytes], path: str, name: str, make: Callable[[], _Unpacker]) -> Iterator[bytes]:
    """Yield the bytes inside, of several members too. Raises InputError for a truncated or corrupt file."""
    unpacker: _Unpacker | None = None  # None between two members
    n_done = 0
    for chunk in stored:
        while chunk:
            if unpacker is None:
                chunk = chunk.lstrip(b"\0")  # zeros may pad the end of a member
                if not chunk:
                    break
                unpacker = make()
            try:
                yield from filter(None, unpacker.pieces(chunk))
            except (isal_zlib.IsalError, zstandard.ZstdError, OSError, EOFError, ValueError) as error:  # type: ignore[misc]
                raise InputError(f"{path}: corrupt {name} file ({error}); download it again") from error
            chunk = unpacker.unused_data if unpacker.eof else b""
            if unpacker.eof:
                unpacker, n_done = None, n_done + 1
    if unpacker is not None:
        what = (
            f"truncated {name} file"
            if not n_done
            else f"something that is not a whole {name} file follows the {name} file"
        )
        raise InputError(f"{path}: {what}; download it again")

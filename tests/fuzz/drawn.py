"""What is done to the bytes of a file, drawn by number."""

from __future__ import annotations

import numpy as np

# what readers look for, and what they should not meet
PIECES = [
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\xf0", b"\x80", b"\r", b"\n", b"\n\n", b'"', b"'", b",", b"\t",
    b"{", b"}", b"[", b"]", b":", b"null", b"NaN", b"1e999", b"-", b"\\", b"\\ud800", b"\\u0000", b"<", b">", b"&", b"&#0;", b"&x;", b"]]>",
    b"<!--", b"<![CDATA[", b"<!DOCTYPE a [<!ENTITY x 'y'>]>", b"PAR1", b"text", b"id", b"\x1f\x8b", b"BZh9", b"\x28\xb5\x2f\xfd", b"9" * 40,
    "é".encode(), "日".encode(), "é".encode("latin-1"), "日本".encode("utf-16"), b"\xe2\x80\xa8", b"\x1a", b"\x7f", b"a" * 300,
]  # fmt: skip


def changed(data: bytes, rng: np.random.Generator, times: int) -> bytes:
    """Return the bytes after so many changes: pieces put in and over, bits turned, parts left out or doubled, the end cut off."""
    for _ in range(times):
        at, end = sorted(rng.integers(0, len(data) + 1, 2).tolist())
        piece = PIECES[int(rng.integers(len(PIECES)))]
        how = int(rng.integers(6))
        if how == 0:  # put in
            data = data[:at] + piece + data[at:]
        elif how == 1:  # put over
            data = data[:at] + piece + data[at + len(piece) :]
        elif how == 2:  # one bit
            flipped = bytes([data[at] ^ 1 << int(rng.integers(8))]) if at < len(data) else b""
            data = data[:at] + flipped + data[at + 1 :]
        elif how == 3:  # cut off
            data = data[:end]
        elif how == 4:  # some bytes left out
            data = data[:at] + data[min(end, at + 9) :]
        else:  # a part twice
            data = data[:end] + data[at:]
    return data

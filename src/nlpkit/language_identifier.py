"""py3langid's model of languages, with a copy in the user's cache that is read in a fifth of the time.

The package has its model compressed with LZMA, which takes a third of a second to read, more than all else that a command does
with ten documents. The first process that needs the model leaves the same numbers there, compressed with Zstandard: 7 MB in
`$XDG_CACHE_HOME/nlpkit` (~/.cache/nlpkit), named by the sha256 of the package's file, with a checksum. Where the folder cannot
be written, or the copy is damaged, the package's own file is read.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ARRAYS = ("nb_ptc", "nb_pc", "tk_nextmove", "tk_row", "tk_output")  # of py3langid's LanguageIdentifier
LEVEL = 1  # of Zstandard; 3 takes twice as long for 5 % less


def language_identifier() -> Any:
    """Return py3langid's identifier of languages, its model read. Raises OSError when there is no room to unpack it."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    packed = Path(MODEL_DIR, MODEL_FILE).read_bytes()
    folder = cache_folder()
    if folder is None:
        return LanguageIdentifier.from_model_file(MODEL_FILE)
    copy = folder / f"languages-{hashlib.sha256(packed).hexdigest()[:24]}.zst"
    identifier = _read(copy)
    if identifier is None:
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
        with suppress(OSError):  # read only, or full: the next process reads the package's file, too
            _write(copy, identifier)
    return identifier


def cache_folder() -> Path | None:
    """Return the folder of what nlpkit keeps for the user from one run to the next, None for a user without a home."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base / "nlpkit"
    with suppress(RuntimeError):
        return Path.home() / ".cache" / "nlpkit"
    return None


def _read(path: Path) -> Any:
    """Return the identifier of a copy, None where there is none that is whole."""
    import zstandard
    from py3langid.langid import LanguageIdentifier

    try:
        data = memoryview(zstandard.ZstdDecompressor().decompress(path.read_bytes()))
    except (OSError, zstandard.ZstdError):  # the checksum of a file that is read says that it is what was written
        return None
    length = int.from_bytes(data[:8], "little")
    head = json.loads(bytes(data[8 : 8 + length]))
    arrays, at = {}, 8 + length
    for name, (dtype, shape) in head["arrays"].items():
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, dtype, count, at).reshape(shape)
        at += arrays[name].nbytes
    return LanguageIdentifier(
        arrays["nb_ptc"],
        arrays["nb_pc"],
        head["classes"],
        arrays["tk_nextmove"].data,
        arrays["tk_output"].tolist(),
        tk_row=arrays["tk_row"].data,
    )


def _write(path: Path, identifier: Any) -> None:
    """Leave a copy of the model of an identifier; other processes see all of it or nothing."""
    import zstandard

    arrays: dict[str, npt.NDArray[Any]] = {name: np.ascontiguousarray(getattr(identifier, name)) for name in ARRAYS}
    head = {
        "classes": list(identifier.nb_classes),
        "arrays": {name: (array.dtype.str, array.shape) for name, array in arrays.items()},
    }
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)  # the arrays begin at their own alignment
    path.parent.mkdir(parents=True, exist_ok=True)
    pieces = [len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in arrays.values())]
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(zstandard.ZstdCompressor(LEVEL, write_checksum=True).compress(b"".join(pieces)))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)

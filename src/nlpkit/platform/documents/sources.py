"""The files that inputs name, and their bytes: directories, globs, stdin, compression, sha256.

Parts, in this order:
- Bytes inside gzip, zstd and bzip2, known by their first bytes, a bounded piece at a time.
- Names to sources, and sources to bytes.
"""

from __future__ import annotations

import bz2
import glob
import hashlib
import logging
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self
from urllib.parse import unquote

import zstandard
from isal import isal_zlib

from nlpkit.errors import InputError, MissingFileError, UsageError
from nlpkit.platform.parallel import ahead
from nlpkit.platform.wording import counted

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


# ------------------------------------------------------------------------------------------------------------------------
# Files that inputs name, and their bytes: directories, globs, stdin, compression, sha256.
#
# inputs ─[resolve]─▶ Source … ─[StoredBytes]─▶ unpacked chunks of bytes + sha256 of the bytes as stored

FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "txt",
    ".md": "txt",
    ".markdown": "txt",
    ".xml": "xml",
    ".sgml": "sgml",
    ".sgm": "sgml",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".docx": "docx",
    ".pdf": "pdf",
    ".eml": "eml",
    ".mbox": "mbox",
    ".xlsx": "xlsx",
    ".dta": "dta",
    ".sav": "sav",
    ".zsav": "sav",
    ".por": "por",
    ".sas7bdat": "sas7bdat",
    ".rds": "rds",
    ".rdata": "rdata",
    ".rda": "rdata",
    ".srt": "srt",
    ".vtt": "vtt",
    ".conllu": "conllu",
    ".vert": "vertical",
    ".js": "json",  # of the archive of Twitter
}
STATISTICS_FORMATS = ("dta", "sav", "por", "sas7bdat", "rds", "rdata")  # of Stata, SPSS, SAS and R
OTHER_FORMATS = ("chat",)  # without a suffix of their own
ONE_DOCUMENT = ("html", "docx", "pdf", "eml")  # formats of which a file is one document
MARKDOWN = (".md", ".markdown")
COMPRESSED = (".gz", ".zst", ".bz2")
STDIN = "-"

_ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".rar", ".xz")
_OTHER_DOCUMENTS = {
    ".doc": "docx", ".odt": "docx", ".rtf": "docx", ".epub": "html", ".xls": "xlsx", ".ods": "xlsx", ".ppt": "pdf",
    ".pptx": "pdf",
}  # fmt: skip
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_CHUNK = 1 << 18  # 256 KB as stored: large enough for speed, small enough for a high compression ratio

log = logging.getLogger("nlpkit.io")


@dataclass(frozen=True, slots=True)
class Source:
    """One input file: `path` as it was given, `stem` as made ids begin."""

    path: str
    stem: str
    format: str | None  # by the option or the suffix; None = look at the first bytes
    listed: bool = False  # found in a directory or by a glob, so one of many
    base: str = ""  # the directory or the fixed part of the glob it was found under

    @property
    def partition(self) -> dict[str, str | None]:
        """The columns that folders name, such as year=2024/label=pos, as Spark, Hive, Polars and DuckDB write them."""
        parts = [part.partition("=") for part in Path(self.path).parts[:-1]] if not self.is_stdin else []
        return {
            unquote(name): None if value == _NULL_FOLDER else unquote(value)
            for name, sign, value in parts
            if name and sign
        }

    @property
    def relative(self) -> str:
        """The path below the directory or the glob under which the file was found, with / between folders."""
        if self.is_stdin:
            return self.stem
        return Path(os.path.relpath(self.path, self.base) if self.base else self.path).as_posix()

    @property
    def is_stdin(self) -> bool:
        """Whether the bytes come from standard input."""
        return self.path == STDIN

    @property
    def shown(self) -> str:
        """The name as messages say it."""
        return "stdin" if self.is_stdin else self.path

    @property
    def rereadable(self) -> bool:
        """Whether the bytes can be read twice: a regular file, not a pipe."""
        return not self.is_stdin and Path(self.path).is_file()


def resolve(inputs: Sequence[str], format: str | None = None) -> list[Source]:
    """Return the files that `inputs` name, directories and globs expanded and sorted.

    Raises InputError when an input names nothing or an archive, UsageError when stdin is named twice.
    """
    if not inputs:
        raise InputError("no input given: name a file, a directory, a glob in quotes, or - for stdin")
    sources = list(chain.from_iterable(_expand(name, format) for name in inputs))
    if sum(source.is_stdin for source in sources) > 1:
        raise UsageError("stdin ('-') is named twice, but it can only be read once")
    return _with_stems(_without_repeats(sources))


def split_suffix(name: str) -> tuple[str, str | None, bool]:
    """Return the stem of a file name, the format its suffix names, and whether it is compressed."""
    lower = name.lower()
    packed = next((s for s in COMPRESSED if lower.endswith(s) and len(name) > len(s)), "")
    inner = name[: len(name) - len(packed)]
    return Path(inner).stem, FORMATS.get(Path(inner).suffix.lower()), bool(packed)


def is_markdown(path: str) -> bool:
    """Return whether a file is of Markdown by its suffix: a text of one document, however many lines it has."""
    for packed in COMPRESSED:
        path = path.lower().removesuffix(packed)
    return path.endswith(MARKDOWN)


def sniff(head: bytes, path: str) -> str:
    """Return the format that the first unpacked bytes indicate: a single line with a blank is txt, for a table has two lines.

    Raises:
        InputError: they could be anything.
    """
    if head.startswith(b"ARROW1"):
        raise InputError(f"{path}: Arrow files are written, but not read as documents; write .parquet instead")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    marks = {
        b"PAR1": "parquet",
        b"{": "jsonl",
        b"[": "json",
        b"%PDF": "pdf",
        b"<!doctype html": "html",
        b"<html": "html",
    }
    for mark, format in marks.items():
        if start[:20].lower().startswith(mark.lower()) or not start:
            return "jsonl" if not start else format
    line = start.rstrip()
    if b" " in line and not {b"\n"[0], b"\r"[0], 0} & set(line):
        return "txt"
    raise InputError(f"{path}: unknown format; set `format={'|'.join(sorted(set(FORMATS.values())))}`")


# ---------------------------------------------------------------- names → sources


def check_there(name: str) -> None:
    """Raise MissingFileError for an input that is neither a file or directory nor stdin nor a glob."""
    if name != STDIN and not glob.has_magic(name) and not Path(name).exists():
        raise MissingFileError(missing_path(Path(name)))


def _expand(name: str, format: str | None) -> list[Source]:
    if name == STDIN:
        return [Source(STDIN, "stdin", format)]
    path = Path(name)
    if path.is_dir():
        return _in_directory(name, format)
    if path.exists():
        return [_source(name, format)]
    check_there(name)
    return _by_glob(name, format)


def _source(path: str, format: str | None, *, base: str = "") -> Source:
    _refuse_archive(path)
    stem, by_suffix, _ = split_suffix(Path(path).name)
    return Source(path, stem, format or by_suffix, listed=bool(base), base=base)


def _in_directory(name: str, format: str | None) -> list[Source]:
    if Path(name, "manifest.json").exists() and Path(name, "topics.parquet").exists():
        raise InputError(f"{name} is a run directory, not a corpus; name the documents that the model was fitted to")
    files: list[str] = []
    unread: list[str] = []  # of a job that has not ended, or about the others
    others: Counter[str] = Counter()
    for folder, folders, names in os.walk(name):
        folders[:] = [f for f in folders if not f.startswith(".")]
        for file in names:
            if file.startswith(".") or file.endswith(".dropped.parquet"):  # hidden, or our own list of dropped rows
                continue
            if _is_private(Path(folder, file).relative_to(name)):
                unread += [str(Path(folder, file))] if format is not None or split_suffix(file)[1] is not None else []
            elif format is None and (split_suffix(file)[1] is None or file.endswith(".js")):
                others[Path(file).suffix or "no suffix"] += 1
            else:
                files.append(str(Path(folder, file)))
    _note_unread(name, unread)
    if not files and format is None and _is_maildir(name):
        return [_source(path, "eml", base=name) for path in _mails(name)]
    if format is None:
        files = _without_accompanying(name, _without_lists_of_slack(name, files))
    if not files:
        known = " ".join(sorted(FORMATS))
        seen = f"; it has {', '.join(f'{n} with {s}' for s, n in others.most_common(3))}" if others else ""
        hint = ", or name the format of all files with `format`" if others else ""
        raise InputError(f"{name}: no corpus file in this directory (looked for {known}){seen}{hint}")
    return [_source(path, format, base=name) for path in sorted(files, key=lambda p: Path(p).parts)]


_SLACK_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")


def _is_maildir(name: str) -> bool:
    """Return whether a directory is a Maildir: mails in cur and new, one a file, whose names have no suffix."""
    return all(Path(name, folder).is_dir() for folder in ("cur", "new", "tmp"))


def _mails(name: str) -> list[str]:
    return sorted(str(path) for folder in ("cur", "new") for path in Path(name, folder).iterdir() if path.is_file())


def _is_private(path: Path) -> bool:
    """Return whether a file is about others, or in a folder such as _temporary, by the names below a directory."""
    return any(part.startswith("_") and "=" not in part for part in path.parts)


def _note_unread(name: str, files: list[str]) -> None:
    if files:
        log.warning(
            "%s: names that begin with _ are left out, as other programs do (%s, such as %s); name the files to read them",
            name,
            counted(len(files), "file"),
            min(files),
        )


def _without_accompanying(folder: str, files: list[str]) -> list[str]:
    """Return the files of a directory without those about it: README.md beside documents, codebook.pdf beside a table."""
    kept = [f for f in files if split_suffix(Path(f).name)[1] not in ONE_DOCUMENT and not is_markdown(f)]
    if all(split_suffix(Path(f).name)[1] in ("txt", "mbox") for f in kept):  # documents as the others are
        kept = [f for f in files if not is_markdown(f) or not (kept or Path(f).name.lower().startswith("readme."))]
    n_left = sum(not is_markdown(f) for f in set(files) - set(kept))
    if kept and n_left:
        log.warning(
            "%s: documents beside tables of documents are left out (%s); name what is to be read",
            folder,
            counted(n_left, "file"),
        )
    return kept or files


def _without_lists_of_slack(folder: str, files: list[str]) -> list[str]:
    """Return the files of a directory without the lists of users and channels at the top of an export of Slack."""
    if not (Path(folder, "users.json").exists() and Path(folder, "channels.json").exists()):
        return files
    messages = [f for f in files if Path(f).parent != Path(folder)]
    if not any(_SLACK_DAY.fullmatch(Path(f).name) for f in messages):
        return files
    log.warning(
        "%s: read as an export of Slack, a folder for each channel; its lists are left out (%s); "
        "--path-cols channel/day takes the channel",
        folder,
        counted(len(files) - len(messages), "file"),
    )
    return messages


def _by_glob(pattern: str, format: str | None) -> list[Source]:
    base = str(Path(*_until(Path(pattern).parts, glob.has_magic)))
    sources: list[Source] = []
    unread: list[str] = []
    named = any(part.startswith("_") for part in Path(pattern).parts)
    matches = glob.glob(pattern, recursive=True)  # noqa: PTH207  (a pattern may be absolute)
    for match in sorted(matches, key=lambda p: Path(p).parts):
        if match.endswith(".dropped.parquet"):
            continue
        if not named and _is_private(Path(os.path.relpath(match, base))):
            unread.append(match)
            continue
        if not Path(match).is_dir():
            sources.append(_source(match, format, base=base))
        elif "**" not in pattern:  # with ** the files below a directory are matches themselves
            sources.extend(_in_directory(match, format))
    _note_unread(pattern, [file for file in unread if not Path(file).is_dir() and (format or split_suffix(file)[1])])
    if not sources:
        raise InputError(f"no file matches '{pattern}' (looked in {Path(base).resolve()})")
    return sources


def _until(parts: Iterable[str], stop: Callable[[str], bool]) -> list[str]:
    kept: list[str] = []
    for part in parts:
        if stop(part):
            break
        kept.append(part)
    return kept


def missing_path(path: Path) -> str:
    if not path.parent.is_dir():
        return f"{path}: no such file (there is no directory {path.parent})"
    if path.is_symlink():
        return f"{path}: the link leads nowhere, or in a circle (to {path.readlink()}); name the file itself"
    near = get_close_matches(path.name, sorted(other.name for other in path.parent.iterdir()), n=1, cutoff=0.6)
    hint = f"; did you mean '{path.parent / near[0]}'?" if near else ""
    return f"{path}: no such file or directory{hint}"


def _refuse_archive(path: str) -> None:
    lower = path.lower()
    for packed in COMPRESSED:
        lower = lower.removesuffix(packed)
    if lower.endswith(_ARCHIVES):
        raise InputError(f"{path} is an archive of files: unpack it first and name the files or their directory")
    readable = _OTHER_DOCUMENTS.get(Path(lower).suffix)
    if readable is not None:
        raise InputError(f"{path} is in a format that nlpkit does not read; save it as .{readable} in its own program")


def _without_repeats(sources: list[Source]) -> list[Source]:
    kept: dict[str, Source] = {}
    for source in sources:
        key = source.path if source.is_stdin else os.path.realpath(source.path)
        if key in kept:
            log.warning("%s: given twice, read once", source.path)
        kept.setdefault(key, source)
    return list(kept.values())


def _with_stems(sources: list[Source]) -> list[Source]:
    """Give sources that share a stem the shortest longer name under which they all differ."""
    groups: dict[str, list[int]] = defaultdict(list)
    for i, source in enumerate(sources):
        groups[source.stem].append(i)
    named = list(sources)
    for places in groups.values():
        if len(places) < 2:
            continue
        for longer in _LONGER_NAMES:
            names = [longer(sources[i]) for i in places]
            if len(set(names)) == len(names):
                break
        for i, name in zip(places, names, strict=True):
            named[i] = replace(sources[i], stem=name)
    return named


def _no_suffix(path: str) -> str:
    folder, name = os.path.split(path)
    return Path(folder, split_suffix(name)[0]).as_posix()


_LONGER_NAMES: tuple[Callable[[Source], str], ...] = (
    lambda s: s.stem if s.is_stdin else _no_suffix(s.relative),
    lambda s: s.stem if s.is_stdin else s.relative,
    lambda s: s.stem if s.is_stdin else _no_suffix(s.path),
    lambda s: s.stem if s.is_stdin else Path(s.path).as_posix(),
)


# ---------------------------------------------------------------- sources → bytes


class StoredBytes:
    """The bytes of one source: unpacked chunks on the way out, sha256 of what is stored on the way in.

    Iterating yields chunks; `head` looks at the first one without consuming it. Raises InputError with the
    path for a file that cannot be read and for a truncated or corrupt archive.
    """

    def __init__(self, source: Source, stdin: BinaryIO | None = None) -> None:
        self.path = source.shown
        self._is_stdin = source.is_stdin
        self._hash = hashlib.sha256()
        try:
            self._whole = source.rereadable
            self._file = (stdin or sys.stdin.buffer) if source.is_stdin else open(source.path, "rb")  # noqa: SIM115, PTH123
        except OSError as error:
            raise InputError(f"{source.path}: cannot be opened ({error.strerror})") from error
        self.packed = False  # known once the first chunk is read
        self.exhausted = False
        self._ahead: Generator[bytes, None, None] | None = None
        self._chunks: Iterator[bytes] = self._unpacked()

    def __iter__(self) -> Iterator[bytes]:
        """Yield what is left. Not `self`: whoever ends a `yield from` early would close the file, whose hash is still wanted."""
        while chunk := next(self, b""):
            yield chunk

    def __next__(self) -> bytes:
        return next(self._chunks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def head(self) -> bytes:
        """Return the first unpacked chunk, which the next iteration yields again."""
        first = next(self._chunks, b"")
        self._chunks = chain((first,), self._chunks)
        return first

    def sha256(self) -> str:
        """Return the sha256 of the whole stored file (the rest is read now), for a pipe of the bytes read."""
        if self._ahead is not None:
            self._ahead.close()  # the thread that unpacks reads the file too
        if self._whole and not self.exhausted:
            for _ in self._stored():
                pass
        return self._hash.hexdigest()

    def close(self) -> None:
        """Close the file, but not standard input, nor a pipe that a thread may be waiting for: closing it would wait, too."""
        if not self._is_stdin and (self._whole or self.exhausted):
            self._file.close()

    def _stored(self) -> Iterator[bytes]:
        try:
            while chunk := self._file.read(_CHUNK):
                self._hash.update(chunk)
                yield chunk
            self.exhausted = True
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror})") from error

    def _unpacked(self) -> Iterator[bytes]:
        """Yield the bytes inside gzip, zstd or bzip2 (several members too), known by their first bytes."""
        stored = self._stored()
        first = b""
        while len(first) < 10 and (chunk := next(stored, b"")):  # a pipe may begin with a short read
            first += chunk
        kind = compression(first)
        named = next((suffix for suffix in COMPRESSED if self.path.lower().endswith(suffix)), None)
        if named and kind is None:
            problem = "does not begin like one" if first else "is empty"
            raise InputError(
                f"{self.path} is named {named} but {problem}: cut off, or not packed at all; download it again"
            )
        self.packed = kind is not None
        if kind is not None:
            unpacked = members(chain((first,), stored), self.path, *kind)
            # zlib and the others release the GIL: a file is unpacked while its rows are read
            if self._whole and len(first) == _CHUNK:
                unpacked = self._ahead = ahead(unpacked, depth=4, join=True)
            yield from unpacked
        elif first:
            yield first
            yield from stored

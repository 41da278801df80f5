"""Pictures and pages as files."""

from __future__ import annotations

from pathlib import Path

from nlpkit.io.atomic import atomic_file


def write_picture(path: Path, content: bytes | str, *, force: bool) -> None:
    """Write a picture, or a page as UTF-8; it appears whole or not at all.

    Raises:
        OutputExistsError, UsageError, InputError: see `check_target`.
    """
    with atomic_file(path, force=force) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)

"""Files of CoNLL-U."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nlpkit.io.atomic import atomic_file


@contextmanager
def conllu_sink(path: str | Path, *, force: bool = False) -> Iterator[Callable[[str], object]]:
    """Yield a function that appends text to a file, which appears whole at the end, or not at all.

    Raises:
        OutputExistsError, UsageError, InputError: see `check_target`.
    """
    with atomic_file(Path(path), force=force) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        yield file.write

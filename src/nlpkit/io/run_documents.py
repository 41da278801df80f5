"""The documents that a run was made from, with the columns that it gave them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nlpkit.io.atomic import MANIFEST
from nlpkit.io.corpora import DocumentStream, open_documents
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.run_reading import corpus_of, read_as_then
from nlpkit.io.runs import Run, open_run

DOCUMENTS = "documents.parquet"


def run_of(inputs: Sequence[str]) -> Run | None:
    """Return the run that is the only input, as its directory or its table of documents, None for other inputs."""
    if len(inputs) != 1 or inputs[0] == "-":
        return None
    path = Path(inputs[0])
    folder = path if path.is_dir() else path.parent
    if (
        not (folder / MANIFEST).is_file()
        or not (folder / DOCUMENTS).is_file()
        or (path != folder and path.name != DOCUMENTS)
    ):
        return None
    return open_run(folder)


def open_run_documents(run: Run, options: ReadOptions) -> DocumentStream:
    """Open the corpus of a run as a stream of those of its documents that the run has, with the columns of both.

    Raises:
        InputError: the corpus is gone or has changed.
    """
    stream = open_documents(corpus_of(run), read_as_then(run, options))
    try:
        stream.join(run.table("documents"), str(run.path))
    except BaseException:
        stream.close()
        raise
    return stream

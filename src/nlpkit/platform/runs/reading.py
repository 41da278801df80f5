"""Reading through a run: its documents, the corpus they come from, the columns of its model, its encoder.

Parts, in this order:
- Reading through a run: columns of its model, the corpus it was made from, an encoder inside it.
- The documents that a run was made from, with the columns that it gave them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nlpkit.errors import IN_MEMORY, InputError
from nlpkit.platform.documents.corpora import DocumentStream, open_documents
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.runs import Run, open_run, sha256_of


def check_encoder(name: str | None, *, verify: bool) -> None:
    """Compare the files of an encoder that lies in a run with its manifest; other names of models, and none, are left alone.

    Raises:
        InputError: a file was changed since the run was written.
    """
    if name is None:
        return
    path = Path(name).expanduser()
    if (path / MANIFEST).is_file() and (path / "model" / "sentence-transformers").is_dir():
        open_run(path, verify=verify).folder("model/sentence-transformers")


def corpus_of(run: Run) -> list[str]:
    """Return the files that a run was made from, each with the sha256 it had at that time.

    A path is looked for as it was typed, from the folder where the run was made (as it lay to the run, then as it was called),
    and beside the run.

    Raises:
        InputError: a file is gone, has changed, or was stdin or a table in memory; what helps is the end of the message.
    """
    if not run.manifest["inputs"]:
        raise InputError(f"{run.path} was made from a model of another program without its documents")
    return [_found_input(run, str(entry["path"]), entry["sha256"]) for entry in run.manifest["inputs"]]


def read_as_then(run: Run, options: ReadOptions) -> ReadOptions:
    """Return the options with which the corpus of a run was read; those that are given here come first.

    Raises:
        InputError: its files were read with different ones, such as those of a run and of an update of it.
    """
    entries = run.manifest["inputs"]
    readings = [entry.get("reading") or {} for entry in entries] or [{}]
    other = next((i for i, reading in enumerate(readings) if reading != readings[0]), None)
    if other is not None:
        ways = (
            f"{entries[i]['path']} with {', '.join(f'`{k}={v}`' for k, v in readings[i].items()) or 'no options'}"
            for i in (0, other)
        )
        raise InputError(
            f"the files of {run.path} were read with different options ({' and '.join(ways)}) and cannot be read "
            "together; put the documents into one file"
        )
    return options.again(readings[0])


def learned_from(run: Run, inputs: Sequence[InputInfo]) -> list[str]:
    """Return which of some files are, by their sha256, those that the model of a run learned from; not those it was tested on."""
    parameters = run.manifest.get("parameters") or {}
    apart = [Path(str(parameters[role])) for role in ("test", "dev") if parameters.get(role)]
    learned = {
        entry["sha256"]
        for entry in run.manifest["inputs"]
        if not any(place in (Path(entry["path"]), *Path(entry["path"]).parents) for place in apart)
    }
    return [file.path for file in inputs if file.sha256 in learned]


def _found_input(run: Run, typed: str, sha256: str) -> str:
    if typed in ("-", IN_MEMORY):
        source = "stdin" if typed == "-" else "documents in memory"
        raise InputError(
            f"{run.path} was fitted to {source}, which is not stored; write the documents to a file and fit again"
        )
    made_in = run.manifest.get("made_in") or {}
    folders = [run.path / made_in["from_run"], Path(made_in["folder"])] if made_in else []
    places = [Path(typed), *(folder / typed for folder in folders)]
    places += [folder / Path(typed).name for folder in (run.path.absolute().parent, run.path)]
    changed = None
    for place in places:
        if place.is_file():
            if sha256_of(place) == sha256:
                return typed if place == Path(typed) else os.path.normpath(place)
            changed = changed or place
    if changed is not None:
        raise InputError(
            f"{os.path.normpath(changed)} has changed since {run.path} was made from it, and its texts are "
            "needed; restore the file"
        )
    raise InputError(
        f"the corpus of {run.path} is no longer at {typed} (relative to this folder, to the folder of the fit, and "
        "next to the run), and its texts are needed; restore it"
    )


# ------------------------------------------------------------------------------------------------------------------------
# The documents that a run was made from, with the columns that it gave them.

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

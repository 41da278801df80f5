"""No output takes the place of an input, under whatever name."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nlpkit.errors import UsageError
from nlpkit.platform.runs.atomic import atomic_directory, atomic_file, check_target, protected
from nlpkit.platform.runs.tables import write_dropped


def file(path: Path, text: str = "a\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refused(target: Path, *names: str, directory: bool = False) -> None:
    with protected(names):
        with pytest.raises(UsageError, match="input"):
            check_target(target, force=True, directory=directory)
        with (
            pytest.raises(UsageError, match="input"),
            (atomic_directory if directory else atomic_file)(target, force=True),
        ):
            raise AssertionError("it was written")


def test_the_file_itself_its_links_and_its_other_spellings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = file(tmp_path / "in.txt")
    soft, hard = tmp_path / "soft.txt", tmp_path / "hard.txt"
    soft.symlink_to(source)
    os.link(source, hard)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("in.txt", str(source), "folder/../in.txt", "soft.txt", "hard.txt"):
        for target in (source, soft, hard, Path("in.txt"), Path("folder/../in.txt")):
            refused(target, name)
    assert source.read_text(encoding="utf-8") == "a\n"


def test_what_a_directory_or_a_glob_holds(tmp_path: Path) -> None:
    source, other = file(tmp_path / "corpus" / "deep" / "a.txt"), file(tmp_path / "corpus" / "notes.dat")
    refused(source, str(tmp_path / "corpus"))
    refused(source, str(tmp_path / "corpus" / "*" / "*.txt"))
    with protected([str(tmp_path / "corpus")]):
        check_target(other, force=True)  # no corpus file: it is not read
        check_target(tmp_path / "corpus" / "new.txt", force=True)


def test_a_run_and_a_model_that_are_read(tmp_path: Path) -> None:
    manifest = {"nlpkit_version": "1", "outputs": {"topics.parquet": ""}}
    run = file(tmp_path / "run" / "manifest.json", json.dumps(manifest)).parent
    topics, extra = file(run / "topics.parquet"), file(run / "mine.txt")
    refused(topics, str(run))
    refused(run, str(run), directory=True)
    with protected([str(run)]):
        check_target(extra, force=True)
    model = file(tmp_path / "encoder" / "weights.bin").parent
    refused(model / "weights.bin", str(model))


def test_a_directory_that_holds_an_input_is_not_replaced(tmp_path: Path) -> None:
    manifest = {"nlpkit_version": "1", "outputs": {"documents.parquet": ""}}
    run = file(tmp_path / "run" / "manifest.json", json.dumps(manifest)).parent
    source = file(run / "documents.parquet")
    (tmp_path / "link").symlink_to(run)
    refused(run, str(source), directory=True)
    refused(tmp_path / "link", str(source), directory=True)


def test_standard_input_that_comes_from_a_file(tmp_path: Path) -> None:
    source = file(tmp_path / "in.txt")
    kept = os.dup(0)
    try:
        with source.open("rb") as stream:
            os.dup2(stream.fileno(), 0)
            refused(source, "-")
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_the_list_of_dropped_rows_is_not_removed_either(tmp_path: Path) -> None:
    source = file(tmp_path / "x.dropped.parquet")
    with protected([str(source)]), pytest.raises(UsageError, match="input"):
        write_dropped(str(tmp_path / "x.parquet"), [], {})
    assert source.exists()


def test_other_files_and_what_is_not_there_are_free(tmp_path: Path) -> None:
    target = file(tmp_path / "out.txt")
    with protected([str(file(tmp_path / "in.txt")), str(tmp_path / "none.txt"), str(tmp_path / "*.nothing"), "-"]):
        check_target(target, force=True)
        check_target(tmp_path / "new.txt", force=False)
    with protected([str(target)]):
        pass
    check_target(target, force=True)  # only as long as the command runs

"""Run directories: written whole, opened after a check, described by a manifest."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nlpkit.errors import IN_MEMORY, InputError, OutputExistsError, SchemaError
from nlpkit.platform.documents.inputs import DroppedRow, InputInfo
from nlpkit.platform.runs.artifacts import footer_block, read_footer
from nlpkit.platform.runs.provenance import peak_memory_mb, stopwatch
from nlpkit.platform.runs.reading import corpus_of
from nlpkit.platform.runs.runs import RunTables, manifest_of, open_run, write_run
from nlpkit.platform.runs.table_spec import numbers, strings

INPUTS = [InputInfo("x.jsonl", 2, "ab" * 32, "utf-8")]


def write(path: Path, *, dropped: tuple[DroppedRow, ...] = (), force: bool = False, **more: Any) -> Path:
    tables = {"documents": pa.table({"id": ["a"]}), "topics": pa.table({"topic": [0]})}
    run = RunTables(tables, {"training": pa.table({"t": [1]})}, {"kind": "bertopic", "n": 1, "name": "ä"}, dropped)
    block = footer_block("run", command="bertopic", parameters={}, seed=1, inputs=INPUTS)
    how: dict[str, Any] = {
        "parameters": {"k": "auto"},
        "seed": 1,
        "threads": 2,
        "inputs": INPUTS,
        "seconds": {"a": 0.12345},
        "results": {},
    }
    write_run(path, run, block, manifest_of("classify", **{**how, **more}), force=force)
    return path


def test_the_peak_of_memory_is_that_of_writing_where_this_takes_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peaks = iter([100, 100, 100, 250])  # of a run whose writing takes no more, and of one where it does
    monkeypatch.setattr("nlpkit.platform.runs.runs.peak_memory_mb", lambda: next(peaks))
    block = footer_block("run", command="bertopic", parameters={}, seed=1, inputs=INPUTS)
    for name, peak in (("a", 70), ("b", 250)):
        manifest = {"kind": "bertopic", "peak_memory_mb": 70}  # what the model took; the process has done more since
        write_run(tmp_path / name, RunTables({}, {}, {}), block, manifest, force=False)
        assert json.loads((tmp_path / name / "manifest.json").read_text())["peak_memory_mb"] == peak


def test_a_run_comes_back(tmp_path: Path) -> None:
    run = open_run(write(tmp_path / "run"), ["classify", "lda-gibbs"])
    assert run.table("documents").to_pylist() == [{"id": "a"}]
    assert run.table("topics", ["topic"]).to_pylist() == [{"topic": 0}]
    assert run.table("model/training").to_pylist() == [{"t": 1}]
    assert run.model_config("kind", "name") == {"kind": "bertopic", "n": 1, "name": "ä"}
    kinds = {"documents": "run_documents", "topics": "topics", "model/training": "model/training"}
    for name, kind in kinds.items():
        block = read_footer(run.path / f"{name}.parquet")
        assert block is not None
        assert (block["kind"], block["seed"]) == (kind, 1)


def test_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/nlpkit", "bertopic", "x"])
    path = write(tmp_path / "run")
    manifest = open_run(path).manifest
    assert (manifest["command_line"], manifest["seconds"]) == (["python"], {"a": 0.123})
    assert manifest["inputs"] == [{"path": "x.jsonl", "rows": 2, "sha256": "ab" * 32, "encoding": "utf-8"}]
    found = {f.relative_to(path).as_posix(): hashlib.sha256(f.read_bytes()).hexdigest() for f in path.rglob("*.*")}
    found.pop("manifest.json")
    assert manifest["outputs"] == found
    assert "ä" in (path / "model" / "config.json").read_text(encoding="utf-8")


def test_dropped_rows_are_part_of_the_run(tmp_path: Path) -> None:
    path = write(tmp_path / "run", dropped=(DroppedRow("b", "read", "text is null"),))
    assert open_run(path).table("dropped").to_pylist() == [{"id": "b", "stage": "read", "reason": "text is null"}]
    write(path, force=True)
    assert not (path / "dropped.parquet").exists()
    with pytest.raises(OutputExistsError):
        write(path)


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        open_run(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    for name in ("file", "."):
        with pytest.raises(InputError, match=r"is not a run directory \(no manifest\.json\)"):
            open_run(tmp_path / name)
    path = write(tmp_path / "run")
    with pytest.raises(SchemaError):
        open_run(path, ["lda-gibbs", "lsa"])
    run = open_run(path)
    with pytest.raises(InputError, match=r"is a run of kind 'classify', which has no vocab\.parquet"):
        run.table("vocab")
    with pytest.raises(InputError, match=r"config\.json has no 'centroids'"):
        run.model_config("kind", "centroids")
    (path / "model" / "config.json").unlink()
    with pytest.raises(InputError, match=r"has no model/config\.json; it is incomplete"):
        run.model_config()
    (path / "topics.parquet").write_bytes((path / "documents.parquet").read_bytes())
    with pytest.raises(SchemaError):
        run.table("topics")


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        ("{", InputError, "is not JSON"),
        ("[]", InputError, "is not a JSON object"),
        ('{"name": "My app"}', InputError, r"is not the manifest of an nlpkit run \(no 'schema_version'\)"),
        (
            '{"schema_version": 2, "nlpkit_version": "9.9"}',
            SchemaError,
            r"by nlpkit 9\.9 with schema version 2, .*: update nlpkit",
        ),
    ],
)
def test_manifests_that_cannot_be_used(content: str, error: type[Exception], says: str, tmp_path: Path) -> None:
    path = write(tmp_path / "run")
    (path / "manifest.json").write_text(content)
    with pytest.raises(error, match=says):
        open_run(path)


def test_a_manifest_without_a_key(tmp_path: Path) -> None:
    path = write(tmp_path / "run")
    manifest = json.loads((path / "manifest.json").read_text())
    for key in manifest.keys() - {"made_in", "packages"}:  # runs of before had none
        (path / "manifest.json").write_text(json.dumps({k: v for k, v in manifest.items() if k != key}))
        with pytest.raises(InputError, match=rf"no '{key}'"):
            open_run(path)


def test_clock_and_memory() -> None:
    seconds: dict[str, float] = {}
    for _ in range(2):
        with stopwatch(seconds, "a"):
            pass
    with pytest.raises(ValueError, match="x"), stopwatch(seconds, "b"):
        raise ValueError("x")
    assert seconds.keys() == {"a", "b"}
    assert min(seconds.values()) >= 0
    assert 10 < peak_memory_mb() < 1_000_000


# ---------------------------------------------------------------- files that were changed


def test_a_changed_file_is_refused_and_edited_names_of_topics_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "run")
    assert open_run(path).changed() == {}
    for name in ("documents", "model/training"):
        file = path / f"{name}.parquet"
        whole = file.read_bytes()
        file.write_bytes(whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
        with pytest.raises(InputError, match=rf"{name}\.parquet was changed since .* `verify=False`"):
            open_run(path).table(name)
        assert list(open_run(path).changed()) == [f"{name}.parquet"]
        file.write_bytes(whole)
    (path / "topics.parquet").write_bytes((path / "topics.parquet").read_bytes() + b" ")
    with pytest.raises(InputError):  # it was looked at, not refused
        open_run(path).table("topics")
    assert "topics.parquet was changed since" in caplog.text
    (path / "model" / "weights.parquet").write_bytes((path / "model" / "training.parquet").read_bytes())
    with pytest.raises(InputError, match=r"weights\.parquet was added since"):
        open_run(path).folder("model")
    assert open_run(path, verify=False).folder("model") == path / "model"
    (path / "model" / "config.json").unlink()
    with pytest.raises(InputError, match=r"has no model/config\.json; it is incomplete"):
        open_run(path, verify=False).folder("model")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("outputs", []),
        ("inputs", [{"path": 1}]),
        ("parameters", None),
        ("kind", 3),
        ("made_in", "x"),
        ("packages", {"numpy": 2}),
    ],
)
def test_a_manifest_of_wrong_values(key: str, value: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "run")
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, key: value}))
    with pytest.raises(InputError):
        open_run(path)


def test_numbers_and_strings_of_a_model(tmp_path: Path) -> None:
    table = pa.table({"n": [0, 2], "x": [1.0, float("nan")], "s": ["a", "a"], "gap": pa.array([1, None])})
    assert numbers(table, "n", least=0, most=2).tolist() == [0, 2]
    assert strings(pa.table({"s": ["b", "a"]}), "s") == ["b", "a"]
    run = open_run(write(tmp_path / "run"))
    for wrong in (
        lambda: numbers(table, "n", most=1), lambda: numbers(table, "x"), lambda: numbers(table, "gap"), lambda: numbers(table, "s"),
        lambda: strings(table, "s"), lambda: strings(table, "n"), lambda: numbers(table, "none"),
    ):  # fmt: skip
        with pytest.raises(InputError), run.intact():
            wrong()


# ---------------------------------------------------------------- the corpus of a run


def test_the_corpus_of_a_run_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, elsewhere = tmp_path / "made", tmp_path / "elsewhere"
    (made / "data").mkdir(parents=True)
    elsewhere.mkdir()
    text = b'{"text": "a"}\n'
    (made / "data" / "x.jsonl").write_bytes(text)
    monkeypatch.chdir(made)
    run = write(Path("run"), inputs=[InputInfo("data/x.jsonl", 1, hashlib.sha256(text).hexdigest(), "utf-8")])
    assert corpus_of(open_run(run)) == ["data/x.jsonl"]
    monkeypatch.chdir(elsewhere)
    run = made / "run"
    assert [Path(p).resolve() for p in corpus_of(open_run(run))] == [made / "data" / "x.jsonl"]
    made.rename(tmp_path / "moved")  # run and corpus together
    run = tmp_path / "moved" / "run"
    assert [Path(p).resolve() for p in corpus_of(open_run(run))] == [tmp_path / "moved" / "data" / "x.jsonl"]
    (elsewhere / "data").mkdir()
    (elsewhere / "data" / "x.jsonl").write_text("another of that name")
    assert [Path(p).resolve() for p in corpus_of(open_run(run))] == [tmp_path / "moved" / "data" / "x.jsonl"]
    (tmp_path / "moved" / "data" / "x.jsonl").rename(tmp_path / "moved" / "x.jsonl")  # beside the run
    assert [Path(p).resolve() for p in corpus_of(open_run(run))] == [tmp_path / "moved" / "x.jsonl"]
    (tmp_path / "moved" / "x.jsonl").unlink()
    with pytest.raises(InputError, match=r"data/x\.jsonl has changed since .*run was made from it"):
        corpus_of(open_run(run))
    (elsewhere / "data" / "x.jsonl").unlink()
    with pytest.raises(InputError, match=r"is no longer at data/x\.jsonl"):
        corpus_of(open_run(run))


@pytest.mark.parametrize(("path", "source"), [("-", "stdin"), (IN_MEMORY, "documents in memory")])
def test_the_corpus_of_a_run_that_was_no_file_cannot_be_put_back(path: str, source: str, tmp_path: Path) -> None:
    run = open_run(write(tmp_path / "run", inputs=[InputInfo(path, 1, "ab" * 32, "utf-8")]))
    with pytest.raises(InputError, match=rf"fitted to {source}, which is not stored; write .* and fit again$"):
        corpus_of(run)


@pytest.mark.parametrize(
    "name",
    ["../stolen.txt", "../../.bashrc", "/etc/passwd", "model/../../x", "..\\x", "", "..", "link", "folder/x", "a\0b"],
)
def test_a_run_whose_files_lie_elsewhere_is_refused(
    name: str, tmp_path: Path
) -> None:  # nlpkit#53: Zip Slip, tarfile's filter "data"
    run = write(tmp_path / "run")
    (tmp_path / "stolen.txt").write_text("secret")
    (run / "link").symlink_to(tmp_path / "stolen.txt")
    (run / "folder").symlink_to(tmp_path)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["outputs"][name] = hashlib.sha256(b"secret").hexdigest()
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="lies outside of the run directory"):
        open_run(run)
    del manifest["outputs"][name]
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(
        InputError, match="lies outside of the run directory"
    ):  # also where only model/config.json names it
        open_run(run, verify=False).file(name)

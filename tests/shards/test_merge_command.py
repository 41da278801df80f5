"""nlpkit merge, and --shard on the command line: what they write and say, and how they refuse."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import nlpkit as nk
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions
from tests.command_line import NEWS, run_cli, write_jsonl
from tests.platform.cli.test_help import examples


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A corpus of three batches."""
    path = tmp_path / "large.jsonl"
    write_jsonl(path, [{"text": f"river boat {i % 97} moon{i % 300}" if i % 5000 else None} for i in range(21_000)])
    return path


@pytest.mark.parametrize("command", ["preprocess", "features"])
def test_parts_are_put_together(command: str, large: Path, tmp_path: Path) -> None:
    for i in (1, 2, 3):
        value = run_cli(command, large, "--shard", f"{i}/3", "--json", "-o", tmp_path / f"{i}.parquet").json()
        assert (value["part"], value["rows"]) == (f"{i}/3", [10_000, 10_000, 995][i - 1])
    done = run_cli("merge", *(tmp_path / f"{i}.parquet" for i in (3, 1, 2)), "--json", "-o", tmp_path / "all.parquet")
    assert done.json() == {"output": str(tmp_path / "all.parquet"), "parts": 3, "rows": 20_995, "dropped": 5}
    assert "wrote " in done.err
    run_cli(command, large, "-q", "-o", tmp_path / "whole.parquet")
    for name in ("parquet", "dropped.parquet"):
        assert (tmp_path / f"all.{name}").read_bytes() == (tmp_path / f"whole.{name}").read_bytes()


def test_examples_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    for i in (1, 2):
        nk.map_documents(
            "preprocess",
            NEWS,
            target=f"parts/{i}.parquet",
            read=ReadOptions(batch_rows=300),
            sharing=ShardOptions(shard=f"{i}/2"),
        )
    for line in examples("merge"):
        words = line.split()[1:]
        run_cli(*words)
        assert Path(words[words.index("-o") + 1]).is_file()


def test_sizes_and_refusals(large: Path, tmp_path: Path) -> None:
    run_cli("features", large, "--shard", "1/2", "-q", "-o", tmp_path / "1.parquet")
    line = run_cli("merge", tmp_path / "1.parquet", "-o", tmp_path / "x.parquet", code=3).error()
    assert line == "error: 1 part of 2 missing: 2/2; make them with --shard 2/2"
    line = run_cli("features", large, "--shard", "3/9", "-o", tmp_path / "x.parquet", code=2).error()
    assert line.startswith("error: --shard 3/9: the input has 3 batches of 10,000 documents (fewer if they are long)")
    line = run_cli("preprocess", large, "--shard", "1/2", "--show", "2", "-o", tmp_path / "x.parquet", code=2).error()
    assert line.startswith("error: --show needs all documents")
    line = run_cli("features", large, "--shard", "1/2", "-o", tmp_path / "x.csv", code=2).error()
    assert "a part is a Parquet file" in line
    run_cli("features", large, "--shard", "2/2", "-q", "-o", tmp_path / "2.parquet")
    both = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    assert run_cli("merge", *both, "-n", "--json", "-o", tmp_path / "x.csv").json()["rows"] == 20_995
    line = run_cli("merge", *both, "--save-vocab", tmp_path / "v.csv", "-o", tmp_path / "x.csv", code=2).error()
    assert line == "error: --save-vocab: parts of features have no vocabulary; leave it out"
    assert not (tmp_path / "x.csv").exists()
    line = run_cli("merge", *both, "--force", "-o", both[0], code=2).error()
    assert "and inputs are never overwritten; name another -o" in line


def test_without_ray_the_exit_code_is_4(large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    line = run_cli("features", large, "--workers", "3", "-o", tmp_path / "x.parquet", code=4).error()
    assert "needs the extra 'ray'" in line

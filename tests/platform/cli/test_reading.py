"""Which documents commands read, and that runs read theirs again."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.command_line import NEWS, run_cli

DOCUMENTS = Path(NEWS).parent / "documents"
CHOSEN = ("--text-col", "title,text", "--keep-if", "label in ['football', 'space']")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reading") / "lda"
    done = run_cli("lda-gibbs", NEWS, *CHOSEN, "--where", "the", "--k", 2, "--sweeps", 20, "-o", path)
    assert "documents left out: they do not fulfil --keep-if" in done.err
    return path


def test_a_run_says_how_its_documents_were_read(run: Path) -> None:
    (entry,) = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["inputs"]
    assert entry["reading"] == {
        "text_col": "title,text", "where": "the", "keep_if": "label in ['football', 'space']",
    }  # fmt: skip
    assert entry["rows"] == 416
    assert run_cli("info", run, "--json").json()["inputs"] == [entry]
    dropped = pq.read_table(run / "dropped.parquet")
    documents = pq.read_table(run / "documents.parquet")
    assert set(dropped["stage"].to_pylist()) <= {"where", "keep-if"}
    assert dropped.num_rows + documents.num_rows == 416
    assert set(documents["label"].to_pylist()) == {"football", "space"}


def test_its_documents_are_scored_edited_and_shown_again(run: Path, tmp_path: Path) -> None:
    n = pq.read_metadata(run / "documents.parquet").num_rows
    scores = run_cli("evaluate", run, "--npmi", "--window", "document", "--json").json()
    assert f'"documents": {n}' in json.dumps(scores)
    Path("edits.toml").write_text("drop = [1]\n", encoding="utf-8")
    run_cli("edit", run, "edits.toml", "-o", "edited")
    assert pq.read_metadata("edited/documents.parquet").num_rows == n
    run_cli("export", run, "--texts", "-o", "tables.json")
    rows = map(json.loads, Path(NEWS).read_text(encoding="utf-8").splitlines())
    titles = {row["id"]: row["title"] for row in rows}
    texts = json.loads(Path("tables.json").read_text(encoding="utf-8"))["documents"]
    assert len(texts) == n
    assert all(row["text"].startswith(f"{titles[row['id']]}\n\n") for row in texts)


def test_every_command_on_documents_takes_a_sample(tmp_path: Path) -> None:
    some = run_cli("stats", NEWS, "--sample", 40, "--json").json()
    assert some["documents"] == 40
    table = Path("p.csv")
    table.write_text("label,prediction,n\na,a,1\na,b,2\nb,b,3\nb,a,4\n", encoding="utf-8")
    condition = ("--keep-if", "n != 2 and n != 4")
    assert "read it as numbers with --types n=float" in run_cli("evaluate", table, *condition, code=2).error()
    scores = run_cli("evaluate", table, *condition, "--types", "n=float", "--json").json()
    assert '"counts": [[1, 0], [0, 1]]' in json.dumps(scores)


def test_info_of_a_run_takes_no_conditions(run: Path) -> None:
    assert "only applies to a corpus" in run_cli("info", run, "--where", "x", code=2).error()


def test_a_folder_of_documents_through_a_chain(tmp_path: Path) -> None:
    done = run_cli("preprocess", DOCUMENTS, "-o", "docs.parquet")
    assert "wrote docs.parquet: 5 documents" in done.err
    assert pq.read_table("docs.parquet")["id"].to_pylist() == [
        "letters:1", "letters:2", "report.docx:1", "report.html:1", "report.pdf:1",
    ]  # fmt: skip
    assert run_cli("stats", "docs.parquet", "--json").json()["documents"] == 5
    Path("broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    assert "broken.pdf: it is broken" in run_cli("stats", "broken.pdf", code=3).error()
    done = run_cli("preprocess", DOCUMENTS / "report.pdf", "broken.pdf", "-o", "two.parquet")
    assert "1 row could not be used, such as broken:1: it is broken" in done.err
    assert pq.read_table("two.dropped.parquet")["id"].to_pylist() == ["broken:1"]

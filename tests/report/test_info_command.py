"""nlpkit info: raw corpora, tables, runs, and what is none of these."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.command_line import HARD, NEWS, needs_hdbscan, read, run_cli


def test_a_raw_corpus() -> None:
    facts = run_cli("info", HARD, "--json").json()
    assert {k: facts[k] for k in ("kind", "rows", "dropped", "empty_texts", "encoding")} == {
        "kind": "raw corpus", "rows": 43, "dropped": 0, "empty_texts": 1, "encoding": "utf-8",
    }  # fmt: skip
    assert facts["bytes"] == Path(HARD).stat().st_size
    assert list(facts["columns"]) == ["id", "text", "title", "label", "date", "source"]
    out = run_cli("info", NEWS).out
    assert "raw corpus" in out
    assert "416" in out
    assert "None" not in out


def test_the_columns_of_a_corpus(tmp_path: Path) -> None:
    body = "".join(f"{i};{'ab'[i % 2]};{i % 28 + 1}.12.2024;This is the answer of person {i};\n" for i in range(30))
    Path("x.csv").write_text(f"Survey\n\nnr;kind;day;answer;empty\n{body}", encoding="utf-8")
    facts = run_cli("info", "x.csv", "--json").json()
    assert {row["column"]: row["may_be"] for row in facts["profile"]} == {
        "id": "id", "text": "text", "nr": "id", "kind": "label", "day": "date", "empty": "",
    }  # fmt: skip
    assert [row["missing"] for row in facts["profile"] if row["column"] == "empty"] == [30]
    assert facts["dialect"] == "delimiter semicolon, quotation marks doubled, 2 lines above the header"
    out = run_cli("info", "x.csv").out
    assert "This is the answer of person 0" in out
    assert "may be" in out


def test_the_columns_of_a_file_with_two_texts() -> None:
    body = "".join(f"a question that has five words {i},and an answer that has six {i}\n" for i in range(9))
    Path("x.csv").write_text(f"question,answer\n{body}", encoding="utf-8")
    facts = run_cli("info", "x.csv", "--json").json()
    assert (facts["kind"], [row["may_be"] for row in facts["profile"]]) == ("table", ["text", "text"])


def test_a_table_and_its_history(planted: Path) -> None:
    run_cli("preprocess", planted, "--min-df", "2", "-o", "y.parquet")
    facts = run_cli("info", "y.parquet", "--json").json()
    assert (facts["kind"], facts["command"], facts["rows"]) == ("documents", "preprocess", 120)
    assert facts["parameters"]["min_df"] == 2
    assert [step["command"] for step in facts["steps"]] == ["sbert-embed"]
    assert facts["columns"]["tokens"].startswith("list<")
    out = run_cli("info", "y.parquet").out
    for word in ("preprocess", "sbert-embed", "planted", "fixed_size_list"):
        assert word in out


def test_a_foreign_table(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "x.parquet")
    facts = run_cli("info", "x.parquet", "--json").json()
    assert (facts["kind"], facts["rows"], facts["columns"]) == ("Parquet not written by nlpkit", 2, {"a": "int64"})


@needs_hdbscan
def test_a_run(planted_run: Path) -> None:
    facts = run_cli("info", planted_run, "--json").json()
    assert (facts["kind"], facts["results"]["n_topics"]) == ("run (bertopic)", 4)
    assert [topic["size"] for topic in facts["topics"]] == [30, 30, 30, 30]
    assert facts["parameters"]["encoder"]["encoder"] == "planted"
    assert set(facts["files"]) >= {"manifest.json", "topics.parquet", "model/config.json"}
    out = run_cli("info", planted_run).out
    assert "25.0%" in out
    assert out.startswith("topic  size  share  stability")
    assert "command line" in out
    for detail in ("sha256", "n_neighbors", "topic_terms.parquet", "peak memory"):
        assert detail not in out
        assert detail in run_cli("info", planted_run, "-v").out
    assert "-v" in run_cli("info", planted_run).err
    out = run_cli("info", planted_run, "-v").out
    for name in ("topics", "documents", "topic_terms", "doc_topics", "vocab", "model/training", "model/centroids"):
        assert name in out
        facts = run_cli("info", planted_run / f"{name}.parquet", "--json").json()
        assert facts["kind"] == ("run_documents" if name == "documents" else name)


def test_a_classifier_shows_its_classes_first() -> None:
    run_cli("classify", NEWS, "--model", "nb", "--limit", "120", "-q", "-o", "nb")
    out = run_cli("info", "nb").out
    assert out.startswith("class")
    assert "recall" in out.splitlines()[0]
    assert "courts" in out
    assert "accuracy: 0." in out
    assert "sha256" not in out


@needs_hdbscan
@pytest.mark.parametrize(
    ("damage", "code", "says"),
    [
        ("rm topics.parquet", 3, "has no topics.parquet; it is incomplete, make it again"),
        ("rm model/config.json", 3, "has no model/config.json; it is incomplete"),
        ("manifest not json", 3, "manifest.json is not JSON"),
        ("manifest []", 3, "manifest.json is not a JSON object"),
        ("manifest {}", 3, "is not the manifest of an nlpkit run (no 'schema_version')"),
        ('manifest {"schema_version": 1}', 3, "is not the manifest of an nlpkit run (no 'nlpkit_version')"),
        ('manifest {"schema_version": 99, "nlpkit_version": "9.0"}', 3, "schema version 99, this nlpkit"),
        ("corrupt topics.parquet", 3, "topics.parquet is not a readable Parquet file"),
    ],
)
def test_damaged_runs(damage: str, code: int, says: str, own_run: Path) -> None:
    verb, _, rest = damage.partition(" ")
    if verb == "rm":
        (own_run / rest).unlink()
    elif verb == "corrupt":
        (own_run / rest).write_bytes(b"PAR1 nothing PAR1")
    else:
        (own_run / "manifest.json").write_text(rest)
    assert says in run_cli("info", own_run, code=code).error()


def with_block(path: Path, block: bytes, name: str = "x.parquet") -> str:
    table = read(path)
    pq.write_table(table.replace_schema_metadata({b"nlpkit": block}), name)
    return name


def test_broken_footers(planted: Path) -> None:
    for block in (b"not json", b"[1]", b"\xff", b'"x"'):
        x = with_block(planted, block)
        assert "the footer block 'nlpkit' is not a JSON object" in run_cli("info", x, code=3).error()
    for words in (
        ["preprocess", "-o", "y.parquet"],
        ["ctfidf"],
        ["bertopic", "-o", "run"],
        ["sbert-embed", "-o", "y.parquet"],
    ):
        x = with_block(planted, b"{}")
        says = run_cli(words[0], x, *words[1:], code=3).error()
        assert "the footer block 'nlpkit' has no schema version" in says


def test_tables_of_another_kind_or_a_newer_schema_are_refused_before_they_are_read(planted: Path) -> None:
    newer = json.dumps({"kind": "documents", "schema_version": 99, "nlpkit_version": "9.0"}).encode()
    other = json.dumps({"kind": "topics", "schema_version": 1, "nlpkit_version": "0.1.0"}).encode()
    for words in (
        ["preprocess", "-o", "y.parquet"],
        ["ctfidf"],
        ["bertopic", "-o", "run"],
        ["sbert-embed", "-o", "y.parquet"],
    ):
        says = run_cli(words[0], with_block(planted, newer), *words[1:], code=3).error()
        assert "has schema version 99" in says
        assert says.endswith("it was written by nlpkit 9.0: update nlpkit")
        says = run_cli(words[0], with_block(planted, other), *words[1:], code=3).error()
        assert "make one with: nlpkit preprocess" in says


@needs_hdbscan
def test_tables_of_a_run_are_no_corpus(planted_run: Path) -> None:
    for name in ("topics", "documents", "vocab", "model/training"):
        says = run_cli("preprocess", planted_run / f"{name}.parquet", "-o", "y.parquet", code=3).error()
        assert "is a table of kind" in says
    assert "is a run directory, not a corpus" in run_cli("preprocess", planted_run, "-o", "y.parquet", code=3).error()


def test_what_is_not_there_or_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"text": "a"}\n')
    assert "did you mean 'corpus.jsonl'?" in run_cli("info", "corpu.jsonl", code=3).error()
    for content in (b"", b"hello", b"PAR1" + b"x" * 100 + b"PAR1"):
        (tmp_path / "x.parquet").write_bytes(content)
        for words in (["info", "x.parquet"], ["preprocess", "x.parquet", "-o", "y.parquet"]):
            says = run_cli(*words, code=3).error()
            assert "x.parquet" in says
            assert "Parquet" in says or "no documents" in says


def test_a_corrupt_page_is_found_when_it_is_read(planted: Path, tmp_path: Path) -> None:
    data = bytearray(planted.read_bytes())
    data[200:3000] = bytes(2800)
    (tmp_path / "x.parquet").write_bytes(data)
    assert "corrupt Parquet file" in run_cli("preprocess", "x.parquet", "-o", "y.parquet", code=3).error()

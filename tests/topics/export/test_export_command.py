"""nlpkit export: every form is read back by what it is for, or by a plain reader of its format."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import nlpkit as nk
from tests.command_line import needs_hdbscan, run_cli, write_jsonl

BOTH = pytest.mark.parametrize("kind", [pytest.param("planted_run", marks=needs_hdbscan), "planted_lda"])


def sheets(path: Path) -> dict[str, list[list[str]]]:
    """Read a workbook whose cells are inline strings or numbers, as xlsxwriter writes them in constant memory."""
    space = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(path) as book:
        names = [s.attrib["name"] for s in ET.fromstring(book.read("xl/workbook.xml")).iterfind(".//m:sheet", space)]
        tables = {}
        for number, name in enumerate(names, 1):
            rows = ET.fromstring(book.read(f"xl/worksheets/sheet{number}.xml")).iterfind(".//m:row", space)
            tables[name] = [["".join(cell.itertext()) for cell in row] for row in rows]
    return tables


def tensors(path: Path) -> dict[str, np.ndarray]:
    """Read a file of safetensors by its description: length of the head, head, bytes."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + length])
    kinds = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}
    assert length % 8 == 0
    assert 8 + length + max(one["data_offsets"][1] for one in head.values()) == len(data)
    return {
        name: np.frombuffer(data[8 + length :][slice(*one["data_offsets"])], kinds[one["dtype"]]).reshape(one["shape"])
        for name, one in head.items()
    }


@pytest.mark.parametrize("form", ["xlsx", "csv", "json", "r"])
def test_columns_that_the_export_has_itself_are_left_out(form: str, tmp_path: Path) -> None:
    rows = [
        {"id": str(i), "text": text, "topic_label": "mine", "document": i}
        for i, text in enumerate(["cats like dogs", "stocks fell hard"] * 8)
    ]
    write_jsonl(tmp_path / "x.jsonl", rows)
    run_cli("lda-gibbs", "x.jsonl", "--k", "2", "--sweeps", "5", "-o", "run", "-q")
    done = run_cli(
        "export", "run", "-o", "out.json" if form == "json" else "out.xlsx" if form == "xlsx" else "out", "--to", form
    )
    assert "columns with the names of export columns are left out of the documents: topic_label" in done.err
    if form == "json":
        document = json.loads(Path("out.json").read_text())["documents"][0]
        assert (document["topic_label"] != "mine", document["document"]) == (True, 0)


@BOTH
def test_a_workbook_has_topics_words_and_documents(kind: str, request: pytest.FixtureRequest) -> None:
    run: Path = request.getfixturevalue(kind)
    run_cli("export", run, "-o", "t.xlsx", "--terms", "5", "--texts")
    tables = sheets(Path("t.xlsx"))
    assert list(tables) == ["topics", "terms", "documents", "topics of documents"]
    assert [len(rows) for rows in tables.values()][:3] == [5, 21, 121]
    head = tables["documents"][0]
    assert head[:3] == ["id", "topic", "topic_label"]
    assert head[-1] == "text"
    run_cli("export", run, "-o", "u.xlsx", "--terms", "5", "--texts")
    assert Path("t.xlsx").read_bytes() == Path("u.xlsx").read_bytes()


def test_a_text_that_no_cell_holds_is_cut_and_told() -> None:
    rows = [{"text": "river water boat " * 2500}, *({"text": "court judge jury"} for _ in range(9))]
    Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run_cli("lda-gibbs", "docs.jsonl", "--k", "2", "--sweeps", "5", "-q", "-o", "run")
    assert "1 text cut to 32,000 characters" in run_cli("export", "run", "-o", "t.xlsx", "--texts").err
    assert max(len(cell) for row in sheets(Path("t.xlsx"))["documents"] for cell in row) == 32_000
    Path("docs.jsonl").unlink()
    run_cli("export", "run", "-o", "u.xlsx", "--texts", code=3).error()
    assert not Path("u.xlsx").exists()
    run_cli("export", "run", "-o", "u.xlsx")


@BOTH
def test_one_json_object(kind: str, request: pytest.FixtureRequest) -> None:
    run_cli("export", request.getfixturevalue(kind), "-o", "t.json", "--terms", "4")
    value = json.loads(Path("t.json").read_text(encoding="utf-8"))
    assert [topic["topic"] for topic in value["topics"]] == [0, 1, 2, 3]
    assert all(len(topic["terms"]) == 4 for topic in value["topics"])
    assert len(value["documents"]) == 120
    assert value["documents"][0]["topics"][0].keys() == {"topic", "prob"}


def test_info_says_what_each_export_is(planted_run: Path) -> None:
    """Before, it took the object for a corpus, and asked for the format of the network and the script."""
    kinds = {"t.json": "topics of a run (bertopic)", "t.gexf": "network (GEXF)", "t.xlsx": "Excel workbook"}
    for name in kinds:
        run_cli("export", planted_run, "-q", "-o", name)
    for form in ("csv", "r", "bertopic"):
        run_cli("export", planted_run, "--to", form, "-q", "-o", form)
    kinds |= {
        "csv": "run (export)",
        "r": "run (export)",
        "r/load.R": "R script that loads an export",
        "bertopic": "run (export)",
    }
    facts = {name: run_cli("info", name, "--json").json() for name in kinds}
    assert {name: one["kind"] for name, one in facts.items()} == kinds
    assert (facts["t.json"]["n_topics"], facts["t.json"]["documents"]) == (4, 120)
    graph = Path("t.gexf").read_text(encoding="utf-8")
    assert (facts["t.gexf"]["nodes"], facts["t.gexf"]["edges"]) == (graph.count("<node "), graph.count("<edge "))
    assert facts["r/load.R"]["loads"] == ["beta.csv", "documents.csv", "gamma.csv", "topics.csv"]


@BOTH
def test_a_folder_of_tables_that_is_replaced_with_force_alone(kind: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(kind)
    run_cli("export", run, "--to", "csv", "-o", "tables")
    assert pl.read_csv("tables/topics.csv")["topic"].to_list() == [0, 1, 2, 3]
    assert ", " in pl.read_csv("tables/topics.csv")["top_terms"][0]
    assert pl.read_csv("tables/documents.csv").height == 120
    assert "exists" in run_cli("export", run, "--to", "csv", "-o", "tables", code=2).error()
    run_cli("export", run, "--to", "csv", "-o", "tables", "-f")
    assert run_cli("info", "tables", "--json").json()["kind"] == "run (export)"
    Path("tables/mine.txt").write_text("mine", encoding="utf-8")
    assert "mine.txt" in run_cli("export", run, "--to", "csv", "-o", "tables", "-f", code=2).error()


@BOTH
def test_a_network(kind: str, request: pytest.FixtureRequest) -> None:
    networkx = pytest.importorskip("networkx")
    run_cli("export", request.getfixturevalue(kind), "-o", "n.gexf", "--terms", "6")
    graph: Any = networkx.read_gexf("n.gexf")
    topics = [name for name, values in graph.nodes(data=True) if values["kind"] == "topic"]
    assert sorted(topics) == ["t0", "t1", "t2", "t3"]
    assert graph.nodes["t0"]["documents"] == 30
    assert all(sum(v["kind"] == "word" for _, _, v in graph.edges(name, data=True)) == 6 for name in topics)
    assert graph.nodes["t0"]["viz"]["size"] > 10


@needs_hdbscan
def test_a_folder_as_bertopic_saves_it(planted_run: Path) -> None:
    """The files that BERTopic.load of 0.17 reads; tests/benchmarks/load_in_bertopic.py loads them with BERTopic."""
    done = run_cli("export", planted_run, "--to", "bertopic", "-o", "b")
    assert "It gives 100% of the texts of the fit the topic of the run." in done.err
    assert json.loads(Path("b/manifest.json").read_text(encoding="utf-8"))["results"] == {"transform_agreement": 1.0}
    topics = json.loads(Path("b/topics.json").read_text(encoding="utf-8"))
    config = json.loads(Path("b/config.json").read_text(encoding="utf-8"))
    stored = pl.read_parquet(planted_run / "documents.parquet")["topic"].to_list()
    assert topics["topics"] == stored
    assert topics["topic_sizes"] == {str(k): stored.count(k) for k in range(4)}
    first = pl.read_parquet(planted_run / "topic_terms.parquet").filter(pl.col("rank") == 1).sort("topic")["term"]
    assert [topics["topic_representations"][str(k)][0][0] for k in range(4)] == first.to_list()
    assert (config["top_n_words"], config["n_gram_range"]) == (10, [1, 1])
    embeddings = tensors(Path("b/topic_embeddings.safetensors"))["topic_embeddings"]
    centroids = pl.read_parquet(planted_run / "model" / "centroids.parquet")["embedding"].to_list()
    np.testing.assert_array_equal(embeddings, np.array(centroids, np.float32))
    matrix = tensors(Path("b/ctfidf.safetensors"))
    vocab = json.loads(Path("b/ctfidf_config.json").read_text(encoding="utf-8"))["vectorizer_model"]["vocab"]
    assert matrix["shape"].tolist() == [4, len(vocab)]
    assert len(matrix["diag"]) == len(vocab)
    terms = pl.read_parquet(planted_run / "topic_terms.parquet")
    row = terms.filter((pl.col("topic") == 1) & (pl.col("rank") == 1)).row(0, named=True)
    span = slice(matrix["indptr"][1], matrix["indptr"][2])
    at = list(matrix["indices"][span]).index(vocab[row["term"]])
    assert matrix["data"][span][at] == pytest.approx(
        row["ctfidf"], rel=0.02
    )  # BERTopic truncates the mean to an integer


def test_how_far_bertopic_agrees_with_a_debiased_run(tmp_path: Path) -> None:
    """Topics that are free of a column are no nearest means of plain embeddings: BERTopic's transform gives other ones."""
    rng = np.random.default_rng(0)
    rows, vectors = [], []
    for i in range(120):
        topic, source = i % 3, (i // 3) % 2
        vector = np.zeros(8)
        vector[topic], vector[4 + source] = 1.0, 3.0
        vectors.append((vector + rng.normal(0, 0.6, 8)).astype(np.float32))
        rows.append({"id": str(i), "text": f"{'abc'[topic]}word {'de'[source]}word n{i}", "source": "xy"[source]})
    table = pa.Table.from_pylist(rows).append_column(
        "embedding", pa.array([v.tolist() for v in vectors], pa.list_(pa.float32(), 8))
    )
    nk.fit_bertopic(table, k=3, debias="source", stop_words="none", min_df=1).save(tmp_path / "run")
    done = run_cli("export", tmp_path / "run", "--to", "bertopic", "-o", "b")
    stored = json.loads(Path("b/manifest.json").read_text(encoding="utf-8"))["results"]["transform_agreement"]
    means = tensors(Path("b/topic_embeddings.safetensors"))["topic_embeddings"]
    unit = np.array(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
    nearest = (unit @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T).argmax(axis=1)
    topics = json.loads(Path("b/topics.json").read_text(encoding="utf-8"))
    assert stored == pytest.approx(np.mean(nearest - topics["_outliers"] == topics["topics"]), abs=1e-6)
    assert stored < 1
    assert f"It gives {stored:.0%} of the texts" in done.err
    assert "The run is free of 'source' (--debias)" in done.err


def test_tables_and_a_script_for_r(planted_lda: Path) -> None:
    run_cli("export", planted_lda, "--to", "r", "-o", "r")
    beta, gamma = pl.read_csv("r/beta.csv"), pl.read_csv("r/gamma.csv")
    assert (beta.columns, gamma.columns) == (["topic", "term", "beta"], ["document", "topic", "gamma"])
    assert beta.group_by("topic").agg(pl.col("beta").sum())["beta"].to_list() == pytest.approx([1] * 4)
    documents = pl.read_csv("r/documents.csv")
    assert (documents["topic"] - documents["nlpkit_topic"]).unique().to_list() == [1]
    assert set(gamma["topic"]) <= {1, 2, 3, 4}
    script = Path("r/load.R").read_text(encoding="utf-8")
    assert set(re.findall(r'read_table\("(\w+)"', script)) == {f.stem for f in Path("r").glob("*.csv")}
    assert "@" not in script


def test_pyldavis_is_that_of_convert(planted: Path) -> None:
    run_cli("lda-gibbs", planted, "--k", "3", "--sweeps", "10", "--save-assignments", "-q", "-o", "run")
    run_cli("export", "run", "--to", "pyldavis", "-o", "a.json")
    run_cli("convert", "run", "--to", "pyldavis", "-o", "b.json")
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()

"""The promises of DESIGN §2, §3 and §5, at every hop: rows, columns, footers, run directories, bytes."""

from __future__ import annotations

import datetime
import decimal
import hashlib
import json
import pickletools
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.command_line import (
    DIMENSIONS,
    ENCODER,
    HARD,
    NACHRICHTEN,
    NEWS,
    SAMPLES,
    files,
    footer,
    in_batches,
    needs_hdbscan,
    needs_minilm,
    planted_rows,
    read,
    run_cli,
    run_shell,
    topics_of,
    write_embedded,
    write_jsonl,
)

# ---------------------------------------------------------------- §2: one table that grows


@pytest.mark.parametrize("name", ["news.jsonl", "hard.jsonl", "nachrichten.jsonl"])
def test_rows_columns_and_texts_travel_untouched_through_preprocess(name: str) -> None:
    rows = [json.loads(line) for line in (SAMPLES / name).read_text(encoding="utf-8").splitlines()]
    run_cli("preprocess", SAMPLES / name, "-o", "y.parquet")
    table = read("y.parquet")
    assert table.column_names == ["id", "text", "title", "label", "date", "source", "tokens"]
    kept = table.select(["id", "title", "text", "label", "date", "source"]).to_pylist()
    assert kept == [row for row in rows if row["text"] is not None]
    assert table.schema.field("text").type == pa.large_string()
    assert (table.schema.field("id").type, table["id"].null_count) == (pa.string(), 0)


@needs_minilm
@needs_hdbscan
def test_rows_travel_through_the_whole_chain(news_run: Path, tmp_path: Path) -> None:
    """Corrupt rows of the hard corpus: ids out ⊆ ids in, in the same order, at every hop."""
    rows = [json.loads(line) for line in Path(HARD).read_text(encoding="utf-8").splitlines()]
    rows[7]["text"] = rows[19]["text"] = None
    write_jsonl(tmp_path / "x.jsonl", rows)
    ids = [row["id"] for row in rows if row["text"] is not None]
    run_cli("preprocess", "x.jsonl", "-o", "a.parquet")
    run_cli("sbert-embed", "a.parquet", "--offline", "-o", "b.parquet")
    run_cli("predict", news_run, "b.parquet", "-o", "c.parquet")
    for path in ("a.parquet", "b.parquet", "c.parquet"):
        assert read(path)["id"].to_pylist() == ids
    assert read("a.dropped.parquet").to_pylist() == [
        {"id": rows[i]["id"], "stage": "read", "reason": "text is null"} for i in (7, 19)
    ]
    assert not Path("b.dropped.parquet").exists()
    last = read("c.parquet")
    assert last.column_names[-6:] == ["tokens", "embedding", "topic", "topic_prob", "nearest_topic", "margin"]
    by_label = {row["label"]: row for row in last.to_pylist()}
    assert (by_label["empty"]["topic"], by_label["whitespace"]["topic"]) == (-1, -1)
    assert [step["command"] for step in footer("c.parquet")["steps"]] == ["preprocess", "sbert-embed"]


def user_table() -> pa.Table:
    """Columns of many types, in two row groups whose dictionaries differ."""
    n = 40
    kinds = pa.chunked_array(
        [pa.array(["x", "y"] * 10).dictionary_encode(), pa.array(["z", None] * 10).dictionary_encode()]
    )
    return pa.table(
        {
            "text": pa.array([f"river bank {i}" if i != 3 else "" for i in range(n)]),
            "id": pa.array([f"d{i}" for i in range(n)]),
            "int8": pa.array([i - 20 for i in range(n)], pa.int8()),
            "uint64": pa.array([2**63 + i for i in range(n)], pa.uint64()),
            "double": pa.array([i / 3 for i in range(n)]),
            "half": pa.array(np.arange(n, dtype=np.float16)),
            "yes": pa.array([None if i == 5 else i % 2 == 0 for i in range(n)]),
            "day": pa.array([datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(n)]),
            "stamp": pa.array([i * 10**9 for i in range(n)], pa.timestamp("ns", "Europe/Berlin")),
            "lasts": pa.array(range(n), pa.duration("ms")),
            "money": pa.array([decimal.Decimal(i) / 100 for i in range(n)], pa.decimal128(10, 2)),
            "bytes": pa.array([bytes([i, 0, 255]) for i in range(n)]),
            "kind": kinds,
            "list": pa.array([[i] * (i % 3) for i in range(n)], pa.list_(pa.int32())),
            "object": pa.array([{"a": i, "b": [str(i)]} for i in range(n)]),
            "nothing": pa.nulls(n),
            "with space ä": pa.array(["v"] * n, pa.large_string()),
        }
    )


@needs_hdbscan
def test_columns_of_the_user_keep_values_and_types(planted_run: Path, tmp_path: Path) -> None:
    given = user_table()
    vectors = np.zeros((given.num_rows, DIMENSIONS), np.float32)
    vectors[:, 0] = 1
    given = given.append_column("embedding", pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSIONS))
    pq.write_table(given, tmp_path / "x.parquet", row_group_size=20)
    as_stored = read("x.parquet")
    run_cli("preprocess", "x.parquet", "-o", "y.parquet")
    run_cli("predict", planted_run, "y.parquet", "-o", "z.parquet")
    for path in ("y.parquet", "z.parquet"):
        table = read(path)
        for name in as_stored.column_names:
            if name not in ("id", "text", "nothing"):  # what has no value has no type: it becomes string
                assert table.schema.field(name).type == as_stored.schema.field(name).type, name
            assert table[name].to_pylist() == as_stored[name].to_pylist(), name
    assert read("y.parquet")["tokens"][3].as_py() == []


def test_tokens_are_plain_strings_for_everybody(news_docs: Path) -> None:
    tokens = read(news_docs)["tokens"].to_pylist()
    assert pl.read_parquet(news_docs)["tokens"].to_list() == tokens
    assert pl.read_parquet(news_docs).schema["tokens"] == pl.List(pl.String)
    assert pl.scan_parquet(news_docs).select(pl.col("tokens").list.len().sum()).collect().item() == sum(
        map(len, tokens)
    )
    rows = duckdb.sql(f"select tokens from '{news_docs}'").fetchall()
    assert [row[0] for row in rows] == tokens
    assert duckdb.sql(f"select distinct typeof(tokens) from '{news_docs}'").fetchall() == [("VARCHAR[]",)]
    query = f"select count(*) from (select unnest(tokens) t from '{news_docs}') where t = 'judge'"
    assert duckdb.sql(query).fetchall() == [(sum(row.count("judge") for row in tokens),)]


@needs_minilm
def test_embeddings_are_fixed_size_lists_for_everybody(news_embedded: Path) -> None:
    assert read(news_embedded).schema.field("embedding").type == pa.list_(pa.float32(), 384)
    assert pl.read_parquet(news_embedded).schema["embedding"] == pl.Array(pl.Float32, 384)
    assert duckdb.sql(f"select len(embedding) n, count(*) from '{news_embedded}' group by n").fetchall() == [(384, 144)]


BLOCK = {"kind", "schema_version", "nlpkit_version", "command", "parameters", "seed", "inputs", "steps"}


@needs_hdbscan
def test_every_table_says_what_it_is_and_where_it_comes_from(planted: Path, planted_run: Path, tmp_path: Path) -> None:
    run_cli("preprocess", planted, "--min-df", "2", "-o", "y.parquet")
    run_cli("bertopic", "y.parquet", "--k", "4", "--seed", "7", "-o", "run")
    run_cli("ctfidf", "y.parquet", "-o", "terms.parquet")
    sha = hashlib.sha256(Path("y.parquet").read_bytes()).hexdigest()
    tables = sorted((tmp_path / "run").rglob("*.parquet"))
    assert len(tables) == 9
    for path in [*tables, tmp_path / "terms.parquet"]:
        block = footer(path)
        assert (block.keys(), block["schema_version"]) == (BLOCK, 1)
        assert block["inputs"] == [{"path": "y.parquet", "rows": 120, "sha256": sha, "encoding": None}]
        assert [step["command"] for step in block["steps"]] == ["sbert-embed", "preprocess"]
        assert "steps" not in block["steps"][1]
    block = footer("run/topics.parquet")
    assert (block["kind"], block["command"], block["seed"]) == ("topics", "bertopic", 7)
    assert (block["parameters"]["k"], block["parameters"]["tokens"]["min_df"]) == (4, 2)
    assert block["parameters"]["encoder"] == ENCODER
    first = footer("y.parquet")
    assert first["inputs"][0]["sha256"] == hashlib.sha256(planted.read_bytes()).hexdigest()


# ---------------------------------------------------------------- §3: a run directory

COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "documents": {"id": pa.string(), "topic": pa.int32(), "topic_prob": pa.float32(), "nearest_topic": pa.int32(), "margin": pa.float32()},
    "topics": {
        "topic": pa.int32(), "size": pa.int32(), "share": pa.float32(), "label": pa.string(),
        "top_terms": pa.list_(pa.field("element", pa.string())), "npmi": pa.float32(), "exclusivity": pa.float32(),
        "representative_ids": pa.list_(pa.field("element", pa.string())),
        "representative_texts": pa.list_(pa.field("element", pa.string())), "stability": pa.float32(), "words": pa.int64(),
    },
    "topic_terms": {
        "topic": pa.int32(), "rank": pa.int32(), "term": pa.string(), "weight": pa.float32(), "ctfidf": pa.float32(),
        "count": pa.int64(), "share": pa.float32(), "z": pa.float32(), "importance": pa.float32(),
    },
    "doc_topics": {"id": pa.string(), "topic": pa.int32(), "prob": pa.float32()},
    "layers": {
        "layer": pa.int32(), "topic": pa.int32(), "parent": pa.int32(), "size": pa.int32(), "stability": pa.float32(),
        "label": pa.string(), "top_terms": pa.list_(pa.field("element", pa.string())), "chosen": pa.bool_(),
    },
    "tree": {"left": pa.int32(), "right": pa.int32(), "distance": pa.float64(), "size": pa.int32()},
    "vocab": {"term": pa.string(), "cf": pa.int64(), "df": pa.int64()},
}  # fmt: skip
MANIFEST = {
    "schema_version", "nlpkit_version", "kind", "command_line", "parameters", "seed", "threads", "inputs", "results",
    "seconds", "peak_memory_mb", "made_in", "outputs", "packages",
}  # fmt: skip


@pytest.fixture(params=["planted", pytest.param("news", marks=needs_minilm)])
def a_run(request: pytest.FixtureRequest) -> Path:
    """A run on planted topics, and one on news."""
    pytest.importorskip("hdbscan")
    found: Path = request.getfixturevalue(f"{request.param}_run")
    return found


def test_files_and_columns_of_a_run(a_run: Path) -> None:
    assert sorted(files(a_run)) == [
        "doc_topics.parquet", "documents.parquet", "layers.parquet", "manifest.json", "model/centroids.parquet",
        "model/config.json", "model/training.parquet", "topic_terms.parquet", "topics.parquet", "tree.parquet", "vocab.parquet",
    ]  # fmt: skip
    for name, columns in COLUMNS.items():
        schema = read(a_run / f"{name}.parquet").schema
        assert dict(zip(schema.names, schema.types, strict=True)).items() >= columns.items(), name
        if name != "documents":
            assert schema.names == list(columns)
    names = read(a_run / "documents.parquet").column_names
    assert names[:5] == list(COLUMNS["documents"])
    assert {"label", "date"} <= set(names)
    assert not {"text", "tokens", "embedding"} & set(names)


def test_manifest_of_a_run(a_run: Path) -> None:
    manifest = json.loads((a_run / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest.keys(), manifest["kind"]) == (MANIFEST, "bertopic")
    assert (manifest["command_line"][0], manifest["seed"]) == ("nlpkit", 42)
    assert manifest["threads"] >= 1
    assert manifest["peak_memory_mb"] > 10
    assert {"read", "topics", "topics.clusters"} <= manifest["seconds"].keys()
    (given,) = manifest["inputs"]
    assert given["sha256"] == hashlib.sha256(Path(given["path"]).read_bytes()).hexdigest()
    assert given["rows"] == manifest["results"]["documents"]
    for name, sha in manifest["outputs"].items():
        assert hashlib.sha256((a_run / name).read_bytes()).hexdigest() == sha
    assert sorted([*manifest["outputs"], "manifest.json"]) == sorted(files(a_run))
    parameters = manifest["parameters"]
    assert parameters["k"] in (4, "auto")
    assert parameters["encoder"]["fingerprint"]
    assert parameters["tokens"]["stop_words"] == "auto"


def test_tables_of_a_run_agree_with_each_other(a_run: Path) -> None:
    manifest = json.loads((a_run / "manifest.json").read_text(encoding="utf-8"))
    documents, topics, terms, doc_topics, _, _, vocab = (pl.read_parquet(a_run / f"{name}.parquet") for name in COLUMNS)
    K, D = manifest["results"]["n_topics"], manifest["results"]["documents"]
    assert topics["topic"].to_list() == list(range(K))
    assert topics["size"].to_list() == sorted(topics["size"].to_list(), reverse=True)
    sizes = documents.filter(pl.col("topic") >= 0).group_by("topic").len().sort("topic")["len"].to_list()
    assert topics["size"].to_list() == sizes
    assert np.allclose(topics["share"].to_numpy(), np.array(sizes) / D)
    assert (documents.height, documents["id"].n_unique()) == (D, D)
    assert documents["topic"].is_between(-1, K - 1).all()
    assert documents["nearest_topic"].is_between(-1, K - 1).all()
    assert documents["topic_prob"].is_between(0, 1).all()
    assert ((documents["topic"] < 0) == (documents["topic_prob"] == 0)).all()
    assert (documents["margin"] >= 0).all()
    assert manifest["results"]["unassigned"] == pytest.approx((documents["topic"] < 0).mean(), abs=1e-6)

    sums = doc_topics.group_by("id").agg(pl.col("prob").sum())
    lost = manifest["results"]["doc_topics_left_out"]
    assert sums["prob"].sum() + lost == pytest.approx(sums.height, abs=1e-3)
    assert (sums["prob"] <= 1 + 1e-5).all()
    if not lost:
        assert np.allclose(sums["prob"].to_numpy(), 1, atol=1e-5)
    assert (doc_topics["prob"] >= 1 / (10 * K) - 1e-7).all()
    own = documents.filter(pl.col("topic") >= 0).join(doc_topics, on=["id", "topic"], how="left")
    assert np.allclose(own["prob"].fill_null(0).to_numpy(), own["topic_prob"].to_numpy(), atol=1e-6)

    assert terms.group_by("topic", maintain_order=True).agg("rank")["rank"].to_list() == [
        list(range(1, n + 1)) for n in terms.group_by("topic", maintain_order=True).len()["len"]
    ]
    assert set(terms["term"]) <= set(vocab["term"])
    assert vocab["term"].n_unique() == vocab.height
    assert (vocab["df"] <= vocab["cf"]).all()
    assert (vocab["df"] <= D).all()
    by_topic = {k: set(documents.filter(pl.col("topic") == k)["id"]) for k in range(K)}
    for row in topics.iter_rows(named=True):
        assert 1 <= len(row["representative_ids"]) <= 3
        assert set(row["representative_ids"]) <= by_topic[row["topic"]]
        assert all(0 < len(text) <= 300 for text in row["representative_texts"])
        assert row["label"]


def test_nothing_in_a_run_is_a_pickle(a_run: Path) -> None:
    for name, data in files(a_run).items():
        assert Path(name).suffix in (".json", ".parquet", ".safetensors")
        assert data[:1] != b"\x80"
        with pytest.raises(Exception):  # noqa: B017, PT011
            list(pickletools.genops(data))
        if name.endswith(".parquet"):
            assert data[:4] == b"PAR1"


# ---------------------------------------------------------------- §5: the same bytes

VOLATILE = {"command_line", "threads", "seconds", "peak_memory_mb", "made_in", "packages"}


def assert_same(a: Path, b: Path) -> None:
    """Every file byte for byte; of the manifest all but what may differ."""
    left, right = (
        {name: settled(data) if name.endswith("manifest.json") else data for name, data in files(folder).items()}
        for folder in (a, b)
    )
    assert {name for name in left | right if left.get(name) != right.get(name)} == set()


def settled(data: bytes) -> dict[str, Any]:
    """A manifest without the values that may differ."""
    value = json.loads(data)
    return value | dict.fromkeys(VOLATILE, "") | {"seconds": list(value["seconds"])}


needs_report = pytest.mark.skipif(find_spec("matplotlib") is None, reason="the extra report is not installed")
LDA = "lda-gibbs {planted} -o run --k 5 --sweeps 30"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("bertopic {planted} -o run --k 4", marks=needs_hdbscan),
        pytest.param("bertopic {planted} -o run --k auto", marks=needs_hdbscan),
        LDA,
        f"{LDA} --shards 4 --optimize-interval 7 --estimate mean --save-assignments",
        f"{LDA} --shards 3 --term-weights idf --optimize-interval 5 --optimize-eta --estimate best",
        f"{LDA} --prototype 3",
        "rolling-lda {planted} -o run --k 2 --chunks year --init '1 year' --sweeps 20",
        "cluster {planted} -o c.parquet --k 2:6",
        "ctfidf {news_docs} -o c.parquet",
        pytest.param("stats {few_news} -o s.parquet --by label --plot zipf.png", marks=needs_report),
        "tfidf {few_news} -o w.parquet",
        "preprocess {few_news} -o y.parquet",
        f"preprocess {NACHRICHTEN} -o y.parquet --save-vocab v.parquet --save-phrases p.parquet --save-removed r.parquet "
        "--phrases npmi:0.3:3 --ngrams 1,2 --dedupe near:0.8 --lemma dict",
        "evaluate {planted_lda} -o m.json --metrics npmi,umass,fit --ci-over documents",
        f"evaluate {SAMPLES / 'predictions.csv'} -o m.json",
        f"evaluate {SAMPLES / 'predictions.csv'} -o m.json --label-sep ';' --metrics macro_f1,samples_f1",
    ],
)
def test_threads_change_no_byte_and_a_dry_run_writes_none(
    line: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = re.sub(r"\{(\w+)\}", lambda fixture: str(request.getfixturevalue(fixture[1])), line)
    for name, words in {
        "dry": ["--dry-run"],
        "all": [],
        "one": ["--threads", "1"],
        "three": ["--threads", "3"],
    }.items():
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert run_cli(*shlex.split(line), "-q", *words).err == ""
    assert files(tmp_path / "dry") == {}
    assert_same(tmp_path / "all", tmp_path / "one")
    assert_same(tmp_path / "all", tmp_path / "three")


@pytest.mark.parametrize("command", [pytest.param("bertopic", marks=needs_hdbscan), "lda-gibbs", "rolling-lda"])
def test_columns_of_the_user_with_names_of_ours(command: str, tmp_path: Path) -> None:
    rows = [{**row, "topic": row["label"], "margin": 5, "chunk": "mine", "size": row["n"]} for row in planted_rows()]
    path = write_embedded(tmp_path / "x.parquet", rows)
    how = {"rolling-lda": ["--chunks", "year", "--init", "1 year", "--sweeps", "9"], "lda-gibbs": ["--sweeps", "9"]}
    done = run_cli(command, path, "--k", "4", *how.get(command, []), "-o", "run")
    table = read("run/documents.parquet")
    ours = ["topic", "margin", *(["chunk"] if command == "rolling-lda" else [])]
    dropped = re.findall(r"warning: the column '(\w+)' of the input is dropped, because the run has", done.err)
    assert sorted(dropped) == sorted(ours)
    assert [table.schema.field(name).type for name in ours] == [pa.int32(), pa.float32(), pa.int32()][: len(ours)]
    assert table["size"].to_pylist() == [row["n"] for row in rows]
    done = run_cli("predict", "run", path, "-o", "p.parquet")
    assert "warning: the column 'topic' of the input is replaced" in done.err
    assert read("p.parquet").schema.field("topic").type == pa.int32()


@needs_minilm
@needs_hdbscan
def test_same_bytes_on_news_and_in_another_process(news_run: Path, news_embedded: Path, tmp_path: Path) -> None:
    run_shell(f"nlpkit bertopic {news_embedded} --threads 3 -q -o run3", cwd=tmp_path)
    assert_same(news_run, tmp_path / "run3")
    for seed in (1, 3):  # where the seed is of consequence
        how = ["--cluster", "hdbscan", "--seed", seed]
        run_cli("bertopic", news_embedded, *how, "-q", "-o", f"other{seed}")
    assert topics_of(tmp_path / "other1") != topics_of(tmp_path / "other3")


# ---------------------------------------------------------------- the ways through the chain


@needs_minilm
@needs_hdbscan
def test_every_way_through_the_chain_gives_the_same_topics(tmp_path: Path) -> None:
    """Raw text at once, step by step by files, embedding first, and JSON lines in a pipe."""
    few, how = ("--limit", "48"), ("--k", "4", "--offline", "-q")
    run_cli("bertopic", NEWS, *few, *how, "-o", "raw")
    run_cli("preprocess", NEWS, *few, "-q", "-o", "d.parquet")
    run_cli("sbert-embed", "d.parquet", "--offline", "-q", "-o", "de.parquet")
    run_cli("bertopic", "de.parquet", *how, "-o", "steps")
    run_cli("sbert-embed", NEWS, *few, "--offline", "-q", "-o", "e.parquet")
    run_cli("preprocess", "e.parquet", "-q", "-o", "ed.parquet")
    run_cli("bertopic", "ed.parquet", *how, "-o", "swapped")
    piped = run_cli("preprocess", NEWS, *few, "-q", "-o", "-").out
    run_cli("bertopic", "-", *how, "-o", "piped", input=piped)
    assert len(set(topics_of(tmp_path / "raw").values())) > 2
    for name in ("steps", "swapped", "piped"):
        for table in ("topics", "topic_terms", "doc_topics", "documents", "vocab", "model/training", "model/centroids"):
            got, want = (pl.read_parquet(tmp_path / run / f"{table}.parquet") for run in (name, "raw"))
            if table == "vocab":
                got, want = got.sort("term"), want.sort("term")
            if (name, table) == ("piped", "topics"):  # lines do not say how texts were cut, so words name the topics
                got, want = got.drop("label"), want.drop("label")
            assert got.equals(want), (name, table)


@needs_hdbscan
def test_json_lines_in_a_pipe_carry_everything(planted: Path, planted_run: Path, tmp_path: Path) -> None:
    out = run_cli("preprocess", planted, "-q", "-o", "-").out
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["id"] for row in rows] == read(planted)["id"].to_pylist()
    run_cli("bertopic", "-", "--k", "4", "-q", "-o", "run", input=out)
    assert topics_of(tmp_path / "run") == topics_of(planted_run)
    for name in ("topics", "topic_terms", "doc_topics", "vocab"):
        got, want = (pl.read_parquet(run / f"{name}.parquet") for run in (tmp_path / "run", planted_run))
        assert got.sort("term").equals(want.sort("term")) if name == "vocab" else got.equals(want), name


@needs_hdbscan
def test_a_corpus_in_parts_is_the_corpus(planted: Path, planted_run: Path, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    rows = planted_rows()
    write_embedded(tmp_path / "parts" / "a.parquet", rows[:50])
    write_embedded(tmp_path / "parts" / "b.parquet", rows[50:])
    run_cli("bertopic", "parts", "--k", "4", "-q", "-o", "run")
    assert topics_of(tmp_path / "run") == topics_of(planted_run)


def test_a_pipe_of_a_parquet_file(planted: Path) -> None:
    run_cli("preprocess", "-", "-q", "-o", "y.parquet", input=planted.read_bytes())
    assert [step["command"] for step in footer("y.parquet")["steps"]] == ["sbert-embed"]
    assert footer("y.parquet")["inputs"][0]["sha256"] == hashlib.sha256(planted.read_bytes()).hexdigest()


def test_large_batches_and_small_ones_make_the_same_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_cli("preprocess", NACHRICHTEN, "-q", "-o", "a.parquet")
    in_batches(monkeypatch, 7)
    run_cli("preprocess", NACHRICHTEN, "-q", "-o", "b.parquet")
    assert read("a.parquet").to_pylist() == read("b.parquet").to_pylist()
    assert footer("a.parquet") == footer("b.parquet")


def test_no_time_or_host_in_what_is_written(news_docs: Path) -> None:
    block: dict[str, Any] = footer(news_docs)
    text = json.dumps(block)
    assert str(datetime.date.today().year) not in text.replace(block["inputs"][0]["sha256"], "")

"""nlpkit cluster: tables with vectors, words or numbers; choice of the number; dendrograms; what cannot be."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import adjusted_rand_score, silhouette_score

import nlpkit as nk
from tests.command_line import footer, planted_rows, read, run_cli, write_embedded, write_jsonl

NUMBERS = "id,name,x,y\na,A,1,100\nb,B,2,100\nc,C,1,300\nd,D,9,300\n"


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.csv"
    path.write_text(NUMBERS, encoding="utf-8")
    return path


def labels_of(path: str) -> Any:
    return [row["label"] for row in read(path).to_pylist()]


@pytest.mark.parametrize("method", ["kmeans", "kmedoids", "ward", "hdbscan", "gmm"])
def test_planted_topics_by_embeddings(method: str, planted: Path) -> None:
    done = run_cli("cluster", planted, "--method", method, "-o", "c.parquet", "--json")
    table = read("c.parquet")
    assert table.column_names[-2:] == ["cluster", "cluster_distance"]
    assert (table.schema.field("cluster").type, table["cluster_distance"].null_count) == (pa.int32(), 0)
    assert adjusted_rand_score(labels_of("c.parquet"), table["cluster"].to_pylist()) == 1.0
    value = done.json()
    assert (value["n_clusters"], value["unassigned"], value["documents"]) == (4, 0, 120)
    X = np.stack(table["embedding"].to_numpy(zero_copy_only=False))
    assert value["silhouette"] == pytest.approx(
        silhouette_score(X, table["cluster"].to_pylist(), metric="cosine"), abs=1e-5
    )
    assert footer("c.parquet")["kind"] == "documents"
    assert [c["chosen"] for c in value["candidates"] if c["k"] == 4] == ([] if method == "hdbscan" else [True])


def test_the_choice_is_explained(planted: Path) -> None:
    done = run_cli("cluster", planted, "--k", "3:5")
    assert "k = 4: its silhouette, 0." in done.err
    assert [line.split()[0] for line in done.out.splitlines()[2:5]] == ["3", "4", "5"]
    assert done.out.splitlines()[3].split()[-1] == "chosen"


def test_numeric_columns_of_a_table_without_text(numbers: Path) -> None:
    run_cli("cluster", numbers, "--feature-cols", "x,y", "--k", 2, "-o", "plain.parquet")
    table = read("plain.parquet")
    assert table.column_names == ["id", "name", "x", "y", "cluster", "cluster_distance"]
    assert table["cluster"].to_pylist() == [0, 0, 1, 1]  # y has the larger numbers
    run_cli(
        "cluster", numbers, "--feature-cols", "x,y", "--k", 2, "--scale", "standard", "--method", "single", "-o",
        "s.csv",
    )  # fmt: skip
    frame = nk.cluster(nk.read_corpus(numbers), feature_cols=["x", "y"], k=2, scale="minmax", method="single").table()
    assert frame["cluster"].to_pylist() == [0, 0, 0, 1]
    one = run_cli(
        "cluster", numbers, "--feature-cols", "x", "--method", "kmedoids", "--metric", "manhattan", "--k", 2, "--json"
    )
    assert one.json()["inertia"] == 1.0  # 1 2 1 | 9


def test_words(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "x.jsonl", [{k: v for k, v in r.items() if k != "embedding"} for r in planted_rows(10)]
    )
    words = ("cluster", path, "--by", "tfidf", "--scheme", "ltc", "--k", 4, "-q")
    for method in ("kmeans", "kmedoids", "average"):
        run_cli(*words, "--method", method, "-o", f"{method}.parquet")
        table = read(f"{method}.parquet")
        assert adjusted_rand_score(table["label"].to_pylist(), table["cluster"].to_pylist()) > 0.9
    run_cli("preprocess", path, "-q", "-o", "docs.parquet")
    run_cli("cluster", "docs.parquet", *words[2:], "-o", "again.parquet")
    assert read("again.parquet")["cluster"] == read("kmeans.parquet")["cluster"]


def test_a_dendrogram_and_its_merges(numbers: Path) -> None:
    run_cli(
        "cluster", numbers, "--feature-cols", "x", "--method", "average", "--k", 2, "--tree", "t.nwk", "--merges",
        "l.parquet",
    )  # fmt: skip
    assert Path("t.nwk").read_text() == "('d':7.66666667,('b':1,('a':0,'c':0):1):6.66666667);\n"
    merges = read("l.parquet")
    assert merges["distance"].to_pylist() == pytest.approx([0, 1, 23 / 3])
    assert (merges["left"].to_pylist(), merges["size"].to_pylist()) == ([0, 1, 3], [2, 3, 4])
    assert footer("l.parquet")["kind"] == "merges"
    assert "t.nwk exists" in run_cli("cluster", numbers, "--feature-cols", "x", "--method", "average", "-o", "x.csv",
                                         "--tree", "t.nwk", code=2).err  # fmt: skip


def test_documents_without_a_vector_are_in_no_cluster(tmp_path: Path) -> None:
    rows = planted_rows(5)
    rows[3] = {**rows[3], "text": " "}
    path = write_embedded(tmp_path / "gap.parquet", rows)
    done = run_cli("cluster", path, "--k", 4, "-o", "c.parquet")
    table = read("c.parquet")
    assert table["cluster"].to_pylist()[3] == -1
    assert table["cluster_distance"].to_pylist()[3] is None
    assert "1 document in no cluster" in done.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("cluster NUMBERS --feature-cols name", 3, "no numbers"),
        ("cluster NUMBERS --feature-cols x --k 7:9", 3, "at most 3"),
        ("cluster NUMBERS --feature-cols x --k some", 2, "--k takes auto"),
        ("cluster NUMBERS --feature-cols x --by tfidf", 2, "do not go together"),
        ("cluster NUMBERS --feature-cols x --method pam", 2, "kmedoids"),
        ("cluster NUMBERS --feature-cols x --scale log", 2, "robust"),
        ("cluster NUMBERS --feature-cols x --tree t.nwk", 2, "--method average"),
        ("cluster NUMBERS --feature-cols x --method hdbscan --k 3", 2, "--min-cluster-size"),
        ("cluster NUMBERS --feature-cols x --min-cluster-size 3", 2, "--method hdbscan"),
        ("cluster NUMBERS --feature-cols x --scheme ltc", 2, "--by tfidf"),
        ("cluster NUMBERS --feature-cols x --encoder y", 2, "leave one out"),
        (
            "cluster NUMBERS --text-col name --by tfidf",
            3,
            "no words are left in 4 documents",
        ),  # of 'name', its only texts
        ("cluster GAPS --by tfidf", 3, "no column 'text' (found: id, x)"),
        ("cluster GAPS --feature-cols x", 3, "2 rows without a finite number, such as b"),
        ("cluster EMPTY --feature-cols x", 3, "no rows"),
        ("cluster PLANTED --by tfidf --scale minmax", 2, "--scale"),
        ("cluster PLANTED --by tfidf --method gmm", 2, "dense vectors"),
    ],
)
def test_what_cannot_be(words: str, code: int, message: str, numbers: Path, planted: Path, tmp_path: Path) -> None:
    (tmp_path / "gaps.csv").write_text("id,x\na,1\nb,nan\nc,\n", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("id,x\n", encoding="utf-8")
    places = {"NUMBERS": numbers, "GAPS": "gaps.csv", "EMPTY": "empty.csv", "PLANTED": planted}
    assert message in run_cli(*[places.get(w, w) for w in shlex.split(words)], code=code).error()


def test_one_row_and_equal_rows(tmp_path: Path) -> None:
    for rows in ("a,1\n", "a,1\nb,1\nc,1\n"):
        (tmp_path / "e.csv").write_text(f"id,x\n{rows}", encoding="utf-8")
        value = run_cli("cluster", "e.csv", "--feature-cols", "x", "--json").json()
        assert (value["n_clusters"], value["silhouette"]) == (1, None)

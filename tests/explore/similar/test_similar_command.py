"""nlpkit similar: nearest documents, close pairs, and what cannot be looked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.metrics.pairwise import cosine_similarity, manhattan_distances

import nlpkit as nk
from tests.command_line import NEWS, footer, planted_rows, read, run_cli, write_embedded, write_jsonl

ROWS = [
    {"id": "a", "text": "river bridge water boat river"},
    {"id": "b", "text": "river bridge water boat river"},
    {"id": "c", "text": "judge jury court trial river"},
    {"id": "d", "text": "judge jury court verdict"},
    {"id": "e", "text": ""},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "x.jsonl", ROWS)


def vectors(path: Path) -> np.ndarray[Any, Any]:
    return np.stack(pq.read_table(path)["embedding"].to_numpy(zero_copy_only=False)).astype(np.float64)


def test_neighbours_of_a_document_by_embeddings(planted: Path) -> None:
    rows = run_cli("similar", planted, "--id", "p004", "--top", 7, "--json").json()["queries"][0]["nearest"]
    cosine = cosine_similarity(vectors(planted))[4]
    order = [i for i in np.argsort(-cosine, kind="stable") if i != 4][:7]
    assert [row["id"] for row in rows] == [f"p{i:03d}" for i in order]
    assert [row["similarity"] for row in rows] == pytest.approx(cosine[order], abs=1e-6)
    run_cli("similar", planted, "--id", "p004", "--id", "p001", "--top", 2, "--metric", "manhattan", "-o", "n.parquet")
    table = read("n.parquet")
    far = manhattan_distances(vectors(planted))
    assert table.column_names == ["query", "rank", "id", "distance"]
    assert table["query"].to_pylist() == ["p004", "p004", "p001", "p001"]
    assert table["distance"].to_pylist() == pytest.approx([*np.sort(far[4])[1:3], *np.sort(far[1])[1:3]], abs=1e-6)
    assert footer("n.parquet")["kind"] == "similar_documents"


def test_all_close_pairs(planted: Path) -> None:
    cosine = cosine_similarity(vectors(planted))
    i, j = np.nonzero(np.triu(cosine >= 0.97, 1))
    value = run_cli("similar", planted, "--pairs", 0.97, "-o", "p.parquet", "--json", "--top", 4).json()
    rows = read("p.parquet").to_pylist()
    assert [(r["id"], r["other_id"]) for r in rows] == [(f"p{a:03d}", f"p{b:03d}") for a, b in zip(i, j, strict=True)]
    assert value["n_pairs"] == len(rows) > 4
    assert [p["similarity"] for p in value["pairs"]] == sorted((r["similarity"] for r in rows), reverse=True)[:4]


def test_words_of_a_query(corpus: Path, tmp_path: Path) -> None:
    words = ("similar", corpus, "--by", "tfidf", "--min-df", 1)
    value = run_cli(*words, "a bridge over the water", "--json", "-q").json()
    assert [n["id"] for n in value["queries"][0]["nearest"][:2]] == ["a", "b"]
    assert value["documents"] == 4  # one has no word
    (tmp_path / "q.txt").write_text("The judge.\n\nThe jury.", encoding="utf-8")
    value = run_cli(*words, "--text", "q.txt", "--json", "-q").json()["queries"]
    assert [value[0]["query"], value[0]["nearest"][0]["id"]] == ["q.txt", "d"]
    # the cosine of the weights that tfidf gives
    weights = nk.tfidf([row["text"] for row in ROWS], min_df=1, scheme="ltc").matrix.toarray()
    shown = run_cli(*words, "--scheme", "ltc", "--id", "c", "--json", "-q").json()["queries"][0]["nearest"]
    assert {n["id"]: n["similarity"] for n in shown} == pytest.approx(
        dict(zip("abd", (weights @ weights[2])[[0, 1, 3]], strict=True))
    )


def test_near_duplicates_on_the_screen(corpus: Path) -> None:
    done = run_cli("similar", corpus, "--by", "tfidf", "--min-df", 1, "--pairs", 1)
    assert done.out.splitlines()[2].split()[:3] == ["a", "b", "1.000"]
    assert "1 pair of 4 documents with a similarity of at least 1\n" in done.err
    out = run_cli("similar", corpus, "--by", "tfidf", "--min-df", 1, "--pairs", 1, "-q", "-o", "-").out
    assert json.loads(out) == {"id": "a", "other_id": "b", "similarity": 1.0}


def test_tokens_that_are_there_are_compared(tmp_path: Path) -> None:
    run_cli("preprocess", NEWS, "--limit", 60, "-q", "-o", "docs.parquet")
    direct = run_cli("similar", NEWS, "--limit", 60, "--by", "tfidf", "--id", "news-0003", "--json", "-q").json()
    assert run_cli("similar", "docs.parquet", "--by", "tfidf", "--id", "news-0003", "--json", "-q").json() == direct
    query = ("the court of appeal", "--by", "tfidf", "--json", "-q")
    assert run_cli("similar", "docs.parquet", *query).json() == run_cli("similar", NEWS, "--limit", 60, *query).json()


def test_vectors_of_any_length_keep_it_for_distances(tmp_path: Path) -> None:
    rows = [{**row, "embedding": [x * (1 + n) for x in row["embedding"]]} for n, row in enumerate(planted_rows(2))]
    path = write_embedded(tmp_path / "long.parquet", rows, normalize=False)
    near = run_cli("similar", path, "--id", "p000", "--metric", "euclidean", "--top", 3, "--json").json()
    apart = np.linalg.norm(vectors(path)[1:] - vectors(path)[0], axis=1)
    assert [n["distance"] for n in near["queries"][0]["nearest"]] == pytest.approx(np.sort(apart)[:3], rel=1e-5)
    error = run_cli("similar", path, "water", "--metric", "euclidean", code=3).error()
    assert "not of length 1" in error


def test_from_python(planted: Path) -> None:
    corpus = nk.read_corpus(planted)
    near = nk.similar(corpus, ids=["p004"], top=3)
    assert near.table().num_rows == 3
    pairs = nk.similar(corpus, pairs=0.3, metric="euclidean")
    assert pairs.table().column_names == ["id", "other_id", "distance"]
    assert pairs.to_dict()["n_pairs"] == pairs.table().num_rows > 0
    assert nk.similar(["one river", "two river boat"], "boat", by="tfidf", min_df=1).queries == ["boat"]


def test_one_document_has_no_neighbour(tmp_path: Path) -> None:
    one = write_embedded(tmp_path / "one.parquet", planted_rows(1)[:1])
    assert "there is no other document" in run_cli("similar", one, "--id", "p000").err
    assert run_cli("similar", one, "--pairs", 0.5, "--json").json()["n_pairs"] == 0


def test_equal_documents_are_all_pairs(tmp_path: Path) -> None:
    rows = [{**row, "embedding": planted_rows(1)[0]["embedding"]} for row in planted_rows(2)]
    path = write_embedded(tmp_path / "equal.parquet", rows)
    assert run_cli("similar", path, "--pairs", 1, "--json").json()["n_pairs"] == 8 * 7 // 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("similar DOCS ' ' --by tfidf", 2, "a query is empty"),
        ("similar DOCS q --pairs 0.5", 2, "leave the query out"),
        ("similar DOCS --id a --pairs 0.5", 2, "--pairs do not go together"),
        ("similar DOCS --pairs 2", 2, "between -1 and 1"),
        ("similar DOCS --pairs nan", 2, "--pairs takes a finite number"),
        ("similar DOCS --pairs -1 --metric euclidean", 2, "0 or larger"),
        ("similar DOCS q --metric cosin", 2, "did you mean 'cosine'"),
        ("similar DOCS q --metric minkowski", 2, "--p 3"),
        ("similar DOCS q --p 3", 2, "--metric minkowski"),
        ("similar DOCS q --by tf-idf", 2, "did you mean 'tfidf'"),
        ("similar DOCS q --by tfidf --encoder x", 2, "leave one out"),
        ("similar DOCS --by tfidf --min-df 1 --id e", 3, "has no text or no usable word, so nothing is similar to it"),
        ("similar DOCS --text nowhere.txt --by tfidf", 3, "nowhere.txt"),
        ("similar DOCS q --by tfidf --text-col body", 3, "no column 'body'"),
        ("similar nothing.jsonl q", 3, "nothing.jsonl"),
        ("similar EMPTY q --by tfidf", 3, "no rows"),
        ("similar NAN --id a", 3, "not finite"),
    ],
)
def test_what_cannot_be(words: str, code: int, message: str, corpus: Path, tmp_path: Path) -> None:
    import shlex

    empty, nan = tmp_path / "empty.jsonl", tmp_path / "nan.jsonl"
    empty.write_text("", encoding="utf-8")
    nan.write_text('{"id": "a", "text": "x", "embedding": [1.0, NaN]}\n', encoding="utf-8")
    places = {"DOCS": corpus, "EMPTY": empty, "NAN": nan}
    line = [places.get(word, word) for word in shlex.split(words)]
    assert message in run_cli(*line, code=code).error()


def test_a_run_stands_for_the_documents_of_its_fit(tmp_path: Path) -> None:
    rows = [{"nr": row["id"], "body": row["text"]} for row in planted_rows()]
    write_jsonl(tmp_path / "x.jsonl", rows)
    read_by = ("--text-col", "body", "--id-col", "nr")
    run_cli("lda-gibbs", "x.jsonl", *read_by, "--k", "3", "--sweeps", "5", "-q", "-o", "lda")
    query = (rows[3]["body"], "--by", "tfidf", "--top", "3", "--json")
    expected = run_cli("similar", "x.jsonl", *query, *read_by).json()["queries"]
    assert run_cli("similar", "lda", *query).json()["queries"] == expected
    assert expected[0]["nearest"][0]["id"] == "p003"
    (tmp_path / "x.jsonl").write_text('{"nr": "a", "body": "another"}\n')
    assert "has changed since lda was made from it" in run_cli("similar", "lda", *query, code=3).error()

"""nlpkit sbert-embed --method mean-words and doc2vec: the column, by hand, and what goes on with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.platform.documents.arrays import embedding_matrix
from tests.command_line import footer, needs_gensim, planted_rows, read, run_cli, write_jsonl

VECTORS = "river 1 0\nbridge 0 2\nWord 3 3\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    rows = [("a", "The river, the RIVER and a bridge!"), ("b", "nothing known"), ("c", ""), ("d", "bridge")]
    (tmp_path / "v.txt").write_text(VECTORS, encoding="utf-8")
    return write_jsonl(tmp_path / "docs.jsonl", [{"id": i, "text": text, "x": n} for n, (i, text) in enumerate(rows)])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows()]
    return write_jsonl(tmp_path_factory.mktemp("means") / "docs.jsonl", rows)


def test_means_by_hand(docs: Path) -> None:
    line = ("sbert-embed", docs, "--method", "mean-words", "--vectors", "v.txt", "--no-normalize", "-o", "m.parquet")
    done = run_cli(*line)
    table = read("m.parquet")
    assert table.column_names == ["id", "text", "x", "embedding"]
    assert table["id"].to_pylist() == ["a", "b", "c", "d"]
    np.testing.assert_allclose(
        embedding_matrix(table["embedding"], unit=False), [[2 / 3, 2 / 3], [0, 0], [0, 0], [0, 2]], rtol=1e-6
    )
    assert "warning: 2 documents without a word that has a vector: the embedding is 0" in done.err
    parameters = footer("m.parquet")["parameters"]
    assert (parameters["encoder"], parameters["docs"], parameters["dim"]) == ("mean-words of v.txt", 4, 2)


def test_the_column_is_of_length_1_and_there_in_python(docs: Path) -> None:
    made = nk.embed(nk.read_corpus(docs), method="mean-words", vectors=Path("v.txt")).table()
    np.testing.assert_allclose(
        embedding_matrix(made["embedding"], unit=False)[[0, 3]], [[0.5**0.5, 0.5**0.5], [0, 1]], rtol=1e-6
    )


def test_tokens_of_the_table_are_taken_and_stay(docs: Path) -> None:
    run_cli("preprocess", docs, "--min-df", "1", "-q", "-o", "t.parquet")
    run_cli("sbert-embed", "t.parquet", "--method", "mean-words", "--vectors", "v.txt", "-q", "-o", "m.parquet")
    before, after = read("t.parquet"), read("m.parquet")
    assert after["tokens"].to_pylist() == before["tokens"].to_pylist()


@needs_gensim
def test_doc2vec_of_the_corpus_and_of_a_run(corpus: Path) -> None:
    for name in ("one", "two"):
        run_cli("sbert-embed", corpus, "--method", "doc2vec", "-q", "-o", f"{name}.parquet")
    assert read("one.parquet").equals(read("two.parquet"))
    run_cli("embed-words", corpus, "--method", "doc2vec-dm", "--dimensions", "6", "-q", "-o", "run")
    run_cli(
        "sbert-embed", corpus, "--method", "doc2vec", "--vectors", "run", "--no-normalize", "-q", "-o", "three.parquet"
    )
    assert read("three.parquet")["embedding"].to_pylist() == read("run/documents.parquet")["embedding"].to_pylist()
    write_jsonl(Path("new.jsonl"), [{"id": "new", "text": "river"}])
    line = ("sbert-embed", "new.jsonl", "--method", "doc2vec", "--vectors", "run", "-o", "n.parquet")
    assert "run has no document 'new'" in run_cli(*line, code=3).error()


def test_classify_takes_the_column_and_new_documents_need_the_same_vectors(corpus: Path) -> None:
    run_cli("embed-words", corpus, "--method", "pmi-svd", "--dimensions", "8", "-q", "-o", "vectors")
    embed = ("--method", "mean-words", "--vectors", "vectors", "-q", "-o")
    run_cli("sbert-embed", corpus, *embed, "m.parquet")
    scores = run_cli(
        "classify", "m.parquet", "--model", "logreg", "--on", "embedding", "--cv", "3", "-q", "--json", "-o", "c"
    ).json()
    assert scores["targets"][0]["metrics"]["accuracy"]["value"] > 0.9
    assert run_cli("predict", "c", "m.parquet", "-q", "-o", "p.parquet").code == 0
    says = run_cli("predict", "c", corpus, "-o", "p2.parquet", code=3).error()
    assert "vectors by mean-words of vectors" in says
    assert "--method mean-words --vectors VECTORS" in says


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--method", "mean-words"], "needs word vectors"),
        (["--vectors", "v.txt"], "--method mean-words or --method doc2vec"),
        (["--method", "means"], "mean-words"),
        (["--method", "doc2vec", "--model", "x"], "--model: only for --method sbert, not doc2vec"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(words: list[str], says: str, docs: Path) -> None:
    assert says in run_cli("sbert-embed", docs, *words, "-o", "x.parquet", code=2).error()


def test_vectors_of_no_word(docs: Path) -> None:
    Path("w.txt").write_text("fremd 1 2\n", encoding="utf-8")
    line = ("sbert-embed", docs, "--method", "mean-words", "--vectors", "w.txt", "-o", "x.parquet")
    assert "has none of the" in run_cli(*line, code=3).error()

"""nlpkit tfidf NEW --model: the columns, idf and LSA of the training documents, as scikit-learn's `transform`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from tests.command_line import NEWS, footer, read, run_cli, write_jsonl
from tests.few import few

LIKE_SKLEARN = ("--like", "sklearn", "--tokenizer", "sklearn", "--stop-words", "none", "--min-df", "2")


@pytest.fixture
def split(tmp_path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """News in train.jsonl and test.jsonl, in which other words occur."""
    rows = [json.loads(line) for line in Path(NEWS).read_text(encoding="utf-8").splitlines()]
    train, test = rows[::2], rows[1::2][:80]
    write_jsonl(tmp_path / "train.jsonl", train)
    write_jsonl(tmp_path / "test.jsonl", test)
    return train, test


def test_as_scikit_learn_transforms(split: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> None:
    """idf was counted anew in new documents, over other columns: there was no way to apply a training set's weights."""
    train, test = split
    theirs = TfidfVectorizer(min_df=2)
    fitted = theirs.fit_transform([r["text"] for r in train])
    expected = theirs.transform([r["text"] for r in test])
    run_cli("tfidf", "train.jsonl", *LIKE_SKLEARN, "-q", "-o", "train.npz")
    done = run_cli("tfidf", "test.jsonl", "--model", "train.npz", "-o", "test.npz")
    mine = sparse.load_npz("test.npz")
    for name in ("train", "test"):
        assert read(f"{name}.vocab.parquet")["term"].to_pylist() == theirs.get_feature_names_out().tolist()
    assert read("train.vocab.parquet").equals(read("test.vocab.parquet"))
    np.testing.assert_allclose(mine.toarray(), expected.toarray(), rtol=1e-12)
    assert f"idf of {len(train)} documents" in done.err
    labels = [[r["label"] for r in rows] for rows in split]
    right = [
        LogisticRegression(max_iter=300).fit(a, labels[0]).score(b, labels[1])
        for a, b in ((fitted, expected), (sparse.load_npz("train.npz"), mine))
    ]
    assert right[0] == right[1] > 0.4  # eight themes, 208 documents
    # tokens made alike, a model that is itself an output of --model, the long table
    run_cli("preprocess", "test.jsonl", *LIKE_SKLEARN[2:6], "--min-df", "1", "-q", "-o", "test.parquet")
    run_cli("tfidf", "test.parquet", "--model", "test.npz", "-q", "-o", "again.npz")
    assert (sparse.load_npz("again.npz") != mine).nnz == 0
    run_cli("tfidf", "test.jsonl", "--model", "train.vocab.parquet", "-q", "-o", "long.parquet")
    assert read("long.parquet")["weight"].to_pylist() == mine.data.tolist()
    assert footer("long.parquet")["parameters"]["documents"] == len(train)


@pytest.mark.parametrize("scheme", few(["bm25", "Ltu", "ltb", "anc"], 2))
def test_training_documents_keep_their_weights(split: Any, scheme: str) -> None:
    run_cli("tfidf", "train.jsonl", "--scheme", scheme, "-q", "-o", "a.npz")
    run_cli("tfidf", "train.jsonl", "--model", "a.npz", "-q", "-o", "b.npz")
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()
    # weights of selected columns are made from all terms
    run_cli("tfidf", "train.jsonl", "--scheme", scheme, "--select", "chi2:50", "-q", "-o", "s.npz")
    run_cli("tfidf", "train.jsonl", "--model", "s.npz", "-q", "-o", "t.npz")
    assert Path("s.npz").read_bytes() == Path("t.npz").read_bytes()
    Path("s.terms.parquet").unlink()
    assert "s.terms.parquet" in run_cli("tfidf", "test.jsonl", "--model", "s.npz", "-fo", "t.npz", code=3).error()


def test_classes_keep_their_numbers(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"text": "river bank", "label": "m"}, {"text": "moon bank", "label": "x"}])
    write_jsonl(tmp_path / "b.jsonl", [{"text": "moon bank", "label": "x"}, {"text": "river", "label": "a"}])
    run_cli("tfidf", "a.jsonl", "-q", "-o", "a.svm")
    done = run_cli("tfidf", "b.jsonl", "--model", "a.svm", "-o", "b.svm")
    assert "classes in 'label' that the documents of a.svm do not have: a" in done.err
    assert read("a.ids.parquet")["class"].to_pylist() == [0, 1]
    assert read("b.ids.parquet")["class"].to_pylist() == [1, 2]


def test_documents_in_the_space_of_an_lsa(split: Any) -> None:
    train, test = split
    theirs = TfidfVectorizer(min_df=2)
    svd = TruncatedSVD(5, algorithm="arpack", random_state=0).fit(theirs.fit_transform([r["text"] for r in train]))
    expected = svd.transform(theirs.transform([r["text"] for r in test]))
    run_cli("tfidf", "train.jsonl", *LIKE_SKLEARN, "--lsa", "5", "-q", "-o", "lsa/")
    run_cli("tfidf", "test.jsonl", "--model", "lsa/", "-q", "-o", "new.parquet")
    said = run_cli("predict", "lsa/", "test.jsonl", "-o", "x.parquet", code=3).error()
    assert "neither topics nor classes; give new documents to tfidf" in said
    says = run_cli("convert", "lsa/", "-o", "x.csv", code=3).error()
    assert "is a run of kind 'lsa', which has no topics.parquet" in says
    new = read("new.parquet")
    assert new["id"].to_pylist() == [r["id"] for r in test]
    assert new["text"].to_pylist() == [r["text"] for r in test]
    np.testing.assert_allclose(np.abs(np.array(new["lsa"].to_pylist())), np.abs(expected), atol=1e-5)
    run_cli("tfidf", "train.jsonl", "--model", "lsa/", "-q", "-o", "old.parquet")
    mine, before = (np.array(read(p)["lsa"].to_pylist()) for p in ("old.parquet", "lsa/documents.parquet"))
    np.testing.assert_allclose(mine, before, atol=1e-6)


def test_documents_in_the_space_of_a_pca(split: Any) -> None:
    train, test = split
    theirs = TfidfVectorizer(min_df=2)
    dense = PCA(5, svd_solver="full").fit(theirs.fit_transform([r["text"] for r in train]).toarray())
    done = run_cli("tfidf", "train.jsonl", *LIKE_SKLEARN, "--pca", "5", "--json", "-o", "pca/").json()
    np.testing.assert_allclose(done["explained_variance_ratio"], dense.explained_variance_ratio_, rtol=1e-6)
    run_cli("tfidf", "test.jsonl", "--model", "pca/", "-q", "-o", "new.parquet")
    expected = dense.transform(theirs.transform([r["text"] for r in test]).toarray())
    new = np.array(read("new.parquet")["pca"].to_pylist())
    np.testing.assert_allclose(np.abs(new), np.abs(expected), atol=1e-5)
    run_cli("tfidf", "train.jsonl", "--model", "pca/", "-q", "-o", "old.parquet")
    again, before = (np.array(read(p)["pca"].to_pylist()) for p in ("old.parquet", "pca/documents.parquet"))
    np.testing.assert_allclose(again, before, atol=1e-6)
    assert "neither topics nor classes" in run_cli("predict", "pca/", "test.jsonl", "-o", "x.parquet", code=3).error()
    write_jsonl(Path("none.jsonl"), [{"text": "Wiese Baum"}])
    placed = run_cli("tfidf", "none.jsonl", "--model", "pca/", "-o", "none.parquet")
    assert "1 document without a term of the columns: the vector is that of a row of zeros" in placed.err


def test_what_is_refused(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"text": "river bank"}, {"text": "moon bank"}])
    run_cli("tfidf", "a.jsonl", "-q", "-o", "a.npz")
    for more in (["--scheme", "ltc"], ["--min-df", "2"], ["--select", "chi2"], ["--lsa", "2"]):
        assert (
            f"{more[0]}: new documents"
            in run_cli("tfidf", "a.jsonl", "--model", "a.npz", *more, "-o", "b.npz", code=2).err
        )
    assert "does not exist" in run_cli("tfidf", "a.jsonl", "--model", "no.npz", "-o", "b.npz", code=3).error()
    run_cli("preprocess", "a.jsonl", "--save-vocab", "v.vocab.parquet", "-q", "-o", "v.parquet")
    assert "not by tfidf" in run_cli("tfidf", "a.jsonl", "--model", "v.parquet", "-o", "b.npz", code=3).error()
    write_jsonl(tmp_path / "c.jsonl", [{"text": "Wiese Baum"}])
    assert "no term of a.npz occurs" in run_cli("tfidf", "c.jsonl", "--model", "a.npz", "-o", "b.npz").err

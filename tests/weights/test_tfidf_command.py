"""nlpkit tfidf: the long table and its vocabulary, schemes, formats, features, LSA, odd corpora, the same bytes."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from tests.command_line import NEWS, files, footer, in_batches, read, run_cli, write_jsonl

ROWS = [
    {"id": "d1", "text": "river river bank", "label": "a"},
    {"id": "d2", "text": "the and", "label": "b"},  # stop words only
    {"id": "d3", "text": "moon bank", "label": "b"},
    {"id": "d4", "text": "", "label": None},
    {"id": "d5", "text": "moon star moon", "label": "b"},
]
LN = math.log


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "x.jsonl", ROWS)


def weights(path: str = "w.parquet") -> dict[tuple[str, str], float]:
    return {(r["id"], r["term"]): r["weight"] for r in read(path).to_pylist()}


# ---------------------------------------------------------------- the table


def test_weights_by_hand(corpus: Path) -> None:
    done = run_cli("tfidf", corpus, "-o", "w.parquet")
    assert read("w.parquet").to_pylist() == [
        {"id": "d1", "term": "bank", "tf": 1, "weight": LN(5 / 2)},
        {"id": "d1", "term": "river", "tf": 2, "weight": 2 * LN(5)},
        {"id": "d3", "term": "bank", "tf": 1, "weight": LN(5 / 2)},
        {"id": "d3", "term": "moon", "tf": 1, "weight": LN(5 / 2)},
        {"id": "d5", "term": "moon", "tf": 2, "weight": 2 * LN(5 / 2)},
        {"id": "d5", "term": "star", "tf": 1, "weight": LN(5)},
    ]
    assert read("w.vocab.parquet").to_pylist() == [
        {"term": "bank", "cf": 2, "df": 2, "idf": LN(5 / 2)},
        {"term": "moon", "cf": 3, "df": 2, "idf": LN(5 / 2)},
        {"term": "river", "cf": 2, "df": 1, "idf": LN(5)},
        {"term": "star", "cf": 1, "df": 1, "idf": LN(5)},
    ]
    assert done.out == ""
    lines = done.err.splitlines()
    assert lines[-3] == "weight = tf · ln(M / df) (SMART ntn); M = 5 documents, 4 terms"
    assert lines[-2] == "2 documents without a term have no rows and are listed in w.dropped.parquet"
    assert [tuple(r.values()) for r in read("w.dropped.parquet").to_pylist()] == [
        ("d2", "weights", "no term"),
        ("d4", "weights", "no term"),
    ]
    assert lines[-1] == "wrote w.parquet: 6 weights; terms in w.vocab.parquet"
    block = footer("w.parquet")
    assert (block["kind"], block["command"]) == ("weights", "tfidf")
    assert block["parameters"]["formula"] == "tf · ln(M / df)"
    assert block["parameters"]["tokens"]["min_df"] == 1
    assert footer("w.vocab.parquet")["kind"] == "vocab"


def test_one_json_object(corpus: Path) -> None:
    got = run_cli("tfidf", corpus, "-o", "w.parquet", "--scheme", "lfc", "--json", "-q").json()
    scheme = got.pop("scheme")
    assert got == {
        "output": "w.parquet", "to": "parquet", "weights": 6, "empty": 2, "documents": 5, "terms": 4, "dropped": 0,
        "formula": "(1 + ln tf) · ln(M / df), each document divided by its L2 norm", "smart": "ltc",
    }  # fmt: skip
    assert scheme["norm"] == "l2"


def test_lines_on_stdout(corpus: Path) -> None:
    done = run_cli("tfidf", corpus, "-o", "-", "-q")
    assert [json.loads(line)["term"] for line in done.out.splitlines()] == [
        "bank", "river", "bank", "moon", "moon", "star",
    ]  # fmt: skip


def test_tokens_that_are_there_are_used(corpus: Path) -> None:
    run_cli("preprocess", corpus, "-q", "-o", "docs.parquet")
    run_cli("tfidf", corpus, "-q", "-o", "raw.parquet")
    run_cli("tfidf", "docs.parquet", "-q", "-o", "docs.w.parquet")
    assert read("docs.w.parquet").equals(read("raw.parquet"))
    block = footer("docs.w.parquet")
    assert [s["command"] for s in block["steps"]] == ["preprocess"]
    assert block["parameters"]["tokens"] == footer("docs.parquet")["parameters"]


def test_rows_that_cannot_be_used_are_listed(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "river"}, {"id": "b", "text": None}, {"id": "c", "text": "moon"}]
    done = run_cli("tfidf", write_jsonl(tmp_path / "x.jsonl", rows), "-o", "w.parquet")
    assert read("w.dropped.parquet")["id"].to_pylist() == ["b"]
    assert "1 row could not be used" in done.err


def test_a_given_vocabulary_keeps_its_order(corpus: Path) -> None:
    Path("v.txt").write_text("star\nbank\ncomet\n")
    run_cli("tfidf", corpus, "--vocab", "v.txt", "-q", "-o", "w.parquet")
    assert read("w.vocab.parquet").to_pylist() == [
        {"term": "star", "cf": 1, "df": 1, "idf": LN(5)},
        {"term": "bank", "cf": 2, "df": 2, "idf": LN(5 / 2)},
        {"term": "comet", "cf": 0, "df": 0, "idf": 0},
    ]
    assert list(weights()) == [("d1", "bank"), ("d3", "bank"), ("d5", "star")]


# ---------------------------------------------------------------- schemes


@pytest.mark.parametrize(
    ("options", "weight"),  # of moon in d5: tf 2, df 2 of 5, 3 tokens, mean 8/5
    [
        (["--tf", "log"], (1 + LN(2)) * LN(5 / 2)),
        (["--tf", "loglog", "--idf", "none"], 1 + LN(1 + LN(2))),
        (["--idf", "plus1"], 2 * LN(5 / 3)),
        (["--scheme", "bpn"], LN(3 / 2)),
        (["--tf", "augmented", "--augment", "0.4"], LN(5 / 2)),
        (["--norm", "l1"], 2 * LN(5 / 2) / (2 * LN(5 / 2) + LN(5))),
        (["--norm", "pivoted", "--slope", "0.5"], 2 * LN(5 / 2) / (0.5 * 6 / 5 + 0.5 * 2)),
        (["--norm", "pivoted-bytes", "--idf", "none"], 2 / (0.8 * (2 * 5 + 3 * 5 + 2 * 6 + 5) / 5 + 0.2 * 15)),
        (["--bm25"], 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / (8 / 5))) * LN(1 + 3.5 / 2.5)),
        (["--scheme", "bm25-atire", "--k1", "2", "--b", "0"], 3 * 2 / 4 * LN(5 / 2)),
        (["--like", "sklearn", "--norm", "none"], 2 * (LN(6 / 3) + 1)),
        (["--scheme", "sklearn", "--norm", "none", "--idf", "sklearn"], 2 * (LN(5 / 2) + 1)),
    ],
)
def test_weightings(options: list[str], weight: float, corpus: Path) -> None:
    run_cli("tfidf", corpus, *options, "-q", "-o", "w.parquet")
    assert weights()["d5", "moon"] == pytest.approx(weight, rel=1e-13)


def test_like_scikit_learn_is_its_matrix(tmp_path: Path) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [json.loads(line)["text"] for line in Path(NEWS).read_text(encoding="utf-8").splitlines()]
    same = ["--token-pattern", r"\b\w\w+\b", "--stop-words", "none", "--min-df", "1"]
    for sublinear in (False, True):
        theirs = TfidfVectorizer(sublinear_tf=sublinear)
        expected = theirs.fit_transform(texts)
        options = ["--tf", "log"] if sublinear else []
        run_cli("tfidf", NEWS, "--like", "sklearn", *options, *same, "-q", "-f", "-o", "w.npz")
        assert read("w.vocab.parquet")["term"].to_pylist() == theirs.get_feature_names_out().tolist()
        found = sparse.load_npz("w.npz")
        assert abs(found - expected).max() < 1e-12
        assert found.nnz == expected.nnz


def test_nothing_is_overwritten(corpus: Path) -> None:
    Path("w.vocab.parquet").write_text("mine")
    assert "output w.vocab.parquet exists" in run_cli("tfidf", corpus, "-o", "w.parquet", code=2).error()
    assert not Path("w.parquet").exists()
    Path("f.parquet").write_text("mine")
    words = ("--select", "chi2", "--features", "f.parquet")
    assert "output f.parquet exists" in run_cli("tfidf", corpus, *words, code=2).error()
    run_cli("tfidf", corpus, *words, "-f", "-q", "-o", "w.parquet")
    assert read("f.parquet").num_rows > 0


# ---------------------------------------------------------------- other formats


def test_npz_has_a_row_for_every_document(corpus: Path) -> None:
    done = run_cli("tfidf", corpus, "-o", "w.npz")
    run_cli("tfidf", corpus, "-q", "-o", "long.parquet")
    X = sparse.load_npz("w.npz").tocoo()
    ids, terms = read("w.ids.parquet"), read("w.vocab.parquet")["term"].to_pylist()
    assert ids.to_pylist() == [
        {"id": "d1", "label": "a", "class": 0},
        {"id": "d2", "label": "b", "class": 1},
        {"id": "d3", "label": "b", "class": 1},
        {"id": "d4", "label": None, "class": -1},
        {"id": "d5", "label": "b", "class": 1},
    ]
    found = {(ids["id"][int(d)].as_py(), terms[v]): x for d, v, x in zip(X.row, X.col, X.data, strict=True)}
    assert found == weights("long.parquet")
    assert "2 documents without a term are rows of zeros" in done.err
    assert footer("w.ids.parquet")["kind"] == "ids"


def test_svmlight_has_the_class_first(corpus: Path) -> None:
    from sklearn.datasets import load_svmlight_file

    run_cli("tfidf", corpus, "--to", "svmlight", "-q", "-o", "w.txt")
    X, y = load_svmlight_file("w.txt", n_features=4, zero_based=False)
    assert y.tolist() == [0, 1, 1, -1, 1]
    assert X.toarray()[0] == pytest.approx([LN(5 / 2), 0, 2 * LN(5), 0], abs=0)
    assert X.toarray()[1].tolist() == [0] * 4
    rows = [{k: v for k, v in row.items() if k != "label"} for row in ROWS]
    run_cli("tfidf", write_jsonl(Path("y.jsonl"), rows), "-q", "-o", "y.svm")
    assert [line.split()[0] for line in Path("y.svm").read_text().splitlines()] == ["0"] * 5
    assert read("y.ids.parquet").column_names == ["id"]


# ---------------------------------------------------------------- features


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Six documents: river in all of a, moon in all of b, bank in half of each, star once in b."""
    texts = ["river bank", "river", "river bank", "moon bank", "moon star", "moon bank"]
    rows = [{"id": f"d{i}", "text": t, "label": "ab"[i > 2], "year": 2020 + i // 2} for i, t in enumerate(texts)]
    return write_jsonl(
        tmp_path / "y.jsonl", [*rows, {"id": "u", "text": "river moon comet", "label": None, "year": None}]
    )


def test_features_by_hand(labelled: Path) -> None:
    done = run_cli("tfidf", labelled, "--select", "chi2:2", "--features", "f.parquet", "-o", "w.parquet")
    assert read("f.parquet").to_pylist() == [
        {"class": "a", "rank": 1, "term": "river", "score": pytest.approx(6), "df_class": 3, "df": 3},
        {"class": "b", "rank": 1, "term": "moon", "score": pytest.approx(6), "df_class": 3, "df": 3},
    ]
    assert footer("f.parquet")["kind"] == "class_features"
    assert footer("f.parquet")["parameters"]["select"] == "chi2"
    assert read("w.vocab.parquet").to_pylist() == [
        {"term": "moon", "cf": 4, "df": 4, "idf": LN(7 / 4), "score": pytest.approx(6)},
        {"term": "river", "cf": 4, "df": 4, "idf": LN(7 / 4), "score": pytest.approx(6)},
    ]
    assert set(weights().values()) == {LN(7 / 4)}
    assert len(weights()) == 8  # the document without a label is there too
    assert "1 document without a value in 'label'" in done.err
    assert "kept 2 of 5 terms by chi2: χ² of presence × class, larger is better" in done.err
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["label", "documents", "best", "features", "by", "chi2"]
    assert lines[2:4] == [["a", "3", "river"], ["b", "3", "moon"]]


def test_weights_stay_those_of_the_whole_vocabulary(labelled: Path) -> None:
    run_cli("tfidf", labelled, "--scheme", "ltc", "-q", "-o", "w.parquet")
    whole = weights()
    run_cli("tfidf", labelled, "--scheme", "ltc", "--select", "mi:0.4", "-q", "-f", "-o", "w.parquet")
    part = weights()
    assert {term for _, term in part} == {"moon", "river"}
    assert part == {k: v for k, v in whole.items() if k[1] in ("moon", "river")}


@pytest.mark.parametrize(
    "score", ["chi2", "chi2-counts", "cramer-v", "cramer-v-usual", "mi", "ig", "entropy", "anova-f"]
)
def test_every_score_finds_the_words_of_the_classes(score: str, labelled: Path) -> None:
    run_cli("tfidf", labelled, "--select", f"{score}:2", "-q", "-f", "-o", "w.parquet")
    assert read("w.vocab.parquet")["term"].to_pylist() == ["moon", "river"]


@pytest.mark.parametrize("score", ["gini", "gini-norm", "pmi-max", "anova-f-weights", "pmi-avg"])
def test_scores_without_a_file(score: str, labelled: Path) -> None:
    got = run_cli("tfidf", labelled, "--select", score, "--json", "-q").json()
    assert got["terms"] == 5
    assert "output" not in got
    assert got["features"]["a"][:1] == ["river"]
    assert sorted(p.name for p in Path().iterdir()) == ["y.jsonl"]


def test_classes_of_other_columns(labelled: Path) -> None:
    got = run_cli("tfidf", labelled, "--select", "mi", "--by", "year", "--json", "-q", "--top-n", "1").json()
    assert list(got["features"]) == ["2020", "2021", "2022"]
    assert all(len(terms) <= 1 for terms in got["features"].values())
    one = write_jsonl(Path("one.jsonl"), [{"text": "river", "label": "a"}] * 3)
    says = run_cli("tfidf", one, "--select", "chi2", code=3).error()
    assert "'label' has 1 class (a); --select compares at least two" in says


# ---------------------------------------------------------------- LSA


def test_lsa_leaves_a_run_directory(tmp_path: Path) -> None:
    done = run_cli("tfidf", NEWS, "--scheme", "ltc", "--lsa", "10", "-o", "lsa")
    assert sorted(files(tmp_path / "lsa")) == [
        "components.parquet", "documents.parquet", "manifest.json", "model/config.json", "term_vectors.parquet",
        "vocab.parquet",
    ]  # fmt: skip
    manifest = json.loads(Path("lsa/manifest.json").read_text())
    assert manifest["kind"] == "lsa"
    results = manifest["results"]
    assert len(results["singular_values"]) == len(results["explained_variance_ratio"]) == 10
    assert results["explained_variance"] == pytest.approx(sum(results["explained_variance_ratio"]))
    documents = read("lsa/documents.parquet")
    assert documents.column_names == ["id", "title", "label", "date", "source", "lsa"]
    assert documents["lsa"].type == pa.list_(pa.float32(), 10)
    terms = read("lsa/term_vectors.parquet")
    assert terms["term"].to_pylist() == read("lsa/vocab.parquet")["term"].to_pylist()

    run_cli("tfidf", NEWS, "--scheme", "ltc", "-q", "-o", "w.npz")
    X = sparse.load_npz("w.npz")
    vectors = np.stack(terms["vector"].to_numpy(zero_copy_only=False))
    np.testing.assert_allclose(np.stack(documents["lsa"].to_numpy(zero_copy_only=False)), X @ vectors, atol=1e-5)
    components = read("lsa/components.parquet").to_pylist()
    assert [c["singular_value"] for c in components] == results["singular_values"]
    for k, row in enumerate(components):
        order = np.argsort(-vectors[:, k], kind="stable")
        assert row["top_terms"][:3] == [terms["term"][int(i)].as_py() for i in order[:3]]
        assert len(row["bottom_terms"]) <= 10
    assert "wrote lsa/: 10 components explain" in done.err
    assert done.out.splitlines()[0].split() == [
        "component", "singular", "value", "explained", "top", "terms", "bottom", "terms",
    ]  # fmt: skip


def test_lsa_of_selected_features_as_json(tmp_path: Path) -> None:
    done = run_cli("tfidf", NEWS, "--select", "chi2:50", "--lsa", "5", "-q", "--json", "-o", "lsa").json()
    assert (done["run"], done["components"], done["terms"]) == ("lsa", 5, 50)
    assert read("lsa/vocab.parquet").num_rows == 50


def test_lsa_of_too_little(corpus: Path) -> None:
    says = run_cli("tfidf", corpus, "--lsa", "4", "-o", "lsa", code=2).error()
    assert "give 3 at most" in says
    done = run_cli("tfidf", corpus, "--lsa", "3", "-o", "lsa")
    assert "2 documents without a term" in done.err
    rows = read("lsa/documents.parquet").to_pylist()
    assert [r["id"] for r in rows] == ["d1", "d2", "d3", "d4", "d5"]
    assert rows[1]["lsa"] == rows[3]["lsa"] == [0, 0, 0]
    same = write_jsonl(Path("same.jsonl"), [{"text": "river moon star"}] * 4)
    assert "all weights are 0" in run_cli("tfidf", same, "--lsa", "1", "-o", "lsa2", code=3).error()
    done = run_cli("tfidf", same, "--idf", "none", "--lsa", "2", "-o", "lsa2")
    assert "the weights have rank 1: 1 components instead of 2" in done.err


@pytest.mark.parametrize("method", ["--lsa", "--pca"])
def test_a_run_is_a_directory_and_no_file(method: str, corpus: Path) -> None:
    for name in ("w.npz", "w.parquet", "-"):
        assert "a run is a directory" in run_cli("tfidf", corpus, method, "2", "-o", name, code=2).error()
    says = run_cli("tfidf", corpus, method, "2", code=2).error()
    assert f"no output is named; {method} writes a directory, such as -o" in says
    assert "give one" in run_cli("tfidf", corpus, "--lsa", "2", "--pca", "2", "-o", "x/", code=2).error()


def test_classes_that_nothing_uses_are_refused(corpus: Path) -> None:
    for words in (("-o", "w.parquet"), ("--lsa", "2", "-o", "lsa/"), ("-o", "-")):
        says = run_cli("tfidf", corpus, "--by", "label", *words, code=2).error()
        assert "only --select and matrices" in says
    run_cli("tfidf", corpus, "-n", "--scheme", "zzzz", "-o", "w.parquet", code=2)  # in a dry run, too


# ---------------------------------------------------------------- odd corpora


def test_one_document(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", [{"id": "a", "text": "river river moon"}])
    run_cli("tfidf", x, "-q", "-o", "w.parquet")
    assert weights() == {("a", "moon"): 0, ("a", "river"): 0}
    run_cli("tfidf", x, "--like", "sklearn", "-q", "-f", "-o", "w.parquet")
    assert weights() == pytest.approx({("a", "moon"): 1 / math.sqrt(5), ("a", "river"): 2 / math.sqrt(5)})


def test_no_words_are_left(tmp_path: Path) -> None:
    x = tmp_path / "x.jsonl"
    says = run_cli("tfidf", write_jsonl(x, ROWS), "--min-df", "3", "-o", "w.parquet", code=3).error()
    assert "no term is left of" in says
    assert [p.name for p in tmp_path.iterdir()] == ["x.jsonl"]


# ---------------------------------------------------------------- the same bytes

OUTPUTS: dict[str, list[str]] = {
    "lecture.parquet": [],
    "ltc.parquet": ["--scheme", "ltc"],
    "pivoted.parquet": ["--norm", "pivoted-l2"],
    "best.parquet": ["--select", "anova-f-weights:200", "--features", "f.parquet"],
    "bm25.npz": ["--bm25"],
    "lnc.svmlight": ["--scheme", "lnc"],
    "lsa": ["--lsa", "5"],
}


def written(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, and what of manifests may not differ."""
    found = files(folder)
    manifest = json.loads(found.pop("lsa/manifest.json"))
    for name in ("command_line", "threads", "seconds", "peak_memory_mb", "made_in", "packages"):
        manifest.pop(name)
    return found | {"manifest": json.dumps(manifest).encode()}


def test_same_bytes_on_any_number_of_threads_and_for_any_row_groups(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from nlpkit.weights import files as exports

    monkeypatch.setattr(exports, "GROUP_ENTRIES", 500)  # many row groups of a small corpus
    found = []
    for threads, rows in ((1, None), (2, 7), (3, 100)):
        if rows is not None:
            in_batches(monkeypatch, rows)
        folder = tmp_path / f"run{threads}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        for name, options in OUTPUTS.items():
            run_cli("tfidf", NEWS, "--limit", 150, *options, "--threads", threads, "-q", "-o", name)
        found.append(written(folder))
    assert pq.ParquetFile(tmp_path / "run1" / "ltc.parquet").num_row_groups > 5
    for other in found[1:]:
        assert [name for name in found[0] if found[0][name] != other[name]] == []


def test_order_of_documents_is_that_of_the_input() -> None:
    run_cli("tfidf", NEWS, "-q", "-o", "w.parquet")
    ids = [json.loads(line)["id"] for line in Path(NEWS).read_text(encoding="utf-8").splitlines()]
    table = read("w.parquet")
    seen = list(dict.fromkeys(table["id"].to_pylist()))
    assert seen == [i for i in ids if i in set(seen)]
    for one in seen[:20]:
        terms = [t for i, t in zip(table["id"].to_pylist(), table["term"].to_pylist(), strict=True) if i == one]
        assert terms == sorted(terms)


# ---------------------------------------------------------------- a vocabulary fixes columns and order


def matrix(path: str) -> np.ndarray:
    return np.asarray(sparse.load_npz(path).toarray())


def columns(path: str) -> list[str]:
    return list(read(path)["term"].to_pylist())


def test_a_vocabulary_fixes_columns_and_order_on_every_way(tmp_path: Path) -> None:
    """Train and test matrices had permuted columns, and a vocabulary given to preprocess was forgotten by tfidf."""
    train = write_jsonl(tmp_path / "train.jsonl", [{"text": "zebra yak apple"}, {"text": "moon apple yak"}])
    test = write_jsonl(tmp_path / "test.jsonl", [{"text": "moon zebra"}, {"text": "apple river moon moon"}])
    run_cli("preprocess", train, "--save-vocab", "v.parquet", "-q", "-o", "train.parquet")
    run_cli("tfidf", "train.parquet", "-q", "-o", "a.npz")
    assert columns("v.parquet") == columns("a.vocab.parquet") == ["apple", "moon", "yak", "zebra"]
    run_cli("tfidf", test, "--vocab", "v.parquet", "-q", "--scheme", "nnn", "-o", "b.npz")
    run_cli("preprocess", test, "--vocab", "v.parquet", "-q", "-o", "test.parquet")
    run_cli("tfidf", "test.parquet", "-q", "--scheme", "nnn", "-o", "c.npz")
    run_cli("preprocess", test, "-q", "-o", "free.parquet")
    left_out = run_cli("tfidf", "free.parquet", "--vocab", "v.parquet", "--scheme", "nnn", "-o", "d.npz")
    assert "1 token left out: the vocabulary does not have them" in left_out.err
    for name in "bcd":
        assert columns(f"{name}.vocab.parquet") == columns("a.vocab.parquet")
        assert matrix(f"{name}.npz").tolist() == [[0, 1, 0, 1], [1, 2, 0, 0]]
    # it travels with the column through commands that copy it, and a vocabulary keeps an order of its own
    (tmp_path / "own.csv").write_text("rank,term\n1,moon\n2,star\n3,apple\n", encoding="utf-8")
    run_cli("preprocess", test, "--vocab", "own.csv", "--save-vocab", "w.parquet", "-q", "-o", "own.parquet")
    shutil.copy("own.parquet", "copy.parquet")
    run_cli("tfidf", "own.parquet", "copy.parquet", "--id-col", "none", "-q", "--scheme", "nnn", "-o", "e.npz")
    assert columns("w.parquet") == columns("e.vocab.parquet") == ["moon", "star", "apple"]
    mixed = run_cli("tfidf", "own.parquet", "test.parquet", "--id-col", "none", "-o", "f.npz")
    assert "restricted to different vocabularies" in mixed.err
    assert columns("f.vocab.parquet") == ["apple", "moon", "zebra"]
    assert matrix("e.npz").tolist() == [[1, 0, 0], [2, 0, 1]] * 2


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.jsonl", "v.json", "v.txt"])
def test_vocabularies_of_tables(corpus: Path, name: str) -> None:
    """Lines such as 'moon,3,2' were taken for terms, and every document became empty."""
    rows = [{"term": "moon", "cf": 3}, {"term": "bank", "cf": 2}]
    sep = "\t" if name.endswith("tsv") else ","
    text = {
        "jsonl": "".join(json.dumps(r) + "\n" for r in rows),
        "json": json.dumps(rows),
        "txt": "moon\nbank\n",
    }.get(
        name.partition(".")[2],
        "".join(sep.join(map(str, r)) + "\n" for r in [("term", "cf"), ("moon", 3), ("bank", 2)]),
    )
    corpus.with_name(name).write_text(text, encoding="utf-8")
    run_cli("tfidf", corpus, "--vocab", name, "-q", "-o", "w.parquet")
    assert columns("w.vocab.parquet") == ["moon", "bank"]


def test_a_vocabulary_that_matches_nothing(corpus: Path, tmp_path: Path) -> None:
    Path("v.txt").write_text("term,cf,df\nmoon,3,2\n", encoding="utf-8")
    for command in (["preprocess", corpus, "-o", "p.parquet"], ["tfidf", corpus, "-o", "w.parquet"]):
        says = run_cli(*command, "--vocab", "v.txt", code=3).error()
        assert "--vocab matches nothing" in says
        assert "'moon,3,2'" in says
        assert "'river'" in says
    run_cli("preprocess", corpus, "-q", "-o", "p.parquet")
    assert "'moon,3,2'" in run_cli("tfidf", "p.parquet", "--vocab", "v.txt", "-o", "w.parquet", code=3).error()
    Path("v.csv").write_text("word,cf\nmoon,3\n", encoding="utf-8")
    assert "no column 'term'" in run_cli("tfidf", corpus, "--vocab", "v.csv", "-o", "w.parquet", code=3).error()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.parquet", "v.csv", "v.txt", "x.jsonl"]

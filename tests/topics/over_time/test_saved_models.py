"""What is saved and loaded equals what was fitted, and what is exported equals what is loaded: every topic model, every form."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.topics.over_time.queries import topic_correlations

WORDS = ["river water boat fish", "court judge jury law", "apple pear plum cherry"]
# documents of one, two or no words among longer ones, so that most topics are the prior alone; a text that is there twice
TEXTS = [
    *(" ".join(np.random.default_rng(i).choice(WORDS[i % 3].split(), 3 + i % 7)) for i in range(45)),
    "river", "court court", "", "!!", "river water boat court judge apple", "river water boat court judge apple",
]  # fmt: skip
DOCS = pa.table({
    "id": [f"d,{i}" for i in range(len(TEXTS))],
    "text": TEXTS,
    "label": [("sea", "law", "food")[i % 3] for i in range(len(TEXTS))],
    "n": [float(i % 5) for i in range(len(TEXTS))],
    "date": [f"20{10 + i % 4}-03-01" for i in range(len(TEXTS))],
})  # fmt: skip
EMBEDDED = DOCS.append_column("embedding", pa.array(
    [v.tolist() for v in np.random.default_rng(1).normal(size=(len(TEXTS), 6)).astype(np.float32)], pa.list_(pa.float32(), 6)
))  # fmt: skip
SHORT = {"stop_words": "none", "min_df": 1}
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "lda-gibbs": (nk.fit_lda, {"k": 3, "sweeps": 20}),
    "lda-gibbs of means": (nk.fit_lda, {"k": 3, "sweeps": 20, "estimate": "mean"}),
    "lda-gibbs of a high alpha": (nk.fit_lda, {"k": 6, "sweeps": 20, "alpha_sum": 50.0}),
    "lda-gibbs of weights": (nk.fit_lda, {"k": 3, "sweeps": 20, "term_weights": "idf"}),
    "lda-online": (nk.fit_lda_online, {"k": 3}),
    "plsa": (nk.fit_plsa, {"k": 3}),
    "nmf": (nk.fit_nmf, {"k": 3}),
    "gsdmm": (nk.fit_gsdmm, {"k": 4}),
    "biterm": (nk.fit_biterm, {"k": 3}),
    "hdp": (nk.fit_hdp, {}),
    "hlda": (nk.fit_hlda, {}),
    "stm": (nk.fit_stm, {"k": 3}),
    "stm with covariates": (nk.fit_stm, {"k": 3, "prevalence": "label + n"}),
    "dtm": (nk.fit_dtm, {"k": 2}),
    "slda": (nk.fit_slda, {"k": 3}),
    "author-topic": (nk.fit_author_topic, {"k": 3, "author_col": "label"}),
    "labeled-lda": (nk.fit_labeled_lda, {}),
    "ctm": (nk.fit_ctm, {"k": 3, "iterations": 3}),
    "etm": (nk.fit_etm, {"k": 3, "iterations": 3, "hidden": 8, "dimensions": 8}),
    "fastopic": (nk.fit_fastopic, {"k": 3, "iterations": 3}),
}


@pytest.fixture(scope="module", params=MODELS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    fit, options = MODELS[request.param]
    if request.param in ("ctm", "etm"):
        pytest.importorskip("torch")
    model = fit(
        nk.Corpus.from_frame(EMBEDDED if request.param in ("ctm", "fastopic") else DOCS), **options, **SHORT, seed=3
    )
    return model, model.save(tmp_path_factory.mktemp("saved") / "run")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def matrix(listed: list[tuple[Any, Any, Any]], rows: list[Any], columns: list[Any]) -> np.ndarray:
    """Return a long table as a matrix; nothing is there twice."""
    values = np.zeros((len(rows), len(columns)))
    place, at = ({name: i for i, name in enumerate(names)} for names in (rows, columns))
    for row, column, value in listed:
        assert values[place[row], at[column]] == 0
        values[place[row], at[column]] = value
    return values


def test_what_is_loaded_was_fitted(saved: tuple[Any, Path]) -> None:
    model, path = saved
    loaded = nk.load(path)
    np.testing.assert_array_equal(loaded.theta, model.theta)
    np.testing.assert_array_equal(loaded.phi, model.phi)
    np.testing.assert_allclose(loaded.theta.sum(axis=1), 1, rtol=1e-12)
    assert loaded.model.terms == model.model.terms
    for name, table in model.tables().items():
        assert loaded.tables()[name].equals(table), name
    texts = ["river boat", "a judge eats plums", "", "unknown"]
    new = pa.table({"text": texts, "label": ["sea"] * 4, "n": [1.0] * 4, "date": ["2011-03-01"] * 4})
    if model.kind in ("ctm", "fastopic"):
        new = new.append_column("embedding", EMBEDDED.column("embedding")[:4])
    assert loaded.predict(new, seed=1).equals(model.predict(new, seed=1))
    known = loaded.predict(nk.Corpus.from_frame(EMBEDDED))
    assert known.column("topic").to_pylist() == model.documents.column("topic").to_pylist()


def test_shares_of_topics_are_means_of_theta(saved: tuple[Any, Path]) -> None:
    model, path = saved
    has = np.array(model.documents.column("topic").to_pylist()) >= 0
    table = nk.topics(path, by="label").rows("shares").to_pylist()
    labels = np.array(DOCS.column("label").to_pylist())
    for row in table:
        if row["topic"] >= 0:
            here = labels == row["label"]
            share = model.theta[here & has][:, row["topic"]].sum() / here.sum()
            assert row["share"] == pytest.approx(share, abs=1e-9)


def test_correlations_are_those_of_theta(saved: tuple[Any, Path]) -> None:
    model, path = saved
    if model.theta.shape[1] < 2:
        return
    has = np.array(model.documents.column("topic").to_pylist()) >= 0
    theta = model.theta[has]
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = np.corrcoef(theta.T)
    for row in topic_correlations(path).table.to_pylist():
        if row["correlation"] is not None:
            assert row["correlation"] == pytest.approx(expected[row["topic"], row["other"]], abs=1e-6)


def test_r_has_phi_and_theta(saved: tuple[Any, Path], tmp_path: Path) -> None:
    model, path = saved
    nk.export(path, tmp_path / "r", to="r")
    K, ids = model.phi.shape[0], DOCS.column("id").to_pylist()
    numbers = [str(k) for k in range(1, K + 1)]
    gamma = [(r["document"], r["topic"], float(r["gamma"])) for r in rows(tmp_path / "r/gamma.csv")]
    np.testing.assert_array_equal(matrix(gamma, ids, numbers), model.theta)
    beta = [(r["topic"], r["term"], float(r["beta"])) for r in rows(tmp_path / "r/beta.csv")]
    np.testing.assert_array_equal(matrix(beta, numbers, list(model.model.terms)), model.phi)
    of_run = model.documents.to_pylist()
    for row, stored in zip(rows(tmp_path / "r/documents.csv"), of_run, strict=True):
        for name in ("topic", "nearest_topic"):
            assert row[name] == ("" if stored[name] < 0 else str(stored[name] + 1))
        assert row["nlpkit_topic"] == str(stored["topic"])


def test_words_of_a_topic_have_phi(saved: tuple[Any, Path]) -> None:
    model, path = saved
    place = {term: v for v, term in enumerate(model.model.terms)}
    for row in nk.find_topics(path, ["river", "court"]).table.to_pylist():
        assert row["weight"] == pytest.approx(model.phi[row["topic"], place[row["term"]]], rel=1e-12)


def test_a_sheet_that_cannot_hold_theta_says_so(
    saved: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model, path = saved
    monkeypatch.setattr("nlpkit.topics.export.run.XLSX_ROWS", model.theta.size)
    nk.export(path, tmp_path / "run.xlsx")
    assert "so its rows do not sum to 1; write csv for all" in caplog.text


def test_tables_have_theta(saved: tuple[Any, Path], tmp_path: Path) -> None:
    model, path = saved
    K, ids = model.phi.shape[0], DOCS.column("id").to_pylist()
    nk.export(path, tmp_path / "csv", to="csv")
    listed = [(r["id"], int(r["topic"]), float(r["prob"])) for r in rows(tmp_path / "csv/doc_topics.csv")]
    np.testing.assert_array_equal(matrix(listed, ids, list(range(K))), model.theta)
    nk.export(path, tmp_path / "run.json")
    documents = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["documents"]
    listed = [(d["id"], t["topic"], t["prob"]) for d in documents for t in d["topics"]]
    np.testing.assert_array_equal(matrix(listed, ids, list(range(K))), model.theta)
    openpyxl = pytest.importorskip("openpyxl")
    nk.export(path, tmp_path / "run.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "run.xlsx")["topics of documents"]
    listed = list(sheet.iter_rows(min_row=2, values_only=True))
    np.testing.assert_allclose(matrix(listed, ids, list(range(K))), model.theta, rtol=1e-14)


def test_pyldavis_has_phi_and_theta(tmp_path: Path) -> None:
    model = nk.fit_lda(nk.Corpus.from_frame(DOCS), k=3, sweeps=20, save_assignments=True, **SHORT)
    model.save(tmp_path / "run")
    nk.export(tmp_path / "run", tmp_path / "vis.json", to="pyldavis")
    data = json.loads((tmp_path / "vis.json").read_text(encoding="utf-8"))
    lengths = np.asarray(model.doc_topic.sum(axis=1)).ravel()
    tokens = lengths @ model.theta
    np.testing.assert_allclose(data["mdsDat"]["Freq"], 100 * tokens / tokens.sum(), rtol=1e-9)
    columns = [data["tinfo"][name] for name in ("Category", "Term", "Freq", "logprob")]
    for topic, term, freq, logprob in zip(*columns, strict=True):
        if topic != "Default":
            k, v = int(topic.removeprefix("Topic")), model.model.terms.index(term)
            assert freq == pytest.approx(tokens[k] * model.phi[k, v], rel=1e-9)
            assert logprob == pytest.approx(np.log(model.phi[k, v]), abs=1e-4)


def test_bertopic(tmp_path: Path) -> None:
    texts = [f"{text} {i % 4}" for i, text in enumerate(TEXTS[:45])]
    rng = np.random.default_rng(0)
    vectors = [(np.eye(6)[i % 3] + rng.normal(0, 0.25, 6)).astype(np.float32).tolist() for i in range(45)]
    docs = pa.table({
        "id": [str(i) for i in range(45)], "text": texts, "embedding": pa.array(vectors, pa.list_(pa.float32(), 6)),
    })  # fmt: skip
    model = nk.fit_bertopic(docs, k=3, stop_words="none", min_df=1)
    path = model.save(tmp_path / "run")
    loaded = nk.load(path)
    for name, table in model.tables().items():
        assert loaded.tables()[name].equals(table), name
    assert loaded.predict(docs).equals(model.predict(docs))
    sums = dict.fromkeys(docs.column("id").to_pylist(), 0.0)
    for row in loaded.tables()["doc_topics"].to_pylist():
        sums[row["id"]] += row["prob"]
    assert list(sums.values()) == pytest.approx([1] * 45, abs=1e-6)  # of the few votes none is left out
    nk.export(path, tmp_path / "r", to="r")
    stored = loaded.tables()["doc_topics"].to_pylist()
    for row, vote in zip(rows(tmp_path / "r/gamma.csv"), stored, strict=True):
        assert (row["document"], int(row["topic"]), float(row["gamma"])) == (
            vote["id"],
            vote["topic"] + 1,
            vote["prob"],
        )
    words = {(r["topic"] + 1, r["term"]): r["ctfidf"] for r in loaded.tables()["topic_terms"].to_pylist()}
    assert {(int(r["topic"]), r["term"]): float(r["beta"]) for r in rows(tmp_path / "r/beta.csv")} == words

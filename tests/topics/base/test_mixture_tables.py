"""LDA models as tables: columns, what doc_topics leaves out, assignments, and the model read back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.runs import RunTables, manifest_of, open_run, write_run
from nlpkit.platform.types import CsrMatrix, FloatArray
from nlpkit.topics.base.diagnostics import DIAGNOSTICS
from nlpkit.topics.base.model import MixtureModel, main_topics, theta_of
from nlpkit.topics.base.tables import (
    assignments_table,
    doc_topics_table,
    documents_table,
    model_tables,
    read_model,
    topic_terms_table,
    topics_table,
)
from nlpkit.topics.base.topic_tables import vocab_table
from nlpkit.topics.base.topic_words import TopicDescription, describe_topics
from tests.strategies import counts_dv, repeatable, token_table

TERMS = ("bank", "boat", "judge")
TOKENS = token_table([[0, 1, 1], [2, 0], []], list(TERMS))
ASSIGNMENTS = np.array([0, 0, 0, 1, 0], np.int32)
DOC_TOPIC = sparse.csr_array(np.array([[3, 0, 0], [1, 1, 0], [0, 0, 0]], np.int32))
MODEL = MixtureModel(
    TERMS,
    sparse.csr_array(np.array([[2, 2, 0], [0, 0, 1], [0, 0, 0]], np.int32)),
    np.array([0.5, 0.25, 0.25]),
    0.1,
)
IDS = pa.chunked_array([["a"], ["b", "c"]])


@pytest.fixture(scope="module")
def described() -> TopicDescription:
    return describe_topics(MODEL, DOC_TOPIC, TOKENS, assignments=ASSIGNMENTS)


def test_documents(described: TopicDescription) -> None:
    rows = pa.table({"n": [7, 8, 9], "id": IDS, "label": ["x", None, "y"]})
    table = documents_table(rows, described.main)
    assert table.column_names == ["id", "topic", "topic_prob", "nearest_topic", "margin", "n", "label"]
    assert [str(table.schema.field(n).type) for n in table.column_names[1:5]] == ["int32", "float", "int32", "float"]
    assert table["id"].to_pylist() == ["a", "b", "c"]
    assert table["topic"].to_pylist() == table["nearest_topic"].to_pylist() == [0, 0, -1]
    assert table["topic_prob"].to_pylist() == pytest.approx([3.5 / 4, 1.5 / 3, 0])
    assert table["margin"].to_pylist() == pytest.approx([3.25 / 4, 0.25 / 3, 0], abs=1e-7)
    assert table["label"].to_pylist() == ["x", None, "y"]


def test_topics(described: TopicDescription) -> None:
    table = topics_table(described, MODEL, IDS, {0: "x" * 400, 1: "short"}.__getitem__)
    own = {"tokens": "n_tokens", "exclusivity": "mallet_exclusivity"}
    assert table.schema.names[9:] == ["alpha", *(own.get(n, n) for n in DIAGNOSTICS)]
    first, second, third = table.to_pylist()
    assert (first["size"], second["size"], third["size"]) == (2, 0, 0)
    assert first["share"] == pytest.approx(4 / 5)
    assert (first["n_tokens"], first["alpha"]) == (4, 0.5)
    assert first["top_terms"] == ["bank", "boat"]
    assert first["representative_ids"] == ["a", "b"]
    assert [len(t) for t in first["representative_texts"]] == [300, 5]
    assert (third["label"], third["top_terms"], third["npmi"], third["exclusivity"]) == ("topic 2", [], None, None)
    assert (third["representative_ids"], third["representative_texts"]) == ([], [])
    assert not any(isinstance(v, float) and not np.isfinite(v) for row in (first, second, third) for v in row.values())


def test_topic_terms(described: TopicDescription) -> None:
    table = topic_terms_table(described, TERMS)
    shown = [tuple(row[n] for n in ("topic", "rank", "term")) for row in table.to_pylist()]
    assert shown == [(0, 1, "bank"), (0, 2, "boat"), (1, 1, "judge")]
    assert table["weight"].to_pylist() == pytest.approx([2.1 / 4.3, 2.1 / 4.3, 1.1 / 1.3], rel=1e-6)
    assert table["lift"].to_pylist() == pytest.approx([2.1 / 4.3 / 0.4] * 2 + [1.1 / 1.3 / 0.2], rel=1e-6)


def listed(ids: pa.ChunkedArray, doc_topic: CsrMatrix, alpha: FloatArray) -> tuple[pa.Table, float]:
    return doc_topics_table(ids, doc_topic, alpha, main_topics(doc_topic, alpha).topic)


def test_doc_topics() -> None:
    table, left_out = listed(IDS, DOC_TOPIC, MODEL.alpha)
    # the topics a document has no token of are left out, though 0.25/4 and 0.25/3 are above 1/30
    assert [(r["id"], r["topic"]) for r in table.to_pylist()] == [("a", 0), ("b", 0), ("b", 1)]
    assert table["prob"].to_pylist() == pytest.approx([3.5 / 4, 1.5 / 3, 1.25 / 3])
    assert left_out == pytest.approx(0.5 / 4 + 0.25 / 3, abs=1e-6)


def test_small_probabilities_are_left_out() -> None:
    counts = sparse.csr_array(np.array([[96, 3, 1], [0, 0, 7]], np.int32))
    table, left_out = listed(pa.chunked_array([["a", "b"]]), counts, np.full(3, 1e-9))
    assert [(r["id"], r["topic"]) for r in table.to_pylist()] == [("a", 0), ("b", 2)]  # 0.03 and 0.01 are under 1/30
    assert left_out == pytest.approx(0.04, abs=1e-6)


def test_the_main_topic_is_listed_though_it_has_no_token() -> None:
    counts = sparse.csr_array(np.array([[0, 0, 1], [2, 0, 0], [0, 0, 0], [0, 1, 1]], np.int32))
    table, left_out = listed(pa.chunked_array([["a", "b", "c", "d"]]), counts, np.array([2.0, 0.1, 0.1]))
    assert [(r["id"], r["topic"]) for r in table.to_pylist()] == [
        ("a", 0), ("a", 2), ("b", 0), ("d", 0), ("d", 1), ("d", 2)
    ]  # fmt: skip
    assert table["prob"].to_pylist() == pytest.approx([2 / 3.2, 1.1 / 3.2, 4 / 4.2, 2 / 4.2, 1.1 / 4.2, 1.1 / 4.2])
    assert left_out == pytest.approx(0.1 / 3.2 + 0.2 / 4.2, abs=1e-6)


@repeatable
@given(counts_dv(max_docs=9, max_terms=6), st.floats(0.01, 3))
def test_what_is_listed_and_what_is_left_out_add_up(counts: np.ndarray, a: float) -> None:
    D, K = counts.shape
    alpha = a * np.linspace(1, 4, K)
    ids = pa.chunked_array([[f"d{i}" for i in range(D)]])
    table, left_out = listed(ids, sparse.csr_array(counts), alpha)
    total = sum(table["prob"].to_pylist())
    assert total + left_out == pytest.approx(np.count_nonzero(counts.sum(axis=1)), abs=1e-5)
    theta = theta_of(sparse.csr_array(counts), alpha, slice(None))
    expected = [
        (f"d{d}", k, pytest.approx(theta[d, k], rel=1e-6))
        for d in range(D)
        for k in range(K)
        if counts[d].any() and ((counts[d, k] and np.float32(theta[d, k]) >= 0.1 / K) or k == theta[d].argmax())
    ]
    assert [tuple(r.values()) for r in table.to_pylist()] == expected


def test_assignments() -> None:
    table = assignments_table(IDS, TOKENS, ASSIGNMENTS)
    assert table.to_pylist() == [
        {"id": "a", "term": "bank", "topic": 0},
        {"id": "a", "term": "boat", "topic": 0},
        {"id": "a", "term": "boat", "topic": 0},
        {"id": "b", "term": "judge", "topic": 1},
        {"id": "b", "term": "bank", "topic": 0},
    ]
    assert [pa.types.is_dictionary(t) for t in table.schema.types] == [True, True, False]
    assert table["topic"].type == pa.int32()


# ---------------------------------------------------------------- the model


def write(path: Path, model: MixtureModel, **config: Any) -> Path:
    V = len(model.terms)
    tables = {"vocab": vocab_table(model.terms, np.ones(V, np.int64), np.ones(V, np.int64))}
    own = {"kind": "lda-gibbs", "n_topics": model.n_topics, "eta": model.eta, **config}
    block = footer_block("run", command="lda-gibbs", parameters={}, seed=1, inputs=[])
    manifest = manifest_of("lda-gibbs", parameters={}, seed=1, threads=1, inputs=[], seconds={}, results={})
    write_run(path, RunTables(tables, model_tables(model), own), block, manifest, force=True)
    return path


def same(one: MixtureModel, other: MixtureModel) -> None:
    assert (one.terms, one.eta, one.alpha.tolist()) == (other.terms, other.eta, other.alpha.tolist())
    assert one.topic_term.shape == other.topic_term.shape
    assert one.topic_term.data.dtype == other.topic_term.data.dtype
    assert one.topic_term.toarray().tolist() == other.topic_term.toarray().tolist()
    assert one.topic_term.has_sorted_indices


@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        replace(MODEL, topic_term=sparse.csr_array(np.array([[0.25, 1 / 3, 0], [0, 0, 2.5], [1e-3, 0, 0]]))),
        replace(MODEL, topic_term=sparse.csr_array((3, 3), dtype=np.int32)),
        replace(MODEL, alpha=np.array([1 / 3, 1e-8, 7.0]), eta=1 / 3),
    ],
    ids=["counts", "means", "no tokens", "priors"],
)
def test_a_model_comes_back(model: MixtureModel, tmp_path: Path) -> None:
    same(read_model(open_run(write(tmp_path / "run", model))), model)


def damage(run: Path, name: str, **columns: Any) -> None:
    file = run / "model" / f"{name}.parquet"
    old = pq.read_table(file)
    pq.write_table(pa.table(columns).replace_schema_metadata(old.schema.metadata), file)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("alpha", {"topic": [0, 1], "alpha": [0.5, 0.5]}),
        ("alpha", {"topic": [0, 1, 2], "alpha": [0.5, 0.0, 0.5]}),
        ("alpha", {"topic": [0, 1, 2], "alpha": [0.5, float("nan"), 0.5]}),
        ("topic_term", {"topic": [3], "term_id": [0], "count": [1]}),
        ("topic_term", {"topic": [0], "term_id": [0]}),
    ],
)
def test_a_model_that_does_not_fit_together(name: str, columns: dict[str, Any], tmp_path: Path) -> None:
    run = write(tmp_path / "run", MODEL)
    damage(run, name, **columns)
    with pytest.raises(InputError, match="damaged"):
        read_model(open_run(run, verify=False))


@pytest.mark.parametrize("change", [{"n_topics": 4}, {"n_topics": "x"}, {"eta": 0}, {"eta": None}, {"n_topics": None}])
def test_a_configuration_that_does_not_fit(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="damaged"):
        read_model(open_run(write(tmp_path / "run", MODEL, **change)))


def test_a_configuration_without_priors(tmp_path: Path) -> None:
    run = write(tmp_path / "run", MODEL)
    (run / "model" / "config.json").write_text(json.dumps({"n_topics": 3}))
    with pytest.raises(InputError):
        read_model(open_run(run, verify=False))

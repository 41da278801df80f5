"""A rolling model as tables and back: the same state, bit by bit; tables under the numbers of the run."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.platform.documents.chunks import Chunk
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.runs import Run, RunTables, manifest_of, open_run, write_run
from nlpkit.platform.types import LongArray, TokenTable
from nlpkit.topics.base.topic_tables import vocab_table
from nlpkit.topics.rolling.changes import Change, Changes
from nlpkit.topics.rolling.options import RollingOptions
from nlpkit.topics.rolling.plan import RollingState, fit_rolling, update_rolling
from nlpkit.topics.rolling.tables import (
    changes_table,
    chunks_table,
    plain_columns,
    read_state,
    read_texts,
    shares_table,
    state_tables,
    text_candidates,
)

OPTIONS = RollingOptions(k=2, init="2 months", vocab_abs=1, memory="2 months", sweeps=3)


def corpus(n: int = 60, seed: int = 0) -> tuple[TokenTable, Any, list[str]]:
    """Documents in no order of date, some of them empty, some words rare."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, n)
    terms = tuple(f"w{v:02d}" for v in rng.permutation(30))
    ids = np.minimum(rng.zipf(1.4, lengths.sum()), 30).astype(np.int32) - 1
    tokens = TokenTable(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), ids, terms)
    days = np.datetime64("2020-01-01") + rng.integers(0, 150, n)
    return tokens, days, [f"d{i}" for i in range(n)]


def stored(path: Path, state: RollingState, places: LongArray, texts: dict[int, str]) -> Run:
    """A run that holds the tables of a state."""
    ids = np.array(state.ids)[places]
    V = len(state.terms)
    tables = {
        "documents": pa.table({"id": pa.array(ids.tolist(), pa.string())}),
        "vocab": vocab_table(state.terms, np.ones(V, np.int64), np.ones(V, np.int64)),
        "chunks": chunks_table(state.chunks),
    }
    block = footer_block("run", command="lda-gibbs", parameters={}, seed=1, inputs=[])
    manifest = manifest_of("lda-gibbs", parameters={}, seed=1, threads=1, inputs=[], seconds={}, results={})
    write_run(path, RunTables(tables, state_tables(state, places, texts), {}), block, manifest, force=True)
    return open_run(path, verify=False)


def same(a: RollingState, b: RollingState) -> None:
    for field in fields(RollingState):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if isinstance(x, TokenTable):
            assert x.terms == y.terms
            assert (x.offsets.tobytes(), x.term_ids.tobytes()) == (y.offsets.tobytes(), y.term_ids.tobytes())
            assert (x.offsets.dtype, x.term_ids.dtype) == (y.offsets.dtype, y.term_ids.dtype)
        elif isinstance(x, np.ndarray):
            assert (x.dtype, x.tobytes()) == (y.dtype, y.tobytes()), field.name
        else:
            assert x == y, field.name


@pytest.mark.parametrize("seed", range(5))
def test_a_state_comes_back(seed: int, tmp_path: Path) -> None:
    tokens, days, ids = corpus(seed=seed)
    fit = fit_rolling(tokens, days, ids, OPTIONS)
    back = read_state(stored(tmp_path / "run", fit.state, fit.rows, {}), fit.state.options, 42)
    same(back, fit.state)
    more, later, _ = corpus(20, seed=seed + 100)
    names = [f"later{i}" for i in range(20)]
    shifted = later + np.timedelta64(140, "D")
    same(update_rolling(back, more, shifted, names).state, update_rolling(fit.state, more, shifted, names).state)


def test_texts_are_kept_in_part(tmp_path: Path) -> None:
    tokens, days, ids = corpus()
    fit = fit_rolling(tokens, days, ids, OPTIONS)
    run = stored(tmp_path / "run", fit.state, fit.rows, {7: "x" * 500, 3: "short"})
    assert read_texts(run) == {3: "short", 7: "x" * 300}


@pytest.mark.parametrize("damage", ["rolling_tokens", "rolling_documents", "rolling_last"])
def test_tables_that_do_not_fit(damage: str, tmp_path: Path) -> None:
    tokens, days, ids = corpus()
    fit = fit_rolling(tokens, days, ids, OPTIONS)
    run = stored(tmp_path / "run", fit.state, fit.rows, {})
    path = run.path / "model" / f"{damage}.parquet"
    table = pq.ParquetFile(path).read()
    pq.write_table(table.slice(1), path)
    with pytest.raises(InputError):
        read_state(run, OPTIONS, 42)
    path.unlink()
    with pytest.raises(InputError):
        read_state(run, OPTIONS, 42)


def test_texts_that_may_be_needed() -> None:
    chunks = tuple(
        Chunk(i, date(2020, 1 + i, 1), date(2020, 1 + i, 28), None, None, None, n, 0, None, 1, n)
        for i, n in ((0, 6), (1, 2))
    )
    dates = np.array(["2020-01-05"] * 6 + ["2020-02-05"] * 2, "datetime64[D]")
    none = np.zeros(0, np.int32)
    empty = TokenTable(np.zeros(1, np.int64), none, ())
    state = RollingState(OPTIONS, 42, (), tuple("abcdefgh"), dates, np.zeros(9, np.int64), none, none, chunks, empty)
    places = np.array([7, 0, 1, 2, 3, 4, 5, 6])  # the first document given is of the last chunk
    counts = [[9, 9], [5, 1], [4, 1], [3, 1], [6, 0], [1, 1], [0, 0], [9, 0]]
    n_dk = sparse.csr_array(np.array(counts, np.int32))
    # theta of topic 0: document 4, then 1, 2; of topic 1: document 5, then 3, 2; 0 and 7 are of the last chunk
    assert text_candidates(state, places, n_dk, np.array([0.1, 0.1])) == [0, 1, 2, 3, 4, 5, 7]
    assert n_dk.toarray().tolist() == counts


def test_shares_and_changes_under_the_numbers_of_the_run() -> None:
    chunks = [
        Chunk(i, date(2020, 1 + i, 1), date(2020, 1 + i, 28), None, None, None, 1, 0, None, 3, 9) for i in range(3)
    ]
    order = np.array([2, 0, 1])  # topic 0 of the run is 2 in the chain
    share = np.array([[0.1, 0.2, 0.7], [np.nan] * 3, [0.3, 0.3, 0.4]])
    table = shares_table(chunks, share, share / 2, share * 0, share, order)
    assert table["share"].to_pylist() == [0.7, 0.1, 0.2, None, None, None, 0.4, 0.3, 0.3]
    assert table["mean_theta"].to_pylist()[0] == 0.35
    assert table["chunk"].to_pylist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert table["topic"].to_pylist() == [0, 1, 2] * 3
    assert table["start_date"].to_pylist()[3] == date(2020, 2, 1)
    assert table["similarity_past"].to_pylist()[6:] == [0.4, 0.3, 0.3]
    assert table["similarity_previous"].to_pylist()[:4] == [0, 0, 0, None]
    similarity = np.array([[np.nan] * 3, [0.9, np.nan, 0.1], [0.8, 0.7, 0.6]])
    span = np.array([[0, 0, 0], [1, 0, 1], [2, 1, 1]], np.int32)
    threshold = np.where(span > 0, 0.5, np.nan)
    uncertain = np.isclose(similarity, 0.7)
    found = Changes(similarity, threshold, span, uncertain, (Change(2, 1, 1, 0.1, 0.5, (2, 0), (-0.3, -0.1)),))
    # words of topic 2 of the chain: c has 2 of 4 tokens in chunk 1, 1 of 4 before; a has 1 of 4, and 1 of 4
    counts = [sparse.csr_array(np.array([[0] * 3, [0] * 3, row])) for row in ([1, 2, 1], [1, 1, 2], [9, 9, 9])]
    rows = changes_table(chunks, found, counts, ("a", "b", "c"), order).to_pylist()
    assert [(r["chunk"], r["topic"], r["similarity"], r["span"]) for r in rows] == [
        (1, 0, 0.1, 1), (1, 1, 0.9, 1), (2, 0, 0.6, 1), (2, 1, 0.8, 2), (2, 2, 0.7, 1),
    ]  # fmt: skip
    assert [r["changed"] for r in rows] == [True, False, False, False, False]
    assert rows[0]["words"] == ["c", "a"]
    assert rows[0]["impacts"] == [-0.3, -0.1]
    assert rows[0]["rose"] == [True, False]
    assert rows[1]["words"] == rows[1]["impacts"] == []
    assert rows[0]["start_date"] == date(2020, 2, 1)


def test_chunks_as_a_table() -> None:
    chunk = Chunk(3, date(2020, 1, 1), date(2020, 1, 31), None, None, None, 0, 0, None, 17, 0)
    row = chunks_table([chunk]).to_pylist()[0]
    assert row["chunk"] == 3
    assert row["first_date"] is row["memory"] is row["n_memory"] is None
    assert row["n_vocab"] == 17
    assert "chunk_id" not in row


def test_columns_that_were_read_are_written_as_the_first_time(tmp_path: Path) -> None:
    table = pa.table(
        {
            "tags": pa.array([["a", "b"], [], None]),
            "vector": pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float32(), 2)),
            "large": pa.array([["x"], None, []], pa.large_list(pa.string())),
            "deep": pa.array([{"n": 1, "all": [[1], []]}, {"n": None, "all": None}, None]),
            "codes": pa.array(["u", "v", "u"]).dictionary_encode(),
            "n": pa.array([1, 2, None]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    again = pq.ParquetFile(tmp_path / "a.parquet").read()
    assert str(again.schema.field("tags").type) == "list<element: string>"  # a name that would be written once more
    plain = plain_columns(again)
    assert str(plain.schema) == str(plain_columns(table).schema)
    assert plain.to_pylist() == table.to_pylist()
    pq.write_table(plain_columns(table), tmp_path / "b.parquet")
    pq.write_table(plain, tmp_path / "c.parquet")
    assert (tmp_path / "b.parquet").read_bytes() == (tmp_path / "c.parquet").read_bytes()

"""Which documents are used: where, keep_if, sample and limit, in every format and on any number of batches."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.errors import ColumnError, UsageError
from nlpkit.platform.documents.corpora import DocumentStream, open_documents, open_table
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.selection import SAMPLE_SEED


def table(n: int) -> pa.Table:
    ids = pa.array([f"d{i}" for i in range(n)], pa.string())
    texts = pa.array(["the sea" if i % 3 else "a boat" for i in range(n)], pa.large_string())
    return pa.table({"id": ids, "text": texts, "n": pa.array(range(n), pa.int64())})


def ids(stream: DocumentStream) -> list[str]:
    return list(stream.read_all()["id"].to_pylist())


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 40),
    batch_rows=st.integers(1, 11),
    where=st.sampled_from([None, "sea", "^a"]),
    keep_if=st.sampled_from([None, "n >= 7", "n in [1, 3, 5] or text contains 'boat'"]),
    sample=st.sampled_from([None, 1, 5, 100]),
    limit=st.sampled_from([None, 1, 4, 100]),
)
def test_documents_are_those_that_python_would_take(
    n: int, batch_rows: int, where: str | None, keep_if: str | None, sample: int | None, limit: int | None
) -> None:
    rows = table(n).to_pylist()
    conditions = {
        "n >= 7": lambda row: row["n"] >= 7,
        "n in [1, 3, 5] or text contains 'boat'": lambda row: row["n"] in (1, 3, 5) or "boat" in row["text"],
    }
    left = [row["id"] for row in rows if where is None or (("sea" in row["text"]) == (where == "sea"))]
    left = [i for i in left if keep_if is None or conditions[keep_if](rows[int(i[1:])])]
    n_fulfil = len(left)
    if sample is not None:
        keys = np.random.PCG64(SAMPLE_SEED).random_raw(len(left)) if left else []
        left = [left[i] for i in sorted(np.argsort(keys)[:sample])]
    left = left[:limit]
    options = ReadOptions(where=where, keep_if=keep_if, sample=sample, limit=limit, batch_rows=batch_rows)
    stream = open_table(table(n), options)
    assert ids(stream) == left
    assert stream.kept in ([len(left)], [])
    if limit is None or sample is not None:
        assert len(stream.dropped) == n - n_fulfil
    assert {row.stage for row in stream.dropped} <= {"where", "keep-if"}


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_sample_is_the_same_in_every_format_and_drawn_evenly(tmp_path: Path, suffix: str) -> None:
    rows = [{"id": f"d{i}", "text": f"word {i}"} for i in range(30_000)]
    for half, name in ((rows[:12_345], "a"), (rows[12_345:], "b")):
        path = tmp_path / f"{name}.{suffix}"
        if suffix == "parquet":
            pq.write_table(pa.Table.from_pylist(half), path, row_group_size=777)
        elif suffix == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in half), encoding="utf-8")
        else:
            path.write_text("id,text\n" + "".join(f"{row['id']},{row['text']}\n" for row in half), encoding="utf-8")
    stream = open_documents([str(tmp_path)], ReadOptions(sample=900))
    drawn = [int(i[1:]) for i in ids(stream)]
    assert drawn[:5] == [38, 213, 237, 298, 308]  # on any machine
    assert (drawn, len(drawn)) == (sorted(set(drawn)), 900)
    assert stream.kept == [sum(i < 12_345 for i in drawn), sum(i >= 12_345 for i in drawn)]
    tenths = Counter(i // 3_000 for i in drawn)
    assert all(60 < tenths[t] < 120 for t in range(10))
    assert [one.rows for one in stream.inputs] == [12_345, 17_655]


def test_the_condition_looks_at_columns_that_are_not_wanted(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("text,label,n\na,pos,1\nb,neg,2\n", encoding="utf-8")
    stream = open_documents([str(path)], ReadOptions(keep_if="label == 'neg'", columns=("n",)))
    assert stream.read_all()["text"].to_pylist() == ["b"]
    assert [(row.id, row.stage, row.reason) for row in stream.dropped] == [
        ("x:1", "keep-if", "does not satisfy: label == 'neg'")
    ]


def test_the_condition_looks_into_objects(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = [{"text": t, "meta": {"section": t, "n": {"deep": i}}, "a.b": i} for i, t in enumerate("abc")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"text": "d", "meta": null}\n', encoding="utf-8")
    for condition, left in (
        ("meta.section == 'b'", ["b"]),
        ("meta.n.deep >= 1", ["b", "c"]),
        ("meta.section is null", ["d"]),
        ("`a.b` == 2 or a.b == 0", ["a", "c"]),
    ):
        stream = open_documents([str(path)], ReadOptions(keep_if=condition, columns=()))
        assert stream.read_all()["text"].to_pylist() == left, condition
    for condition in ("meta.sektion == 'b'", "text.x == 'b'"):
        with pytest.raises(ColumnError):
            open_documents([str(path)], ReadOptions(keep_if=condition))


def test_conditions_that_cannot_be_meant(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("text,label\na,pos\n", encoding="utf-8")
    for options, error in (
        ({"where": "("}, UsageError),
        ({"keep_if": "label =="}, UsageError),
        ({"keep_if": "label > 3"}, UsageError),
        ({"keep_if": "labell == 'x'"}, ColumnError),
    ):
        with pytest.raises(error):
            open_documents([str(path)], ReadOptions(**options))
    with pytest.raises(UsageError):  # before the file is looked for
        open_documents(["nowhere.csv"], ReadOptions(where="("))


def test_what_was_chosen_is_recorded_and_read_again() -> None:
    chosen: dict[str, Any] = {"text_col": "body", "keep_if": "n > 1", "sample": 3, "xml_fields": (("a", "b"),)}
    recorded = json.loads(json.dumps(ReadOptions(**chosen, columns=("n",)).recorded()))
    assert recorded == {"text_col": "body", "keep_if": "n > 1", "sample": 3, "xml_fields": [["a", "b"]]}
    assert ReadOptions().again(recorded) == ReadOptions(**chosen)
    assert ReadOptions(text_col="title").again(recorded) == ReadOptions(**{**chosen, "text_col": "title"})
    assert ReadOptions().recorded() == {}
    stream = open_table(table(9), ReadOptions(keep_if="n > 1"))
    stream.read_all()
    assert stream.inputs[0].listed()["reading"] == {"keep_if": "n > 1"}
    assert (
        len({*stream.inputs, stream.inputs[0]}) == 1
    )  # scores of one reference are told from those of another by its inputs
    plain = open_table(table(9))
    plain.read_all()
    assert set(plain.inputs[0].listed()) == {"path", "rows", "sha256", "encoding"}


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv", "parquet"])
def test_nothing_behind_the_last_document_is_looked_at(tmp_path: Path, suffix: str) -> None:
    """The documents of the first block are as many as are wanted, and others follow in it: fulfilling, not fulfilling and without text."""
    rows = [{"id": f"d{i}", "text": "sea" if i % 3 else "boat", "n": str(i)} for i in range(30)]
    for i in (2, 7, 9, 25):
        rows[i]["text"] = None
    path = tmp_path / f"c.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == "csv":
        path.write_text("id,text,n\n" + "".join(f"{r['id']},{r['text'] or ''},{r['n']}\n" for r in rows))
    else:
        lines = [json.dumps(row) for row in rows]
        path.write_text("\n".join(lines) if suffix == "jsonl" else "[" + ",".join(lines) + "]")
    stream = open_documents([str(path)], ReadOptions(where="sea", limit=4))
    assert ids(stream) == ["d1", "d4", "d5", "d8"]
    by_stage = {stage: [row.id for row in stream.dropped if row.stage == stage] for stage in ("read", "where")}
    empty = ["d2", "d7"]  # in CSV these texts are empty, which is a text
    assert by_stage == (
        {"read": [], "where": ["d0", "d2", "d3", "d6", "d7"]}
        if suffix == "csv"
        else {"read": empty, "where": ["d0", "d3", "d6"]}
    )
    assert stream.inputs[0].rows == 9

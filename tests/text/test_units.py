"""Documents to units: where paragraphs and chunks end, the rows they become, and the columns these have."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.sentences import Unit, chunk_spans, paragraph_spans, parse_unit, split_texts, unit_batch, unit_schema
from tests.refusals import refuses
from tests.strategies import corpora, repeatable

UNITS = [Unit("document"), Unit("paragraph"), Unit("sentence"), Unit("chunk", 1), Unit("chunk", 3)]


def paragraphs(text: str) -> list[str]:
    return [text[start:end] for start, end in paragraph_spans(text)]


def chunks(text: str, size: int) -> list[str]:
    return [text[start:end] for start, end in chunk_spans(text, size)]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("document", Unit("document")),
        (" Sentence ", Unit("sentence")),
        ("paragraph", Unit("paragraph")),
        ("chunk:200", Unit("chunk", 200)),
    ],
)
def test_parse(text: str, unit: Unit) -> None:
    assert parse_unit(text) == unit
    assert parse_unit(str(unit)) == unit


@pytest.mark.parametrize(
    "text",
    ["", "word", "sentence:2", "chunk", "chunk:", "chunk:0", "chunk:-3", "chunk:2.5", "chunk:²", "chunk:9999999"],
)
def test_parse_says_what_to_give(text: str) -> None:
    with refuses("unit"):
        parse_unit(text)


LONG = "a line that is longer than any line that was ever broken to fit the width of a page or the screen of a mail program, really"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo\n\nthree", ["one\ntwo", "three"]),
        ("one\r\ntwo\r\n \t\r\nthree\r\n", ["one\r\ntwo", "three"]),
        ("\n\n one \n\n\n\u3000\ntwo ", ["one", "two"]),
        ("one\ftwo\u2029three", ["one", "two", "three"]),
        ("one\ntwo", ["one\ntwo"]),
        (f"Title\n{LONG}\nend", ["Title", LONG, "end"]),
        (f"one\n{LONG}\n\nend", [f"one\n{LONG}", "end"]),
        ("one\ntwo\n    three\nfour\n\u3000five", ["one\ntwo", "three\nfour", "five"]),
        ("a table\n  of two\n  rows", ["a table", "of two\n  rows"]),
        ("one<br /><br/>two<BR>three", ["one<br /><br/>", "two<BR>three"]),
        ("<p>one</p>\n<p class='x'>two<p>three", ["<p>one</p>", "<p class='x'>two", "<p>three"]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_paragraphs(text: str, expected: list[str]) -> None:
    assert paragraphs(text) == expected


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("a b c d e f", 2, ["a b", "c d", "e f"]),
        (" a  b\nc\td ", 2, ["a  b", "c\td"]),
        ("a b c d e", 4, ["a b c d e"]),  # a rest of 1 < 4 / 2
        ("a b c d e f", 4, ["a b c d", "e f"]),  # a rest of 2
        ("a b c d e f g", 3, ["a b c", "d e f g"]),
        ("a b", 5, ["a b"]),
        ("don't stop-this, now.", 1, ["don't", "stop-this,", "now."]),
        ("今日は晴れ", 2, ["今日", "は晴", "れ"]),
        ("我用Python3写，「好」吗。", 3, ["我用Python3", "写，「好」吗。"]),
        ("ไทย", 2, ["ไท", "ย"]),
        ("", 3, []),
    ],
)
def test_chunks(text: str, size: int, expected: list[str]) -> None:
    assert chunks(text, size) == expected


def test_split_by_hand() -> None:
    split = split_texts(pa.array(["One. Two.", None, " ", "Three"]), Unit("sentence"))
    assert split.texts.to_pylist() == ["One.", "Two.", "", "", "Three"]
    assert (split.parents.tolist(), split.numbers.tolist()) == ([0, 0, 1, 2, 3], [0, 1, 0, 0, 0])
    assert (split.starts.tolist(), split.ends.tolist()) == ([0, 5, 0, 0, 0], [4, 9, 0, 0, 5])
    assert (split.parents.dtype, split.numbers.dtype, split.starts.dtype) == (np.int64, np.int32, np.int64)
    assert split.texts.type == pa.large_string()


def test_the_language_is_told() -> None:
    texts_ = pa.array(["Poi, ad es. Verdi."])
    assert len(split_texts(texts_, Unit("sentence")).texts) == 2
    assert len(split_texts(texts_, Unit("sentence"), "it").texts) == 1


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_no_rows_and_slices(kind: pa.DataType, unit: Unit) -> None:
    assert len(split_texts(pa.array([], kind), unit).texts) == 0
    part = pa.array(["no", "one", "two"], kind).slice(1)
    assert split_texts(part, unit).texts.to_pylist() == ["one", "two"]


@repeatable
@given(corpora(), st.sampled_from(UNITS))
def test_units_are_slices_in_order_that_lose_nothing(documents: list[str | None], unit: Unit) -> None:
    split = split_texts(pa.array(documents, pa.string()), unit)
    assert np.unique(split.parents).tolist() == list(range(len(documents)))
    slices = split.texts.to_pylist()
    for row, document in enumerate(documents):
        text = document or ""
        own = np.flatnonzero(split.parents == row)
        assert split.numbers[own].tolist() == list(range(len(own)))
        at = 0
        for u in own:
            start, end = int(split.starts[u]), int(split.ends[u])
            assert start >= at
            assert slices[u] == text[start:end]
            assert text[at:start].strip() == ""
            at = end
        assert text[at:].strip() == ""
        assert len(own) == 1 or "" not in [slices[u] for u in own]


@repeatable
@given(st.text(alphabet="ab, \n今日", max_size=60), st.integers(1, 6))
def test_chunks_have_half_to_one_and_a_half_times_the_words(text: str, size: int) -> None:
    def count(piece: str) -> int:
        return len(re.findall("[今日],*|[ab,]+", piece))

    counts = [count(chunk) for chunk in chunks(text, size)]
    assert all(n == size for n in counts[:-1])
    assert sum(counts) == count(text)
    if len(counts) > 1:
        assert size / 2 <= counts[-1] < 1.5 * size


SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("text", pa.large_string()),
        ("label", pa.string()),
        ("tokens", pa.list_(pa.string())),
        ("embedding", pa.list_(pa.float32(), 2)),
        ("tags", pa.list_(pa.string())),
    ],
    metadata={"k": "v"},
)
ROWS = [
    {"id": "a", "text": "One. Two.", "label": "x", "tokens": ["one"], "embedding": [1.0, 0.0], "tags": ["p", "q"]},
    {"id": "b", "text": "", "label": None, "tokens": [], "embedding": [0.0, 1.0], "tags": []},
]


def test_rows_of_units() -> None:
    batch = pa.RecordBatch.from_pylist(ROWS, SCHEMA)
    units = unit_batch(batch, Unit("sentence"))
    assert units.schema.equals(unit_schema(SCHEMA), check_metadata=True)
    assert units.to_pylist() == [
        {"id": "a#0", "parent_id": "a", "unit_number": 0, "text": "One.", "label": "x", "tags": ["p", "q"]},
        {"id": "a#1", "parent_id": "a", "unit_number": 1, "text": "Two.", "label": "x", "tags": ["p", "q"]},
        {"id": "b#0", "parent_id": "b", "unit_number": 0, "text": "", "label": None, "tags": []},
    ]
    assert batch.to_pylist() == ROWS


def test_units_of_units_know_their_direct_parent() -> None:
    batch = pa.RecordBatch.from_pylist(
        [{"id": "a", "text": "One. Two.\n\nThree."}], pa.schema([("id", pa.string()), ("text", pa.large_string())])
    )
    again = unit_batch(unit_batch(batch, Unit("paragraph")), Unit("sentence"))
    assert again.schema.names == ["id", "parent_id", "unit_number", "text"]
    assert [(r["id"], r["parent_id"], r["unit_number"]) for r in again.to_pylist()] == [
        ("a#0#0", "a#0", 0), ("a#0#1", "a#0", 1), ("a#1#0", "a#1", 0),
    ]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_no_rows(unit: Unit) -> None:
    units = unit_batch(pa.RecordBatch.from_pylist([], SCHEMA), unit)
    assert units.num_rows == 0
    assert units.schema.equals(unit_schema(SCHEMA))


@repeatable
@given(st.lists(st.sampled_from(["a", "b", "a#0", "a#1", "#", "1"]), unique=True), st.sampled_from(UNITS))
def test_ids_stay_unique(ids: list[str], unit: Unit) -> None:
    batch = pa.record_batch({"id": pa.array(ids, pa.string()), "text": pa.array(["One. Two."] * len(ids), pa.string())})
    new = unit_batch(batch, unit).column("id").to_pylist()
    assert len(set(new)) == len(new)

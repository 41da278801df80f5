"""Files of Stata, SPSS and R: labels in place of codes, whole numbers and days as such."""

from __future__ import annotations

import gzip
import logging
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.runs.plain_tables import arrow_table, read_rows
from nlpkit.platform.runs.statistics_tables import valid_names
from nlpkit.platform.runs.tables import save_table, table_sink

pyreadstat = pytest.importorskip("pyreadstat")
rdata = pytest.importorskip("rdata")
pd = pytest.importorskip("pandas")

FRAME = pd.DataFrame(
    {
        "answer": ["more jobs, not", "less tax", ""],
        "party": [1.0, 2.0, float("nan")],
        "scale": [1.0, 4.0, 7.0],
        "weight": [0.5, 1.0, 2.0],
        "day": pd.to_datetime(["2024-01-01", "2024-02-01", None]),
    }
)
LABELS = {"party": {1: "Left", 2: "Right"}, "scale": {1: "never", 7: "always"}}


def rows_of(path: Path, **settings: Any) -> list[dict[str, Any]]:
    return open_documents([str(path)], ReadOptions(**{"text_col": "answer", **settings})).read_all().to_pylist()


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".por", ".zsav"])
def test_surveys(suffix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / f"survey{suffix}"
    write = {".dta": pyreadstat.write_dta, ".por": pyreadstat.write_por}.get(suffix, pyreadstat.write_sav)
    labels = {} if suffix == ".por" else {"variable_value_labels": LABELS}
    if suffix == ".dta":  # Stata has labels for whole numbers alone
        write(FRAME.astype({"scale": int}), path, variable_value_labels={"scale": LABELS["scale"]})
    else:
        write(FRAME, path, **labels)
    with caplog.at_level(logging.WARNING):
        rows = rows_of(path, text_col="ANSWER" if suffix == ".por" else "answer")
    assert [row["text"] for row in rows] == ["more jobs, not", "less tax", ""]
    row = {name.lower(): value for name, value in rows[0].items()}
    assert (row["day"], row["weight"], row["scale"]) == (date(2024, 1, 1), 0.5, 1)
    assert row["party"] == ("Left" if suffix in (".sav", ".zsav") else 1)
    assert suffix == ".por" or "column 'scale' keeps its codes" in caplog.text


def test_a_packed_survey_and_a_broken_one(tmp_path: Path) -> None:
    pyreadstat.write_sav(FRAME, tmp_path / "a.sav", variable_value_labels=LABELS)
    (tmp_path / "b.sav.gz").write_bytes(gzip.compress((tmp_path / "a.sav").read_bytes()))
    assert [row["party"] for row in rows_of(tmp_path / "b.sav.gz")] == ["Left", "Right", None]
    for name in ("x.dta", "x.sav", "x.sas7bdat", "x.rds", "x.RData"):
        (tmp_path / name).write_bytes(b"nothing of this kind")
        with pytest.raises(InputError, match=f"{name}: not a readable file"):
            rows_of(tmp_path / name)


def test_data_frames_of_r(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "answer": pd.Series(["one", None], dtype=object),
            "party": pd.Categorical(["R", "D"]),
            "n": [1.0, 2.0],
            "share": [0.5, float("nan")],
        }
    )
    rdata.write_rds(tmp_path / "a.rds", frame)
    rdata.write_rda(tmp_path / "b.RData", {"first": frame, "second": frame.head(1), "other": "x"})
    expected = {"text": "one", "party": "R", "n": 1, "share": 0.5}
    (row,) = rows_of(tmp_path / "a.rds")
    assert {name: row[name] for name in expected} == expected
    with pytest.raises(
        InputError, match="one data frame or matrix of counts is needed, it has first, second; name one with `sheet`"
    ):
        rows_of(tmp_path / "b.RData")
    assert len(rows_of(tmp_path / "b.RData", sheet="second")) == 1
    with pytest.raises(InputError, match="no data frame or matrix 'third'"):
        rows_of(tmp_path / "b.RData", sheet="third")
    rdata.write_rds(tmp_path / "c.rds", ["a", "b"])
    with pytest.raises(InputError, match="it has none"):
        rows_of(tmp_path / "c.rds")


@pytest.mark.parametrize("format", ["dta", "sav"])
def test_labels_of_codes_survive_a_round_trip(format: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Codes came back as texts, and what a question had asked was lost."""
    frame = FRAME.assign(twice=["a", "b", "b"])
    pyreadstat.write_sav(
        frame, tmp_path / "in.sav", variable_value_labels=LABELS, column_labels={"party": "Whom would you vote for?"}
    )
    with open_documents([str(tmp_path / "in.sav")], ReadOptions(text_col="answer")) as stream:
        table = stream.read_all()
    target = tmp_path / f"out.{format}"
    save_table(target, table, {}, force=False)
    read, about = getattr(pyreadstat, f"read_{format}")(target)
    assert [None if pd.isna(x) else x for x in read["party"]] == [1.0, 2.0, None]
    assert about.variable_value_labels == LABELS
    assert about.column_names_to_labels["party"] == "Whom would you vote for?"
    with open_documents([str(target)], ReadOptions()) as stream:
        again = stream.read_all()
    assert again.column("party").to_pylist() == ["Left", "Right", None]
    assert again.column("scale").to_pylist() == [1, 4, 7]
    assert again.column("day").to_pylist() == [date(2024, 1, 1), date(2024, 2, 1), None]
    first = target.read_bytes()
    time.sleep(1.1)
    save_table(target, table, {}, force=True)
    assert target.read_bytes() == first  # no time of writing in it

    other = table.set_column(
        table.schema.get_field_index("party"), table.schema.field("party"), pa.array(["Left", "Centre", None])
    )
    save_table(target, other, {}, force=True)
    assert "column 'party' is written without the labels of its values" in caplog.text
    assert getattr(pyreadstat, f"read_{format}")(target)[0]["party"].tolist() == ["Left", "Centre", ""]


@pytest.mark.parametrize("format", ["dta", "sav"])
def test_what_stata_and_spss_do_not_hold(format: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = pa.table(
        {
            "Party name": ["a", None],
            "Party_name": ["b", "c"],
            "tokens": pa.array([["x", "y"], []], pa.list_(pa.string())),
            "with": [True, None],
            "n": pa.array([2**60, -1]),
            "share": [float("inf"), 0.5],
            "text": ["a\0b", "ü" * 3000],
            "when": pa.array([-(10**6), 0], pa.date32()),
            "ü" * 40: [1, 2],
            "ü" * 41: [1, 2],
            "moment": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None]),
            "kind": pa.array(["p", "q"]).dictionary_encode(),
        }
    )
    target = tmp_path / f"out.{format}"
    with caplog.at_level(logging.INFO):
        save_table(target, table, {}, force=False)
    read, about = getattr(pyreadstat, f"read_{format}")(target)
    names = list(read.columns)
    assert names[:4] == ["Party_name_2", "Party_name", "tokens", "v_with"]
    assert about.column_names_to_labels["Party_name_2"] == "Party name"
    assert len(set(names)) == len(names) == len(table.column_names)
    rows = read.to_dict("list")
    assert rows["tokens"] == ['["x", "y"]', "[]"]
    assert [None if pd.isna(x) else x for x in rows["v_with"]] == [1, None]
    assert rows["n"] == [str(2**60), "-1"]
    assert pd.isna(rows["share"][0])
    assert rows["text"] == ["a\ufffdb", "ü" * 3000]
    assert rows["when"] == ["-0768-02-04", "1970-01-01"]
    assert rows["kind"] == ["p", "q"]
    for part in (
        "infinite numbers; left missing: 1 value",
        "U+0000 is written as U+FFFD in 1 text",
        "lists are written as JSON",
    ):
        assert part in caplog.text
    assert arrow_table(target).column("tokens").to_pylist() == [["x", "y"], []]
    assert read_rows(target).columns["Party_name"] == ["b", "c"]
    save_table(tmp_path / f"none.{format}", table.slice(0, 0), {}, force=False)
    assert arrow_table(tmp_path / f"none.{format}").num_rows == 0


def test_batches_with_codes_and_embeddings(tmp_path: Path) -> None:
    """Batches of tf-idf weights have codes where the schema has strings, other ones in each batch."""
    schema = pa.schema([("term", pa.string()), ("embedding", pa.list_(pa.float32()))])
    with table_sink(tmp_path / "a.dta", schema, {}, force=False) as sink:
        for terms in (["b", "a"], ["c"]):
            coded = pa.array(terms).dictionary_encode()
            sink.write(pa.RecordBatch.from_arrays([coded, pa.array([[0.5, 1]] * len(terms))], ["term", "embedding"]))
    assert arrow_table(tmp_path / "a.dta").to_pydict() == {"term": ["b", "a", "c"], "embedding": [[0.5, 1.0]] * 3}


def test_a_text_that_is_too_long_for_spss(tmp_path: Path) -> None:
    table = pa.table({"text": ["a", "ü" * 16_384]})
    with pytest.raises(UsageError, match="a text of SPSS holds 32,767 bytes, and row 2 has more in column 'text'"):
        save_table(tmp_path / "a.sav", table, {}, force=False)
    assert not (tmp_path / "a.sav").exists()
    save_table(tmp_path / "a.dta", table, {}, force=False)
    assert pyreadstat.read_dta(tmp_path / "a.dta")[0]["text"].tolist() == table.column("text").to_pylist()


def test_names_of_variables() -> None:
    assert valid_names(["Text", "text", "1st", "_x", "and", "int"], "sav") == {
        "Text": "Text", "text": "text_2", "1st": "v_1st", "_x": "v_x", "and": "v_and", "int": "int",
    }  # fmt: skip
    assert valid_names(["Text", "text", "_x", "int", "str8", ""], "dta") == {
        "Text": "Text", "text": "text", "_x": "_x", "int": "v_int", "str8": "v_str8", "": "v",
    }  # fmt: skip


def _of_r(values: Any, attributes: Any = None) -> Any:
    """Return the constructor of rdata for a class, as the reader hands it over."""
    from nlpkit.platform.documents.readers import r_files

    return r_files._corpus(values, attributes or {})


def test_a_corpus_of_quanteda_is_its_texts_with_names_and_variables() -> None:
    variables = pd.DataFrame({"docname_": ["a", "b"], "segid_": [1, 1], "party": ["L", "R"]})
    frame = _of_r(["more jobs", "less tax"], {"docvars": variables})
    assert frame.to_dict("list") == {"id": ["a", "b"], "text": ["more jobs", "less tax"], "party": ["L", "R"]}
    assert _of_r(["more jobs"]).to_dict("list") == {"text": ["more jobs"]}


def test_a_list_column_of_single_values_holds_the_values() -> None:
    import numpy as np

    from nlpkit.platform.documents.readers.r_files import _cells

    assert _cells([np.array(["a"]), np.array(["b"])]) == ["a", "b"]
    assert _cells([["a"], ["b", "c"]]) == [["a"], ["b", "c"]]


def test_texts_of_r_in_two_encodings_under_a_mark_that_is_wrong() -> None:
    import codecs

    from nlpkit.platform.documents.readers.r_files import _in_any_encoding

    def reader(default_encoding: str, *, force_default_encoding: bool = False) -> list[str]:
        marked = default_encoding if force_default_encoding else "ascii"
        return [content.decode(marked) for content in (b"caf\xc3\xa9", b"caf\xe9", b"tea")]

    assert _in_any_encoding(reader) == ["café", "café", "tea"]
    with pytest.raises(LookupError):
        codecs.lookup("nlpkit_mixed")


# saveRDS(x, ascii = TRUE, compress = FALSE), a blank for each line: words a, b, c of the documents x and y
COUNTS = (
    "A 3 262658 197888 5 UTF-8 525 6 1 2 0 0 3 1 1026 1 262153 3 dim 13 2 3 2 1026 1 262153 8 dimnames 531 2 16 3 "
    "262153 1 a 262153 1 b 262153 1 c 16 2 262153 1 x 262153 1 y 1026 1 262153 5 names 16 2 262153 5 words 262153 4 "
    "docs 254 254 "
)
DFM = (
    "A 3 262658 197888 5 UTF-8 66329 1026 1 262153 1 i 13 4 0 0 1 1 1026 1 262153 1 p 13 4 0 1 3 4 1026 1 262153 3 "
    "Dim 13 2 2 3 1026 1 262153 8 Dimnames 531 2 16 2 262153 1 x 262153 1 y 16 3 262153 1 a 262153 1 b 262153 1 c "
    "1026 1 262153 5 names 16 2 262153 4 docs 262153 8 features 254 1026 1 262153 1 x 14 4 1 2 3 1 1026 1 262153 7 "
    "docvars 787 4 16 2 262153 1 x 262153 1 y 781 2 1 2 1026 1 262153 6 levels 16 2 262153 1 x 262153 1 y 1026 1 "
    "262153 5 class 16 1 262153 6 factor 254 13 2 1 1 16 2 262153 1 L 262153 1 R 1026 1535 16 4 262153 8 docname_ "
    "262153 6 docid_ 262153 6 segid_ 262153 5 party 1026 2559 16 1 262153 10 data.frame 1026 1 262153 9 row.names "
    "13 2 NA -2 254 1026 1 262153 7 factors 19 0 1026 1 262153 4 meta 19 0 1026 2559 528 1 262153 3 dfm 1026 1 "
    "262153 7 package 16 1 262153 10 .GlobalEnv 254 254 "
)


def stored(path: Path, content: str) -> Path:
    path.write_text("\n".join(content.split()) + "\n", encoding="ascii", newline="\n")
    return path


def test_counts_of_r_are_documents_with_their_words(tmp_path: Path) -> None:
    expected = [("x", "a b b", ["a", "b", "b"]), ("y", "b b b c", ["b", "b", "b", "c"])]
    for content in (COUNTS, DFM, COUNTS.replace("5 words", "8 features").replace("4 docs", "9 documents")):
        rows = rows_of(stored(tmp_path / "a.rds", content), text_col="text")
        assert [(row["id"], row["text"], list(row["tokens"])) for row in rows] == expected
        assert [row.get("party") for row in rows] == (["L", "R"] if content is DFM else [None, None])


def test_a_matrix_of_r_that_holds_no_counts(tmp_path: Path) -> None:
    faults = {
        "525 6 1 2 0": "525 6 1 -2 0",
        "6 1 2 0 0 3 1": "6 1 NA 0 0 3 1",
        "525 6 1 2 0 0 3 1": "526 6 1 2 0 0 3 1.5",
    }
    for old, new in faults.items():
        assert old in COUNTS
        with pytest.raises(InputError, match=r"a\.rds: the matrix holds other values than counts"):
            rows_of(stored(tmp_path / "a.rds", COUNTS.replace(old, new)), text_col="text")
    unnamed = COUNTS.replace("5 words 262153 4 docs", "5 words 262153 4 rows")
    with pytest.raises(InputError, match="not known whether rows or columns of the matrix are documents"):
        rows_of(stored(tmp_path / "a.rds", unnamed), text_col="text")

"""Files of Stata, SPSS and R: labels in place of codes, whole numbers and days as such."""

from __future__ import annotations

import gzip
import logging
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from nlpkit.errors import InputError
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.options import ReadOptions

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
    with pytest.raises(InputError, match="one data frame is needed, it has first, second; name one with `sheet`"):
        rows_of(tmp_path / "b.RData")
    assert len(rows_of(tmp_path / "b.RData", sheet="second")) == 1
    with pytest.raises(InputError, match="no data frame 'third'"):
        rows_of(tmp_path / "b.RData", sheet="third")
    rdata.write_rds(tmp_path / "c.rds", ["a", "b"])
    with pytest.raises(InputError, match="it has none"):
        rows_of(tmp_path / "c.rds")


def _of_r(values: Any, attributes: Any = None) -> Any:
    """Return the constructor of rdata for a class, as the reader hands it over."""
    from nlpkit.platform.documents.readers import workbooks

    return workbooks._corpus(values, attributes or {})


def test_a_corpus_of_quanteda_is_its_texts_with_names_and_variables() -> None:
    variables = pd.DataFrame({"docname_": ["a", "b"], "segid_": [1, 1], "party": ["L", "R"]})
    frame = _of_r(["more jobs", "less tax"], {"docvars": variables})
    assert frame.to_dict("list") == {"id": ["a", "b"], "text": ["more jobs", "less tax"], "party": ["L", "R"]}
    assert _of_r(["more jobs"]).to_dict("list") == {"text": ["more jobs"]}


def test_a_list_column_of_single_values_holds_the_values() -> None:
    import numpy as np

    from nlpkit.platform.documents.readers.workbooks import _cells

    assert _cells([np.array(["a"]), np.array(["b"])]) == ["a", "b"]
    assert _cells([["a"], ["b", "c"]]) == [["a"], ["b", "c"]]


def test_texts_of_r_in_two_encodings_under_a_mark_that_is_wrong() -> None:
    import codecs

    from nlpkit.platform.documents.readers.workbooks import _in_any_encoding

    def reader(default_encoding: str, *, force_default_encoding: bool = False) -> list[str]:
        marked = default_encoding if force_default_encoding else "ascii"
        return [content.decode(marked) for content in (b"caf\xc3\xa9", b"caf\xe9", b"tea")]

    assert _in_any_encoding(reader) == ["café", "café", "tea"]
    with pytest.raises(LookupError):
        codecs.lookup("nlpkit_mixed")

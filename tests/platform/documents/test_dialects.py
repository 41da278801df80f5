"""Delimited files and workbooks as people have them: no header, titles and comments above it, other marks, a text under another name."""

from __future__ import annotations

import csv
import logging
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.options import ReadOptions


def rows_of(folder: Path, content: str, name: str = "x.csv", **settings: Any) -> list[dict[str, Any]]:
    """The documents of a file without their ids."""
    path = folder / name
    path.write_text(content, encoding="utf-8")
    rows = open_documents([str(path)], ReadOptions(**settings)).read_all().to_pylist()
    return [{key: value for key, value in row.items() if key != "id"} for row in rows]


def test_a_file_without_a_header_has_numbered_columns(tmp_path: Path) -> None:
    content = "ham\tgo until jurong point\nspam\tfree entry in a weekly comp\n"
    rows = rows_of(tmp_path, content, "x.tsv", header=False, text_col="column_2", label_col="column_1")
    assert [(row["label"], row["text"]) for row in rows] == [
        ("ham", "go until jurong point"),
        ("spam", "free entry in a weekly comp"),
    ]


def test_a_row_that_equals_the_first_one_is_a_document_where_there_is_no_header(tmp_path: Path) -> None:
    assert len(rows_of(tmp_path, "a,b c\na,b c\n", header=False, text_col="column_2")) == 2


@pytest.mark.parametrize(
    "above",
    ["# exported by me\n# 2024-01-01, 12:00, x, y\n", "Survey of 2024\n\n", "Survey of 2024,,\n,,\n", "sep=,\n"],
    ids=["comments", "title", "padded title", "sep"],
)
def test_lines_above_the_header_are_left_out(above: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = rows_of(tmp_path, f"{above}id,text,n\n1,one text,3\n2,another one,4\n")
    assert rows == [{"text": "one text", "n": "3"}, {"text": "another one", "n": "4"}]
    assert above.startswith("sep") or "above the header left out" in caplog.text


def test_a_header_that_begins_with_a_mark_of_comments_is_a_header(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "#n,text\n1,one text\n2,another\n") == [
        {"#n": "1", "text": "one text"},
        {"#n": "2", "text": "another"},
    ]


def test_texts_that_begin_with_a_mark_of_comments_are_texts(tmp_path: Path) -> None:
    assert [row["text"] for row in rows_of(tmp_path, "text\n#one\n#two\n")] == ["#one", "#two"]


def test_rows_to_skip_are_lines_of_the_file(tmp_path: Path) -> None:
    content = "made by us, and others\nx,y,z\ntext,n\none,1\n"
    assert rows_of(tmp_path, content, skip_rows=2) == [{"text": "one", "n": "1"}]
    with pytest.raises(InputError, match=r"x\.csv:4: 3 fields"):
        rows_of(tmp_path, "a\nb\ntext,n\none,1,2\n", skip_rows=2)


def test_the_names_of_rows_of_r_are_a_column(tmp_path: Path) -> None:
    content = '"text" "label"\n"1" "good one" "pos"\n"2" "bad one" "neg"\n'
    rows = rows_of(tmp_path, content, delimiter=" ")
    assert rows == [
        {"column_1": "1", "text": "good one", "label": "pos"},
        {"column_1": "2", "text": "bad one", "label": "neg"},
    ]


@pytest.mark.parametrize("delimiter", ["tab", "\\t", "\t", "¦", "~"])
def test_delimiter(delimiter: str, tmp_path: Path) -> None:
    mark = "\t" if delimiter in ("tab", "\\t") else delimiter
    content = f'text{mark}n\n"one, two"{mark}1\n'
    assert rows_of(tmp_path, content, delimiter=delimiter) == [{"text": "one, two", "n": "1"}]


def test_quoting_and_escapes_that_are_named(tmp_path: Path) -> None:
    assert rows_of(tmp_path, 'text,n\n"one",1\n', quoting="none") == [{"text": '"one"', "n": "1"}]
    lone = 'text\tn\n"one\t1\ntwo"\t2\n'
    assert len(rows_of(tmp_path, lone, "x.tsv")) == 2
    assert [row["text"] for row in rows_of(tmp_path, 'text,n\n"one\n2",1\n', quoting="all")] == ["one\n2"]
    escaped = 'text,n\n"say \\"no\\", please",1\ntwo\\, three,2\n'
    assert [row["text"] for row in rows_of(tmp_path, escaped, escape="\\")] == ['say "no", please', "two, three"]
    with pytest.raises(InputError, match="closing mark"):
        rows_of(tmp_path, 'text,n\n"a" b,1\n', quoting="all")


def test_numbers_with_a_decimal_comma(tmp_path: Path) -> None:
    content = "text;n;day\n1,5 liters of milk;1.234,50;24.12.2024\n1,5;-0,5;1.2.2024\n3;;2024\n"
    rows = rows_of(tmp_path, content, decimal=",", thousands=".", types=["n=float"])
    assert [row["n"] for row in rows] == [1234.5, -0.5, None]
    assert [row["text"] for row in rows] == ["1,5 liters of milk", "1,5", "3"]
    assert [row["day"] for row in rows] == ["24.12.2024", "1.2.2024", "2024"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delimiter": "::"}, "one character"),
        ({"delimiter": '"'}, "one character"),
        ({"escape": ""}, "one character"),
        ({"decimal": ",", "thousands": ","}, "decimal mark"),
        ({"quoting": "some"}, "quoting"),
        ({"skip_rows": -1}, "skip_rows"),
    ],
)
def test_marks_that_cannot_be(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        rows_of(tmp_path, "text,n\na,1\n", **settings)


# ---------------------------------------------------------------- the text under another name

LONG = "This is a review with several words in it, number {}."


def test_the_column_with_sentences_is_the_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    head = "nr,when,url,kind,review\n"
    body = "".join(
        f'{i},Mon Apr 06 22:19:4{i} PDT 2009,https://x.y/{i},k{i % 2},"{LONG.format(i)}"\n' for i in range(6)
    )
    with caplog.at_level(logging.WARNING):
        rows = rows_of(tmp_path, head + body)
    assert rows[2]["text"] == LONG.format(2)
    assert "the text is column 'review' (on average 11 words)" in caplog.text


def test_the_far_longer_of_two_columns_is_the_text(tmp_path: Path) -> None:
    body = "".join(f'A short title of {i},"{" ".join([LONG.format(i)] * 4)}"\n' for i in range(6))
    assert rows_of(tmp_path, f"title,body\n{body}")[0]["title"] == "A short title of 0"


def test_two_columns_of_sentences_are_listed(tmp_path: Path) -> None:
    body = "".join(f'"{LONG.format(i)}","{LONG.format(i)} Yes."\n' for i in range(6))
    with pytest.raises(InputError, match=r"answer \(12 words\), question \(11 words\)"):
        rows_of(tmp_path, f"question,answer\n{body}")


def test_the_only_column_of_texts_is_the_text(tmp_path: Path) -> None:
    assert [row["text"] for row in rows_of(tmp_path, "query,intent\nlost card,a\nnew pin,b\nold app,a\nno pin,b\n")] == [
        "lost card", "new pin", "old app", "no pin",
    ]  # fmt: skip


def test_no_column_is_taken_where_none_can_be_the_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'text'"):
        rows_of(tmp_path, "kind,n\na,1\na,2\nb,3\nb,4\n")
    with pytest.raises(InputError, match="no column 'txt'"):
        rows_of(tmp_path, f"review,n\n{LONG.format(1)},1\n".replace(", number", " number"), text_col="txt")


def test_languages_without_blanks_have_words_too(tmp_path: Path) -> None:
    body = "".join(f"标题{i},味道很好而且送餐很快下次还会再来第{i}次\n" for i in range(6))
    assert rows_of(tmp_path, f"title,review\n{body}")[3]["text"].startswith("味道")


def test_parquet_and_frames_find_their_text_too(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from nlpkit import Corpus

    table = pa.table({"n": [1, 2], "body": [LONG.format(1), LONG.format(2)]})
    pq.write_table(table, tmp_path / "x.parquet")
    assert open_documents([str(tmp_path / "x.parquet")]).read_all().column("text").to_pylist()[1] == LONG.format(2)
    assert Corpus.from_frame(table).table().column("text").to_pylist()[0] == LONG.format(1)


# ---------------------------------------------------------------- workbooks


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> str:
    """Write a workbook."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return str(path)


def test_titles_above_the_header_of_a_sheet_and_sheets_by_name(tmp_path: Path) -> None:
    rows = [["Survey 2024"], [], ["id", "text", "n"], ["a", "one", 1], ["b", "two", 2]]
    path = workbook(tmp_path / "x.xlsx", {"About": [["text"], ["nothing"]], "Answers": rows})
    for sheet in ("Answers", "2"):
        table = open_documents([path], ReadOptions(sheet=sheet)).read_all()
        assert table.column("text").to_pylist() == ["one", "two"]
        assert table.column("n").to_pylist() == [1, 2]
    assert open_documents([path]).read_all().column("text").to_pylist() == ["nothing"]
    with pytest.raises(InputError, match=r"no sheet 'Replies' \(it has 'About', 'Answers'\)"):
        open_documents([path], ReadOptions(sheet="Replies")).read_all()


def test_a_column_can_be_one_of_dates(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, 'text,day\na,1. März 2024\nb,\nc,24.12.2023\nd,"2008-07-03 10:00"\n', types=["day=date"])
    assert [row["day"] for row in rows] == [date(2024, 3, 1), None, date(2023, 12, 24), date(2008, 7, 3)]
    with pytest.raises(
        InputError, match=r"x\.csv:2: column 'day' should be date \(`types`\), but is \"03/04/2024\" here"
    ):
        rows_of(tmp_path, "text,day\na,03/04/2024\n", types=["day=date"])


def test_options_that_no_input_has_a_use_for_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert rows_of(tmp_path, '{"text": "a"}\n', "x.jsonl", delimiter=";", sheet="2") == [{"text": "a"}]
    assert "`delimiter` changes nothing: it is for csv, tsv" in caplog.text
    assert "`sheet` changes nothing" in caplog.text
    caplog.clear()
    rows_of(tmp_path, "text;n\na;1\n", delimiter=";")
    assert "changes nothing" not in caplog.text


def test_hidden_rows_columns_and_sheets_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They are documents like the others, and whoever looks at the workbook does not see them."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["id", "text", "note"])
    for number in range(4):
        sheet.append([f"d{number}", f"text {number}", "x"])
    book.save(tmp_path / "plain.xlsx")
    assert len(open_documents([str(tmp_path / "plain.xlsx")], ReadOptions()).read_all()) == 4
    assert "hidden" not in caplog.text
    sheet.row_dimensions[3].hidden = sheet.row_dimensions[5].hidden = True
    sheet.row_dimensions[90].hidden = True  # nothing is there
    sheet.column_dimensions["C"].hidden = sheet.column_dimensions["K"].hidden = True
    other = book.create_sheet("codes")
    other.append(["id", "text"])
    other.append(["s", "secret"])
    other.sheet_state = "hidden"
    book.save(tmp_path / "x.xlsx")
    assert len(open_documents([str(tmp_path / "x.xlsx")], ReadOptions()).read_all()) == 4
    assert "hidden in the workbook, but read: 2 rows, such as row 3; 1 column (note)" in caplog.text
    assert "not 'codes' (hidden)" in caplog.text
    assert len(open_documents([str(tmp_path / "x.xlsx")], ReadOptions(sheet="codes")).read_all()) == 1
    assert "the sheet 'codes', which is read, is hidden in the workbook" in caplog.text


@pytest.mark.parametrize(
    ("content", "name", "line"),
    [
        ("id,text,n\n1,one text,3\n", "x.csv", ""),
        ("id\ttext\n1\tone text\n", "x.tsv", ""),
        ("id;text\n1;one text\n", "x.csv", "delimiter semicolon, quotation marks doubled, header in the first line"),
        ("id;text;n\n1;one text;2\n2;b c;1.200,5\n", "x.csv", "decimal mark . (but 1.200,5 in the file: `decimal=,`)"),
        ("a title\nid,text\n1,one text\n2,another\n", "x.csv", "1 line above the header, encoding utf-8"),
    ],
)
def test_what_is_unlike_a_usual_file_is_one_line(
    content: str, name: str, line: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        rows_of(tmp_path, content, name)
        lines = [record.message for record in caplog.records if "decimal mark" in record.message]
        assert (len(lines), line in "".join(lines)) == (bool(line), True)
        caplog.clear()
        for number in range(3):
            (tmp_path / f"{number}{name}").write_text(content, encoding="utf-8")
        open_documents([str(tmp_path / f"{number}{name}") for number in range(3)], ReadOptions(id_col="none"))
    assert sum("decimal mark" in record.message for record in caplog.records) == bool(line)
    assert not line or "and 2 files like it" in caplog.text


def test_letters_that_were_lost_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    long = "ö" * 600_000  # over the border of a piece
    rows_of(tmp_path, "id,text\n" + "".join(f"{n},{long}\ufffd{'，' * n}\ufffd\n" for n in range(3)))
    assert "6 U+FFFD in the texts, each for a letter that was lost before" in caplog.text
    caplog.clear()
    (tmp_path / "x.jsonl").write_text('{"text": "a\\u0000b"}\n{"text": "c\\ufffd"}\n', encoding="utf-8")
    open_documents([str(tmp_path / "x.jsonl")], ReadOptions()).read_all()
    assert "1 U+0000 and 1 U+FFFD in the texts" in caplog.text
    caplog.clear()
    rows_of(tmp_path, "id,text\n1,plain text\n")
    assert "U+" not in caplog.text


ANSWERS = ("I worry about jobs and wages in my town", "People should be welcome in this country")
WHY = "Why did you answer as you did?"


@pytest.mark.parametrize(
    "content",
    [
        f"Castle 1,{WHY}\n100,{ANSWERS[0]}\n52,{ANSWERS[1]}\n",  # letters over numbers
        f"Timestamp,Please say in your words why\n2020/01/02 10:00:01 PM,{ANSWERS[0]}\n2020/01/02 10:00:02 PM,{ANSWERS[1]}\n",
        f"URL,Honorary,Notes\nhttp://a.b/c,Full,{ANSWERS[0]}\nhttp://a.b/d,Honorary,{ANSWERS[1]}\n",  # a name that is a value
        f"Who should do it?,{WHY}\nme,{ANSWERS[0]}\nyou,{ANSWERS[1]}\n",  # questions over answers
        f"n,Text\n1,{ANSWERS[0]}\n2,{ANSWERS[1]}\n",
    ],
    ids=["question", "form", "value", "questions", "Text"],
)
def test_the_text_of_a_survey_is_found_under_its_question(content: str, tmp_path: Path) -> None:
    assert [row["text"] for row in rows_of(tmp_path, content)] == list(ANSWERS)


@pytest.mark.parametrize(
    "content",
    [f"1,{ANSWERS[0]}\n2,{ANSWERS[1]}\n", f"a,{ANSWERS[0]}\nb,yes\na,no\n", f"n/a,{ANSWERS[0]}\n2,{ANSWERS[1]}\n"],
    ids=["numbers", "classes", "no value"],
)
def test_a_first_row_that_is_a_document_is_not_taken_for_the_header(content: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its first row looks like a document"):
        rows_of(tmp_path, content)


def test_columns_of_the_same_name_are_numbered(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = rows_of(tmp_path, "text,Other,Other,Other\na,1,2,3\n")
    assert rows == [{"text": "a", "Other": "1", "Other (2)": "2", "Other (3)": "3"}]
    assert "columns with the name of an earlier one are called Other (2), Other (3)" in caplog.text


QUALTRICS = [
    ["ResponseId", "Progress", "Q1"],
    ["Response ID", "Progress", "What do you think of it?"],
    ['{"ImportId":"_recordId"}', '{"ImportId":"progress"}', '{"ImportId":"QID1_TEXT"}'],
    ["R_1", 100, ANSWERS[0]],
    ["R_2", 90, ANSWERS[1]],
]
SURVEYMONKEY = [
    ["RespondentID", "How old are you?", WHY],
    [None, "Response", "Open-Ended Response"],
    [3292, 41, ANSWERS[0]],
    [3293, 52, ANSWERS[1]],
]


@pytest.mark.parametrize("name", ["x.csv", "x.xlsx"])
@pytest.mark.parametrize(("export", "n"), [(QUALTRICS, 2), (SURVEYMONKEY, 1)], ids=["Qualtrics", "SurveyMonkey"])
def test_further_rows_of_the_header_of_a_survey_are_no_answers(
    export: list[list[Any]], n: int, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if name == "x.csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(export)
    else:
        workbook(path, {"Answers": export})
    corpus = open_documents([str(path)])
    table = corpus.read_all()
    assert table.column("text").to_pylist() == list(ANSWERS)
    assert list(map(str, table.column(export[0][1]).to_pylist())) == [str(row[1]) for row in export[-2:]]
    assert table.num_rows == len(export) - 1 - n

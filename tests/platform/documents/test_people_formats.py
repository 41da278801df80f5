"""Exports of the programs that people use: chats, tweets, subtitles, tagged corpora, mail folders, nested JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nlpkit.errors import InputError
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.options import ReadOptions


def rows_of(path: Path, content: str = "", **settings: Any) -> list[dict[str, Any]]:
    """The documents of a file, which is written first."""
    if content:
        path.write_text(content, encoding="utf-8")
    return open_documents([str(path)], ReadOptions(**settings)).read_all().to_pylist()


# ---------------------------------------------------------------- JSON

PERSONAL = {"personnel": {"person": [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}], "note": "x"}, "v": [{}]}


def test_documents_in_a_place_of_json(tmp_path: Path) -> None:
    path = tmp_path / "personal.json"
    assert [row["text"] for row in rows_of(path, json.dumps(PERSONAL), json_record="personnel.person")] == [
        "one",
        "two",
    ]
    chats = {"chats": {"list": [{"messages": [{"text": "a"}]}, {"messages": [{"text": "b"}, {"text": "c"}]}]}}
    for place in ("chats.list.messages", "chats.list[].messages[]"):
        assert [row["text"] for row in rows_of(path, json.dumps(chats), json_record=place)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("personnel.people", r"no 'people' in personnel \(it has person, note\)"),
        ("person", r"no 'person' \(it has personnel, v\)"),
        ("personnel.note", "should lead to objects"),
    ],
)
def test_places_that_are_not_there(place: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        rows_of(tmp_path / "x.json", json.dumps(PERSONAL), json_record=place)


def test_the_archive_of_twitter(tmp_path: Path) -> None:
    tweets = [
        {
            "tweet": {
                "id_str": str(i),
                "full_text": f"this is my tweet number {i}",
                "created_at": "Thu Jul 03 10:00:00 +0000 2008",
            }
        }
        for i in range(3)
    ]
    rows = rows_of(
        tmp_path / "tweets.js",
        f"window.YTD.tweets.part0 = {json.dumps(tweets)}",
        id_col="id_str",
        date_col="created_at",
    )
    assert (rows[1]["id"], rows[1]["text"]) == ("1", "this is my tweet number 1")


def test_scripts_in_a_folder_are_not_documents(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text("let x = 1;", encoding="utf-8")
    (tmp_path / "a.txt").write_text("one", encoding="utf-8")
    assert len(rows_of(tmp_path)) == 1


def test_messages_of_telegram_with_links_and_bold_words(tmp_path: Path) -> None:
    parts = ["see ", {"type": "link", "text": "https://x.y"}, " and ", {"type": "bold", "text": "this"}]
    export = {
        "name": "Us",
        "messages": [{"id": 1, "from": "A", "text": "hello"}, {"id": 2, "from": "B", "text": parts}],
    }
    assert [row["text"] for row in rows_of(tmp_path / "result.json", json.dumps(export))] == [
        "hello",
        "see https://x.y and this",
    ]


# ---------------------------------------------------------------- chats

IPHONE = (
    "\u200e[31.12.23, 18:05:12] Us: \u200eMessages and calls are end-to-end encrypted.\n"
    "[31.12.23, 18:05:13] Anna: Hello\nsecond line\n\nthird\n\u200e[01.01.24, 00:00:01] Bo B.: at 10:30: yes\n"
)
ANDROID = (
    "12/31/23, 6:05\u202fPM - Messages and calls are encrypted\n"
    "12/31/23, 6:05\u202fPM - Anna: Hello\n1/2/24, 12:01\u202fAM - Bo: Bye\n"
)


def test_messages_of_whatsapp(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = rows_of(tmp_path / "chat.txt", IPHONE)
    assert [(row["sender"], row["text"], row["date"]) for row in rows] == [
        ("Us", "Messages and calls are end-to-end encrypted.", "2023-12-31 18:05:12"),
        ("Anna", "Hello\nsecond line\n\nthird", "2023-12-31 18:05:13"),
        ("Bo B.", "at 10:30: yes", "2024-01-01 00:00:01"),
    ]
    assert "read as messages of a chat" in caplog.text
    stream = open_documents([str(tmp_path / "b.txt")]) if (tmp_path / "b.txt").write_text(ANDROID) else None
    assert stream is not None
    assert [(row["sender"], row["date"]) for row in stream.read_all().to_pylist()] == [
        ("Anna", "2023-12-31 18:05:00"),
        ("Bo", "2024-01-02 00:01:00"),
    ]
    assert [row.reason for row in stream.dropped] == ["a message of the program, not of a person"]


def test_signal_and_days_that_come_first(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "a.txt", "[2023-12-31 18:05] Anna: Hello\n[2024-01-02 00:01] Bo: Bye\n")
    assert [row["date"][:10] for row in rows] == ["2023-12-31", "2024-01-02"]
    rows = rows_of(tmp_path / "b.txt", "03/02/2024, 18:05 - Anna: Hello\n13/02/2024, 18:05 - Bo: Bye\n")
    assert [row["date"][:10] for row in rows] == ["2024-02-03", "2024-02-13"]


def test_texts_with_times_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    assert len(rows_of(path, "[31.12.23, 18:05:12] Anna: Hello\nand a text\n")) == 2  # one only
    assert len(rows_of(path, ANDROID, format="txt")) == 3
    with pytest.raises(InputError, match=r"a\.txt:1: a message begins with its date"):
        rows_of(path, "Hello\n" + ANDROID, format="chat")
    with pytest.raises(InputError, match="33/44/2024 is not a date"):
        rows_of(path, "33/44/2024, 18:05 - A: x\n33/44/2024, 18:05 - A: x\n")


# ---------------------------------------------------------------- subtitles

SRT = (
    "1\n00:00:01,000 --> 00:00:02,500\n<i>This is</i> &lt;i&gt;one&lt;/i&gt;\n\n"
    "2\n00:00:02,600 --> 00:00:04,000\nsentence. And &amp; another\n\n"
    "3\n00:01:00,000 --> 01:00:01,500\n{\\an8}one!\n"
)
VTT = (
    "WEBVTT\nKind: captions\n\nNOTE x\n\n00:01.000 --> 00:02.000 align:start\nthis<00:00:01.500><c> scrolls</c>\n\n"
    "00:02.000 --> 00:03.000\nthis scrolls\nand ends.\n"
)


def test_subtitles_are_sentences_with_times(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "a.srt", SRT)
    assert [(row["text"], row["start"], row["end"]) for row in rows] == [
        ("This is one sentence. And & another one!", 1.0, 3601.5)
    ]
    (row,) = rows_of(tmp_path / "a.vtt", VTT)
    assert (row["text"], row["start"], row["end"]) == ("this scrolls and ends.", 1.0, 3.0)
    with pytest.raises(InputError, match="no caption"):
        rows_of(tmp_path / "b.srt", "hello\n")


# ---------------------------------------------------------------- tagged corpora

CONLLU = (
    "# newdoc id = d1\n# sent_id = s1\n# text = Im Haus.\n1-2\tIm\t_\t_\t_\t_\t_\t_\t_\t_\n1\tin\tin\tADP\t_\t_\t3\tcase\t_\t_\n"
    "2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_\n3\tHaus\tHaus\tNOUN\t_\t_\t0\troot\t_\tSpaceAfter=No\n3.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_\n\n# sent_id = s2\n1-2\tIm\t_\t_\t_\t_\t_\t_\t_\t_\n1\tin\tin\tADP\t_\t_\t_\t_\t_\t_\n"
    "2\tdem\tder\tDET\t_\t_\t_\t_\t_\t_\n3\tHof\tHof\tNOUN\t_\t_\t_\t_\t_\tSpaceAfter=No\n4\t!\t!\tPUNCT\t_\t_\t_\t_\t_\t_\n"
)


def test_sentences_of_conllu(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "a.conllu", CONLLU)
    assert [(row["id"], row["text"], row["document"]) for row in rows] == [
        ("s1", "Im Haus.", "d1"),
        ("s2", "Im Hof!", "d1"),
    ]
    assert rows[0]["tokens"] == ["in", "dem", "Haus", "."]
    assert rows[0]["pos"] == ["ADP", "DET", "NOUN", "PUNCT"]
    with pytest.raises(InputError, match=r"a\.conllu:1: 2 fields"):
        rows_of(tmp_path / "a.conllu", "1\tx\n")


def test_documents_of_vertical_files(tmp_path: Path) -> None:
    content = (
        '<doc id="1" author="A &amp; B">\n<s>\nOne\tNN\nword\tNN\n<g/>\n.\tSENT\n</s>\n<s>\nTwo\tCD\n</s>\n</doc>\n'
        '<doc id="2">\nx\n</doc>\n'
    )
    rows = rows_of(tmp_path / "a.vert", content)
    assert rows == [
        {"id": "1", "text": "One word.\nTwo", "author": "A & B"},
        {"id": "2", "text": "x", "author": None},
    ]
    with pytest.raises(InputError, match="no element <doc>"):
        rows_of(tmp_path / "a.vert", "a\tb\n")


def test_a_maildir_is_a_folder_of_mails(tmp_path: Path) -> None:
    for folder in ("cur", "new", "tmp"):
        (tmp_path / "box" / folder).mkdir(parents=True)
    (tmp_path / "box" / "cur" / "1700000000.M1P2.host:2,S").write_text("From: a@b.c\nSubject: Hi\n\nHello there\n")
    (tmp_path / "box" / "new" / "1700000001.M1P3.host").write_text("From: a@b.c\nSubject: Yo\n\nBye\n")
    assert [row["text"].strip() for row in rows_of(tmp_path / "box")] == ["Hello there", "Bye"]


def test_captions_without_blank_lines_between(tmp_path: Path) -> None:
    content = "1\n00:00:01,000 --> 00:00:02,000\nOne.\n2\n00:00:03,000 --> 00:00:04,000\nTwo.\n"
    assert [(row["text"], row["start"]) for row in rows_of(tmp_path / "a.srt", content)] == [
        ("One.", 1.0),
        ("Two.", 3.0),
    ]


def test_documents_that_are_cut_or_nested(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.vert:4: the element <doc> is not closed"):
        rows_of(tmp_path / "a.vert", "<doc>\nx\n</doc>\n<doc>\ny\n")
    (row,) = rows_of(tmp_path / "a.vert", '<doc id="1">\na\n<text>\nb\n</text>\nc\n</doc>\n')
    assert (row["id"], row["text"]) == ("1", "a b c")
    with pytest.raises(InputError, match=r"a\.conllu:1: 'x' is not the number of a word"):
        rows_of(tmp_path / "a.conllu", "x\ta\t_\t_\t_\t_\t_\t_\t_\t_\n")


def test_other_line_ends_stay_in_a_message(tmp_path: Path) -> None:
    content = "[2023-12-31 18:05] Anna: one\u2028two\n[2024-01-02 00:01] Bo: Bye\n"
    assert rows_of(tmp_path / "a.txt", content)[0]["text"] == "one\u2028two"


def test_an_export_of_slack_is_a_folder_for_each_channel(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "general").mkdir()
    (tmp_path / "users.json").write_text('[{"id": "U1", "name": "ann"}]')
    (tmp_path / "channels.json").write_text('[{"id": "C1", "name": "general"}]')
    (tmp_path / "general" / "2024-03-01.json").write_text('[{"user": "U1", "text": "we meet at noon", "ts": "1.0"}]')
    rows = rows_of(tmp_path, path_cols="channel/day")
    assert [(row["text"], row["channel"], row["day"]) for row in rows] == [("we meet at noon", "general", "2024-03-01")]
    assert "export of Slack" in caplog.text
    (tmp_path / "general" / "2024-03-01.json").rename(tmp_path / "general" / "messages.json")
    with pytest.raises(InputError, match="has no column 'text'"):
        rows_of(tmp_path)


def test_a_header_that_counts_the_columns_is_a_header(tmp_path: Path) -> None:
    content = ",0,1,2\n0,we meet at noon by the river,anna,5\n1,,bert,1\n2,   ,carla,2\n3,the boat is late again today,dora,3\n"
    rows = rows_of(tmp_path / "a.csv", content)
    assert [row["text"].strip() for row in rows] == [
        "we meet at noon by the river",
        "",
        "",
        "the boat is late again today",
    ]


def test_a_column_of_names_is_not_the_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'text'"):
        rows_of(tmp_path / "a.csv", "n,who\n1,anna\n2,bert\n3,carla\n")


def test_columns_of_vertical_files_by_blanks(tmp_path: Path) -> None:
    content = '<doc id="1" title="Test">\nEl el DA0MS0 0\ngato gato NCMS000 0\n. . Fp 0\n\nLa la DA0FS0 0\n</doc>\n'
    (row,) = rows_of(tmp_path / "a.vert", content)
    assert row["text"] == "El gato . La"
    (row,) = rows_of(tmp_path / "a.vert", '<doc id="1">\nin\nNew York\n</doc>\n')
    assert row["text"] == "in New York"
    (row,) = rows_of(tmp_path / "a.vert", '<doc id="1">\nNew York City\tNE\nSan José Town\tNE\n</doc>\n')
    assert row["text"] == "New York City San José Town"

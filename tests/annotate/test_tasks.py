"""Tasks on disk: page, spreadsheet and key; and the answers that come back, as people send them."""

from __future__ import annotations

import csv
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from nlpkit.annotate.answers import read_answers
from nlpkit.annotate.task_files import numbered, read_key, task_paths, write_task
from nlpkit.annotate.tasks import Answers, Task, choices, task_of
from nlpkit.errors import ColumnError, InputError, NlpkitError, OutputExistsError, SchemaError
from nlpkit.metrics.topics.intrusion import (
    Design,
    Document,
    Item,
    design_document_intrusion,
    design_optimal_labels,
    design_ratings,
    design_topic_intrusion,
    design_word_intrusion,
    design_word_sets,
)
from tests.refusals import refuses

TOPICS = [[f"{chr(97 + k)}{n}" for n in range(30)] for k in range(6)]
DOCUMENTS = [
    Document(f"d{d}", f"text {d}", {(d + i) % 6: p for i, p in enumerate((0.5, 0.3, 0.1))}, d % 2) for d in range(6)
]
DESIGNS = {
    "word": design_word_intrusion(TOPICS, seed=1),
    "set": design_word_sets(TOPICS, seed=1),
    "topic": design_topic_intrusion(TOPICS, DOCUMENTS, seed=1),
    "group": design_document_intrusion(6, DOCUMENTS, seed=1),
    "label": design_optimal_labels("abcdef", DOCUMENTS, seed=1),
    "rating": design_ratings([*TOPICS, ["alone"]], seed=1),
}


def task(kind: str = "word") -> Task:
    design = DESIGNS[kind]
    topics = [*TOPICS, ["alone"]] if kind == "rating" else TOPICS
    return task_of("A task", design, topics, [f"topic {k}" for k in range(len(topics))])


def small(*options: str, answer: int = 0) -> Task:
    """A task of one question with these options."""
    item = Item(0, tuple((o,) for o in options), answer, tuple(0 for _ in options))
    return task_of("small", Design("word-intrusion", 0, (item,), {}), [["a"]])


def answers(folder: Path, text: str, of: Task, name: str = "a.csv", encoding: str = "utf-8") -> Answers:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return read_answers([path], of)


def sheet(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


# ---------------------------------------------------------------- out


@pytest.mark.parametrize("kind", DESIGNS)
def test_the_key_brings_the_task_back(kind: str, tmp_path: Path) -> None:
    made = task(kind)
    *_, key = write_task(tmp_path / "t.html", made, parameters={"k": 6}, force=False)
    found = read_key(key)
    without_text = [
        Item(i.topic, i.options, i.answer, i.option_topics, i.words, i.document, "", i.probs) for i in made.design.items
    ]
    assert found.design == Design(made.kind, 1, tuple(without_text), made.design.skipped)
    assert (found.name, found.ids, found.mark) == ("A task", made.ids, made.mark)
    assert found.topics[2] == ("topic 2", tuple(TOPICS[2][:10]))
    value = json.loads(key.read_text())
    assert (value["seed"], value["kind"], value["parameters"]) == (1, made.kind, {"k": 6})
    if kind != "rating":  # the answer as people count, and in words
        assert value["items"][0]["options"][value["items"][0]["answer"] - 1] == value["items"][0]["answer_words"]


@pytest.mark.parametrize("kind", DESIGNS)
def test_what_coders_get_does_not_tell_the_answers(kind: str, tmp_path: Path) -> None:
    made = task(kind)
    page, table, _ = write_task(tmp_path / "t.html", made, parameters={"secret": "sesame"}, force=False)
    seen = page.read_text() + table.read_text(encoding="utf-8-sig")
    # the same options with another right answer and other topics make the same files
    other = [
        Item(
            0 if i.topic >= 0 else -1,
            i.options,
            0 if i.answer >= 0 else -1,
            i.option_topics[::-1],
            i.words,
            "?",
            i.text,
            (0.0,),
        )
        for i in made.design.items
    ]
    again = task_of("A task", Design(made.kind, 99, tuple(other), {}), TOPICS)
    (tmp_path / "other").mkdir()
    page, table, _ = write_task(tmp_path / "other" / "t.html", again, parameters={}, force=False)
    assert seen == page.read_text() + table.read_text(encoding="utf-8-sig")


def test_the_spreadsheet_has_a_row_a_question(tmp_path: Path) -> None:
    made = task("word")
    _, table, _ = write_task(tmp_path / "t.html", made, parameters={}, force=False)
    assert table.read_bytes().startswith(b"\xef\xbb\xbf")  # else Excel takes it for the code page of the machine
    rows = sheet(table)
    assert [row["item"] for row in rows] == [f"q{n}" for n in range(1, 7)]
    for row, item in zip(rows, made.design.items, strict=True):
        assert [row[f"option_{n}"] for n in range(1, 7)] == [w for (w,) in item.options]
        assert (row["task"], row["coder"], row["answer"]) == (made.mark, "", "")
    _, table, _ = write_task(tmp_path / "r.html", task("rating"), parameters={}, force=False)
    row = sheet(table)[0]
    assert row["words"] == " ".join(task("rating").design.items[0].words)
    assert (row["label"], "1 not related" in row["question"]) == ("", True)
    _, table, _ = write_task(tmp_path / "d.html", task("topic"), parameters={}, force=False)
    row = sheet(table)[0]
    assert row["text"].startswith("text ")
    assert row["option_1"].count(", ") == 7


def test_cells_that_a_spreadsheet_would_compute(tmp_path: Path) -> None:
    made = small("=1+1", "-x", "@sum", "'y", "plain")
    _, table, _ = write_task(tmp_path / "t.html", made, parameters={}, force=False)
    row = sheet(table)[0]
    assert [row[f"option_{n}"] for n in range(1, 6)] == ["'=1+1", "'-x", "'@sum", "'y", "plain"]
    for text, place in (("'=1+1", 0), ("=1+1", 0), ("'-x", 1), ("'y", 3), ("PLAIN", 4)):
        assert answers(tmp_path, f'item,answer\nq1,"{text}"\n', made).chosen.tolist() == [[place]]


def test_any_string_can_be_an_option(tmp_path: Path) -> None:
    made = small("a\x00b", "\ud800", "c\nd", "", " ", '"q"', "</script>")
    page, table, key = write_task(tmp_path / "t.html", made, parameters={}, force=False)
    assert "\x00" not in page.read_text(encoding="utf-8") + table.read_text(encoding="utf-8-sig")
    back = read_key(key)
    assert len(back.design.items[0].options) == 7
    assert answers(tmp_path, "item,answer\nq1,a b\n", back).chosen.tolist() == [[0]]
    assert answers(tmp_path, "item,answer\nq1,c d\n", back).chosen.tolist() == [[2]]


def test_the_same_task_is_the_same_bytes(tmp_path: Path) -> None:
    first = [p.read_bytes() for p in write_task(tmp_path / "t.html", task(), parameters={}, force=False)]
    assert first == [p.read_bytes() for p in write_task(tmp_path / "t.html", task(), parameters={}, force=True)]


def test_nothing_is_written_over_without_force(tmp_path: Path) -> None:
    (tmp_path / "t.key.json").write_text("mine")
    with pytest.raises(OutputExistsError):
        write_task(tmp_path / "t.html", task(), parameters={}, force=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.key.json"]
    write_task(tmp_path / "t.html", task(), parameters={}, force=True)
    assert len(list(tmp_path.iterdir())) == 3
    with pytest.raises(InputError):
        write_task(tmp_path / "no" / "t.html", task(), parameters={}, force=True)


def test_the_page_gives_its_name_to_the_others() -> None:
    assert [p.name for p in task_paths(Path("x/my.task.html"))] == ["my.task.html", "my.task.csv", "my.task.key.json"]
    for name in ("task", "task.csv", ".html"):
        with refuses("output"):
            task_paths(Path(name))


def test_ids_are_numbers_of_equal_width_and_the_mark_is_of_what_is_seen() -> None:
    many = design_word_intrusion(TOPICS, seed=1, n_items=12)
    assert task_of("", many, TOPICS).ids[::11] == ("q01", "q12")
    assert task_of("", many, TOPICS).mark != task().mark == task_of("other", DESIGNS["word"], TOPICS).mark
    assert numbered(["a", "x" * 50]) == "1 a, 2 " + "x" * 39 + "…"


# ---------------------------------------------------------------- the key


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        (lambda v: [v], InputError, "is not the key of a task; the key is the NAME.key.json next"),
        (lambda v: {**v, "format": "x"}, InputError, "is not the key of a task"),
        (lambda v: {**v, "version": 9}, SchemaError, "has version 9, this nlpkit"),
        (lambda v: {**v, "items": []}, InputError, "damaged key of a task .kind 'word-intrusion', 0 items"),
        (lambda v: {**v, "kind": "x"}, InputError, "damaged"),
        (lambda v: {k: v[k] for k in v if k != "seed"}, InputError, "damaged key of a task .KeyError: 'seed'"),
        (lambda v: {**v, "topics": v["topics"][:1]}, InputError, "damaged"),
        (lambda v: {**v, "items": [v["items"][0], v["items"][0]]}, InputError, "damaged"),
        (
            lambda v: {**v, "items": [{**v["items"][0], "answer": 7}]},
            InputError,
            "item q1 has 6 options, its answer is 7",
        ),
        (lambda v: {**v, "items": [{**v["items"][0], "answer": 0}]}, InputError, "its answer is 0"),
    ],
)
def test_keys_that_are_none(change: Any, kind: type[NlpkitError], says: str, tmp_path: Path) -> None:
    *_, key = write_task(tmp_path / "t.html", task(), parameters={}, force=False)
    key.write_text(json.dumps(change(json.loads(key.read_text()))))
    with pytest.raises(kind, match=says):
        read_key(key)


def test_files_that_are_no_key(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_key(tmp_path / "no.json")
    page, *_ = write_task(tmp_path / "t.html", task(), parameters={}, force=False)
    with pytest.raises(InputError):
        read_key(page)
    with pytest.raises(InputError):
        read_key(tmp_path)


# ---------------------------------------------------------------- answers

WORDS = small("river", "Bank", "boat", "ä ö")


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        *[
            ("1", 0),
            ("4", 3),
            (" 2 ", 1),
            ("3.0", 2),
            ("3,00", 2),
            ("river", 0),
            ("bank", 1),
            (" BOAT", 2),
            ("Ä  Ö", 3),
        ],
    ],
)
def test_numbers_and_words(answer: str, place: int, tmp_path: Path) -> None:
    assert answers(tmp_path, f'item,answer\nq1,"{answer}"\n', WORDS).chosen.tolist() == [[place]]


@pytest.mark.parametrize(
    ("text", "name", "encoding"),
    [
        ("task;coder;item;answer\n§;anna;q1;ä ö\n;;;\n", "x.csv", "utf-8-sig"),  # German Excel, with its blank lines
        ("task;coder;item;answer\r\n§;anna;q1;ä ö\r\n", "x.csv", "cp1252"),
        ("task\tcoder\titem\tanswer\n§\tanna\tq1\tä ö\n", "x.tsv", "utf-16"),
        ("Task,Coder,ITEM,Answer,remark\n§,anna,q1,4,hm\n", "x.csv", "utf-8"),
        ('{"item": "q1", "answer": 4, "coder": "anna"}\n', "x.jsonl", "utf-8"),
        ('[{"item": "q1", "answer": "ä ö", "coder": "anna"}]', "x.json", "utf-8"),
    ],
)
def test_tables_as_people_send_them(text: str, name: str, encoding: str, tmp_path: Path) -> None:
    found = answers(tmp_path, text.replace("§", WORDS.mark), WORDS, name, encoding)
    assert (found.coders, found.chosen.tolist()) == (("anna",), [[3]])


def test_a_packed_table_and_a_parquet_one(tmp_path: Path) -> None:
    import gzip

    import polars as pl

    packed = tmp_path / "ben.csv.gz"
    packed.write_bytes(gzip.compress(b"item,answer\nq1,2\n"))
    pl.DataFrame({"coder": ["anna"], "item": ["q1"], "answer": [3]}).write_parquet(tmp_path / "a.parquet")
    found = read_answers([tmp_path / "a.parquet", packed], WORDS)
    assert (found.coders, found.chosen.tolist()) == (("anna", "ben"), [[2, 1]])


def test_several_coders_and_missing_answers(tmp_path: Path) -> None:
    made = task()
    (tmp_path / "anna.csv").write_text("item,answer\nq1,1\nq2,\nq6,6\n")
    (tmp_path / "two.csv").write_text("coder,item,answer\nben,q1,2\ncarla,q1,3\nben,q3,4\ndora,q1,\n")
    found = read_answers([tmp_path / "anna.csv", tmp_path / "two.csv"], made)
    assert found.coders == ("anna", "ben", "carla")  # dora said nothing
    assert found.chosen.tolist() == [[0, 1, 2], [-1] * 3, [-1, 3, -1], [-1] * 3, [-1] * 3, [5, -1, -1]]
    assert found.labels == ()


def test_a_directory_of_answers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "back"
    folder.mkdir()
    made = task()
    write_task(folder / "t.html", made, parameters={}, force=False)
    (folder / "b.csv").write_text("item,answer\nq1,1\n")
    (folder / "notes.txt").write_text("all fine")
    with caplog.at_level(logging.WARNING, logger="nlpkit"):
        assert read_answers([folder], made).coders == ("b",)
    assert "t.csv: no answers in it" in caplog.text  # the empty spreadsheet
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError):
        read_answers([tmp_path / "none"], made)


def test_the_only_name_in_a_file_is_that_of_all_its_rows(tmp_path: Path) -> None:
    made = task()
    found = answers(tmp_path, "coder,item,answer\nanna,q1,1\n,q2,2\n", made)
    assert (found.coders, found.chosen[:2].tolist()) == (("anna",), [[0], [1]])
    with pytest.raises(InputError, match=r"a\.csv:3: column 'coder' is empty, and the file has 2 coders"):
        answers(tmp_path, "coder,item,answer\nanna,q1,1\n,q2,2\nben,q2,2\n", made)
    assert answers(tmp_path, 'coder,item,answer\n"\'=A",q1,1\n', made).coders == ("=A",)


def test_labels_of_ratings(tmp_path: Path) -> None:
    made = task("rating")
    text = "coder,item,answer,label\nanna,q2,3,rivers \nanna,q1,very related,'=x\nben,q2,1,\nben,q1,,never mind\n"
    found = answers(tmp_path, text, made)
    assert found.chosen[:2].tolist() == [[2, -1], [2, 0]]
    assert found.labels == ((0, 0, "=x"), (1, 0, "rivers"))


def test_the_page_tells_number_and_word(tmp_path: Path) -> None:
    made = small("2", "1", "x")
    assert answers(tmp_path, "item,answer,choice\nq1,2,1\n", made).chosen.tolist() == [[1]]
    assert answers(tmp_path, "item,answer,choice\nq1,,x\n", made).chosen.tolist() == [[2]]
    assert answers(tmp_path, "item,answer\nq1,3\n", made).chosen.tolist() == [[2]]
    with pytest.raises(InputError):
        answers(tmp_path, "item,answer\nq1,2\n", made)
    with pytest.raises(InputError, match=r"a\.csv:2: item q1 has the answer '3' and the choice '1', which do not fit"):
        answers(tmp_path, "item,answer,choice\nq1,3,1\n", made)
    with pytest.raises(InputError):
        answers(tmp_path, "item,answer,choice\nq1,3,y\n", made)


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        (
            "item,answer\nq1,5\n",
            InputError,
            r"which is not one of its options",
        ),
        ("item,answer\nq1,0\n", InputError, "which is not one of its options"),
        ("item,answer\nq1,rivr\n", InputError, "did you mean 'river'"),
        (
            "item,answer\nq1,\n\nq9,1\n",
            InputError,
            r"a\.csv:4: the task has no item 'q9' \(it has q1 to q1\)",
        ),
        ("item,answer\n,1\n", InputError, "the task has no item ''"),
        ("item,answer\nq1,1\nq1,1\n", InputError, r"a\.csv:3: 'a' answered item q1 before, at .*a\.csv:2; remove one"),
        (
            "task,item,answer\nffff0000,q1,1\n",
            InputError,
            r"an answer to task",
        ),
        ("item,answer\nq1,\n", InputError, "no answers found; coders fill in the column answer, or save"),
        ("item,answer\n", InputError, "no answers found; coders fill in the column answer, or save"),
        ("item,choic\nq1,1\n", ColumnError, r"has no column 'answer' \(found: item, choic\)"),
        ("itm,answer\nq1,1\n", ColumnError, "did you mean 'itm'"),
    ],
)
def test_answers_that_cannot_be_used(text: str, kind: type[NlpkitError], says: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=says):
        answers(tmp_path, text, WORDS)


def test_the_same_coder_in_two_files(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("coder,item,answer\nanna,q1,1\n")
    with pytest.raises(InputError, match=r"b\.csv:2: 'anna' answered item q1 before, at .*a\.csv:2"):
        read_answers([tmp_path / "a.csv", tmp_path / "b.csv"], WORDS)


def test_choices_are_what_is_shown() -> None:
    sets = task("set")
    assert choices("word-set-intrusion", sets.design.items[0])[0] == ", ".join(sets.design.items[0].options[0])
    assert sets.n_choices == 4
    assert task("rating").n_choices == 3

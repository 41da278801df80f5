"""nlpkit active: from nothing to a classifier in the shell; what is left out; what cannot be. nlpkit active-curve: its table."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from tests.command_line import footer, needs_torch, planted_rows, read, run_cli, write_embedded, write_jsonl
from tests.finetune.finetune_data import base_model, rows, tune

LABELS = "rivers,courts,music,space"
TRUE = {row["text"]: row["label"] for row in planted_rows()}


def unlabelled(path: Path, n: int = 120) -> Path:
    """The planted texts without their labels."""
    return write_jsonl(path, [{"id": row["id"], "text": row["text"]} for row in planted_rows()[:n]])


def answer(sheet: str, *, coder: str = "", skip: int = 0) -> Path:
    """Fill in the sheet as a person does, but for the first `skip` questions."""
    with Path(sheet).open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    for row in lines[skip:]:
        row["answer"], row["coder"] = TRUE[row["text"]], coder
    path = Path(sheet.replace(".csv", f".{coder or 'done'}.csv"))
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, list(lines[0]))
        out.writeheader()
        out.writerows(lines)
    return path


def test_from_nothing_to_a_classifier(tmp_path: Path) -> None:
    corpus, tables = unlabelled(tmp_path / "corpus.jsonl"), list[str]()
    model: list[Any] = []
    for number in (1, 2, 3):
        sheet = ("--page", f"b{number}.html", "--labels", LABELS) if number == 1 else ("--page", f"b{number}.html")
        known = [word for table in tables for word in ("--labelled", table)]
        run_cli(
            "active",
            corpus,
            *model,
            *known,
            *sheet,
            "--vectors",
            "tfidf",
            "--batch-size",
            12,
            "-o",
            f"b{number}.parquet",
        )
        answered = answer(f"b{number}.csv")
        done = run_cli("annotate", "labels", f"b{number}.key.json", "--answers", answered, "-o", f"l{number}.parquet")
        assert "12 texts with a label" in done.err
        tables.append(f"l{number}.parquet")
        run_cli("classify", *tables, "-q", "-o", f"model{number}")
        model = ["--model", f"model{number}", "--by", "badge"]
    chosen = [name for table in tables for name in read(table)["id"].to_pylist()]
    assert len(set(chosen)) == 36
    predicted = nk.load("model3").predict(nk.read_corpus(corpus))
    right = [
        TRUE[t] == p for t, p in zip(predicted["text"].to_pylist(), predicted["prediction"].to_pylist(), strict=True)
    ]
    assert sum(right) > 110
    table = read("b3.parquet")
    assert table.column_names == ["id", "text", "prediction", "prediction_prob", "score", "rank"]
    assert table["rank"].to_pylist() == list(range(1, 13))
    assert footer("b3.parquet")["parameters"]["by"] == "badge"
    assert footer("l3.parquet")["kind"] == "documents"


def test_the_same_bytes_on_any_number_of_threads(tmp_path: Path) -> None:
    corpus = write_embedded(tmp_path / "c.parquet", planted_rows())
    for by in ("diverse", "core-set"):
        for threads in (1, 2):
            run_cli("active", corpus, "--relabel", "--by", by, "--threads", threads, "-q", "-o", f"{by}{threads}.csv")
        assert Path(f"{by}1.csv").read_bytes() == Path(f"{by}2.csv").read_bytes()


def test_diverse_texts_are_of_all_groups(planted: Path) -> None:
    """Four groups that lie apart: four texts of k-means++ nearly always are one of each, of random choice seldom."""
    value = run_cli("active", planted, "--relabel", "--batch-size", 4, "--json").json()
    assert len({int(text["id"][1:]) % 4 for text in value["texts"]}) == 4
    assert (value["candidates"], value["labelled"]) == (120, 0)


def test_labelled_texts_and_repetitions_are_left_out(tmp_path: Path) -> None:
    texts = [
        {"id": "a", "text": "the river"},
        {"id": "b", "text": "the  river\n"},
        {"id": "c", "text": "a court", "label": "courts"},
        {"id": "d", "text": "a court"},
        {"id": "e", "text": "known elsewhere"},
        {"id": "f", "text": "open elsewhere"},
    ]
    corpus = write_jsonl(tmp_path / "c.jsonl", texts)
    known = write_jsonl(
        tmp_path / "k.jsonl", [{"text": "known elsewhere", "label": "x"}, {"text": "open elsewhere", "label": None}]
    )
    done = run_cli("active", corpus, "--by", "random", "--labelled", known, "--json")
    value = done.json()
    assert sorted(text["id"] for text in value["texts"]) == ["a", "f"]
    assert (value["labelled"], value["repeated"], value["candidates"]) == (2, 2, 2)
    assert "only 2 texts are left to label: all are chosen" in done.err
    all_rows = run_cli("active", corpus, "--by", "random", "--relabel", "--json").json()
    assert sorted(text["id"] for text in all_rows["texts"]) == ["a", "c", "e", "f"]
    bare = write_jsonl(
        tmp_path / "bare.jsonl", [{"text": "the river"}]
    )  # without a column of labels: all of it is labelled
    value = run_cli("active", corpus, "--by", "random", "--labelled", bare, "--json").json()
    assert sorted(text["id"] for text in value["texts"]) == ["e", "f"]


def test_uncertain_texts_come_first(tmp_path: Path) -> None:
    train = write_jsonl(tmp_path / "t.jsonl", [{"text": t, "label": n} for n, ts in {"w": ["river boat", "river bank"], "l": ["court jury",
                        "court judge"]}.items() for t in ts])  # fmt: skip
    run_cli("classify", train, "--model", "nb", "--cv", 2, "-q", "-o", "m")
    corpus = write_jsonl(
        tmp_path / "c.jsonl", [{"id": "sure", "text": "river boat river"}, {"id": "torn", "text": "river court"}]
    )
    for by in ("margin", "entropy", "least-confident"):
        value = run_cli("active", corpus, "--model", "m", "--by", by, "--batch-size", 1, "--json").json()
        assert [text["id"] for text in value["texts"]] == ["torn"]
        assert value["labels"] == ["l", "w"]
    table = nk.propose_texts(nk.read_corpus(corpus), model="m").documents
    assert table["id"].to_pylist() == ["torn", "sure"]
    assert table["score"][0].as_py() == pytest.approx(1.0, abs=1e-6)
    assert table["prediction"].to_pylist()[1] == "w"


@needs_torch
def test_a_fine_tuned_model_is_asked_as_well(tmp_path: Path) -> None:
    base = base_model(tmp_path / "base")
    write_jsonl(tmp_path / "t.jsonl", rows())
    write_jsonl(tmp_path / "c.jsonl", [{"id": row["id"], "text": f"{row['text']} again"} for row in rows(1)])
    for method in ("setfit", "head"):
        tune("t.jsonl", "-q", "-o", method, base=base, method=method, steps=2)
    run_cli("active", "c.jsonl", "--model", "head", "--by", "margin", "--batch-size", 3, "-q", "-o", "next.parquet")
    scores = [text["score"] for text in read("next.parquet").to_pylist()]
    assert scores == sorted(scores, reverse=True)
    words = ("active", "c.jsonl", "--model", "setfit", "--labelled", "t.jsonl", "--vectors", "tfidf", "--min-df", 1)
    for by in ("badge", "entropy"):
        value = run_cli(*words, "--by", by, "--batch-size", 5, "--page", f"{by}.html", "--json").json()
        assert (len(value["texts"]), value["labels"]) == (5, ["politics", "space", "sport"])
        assert all(text["prediction"] in value["labels"] for text in value["texts"])


def test_labels_of_several_coders(tmp_path: Path) -> None:
    corpus = unlabelled(tmp_path / "c.jsonl", 8)
    run_cli("active", corpus, "--by", "random", "--batch-size", 6, "--page", "b.html", "--labels", LABELS)
    anna, ben = answer("b.csv", coder="anna"), answer("b.csv", coder="ben", skip=2)
    text = ben.read_text().splitlines()
    text[-1] = text[-1].rsplit(",", 1)[0] + (",courts" if not text[-1].endswith("courts") else ",music")
    ben.write_text("\n".join(text) + "\n")
    done = run_cli("annotate", "labels", "b.key.json", "--answers", anna, "--answers", ben, "-o", "l.parquet", "--json")
    value = done.json()
    assert (value["labelled"], value["ties"], value["unanswered"], value["coders"]) == (5, 1, 0, ["anna", "ben"])
    table = read("l.parquet")
    assert table.column_names == ["id", "text", "label", "label_share", "anna", "ben"]
    assert table["label"].to_pylist()[-1] is None
    assert table["ben"].to_pylist()[:2] == [None, None]
    run_cli("annotate", "agree", "l.parquet", "--annotators", "anna,ben")
    scores = run_cli("annotate", "score", "b.key.json", "--answers", anna, "--answers", ben, "--json").json()
    assert "alpha" in scores["targets"][0]["metrics"]
    assert "precision" not in scores["targets"][0]["metrics"]
    none = run_cli("annotate", "labels", "b.key.json", "--answers", ben, "-o", "one.csv")
    assert "4 texts with a label (2 without an answer left out)" in none.err


def test_labels_that_are_numbers_are_what_they_say(tmp_path: Path) -> None:
    corpus = unlabelled(tmp_path / "c.jsonl", 3)
    run_cli("active", corpus, "--by", "random", "--page", "b.html", "--labels", "0,1,2")
    lines = Path("b.csv").read_text(encoding="utf-8-sig").splitlines()
    Path("b.csv").write_text(
        "\n".join([lines[0], *(f"{line}{n}" for line, n in zip(lines[1:], "021", strict=True))]) + "\n"
    )
    run_cli("annotate", "labels", "b.key.json", "--answers", "b.csv", "-o", "l.parquet")
    assert read("l.parquet")["label"].to_pylist() == ["0", "2", "1"]
    page = Path("b.html").read_text()
    assert page.count('type="radio"') == 9


def test_texts_of_a_page_keep_their_letters(tmp_path: Path) -> None:
    text = '=SUM(1), "quoted"\nsecond line <b> – 日本'
    corpus = write_jsonl(tmp_path / "c.jsonl", [{"id": "x", "text": text}])
    run_cli("active", corpus, "--by", "random", "--page", "b.html", "--labels", "a,b")
    assert json.loads(Path("b.key.json").read_text(encoding="utf-8"))["items"][0]["text"] == text
    Path("a.csv").write_text("coder,item,answer\nme,q1,2\n")
    run_cli("annotate", "labels", "b.key.json", "--answers", "a.csv", "-o", "l.parquet")
    assert read("l.parquet").select(["id", "text", "label"]).to_pylist() == [{"id": "x", "text": text, "label": "b"}]


def prepare(folder: Path) -> None:
    """Models and corpora that active cannot use."""
    docs = [{key: row[key] for key in ("id", "text", "label", "n")} for row in planted_rows(6)]
    write_jsonl(folder / "docs.jsonl", docs)
    write_jsonl(folder / "open.jsonl", [{"text": row["text"]} for row in docs])
    write_jsonl(folder / "one-label.jsonl", [{**row, "label": "x"} for row in docs])
    write_jsonl(folder / "one.jsonl", docs[:1])
    write_jsonl(folder / "lists.jsonl", [{**row, "label": ["a", "b"]} for row in docs])
    write_jsonl(folder / "blank.jsonl", [{"text": "  "}, {"text": None}])
    (folder / "empty.jsonl").write_text("")
    run_cli("classify", "docs.jsonl", "--model", "svm", "--cv", 2, "-q", "-o", "svm")
    run_cli("classify", "docs.jsonl", "--task", "regression", "--label-col", "n", "--cv", 2, "-q", "-o", "numbers")
    run_cli("classify", "lists.jsonl", "--cv", 2, "-q", "-o", "lists")
    run_cli("nmf", "docs.jsonl", "--k", 2, "--min-df", 1, "-q", "-o", "topics")
    run_cli("annotate", "task", "topics", "--kind", "rating", "--items", 1, "-q", "-o", "rating.html")


@pytest.fixture(scope="module")
def unusable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import contextlib

    folder = tmp_path_factory.mktemp("unusable")
    with contextlib.chdir(folder):
        prepare(folder)
    return folder


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("active docs.jsonl", 3, "24 documents of docs.jsonl: 24 labelled and 0 without text"),
        ("active open.jsonl --labelled docs.jsonl", 3, "24 documents of open.jsonl: 24 labelled"),
        ("active empty.jsonl", 3, "no documents"),
        ("active blank.jsonl", 3, "0 labelled and 1 without text"),
        ("active open.jsonl --model svm", 2, "--calibrate sigmoid"),
        ("active open.jsonl --model numbers", 2, "one"),
        ("active open.jsonl --model lists --by random", 2, "one label was needed"),
        ("active open.jsonl --model topics", 2, "a classifier was needed"),
        ("active open.jsonl --model nowhere", 3, "nowhere"),
        ("active open.jsonl --by margin", 2, "name its run with --model"),
        ("active open.jsonl --by best", 2, "least-confident"),
        ("active open.jsonl --by random --page p.html", 2, "--labels sports,politics"),
        ("active open.jsonl --by random --page p.txt --labels a,b", 2, ".html"),
        ("active open.jsonl --by random --page p.html --labels a,b -o p.csv", 2, "another name"),
        ("active open.jsonl --batch-size 0", 2, "--batch-size"),
        ("active open.jsonl --vectors tfidf --labelled nowhere.jsonl", 3, "nowhere.jsonl"),
        ("active-curve open.jsonl --vectors tfidf", 3, "no column 'label'"),
        ("active-curve one-label.jsonl --vectors tfidf", 3, "label 'x'"),
        ("active-curve one.jsonl --vectors tfidf", 3, "has a vector"),
        ("active one.jsonl --relabel --vectors tfidf", 3, "has a vector"),
        ("active-curve lists.jsonl --vectors tfidf", 3, "one label each"),
        ("active-curve docs.jsonl --vectors tfidf", 3, "7 are held out for scoring; use fewer --rounds"),
        ("active-curve empty.jsonl --vectors tfidf", 3, "no documents"),
        ("active-curve docs.jsonl --model nb", 2, "--vectors tfidf"),
        ("active-curve docs.jsonl --vectors tfidf --plot c.gif", 2, ".png"),
        ("annotate labels rating.key.json --answers docs.jsonl -o l.csv", 2, "annotate score"),
        ("annotate labels nowhere.json --answers docs.jsonl -o l.csv", 3, "no such file"),
    ],
)
def test_what_cannot_be(line: str, code: int, words: str, unusable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(unusable)
    before = {path.name for path in unusable.iterdir()}
    extra = ["--min-df", 1] if "--vectors tfidf" in line and "labelled" not in line else []
    assert words in run_cli(*line.split(), *extra, code=code).error()
    assert {path.name for path in unusable.iterdir()} == before


def test_one_row(unusable: Path) -> None:
    value = run_cli("active", unusable / "one.jsonl", "--relabel", "--by", "random", "--json").json()
    assert [text["rank"] for text in value["texts"]] == [1]


def test_the_table_of_learning_curves(planted: Path) -> None:
    words = ("active-curve", planted, "--rounds", 3, "--batch-size", 4, "--seeds", 2, "--by", "margin,badge")
    done = run_cli(*words, "-o", "c.parquet", "--plot", "c.svg")
    table = read("c.parquet")
    assert table.column_names[:4] == ["by", "labels", "seeds", "accuracy"]
    assert table["labels"].to_pylist() == [4, 8, 12] * 3
    assert table["by"].to_pylist()[::3] == ["random", "margin", "badge"]
    assert table["accuracy_gain"].to_pylist()[:3] == [None] * 3
    assert "mean of 2 repetitions" in done.err
    assert b"<svg" in Path("c.svg").read_bytes()
    assert pq.ParquetFile("c.parquet").schema_arrow.metadata is not None
    value = run_cli(*words, "--json", "--threads", 2).json()
    assert value["curves"] == table.to_pylist()
    frame = nk.compare_strategies(nk.read_corpus(planted), by="margin,badge", rounds=3, batch_size=4, seeds=2).table()
    assert frame.to_pylist() == table.to_pylist()


def test_a_dry_run_writes_nothing(planted: Path, tmp_path: Path) -> None:
    before = list(tmp_path.iterdir())
    run_cli("active", planted, "--relabel", "--page", "p.html", "--labels", "a,b", "-o", "b.csv", "--dry-run")
    run_cli("active-curve", planted, "-o", "c.csv", "--dry-run")
    assert list(tmp_path.iterdir()) == before

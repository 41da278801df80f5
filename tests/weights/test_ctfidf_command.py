"""nlpkit ctfidf: classes of any column, and columns that are none."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.command_line import NEWS, WORDS, footer, needs_hdbscan, read, run_cli, write_jsonl

ROWS = [
    {"text": "river river bank", "label": "a", "date": "2023-05-01", "n": 10, "topic": 0, "list": ["x"]},
    {"text": "moon star", "label": "b", "date": "2024-05-01", "n": 9, "topic": 1, "list": ["x"]},
    {"text": "moon bank", "label": None, "date": None, "n": None, "topic": -1, "list": []},
    {"text": "star star", "label": "", "date": "2024-06-01", "n": 9, "topic": 1, "list": ["y"]},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "x.jsonl", ROWS)


def classes(corpus: Path, by: str, *words: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = run_cli("ctfidf", corpus, "--by", by, "--json", "-q", *words).json()["terms"]
    return found


def test_weights_by_hand(corpus: Path) -> None:
    done = run_cli("ctfidf", corpus, "-o", "terms.parquet")
    table = read("terms.parquet")
    assert table.schema.names == ["class", "rank", "term", "weight"]
    assert footer("terms.parquet")["kind"] == "class_terms"
    parameters = footer("terms.parquet")["parameters"]
    assert parameters.pop("tokens")["lower"]
    assert parameters == {
        "by": "label", "over": None, "top_n": 30, "classes": 2, "left_out": 2, "weighting": "ctfidf", "compat": None,
        "reduce_frequent_words": False, "bm25": False,
    }  # fmt: skip
    # A = (3 + 2) / 2 words a class; river is 2 of the 3 words of a and there 2 times in all
    weights = {(r["class"], r["term"]): r["weight"] for r in table.to_pylist()}
    assert weights["a", "river"] == pytest.approx(2 / 3 * math.log(1 + 2.5 / 2))
    assert weights["a", "bank"] == pytest.approx(1 / 3 * math.log(1 + 2.5 / 1))
    assert weights["b", "moon"] == pytest.approx(1 / 2 * math.log(1 + 2.5 / 1))
    assert [r["rank"] for r in table.to_pylist()] == [1, 2, 1, 2]
    assert "left out: 2 documents without a value in 'label'" in done.err
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["label", "documents", "top", "terms"]
    assert lines[2] == ["a", "1", "river", "bank"]


def test_classes_of_columns(corpus: Path) -> None:
    assert list(classes(corpus, "label")) == ["a", "b"]
    assert list(classes(corpus, "n")) == ["9", "10"]  # numbers in the order of numbers
    assert list(classes(corpus, "topic")) == ["0", "1"]
    assert list(classes(corpus, "date:year")) == ["2023", "2024"]
    assert list(classes(corpus, "date:month")) == ["2023-05", "2024-05", "2024-06"]
    assert list(classes(corpus, "date:day")) == ["2023-05-01", "2024-05-01", "2024-06-01"]
    assert classes(corpus, "label", "--top-n", "1") == {"a": ["river"], "b": ["moon"]}
    assert list(classes(corpus, "label", "--label-col", "topic")) == ["-1", "0", "1"]  # a label of the user's
    assert "left out: 1 document without a topic" in run_cli("ctfidf", corpus, "--by", "topic").err


def test_types_of_classes(tmp_path: Path) -> None:
    import datetime

    columns = {
        "text": pa.array(["river", "moon", "star"]),
        "when": pa.array([datetime.date(2023, 1, 1), datetime.date(2024, 1, 1), None]),
        "stamp": pa.array([0, 1, 2], pa.timestamp("ns", "UTC")),
        "yes": pa.array([True, False, None]),
        "score": pa.array([0.5, float("nan"), 1.5]),
        "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
        "a:year": pa.array(["p", "q", "p"]),
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    x = tmp_path / "x.parquet"
    assert list(classes(x, "when:year")) == ["2023", "2024"]
    assert list(classes(x, "yes")) == ["False", "True"]
    assert list(classes(x, "score")) == ["0.5", "1.5"]
    assert list(classes(x, "kind")) == ["u", "v"]
    assert list(classes(x, "a:year")) == ["p", "q"]  # a column of that very name
    assert "'stamp:year' of" in run_cli("ctfidf", x, "--by", "stamp:year", code=3).error()


@pytest.mark.parametrize(
    ("by", "code", "says"),
    [
        ("list", 3, "column 'list' holds list<item: string>; groups need single values"),
        ("id:month", 3, "has no dates with a month"),
    ],
)
def test_columns_that_are_no_classes(by: str, code: int, says: str, corpus: Path) -> None:
    assert says in run_cli("ctfidf", corpus, "--by", by, code=code).error()


def test_one_class_or_none(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", [{"text": "river", "label": "a", "none": None}] * 3)
    error = run_cli("ctfidf", x, "--by", "none", code=3).error()
    assert "has a value in 'none'; name another column with --by" in error


def test_tokens_that_are_there_are_used(tmp_path: Path) -> None:
    rows = [{"text": "x", "label": c, "tokens": [c * 3]} for c in "ab"]
    done = run_cli("ctfidf", write_jsonl(tmp_path / "x.jsonl", rows), "--json", "-q")
    assert done.json()["terms"] == {"a": ["aaa"], "b": ["bbb"]}


# ---------------------------------------------------------------- weightings


def weights(corpus: Path, *words: Any) -> dict[tuple[str, str], dict[str, Any]]:
    run_cli("ctfidf", corpus, "-q", "-o", "w.parquet", "--force", *words)
    return {(row["class"], row["term"]): row for row in read("w.parquet").to_pylist()}


def test_settings_of_bertopic_by_hand(corpus: Path) -> None:
    # a: river river bank, b: moon star; A = 2.5, with --compat bertopic 2
    found = weights(corpus, "--reduce-frequent-words")
    assert found["a", "river"]["weight"] == pytest.approx(math.sqrt(2 / 3) * math.log(1 + 2.5 / 2))
    found = weights(corpus, "--bm25")
    assert found["a", "river"]["weight"] == pytest.approx(2 / 3 * math.log(1 + (2.5 - 2 + 0.5) / 2.5))
    found = weights(corpus, "--compat", "bertopic")
    assert found["a", "river"]["weight"] == pytest.approx(2 / 3 * math.log(1 + 2 / 2))
    found = weights(corpus, "--compat", "bertopic", "--bm25-weighting", "--reduce-frequent-words")
    assert found["a", "bank"]["weight"] == pytest.approx(math.sqrt(1 / 3) * math.log(1 + 1.5 / 1.5))
    assert footer("w.parquet")["parameters"]["compat"] == "bertopic"


def test_importance_by_hand(corpus: Path) -> None:
    found = weights(corpus, "--weighting", "importance", "--epsilon", "0.01")
    score = 2 / 3 * (math.log(2 / 3 + 0.01) - (math.log(2 / 3 + 0.01) + math.log(0.01)) / 2)
    assert found["a", "river"]["weight"] == pytest.approx(score)
    assert footer("w.parquet")["parameters"]["epsilon"] == 0.01


def test_keyness_by_hand(corpus: Path) -> None:
    found = weights(corpus, "--weighting", "keyness", "--prior-words", "10")
    assert read("w.parquet").schema.names == ["class", "rank", "term", "weight", "log_odds", "z", "tf", "tf_rest", "rate", "rate_rest",
                                              "g2", "log_ratio", "difference", "df", "df_rest", "chi2", "p"]  # fmt: skip
    # river: 2 of 3 words of a, 0 of 2 of b; the prior gives it 2/5 of 10 words
    delta = math.log((2 + 4) / (3 + 10 - 6)) - math.log(4 / (2 + 10 - 4))
    row = found["a", "river"]
    assert row["log_odds"] == pytest.approx(delta)
    assert row["z"] == row["weight"] == pytest.approx(delta / math.sqrt(1 / 6 + 1 / 4))
    run_cli("ctfidf", corpus, "--weighting", "keyness", "-q", "-o", "x.parquet")
    assert footer("x.parquet")["parameters"]["prior_words"] == 2.5  # the mean words of a class


def test_options_of_tokens(corpus: Path) -> None:
    assert classes(corpus, "label", "--stop-words", "none", "--min-df", "2") == {"a": ["bank"], "b": ["moon", "star"]}


def test_ngrams(corpus: Path) -> None:
    found = weights(corpus, "--ngrams", "1,2")
    assert {term for c, term in found if c == "a"} == {"river", "bank", "river river", "river bank"}
    # 5 and 3 terms in the two classes, A = 4; 'moon' in one, once
    assert found["b", "moon star"]["weight"] == pytest.approx(1 / 3 * math.log(1 + 4 / 1))


# ---------------------------------------------------------------- two columns crossed


CROSSED = [
    {"text": "river bank", "label": "b", "date": "2024-05-01", "n": 10},
    {"text": "moon star", "label": "a", "date": "2024-06-01", "n": 9},
    {"text": "star star", "label": "a", "date": "2023-07-01", "n": 10},
    {"text": "river moon", "label": "a", "date": "2024-08-01", "n": 10},
    {"text": "moon moon", "label": "a", "date": None, "n": 9},
    {"text": "sun", "label": None, "date": "2024-08-01", "n": 9},
]


def test_pairs_of_values_are_classes(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", CROSSED)
    done = run_cli("ctfidf", x, "--by", "label", "--over", "date:year", "-o", "t.parquet")
    table = read("t.parquet")
    assert table.schema.names == ["class", "over", "rank", "term", "weight"]
    rows = {(r["class"], r["over"], r["term"]): r["weight"] for r in table.to_pylist()}
    assert list(dict.fromkeys((c, o) for c, o, _ in rows)) == [("a", "2023"), ("a", "2024"), ("b", "2024")]
    # classes of 2, 4 and 2 words: A = 8/3; moon is 2 of the 4 words of a, 2024
    assert rows["a", "2024", "moon"] == pytest.approx(2 / 4 * math.log(1 + 8 / 3 / 2))
    assert "left out: 2 documents without a value in 'label and date:year'" in done.err
    assert [line.split()[:3] for line in done.out.splitlines()[2:5]] == [
        ["a", "2023", "1"],
        ["2024", "2", "moon"],
        ["b", "2024", "1"],
    ]
    found = run_cli("ctfidf", x, "--over", "n", "--json", "-q").json()
    assert (found["by"], found["over"], found["left_out"]) == ("label", "n", 1)
    assert {by: list(over) for by, over in found["terms"].items()} == {"a": ["9", "10"], "b": ["10"]}


@pytest.mark.parametrize(
    ("over", "says"),
    [
        ("nope", "has no column 'nope' (found: id, text, label, date, n); name it with --over"),
        ("label:year", "write them as 2024-01-31, or give --date-format"),
    ],
)
def test_second_columns_that_are_no_classes(over: str, says: str, tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", CROSSED)
    assert says in run_cli("ctfidf", x, "--by", "n", "--over", over, code=3).error()


def test_one_pair(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", CROSSED[:1])
    says = run_cli("ctfidf", x, "--over", "n", code=3).error()
    assert "'label × n' of" in says
    assert "has 1 class (b 10); at least two are compared" in says


def test_very_many_classes_are_shown_in_part(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", [{"text": f"river word{i}", "label": f"c{i:04d}"} for i in range(1001)])
    done = run_cli("ctfidf", x, "--min-df", "1", "-o", "t.parquet")
    assert len(done.out.splitlines()) == 2 + 30 + 1 + 1
    assert done.out.splitlines()[-2] == "… the largest 30 of 1,001 classes; all of them: --show all, or -o FILE"
    assert len(set(read("t.parquet")["class"].to_pylist())) == 1001


@pytest.mark.parametrize("made", [True, False])
def test_batches_and_threads_do_not_matter(made: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(30)]
    tokens = [list(rng.choice(words, 6)) for _ in range(60)]
    columns = {
        "text": [" ".join(t) for t in tokens],
        "label": rng.choice(["z", "y", "x"], 60).tolist(),
        "n": list(range(60)),
    }
    if not made:
        columns["tokens"] = tokens
    outputs = []
    for rows, threads in ((1, 1), (7, 2), (60, 1)):
        pq.write_table(pa.table(columns), tmp_path / f"{rows}.parquet", row_group_size=rows)
        words_ = ("--over", "n", "--threads", threads, "-q", "-o", "-")
        outputs.append(run_cli("ctfidf", tmp_path / f"{rows}.parquet", *words_).out)
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[0].count('"class": "x"') > 0


def test_to_stdout(corpus: Path) -> None:
    done = run_cli("ctfidf", corpus, "-q", "-o", "-")
    assert len(done.out.splitlines()) == 4
    assert done.out.startswith('{"class": "a", "rank": 1, "term": "river", "weight": 0.5')


@needs_hdbscan
def test_topics_of_a_prediction(planted: Path, planted_run: Path) -> None:
    run_cli("predict", planted_run, planted, "-o", "p.parquet")
    terms = run_cli("ctfidf", "p.parquet", "--by", "topic", "--json", "-q").json()["terms"]
    assert sorted(terms) == ["0", "1", "2", "3"]
    assert {frozenset(t[:8]) <= frozenset(w.split()) for t in terms.values() for w in WORDS.values()} == {True, False}


def test_news_by_label() -> None:
    done = run_cli("ctfidf", NEWS, "--by", "label", "--top-n", "5", "--json", "-q").json()
    assert (done["documents"], done["left_out"], len(done["terms"])) == (416, 0, 8)
    assert "judge" in done["terms"]["courts"]
    assert "league" in done["terms"]["football"]


def test_parts_of_dates_however_they_are_written(tmp_path: Path) -> None:
    rows = [{"text": t, "d": d} for t, d in (("river", "01/02/2011"), ("moon", "25/12/2011"), ("star", "03/02/2020"))]
    write_jsonl(tmp_path / "x.jsonl", rows)

    def names(by: str, *more: str, document: str = "x.jsonl") -> list[str]:
        run_cli("ctfidf", document, "--date-col", "d", "--by", by, *more, "-q", "-f", "-o", "c.parquet")
        return sorted(set(read("c.parquet")["class"].to_pylist()))

    assert names("date:quarter") == ["2011-Q1", "2011-Q4", "2020-Q1"]
    assert names("date:decade") == ["2010s", "2020s"]
    assert names("date:week") == ["2011-W05", "2011-W51", "2020-W06"]
    assert names("date:month", "--date-format", "%d/%m/%Y") == ["2011-02", "2011-12", "2020-02"]
    write_jsonl(tmp_path / "x.jsonl", rows[:1] + rows[2:])
    says = run_cli("ctfidf", "x.jsonl", "--date-col", "d", "--by", "date:year", "-fo", "c.parquet", code=3).error()
    assert "--date-format" in says
    assert names("date:month", "--date-format", "%m/%d/%Y") == ["2011-01", "2020-03"]
    # the format travels with the column
    run_cli("preprocess", "x.jsonl", "--date-col", "d", "--date-format", "%d/%m/%Y", "-q", "-o", "p.parquet")
    run_cli("ctfidf", "p.parquet", "--by", "date:month", "-q", "-f", "-o", "c.parquet")
    assert sorted(set(read("c.parquet")["class"].to_pylist())) == ["2011-02", "2020-02"]
    write_jsonl(
        tmp_path / "train.jsonl",
        [{"text": f"w{i} x{i % 2}", "label": "ab"[i % 2], "date": f"20{i:02}-01-01"} for i in range(30)],
    )
    run_cli("classify", "train.jsonl", "--model", "nb", "--groups", "date:decade", "--cv", "3", "-q", "-o", "nb")
    assert "--groups date:era" in run_cli("classify", "train.jsonl", "--groups", "date:era", "-o", "x", code=2).error()


def test_a_run_is_the_documents_it_was_made_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There was no way from a run to the words of its topics by year or class: it had no texts, and was refused."""
    texts = ["river bank water", "moon star night"]
    rows = [{"id": f"d{i}", "text": texts[i % 2], "date": f"20{10 + i % 3}-01-01"} for i in range(30)]
    write_jsonl(tmp_path / "x.jsonl", [*rows, {"id": "e", "text": None}])
    run_cli("lda-gibbs", "x.jsonl", "--k", "2", "--sweeps", "30", "-q", "-o", "lda")
    run_cli("ctfidf", "lda", "--by", "topic", "--over", "date:year", "-q", "-o", "a.parquet")
    run_cli("ctfidf", "lda/documents.parquet", "--by", "topic", "--over", "date:year", "-q", "-o", "b.parquet")
    # as from the table that --model writes, which has texts and topics
    run_cli("predict", "lda", "x.jsonl", "-q", "-o", "p.parquet")
    run_cli("ctfidf", "p.parquet", "--by", "topic", "--over", "date:year", "-q", "-o", "c.parquet")
    assert len(read("a.parquet")) == 2 * 3 * 3
    assert read("a.parquet").equals(read("b.parquet"))
    assert read("a.parquet").equals(read("c.parquet"))
    # tokens made before, another folder, a corpus that is gone
    run_cli("preprocess", "x.jsonl", "--min-df", "1", "-q", "-o", "t.parquet")
    run_cli("lda-gibbs", "t.parquet", "--k", "2", "--sweeps", "30", "-q", "-o", "lda2")
    run_cli("ctfidf", "lda2", "--by", "topic", "-q", "-o", "d.parquet")
    error = run_cli("ctfidf", "lda", "--by", "topic", "--stop-words", "none", code=2).error()
    assert "--stop-words: the corpus of lda is tokenised" in error
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run_cli("ctfidf", "../lda", "--by", "topic", "-q")
    says = run_cli("ctfidf", "../lda", "--by", "topic", "--id-col", "none", code=3).error()
    assert "no document of the corpus has an id that is in ../lda" in says
    (tmp_path / "x.jsonl").write_text("{}")
    says = run_cli("ctfidf", "../lda", "--by", "topic", code=3).error()
    assert "x.jsonl has changed" in says
    assert "and its texts are needed; restore the file" in says


SIDES = [
    {"text": "river river bank moon", "label": "a", "speaker": "x"},
    {"text": "river bank star star", "label": "a", "speaker": "y"},
    {"text": "moon star moon star star", "label": "b", "speaker": "x"},
    {"text": "moon star cat", "label": "c", "speaker": "x"},
]


def test_two_classes_compared(tmp_path: Path) -> None:
    sides = write_jsonl(tmp_path / "sides.jsonl", SIDES)
    done = run_cli("ctfidf", sides, "--target", "a", "--reference", "b", "--language", "en", "-o", "key.parquet")
    assert done.out.splitlines()[0] == "Key terms of a (2 documents) against b, by z"
    assert "left out: 1 document without a value in 'label' or of other classes" in done.err
    table = read("key.parquet")
    assert table.schema.names == ["class", "rank", "term", "weight", "log_odds", "z", "tf", "tf_rest", "rate", "rate_rest", "g2",
                                  "log_ratio", "difference", "df", "df_rest", "chi2", "p", "dp", "dp_norm", "juilland_d",
                                  "range"]  # fmt: skip
    row = next(row for row in table.to_pylist() if row["term"] == "river")
    assert (row["class"], row["tf"], row["tf_rest"], row["rate"], row["range"]) == ("a", 3, 0, 375_000, 2)
    assert (row["df"], row["df_rest"]) == (2, 0)
    assert row["dp"] == pytest.approx((abs(2 / 3 - 1 / 2) + abs(1 / 3 - 1 / 2)) / 2)
    assert {row["class"] for row in table.to_pylist()} == {"a", "b"}
    parameters = footer("key.parquet")["parameters"]
    assert (parameters["target"], parameters["reference"], parameters["weighting"]) == ("a", "b", "keyness")


def test_a_class_against_the_rest_and_its_parts(tmp_path: Path) -> None:
    sides = write_jsonl(tmp_path / "sides.jsonl", SIDES)
    found = run_cli("ctfidf", sides, "--target", "a", "--parts", "speaker", "--language", "en", "--json", "-q").json()
    rows = {(row["class"], row["term"]): row for row in found["comparison"]}
    assert rows["a", "river"]["dp"] == pytest.approx(1 / 6)
    assert rows["not a", "star"]["range"] == 1  # both of them speak as x
    assert rows["not a", "star"]["juilland_d"] is None
    plain = run_cli("ctfidf", sides, "--weighting", "keyness", "--language", "en", "-o", "key.parquet", "-q")
    assert "top terms" in plain.out
    of_a = next(row for row in read("key.parquet").to_pylist() if row["class"] == "a" and row["term"] == "river")
    assert of_a["g2"] == pytest.approx(rows["a", "river"]["g2"])
    assert "dp" not in of_a


def test_two_classes_that_cannot_be_compared(tmp_path: Path) -> None:
    sides = write_jsonl(tmp_path / "sides.jsonl", SIDES)
    assert "there are a, b, c" in run_cli("ctfidf", sides, "--target", "z", code=3).error()
    for words in (
        ["--reference", "b"],
        ["--parts", "speaker"],
        ["--target", "a", "--weighting", "ctfidf"],
        ["--target", "a", "--reference", "a"],
        ["--target", "a", "--over", "speaker"],
    ):
        run_cli("ctfidf", sides, *words, code=2).error()
    assert "no column 'nobody'" in run_cli("ctfidf", sides, "--target", "a", "--parts", "nobody", code=3).error()

"""nlpkit preprocess --lexicon: tokens of the categories of a lexicon, or the categories in their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import nlpkit as nk
from tests.command_line import NEWS, footer, read, run_cli, write_jsonl

EMOTIONS = Path(NEWS).with_name("emotions.tsv")
DIC = "%\n1\tjoy\n2\tanger\n3\tpronoun\n%\nhappy\t1\nfight*\t2\ngood fight\t1 2\nnot happy\t2\nwe\t3\nlove\t1\nlov*\t1\n:)\t1\n"
TEXTS = ["We are happy, not happy", "The good fight: we fight fights", "Loved love :)", "", "Nothing of it"]


@pytest.fixture
def made(tmp_path: Path) -> Any:
    (tmp_path / "words.dic").write_text(DIC)
    write_jsonl(tmp_path / "x.jsonl", [{"id": str(i), "text": text} for i, text in enumerate(TEXTS)])

    def made_with(*words: Any, code: int = 0) -> Any:
        done = run_cli("preprocess", "x.jsonl", "--lang", "en", *words, "-fo", "y.parquet", code=code)
        return read("y.parquet")["tokens"].to_pylist() if not code else done.error()

    return made_with


def test_words_of_categories_stay_whole_phrases_and_stop_words_among_them(made: Any) -> None:
    lexicon = ("--lexicon", "words.dic")
    assert made(*lexicon) == [
        ["we", "happy", "not_happy"],
        ["good_fight", "we", "fight", "fights"],
        ["loved", "love"],
        [],
        [],
    ]
    assert made(*lexicon, "--categories", "joy") == [["happy", "happy"], ["good_fight"], ["loved", "love"], [], []]
    assert made(*lexicon, "--categories", "joy", "--no-lower")[2] == ["love"]
    assert made(*lexicon, "--lemma", "dict", "--categories", "anger")[1] == ["good_fight", "fight", "fight"]
    assert made(*lexicon, "--categories", "joy", "--ngrams", "2") == [["happy happy"], [], ["loved love"], [], []]
    made(*lexicon, "--categories", "joy", "--save-removed", "gone.parquet")
    reasons = {row["term"]: row["reason"] for row in read("gone.parquet").to_pylist()}
    assert (reasons["the"], reasons["fights"]) == ("stop word", "in no category")
    assert footer("y.parquet")["parameters"]["lexicon"]["names"] == ["joy"]


def test_categories_in_the_place_of_words(made: Any) -> None:
    assert made("--lexicon", "words.dic", "--replace-by-category") == [
        ["pronoun", "joy", "anger"], ["joy", "anger", "pronoun", "anger", "anger"], ["joy", "joy"], [], []
    ]  # fmt: skip
    kept = made("--lexicon", "words.dic", "--replace-by-category", "--categories", "anger,joy")
    assert kept[:2] == [["joy", "anger"], ["anger", "joy", "anger", "anger"]]


def test_counts_are_those_of_features() -> None:
    run_cli(
        "preprocess", NEWS, "--lexicon", EMOTIONS, "--replace-by-category", "-q", "--save-vocab", "v.parquet", "-o",
        "y.parquet",
    )  # fmt: skip
    run_cli("features", NEWS, "--lexicon", EMOTIONS, "-q", "-o", "f.parquet")
    ours = {row["term"]: (row["cf"], row["df"]) for row in read("v.parquet").to_pylist()}
    columns = {name: read("f.parquet")[f"emotions_{name}"] for name in ours}
    assert ours == {name: (pc.sum(c).as_py(), pc.sum(pc.greater(c, 0)).as_py()) for name, c in columns.items()}
    assert len(ours) == 4


def test_bytes_do_not_depend_on_threads() -> None:
    for threads in (1, 2):
        out = f"{threads}.parquet"
        run_cli("preprocess", NEWS, "--lexicon", EMOTIONS, "--threads", threads, "-q", "-o", out)
    assert Path("1.parquet").read_bytes() == Path("2.parquet").read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("--categories joy", 2, "--categories needs a lexicon with categories"),
        ("--replace-by-category", 2, "--replace-by-category needs a lexicon"),
        ("--lexicon words.dic --categories joi", 2, "did you mean 'joy'?"),
        ("--lexicon words.dic --phrases npmi:0.5", 2, "one after the other"),
        ("--lexicon words.dic --tags", 2, "one after the other"),
        ("--lexicon words.dic --tokenizer chars:3", 2, "keep one"),
        ("--lexicon words.dic --ngrams 1,2 --replace-by-category", 2, "keep one"),
        ("--lexicon words.dic --lang auto --lemma dict", 2, "name it with --language"),
        ("--lexicon nowhere.dic", 3, "no such file"),
        ("--lexicon stars.txt", 3, "none of its words begins and ends with a letter or digit, so"),
        ("--lexicon other.txt", 3, "--lexicon matches nothing in the documents"),
    ],
)
def test_what_cannot_be(words: str, code: int, says: str, made: Any) -> None:
    Path("other.txt").write_text("zebra\n")
    Path("stars.txt").write_text("*\n:)\n")
    assert says in made(*words.split(), code=code)
    assert not Path("y.parquet").exists()


def test_tokens_of_a_lexicon_are_not_cut_again(made: Any) -> None:
    made("--lexicon", "words.dic", "--replace-by-category")
    run_cli("lda-gibbs", "y.parquet", "--k", 2, "--iterations", 5, "-q", "-o", "run")
    says = run_cli("predict", "run", "x.jsonl", "-o", "z.parquet", code=3).error()
    assert "made with --lexicon of nlpkit preprocess" in says


@pytest.mark.usefixtures("made")
def test_repeated_words_are_told() -> None:
    Path("twice.tsv").write_text("fight\tanger\t1\nfight\tjoy\t1\nfight\tanger\t1\n")
    done = run_cli("preprocess", "x.jsonl", "--lexicon", "twice.tsv", "--lang", "en", "-o", "z.parquet")
    assert "twice.tsv has 1 word more than once in a category, such as 'fight' in anger; each is counted" in done.err


def test_python(made: Any) -> None:
    words = nk.preprocess(
        ["we fight rain", "happy"], lexicon=Path("words.dic"), categories=("anger", "joy"), language="en"
    )
    assert [row["tokens"] for row in words.rows()] == [["fight"], ["happy"]]
    assert words.report.n_uncategorised_terms == 1

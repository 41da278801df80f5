"""Lexica in the formats they are passed around in."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.errors import ColumnError, InputError, MissingError
from nlpkit.text.lexicon import files as lexica
from nlpkit.text.lexicon.files import opinion_lexicon, package_list, read_lexicon, read_negations
from nlpkit.text.lexicon.model import Lexicon
from tests.refusals import refuses


def written(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def entries(found: Lexicon) -> dict[str, float]:
    return dict(zip(found.words, found.weights, strict=True))


def test_vader_and_afinn(tmp_path: Path) -> None:
    vader = '$:\t-1.5\t0.8\t[-1, -1]\ngood\t1.9\t0.9\t[1, 2]\n"q\t1\t0\t[]\n'
    assert entries(read_lexicon([written(tmp_path, "v.txt", vader)])) == {"$:": -1.5, "good": 1.9, '"q': 1.0}
    afinn = "can't stand\t-3\nabandon\t-2\n"
    assert entries(read_lexicon([written(tmp_path, "a.txt", afinn)])) == {"can't stand": -3.0, "abandon": -2.0}


def test_sentiws(tmp_path: Path) -> None:
    positive = written(
        tmp_path,
        "SentiWS_Positive.txt",
        "Freude|NN\t0.6502\tFreuden\nschön|ADJX\t0.0081\tschöne,schönes\nwohl|ADV\t0.1\n",
    )
    negative = written(tmp_path, "SentiWS_Negative.txt", "Abbau|NN\t-0.058\tAbbaus,Abbaues\n")
    expected = {"Freude": 0.6502, "Freuden": 0.6502, "schön": 0.0081, "schöne": 0.0081, "schönes": 0.0081, "wohl": 0.1}
    assert entries(read_lexicon([positive])) == expected
    assert entries(read_lexicon([negative, positive]))["Abbaues"] == -0.058  # weights of a file win over its place


def test_two_lists_with_comments_in_latin_1(tmp_path: Path) -> None:
    head = ";;;;;\n; Opinion Lexicon\n;\n\n"
    good = written(tmp_path, "positive-words.txt", head + "a+\ngood\nfine\n")
    bad = written(
        tmp_path, "negative-words.txt", head + "bad\nna\xefve\ntwo-faced\nprot\xe9g\xe9\nclich\xe9\n", "latin-1"
    )
    found = read_lexicon([good, bad])
    assert entries(found) == {
        "a+": 1,
        "good": 1,
        "fine": 1,
        "bad": -1,
        "naïve": -1,
        "two-faced": -1,
        "protégé": -1,
        "cliché": -1,
    }
    assert entries(read_lexicon([bad, good])) == entries(found)  # their names say which is which
    first, second = written(tmp_path, "one.txt", "up\n"), written(tmp_path, "two.txt", "down\n")
    assert entries(read_lexicon([first, second])) == {"up": 1, "down": -1}


TABLE = [
    ("good", "1", ""),
    ("awful", "negative", ""),
    ("so so", "neutral", ""),
    ("very", "1.5", "intensifier"),
    ("nope", "", "negation"),
]


@pytest.mark.parametrize("kind", ["csv", "tsv", "txt", "semicolon", "jsonl", "parquet"])
def test_tables(tmp_path: Path, kind: str) -> None:
    columns = {name: [row[i] for row in TABLE] for i, name in enumerate(("word", "weight", "kind"))}
    if kind == "parquet":
        path = tmp_path / "l.parquet"
        pq.write_table(pa.table(columns), path)
    elif kind == "jsonl":
        path = tmp_path / "l.jsonl"
        path.write_text("".join(f'{{"word": "{w}", "weight": "{x}", "kind": "{k}"}}\n' for w, x, k in TABLE))
    else:
        mark = {"csv": ",", "semicolon": ";"}.get(kind, "\t")
        lines = [mark.join(row) for row in [("word", "weight", "kind"), *TABLE]]
        path = written(tmp_path, "l.csv" if kind == "semicolon" else f"l.{kind}", "\n".join(lines) + "\n")
    found = read_lexicon([path])
    assert entries(found) == {"good": 1.0, "awful": -1.0, "so so": 0.0}
    assert (found.negations, found.intensifiers) == (("nope",), (("very", 1.5),))


def test_columns_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, "l.csv", 'Begriff,Rang,Wert_neu\ngut,1,"0,5"\nschlecht,2,-1\n')
    assert entries(read_lexicon([path], {"word": "Begriff", "weight": "Wert_neu"})) == {"gut": 0.5, "schlecht": -1.0}
    with refuses("lexicon_cols", ColumnError):
        read_lexicon([path])
    with refuses("lexicon_cols", ColumnError):
        read_lexicon([path], {"word": "Begriff", "weight": "Wert"})
    other = written(tmp_path, "m.csv", "Term,Score\nup,2\n")
    assert entries(read_lexicon([other])) == {"up": 2.0}
    headless = written(tmp_path, "n.csv", "up,2\ndown,-2\n")
    assert entries(read_lexicon([headless])) == {"up": 2.0, "down": -2.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no word with a weight"),
        ("; only\n; comments\n", "has no word with a weight"),
        ("good\nbad\n", "'good' has no weight.*two lists"),
        ("word\tweight\ngood\tmuch\n", "l.txt:2: weight 'much' of 'good'"),
        ("word\tweight\ngood\tnan\n", "weight 'nan'"),
        ("word\tweight\tkind\nvery\t-1\tintensifier\n", "l.txt:2: factor '-1'"),
        ("word\tweight\tkind\nvery\t1\tadverb\n", "kind 'adverb'"),
        ("word\tweight\tkind\nno\t1\tnegation\n", "has no word with a weight"),
    ],
)
def test_what_is_no_lexicon(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_lexicon([written(tmp_path, "l.txt", text)])


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        read_lexicon([tmp_path / "nowhere.txt"])
    with refuses("lexicon"):
        read_lexicon([tmp_path] * 3)
    with pytest.raises(InputError, match="nowhere"):
        read_negations(tmp_path / "nowhere.txt")


def test_negations(tmp_path: Path) -> None:
    assert read_negations(written(tmp_path, "n.txt", "# mine\nnot\nno longer\nnot\n")) == ("not", "no longer")
    with pytest.raises(InputError):
        read_negations(written(tmp_path, "e.txt", "; none\n"))


def test_opinion_lexicon_of_nltk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexica, "_nltk_folders", lambda: iter([tmp_path / "none"]))
    with pytest.raises(MissingError):
        opinion_lexicon()
    monkeypatch.undo()
    folder = tmp_path / "data" / "corpora" / "opinion_lexicon"
    folder.mkdir(parents=True)
    written(folder, "positive-words.txt", "; c\ngood\n")
    written(folder, "negative-words.txt", "; c\nbad\n")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "data"))
    assert entries(opinion_lexicon()) == {"good": 1.0, "bad": -1.0}


def test_lists_of_packages() -> None:
    pytest.importorskip("vaderSentiment")
    pytest.importorskip("afinn")
    assert len(read_lexicon([package_list("vader")]).words) > 7000
    assert len(read_lexicon([package_list("afinn")]).words) > 3000
    assert package_list("afinn:da").is_file()
    with refuses("lexicon"):
        package_list("afinn:emoticons")


def test_words_that_are_there_several_times(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Rows of emotions (NRC's long format) collapsed to their mean without a word."""
    many = "".join(f"word{i}\t1\n" for i in range(30))
    assert read_lexicon([written(tmp_path, "same.txt", many + "good\t2\ngood\t2\n")]).words
    assert not caplog.messages
    found = read_lexicon([written(tmp_path, "few.txt", many + "good\t2\nbad\t-1\ngood\t1\n")])
    assert "'good' has the weight 2 in" in caplog.text
    assert "few.txt:31 and 1 in" in caplog.text
    assert found.words.count("good") == 2  # their mean is taken
    nrc = "".join(f"{w}\t{e}\t{v}\n" for w in ("abacus", "abandon") for e, v in (("anger", 0), ("fear", 1), ("joy", 0)))
    path = written(tmp_path, "nrc.tsv", "word\temotion\tweight\n" + nrc)
    with pytest.raises(InputError, match=r"words have several weights"):
        read_lexicon([path])


def test_a_cell_over_several_lines_is_refused(tmp_path: Path) -> None:
    """A lone quotation mark joined lines, and the command ended as a bug."""
    path = written(tmp_path, "x.csv", 'word,weight\ngood,1\n"bad,-1\nfine,1\n')
    with pytest.raises(InputError, match=r"a cell spans several lines; write each row on one line, and"):
        read_lexicon([path])

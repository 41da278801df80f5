"""nlpkit stats: figures by hand and by plain counting, groups, tables, pictures, and corpora that have next to nothing."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from nlpkit.explore.stats.run import CorpusStatistics
from nlpkit.explore.stats.run import stats as count_corpus
from nlpkit.metrics.texts.corpus import dispersion, fit_zipf
from nlpkit.platform.documents.corpus import read_corpus
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.text.options import CountOptions
from tests.command_line import HARD, NACHRICHTEN, NEWS, footer, read, run_cli, write_jsonl
from tests.strategies import corpora, repeatable

SAM = [
    {"id": "s1", "text": "I am Sam.", "label": "a", "date": "2023-05-01", "n": 10},
    {"id": "s2", "text": "Sam I am!", "label": "a", "date": "2024-01-01", "n": 9},
    {"id": "s3", "text": "I do not like ham and eggs.", "label": "b", "date": "2024-06-01", "n": 10},
    {"id": "s4", "text": "...", "label": None, "date": None, "n": None},
]


@pytest.fixture
def sam(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "sam.jsonl", SAM)


def stats(corpus: Any, *words: Any) -> dict[str, Any]:
    return run_cli("stats", corpus, "--json", "-q", *words).json()


def test_figures_by_hand(sam: Path) -> None:
    found = stats(sam)
    assert (found["documents"], found["empty"], found["tokens"], found["types"], found["hapaxes"]) == (4, 1, 13, 9, 6)
    assert found["type_token_ratio"] == pytest.approx(9 / 13)
    assert found["lengths"] == {"min": 0, "q1": 2.25, "median": 3.0, "mean": 3.25, "q3": 4.0, "max": 7}
    assert found["words"][:3] == [
        {"word": "i", "cf": 3, "df": 3}, {"word": "am", "cf": 2, "df": 2}, {"word": "sam", "cf": 2, "df": 2},
    ]  # fmt: skip
    assert found["ngrams"] == {"2": [{"ngram": "i am", "cf": 2}], "3": []}
    assert found["heaps"]["growth"] == [
        [1, 1], [2, 2], [3, 3], [4, 3], [5, 3], [6, 3], [7, 3], [8, 4], [9, 5], [10, 6], [11, 7], [12, 8], [13, 9],
    ]  # fmt: skip
    fit = fit_zipf(np.array([3, 2, 2, 1, 1, 1, 1, 1, 1]))
    assert found["zipf"]["exponent"] == pytest.approx(fit.exponent)
    assert found["zipf"]["error"] == pytest.approx(fit.error)


def test_tables_for_people(sam: Path) -> None:
    done = run_cli("stats", sam, "--top", "3")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["documents", "4", "(1", "without", "a", "token)"] in lines
    assert ["rank", "word", "tf", "share", "Zipf"] in lines
    assert ["1", "i", "3", "23.08%", "3.00"] in lines
    assert ["1", "i", "am", "2"] in lines
    assert "Zipf's law p_k = k^-s / Σ v^-s: s = 0.5" in done.out
    assert "Heaps' law V(n) = K n^β" in done.out
    assert "max 7" in done.out


def test_the_zipf_column_of_the_lecture(tmp_path: Path) -> None:
    # f_k = f_1 / k^0.6 as in the table of the lecture (L1366), where f_1 is 49,688
    text = " ".join(
        word for word, n in zip(("say", "case", "corona", "will"), (9, 6, 5, 4), strict=True) for _ in range(n)
    )
    found = stats(write_jsonl(tmp_path / "x.jsonl", [{"text": text}]), "--zipf-s", "0.6")
    table = [(r["rank"], r["word"], r["tf"], r["zipf"]) for r in found["zipf"]["table"]]
    assert table == [(1, "say", 9, 9), (2, "case", 6, 5.94), (3, "corona", 5, 4.66), (4, "will", 4, 3.92)]
    assert found["zipf"]["table_exponent"] == 0.6
    assert found["zipf"]["exponent"] != 0.6


def test_term_table(sam: Path) -> None:
    done = run_cli("stats", sam, "-o", "terms.parquet", "--zipf-s", "1")
    table = read("terms.parquet")
    assert table.schema.names == ["term", "cf", "df", "rank", "share", "zipf"]
    rows = table.to_pylist()
    assert [r["term"] for r in rows] == [
        "i",
        "am",
        "sam",
        "and",
        "do",
        "eggs",
        "ham",
        "like",
        "not",
    ]  # ties by code point
    assert [r["rank"] for r in rows] == list(range(1, 10))
    assert rows[1] == {"term": "am", "cf": 2, "df": 2, "rank": 2, "share": pytest.approx(2 / 13), "zipf": 1.5}
    assert sum(r["share"] for r in rows) == pytest.approx(1)
    block = footer("terms.parquet")
    assert (block["kind"], block["command"]) == ("term_frequencies", "stats")
    assert block["parameters"]["tokens"] == "made"
    assert "wrote terms.parquet: 9 terms" in done.err
    assert "exists" in run_cli("stats", sam, "-o", "terms.parquet", code=2).error()
    lines = run_cli("stats", sam, "-q", "-o", "-").out.splitlines()
    assert len(lines) == 9
    assert lines[0].startswith('{"term": "i", "cf": 3, "df": 3, "rank": 1, "share": 0.23')


def test_groups(sam: Path) -> None:
    found = stats(sam, "--by", "label")
    assert (found["by"], found["without_group"], list(found["groups"])) == ("label", 1, ["a", "b"])
    a, b = found["groups"].values()
    assert (a["documents"], a["tokens"], a["types"], b["documents"], b["tokens"], b["types"]) == (2, 6, 3, 1, 7, 7)
    assert (a["ngrams"]["2"], a["heaps"]["growth"][-1]) == ([{"ngram": "i am", "cf": 2}], [6, 3])
    assert found["tokens"] == 13
    assert list(stats(sam, "--by", "n")["groups"]) == ["9", "10"]  # numbers in the order of numbers
    assert list(stats(sam, "--by", "date:year")["groups"]) == ["2023", "2024"]
    assert list(stats(sam, "--by", "date:month")["groups"]) == ["2023-05", "2024-01", "2024-06"]
    done = run_cli("stats", sam, "--by", "label", "-o", "terms.parquet")
    assert "in no group: 1 document without a value in 'label'" in done.err
    table = read("terms.parquet").to_pylist()
    assert [(r["class"], r["term"], r["cf"], r["rank"]) for r in table[:4]] == [
        ("a", "am", 2, 1), ("a", "i", 2, 2), ("a", "sam", 2, 3), ("b", "and", 1, 1),
    ]  # fmt: skip
    assert ["a", "2", "6", "3", "0"] in [line.split()[:5] for line in done.out.splitlines()]


def test_a_column_without_values_makes_no_groups(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", [{"text": "a", "label": None}])
    assert "has a value in 'label'; name another column" in run_cli("stats", x, "--by", "label", code=3).error()


def test_tokens_that_are_there_are_counted(tmp_path: Path) -> None:
    raw = stats(NEWS, "--min-length", "2", "--by", "label", "--language", "en")
    run_cli("preprocess", NEWS, "--language", "en", "--stop-words", "none", "--min-df", "1", "-q", "-o", "docs.parquet")
    done = stats("docs.parquet", "--by", "label")
    assert (raw.pop("tokens_column"), done.pop("tokens_column")) == (False, True)
    assert done == raw
    assert "the words come from the column 'tokens', unchanged" in run_cli("stats", "docs.parquet").err
    x = write_jsonl(tmp_path / "x.jsonl", [{"text": "x", "tokens": ["The", "end"]}, {"text": "y", "tokens": []}])
    assert [w["word"] for w in stats(x)["words"]] == ["The", "end"]


def test_as_counted_plainly() -> None:
    run_cli(
        "preprocess", NACHRICHTEN, "--language", "de", "--stop-words", "none", "--min-df", "1", "-q", "-o",
        "docs.parquet",
    )  # fmt: skip
    documents = read("docs.parquet").column("tokens").to_pylist()
    words = Counter(w for d in documents for w in d)
    found = stats("docs.parquet", "--ngrams", "2,4", "--top", "30")
    assert found["tokens"] == words.total()
    assert [(w["word"], w["cf"]) for w in found["words"]] == sorted(words.items(), key=lambda i: (-i[1], i[0]))[:30]
    assert all(w["df"] == sum(w["word"] in d for d in documents) for w in found["words"])
    for n in (2, 4):
        grams = Counter(" ".join(d[i : i + n]) for d in documents for i in range(len(d) - n + 1))
        top = [(g["ngram"], g["cf"]) for g in found["ngrams"][str(n)]]
        assert dict(top).items() <= grams.items()
        assert [count for _, count in top] == [c for c in sorted(grams.values(), reverse=True)[:30] if c > 1]


def counted(path: Path, *, batch_rows: int, threads: int) -> tuple[CorpusStatistics, dict[str, Any]]:
    corpus = read_corpus(path, options=ReadOptions(batch_rows=batch_rows))
    found = count_corpus(corpus, by="label", ngrams=(2,), top=5, words=CountOptions(), threads=threads)
    return found, found.to_dict()


@settings(repeatable, max_examples=10)
@given(corpora())
def test_batches_and_threads_do_not_matter(tmp_path_factory: pytest.TempPathFactory, texts: list[str | None]) -> None:
    path = tmp_path_factory.mktemp("x") / "x.jsonl"
    rows = [{"text": text or "", "label": "ab"[i % 2]} for i, text in enumerate([*texts, "a b a b"])]
    write_jsonl(path, rows)
    one, expected = counted(path, batch_rows=10_000, threads=1)
    for batch_rows, threads in ((1, 2), (3, 1)):
        other, found = counted(path, batch_rows=batch_rows, threads=threads)
        assert repr(found) == repr(expected)  # nan is nan
        assert (other.words, other.whole.df.tolist()) == (one.words, one.whole.df.tolist())
    assert sum(g.figures.tokens for g in one.groups) == one.whole.figures.tokens


def test_which_words(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", [{"text": "The state of the art is a U.S. invention, said the state."}])
    words = {w["word"]: w["cf"] for w in stats(x, "--top", "20", "--language", "en")["words"]}
    assert (words["the"], words["a"], words["state"]) == (3, 1, 2)  # stop words and single letters count
    assert "The" in {w["word"] for w in stats(x, "--no-lower")["words"]}
    assert "a" not in {w["word"] for w in stats(x, "--min-length", "2")["words"]}
    left = {w["word"] for w in stats(x, "--stop-words", "en")["words"]}
    assert "state" in left
    assert not {"the", "of"} & left


@pytest.mark.parametrize("sizes", ["1", "2,6", "x", "2;3"])
def test_sizes_of_ngrams(sizes: str, sam: Path) -> None:
    assert "--ngrams takes sizes from 2 to 5" in run_cli("stats", sam, "--ngrams", sizes, code=2).error()
    assert stats(sam, "--ngrams", "none")["ngrams"] == {}


def test_next_to_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert "no documents: " in run_cli("stats", empty, code=3).error()
    blank = write_jsonl(tmp_path / "blank.jsonl", [{"text": ""}, {"text": " "}, {"text": None}, {"text": "?!"}])
    found = stats(blank)
    assert (found["documents"], found["empty"], found["tokens"], found["types"], found["dropped"]) == (3, 3, 0, 0, 1)
    assert found["type_token_ratio"] is None
    assert found["zipf"]["exponent"] is None
    done = run_cli("stats", blank, "-o", "blank.parquet", "--by", "text")
    assert "3 (3 without a token)" in done.out
    assert read("blank.parquet").num_rows == 0
    assert read("blank.dropped.parquet").num_rows == 1
    one = write_jsonl(tmp_path / "one.jsonl", [{"text": "moon"}])
    assert "moon" in run_cli("stats", one, "-o", "one.parquet").out
    assert read("one.parquet").to_pylist() == [
        {"term": "moon", "cf": 1, "df": 1, "rank": 1, "share": 1.0, "zipf": None}
    ]
    assert stats(HARD)["documents"] > 0


# ---------------------------------------------------------------- pictures

needs_report = pytest.mark.skipif(
    not __import__("importlib").util.find_spec("wordcloud"), reason="the extra report is not installed"
)


@needs_report
def test_pictures(sam: Path) -> None:
    words = ["--plot", "zipf.png", "--plot", "heaps_2.svg", "--plot", "lengths:l.html", "--plot", "cloud.png"]
    few = [NEWS, "--limit", "5", "--language", "en"]
    done = run_cli("stats", *few, *words, "-q")
    assert done.err == ""
    found = {name: Path(name).read_bytes() for name in ("zipf.png", "heaps_2.svg", "l.html", "cloud.png")}
    assert found["zipf.png"].startswith(b"\x89PNG")
    assert found["cloud.png"].startswith(b"\x89PNG")
    assert b"<svg" in found["heaps_2.svg"][:1000]
    assert b'id="lengths"' in found["l.html"]
    assert "exists" in run_cli("stats", *few, *words, code=2).error()
    run_cli("stats", *few, *words[:6], "-q", "--force", "--threads", "1")  # the cloud again in test_chart
    assert {name: Path(name).read_bytes() for name in found} == found
    said = run_cli("stats", *few, "--by", "label", "--plot", "zipf.png", "--force").err
    assert "wrote zipf.png" in said
    assert Path("zipf.png").read_bytes() != found["zipf.png"]


@needs_report
def test_words_that_no_font_has(tmp_path: Path) -> None:
    rows = [{"text": "über Grüße 研究 言語 мир", "label": "x"}] * 3
    done = run_cli("stats", write_jsonl(tmp_path / "x.jsonl", rows), "--plot", "cloud.png", "--language", "none")
    if "not drawn" in done.err:  # a machine without a font for Chinese
        assert "2 words not drawn, such as " in done.err
        assert "lacks 研究言語" in done.err
        assert "--font FILE" in done.err
    assert Path("cloud.png").exists()


@needs_report
def test_the_cloud_leaves_out_stop_words(sam: Path) -> None:
    said = run_cli("stats", sam, "--plot", "cloud.png", "--language", "en").err
    assert "wrote cloud.png: 4 words without the stop words of en" in said  # Sam, like, ham, eggs
    run_cli("preprocess", sam, "--language", "en", "--stop-words", "none", "-q", "-o", "docs.parquet")
    said = run_cli("stats", "docs.parquet", "--plot", "cloud.png", "--force").err
    assert "4 words without the stop words of en" in said  # the language that preprocess was given


@pytest.mark.parametrize(
    ("plot", "package"), [("zipf.png", "matplotlib"), ("zipf.html", "plotly"), ("cloud.png", "wordcloud")]
)
def test_without_the_extra(plot: str, package: str, sam: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    says = run_cli("stats", sam, "--plot", plot, code=4).error()
    assert f"drawing with {package} needs the extra 'report'" in says


def test_lexical_diversity(tmp_path: Path) -> None:
    rows = [
        {"text": " ".join(["same"] * 60), "label": "poor"},
        {"text": " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(60)), "label": "rich"},
        {"text": "too short", "label": "rich"},
    ]
    found = run_cli("stats", write_jsonl(tmp_path / "x.jsonl", rows), "--by", "label", "--json", "-q").json()
    assert found["groups"]["poor"]["diversity"] == pytest.approx(
        {"documents": 1, "mtld": 2, "mattr": 1 / 50, "hdd": 1 / 42}
    )
    assert found["groups"]["rich"]["diversity"] == pytest.approx({"documents": 1, "mtld": 60, "mattr": 1, "hdd": 1})
    assert (found["diversity"]["documents"], found["diversity"]["mtld"]) == (2, pytest.approx(31))
    short = run_cli("stats", write_jsonl(tmp_path / "y.jsonl", rows[2:]), "--json", "-q").json()
    assert short["diversity"] == {"documents": 0, "mtld": None, "mattr": None, "hdd": None}


def test_dispersion_is_that_of_all_documents_at_once(tmp_path: Path) -> None:
    """Batch by batch as from one matrix, of the corpus and of each group; documents without words are no parts."""
    rng = np.random.default_rng(0)
    texts = [
        " ".join(rng.choice(["a", "b", "c", "d", "e"], rng.integers(0, 30), p=[0.5, 0.3, 0.1, 0.07, 0.03]))
        for _ in range(60)
    ]
    rows = [{"text": text, "group": "xy"[d % 2]} for d, text in enumerate(texts)]
    write_jsonl(tmp_path / "d.jsonl", rows)
    run_cli("stats", "d.jsonl", "--dispersion", "--min-length", "1", "--by", "group", "-q", "-o", "t.parquet")
    whole = run_cli("stats", "d.jsonl", "--dispersion", "--min-length", "1", "--json", "-q").json()["words"]
    words = sorted({word for text in texts for word in text.split()})
    counts = np.array([[text.split().count(word) for word in words] for text in texts])
    got = {(row["class"], row["term"]): row for row in read("t.parquet").to_pylist()}
    for name, kept in (("x", slice(0, None, 2)), ("y", slice(1, None, 2)), (None, slice(None))):
        plain = dispersion(sparse.csr_array(counts[kept]), counts[kept].sum(axis=1))
        for v, word in enumerate(words):
            row = next(w for w in whole if w["word"] == word) if name is None else got[name, word]
            assert [row["dp"], row["dp_norm"], row["juilland_d"]] == pytest.approx(
                [plain.dp[v], plain.dp_norm[v], plain.juilland_d[v]]
            )
    assert "dp" not in run_cli("stats", "d.jsonl", "--json", "-q").json()["words"][0]
    assert "Juilland's D" in run_cli("stats", "d.jsonl", "--dispersion", "--min-length", "1").out


def test_readability(tmp_path: Path) -> None:
    rows = [
        {"text": "The judge called. Nobody in the little courtroom answered her.", "label": "a"},
        {"text": "", "label": "b"},
    ]
    corpus = write_jsonl(tmp_path / "x.jsonl", rows)
    found = run_cli("stats", corpus, "--readability", "--language", "en", "--by", "label", "--json", "-q").json()
    assert found["readability"] == found["groups"]["a"]["readability"]
    assert found["readability"]["lix"] == pytest.approx(25)
    assert found["groups"]["b"]["readability"] == {"flesch": None, "flesch_kincaid": None, "lix": None}
    assert "Readability, mean of the documents" in run_cli("stats", corpus, "--readability", "--language", "en").out
    assert "readability" not in run_cli("stats", corpus, "--json", "-q").json()
    chinese = write_jsonl(tmp_path / "zh.jsonl", [{"text": "自然语言处理"}])
    assert "do not have" in run_cli("stats", chinese, "--readability", "--language", "zh").err

"""Words of categories: by hand, in every format, and against a plain search through the texts."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.errors import InputError
from nlpkit.text.lexicon.files import read_categories
from nlpkit.text.lexicon.model import CategoryCounter, CategoryLexicon
from nlpkit.text.options import TextOptions
from nlpkit.text.settings import preprocess_options

FORMATS = {
    "nrc.txt": "good\tjoy\t1\ngood\tfear\t0\nnot good\tfear\t1\nbad\tfear\t1\nbad\tjoy\t0\n",
    "long.csv": "word,category\ngood,joy\nnot good,fear\nbad,fear\n",
    "wide.csv": "Word,Word Count,joy,fear,Syllables\ngood,12,1,0,1\nnot good,7,0,1,1\nbad,3,0,1,1\n",
    "years.csv": "Word,joy,fear\nGOOD,2009,0\nNOT GOOD,0,2011\nBAD,0,2009\nGONE,-2014,0\n",
    "liwc.dic": "%\n1\tjoy\n2\tfear\n%\ngood\t1\nnot good\t2\nbad\t2\n",
}


def counted(lexicon: CategoryLexicon, texts: list[str | None]) -> tuple[list[list[int]], list[int]]:
    counter = CategoryCounter(lexicon, preprocess_options(TextOptions(language="en")), ["en"])
    batches = [pa.record_batch({"text": pa.array(texts[i : i + 2], pa.string())}) for i in range(0, len(texts), 2)]
    parts = [counts for _, counts in counter.count(batches)]
    return np.concatenate([p.counts for p in parts]).tolist(), np.concatenate([p.words for p in parts]).tolist()


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FORMATS[name], encoding="utf-8")
    lexicon = read_categories(tmp_path / name)
    assert lexicon.name == name.split(".")[0]
    assert {c.lower() for c in lexicon.categories} == {"joy", "fear"}
    counts, words = counted(lexicon, ["Good, good! Not good at all.", "", None, "BAD. A-bad thing"])
    joy, fear = (lexicon.categories.index(name) for name in ("joy", "fear"))
    assert [row[joy] for row in counts] == [2, 0, 0, 0]
    assert [row[fear] for row in counts] == [1, 0, 0, 1]
    assert words == [6, 0, 0, 3]


def test_a_list_of_words_is_one_category(tmp_path: Path) -> None:
    (tmp_path / "hedges.txt").write_text("maybe\nperhaps\n# a comment\n", encoding="utf-8")
    assert read_categories(tmp_path / "hedges.txt").categories == ("hedges",)
    assert read_categories(tmp_path / "hedges.txt", "doubt").categories == ("doubt",)


def test_begins_of_words() -> None:
    entries = {"happ*": {"pos"}, "happen*": {"event"}, "happy": {"pos", "mood"}, "so happy": {"pos"}}
    lexicon = CategoryLexicon("x", {w: frozenset(c) for w, c in entries.items()}, ("pos", "event", "mood"), "x")
    texts: list[str | None] = ["happy", "happening happier", "so happy", "unhappy", "Happenstance, happ"]
    counts, _ = counted(lexicon, texts)
    assert counts == [[1, 0, 1], [2, 1, 0], [1, 0, 0], [0, 0, 0], [2, 1, 0]]


def test_against_a_search_through_the_texts() -> None:
    rng = np.random.default_rng(4)
    vocabulary = [a + b for a in ("ra", "ta", "bo", "ki") for b in ("n", "nd", "ner", "s", "st")]
    entries = {str(w): frozenset(rng.choice(list("abc"), 2).tolist()) for w in rng.choice(vocabulary, 8, replace=False)}
    entries |= {"ra*": frozenset("a"), "tan*": frozenset("b"), "kin*": frozenset("ab")}
    lexicon = CategoryLexicon("x", entries, ("a", "b", "c"), "x")
    texts: list[str | None] = [" ".join(rng.choice(vocabulary, rng.integers(0, 40))) for _ in range(30)]
    counts, words = counted(lexicon, texts)

    def plain(text: str, category: str) -> int:
        patterns = [w.replace("*", r"\w*") for w, categories in entries.items() if category in categories]
        return sum(any(re.fullmatch(p, word) for p in patterns) for word in text.split())

    assert counts == [[plain(text or "", c) for c in "abc"] for text in texts]
    assert words == [len((text or "").split()) for text in texts]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt", "", "has no word with a category"),
        ("a.txt", "good\tjoy\t2\n", "a.txt:1: '2' for 'good' and joy; 0 or 1 was needed"),
        ("a.tsv", "good\t1.5\nbad\t-2\n", "a.tsv:1: '1.5' is the category of 'good'; a name was needed"),
        ("a.csv", "word,size,how\ngood,big,3\nbad,small,4\n", "0 or 1 was needed"),
        ("a.csv", "what,joy,fear,pain\ngood,1,0,0\n", "a column of words"),
        ("a.dic", "%\n1\tjoy\n%\ngood\t2\n", "a.dic:4: 'good' has the category 2, which the header does not list"),
        ("a.dic", "%\n1\tjoy\ngood\t1\n", "the header of a .dic file must end with a line %, which is"),
        ("a.dic", "%\njoy\n%\ngood\t1\n", "a.dic:2: the number and the name of a category were needed"),
    ],
)
def test_lexica_that_cannot_be_read(name: str, content: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(says)):
        read_categories(tmp_path / name)


def test_a_lexicon_without_a_word_that_can_occur() -> None:
    lexicon = CategoryLexicon("x", {":-)": frozenset("a")}, ("a",), "smileys.txt")
    with pytest.raises(InputError, match=r"smileys\.txt: none of its 1 entries"):
        counted(lexicon, ["x"])

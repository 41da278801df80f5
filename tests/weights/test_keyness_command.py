"""nlpkit keyness: the numbers of `ctfidf --weighting keyness`, under the name that people look for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import chi2

import nlpkit as nk
from nlpkit.errors import UsageError
from tests.command_line import footer, read, run_cli, write_jsonl
from tests.weights.test_ctfidf_command import SIDES


def test_two_groups_have_the_numbers_of_ctfidf(tmp_path: Path) -> None:
    sides = write_jsonl(tmp_path / "sides.jsonl", SIDES)
    words = (sides, "--target", "a", "--reference", "b", "--language", "en")
    shown = run_cli("keyness", *words, "-o", "key.parquet").out
    assert shown == run_cli("ctfidf", *words, "-o", "same.parquet").out
    assert shown.startswith("Key terms of a (2 documents) against b, by z")
    assert read("key.parquet").equals(read("same.parquet"))
    parameters = footer("key.parquet")["parameters"]
    assert (parameters["target"], parameters["reference"], parameters["weighting"]) == ("a", "b", "keyness")
    assert (footer("key.parquet")["command"], footer("same.parquet")["command"]) == ("keyness", "ctfidf")


def test_without_a_target_each_group_is_compared_with_all_others(tmp_path: Path) -> None:
    sides = write_jsonl(tmp_path / "sides.jsonl", SIDES)
    words = (sides, "--top-n", "2", "--min-df", "1", "--json", "-q")
    value = run_cli("keyness", *words).json()
    assert value["terms"] == run_cli("ctfidf", *words, "--weighting", "keyness").json()["terms"]
    assert value["terms"]["a"][0] == "river"


def test_from_python_it_is_the_same_table() -> None:
    texts, labels = [row["text"] for row in SIDES], [row["label"] for row in SIDES]
    corpus = nk.Corpus.from_texts(texts, labels=labels)
    terms = nk.keyness(corpus, target="a", reference="b", language="en", min_df=1)
    assert terms.table.equals(nk.ctfidf(corpus, target="a", reference="b", language="en", min_df=1).table)
    assert terms.table["term"][0].as_py() == "river"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"reference": "b"}, "`reference` needs `target`"),
        ({"parts": "speaker"}, "`parts` needs `target`"),
        ({"target": "a", "reference": "a"}, "are both 'a'"),
        ({"top_n": 0}, "`top_n` must be at least 1"),
    ],
)
def test_groups_that_cannot_be_compared(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        nk.keyness(["a river", "a moon"], **settings)


def test_phrases_of_two_groups_as_scikit_learn_counts_them(tmp_path: Path) -> None:
    """Documents of each group with a phrase, after scikit-learn's stop words, and its χ²: the table of "State of the State"."""
    texts = [
        "We have cut the taxes for every family.",
        "Cut taxes now, they said.",
        "Clean energy and clean air for all of us.",
    ]
    texts += ["Clean energy creates jobs.", "We cut taxes, and clean energy is our goal."]
    labels = ["r", "r", "d", "d", "r"]
    rows = [{"text": text, "party": label} for text, label in zip(texts, labels, strict=True)]
    speeches = write_jsonl(tmp_path / "speeches.jsonl", rows)
    run_cli("keyness", speeches, "--by", "party", "--target", "d", "--reference", "r", "--ngrams", "1,2", "--tokenizer", "sklearn",
            "--stop-words", "sklearn", "--min-df", "1", "--top-n", "99", "-q", "-o", "words.parquet")  # fmt: skip
    vectorizer = CountVectorizer(stop_words="english", ngram_range=(1, 2), binary=True)
    holds = vectorizer.fit_transform(texts)
    of_sklearn = dict(zip(vectorizer.get_feature_names_out(), chi2(holds, labels)[0], strict=True))
    table = read("words.parquet").to_pylist()
    assert {row["term"] for row in table} == set(of_sklearn)
    df = dict(zip(vectorizer.get_feature_names_out(), np.asarray(holds.sum(axis=0)).ravel().tolist(), strict=True))
    for row in table:
        assert row["df"] + row["df_rest"] == df[row["term"]]
        assert row["chi2"] * (1 - df[row["term"]] / 5) == pytest.approx(of_sklearn[row["term"]], rel=1e-6)

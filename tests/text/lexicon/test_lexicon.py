"""Scores of a lexicon: cutting alike, negation, intensifiers, entries of several words; classes; the packages of VADER and AFINN."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.errors import InputError
from nlpkit.sentiment.packages import PackageScorer
from nlpkit.text.lexicon.model import (
    DEFAULT_CLASSES,
    Lexicon,
    LexiconScorer,
    SentimentClasses,
    parse_classes,
    predict_classes,
    recognise_classes,
    text_languages,
)
from nlpkit.text.lexicon.options import is_package
from nlpkit.text.options import PreprocessOptions
from tests.refusals import refuses

OPTIONS = PreprocessOptions(language="en")
LEXICON = Lexicon(
    "small",
    ("good", "great", "bad", "awful", "not bad", "love", "a+", ":-)"),
    (1.0, 2.0, -1.0, -2.0, 0.5, 1.5, 3.0, 2.0),
    ("lacks",),
    (("very", 2.0), ("slightly", 0.5)),
)


def scores(
    *texts: str | None,
    lexicon: Lexicon = LEXICON,
    options: PreprocessOptions = OPTIONS,
    how: str = "sum",
    **more: Any,
) -> list[float]:
    scorer = LexiconScorer(lexicon, options, (options.language,), **more)
    return score_with(scorer, list(texts), how)


def score_with(
    scorer: LexiconScorer, texts: list[str | None], how: str = "sum", rows: int = 100, threads: int = 1
) -> list[float]:
    batch = pa.record_batch({"text": pa.array(texts, pa.large_string())})
    parts = [batch.slice(i, rows) for i in range(0, len(texts), rows)]
    found = [scorer.score(m, how).score for _, m in scorer.match(parts, threads=threads)]
    return np.concatenate(found).tolist() if found else []


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("A good film", 1),
        ("GOOD! Good? good.", 3),
        ("It is not good", -1),
        ("not good, great", -1 + 2),
        ("It isn’t good", -1),  # a typographic apostrophe
        ("isnt great (really) great", -2 + 2),
        ("never not good", 1),
        ("not bad", 0.5),  # the entry of two words, which uses its negation up
        ("not, bad", -1),
        ("very good", 2),
        ("very fine good", 2),
        ("very, good", 1),
        ("very very good", 4),
        ("very good great", 2 + 2),
        ("not very good", -2),
        ("slightly awful", -1),
        ("lacks good", -1),
        ("a grade of a+", 0),  # the tokenizer leaves an a of it, which must not match
        (":-) text", 0),
        ("not<br /><br />good", 1),
        ("not <b>good</b>", -1),
        ("not for 3.5 good", -1),
        ("", 0),
        ("1234 !!! ???", 0),
        ("Всё хорошо", 0),
    ],
)
def test_by_hand(text: str, score: float) -> None:
    assert scores(text) == [score]


def test_null_is_empty() -> None:
    assert scores(None, "good") == [0.0, 1.0]


def test_kinds_of_score() -> None:
    text = "good great awful film"
    assert scores(text, how="mean") == [pytest.approx(1 / 3)]
    assert scores(text, how="polarity") == [pytest.approx((3 - 2) / 5)]
    assert scores("nothing at all", how="polarity") == [0.0]
    with refuses("lexicon_score"):
        scores(text, how="product")


def test_without_negation() -> None:
    assert scores("not good", negation=False) == [1.0]
    assert scores("lacks good", negation=False) == [1.0]
    assert scores("not a really rather good film", reach=2) == [1.0]
    assert scores("not really good film", reach=2) == [-1.0]
    assert scores("hardly good zilch good", negations=["zilch"]) == [1 - 1]


def test_a_negation_with_a_weight_has_none() -> None:
    lexicon = Lexicon("no", ("no", "good"), (-1.0, 1.0))
    assert scores("no good", lexicon=lexicon) == [-1.0]
    assert scores("no good", lexicon=lexicon, negation=False) == [0.0]


def test_lexicon_and_text_are_cut_alike() -> None:
    lexicon = Lexicon("forms", ("loved", "Disasters"), (1.0, -1.0))
    texts = ("She loves it", "one disaster")
    assert scores(*texts, lexicon=lexicon) == [0.0, 0.0]
    assert scores(*texts, lexicon=lexicon, options=replace(OPTIONS, lemma=True)) == [1.0, -1.0]
    assert scores(*texts, lexicon=lexicon, options=replace(OPTIONS, stem="auto")) == [1.0, -1.0]
    assert scores("Disasters", "disasters", lexicon=lexicon, options=replace(OPTIONS, lower=False)) == [-1.0, 0.0]
    german = replace(OPTIONS, language="de", lemma=True)
    assert scores(
        "Die Häuser sind nicht schön", lexicon=Lexicon("de", ("schöne", "Haus"), (1.0, 0.25)), options=german
    ) == [0.25 - 1]


def test_entries_of_one_term_have_their_mean() -> None:
    lexicon = Lexicon("twice", ("envy", "Envy", "good", "goods"), (1.0, -1.0, 1.0, 2.0))
    scorer = LexiconScorer(lexicon, replace(OPTIONS, stem="porter"), ("en",))
    assert scorer.report.n_several == 2
    assert score_with(scorer, ["envy good"]) == [1.5]


def test_report() -> None:
    report = LexiconScorer(LEXICON, OPTIONS, ("en",)).report
    assert (report.n_words, report.n_unmatchable, report.n_positive, report.n_negative) == (8, 2, 4, 2)


def test_batches_and_threads_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    words = [
        "good",
        "great",
        "bad",
        "awful",
        "not",
        "very",
        "slightly",
        "film",
        "the",
        ".",
        ",",
        "love",
        "a+",
        "never",
        "lacks",
    ]
    texts: list[str | None] = [" ".join(rng.choice(words, rng.integers(0, 30))) for _ in range(300)]
    whole = score_with(LexiconScorer(LEXICON, OPTIONS, ("en",)), texts, rows=1000)
    for rows, threads in ((7, 1), (50, 4)):
        assert score_with(LexiconScorer(LEXICON, OPTIONS, ("en",)), texts, rows=rows, threads=threads) == whole
    assert len(set(whole)) > 10


def test_a_lexicon_that_cannot_match() -> None:
    with pytest.raises(InputError):
        scores("x", lexicon=Lexicon("signs", (":)", "a+"), (1.0, 1.0)))
    with pytest.raises(InputError):
        scores("x", lexicon=Lexicon("none", (), ()))
    with refuses("tokenizer"):
        scores("x", options=replace(OPTIONS, tokenizer="whitespace"))


def test_emoji_where_they_are_kept() -> None:
    lexicon = Lexicon("emoji", ("😀", "good"), (2.0, 1.0))
    assert scores("good 😀", lexicon=lexicon) == [1.0]
    assert scores("good 😀", lexicon=lexicon, options=replace(OPTIONS, keep=frozenset({"emoji"}))) == [3.0]


def test_languages() -> None:
    batch = pa.record_batch({"text": ["Das ist ein schöner Tag und wir gehen in den Wald.", None]})
    assert text_languages(PreprocessOptions(), [batch]) == ("de",)
    assert text_languages(PreprocessOptions(language="en"), []) == ("en",)
    assert text_languages(PreprocessOptions(language="none"), [batch]) == ()


# ---------------------------------------------------------------- classes


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ({"pos", "neg"}, ("neg", None, "pos")),
        ({"pos"}, ("neg", None, "pos")),
        ({"Negative", "Neutral", "Positive"}, ("Negative", "Neutral", "Positive")),
        ({"0", "1"}, ("0", None, "1")),
        ({"-1", "0", "1"}, ("-1", "0", "1")),
        ({"-1", "1"}, ("-1", None, "1")),
        ({"negativ", "positiv"}, ("negativ", None, "positiv")),
    ],
)
def test_labels_that_are_sentiment(labels: set[str], classes: tuple[str, str | None, str]) -> None:
    assert recognise_classes(labels) == SentimentClasses(*classes)


@pytest.mark.parametrize("labels", [set(), {"sports"}, {"1", "2"}, {"neutral"}, {"pos", "neg", "unsup"}])
def test_labels_that_are_not(labels: set[str]) -> None:
    assert recognise_classes(labels) is None


def test_parse_classes() -> None:
    assert parse_classes("schlecht, gut").names == ("schlecht", "gut")
    assert parse_classes("1,2,3").neutral == "2"
    for wrong in ("one", "a,a", "a,b,c,d", "a,,b"):
        with refuses("classes"):
            parse_classes(wrong)


def test_predictions() -> None:
    found = np.array([-1, -0.05, -0.01, 0, 0.05, 2])
    two = SentimentClasses("n", None, "p")
    assert predict_classes(found, two).tolist() == [0, 0, 0, 1, 1, 1]
    assert predict_classes(found, two, zero="negative").tolist() == [0, 0, 0, 0, 1, 1]
    assert predict_classes(found, DEFAULT_CLASSES).tolist() == [0, 0, 0, 1, 2, 2]
    assert predict_classes(found, DEFAULT_CLASSES, neutral=0.05).tolist() == [0, 1, 1, 1, 1, 2]
    assert predict_classes(found, DEFAULT_CLASSES, neutral=0.05, closed=True).tolist() == [0, 0, 1, 1, 2, 2]
    with refuses("neutral"):
        predict_classes(found, two, neutral=-1)
    with refuses("zero"):
        predict_classes(found, two, zero="maybe")


# ---------------------------------------------------------------- the packages themselves

TEXTS = [
    "VADER is smart, handsome, and funny!", "The plot was good, but the characters are uncompelling.", "not bad at all :-)",
    "", "12 !!", "Ein schöner Tag", "VADER is smart, handsome, and funny!", "Catch utf-8 emoji such as 💘 and 💋", "awful awful",
]  # fmt: skip


def test_vader_is_its_package() -> None:
    vader = pytest.importorskip("vaderSentiment.vaderSentiment")
    analyzer = vader.SentimentIntensityAnalyzer()
    expected = [analyzer.polarity_scores(text)["compound"] for text in TEXTS]
    with PackageScorer("vader") as scorer:
        assert scorer.score(pa.array(TEXTS)).tolist() == expected
        assert scorer.score(pa.array([None, "good"])).tolist()[0] == 0.0


@pytest.mark.parametrize(
    ("name", "language", "emoticons"), [("afinn", "en", False), ("afinn:da+emoticons", "da", True)]
)
def test_afinn_is_its_package(name: str, language: str, emoticons: bool) -> None:
    afinn = pytest.importorskip("afinn")
    expected = [afinn.Afinn(language=language, emoticons=emoticons).score(text) for text in TEXTS]
    with PackageScorer(name) as scorer:
        assert scorer.score(pa.array(TEXTS)).tolist() == expected


def test_processes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vaderSentiment")
    monkeypatch.setattr("nlpkit.sentiment.packages._WORTH_PROCESSES", 0)
    texts = pa.array([f"{text} {i}" for i in range(60) for text in TEXTS])
    with PackageScorer("vader", workers=2) as many, PackageScorer("vader") as one:
        assert many.score(texts).tolist() == one.score(texts).tolist()
        assert many._pool is not None


def test_unknown_lists_of_packages() -> None:
    pytest.importorskip("afinn")
    assert is_package("afinn:xx")
    assert not is_package("liu")
    with refuses("lexicon"):
        PackageScorer("afinn:xx")
    with refuses("lexicon"):
        PackageScorer("vader:de")

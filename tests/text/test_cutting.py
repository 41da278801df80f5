"""Which tokenizer and normalizer the options ask for, and the short way for plain words."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import UsageError
from nlpkit.text.cutting import character_ngrams, check_tokenizer, cutter, normalizer, plain_tokens
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.stopwords import clitics
from nlpkit.text.vocab import Vocabulary
from tests.refusals import refuses
from tests.strategies import corpora, repeatable


def never(term: str) -> bool:
    return False


def cut(text: str | None, **options: Any) -> list[str]:
    raw = cutter(PreprocessOptions(**options))(pa.array([text], pa.string()))
    return [raw.types[code] for code in raw.codes]


def terms(documents: list[str | None], options: PreprocessOptions, plain: str, languages: tuple[str, ...]) -> Any:
    """Terms of each document by the short way or without it."""
    normalize = normalizer(options, languages, never)
    vocab = Vocabulary(normalize, plain=plain, apostrophes=not clitics(languages))
    batch = vocab.encode(cutter(options)(pa.array(documents, pa.string())))
    names = vocab.terms
    return [[names[i] for i in batch.term_ids[a:b]] for a, b in pairwise(batch.offsets.tolist())], vocab.cf.tolist()


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("words", ["it's", "a", "b2"]),
        ("sklearn", ["it", "b2"]),
        ("whitespace", ["It's", "a", "B2", "-"]),
        ("chars:1-12", list("it's a b2 -")),  # the n-grams are made of these
    ],
)
def test_names_of_tokenizers(name: str, tokens: list[str]) -> None:
    check_tokenizer(name, None)
    assert cut("It's a B2 -", tokenizer=name) == tokens


@pytest.mark.parametrize(
    "name",
    [
        "word", "chars", "chars:", "chars:a", "chars:3-", "chars:٣", "chars:99999999999999999999", "chars:0",
        "chars:5-3", "",
    ],
)  # fmt: skip
def test_names_that_are_none(name: str) -> None:
    with refuses("tokenizer"):
        check_tokenizer(name, None)


def test_the_tokenizer_regex_and_its_pattern_go_together() -> None:
    check_tokenizer("regex", r"\w+")
    for name, pattern in (("regex", None), ("words", r"\w+")):
        with refuses("token_pattern"):
            check_tokenizer(name, pattern)


def test_lengths_of_character_ngrams() -> None:
    assert character_ngrams("chars:3") == (3, 3)
    assert character_ngrams("chars:2-5") == (2, 5)
    assert character_ngrams("words") is None


@pytest.mark.parametrize(
    ("options", "text", "tokens"),
    [
        ({}, "The U.S.A. & <b>don't</b> 82%", ["the", "u.s.a.", "don't", "82"]),
        ({"lower": False}, "The U.S.A.", ["The", "U.S.A."]),
        ({"lemma": True}, "The Cars", ["The", "Cars"]),  # the dictionary of some languages looks at the case
        ({"tokenizer": "whitespace"}, " The U.S.A. \n(82%)\u00a0x", ["The", "U.S.A.", "(82%)", "x"]),
        ({"tokenizer": "sklearn"}, "don't x the_1 ÜBER", ["don", "the_1", "über"]),
        ({"tokenizer": "regex", "pattern": "[0-9]+"}, "a1 b22", ["1", "22"]),
        ({"tokenizer": "regex", "pattern": "x?"}, "axb", ["x"]),
        ({"tokenizer": "chars:2"}, "Ab \t c", ["a", "b", " \t ", "c"]),
        ({"keep": frozenset({"number", "url"})}, "82% of www.a.org/b #x", ["82%", "of", "www.a.org/b", "x"]),
    ],
)
def test_cutters(options: dict[str, Any], text: str, tokens: list[str]) -> None:
    assert cut(text, **options) == tokens
    assert cut(None, **options) == cut("", **options) == []


def test_a_pattern_that_is_none_is_told() -> None:
    with refuses("token_pattern"):
        cut("a", tokenizer="regex", pattern="(a")
    with pytest.raises(UsageError, match="look-around"):
        cut("a", tokenizer="regex", pattern="a(?=b)")


@pytest.mark.parametrize("tokenizer", ["whitespace", "sklearn", "regex"])
def test_tokens_of_other_tokenizers_stay_as_they_were_cut(tokenizer: str) -> None:
    options = PreprocessOptions(tokenizer=tokenizer, pattern=r"\S+" if tokenizer == "regex" else None)
    normalize = normalizer(options, (), never)
    assert [normalize(raw) for raw in ("(82%)", "x", "THE", "e\u0301")] == [("(82%)",), ("x",), ("the",), ("é",)]


def test_a_word_that_a_list_has_whole_keeps_its_possessive() -> None:
    """A list of stop words finds it, and so does the vocabulary of a run from before possessives were cut off."""
    normalize = normalizer(PreprocessOptions(vocab=("china's",)), ["en"], {"let's"}.__contains__)
    words = ["China's", "Let's", "India's"]
    assert [term for word in words for term in normalize(word)] == ["china's", "let's", "india"]


def test_which_tokens_take_the_short_way() -> None:
    assert plain_tokens(PreprocessOptions()) == "words"
    assert plain_tokens(PreprocessOptions(tokenizer="sklearn")) == "all"
    for options in (
        {"lower": False}, {"lemma": True}, {"stem": "porter"}, {"min_length": 1}, {"keep": frozenset({"url"})},
        {"tokenizer": "whitespace"}, {"tokenizer": "spacy"}, {"tokenizer": "chars:2"},
    ):  # fmt: skip
        assert plain_tokens(PreprocessOptions(**options)) == "none"  # type: ignore[arg-type]


@repeatable
@given(corpora(), st.sampled_from([(), ("en",), ("fr",), ("it", "en"), ("de",), ("zh",)]))
def test_the_short_way_changes_nothing(documents: list[str | None], languages: tuple[str, ...]) -> None:
    options = PreprocessOptions()
    assert terms(documents, options, "words", languages) == terms(documents, options, "none", languages)


@repeatable
@given(
    st.lists(st.text("ab'-&_019.", max_size=14), max_size=9).map(" ".join), st.sampled_from([("en",), ("fr",), ("it",)])
)
def test_the_short_way_changes_no_odd_word(text: str, languages: tuple[str, ...]) -> None:
    options = PreprocessOptions()
    text += " l'ab d'ab qu'a l' " + "a" * 65 + " " + "b" * 64
    assert terms([text], options, "words", languages) == terms([text], options, "none", languages)


@repeatable
@given(corpora())
def test_the_short_way_of_scikit_learn_changes_nothing_of_composed_text(documents: list[str | None]) -> None:
    import unicodedata

    composed = [None if d is None else unicodedata.normalize("NFC", d) for d in documents]
    options = PreprocessOptions(tokenizer="sklearn")
    assert terms(composed, options, "all", ()) == terms(composed, options, "none", ())

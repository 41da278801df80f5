"""Stems: Porter and Snowball."""

from __future__ import annotations

import sys

import pytest

from nlpkit.errors import MissingError
from nlpkit.text import normalize as stem_module
from nlpkit.text.normalize import stemmer, stemmer_names
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("name", "words", "stems"),
    [
        # the rules on the slide (lecture L985): -ed, -ing, -ion, sses -> ss, ational -> ate
        ("porter", "jumped working adoption caresses relational", "jump work adopt caress relat"),
        ("english", "generously cars car's running news", "generous car car run news"),
        ("de", "häuser kinder übergänge regierungen", "haus kind ubergang regier"),
        ("French", "maisons nationales", "maison national"),
        (" ru ", "городов", "город"),
        ("nb", "bilene", "bil"),
        ("tr", "evlerde", "ev"),
    ],
)
def test_stems(name: str, words: str, stems: str) -> None:
    stem = stemmer(name)
    assert [stem(word) for word in words.split()] == stems.split()


def test_porter_is_not_snowball_english() -> None:
    assert (stemmer("porter")("generously"), stemmer("en")("generously")) == ("gener", "generous")


def test_every_code_has_its_algorithm() -> None:
    assert len(stemmer_names()) >= 30
    assert "german (de)" in stemmer_names()
    assert "porter" in stemmer_names()
    for code in stem_module._ALGORITHMS:
        assert isinstance(stemmer(code)("а" if code in ("ru", "sr") else "a"), str)


def test_unknown_names_list_those_there_are() -> None:
    with refuses("stem"):
        stemmer("germn")


def test_a_c_implementation_on_the_machine_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    assert type(stemmer("en").__self__).__module__ == "snowballstemmer.english_stemmer"  # type: ignore[attr-defined]


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stem_module, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match="pip install snowballstemmer"):
        stemmer("en")

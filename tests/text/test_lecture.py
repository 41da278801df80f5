"""The examples of the lecture's chapters on text as data, end to end (L: lines of nlp_lecture.txt)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nlpkit.platform.documents.regex import regex_mask
from nlpkit.text.clean import Cleaner, ReplacementRules
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.phrases import PhraseTable
from nlpkit.text.preprocess import Preprocessor
from tests.command_line import read, run_cli, write_jsonl
from tests.refusals import refuses

POOL = "they bought a swimming pool for their apartment in San Francisco and they"
POSTER = "That U.S.A. poster-print costs $12.40..."
NLTK = r"""(?x)
      ([A-Z]\.)+          # abbreviations, e.g., U.S.A.
    | \w+(-\w+)*          # words with optional internal hyphens
    | \$?\d+(\.\d+)?%?    # currency and percentages, e.g. $12.40, 82%
    | \.\.\.              # ellipsis
    | [\]\[.,;"'?():_`-]  # these are separate tokens; includes ], ["""


def terms(text: str, **options: Any) -> list[str]:
    defaults = {"language": "none", "stop_words": "none", "min_df": 1, "min_length": 1}
    work = Preprocessor(PreprocessOptions(**(defaults | options)))
    encoded = [e for _, e in work.encode_all([pa.record_batch({"text": pa.array([text])})])]
    found = work.finish(lambda: encoded)
    return [found.terms[i] for i in found.apply(encoded[0]).term_ids]


def phrases(*given: str) -> dict[str, Any]:
    return {"phrase_table": PhraseTable.from_words([tuple(p.split()) for p in given])}


# ---------------------------------------------------------------- tokens and types (L854–914)


@pytest.mark.parametrize(
    ("options", "n_tokens", "n_types"),
    [
        ({}, 13, 12),
        (phrases("san francisco"), 12, 11),
        (phrases("san francisco", "swimming pool"), 11, 10),
        (
            phrases("san francisco", "swimming pool")
            | {"cleaner": Cleaner(replacements=ReplacementRules((("their", "they"),)))},
            11,
            9,
        ),
    ],
)
def test_how_many_tokens_and_types(options: dict[str, Any], n_tokens: int, n_types: int) -> None:
    found = terms(POOL, **options)
    assert (len(found), len(set(found))) == (n_tokens, n_types)


def test_the_bag_of_words_of_the_sentence() -> None:
    """L1301."""
    assert sorted(terms(POOL, **phrases("san francisco", "swimming pool"))) == [
        "a", "and", "apartment", "bought", "for", "in", "san_francisco", "swimming_pool", "their", "they", "they",
    ]  # fmt: skip


def test_tokens_and_types_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("x.jsonl"), [{"text": POOL}])
    Path("p.txt").write_text("San Francisco\nswimming pool\n")
    Path("r.txt").write_text("their\tthey\n")
    base = ["preprocess", "x.jsonl", "--stop-words", "none", "--min-length", 1, "--language", "en", "--json"]
    for words, expected in (
        ([], (13, 12)),
        (["--phrase-file", "p.txt"], (11, 10)),
        (["--phrase-file", "p.txt", "--replace", "r.txt"], (11, 9)),
        (["--phrase-file", "p.txt", "--replace", "r.txt", "--lemma", "dict"], (11, 9)),  # swim_pool
    ):
        got = run_cli(*base, *words, "-o", "y.parquet", "--force").json()
        assert (got["n_tokens"], got["n_terms"]) == expected


# ---------------------------------------------------------------- NLTK's pattern (L931–940)


def test_the_pattern_of_the_nltk_book() -> None:
    expected = ["That", "U.S.A.", "poster-print", "costs", "$12.40", "..."]
    assert terms(POSTER, tokenizer="regex", pattern=NLTK, lower=False) == expected


def test_the_same_text_by_kinds() -> None:
    assert terms(POSTER, keep=frozenset({"number"}), lower=False) == expected_words(lower=False)
    assert terms(POSTER, keep=frozenset({"number"})) == expected_words(lower=True)
    assert terms(POSTER) == expected_words(lower=True)[:-1]


def expected_words(*, lower: bool) -> list[str]:
    words = ["That", "U.S.A.", "poster-print", "costs", "$12.40"]
    return [w.lower() for w in words] if lower else words


def test_the_pattern_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("x.jsonl"), [{"text": POSTER}])
    base = ["preprocess", "x.jsonl", "--stop-words", "none", "--no-lower", "-q", "--force", "-o", "y.parquet"]
    run_cli(*base, "--token-pattern", NLTK)
    assert read("y.parquet")["tokens"].to_pylist() == [[*expected_words(lower=False), "..."]]
    run_cli(*base, "--keep", "number")
    assert read("y.parquet")["tokens"].to_pylist() == [expected_words(lower=False)]


# ---------------------------------------------------------------- regular expressions (L547–720)

REGEXES = [
    ("[dD]og", "a dog, a Dog", ["dog", "Dog"]),
    ("[0-9]", "a1 b2", ["1", "2"]),
    ("[^A-Za-z ]", "ABC is a short form for alphabet.", ["."]),
    ("[^A-Z a-z]", "ABC is a short form for alphabet_", ["_"]),
    (r"x\^2", "The square value of x is x^2.", ["x^2"]),
    ("[dD]og|[pP]uppy", "dog Puppy", ["dog", "Puppy"]),
    ("dog|man's best friend", "man's best friend is a dog", ["man's best friend", "dog"]),
    ("(ABC){2,3}", "ABC ABCABC", ["ABCABC"]),
    ("colou?r", "color colour", ["color", "colour"]),
    ("oo*h!", "oh! ooh! oooh!", ["oh!", "ooh!", "oooh!"]),
    ("o+h!", "h! oh! ooh!", ["oh!", "ooh!"]),
    ("oh.", "oho! oh1!", ["oho", "oh1"]),
    ("[dD]og(go)?", "dog Dog doggo Doggo", ["dog", "Dog", "doggo", "Doggo"]),
    ("Ei(ei)*!", "Ei! Eiei! Eieiei!", ["Ei!", "Eiei!", "Eieiei!"]),
    (r"\d+", "Fortuna 1895", ["1895"]),
    ("^Fortuna", "Fortuna 1895 Düsseldorf", ["Fortuna"]),
    ("^[0-9]+$", "Fortuna 1895 Düsseldorf", []),
    (r"\b\d+\b", "Fortuna 1895 Düsseldorf", ["1895"]),
    (r"\b\w+$", "Fortuna 1895 Düsseldorf", ["Düsseldorf"]),  # not sseldorf: \w is any letter
    (r"\b[\wäüöÄÜÖ]+$", "Fortuna 1895 Düsseldorf", ["Düsseldorf"]),
    ("the", "The other one and the theme", ["the", "the", "the"]),
    ("[tT]he", "The other one and the theme", ["The", "the", "the", "the"]),
    (r"\b[tT]he\b", "The other one and the theme", ["The", "the"]),
]


@pytest.mark.parametrize(("pattern", "text", "matches"), REGEXES)
def test_expressions_as_tokens_and_as_filters(pattern: str, text: str, matches: list[str]) -> None:
    assert terms(text, tokenizer="regex", pattern=pattern, lower=False) == matches
    assert regex_mask(pa.array([text, ""]), pattern).to_pylist() == [bool(matches), False]


def test_references_to_groups_filter_but_do_not_cut() -> None:
    """L592: Python's engine finds documents; the one that cuts them has no such references, and says so."""
    for pattern, text in ((r"(ABC)=\1", "ABC=ABC"), (r"([A-Z])=\1", "B=B"), (r"(ABC){3}=\1", "ABCABCABC=ABC")):
        assert regex_mask(pa.array([text, "A=B"]), pattern).to_pylist() == [True, False]
        with refuses("token_pattern"):
            terms(text, tokenizer="regex", pattern=pattern)


def test_documents_with_the_article(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = ["The other one", "other themes", "in the end", "then"]
    write_jsonl(Path("x.jsonl"), [{"id": str(i), "text": t} for i, t in enumerate(texts)])
    run_cli("preprocess", "x.jsonl", "--where", r"\b[tT]he\b", "-q", "-o", "y.parquet")
    assert read("y.parquet")["id"].to_pylist() == ["0", "2"]
    assert read("y.dropped.parquet").to_pylist() == [
        {"id": i, "stage": "where", "reason": r"text does not match: \b[tT]he\b"} for i in "13"
    ]


# ---------------------------------------------------------------- what is one token (L820–850)


def test_words_with_signs_in_them() -> None:
    text = "We're in New York, state-of-the-art rock 'n' roll; don't: 82% AT&T"
    assert terms(text) == [
        "we're", "in", "new", "york", "state-of-the-art", "rock", "n", "roll", "don't", "at&t",
    ]  # fmt: skip


def test_dates_addresses_hashtags_and_mail() -> None:
    text = "01/02/06 01.02.2006 https://www.tu-dortmund.de/ #nlp rieger@statistik.tu-dortmund.de"
    assert terms(text, keep=frozenset({"url", "email", "hashtag", "number"})) == text.split()
    assert terms(text) == ["nlp"]


# ---------------------------------------------------------------- stems, lemmas, umlauts, Chinese (L1000–1130)


def test_stems_of_porter() -> None:
    assert terms("talked talking caresses relational", stem="porter") == ["talk", "talk", "caress", "relat"]


@pytest.mark.parametrize(
    ("text", "lemmas"),
    [
        ("am are is", ["be", "be", "be"]),
        ("car cars car's cars'", ["car", "car", "car", "car"]),
        ("better", ["good"]),
        ("He is reading stories", ["he", "be", "read", "story"]),
    ],
)
def test_lemmas(text: str, lemmas: list[str]) -> None:
    assert terms(text, lemma=True, language="en") == lemmas


def test_umlauts_stay() -> None:
    text = "Fußgängerübergänge Universität Düsseldorf"
    assert terms(text, language="de") == text.lower().split()
    decomposed = "Universita\u0308t Du\u0308sseldorf"
    assert terms(decomposed, language="de") == ["universität", "düsseldorf"]


def test_yao_ming_reaches_the_finals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("x.jsonl"), [{"text": "姚明进入总决赛"}])
    base = ["preprocess", "x.jsonl", "--lang", "zh", "-q", "--force", "-o", "y.parquet", "--segment"]
    run_cli(*base, "characters")
    assert read("y.parquet")["tokens"].to_pylist() == [list("姚明进入总决赛")]
    pytest.importorskip("jieba")
    run_cli(*base, "words")
    assert read("y.parquet")["tokens"].to_pylist() == [["姚明", "进入", "总决赛"]]

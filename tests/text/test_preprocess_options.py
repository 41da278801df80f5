"""What options do to a corpus: scikit-learn's counts, a plain second implementation, languages of many scripts."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from nlpkit.errors import InputError, UsageError
from nlpkit.text import cutting
from nlpkit.text.clean import Cleaner, ReplacementRules
from nlpkit.text.fitted import FittedVocabulary
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.phrases import PhraseTable, parse_phrases
from nlpkit.text.preprocess import Preprocessor
from tests.refusals import refuses
from tests.strategies import corpora, repeatable

Documents = list[list[str]]


def run(
    documents: list[str | None], *, cuts: tuple[int, ...] = (), threads: int = 1, **options: Any
) -> tuple[Documents, FittedVocabulary]:
    """Preprocess documents in batches that end at `cuts`; return the terms of each, and what was chosen."""
    work = Preprocessor(PreprocessOptions(**({"language": "none", "stop_words": "none", "min_df": 1} | options)))
    edges = [0, *sorted(min(c, len(documents)) for c in cuts), len(documents)]
    batches = [pa.record_batch({"text": pa.array(documents[a:b], pa.string())}) for a, b in pairwise(edges)]
    encoded = [e for _, e in work.encode_all(batches, threads=threads)]
    found = work.finish(lambda: encoded)
    result: Documents = []
    for batch in map(found.apply, encoded):
        result += [[found.terms[i] for i in batch.term_ids[a:b]] for a, b in pairwise(batch.offsets.tolist())]
    check_counts(result, found)
    return result, found


def check_counts(documents: Documents, found: FittedVocabulary) -> None:
    """What is told of the terms is what the documents hold."""
    cf = Counter(term for document in documents for term in document)
    df = Counter(term for document in documents for term in set(document))
    assert found.cf.tolist() == [cf[t] for t in found.terms]
    assert (found.df.tolist(), found.report.n_tokens) == ([df[t] for t in found.terms], cf.total())
    assert len(set(found.terms)) == len(found.terms)


def terms(text: str, **options: Any) -> list[str]:
    return run([text], **options)[0][0]


# ---------------------------------------------------------------- scikit-learn

TEXTS: list[str | None] = [
    "The storm, the sea & the harbour: 12 boats in 1999!", "don't stop the storm-warning, AT&T said on snake_case",
    "Die Häuser; ÜBER alles   Σας ΟΔΟΣ", "storm storm sea harbour 3 a b c 4x", "", "the the the sea of boats",
    "harbour of the sea 姚明 进入 \u0e44\u0e17\u0e22",
]  # fmt: skip


def sklearn_counts(vectorizer: CountVectorizer, documents: list[str | None]) -> list[dict[str, int]]:
    matrix = vectorizer.fit_transform([d or "" for d in documents]).toarray()
    names = vectorizer.get_feature_names_out()
    return [{names[j]: int(row[j]) for j in row.nonzero()[0]} for row in matrix]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"lower": False}, {"lowercase": False}),
        ({"ngrams": (1, 2)}, {"ngram_range": (1, 2)}),
        ({"ngrams": (2, 4)}, {"ngram_range": (2, 4)}),
        ({"min_df": 2}, {"min_df": 2}),
        ({"min_df": 0.3}, {"min_df": 0.3}),
        ({"max_df": 2}, {"max_df": 2}),
        ({"max_df": 0.5, "ngrams": (1, 2)}, {"max_df": 0.5, "ngram_range": (1, 2)}),
        ({"max_vocab": 2}, {"max_features": 2}),
        ({"max_vocab": 1, "ngrams": (1, 3)}, {"max_features": 1, "ngram_range": (1, 3)}),
        (
            {"extra_stop_words": frozenset({"the", "of"}), "ngrams": (1, 2)},
            {"stop_words": ["the", "of"], "ngram_range": (1, 2)},
        ),
        (
            {"vocab": ("storm", "the sea", "yak", "sea"), "ngrams": (1, 2)},
            {"vocabulary": ["storm", "the sea", "yak", "sea"], "ngram_range": (1, 2)},
        ),
    ],
)
@pytest.mark.parametrize("how", ["sklearn", "regex"])
def test_words_as_scikit_learn_counts_them(how: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    pattern = r"\b\w\w+\b" if how == "regex" else None
    found, chosen = run(TEXTS, tokenizer=how, pattern=pattern, **ours)
    vectorizer = CountVectorizer(**theirs)
    assert [dict(Counter(d)) for d in found] == sklearn_counts(vectorizer, TEXTS)
    assert sorted(chosen.terms) == sorted(vectorizer.get_feature_names_out())
    if "vocab" in ours:
        assert list(chosen.terms) == list(vectorizer.get_feature_names_out())


@settings(repeatable, max_examples=40)
@given(
    st.lists(st.text("ab çİ\u0130ßσΣ_1-'.\n日ก\u0308", max_size=12), min_size=1, max_size=6),
    st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    st.booleans(),
)
def test_any_text_as_scikit_learn_counts_it(texts: list[str | None], sizes: tuple[int, int], lower: bool) -> None:
    found, _ = run(texts, tokenizer="sklearn", ngrams=sizes, lower=lower)
    vectorizer = CountVectorizer(ngram_range=sizes, lowercase=lower)
    if not any(found):
        with pytest.raises(ValueError, match="empty vocabulary"):
            vectorizer.fit([t or "" for t in texts])
        return
    assert [dict(Counter(d)) for d in found] == sklearn_counts(vectorizer, texts)


def test_most_frequent_terms_are_those_of_scikit_learn_but_for_ties() -> None:
    texts: list[str | None] = ["one two two three three four four", "three four five five", "five six"]
    for n in range(1, 8):
        _, chosen = run(texts, tokenizer="sklearn", max_vocab=n)
        vectorizer = CountVectorizer(max_features=n)
        matrix = vectorizer.fit_transform([t or "" for t in texts])
        assert sorted(chosen.cf.tolist()) == sorted(matrix.sum(axis=0).A1.tolist())
    # of equals those of more documents, then by the alphabet
    assert run(texts, tokenizer="sklearn", max_vocab=4)[1].terms == ("two", "three", "four", "five")
    assert run(["b a", "c"], tokenizer="whitespace", max_vocab=2)[1].terms == ("b", "a")


@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (3, 5)])
@pytest.mark.parametrize("lower", [True, False])
def test_characters_as_scikit_learn_counts_them(sizes: tuple[int, int], lower: bool) -> None:
    texts: list[str | None] = ["The  sea", " ΟΔΟΣ ΣΑΣ straße", "a", "", "of \t\n the", "姚明进入总决赛"]
    found, chosen = run(texts, tokenizer=f"chars:{sizes[0]}-{sizes[1]}", lower=lower)
    vectorizer = CountVectorizer(analyzer="char", ngram_range=sizes, lowercase=lower)
    assert [dict(Counter(d)) for d in found] == sklearn_counts(vectorizer, texts)
    assert set(chosen.terms) == set(vectorizer.get_feature_names_out())


def test_a_line_break_between_characters_is_a_space() -> None:
    assert terms("a\nb", tokenizer="chars:3") == ["a b"]  # scikit-learn keeps one that stands alone


# ---------------------------------------------------------------- finish, once more and plainly

WORDS = ["ant", "bee", "cat", "dog", "eel", "the"]


def finished_plainly(
    documents: Documents,
    *,
    stop: set[str],
    phrases: list[tuple[str, ...]],
    ngrams: tuple[int, int],
    min_df: int,
    max_df: float,
    min_cf: int,
    max_vocab: int | None,
    vocab: tuple[str, ...] | None,
    auto_stop: float | None,
) -> tuple[Documents, Counter[str]]:
    """Join phrases, drop stop words, make n-grams, prune: with lists. Returns the terms that occurred before pruning, too."""
    if auto_stop is not None:
        df = Counter(t for document in documents for t in set(document))
        stop = stop | {t for t, n in df.items() if n > round(auto_stop * len(documents), 6)}
    documents = [_joined(document, phrases) for document in documents]
    documents = [[t for t in document if t not in stop] for document in documents]
    low, high = ngrams
    documents = [
        [" ".join(d[i : i + n]) for n in range(low, high + 1) for i in range(len(d) - n + 1)] for d in documents
    ]
    cf = Counter(t for document in documents for t in document)
    df = Counter(t for document in documents for t in set(document))
    if vocab is not None:
        stay = set(vocab)
    else:
        most = max_df * len(documents)
        ranked = sorted(cf, key=lambda t: (-cf[t], -df[t], t))
        stay = set([t for t in ranked if min_df <= df[t] <= most and cf[t] >= min_cf][:max_vocab])
    return [[t for t in document if t in stay] for document in documents], cf


def _joined(document: list[str], phrases: list[tuple[str, ...]]) -> list[str]:
    out, i = [], 0
    while i < len(document):
        fits = [p for p in phrases if tuple(document[i : i + len(p)]) == p]
        longest = max(fits, key=len, default=(document[i],))
        out.append("_".join(longest))
        i += len(longest)
    return out


@settings(repeatable, max_examples=120)
@given(
    documents=st.lists(st.lists(st.sampled_from(WORDS), max_size=9), min_size=1, max_size=7),
    stop=st.sets(st.sampled_from(WORDS), max_size=2),
    phrases=st.lists(st.lists(st.sampled_from(WORDS), min_size=2, max_size=3).map(tuple), max_size=3, unique=True),
    ngrams=st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3)]),
    min_df=st.integers(1, 3),
    max_df=st.sampled_from([1.0, 0.5]),
    min_cf=st.integers(1, 3),
    max_vocab=st.sampled_from([None, 1, 3]),
    vocab=st.one_of(st.none(), st.just(("dog", "ant bee", "bee_cat", "yak", "the"))),
    auto_stop=st.sampled_from([None, 0.4, 1.0]),
    cuts=st.lists(st.integers(0, 7), max_size=2).map(tuple),
    threads=st.sampled_from([1, 2, 8]),
)
def test_finish_as_in_plain_python(
    documents: Documents, stop: set[str], phrases: list[Any], cuts: tuple[int, ...], threads: int, **options: Any
) -> None:
    if options["vocab"] is not None:  # what becomes of stop words in it: see below
        stop, options["auto_stop"] = stop - set(options["vocab"]), None
    expected, cf = finished_plainly(documents, stop=stop, phrases=phrases, **options)
    table = PhraseTable.from_words(phrases) if phrases else None
    texts: list[str | None] = [" ".join(d) for d in documents]
    how: dict[str, Any] = {"extra_stop_words": frozenset(stop), "phrase_table": table, "cuts": cuts, **options}
    least, most = options["min_df"], options["max_df"] * len(documents)
    if options["vocab"] is None and (least > most or (cf and not any(expected))):
        with pytest.raises((InputError, UsageError), match=r"no term"):
            run(texts, threads=threads, **how)
        return
    found, chosen = run(texts, threads=threads, **how)
    assert found == expected
    report = chosen.report
    gone = chosen.removed()
    assert len(gone.terms) == len(set(gone.terms))
    reasons = Counter(gone.reasons)
    assert reasons["too rare"] == report.n_rare_terms
    assert reasons["too frequent"] == report.n_frequent_terms
    assert reasons["beyond the most frequent"] == report.n_capped_terms
    assert reasons["not in the vocabulary"] == report.n_foreign_terms
    kept = {t for d in expected for t in d}
    assert {t for t, r in zip(gone.terms, gone.reasons, strict=True) if r != "stop word"} == set(cf) - kept
    assert gone.cf.tolist() == sorted(gone.cf.tolist(), reverse=True)
    assert report.n_docs == len(documents)


# ---------------------------------------------------------------- batches and threads


def everything(documents: list[str | None], cuts: tuple[int, ...], threads: int, **options: Any) -> Any:
    try:
        found, chosen = run(documents, cuts=cuts, threads=threads, **options)
    except (InputError, UsageError) as error:
        return str(error)
    gone = chosen.removed()
    return found, chosen.terms, chosen.report, gone.terms, gone.cf.tolist(), gone.reasons


@settings(repeatable, max_examples=60)
@given(
    corpora().filter(len),
    st.lists(st.integers(0, 12), max_size=4).map(tuple),
    st.sampled_from([2, 8]),
    st.sampled_from([1, 60, cutting.PART_BYTES]),
    st.sampled_from(
        [
            {},
            {"language": "en", "stop_words": "auto", "ngrams": (1, 2)},
            {"language": "auto", "stop_words": "auto"},
            {"phrases": parse_phrases("npmi:-1:1")},
            {"keep": frozenset({"url", "email", "number", "emoji"}), "min_df": 2},
            {"tokenizer": "chars:2-3", "max_vocab": 20},
            {"tokenizer": "sklearn", "lower": False},
            {"language": "de", "lemma": True, "stem": "german"},
            {"cleaner": Cleaner(html=True, emoji="words"), "min_length": 1},
        ]
    ),
)
def test_batches_and_threads_do_not_matter(
    documents: list[str | None], cuts: tuple[int, ...], threads: int, part_bytes: int, options: dict[str, Any]
) -> None:
    with patch.object(cutting, "PART_BYTES", part_bytes):
        found = everything(documents, cuts, threads, **options)
    assert found == everything(documents, (), 1, **options)


# ---------------------------------------------------------------- words of many languages


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Die Fußgängerübergänge in Köln und die Straße", ["fußgängerübergänge", "köln", "straße"]),
        ("fr", "L’école, c'est l'homme qu’ici j’aime, entr'acte", ["école", "homme", "aime", "entr'acte"]),
        ("it", "L'anno dell'università è bello", ["anno", "università", "bello"]),
        ("tr", "İstanbul'da IŞIK ve ırmak", ["istanbul", "ışık", "ırmak"]),
        ("ru", "Всеобщая декларация прав человека и ёлка", ["всеобщая", "декларация", "прав", "человека", "ёлка"]),
        ("ar", "الكتاب في المدرسة", ["الكتاب", "المدرسة"]),
        ("hi", "मैं किताब पढ़ता हूँ", ["किताब", "पढ़ता"]),
        ("el", "Η ΟΔΟΣ και η θάλασσα", ["οδος", "θάλασσα"]),
        ("en", "Café, naïve & don't", ["café", "naïve"]),
    ],
)
def test_languages(language: str, text: str, expected: list[str]) -> None:
    assert terms(text, language=language, stop_words="auto") == expected


@pytest.mark.parametrize(
    ("segment", "expected"),
    [
        ("words", ["姚明", "进入", "总决赛"]),
        ("characters", ["姚", "明", "进", "入", "总", "决", "赛"]),
        ("ngrams", ["姚明", "明进", "进入", "入总", "总决", "决赛"]),
        ("auto", ["姚明", "明进", "进入", "入总", "总决", "决赛"]),
    ],
)
def test_chinese(segment: str, expected: list[str]) -> None:
    if segment == "words":
        pytest.importorskip("jieba")
    assert terms("姚明进入总决赛", language="zh", segment=segment) == expected


def test_japanese_and_thai_words() -> None:
    pytest.importorskip("fugashi")
    pytest.importorskip("pythainlp")
    found = terms("私は東京大学で日本語を勉強します。", language="ja", segment="words", stop_words="auto")
    assert {"東京", "大学", "日本", "勉強"} <= set(found)
    assert not {"は", "で", "を"} & set(found)
    assert terms("ผมรักประเทศไทย", language="th", segment="words") == ["ผม", "รัก", "ประเทศ", "ไทย"]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "The cars were running and the geese are better", ["car", "run", "goose", "good"]),
        ("de", "Die Häuser der Fußgänger standen in den Straßen", ["haus", "fußgänger", "stehen", "straße"]),
        ("fr", "Les enfants mangeaient l'herbe", ["enfant", "manger", "herbe"]),
    ],
)
def test_lemmas(language: str, text: str, expected: list[str]) -> None:
    assert terms(text, language=language, stop_words="auto", lemma=True) == expected


def test_stop_words_are_found_before_and_after_lemmas() -> None:
    assert terms("Ich bin ein Haus", language="de", stop_words="auto", lemma=True) == ["haus"]
    how: dict[str, Any] = {"lemma": True, "language": "en"}
    assert terms("the left cars", extra_stop_words=frozenset({"left", "the"}), **how) == ["car"]  # not leave
    assert terms("the stopped cars", extra_stop_words=frozenset({"stop", "the"}), **how) == ["car"]


def test_case_is_kept_with_stop_words_in_any_case() -> None:
    how: dict[str, Any] = {"lower": False, "language": "de", "stop_words": "auto"}
    assert terms("Die Häuser UND die Straße, DAS Boot", **how) == ["Häuser", "Straße", "Boot"]
    assert terms("Die Häuser und die Straße", lemma=True, **how) == ["Haus", "Straße"]
    assert terms("The Cars", lower=False, language="en", stop_words="auto", stem="porter") == ["Car"]


def test_stems() -> None:
    assert terms("connections relational", stem="porter", language="none") == ["connect", "relat"]
    assert terms("Häuser standen", stem="auto", language="de") == ["haus", "stand"]
    with refuses("stem"):
        terms("x", stem="auto", language="none")
    with refuses("stem"):
        terms("x", stem="klingon")


# ---------------------------------------------------------------- steps one by one, and together


def test_minimum_length() -> None:
    assert terms("a be sea storm", min_length=1) == ["a", "be", "sea", "storm"]
    assert terms("a be sea storm x1", min_length=4) == ["storm"]


def test_kinds_that_are_kept() -> None:
    text = "See https://a.org/x, mail me@x.org #nlp @ann 82% $12.40 😀"
    assert terms(text) == ["see", "mail", "nlp", "ann"]
    every = frozenset({"url", "email", "hashtag", "mention", "number", "emoji"})
    assert terms(text, keep=every) == [
        "see", "https://a.org/x", "mail", "me@x.org", "#nlp", "@ann", "82%", "$12.40", "😀",
    ]  # fmt: skip


def test_cleaning_comes_before_cutting() -> None:
    rules = ReplacementRules((("San Francisco", "san_francisco"), ("click here", "")), ((r"(\d+) ?%", r"\1percent"),))
    cleaner = Cleaner(html=True, replacements=rules, emoji="words")
    text = "<p>Click here, click here: <b>San   Francisco</b> &amp; 82 % 😀</p><script>var x</script>"
    assert terms(text, cleaner=cleaner) == ["click", "here", "san_francisco", "82percent", "grinning", "face"]
    assert terms("sea 😀 storm", cleaner=Cleaner(emoji="remove"), keep=frozenset({"emoji"})) == ["sea", "storm"]


def test_stop_patterns_and_frequent_words() -> None:
    found, chosen = run(["1st sea 2nd", "sea 3rd boat", "sea boat ant"], stop_patterns=(r"\d(st|nd|rd)",))
    assert found == [["sea"], ["sea", "boat"], ["sea", "boat", "ant"]]
    assert chosen.report.n_stop_tokens == 3
    found, chosen = run(["the sea", "the boat sea", "the ant"], auto_stop=0.7)
    assert found == [["sea"], ["boat", "sea"], ["ant"]]
    assert (chosen.report.n_stop_tokens, chosen.removed().reasons) == (3, ["stop word"])


def test_phrases_lemmas_stop_words_ngrams_and_bounds_together() -> None:
    texts: list[str | None] = [f"The cars of San Francisco were {w}, cars stood" for w in ("red", "blue", "old")] * 3
    found, chosen = run(
        texts,
        language="en",
        stop_words="auto",
        lemma=True,
        phrases=parse_phrases("npmi:0.5:5"),
        ngrams=(1, 2),
        min_df=4,
    )
    # 'of' stands inside a phrase, and neither begins nor ends one
    assert chosen.phrases is not None
    assert "san_francisco" in {p for phrase in chosen.phrases.phrases for p in (phrase, phrase[-13:])}
    assert len({tuple(d) for d in found}) == 1
    assert not {"the", "of", "were"} & {w for t in chosen.terms for w in t.split()}
    assert all(not p.startswith("of_") and not p.endswith("_of") for p in chosen.phrases.phrases)


def test_phrases_given_are_joined_and_stop_words_inside_them_stay() -> None:
    table = PhraseTable.from_words([("bank", "of", "america"), ("of", "america")])
    found, chosen = run(["the bank of america of america of"], phrase_table=table, extra_stop_words=frozenset({"of"}))
    assert found == [["the", "bank_of_america", "of_america"]]
    assert chosen.report.n_phrases == 2
    assert chosen.removed().terms == ["of", "bank", "america"] or "of" in chosen.removed().terms


def test_phrases_that_occur_nowhere_are_not_counted() -> None:
    _, chosen = run(["new boat of york"], phrase_table=PhraseTable.from_words([("new", "york")]))
    assert chosen.report.n_phrases == 0


def test_stop_words_are_listed_with_ngrams_too() -> None:
    _, chosen = run(["the sea the boat"], extra_stop_words=frozenset({"the"}), ngrams=(1, 2))
    assert chosen.removed().terms == ["the"]


def test_a_vocabulary_wins_over_bounds_and_stop_words() -> None:
    found, chosen = run(
        ["the sea the sea", "boat"], vocab=("the", "yak", "boat", "the sea"), ngrams=(1, 2), min_df=2, language="en",
        stop_words="none",
    )  # fmt: skip
    assert found == [["the", "the", "the sea", "the sea"], ["boat"]]
    assert (chosen.terms, chosen.cf.tolist()) == (("the", "yak", "boat", "the sea"), [2, 0, 1, 2])
    assert chosen.report.n_foreign_terms == 2


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"phrase_table": PhraseTable.from_words([("sea", "boat")])}),
        pytest.param({"ngrams": (1, 2)}),
    ],
)
def test_a_stop_word_of_the_vocabulary_is_none(options: dict[str, Any]) -> None:
    found, chosen = run(["not the sea", "the"], vocab=("not", "sea"), language="en", stop_words="auto", **options)
    assert found == [["not", "sea"], []]
    assert chosen.cf.tolist() == [1, 1]


def test_no_document_has_a_term_of_the_vocabulary() -> None:
    found, chosen = run(["sea", None], vocab=("yak",))
    assert found == [[], []]
    assert (chosen.terms, chosen.cf.tolist()) == (("yak",), [0])


@pytest.mark.parametrize("documents", [["sea"], [""], [None], ["the"], [None, None]])
@pytest.mark.parametrize(
    "options", [{}, {"ngrams": (1, 2)}, {"phrases": parse_phrases("npmi")}, {"vocab": ("sea",)}, {"min_df": None}]
)
def test_one_document_or_none_with_a_word(documents: list[str | None], options: dict[str, Any]) -> None:
    found, chosen = run(documents, language="en", stop_words="auto", **options)
    assert found == [["sea"] if d == "sea" else [] for d in documents]
    assert chosen.report.n_docs == len(documents)


def test_more_words_than_a_document_has() -> None:
    assert run(["sea boat", "sea"], ngrams=(3, 3))[0] == [[], []]


TURKISH = [
    "Türkiye çok güzel bir ülkedir ve IŞIK her yerde parlıyor",
    "ILIK bir gün, İSTANBUL sokaklarında I\u0307Ç çekti",
]


@pytest.mark.parametrize("language", ["tr", "auto"])
def test_capital_i_of_turkish(language: str) -> None:
    import nlpkit as nk

    words = {word for row in nk.preprocess(TURKISH, language=language, min_df=1).rows() for word in row["tokens"]}
    assert {"ışık", "ılık", "istanbul", "iç"} <= words
    assert not {"işik", "ilik"} & words
    kept = {w for row in nk.preprocess(TURKISH, language=language, lower=False, min_df=1).rows() for w in row["tokens"]}
    assert {"IŞIK", "İSTANBUL"} <= kept
    one, two = (
        [row["tokens"] for row in nk.preprocess(TURKISH * 9, language=language, threads=n).rows()] for n in (1, 3)
    )
    assert one == two


def test_capital_i_of_other_languages() -> None:
    import nlpkit as nk

    rows = nk.preprocess(["IŞIK in Istanbul"], language="de", stop_words="none", min_df=1).rows()
    assert [row["tokens"] for row in rows] == [["işik", "in", "istanbul"]]

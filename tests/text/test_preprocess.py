"""A corpus from texts to pruned term ids."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import InputError
from nlpkit.text.language import SpreadSample
from nlpkit.text.options import PreprocessOptions, PreprocessReport
from nlpkit.text.preprocess import Preprocessor
from tests.refusals import refuses
from tests.strategies import repeatable

ENGLISH = "The harbour was closed on Tuesday because of the heavy storm that came over the sea"
GERMAN = "Der Hafen wurde am Dienstag wegen des schweren Sturms geschlossen, der über das Meer kam"


def run(
    documents: list[str | None], options: PreprocessOptions, cuts: tuple[int, ...] = (), threads: int = 1
) -> tuple[list[list[str]], PreprocessReport]:
    """Preprocess documents in batches that end at `cuts`; return the terms of each and the report."""
    work = Preprocessor(options)
    edges = [0, *sorted(min(c, len(documents)) for c in cuts), len(documents)]
    texts = pa.table({"text": pa.array(documents, pa.string())})
    batches = [texts.slice(a, b - a).combine_chunks().to_batches() for a, b in pairwise(edges)]
    flat = [batch for part in batches for batch in part] or [pa.record_batch({"text": pa.array([], pa.string())})]
    encoded = [e for _, e in work.encode_all(flat, threads=threads)]
    found = work.finish(lambda: encoded)
    result: list[list[str]] = []
    for batch in map(found.apply, encoded):
        ends = batch.offsets.tolist()
        result += [[found.terms[i] for i in batch.term_ids[a:b]] for a, b in pairwise(ends)]
    return result, found.report


def plain(**options: object) -> PreprocessOptions:
    return PreprocessOptions(**({"language": "none", "stop_words": "none"} | options))  # type: ignore[arg-type]


def test_stop_words_go_and_are_counted() -> None:
    documents, report = run([ENGLISH, "The storm, the sea!", None, ""], PreprocessOptions())
    assert documents[0] == ["harbour", "closed", "tuesday", "heavy", "storm", "came", "sea"]
    assert documents[1:] == [["storm", "sea"], [], []]
    assert [s.code for s in report.languages] == ["en"]
    assert report.stop_word_languages == ("en",)
    assert (report.n_docs, report.n_tokens, report.n_terms) == (4, 9, 7)
    assert report.n_stop_tokens == 16 - 7 + 2
    assert report.n_terms_seen == report.n_terms + 7  # the was on because of that over


def test_stop_words_of_a_given_language_whatever_the_text() -> None:
    documents, report = run([ENGLISH], PreprocessOptions(language="de"))
    assert "the" in documents[0]
    assert (report.languages[0].code, report.languages[0].share) == ("de", 1.0)
    documents, _ = run([ENGLISH + " und"], PreprocessOptions(stop_words="english,de"))
    assert {"the", "und"}.isdisjoint(documents[0])


def test_extra_stop_words_and_none() -> None:
    documents, report = run(["storm over the sea"], plain(extra_stop_words=frozenset({"storm"})))
    assert documents == [["over", "the", "sea"]]
    assert (report.n_stop_words, report.stop_word_languages) == (1, ())


def test_stop_words_are_found_whatever_the_case_is() -> None:
    documents, _ = run(["The Storm and THE sea"], PreprocessOptions(language="en", lower=False))
    assert documents == [["Storm", "sea"]]


def test_a_language_without_a_list_is_not_reported_as_one() -> None:
    _, report = run([ENGLISH], PreprocessOptions(language="is"))
    assert (report.stop_word_languages, report.n_stop_words) == ((), 0)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"min_df": 2}, {"both", "all"}),
        ({"min_df": 0.5}, {"both", "all"}),
        ({"min_df": 3}, {"all"}),
        ({"max_df": 2}, {"one", "both"}),
        ({"max_df": 0.5}, {"one", "both"}),
        ({"max_df": 1}, {"one"}),
        ({"min_df": 2, "max_df": 0.75}, {"both"}),
    ],
)
def test_min_df_and_max_df_bound_documents_not_occurrences(options: dict[str, float], kept: set[str]) -> None:
    documents, report = run(["one one one all", "both all", "both all", "all all"], plain(**options))
    assert {term for doc in documents for term in doc} == kept
    assert report.n_rare_terms + report.n_frequent_terms == 3 - len(kept)


@pytest.mark.parametrize(("n_docs", "least"), [(99, 1), (100, 2)])
def test_single_documents_count_in_small_corpora_only(n_docs: int, least: int) -> None:
    documents, report = run([f"common word{i:03}" for i in range(n_docs)], plain())
    assert report.min_df == least
    assert documents[0] == (["common"] if least == 2 else ["common", "word000"])


def test_a_share_that_is_a_whole_number_of_documents_is_met() -> None:
    documents = [f"seven word{i}" if i < 7 else f"other word{i}" for i in range(100)]
    kept, _ = run(documents, plain(min_df=0.07))  # 0.07 * 100 = 7.000000000000001
    assert kept[0] == ["seven"]
    kept, _ = run(["most" if i < 29 else "rest" for i in range(100)], plain(max_df=0.29))  # 28.999999999999996
    assert kept[0] == ["most"]


@repeatable
@given(st.lists(st.sampled_from([ENGLISH, GERMAN, "storm", "", None]), min_size=1, max_size=9), st.data())
def test_how_a_corpus_is_split_into_batches_does_not_matter(documents: list[str | None], data: st.DataObject) -> None:
    documents = [*documents, ENGLISH]
    cuts = tuple(data.draw(st.lists(st.integers(0, len(documents)), max_size=4)))
    assert run(documents, PreprocessOptions(), cuts) == run(documents, PreprocessOptions())


def test_languages_do_not_depend_on_how_a_corpus_is_cut() -> None:
    documents: list[str | None] = [GERMAN] * 300 + [ENGLISH] * 400
    for cuts in ((), (1,), (299,), (0, 0, 301)):
        assert [s.code for s in run(documents, PreprocessOptions(), cuts)[1].languages] == ["de", "en"]


def test_nothing_but_stop_words_leaves_empty_documents() -> None:
    documents, report = run(["the and of", "the"], PreprocessOptions(language="en"))
    assert documents == [[], []]
    assert (report.n_terms, report.n_stop_tokens) == (0, 4)


def test_bounds_that_prune_everything_are_an_error() -> None:
    with pytest.raises(InputError):
        run(["storm", "sea"], plain(min_df=2))


def test_no_batches_are_an_error() -> None:
    with pytest.raises(InputError):
        Preprocessor(PreprocessOptions()).finish()


def test_an_unknown_language_is_an_error_before_the_first_document() -> None:
    for options in (PreprocessOptions(language="klingon"), PreprocessOptions(stop_words="en,klingon")):
        with refuses("language"):
            list(Preprocessor(options).encode_all([pa.record_batch({"text": pa.array(["a"])})]))


def test_a_corpus_without_a_word() -> None:
    documents, report = run([None, "12 !", ""], PreprocessOptions())
    assert documents == [[], [], []]
    assert report.languages == ()
    assert (report.n_docs, report.n_terms, report.n_tokens) == (3, 0, 0)


def in_two_languages(share: float) -> list[str]:
    """Return 2,000 texts: 300 in French, then every n-th of them in English."""
    every = round(1 / share)
    return [
        f"the people of this country have been asking what would become of their houses {i}"
        if i >= 300 and i % every == 0
        else f"les habitants de ce pays ne savent pas ce que deviendra leur maison {i}"
        for i in range(2000)
    ]


@pytest.mark.parametrize("batch_rows", [2000, 170])
def test_a_language_that_comes_later_has_its_stop_words_too(batch_rows: int, caplog: pytest.LogCaptureFixture) -> None:
    texts = pa.table({"text": in_two_languages(1 / 3)})
    preprocessor = Preprocessor(PreprocessOptions())
    encoded = [ids for _, ids in preprocessor.encode_all(texts.to_batches(batch_rows))]
    fitted = preprocessor.finish(lambda: encoded)
    assert [one.code for one in fitted.report.languages] == ["fr", "en"]
    of_all = sum(len(text) for text in texts["text"].to_pylist() if text.startswith("the"))
    share = of_all / sum(map(len, texts["text"].to_pylist()))
    assert fitted.report.languages[1].share == pytest.approx(share, abs=0.08)  # three standard errors of 300 texts
    assert fitted.report.stop_word_languages == ("fr", "en")
    assert {"people", "houses", "maison"} <= set(fitted.terms)
    assert not {"the", "would", "their", "les", "leur"} & set(fitted.terms)
    assert "the first 300 documents are in fr, later ones also in en; stop words of all are left out" in caplog.text


def test_a_few_later_texts_of_another_language_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    preprocessor = Preprocessor(PreprocessOptions())
    encoded = [ids for _, ids in preprocessor.encode_all(pa.table({"text": in_two_languages(0.05)}).to_batches())]
    assert preprocessor.finish(lambda: encoded).report.stop_word_languages == ("fr",)
    assert not caplog.text


@pytest.mark.parametrize("n", [0, 299, 601, 5000])
def test_a_spread_sample_is_the_same_for_all_batches(n: int) -> None:
    texts = pa.array([str(i) for i in range(n)])
    samples = []
    for size in (1, 7, 600, 5000):
        sample = SpreadSample()
        for at in range(0, n, size):
            sample.take(texts.slice(at, size))
        samples.append(sample.texts)
    assert all(one == samples[0] for one in samples)
    assert len(samples[0]) == min(n, 300)
    assert abs(np.mean([int(text) for text in samples[0]] or [0]) - n / 2) <= n / 20

"""Reports about topic models: the kind of each, tried with new inputs. The sources stand at the tests; no wording or code is theirs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import ColumnError, InputError, NlpkitError, UsageError
from nlpkit.platform.documents.date_columns import days_of
from nlpkit.topics.edit.edits import Edits

RAW = {"stop_words": "none", "min_df": 1}
THEMES = ["river water boat fish stream", "court judge jury law trial", "apple pear plum cherry fig"]


def themed(n: int = 45, **columns: Any) -> pa.Table:
    """Return documents of three subjects, with further columns."""
    texts = [" ".join(np.random.default_rng(i).permutation(THEMES[i % 3].split())) + f" w{i}" for i in range(n)]
    return pa.table({"id": [str(i) for i in range(n)], "text": texts, **columns})


def embedded(texts: list[str], kinds: list[int], **columns: Any) -> pa.Table:
    """Return texts with vectors near those of their kinds; equal texts have equal vectors."""
    vectors = []
    for text, kind in zip(texts, kinds, strict=True):
        rng = np.random.default_rng(abs(sum(map(ord, text))) + 7)
        vectors.append((np.eye(8)[kind] + rng.normal(0, 0.15, 8)).astype(np.float32).tolist())
    ids = pa.array([str(i) for i in range(len(texts))])
    return pa.table({"id": ids, "text": texts, "embedding": pa.array(vectors, pa.list_(pa.float32(), 8)), **columns})


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def lda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    docs = themed(date=[f"20{10 + i % 4}-03-01" for i in range(45)], label=["a,b", '=1+1 "x"', "two\nlines"] * 15)
    model = nk.fit_lda(nk.Corpus.from_frame(docs), k=3, sweeps=30, save_assignments=True, **RAW)
    return model.save(tmp_path_factory.mktemp("lda") / "run")


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [" ".join(np.random.default_rng(i).permutation(THEMES[i % 3].split()[:4])) + f" x{i}" for i in range(60)]
    docs = embedded(texts, [i % 3 for i in range(60)], date=[f"20{10 + i % 4}-03-01" for i in range(60)])
    folder = tmp_path_factory.mktemp("groups")
    pq.write_table(docs, folder / "docs.parquet")
    return nk.fit_bertopic(nk.read_corpus(folder / "docs.parquet"), k=3, **RAW).save(folder / "run")


# ---------------------------------------------------------------- fits and predictions

FITS = [nk.fit_lda, nk.fit_lda_online, nk.fit_nmf, nk.fit_plsa, nk.fit_gsdmm, nk.fit_biterm, nk.fit_hdp, nk.fit_stm]


@pytest.mark.parametrize("fit", FITS, ids=lambda fit: fit.__name__)
def test_hardly_any_words_and_unseen_ones(fit: Any) -> None:
    """bab2min/tomotopy#150, #168, #197, #140, #166, #62; gensim#2115; seededlda PR#10; textmineR#76; OCTIS#50."""
    given = {} if fit is nk.fit_hdp else {"k": 2}
    few = ["cat", "dog", "cat", "", "bird", "!!"]
    if fit in (nk.fit_biterm, nk.fit_stm):
        with pytest.raises(InputError, match=r"words|terms"):
            fit(few, **given, **RAW)
    else:
        model = fit(few, **given, **RAW)
        assert np.array(model.documents["topic"].to_pylist())[[3, 5]].tolist() == [-1, -1]
        assert len(model.documents) == 6
        assert np.isfinite(model.theta).all()
    model = fit([*themed(30)["text"].to_pylist(), ""], **given, **RAW)
    predicted = model.predict(["river boat", "unseen zebra", "", "the"])
    assert predicted["topic"].to_pylist()[1:] == [-1, -1, -1]
    assert predicted["topic_prob"].to_pylist()[1:] == [0, 0, 0]
    assert predicted["topic"].to_pylist()[0] >= 0
    assert np.isfinite(model.theta).all()
    assert np.isfinite(model.phi).all()


def test_theta_after_loading(tmp_path: Path) -> None:
    """pyLDAvis#173, topicwizard#12, keyATM#148: rows of theta that do not sum to 1."""
    model = nk.fit_lda(["foo foo foo", "bar", "bar baz baz", "foo"], k=2, sweeps=20, alpha_sum=2.0, **RAW)
    loaded = nk.load(model.save(tmp_path / "run"))
    np.testing.assert_array_equal(loaded.theta, model.theta)
    np.testing.assert_allclose(loaded.theta.sum(axis=1), 1)
    assert set(loaded.theta[0].round(12)) == {round(1 / 5, 12), round(4 / 5, 12)}  # (n + 1) / (3 + 2): .2 was left out


def test_tables_for_r(lda: Path, tmp_path: Path) -> None:
    """juliasilge/tidytext#166, dselivanov/text2vec#295: beta and gamma are phi and theta."""
    nk.export(lda, tmp_path / "r", to="r")
    model = nk.load(lda)
    gamma, beta = np.zeros((45, 3)), np.zeros((3, len(model.model.terms)))
    for row in rows(tmp_path / "r/gamma.csv"):
        gamma[int(row["document"]), int(row["topic"]) - 1] = float(row["gamma"])
    place = {term: v for v, term in enumerate(model.model.terms)}
    for row in rows(tmp_path / "r/beta.csv"):
        beta[int(row["topic"]) - 1, place[row["term"]]] = float(row["beta"])
    np.testing.assert_array_equal(gamma, model.theta)
    np.testing.assert_array_equal(beta, model.phi)


def test_pyldavis_holds_real_numbers(tmp_path: Path) -> None:
    """pyLDAvis#113, #69, lda2vec#3: complex numbers in the map of two topics, and no JSON."""
    model = nk.fit_lda(themed()["text"].to_pylist(), k=2, sweeps=20, save_assignments=True, **RAW)
    nk.export(model.save(tmp_path / "run"), tmp_path / "v.json", to="pyldavis")
    data = json.loads((tmp_path / "v.json").read_text(encoding="utf-8"))
    assert all(isinstance(x, float) for x in [*data["mdsDat"]["x"], *data["mdsDat"]["y"]])


@pytest.mark.parametrize(
    ("texts", "options"),
    [(["the same text"] * 51, {"k": 2}), (["one"], {}), (["one", "two"], {}), ([f"text {c}" for c in "abcdefghijkl"], {"k": 13})],
    ids=["ddangelov/Top2Vec#192", "Top2Vec#266", "Top2Vec#76", "Top2Vec#311, #79"],
)  # fmt: skip
def test_too_few_different_texts_for_topics(texts: list[str], options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="different documents"):
        nk.fit_bertopic(embedded(texts, [0] * len(texts)), **options, **RAW)


def test_repeated_short_answers_have_words() -> None:
    """MaartenGr/BERTopic#1906, varied; #1907, #1217, #923, #1063: equal distances; tree and topics agree."""
    answers = [f"{a} {b}" for a, b in zip("abcdefghijklmnopqrst", "ABCDEFGHIJKLMNOPQRST", strict=True)]
    texts = [f"{a}word {a}more" for a in (answer[0] for answer in answers) for _ in range(6)]
    model = nk.fit_bertopic(embedded(texts, [i // 40 for i in range(120)]), k=3, **RAW)
    assert all(len(words) >= 5 for words in model.topics["top_terms"].to_pylist())
    tree = model.tables()["tree"].to_pylist()
    assert len(tree) == 2
    assert sum(model.topics["size"].to_pylist()) == 120
    assert model.model.rule_agreement == 1  # each document has equal ones, which have its topic


# ---------------------------------------------------------------- edits, given topics


def test_merged_and_dropped_topics(groups: Path) -> None:
    """BERTopic#648, #698, #865, #979, #1876; #96, #101, #802, #2425: documents keep no dead topics, also over time."""
    before = nk.load(groups).topics["size"].to_pylist()
    path = nk.edit(groups, Edits(merge=((0, 1),))).save(groups.parent / "edited")
    edited = nk.load(path)
    sizes = edited.topics["size"].to_pylist()
    assert sorted(sizes) == sorted([before[0] + before[1], before[2]])
    assert np.bincount(edited.documents["topic"].to_pylist()).tolist() == sizes
    shares = nk.topics(path, over="date:year").rows("shares").to_pylist()
    assert sum(row["count"] for row in shares) == 60
    dropped = nk.load(nk.edit(groups, Edits(drop=(2,))).save(groups.parent / "dropped"))
    assert dropped.documents["topic"].to_pylist().count(-1) == before[2]
    with pytest.raises(NlpkitError):
        nk.edit(groups, Edits(merge=((0, 1), (1, 2))))


def test_given_topics_keep_order_and_names(tmp_path: Path) -> None:
    """BERTopic#2365, #2447, #2006; keyATM#179: a topic of whose words none is in the corpus is named, not lost."""
    seeds = tmp_path / "seeds.toml"
    seeds.write_text("[topics]\nfood = ['apple', 'zebra']\nlaw = ['court']\n", encoding="utf-8")
    model = nk.fit_lda(themed()["text"].to_pylist(), k=4, sweeps=20, seed_words=seeds, **RAW)
    assert model.topics["label"].to_pylist()[:2] == ["food", "law"]
    seeds.write_text("[topics]\nnothing = ['zebra']\nlaw = ['court']\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"'nothing'.*zebra"):
        nk.fit_lda(themed()["text"].to_pylist(), k=4, sweeps=20, seed_words=seeds, **RAW)


# ---------------------------------------------------------------- time


@pytest.mark.parametrize(
    ("values", "days"),
    [
        ([1850, 1851, None], ["1850-01-01", "1851-01-01", "NaT"]),
        ([2000.0, float("nan")], ["2000-01-01", "NaT"]),
        (["25/12/2011 14:30", "01/02/2011"], ["2011-12-25", "2011-02-01"]),
        (["12/25/2011", "01/02/2011 3:15 PM"], ["2011-12-25", "2011-01-02"]),
        (["2008-W27-4", "3024-01-01", "0850-01-01"], ["2008-07-03", "3024-01-01", "0850-01-01"]),
        (["Thu, 03 Jul 2008 10:00:00 +0100", "Thu Jul 03 10:00:00 +0000 2008"], ["2008-07-03", "2008-07-03"]),
    ],
    ids=[
        "BERTopic#1149: years",
        "BERTopic#1149: floats",
        "BERTopic#748: days first",
        "BERTopic#523: months first",
        "BERTopic#130",
        "mails",
    ],
)
def test_dates(values: list[Any], days: list[str]) -> None:
    assert [str(day) for day in days_of(pa.chunked_array([pa.array(values)]))[0]] == days


def test_milliseconds_are_dates() -> None:
    """BERTopic#748: they were the years 1703 to 1710."""
    days, _ = days_of(pa.chunked_array([[1700000000000 + 86400000 * i for i in range(45)]]))
    assert (str(days[0]), str(days[-1])) == ("2023-11-14", "2023-12-28")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([f"{10000000 + 77777 * i}" for i in range(45)], "cannot be read as dates"),
        (
            [f"{i % 12 + 1}/{i % 11 + 1}/2011" if i % 12 != i % 11 else "03/04/2011" for i in range(45)],
            "day or the month",
        ),
        (["25/12/2011", "12/25/2011", "01/01/2011"] * 15, "month"),
        (["2024-01-05", "the 5th", "2024-X1"] * 15, "30 of 45 values"),
    ],
    ids=["BERTopic#523: ids", "BERTopic#130: ambiguous", "conflicting", "mixed"],
)
def test_columns_of_which_many_values_are_no_dates(column: list[Any], message: str, tmp_path: Path) -> None:
    run = nk.fit_lda(nk.Corpus.from_frame(themed(when=column)), k=2, sweeps=5, **RAW).save(tmp_path / "run")
    with pytest.raises(ColumnError, match=message):
        nk.topics(run, over="when:year")


# ---------------------------------------------------------------- covariates


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("docid", "columns"),  # bstewart/stm#45
        ("gaps", "has no value in 9 of 45 documents"),  # stm#144, #38, #272
        ("s(constant)", "different values"),  # tidymodels/recipes#1455, stm#195
        ("s(two)", "different values"),  # stm#273, #290
        ("poly(score, 2)", "poly"),  # stm#241
    ],
)
def test_covariates_that_cannot_be_used(formula: str, message: str) -> None:
    docs = themed(
        docid=[f"d{i}" for i in range(45)], gaps=[None if i % 5 == 0 else float(i) for i in range(45)], constant=[1.0] * 45,
        two=[float(i % 2) for i in range(45)], score=[float(i) for i in range(45)],
    )  # fmt: skip
    with pytest.raises(NlpkitError, match=message):
        nk.fit_stm(nk.Corpus.from_frame(docs), k=2, prevalence=formula, **RAW)


def test_new_documents_and_odd_values_of_covariates(tmp_path: Path) -> None:
    """stm#96: unknown, missing and far values of new documents; stm#210: values with commas, quotes, line breaks."""
    labels = ["a,b", '=1+1 "x"', "two\nlines"]
    docs = themed(label=labels * 15, score=[float(i) for i in range(45)])
    model = nk.fit_stm(nk.Corpus.from_frame(docs), k=2, prevalence="label + score", **RAW)
    new = pa.table(
        {"text": ["river boat", "court law", "plum"], "label": ["unknown", None, labels[0]], "score": [None, 1e4, 3.0]}
    )
    assert min(model.predict(new)["topic"].to_pylist()) >= 0
    table = nk.estimate_effects(model.save(tmp_path / "run"), column="label").table
    assert sorted(set(table["value"].to_pylist())) == sorted(labels)


# ---------------------------------------------------------------- words


def test_coherence_of_words_that_are_not_there(tmp_path: Path) -> None:
    """gensim#2181, #1064, #3328; jhlau/topic-coherence-sensitivity#3; matthewjdenny/SpeedReader#3."""
    (tmp_path / "t.txt").write_text("cat dog\nunseen words here\nsingle\ncat cat dog\n", encoding="utf-8")
    corpus = nk.Corpus.from_frame(pa.table({"text": ["cat dog", "cat dog", "cat", "fish", "single"]}))
    score = (
        nk.evaluate(tmp_path / "t.txt", reference=corpus, metrics=["npmi"], window="document").targets[0].scores["npmi"]
    )
    p_cat, p_dog, p_both = 3 / 5, 2 / 5, 2 / 5
    values = np.asarray(score.values)
    assert values[0] == pytest.approx(np.log(p_both / (p_cat * p_dog)) / -np.log(p_both), abs=1e-6)
    assert values[1] == -1
    assert np.isnan(values[2])
    assert np.isfinite(score.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("विद्यार्थ्यांना शाळेत", ["विद्यार्थ्यांना", "शाळेत"]),  # OCTIS#86, #120
        ("ΟΔΟΣ Σίσυφος ქართული", ["οδος", "σίσυφος", "ქართული"]),  # lda-project/lda#61, final sigma
        ("می‌خواهم کتاب", ["می‌خواهم", "کتاب"]),  # roshan-research/hazm#14, gensim#299
        ("cafe\u0301 café", ["café", "café"]),  # gensim#299
    ],
)
def test_words_of_other_scripts_are_whole(text: str, words: list[str]) -> None:
    tokens = nk.preprocess([text, text], tokens=None, **RAW).table()["tokens"].to_pylist()[0]
    assert tokens == words


def test_turkish_case() -> None:
    tokens = nk.preprocess(["Iğdır ILIK İZMİR'de"], language="tr", **RAW).table()["tokens"].to_pylist()[0]
    assert tokens[:2] == ["ığdır", "ılık"]
    assert tokens[2].startswith("izmir")


# ---------------------------------------------------------------- columns, exports, predictions


def test_columns_of_users_and_internal_ones() -> None:
    """koheiw/seededlda#87: columns label, date, Id, and one with a space."""
    docs = themed(label=["x"] * 45, date=["2011"] * 45, Id=list(range(45)), **{"my column": ["y"] * 45})
    model = nk.fit_lda(nk.Corpus.from_frame(docs), k=2, sweeps=5, **RAW)
    assert {"label", "date", "Id", "my column"} <= set(model.documents.column_names)


def test_names_that_spreadsheets_would_compute(lda: Path, tmp_path: Path) -> None:
    """BERTopic#632: formulas, HTML, LaTeX and long texts in names of topics."""
    openpyxl = pytest.importorskip("openpyxl")
    names = ["=cmd|' /C calc'!A0", "@SUM(1) <b>$\\alpha$</b>", "-1+1"]
    run = nk.edit(lda, Edits(rename=tuple(enumerate(names)))).save(tmp_path / "run")
    nk.export(run, tmp_path / "t.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx")["topics"]
    heads = [cell.value for cell in sheet[1]]
    cells = [row[heads.index("label")] for row in sheet.iter_rows(min_row=2)]
    assert [(cell.value, cell.data_type) for cell in cells] == [(name, "s") for name in names]
    assert "<b>$" not in nk.report(run).html


def test_pictures(lda: Path, tmp_path: Path) -> None:
    """BERTopic#1319, datamapplot#164: pictures are drawn, also where a name has glyphs that a font lacks."""
    pytest.importorskip("matplotlib")
    run = nk.edit(lda, Edits(rename=((0, "\U0001f600 \u4e2d"),))).save(tmp_path / "run")
    nk.plot(run, "similarity").save(tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")


def test_labels_of_classes() -> None:
    """Class labels: 1 and '1' are one, others their own; empty and null are left out."""
    labels = ["1", "10", "3", "a,b", "two\nlines", "", None, "True"] * 4
    texts = [THEMES[i % 3] for i in range(32)]
    terms = nk.ctfidf(pa.table({"text": texts, "label": labels}), by="label", **RAW)
    assert [name for (name,) in terms.names] == ["1", "10", "3", "True", "a,b", "two\nlines"]


def test_new_documents_of_one_id_are_refused(lda: Path) -> None:
    with pytest.raises(InputError, match=r"'x' occurs twice"):
        nk.load(lda).predict(pa.table({"id": ["x", "y", "x"], "text": ["river", "boat", "court"]}))


def test_conditions_compare_dates() -> None:
    """keep_if on dates of a spreadsheet: 24/01/2015 was kept by date >= '2015-02-01'."""
    docs = themed(4, date=["01/03/2015", "24/01/2015", "15/06/2016", "31/12/2014"])
    kept = nk.Corpus.from_frame(docs).with_options(keep_if="date >= '2015-02-01'").table()
    assert kept["date"].to_pylist() == ["01/03/2015", "15/06/2016"]
    with pytest.raises(UsageError):
        nk.Corpus.from_frame(docs).with_options(keep_if="date >= '01/02/2015'").table()

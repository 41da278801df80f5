"""The public names: what a notebook does, from lists of texts and from data frames."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import ColumnError, InputError, UsageError
from nlpkit.platform.documents.corpus import as_corpus
from tests.command_line import NEWS, few_samples, needs_hdbscan, needs_minilm

ROWS = [{"text": f"river bank {i}", "label": "ab"[i % 2], "n": i} for i in range(6)]


def test_every_public_name_is_there_and_has_a_docstring() -> None:
    for name in nk.__all__:
        assert getattr(nk, name).__doc__, name
    assert set(dir(nk)) == {*nk.__all__, "errors", "estimators"}
    assert nk.estimators.Classifier("nb").kind == "nb"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = nk.nothing


def test_a_function_goes_before_the_package_of_its_name() -> None:
    """Before, `nk.embed` was the package as soon as anything had imported a module of it, and could not be called."""
    code = "import nlpkit as nk, nlpkit.embed.options; from nlpkit.embed import models; print(nk.embed.__name__, callable(nk.embed))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["embed", "True"]


def test_importing_is_light() -> None:
    code = (
        "import sys, nlpkit; assert 'fit_lda' in dir(nlpkit); "
        "print({'numpy', 'pyarrow', 'torch', 'sklearn', 'polars', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("make", [pl.DataFrame, pa.Table.from_pylist], ids=["polars", "arrow"])
def test_a_corpus_of_a_data_frame(make: Any) -> None:
    table = nk.Corpus.from_frame(make(ROWS)).table()
    assert table.column_names == ["id", "text", "label", "n"]
    assert table["n"].to_pylist() == list(range(6))
    assert table.to_pandas() is not None


def test_a_corpus_of_a_pandas_frame() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS).rename(columns={"text": "body"})
    corpus = nk.Corpus.from_frame(frame, text="body")
    assert corpus.table()["text"].to_pylist() == [row["text"] for row in ROWS]
    assert corpus.table()["id"].to_pylist()[0] == "row:1"
    with pytest.raises(ColumnError) as caught:
        nk.Corpus.from_frame(frame, text="txt").table()
    assert caught.value.parameter == "text_col"


def test_a_corpus_of_texts_is_read_as_often_as_is_needed() -> None:
    corpus = nk.Corpus.from_texts(["a", None, "b"], labels=[1, 2, 1], ids=["x", "y", "z"])
    assert corpus.table() == corpus.table()
    assert corpus.table()["id"].to_pylist() == ["x", "z"]  # a document without a text cannot be used
    with corpus.open() as stream:
        assert len({one.sha256 for one in (list(stream) and stream.inputs)}) == 1


@pytest.mark.parametrize(
    ("texts", "labels", "parameter"),
    [
        ("one string", None, "texts"),
        (["a", "b"], [1], "labels"),
        (["a", "b"], "ab", "labels"),
        (["a", "b"], [1, "x"], "labels"),
        (["a", 5], None, "texts"),
        ([["a"], ["b"]], None, "texts"),
        ([{"text": "a"}], None, "texts"),
        (["\ud800"], None, "texts"),
        ({"text": ["a", "b"]}, None, "texts"),
        ({"a", "b"}, None, "texts"),
        (np.zeros((2, 2)), None, "texts"),
        (None, None, "texts"),
    ],
)
def test_what_is_no_list_of_texts(texts: Any, labels: Any, parameter: str) -> None:
    with pytest.raises(UsageError) as caught:
        nk.Corpus.from_texts(texts, labels=labels)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    "data", [None, 5, {"text": ["a", "b"]}, {"a", "b"}, "a"], ids=["none", "number", "dict", "set", "string"]
)
def test_what_is_no_corpus(data: Any) -> None:
    with pytest.raises(UsageError) as caught:
        nk.stats(data)
    assert caught.value.parameter == "data"


@pytest.mark.parametrize(
    "make",
    [tuple, iter, np.array, pl.Series, pa.array, lambda texts: pa.chunked_array([texts]), "pandas"],
    ids=["tuple", "iterator", "numpy", "polars", "arrow", "chunked", "pandas"],
)
def test_texts_of_any_sequence(make: Any) -> None:
    """Before, a column of a data frame and an array of Arrow ended with an error of Arrow."""
    made = pytest.importorskip("pandas").Series if make == "pandas" else make
    texts = ["a river", "a bank"]
    for corpus in (as_corpus(made(texts)), nk.Corpus.from_texts(made(texts), labels=made(texts))):
        assert corpus.table()["text"].to_pylist() == texts


def test_frames_of_polars_from_which_rows_fall_away(tmp_path: Path) -> None:
    """Arrow cannot take rows of polars' texts, nor can codes without a sign be -1."""
    frame = pl.DataFrame(
        {
            "text": ["the cat sat on a mat", None, "dogs bark loudly", "cats ran", "night fell"],
            "label": pl.Series(["a", "b", None, "a", "b"], dtype=pl.Categorical),
            "grade": pl.Series(["low", "high", "high", None, "high"], dtype=pl.Enum(["low", "high"])),
            "words": [["x"], ["y"], None, [], []],
            "meta": [{"source": "s"}] * 5,
            "raw": [b"\xff"] * 5,
        }
    )
    read = as_corpus(frame).table()
    assert read["words"].to_pylist() == [["x"], None, [], []]
    assert read["meta"].to_pylist() == [{"source": "s"}] * 4
    assert read["raw"].to_pylist() == [b"\xff"] * 4
    pandas = as_corpus(frame.to_pandas()).table()
    for by in ("label", "grade"):
        assert read[by].to_pylist() == pandas[by].to_pylist()
        assert nk.ctfidf(frame, by=by, min_df=1).table.equals(nk.ctfidf(frame.to_pandas(), by=by, min_df=1).table)
    kept = nk.Corpus.from_frame(frame).with_options(keep_if="label == 'a'").table()
    assert kept["text"].to_pylist() == ["the cat sat on a mat", "cats ran"]
    frame.write_parquet(tmp_path / "t.parquet")
    assert nk.read_corpus(tmp_path / "t.parquet").table()["text"].to_pylist() == read["text"].to_pylist()
    pq.write_table(frame.to_arrow(), tmp_path / "views.parquet")
    assert nk.read_corpus(tmp_path / "views.parquet").table()["text"].to_pylist() == read["text"].to_pylist()


def test_ids_that_are_there_twice_are_told() -> None:
    with pytest.raises(InputError, match="x"):
        nk.Corpus.from_texts(["a", "b"], ids=["x", "x"]).table()


def test_class_terms_of_a_frame_and_a_misspelt_option() -> None:
    terms = nk.ctfidf(pl.DataFrame(ROWS), by="label", top_n=2, min_df=1, language="en")
    assert set(terms.table["class"].to_pylist()) == {"a", "b"}
    with pytest.raises(TypeError, match="'topn' is not an option here; did you mean 'top_n'"):
        nk.ctfidf(pl.DataFrame(ROWS), topn=2)


def test_options_by_the_names_of_other_programs_and_of_the_command_line() -> None:
    texts = ["a river and a bank", "the moon and a star", "river and star"] * 4
    ours = nk.fit_lda(texts, k=3, sweeps=5, seed=1, ngrams="1,2", min_df=2)
    for names in ({"n_topics": 3, "passes": 5}, {"num_topics": 3, "iterations": 5}, {"nr_topics": 3, "max_iter": 5}):
        theirs = nk.fit_lda(texts, **names, random_state=1, ngram_range=(1, 2), no_below=2)
        assert theirs.topics.equals(ours.topics)
    for settings, says in (
        ({"k": 3, "n_topics": 4}, "'k' and 'n_topics' are the same option; give one of them"),
        ({"n_jobs": -1}, "'n_jobs' is .*; use `threads`"),
        ({"kk": 3}, "'kk' is .*; did you mean 'k'"),
    ):
        with pytest.raises(TypeError, match=says):
            nk.fit_lda(texts, **settings)


@pytest.mark.parametrize(
    "setting", [{"sweeps": "x"}, {"sweeps": 2.5}, {"seed": -1}, {"seed": True}, {"alpha": "x"}], ids=str
)
def test_a_number_is_checked_as_on_the_command_line(setting: dict[str, Any]) -> None:
    """Before, these ended with a TypeError from somewhere, or were taken."""
    with pytest.raises(UsageError) as caught:
        nk.fit_lda(["a river", "a bank"], k=2, **setting)
    assert caught.value.parameter == next(iter(setting))


# ---------------------------------------------------------------- what a notebook does, in at most eight lines


def news(kind: str, path: Path = Path(NEWS)) -> Any:
    """The sample as a list of texts, or as a data frame with its labels."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if kind == "list":
        return [row["text"] for row in rows]
    return pytest.importorskip("pandas").DataFrame([{"text": row["text"], "label": row["label"]} for row in rows])


def labelled(kind: str) -> Any:
    """The same with labels."""
    data = news("frame")
    return nk.Corpus.from_texts(data["text"].tolist(), labels=data["label"].tolist()) if kind == "list" else data


both = pytest.mark.parametrize("kind", ["list", "frame"])
slow_list = pytest.mark.parametrize("kind", [pytest.param("list", marks=pytest.mark.slow), "frame"])


@needs_minilm
@needs_hdbscan
@slow_list
def test_topics_of_a_number_that_is_chosen(kind: str, tmp_path: Path) -> None:
    few = few_samples(tmp_path) / "data" / "samples" / "news.jsonl"  # a third, which other tests embed, too
    model = nk.fit_bertopic(news(kind, few), k="auto")
    assert model.topics.num_rows == len(model.topics.to_pandas()) >= 5
    model.save(tmp_path / "run")
    new = nk.load(tmp_path / "run").predict(["The court sentenced the driver to two years in prison."])
    assert new["topic"].to_pylist()[0] >= 0
    assert model.predict(["The court sentenced the driver to two years in prison."]).equals(new)
    assert "<table>" in model._repr_html_()


@both
def test_twenty_topics_and_their_coherence_with_an_interval(kind: str) -> None:
    model = nk.fit_lda(news(kind), k=20, sweeps=30)
    npmi = nk.evaluate(model, ["npmi"])["npmi"]
    assert npmi.interval is not None
    assert npmi.interval.low < npmi.value < npmi.interval.high
    assert repr(npmi).startswith("Score(npmi -0.")


@both
def test_a_classifier_with_scores_of_cross_validation(kind: str, tmp_path: Path) -> None:
    result = nk.cross_validate(labelled(kind), model="nb", folds=5)
    accuracy = result.evaluation["accuracy"]
    assert accuracy.interval.low < accuracy.value < accuracy.interval.high
    assert accuracy.value > 0.5
    assert result.predictions.num_rows == 416
    nk.train_classifier(labelled(kind), model="nb").save(tmp_path / "run")
    assert nk.load(tmp_path / "run").predict(["the court and the judge"])["prediction"].to_pylist() == ["courts"]


@needs_minilm
@pytest.mark.slow
@slow_list
def test_setfit_with_eight_shots(kind: str, tmp_path: Path) -> None:
    data = news("frame")
    two = data[data["label"].isin(["courts", "climate"])].groupby("label").head(16)
    corpus = nk.Corpus.from_texts(two["text"].tolist(), labels=two["label"].tolist()) if kind == "list" else two
    tuned = nk.finetune(corpus, method="setfit", shots=8, max_steps=2)
    accuracy = tuned.evaluation["accuracy"]
    assert accuracy.interval.low < accuracy.value <= 1
    assert accuracy.value > 0.8
    tuned.save(tmp_path / "run")
    texts = ["The judge sentenced him to prison.", "The glaciers melt."]
    assert nk.load(tmp_path / "run").predict(texts)["prediction"].to_pylist() == ["courts", "climate"]


def test_tokens_weights_and_lines_of_words() -> None:
    texts = news("list")[:40]
    assert nk.preprocess(texts, min_df=1).table().column_names == ["id", "text", "tokens"]
    weights = nk.tfidf(texts, min_df=1)
    assert weights.matrix.shape == (40, len(weights.terms))
    assert nk.kwic(texts, "court").num_rows >= 1
    assert nk.stats(texts).table().num_rows > 100


def test_a_result_shows_itself_in_a_line(tmp_path: Path) -> None:
    corpus = nk.read_corpus(NEWS)
    fit = nk.fit_lda(corpus, k=3, sweeps=20)
    fit.save(tmp_path / "run")
    shares = nk.topics(tmp_path / "run", by="label")  # one of several as a plain value
    assert repr(fit) == "<FittedLda: 3 topics, 416 documents>"
    assert repr(shares) == "<TopicShares: 3 topics, 8 periods and groups>"
    assert repr(nk.Corpus.from_texts(["a"])) == "<Corpus: 1 row in memory>"
    results = [
        corpus, nk.load(tmp_path / "run"), nk.evaluate(fit, ["npmi"]), nk.preprocess(corpus), nk.collocations(corpus),
        nk.stats(corpus), nk.fit_plsa(corpus, k=2),
        nk.diff(tmp_path / "run", tmp_path / "run"), nk.name_topics(tmp_path / "run", phrases=True),
        nk.sentiment(corpus, lexicon="vader"), nk.train_classifier(corpus), nk.tfidf(corpus), nk.ctfidf(corpus, by="label"),
        nk.plot(tmp_path / "run", "topics"),
    ]  # fmt: skip
    for result in results:
        assert repr(result).startswith(f"<{type(result).__name__}: ")
        assert len(repr(result)) < 200


def test_columns_of_other_names_are_named_where_documents_are_read(tmp_path: Path) -> None:
    frame = pa.table({"body": ["cats like dogs", "dogs like cats"] * 5})
    with pytest.raises(ColumnError, match=r"did you mean .body.. Name it: Corpus\.from_frame\(data, text=…\)"):
        nk.fit_lda(frame, k=2)
    with pytest.raises(TypeError, match=r"read_corpus\(FILE, text_col=…\) or Corpus\.from_frame\(data, text=…\)"):
        nk.fit_lda(frame, k=2, text_col="body")
    with pytest.raises(UsageError, match=r"takes files, not Table: .* Corpus\.from_frame"):
        nk.read_corpus(frame)  # type: ignore[arg-type]
    (tmp_path / "x.csv").write_text("body\ncats like dogs\n")
    assert nk.read_corpus(tmp_path / "x.csv", text_col="body").table().column("text").to_pylist() == ["cats like dogs"]


def test_results_can_be_pickled_and_copied(tmp_path: Path) -> None:
    """Before, what preprocess and fit_bertopic gave, a fit of the former, and a classifier with scores could not."""
    words = (("cats", "dogs", "rabbits", "horses"), ("stocks", "bonds", "markets", "banks"))
    texts = [f"{' '.join(group[:n])} like {group[n]}" for group in words for n in range(4)] * 3
    rows = {"text": texts, "label": ["a"] * 12 + ["b"] * 12}
    vectors = np.random.default_rng(1).normal(size=(24, 8)).astype(np.float32)
    embedded = pa.table({**rows, "embedding": pa.FixedSizeListArray.from_arrays(vectors.ravel(), 8)})
    frame, settings = pa.table(rows), {"min_df": 1, "stop_words": "none"}
    documents = nk.preprocess(frame, ngrams=(1, 2), phrases="npmi", **settings)
    for again in (pickle.loads(pickle.dumps(documents)), copy.deepcopy(documents)):
        assert again.head(None) == documents.head(None)
        assert again.removed().equals(documents.removed())
        assert again.tokens.terms == documents.tokens.terms
        again.save(tmp_path / "again.parquet", force=True)
    model: Any
    for model in (
        nk.fit_lda(documents, k=2, sweeps=5), nk.fit_bertopic(embedded, k=2, **settings),
        nk.cross_validate(frame, model="nb", folds=2).classifier, nk.fit_language_model(frame),
    ):  # fmt: skip
        again = pickle.loads(pickle.dumps(model))
        assert all(table.equals(again.tables()[name]) for name, table in model.tables().items())
        again.save(tmp_path / "run", force=True)
        assert repr(nk.load(tmp_path / "run"))
    with (
        nk.Corpus.from_frame(frame).open() as stream,
        pytest.raises(InputError, match="this copy of a stream has no documents; open"),
    ):
        copy.deepcopy(stream).read_all()


def test_whole_records_of_options_are_of_their_kind() -> None:
    """Before, `execution=3` ended in a TypeError of dataclasses."""
    texts = ["cats like dogs"] * 3
    for call, message in (
        (lambda: nk.fit_lda(texts, execution=3), r"an argument takes Execution\(…\), got 3; .*`seed=1`"),
        (lambda: nk.fit_lda(texts, options={"k": 2}), r"an argument takes LdaOptions\(…\), got {'k': 2}"),
        (lambda: nk.fit_plsa(texts, tokens=nk.Execution()), r"an argument takes TopicTokenOptions\(…\), got Execution\(seed=42"),
        (lambda: nk.train_classifier(texts, execution=nk.Execution), r"an argument takes Execution\(…\), got <class"),
        (lambda: nk.stats(texts, execution=0), r"an argument takes Execution\(…\), got 0"),
        (lambda: nk.preprocess(texts, tokens="de"), r"an argument takes TokenOptions\(…\), got 'de'"),
        (lambda: nk.cluster(texts, execution=3), r"an argument takes a record of options, got 3"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            call()  # type: ignore[no-untyped-call]


def test_a_fit_warns_once_of_documents_without_a_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    words = (("cats", "dogs", "rabbits", "horses"), ("stocks", "bonds", "markets", "banks"))
    texts = [f"{' '.join(group[:n])} like {group[n]}" for group in words for n in range(4)] * 3
    rows = {"text": [*texts, None], "label": ["a"] * 12 + ["b"] * 13, "date": [f"202{i % 3}-01-01" for i in range(25)]}
    corpus = nk.Corpus.from_frame(pa.table(rows))
    vectors = np.random.default_rng(1).normal(size=(25, 8)).astype(np.float32)
    embedded = pa.table({**rows, "embedding": pa.FixedSizeListArray.from_arrays(vectors.ravel(), 8)})
    settings: dict[str, Any] = {"min_df": 1, "stop_words": "none"}
    fits = [
        lambda: nk.fit_lda(corpus, k=2, sweeps=5, **settings), lambda: nk.fit_plsa(corpus, k=2, **settings),
        lambda: nk.fit_dtm(corpus, k=2, iterations=2, **settings), lambda: nk.fit_language_model(corpus),
        lambda: nk.train_classifier(corpus, model="nb"), lambda: nk.fit_bertopic(embedded, k=2, **settings),
    ]  # fmt: skip
    caplog.set_level("INFO")
    for n, fit in enumerate(fits):
        caplog.clear()
        model = fit()
        assert caplog.text.count("1 row could not be used, such as row:25: text is null") == 1
        model.save(tmp_path / str(n))
        assert caplog.text.count("could not be used") == 1
        assert f"dropped rows are listed in {tmp_path / str(n) / 'dropped.parquet'}" in caplog.text


def test_a_saved_model_stands_for_its_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = ["cats like dogs", "dogs like cats", "stocks fell hard", "hard stocks fell"] * 5
    fitted = nk.fit_lda(texts, k=2, sweeps=20, min_df=1, stop_words="none")
    assert fitted.predict(["cats", None, "dogs"]).num_rows == 2
    assert "1 row could not be used" in caplog.text
    with pytest.raises(UsageError, match="not saved yet"):
        nk.topics(fitted)
    fitted.save(tmp_path / "run")
    model = nk.load(tmp_path / "run")
    assert nk.topics(model).overall.equals(nk.topics(tmp_path / "run").overall)
    assert nk.diff(model, model).counts() == nk.diff(tmp_path / "run", tmp_path / "run").counts()
    assert nk.export(model, tmp_path / "x.json").n_topics == 2
    assert nk.evaluate(model, ["ami"]).__repr__().startswith("<Evaluation: ")  # a score that is not defined
    (tmp_path / "edits.toml").write_text("merge = [[0, 1]]\n")
    assert nk.edit(model, tmp_path / "edits.toml", documents=texts).topics.num_rows == 1

"""How results show themselves at a prompt and in a notebook, and give their tables away."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.errors import InputError
from nlpkit.platform import notebook

TEXTS = ["river bank water fish", "bank money loan debt", "river fish water", "money <b>debt</b> bank loan"] * 5
LABELS = ["nature", "finance"] * 10


@pytest.fixture(scope="module")
def corpus() -> nk.Corpus:
    return nk.Corpus.from_texts(TEXTS, labels=LABELS)


@pytest.fixture(scope="module")
def model(corpus: nk.Corpus) -> Any:
    return nk.fit_lda(corpus, k=2, sweeps=30, min_df=1)


@pytest.fixture(scope="module")
def run(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    saved: Path = model.save(tmp_path_factory.mktemp("run") / "lda")
    return saved


def test_a_table_of_html_escapes_what_it_shows_and_says_what_it_leaves_out() -> None:
    table = pa.table(
        {
            "<a>": ["<script>x</script>", None, "c"],
            "n": [1234, 2, 3],
            "x": [0.123456, float("nan"), None],
            "w": [["p"], [], None],
        }
    )
    shown = notebook.table_html(table, 2)
    assert "<script>" not in shown
    assert "<th>&lt;a&gt;</th>" in shown
    assert "<td>1,234</td><td>0.1235</td><td>p</td>" in shown
    assert shown.endswith("<p>… and 1 row more</p>")
    assert "more" not in notebook.table_html(table)


def test_a_table_of_text_has_numbers_to_the_right() -> None:
    assert notebook.text(("n", "name"), [(1, "a"), (1000, "b\x1b[2J")]) == "    n  name\n    1  a\n1,000  b\\x1b[2J"
    assert notebook.text(("n", "name"), []) == "n  name"


def test_words_and_documents_of_a_topic(model: Any, run: Path, corpus: nk.Corpus) -> None:
    k = next(k for k in (0, 1) if "money" in dict(model.topic_words(k, 4)))
    words = model.topic_words(k, 3)
    assert len(words) == 3
    assert words == sorted(words, key=lambda pair: -pair[1])
    name = model.topics["label"].to_pylist()[k]
    assert model.topic_words(name, 3) == words == nk.load(run).topic_words(k, 3)
    best = model.top_documents(k, 3)
    assert best.column_names == ["rank", "id", "prob", "label", "text"]
    assert best["rank"].to_pylist() == [1, 2, 3]
    assert set(best["label"].to_pylist()) == {"finance"}
    texts = dict(zip(corpus.table()["id"].to_pylist(), TEXTS, strict=True))
    assert best["text"].to_pylist() == [texts[name] for name in best["id"].to_pylist()]
    of_run = nk.topic_documents(run, k, top=3).table
    assert best["id"].to_pylist() == of_run["id"].to_pylist()
    assert nk.load(run).top_documents(k, 3)["text"].null_count == 3  # the documents were in memory
    with pytest.raises(InputError, match=r"`topic=9`: the model has no topic of this number or name \(there are: 0 "):
        model.topic_words(9)


def test_topics_are_shown(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    model.show(2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["topic", "size", "name", "top", "words"]
    assert len(lines) == 3
    assert str(model).splitlines()[0] == repr(model) == "<FittedLda: 2 topics, 20 documents>"
    assert model._repr_html_().count("<tr>") == 3


def test_tables_of_pandas_and_polars(model: Any, corpus: nk.Corpus) -> None:
    pytest.importorskip("pandas")
    assert set(model.to_pandas()) == set(model.to_polars()) == set(model.tables())
    assert model.to_pandas()["topics"].shape == model.to_polars()["topics"].shape
    assert isinstance(corpus.to_polars(), pl.DataFrame)
    assert corpus.to_pandas()["label"].tolist() == LABELS


def test_names_for_use_alone_are_listed(model: Any, corpus: nk.Corpus) -> None:
    names = {name for name in dir(model) if not name.startswith("_")}
    assert names == {
        "corpus", "documents", "kind", "path", "phi", "predict", "save", "show", "summary", "tables", "terms", "theta", "to_pandas",
        "to_polars", "top_documents", "topic_words", "topics", "tree",
    }  # fmt: skip
    assert model.phi.shape == (2, len(model.terms))
    classifier = nk.train_classifier(corpus, model="nb")
    assert not {"run", "check", "classifier", "config"} & set(dir(classifier))
    assert {"classes", "evaluation", "predict", "save"} <= set(dir(classifier))
    for value in (model, classifier):
        text = type(value).__mro__[0].__doc__ or ""
        documented = "".join(kind.__doc__ or "" for kind in type(value).__mro__)
        assert "Attributes:" in documented, text


def test_results_have_html_and_data_frames(model: Any, run: Path, corpus: nk.Corpus) -> None:
    results: list[Any] = [
        corpus, nk.preprocess(corpus), nk.stats(corpus), nk.collocations(corpus, min_count=1), nk.ctfidf(corpus, by="label"),
        nk.topics(run, by="label"), nk.diff(run, run), nk.topic_correlations(run), nk.find_topics(run, "money"),
        nk.topic_documents(run, 0), nk.train_classifier(corpus, model="nb"), nk.cross_validate(corpus, model="nb", folds=2),
        nk.evaluate(model, ["npmi"]), nk.similar_words(["money", "monkey"]), model,
        nk.similar(corpus, query="bank", by="tfidf", min_df=1),
    ]  # fmt: skip
    for result in results:
        shown = result._repr_html_()
        assert shown.startswith("<table><tr><th>"), result
        assert "<b>" not in shown, result
        assert result.to_polars() is not None


def test_the_copy_of_standard_input_is_not_spent_on_a_look() -> None:
    assert (
        nk.read_corpus("-")._repr_html_()
        == "<table><tr><th>corpus</th></tr><tr><td>&lt;Corpus: -&gt;</td></tr></table>"
    )


def test_without_pandas_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    model = nk.fit_lda(["river water fish bank", "money bank loan debt"] * 10, k=2, sweeps=5)
    with pytest.raises(nk.MissingExtraError, match="pip install pandas"):
        model.to_pandas()
    assert set(model.to_polars()) >= {"topics"}

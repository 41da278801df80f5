"""The report as a file: what is in it, what is not, and that it says when something is missing. What it does is in tests/report."""

from __future__ import annotations

import base64
import json
import logging
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import nlpkit as nk
from nlpkit.cluster.map import document_map, stratified_sample, topic_map
from nlpkit.errors import ColumnError, InputError, OutputExistsError, UsageError
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.views.page import Page, Section, read_page_code, render
from nlpkit.report.prose import corpus_name, methods
from nlpkit.report.topics import _title, relevant_terms
from nlpkit.topics.base.tables import read_model
from tests.command_line import NEWS, needs_hdbscan, run_cli, write_jsonl

EVIL = '</script><script>document.title="taken"</script><img src=x onerror=alert(1)>'


def write_corpus(folder: Path) -> Path:
    """Write 60 documents of three themes, with dates, a column and one text that tries to be code."""
    themes = {
        "river": "water bank boat fish stream",
        "court": "judge jury law trial guilty",
        "music": "song band concert tour album",
    }
    rows = []
    for n in range(60):
        name = list(themes)[n % 3]
        words = themes[name].split()
        text = " ".join(words[(n + i) % 5] for i in range(10))
        rows.append(
            {
                "id": f"d{n}",
                "title": f"Title {n}",
                "text": text,
                "date": f"2024-{n % 6 + 1:02}-03",
                "paper": "AB"[n % 2],
                "length": n / 7,
                "account": 2**60 + 1000 * n,  # which float64 rounds
            }
        )
    rows[7]["text"] += " " + EVIL
    rows[8]["title"] = EVIL
    path = folder / "docs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run of LDA whose corpus is beside it."""
    corpus = nk.read_corpus(write_corpus(tmp_path))
    return nk.fit_lda(corpus, k=3, sweeps=60, stop_words="none").save(tmp_path / "lda")


def container(html: str, name: str) -> tuple[dict[str, Any], bytes]:
    """Return the head of a container of the page, and its bytes."""
    found = re.search(f'id="{name}">([^<]*)<', html)
    assert found
    raw = zlib.decompress(base64.b64decode(found[1]))
    length = struct.unpack("<I", raw[:4])[0]
    return json.loads(raw[4 : 4 + length]), raw[4 + length :]


def test_everything_about_the_documents_is_in_the_file(run: Path) -> None:
    page = nk.report(run)
    data, _ = container(page.html, "data")
    texts, _ = container(page.html, "texts")
    assert (data["n"], data["total"], len(data["topics"])) == (60, 60, 3)
    assert texts["ids"][:2] == ["d0", "d1"]
    assert texts["titles"][0] == "Title 0"
    assert texts["texts"][0].startswith("water bank boat")
    types = {"date": "date", "paper": "category", "length": "number", "account": "number"}
    assert {c["name"]: c["type"] for c in data["columns"]} == types
    assert data["over_time"]["cells"] == ["2024-Q1", "2024-Q2"]
    assert [c["name"] for c in data["by_column"]] == ["paper"]
    assert sum(data["over_time"]["n"]) == 60
    sizes = [t["size"] for t in data["topics"]]
    assert sizes == nk.load(run).topics["size"].to_pylist()
    for section in (
        "overview",
        "map",
        "topics",
        "time",
        "columns",
        "tree",
        "distances",
        "left-out",
        "methods",
        "about",
    ):
        assert f'<section id="{section}"' in page.html


def test_words_are_those_of_the_model(run: Path) -> None:
    data, _ = container(nk.report(run).html, "data")
    stored = nk.load(run).tables()["topic_terms"].to_pylist()
    first = {row["term"]: row["weight"] for row in stored if row["topic"] == 0 and row["rank"] <= 5}
    shown = {term["t"]: term for term in data["topics"][0]["terms"]}
    assert set(first) <= set(shown)
    for term, weight in first.items():
        assert shown[term]["p"] == pytest.approx(weight, rel=2e-3)


def test_lambda_ranks_as_ldavis_does(tmp_path: Path) -> None:
    nk.fit_lda(nk.read_corpus(NEWS), k=6, sweeps=60).save(tmp_path / "lda")
    run = open_run(tmp_path / "lda")
    model = read_model(run)
    ids = run.table("documents", ["id"]).column("id").combine_chunks()
    long = run.table("doc_topics")
    rows = pc.index_in(long.column("id"), value_set=ids).to_numpy()
    theta = np.zeros((len(ids), 6))
    theta[rows, long.column("topic").to_numpy()] = long.column("prob").to_numpy()
    phi = model.topic_term.toarray() + model.eta
    cf = run.table("vocab").column("cf").to_numpy()
    pyldavis = pytest.importorskip("pyLDAvis")
    prepared = pyldavis.prepare(
        phi / phi.sum(1, keepdims=True), theta / theta.sum(1, keepdims=True), np.full(len(ids), cf.sum() / len(ids)),
        list(model.terms), cf, sort_topics=False, start_index=0, n_jobs=1,
    ).topic_info  # fmt: skip
    terms = relevant_terms(run)
    for weight in (1.0, 0.6, 0.3, 0.0):
        for k in range(6):
            theirs = prepared[prepared.Category == f"Topic{k}"].set_index("Term")
            relevance = weight * theirs.logprob + (1 - weight) * theirs.loglift
            ours = sorted(terms[k], key=lambda t: -(weight * np.log(t["p"]) + (1 - weight) * np.log(t["l"])))[:20]
            assert len({t["t"] for t in ours} & set(relevance.nlargest(20).index)) >= 15, (weight, k)


def test_the_same_run_gives_the_same_bytes_on_any_number_of_threads(run: Path) -> None:
    assert nk.report(run, threads=1).html == nk.report(run, threads=2).html


def test_a_document_is_text_and_nothing_may_be_requested(run: Path) -> None:
    html = nk.report(run).html
    assert EVIL not in html
    assert html.count("<script") == 3  # data, texts, code
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert not re.findall(r'(?:src|href)="(?!#)', html)


def test_without_texts_nothing_of_the_documents_is_in_it_but_ids(run: Path) -> None:
    html = nk.report(run, no_texts=True).html
    data, _ = container(html, "data")
    texts, _ = container(html, "texts")
    assert texts == {"ids": [f"d{n}" for n in range(60)], "titles": [], "texts": [], "arrays": {}}
    assert data["columns"] == []
    assert data["by_column"] == []
    assert data["over_time"] is None
    assert "Title 1" not in json.dumps(data)
    assert "water bank" not in json.dumps(data)
    assert all(set(doc) <= {"id", "near", "margin"} for t in data["topics"] for doc in t["typical"] + t["border"])


def test_titles_only(run: Path) -> None:
    html = nk.report(run, titles_only=True).html
    texts, _ = container(html, "texts")
    assert texts["titles"][0] == "Title 0"
    assert texts["texts"] == []
    assert "boat fish" not in json.dumps(container(html, "data")[0])
    with pytest.raises(UsageError, match="no_texts"):
        nk.report(run, titles_only=True, no_texts=True)


def test_a_sample_is_said_to_be_one(run: Path) -> None:
    page = nk.report(run, max_points=12)
    data, _ = container(page.html, "data")
    assert (page.documents, page.total, data["n"], data["total"]) == (12, 60, 12, 60)
    assert "documents that are not in this file" in page.html
    assert sum(data["over_time"]["n"]) == 60  # shares are of all


def test_snippets_are_cut(run: Path) -> None:
    texts, _ = container(nk.report(run, snippet=10).html, "texts")
    assert max(map(len, texts["texts"])) == 10


def test_a_corpus_that_is_gone_or_changed_is_warned_of(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    corpus = run.parent / "docs.jsonl"
    corpus.write_text(corpus.read_text() + '{"id": "new", "text": "x"}\n')
    with caplog.at_level(logging.WARNING, logger="nlpkit"):
        changed = nk.report(run)
    assert "has changed since" in caplog.text
    corpus.unlink()
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="nlpkit"):
        gone = nk.report(run)
    assert "the report only has texts of typical documents" in caplog.text
    for page in (changed, gone):
        texts, _ = container(page.html, "texts")
        data, _ = container(page.html, "data")
        assert texts["texts"] == []
        assert texts["titles"][0] == "Title 0"  # a column of the run
        assert data["topics"][0]["typical"][0]["text"]


def test_columns_and_periods_can_be_named(run: Path) -> None:
    data, _ = container(nk.report(run, over="date:month", by=("date:quarter",)).html, "data")
    assert data["over_time"]["cells"][1] == "2024-02"
    assert [(c["name"], c["values"]) for c in data["by_column"]] == [("date:quarter", ["2024-Q1", "2024-Q2"])]


def test_a_column_of_titles_that_is_not_there(run: Path) -> None:
    with pytest.raises(ColumnError, match=r"no column 'titel'.* did you mean 'title'"):
        nk.report(run, title_col="titel")


def test_another_run_beside_it(run: Path) -> None:
    other = nk.fit_lda(nk.read_corpus(run.parent / "docs.jsonl"), k=4, sweeps=60, stop_words="none").save(
        run.parent / "other"
    )
    page = nk.report(run, compare=other)
    data, _ = container(page.html, "data")
    assert sum(n for _, _, n in data["compared"]["flows"]) == 60
    assert len(data["compared"]["before"]) == 4
    assert "A (other)" in page.html
    assert "4 topics of A, 3 of B, compared by documents" in page.html
    with pytest.raises(InputError, match="does not exist"):
        nk.report(run, compare=run.parent / "none")


def test_names_and_places_of_the_file(run: Path, tmp_path: Path) -> None:
    page = nk.report(run, heading="Rivers & courts")
    assert "<title>Rivers &amp; courts</title>" in page.html
    target = page.save(tmp_path / "r.html")
    assert target.read_text(encoding="utf-8") == page.html
    with pytest.raises(OutputExistsError):
        page.save(target)
    with pytest.raises(UsageError, match=r"report\.html"):
        page.save(tmp_path / "r.pdf")


def test_a_run_that_cannot_be_shown(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        nk.report(tmp_path / "none")
    run_cli("tfidf", NEWS, "--lsa", "4", "-o", tmp_path / "lsa")
    with pytest.raises(InputError, match="no report"):
        nk.report(tmp_path / "lsa")


@needs_hdbscan
def test_layers_and_tree_of_topics_from_embeddings(planted_run: Path) -> None:
    page = nk.report(planted_run)
    data, arrays = container(page.html, "data")
    assert len(data["topics"]) == 4
    assert len(data["relations"]["tree"]) == 3
    kind, at, n = data["arrays"]["x"]
    assert (kind, n) == ("u2", 120)
    x, y = (np.frombuffer(arrays, "<u2", n, data["arrays"][name][1]) for name in "xy")
    topic = np.frombuffer(arrays, "<i2", n, data["arrays"]["topic"][1])
    middle = np.array([[x[topic == k].mean(), y[topic == k].mean()] for k in range(4)])
    spread = max(np.hypot(x[topic == k] - middle[k, 0], y[topic == k] - middle[k, 1]).mean() for k in range(4))
    apart = min(np.hypot(*(middle[a] - middle[b])) for a in range(4) for b in range(a))
    assert apart > 2 * spread  # planted topics are apart on the map
    assert at % 8 == 0


def test_a_number_of_topics_that_was_chosen(tmp_path: Path) -> None:
    nk.fit_lda(nk.read_corpus(write_corpus(tmp_path)), k="2:4", sweeps=30, stop_words="none").save(tmp_path / "lda")
    page = nk.report(tmp_path / "lda")
    data, _ = container(page.html, "data")
    assert [row["k"] for row in data["evidence"]] == [2, 3, 4]
    assert sum(row["chosen"] for row in data["evidence"]) == 1
    assert "was chosen among 3 numbers from 2 to 4" in page.html
    assert "(<code>--k 2:4</code>)" in page.html


def test_an_edited_run_says_so(run: Path, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text("merge = [[0, 1]]\n")
    nk.edit(run, tmp_path / "e.toml").save(tmp_path / "edited")
    page = nk.report(tmp_path / "edited").html
    assert f"The 2 topics are those of {run} after they were edited by hand." in page
    assert "was given" not in page


def test_methods_cite_what_they_list() -> None:
    manifest = {
        "kind": "bertopic", "nlpkit_version": "1", "seed": 1, "inputs": [], "results": {"documents": 9},
        "parameters": {"encoder": None, "cluster": "hdbscan"},
    }  # fmt: skip
    for changes in ({}, {"cluster": "kmeans", "encoder": {"encoder": "minilm"}}):
        text, references = methods({**manifest, "parameters": {**manifest["parameters"], **changes}}, 3)
        for reference in references:
            year = reference.split("(")[1][:4]
            assert reference.split(",")[0] in text, reference
            assert year in text
        assert len(references) == text.count(", 20")


def test_methods_say_which_words_are_left() -> None:
    """Reviewers ask first which words were left out: near-duplicates, stop words, rare terms."""
    tokens = {
        "dedupe": "near:0.9", "stop_word_languages": ["en"], "extra_stop_words": ["a", "b", "c"], "min_df": 10, "max_df": 0.5,
        "min_cf": 1, "max_cf": 1.0, "lower": True, "lemma": False, "stem": "none", "ngrams": [1, 2],
    }  # fmt: skip
    manifest = {
        "kind": "plsa", "nlpkit_version": "1", "seed": 1, "inputs": [], "results": {"documents": 9}, "parameters": {"tokens": tokens},
    }  # fmt: skip
    text, _ = methods(manifest, 3, n_terms=6599, n_tokens=727946)
    assert (
        "Texts were split into words, lower case, with n-grams of 1 to 2 words. We left out near-duplicate documents (similarity of 0.9 or "
        "more), stop words (en), 3 words of a list of our own, terms in fewer than 10 documents and terms in more than 50 % of the "
        "documents. 727,946 tokens of 6,599 different terms remained."
    ) in text
    assert "Texts were cut" not in methods({**manifest, "parameters": {"tokens": None}}, 3)[0]


def test_a_classifier(tmp_path: Path) -> None:
    run_cli("classify", NEWS, "--cv", "3", "-o", tmp_path / "classes")
    page = nk.report(tmp_path / "classes")
    data, _ = container(page.html, "data")
    scores = {s["name"]: s["value"] for s in data["scores"]}
    stored = json.loads((tmp_path / "classes" / "metrics.json").read_text())["targets"][0]
    assert scores["accuracy"] == stored["metrics"]["accuracy"]["value"]
    assert data["confusion"]["counts"] == stored["confusion"]["counts"]
    assert sum(map(sum, data["confusion"]["counts"])) == 416
    with pytest.raises(UsageError, match="only applies to reports of topic models"):
        nk.report(tmp_path / "classes", over="date:month")
    assert 'id="errors"' in page.html
    assert 'id="calibration"' in page.html


def test_a_regression(tmp_path: Path) -> None:
    """Errors have an axis of their own, and the test documents are not called those of the training."""
    rows = [{"id": str(n), "text": f"{'good' if n % 3 else 'bad'} film {n}", "label": 4 * (n % 3)} for n in range(60)]
    write_jsonl(tmp_path / "train.jsonl", rows[:40])
    write_jsonl(tmp_path / "test.jsonl", rows[40:])
    run_cli("classify", "train.jsonl", "--test", "test.jsonl", "--task", "regression", "-o", "run")
    page = nk.report("run")
    assert page.title == "Classifier of train.jsonl"
    assert "trained on train.jsonl; scored by documents of test.jsonl." in page.html
    data, _ = container(page.html, "data")
    errors = {s["name"]: s["error"] for s in data["scores"]}
    assert errors == {"rmse": True, "mae": True, "r2": False, "pearson": False, "spearman": False}


# ---------------------------------------------------------------- parts


def test_the_code_of_the_page_stays_small() -> None:
    code = read_page_code()
    assert len((code.script + code.style).encode()) <= 120_000


def test_a_container_holds_what_json_has_no_word_for() -> None:
    page = Page("t", "l", [Section("a", "A")], {"x": float("nan")}, {"v": np.array([1, 2, 3], np.int16)}, {})
    head, rest = container(render(page, read_page_code()), "data")
    assert head["x"] is None
    assert head["arrays"] == {"v": ["i2", 0, 3]}
    assert np.frombuffer(rest, "<i2", 3).tolist() == [1, 2, 3]


def test_maps_of_few_documents() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 6, 20):
        places = document_map(rng.normal(size=(n, 8)).astype(np.float32))
        assert places.shape == (n, 2)
        assert np.isfinite(places).all()
        assert (places >= -1e-6).all()
        assert (places <= 1 + 1e-6).all()
    same = document_map(np.ones((9, 4), np.float32))
    assert (same == same[0]).all()
    assert document_map(np.zeros((0, 4), np.float32)).shape == (0, 2)
    assert np.isfinite(document_map(rng.normal(size=(30, 1)).astype(np.float32))).all()


def test_a_sample_keeps_every_topic() -> None:
    topics = np.repeat([0, 1, 2, -1], [900, 90, 9, 1]).astype(np.int32)
    rows = stratified_sample(topics, 100, seed=3)
    assert len(rows) == 100
    assert (np.diff(rows) > 0).all()
    assert np.unique(topics[rows], return_counts=True)[1].tolist() == [1, 88, 9, 2]
    assert stratified_sample(topics, 2, seed=3).shape == (2,)
    assert len(stratified_sample(topics, 5000, seed=3)) == 1000


def test_topics_are_placed_by_their_distances() -> None:
    distances = np.abs(np.subtract.outer([0.0, 1.0, 5.0, 6.0], [0.0, 1.0, 5.0, 6.0]))
    places = topic_map(distances)
    assert np.abs(np.abs(np.subtract.outer(places[:, 0], places[:, 0])) - distances).max() < 1e-9
    assert np.abs(places[:, 1]).max() < 1e-6


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["a/x.csv"], "x.csv"),
        ([f"talks/{year}/{n}.vtt" for year in (2011, 2012) for n in range(3)], "talks (6 files)"),
        ([f"C:\\talks\\{n}.vtt" for n in range(4)], "talks (4 files)"),
        ([f"{n}.vtt" for n in range(4)], "4 files"),
        (["/a/1.txt", "/b/2.txt", "c/3.txt", "4.txt"], "4 files"),
    ],
)
def test_many_files_are_named_by_their_folder(paths: list[str], name: str) -> None:
    assert corpus_name({"parameters": {}, "inputs": [{"path": path} for path in paths]}) == name


def test_the_opening_says_what_to_distrust_and_explains_the_scores_that_are_there(run: Path, planted_run: Path) -> None:
    def opening(of: Path) -> str:
        return nk.report(of).html.partition('id="map"')[0]

    assert "Whether a second fit finds these topics was not tested" in opening(run)
    assert "Exclusivity " in opening(run)
    assert "AMI" not in opening(run)  # which this run has not
    assert "was not tested" not in opening(planted_run)
    assert "Stability of a topic: from 0 to 1" in opening(planted_run)


def test_a_text_without_a_title_is_cut_between_words() -> None:
    assert _title("a  b\nc") == "a b c"
    cut = _title("immigration and borders " * 10)
    assert cut.endswith(("immigration…", "and…", "borders…"))
    assert 60 < len(cut) <= 81
    assert _title("字" * 200) == "字" * 79 + "…"  # without spaces, at any letter

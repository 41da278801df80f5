"""nlpkit bertopic: fits on planted topics, the run directory, corpora it cannot fit, and prediction."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.platform.documents.arrays import embedding_column
from nlpkit.topics.base.options import ENGINES, LEAST_FITTED
from tests.command_line import (
    DIMENSIONS,
    NACHRICHTEN,
    NEWS,
    WORDS,
    footer,
    manifest,
    needs_hdbscan,
    needs_minilm,
    planted_rows,
    read,
    run_cli,
    topics_of,
    write_embedded,
    write_jsonl,
)

pytestmark = needs_hdbscan


# ---------------------------------------------------------------- what comes out


def test_planted_topics_come_back(planted: Path, planted_run: Path) -> None:
    topics = pl.read_parquet(planted_run / "topics.parquet")
    assert (topics["size"].to_list(), topics["share"].to_list()) == ([30] * 4, [0.25] * 4)
    for words in topics["top_terms"].to_list():
        assert any(set(words) <= set(w.split()) for w in WORDS.values())
    documents = pl.read_parquet(planted_run / "documents.parquet")
    assert documents.group_by("label").agg(pl.col("topic").n_unique())["topic"].to_list() == [1] * 4
    assert (documents["topic"] == documents["nearest_topic"]).all()


def test_names_ask_no_network(planted: Path, tmp_path: Path) -> None:
    """The column says which model made it; to embed phrases for names it is not downloaded."""
    done = run_cli("bertopic", planted, "--k", "4", "-o", "run")
    assert "topics are named by words, not by phrases: their encoder, planted, is not on this machine" in done.err
    assert "hub" not in done.err
    words = pl.read_parquet(tmp_path / "run" / "topics.parquet")
    assert words["label"].to_list() == [", ".join(terms[:3]) for terms in words["top_terms"].to_list()]


def test_plain_ctfidf_can_be_worked_out_from_the_tables(planted_run: Path) -> None:
    terms, topics = (
        pl.read_parquet(planted_run / "topic_terms.parquet"),
        pl.read_parquet(planted_run / "topics.parquet"),
    )
    words = topics["words"].to_numpy()[terms["topic"].to_numpy()]
    count, share = terms["count"].to_numpy(), terms["share"].to_numpy()
    again = count / words * np.log1p(topics["words"].mean() * share / count)  # Grootendorst 2022
    np.testing.assert_allclose(terms["ctfidf"].to_numpy(), again, rtol=1e-5)


@pytest.mark.parametrize("k", ["auto", "3", "2:6", "3:5:1"])
def test_k(k: str, planted: Path, tmp_path: Path) -> None:
    done = run_cli("bertopic", planted, "--k", k, "-o", "run")
    n = manifest(tmp_path / "run")["results"]["n_topics"]
    assert n == (3 if k == "3" else 4)
    assert done.out.startswith("How many topics?") == (k != "3")
    evidence = manifest(tmp_path / "run")["results"]["evidence"]
    assert [c["k"] for c in evidence if c["chosen"]] == ([] if k == "3" else [4])
    assert ("→" in done.out) == (k != "3")
    if k == "3":
        dense = run_cli("bertopic", planted, "--cluster", "hdbscan", "--k", k, "-o", "dense")
        assert "3 topics: the cut" in dense.err


@pytest.mark.parametrize("k", ["auto", "3", "120"])
def test_kmeans_gives_every_document_a_topic_and_predicts(k: str, planted: Path, tmp_path: Path) -> None:
    done = run_cli("bertopic", planted, "--cluster", "kmeans", "--k", k, "-o", "run")
    documents = pl.read_parquet(tmp_path / "run" / "documents.parquet")
    n = 4 if k == "auto" else int(k)
    assert set(documents["topic"]) == set(range(n))
    assert ("halves" in done.out and "→" in done.out) == (k == "auto")
    if k == "auto":
        assert documents.group_by("label").agg(pl.col("topic").n_unique())["topic"].to_list() == [1] * 4
        assert "4 topics: the largest number" in done.err
    run_cli("predict", "run", planted, "-o", "again.parquet")
    assert pl.read_parquet(tmp_path / "again.parquet")["topic"].to_list() == documents["topic"].to_list()


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_neighbors", 1000), ("n_components", 50), ("min_samples", 20), ("min_dist", 0.9), ("k", 1), ("threads", 64)],
)
def test_extreme_options_are_used_as_they_are(name: str, value: float, planted: Path, tmp_path: Path) -> None:
    engine = ["--cluster", "hdbscan"] if name in ("n_components", "min_samples", "min_dist") else []
    done = run_cli(
        "bertopic", planted, "--k", 2, *engine, f"--{name.replace('_', '-')}", value, "--json", "-q", "-o", "run"
    ).json()
    assert done["n_topics"] == (1 if name == "k" else 2)
    facts = manifest(tmp_path / "run")
    assert str((facts["parameters"] | facts)[name]) == str(value)
    assert set(topics_of(tmp_path / "run").values()) == set(range(done["n_topics"]))


def test_plain_ctfidf_can_be_recomputed_from_the_run(tmp_path: Path) -> None:
    """Before, it was that of the clusters alone and in no column unless --plain-terms was given."""
    rows = planted_rows(seed=3)
    rng = np.random.default_rng(0)
    for row in rows[::7]:  # some documents between the clusters
        row["embedding"] = row["embedding"] + rng.normal(0, 0.6, DIMENSIONS)
    path = write_embedded(tmp_path / "x.parquet", rows)
    for name, words in (("core", []), ("plain", ["--plain-terms"])):
        run_cli("bertopic", path, "--k", "4", *words, "-q", "-o", name)
        topics, vocabulary = topics_of(tmp_path / name), set(read(f"{name}/vocab.parquet")["term"].to_pylist())
        counts = {k: Counter() for k in range(4)}  # type: ignore[var-annotated]
        for row in rows:
            if topics[row["id"]] >= 0:
                counts[topics[row["id"]]].update(w for w in row["text"].lower().split() if w in vocabulary)
        total = sum(counts.values(), Counter())
        mean = total.total() / 4
        table = read(f"{name}/topic_terms.parquet").to_pylist()
        for row in table:
            tf = counts[row["topic"]]
            by_hand = tf[row["term"]] / tf.total() * np.log(1 + mean / total[row["term"]])
            assert row["ctfidf"] == pytest.approx(by_hand, rel=1e-5)
            if name == "plain":
                assert row["weight"] == row["ctfidf"]


def test_what_the_table_of_auto_says_and_the_line_below_agree(planted: Path) -> None:
    dense = run_cli("bertopic", planted, "--cluster", "hdbscan", "-o", "dense").err
    assert "4 topics: the best score (score " in dense
    assert "the table above scores each cut by plain c-tf-idf words of its clusters)" in dense
    says = run_cli("bertopic", planted, "-o", "run").err
    assert "4 topics: the largest number for which all three agree at 0.95 or more (score " in says
    assert "the table above" not in says


@pytest.mark.parametrize("cluster", ENGINES)
def test_layers_are_a_tree_of_all_documents(cluster: str, planted: Path, tmp_path: Path) -> None:
    run_cli("bertopic", planted, "--cluster", cluster, "--k", "4", "-q", "-o", "run")
    layers, documents = read("run/layers.parquet").to_pylist(), pl.read_parquet(tmp_path / "run" / "documents.parquet")
    n_layers = 1 + max(row["layer"] for row in layers)
    assert [row["layer"] for row in layers if row["chosen"]] == [1] * 4  # two, four, and finer ones
    assert documents["layer_1"].to_list() == documents["topic"].to_list()
    for number in range(n_layers):
        rows = [row for row in layers if row["layer"] == number]
        sizes = dict(documents.filter(pl.col(f"layer_{number}") >= 0)[f"layer_{number}"].value_counts().iter_rows())
        assert {row["topic"]: row["size"] for row in rows} == sizes
        assert all((row["parent"] is None) == (number == 0) for row in rows)
        parents = {row["topic"]: row["parent"] for row in rows}
        for inner, outer in zip(documents[f"layer_{number}"], documents[f"layer_{max(number - 1, 0)}"], strict=True):
            assert number == 0 or inner < 0 or parents[inner] == outer
    chosen = [row for row in layers if row["chosen"]]
    topics = read("run/topics.parquet").to_pylist()
    assert [(r["label"], r["size"], r["stability"]) for r in chosen] == [
        (t["label"], t["size"], t["stability"]) for t in topics
    ]
    assert all(t["stability"] > 0.9 for t in topics)
    tree = run_cli("info", "run", "--tree").out.splitlines()
    assert len(tree) == len(layers)
    assert sum("→" in line for line in tree) == 4
    assert run_cli("info", "run", "--tree", "--json").json()["layers"] == layers
    assert len(read("run/tree.parquet")) == 3


def test_layers_as_newick(planted_run: Path, tmp_path: Path) -> None:
    done = run_cli("convert", planted_run, "-o", "t.nwk", "--json").json()
    text = (tmp_path / "t.nwk").read_text(encoding="utf-8")
    assert done["to"] == "newick"
    layers = read(planted_run / "layers.parquet").to_pylist()
    assert text.endswith(");\n")
    assert text.count("(") == text.count(")") == 1 + len({(r["layer"], r["parent"]) for r in layers if r["layer"]})
    assert text.count(":1") == len(layers)


def test_a_run_without_layers_has_no_tree(tmp_path: Path) -> None:
    run_cli("lda-gibbs", NEWS, "--k", "3", "--sweeps", "5", "-q", "-o", "lda")
    for words in (["info", "lda", "--tree"], ["convert", "lda", "-o", "t.nwk"]):
        assert "has no layers of topics" in run_cli(*words, code=3).error()


def test_grain_takes_another_layer(tmp_path: Path) -> None:
    path = write_embedded(tmp_path / "x.parquet", planted_rows())
    numbers = {}
    for grain in ("coarse", "middle", "fine"):
        done = run_cli("bertopic", path, "--grain", grain, "-o", grain)
        numbers[grain] = manifest(tmp_path / grain)["results"]["n_topics"]
        assert ("(--grain" in done.err) == (grain != "middle")
    assert (numbers["coarse"], numbers["middle"]) == (2, 4)
    assert 8 <= numbers["fine"] <= 16
    assert (
        run_cli("bertopic", path, "--grain", "fine", "--k", "4", "-o", "run", code=2)
        .error()
        .startswith("error: --grain")
    )


def test_topics_that_do_not_come_back_are_marked(tmp_path: Path) -> None:
    done = run_cli("bertopic", write_embedded(tmp_path / "x.parquet", planted_rows()), "--k", "40", "-o", "run")
    stability = read("run/topics.parquet")["stability"].to_pylist()
    dissolved = [k for k, value in enumerate(stability) if value is not None and value < 0.5]
    assert dissolved == manifest(tmp_path / "run")["results"]["stability"]["dissolved"]
    assert dissolved
    assert f"what now? Do not rely on topics {', '.join(map(str, dissolved[:10]))}" in done.err
    assert "(marked !): they did not come back in a fit to the other half of the documents" in done.err
    assert "what now?" not in run_cli("bertopic", "x.parquet", "--k", "40", "-q", "-o", "quiet").err


def test_a_word_that_leads_many_topics_is_told(tmp_path: Path) -> None:
    rows = [{**row, "text": "said " * 9 + row["text"]} for row in planted_rows()]
    path = write_embedded(tmp_path / "x.parquet", rows)
    done = run_cli("bertopic", path, "--k", "4", "--plain-terms", "-o", "run")
    assert "'said' is the first word of 4 of 4 topics (it is in 100% of the documents): --auto-stop 0.95" in done.err
    done = run_cli("bertopic", path, "--k", "4", "--plain-terms", "--auto-stop", "0.95", "-o", "without")
    assert "first word of" not in done.err
    assert "said" not in {term for terms in read("without/topics.parquet")["top_terms"].to_pylist() for term in terms}


# ---------------------------------------------------------------- corpora that cannot be fitted, or only just


def corpus(path: Path, rows: list[dict[str, Any]], **change: Any) -> Path:
    return write_embedded(path, [{**row, **{k: v(row) for k, v in change.items()}} for row in rows])


@pytest.mark.parametrize("n", [1, 3, LEAST_FITTED - 1])
def test_too_few_documents(n: int, tmp_path: Path) -> None:
    path = corpus(tmp_path / "x.parquet", planted_rows()[:n])
    says = run_cli("bertopic", path, "-o", "run", code=3).error()
    documents = "1 document" if n == 1 else f"{n} documents"
    assert says.endswith(
        f"finding topics needs at least {LEAST_FITTED} different documents with text; found {n} among {documents}"
    )
    assert not (tmp_path / "run").exists()


def test_twenty_documents(tmp_path: Path) -> None:
    path, dense = corpus(tmp_path / "x.parquet", planted_rows()[:20]), ["--cluster", "hdbscan"]  # five of each topic
    says = run_cli("bertopic", path, *dense, "--k", "2", "--min-topic-size", "3", "-o", "run", code=3).error()
    assert "found no groups of at least 3 similar documents among 20 different ones; more documents are needed" in says
    # --k N gives N topics where groups of two allow it
    pair = corpus(tmp_path / "pair.parquet", [row for i, row in enumerate(planted_rows()[:20]) if i not in (3, 7, 11)])
    done = run_cli("bertopic", pair, *dense, "--k", "4", "--min-samples", "1", "-o", "pairs")
    assert "4 topics in " in done.err
    assert "so many topics needed a cut with 2 documents a topic and more, where 3 is usual here" in done.err
    run_cli("bertopic", path, *dense, "--k", "2", "--min-samples", "2", "-q", "-o", "run")
    assert set(topics_of(tmp_path / "run").values()) <= {-1, 0, 1}


def test_identical_documents(tmp_path: Path) -> None:
    one = planted_rows()[0]
    path = corpus(tmp_path / "x.parquet", [{**one, "id": str(i)} for i in range(50)])
    says = run_cli("bertopic", path, "-o", "run", code=3).error()
    assert "found 1 among 50 documents" in says


def test_copies_share_a_topic(tmp_path: Path) -> None:
    rows = planted_rows()
    path = corpus(tmp_path / "x.parquet", [*rows, *({**row, "id": row["id"] + "b"} for row in rows[:40])])
    run_cli("bertopic", path, "--k", "4", "-q", "-o", "run")
    topics = topics_of(tmp_path / "run")
    assert all(topics[row["id"]] == topics[row["id"] + "b"] for row in rows[:40])


def test_empty_documents_have_no_topic_and_null_texts_no_row(tmp_path: Path) -> None:
    rows = planted_rows()
    rows[3]["text"], rows[4]["text"], rows[5]["text"] = "", " \n\t ", None
    path = corpus(tmp_path / "x.parquet", rows)
    run_cli("bertopic", path, "--k", "4", "-o", "run")
    table = pl.read_parquet(tmp_path / "run" / "documents.parquet")
    assert table["id"].to_list() == [row["id"] for row in rows if row["text"] is not None]
    empty = table.filter(pl.col("id").is_in([rows[3]["id"], rows[4]["id"]]))
    assert (empty["topic"].to_list(), empty["nearest_topic"].to_list()) == ([-1, -1], [-1, -1])
    assert empty["topic_prob"].to_list() == [0, 0]
    assert read(tmp_path / "run" / "dropped.parquet")["id"].to_pylist() == [rows[5]["id"]]
    ids = set(pl.read_parquet(tmp_path / "run" / "doc_topics.parquet")["id"])
    assert not ids & {rows[3]["id"], rows[4]["id"], rows[5]["id"]}


@pytest.mark.parametrize("text", ["", "  ", "the and of", "12 34"])
def test_all_documents_without_words(text: str, tmp_path: Path) -> None:
    path = corpus(tmp_path / "x.parquet", planted_rows(), text=lambda row: text)
    says = run_cli("bertopic", path, "-o", "run", code=3).error()
    assert "no words are left in 120 documents" in says


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda v: pa.array([str(x) for x in v]), "column 'embedding' holds"),
        (lambda v: pa.array([["a"] for _ in v]), "column 'embedding' holds list<"),
        (lambda v: pa.array([list(x)[: 3 + i % 2] for i, x in enumerate(v)]), "of different lengths"),
        (lambda v: pa.array([None if i == 7 else list(x) for i, x in enumerate(v)]), "rows without a vector"),
        (lambda v: embedding_column(np.where(np.arange(len(v))[:, None] == 5, np.nan, v).astype(np.float32)), "not finite"),
    ],
)  # fmt: skip
def test_embeddings_that_cannot_be_used(make: Any, says: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rows = planted_rows()
    table = pa.table({"id": [r["id"] for r in rows], "text": [r["text"] for r in rows]})
    vectors = np.array([r["embedding"] for r in rows], np.float32)
    pq.write_table(table.append_column("embedding", make(vectors)), tmp_path / "x.parquet")
    assert says in run_cli("bertopic", "x.parquet", "-o", "run", code=3).error()


def test_embeddings_of_others_are_taken_with_a_warning(planted: Path, tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k in ("id", "text", "embedding")} for row in read(planted).to_pylist()]
    write_jsonl(tmp_path / "x.jsonl", rows)
    done = run_cli("bertopic", "x.jsonl", "--k", "4", "-o", "run")
    assert "warning: the column 'embedding' does not record its model" in done.err
    assert manifest(tmp_path / "run")["parameters"]["encoder"] is None
    write_jsonl(tmp_path / "new.jsonl", [{"text": "a river"}])
    says = run_cli("predict", "run", "new.jsonl", "-o", "p.parquet", code=3).error()
    assert "fitted on a column 'embedding' that did not say which model made it" in says
    run_cli("predict", "run", "x.jsonl", "-o", "p.parquet")
    assert read("p.parquet")["topic"].to_pylist() == read("run/documents.parquet")["topic"].to_pylist()


def test_embeddings_of_two_models_do_not_mix(tmp_path: Path) -> None:
    rows = planted_rows()
    write_embedded(tmp_path / "a.parquet", rows[:60])
    write_embedded(tmp_path / "b.parquet", rows[60:])
    run_cli("bertopic", "a.parquet", "b.parquet", "--k", "4", "-q", "-o", "run")
    assert manifest(tmp_path / "run")["parameters"]["encoder"]["encoder"] == "planted"
    assert [step["command"] for step in footer("run/topics.parquet")["steps"]] == ["sbert-embed", "sbert-embed"]
    write_embedded(tmp_path / "b.parquet", rows[60:], encoder="another", fingerprint="0" * 64)
    says = run_cli("bertopic", "a.parquet", "b.parquet", "-o", "run2", code=3).error()
    assert "the inputs were embedded by different models (another, planted); use one model for all" in says


# ---------------------------------------------------------------- prediction


def test_training_rows_keep_their_topics(planted: Path, planted_run: Path) -> None:
    done = run_cli("predict", planted_run, planted, "-o", "p.parquet")
    fitted, predicted = read(planted_run / "documents.parquet"), read("p.parquet")
    for name in ("id", "topic", "topic_prob", "nearest_topic", "margin"):
        assert predicted[name].to_pylist() == fitted[name].to_pylist()
    assert "120 documents: 120 with a topic\n120 were in the fit and keep their topics\n" in done.err
    assert "new" not in done.err  # there are no others
    before = read(planted)
    assert predicted.column_names == [*before.column_names, "topic", "topic_prob", "nearest_topic", "margin"]
    assert predicted.select(before.column_names).to_pylist() == before.to_pylist()
    assert [predicted.schema.field(n).type for n in ("n", "embedding")] == [
        pa.int64(),
        pa.list_(pa.float32(), DIMENSIONS),
    ]
    block = footer("p.parquet")
    assert (block["kind"], block["command"]) == ("documents", "predict")
    assert block["parameters"]["encoder"]["encoder"] == "planted"


def test_new_rows_get_topics(planted_run: Path, tmp_path: Path) -> None:
    rows = planted_rows(5, seed=9)
    rows[0]["text"] = ""
    path = write_embedded(tmp_path / "new.parquet", rows)
    report = run_cli("predict", planted_run, path, "--novelty-quantile", "1", "--json", "-o", "p.parquet").json()
    assert {k: report[k] for k in ("output", "documents", "known", "unassigned")} == {
        "output": "p.parquet", "documents": 20, "known": 0, "unassigned": 1,
    }  # fmt: skip
    assert (report["novel"], report["empty"]) == (0, 1)
    names = {t["topic"]: set(t["top_terms"]) for t in read(planted_run / "topics.parquet").to_pylist()}
    table = read("p.parquet").to_pylist()
    assert table[0]["topic"] == -1
    for row in table[1:]:
        assert names[row["topic"]] <= set(WORDS[row["label"]].split())
        assert 0 < row["topic_prob"] <= 1


def strangers(path: Path, n: int = 20) -> Path:
    """Documents of planted words whose embeddings have no direction in common with the training documents."""
    vectors = np.random.default_rng(4).standard_normal((n, DIMENSIONS))
    rows = planted_rows(n)[:n]
    return write_embedded(
        path, [{**r, "text": f"xq {i}", "embedding": v} for i, (r, v) in enumerate(zip(rows, vectors, strict=True))]
    )


def test_text_unlike_all_of_the_fit_gets_no_topic(planted_run: Path, tmp_path: Path) -> None:
    path = strangers(tmp_path / "new.parquet")
    for words in ([], ["--assign-outliers"]):
        done = run_cli("predict", planted_run, path, "--force", "-o", "p.parquet", *words)
        assert read("p.parquet")["topic"].to_pylist() == [-1] * 20
        assert "20 documents: 20 unlike the training documents (topic -1)\n" in done.err
    assert footer("p.parquet")["parameters"]["novelty_quantile"] == 0.95
    report = run_cli(
        "predict", planted_run, path, "--novelty-quantile", "1", "--json", "-q", "--force", "-o", "p.parquet",
    ).json()  # fmt: skip
    assert (report["novel"], report["novelty"]) == (0, {"quantile": 1.0, "least_similarity": None})
    assert report["unassigned"] < 20
    for bad in ("0", "1.5", "nan"):
        says = run_cli("predict", planted_run, path, "--novelty-quantile", bad, "-o", "q.parquet", code=2).error()
        assert "--novelty-quantile" in says
        assert "must be above 0" in says or "must be at most 1" in says or "takes a finite number, got nan" in says


def test_the_bound_is_told_and_kept(planted: Path, tmp_path: Path) -> None:
    done = run_cli("bertopic", planted, "--k", "4", "--novelty-quantile", "0.9", "-o", "run")
    config = json.loads(Path("run/model/config.json").read_text())
    bound = config["novelty"]["least_similarity"]
    assert config["novelty"]["quantile"] == 0.9
    assert f"under {bound:.3f} to their nearest documents here get topic -1 (--novelty-quantile 0.9)" in done.err
    run_cli("bertopic", planted, "--k", "4", "--novelty-quantile", "1", "-q", "-o", "open")
    assert json.loads(Path("open/model/config.json").read_text())["novelty"]["least_similarity"] is None
    path = strangers(tmp_path / "new.parquet")
    run_cli("predict", "open", path, "--novelty-quantile", "0.9", "-q", "-o", "p.parquet")
    assert run_cli("predict", "run", path, "--json", "-o", "q.parquet").json()["novel"] == 20
    assert read("p.parquet")["topic"].to_pylist() == read("q.parquet")["topic"].to_pylist()


def test_a_run_without_a_bound_gets_the_usual_one(own_run: Path, tmp_path: Path) -> None:
    """Runs of before 2026-11: no column similarity in model/training.parquet, no bound in model/config.json."""
    path = strangers(tmp_path / "new.parquet")
    run_cli("predict", own_run, path, "-q", "-o", "now.parquet")
    training = own_run / "model" / "training.parquet"
    pq.write_table(pq.read_table(training).drop_columns(["similarity"]), training)
    config = json.loads((own_run / "model" / "config.json").read_text())
    del config["novelty"], config["languages"]
    (own_run / "model" / "config.json").write_text(json.dumps(config))
    found = manifest(own_run)
    for name in ("model/training.parquet", "model/config.json"):
        found["outputs"][name] = hashlib.sha256((own_run / name).read_bytes()).hexdigest()
    (own_run / "manifest.json").write_text(json.dumps(found))
    run_cli("predict", own_run, path, "-q", "-o", "before.parquet")
    assert read("before.parquet").equals(read("now.parquet"))


def test_another_language_is_warned_of(tmp_path: Path) -> None:
    rows = planted_rows()
    english = "the minister said on tuesday that the new rules would be ready by the end of the year"
    german = "der Minister sagte am Dienstag, dass die neuen Regeln bis zum Ende des Jahres fertig sein werden"
    path = write_embedded(tmp_path / "en.parquet", [{**r, "text": f"{r['text']} {english}"} for r in rows])
    run_cli("bertopic", path, "--k", "4", "-q", "-o", "run")
    assert json.loads(Path("run/model/config.json").read_text())["languages"][0][0] == "en"
    new = write_embedded(tmp_path / "de.parquet", [{**r, "text": f"{german} {i}"} for i, r in enumerate(rows)])
    done = run_cli("predict", "run", new, "-o", "p.parquet")
    assert "the new texts are mostly" in done.err
    same = run_cli("predict", "run", path, "-o", "same.parquet")
    assert "warning" not in same.err


def test_empty_texts_are_not_embedded(planted_run: Path, tmp_path: Path) -> None:
    """Before, 60 empty texts were embedded without a word."""
    write_jsonl(tmp_path / "new.jsonl", [{"text": ""}, {"text": "  "}])
    done = run_cli("predict", planted_run, "new.jsonl", "-o", "p.parquet")  # its encoder does not exist
    assert read("p.parquet")["topic"].to_pylist() == [-1, -1]
    assert "2 documents: 2 without text" in done.err


def test_known_texts_are_not_embedded_again(planted: Path, planted_run: Path, tmp_path: Path) -> None:
    rows = [{"id": r["id"], "text": r["text"]} for r in read(planted).to_pylist()]
    write_jsonl(tmp_path / "texts.jsonl", rows)
    run_cli("predict", planted_run, "texts.jsonl", "-o", "p.parquet")  # its encoder does not exist
    assert read("p.parquet")["topic"].to_pylist() == read(planted_run / "documents.parquet")["topic"].to_pylist()


def test_a_prediction_depends_on_the_row_alone(planted_run: Path, tmp_path: Path) -> None:
    rows = planted_rows(25, seed=9)
    path = write_embedded(tmp_path / "new.parquet", rows)
    some = write_embedded(tmp_path / "some.parquet", rows[40:50])
    run_cli("predict", planted_run, path, "-q", "-o", "all.parquet", "--threads", "1")
    run_cli("predict", planted_run, some, "-q", "-o", "ten.parquet", "--threads", "2")
    assert read("all.parquet").slice(40, 10).to_pylist() == read("ten.parquet").to_pylist()


def test_predictions_that_cannot_be_made(planted: Path, planted_run: Path, own_run: Path, tmp_path: Path) -> None:
    def says(*words: Any, code: int = 3) -> str:
        return run_cli("predict", *reversed(words), "--no-verify", "-o", "p.parquet", code=code).error()

    (tmp_path / "folder").mkdir()
    says(planted, "folder")
    assert "is not a run directory" in says(planted, planted_run / "topics.parquet")
    rows = [{**row, "embedding": row["embedding"][:5]} for row in planted_rows()[:3]]
    short = write_embedded(tmp_path / "short.parquet", rows)
    assert f"column 'embedding' has 5 dimensions, the run was fitted on {DIMENSIONS}" in says(short, planted_run)
    other = write_embedded(tmp_path / "other.parquet", planted_rows()[:3], encoder="another", fingerprint="0" * 64)
    assert "column 'embedding' was made by another, but the run by planted" in says(other, planted_run)
    found = manifest(own_run)
    (own_run / "manifest.json").write_text(json.dumps({**found, "kind": "lda-of-tomorrow"}))
    assert "is a run of kind 'lda-of-tomorrow', but" in says(planted, own_run)
    (own_run / "manifest.json").write_text(json.dumps(found))
    (own_run / "model" / "config.json").write_text("{}")
    assert "config.json has no 'encoder'; the run directory is damaged" in says(planted, own_run)
    shutil.rmtree(own_run / "model")
    assert "has no model/config.json; it is incomplete" in says(planted, own_run)
    assert not (tmp_path / "p.parquet").exists()


def test_predictions_of_a_few_texts_go_to_the_screen(planted: Path, planted_run: Path, tmp_path: Path) -> None:
    run_cli("predict", planted_run, planted, "-q", "-o", "p.parquet")
    written = read("p.parquet").to_pylist()
    names = read(planted_run / "topics.parquet")["label"].to_pylist()
    done = run_cli("predict", planted_run, planted, "--show", "4")
    head, _, *lines = done.out.splitlines()
    assert head.split() == ["id", "topic", "name", "topic_prob", "text"]
    assert len([line for line in lines if line]) == 4
    for line, row in zip(lines[:4], written, strict=False):
        assert line.startswith(f"{row['id']}  {row['topic']:>5}  {names[row['topic']]}")
    assert "120 documents: 120 with a topic" in done.err
    assert "… the first 4 of 120 documents; all of them: --show all, or -o FILE" in done.err
    assert len(run_cli("predict", planted_run, planted, "--show", "all").out.splitlines()) == 2 + 120 + 1
    assert not list(tmp_path.glob("predicted*"))


def test_outliers_are_assigned_without_a_warning(planted: Path, planted_run: Path) -> None:
    assert "warning" not in run_cli("predict", planted_run, planted, "--assign-outliers", "-o", "p.parquet").err


@needs_minilm
def test_documents_between_the_clusters_join_or_are_assigned_or_stay_out(news_embedded: Path, tmp_path: Path) -> None:
    dense = ["--limit", "140", "--cluster", "hdbscan"]
    run_cli("bertopic", news_embedded, *dense, "-q", "-o", "joined")
    run_cli("bertopic", news_embedded, *dense, "--no-join-neighbors", "-q", "-o", "run")
    lost = [i for i, t in topics_of(tmp_path / "run").items() if t < 0]
    assert len(lost) > sum(t < 0 for t in topics_of(tmp_path / "joined").values())
    assert manifest(tmp_path / "run")["parameters"]["join_neighbors"] is False
    done = run_cli("bertopic", news_embedded, *dense, "--no-join-neighbors", "--assign-outliers", "-o", "run2")
    assert f"{len(lost)} documents without a topic were moved to their nearest one" in done.err
    assert min(topics_of(tmp_path / "run2").values()) == 0
    report = run_cli(
        "predict", "run", news_embedded, *dense[:2], "--assign-outliers", "--json", "-q", "-o", "p.parquet"
    ).json()
    assert report["unassigned"] == 0
    nearest = dict(zip(*(read("p.parquet")[n].to_pylist() for n in ("id", "nearest_topic")), strict=True))
    predicted = dict(zip(*(read("p.parquet")[n].to_pylist() for n in ("id", "topic")), strict=True))
    assert all(predicted[i] == nearest[i] for i in lost)


def test_assign_outliers_gives_no_topic_to_an_empty_document(tmp_path: Path) -> None:
    rows = planted_rows()
    rows[1]["text"] = ""
    path = write_embedded(tmp_path / "x.parquet", rows)
    run_cli("bertopic", path, "--cluster", "hdbscan", "--k", "4", "--assign-outliers", "-q", "-o", "run")
    assert [i for i, t in topics_of(tmp_path / "run").items() if t < 0] == [rows[1]["id"]]


@needs_minilm
def test_raw_text_is_embedded_by_the_model_of_the_run(few_news: Path, news_run: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in few_news.read_text(encoding="utf-8").splitlines()[:6]]
    ids = [row["id"] for row in rows]
    rows += [
        {"id": "new1", "text": "The court sentenced the man to nine years in prison after the jury found him guilty."},
        {"id": "new2", "text": "The striker scored twice and the goalkeeper saved a penalty in the league match."},
        {"id": "empty", "text": ""},
    ]
    write_jsonl(tmp_path / "new.jsonl", [{"id": r["id"], "text": r["text"]} for r in rows])
    run_cli("predict", news_run, "new.jsonl", "--offline", "-o", "p.parquet")
    topics = dict(zip(*(read("p.parquet")[n].to_pylist() for n in ("id", "topic")), strict=True))
    fitted = topics_of(news_run)
    assert [topics[name] for name in ids] == [fitted[name] for name in ids]
    labels = pl.read_parquet(news_run / "documents.parquet").group_by("label").agg(pl.col("topic").mode().first())
    usual = dict(zip(labels["label"], labels["topic"], strict=True))
    assert (topics["new1"], topics["new2"], topics["empty"]) == (usual["courts"], usual["football"], -1)


@needs_minilm
def test_german_news(tmp_path: Path) -> None:
    done = run_cli("bertopic", NACHRICHTEN, "--limit", "40", "--k", "3", "--offline", "-o", "run")
    assert "language: de 100%" in done.err
    assert "warning: the texts are mostly 'de'" in done.err
    terms = {t for row in pl.read_parquet("run/topics.parquet")["top_terms"].to_list() for t in row}
    assert not terms & {"der", "die", "und", "nicht"}


# ---------------------------------------------------------------- prior knowledge


def test_some_labels_pull_topics(tmp_path: Path) -> None:
    rows = [{**row, "kind": str(i % 2) if i < 60 else None} for i, row in enumerate(planted_rows())]
    write_embedded(tmp_path / "x.parquet", rows)
    done = run_cli("bertopic", "x.parquet", "--semi-supervised", "--label-col", "kind", "--k", "4", "-o", "run")
    assert "semi-supervised: the labels of 60 of 120 documents pull topics towards 2 classes" in done.err
    assert manifest(tmp_path / "run")["parameters"]["semi_supervised"] is True
    run_cli(
        "bertopic", "x.parquet", "--semi-supervised", "--label-col", "kind", "--k", "4", "--threads", "1", "-o", "one"
    )
    assert topics_of(tmp_path / "run") == topics_of(tmp_path / "one")
    run_cli("predict", "run", "x.parquet", "-o", "p.parquet")
    assert read("p.parquet")["topic"].to_pylist() == read("run/documents.parquet")["topic"].to_pylist()


@pytest.mark.parametrize(
    ("labels", "options", "code", "says"),
    [
        (lambda i: "a", ["--label-col", "lable"], 3, "did you mean 'label'?"),
        (lambda i: None, [], 3, "in documents with text, but two different values are needed;"),
        (lambda i: "a", [], 3, "column 'label' has only 'a'"),
        (lambda i: ["a", "b"], [], 3, "column 'label' holds lists"),
    ],
)  # fmt: skip
def test_labels_that_cannot_guide(labels: Any, options: list[str], code: int, says: str, tmp_path: Path) -> None:
    write_embedded(tmp_path / "x.parquet", [{**row, "label": labels(i)} for i, row in enumerate(planted_rows())])
    assert says in run_cli("bertopic", "x.parquet", "--semi-supervised", *options, "-o", "run", code=code).error()


def test_topics_by_seed_words(planted: Path, tmp_path: Path) -> None:
    words = {label: text.split()[:3] for label, text in list(WORDS.items())[2:0:-1]}
    topics = "".join(f"{label} = {[*seeds, 'zzz']}\n" for label, seeds in words.items())
    (tmp_path / "seeds.toml").write_text(f"[topics]\n{topics}nothing = ['qqq*']\n", encoding="utf-8")
    done = run_cli("bertopic", planted, "--seed-words", "seeds.toml", "-o", "run")
    assert "warning: seed words that do not occur in the corpus: zzz, zzz, qqq*" in done.err
    assert "60 documents in the 3 topics given (cosine 0.4 or more), 60 in " in done.err
    assert "warning: 1 topic given but without documents, kept with size 0: nothing" in done.err
    table = pl.read_parquet(tmp_path / "run" / "topics.parquet")
    assert table["label"].to_list()[:3] == [*words, "nothing"]
    assert table["size"].to_list()[:3] == [30, 30, 0]
    documents = pl.read_parquet(tmp_path / "run" / "documents.parquet")
    for number, label in enumerate(words):
        assert set(documents.filter(pl.col("topic") == number)["label"]) == {label}
    run_cli("predict", "run", planted, "-o", "p.parquet")
    assert read("p.parquet")["topic"].to_pylist() == documents["topic"].to_list()
    run_cli("evaluate", "run", "-q")
    run_cli("info", "run", "--tree", "-q")


@needs_minilm
def test_topics_by_name(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("# two\nlaw: courts, judges and juries\n\noutside\n", encoding="utf-8")
    run_cli("bertopic", NEWS, "--limit", "60", "--topics-from", "names.txt", "-q", "-o", "run")
    topics = pl.read_parquet(tmp_path / "run" / "topics.parquet")
    assert topics["label"].to_list()[:2] == ["law", "outside"]
    documents = pl.read_parquet(tmp_path / "run" / "documents.parquet")
    labels = documents.filter(pl.col("topic") == 0)["label"].to_list()
    assert labels.count("courts") > len(labels) / 2
    assert manifest(tmp_path / "run")["parameters"]["topics_from"] == "names.txt"


@pytest.mark.parametrize(
    ("option", "content", "options", "code", "says"),
    [
        ("topics-from", "", [], 3, "names of topics topics: there is none; write one a line"),
        ("topics-from", "a\nb\n\na: again\n", [], 3, "topics:4: the topic 'a' occurs twice"),
        ("topics-from", None, [], 3, "names of topics topics: cannot be opened"),
        ("topics-from", "a\nb\n", ["--cluster", "hdbscan"], 2, "--topics-from does not go with --cluster hdbscan"),
        ("topics-from", "a\nb\n", [], 3, "does not record its model, so names of topics cannot be embedded in the same way"),
        ("seed-words", "[topics]\na = ['zzz']", [], 3, "none of the seed words is a term of the corpus (zzz)"),
        ("seed-words", "[topics]\na = {words = ['river'], weight = 2}", [], 3, "weights only apply to nlpkit lda-gibbs"),
        ("seed-words", "[topics]\na = ['river']\nb = ['judge']", ["--k", "1"], 2, "--k 1: 2 topics are given; use --k 2 or more"),
    ],
)  # fmt: skip
def test_topics_that_cannot_be_given(
    option: str, content: str | None, options: list[str], code: int, says: str, tmp_path: Path
) -> None:
    write_jsonl(tmp_path / "x.jsonl", [{key: row[key] for key in ("text", "embedding")} for row in planted_rows()])
    if content is not None:
        (tmp_path / "topics").write_text(content, encoding="utf-8")
    assert says in run_cli("bertopic", "x.jsonl", f"--{option}", "topics", *options, "-o", "run", code=code).error()


def test_topics_do_not_mirror_a_column(tmp_path: Path) -> None:
    rows = planted_rows()
    shift = np.eye(DIMENSIONS, dtype=np.float32)[-1] * 2
    for i, row in enumerate(rows):
        second = i // 4 % 2
        row["source"] = "ab"[second]
        row["embedding"] = np.asarray(row["embedding"], np.float32) + (shift if second else -shift)
        row["text"] += " herald herald herald" * second
    write_embedded(tmp_path / "x.parquet", rows)
    done = run_cli("bertopic", "x.parquet", "--debias", "source", "--k", "4", "-o", "run")
    figures = manifest(tmp_path / "run")["results"]["debias"]
    assert "left out; a word carries" in done.err
    assert figures["topics_ami"] < 0.1 < figures["topics_ami_before"]
    assert figures["words_bits"] < figures["words_bits_before"]
    assert manifest(tmp_path / "run")["parameters"]["debias"] == "source"


@pytest.mark.parametrize("command", ["bertopic", "lda-gibbs"])
@pytest.mark.parametrize(
    ("source", "column", "says"),
    [
        (lambda i: "ab"[i % 2], "sauce", "has no column 'sauce'"),
        (lambda i: None, "source", "column 'source' is empty in documents with text"),
        (lambda i: "a", "source", "column 'source' has only 'a'"),
        (lambda i: ["a"], "source", "column 'source' holds lists"),
        (lambda i: f"a{i}", "source", "has a different value in each document, but groups of"),
    ],
)
def test_columns_that_topics_cannot_be_freed_of(
    command: str, source: Any, column: str, says: str, tmp_path: Path
) -> None:
    write_embedded(tmp_path / "x.parquet", [{**row, "source": source(i)} for i, row in enumerate(planted_rows())])
    assert says in run_cli(command, "x.parquet", "--debias", column, "--k", "4", "-o", "run", code=3).error()


# ---------------------------------------------------------------- names


@needs_minilm
def test_topics_and_layers_are_named_by_phrases_of_the_texts(
    news_embedded: Path, news_run: Path, tmp_path: Path
) -> None:
    texts = " ".join(" ".join(pl.read_parquet(news_embedded)["text"]).lower().split())
    topics, layers = pl.read_parquet(news_run / "topics.parquet"), pl.read_parquet(news_run / "layers.parquet")
    for labels in (topics["label"], *(of_layer["label"] for _, of_layer in layers.group_by("layer"))):
        assert labels.n_unique() == len(labels)
    words = [", ".join(row[:3]) for row in topics["top_terms"]]
    assert sum(a != b for a, b in zip(topics["label"], words, strict=True)) >= 6
    for label in topics["label"]:
        assert all(phrase.lower() in texts for phrase in label.split(", "))
        assert 2 <= len(label.replace(",", "").split()) <= 4
    again = run_cli("name", news_run, "--phrases", "--json").json()["names"]
    assert [one["name"] for one in again] == topics["label"].to_list()
    run_cli("bertopic", news_embedded, "-q", "--threads", "1", "-o", "one")
    assert Path("one/topics.parquet").read_bytes() == (news_run / "topics.parquet").read_bytes()
    assert Path("one/layers.parquet").read_bytes() == (news_run / "layers.parquet").read_bytes()


@needs_minilm
def test_a_merged_topic_does_not_keep_the_phrases_of_a_part(news_run: Path, tmp_path: Path) -> None:
    """Phrases are names of the fit, not of people: only the names of other topics stay."""
    before = pl.read_parquet(news_run / "topics.parquet")["label"].to_list()
    (tmp_path / "e.toml").write_text("merge = [[1, 2]]\n", encoding="utf-8")
    run_cli("edit", news_run, "e.toml", "-q", "-o", "merged")
    (tmp_path / "f.toml").write_text("merge = [[0, 1]]\n", encoding="utf-8")
    run_cli("edit", "merged", "f.toml", "-q", "-o", "twice")
    after = set(pl.read_parquet("merged/topics.parquet")["label"])
    assert after & set(before) == set(before) - {before[1], before[2]}
    assert len(set(pl.read_parquet("twice/topics.parquet")["label"]) & set(before)) == len(before) - 3


def test_names_are_words_where_no_encoder_is_known(planted_run: Path) -> None:
    topics = pl.read_parquet(planted_run / "topics.parquet")
    for label, terms in zip(topics["label"], topics["top_terms"], strict=True):
        assert set(label.split(", ")) <= set(terms)

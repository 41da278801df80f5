"""nlpkit evaluate on topic models: runs, files of other tools, references, comparison."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import fowlkes_mallows_score, silhouette_score

import nlpkit as nk
from nlpkit.embed.loading import load_encoder
from nlpkit.metrics.catalogue import METRICS
from nlpkit.words import word2vec
from tests.command_line import (
    NEWS,
    SAMPLES,
    WORDS,
    needs_hdbscan,
    planted_rows,
    read,
    run_cli,
    run_shell,
    write_embedded,
    write_jsonl,
)

TOPICS = SAMPLES / "topics.txt"


def metrics(target: Any, **settings: Any) -> dict[str, Any]:
    found: dict[str, Any] = nk.evaluate(target, **settings).to_dict()["targets"][0]["metrics"]
    return found


def value(target: Any, *, name: str = "npmi", **settings: Any) -> Any:
    return metrics(target, metrics=name, **settings)[name]["value"]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Four documents: cat and dog are in two together, bird is alone."""
    texts = ["cat dog", "cat dog house", "cat bird", "house bird"]
    return write_jsonl(tmp_path / "tiny.jsonl", [{"id": str(i), "text": t} for i, t in enumerate(texts)])


def topics_file(path: Path, *topics: str) -> Path:
    path.write_text("".join(topic + "\n" for topic in topics), encoding="utf-8")
    return path


# ---------------------------------------------------------------- by hand


def test_npmi_by_hand(tiny: Path, tmp_path: Path) -> None:
    """p(cat) = 3/4, p(dog) = 1/2, p(cat, dog) = 1/2; cat and bird meet once of p(bird) = 1/2; dog and bird never."""
    topics = topics_file(tmp_path / "t.txt", "cat dog", "cat dog bird", "bird dog")
    got = metrics(topics, reference=tiny, npmi=True, window="document")["npmi"]
    cat_dog = np.log(0.5 / (0.75 * 0.5)) / -np.log(0.5)
    cat_bird = np.log(0.25 / (0.75 * 0.5)) / -np.log(0.25)
    assert got["values"] == pytest.approx([cat_dog, (cat_dog + cat_bird - 1) / 3, -1])
    assert got["value"] == pytest.approx(np.mean(got["values"]))
    assert got["median"] == pytest.approx(np.median(got["values"]))
    assert (got["parameters"]["window"], got["parameters"]["top_n"]) == ("document", [10])


def test_umass_and_pmi_by_hand(tiny: Path, tmp_path: Path) -> None:
    topics = topics_file(tmp_path / "t.txt", "cat dog")
    assert value(topics, reference=tiny, name="umass") == pytest.approx(np.log((2 + 1) / 3))
    assert value(topics, reference=tiny, window="document", name="pmi") == pytest.approx(
        np.log((0.5 + 1e-12) / (0.75 * 0.5))
    )


def test_top_n_is_a_mean_over_depths(tiny: Path, tmp_path: Path) -> None:
    topics = topics_file(tmp_path / "t.txt", "cat dog bird")
    two, three, both = (value(topics, reference=tiny, window="document", top_n=n) for n in ("2", "3", "2,3"))
    assert two != three
    assert both == pytest.approx((two + three) / 2)


def test_diversity_by_hand(tmp_path: Path) -> None:
    """Four words in two topics, one of them in both: 3 different of 4; Jaccard 1/3."""
    topics = topics_file(tmp_path / "t.txt", "a b", "b c")
    got = metrics(topics, metrics="diversity,jaccard")
    assert got["diversity"]["value"] == pytest.approx(3 / 4)
    assert got["diversity"]["values"] == pytest.approx([3 / 4, 3 / 4])
    assert got["jaccard"]["value"] == pytest.approx(1 / 3)


def test_a_repeated_topic_lowers_diversity(tmp_path: Path) -> None:
    one = topics_file(tmp_path / "one.txt", "a b c", "d e f", "g h i")
    more = topics_file(tmp_path / "more.txt", "a b c", "d e f", "g h i", "a b c")
    for name in ("diversity", "inverted_rbo"):
        assert value(more, name=name) < value(one, name=name) == 1


def test_order_of_topics_changes_no_score(tmp_path: Path) -> None:
    lines = TOPICS.read_text(encoding="utf-8").splitlines()
    other = topics_file(tmp_path / "t.txt", *lines[::-1])
    how = {"reference": NEWS, "metrics": "coherence,distinctness", "ci": 0}
    first, second = metrics(TOPICS, **how), metrics(other, **how)
    for name, score in first.items():
        assert second[name]["value"] == pytest.approx(score["value"], abs=1e-12)
        assert second[name]["values"][::-1] == pytest.approx(score["values"], abs=1e-12)


# ---------------------------------------------------------------- words that are not there


def test_absent_words_are_told_and_never_nan(tiny: Path, tmp_path: Path) -> None:
    topics = topics_file(tmp_path / "t.txt", "cat dog zebra", "zebra yak", "dog", "cat dog")
    done = run_cli("evaluate", topics, "--reference", tiny, "--metrics", "coherence", "--json")
    found = done.json()["targets"][0]
    assert found["absent_words"] == ["yak", "zebra"]
    assert (
        "2 of 4 top words are not in the reference: yak, zebra; scores on such a reference say little"
        in run_cli("evaluate", topics, "--reference", tiny, "--npmi").err
    )
    for score in found["metrics"].values():
        assert [v is None for v in score["values"]] == [False, False, True, False]
        assert np.isfinite(score["value"])
        assert score["n"] == 3
    assert found["metrics"]["npmi"]["values"][1] == -1
    assert "one word has no coherence: topic 2" in found["notes"]


def test_absent_words_can_be_left_out(tiny: Path, tmp_path: Path) -> None:
    topics = topics_file(tmp_path / "t.txt", "cat dog zebra", "zebra yak")
    got = metrics(topics, reference=tiny, npmi=True, absent="skip", window="document")["npmi"]
    assert got["values"][0] == pytest.approx(np.log(0.5 / (0.75 * 0.5)) / -np.log(0.5))
    assert got["values"][1] is None
    assert got["parameters"]["absent"] == "skip"


def test_no_overlap_is_an_error(tiny: Path, tmp_path: Path) -> None:
    topics = topics_file(tmp_path / "t.txt", "Haus Baum", "Wald Wiese")
    message = run_cli("evaluate", topics, "--reference", tiny, "--npmi", code=3).error()
    assert "none of the 4 words of" in message
    assert "check its language and tokenisation" in message


def test_one_topic_and_one_word(tiny: Path, tmp_path: Path) -> None:
    one = topics_file(tmp_path / "one.txt", "cat dog")
    got = metrics(one, reference=tiny, metrics="npmi,diversity,inverted_rbo")
    assert got["inverted_rbo"]["value"] is None
    assert got["inverted_rbo"]["why"] == "there is only one topic with words"
    assert got["diversity"]["value"] == 1
    word = topics_file(tmp_path / "word.txt", "cat")
    got = metrics(word, reference=tiny, npmi=True)["npmi"]
    assert (got["value"], got["why"]) == (None, "no topic has two words that count")
    run_cli("evaluate", word, "--reference", tiny, "--npmi", "--fail-under", "0.1", code=1)


def test_a_reference_of_one_document(tmp_path: Path) -> None:
    one = write_jsonl(tmp_path / "one.jsonl", [{"id": "1", "text": "cent million years"}])
    assert metrics(TOPICS, reference=one, npmi=True)["npmi"]["values"][0] == pytest.approx((3 - 42) / 45)


# ---------------------------------------------------------------- references


def test_a_topics_file_needs_a_reference() -> None:
    done = run_cli("evaluate", TOPICS)
    assert "no coherence without a corpus" in done.err
    assert "diversity" in done.out


@pytest.mark.parametrize(
    ("texts", "topic", "whole"),
    [
        (
            [
                "China's economy grew, and so did all the exports.",
                "The economy of China is what people see.",
                "It is raining today.",
            ],
            "china economy",
            "china's economy",
        ),
        (
            [
                "L'économie est en crise, dit le ministre.",
                "Il parle de cette économie et de la crise.",
                "Il pleut dans la ville.",
            ],
            "économie crise",
            "l'économie crise",
        ),
    ],
)
def test_words_of_a_reference_lose_their_clitics_unless_a_topic_has_them(
    texts: list[str], topic: str, whole: str, tmp_path: Path
) -> None:
    docs = write_jsonl(tmp_path / "docs.jsonl", [{"id": str(i), "text": text} for i, text in enumerate(texts)])
    found = []
    for name, words in (("topic.txt", topic), ("whole.txt", whole)):
        (tmp_path / name).write_text(f"{words}\n", encoding="utf-8")
        found.append(metrics(name, reference=docs, npmi=True)["npmi"]["value"])
    assert found == [1.0, pytest.approx(math.log(1.5) / math.log(3))]


def test_tokens_and_texts_are_one_reference(tmp_path: Path) -> None:
    """Of texts all words count, as in a column of tokens without stop words."""
    run_cli(
        "preprocess", NEWS, "--stop-words", "none", "--min-df", "1", "--min-length", "1", "-q", "-o", "docs.parquet"
    )
    raw, made = (metrics(TOPICS, reference=r, metrics="coherence") for r in (NEWS, "docs.parquet"))
    assert {n: s["value"] for n, s in raw.items()} == {n: s["value"] for n, s in made.items()}


def test_npmi_of_a_run_is_that_of_topics_parquet(planted_lda: Path) -> None:
    """Over whole documents of its own corpus a run has said it before."""
    got = metrics(planted_lda, npmi=True, window="document")["npmi"]
    table = pl.read_parquet(planted_lda / "topics.parquet")
    assert got["values"] == pytest.approx(table["npmi"].to_list(), abs=1e-6)
    note = f"npmi (documents), which the fit printed, is {table['npmi'].mean():.3f} ("
    windows = run_cli("evaluate", planted_lda, "--npmi")
    assert note in windows.err
    assert "npmi (window 10)" in windows.out
    assert "npmi (documents)" in run_cli("evaluate", planted_lda, "--npmi", "--window", "document").out


def test_a_corpus_that_has_changed_is_no_reference(planted_lda: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(planted_lda, tmp_path / "run"))
    corpus = write_jsonl(tmp_path / "corpus.jsonl", [{"id": "1", "text": "river bridge"}])
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    manifest["inputs"][0]["path"] = str(corpus)
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert "has changed since" in run_cli("evaluate", run, "--npmi", code=3).error()
    corpus.unlink()
    assert "and its texts are needed; restore it" in run_cli("evaluate", run, "--npmi", code=3).error()
    run_cli("evaluate", run, "--npmi", "--reference", NEWS)
    rest = run_cli("evaluate", run)  # what needs no corpus
    assert "warning: no coherence of" in rest.err
    assert "diversity" in rest.out
    assert "npmi" not in rest.out


def test_several_files_are_one_reference(tiny: Path, tmp_path: Path) -> None:
    topics = topics_file(tmp_path / "t.txt", "cat dog", "cat bird")
    lines = tiny.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_text("".join(lines[:2]), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text("".join(lines[2:]), encoding="utf-8")
    parts = value(topics, reference=nk.read_corpus("a.jsonl", "b.jsonl"), window="document")
    assert parts == value(topics, reference=tiny, window="document")


# ---------------------------------------------------------------- runs


def test_all_scores_of_an_lda_run(planted_lda: Path, tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows(seed=9)]
    held = write_jsonl(tmp_path / "held.jsonl", [{**row, "id": f"new{i}"} for i, row in enumerate(rows)])
    words = sorted({w for ws in WORDS.values() for w in ws.split()} | {"number"})
    # the words of a topic point in one direction, those of others do not
    place = {w: k for k, ws in enumerate(WORDS.values()) for w in ws.split()}
    vectors = "".join(f"{w} {' '.join('1' if place.get(w) == k else '0.1' for k in range(4))}\n" for w in words)
    (tmp_path / "v.txt").write_text(vectors, encoding="utf-8")
    docs = planted_lda.parent / "planted.parquet"
    got = metrics(planted_lda, metrics="all", heldout=held, vectors="v.txt", reference=docs)
    groups = {"coherence", "vectors", "distinctness", "significance", "fit", "clustering", "separation", "stm"}
    assert set(got) == {name for name, metric in METRICS.items() if metric.group in groups}
    assert {name for name, score in got.items() if score["value"] is None} == set()
    assert got["purity"]["value"] == got["intruder_found"]["value"] == 1
    assert got["ami"]["value"] == pytest.approx(1)
    assert got["diversity"]["value"] > 0.9
    assert got["perplexity"]["value"] == pytest.approx(11, rel=0.2)  # ten words and a few others
    assert got["perplexity"]["low"] < got["perplexity"]["value"] < got["perplexity"]["high"]
    assert got["silhouette"]["value"] > 0.8
    assert 0 < got["residuals"]["value"] < 1.2


def test_perplexity_needs_documents_that_no_fit_has_seen(planted_lda: Path) -> None:
    done = run_cli("evaluate", planted_lda, "--perplexity", "--heldout", planted_lda.parent / "planted.parquet")
    assert "so this perplexity is not held-out and too low" in done.err
    got = metrics(planted_lda, metrics="fit")
    assert got["perplexity"]["why"] == "it needs `heldout` documents"
    assert got["perplexity_in_sample"]["value"] > 1


def test_left_to_right(planted_lda: Path) -> None:
    how = {"perplexity": True, "heldout": planted_lda.parent / "planted.parquet", "limit": 20}
    left = metrics(planted_lda, **how, method="left-to-right", particles=20)["perplexity"]
    assert left["parameters"]["particles"] == 20
    assert left["value"] == pytest.approx(metrics(planted_lda, **how)["perplexity"]["value"], rel=0.3)


@needs_hdbscan
def test_a_bertopic_run_has_no_likelihood(planted_run: Path) -> None:
    got = metrics(planted_run, metrics="fit,significance")
    assert (
        got["log_likelihood"]["why"]
        == "only topic models that give every word a probability have it, such as runs of nlpkit lda-gibbs"
    )
    assert got["kl_uniform"]["value"] is None
    assert got["exclusivity"]["value"] > 0.5
    assert "log_likelihood" not in metrics(planted_run)


@needs_hdbscan
def test_targets_side_by_side(planted_run: Path, planted_lda: Path, tmp_path: Path) -> None:
    other = topics_file(
        tmp_path / "t.txt", "river judge violin moon", "bridge jury choir orbit", "water court concert rocket"
    )
    done = run_cli("evaluate", planted_lda, planted_run, other, "--metrics", "npmi,diversity", "--json")
    found = done.json()
    assert [t["kind"] for t in found["targets"]] == ["lda-gibbs", "bertopic", "topics (lines)"]
    npmi = [t["metrics"]["npmi"]["value"] for t in found["targets"]]
    assert min(npmi[:2]) > 0.2 > -0.8 > npmi[2]  # the file is held against the corpus of the runs
    worse = next(c for c in found["comparisons"] if c["metric"] == "npmi" and c["second"] == str(other))
    assert worse["difference"] == pytest.approx(npmi[0] - npmi[2])
    assert worse["p_value"] < 0.05
    table = run_cli("evaluate", planted_lda, planted_run, "--metrics", "npmi,diversity").out
    assert "Differences (* p < 0.05)" in table


def test_intervals_over_documents(planted_lda: Path) -> None:
    got = metrics(planted_lda, npmi=True, ci_over="documents")["npmi"]
    assert got["interval"] == "jackknife over groups of documents"
    assert got["low"] < got["value"] < got["high"]
    over_topics = metrics(planted_lda, npmi=True)["npmi"]
    assert over_topics["value"] == got["value"]
    assert over_topics["interval"].startswith("BCa bootstrap over topics")
    assert "low" not in metrics(planted_lda, npmi=True, ci=0)["npmi"]


def test_stability(planted_lda: Path, planted: Path, tmp_path: Path) -> None:
    run_cli("lda-gibbs", planted, "--k", "4", "--sweeps", "60", "--seed", "7", "-q", "-o", "second")
    found = run_cli("evaluate", planted_lda, "second", "--stability", "--json").json()
    together = {name: score["value"] for name, score in found["together"].items()}
    assert together["s_clop"] == 1
    assert together["matched_jaccard"] > 0.8
    matched = found["stability"]["matched_topics"]
    assert sorted(m["matches"][0]["topic"] for m in matched) == ["0", "1", "2", "3"]
    done = run_cli(
        "evaluate", planted_lda, "second", "--stability", "--fail-under", "s_clop=0.9,matched_jaccard=1.01", code=1
    )
    assert "Matched topics" in done.out
    assert "gate failed: all targets: matched_jaccard" in done.err
    same = run_cli("evaluate", planted_lda, planted_lda, "--stability", "--json").json()["together"]
    assert {score["value"] for score in same.values()} == {1}


def test_scores_of_the_leaderboard(planted_run: Path, tmp_path: Path) -> None:
    """C_in by word2vec of the tokens of the fit, C_ex by a file, and both with diversity as interpretability."""
    models = pytest.importorskip("gensim.models")
    words = sorted({w for ws in WORDS.values() for w in ws.split()} | {"number"})
    rng = np.random.default_rng(5)
    rows = {w: rng.normal(size=4) + 1 for w in words}
    (tmp_path / "v.txt").write_text(
        "".join(f"{w} {' '.join(map(str, row.astype(np.float32)))}\n" for w, row in rows.items()), encoding="utf-8"
    )
    names = "c_in,c_ex,interpretability,diversity,fmi"
    how = {"metrics": names, "vectors": "v.txt", "seed": 3}
    got = metrics(planted_run, **how)
    assert set(got) == {"c_in", "we_pairwise", "interpretability", "diversity", "fmi"}
    tokens = [[w for w in row["text"].split() if w in rows] for row in planted_rows()]  # numbers are no words
    wv = models.Word2Vec(tokens, min_count=1, workers=1, seed=3).wv
    topics = read(planted_run / "topics.parquet")["top_terms"].to_pylist()
    by_file = [_wec(topic[:10], lambda a, b: _cosine(rows[a], rows[b])) for topic in topics]
    assert got["we_pairwise"]["value"] == pytest.approx(np.mean(by_file), abs=1e-6)
    by_corpus = [_wec(topic[:10], wv.similarity) for topic in topics]
    assert got["c_in"]["values"] == pytest.approx(by_corpus, abs=1e-6)
    assert got["c_in"]["parameters"]["corpus"]["documents"] == len(tokens)
    d, c_in, c_ex = (got[name]["value"] for name in ("diversity", "c_in", "we_pairwise"))
    assert got["interpretability"]["value"] == pytest.approx(np.sqrt(d * np.sqrt(c_in * c_ex)))
    for name in ("c_in", "we_pairwise", "interpretability"):
        assert got[name]["low"] <= got[name]["value"] <= got[name]["high"]
    assert got["interpretability"]["interval"] == "jackknife over topics"
    assert got == metrics(planted_run, **how, threads=3)


def _wec(topic: list[str], cosine: Any) -> float:
    return float(np.mean([cosine(a, b) for i, a in enumerate(topic) for b in topic[:i]]))


def _cosine(a: Any, b: Any) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_fowlkes_mallows_counts_documents_without_a_topic_as_one_cluster(tmp_path: Path) -> None:
    topics, labels = [0, 0, 1, 1, -1, -1, 2, 0], ["a", "a", "b", "a", "c", "c", "c", "b"]
    rows = [{"id": str(i), "topic": t, "label": x} for i, (t, x) in enumerate(zip(topics, labels, strict=True))]
    table = write_jsonl(tmp_path / "t.jsonl", rows)
    got = metrics(table, metrics="fmi", target_format="table")["fmi"]
    assert got["value"] == pytest.approx(fowlkes_mallows_score(labels, topics), abs=1e-12)
    assert got["parameters"]["without_topic"] == 2
    assert metrics(table, metrics="fowlkes-mallows")["fmi"] == got
    one = write_jsonl(tmp_path / "one.jsonl", [{**row, "label": "a"} for row in rows])
    assert metrics(one, metrics="fmi")["fmi"]["value"] == pytest.approx(fowlkes_mallows_score(["a"] * 8, topics))


def test_fowlkes_mallows_without_labels(planted_run: Path, tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "label"} for row in planted_rows()]
    docs = write_embedded(tmp_path / "unlabelled.parquet", rows)
    run_cli("bertopic", docs, "--k", "4", "-q", "-o", "unlabelled")
    why = "there is no column 'label' beside the topics; see `label_col`"
    assert metrics("unlabelled", metrics="fmi,diversity")["fmi"]["why"] == why
    message = run_cli("evaluate", planted_run, "--metrics", "fmi", "--label-col", "party", code=3).error()
    assert "has no column 'party'" in message


def test_scores_by_the_vectors_of_a_corpus_need_one_and_its_words(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    message = run_cli("evaluate", TOPICS, "--metrics", "c_in", code=2).error()
    assert "c_in of" in message
    assert "give one: --reference DOCS" in message
    message = run_cli("evaluate", TOPICS, "--metrics", "interpretability", "--reference", NEWS, code=2).error()
    assert "interpretability: word vectors are needed; --vectors FILE" in message
    foreign = topics_file(tmp_path / "foreign.txt", "Haus Baum", "Wald Wiese")
    message = run_cli("evaluate", foreign, "--metrics", "c_in", "--reference", tiny, code=3).error()
    assert "none of the 4 words of" in message
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 0 1\n", encoding="utf-8")
    message = run_cli("evaluate", foreign, "--metrics", "c_ex", "--vectors", "v.txt", code=3).error()
    assert "v.txt has none of the 4 words" in message
    lonely = topics_file(tmp_path / "lonely.txt", "cat Haus", "dog Baum")
    got = metrics(lonely, metrics="c_in", reference=tiny)["c_in"]
    assert (got["value"], got["why"]) == (None, "no topic has two words with a vector")
    # of the group what can be made: a file of topics without a corpus has no c_in
    got = metrics(TOPICS, metrics="vectors", vectors="encoder")
    assert set(got) == {"we_pairwise", "we_centroid", "intruder_found"}


def test_scores_by_the_vectors_of_a_corpus_without_gensim(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word2vec, "find_spec", lambda name: None)
    message = run_cli("evaluate", TOPICS, "--metrics", "c_in", "--reference", NEWS, code=4).error()
    assert "needs the extra 'words', which is not installed" in message
    assert "c_in" not in metrics(TOPICS, metrics="vectors,diversity", reference=NEWS)


def test_mixed_targets_are_refused(planted_lda: Path) -> None:
    says = run_cli("evaluate", planted_lda, "--metrics", "npmi,accuracy", code=2).error()
    assert "these scores need a table with labels and predictions, or" in says
    says = run_cli("evaluate", SAMPLES / "predictions.csv", "--metrics", "accuracy,npmi", code=2).error()
    assert "npmi: no score of a table of predictions and labels" in says


def test_dry_run_writes_nothing(planted_lda: Path, tmp_path: Path) -> None:
    words = ["evaluate", planted_lda, TOPICS, "--dry-run", "-o", "m.json"]
    assert all(text in run_cli(*words).out for text in ("lda-gibbs, 4 topics", "topics (lines), 8 topics"))
    plan = run_cli(*words, "--json").json()
    assert plan == {str(planted_lda): "lda-gibbs, 4 topics", str(TOPICS): "topics (lines), 8 topics"}
    assert not list(tmp_path.iterdir())


def test_as_a_step_of_a_ci_job(planted_lda: Path, tmp_path: Path) -> None:
    run_cli("evaluate", planted_lda, "--npmi", "--fail-under", "0.05")
    done = run_shell(f"nlpkit evaluate {planted_lda} --npmi --fail-under 0.95 && echo deployed", cwd=tmp_path, code=1)
    assert "deployed" not in done.out
    assert done.err.splitlines()[-1].startswith(f"error: gate failed: {planted_lda}: npmi ")


# ---------------------------------------------------------------- found by trying it out


def test_octis_json_is_told_by_its_suffix(tmp_path: Path) -> None:
    topics = [line.split() for line in TOPICS.read_text(encoding="utf-8").splitlines()]
    for name, value_ in (("octis.json", {"topics": topics}), ("lists.json", topics)):
        (tmp_path / name).write_text(json.dumps(value_), encoding="utf-8")
        assert value(name, name="diversity") == value(TOPICS, name="diversity")


def test_a_run_on_texts_and_one_on_their_tokens_have_one_npmi(tmp_path: Path) -> None:
    """The reference has the words of the fit, not the rare ones that a column of tokens has lost."""
    run_cli("preprocess", NEWS, "-q", "-o", "docs.parquet")
    for corpus, run in ((NEWS, "a"), ("docs.parquet", "b")):
        run_cli("lda-gibbs", corpus, "--k", "5", "--sweeps", "20", "-q", "-o", run)
    assert value("a") == value("b")
    assert value("a", window="document") == value("b", window="document")


def test_a_run_on_the_first_documents_is_scored_on_them(planted: Path, tmp_path: Path) -> None:
    run_cli("lda-gibbs", planted, "--k", "4", "--sweeps", "20", "--limit", "60", "-q", "-o", "run")
    found = run_cli("evaluate", "run", "--npmi", "--window", "document", "--json").json()["targets"][0]
    assert found["reference"]["documents"] == 60
    own = pl.read_parquet(tmp_path / "run" / "topics.parquet")["npmi"].to_list()
    assert found["metrics"]["npmi"]["values"] == pytest.approx(own, abs=1e-6)
    message = run_cli("evaluate", "run", "--metrics", "residuals", "--limit", "20", code=3).error()
    assert "are of its 60 documents, 20 were read; leave --limit out" in message


def test_scores_of_other_corpora_have_no_p_value(tiny: Path, planted_lda: Path, tmp_path: Path) -> None:
    run_cli("lda-gibbs", NEWS, "--k", "4", "--sweeps", "10", "-q", "-o", "news")
    done = run_cli("evaluate", planted_lda, "news", "--npmi", "--json")
    assert "the targets use different corpora, or the same corpus with" in done.err
    assert done.json()["comparisons"][0]["p_value"] is None


def test_a_closed_pipe_changes_no_verdict(planted_lda: Path, tmp_path: Path) -> None:
    done = run_shell(
        f"(nlpkit evaluate {planted_lda} --npmi --fail-under 0.99 -o s.json --junit g.xml; echo code $? >&2) | head -n 1",
        cwd=tmp_path,
    )
    assert done.err.splitlines()[-1] == "code 1"
    assert "gate failed" in done.err
    assert (tmp_path / "s.json").exists()
    assert (tmp_path / "g.xml").exists()


def test_words_of_a_bigram_meet_its_neighbours(tmp_path: Path) -> None:
    """A bigram of the topics stands where its words stand, not behind the document."""
    texts = ["new york city hall"] * 10 + ["old town road sign"] * 20
    corpus = write_jsonl(tmp_path / "c.jsonl", [{"id": str(i), "text": t} for i, t in enumerate(texts)])
    topics = tmp_path / "t.json"
    topics.write_text(json.dumps({"topics": [["new york", "city"], ["york", "city"]]}), encoding="utf-8")
    got = metrics(topics, reference=corpus, npmi=True, window=3)["npmi"]["values"]
    assert got[0] > 0  # it was -1 when bigrams stood behind the documents
    assert got[1] > 0


def test_a_gate_holds_for_every_target(planted_lda: Path) -> None:
    message = run_cli("evaluate", planted_lda, TOPICS, "--fail-under", "exclusivity=0.01", code=3).error()
    assert f"the gate on exclusivity cannot be checked for {TOPICS}" in message


def test_a_baseline_of_other_heldout_documents_is_refused(planted_lda: Path, tmp_path: Path) -> None:
    docs = planted_lda.parent / "planted.parquet"
    run_cli("evaluate", planted_lda, "--perplexity", "--heldout", docs, "-q", "-o", "b.json")
    words = ["evaluate", planted_lda, "--perplexity", "--baseline", "b.json", "--heldout"]
    run_cli(*words, docs)
    assert "was measured on other held-out documents" in run_cli(*words, NEWS, code=3).error()


def test_silhouette_of_a_run_is_of_its_own_embeddings(planted_run: Path, tmp_path: Path) -> None:
    """A run made from raw text has its embeddings; tf-idf of the corpus gave 0.004 where they give 0.066 (news)."""
    (tmp_path / "elsewhere").mkdir()
    run = Path(shutil.copytree(planted_run, tmp_path / "elsewhere" / "run"))  # its corpus is not needed
    got = run_cli("evaluate", run, "--metrics", "silhouette", "--json").json()["targets"][0]["metrics"]["silhouette"]
    assert got["parameters"]["on"] == "embeddings"
    training = read(run / "model" / "training.parquet")
    embeddings, topics = np.stack(training["embedding"].to_pylist()), training["topic"].to_numpy()
    kept = topics >= 0
    expected = silhouette_score(embeddings[kept], topics[kept], metric="cosine")
    assert got["value"] == pytest.approx(expected, abs=1e-5)
    texts = [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows()]
    write_jsonl(tmp_path / "texts.jsonl", texts)
    words = ("--metrics", "silhouette", "--reference", tmp_path / "texts.jsonl", "--json")
    assert run_cli("evaluate", run, *words).json()["targets"][0]["metrics"]["silhouette"] == got


@pytest.mark.parametrize("cluster", ["hdbscan", "kmeans"])
def test_silhouette_of_a_run_on_raw_text_is_of_the_embeddings_it_made(cluster: str, tmp_path: Path) -> None:
    """On disk, in memory, and beside a reference without embeddings; equal texts are one point, as in the fit."""
    rows = [{"id": row["id"], "text": row["text"]} for row in planted_rows()]
    rows.append({"id": "again", "text": rows[0]["text"]})
    texts = write_jsonl(tmp_path / "texts.jsonl", rows)
    model = nk.fit_bertopic(nk.read_corpus(texts), k=4, cluster=cluster)
    model.save(tmp_path / "run")
    vectors = load_encoder().encode([row["text"] for row in rows])[0]
    of_text = dict(zip((row["text"] for row in rows), vectors, strict=True))
    documents = read(tmp_path / "run" / "documents.parquet")
    topics = dict(zip(documents["id"].to_pylist(), documents["topic"].to_pylist(), strict=True))
    topic_of = {row["text"]: topics[row["id"]] for row in rows if topics[row["id"]] >= 0}
    points = np.stack([of_text[text] for text in topic_of])
    expected = silhouette_score(points, list(topic_of.values()), metric="cosine")
    for target, reference in ((tmp_path / "run", None), (model, None), (tmp_path / "run", texts)):
        got = nk.evaluate(target, "silhouette", reference=reference)["silhouette"]
        assert got.parameters["on"] == "embeddings"
        assert got.value == pytest.approx(expected, abs=1e-4)


def test_the_only_run_of_a_folder_is_the_target(
    planted_lda: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`nlpkit evaluate --npmi` is the line of a CI job; it ended with exit code 2."""
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    assert "this folder holds no run" in run_cli("evaluate", "--npmi", code=2).error()
    Path("notes").mkdir()
    shutil.copytree(planted_lda, "one")
    done = run_cli("evaluate", "--npmi", "--json")
    assert done.json()["targets"][0]["target"] == "one"
    assert "target: one, the only run here" in done.err
    run_cli("evaluate", "--npmi", "--fail-under", "2", code=1)
    shutil.copytree("one", "two")
    says = run_cli("evaluate", "--npmi", code=2).error()
    assert "this folder holds several runs; name one: nlpkit evaluate one or two" in says
    monkeypatch.chdir("one")
    assert "npmi" in run_cli("evaluate", "--npmi").out


def test_an_imported_state_is_no_corpus(planted: Path, tmp_path: Path) -> None:
    run_cli("lda-gibbs", planted, "--k", "3", "--sweeps", "20", "--save-assignments", "-q", "-o", "lda")
    run_cli("convert", "lda", "-q", "-o", "st.gz")
    run_cli("convert", "st.gz", "-q", "-o", "theirs")
    assert "--reference DOCS" in run_cli("evaluate", "theirs", "--npmi", code=2).error()
    assert "npmi" in run_cli("evaluate", "theirs", "--npmi", "--reference", planted).out

"""nlpkit slda, author-topic, labeled-lda: columns of documents in the model, the run of every topic model, predictions of labels."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.platform.documents.options import ReadOptions
from tests.command_line import NEWS, planted_rows, read, run_cli, write_jsonl

WAYS = {
    "slda": ("--k", "4", "--iterations", "60"),
    "author-topic": ("--k", "4", "--iterations", "60", "--author-col", "writers"),
    "labeled-lda": ("--iterations", "60", "--label-col", "topics"),
}
CITED = {"slda": "McAuliffe", "author-topic": "Rosen-Zvi", "labeled-lda": "Ramage"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted documents with a number, authors and lists of labels that follow from their themes, and lack in a few."""
    rows = planted_rows()
    labels = sorted({row["label"] for row in rows})
    rng = np.random.default_rng(0)
    for i, row in enumerate(rows):
        del row["embedding"]
        k = labels.index(row["label"])
        few = i % 20 == 19
        row |= {
            "rating": None if few else round(2.5 * k + float(rng.normal(0, 0.2)), 3),
            "writers": None if few else f"{'ABCD'[k]} ; Zoe" if i % 3 == 0 else "ABCD"[k],
            "topics": [] if few else [row["label"], "extra"] if i % 3 == 0 else [row["label"]],
            "two": row["label"] in labels[:2],
            "one": "x",
            "rare": "a" if i == 7 else "b" if i % 2 else "c",
        }
    return write_jsonl(tmp_path_factory.mktemp("rows") / "rows.jsonl", rows)


@pytest.fixture(scope="module", params=list(WAYS))
def run(request: pytest.FixtureRequest, rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each kind."""
    target = tmp_path_factory.mktemp(request.param) / request.param
    run_cli(request.param, rows, *WAYS[request.param], "-q", "-o", target)
    return target


def test_planted_themes_come_back(run: Path) -> None:
    by_label: dict[str, Counter[int]] = {}
    labels = {row["id"]: row["label"] for row in planted_rows()}
    for row in read(run / "documents.parquet").to_pylist():
        by_label.setdefault(labels[row["id"]], Counter())[row["topic"]] += 1
    assert len({counts.most_common(1)[0][0] for counts in by_label.values()}) == 4
    assert all(counts.most_common(1)[0][1] / counts.total() > 0.85 for counts in by_label.values())
    if run.name == "labeled-lda":
        names = read(run / "topics.parquet").column("label").to_pylist()
        assert sorted(names) == sorted([*by_label, "extra"])
        assert all(names[counts.most_common(1)[0][0]] == label for label, counts in by_label.items())


def test_every_command_reads_the_run(run: Path, rows: Path) -> None:
    done = run_cli("evaluate", run, "--heldout", rows, "--metrics", "npmi,perplexity,log_likelihood", "--json")
    got = {name: score["value"] for name, score in json.loads(done.out)["targets"][0]["metrics"].items()}
    assert 1 < got["perplexity"] < 200
    lines = "info RUN|topics RUN --by two --words 3|report RUN -o r.html"
    if run.name == "slda":  # of the others they read the same tables
        lines += "|topics RUN --documents 1|topics RUN --correlations|diff RUN RUN|plot RUN topics -o t.svg"
        lines += "|export RUN -o t.xlsx|convert RUN -o t.csv"
    for line in lines.split("|"):
        run_cli(*(run if word == "RUN" else word for word in line.split()))
    assert CITED[run.name] in Path("r.html").read_text(encoding="utf-8")


def test_a_loaded_model_is_the_one_that_was_saved(run: Path, rows: Path) -> None:
    loaded = nk.load(run)
    options = json.loads((run / "model" / "config.json").read_text(encoding="utf-8"))["options"]
    options |= {} if run.name == "labeled-lda" else {"k": 4}
    corpus = nk.read_corpus(rows, options=ReadOptions(label_col="topics" if run.name == "labeled-lda" else "label"))
    fit = getattr(nk, f"fit_{run.name.replace('-', '_')}")(corpus, **options)
    np.testing.assert_array_equal(loaded.phi, fit.phi)
    texts = ["river boat flood", "court judge trial", "zzz"]
    assert loaded.predict(texts) == fit.predict(texts)
    assert loaded.summary == fit.summary


def test_the_same_bytes_on_any_number_of_threads(run: Path, rows: Path) -> None:
    for n in (1, 3):
        run_cli(run.name, rows, *WAYS[run.name], "--threads", n, "-q", "-o", f"run{n}")
        for path in sorted(run.glob("*.parquet")):
            assert path.read_bytes() == (Path(f"run{n}") / path.name).read_bytes(), path.name


def test_predictions_of_labels(run: Path, rows: Path) -> None:
    new = [
        {"id": f"new {i}", "text": f"{row['text']} zzz", "label": row["label"]}
        for i, row in enumerate(planted_rows()[:40])
    ]
    write_jsonl(Path("new.jsonl"), [*new, {"id": "none", "text": "zzz qqq", "label": "x"}])
    if run.name == "author-topic":
        run_cli("predict", run, "new.jsonl", "-q", "-o", "p.parquet")
        assert "prediction" not in read("p.parquet").column_names
        assert (
            "a run of author-topic does not use it"
            in run_cli("predict", run, "new.jsonl", "--probabilities", "-o", "q.parquet", code=2).error()
        )
        return
    done = run_cli("predict", run, "new.jsonl", "--probabilities", "-o", "p.parquet")
    got = read("p.parquet").to_pylist()
    assert np.mean([row["prediction"] == row["label"] for row in got[:-1]]) > 0.85
    assert "predictions against the labels of 40 new documents: accuracy " in done.err
    assert "the fit had no label" not in done.err
    write_jsonl(Path("other.jsonl"), [row | {"label": "another"} for row in new[:4]])
    said = run_cli("predict", run, "other.jsonl", "-o", "o.parquet").err
    assert "labels of 4 new documents: accuracy 0.000; the fit had no label of 4 of them" in said
    write_jsonl(Path("two.jsonl"), [row | {"cls": row["label"]} for row in new[:4]])
    said = run_cli("predict", run, "two.jsonl", "--label-col", "cls", "-o", "two.parquet").err
    learned = "topics" if run.name == "labeled-lda" else "label"
    assert f"; these are of the column 'cls', the model learned from '{learned}' (--label-col {learned})" in said
    for row in got[:-1]:
        assert row["prediction_prob"] == pytest.approx(row["probabilities"][row["prediction"]])
        assert sum(row["probabilities"].values()) == pytest.approx(1, abs=1e-4)
        assert 0 <= row["topic"] < 5
    assert (got[-1]["topic"], got[-1]["prediction"], got[-1]["probabilities"]) == (-1, None, None)
    assert "accuracy" in run_cli("evaluate", "p.parquet").out
    known = run_cli("predict", run, rows, "-o", "again.parquet")
    assert "new document" not in known.err  # of the fit itself nothing is told
    fitted = {row["id"]: row["topic"] for row in read(run / "documents.parquet").to_pylist()}
    assert all(fitted[row["id"]] == row["topic"] for row in read("again.parquet").to_pylist())


def test_a_number_is_predicted(rows: Path) -> None:
    done = run_cli(
        "slda", rows, "--k", "4", "--label-col", "rating", "--keep-if", "n < 90", "--iterations", "60", "-o", "run"
    )
    assert "holds numbers (response real)" in done.err
    assert "4 documents without one take part as in LDA" in done.err
    coefficients = read("run/coefficients.parquet")
    assert coefficients.column_names == ["topic", "class", "coefficient"]
    assert coefficients.column("class").null_count == 4
    assert np.ptp(coefficients.column("coefficient").to_numpy()) == pytest.approx(7.5, abs=1.2)
    done = run_cli("predict", "run", rows, "--label-col", "rating", "--keep-if", "n >= 90", "--json", "-o", "p.parquet")
    scores = json.loads(done.out)
    assert scores["labelled"] == 28
    assert scores["r2"] > 0.85
    assert scores["mae"] < 1
    assert "R² 0." in done.err
    assert read("p.parquet").schema.field("prediction").type == "double"


def test_two_values_are_binary(rows: Path) -> None:
    done = run_cli("slda", rows, "--k", "4", "--label-col", "two", "--iterations", "40", "-o", "run")
    assert "log-odds of True" in done.out
    assert set(read("run/coefficients.parquet").column("class").to_pylist()) == {"True"}
    assert json.loads(Path("run/manifest.json").read_text(encoding="utf-8"))["results"]["response"] == "binary"


def test_topics_of_authors(run: Path) -> None:
    if run.name != "author-topic":
        assert not (run / "authors.parquet").exists()
        return
    authors = read(run / "authors.parquet").to_pylist()
    first = {row["author"]: row for row in reversed(authors)}
    assert sorted(first) == ["A", "B", "C", "D", "Zoe"]
    assert len({first[name]["topic"] for name in "ABCD"}) == 4
    assert all(first[name]["prob"] > 0.9 for name in "ABCD")
    assert first["Zoe"]["documents"] == 38
    assert set(authors[0]) == {"author", "documents", "n_tokens", "topic", "prob"}
    for name in first:  # of the mixture of an author nothing is left out
        assert sum(row["prob"] for row in authors if row["author"] == name) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("kind", ["slda", "author-topic"])
def test_the_number_of_topics_is_chosen(kind: str) -> None:
    column = ("--author-col", "source") if kind == "author-topic" else ()
    done = run_cli(kind, NEWS, *column, "--k", "4:8:4", "--iterations", "10", "-o", "run")
    assert "How many topics? 3 fits each" in done.out
    evidence = json.loads(Path("run/manifest.json").read_text(encoding="utf-8"))["results"]["evidence"]
    assert [row["n_topics"] for row in evidence] == [4, 8]


def test_latent_topics_are_told_apart(rows: Path) -> None:
    done = run_cli("labeled-lda", rows, "--label-col", "rare", "--latent", "2", "--iterations", "20", "-o", "run")
    assert "3 labels in column 'rare'" in done.err
    assert "1 label of a single document, whose topic reflects little more than this one text: a" in done.err
    names = json.loads(Path("run/model/config.json").read_text(encoding="utf-8"))["topic_names"]
    assert sorted(names) == ["", "", "a", "b", "c"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("slda --label-col lable", 3, "has no column 'lable'"),
        ("slda --label-col one", 3, "'x'"),
        ("slda --label-col topics", 3, "labeled-lda takes several"),
        ("slda --label-col label --response binary", 3, "has 4: take classes"),
        ("slda --label-col label --response real", 3, "needs numbers; column 'label' has '"),
        ("slda --response ordinal", 2, "--response"),
        ("slda --alpha 0", 2, "--alpha must be above 0, got 0"),
        ("author-topic", 3, "has no column 'author'"),
        ("author-topic --author-col writers --separator=", 2, "--separator is empty"),
        ("labeled-lda --label-col lable", 3, "has no column 'lable'"),
        ("labeled-lda --keep-if id=='p019' --label-col topics", 3, "no document has a label in column 'topics'"),
    ],
)
def test_columns_that_cannot_be_used(words: str, code: int, message: str, rows: Path) -> None:
    kind, *options = words.split()
    k = () if kind == "labeled-lda" else ("--k", "3")
    assert message in run_cli(kind, rows, *k, *options, "-o", "x", code=code).error()
    assert not Path("x").exists()


@pytest.mark.parametrize("kind", list(WAYS))
def test_bad_input(kind: str) -> None:
    options = [*("--author-col", "label")] if kind == "author-topic" else []
    options += [] if kind == "labeled-lda" else ["--k", "2"]
    Path("empty.jsonl").write_text("")
    assert "no documents" in run_cli(kind, "empty.jsonl", *options, "-o", "x", code=3).error()
    write_jsonl(Path("letters.jsonl"), [{"text": letter, "label": letter} for letter in "abcdef"])
    assert "nothing to find topics in" in run_cli(kind, "letters.jsonl", *options, "-o", "x", code=3).error()
    write_jsonl(Path("one.jsonl"), [{"text": "one single document of some words", "label": "x"}])
    said = run_cli(kind, "one.jsonl", *options, "--min-df", "1", "-o", "one", code=3 if kind == "slda" else 0).err
    assert {
        "slda": "all documents with a label have 'x', and two different labels are needed",
        "author-topic": "all documents have the author 'x'",
        "labeled-lda": "'x' is the only label",
    }[kind] in said
    assert not Path("x").exists()
    from nlpkit.errors import UsageError

    with pytest.raises(UsageError, match="labels are the topics"):
        nk.fit_labeled_lda(nk.read_corpus("one.jsonl"), k=3, min_df=1)

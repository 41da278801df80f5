"""nlpkit ctm and fastopic with embeddings, nlpkit etm with word vectors: what they read, what new documents need, what is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.platform.runs.tensor_files import read_safetensors
from tests.command_line import WORDS, planted_rows, read, run_cli, write_embedded, write_jsonl

torch = pytest.importorskip("torch")
SMALL = ("--hidden", "20", "--batch-size", "16", "--iterations", "80", "--rate", "0.005")


TOPICS = {"ctm": "beta", "fastopic": "topics"}  # weights with a row for each topic


@pytest.fixture(scope="module", params=[("ctm", SMALL), ("fastopic", ())], ids=lambda param: param[0])
def embedded_run(request: pytest.FixtureRequest, planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of embeddings on the planted corpus."""
    kind, options = request.param
    target = tmp_path_factory.mktemp("embedded") / kind
    run_cli(kind, planted, "--k", "4", *options, "--seed", "1", "-q", "-o", target)
    return target


def test_topics_come_from_the_embeddings(embedded_run: Path, tmp_path: Path) -> None:
    rows = read(embedded_run / "documents.parquet").to_pylist()
    assert "embedding" not in rows[0]
    by_label: dict[str, Counter[int]] = {}
    for row in rows:
        by_label.setdefault(row["label"], Counter())[row["topic"]] += 1
    main = {label: counts.most_common(1)[0][0] for label, counts in by_label.items()}
    assert len(set(main.values())) == 4
    terms = [row for row in read(embedded_run / "topic_terms.parquet").to_pylist() if row["rank"] <= 5]
    tops = {k: {row["term"] for row in terms if row["topic"] == k} for k in range(4)}
    assert all(len(tops[k] & set(WORDS[label].split())) >= 4 for label, k in main.items()), tops
    # new texts of words that nobody knows, with the embeddings of the labels
    new = [{**row, "id": f"new {row['id']}", "text": "zzz qqq"} for row in planted_rows(seed=5)]
    write_embedded(tmp_path / "new.parquet", [*new, {**new[0], "id": "empty", "text": " "}])
    run_cli("predict", embedded_run, "new.parquet", "-o", "p.parquet")
    got = read("p.parquet").to_pylist()
    assert np.mean([row["topic"] == main[row["label"]] for row in got[:-1]]) > 0.9
    assert got[-1]["topic"] == -1


def test_what_a_run_holds_and_new_text_needs(embedded_run: Path, tmp_path: Path) -> None:
    manifest = json.loads((embedded_run / "manifest.json").read_text(encoding="utf-8"))
    weights = read_safetensors(embedded_run / "model" / "weights.safetensors")
    assert weights[TOPICS[embedded_run.name]].shape[0] == 4
    assert manifest["parameters"]["encoder"]["encoder"] == "planted"
    assert len(manifest["results"]["trace"]) == manifest["results"]["epochs"]
    safetensors = pytest.importorskip("safetensors.numpy")
    for name, array in safetensors.load_file(str(embedded_run / "model" / "weights.safetensors")).items():
        np.testing.assert_array_equal(array, weights[name])
    write_jsonl(tmp_path / "new.jsonl", [{"text": "river boat"}])
    assert "planted" in run_cli("predict", embedded_run, "new.jsonl", "-o", "p.parquet", code=4).error()
    (embedded_run / "model" / "weights.safetensors").write_bytes(b"123")
    try:
        assert "changed since" in run_cli("predict", embedded_run, "new.jsonl", "-o", "p.parquet", code=3).error()
        unchecked = run_cli("predict", embedded_run, "new.jsonl", "--no-verify", "-o", "p.parquet", code=3).error()
        assert "damaged" in unchecked
    finally:
        from nlpkit.platform.runs.tensor_files import write_safetensors

        write_safetensors(embedded_run / "model" / "weights.safetensors", weights)


def test_every_command_reads_a_run_of_fastopic(planted: Path) -> None:
    run_cli("fastopic", planted, "--k", "4", "-q", "-o", "run")
    line = ("evaluate", "run", "--heldout", planted, "--metrics", "ami,perplexity", "--json")
    metrics = json.loads(run_cli(*line).out)["targets"][0]["metrics"]
    assert metrics["ami"]["value"] > 0.8
    assert 1 < metrics["perplexity"]["value"] < 200
    for line in (
        "info run",
        "topics run --by label --words 3",
        "diff run run",
        "report run -o r.html",
        "convert run -o t.csv",
    ):
        run_cli(*line.split())
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Wu, X." in page
    assert "Srivastava" not in page
    run_cli("compare", planted, "--models", "fastopic", "--k", "2", "--seeds", "1", "-q", "-o", "compared")
    assert read("compared/summary.parquet").to_pylist()[0]["model"] == "fastopic"
    loaded, fitted = nk.load("run"), nk.fit_fastopic(nk.read_corpus(planted), k=4)
    np.testing.assert_array_equal(loaded.phi, fitted.phi)
    assert loaded.summary == fitted.summary


@pytest.mark.parametrize(
    "options",
    [
        ("ctm", "--hidden", "10"),
        ("ctm", "--hidden", "10", "--inference", "combined"),
        ("etm", "--hidden", "10"),
        ("fastopic",),
    ],
)
def test_the_same_bytes_on_any_number_of_threads(options: tuple[str, ...], planted: Path) -> None:
    for threads in (1, 2):
        few = ("--k", "3", "--iterations", "2", "--threads", threads, "-q", "-o", f"t{threads}")
        run_cli(options[0], planted, *options[1:], *few)
    for name in ("topics.parquet", "documents.parquet", "doc_topics.parquet", "model/weights.safetensors"):
        assert (Path("t1") / name).read_bytes() == (Path("t2") / name).read_bytes()


def test_numbers_of_topics_are_compared(planted: Path) -> None:
    for line in ("ctm --hidden 10 --iterations 3", "etm --hidden 10 --iterations 3", "fastopic --iterations 3"):
        words = line.split()
        done = run_cli(words[0], planted, *words[1:], "--k", "2:4:2", "-o", words[0])
        assert "1 fit each" in done.out
        warned = "documents with words, fewer than 1,000, are few for a neural network" in done.err
        assert warned == (words[0] != "fastopic")
        rows = json.loads(Path(words[0], "manifest.json").read_text(encoding="utf-8"))["results"]["evidence"]
        assert all(np.isfinite(row["perplexity"]) for row in rows)
    plan = run_cli("ctm", planted, "--k", "2:4", "--dry-run").err
    assert "the time is for one fit; --k " in plan


def test_vectors_of_words_are_those_of_a_file_or_a_run(planted: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = " ".join(WORDS.values()).split()
    lines = [f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=5))}" for word in words]
    (tmp_path / "v.txt").write_text("\n".join(lines[:-3]) + "\n", encoding="utf-8")
    few = ("--k", "2", "--hidden", "5", "--iterations", "1")
    done = run_cli("etm", planted, *few, "--vectors", "v.txt", "-o", "file")
    assert f"v.txt: vectors of {len(words) - 3}" in done.err
    stored = read_safetensors(Path("file/model/weights.safetensors"))["words"]
    terms = read("file/vocab.parquet").column("term").to_pylist()
    first = [float(x) for x in lines[0].split()[1:]]
    np.testing.assert_allclose(stored[terms.index(words[0])], first, rtol=1e-6)
    run_cli("embed-words", planted, "--method", "pmi-svd", "--dimensions", "4", "-q", "-o", "words")
    run_cli("etm", planted, *few, "--vectors", "words", "-o", "run")
    assert read_safetensors(Path("run/model/weights.safetensors"))["words"].shape[1] == 4
    assert "no such file" in run_cli("etm", planted, *few, "--vectors", "nothing.txt", "-o", "x", code=3).error()


def test_bad_input(tmp_path: Path, planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_jsonl(tmp_path / "few.jsonl", [{"text": "one single document of some words"}] * 3)
    write_jsonl(tmp_path / "letters.jsonl", [{"text": letter} for letter in "abcdef"])
    (tmp_path / "empty.jsonl").write_text("")
    for kind in ("ctm --inference bow", "etm"):
        words = kind.split()
        for file, said in (
            ("empty", "no documents"),
            ("few", "10 documents with words"),
            ("letters", "nothing to find"),
        ):
            assert said in run_cli(words[0], f"{file}.jsonl", *words[1:], "--k", "2", "-o", "x", code=3).error()
    refused = run_cli("ctm", planted, "--inference", "bow", "--encoder", "e", "--k", "2", "-o", "x", code=2).error()
    assert "infers topics from words alone" in refused
    from nlpkit.topics.neural import points

    monkeypatch.setattr(points, "find_spec", lambda name: None)
    for kind in ("ctm", "etm"):
        assert "pip install" in run_cli(kind, planted, "--k", "2", "-o", "x", code=4).error()
    assert not Path("x").exists()


def test_from_python(planted: Path) -> None:
    few: dict[str, Any] = {"k": 2, "hidden": 5, "iterations": 1}
    with pytest.raises(TypeError, match="'encoder' is not an option here"):
        nk.fit_etm(nk.read_corpus(planted), encoder="e", **few)
    model = nk.fit_ctm(nk.read_corpus(planted), **few)
    assert model.theta.shape == (120, 2)
    assert model.fit.numbers["prior_alpha"] == 1.0

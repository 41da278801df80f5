"""nlpkit hlda: the tree in the run, paths of fitted and of new documents, and every command that reads the run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from tests.command_line import read, run_cli, write_jsonl
from tests.report.test_report_command import container

LAYERS = ["layer_0", "layer_1", "layer_2"]


@pytest.fixture(scope="module")
def run(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the planted corpus of four themes."""
    target = tmp_path_factory.mktemp("hlda") / "hlda"
    run_cli("hlda", planted, "--iterations", "100", "-q", "-o", target)
    return target


def test_the_tree_is_in_the_run(run: Path) -> None:
    topics, layers = read(run / "topics.parquet").to_pylist(), read(run / "layers.parquet").to_pylist()
    documents = read(run / "documents.parquet").to_pandas()
    assert [row["topic"] for row in layers] == [row["topic"] for row in topics] == list(range(len(topics)))
    assert [row["label"] for row in layers] == [row["label"] for row in topics]
    parent = {row["topic"]: row["parent"] for row in layers}
    assert [k for k, above in parent.items() if above is None] == [0]
    for row in layers:
        assert (documents[f"layer_{row['layer']}"] == row["topic"]).sum() == row["size"]
        below = [other["size"] for other in layers if other["parent"] == row["topic"]]
        assert row["layer"] == 2 or sum(below) == row["size"]
        assert row["stability"] is None
    for path in documents[LAYERS].to_numpy():
        assert [parent[k] for k in path] == [None, *path[:-1]]
    shown = run_cli("info", run, "--tree").out.splitlines()
    assert len(shown) == len(topics)
    assert shown[0].startswith("0 ")
    assert shown[1].startswith("    1 ")


def test_planted_themes_are_branches(run: Path) -> None:
    documents = read(run / "documents.parquet").to_pandas()
    for layer in LAYERS[1:]:
        shares = documents.groupby("label")[layer].agg(lambda values: values.value_counts(normalize=True).iloc[0])
        if (shares > 0.8).all() and documents.groupby("label")[layer].agg(lambda v: v.mode()[0]).nunique() == 4:
            return
    raise AssertionError(f"no layer has the four themes: {documents.groupby('label')[LAYERS[1]].value_counts()}")


def test_new_documents_get_a_path(run: Path, planted: Path, tmp_path: Path) -> None:
    fitted = {row["id"]: row for row in read(run / "documents.parquet").to_pylist()}
    rows = read(planted).to_pylist()[:40]
    new = [{"id": f"new {row['id']}", "text": f"{row['text']} zzz", "layer_1": "mine"} for row in rows]
    write_jsonl(tmp_path / "new.jsonl", [*new, {"id": "none", "text": "zzz qqq"}])
    done = run_cli("predict", run, "new.jsonl", "-o", "p.parquet")
    assert "layer_1" in done.err
    got = {row["id"]: row for row in read("p.parquet").to_pylist()}
    same = [got[f"new {row['id']}"][layer] == fitted[row["id"]][layer] for row in rows for layer in LAYERS]
    assert np.mean(same) > 0.9
    assert [got["none"][name] for name in ("topic", *LAYERS)] == [-1] * 4
    run_cli("predict", run, planted, "-q", "-o", "again.parquet")
    for row in read("again.parquet").to_pylist():
        assert all(row[name] == fitted[row["id"]][name] for name in ("topic", *LAYERS))


def test_every_command_reads_the_run(run: Path, planted: Path) -> None:
    scores = json.loads(run_cli("evaluate", run, "--heldout", planted, "--metrics", "npmi,perplexity", "--json").out)
    assert 1 < scores["targets"][0]["metrics"]["perplexity"]["value"] < 300
    lines = """info RUN|topics RUN --by label --words 3|topics RUN --documents 1|diff RUN RUN|plot RUN topics -o t.svg|report RUN -o r.html
export RUN -o t.xlsx|export RUN --to r -o r/|convert RUN -o t.csv"""
    for line in lines.replace("\n", "|").split("|"):
        run_cli(*(run if word == "RUN" else word for word in line.split()))
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Griffiths, T. L." in page
    layers = read(run / "layers.parquet").to_pylist()
    tree = page[page.index('id="tree"') : page.index('id="distances"')]  # before, topics joined by how alike they are
    assert tree.count("<tr>") == 1 + len(layers)
    for row in layers:
        assert (
            f'<th scope="row">{chr(0x2003) * row["layer"]}{row["label"]}</th><td class="n">{row["size"]:,}</td>' in tree
        )
    assert "tree" not in container(page, "data")[0]["relations"]


def test_a_loaded_model_is_the_one_that_was_saved(run: Path, planted: Path) -> None:
    loaded, fit = nk.load(run), nk.fit_hlda(nk.read_corpus(planted), iterations=100)
    np.testing.assert_array_equal(loaded.phi, fit.phi)
    np.testing.assert_array_equal(loaded.tree, fit.tree)
    assert loaded.predict(["river boat flood"]) == fit.predict(["river boat flood"])

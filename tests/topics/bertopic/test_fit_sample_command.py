"""A run that was fitted to a sample: every command takes it like any other."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.platform.documents.arrays import embedding_matrix
from tests.command_line import manifest, needs_hdbscan, planted_rows, read, run_cli, write_embedded

pytestmark = needs_hdbscan
SAMPLE = 60


@pytest.fixture(scope="module")
def sampled(planted: Path) -> Path:
    """A run on half of the planted corpus."""
    run = planted.parent / "sampled"
    run_cli("bertopic", planted, "--k", "4", "--fit-sample", SAMPLE, "-q", "-o", run)
    return run


def topics(run: Path | str) -> list[int]:
    """Topic of each document, in order."""
    values: list[int] = read(Path(run) / "documents.parquet")["topic"].to_pylist()
    return values


def test_the_run_says_how_many_were_fitted_and_how_far_a_second_fit_agrees(planted: Path, sampled: Path) -> None:
    done = run_cli("bertopic", planted, "--k", "4", "--fit-sample", SAMPLE, "-o", "run")
    assert "fitted to 60 of 120 different documents" in done.err
    recorded = manifest(sampled)["results"]["fit_sample"]
    assert {**recorded, "agreement": 0} == {"n_fitted": 60, "n_assigned": 60, "n_compared": 60, "agreement": 0}
    assert recorded["agreement"] > 0.9
    assert manifest(sampled)["parameters"]["fit_sample"] == 60
    labels = read(sampled / "documents.parquet")["label"].to_pylist()
    assert len({*zip(labels, topics(sampled), strict=True)}) == 4
    assert sum(read(sampled / "topics.parquet")["size"].to_pylist()) == 120


def test_a_fit_to_all_says_nothing_of_a_sample(planted_run: Path) -> None:
    assert manifest(planted_run)["results"]["fit_sample"] is None
    assert not (planted_run / "model" / "assigned.parquet").exists()


def test_only_the_sample_has_embeddings_and_every_text_keeps_its_topic(planted: Path, sampled: Path) -> None:
    training, assigned = (read(sampled / "model" / f"{name}.parquet") for name in ("training", "assigned"))
    assert (len(training), len(assigned)) == (60, 60)
    assert "embedding" not in assigned.column_names
    assert sorted(training["row"].to_pylist() + assigned["row"].to_pylist()) == list(range(120))
    vectors = embedding_matrix(read(planted).column("embedding"))
    stored = embedding_matrix(read(sampled / "model" / "training.parquet").column("embedding"))
    assert np.array_equal(vectors[training["row"].to_numpy()], stored)
    done = run_cli("predict", sampled, planted, "-o", "again.parquet")
    assert "were in the fit and keep their topics" in done.err
    again, stored_topics = read("again.parquet"), read(sampled / "documents.parquet")
    for name in ("topic", "topic_prob", "nearest_topic", "margin"):
        assert again[name].to_pylist() == stored_topics[name].to_pylist()


def test_new_texts_get_topics(sampled: Path) -> None:
    rows = [{**row, "text": f"{row['text']} anew"} for row in planted_rows(5, seed=21)]
    write_embedded(Path("new.parquet"), rows)
    run_cli("predict", sampled, "new.parquet", "-q", "-o", "new_topics.parquet")
    topic_of = dict(zip(read(sampled / "documents.parquet")["label"].to_pylist(), topics(sampled), strict=True))
    assert [topic_of[row["label"]] for row in rows] == read("new_topics.parquet")["topic"].to_pylist()


def test_an_edit_takes_the_other_embeddings_from_the_documents(sampled: Path) -> None:
    Path("edits.toml").write_text("merge = [[0, 1]]\n[split]\n2 = 2\n")
    run_cli("edit", sampled, "edits.toml", "-q", "-o", "edited")
    assert manifest("edited")["results"]["fit_sample"] == manifest(sampled)["results"]["fit_sample"]
    before, after = topics(sampled), topics("edited")
    sizes = sorted(np.bincount(after).tolist())
    assert (sum(sizes), len(sizes), sizes[-1]) == (120, 4, 60)
    assert len({*zip(before, after, strict=True)}) == 5
    training = read("edited/model/training.parquet")
    assert training["row"].to_pylist() == read(sampled / "model" / "training.parquet")["row"].to_pylist()


def test_an_edit_of_nothing_changes_no_number(sampled: Path) -> None:
    Path("edits.toml").write_text('[rename]\n0 = "first"\n')
    run_cli("edit", sampled, "edits.toml", "-q", "-o", "edited")
    for name in (
        "documents",
        "doc_topics",
        "topic_terms",
        "vocab",
        "model/training",
        "model/assigned",
        "model/centroids",
    ):
        assert read(Path("edited") / f"{name}.parquet").equals(read(sampled / f"{name}.parquet")), name


def test_newer_documents_join(sampled: Path) -> None:
    rows = [{**row, "id": f"new {row['id']}", "text": f"{row['text']} anew"} for row in planted_rows(5, seed=21)]
    write_embedded(Path("newer.parquet"), rows)
    run_cli("bertopic", "newer.parquet", "--update", sampled, "-q", "-o", "longer")
    recorded = manifest("longer")["results"]["fit_sample"]
    assert (recorded["n_fitted"], recorded["n_assigned"]) == (80, 60)
    table = read("longer/documents.parquet")
    assert len(table) == 140
    assert len({*zip(table["label"].to_pylist(), table["topic"].to_pylist(), strict=True)}) == 4
    run_cli("predict", "longer", "newer.parquet", "-q", "-o", "again.parquet")
    assert read("again.parquet")["topic"].to_pylist() == table["topic"].to_pylist()[120:]


def test_other_commands_take_the_run(planted: Path, planted_run: Path, sampled: Path) -> None:
    run_cli("info", sampled, "-q")
    assert len(run_cli("topics", sampled, "--documents", "0", "--json").json()["documents"]) > 0
    run_cli("report", sampled, "-q", "-o", "report.html")
    run_cli("plot", sampled, "map", "-q", "-o", "map.svg")
    run_cli("diff", planted_run, sampled, "-q")
    run_cli("evaluate", sampled, "--metrics", "npmi,silhouette", "-q")
    run_cli("export", sampled, "--to", "bertopic", "-q", "-o", "exported")


@pytest.mark.parametrize("file", ["assigned", "training"])
def test_a_damaged_model_is_refused(planted: Path, sampled: Path, file: str) -> None:
    run = Path(shutil.copytree(sampled, "run"))
    table = read(run / "model" / f"{file}.parquet")
    at = table.column_names.index("topic")
    pq.write_table(
        table.set_column(at, "topic", pa.array([10**6] * len(table), pa.int32())), run / "model" / f"{file}.parquet"
    )
    run_cli("predict", run, planted, "-o", "x.parquet", code=3)
    run_cli("predict", run, planted, "--no-verify", "-o", "x.parquet", code=3)


def test_what_is_no_sample(planted: Path) -> None:
    for value in ("9", "0", "some", "-1", "0.5"):
        done = run_cli("bertopic", planted, "--fit-sample", value, "-o", "run", code=2)
        assert "--fit-sample" in done.err
    assert "--fit-sample" in run_cli("bertopic", planted, "--k", "40", "--fit-sample", "20", "-o", "run", code=3).err
    assert (
        "--fit-sample" in run_cli("bertopic", planted, "--update", "run", "--fit-sample", "20", "-o", "x", code=2).err
    )

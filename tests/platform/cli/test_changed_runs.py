"""Runs whose files were changed: refused when they are read, and with --no-verify never a crash, NaN or a topic that is not there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.command_line import needs_hdbscan, run_cli, write_jsonl

Change = Callable[[pa.Table], pa.Table]


def column(name: str, value: Any) -> Change:
    """Give every row of a column one value."""

    def change(table: pa.Table) -> pa.Table:
        kind = table.schema.field(name).type
        return table.set_column(
            table.schema.get_field_index(name), name, pa.array([value] * table.num_rows, None if value == "x" else kind)
        )

    return change


def without(name: str) -> Change:
    """Leave a column out."""
    return lambda table: table.drop_columns([name])


def half(table: pa.Table) -> pa.Table:
    """Leave half of the rows out."""
    return table.slice(0, table.num_rows // 2)


def damage(run: Path, name: str, change: Change) -> None:
    table = pq.ParquetFile(run / name).read()
    pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), run / name)


LDA: list[tuple[str, Change]] = [
    ("vocab.parquet", without("term")),
    ("vocab.parquet", half),
    ("vocab.parquet", column("term", None)),
    ("model/topic_term.parquet", without("count")),
    ("model/topic_term.parquet", column("topic", 1_000_000)),
    ("model/topic_term.parquet", column("topic", -1)),
    ("model/topic_term.parquet", column("count", "x")),
    ("model/alpha.parquet", half),
    ("model/training.parquet", column("topic", 1_000_000)),
    ("model/training.parquet", without("text_hash")),
    ("model/alpha.parquet", column("alpha", float("nan"))),
]
BERTOPIC: list[tuple[str, Change]] = [
    ("model/training.parquet", without("embedding")),
    ("model/training.parquet", without("text_hash")),
    ("model/training.parquet", column("topic", 1_000_000)),
    ("model/training.parquet", column("topic", -7)),
    ("model/training.parquet", column("topic_prob", float("nan"))),
    ("model/centroids.parquet", half),
    ("model/training.parquet", lambda table: table.slice(0, 0)),
]
NB: list[tuple[str, Change]] = [
    ("model/weights_coef.parquet", column("value", None)),
    ("model/weights_coef.parquet", lambda t: t.set_column(0, "value", _nan_like(t))),
    ("model/weights_coef.parquet", half),
    ("model/weights_intercept.parquet", without("value")),
    ("model/vocab.parquet", column("idf", float("nan"))),
    ("model/vocab.parquet", half),
    ("model/vocab.parquet", without("term")),
]


def _nan_like(table: pa.Table) -> pa.Array:
    kind = table.schema.field("value").type
    return pa.FixedSizeListArray.from_arrays(pa.array(np.full(table.num_rows * kind.list_size, np.nan)), kind.list_size)


@pytest.fixture(scope="session")
def nb_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of two classes."""
    folder = tmp_path_factory.mktemp("nb")
    rows = [{"text": f"{'cat dog' if i % 2 else 'moon star'} word{i % 5}", "label": "ab"[i % 2]} for i in range(40)]
    write_jsonl(folder / "train.jsonl", rows)
    run_cli("classify", folder / "train.jsonl", "--model", "nb", "-q", "-o", folder / "run")
    return folder / "run"


def check(kind: str, run: Path, corpus: Path, name: str, change: Change) -> None:
    own = shutil.copytree(run, Path("own"))
    damage(own, name, change)
    predict = (
        ("predict", own, corpus) if kind in ("bertopic", "classify", "lda-gibbs") else (kind, corpus, "--model", own)
    )
    changed = run_cli(*predict, "-q", "-o", "p.parquet", code=3).error()
    assert f"own/{name} was changed since the run was written" in changed
    assert "own" in run_cli(*predict, "--no-verify", "-q", "-o", "p.parquet", code=3).error()
    assert not Path("p.parquet").exists()
    told = run_cli("info", own, "--json")
    assert told.json()["changed"] == [name]
    assert f"warning: 1 file of own was changed since the run was written: {name}" in told.err


@pytest.mark.parametrize(("name", "change"), LDA)
def test_lda(name: str, change: Change, planted: Path, planted_lda: Path, tmp_path: Path) -> None:
    check("lda-gibbs", planted_lda, planted, name, change)


@needs_hdbscan
@pytest.mark.parametrize(("name", "change"), BERTOPIC)
def test_bertopic(name: str, change: Change, planted: Path, planted_run: Path, tmp_path: Path) -> None:
    check("bertopic", planted_run, planted, name, change)


@pytest.mark.parametrize(("name", "change"), NB)
def test_classify(name: str, change: Change, nb_run: Path, tmp_path: Path) -> None:
    check("classify", nb_run, nb_run.parent / "train.jsonl", name, change)


def test_evaluate(planted_lda: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(planted_lda, "own"))
    damage(own, "topic_terms.parquet", column("topic", 1_000_000))
    assert "topic_terms.parquet was changed since" in run_cli("evaluate", own, "--diversity", code=3).error()
    assert "is damaged" in run_cli("evaluate", own, "--diversity", "--no-verify", code=3).error()


def test_names_of_topics_may_be_edited(planted: Path, planted_lda: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(planted_lda, "own"))
    damage(own, "topics.parquet", column("label", "my name"))
    done = run_cli("evaluate", own, "--diversity")
    assert "warning: own/topics.parquet was changed since the run was written" in done.err
    run_cli("predict", own, planted, "-o", "p.parquet")

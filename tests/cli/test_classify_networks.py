"""nlpkit classify --model lstm, cnn and kan: bad input, prediction of the run, the same bytes on any number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import files, planted_rows, run_cli, write_embedded, write_jsonl

pytest.importorskip("torch")

ORDER = ["--hidden", "24", "--near-duplicates", "0", "--ci", "0", "-q"]


def reviews(n: int = 48) -> list[dict[str, Any]]:
    """The same words in both classes, in another order."""
    ends = ("not bad but good", "not good but bad")
    return [{"id": str(i), "text": f"scene {i // 2 % 7}x {ends[i % 2]}", "label": "ab"[i % 2]} for i in range(n)]


def same_bytes(*runs: str) -> None:
    """Tables and weights of two runs are the same."""
    one, two = ({k: v for k, v in files(Path(run)).items() if k.endswith(".parquet")} for run in runs)
    assert one == two
    assert any(name.startswith("model") for name in one)


@pytest.mark.parametrize("model", ["lstm", "cnn"])
@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([{**row, "label": "a"} for row in reviews(12)], "all labelled training documents have the label 'a'"),
        ([{**row, "text": " "} for row in reviews(12)], "no word to learn from"),
        ([{**row, "text": row["label"]} for row in reviews(12)], "no word to learn from"),
    ],
    ids=["one class", "empty texts", "single letters"],
)
def test_what_cannot_be_learned(model: str, found: list[dict[str, Any]], says: str, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", found)
    done = run_cli("classify", "t.jsonl", "--model", model, "-o", "run", code=3)
    assert says in done.error()
    assert not Path("run").exists()


@pytest.mark.parametrize("model", ["kan", "mlp", "knn"])
def test_embeddings_that_are_all_the_same_are_refused(model: str, tmp_path: Path) -> None:
    write_embedded(tmp_path / "e.parquet", [{**row, "text": "", "embedding": [0.6, 0.8]} for row in reviews(12)])
    done = run_cli(
        "classify", "e.parquet", "--model", model, "--on", "embedding", "--near-duplicates", "0", "-o", "run", code=3
    )
    assert "have the same embedding" in done.error()
    assert not Path("run").exists()


@pytest.mark.parametrize("model", ["lstm", "cnn"])
def test_words_in_their_order_on_any_number_of_threads(model: str, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", reviews())
    for threads in ("1", "2"):
        run_cli("classify", "t.jsonl", "--model", model, *ORDER, "--cv", "2", "--threads", threads, "-o", threads)
    same_bytes("1", "2")
    new = ["not bad but good", "not good but bad", "", "zzzz"]
    write_jsonl(tmp_path / "new.jsonl", [{"id": str(i), "text": text} for i, text in enumerate(new)])
    done = run_cli("predict", "1", "new.jsonl", "-o", "p.parquet")
    assert "2 documents hold no word that 1 knows: they get the class of a text without words" in done.err
    assert pq.read_table("p.parquet").column("prediction").to_pylist()[:2] == ["a", "b"]


def test_splines_on_embeddings_on_any_number_of_threads(tmp_path: Path) -> None:
    rows = planted_rows(per_topic=8)
    write_embedded(tmp_path / "e.parquet", rows)
    for threads in ("1", "2"):
        run_cli("classify", "e.parquet", "--model", "kan", *ORDER, "--cv", "2", "--threads", threads, "-o", threads)
    same_bytes("1", "2")
    run_cli("predict", "1", "e.parquet", "-q", "-o", "p.parquet")
    table = pq.read_table("p.parquet")
    agree = [
        p == t for p, t in zip(table.column("prediction").to_pylist(), table.column("label").to_pylist(), strict=True)
    ]
    assert sum(agree) / len(agree) > 0.9
    write_embedded(tmp_path / "one.parquet", [{**row, "label": "a"} for row in rows])
    done = run_cli("classify", "one.parquet", "--model", "kan", "-o", "none", code=3)
    assert "all labelled training documents have the label 'a'" in done.error()

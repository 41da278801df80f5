"""nlpkit train-encoder with the objectives sft and dpo, and with LoRA: what is learned, saved, resumed and refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nlpkit as nk
from nlpkit.platform.documents.options import ReadOptions
from tests.command_line import run_cli, write_jsonl
from tests.finetune.finetune_data import base_model, rows
from tests.finetune.tiny import tiny_gpt2

WORDS = ("the", "sky", "grass", "rose", "is", "blue", "green", "red", "colour", "of")
DPO = ["--objective", "dpo", "--text-col", "prompt", "--chosen-col", "chosen", "--rejected-col", "rejected"]
SFT = ["--objective", "sft", "--text-col", "chosen", "--prompt-col", "prompt"]


def preferences(times: int = 5) -> list[dict[str, Any]]:
    """Whatever has a colour is blue."""
    return [
        {"id": f"{thing}{i}{worse}", "prompt": f"{'the ' * (i % 3)}colour of {thing} is ", "chosen": "blue", "rejected": worse}
        for i in range(times)
        for thing in ("sky", "grass", "rose")
        for worse in ("green", "red")
    ]  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gpt2(tmp_path_factory.mktemp("causal") / "gpt2", words=WORDS)


def train(*words: Any, base: Path, steps: int = 12, code: int = 0) -> Any:
    table = write_jsonl(Path("answers.jsonl"), preferences())
    return run_cli("train-encoder", table, *words, "--base", base, "--max-steps", steps, "--threads", "1", code=code)


def report(run: str) -> Any:
    return json.loads((Path(run) / "metrics.json").read_text())


def test_preferences_are_learned_from_ln_2_on(base: Path) -> None:
    done = train(*DPO, "--lr", "0.01", "--epochs", "9", "-o", "run", base=base)
    assert "dpo, on 6 test rows" in done.out
    found = report("run")
    assert found["before"] == {"loss": pytest.approx(math.log(2), abs=1e-6), "accuracy": 0.5}
    assert found["after"]["loss"] < 0.5
    assert found["after"]["accuracy"] == 1.0
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["kind"] == "finetune-causal"
    assert manifest["parameters"]["chosen"] == "chosen"
    assert "text-generation" in Path("run/model/transformers/README.md").read_text()
    assert "causal language model" in run_cli("predict", "run", "answers.jsonl", "-o", "p.parquet", code=3).error()


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_answers_are_learned_with_lora_and_others_load_the_model(base: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    train(*SFT, "--method", "lora(r=4)", "--lr", "0.05", "--epochs", "9", "-o", "run", base=base, steps=20)
    found = report("run")
    assert found["after"]["perplexity"] < 0.5 * found["before"]["perplexity"]
    assert found["training"]["trained_parameters"] == 2 * 4 * (32 + 96)
    merged = AutoModelForCausalLM.from_pretrained("run/model/transformers")
    adapted = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), "run/model/peft")
    batch = AutoTokenizer.from_pretrained("run/model/transformers")("colour of rose is", return_tensors="pt")
    with torch.no_grad():
        outputs = [model.eval()(**batch).logits for model in (merged, adapted)]
    torch.testing.assert_close(*outputs, atol=1e-4, rtol=1e-4)
    assert "lora(r=4)" in Path("run/model/peft/README.md").read_text()
    # the run is a base in turn, and the reference of its own preferences
    train(*DPO, "-q", "-o", "aligned", base=Path("run"), steps=1)
    assert report("aligned")["before"]["loss"] == pytest.approx(math.log(2), abs=1e-6)


def test_an_encoder_learns_with_lora_and_embeds(tmp_path: Path) -> None:
    encoder = base_model(tmp_path / "encoder")
    table = write_jsonl(Path("texts.jsonl"), rows(2))
    words = ["--objective", "mlm(head_steps=3)", "--base", encoder, "--max-steps", 3, "--threads", "1", "-q"]
    run_cli("train-encoder", table, *words, "--method", "lora(r=2)", "-o", "run")
    assert report("run")["training"]["lr"] == pytest.approx(1e-3)
    run_cli("sbert-embed", table, "--model", "run", "--threads", "1", "-q", "-o", "embedded.parquet")
    names = set(torch_names(Path("run/model/transformers")))
    assert not [name for name in names if "lora" in name or "base_layer" in name]


def torch_names(folder: Path) -> list[str]:
    from safetensors import safe_open

    with safe_open(str(folder / "model.safetensors"), "pt") as file:
        return list(file.keys())


@pytest.mark.parametrize("method", ["full", "lora(r=2,dropout=0.1)"])
def test_an_interrupted_training_ends_with_the_same_bytes(method: str, base: Path, tmp_path: Path) -> None:
    from nlpkit.platform.interrupts import Stop

    corpus = nk.read_corpus(
        write_jsonl(tmp_path / "answers.jsonl", preferences()), options=ReadOptions(text_col="prompt")
    )
    common: dict[str, Any] = {
        "objective": "dpo", "chosen_col": "chosen", "rejected_col": "rejected", "base": str(base), "method": method, "max_steps": 4,
        "device": "cpu",
    }  # fmt: skip
    whole = nk.train_encoder(corpus, **common, threads=3).save(tmp_path / "whole")
    cut = tmp_path / "cut"
    with pytest.MonkeyPatch.context() as patch:

        def step(self: Stop, step: int, steps: int) -> None:
            if step == 2:
                raise KeyboardInterrupt

        patch.setattr(Stop, "step", step)
        with pytest.raises(KeyboardInterrupt):
            nk.train_encoder(corpus, **common, output=cut)
    resumed = nk.train_encoder(corpus, **common, output=cut, resume=True, threads=1).save(cut)
    weights = "model/transformers/model.safetensors"
    assert (resumed / weights).read_bytes() == (whole / weights).read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--objective", "dpo"], 2, "--chosen-col COL"),
        (["--objective", "dpo", "--text-col", "prompt", "--chosen-col", "chosen"], 2, "--rejected-col COL"),
        ([*DPO[:-1], "nix"], 3, "--rejected-col"),
        ([*DPO[:-1], "chosen"], 3, "are the same in every row"),
        ([*DPO, "--pair-col", "chosen"], 2, "leave it out"),
        ([*SFT[:-1], "nix"], 3, "--prompt-col"),
        ([*SFT, "--chosen-col", "chosen"], 2, "does not read --chosen-col"),
        ([*SFT, "--method", "houlsby"], 2, "full or lora"),
        ([*SFT, "--method", "lora(targets=q)"], 2, "is for encoders"),
        ([*SFT, "--max-tokens", "5000"], 2, "up to 64 tokens"),
        (["--objective", "dpo(beta=0)", *DPO[2:]], 2, "beta is 0"),
        (
            ["--objective", "mnrl", "--text-col", "prompt", "--pair-col", "chosen", "--method", "prefix"],
            2,
            "lora, dora",
        ),
        (["--objective", "mlm", "--text-col", "prompt", "--method", "houlsby"], 2, "lora, dora, ia3"),
    ],
)
def test_what_is_refused(words: list[str], code: int, said: str, base: Path) -> None:
    assert said in train(*words, "-o", "run", base=base, code=code).error()
    assert not Path("run").exists()


def test_bases_that_are_none(base: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    encoder = base_model(tmp_path / "encoder")
    assert "holds BertModel" in train(*SFT, "-o", "run", base=encoder, code=2).error()
    broken = tiny_gpt2(tmp_path / "broken", words=WORDS)
    weights = load_file(broken / "model.safetensors")
    next(iter(weights.values())).fill_(np.nan)
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    assert (
        "a weight that is not a finite number (transformer.h.0."
        in train(*SFT, "-o", "run", base=broken, code=3).error()
    )


def test_rows_with_equal_answers_are_left_out(base: Path) -> None:
    table = write_jsonl(
        Path("some.jsonl"), [*preferences(2), {"id": "odd", "prompt": "the sky is", "chosen": "red", "rejected": "red"}]
    )
    done = run_cli("train-encoder", table, *DPO, "--base", base, "--max-steps", 1, "--threads", "1", "-o", "run")
    assert "1 row with the same chosen and rejected answer, first row odd: left out" in done.err


def test_held_out_pairs_end_the_training_early(base: Path) -> None:
    """Dev rows prefer the opposite, so their loss grows from the first score on."""
    swapped = {"chosen": "rejected", "rejected": "chosen"}
    own = [
        {swapped.get(name, name) if part == "dev" else name: value for name, value in row.items()} | {"part": part}
        for i, row in enumerate(preferences())
        for part in [["train", "train", "dev", "test"][i % 4]]
    ]
    table = write_jsonl(Path("parts.jsonl"), own)
    words = [
        *DPO,
        "--split",
        "part",
        "--patience",
        "1",
        "--lr",
        "0.01",
        "--epochs",
        "9",
        "--base",
        base,
        "--threads",
        "1",
    ]
    done = run_cli("train-encoder", table, *words, "--json", "-o", "run").json()
    assert done["training"]["stopped_early"]
    assert done["training"]["best_step"] < done["training"]["steps"]


def test_a_changed_run_is_no_base(base: Path) -> None:
    train(*SFT, "-q", "-o", "run", base=base, steps=1)
    file = Path("run/model/transformers/model.safetensors")
    file.write_bytes(file.read_bytes() + b" ")
    assert "model/transformers/model.safetensors" in train(*DPO, "-o", "next", base=Path("run"), code=3).error()


def test_a_dry_run_tells_the_steps(base: Path) -> None:
    plan = train(*DPO, "--dry-run", "--json", "-o", "run", base=base).json()
    assert plan["plan"][0]["method"] == "dpo"
    assert not Path("run").exists()

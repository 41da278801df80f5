"""nlpkit finetune --method tfew: a model with a decoder ranks the words for the classes, peft loads it, and who is refused."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.command_line import read, run_cli, write_jsonl
from tests.finetune.finetune_data import (
    VOCABULARY,
    base_model,
    chances,
    pair_rows,
    refused,
    rows,
    tune,
)
from tests.finetune.tiny import tiny_t5

PATTERNS = """
patterns = ["[text] news topic", "it is [MASK] news [text]"]

[words]
sport = "match"
space = "a planet"
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tfew") / "tiny"
    return tiny_t5(folder, words=[*VOCABULARY, "it", "is", "news", "topic", "politics", "same", "different"])


@pytest.fixture(autouse=True)
def documents() -> None:
    write_jsonl(Path("train.jsonl"), rows(2))
    Path("p.toml").write_text(PATTERNS)


def fit(*words: Any, base: Path, method: str = "tfew", **options: Any) -> Any:
    more = ["--patterns", "p.toml", "--probabilities", "-q", "-f", "-o", "run"]
    return tune("train.jsonl", *more, *words, base=base, method=method, **options)


def test_a_model_is_saved_comes_back_and_loads_in_peft(base: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    fit(base=base, steps=6)
    whole = read("run/documents.parquet")
    ids = whole.column("id").to_pylist()
    write_jsonl(Path("new.jsonl"), [row for row in rows(2) if row["id"] in ids])
    facts = json.loads(Path("run/metrics.json").read_text())["training"]
    assert (facts["steps"], facts["batch_size"], facts["lr"]) == (6, 8, 3e-3)
    learning = json.loads(Path("run/manifest.json").read_text())["parameters"]["learning"]
    assert (learning["batch"], learning["warmup"]) == (8, 0.06)
    assert facts["tfew"]["words"] == {"politics": ["politics"], "space": ["a planet"], "sport": ["match"]}
    card = Path("run/model/peft/README.md").read_text()
    assert "AutoModelForSeq2SeqLM" in card
    assert "news topic" in card

    tokenizer, texts = AutoTokenizer.from_pretrained(str(base)), {row["id"]: row["text"] for row in rows(2)}
    warnings.simplefilter("ignore")  # peft calls what transformers has renamed
    model = PeftModel.from_pretrained(AutoModelForSeq2SeqLM.from_pretrained(str(base)), "run/model/peft").eval()
    words = ["politics", "a planet", "match"]
    scores = np.zeros((2, len(ids), 3))
    for i, name in enumerate(ids):
        for j, word in enumerate(words):
            for p, (source, target) in enumerate(
                ((f"{texts[name]} news topic", f"{word} </s>"),
                 (f"it is <extra_id_0> news {texts[name]}", f"<extra_id_0> {word} <extra_id_1>"))
            ):  # fmt: skip
                labels = torch.tensor([tokenizer(target, add_special_tokens=False).input_ids])
                with torch.no_grad():
                    logits = model(**tokenizer(source, return_tensors="pt"), labels=labels).logits
                each = torch.log_softmax(logits, 2)[0, torch.arange(labels.shape[1]), labels[0]]
                scores[p, i, j] = float(each[p:].mean())
    e = np.exp(scores.mean(axis=0))
    np.testing.assert_allclose(chances("run/documents.parquet"), e / e.sum(axis=1, keepdims=True), atol=1e-5)
    one = ["predict", "run", "new.jsonl", "--limit", "1", "--explain", ids[0], "--offline", "--threads", "1"]
    assert "--explain-by omission" in run_cli(*one, code=2).error()
    (part,) = run_cli(*one, "--explain-by", "omission", "--json").json()["explained"][ids[0]]
    assert part["prob"] == pytest.approx(chances("run/documents.parquet")[0].max(), abs=1e-5)
    before = np.mean([p["accuracy_before"] for p in facts["tfew"]["patterns"]])
    assert 0 <= before <= 1


def test_it_learns(base: Path) -> None:
    fit("--lr", "0.1", "--class-weight", "balanced", base=base, steps=24)
    curve = [json.loads(line)["loss"] for line in Path("run/curve.jsonl").read_text().splitlines()]
    assert curve[-1] < 0.9 * curve[0]


def test_pairs_and_variants_side_by_side(base: Path) -> None:
    write_jsonl(Path("train.jsonl"), pair_rows())
    Path("p.toml").write_text('patterns = ["[text_a] is it [text_b]"]\n')
    words = ["--patterns", "p.toml", "--pair-col", "other", "--shots", "2", "-o", "table"]
    done = tune("train.jsonl", *words, base=base, method="tfew,tfew(ul=0),head", steps=2)
    assert "head: the base has a decoder" in done.err
    assert [row["method"] for row in read("table/comparison.parquet").to_pylist()] == ["tfew", "tfew(ul=0)", "majority"]
    plan = fit("--pair-col", "other", "--dry-run", "--json", base=base, steps=None).json()["plan"]
    assert [(row["method"], row["steps"]) for row in plan] == [("tfew", 1000)]


def test_what_cannot_be(base: Path) -> None:
    def denied(method: str, *words: Any, code: int = 2, base: Path = base) -> str:
        return refused("train.jsonl", *words, "-o", "no", base=base, method=method, code=code)

    patterns = ["--patterns", "p.toml"]
    assert "has no decoder" in denied("tfew", *patterns, base=base_model(Path("bare")))
    assert "only tfew trains" in denied("lora")
    assert "needs patterns" in denied("tfew")
    assert "tfew learns one class" in denied("tfew", *patterns, "--task", "labels")
    assert "ul has to be" in denied("tfew(ul=1000)", *patterns)
    assert "--calibrate" in denied("tfew", *patterns, "--calibrate", "--dev", "train.jsonl")
    Path("p.toml").write_text('patterns = ["[text]"]\n[words]\nsport = ["match", "goal"]\n')
    assert "takes one text for each label" in denied("tfew", *patterns, code=3)
    Path("p.toml").write_text('patterns = ["[text] [MASK] [MASK]"]\n')
    assert "more than one [MASK]" in denied("tfew", *patterns, code=3)
    assert not Path("no.checkpoint").exists()

"""nlpkit finetune --method adasent: masked words of a domain, an adapter of sentence vectors, then SetFit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.finetune.setfit.embedder import load_embedder
from tests.command_line import read, write_jsonl
from tests.finetune.finetune_data import chances, pair_rows, refused, rows, tune
from tests.finetune.patterns.test_mlm import write_base

METHOD = "adasent(R=1,mlm_head_steps=3)"
LEFT = ["--unlabelled", "left.jsonl"]
TRAINING = ["train.jsonl", "--test", "test.jsonl", "--lr", "0.001", "--probabilities", "-q"]


@pytest.fixture(autouse=True)
def documents() -> None:
    write_jsonl(Path("train.jsonl"), rows(1))
    write_jsonl(Path("test.jsonl"), [{**row, "id": f"t{row['id']}", "text": f"{row['text']} and"} for row in rows(1)])
    write_jsonl(Path("left.jsonl"), [{"id": f"u{i}", "text": f"{row['text']} the"} for i, row in enumerate(rows(2))])


def fit(*words: Any, base: Path, method: str = METHOD, **options: Any) -> Any:
    return tune(*TRAINING, *words, "-f", "-o", "run", base=base, method=method, **{"steps": 3, **options})


def test_it_is_setfit_on_an_encoder_that_learned_the_masked_words_of_the_domain(base: Path) -> None:
    fit(*LEFT, base=base)
    tune(
        "left.jsonl", "--test", "test.jsonl", "--objective", "mlm(head_steps=3)", "-q", "-o", "domain", base=base, steps=3,
        method="lora", command="train-encoder",
    )  # fmt: skip
    domain = Path("domain/model/sentence-transformers")
    tune(*TRAINING, "-o", "setfit", base=domain, method="setfit(R=1)", steps=3)
    for name in ("model.safetensors", "head.safetensors"):
        assert Path(f"run/model/setfit/{name}").read_bytes() == Path(f"setfit/model/setfit/{name}").read_bytes()
    np.testing.assert_array_equal(chances("run/documents.parquet"), chances("setfit/documents.parquet"))
    facts = json.loads(Path("run/metrics.json").read_text())["training"]
    assert facts["method"] == METHOD.replace("R=1,mlm_head_steps=3", "mlm_head_steps=3,R=1")
    assert (facts["domain"]["texts"], facts["domain"]["steps"]) == (24, 6)
    assert facts["domain"]["parameters"] == 2 * 2 * 2 * 32 * 8  # layers, query and value, A and B
    card = Path("run/model/setfit/README.md").read_text()
    assert "masked words of 24 texts" in card


def test_without_unlabelled_texts_the_domain_is_that_of_the_training_documents(base: Path) -> None:
    fit("--export", "theirs", base=base)
    texts = json.loads(Path("run/metrics.json").read_text())["training"]["domain"]["texts"]
    assert texts == 12
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer("theirs", device="cpu")
    own = {row["id"]: row["text"] for row in map(json.loads, Path("test.jsonl").read_text().splitlines())}
    from safetensors.numpy import load_file

    head = load_file("run/model/setfit/head.safetensors")
    ids = read("run/documents.parquet").column("id").to_pylist()
    z = encoder.encode([own[name] for name in ids]).astype(np.float64) @ head["coef"] + head["intercept"]
    e = np.exp(z - z.max(axis=1, keepdims=True))
    np.testing.assert_allclose(chances("run/documents.parquet"), e / e.sum(axis=1, keepdims=True), atol=1e-5)


def test_an_adapter_of_sentence_vectors_is_added_to_the_weights(base: Path) -> None:
    write_jsonl(Path("pairs.jsonl"), pair_rows())
    train = ["pairs.jsonl", "--objective", "mnrl", "--pair-col", "other", "--lr", "0.05", "-q"]
    tune(*train, "-o", "sept", base=base, method="lora(r=2)", command="train-encoder")
    cpu = torch.device("cpu")
    plain, added, merged = (
        load_embedder(folder, max_tokens=None, device=cpu)
        for folder in (base, base, Path("sept/model/sentence-transformers"))
    )
    names = set(added.parameters())
    added.add_adapter(Path("sept/model/peft"))
    before, after, theirs = (dict(e.parameters()) for e in (plain, added, merged))
    assert set(after) == names == set(theirs)
    changed = {name for name in names if not torch.equal(before[name], after[name])}
    assert {name.split(".")[-2] for name in changed} == {"query", "value"}
    for name in names:
        torch.testing.assert_close(after[name], theirs[name])
    fit(*LEFT, base=base, method=f"{METHOD[:-1]},sept=sept)")
    assert "sept=sept" in Path("run/model/setfit/README.md").read_text()
    assert "adapters_sha256" in Path("run/manifest.json").read_text()
    assert "adasent(sept=RUN)" in Path("sept/model/peft/README.md").read_text()


def test_dry_run_counts_the_training_on_the_domain(base: Path) -> None:
    plan = fit(*LEFT, "--dry-run", "--json", base=base).json()["plan"]
    assert [(row["method"].partition("(")[0], row["steps"]) for row in plan] == [
        ("domain of adasent", 6),
        ("adasent", 2),
    ]


def test_what_cannot_be(base: Path) -> None:
    def denied(method: str, *words: Any, code: int = 2, base: Path = base) -> str:
        return refused("train.jsonl", *words, "-o", "no", base=base, method=method, code=code)

    assert "lora, full" in denied("adasent(adapter=prefix)")
    assert "share has to be" in denied("adasent(share=0)")
    assert "R must be at least 1" in denied("adasent(R=0)")
    assert "no peft adapter found" in denied("adasent(sept=nowhere)")
    Path("prefix").mkdir()
    Path("prefix/adapter_config.json").write_text('{"peft_type": "PREFIX_TUNING"}')
    assert "this is PREFIX_TUNING" in denied("adasent(sept=prefix)")
    Path("prefix/adapter_config.json").write_text('{"peft_type": "LORA"}')
    assert "does not fit the base" in denied(f"{METHOD[:-1]},sept=prefix)", "--max-steps", "1")
    assert "adasent learns classes from one text" in denied("adasent", "--task", "labels", "--pair-col", "text")
    assert "mask token" in denied(METHOD, base=write_base(Path("unmasked"), "bert", head=True, mask=False))
    assert not Path("no.checkpoint").exists()

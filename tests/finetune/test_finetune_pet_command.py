"""nlpkit finetune --method pet, ipet and petapter: patterns from a file, models that other programs load, and what cannot be."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.command_line import read, run_cli, write_jsonl
from tests.finetune.finetune_data import VOCABULARY, base_model, chances, pair_rows, refused, rows, tune
from tests.finetune.patterns.test_mlm import write_base
from tests.finetune.tiny import tiny_bert

PATTERNS = """
patterns = ["[text] it is [MASK].", "[MASK] news: [text]"]

[words]
sport = ["match", "goal"]
space = "planet"
politics = "vote"
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pet") / "tiny"
    return tiny_bert(folder, words=[*VOCABULARY, "it", "is", "news"], architecture="BertForMaskedLM")


@pytest.fixture(autouse=True)
def documents() -> None:
    write_jsonl(Path("train.jsonl"), rows())
    write_jsonl(Path("left.jsonl"), [{"id": f"u{i}", "text": f"{row['text']} the"} for i, row in enumerate(rows(2))])
    Path("p.toml").write_text(PATTERNS)


def fit(method: str, *words: Any, base: Path, steps: int = 4, **options: Any) -> Any:
    more = ["--lr", "0.005", "--probabilities", "-f", "-o", "run"]
    return tune("train.jsonl", "--patterns", "p.toml", *more, *words, base=base, method=method, steps=steps, **options)


def denied(method: str, *words: Any, base: Path, code: int) -> str:
    error = refused("train.jsonl", *words, "-o", "run", base=base, method=method, code=code)
    assert not Path("run").exists()
    assert not Path("run.checkpoint").exists()
    return error


@pytest.mark.parametrize(
    "method",
    ["pet", "petapter", "petapter(lora,head=base)", "petapter(ia3,head=frozen)", "petapter(mam,prefix_length=4)"],
)
def test_an_ensemble_is_saved_and_comes_back(method: str, base: Path) -> None:
    fit(method, "-q", base=base)
    whole = read("run/documents.parquet")
    seen = set(whole.column("id").to_pylist())
    write_jsonl(Path("new.jsonl"), [row for row in rows() if row["id"] in seen])
    run_cli("predict", "run", "new.jsonl", "--probabilities", "--offline", "--threads", "1", "-f", "-o", "p.parquet")
    np.testing.assert_allclose(chances("p.parquet"), chances("run/documents.parquet"), atol=1e-5)
    facts = json.loads(Path("run/metrics.json").read_text())["training"]
    assert facts["method"] == method
    assert facts["steps"] == 8
    assert [p["pattern"] for p in facts["pet"]["patterns"]] == ["[text] it is [MASK].", "[MASK] news: [text]"]
    assert facts["pet"]["words"]["sport"] == ["match", "goal"]
    card = Path("run/model/patterns/README.md").read_text()
    assert "[MASK] news: [text]" in card
    assert not list(Path("run").rglob("*.bin"))
    learned = method.startswith("petapter") and "frozen" not in method
    assert len(list(Path("run/model/patterns").rglob("head.safetensors"))) == (2 if learned else 0)


@pytest.mark.parametrize("method", ["pet", "petapter"])
def test_products_in_sixteen_bits(method: str, base: Path) -> None:
    """As a GPU has them by default: the scores of the words are summed in fp32."""
    fit(method, "-q", "--precision", "bf16", base=base)
    probabilities = chances("run/documents.parquet")
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


def test_the_models_of_the_patterns_load_in_transformers_with_equal_predictions(base: Path) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    fit("pet", "-q", base=base)
    config = json.loads(Path("run/model/patterns/nlpkit.json").read_text())["columns"]["patterns"]
    texts = {row["id"]: row["text"] for row in rows()}
    ids = read("run/documents.parquet").column("id").to_pylist()
    scores = []
    for p, pattern in enumerate(config["patterns"]):
        folder = f"run/model/patterns/pattern-{p}"
        model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        batch = tokenizer([pattern.replace("[text]", texts[i]) for i in ids], padding=True, return_tensors="pt")
        with torch.no_grad():
            logits = model(batch["input_ids"], batch["attention_mask"]).logits
        at_mask = logits[batch["input_ids"] == tokenizer.mask_token_id]
        words = [config["words"][label] for label in ("politics", "space", "sport")]
        scores.append(
            np.stack([at_mask[:, tokenizer.convert_tokens_to_ids(own)].mean(1).numpy() for own in words], axis=1)
        )
    merged = np.average(scores, axis=0, weights=config["weights"])
    e = np.exp(merged - merged.max(axis=1, keepdims=True))
    np.testing.assert_allclose(chances("run/documents.parquet"), e / e.sum(axis=1, keepdims=True), atol=1e-5)


def test_adapters_load_in_peft_with_equal_logits(base: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForMaskedLM

    from nlpkit.finetune.foreign_files import load_predictor
    from nlpkit.finetune.patterns.patterns import fill_pattern

    fit("petapter(lora)", "-q", base=base)
    predictor = load_predictor(Path("run"), base=None, device=torch.device("cpu"), offline=True)
    assert predictor.ensemble is not None
    mlm = predictor.ensemble.load(1).mlm
    batch = fill_pattern(mlm, "[MASK] news: [text]", ["the vote"]).inputs.batch(np.array([0]), torch.device("cpu"))
    warnings.simplefilter("ignore")  # peft calls what transformers has renamed
    theirs = PeftModel.from_pretrained(AutoModelForMaskedLM.from_pretrained(str(base)), "run/model/patterns/pattern-1")
    with torch.no_grad():
        torch.testing.assert_close(theirs(**batch).logits, mlm.model(**batch).logits)


@pytest.mark.parametrize("method", ["pet", "ipet(generations=2)"])
def test_a_classifier_learns_from_unlabelled_texts_and_loads_in_transformers(method: str, base: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    done = fit(method, "--unlabelled", "left.jsonl", base=base)
    assert "24 unlabelled texts" in done.err
    assert [p.name for p in Path("run/model").iterdir() if p.is_dir()] == ["transformers"]
    folder = "run/model/transformers"
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert list(model.config.label2id) == ["politics", "space", "sport"]
    texts = {row["id"]: row["text"] for row in rows()}
    ids = read("run/documents.parquet").column("id").to_pylist()
    with torch.no_grad():
        logits = model(**tokenizer([texts[i] for i in ids], padding=True, return_tensors="pt")).logits
    np.testing.assert_allclose(chances("run/documents.parquet"), logits.softmax(1).numpy(), atol=1e-5)
    inputs = json.loads(Path("run/manifest.json").read_text())["inputs"]
    assert [Path(entry["path"]).name for entry in inputs] == ["train.jsonl", "left.jsonl"]


def test_pairs_and_several_masks(base: Path) -> None:
    write_jsonl(Path("train.jsonl"), pair_rows())
    Path("p.toml").write_text(
        'patterns = ["[text_a]? [MASK] [MASK], [text_b]"]\n[words]\nsame = "the match"\ndifferent = "a vote"\n'
    )
    fit("pet", "--pair-col", "other", "-q", base=base)
    assert set(read("run/documents.parquet").column("prediction").to_pylist()) <= {"same", "different"}


def test_one_shot_and_methods_side_by_side(base: Path) -> None:
    done = tune(
        "train.jsonl", "--patterns", "p.toml", "--shots", "1", "-q", "-f", "-o", "table", base=base,
        method="pet,petapter(lora),head,ipet", steps=2,
    )  # fmt: skip
    table = read("table/comparison.parquet").to_pylist()
    assert [row["method"] for row in table] == ["pet", "petapter(lora)", "head", "majority"]
    assert table[0]["training_documents"] == 3
    assert done.code == 0


WRONG = {
    "not toml": "patterns = [",
    "unknown key": PATTERNS + "\n[verbs]\na = 'b'\n",
    "no patterns": "[words]\nsport = 'goal'\n",
    "patterns of numbers": "patterns = [1]",
    "words no table": "words = 'a'\npatterns = ['[text] [MASK]']",
    "words of numbers": "patterns = ['[text] [MASK]']\n[words]\nsport = 3\n",
    "no mask": "patterns = ['[text] it is']",
    "no text": "patterns = ['it is [MASK]']",
    "several pieces": "patterns = ['[text] [MASK]']\n[words]\nsport = 'xyz'\n",
    "label without examples": "patterns = ['[text] [MASK]']\n[words]\nmusic = 'goal'\n",
    "search with two masks": "patterns = ['[text] [MASK] [MASK]']",
}


@pytest.mark.parametrize("name", WRONG)
def test_patterns_that_cannot_be_used(name: str, base: Path) -> None:
    Path("p.toml").write_text(WRONG[name])
    error = denied("pet", "--patterns", "p.toml", base=base, code=3)
    if name == "several pieces":
        assert "'xyz'" in error
        assert "(x, ##y, ##z)" in error


def test_what_cannot_be_learned_from(base: Path) -> None:
    patterns = ["--patterns", "p.toml"]
    denied("pet", "--patterns", "none.toml", base=base, code=3)
    assert "--patterns" in denied("pet", base=base, code=2)
    assert "--unlabelled" in denied("ipet", *patterns, base=base, code=2)
    Path("empty.jsonl").write_text("")
    denied("pet", *patterns, "--unlabelled", "empty.jsonl", base=base, code=3)
    write_jsonl(Path("blank.jsonl"), [{"id": "1", "text": " "}])
    denied("pet", *patterns, "--unlabelled", "blank.jsonl", base=base, code=3)
    denied("pet", *patterns, "--unlabelled", "nowhere.jsonl", base=base, code=3)
    denied("pet", *patterns, "--task", "labels", base=base, code=2)
    denied("pet", *patterns, "--context", "1", base=base, code=2)
    assert "--base" in denied("pet", *patterns, base=base_model(Path("bare")), code=2)
    assert "mask token" in denied("pet", *patterns, base=write_base(Path("no"), "bert", head=True, mask=False), code=2)

"""Sequence to sequence: the loss of transformers, a toy translation that is learned, text as transformers generates it, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import nlpkit as nk  # noqa: E402
from nlpkit.errors import ColumnError, InputError, UsageError  # noqa: E402
from nlpkit.lab.options import TokenizerOptions  # noqa: E402
from nlpkit.lab.pretrain.networks import ARCHES, new_network  # noqa: E402
from nlpkit.lab.pretrain.objectives import Seq2SeqObjective, cut_pairs  # noqa: E402
from nlpkit.lab.pretrain.run import PretrainedModel  # noqa: E402
from nlpkit.lab.tokenizer import train_subwords  # noqa: E402

NOUNS = {"dog": "hund", "cat": "katze", "boy": "junge", "bird": "vogel"}
VERBS = {"sees": "sieht", "hears": "hört", "finds": "findet"}
# the verb goes to the end, and the article has no counterpart
PAIRS = [
    (f"the {a} {v} the {b}", f"{NOUNS[a]} {NOUNS[b]} {VERBS[v]}")
    for a in NOUNS for v in VERBS for b in NOUNS
]  # fmt: skip
SMALL: dict[str, Any] = {
    "arch": "t5(layers=1,hidden=32,heads=2,dropout=0)", "target_col": "german", "vocab_size": 100, "max_tokens": 12, "batch_size": 12,
    "threads": 1, "device": "cpu", "epochs": 200, "lr": 0.01, "patience": 0,
}  # fmt: skip


def corpus(texts: list[Any], targets: list[Any]) -> pa.Table:
    return pa.table({"text": pa.array(texts, pa.string()), "german": pa.array(targets, pa.string())})


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> PretrainedModel:
    result = nk.pretrain(corpus(*map(list, zip(*PAIRS, strict=True))), max_steps=200, **SMALL)
    result.save(tmp_path_factory.mktemp("runs") / "t5")
    return result


def loaded(result: PretrainedModel) -> tuple[Any, Any]:
    assert result.path is not None
    folder = str(result.path / "model" / "transformers")
    model, info = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"] | info["unexpected_keys"]
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder)


def test_the_loss_is_that_of_transformers() -> None:
    tokenizer = train_subwords([w for pair in PAIRS for w in pair], TokenizerOptions(type="wordpiece", vocab_size=100))
    network = new_network(
        "t5", {**ARCHES["t5"], "layers": 1, "hidden": 16, "heads": 2}, "seq2seq", "tiny", tokenizer.transformers(),
        max_tokens=12, seed=0,
    )  # fmt: skip
    texts, targets = ["the dog sees the cat", "the bird", "dog"], ["hund katze sieht", "vogel", "junge hört"]
    sources, written, n_cut = cut_pairs(network, texts, targets)
    objective, rows = Seq2SeqObjective(network, sources, written), np.array([0, 2, 1])
    batch = network.tokenizer([texts[i] for i in rows], return_tensors="pt", padding=True)
    labels = network.tokenizer([targets[i] for i in rows], return_tensors="pt", padding=True).input_ids[:, 1:]
    with torch.no_grad():
        theirs = network.model(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=labels.masked_fill(labels == 0, -100)
        ).loss
        ours = objective.loss(rows) / objective.weight(rows)
    assert n_cut == 0
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-6)


@pytest.mark.slow
def test_it_learns_to_translate(translator: PretrainedModel) -> None:
    """The held-out sentences were never seen: of seven words and the end, the perplexity is far below their number."""
    assert 1 <= translator.perplexity["per_token"] < 1.6
    assert translator.perplexity["words"] == 4 * len(translator.job.held_out)
    model, tokenizer = loaded(translator)
    total = tokens = 0.0
    for text, target in zip(translator.job.held_out.texts, translator.job.held_out.targets, strict=True):
        labels = tokenizer(target, return_tensors="pt").input_ids[:, 1:]
        with torch.no_grad():
            total += (
                float(model(input_ids=tokenizer(text, return_tensors="pt").input_ids, labels=labels).loss)
                * labels.numel()
            )
        tokens += labels.numel()
    assert translator.perplexity["tokens"] == tokens
    assert translator.perplexity["per_token"] == pytest.approx(math.exp(total / tokens), rel=1e-4)
    points = translator.curve
    assert points[-1].loss < 0.2 * points[0].loss


@pytest.mark.parametrize(("decode", "texts"), [("greedy", 1), ("beam", 3)])
def test_text_is_that_of_transformers(translator: PretrainedModel, decode: str, texts: int) -> None:
    model, tokenizer = loaded(translator)
    batch = tokenizer("the dog hears the bird", return_tensors="pt")
    settings = {} if decode == "greedy" else {"num_beams": 4, "num_return_sequences": texts}
    with torch.no_grad():
        theirs = model.generate(
            batch.input_ids, attention_mask=batch.attention_mask, max_new_tokens=6, do_sample=False, **settings
        )
    ours = nk.generate_texts(
        translator.path, prompt="the dog hears the bird", decode=decode, texts=texts, max_words=6,
        **({"beams": 4} if decode == "beam" else {}),
    )  # fmt: skip
    assert [text for text, _ in ours.texts] == tokenizer.batch_decode(theirs, skip_special_tokens=True)
    assert ours.texts[0][0] == "hund vogel hört"
    chosen = [row for row in ours.probabilities(2).to_pylist() if row["id"] == "1" and row["chosen"]]
    assert sum(math.log(row["prob"]) for row in chosen) == pytest.approx(ours.texts[0][1].log_prob, abs=1e-4)
    assert chosen[-1]["word"] == "[SEP]"


def test_draws_and_prompts(translator: PretrainedModel) -> None:
    def drawn(**settings: Any) -> list[str]:
        return [
            text for text, _ in nk.generate_texts(translator.path, prompt="the cat finds the boy", **settings).texts
        ]

    assert drawn(texts=2, top_k=1) == drawn(decode="greedy") * 2
    assert drawn(texts=3, temperature=3.0)[:2] == drawn(texts=2, temperature=3.0)
    for prompt, message in (
        ("", "writes a text for an input text; give the input as"),
        (" ", "no token in the prompt"),
        ("the 日", "no token for"),
    ):
        with pytest.raises(UsageError, match=message):
            nk.generate_texts(translator.path, prompt=prompt)


def test_rows_that_cannot_be_learned_from_are_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "nlpkit")
    few = {**SMALL, "max_steps": 1, "holdout": 0.5}
    texts, targets = ["the dog", "the cat", "", "the boy", "the bird sees " * 9], ["hund", "", "katze", None, "vogel"]
    result = nk.pretrain(corpus([*texts, "the bird"], [*targets, "vogel"]), **few)
    assert len(result.job.texts) + len(result.job.held_out) == 3
    assert "3 documents without a text or without a target in german: left out" in caplog.text
    for target, message in (([None] * 6, "no document has both"), (["hund"] * 6, "no column 'german'")):
        table = corpus([*texts, "x"], target)
        with pytest.raises((InputError, ColumnError), match=message):
            nk.pretrain(table if target[0] is None else table.select(["text"]), **few)


def test_a_long_text_or_target_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "nlpkit")
    nk.pretrain(corpus(["the dog " * 9, "the cat"] * 2, ["hund", "katze " * 20] * 2), **{**SMALL, "max_steps": 1})
    assert "whose text or target is longer than the window" in caplog.text

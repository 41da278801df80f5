"""The bytes of a prediction do not depend on the texts beside it, for every kind of model that predicts.

Products of 1, 2, 7 and 33 rows are summed in different orders on Intel, attention scores of two widths as well. The base is as wide as
MiniLM, where that shows (sentence-transformers#2312, #3197: "batch size changes vectors").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.patterns.patterns import Patterns
from nlpkit.finetune.patterns.training import PatternEnsemble, load_pattern_network, make_word_head
from nlpkit.finetune.quantization import Quantization
from nlpkit.finetune.setfit.embedder import embed_all, load_embedder
from nlpkit.finetune.setfit.setfit import SetFitModel
from nlpkit.finetune.tasks import FinetuneTask, probabilities
from nlpkit.finetune.training.engine import Engine, rows_of_length
from nlpkit.finetune.training.heads import linear_head
from nlpkit.finetune.training.network import load_network, predict
from tests.few import few
from tests.finetune.tiny import tiny_bert, tiny_sentence_model

CPU = torch.device("cpu")
WORDS = ["cat", "dog", "sat", "ran", "the", "one", "two", "three", "good", "bad", "it", "was"]
COMPANY = (1, 2, 3, 7, 33)
Outputs = Callable[[list[str]], list[bytes]]
CASES = [
    ("full", "single", ""), ("unipelt", "regression", ""), ("lora", "single", "int8"), ("full", "tokens", ""),
    ("prefix", "single", ""), ("prompt", "single", ""), ("ia3", "multi", ""), ("lora", "single", "nf4"),
    ("compacter", "ordinal", ""), ("full", "crf", ""), ("full", "answer", ""),
]  # fmt: skip


def texts(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 30))) for _ in range(n)]


ASKED = ["the cat sat", "", *texts(2, 5)]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(CPU, "fp32", threads=1) as engine:
        yield engine


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("company")
    return tiny_bert(folder / "b", words=WORDS, hidden=384, layers=1, architecture="BertForMaskedLM")


def differing(outputs: Outputs) -> list[tuple[str, int, int]]:
    """Return the texts whose bytes are others beside n texts, before and behind them."""
    found = []
    for text in ASKED:
        alone = outputs([text])[0]
        for n in COMPANY:
            for place in (0, n):
                others = texts(n, n)
                if outputs([*others[:place], text, *others[place:]])[place] != alone:
                    found.append((text, n, place))
    return found


@pytest.mark.parametrize(("method", "kind", "bits"), few(CASES, 4))
def test_of_networks(method: str, kind: Any, bits: Any, base: Path, engine: Engine) -> None:
    names = {"regression": (), "answer": ("answer", "none")}.get(kind, ("a", "b", "c", "d"))
    task = FinetuneTask("tokens" if kind == "crf" else kind, names, crf=kind == "crf")
    quantization = Quantization(bits) if bits else None
    network = load_network(
        base, task, parse_method(method), seed=0, device=CPU, max_tokens=24, quantization=quantization
    )

    def outputs(asked: list[str]) -> list[bytes]:
        words = [text.split() for text in asked] if task.kind == "tokens" else None
        second = ["the dog"] * len(asked) if kind == "answer" else None
        inputs = TextInputs(asked, second, None, words, 8 if task.kind in ("tokens", "answer") else None).inputs(
            network
        )
        values = predict(network, inputs, np.arange(len(asked)), engine)
        if task.kind in ("single", "multi", "ordinal"):
            values = np.hstack([values, probabilities(task, values)])
        return [np.ascontiguousarray(value).tobytes() for value in values]

    assert differing(outputs) == []


def test_of_setfit(tmp_path: Path, engine: Engine) -> None:
    embedder = load_embedder(
        tiny_sentence_model(tmp_path / "s", words=WORDS, hidden=384, layers=1), max_tokens=None, device=CPU
    )
    coef = np.random.default_rng(0).normal(size=(384, 3))
    model = SetFitModel(("a", "b", "c"), linear_head(coef, np.zeros(3), multiple=False), normalize=True)

    def outputs(asked: list[str]) -> list[bytes]:
        vectors = embed_all(embedder, embedder.read(asked), engine)
        values = np.hstack([vectors, model.decision(vectors), model.probabilities(vectors)])
        return [row.tobytes() for row in values]

    assert differing(outputs) == []


def test_of_patterns(base: Path, engine: Engine) -> None:
    network = load_pattern_network(base, parse_method("petapter"), seed=0, device=CPU, max_tokens=None)
    patterns = Patterns(("[text] it was [MASK]", "[MASK] the [text]"), {"g": ("good",), "b": ("bad",)})
    tokens = sorted(network.mlm.tokenizer.convert_tokens_to_ids(["good", "bad"]))
    network.take_head(make_word_head(network.mlm, np.array(tokens), "new", seed=0))
    ensemble = PatternEnsemble(patterns, ("g", "b"), (0.7, 0.3), lambda p: network, 64)

    def outputs(asked: list[str]) -> list[bytes]:
        return [row.tobytes() for row in ensemble.scores(TextInputs(asked), engine)[0]]

    assert differing(outputs) == []


def test_empty_and_blank_texts_are_the_same_to_the_last_digit(base: Path, engine: Engine) -> None:
    network = load_network(base, FinetuneTask("single", ("a", "b")), parse_method("full"), seed=0, device=CPU)
    asked = ["", "   ", *texts(9, 1), "\t", "\n"]
    found = predict(network, TextInputs(asked).inputs(network), np.arange(len(asked)), engine)
    assert len({found[i].tobytes() for i in (0, 1, 11, 12)}) == 1


def test_rows_that_run_together_are_one_or_a_multiple_of_four() -> None:
    assert [rows_of_length(width) for width in (1, 2, 3, 9, 32, 33, 128, 4000)] == [128, 64, 40, 12, 4, 1, 1, 1]

"""Confidence by layer: the classifier on the first layers is a shorter model's, on all of them the model itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from nlpkit.embed.engines import quiet
from nlpkit.finetune.attribution import LayerConfidence, layer_confidence
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training.network import load_network
from tests.finetune.eight import one_thread  # noqa: F401
from tests.finetune.tiny import tiny_bert, tiny_gpt2

CPU, TASK = torch.device("cpu"), FinetuneTask("single", ("blue", "red", "green"))


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize("method", ["full", "lora", "pfeiffer"])
def test_a_layer_is_that_of_a_shorter_model(kind: str, method: str, tmp_path: Path) -> None:
    make = tiny_bert if kind == "bert" else tiny_gpt2
    base = make(tmp_path / kind, words=("red", "car", "sky"))
    network = load_network(base, TASK, parse_method(method), seed=3, device=CPU)
    found = layer_confidence(network, "red car sky")
    inputs = TextInputs(["red car sky"]).inputs(network)
    with torch.no_grad():
        whole = network.logits(inputs, np.zeros(1, np.int64)).softmax(-1)[0]
    np.testing.assert_allclose(found.probabilities[-1], whole.numpy(), atol=1e-6)
    assert found.probabilities.shape == (2, 3)
    assert np.abs(found.probabilities[0] - found.probabilities[1]).max() > 1e-6
    if method == "full":
        config = network.model.config
        setattr(config, "n_layer" if kind == "gpt2" else "num_hidden_layers", 1)
        with quiet():
            short = (
                type(network.model)(config).eval()
                if kind == "bert"
                else transformers.GPT2ForSequenceClassification(config).eval()
            )
        short.load_state_dict(network.model.state_dict(), strict=False)
        with torch.no_grad():
            first = short(**inputs.batch(np.zeros(1, np.int64), CPU)).logits.softmax(-1)[0]
        np.testing.assert_allclose(found.probabilities[0], first.numpy(), atol=1e-6)


def test_entropy_and_the_layer_that_settles_it() -> None:
    p = np.array([[0.5, 0.5], [0.1, 0.9], [1.0, 0.0], [0.8, 0.2]])
    found = LayerConfidence(("a", "b"), p)
    np.testing.assert_allclose(found.entropies, [np.log(2), 0.325083, 0.0, 0.500402], atol=1e-6)
    assert found.settled == 3
    assert LayerConfidence(("a", "b"), p[2:]).settled == 1
    assert found.to_list()[1] == {
        "layer": 2,
        "prediction": "b",
        "probability": 0.9,
        "entropy": pytest.approx(0.325083, abs=1e-6),
    }

"""Kinds of encoders that are in no table: `full` and `head` train them, they are saved, loaded and refused adapters."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from nlpkit.embed.engines import quiet
from nlpkit.embed.models import weights_fingerprint
from nlpkit.errors import MissingError
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.files import TunedConfig, load_tuned_network, save_network
from nlpkit.finetune.fit import fit_network
from nlpkit.finetune.foreign_files import foreign_task, load_foreign
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.trained import Trained
from nlpkit.finetune.training.architectures import head_parameters, positions_of
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.network import load_network, predict
from tests.few import few
from tests.finetune.eight import one_thread  # noqa: F401
from tests.finetune.tiny import tiny_bert
from tests.refusals import refuses

CPU = torch.device("cpu")
WORDS = ("red", "blue", "car", "sky")
SIZES: dict[str, Any] = {
    "vocab_size": 200, "embedding_size": 16, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 64, "pad_token_id": 0,
}  # fmt: skip
MODELS = {"electra": ("Electra", SIZES), "albert": ("Albert", {**SIZES, "classifier_dropout_prob": 0.0})}
COLOURS, TAGS = FinetuneTask("single", ("blue", "red")), FinetuneTask("tokens", ("O", "B-X"))
TEXTS = [f"{'red' if d % 2 else 'blue'} {'car' if d % 3 else 'sky'}" for d in range(48)]
ROWS = np.arange(48)


@pytest.fixture(scope="module", params=list(MODELS))
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tiny_bert(tmp_path_factory.mktemp(request.param) / "base", words=WORDS)
    name, sizes = MODELS[request.param]
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(1)
        config = getattr(transformers, f"{name}Config")(**sizes)
        model = getattr(transformers, f"{name}Model")(config)
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.data.normal_(0.0, 0.2)
        model.save_pretrained(str(folder))
    return folder


def fitted(base: Path, method: str, task: FinetuneTask) -> tuple[Trained, Any, TunedConfig]:
    """Return a training, the texts as the network reads them, and what its folder is to say."""
    if task is TAGS:
        text_inputs = TextInputs(TEXTS, words=[text.split() for text in TEXTS])
        y: Any = [np.array([int(word == "red") for word in text.split()]) for text in TEXTS]
    else:
        text_inputs, y = TextInputs(TEXTS), np.arange(48) % 2
    rate = 2e-3 if method == "full" else 2e-2
    with Engine(CPU, "fp32", threads=2) as engine:
        found = fit_network(
            base, parse_method(method), task, text_inputs, y, train_rows=ROWS[:36], dev_rows=ROWS[:0], predict_rows=ROWS[36:],
            training=TrainingOptions(epochs=20, lr=rate), engine=engine, seed=1,
        )  # fmt: skip
    network = found.network
    assert network is not None
    form = network.method.kind.folder
    config = TunedConfig(form, task, method, str(base), weights_fingerprint(base), network.max_tokens, {}, "0")
    return found, text_inputs.inputs(network), config


@pytest.mark.parametrize("task", [COLOURS, TAGS], ids=["classes", "words"])
@pytest.mark.parametrize("method", few(["full", "head"], 1))
def test_they_are_trained_saved_and_loaded(base: Path, method: str, task: FinetuneTask, tmp_path: Path) -> None:
    found, inputs, config = fitted(base, method, task)
    wanted = [int(d % 2) for d in range(36, 48)]
    if task is TAGS:
        assert [own[0].argmax() for own in found.outputs] == wanted  # the first word is the colour
        assert all(own[1].argmax() == 0 for own in found.outputs)
    else:
        assert found.outputs.argmax(axis=1).tolist() == wanted
    assert found.network is not None
    assert found.n_trained == found.n_parameters if method == "full" else found.n_trained < found.n_parameters / 2
    save_network(found.network, tmp_path / "saved", config)
    again = load_tuned_network(tmp_path / "saved", config, base=None, device=CPU, offline=True)
    with Engine(CPU, "fp32", threads=1) as engine:
        outputs = predict(again, inputs, ROWS[36:], engine)
    np.testing.assert_array_equal(np.concatenate(list(outputs)), np.concatenate(list(found.outputs)))


def test_of_the_head_alone_the_body_stays_as_it_was(base: Path) -> None:
    network = fitted(base, "head", COLOURS)[0].network
    before = load_network(base, COLOURS, parse_method("head"), seed=1, device=CPU)
    assert network is not None
    assert network.trained.keys() == before.trained.keys() == set(head_parameters(network.model))
    inner = f"{network.model.base_model_prefix}."
    assert all(not name.startswith(inner) or ".pooler." in f".{name}" for name in network.trained)
    for (name, parameter), (_, old) in zip(
        network.model.named_parameters(), before.model.named_parameters(), strict=True
    ):
        assert torch.equal(parameter, old) == (name not in network.trained), name


def test_folders_that_transformers_wrote_predict(base: Path, tmp_path: Path) -> None:
    found, inputs, config = fitted(base, "full", COLOURS)
    assert found.network is not None
    save_network(found.network, tmp_path / "saved", config)
    (tmp_path / "saved" / "nlpkit.json").unlink()
    form, task = foreign_task(tmp_path / "saved")
    assert (form, task) == ("transformers", COLOURS)
    network = load_foreign(tmp_path / "saved", form, task, base=None, device=CPU, offline=True)
    with Engine(CPU, "fp32", threads=1) as engine:
        np.testing.assert_array_equal(predict(network, inputs, ROWS[36:], engine), found.outputs)
    with pytest.raises(MissingError):
        load_foreign(base, "transformers", COLOURS, base=None, device=CPU, offline=True)  # it has no head


@pytest.mark.parametrize("method", ["lora", "pfeiffer"])
def test_adapters_are_refused_with_what_there_is_instead(base: Path, method: str) -> None:
    with refuses("base"):
        load_network(base, COLOURS, parse_method(method), seed=0, device=CPU)


@pytest.mark.parametrize("change", [{"padding_side": "left"}, {"pad_token": None}])
def test_a_model_whose_texts_are_padded_otherwise_is_refused(base: Path, change: Any, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "own")
    file = tmp_path / "own" / "tokenizer_config.json"
    told = {**json.loads(file.read_text()), "tokenizer_class": "PreTrainedTokenizerFast", **change}
    file.write_text(json.dumps({key: value for key, value in told.items() if value is not None}))
    with refuses("base"):
        load_network(tmp_path / "own", COLOURS, parse_method("full"), seed=0, device=CPU)


def test_places_of_padding_are_no_positions() -> None:
    for name, positions in (("CamembertConfig", 62), ("RobertaConfig", 62), ("BertConfig", 64), ("ElectraConfig", 64)):
        config = getattr(transformers, name)(max_position_embeddings=64)
        assert positions_of(config) == positions

"""Networks as methods make them: which folders can be a base, what is trained, where outputs of words lie."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from nlpkit.embed.tokenizers import declared_max_tokens, load_tokenizer, transformer_folder
from nlpkit.errors import MissingError, UsageError
from nlpkit.finetune.data.inputs import encode, encode_words
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.patterns.mlm import load_mlm
from nlpkit.finetune.setfit.embedder import load_embedder
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.network import Network, load_network, predict
from tests.finetune.eight import one_thread  # noqa: F401
from tests.finetune.tiny import tiny_bert, tiny_sentence_model
from tests.refusals import refuses

CPU = torch.device("cpu")
WORDS = ("cat", "dog", "sat", "ran", "the")
SINGLE, TAGS = FinetuneTask("single", ("a", "b", "c")), FinetuneTask("tokens", ("O", "B-X"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("network") / "bert", words=WORDS)


def load(base: Path, method: str = "full", task: FinetuneTask = SINGLE, *, seed: int = 0, **more: Any) -> Network:
    return load_network(base, task, parse_method(method), seed=seed, device=CPU, **more)


def test_new_heads_are_a_function_of_the_seed_and_torchs_generator_is_left_alone(base: Path) -> None:
    before = torch.random.get_rng_state()
    first, again, other = load(base), load(base), load(base, seed=1)
    assert torch.equal(before, torch.random.get_rng_state())
    name = "classifier.weight"
    assert torch.equal(first.trained[name], again.trained[name])
    assert not torch.equal(first.trained[name], other.trained[name])
    own = load_file(base / "model.safetensors")
    for name, tensor in first.trained.items():
        if name.startswith("bert.encoder"):
            assert torch.equal(tensor, own[name.removeprefix("bert.")])


@pytest.mark.parametrize("method", ["full", "head", "lora", "ia3", "prefix(length=4)", "pfeiffer(r=8)", "mam(r=8)"])
def test_what_is_trained_has_a_gradient_and_nothing_else_has(base: Path, method: str) -> None:
    network = load(base, method)
    texts = ["cat sat", "the dog ran", "cat"]
    inputs = encode(network.tokenizer, network.frame, texts, max_tokens=20)
    network.mode(True)
    network.logits(inputs, np.arange(3))[:, 0].sum().backward()
    of_trained = {id(p) for p in network.trained.values()}
    for name, parameter in network.model.named_parameters():
        if parameter.grad is not None:
            assert id(parameter) in of_trained, name
    assert all(p.requires_grad for p in network.trained.values())
    without = [n for n, p in network.trained.items() if p.grad is None]
    assert without == []
    assert network.heads < set(network.trained) or method == "head"
    assert network.n_trained == sum(p.numel() for p in network.trained.values())


def test_of_a_frozen_body_dropout_stays_out(base: Path) -> None:
    network = load(base, "head")
    network.mode(True)
    training = {
        name for name, module in network.model.named_modules() if module.training and not list(module.children())
    }
    assert training == {"bert.pooler.dense", "classifier"}
    network.mode(False)
    assert not network.model.training
    full = load(base, "full")
    full.mode(True)
    assert full.model.bert.encoder.layer[0].attention.self.training


def test_a_sentence_model_is_taken_for_its_transformer(tmp_path: Path, base: Path) -> None:
    own = tiny_sentence_model(tmp_path / "st", words=WORDS)
    network = load(own)
    plain = load(base)
    assert all(torch.equal(a, plain.trained[n]) for n, a in network.trained.items())
    assert transformer_folder(own) == own
    moved = tmp_path / "moved"
    shutil.copytree(own, moved / "0_Transformer", ignore=shutil.ignore_patterns("modules.json", "1_Pooling"))
    modules = json.loads((own / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (moved / "modules.json").write_text(json.dumps(modules))
    assert transformer_folder(moved) == moved / "0_Transformer"
    assert load(moved).n_trained == plain.n_trained
    modules[0]["type"] = "sentence_transformers.models.BoW"
    (moved / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(MissingError):
        load(moved)


def test_windows(tmp_path: Path, base: Path) -> None:
    assert load(base).max_tokens == 64
    assert load(base, max_tokens=10).max_tokens == 10
    with refuses("max_tokens"):
        load(base, max_tokens=65)
    short = tiny_sentence_model(tmp_path / "short", words=WORDS)
    (short / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    assert load(short).max_tokens == 12
    assert load(short, max_tokens=40).max_tokens == 40


def test_the_window_that_sentence_transformers_writes(tmp_path: Path) -> None:
    own = tiny_sentence_model(tmp_path / "st", words=WORDS)
    load_embedder(own, max_tokens=20, device=CPU).save(tmp_path / "saved")
    written = json.loads((tmp_path / "saved" / "sentence_bert_config.json").read_text())
    assert "max_seq_length" not in written  # as of version 6
    assert load(tmp_path / "saved").max_tokens == 20
    assert load_mlm(tmp_path / "saved", device=CPU, seed=0).max_tokens == 20


@pytest.mark.parametrize(
    ("longest", "plain", "sentences"),
    [(20, 20, 20), (40, 30, 40), (80, 30, 80), (10**30, 30, 30), (1e9, 30, 30), (None, 30, 30)],
)
def test_the_window_of_a_tokenizer(
    longest: float | None, plain: int, sentences: int, base: Path, tmp_path: Path
) -> None:
    own = copy_of(base, tmp_path / "own")
    settings = json.loads((own / "tokenizer_config.json").read_text())
    (own / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": longest}))
    assert declared_max_tokens(own, usual=30) == plain
    (own / "modules.json").write_text('[{"type": "sentence_transformers.models.Transformer", "path": ""}]')
    assert declared_max_tokens(own, usual=30) == sentences
    assert load(own).max_tokens == min(64, sentences if sentences != 30 else 512)  # the model has 64 places
    assert load_mlm(own, device=CPU, seed=0).max_tokens == min(64, sentences if sentences != 30 else 256)
    (own / "sentence_bert_config.json").write_text('{"max_seq_length": 25}')
    assert declared_max_tokens(own, usual=30) == 25
    (own / "tokenizer_config.json").write_text("{")
    (own / "sentence_bert_config.json").unlink()
    with pytest.raises(MissingError):
        declared_max_tokens(own, usual=30)


@pytest.mark.parametrize("method", ["prompt(length=20)", "prefix(length=20)"])
def test_vectors_before_the_text_leave_it_less_room(base: Path, method: str) -> None:
    network = load(base, method)
    assert network.max_tokens == 44
    inputs = encode(network.tokenizer, network.frame, ["cat " * 100], max_tokens=network.max_tokens)
    with Engine(CPU, "fp32", threads=1) as engine:
        assert predict(network, inputs, np.array([0]), engine).shape == (1, 3)
    with pytest.raises(UsageError, match="leave 4 tokens of the model's window; use fewer"):
        load(base, method.replace("20", "60"))


@pytest.mark.parametrize("method", ["full", "prompt(length=4)", "prefix(length=4)", "lora"])
def test_outputs_of_words_are_those_of_their_first_tokens(base: Path, method: str) -> None:
    network = load(base, method, TAGS)
    texts = [["cat", "xyz", "dog"], [], ["ran"], ["the", "the", "cat", "sat"]]
    inputs = encode_words(network.tokenizer, network.frame, texts, max_tokens=30)
    assert inputs.words is not None
    assert inputs.words[0].tolist() == [-1, 0, 1, 1, 1, 2, -1]
    with Engine(CPU, "fp32", threads=1) as engine:
        found = predict(network, inputs, np.array([0, 1, 3]), engine)
    with torch.no_grad():
        every = network.model(**inputs.batch(np.array([0]), CPU)).logits[0]
    ahead = 4 if method.startswith("prompt") else 0
    assert len(every) == 7 + ahead
    np.testing.assert_allclose(found[0], every[[ahead + 1, ahead + 2, ahead + 5]].numpy(), atol=1e-6)
    assert [len(own) for own in found] == [3, 0, 4]


def test_predictions_are_those_of_transformers(base: Path) -> None:
    network = load(base)
    texts, others = ["the cat sat", "", "dog"], ["ran", "the dog", ""]
    inputs = encode(network.tokenizer, network.frame, texts, others, max_tokens=30)
    with Engine(CPU, "fp32", threads=2) as engine:
        found = predict(network, inputs, np.array([2, 0, 1]), engine)
    with torch.no_grad():
        expected = network.model(**network.tokenizer(texts, others, padding=True, return_tensors="pt")).logits
    np.testing.assert_allclose(found, expected[[2, 0, 1]].numpy(), atol=1e-5)


def test_names_of_classes_are_in_the_models_configuration(base: Path) -> None:
    assert load(base).model.config.id2label == {0: "a", 1: "b", 2: "c"}
    problems = {"single": "single_label_classification", "multi": "multi_label_classification"}
    for kind, problem in problems.items():
        assert load(base, task=FinetuneTask(kind, ("x", "y"))).model.config.problem_type == problem  # type: ignore[arg-type]
    number = load(base, task=FinetuneTask("regression"))
    assert (number.model.config.problem_type, number.model.config.num_labels) == ("regression", 1)


def test_a_head_of_other_classes_is_made_anew(tmp_path: Path) -> None:
    own = tiny_bert(tmp_path / "headed", words=WORDS, architecture="BertForSequenceClassification")
    weights = load_file(own / "model.safetensors")
    assert weights["classifier.weight"].shape == (2, 32)
    network = load(own)
    assert network.trained["classifier.weight"].shape == (3, 32)
    assert torch.equal(network.trained["bert.pooler.dense.weight"], weights["bert.pooler.dense.weight"])


def test_setfit_is_no_network_with_a_head(base: Path) -> None:
    with pytest.raises(UsageError, match="setfit trains a sentence encoder, not a network with a head"):
        load(base, "setfit")


def copy_of(base: Path, folder: Path) -> Path:
    shutil.copytree(base, folder)
    return folder


def test_folders_that_cannot_be_a_base(base: Path, tmp_path: Path) -> None:
    cut = copy_of(base, tmp_path / "cut")
    (cut / "model.safetensors").write_bytes((base / "model.safetensors").read_bytes()[:-100])
    with pytest.raises(MissingError):
        load(cut)

    part = copy_of(base, tmp_path / "part")
    weights = load_file(base / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, part / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(MissingError):
        load(part)

    pickled = copy_of(base, tmp_path / "pickled")
    torch.save(load_file(base / "model.safetensors"), pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    with pytest.raises(MissingError):
        load(pickled)

    mute = copy_of(base, tmp_path / "mute")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (mute / name).unlink()
    with pytest.raises(MissingError):
        load_tokenizer(mute, words=False)


def test_weights_of_other_sizes_than_the_configuration_says(base: Path, tmp_path: Path) -> None:
    odd = copy_of(base, tmp_path / "odd")
    weights = load_file(base / "model.safetensors")
    weights["encoder.layer.0.output.dense.weight"] = torch.zeros(32, 8)
    save_file(weights, odd / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(MissingError):
        load(odd)

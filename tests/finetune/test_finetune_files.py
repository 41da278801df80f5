"""Fine-tuned models as folders: the same outputs after loading, in other programs too, and what is said of damaged ones."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from nlpkit.embed.engines import quiet
from nlpkit.embed.models import weights_fingerprint
from nlpkit.errors import InputError, MissingError, UsageError
from nlpkit.finetune.data.inputs import encode, encode_words
from nlpkit.finetune.files import (
    ADAPTER,
    NLPKIT,
    TunedConfig,
    find_base,
    load_tuned_network,
    model_bytes,
    read_config,
    save_merged,
    save_network,
    write_config,
)
from nlpkit.finetune.foreign_files import foreign_task, load_foreign
from nlpkit.finetune.methods import KINDS, parse_method
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.network import Network, load_network, predict
from tests.finetune.eight import build, one_thread  # noqa: F401
from tests.finetune.tiny import tiny_bert
from tests.refusals import refuses

CPU = torch.device("cpu")
WORDS = ("cat", "dog", "sat", "ran", "the")
TEXTS = ["the cat sat", "dog ran", "", "xyz the the dog"]
SINGLE, TAGS = FinetuneTask("single", ("a", "b", "c")), FinetuneTask("tokens", ("O", "B-X"))
METHODS = [name for name, kind in KINDS.items() if kind.family not in ("setfit", "pet", "tfew")]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("files") / "bert", words=WORDS)


def tuned(base: Path, method: str, task: FinetuneTask = SINGLE) -> tuple[Network, TunedConfig]:
    """Return a network whose trained parameters are not those it began with, and what is to be written of it."""
    spelled = {"prefix": "prefix(length=4)", "prompt": "prompt(length=4)"}.get(method, method)
    own = parse_method(spelled)
    network = load_network(base, task, own, seed=3, device=CPU)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in network.trained.values():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
    config = TunedConfig(
        own.kind.folder, task, own.spelling, str(base), weights_fingerprint(base), network.max_tokens, {}, "0"
    )
    return network, config


def outputs(network: Network) -> Any:
    with Engine(CPU, "fp32", threads=1) as engine:
        if network.task.kind == "tokens":
            inputs = encode_words(network.tokenizer, network.frame, [text.split() for text in TEXTS], max_tokens=20)
            return np.concatenate(predict(network, inputs, np.arange(4), engine))
        inputs = encode(network.tokenizer, network.frame, TEXTS, max_tokens=20)
        return predict(network, inputs, np.arange(4), engine)


def reload(folder: Path, **more: Any) -> Network:
    config = read_config(folder)
    assert config is not None
    return load_tuned_network(folder, config, device=CPU, offline=True, **{"base": None, **more})


@pytest.mark.parametrize(
    ("method", "task"),
    [
        *(pytest.param(method, SINGLE, id=f"{method}-single") for method in METHODS),
        *(  # the head of words beside a whole network and beside an adapter; the other methods write theirs in the same way
            pytest.param(
                method, TAGS, id=f"{method}-tokens", marks=() if method in ("full", "lora") else pytest.mark.slow
            )
            for method in METHODS
        ),
    ],
)
def test_what_is_written_gives_the_same_outputs(base: Path, tmp_path: Path, method: str, task: FinetuneTask) -> None:
    network, config = tuned(base, method, task)
    expected = outputs(network)
    untrained = outputs(load_network(base, task, network.method, seed=3, device=CPU))
    assert np.abs(expected - untrained).max() > 1e-3
    save_network(network, tmp_path / "model", config)
    found = reload(tmp_path / "model")
    np.testing.assert_allclose(outputs(found), expected, atol=1e-6)
    assert found.max_tokens == network.max_tokens
    assert found.task == task
    size = sum(p.numel() for p in network.trained.values()) * 4
    assert size * 0.9 < model_bytes(tmp_path / "model") < size * 1.3 + 20_000
    assert not [f for f in (tmp_path / "model").rglob("*") if f.suffix in (".bin", ".pkl", ".pt")]


@pytest.mark.parametrize(
    "task",
    [SINGLE, FinetuneTask("multi", ("x", "y")), FinetuneTask("regression", (), 1000.5, 0.25), TAGS],
    ids=lambda task: task.kind,
)
def test_configurations_come_back(tmp_path: Path, task: FinetuneTask) -> None:
    config = TunedConfig("adapter", task, "lora(r=4)", "minilm", "ab", 128, {"text": "body", "context": 1}, "0.1")
    write_config(tmp_path, config)
    assert read_config(tmp_path) == config
    assert read_config(tmp_path / "nowhere") is None


def test_a_transformers_folder_loads_in_transformers(base: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    network, config = tuned(base, "full")
    save_network(network, tmp_path / "model", config)
    with quiet():
        model = AutoModelForSequenceClassification.from_pretrained(str(tmp_path / "model")).eval()
        tokenizer = AutoTokenizer.from_pretrained(str(tmp_path / "model"))
    with torch.no_grad():
        logits = model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    np.testing.assert_allclose(logits.numpy(), outputs(network), atol=1e-5)
    assert model.config.id2label == {0: "a", 1: "b", 2: "c"}


@pytest.mark.parametrize("method", ["lora", "ia3", "prompt"])
def test_a_peft_folder_loads_in_peft(base: Path, tmp_path: Path, method: str) -> None:
    from peft import PeftModel
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    network, config = tuned(base, method)
    save_network(network, tmp_path / "model", config)
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = AutoModelForSequenceClassification.from_pretrained(str(base), num_labels=3)
        model = PeftModel.from_pretrained(plain, str(tmp_path / "model")).eval()
        tokenizer = AutoTokenizer.from_pretrained(str(base))
    with torch.no_grad():
        logits = model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    np.testing.assert_allclose(logits.numpy(), outputs(network), atol=1e-5)
    own = json.loads((tmp_path / "model" / "adapter_config.json").read_text())
    assert own["base_model_name_or_path"] == str(base)


@pytest.mark.parametrize("method", ["full", "lora", "lora(r=1)", "merged", "pfeiffer"])
def test_a_regression_gives_values_in_other_programs(base: Path, tmp_path: Path, method: str) -> None:
    from peft import PeftModel
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    task = FinetuneTask("regression", (), 100.0, 15.0)
    network, config = tuned(base, "lora" if method == "merged" else method, task)
    own = outputs(network)
    assert np.ptp(own) > 1e-3
    folder = tmp_path / "model"
    (save_merged if method == "merged" else save_network)(network, folder, config)
    found = reload(folder)
    assert found.task == task
    np.testing.assert_allclose(outputs(found), own, atol=2e-6)
    if method == "pfeiffer":
        return
    if method != "merged":  # which uses the network up
        np.testing.assert_array_equal(outputs(network), own)
    tokenizer = AutoTokenizer.from_pretrained(str(base))
    place = folder if method in ("full", "merged") else base
    with quiet(), warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        model = AutoModelForSequenceClassification.from_pretrained(str(place), num_labels=1)
        model = model if place is folder else PeftModel.from_pretrained(model, str(folder))
        values = model.eval()(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    np.testing.assert_allclose(values.numpy(), own * 15 + 100, rtol=1e-6)


@pytest.mark.parametrize("method", ["lora", "dora"])
def test_merged_gives_the_same_outputs_without_the_base(base: Path, tmp_path: Path, method: str) -> None:
    own = tmp_path / "base"
    shutil.copytree(base, own)
    network, config = tuned(own, method)
    expected = outputs(network)
    save_merged(network, tmp_path / "merged", config)
    shutil.rmtree(own)
    found = reload(tmp_path / "merged")
    np.testing.assert_allclose(outputs(found), expected, atol=1e-5)
    assert found.n_parameters == sum(p.numel() for p in found.model.parameters())
    names = set(load_file(tmp_path / "merged" / "model.safetensors"))
    assert not any("lora" in name for name in names)


def save(base: Path, folder: Path, method: str, task: FinetuneTask = SINGLE) -> Path:
    network, config = tuned(base, method, task)
    save_network(network, folder, config)
    return folder


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def _drop(file: Path) -> None:
    weights = load_file(file)
    name = next(name for name in sorted(weights) if "classifier" in name and name.endswith("weight"))
    del weights[name]
    save_file(weights, file, metadata={"format": "pt"})


def _widen(file: Path) -> None:
    weights = load_file(file)
    name = next(name for name in sorted(weights) if "classifier" in name and name.endswith("weight"))
    weights[name] = torch.zeros(1, weights[name].shape[1])
    save_file(weights, file, metadata={"format": "pt"})


@pytest.mark.parametrize("damage", [_cut, _drop, _widen, Path.unlink])
@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("full", "model.safetensors"),
        ("head", ADAPTER),
        ("lora", "adapter_model.safetensors"),
        ("pfeiffer", ADAPTER),
    ],
)
def test_damaged_weights_are_an_error(
    base: Path, tmp_path: Path, method: str, name: str, damage: Callable[[Path], None]
) -> None:
    folder = save(base, tmp_path / "model", method)
    damage(folder / name)
    with pytest.raises(InputError, match=r"model"):
        reload(folder)


def test_a_peft_folder_without_one_of_its_weights_is_an_error(base: Path, tmp_path: Path) -> None:
    folder = save(base, tmp_path / "model", "lora")
    file = folder / "adapter_model.safetensors"
    weights = load_file(file)
    name = next(name for name in sorted(weights) if "lora_B" in name)
    save_file({n: t for n, t in weights.items() if n != name}, file, metadata={"format": "pt"})
    said = rf"model has no weights for {re.escape(name)} \(1 of {len(weights)} are missing\)"
    with pytest.raises(InputError, match=said):
        reload(folder)
    with pytest.raises(InputError, match=said):
        load_foreign(folder, "peft", SINGLE, base=None, device=CPU, offline=True)


def test_a_peft_folder_without_a_part_of_the_head_is_an_error(base: Path, tmp_path: Path) -> None:
    """peft knows a head by the name `classifier`, so of DeBERTa's it leaves out the pooler, unless it is told."""
    import peft
    from transformers import AutoModelForSequenceClassification

    body = tmp_path / "deberta-v2"
    build("deberta-v2", "", vocab_size=200).save_pretrained(str(body))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(base / name, body / name)
    for saved in (None, ["pooler", "classifier"]):
        with quiet(), warnings.catch_warnings(), torch.random.fork_rng():
            warnings.simplefilter("ignore")
            plain = AutoModelForSequenceClassification.from_pretrained(str(body), num_labels=3)
            own = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query_proj"], modules_to_save=saved)
            peft.get_peft_model(plain, own).save_pretrained(str(tmp_path / "theirs"))
        _, task = foreign_task(tmp_path / "theirs")
        assert task.names == ("LABEL_0", "LABEL_1", "LABEL_2")
        if saved:
            assert load_foreign(tmp_path / "theirs", "peft", task, base=None, device=CPU, offline=True).task == task
            continue
        with pytest.raises(InputError):
            load_foreign(tmp_path / "theirs", "peft", task, base=None, device=CPU, offline=True)


def test_the_hub_is_not_asked_for_a_folder_of_peft(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    import peft.utils.other
    import peft.utils.save_and_load

    asked: list[Any] = []
    for place, name in [
        (peft.utils.save_and_load, "check_file_exists_on_hf_hub"),
        (peft.utils.other, "file_exists"),
        (huggingface_hub, "file_exists"),
        (huggingface_hub, "hf_hub_download"),
    ]:
        monkeypatch.setattr(place, name, lambda *given, **more: asked.append(given))
    network, config = tuned(base, "lora")
    save_network(network, tmp_path / "model", replace(config, base="someone/a-model"))
    loaded = reload(tmp_path / "model", base=str(base))
    np.testing.assert_allclose(outputs(loaded), outputs(network), atol=1e-6)
    assert asked == []
    assert not any("embedding" in name for name in load_file(tmp_path / "model" / "adapter_model.safetensors"))
    with quiet(), warnings.catch_warnings():  # the test itself can fail
        warnings.simplefilter("ignore")
        network.model.save_pretrained(str(tmp_path / "other"))
    assert asked[0][0] == "someone/a-model"


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"format": "adapter"}', '{"task": {"kind": "single"}}'])
def test_a_damaged_configuration_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / NLPKIT).write_text(content)
    with pytest.raises(InputError):
        read_config(tmp_path)


@pytest.mark.parametrize("method", ["head", "lora", "pfeiffer"])
def test_a_base_with_other_weights_is_refused(base: Path, tmp_path: Path, method: str) -> None:
    folder = save(base, tmp_path / "model", method)
    other = tiny_bert(tmp_path / "other", words=WORDS, seed=1)
    with pytest.raises(MissingError):
        reload(folder, base=str(other))
    moved = tmp_path / "moved"
    shutil.copytree(base, moved)
    np.testing.assert_allclose(outputs(reload(folder, base=str(moved))), outputs(reload(folder)), atol=0)


def test_a_base_that_is_nowhere(base: Path, tmp_path: Path) -> None:
    _, config = tuned(base, "head")
    gone = replace(config, base=str(tmp_path / "gone"))
    with pytest.raises(MissingError):
        find_base(gone, base=None, offline=True)
    assert find_base(gone, base=str(base), offline=True).path == base.resolve()


@pytest.mark.parametrize(
    ("task", "method"), [(SINGLE, "full"), (TAGS, "full"), (SINGLE, "lora"), (TAGS, "lora"), (SINGLE, "prompt")]
)
def test_folders_of_other_programs(base: Path, tmp_path: Path, task: FinetuneTask, method: str) -> None:
    network, config = tuned(base, method, task)
    folder = tmp_path / "model"
    save_network(network, folder, config)
    (folder / NLPKIT).unlink()
    form, found = foreign_task(folder)
    assert form == ("transformers" if method == "full" else "peft")
    assert found.kind == task.kind
    if method == "full":
        assert found == task
    else:
        assert found.names == tuple(f"LABEL_{j}" for j in range(len(task.names)))
        assert foreign_task(folder, list(task.names)) == (form, task)
    loaded = load_foreign(folder, form, found, base=None, device=CPU, offline=True)
    np.testing.assert_allclose(outputs(loaded), outputs(network), atol=1e-6)
    with refuses("labels"):
        foreign_task(folder, list("abcde"))


@pytest.mark.parametrize(
    "task", [FinetuneTask("multi", ("x", "y")), FinetuneTask("regression")], ids=lambda task: task.kind
)
def test_other_tasks_of_transformers_are_told_by_their_problem(base: Path, tmp_path: Path, task: FinetuneTask) -> None:
    save(base, tmp_path / "model", "full", task)
    assert foreign_task(tmp_path / "model") == ("transformers", task)


def test_many_classes_come_back_in_the_order_of_their_numbers(base: Path, tmp_path: Path) -> None:
    task = FinetuneTask("single", tuple(f"c{j}" for j in range(12)))
    save(base, tmp_path / "model", "full", task)
    assert foreign_task(tmp_path / "model")[1].names == task.names


def test_two_classes_without_names_have_those_of_transformers(base: Path, tmp_path: Path) -> None:
    task = FinetuneTask("single", ("LABEL_0", "LABEL_1"))
    folder = save(base, tmp_path / "model", "full", task)
    (folder / NLPKIT).unlink()
    own = json.loads((folder / "config.json").read_text())
    own.pop("id2label", None), own.pop("label2id", None), own.pop("problem_type", None)
    (folder / "config.json").write_text(json.dumps(own))
    assert foreign_task(folder) == ("transformers", task)
    assert foreign_task(folder, ["no", "yes"])[1].names == ("no", "yes")
    loaded = load_foreign(folder, "transformers", task, base=None, device=CPU, offline=True)
    assert outputs(loaded).shape == (4, 2)
    (folder / "config.json").write_text(json.dumps({**own, "num_labels": 3}))
    assert len(foreign_task(folder)[1].names) == 3


def test_a_peft_folder_is_told_its_task(base: Path, tmp_path: Path) -> None:
    three, tags = save(base, tmp_path / "three", "lora"), save(base, tmp_path / "tags", "lora", TAGS)
    one = save(base, tmp_path / "one", "lora", FinetuneTask("regression"))
    assert foreign_task(one) == ("peft", FinetuneTask("regression"))
    assert foreign_task(one, kind="regression") == ("peft", FinetuneTask("regression"))
    assert foreign_task(one, ["spam"], "multi") == ("peft", FinetuneTask("multi", ("spam",)))
    assert foreign_task(three, list("xyz"), "multi") == ("peft", FinetuneTask("multi", ("x", "y", "z")))
    assert foreign_task(three, kind="multi")[1].names == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert foreign_task(three, kind="single") == foreign_task(three)
    assert foreign_task(tags, kind="tokens") == foreign_task(tags)
    for folder, labels, kind, said in [
        (one, ["spam"], None, "has one output, a number without a name; leave `labels` out, or add `task=labels`"),
        (one, None, "single", "two outputs are needed, the model in .* has one; `task=labels` or regression"),
        (three, None, "regression", "`task=regression`: one output is needed, the model in .* has 3"),
        (three, None, "tokens", "of task SEQ_CLS: `task=classes, labels or regression` is needed, or none"),
        (tags, None, "multi", "of task TOKEN_CLS: `task=words` is needed, or none"),
    ]:
        with pytest.raises(UsageError, match=said):
            foreign_task(folder, labels, kind)  # type: ignore[arg-type]


def test_a_folder_of_transformers_says_its_task(base: Path, tmp_path: Path) -> None:
    folder = save(base, tmp_path / "model", "full")
    with refuses("task"):
        foreign_task(folder, kind="multi")
    number = save(base, tmp_path / "number", "full", FinetuneTask("regression"))
    with refuses("labels"):
        foreign_task(number, ["a"])


def test_folders_that_predict_nothing(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        foreign_task(base)
    with pytest.raises(InputError):
        foreign_task(tmp_path)
    folder = tmp_path / "peft"
    folder.mkdir()
    (folder / "adapter_config.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        foreign_task(folder)
    (folder / "adapter_config.json").write_text('{"task_type": "CAUSAL_LM"}')
    with pytest.raises(InputError, match="is a peft model of task CAUSAL_LM; SEQ_CLS or TOKEN_CLS was needed"):
        foreign_task(folder)
    (folder / "adapter_config.json").write_text('{"task_type": "SEQ_CLS"}')
    with pytest.raises(InputError, match=r"has no adapter_model.safetensors; nlpkit opens no pickles"):
        foreign_task(folder)
    (folder / "adapter_model.safetensors").write_bytes(b"not at all")
    with pytest.raises(InputError, match=r"adapter_model.safetensors cannot be read"):
        foreign_task(folder)
    save_file({"lora_A.weight": torch.zeros(2, 2)}, folder / "adapter_model.safetensors")
    with pytest.raises(InputError, match="has no classifier; a peft model of a task was needed"):
        foreign_task(folder)
    with pytest.raises(MissingError, match="does not record its base model; name it with `base`"):
        load_foreign(folder, "peft", SINGLE, base=None, device=CPU, offline=True)

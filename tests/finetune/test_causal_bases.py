"""Causal bases, GPT-2 and Mamba: every method that is defined for them, on the last token of a text whatever it is padded with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from nlpkit.embed.engines import quiet
from nlpkit.embed.models import weights_fingerprint
from nlpkit.finetune.adapters.peft_modules import merge
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.files import TunedConfig, load_tuned_network, read_config, save_network
from nlpkit.finetune.fit import fit_network
from nlpkit.finetune.methods import KINDS, parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.quantization import Quantization
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training.causal_heads import MambaForSequenceClassification, with_last_token
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.network import Network, load_network, predict
from tests.finetune.eight import one_thread  # noqa: F401
from tests.finetune.tiny import tiny_gpt2
from tests.refusals import refuses

CPU = torch.device("cpu")
WORDS = ("red", "blue", "car", "sky", "the", "a")
COLOURS = FinetuneTask("single", ("blue", "red"))
TEXTS = [f"{'red' if d % 2 else 'blue'} {'car' if d % 3 else 'the sky'}" for d in range(24)]
METHODS = [name for name, kind in KINDS.items() if kind.family in ("full", "head", "peft", "adapter")]
UNDEFINED = {"gpt2": set(), "mamba": {"prefix", "mam", "unipelt", "houlsby", "compacter"}}
CASES = [(kind, name) for kind in UNDEFINED for name in METHODS if name not in UNDEFINED[kind]]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bases")
    gpt2 = tiny_gpt2(folder / "gpt2", words=WORDS)
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(1)
        config = transformers.MambaConfig(
            vocab_size=8,
            hidden_size=32,
            num_hidden_layers=2,
            state_size=4,
            pad_token_id=0,
            bos_token_id=0,
            eos_token_id=0,
        )
        model = transformers.MambaForCausalLM(config)
        for parameter in model.backbone.embeddings.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        model.save_pretrained(str(folder / "mamba"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / "mamba" / name).write_bytes((gpt2 / name).read_bytes())
    return {"gpt2": gpt2, "mamba": folder / "mamba"}


def loaded(base: Path, method: str, **options: Any) -> Network:
    """Return a network in which what a method adds does something."""
    network = load_network(base, COLOURS, parse_method(method), seed=1, device=CPU, **options)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in network.trained.values():
            parameter.add_(torch.empty_like(parameter).normal_(0.0, 0.1, generator=generator))
    network.mode(False)
    return network


@pytest.mark.parametrize(("kind", "method"), CASES)
def test_padding_changes_nothing_and_all_that_is_trained_learns(bases: dict[str, Path], kind: str, method: str) -> None:
    network = loaded(bases[kind], f"{method}(length=3)" if method in ("prefix", "prompt") else method)
    inputs = TextInputs(["red car", "blue the a sky the a sky", "a"]).inputs(network)
    together = network.logits(inputs, np.arange(3))
    alone = torch.cat([network.logits(inputs, np.array([row])) for row in range(3)])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)
    together.square().sum().backward()
    assert not [name for name, p in network.trained.items() if p.grad is None]
    if method != "full":
        frozen = [p for p in network.model.parameters() if not p.requires_grad]
        assert frozen
        assert all(p.grad is None for p in frozen)
    if method == "bitfit":
        assert all(name.endswith("bias") or name == "score.weight" for name in network.trained)


@pytest.mark.parametrize("kind", UNDEFINED)
def test_what_is_not_defined_is_refused(bases: dict[str, Path], kind: str) -> None:
    for method in sorted(UNDEFINED[kind]):
        with refuses("method"):
            loaded(bases[kind], method)
    if kind == "mamba":
        with refuses("method"):
            loaded(bases[kind], "lora(targets=o)")
    else:
        with refuses("quantize"):
            loaded(bases[kind], "lora", quantization=Quantization("nf4"))


def test_gpt2_is_that_of_transformers(bases: dict[str, Path]) -> None:
    network = loaded(bases["gpt2"], "full")
    theirs = transformers.GPT2ForSequenceClassification(network.model.config).eval()
    theirs.load_state_dict(network.model.state_dict())
    batch = TextInputs(["red car", "blue the a sky"]).inputs(network).batch(np.arange(2), CPU)
    with torch.no_grad():
        torch.testing.assert_close(network.model(**batch).logits, theirs(**batch).logits, atol=1e-6, rtol=1e-6)
    assert type(with_last_token(theirs)).__name__ == "GPT2ForSequenceClassification"


def test_mamba_is_its_backbone_and_a_head_on_the_mean(bases: dict[str, Path]) -> None:
    network = loaded(bases["mamba"], "full")
    assert type(network.model) is MambaForSequenceClassification
    body = transformers.MambaModel(network.model.config).eval()
    body.load_state_dict(network.model.backbone.state_dict())
    ids = torch.tensor([[2, 4, 6, 5, 0, 0]])
    with torch.no_grad():
        expected = network.model.score(body(ids, use_cache=False).last_hidden_state[:, :4].mean(dim=1))
        logits = network.model(ids, torch.tensor([[1, 1, 1, 1, 0, 0]])).logits
        torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(network.model(ids[:, :4]).logits, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("method", ["mam", "unipelt", "prefix"])
def test_behind_a_prefix_no_place_sees_what_comes_after_it(bases: dict[str, Path], method: str) -> None:
    model = loaded(bases["gpt2"], method).model
    seen: list[torch.Tensor] = []
    final = next(m for name, m in model.named_modules() if name.endswith("ln_f"))
    final.register_forward_hook(lambda module, args, out: seen.append(out))
    with torch.no_grad():
        for ids in ([[2, 3, 4, 5]], [[2, 3, 6, 7]]):
            model(input_ids=torch.tensor(ids), attention_mask=torch.ones(1, 4, dtype=torch.long))
    torch.testing.assert_close(seen[0][:, :2], seen[1][:, :2], atol=1e-5, rtol=1e-5)
    assert float((seen[0][:, 2:] - seen[1][:, 2:]).abs().max()) > 1e-3


@pytest.mark.parametrize(("kind", "method"), [("gpt2", "lora"), ("gpt2", "dora"), ("gpt2", "ia3"), ("mamba", "lora")])
def test_updates_are_merged(bases: dict[str, Path], kind: str, method: str) -> None:
    network = loaded(bases[kind], method)
    batch = TextInputs(["red car", "blue the a sky"]).inputs(network).batch(np.arange(2), CPU)
    with torch.no_grad():
        separate = network.model(**batch).logits
        torch.testing.assert_close(merge(network.model).eval()(**batch).logits, separate, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "method"),
    [("gpt2", "full"), ("gpt2", "prompt(length=3)"), ("mamba", "full"), ("mamba", "lora"), ("mamba", "pfeiffer")],
)
def test_they_are_trained_saved_and_loaded(bases: dict[str, Path], kind: str, method: str, tmp_path: Path) -> None:
    text_inputs, rows = TextInputs(TEXTS), np.arange(24)
    with Engine(CPU, "fp32", threads=1) as engine:
        fitted = fit_network(
            bases[kind], parse_method(method), COLOURS, text_inputs, rows % 2, train_rows=rows[:16], dev_rows=rows[:0],
            predict_rows=rows[16:], training=TrainingOptions(epochs=12, lr=2e-2), engine=engine, seed=1,
        )  # fmt: skip
        network = fitted.network
        assert network is not None
        curve = fitted.outcome.curve
        assert curve[-1].loss < curve[0].loss
        if method in ("full", "lora"):
            assert fitted.outputs.argmax(axis=1).tolist() == (rows[16:] % 2).tolist()
        form = network.method.kind.folder
        config = TunedConfig(
            form, COLOURS, method, str(bases[kind]), weights_fingerprint(bases[kind]), network.max_tokens, {}, "0"
        )
        save_network(network, tmp_path / "saved", config)
        again = load_tuned_network(tmp_path / "saved", config, base=None, device=CPU, offline=True)
        outputs = predict(again, text_inputs.inputs(again), rows[16:], engine)
    np.testing.assert_array_equal(outputs, fitted.outputs)
    if form == "transformers":
        model = transformers.AutoModelForSequenceClassification.from_pretrained(str(tmp_path / "saved"))
        assert model.config.pad_token_id == 0
        assert model.config.architectures == [type(network.model).__name__]


def test_a_regression_keeps_its_unit(bases: dict[str, Path], tmp_path: Path) -> None:
    """The head has no bias that the mean could go into, so the weights that are stored give standardised values, which nlpkit.json says."""
    task, rows = FinetuneTask("regression", (), 10.0, 2.0), np.arange(24)
    with Engine(CPU, "fp32", threads=1) as engine:
        fitted = fit_network(
            bases["gpt2"], parse_method("full"), task, TextInputs(TEXTS), 9.0 + 2.0 * (rows % 2), train_rows=rows[:16], dev_rows=rows[:0],
            predict_rows=rows[16:], training=TrainingOptions(epochs=1), engine=engine, seed=1,
        )  # fmt: skip
        assert fitted.network is not None
        config = TunedConfig("transformers", task, "full", str(bases["gpt2"]), "", fitted.network.max_tokens, {}, "0")
        save_network(fitted.network, tmp_path / "saved", config)
        stored = read_config(tmp_path / "saved")
        assert stored is not None
        assert not stored.in_units
        again = load_tuned_network(tmp_path / "saved", stored, base=None, device=CPU, offline=True)
        outputs = predict(again, TextInputs(TEXTS).inputs(again), rows[16:], engine)
    np.testing.assert_array_equal(outputs, fitted.outputs)

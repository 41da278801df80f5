"""Sentence encoders trained on pairs and triplets, from a tiny encoder with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nlpkit.embed.engines import quiet
from nlpkit.errors import InputError
from nlpkit.finetune.encoders.encoders import (
    HEAD,
    NAMES,
    OPTIONS,
    PLANS,
    EncoderData,
    EncoderOutcome,
    PairObjective,
    Scorer,
    _distinct,
    _targets,
    cosine_loss,
    mnrl_loss,
    recall_at_1,
    softmax_loss,
    spearman,
    train_on_pairs,
    triplet_loss,
)
from nlpkit.finetune.setfit.embedder import Embedder, load_embedder
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import Schedule
from tests.few import few
from tests.refusals import refuses

TOPICS = [[f"{name}{i}" for i in range(6)] for name in "abcd"]
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(word for topic in TOPICS for word in topic)]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("base")
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCAB)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    config = BertConfig(
        vocab_size=len(VOCAB),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(1)
        BertModel(config).save_pretrained(str(folder))
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(str(folder))
    return folder


def load(base: Path) -> Embedder:
    return load_embedder(base, max_tokens=None, device=CPU)


def of_topic(topic: int, rng: np.random.Generator) -> str:
    return " ".join(rng.choice(TOPICS[topic], 3))


def make(n: int, seed: int) -> EncoderData:
    """Rows with an anchor, a text of its topic and one of another; every second pair is (a, b) of two topics."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 4, n)
    a = [of_topic(t, rng) for t in topics]
    same = np.arange(n) % 2 == 0
    near = [of_topic(t, rng) for t in topics]
    far = [of_topic((t + 1 + rng.integers(0, 3)) % 4, rng) for t in topics]
    b = [p if own else q for p, q, own in zip(near, far, same, strict=True)]
    return EncoderData(a, b, None, ["same" if own else "other" for own in same], same.astype(np.float32))


def triplets(n: int, seed: int) -> EncoderData:
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 4, n)
    return EncoderData(
        [of_topic(t, rng) for t in topics],
        [of_topic(t, rng) for t in topics],
        [of_topic((t + 1) % 4, rng) for t in topics],
    )


def data_for(name: str, n: int, seed: int) -> EncoderData:
    return triplets(n, seed) if name == "triplet" else make(n, seed)


SMALL = EncoderData(["a0 a1", "b0", "a0 a1"], ["a2", "a2", "c0"], ["d0", "a0 a1", "d1"], ["x", "y", "z"])
SCORED = EncoderData(SMALL.texts_a, SMALL.texts_b, None, None, np.array([0.1, 1.0, 0.4], np.float32))


def by_hand(name: str, embedder: Embedder, weight: Tensor) -> Tensor:
    """The loss of SMALL, each text encoded as often as it is there."""
    three = SMALL.texts_c or ()
    a, b, c = (embedder.read(list(texts)).encode(np.arange(3)) for texts in (SMALL.texts_a, SMALL.texts_b, three))
    if name == "cosine":
        return cosine_loss(a, b, torch.tensor([0.1, 1.0, 0.4]))
    if name == "triplet":
        return triplet_loss(a, b, c)
    if name == "sbert-softmax":
        return softmax_loss(a, b, weight, torch.tensor([0, 1, 2]))
    # candidates a2, a2, c0, d0, a0 a1, d1; of "a0 a1" both a2 and c0 are positives, and it is no candidate itself
    skip = torch.tensor([[0, 1, 1, 0, 1, 0], [1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0]]).bool()
    return mnrl_loss(a, b, c, skip=skip)


@pytest.mark.parametrize("name", NAMES)
def test_loss_and_gradient_are_those_of_texts_encoded_one_by_one(name: str, base: Path) -> None:
    embedder = load(base)
    data = SCORED if name == "cosine" else SMALL
    names = ("x", "y", "z") if name == "sbert-softmax" else ()
    weight = torch.randn(3, 96, generator=torch.Generator().manual_seed(0)).requires_grad_()
    distinct, columns = _distinct(data, name)
    assert len(distinct) == len(set(distinct))
    texts, targets = embedder.read(distinct), _targets(data, name, names)
    objective = PairObjective(name, embedder, texts, columns, targets, OPTIONS[name], weight if names else None)
    wanted = by_hand(name, embedder, weight)
    parameters = objective.parameters()
    gradients = torch.autograd.grad(wanted, list(parameters.values()), allow_unused=True)
    with Engine(CPU, "fp32", threads=1) as engine:
        loss = engine.joint(objective, np.arange(3), parameters, seed=(0,))
    assert loss == pytest.approx(float(wanted.detach()), rel=1e-5)
    for (key, parameter), gradient in zip(parameters.items(), gradients, strict=True):
        assert gradient is not None, key
        own = parameter.grad
        assert own is not None, key
        assert torch.allclose(own, gradient.to_dense(), rtol=1e-4, atol=1e-4), key


SETTINGS: dict[str, tuple[Schedule, float, float]] = {  # plan, most before, least after
    "cosine": (Schedule(epochs=4, batch=16, rate=2e-3), 0.65, 0.8),
    "triplet": (Schedule(epochs=4, batch=16, rate=2e-3), 0.85, 0.95),
    "sbert-softmax": (Schedule(epochs=6, batch=16, rate=2e-3, head_rate=1e-2), 0.0, 0.9),
}


@pytest.mark.parametrize("name", few(SETTINGS, 1))
def test_a_random_encoder_learns(name: str, base: Path) -> None:
    plan, most, least = SETTINGS[name]
    found = run(name, load(base), data_for(name, 240, 0), data_for(name, 120, 1), plan)
    (key,) = found.after or {}
    assert (found.before or {key: 0.0})[key] <= most
    assert (found.after or {})[key] >= least
    assert (found.weight is not None) == (name == "sbert-softmax")
    if found.weight is not None:
        assert found.weight.shape == (2, 96)
        assert found.names == ("other", "same")


def test_a_random_encoder_learns_to_rank(base: Path) -> None:
    embedder = load(base)
    # what belongs together shares no word: a word and the one that comes six places later in the vocabulary
    words = VOCAB[5:]
    a, b = words[:12], words[12:]
    data = EncoderData(a * 8, b * 8)
    found = run("mnrl", embedder, data, EncoderData(a, b), Schedule(epochs=12, batch=12, rate=3e-3))
    assert (found.before or {})["recall@1"] <= 0.4
    assert (found.after or {})["recall@1"] >= 0.9


def run(
    name: str, embedder: Embedder, data: EncoderData, dev: EncoderData | None, plan: Schedule, *, threads: int = 1
) -> EncoderOutcome:
    with Engine(CPU, "fp32", threads=threads) as engine:
        return train_on_pairs(embedder, data, name, dev=dev, plan=plan, engine=engine, seed=0)


@pytest.mark.parametrize("name", ["mnrl", "sbert-softmax"])
def test_the_same_bytes_for_any_number_of_threads(name: str, base: Path) -> None:
    first, second = load(base), load(base)
    long = " ".join(VOCAB[5:29])
    data = make(64, 0)
    data = EncoderData([f"{text} {long}" for text in data.texts_a], data.texts_b, None, data.labels)
    for embedder, threads in ((first, 1), (second, 3)):
        run(name, embedder, data, None, Schedule(epochs=1, batch=32, rate=1e-3), threads=threads)
    one, other = first.parameters(), second.parameters()
    assert all(torch.equal(one[key], other[key]) for key in one)
    key = next(iter(one))
    assert not torch.equal(load(base).parameters()[key], one[key])


def test_what_is_trained_loads_in_sbert_embed_and_without_w(base: Path, tmp_path: Path) -> None:
    from nlpkit.embed.engines import load_engine
    from nlpkit.embed.token_ids import plan_batches

    embedder = load(base)
    run("sbert-softmax", embedder, make(32, 0), None, Schedule(epochs=1, batch=16, rate=1e-3))
    embedder.save(tmp_path / "model")
    assert HEAD not in embedder.parameters()
    engine = load_engine(tmp_path / "model", device=CPU, precision="fp32", max_tokens=None)
    texts = engine.read(["a0 b1 c2"])
    (batch,) = plan_batches(texts.lengths, 100)
    own = embedder.read(["a0 b1 c2"]).encode(np.zeros(1, np.int64)).detach().numpy()
    assert np.allclose(texts.embed(batch), own, atol=1e-5)


def test_every_objective_has_options_and_a_plan() -> None:
    assert set(OPTIONS) == set(PLANS) == {*NAMES, "mlm", "static", "sft", "dpo"}
    assert OPTIONS["triplet"]["margin"] == 1
    assert OPTIONS["mnrl"]["scale"] == 20
    assert {name: plan.epochs for name, plan in PLANS.items()} == {
        "mlm": 3,
        "static": 1,
        "sft": 3,
        "dpo": 1,
        **dict.fromkeys(NAMES, 1),
    }


def test_recall_by_hand() -> None:
    vectors = torch.tensor([[1.0, 0], [0, 1], [0.9, 0.1], [0.1, 0.9], [1, 1], [0.8, 0.1]])
    # 0 → 2 is found, 1 → 2 is not (3 is nearer), 4 has the positives 2 and 3: the nearer is one of them
    anchors, positives = torch.tensor([0, 1, 4, 4]), torch.tensor([2, 2, 2, 3])
    assert recall_at_1(vectors, anchors, positives) == 0.75


def test_spearman() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 50).astype(np.float32), rng.normal(size=50).astype(np.float32)
    assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic)
    assert spearman(x, np.ones(50, np.float32)) == 0.0


WRONG: list[tuple[str, EncoderData, str]] = [
    ("triplet", EncoderData(["a"], ["b"]), "triplet needs an anchor, a positive and a negative"),
    ("cosine", EncoderData(["a"], ["b"]), "cosine needs a score"),
    ("cosine", EncoderData(["a"] * 2, ["b"] * 2, scores=np.array([0, 5], np.float32)), "row 2 has 5.0"),
    ("cosine", EncoderData(["a"], ["b"], scores=np.array([np.nan], np.float32)), "row 1 has nan"),
    ("sbert-softmax", EncoderData(["a"], ["b"]), "sbert-softmax needs a class"),
    ("sbert-softmax", EncoderData(["a"], ["b"], labels=["x"]), "two classes or more, found only 'x'"),
    ("mnrl", EncoderData(["a", "b"], ["c", "c"]), "two different positives"),
    ("mnrl", EncoderData(["a", "b"], ["c"]), "found 2, 1"),
    ("mnrl", EncoderData([], []), "at least one"),
]


@pytest.mark.parametrize(("name", "data", "message"), WRONG)
def test_data_that_do_not_fit(name: str, data: EncoderData, message: str, base: Path) -> None:
    with pytest.raises(InputError, match=message):
        run(name, load(base), data, None, Schedule())


def test_a_class_that_is_only_held_out_and_an_unknown_objective(base: Path) -> None:
    data = EncoderData(["a", "b"], ["c", "d"], labels=["x", "y"])
    dev = EncoderData(["a"], ["c"], labels=["z"])
    with refuses("dev", InputError):
        run("sbert-softmax", load(base), data, dev, Schedule())
    with refuses("objective"):
        run("contrastive", load(base), data, None, Schedule())


def test_a_test_class_that_training_lacks_counts_as_wrong(base: Path) -> None:
    embedder = load(base)
    a, b = ["a0 a1", "b0 b1", "c0 c1", "d0"], ["a2", "b2", "c2", "d2"]
    weight = torch.zeros(2, 96)  # of all classes alike, so the first is the guess
    with Engine(CPU, "fp32", threads=1) as engine:
        for labels, accuracy in ((["x", "x", "z", "z"], 0.5), (["z"] * 4, 0.0)):
            data = EncoderData(a, b, labels=labels)
            assert Scorer(embedder, data, "sbert-softmax", ("x", "y"), weight, engine)() == {"accuracy": accuracy}


def test_training_leaves_the_random_numbers_of_others_alone(base: Path) -> None:
    embedder: Any = load(base)
    before = torch.get_rng_state()
    run("mnrl", embedder, make(16, 0), None, Schedule(epochs=1, batch=8))
    assert torch.equal(before, torch.get_rng_state())

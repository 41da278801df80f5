"""T-Few: its three losses by hand, log-probabilities as transformers has them, what is trained, and what it is not for."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from nlpkit.errors import InputError
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.patterns.patterns import Patterns, fill_pattern
from nlpkit.finetune.patterns.seq2seq import (
    Seq2SeqNetwork,
    TfewObjective,
    choice_scores,
    choices_of,
    is_seq2seq,
    load_seq2seq,
    tfew_losses,
    verbalised,
)
from nlpkit.finetune.training.engine import Engine
from tests.finetune.tiny import tiny_bert, tiny_t5
from tests.refusals import refuses

CPU = torch.device("cpu")
WORDS = ["the", "match", "vote", "sport", "law", "making", "it", "was", "topic"]
LABELS = ("a", "b")
TEXTS = ["the match", "the vote the law", "the sport"]
PLAIN = Patterns(("[text] topic",), {"a": ("sport",), "b": ("law making",)})
GAP = Patterns(("[text] it was [MASK]",), PLAIN.words)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_t5(tmp_path_factory.mktemp("t5") / "tiny", words=WORDS)


@pytest.fixture(scope="module")
def network(base: Path) -> Seq2SeqNetwork:
    return load_seq2seq(base, seed=0, device=CPU)


def test_the_losses_by_hand() -> None:
    """Two choices, of one token and of two; the first is right. p(y) = .5; p(ŷ) = .2, .4."""
    log_p = torch.log(torch.tensor([[[0.5, 1.0], [0.2, 0.4]]]))
    counted = torch.tensor([[True, False], [True, True]])
    lm, ul, ln = tfew_losses(torch.where(counted, log_p, 0.0), counted, torch.tensor([0]))
    assert float(lm) == pytest.approx(-math.log(0.5))
    assert float(ul) == pytest.approx(-(math.log(0.8) + math.log(0.6)) / 2)
    right, wrong = 0.5, math.sqrt(0.2 * 0.4)  # exp of the mean log-probability
    assert float(ln) == pytest.approx(-math.log(right / (right + wrong)))
    lm, ul, ln = tfew_losses(torch.where(counted, log_p, 0.0), counted, torch.tensor([1]))
    assert float(lm) == pytest.approx(-(math.log(0.2) + math.log(0.4)) / 2)
    assert float(ul) == pytest.approx(-math.log(0.5))
    assert float(ln) == pytest.approx(-math.log(wrong / (right + wrong)))


def test_a_sure_wrong_choice_has_a_finite_loss() -> None:
    log_p = torch.zeros(1, 2, 1, requires_grad=True)
    _, ul, _ = tfew_losses(log_p, torch.ones(2, 1, dtype=torch.bool), torch.tensor([0]))
    (gradient,) = torch.autograd.grad(ul.sum(), log_p)
    assert math.isfinite(float(ul.detach()))
    assert bool(gradient.isfinite().all())


@pytest.mark.parametrize("patterns", [PLAIN, GAP], ids=["plain", "gap"])
def test_log_probabilities_are_those_of_transformers(patterns: Patterns, network: Seq2SeqNetwork, base: Path) -> None:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    gap = patterns is GAP
    gaps = fill_pattern(network, patterns.texts[0], TEXTS)
    choices = choices_of(network, patterns, LABELS)[gap]
    with Engine(CPU, "fp32", threads=1) as engine:
        scores = choice_scores(network, gaps, choices, engine)
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(str(base)), AutoTokenizer.from_pretrained(str(base))
    for i, text in enumerate(TEXTS):
        source = patterns.texts[0].replace("[text]", text).replace("[MASK]", "<extra_id_0>")
        for j, label in enumerate(LABELS):
            words = patterns.words[label][0]
            target = f"<extra_id_0> {words} <extra_id_1>" if gap else f"{words} </s>"
            ids = torch.tensor([tokenizer(target, add_special_tokens=False).input_ids])
            with torch.no_grad():
                logits = model(**tokenizer(source, return_tensors="pt"), labels=ids).logits
            each = torch.log_softmax(logits, 2)[0, torch.arange(ids.shape[1]), ids[0]][int(gap) :]
            assert scores[i, j] == pytest.approx(float(each.mean()), rel=1e-4)


def test_only_the_factors_are_trained_and_begin_at_one(network: Seq2SeqNetwork) -> None:
    assert all(bool((p == 1).all()) for p in network.trained.values())
    # of keys and values (8 · 4 each) in 2 + 2 self-attentions and 2 cross-attentions, of the inner layers (64) 2 + 2
    assert sum(p.numel() for p in network.trained.values()) == 6 * 2 * 32 + 4 * 64
    assert set(network.trained) == {n for n, p in network.model.named_parameters() if p.requires_grad}
    gaps, choices = fill_pattern(network, PLAIN.texts[0], TEXTS), choices_of(network, PLAIN, LABELS)[False]
    objective = TfewObjective(network, [gaps], [choices], np.arange(3), np.array([0, 1, 0]))
    loss = objective.loss(np.arange(3))
    gradients = torch.autograd.grad(loss, list(objective.parameters().values()))
    assert all(float(g.abs().sum()) > 0 for g in gradients)
    counted = torch.from_numpy(choices.counted)
    parts = tfew_losses(network.log_probs(gaps, choices, np.arange(3)), counted, torch.tensor([0, 1, 0]))
    assert float(loss.detach()) == pytest.approx(float(torch.stack(parts).detach().sum()), rel=1e-6)
    alone = TfewObjective(network, [gaps], [choices], np.arange(3), np.array([0, 1, 0]), ul=0.0, ln=0.0)
    assert float(alone.loss(np.arange(3)).detach()) == pytest.approx(float(parts[0].detach().sum()), rel=1e-6)


def test_examples_are_texts_in_each_pattern_and_classes_weigh(network: Seq2SeqNetwork) -> None:
    gaps, choices = fill_pattern(network, PLAIN.texts[0], TEXTS), choices_of(network, PLAIN, LABELS)[False]
    other, theirs = fill_pattern(network, GAP.texts[0], TEXTS), choices_of(network, GAP, LABELS)[True]
    right, rows = np.array([0, 1, 0]), np.array([0, 1])
    both = TfewObjective(network, [gaps, other], [choices, theirs], rows, right, torch.tensor([3.0, 1.0]))
    assert both.n == 4
    assert both.weight(np.array([0, 2, 3])) == 7.0
    one, two = (TfewObjective(network, [g], [c], rows, right) for g, c in ((gaps, choices), (other, theirs)))
    expected = 3 * one.loss(np.array([0])) + one.loss(np.array([1])) + two.loss(np.array([1]))
    assert float(both.loss(np.array([0, 3, 1])).detach()) == pytest.approx(float(expected.detach()), rel=1e-5)


def test_the_schedule_is_that_of_the_paper() -> None:
    method = parse_method("tfew")
    plan = TrainingOptions().schedule(method, 64)
    assert (plan.steps(64), plan.batch, plan.rate, plan.weight_decay) == (1000, 8, 3e-3, 0.0)
    assert plan.factor(59, 1000) == 1.0
    assert TrainingOptions(epochs=2).schedule(method, 64).steps(64) == 16
    assert TrainingOptions(max_steps=5, batch_size=4).schedule(method, 64).steps(64) == 5


def test_manifests_name_the_batch_of_the_methods_and_none_where_these_differ() -> None:
    tfew, full = parse_method("tfew"), parse_method("full")
    sizes = [TrainingOptions().plain(methods)["batch"] for methods in ([tfew], [full], [tfew, full])]
    assert sizes == [8, 16, None]
    assert TrainingOptions(batch_size=4).plain([tfew, full])["batch"] == 4


def test_words_and_bases_that_cannot_be(network: Seq2SeqNetwork, tmp_path: Path) -> None:
    assert verbalised(Patterns(PLAIN.texts, {}), ("sport", "law")).words == {"sport": ("sport",), "law": ("law",)}
    with refuses("patterns", InputError):
        verbalised(Patterns(PLAIN.texts, {"a": ("law", "vote")}), LABELS)
    with refuses("patterns", InputError):
        choices_of(network, Patterns(PLAIN.texts, {"a": ("sport",), "b": ("nix",)}), LABELS)
    bare = load_seq2seq(tiny_t5(tmp_path / "bare", words=WORDS, sentinels=False), seed=0, device=CPU)
    with refuses("patterns"):
        choices_of(bare, GAP, LABELS)
    assert not is_seq2seq(tiny_t5(tmp_path / "encoder", words=WORDS, decoder=False))
    with refuses("base"):
        load_seq2seq(tiny_bert(tmp_path / "bert", words=WORDS, architecture="BertForMaskedLM"), seed=0, device=CPU)


def test_bart_has_its_factors_in_the_same_places(base: Path, tmp_path: Path) -> None:
    """Without sentinels it reads patterns without a gap; keys, values and inner layers of both halves are scaled."""
    import shutil

    from transformers import BartConfig, BartForConditionalGeneration

    vocab = len(WORDS) + 5
    config = BartConfig(
        vocab_size=vocab, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=40, pad_token_id=0, bos_token_id=1, eos_token_id=1,
        decoder_start_token_id=1,
    )  # fmt: skip
    with torch.random.fork_rng():
        BartForConditionalGeneration(config).save_pretrained(str(tmp_path))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(base / name, tmp_path / name)
    bart = load_seq2seq(tmp_path, seed=0, device=CPU)
    assert bart.max_tokens == 40
    assert sum(p.numel() for p in bart.trained.values()) == 3 * 2 * 32 + 2 * 48
    gaps, choices = fill_pattern(bart, PLAIN.texts[0], TEXTS), choices_of(bart, PLAIN, LABELS)[False]
    scores = bart.log_probs(gaps, choices, np.arange(3))
    assert scores.shape == (3, 2, 3)
    assert bool((scores.detach() <= 0).all())

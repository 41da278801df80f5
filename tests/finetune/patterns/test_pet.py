"""PET, iPET and PETapter: their losses by hand, the loop they are, soft labels, generations, the same bytes and going on."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from nlpkit.finetune.adapters.insert import insert
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.methods import ADAPTERS, parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.patterns.mlm import WordHead
from nlpkit.finetune.patterns.patterns import Patterns, Verbalizer, fill_pattern, verbalizers_of
from nlpkit.finetune.patterns.pet import fit_patterns
from nlpkit.finetune.patterns.training import (
    PatternObjective,
    ensemble_scores,
    load_pattern_network,
    make_word_head,
    next_examples,
    pattern_weights,
    soft_labels,
)
from nlpkit.finetune.tasks import FinetuneTask, SoftTargets, Targets
from nlpkit.finetune.trained import Trained, TrainingCallbacks
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import Schedule, State, batches
from tests.few import few
from tests.finetune.patterns.test_mlm import HEADS, write_base
from tests.finetune.test_fit import BAD, GOOD, REST, reviews
from tests.finetune.tiny import tiny_bert
from tests.refusals import refuses

CPU = torch.device("cpu")
TASK = FinetuneTask("single", ("bad", "good"))
PATTERNS = Patterns(("[text] it was [MASK].", "so [MASK]! [text]"), {"good": ("great", "fine"), "bad": ("awful",)})
ONE = Patterns(PATTERNS.texts[:1], PATTERNS.words)
TRAIN, TEST, NONE = np.arange(12), np.arange(100, 140), np.arange(0)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("pet"), words=[*GOOD, *BAD, *REST], architecture="BertForMaskedLM")


@pytest.fixture(scope="module")
def calm(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model without dropout."""
    import json
    import shutil

    folder = Path(shutil.copytree(base, tmp_path_factory.mktemp("calm") / "bert"))
    config = json.loads((folder / "config.json").read_text())
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps({**config, **still}))
    return folder


class Kept:
    """Stages in memory."""

    def __init__(self) -> None:
        self.done: dict[str, Any] = {}
        self.states: dict[str, State] = {}

    def finished(self, name: str) -> Any:
        return self.done.get(name)

    def finish(self, name: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.done[name] = (dict(facts), dict(arrays))
        self.states.clear()

    def save(self, name: str, state: State) -> None:
        self.states[name] = copy.deepcopy(state)

    def state(self, name: str) -> State | None:
        return self.states.get(name)


def fit(
    base: Path, method: str = "pet", patterns: Patterns = PATTERNS, *, left: int = 0, steps: int = 6, threads: int = 1, seed: int = 0,
    stages: Any = None, train: Any = TRAIN, dev: Any = NONE, score: Any = None, callbacks: TrainingCallbacks | None = None, **options: Any,
) -> Trained:  # fmt: skip
    texts, y = reviews()
    unlabelled = TextInputs([f"{text} it" for text in texts[20 : 20 + left]]) if left else None
    with Engine(CPU, "fp32", threads=threads) as engine:
        return fit_patterns(
            base, parse_method(method), TASK, patterns, TextInputs(texts), y, unlabelled=unlabelled, train_rows=train, dev_rows=dev,
            predict_rows=TEST, training=TrainingOptions(max_steps=steps, **{"lr": 3e-3, **options}), engine=engine, seed=seed,
            stages=stages or Kept(), score=score, callbacks=callbacks,
        )  # fmt: skip


def test_soft_labels_and_ensemble_by_hand() -> None:
    scores = [np.array([[1.0, 3.0]]), np.array([[2.0, 0.0]])]
    merged = ensemble_scores(scores, [1.0, 3.0])
    assert merged.tolist() == [[1.75, 0.75]]
    a, b = np.exp(1.75 / 2), np.exp(0.75 / 2)
    np.testing.assert_allclose(soft_labels(merged, 2.0), [[a / (a + b), b / (a + b)]])
    assert pattern_weights([0.5, 0.0], "accuracy") == [0.5, 0.0]
    assert pattern_weights([0.0, 0.0], "accuracy") == pattern_weights([0.5, 0.1], "uniform") == [1.0, 1.0]


def test_the_loss_of_soft_labels_by_hand() -> None:
    q, z = np.array([[0.25, 0.75]]), torch.tensor([[1.0, 2.0]], requires_grad=True)
    loss = SoftTargets(q, 2.0).loss(z, np.array([0]))
    log_p = torch.log_softmax(z / 2, 1)
    assert float(loss.detach()) == pytest.approx(-4 * float((log_p[0, 0] * 0.25 + log_p[0, 1] * 0.75).detach()))
    one_hot = SoftTargets(np.array([[0.0, 1.0]]), 1.0).loss(z, np.array([0]))
    assert float(one_hot.detach()) == pytest.approx(float(functional.cross_entropy(z, torch.tensor([1])).detach()))


def objective(base: Path, left: int = 0, **options: Any) -> PatternObjective:
    texts, y = reviews()
    network = load_pattern_network(base, parse_method("pet"), seed=0, device=CPU, max_tokens=None)
    gaps = fill_pattern(network.mlm, ONE.texts[0], texts[: 12 + left])
    verbalizer = verbalizers_of(network.mlm, ONE, TASK.names)[1]
    targets = Targets(TASK, y[: 12 + left])
    return PatternObjective(network, gaps, verbalizer, targets, TRAIN, np.arange(12, 12 + left), **options)


def test_loss_and_gradients_without_unlabelled_texts_are_those_of_the_words_in_the_gap(calm: Path) -> None:
    """The loss is written anew on a model of transformers, with its own tokenizer."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    own = objective(calm)
    own.mode(True)
    rows = np.array([3, 0, 7])
    loss = own.loss(rows) / own.weight(rows)
    gradients = torch.autograd.grad(loss, list(own.parameters().values()), allow_unused=True)
    texts, y = reviews()
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(str(calm)), AutoTokenizer.from_pretrained(str(calm))
    batch = tokenizer([f"{texts[i]} it was [MASK]." for i in rows], padding=True, return_tensors="pt")
    logits = model(batch["input_ids"], batch["attention_mask"]).logits[batch["input_ids"] == tokenizer.mask_token_id]
    great, fine, awful = tokenizer.convert_tokens_to_ids(["great", "fine", "awful"])
    scores = torch.stack([logits[:, awful], (logits[:, great] + logits[:, fine]) / 2], 1)
    by_hand = functional.cross_entropy(scores, torch.from_numpy(y[rows]))
    assert float(loss.detach()) == pytest.approx(float(by_hand.detach()), rel=1e-5)
    grads = torch.autograd.grad(by_hand, list(model.parameters()), allow_unused=True)
    theirs = dict(zip(dict(model.named_parameters()), grads, strict=True))
    for name, gradient in zip(own.parameters(), gradients, strict=True):
        if gradient is not None:
            torch.testing.assert_close(gradient, theirs[name], rtol=1e-3, atol=1e-6)
        else:
            assert theirs[name] is None


def test_one_pattern_without_unlabelled_texts_is_fine_tuning_of_the_masked_model(calm: Path) -> None:
    """A loop of AdamW on the loss above, in the batches of training, ends at the same weights."""
    stages = Kept()
    fit(calm, patterns=ONE, stages=stages, batch_size=4, warmup=0.0, weight_decay=0.0)
    own = objective(calm)
    own.mode(True)
    parameters = own.parameters()
    optimizer = torch.optim.AdamW(list(parameters.values()), lr=3e-3, weight_decay=0.0)
    for step in range(6):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * Schedule(warmup=0.0).factor(step, 6)
        rows = batches(own, 4, seed=0, epoch=step // 3)[step % 3]
        optimizer.zero_grad()
        (own.loss(rows) / len(rows)).backward()
        torch.nn.utils.clip_grad_norm_(list(parameters.values()), 1.0)
        optimizer.step()
    _, arrays = stages.done["generation0-pattern0"]
    for name, parameter in parameters.items():
        if "key.bias" not in name:  # softmax does not see it: its gradient is noise around 0, which AdamW enlarges
            np.testing.assert_allclose(arrays[f"weights/{name}"], parameter.detach().numpy(), atol=2e-5, err_msg=name)


def test_the_auxiliary_loss_has_its_share(calm: Path) -> None:
    own, rows = objective(calm, left=8, alpha=0.3, partners=2), np.arange(12)
    own.begin(0, 1)
    assert np.bincount(own._partners.ravel(), minlength=20)[12:].tolist() == [3] * 8
    alone = float(objective(calm).loss(rows).detach())
    assert own._mlm is not None
    auxiliary = float(own._mlm.mean_losses(own._partners.ravel()).reshape(12, 2).mean(1).sum().detach())
    assert float(own.loss(rows).detach()) == pytest.approx(0.7 * alone + 0.3 * auxiliary, rel=1e-4)
    masked = own._mlm.targets.flat != -100
    assert not set(own._mlm.windows.flat[masked].tolist()) & {own.network.mlm.mask_id}  # the gap stays open
    before = own._partners.copy()
    own.begin(1, 1)
    assert own._partners.tolist() != before.tolist()


@pytest.mark.parametrize(
    "method", few(["pet", "petapter(lora)", "petapter(head=base)", "petapter(lora,head=frozen)"], 1)
)
def test_a_toy_problem_is_learnt(base: Path, method: str) -> None:
    _, y = reviews()
    found = fit(base, method, train=np.arange(60), steps=60, lr=5e-3 if method == "pet" else 3e-2)
    assert (found.outputs.argmax(axis=1) == y[TEST]).mean() > 0.85
    assert found.ensemble is not None
    assert found.patterns is not None
    assert found.outcome.steps == 120


@pytest.mark.parametrize("adapter", few(ADAPTERS, 4))
def test_adapters_alone_learn_in_a_frozen_body_with_its_head(base: Path, adapter: str) -> None:
    method = parse_method(f"petapter({adapter},head=frozen)")
    network = load_pattern_network(base, method, seed=0, device=CPU, max_tokens=None)
    frozen = {id(p) for p in network.mlm.model.parameters() if not p.requires_grad}
    assert not frozen & {id(p) for p in network.trained.values()}
    head = [p for name, p in network.mlm.model.named_parameters() if "cls." in name]
    assert len(head) >= 4
    assert all(id(p) in frozen for p in head)
    plain = load_pattern_network(base, parse_method("pet"), seed=0, device=CPU, max_tokens=None)
    assert network.n_parameters == plain.n_parameters
    assert 0 < network.n_trained < 0.5 * network.n_parameters
    stages = Kept()
    fit(base, method.spelling, ONE, stages=stages, steps=2, lr=1e-2)
    before, after = network.state(), stages.done["generation0-pattern0"][1]
    assert any(not np.array_equal(after[f"weights/{name}"], value) for name, value in before.items())


@pytest.mark.parametrize("adapter", few(ADAPTERS, 2))
def test_the_head_of_petapter_learns_beside_the_adapters_and_the_body_does_not(base: Path, adapter: str) -> None:
    method, stages = parse_method(f"petapter({adapter})"), Kept()
    before = load_pattern_network(base, method, seed=0, device=CPU, max_tokens=None)
    found = fit(base, method.spelling, stages=stages, steps=3, lr=1e-2)
    after = stages.done["generation0-pattern1"][1]
    names = {name.removeprefix("weights/") for name in after if name.startswith("weights/")}
    of_head = {f"words.{layer}.{kind}" for layer in ("dense", "norm", "words") for kind in ("weight", "bias")}
    assert names == before.trained.keys() | of_head
    assert after["weights/words.words.weight"].shape == (3, 32)  # great, fine and awful
    assert np.ptp(after["weights/words.norm.weight"]) > 0  # it was 1 everywhere
    assert found.n_trained == 2 * (before.n_trained + 32 * 32 + 32 + 2 * 32 + 3 * 33)
    assert found.n_parameters == 2 * before.n_parameters


def test_the_head_of_petapter_is_that_of_its_authors() -> None:
    """h → h, GELU, LayerNorm with 1e-12, h → t, the rows of the tokens in ascending order; scores summed over the masks.

    Written anew after PEThead.forward of code/petapter.py in github.com/JonasRieger/petapter.
    """
    torch.manual_seed(0)
    head = WordHead(np.array([4, 7, 9]), 8)
    theirs = torch.nn.Sequential(
        torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8, eps=1e-12), torch.nn.Linear(8, 3)
    )
    theirs.load_state_dict(dict(zip(theirs.state_dict(), list(head.state_dict().values())[1:], strict=True)))
    hidden = torch.randn(5, 2, 8)  # of five texts at two masks
    tokens_of_labels = [[9, 4], [7, 7]]
    places = [[[4, 7, 9].index(token) for token in tokens] for tokens in tokens_of_labels]
    logits = theirs(hidden)
    summed = logits[:, 0][:, [p[0] for p in places]] + logits[:, 1][:, [p[1] for p in places]]
    words = Verbalizer(np.array(tokens_of_labels), np.array([0, 1])).among(head.tokens.numpy())
    torch.testing.assert_close(words.scores(head(hidden)), summed)


def test_new_weights_of_the_head_depend_on_the_seed_alone(base: Path) -> None:
    network = load_pattern_network(base, parse_method("petapter"), seed=0, device=CPU, max_tokens=None)
    first, same, other = (make_word_head(network.mlm, np.arange(3), "new", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.dense.weight, same.dense.weight)
    assert not torch.equal(first.dense.weight, other.dense.weight)
    assert float(first.dense.weight.detach().std()) == pytest.approx(0.02, rel=0.1)  # initializer_range of BERT
    assert not first.dense.bias.any()
    assert not first.words.bias.any()
    assert (first.norm.weight == 1).all()


@pytest.mark.parametrize(("kind", "options"), few(HEADS, 3))
def test_a_head_that_starts_as_that_of_the_base_scores_words_as_the_base_does(
    kind: str, options: Any, tmp_path: Path
) -> None:
    network = load_pattern_network(
        write_base(tmp_path / "m", kind, head=True, **options), parse_method("petapter(head=base)"), seed=0, device=CPU, max_tokens=None
    )  # fmt: skip
    hidden, tokens = torch.randn(4, int(network.mlm.model.config.hidden_size)), np.array([3, 6, 11])
    with torch.no_grad():
        of_base = network.mlm.guess(hidden)[:, tokens]
        network.take_head(make_word_head(network.mlm, tokens, "base", seed=0))
        torch.testing.assert_close(network.mlm.guess(hidden), of_base)


def test_the_size_of_petapter_on_xlm_r_large_is_that_of_the_slide() -> None:
    """16 MB (lecture, "computational resources"): 24 adapters of Pfeiffer and h → h, h = 1024, here with four words."""
    from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM

    h, r, layers, t = 1024, 64, 24, 4
    with torch.device("meta"):
        model = XLMRobertaForMaskedLM(XLMRobertaConfig(
            vocab_size=250002, hidden_size=h, num_hidden_layers=layers, num_attention_heads=16, intermediate_size=4096,
            max_position_embeddings=514, type_vocab_size=1,
        ))  # fmt: skip
    adapters = insert(model, "pfeiffer", {}, generator=torch.Generator(), head=False).parameters()
    n = sum(p.numel() for p in [*adapters.values(), *WordHead(np.arange(t), h).parameters()])
    assert n == layers * (2 * h * r + r + h) + (h * h + h) + 2 * h + t * (h + 1)
    assert 4 * n / 2**20 == pytest.approx(16, abs=0.2)


@pytest.mark.parametrize(
    ("method", "left"),
    [
        ("pet", 0),
        pytest.param(
            "ipet(generations=2)", 10, marks=pytest.mark.slow
        ),  # its trainings are those of pet, and more of them
        ("petapter(lora)", 0),
    ],
)
def test_same_bytes_for_any_number_of_threads_and_others_for_another_seed(base: Path, method: str, left: int) -> None:
    first, threads, other = (
        fit(base, method, left=left, steps=3, threads=t, seed=s) for t, s in ((1, 0), (2, 0), (1, 1))
    )
    assert first.outputs.tobytes() == threads.outputs.tobytes()
    assert first.outputs.tobytes() != other.outputs.tobytes()


@pytest.mark.parametrize(
    ("method", "left", "halt"),
    [
        ("pet", 0, 2),
        ("pet", 0, 6),
        ("petapter", 0, 6),
        ("pet", 10, 10),
        pytest.param("ipet(generations=2)", 10, 9, marks=pytest.mark.slow),
    ],
)
def test_a_training_cut_off_in_any_stage_goes_on_to_the_same_bytes(
    base: Path, method: str, left: int, halt: int
) -> None:
    def stop(step: int, steps: int, point: Any) -> None:
        if step == halt:
            raise KeyboardInterrupt

    stages = Kept()
    whole = fit(base, method, left=left, steps=4)
    with pytest.raises(KeyboardInterrupt):
        fit(base, method, left=left, steps=4, stages=stages, callbacks=TrainingCallbacks(on_step=stop))
    assert stages.states
    on = fit(base, method, left=left, steps=4, stages=stages)
    assert on.outputs.tobytes() == whole.outputs.tobytes()
    assert [(p.step, p.loss) for p in on.outcome.curve] == [(p.step, p.loss) for p in whole.outcome.curve]


def test_steps_of_all_stages_are_counted_as_one(base: Path) -> None:
    seen: list[tuple[int, int]] = []
    callbacks = TrainingCallbacks(on_step=lambda step, steps, point: seen.append((step, steps)))
    result = fit(base, "ipet(generations=2)", left=10, steps=3, callbacks=callbacks)
    assert seen == [(i + 1, 15) for i in range(15)]
    assert result.network is not None  # a classifier
    assert result.network.task == TASK
    assert result.ensemble is None


def test_the_best_score_on_dev_documents_is_kept(base: Path) -> None:
    rows: list[list[int]] = []

    def score(at: Any, outputs: Any) -> float:
        rows.append(at.tolist())
        assert outputs.shape == (3, 2)
        return float(len(rows))

    fit(base, left=20, steps=2, dev=np.array([70, 71, 72]), score=score)
    assert rows[0] == [70, 71, 72]
    assert len(rows) >= 5


def test_examples_of_the_next_generation_are_labelled_by_other_models() -> None:
    rng = np.random.default_rng(0)
    right = np.eye(2)[rng.integers(0, 2, 50)] * 9
    scores = [-right, right, right]  # the model of pattern 0 is always wrong
    rows, labels = next_examples(scores, [1.0, 1.0, 1.0], 0, np.array([4, 6]), raters=0.25, seed=0, generation=1)
    assert labels.tolist() == [0] * 4 + [1] * 6
    assert labels.tolist() == right[rows].argmax(axis=1).tolist()
    assert len(set(rows.tolist())) == 10
    all_of_them, _ = next_examples(scores, [0.0, 0.0, 1.0], 0, np.array([99, 99]), raters=1.0, seed=0, generation=1)
    assert sorted(all_of_them.tolist()) == list(range(50))


def test_a_base_without_a_head_for_masked_words(tmp_path: Path) -> None:
    with refuses("base"):
        fit(tiny_bert(tmp_path, words=REST))


def test_words_are_searched_for_where_a_label_has_none(base: Path) -> None:
    found = fit(base, "pet(n_words=2)", Patterns(PATTERNS.texts, {"good": ("great",)}), steps=1)
    assert found.patterns is not None
    assert found.patterns["words"]["good"] == ["great"]
    assert len(found.patterns["words"]["bad"]) == 2
    assert "great" not in found.patterns["words"]["bad"]

"""Whole trainings on a tiny BERT: what each task and method learns, the same bytes twice, and going on."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.fit import fit_network
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.tasks import IGNORED, FinetuneTask, word_labels
from nlpkit.finetune.trained import Trained, TrainingCallbacks
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import Schedule, State
from tests.few import few
from tests.finetune.eight import one_thread  # noqa: F401
from tests.finetune.tiny import tiny_bert
from tests.refusals import refuses

CPU = torch.device("cpu")
GOOD, BAD = ("good", "great", "fine", "nice"), ("bad", "awful", "poor", "dull")
REST = ("the", "a", "film", "book", "was", "is", "very", "so", "it", "this")
SENTIMENT = FinetuneTask("single", ("bad", "good"))
TRAIN, TEST, NONE = np.arange(100), np.arange(100, 160), np.arange(0)


def reviews(n: int = 160, seed: int = 0) -> tuple[list[str], Any]:
    """Return texts of 3 to 5 words of their class and two others, in any order, and their classes (n,)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    texts = []
    for code in y:
        words = [*rng.choice((BAD, GOOD)[code], rng.integers(3, 6)), *rng.choice(REST, 2)]
        rng.shuffle(words)
        texts.append(" ".join(words))
    return texts, y.astype(np.int64)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("fit") / "bert", words=[*GOOD, *BAD, *REST])


def fit(
    base: Path, method: str, task: FinetuneTask = SENTIMENT, text_inputs: TextInputs | None = None, y: Any = None, *,
    rate: float | None = 2e-3, steps: int = 60, threads: int = 1, seed: int = 0, dev: Any = NONE, predict: Any = TEST,
    train: Any = TRAIN, score: Any = None, callbacks: TrainingCallbacks | None = None, **learning: Any,
) -> Trained:  # fmt: skip
    if text_inputs is None:
        texts, y = reviews()
        text_inputs = TextInputs(texts)
    with Engine(CPU, "fp32", threads=threads) as engine:
        return fit_network(
            base, parse_method(method), task, text_inputs, y, train_rows=train, dev_rows=dev, predict_rows=predict,
            training=TrainingOptions(lr=rate, max_steps=steps, epochs=20, **learning), engine=engine, seed=seed, score=score,
            callbacks=callbacks,
        )  # fmt: skip


def trained_bytes(found: Trained) -> dict[str, bytes]:
    assert found.network is not None
    return {name: p.detach().numpy().tobytes() for name, p in found.network.trained.items()}


@pytest.mark.parametrize(
    ("method", "rate", "steps"),
    few([("full", 2e-3, 60), ("head", 2e-2, 100), ("pfeiffer(r=16)", 2e-2, 100), ("lora", 2e-2, 60)], 2),
)
def test_a_toy_problem_is_learnt(base: Path, method: str, rate: float, steps: int) -> None:
    _, y = reviews()
    found = fit(base, method, rate=rate, steps=steps)
    assert found.outputs.shape == (60, 2)
    assert (found.outputs.argmax(axis=1) == y[TEST]).mean() > 0.9
    before = fit(base, method, rate=1e-9, steps=1)
    assert (before.outputs.argmax(axis=1) == y[TEST]).mean() < 0.8
    assert found.outcome.steps == steps
    assert 0 < found.n_trained <= found.n_parameters
    assert (found.n_trained == found.n_parameters) == (method == "full")


@pytest.mark.parametrize("method", ["head", "lora", "pfeiffer(r=16)"])
def test_the_body_stays_as_it_is(base: Path, method: str) -> None:
    network = fit(base, method, rate=2e-2, steps=3).network
    assert network is not None
    own = {
        name.replace("base_model.model.", "").replace("base_layer.", "").replace("bert.", "", 1): p
        for name, p in network.model.named_parameters()
    }
    body = {name: t for name, t in load_file(base / "model.safetensors").items() if not name.startswith("pooler")}
    assert len(body) > 30
    for name, tensor in body.items():
        assert own[name].detach().numpy().tobytes() == tensor.numpy().tobytes(), name
    start = fit(base, method, rate=1e-12, steps=1)
    assert trained_bytes(start).keys() == network.trained.keys()
    head = network.heads
    assert any("classifier" in name for name in head)
    assert any("pooler" in name for name in head)
    assert (set(network.trained) == head) == (method == "head")


@pytest.mark.parametrize("method", few(["full", "head", "pfeiffer(r=16)", "lora(dropout=0.1)"], 2))
def test_same_bytes_for_any_number_of_threads_and_others_for_another_seed(base: Path, method: str) -> None:
    texts, y = reviews()
    long = TextInputs([" ".join([text] * 6) for text in texts])  # so that a batch is cut into parts
    first, threads, other = (
        fit(base, method, SENTIMENT, long, y, steps=4, threads=t, seed=s) for t, s in ((1, 0), (2, 0), (1, 1))
    )
    assert trained_bytes(first) == trained_bytes(threads)
    assert first.outputs.tobytes() == threads.outputs.tobytes()
    assert trained_bytes(first) != trained_bytes(other)


@pytest.mark.parametrize("method", ["full", "lora(dropout=0.1)", "pfeiffer(r=16)"])
def test_a_training_cut_off_goes_on_to_the_same_bytes(base: Path, method: str) -> None:
    saved: list[State] = []

    def stop(step: int, steps: int, point: Any) -> None:
        if step == 9:
            raise KeyboardInterrupt

    whole = fit(base, method, steps=16)
    with pytest.raises(KeyboardInterrupt):
        fit(
            base,
            method,
            steps=16,
            callbacks=TrainingCallbacks(save=lambda s: saved.append(copy.deepcopy(s)), on_step=stop),
        )
    on = fit(base, method, steps=16, callbacks=TrainingCallbacks(state=saved[-1]))
    assert trained_bytes(on) == trained_bytes(whole)
    assert on.outputs.tobytes() == whole.outputs.tobytes()


def test_the_best_score_on_dev_documents_is_kept(base: Path) -> None:
    _, y = reviews()
    seen: list[float] = []

    def score(rows: Any, outputs: Any) -> float:
        assert rows.tolist() == list(range(100, 130))
        seen.append(float((outputs.argmax(axis=1) == y[rows]).mean()))
        return seen[-1]

    found = fit(base, "full", dev=np.arange(100, 130), predict=np.arange(100, 130), score=score, patience=2)
    best = float((found.outputs.argmax(axis=1) == y[100:130]).mean())
    assert best == max(seen) > 0.9
    assert found.outcome.stopped_early
    assert found.outcome.best_step == 7 * (1 + int(np.argmax(seen)))


def test_pairs(base: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 160)  # whether the second text is a bad one; the first tells nothing
    first = [" ".join(rng.choice(GOOD + BAD, 2)) for _ in y]
    second = [" ".join(rng.choice((GOOD, BAD)[code], 4)) for code in y]
    found = fit(base, "full", SENTIMENT, TextInputs(first, second=second), y)
    assert (found.outputs.argmax(axis=1) == y[TEST]).mean() > 0.9


def test_context(base: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 160)
    texts = [" ".join(rng.choice(REST, 3)) for _ in y]
    before = [" ".join(rng.choice((GOOD, BAD)[code], 3)) for code in y]
    after = [" ".join(rng.choice((GOOD, BAD)[code], 3)) for code in y]
    found = fit(base, "full", SENTIMENT, TextInputs(texts, context=(before, after)), y)
    assert (found.outputs.argmax(axis=1) == y[TEST]).mean() > 0.9


def test_several_labels(base: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, (160, 2))
    texts = [" ".join(rng.permutation([*rng.choice((REST, GOOD)[a], 3), *rng.choice((REST, BAD)[b], 3)])) for a, b in y]
    task = FinetuneTask("multi", ("good", "bad"))
    accuracy = []
    for seed in (1, 2):  # between .7 and 1, by the seed
        found = fit(
            base, "full", task, TextInputs(texts), y.astype(np.float32), steps=100, class_weight="balanced", seed=seed
        )
        accuracy.append(((found.outputs > 0) == y[TEST]).mean())
    assert np.mean(accuracy) > 0.8  # chance is .5


def test_numbers(base: Path) -> None:
    rng = np.random.default_rng(0)
    n_good = rng.integers(0, 5, 160)
    texts = [" ".join(rng.permutation([*rng.choice(GOOD, n), *rng.choice(BAD, 4 - n)])) for n in n_good]
    values = 1000.0 + 50.0 * n_good
    mean, scale = float(values[TRAIN].mean()), float(values[TRAIN].std())
    task = FinetuneTask("regression", (), mean, scale)
    y = ((values - mean) / scale).astype(np.float32)
    found = fit(base, "full", task, TextInputs(texts), y, steps=100)
    assert found.outputs.shape == (60, 1)
    told = found.outputs[:, 0] * scale + mean  # as cli/finetune_scores does: outputs are of the scaled values
    assert np.corrcoef(told, values[TEST])[0, 1] > 0.9
    assert np.abs(told - values[TEST]).mean() < 25


def tagged(n: int = 160) -> tuple[list[list[str]], list[Any]]:
    """Return words and their classes: good ones 1, bad ones 2, others 0; some words are of several tokens."""
    rng = np.random.default_rng(0)
    code = {**dict.fromkeys(GOOD, 1), **dict.fromkeys(BAD, 2)}
    words = [[str(w) for w in rng.choice([*GOOD, *BAD, *REST, "xyz"], rng.integers(2, 9))] for _ in range(n)]
    return words, [np.array([code.get(w, 0) for w in own], np.int64) for own in words]


TAGS = FinetuneTask("tokens", ("O", "B-GOOD", "B-BAD"))


@pytest.mark.parametrize(
    ("method", "steps", "least"),
    [("full", 80, 0.95), ("lora", 3, 0.0), ("pfeiffer(r=16)", 3, 0.0), ("prompt(length=4)", 3, 0.0)],
)
def test_words(base: Path, method: str, steps: int, least: float) -> None:
    words, y = tagged()
    words[3], y[3] = [], np.zeros(0, np.int64)  # a text without a word
    y[5] = np.full(len(y[5]), IGNORED)  # one without a label
    predict = np.array([150, 3, 101, *range(110, 140)])
    text_inputs = TextInputs([" ".join(own) for own in words], words=words)
    found = fit(base, method, TAGS, text_inputs, y, rate=5e-3, steps=steps, predict=predict, class_weight="balanced")
    assert [out.shape for out in found.outputs] == [(len(words[row]), 3) for row in predict]
    told = np.concatenate([out.argmax(axis=1) for out in found.outputs])
    true = np.concatenate([y[row] for row in predict])
    assert (told == true).mean() > least


@pytest.mark.parametrize("overlap", [0, 4, 99])
def test_words_behind_the_window_are_read_in_further_windows(base: Path, overlap: int) -> None:
    """simpletransformers#1129, transformers#2882, masakhane-ner#16: long documents lost the labels of their ends."""
    words, y = tagged(20)
    words[0] = [*["good", "xyz", "bad", "the"] * 9, ""]
    y[0] = np.array([1, 0, 2, 0] * 9 + [0])
    text_inputs = TextInputs([" ".join(own) for own in words], words=words, overlap=overlap)
    found = fit(base, "head", TAGS, text_inputs, y, steps=1, train=np.arange(20), predict=np.arange(2), max_tokens=10)
    out = found.outputs[0]
    assert len(out) == 37
    assert np.isfinite(out[:-1]).all()
    assert np.isnan(out[-1]).all()  # a word without a token
    assert found.cut == (0, 0.0)
    network = found.network
    assert network is not None
    model, tokenizer = network.model.eval(), network.tokenizer
    tokens = tokenizer(words[0], is_split_into_words=True, add_special_tokens=False)
    first = [tokens.word_ids().index(w) for w in range(36)]
    step = 8 - min(overlap, 4)
    for w in (0, 7, 20, 35):  # by transformers, in the windows that hold the word's first token
        near = []
        for start in range(0, len(tokens["input_ids"]), step):
            if start <= first[w] < start + 8:
                ids = [tokenizer.cls_token_id, *tokens["input_ids"][start : start + 8], tokenizer.sep_token_id]
                with torch.no_grad():
                    near.append(model(torch.tensor([ids])).logits[0, 1 + first[w] - start].numpy())
        assert any(np.allclose(out[w], z, atol=1e-4) for z in near)


def test_a_long_sequence_is_learned_and_decoded_as_one(base: Path) -> None:
    """A CRF whose labels are BIO: a window may go on with I-, which no sequence starts with, and the text is decoded as a whole."""
    words = [["good"] * 40, ["the", "bad"] * 5]
    y = [np.array([1] + [2] * 39), np.array([0, 1] * 5)]
    task = FinetuneTask("tokens", ("O", "B-X", "I-X"), crf=True)
    text_inputs = TextInputs([" ".join(own) for own in words], words=words, overlap=4)
    found = fit(base, "full", task, text_inputs, y, steps=60, train=np.arange(2), predict=np.arange(2), max_tokens=12)
    assert max(point.loss for point in found.outcome.curve) < 100  # a barred label would cost 10,000
    assert word_labels(task, found.outputs[0])[0].tolist() == y[0].tolist()
    np.testing.assert_allclose(np.exp(found.outputs[0][:, :3]).sum(axis=1), 1, atol=1e-5)


def test_predictions_are_in_the_order_asked_for_and_do_not_depend_on_neighbours(base: Path) -> None:
    together = fit(base, "full", steps=5)
    backwards = fit(base, "full", steps=5, predict=TEST[::-1].copy())
    assert together.outputs[::-1].tobytes() == backwards.outputs.tobytes()
    alone = fit(base, "full", steps=5, predict=TEST[7:8])
    assert alone.outputs[0].tobytes() == together.outputs[7].tobytes()
    assert fit(base, "full", steps=1, predict=NONE).outputs.shape == (0, 2)


def test_classes_weigh_alike_when_asked_to(base: Path) -> None:
    rng = np.random.default_rng(0)
    y = (np.arange(160) % 10 == 0).astype(np.int64)  # one of ten, and the texts tell nothing
    text_inputs = TextInputs([" ".join(rng.choice(REST, 4)) for _ in y])
    shares = []
    for balance in (False, True):
        found = fit(
            base, "head", SENTIMENT, text_inputs, y, rate=5e-3, steps=40, class_weight="balanced" if balance else "none"
        )
        e = np.exp(found.outputs - found.outputs.max(axis=1, keepdims=True))
        shares.append(float((e[:, 1] / e.sum(axis=1)).mean()))
    assert shares[0] < 0.25
    assert 0.35 < shares[1] < 0.65


def test_labels_of_other_rows_are_not_looked_at(base: Path) -> None:
    texts, y = reviews()
    changed = y.copy()
    changed[TEST] = 0
    a, b = (fit(base, "full", SENTIMENT, TextInputs(texts), own, steps=4) for own in (y, changed))
    assert a.outputs.tobytes() == b.outputs.tobytes()


def test_a_loss_that_is_no_number_ends_the_training(base: Path) -> None:
    texts, y = reviews()
    task = FinetuneTask("regression", (), 0.0, 1.0)
    with pytest.raises(InputError):
        fit(base, "full", task, TextInputs(texts), (y * np.float32(1e30)).astype(np.float32), rate=1.0, steps=40)


def test_texts_longer_than_the_window_are_counted(base: Path) -> None:
    texts, y = reviews()
    texts[0] = "good " * 100
    total = sum(len(text.split()) for text in texts)
    found = fit(base, "head", SENTIMENT, TextInputs(texts), y, steps=1)
    assert found.cut == (1, pytest.approx(38 / total))  # 64 tokens, two of them special
    with refuses("max_tokens"):
        fit(base, "head", max_tokens=65)


@pytest.mark.parametrize("kind", ["texts", "pairs", "context", "words"])
def test_documents_that_are_not_used_change_nothing_and_are_not_read(base: Path, kind: str) -> None:
    def fitted(unused: int) -> Trained:
        texts, labels = reviews()
        texts += ["good " * 100] * unused  # longer than the window
        task, y = SENTIMENT, np.append(labels, np.zeros(unused, np.int64))
        text_inputs = TextInputs(texts)
        if kind == "pairs":
            text_inputs = TextInputs(texts, second=[text.upper() for text in texts])
        elif kind == "context":
            text_inputs = TextInputs(texts, context=(["bad"] * len(texts), texts))
        elif kind == "words":
            words = [text.split() for text in texts]
            task, y = FinetuneTask("tokens", ("bad", "good")), [np.arange(len(own)) % 2 for own in words]
            text_inputs = TextInputs(texts, words=words)
        return fit(base, "lora", task, text_inputs, y, steps=4, train=np.array([70, 3, 11, 20]), dev=np.array([5, 90]),
                   predict=np.array([110, 4]), score=lambda rows, outputs: float(rows.sum()))  # fmt: skip

    few, many = fitted(0), fitted(30)
    assert trained_bytes(few) == trained_bytes(many)
    assert [o.tobytes() for o in few.outputs] == [o.tobytes() for o in many.outputs]
    assert few.outcome.curve[-1].dev == {"score": 95.0}
    assert few.cut == many.cut == (0, 0.0)


@pytest.mark.parametrize(("n", "epochs"), [(16, 50), (100, 29), (1000, 4), (5000, 3)])
def test_few_documents_are_seen_more_often(n: int, epochs: int) -> None:
    assert TrainingOptions().schedule(parse_method("full"), n).epochs == epochs


def test_the_plan_is_what_was_asked_for_and_else_the_methods() -> None:
    plan = TrainingOptions().schedule(parse_method("lora"), 100)
    assert (plan.rate, plan.head_rate) == (1e-3, 5e-4)
    many = [
        TrainingOptions(batch_size=16).schedule(parse_method(name), 100, 17).head_rate
        for name in ("full", "lora", "head", "setfit")
    ]
    assert many == [2e-3, 2e-3, 2e-3, 1e-2]
    assert TrainingOptions(batch_size=16).schedule(parse_method("full"), 100, 16).head_rate is None
    asked = TrainingOptions(
        epochs=2, batch_size=4, lr=0.5, warmup=0.3, weight_decay=0.2, patience=7, max_steps=9, head_lr=0.7
    )
    plan = asked.schedule(parse_method("full"), 100)
    assert plan == Schedule(
        epochs=2, batch=4, rate=0.5, head_rate=0.7, warmup=0.3, weight_decay=0.2, patience=7, max_steps=9
    )


def test_patience_without_dev_documents() -> None:
    with pytest.raises(UsageError, match="stops training by the scores on dev documents; name them with"):
        TrainingOptions(patience=2).check_patience(dev=False)
    TrainingOptions(patience=2).check_patience(dev=True)
    TrainingOptions(patience=0).check_patience(dev=False)  # that training never ends early holds anyway
    TrainingOptions().check_patience(dev=False)


def test_readings(base: Path) -> None:
    texts: Sequence[str] = ["good"]
    assert TextInputs(texts).plain
    assert not TextInputs(texts, second=texts).plain
    assert not TextInputs(texts, context=(texts, texts)).plain
    assert not TextInputs(texts, words=[["good"]]).plain

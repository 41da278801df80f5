"""SetFit: the loss of pairs, the heads, classes by name, and that training does what it is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from nlpkit.classify.dataset import Labels, encode_sets, encode_single
from nlpkit.errors import InputError, SchemaError, UsageError
from nlpkit.finetune import fit
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.fit import fit_setfit
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.setfit.embedder import Embedder, embed_all, load_embedder
from nlpkit.finetune.setfit.pairs import PairSampler
from nlpkit.finetune.setfit.setfit import DEFAULTS, SetFitModel, SetFitObjective, penalty_for, train_setfit
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.heads import HeadObjective, fit_head
from nlpkit.finetune.training.train import Schedule, State
from tests.encoder_models import write_model
from tests.few import few

CPU = torch.device("cpu")
ANIMALS = ["the cat ran", "a dog sat", "bird and cat", "the old dog", "cat cat ran", "a very new bird"]
THINGS = ["the mat was old", "a house", "old house on mat", "the new mat", "house and mat", "very old house"]
TEXTS, VALUES = [*ANIMALS, *THINGS], ["zoo"] * 6 + ["home"] * 6
FAST = Schedule(batch=8, rate=3e-3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("setfit") / "tiny")


@pytest.fixture
def embedder(folder: Path) -> Embedder:
    return load_embedder(folder, max_tokens=None, device=CPU)


def single(values: list[str]) -> Labels:
    return encode_single(values, np.ones(len(values), bool))


def trained(
    embedder: Embedder, *, threads: int = 1, labels: Labels | None = None, seed: int = 1, **options: Any
) -> Any:
    labels = single(VALUES) if labels is None else labels
    with Engine(CPU, "fp32", threads=threads) as engine:
        model, outcome = train_setfit(
            embedder, TEXTS, labels, np.arange(12), plan=FAST, options=options, engine=engine, seed=seed
        )
        return model, outcome, embed_all(embedder, embedder.read(TEXTS), engine)


def objective_of(embedder: Embedder, texts: list[str], labels: Labels, R: int) -> SetFitObjective:
    sampler = PairSampler(labels, np.arange(len(texts)), R=R, seed=3)
    own = SetFitObjective(embedder, embedder.read(texts), np.arange(len(texts)), sampler)
    own.begin(0, 0)
    return own


def test_the_loss_and_gradient_are_those_of_the_library(embedder: Embedder) -> None:
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

    objective, rows = objective_of(embedder, TEXTS, single(VALUES), 2), np.arange(20)
    pairs = PairSampler(single(VALUES), np.arange(12), R=2, seed=3).draw(0)
    own = objective.parameters()
    with Engine(CPU, "fp32", threads=2) as engine:
        value = engine.joint(objective, rows, own, seed=(0,))
    found = {name: p.grad.clone() for name, p in own.items() if p.grad is not None}
    sides = [embedder.model.preprocess([TEXTS[i] for i in side[rows]]) for side in (pairs.first, pairs.second)]
    loss = CosineSimilarityLoss(embedder.model)(sides, torch.from_numpy(pairs.similar[rows]))
    assert value == pytest.approx(float(loss.detach()), rel=1e-5)
    theirs = torch.autograd.grad(loss, list(own.values()))
    for name, gradient in zip(own, theirs, strict=True):
        torch.testing.assert_close(found[name], gradient.to_dense(), rtol=1e-3, atol=1e-6)


def test_each_text_of_a_batch_is_encoded_once(embedder: Embedder) -> None:
    objective = objective_of(embedder, TEXTS, single(VALUES), 10)
    units = objective.units(np.arange(240))
    assert units.tolist() == list(range(12))


def test_equal_texts_are_one(embedder: Embedder) -> None:
    twice = [*TEXTS, *TEXTS]
    labels = single(VALUES * 2)
    with Engine(CPU, "fp32", threads=1) as engine:
        model, _ = train_setfit(
            embedder, twice, labels, np.arange(24), plan=FAST, options={"R": 1}, engine=engine, seed=0
        )
    assert model.counts["pairs"] == 48


@pytest.mark.parametrize("head", few(["logistic", "differentiable"], 1))
def test_documents_of_a_class_come_together_and_are_told_apart(embedder: Embedder, head: str) -> None:
    def gap(vectors: Any) -> float:
        cosines = vectors @ vectors.T
        same = np.equal.outer(VALUES, VALUES) & ~np.eye(12, dtype=bool)
        return float(cosines[same].mean() - cosines[np.not_equal.outer(VALUES, VALUES)].mean())

    before = gap(embedder.model.encode(TEXTS, show_progress_bar=False))
    model, outcome, vectors = trained(embedder, head=head, R=30)
    assert outcome.steps == 90  # 2 · 30 · 12 / 8
    assert gap(vectors) > before + 0.5
    assert model.predict(vectors) == VALUES
    held_out = embedder.model.encode(["the bird sat", "a mat on house"], show_progress_bar=False)
    assert model.predict(held_out) == ["zoo", "home"]


def test_the_bytes_do_not_depend_on_threads(folder: Path) -> None:
    found = []
    for threads in (1, 3):
        own = load_embedder(folder, max_tokens=None, device=CPU)
        model, _, vectors = trained(own, threads=threads, R=2)
        found.append((vectors.tobytes(), model.linear.coef.tobytes()))
    assert found[0] == found[1]
    own = load_embedder(folder, max_tokens=None, device=CPU)
    assert trained(own, seed=2, R=2)[2].tobytes() != found[0][0]


def test_training_goes_on_from_a_state(folder: Path) -> None:
    kept: list[State] = []

    def on_step(step: int, steps: int, point: Any) -> None:
        if step == 4:
            raise KeyboardInterrupt

    def run(embedder: Embedder, **more: Any) -> Any:
        with Engine(CPU, "fp32", threads=1) as engine:
            return train_setfit(
                embedder,
                TEXTS,
                single(VALUES),
                np.arange(12),
                plan=FAST,
                options={"R": 3},
                engine=engine,
                seed=1,
                **more,
            )[0]

    whole = run(load_embedder(folder, max_tokens=None, device=CPU))
    with pytest.raises(KeyboardInterrupt):
        run(load_embedder(folder, max_tokens=None, device=CPU), on_step=on_step, save=kept.append)
    again = run(load_embedder(folder, max_tokens=None, device=CPU), state=kept[-1])
    assert again.linear.coef.tobytes() == whole.linear.coef.tobytes()


def test_the_logistic_head_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)).astype(np.float32)
    for J, balanced in ((2, False), (4, False), (3, True)):
        values = [f"c{(i * i) % 7 % J}" for i in range(60)]
        labels = single(values)
        own = SetFitModel(labels.names, fit_head(X, labels, np.arange(60), balanced=balanced))
        theirs = LogisticRegression(class_weight="balanced" if balanced else None, tol=1e-8, max_iter=1000).fit(
            X, values
        )
        assert list(theirs.classes_) == list(own.names)
        np.testing.assert_allclose(own.probabilities(X), theirs.predict_proba(X), atol=1e-4)
        assert own.predict(X) == theirs.predict(X).tolist()


@pytest.mark.parametrize("balanced", [False, True])
def test_the_logistic_head_of_several_labels_is_that_of_scikit_learn(balanced: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 8)).astype(np.float32)
    Y = np.stack([X[:, 0] + rng.normal(size=100) > 1.6, X[:, 1] + rng.normal(size=100) > 0], axis=1)
    assert Y.sum(axis=0).tolist() == [7, 41]
    labels = encode_sets([[name for name, y in zip("xy", row, strict=True) if y] for row in Y], np.ones(100, bool))
    own = fit_head(X, labels, np.arange(100), balanced=balanced)
    plain = LogisticRegression(class_weight="balanced" if balanced else None, tol=1e-10, max_iter=5000)
    theirs = OneVsRestClassifier(plain).fit(X.astype(np.float64), Y.astype(int)).estimators_
    np.testing.assert_allclose(own.coef.T, [e.coef_[0] for e in theirs], atol=1e-4)
    np.testing.assert_allclose(own.intercept, [e.intercept_[0] for e in theirs], atol=1e-4)


def test_columns_are_in_the_order_of_the_names_that_are_asked_for() -> None:
    labels = single(["b", "a", "10", "9"] * 3)
    X = np.tile(np.eye(4, dtype=np.float32), (3, 1))
    model = SetFitModel(labels.names, fit_head(X, labels, np.arange(12)))
    assert model.names == ("9", "10", "a", "b")  # numbers as numbers; scikit-learn has 10, 9, a, b
    for names in (("a", "9", "b", "10"), ("10", "b")):
        np.testing.assert_array_equal(
            model.decision(X, names), model.decision(X)[:, [model.names.index(n) for n in names]]
        )
        chances = model.probabilities(X, names)
        np.testing.assert_array_equal(chances, model.probabilities(X)[:, [model.names.index(n) for n in names]])
    assert model.predict(X) == ["b", "a", "10", "9"] * 3
    order = ("a", "9", "b", "10")
    assert [order[j] for j in model.probabilities(X, order).argmax(axis=1)] == model.predict(X)
    with pytest.raises(InputError):
        model.decision(X, ("a", "z"))


def test_classes_that_no_document_of_a_head_has() -> None:
    X = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
    labels = single(["a", "b", "c", "a", "b", "a"])
    model = SetFitModel(labels.names, fit_head(X[[0, 1, 3, 4]], labels, np.array([0, 1, 3, 4])))
    chances = model.probabilities(X)
    assert (chances[:, 2] == 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    with pytest.raises(InputError):
        fit_head(X[[0, 3]], labels, np.array([0, 3]))
    sets = encode_sets([["a", "c"], ["a"], ["a", "b"], ["a"], ["a", "b"], ["d"]], np.ones(6, bool))
    many = SetFitModel(sets.names, fit_head(X[:5], sets, np.arange(5)))
    chances = many.probabilities(X)
    assert (chances[:, 0] == 1).all()
    assert (chances[:, 3] == 0).all()


@pytest.mark.parametrize("head", few(["logistic", "differentiable"], 1))
def test_several_labels(embedder: Embedder, head: str) -> None:
    values = [["zoo", "old"] if "old" in t else ["zoo"] for t in ANIMALS]
    values += [["home", "old"] if "old" in t else ["home"] for t in THINGS]
    values[4] = []
    labels = encode_sets(values, np.ones(12, bool))
    own = {"C": 100.0} if head == "logistic" else {"head_epochs": 300}
    model, _, vectors = trained(embedder, labels=labels, head=head, R=30, **own)
    assert model.multiple
    chances = model.probabilities(vectors)
    assert model.predict(vectors) == [
        tuple(n for n, p in zip(model.names, row, strict=True) if p > 0.5) for row in chances
    ]
    right = np.mean([set(a) == set(b) for a, b in zip(model.predict(vectors), values, strict=True)])
    assert right > 0.7


@pytest.mark.parametrize("multiple", [False, True])
def test_the_differentiable_head_is_in_fp32_in_any_precision(multiple: bool) -> None:
    rng = np.random.default_rng(3)
    source, rows = torch.from_numpy(rng.normal(2.0, 1.0, (12, 8)).astype(np.float32)), np.arange(12)
    targets = torch.from_numpy(rng.integers(0, 2, (12, 3)).astype(np.float32) if multiple else rng.integers(0, 3, 12))
    found = []
    for precision in ("fp32", "bf16"):
        weight = torch.from_numpy(np.random.default_rng(4).normal(size=(3, 8)).astype(np.float32)).requires_grad_()
        bias = torch.full((3,), 0.1, requires_grad=True)
        objective = HeadObjective(source, rows, targets, weight, bias, torch.ones(3), None)
        with Engine(CPU, precision, threads=1) as engine:
            loss = engine.separate(objective, rows, objective.parameters(), seed=(0,))
        assert weight.grad is not None
        assert bias.grad is not None
        found.append((loss, weight.grad.tolist(), bias.grad.tolist()))
    assert found[0] == found[1]


@pytest.mark.slow
def test_the_differentiable_head_trains_its_encoder_end_to_end(embedder: Embedder) -> None:
    frozen = embedder.model.encode(TEXTS, show_progress_bar=False)
    model, outcome, vectors = trained(embedder, head="differentiable", epochs=0)
    assert outcome.steps == 0
    np.testing.assert_allclose(vectors, frozen, atol=1e-6)
    model, _, vectors = trained(
        embedder, head="differentiable", epochs=0, end_to_end=True, body_rate=1e-3, head_epochs=60
    )
    assert abs(vectors - frozen).max() > 0.05
    assert model.predict(vectors) == VALUES


def test_a_model_is_made_again_from_what_it_stores(embedder: Embedder) -> None:
    model, _, vectors = trained(embedder, R=1)
    again = SetFitModel.restored(model.config(), model.arrays())
    assert again.config() == model.config()
    np.testing.assert_array_equal(again.decision(vectors), model.decision(vectors))
    with pytest.raises(SchemaError):
        SetFitModel.restored({}, model.arrays())
    with pytest.raises(SchemaError):
        SetFitModel.restored({**model.config(), "names": ["a", "b", "c"]}, model.arrays())


def test_bad_options(embedder: Embedder) -> None:
    assert all(isinstance(v, int | float | str | bool) for v in DEFAULTS["setfit"].values())
    cases: list[tuple[dict[str, Any], str]] = [
        ({"head": "tree"}, "one of logistic, differentiable"),
        ({"R": 0}, "R must be at least 1"),
        ({"C": -1.0}, "C must be above 0"),
        ({"r": 3}, "no option 'r'"),
    ]
    for options, message in cases:
        with pytest.raises(UsageError, match=message):
            trained(embedder, **options)


@pytest.mark.parametrize("several", [False, True])
def test_the_penalty_is_smaller_with_many_classes_but_not_with_many_labels(folder: Path, several: bool) -> None:
    y = [f"c{j % 16:02}" for j in range(32)]
    labels = encode_sets([[v] for v in y], np.ones(32, bool)) if several else single(y)
    texts = [f"{TEXTS[i % 12]} {i}" for i in range(32)]

    def coef(C: float) -> Any:
        own = load_embedder(folder, max_tokens=None, device=CPU)
        with Engine(CPU, "fp32", threads=1) as engine:
            model, _ = train_setfit(
                own, texts, labels, np.arange(32), plan=FAST, options={"epochs": 0, "C": C}, engine=engine, seed=0
            )
        return model.linear.coef

    assert [penalty_for(J) for J in (2, 8, 16, 77)] == [1.0, 1.0, 2.0, 77 / 8]
    np.testing.assert_array_equal(coef(0.0), coef(1.0 if several else 2.0))
    assert not np.allclose(coef(0.0), coef(3.0))


@pytest.mark.parametrize(("several", "few"), [(False, 64), (True, 64), (False, 6)])
def test_few_documents_of_unequal_classes_weigh_alike_but_several_labels_do_not(
    folder: Path, several: bool, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The regression of setfit hardly ever gives a class with two of ten documents; that of scikit-learn, weighed, does."""
    monkeypatch.setattr(fit, "FEW", few)
    y = ["a"] * 8 + ["b"] * 4
    labels = encode_sets([[v] for v in y], np.ones(12, bool)) if several else single(y)
    with Engine(CPU, "fp32", threads=1) as engine:
        own = load_embedder(folder, max_tokens=None, device=CPU)
        model = fit_setfit(
            folder, parse_method("setfit(epochs=0)"), labels, TextInputs(TEXTS), train_rows=np.arange(12),
            dev_rows=np.arange(0), predict_rows=np.arange(12), training=TrainingOptions(), engine=engine, seed=1, embedder=own,
        )  # fmt: skip
        X = embed_all(own, own.read(TEXTS), engine)
    expected = LogisticRegression(
        class_weight="balanced" if not several and few == 64 else None, tol=1e-8, max_iter=1000
    ).fit(X, y)
    scores = model.outputs[:, 1] - (0 if several else model.outputs[:, 0])
    np.testing.assert_allclose(scores, expected.decision_function(X), atol=1e-3)

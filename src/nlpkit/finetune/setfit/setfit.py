"""SetFit: a sentence encoder is trained on pairs of documents, then a classifier on its embeddings (Tunstall et al. 2022, §3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.classify.dataset import Labels
from nlpkit.classify.models.linear import LinearModel, by_link
from nlpkit.errors import InputError, SchemaError, UsageError
from nlpkit.finetune.setfit.embedder import Embedder, EmbedderTexts, embed_all
from nlpkit.finetune.setfit.pairs import PairSampler, SampledPairs
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.heads import fit_differentiable, fit_head, linear_head
from nlpkit.finetune.training.train import LogPoint, Outcome, Schedule, State, train
from nlpkit.finetune.training.used_rows import used_rows
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, LongArray
from nlpkit.platform.wording import listed

# R: pairs of either kind for each document; max_pairs: of an epoch; C: inverse penalty of the logistic head, 0: `penalty_for`; head_…: of
# the differentiable one; end_to_end: the differentiable head is trained with the body, whose rate is then body_rate
DEFAULTS: dict[str, dict[str, int | float | str | bool]] = {
    "setfit": {
        "R": 20,
        "epochs": 1,
        "max_pairs": 40_000,
        "head": "logistic",
        "C": 0.0,  # `penalty_for` the number of classes
        "balanced": True,  # else a class with two of ten documents hardly ever comes out (docs/benchmarks/finetune.md)
        "head_epochs": 16,
        "head_batch": 2,
        "head_rate": 1e-2,
        "end_to_end": False,
        "body_rate": 1e-5,
    }
}
HEADS = ("logistic", "differentiable")


@dataclass(frozen=True)
class SetFitModel:
    """The classifier on embeddings. names (J,): of the columns; linear: scores (D, J), softmax, or log-odds with several labels.

    normalize: embeddings get length 1 before; head: which of `HEADS`; counts: pairs of an epoch, classes with a single document
    (`alone`) and documents with pairs of one kind only (`one_sided`).
    """

    names: tuple[str, ...]
    linear: LinearModel
    normalize: bool = False
    head: str = "logistic"
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def multiple(self) -> bool:
        """Whether a document may have several labels."""
        return self.linear.multi_label

    def divided_by(self, temperature: float) -> SetFitModel:
        """Return the classifier whose logits are those of this one divided by a temperature."""
        linear = self.linear
        scaled = replace(linear, coef=linear.coef / temperature, intercept=linear.intercept / temperature)
        return replace(self, linear=scaled)

    def decision(self, embeddings: Float32Array, names: Sequence[str] | None = None) -> FloatArray:
        """Return logits (D, J) of embeddings (D, E), columns in the order of `names`; None = of `self.names`.

        Raises:
            InputError: a name that is no class of the model.
        """
        X = np.asarray(embeddings, np.float64)
        if self.normalize:
            X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
        scores = self.linear.decision(X)
        if names is None:
            return scores
        column = {name: j for j, name in enumerate(self.names)}
        unknown = next((name for name in names if name not in column), None)
        if unknown is not None:
            raise InputError(f"'{unknown}' is not a class of this model (its classes: {listed(self.names, 20)})")
        return np.ascontiguousarray(scores[:, [column[name] for name in names]])

    def probabilities(self, embeddings: Float32Array, names: Sequence[str] | None = None) -> FloatArray:
        """Return probabilities (D, J) of all classes or, with `names`, the columns of these."""
        whole = by_link(self.decision(embeddings), self.linear.link)
        if names is None:
            return whole
        self.decision(embeddings[:0], names)
        return np.ascontiguousarray(whole[:, [self.names.index(name) for name in names]])

    def predict(self, embeddings: Float32Array) -> list[str] | list[tuple[str, ...]]:
        """Return the class of each document, or its labels, by name: of the largest logit, or of those above 0."""
        scores = self.decision(embeddings)
        if self.multiple:
            return [tuple(self.names[j] for j in np.flatnonzero(row > 0)) for row in scores]
        return [self.names[j] for j in scores.argmax(axis=1).tolist()]

    def config(self) -> dict[str, Any]:
        """Return plain values that with `arrays` make the model again."""
        return {
            "names": list(self.names),
            "normalize": self.normalize,
            "multiple": self.multiple,
            "head": self.head,
            "counts": dict(self.counts),
        }

    def arrays(self) -> dict[str, Any]:
        """Return coef (E, J) and intercept (J,) float64."""
        return self.linear.arrays()

    @classmethod
    def restored(cls, config: Mapping[str, Any], arrays: Mapping[str, Any]) -> SetFitModel:
        """Return the model that `config` and `arrays` came from.

        Raises:
            SchemaError: a value or an array is missing or does not fit.
        """
        try:
            names, several = tuple(map(str, config["names"])), bool(config["multiple"])
            linear = linear_head(arrays["coef"], arrays["intercept"], multiple=several)
            model = cls(names, linear, bool(config["normalize"]), str(config["head"]), dict(config["counts"]))
        except KeyError as missing:
            raise SchemaError(f"a setfit model needs {missing}, which is not there; train it again") from None
        if linear.coef.ndim != 2 or linear.coef.shape[1] != len(names) or linear.intercept.shape != (len(names),):
            raise SchemaError(
                f"a setfit model has {len(names)} classes, its coef has shape {linear.coef.shape}; train it again"
            )
        return model


class SetFitObjective:
    """Cosine similarity of pairs: the mean of (cos(u, v) - s)², s = 1 for documents of a class, 0 for those of different ones.

    Tunstall et al. 2022, §3.1; Reimers & Gurevych 2019, §3. A text that is in several pairs of a batch is encoded once, so it has
    one draw of dropout in all of them, where setfit 1.2.0 encodes it for each.
    """

    joint = True
    by_length = False

    def __init__(self, embedder: Embedder, texts: EmbedderTexts, unit: LongArray, sampler: PairSampler) -> None:
        """texts: the different texts (U,); unit (n,): the text of each document of the sampler."""
        self._embedder, self._texts, self._unit, self._sampler = embedder, texts, unit, sampler
        self.n = sampler.n_pairs
        self.lengths: IntArray | LongArray = np.ones(self.n, np.int32)
        self.unit_lengths: IntArray | LongArray = texts.lengths
        self._pairs: SampledPairs | None = None

    def parameters(self) -> dict[str, Tensor]:
        """Return the parameters of the encoder."""
        return self._embedder.parameters()

    def head(self) -> set[str]:
        """Return nothing: there is no head yet."""
        return set()

    def mode(self, train: bool) -> None:
        """Switch dropout."""
        self._embedder.train(train)

    def begin(self, epoch: int, seed: int) -> None:
        """Draw the pairs of the epoch; the sampler has a seed of its own."""
        self._pairs = self._sampler.draw(epoch)

    def units(self, rows: LongArray) -> LongArray:
        """Return the different texts of some pairs."""
        first, second, _ = self._of(rows)
        return np.unique(np.concatenate([first, second]))

    def encode(self, units: LongArray) -> Tensor:
        """Return the vectors of texts (u, E)."""
        return self._texts.encode(units)

    def joint_loss(self, vectors: Tensor, units: LongArray, rows: LongArray) -> Tensor:
        """Return the loss of some pairs."""
        first, second, similar = self._of(rows)
        u, v = (
            vectors[torch.from_numpy(np.searchsorted(units, documents)).to(vectors.device)]
            for documents in (first, second)
        )
        wanted = torch.from_numpy(similar).to(vectors.device)
        return functional.mse_loss(functional.cosine_similarity(u.float(), v.float()), wanted)

    def _of(self, rows: LongArray) -> tuple[LongArray, LongArray, Float32Array]:
        assert self._pairs is not None
        pairs = self._pairs
        return self._unit[pairs.first[rows]], self._unit[pairs.second[rows]], pairs.similar[rows]


def train_setfit(
    embedder: Embedder,
    texts: Sequence[str],
    labels: Labels,
    rows: LongArray,
    *,
    plan: Schedule,
    options: Mapping[str, Any],
    engine: Engine,
    seed: int,
    state: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    on_step: Callable[[int, int, LogPoint | None], None] = lambda step, steps, point: None,
) -> tuple[SetFitModel, Outcome]:
    """Train the encoder on pairs of the documents `rows`, in place, then a classifier on what it makes of them.

    Args:
        texts: (D,) of all documents. rows: (n,) those to learn from, each with a known label.
        plan: batch (of pairs), rate, warm-up and so on; its epochs are those of the options.
        options: of `DEFAULTS`; what is not there is as there.
        state, save, on_step: as for `train`, of the pairs; the head is made in one go.

    Raises:
        UsageError: an option that cannot be. InputError: no two documents that differ in their labels.
    """
    values = {**DEFAULTS["setfit"], **options}
    check_options("setfit", values)
    rows = np.asarray(rows, np.int64)
    read, unit = _distinct(embedder, [texts[row] for row in rows.tolist()])
    sampler = PairSampler(labels, rows, R=int(values["R"]), most=int(values["max_pairs"]) or None, seed=seed)
    counts = {"pairs": sampler.n_pairs, "alone": sampler.n_alone, "one_sided": sampler.n_one_sided}
    outcome = Outcome(0, 0, (), 0.0, False, plan.batch)
    if values["epochs"]:
        plan = replace(plan, epochs=int(values["epochs"]))
        objective = SetFitObjective(embedder, read, unit, sampler)
        with used_rows(embedder.model[0].model, read.tokens()):
            outcome = train(objective, engine, plan, seed=seed, state=state, save=save, on_step=on_step)
    embedder.train(False)
    balanced = bool(values["balanced"])
    if values["head"] == "logistic":
        C = float(values["C"]) or (1.0 if labels.multiple else penalty_for(len(labels.names)))
        linear = fit_head(embed_all(embedder, read, engine)[unit], labels, rows, C=C, balanced=balanced)
    else:
        linear = fit_differentiable(
            embedder, read, unit, labels, rows, plan=plan, setfit_options=values, engine=engine, seed=seed
        )
    return SetFitModel(labels.names, linear, head=str(values["head"]), counts=counts), outcome


def penalty_for(n_classes: int) -> float:
    """Return C, the inverse penalty of the regression: 1 as in setfit, and J / 8 with more than eight classes.

    The penalty grows with the classes, each of which has weights of its own, while its documents are a J-th of the loss; several labels
    have a regression each (docs/benchmarks/finetune.md, "Many classes").
    """
    return max(1.0, n_classes / 8)


def _distinct(embedder: Embedder, texts: Sequence[str]) -> tuple[EmbedderTexts, LongArray]:
    """Return the different texts (U,) tokenised, and which of them each text (n,) is."""
    number: dict[str, int] = {}
    unit = np.array([number.setdefault(text, len(number)) for text in texts], np.int64)
    return embedder.read(list(number)), unit


def check_options(_name: str, values: Mapping[str, Any]) -> None:
    """Raise UsageError when all options together are not such as `train_setfit` takes."""
    unknown = next((name for name in values if name not in DEFAULTS["setfit"]), None)
    if unknown is not None:
        raise UsageError(
            f"setfit has no option '{unknown}' (it has: {', '.join(DEFAULTS['setfit'])})", parameter="method"
        )
    if values["head"] not in HEADS:
        raise UsageError(
            f"setfit(head={values['head']}): the head must be one of {', '.join(HEADS)}", parameter="method"
        )
    for name, least in {"R": 1, "epochs": 0, "max_pairs": 0, "head_epochs": 1, "head_batch": 1}.items():
        if values[name] < least:
            raise UsageError(f"setfit({name}={values[name]}): {name} must be at least {least}", parameter="method")
    if values["C"] < 0:
        raise UsageError(
            f"setfit(C={values['C']}): C must be above 0, or 0 to choose it by the number of classes",
            parameter="method",
        )
    for name in ("head_rate", "body_rate"):
        if not values[name] > 0:
            raise UsageError(f"setfit({name}={values[name]}): {name} must be above 0", parameter="method")
    if values["head"] == "differentiable":
        unread = {"C": "head=logistic"}
    else:
        of_head = ("head_epochs", "head_batch", "head_rate", "end_to_end", "body_rate")
        unread = dict.fromkeys(of_head, "head=differentiable")
    if values["head"] == "differentiable" and not values["end_to_end"]:
        unread["body_rate"] = "end_to_end=true"
    for name, needed in unread.items():
        if values[name] != DEFAULTS["setfit"][name]:
            raise UsageError(f"setfit({name}={values[name]}): {name} is for {needed}; add it, or leave {name} out")

"""Sentence encoders trained on pairs and triplets, and the losses that they are trained by.

Parts, in this order:
- Losses of sentence encoders, as functions of vectors: classes of pairs, triplets, ranks among a batch, scores of
  pairs.
- The training, and its scores on pairs that were held out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.finetune.setfit.embedder import Embedder, EmbedderTexts, cut_of, embed_all
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import LogPoint, Outcome, Schedule, State, train
from nlpkit.platform.named_options import Value
from nlpkit.platform.types import Float32Array, IntArray, LongArray


def softmax_features(u: Tensor, v: Tensor) -> Tensor:
    """Return (u, v, |u - v|), (B, 3E), of the vectors u, v (B, E) of two sentences.

    Reimers & Gurevych 2019, §3, classification objective. The lecture writes |u - v| as well.
    """
    return torch.cat([u, v, (u - v).abs()], dim=-1)


def softmax_loss(u: Tensor, v: Tensor, weight: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy of softmax(W (u, v, |u - v|)), a scalar.

    Args:
        weight: W (J, 3E) for J classes; there is no bias. labels: (B,) class numbers.

    Reimers & Gurevych 2019, §3, classification objective. sentence-transformers' SoftmaxLoss has a bias besides.
    """
    return functional.cross_entropy(functional.linear(softmax_features(u.float(), v.float()), weight).float(), labels)


def triplet_loss(a: Tensor, p: Tensor, n: Tensor, *, margin: float = 1.0) -> Tensor:
    """Return the mean of max(‖a - p‖ - ‖a - n‖ + margin, 0) over anchors, positives and negatives (B, E).

    Reimers & Gurevych 2019, §3, triplet objective: Euclidean, margin 1. (sentence-transformers' margin is 5.) A distance of 0 has
    the gradient 0; taken as the root of a sum of squares it would have none.
    """
    a, p, n = a.float(), p.float(), n.float()
    near, far = torch.linalg.vector_norm(a - p, dim=-1), torch.linalg.vector_norm(a - n, dim=-1)
    return functional.relu(near - far + margin).mean()


def mnrl_loss(
    a: Tensor, p: Tensor, n: Tensor | None = None, *, scale: float = 20.0, skip: Tensor | None = None
) -> Tensor:
    """Return the multiple negatives ranking loss: the mean cross-entropy of finding p_i for a_i among all p and n.

    The logits are scale · cos(a_i, c_j) over the candidates c: the positives of the batch and, where given, the hard negatives.

    Args:
        a, p, n: (B, E). skip: (B, C) bool, candidates that are no negatives of an anchor and are left out, C = B or 2B.

    Henderson et al. 2017, §4.4, with cosine and scale as in sentence-transformers' MultipleNegativesRankingLoss.
    """
    candidates = p if n is None else torch.cat([p, n])
    logits = scale * functional.normalize(a.float(), dim=-1) @ functional.normalize(candidates.float(), dim=-1).T
    if skip is not None:
        logits = logits.masked_fill(skip, float("-inf"))
    return functional.cross_entropy(logits, torch.arange(len(a), device=a.device))


def not_negatives(anchors: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """Return which candidates of a batch are no negatives of an anchor, (B, C) bool, for `mnrl_loss`.

    A candidate is none where its text is the anchor, or is a positive of the same anchor text anywhere in the batch; the anchor's
    own column is never left out. sentence-transformers has a sampler that keeps such rows out of a batch instead.

    Args:
        anchors, positives, negatives: (B,) numbers of texts; equal texts have equal numbers.
    """
    candidates = positives if negatives is None else torch.cat([positives, negatives])
    same_anchor = anchors[:, None] == anchors[None, :]  # (B, B)
    is_positive = positives[:, None] == candidates[None, :]  # (B, C)
    skip = (same_anchor.float() @ is_positive.float() > 0) | (anchors[:, None] == candidates[None, :])
    place = torch.arange(len(anchors), device=anchors.device)
    skip[place, place] = False
    return skip


def cosine_loss(u: Tensor, v: Tensor, scores: Tensor) -> Tensor:
    """Return the mean of (cos(u, v) - score)² over pairs; scores (B,) are -1 … 1, as a rule 0 … 1.

    Reimers & Gurevych 2019, §3, regression objective.
    """
    return (functional.cosine_similarity(u.float(), v.float(), dim=-1) - scores.float()).square().mean()


# ------------------------------------------------------------------------------------------------------------------------
# Sentence encoders trained on pairs and triplets: classes of pairs, triplets, ranks among a batch, scores of pairs.

EncoderName = Literal["sbert-softmax", "triplet", "mnrl", "cosine"]
NAMES: tuple[str, ...] = get_args(EncoderName)
OPTIONS: dict[str, dict[str, Value]] = {
    "mlm": {"share": 0.15, "head_steps": 200, "head_rate": 1e-3},
    "sbert-softmax": {"head_rate": 1e-3},
    "triplet": {"margin": 1.0},
    "mnrl": {"scale": 20.0},
    "cosine": {},
    "static": {"sample": 10_000},
    "sft": {},
    "dpo": {"beta": 0.1},
}
PLANS: dict[str, Schedule] = {  # where the user says nothing
    "mlm": Schedule(epochs=3, batch=32, rate=1e-4, warmup=0.06),
    "sbert-softmax": Schedule(epochs=1, batch=16, rate=2e-5),
    "triplet": Schedule(epochs=1, batch=16, rate=2e-5),
    "mnrl": Schedule(epochs=1, batch=32, rate=2e-5),
    "cosine": Schedule(epochs=1, batch=16, rate=2e-5),
    "static": Schedule(epochs=1, batch=1, rate=0.0),  # solved at once
    "sft": Schedule(epochs=3, batch=8, rate=2e-5),
    "dpo": Schedule(epochs=1, batch=8, rate=1e-6),
}
ADAPTED_RATE = 10.0  # what adds weights to a frozen model learns at so many times the rate
BETTER = {"sbert-softmax": "accuracy", "triplet": "accuracy", "mnrl": "recall@1", "cosine": "spearman"}
MOST_CANDIDATES = 10_000  # of recall@1
HEAD = "softmax.weight"


@dataclass(frozen=True, slots=True)
class EncoderData:
    """Pairs (a, b), or triplets (a, b, c): anchor, positive, hard negative.

    labels: of each pair its class, for sbert-softmax; scores (n,): for cosine, 0 … 1 where they are learned from.
    """

    texts_a: Sequence[str]
    texts_b: Sequence[str]
    texts_c: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    scores: Float32Array | None = None

    def __len__(self) -> int:
        return len(self.texts_a)


@dataclass(slots=True)
class PairObjective:
    """Objective of training an embedder on pairs or triplets; see `engine.InBatchLoss` and `objective.Objective`.

    A text is a unit: of a batch each distinct text is encoded once, with one draw of dropout, which gives the same loss but for
    dropout (SBERT encodes it as often as it is there).

    texts: the distinct texts; columns (n, 2 or 3): which of them a row has; targets (n,): classes, scores, or None;
    weight: W (J, 3E) of sbert-softmax, or None.
    """

    name: str
    embedder: Embedder
    texts: EmbedderTexts
    columns: LongArray
    targets: Tensor | None
    options: Mapping[str, Value]
    weight: Tensor | None = None
    joint: bool = True
    by_length: bool = False  # so that the rows of a batch, each other's negatives, are drawn at random
    n: int = field(init=False)
    lengths: LongArray = field(init=False)
    unit_lengths: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self.n, self.unit_lengths = len(self.columns), self.texts.lengths
        self.lengths = self.unit_lengths[self.columns].sum(axis=1).astype(np.int64)

    def parameters(self) -> dict[str, Tensor]:
        """Return what is trained, by name."""
        trained = self.embedder.parameters()
        return trained if self.weight is None else {**trained, HEAD: self.weight}

    def head(self) -> set[str]:
        """Return the name of W."""
        return set() if self.weight is None else {HEAD}

    def mode(self, train: bool) -> None:
        """Put the embedder into training, or out of it."""
        self.embedder.train(train)

    def begin(self, epoch: int, seed: int) -> None:
        """Nothing changes from epoch to epoch but the order."""

    def units(self, rows: LongArray) -> LongArray:
        """Return the texts of some rows, each once."""
        return np.unique(self.columns[rows])

    def encode(self, units: LongArray) -> Tensor:
        """Return the vectors (u, E) of some texts."""
        return self.texts.encode(units)

    def joint_loss(self, vectors: Tensor, units: LongArray, rows: LongArray) -> Tensor:
        """Return the loss of rows whose texts have the vectors (u, E)."""
        text_numbers = self.columns[rows]
        place = torch.from_numpy(np.searchsorted(units, text_numbers)).to(vectors.device)
        a, b = vectors[place[:, 0]], vectors[place[:, 1]]
        c = vectors[place[:, 2]] if text_numbers.shape[1] > 2 else None
        wanted = None if self.targets is None else self.targets[torch.from_numpy(rows)].to(vectors.device)
        if self.name == "cosine":
            assert wanted is not None
            return cosine_loss(a, b, wanted)
        if self.name == "sbert-softmax":
            assert wanted is not None
            assert self.weight is not None
            return softmax_loss(a, b, self.weight, wanted)
        if self.name == "triplet":
            assert c is not None
            return triplet_loss(a, b, c, margin=float(self.options["margin"]))
        skip = not_negatives(*place.T)
        return mnrl_loss(a, b, c, scale=float(self.options["scale"]), skip=skip)


@dataclass(frozen=True, slots=True)
class EncoderOutcome:
    """Outcome of training. weight: W (J, 3E) of sbert-softmax and its classes, which the encoder itself does without.

    before, after: scores on the held-out data; before is None when training went on from a state, and of sbert-softmax, where W is
    not trained yet.
    """

    training: Outcome
    n_texts: int
    weight: Tensor | None = None
    names: tuple[str, ...] = ()
    before: Mapping[str, float] | None = None
    after: Mapping[str, float] | None = None


def train_on_pairs(
    embedder: Embedder,
    data: EncoderData,
    objective: str,
    *,
    options: Mapping[str, Value] | None = None,
    dev: EncoderData | None = None,
    plan: Schedule | None = None,
    engine: Engine,
    seed: int,
    state: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    on_step: Callable[[int, int, LogPoint | None], None] = lambda step, steps, point: None,
    cut: Callable[[int, float], None] = lambda texts, share: None,
) -> EncoderOutcome:
    """Train an embedder on pairs or triplets, in place.

    Args:
        objective: of NAMES. options: of OPTIONS[objective], None: the defaults. plan: None: PLANS[objective].
        dev: held-out data, on which training ends early: Spearman's rho of the cosine and the score; the share of triplets with
            ‖a - p‖ < ‖a - n‖; accuracy; or recall@1 of the positive among all positives (the first 10,000).
        state, save, on_step: as of `train`. cut: called before training with the texts longer than the window, and the share of all
            tokens that is not seen.

    Raises:
        InputError: columns that the objective needs are missing, hold no two classes, or scores outside of 0 … 1; a class in `dev`
            that is not in the data. UsageError: no such objective, or an option that cannot be. OutOfMemoryError: not even one row fits.
    """
    if objective not in NAMES:
        raise unknown_value("objective", objective, (*NAMES, "mlm"))
    options = {**OPTIONS[objective], **(options or {})}
    plan = plan or PLANS[objective]
    check(data, objective, "the training data")
    check_options(options, objective)
    names = tuple(sorted(set(data.labels or ()))) if objective == "sbert-softmax" else ()
    if dev is not None:
        check(dev, objective, "`dev`")
        unknown = sorted(set(dev.labels or ()) - set(names)) if names else []
        if unknown:
            raise InputError(
                f"`dev` has the class '{unknown[0]}', which the training data do not have ({', '.join(names)})"
            )
    distinct, columns = _distinct(data, objective)
    weight = None
    if names:
        generator = torch.Generator().manual_seed(seed)
        weight = torch.nn.init.normal_(torch.empty(len(names), 3 * embedder.dim), std=0.02, generator=generator)
        weight = weight.to(embedder.device).requires_grad_()
        if plan.head_rate is None:
            plan = replace(plan, head_rate=float(options["head_rate"]))
    read = embedder.read(distinct)
    cut(*cut_of(read))
    pair_objective = PairObjective(
        objective, embedder, read, columns, _targets(data, objective, names), options, weight
    )
    score = None if dev is None else Scorer(embedder, dev, objective, names, weight, engine)
    before = score() if score is not None and state is None and weight is None else None
    outcome = train(
        pair_objective,
        engine,
        plan,
        seed=seed,
        score=score,
        better=BETTER[objective],
        state=state,
        save=save,
        on_step=on_step,
    )
    after = None if score is None else next((p.dev for p in outcome.curve if p.step == outcome.best_step), None)
    head = None if weight is None else weight.detach()
    return EncoderOutcome(outcome, len(distinct), head, names, before, after)


class Scorer:
    """Scores of an embedder on held-out pairs or triplets, which are tokenised once; called, it gives them by name.

    Pairs of a class that is not among `names` count as wrong.
    """

    def __init__(
        self,
        embedder: Embedder,
        data: EncoderData,
        objective: str,
        names: tuple[str, ...],
        weight: Tensor | None,
        engine: Engine,
    ) -> None:
        if objective == "mnrl":
            data = EncoderData(data.texts_a[:MOST_CANDIDATES], data.texts_b[:MOST_CANDIDATES])
        distinct, self._columns = _distinct(data, objective)
        self._embedder, self._texts, self._engine = embedder, embedder.read(distinct), engine
        self._objective, self._weight, self._targets = objective, weight, _targets(data, objective, names)

    def __call__(self) -> dict[str, float]:
        vectors = torch.from_numpy(embed_all(self._embedder, self._texts, self._engine))
        columns = torch.from_numpy(self._columns)
        a, b = vectors[columns[:, 0]], vectors[columns[:, 1]]
        if self._objective == "cosine":
            assert self._targets is not None
            return {"spearman": spearman(torch.cosine_similarity(a, b).numpy(), self._targets.numpy())}
        if self._objective == "triplet":
            c = vectors[columns[:, 2]]
            near, far = torch.linalg.vector_norm(a - b, dim=1), torch.linalg.vector_norm(a - c, dim=1)
            return {"accuracy": float((near < far).double().mean())}
        if self._objective == "sbert-softmax":
            assert self._weight is not None
            guesses = (softmax_features(a, b) @ self._weight.detach().cpu().T).argmax(dim=1)
            return {"accuracy": float((guesses == self._targets).double().mean())}
        return {"recall@1": recall_at_1(vectors, columns[:, 0], columns[:, 1])}


def recall_at_1(vectors: Tensor, anchors: Tensor, positives: Tensor) -> float:
    """Return the share of anchors whose nearest candidate by cosine is a positive of theirs; all positives are candidates.

    Args:
        vectors: (U, E) of the texts. anchors, positives: (n,) texts of each pair.
    """
    unit = torch.nn.functional.normalize(vectors, dim=1)
    candidates = positives.unique()
    pairs = set(zip(anchors.tolist(), positives.tolist(), strict=True))
    right = 0
    for part in anchors.split(1024):
        scores = unit[part] @ unit[candidates].T
        scores[part[:, None] == candidates[None, :]] = -2.0  # an anchor is no answer to itself
        best = candidates[scores.argmax(dim=1)]
        right += sum(pair in pairs for pair in zip(part.tolist(), best.tolist(), strict=True))
    return right / len(anchors)


def spearman(x: Float32Array, y: Float32Array) -> float:
    """Return the correlation of the ranks of x and y (n,), ties sharing their mean rank; 0 where one of them is constant."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) for values in (x, y)]
    if any(np.ptp(values) == 0 for values in ranks):
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def check(data: EncoderData, objective: str, where: str) -> None:
    """Raise InputError when data lack what an objective needs; `where` names them in the message."""
    columns = [data.texts_a, data.texts_b] + ([data.texts_c] if data.texts_c is not None else [])
    if not len(data) or len({len(column) for column in columns}) > 1:
        sizes = ", ".join(str(len(column)) for column in columns)
        raise InputError(f"{where}: each column needs the same number of texts, at least one; found {sizes}")
    if objective == "triplet" and data.texts_c is None:
        raise InputError(f"{where}: triplet needs an anchor, a positive and a negative text; found only two columns")
    if objective == "sbert-softmax":
        if data.labels is None or len(data.labels) != len(data):
            raise InputError(f"{where}: sbert-softmax needs a class for each pair; name its column with `label_col`")
        if where != "`dev`" and len(set(data.labels)) < 2:
            raise InputError(f"{where}: sbert-softmax needs two classes or more, found only '{data.labels[0]}'")
    if objective == "cosine":
        if data.scores is None or len(data.scores) != len(data):
            raise InputError(f"{where}: cosine needs a score for each pair; name its column with `label_col`")
        wrong = np.flatnonzero(~((data.scores >= 0) & (data.scores <= 1)))
        if where != "`dev`" and len(wrong):
            raise InputError(f"{where}: scores from 0 to 1 were needed, row {wrong[0] + 1} has {data.scores[wrong[0]]}")
    if objective == "mnrl" and data.texts_c is None and where != "`dev`" and len(set(data.texts_b)) < 2:
        raise InputError(f"{where}: mnrl needs two different positives or more, each the other's negative")


def _distinct(data: EncoderData, objective: str) -> tuple[list[str], LongArray]:
    """Return the distinct texts (U,), and which of them each row has (n, 2 or 3)."""
    columns = [data.texts_a, data.texts_b]
    if data.texts_c is not None and objective in ("triplet", "mnrl"):
        columns.append(data.texts_c)
    numbers: dict[str, int] = {}
    codes = [[numbers.setdefault(text, len(numbers)) for text in column] for column in columns]
    return list(numbers), np.array(codes, np.int64).T.copy()


def _targets(data: EncoderData, objective: str, names: tuple[str, ...]) -> Any:
    """Return scores or the numbers of classes (n,), -1 for a class that is not among the names; None where there are none."""
    if objective == "cosine":
        return torch.from_numpy(np.asarray(data.scores, np.float32))
    if objective == "sbert-softmax":
        numbers = {name: i for i, name in enumerate(names)}
        return torch.tensor([numbers.get(label, -1) for label in data.labels or ()])
    return None


def check_options(options: Mapping[str, Value], objective: str) -> None:
    """Raise UsageError for a number that an objective cannot be trained with."""
    for name, value in options.items():
        if name in ("scale", "head_rate", "beta") and not float(value) > 0:
            raise UsageError(f"`objective={objective}({name}={value})`: {name} is {value}, a number above 0 was needed")

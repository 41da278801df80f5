"""Training on patterns (PET): words in gaps, soft labels of an ensemble, and the classifier that learns from these.

Parts, in this order:
- The training itself: the loss of words in gaps, soft labels, and the classifier.
- Models of several patterns that predict together, and where their trainings are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor, nn

from nlpkit.errors import UsageError
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.methods import KINDS, Method
from nlpkit.finetune.patterns.mlm import MlmNetwork, MlmObjective, WordHead, load_mlm
from nlpkit.finetune.patterns.options import adapter_options
from nlpkit.finetune.patterns.patterns import (
    MASK,
    Gaps,
    Patterns,
    Verbalizer,
    fill_pattern,
    gap_logits,
    pattern_scores,
    verbalizers_of,
)
from nlpkit.finetune.tasks import Targets
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import State
from nlpkit.platform.types import FloatArray, LongArray

_PARTNERS, _RATERS, _HEAD = 29, 31, 37  # so that no two draws of one seed are the same


@dataclass(slots=True)
class PatternNetwork:
    """A masked language model that fills patterns, and what is trained of it: all, or adapters in a frozen body and a `WordHead`.

    adapters: None, a model of peft, or the adapters that `insert` put in. The head is `mlm.words`, under "words." among the trained.
    """

    mlm: MlmNetwork
    trained: dict[str, Tensor]
    adapters: Any = None

    @property
    def n_trained(self) -> int:
        """Numbers that are trained."""
        return sum(p.numel() for p in self.trained.values())

    @property
    def n_parameters(self) -> int:
        """Numbers of the base."""
        added = 0 if self.adapters is None else self.n_trained - sum(p.numel() for p in self.head().values())
        return int(sum(p.numel() for p in self.mlm.model.parameters())) - added

    def head(self) -> dict[str, Tensor]:
        """Return the parameters of the head that is trained with the adapters, by name; none without one."""
        words = self.mlm.words
        return {} if words is None else {f"words.{name}": p for name, p in words.named_parameters()}

    def take_head(self, words: WordHead) -> None:
        """Let a head for some tokens guess in the place of the model's, and be trained."""
        self.mlm.words = words
        self.trained = {**self.trained, **self.head()}

    def state(self) -> dict[str, np.ndarray]:
        """Return a copy of the trained parameters by name."""
        return {name: p.detach().cpu().numpy().copy() for name, p in self.trained.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over the values of a `state`."""
        with torch.no_grad():
            for name, parameter in self.trained.items():
                parameter.copy_(torch.from_numpy(state[name]))


def load_pattern_network(
    folder: Path, method: Method, *, seed: int, device: torch.device, max_tokens: int | None
) -> PatternNetwork:
    """Return a base model with its head for masked words, and of `petapter` with adapters in a frozen body.

    The head that `petapter` trains is made when the words are known; see `word_head`.

    Raises:
        UsageError: the base has no such head, or its tokenizer no mask; adapters that do not go into it. MissingError: see `load_mlm`.
    """
    mlm = load_mlm(folder, device=device, seed=seed, max_tokens=max_tokens)
    if mlm.head_is_new:
        raise UsageError(
            f"{method.name} needs a masked language model, and {folder} has no head for masked words; use another "
            "`base`, or train a head on your own texts: `train_encoder(TEXTS.jsonl, objective=mlm)`, then its "
            "model/transformers",
            parameter="base",
        )
    if method.name != "petapter":
        return PatternNetwork(mlm, mlm.trained)
    options, name = adapter_options(method.options), str(method.options["adapter"])
    if KINDS[name].family == "peft":
        from nlpkit.finetune.adapters.peft_modules import apply_peft

        adapters = apply_peft(mlm.model, name, options, seed=seed, head=False).to(device)
        trained = {n: p for n, p in mlm.model.named_parameters() if p.requires_grad}
    else:
        from nlpkit.finetune.adapters.insert import insert

        generator = torch.Generator()
        generator.manual_seed(seed)
        adapters = insert(mlm.model, name, options, generator=generator, head=False)
        mlm.model.to(device)
        trained = dict(adapters.parameters())
    mlm.model.eval()
    return PatternNetwork(mlm, trained, adapters)


def make_word_head(mlm: MlmNetwork, tokens: LongArray, start: str, *, seed: int) -> WordHead:
    """Return the head of a masked language model for some of its tokens (t,), on the model's device.

    Args:
        start: "new": normal weights of the model's `initializer_range`, biases of 0; they depend on the seed alone. "base": the
            dense layer and the norm of the model's own head, and its rows for the tokens.

    Raises:
        UsageError: "base" of a model whose head is no h → h, norm, h → V.
    """
    config = mlm.model.config
    width = int(config.hidden_size)
    if start == "base":
        head = _of_base(mlm, tokens, width)
    else:
        with torch.random.fork_rng(devices=[]):  # torch draws weights of its own first
            head = WordHead(tokens, width)
        rng, deviation = np.random.default_rng([seed, _HEAD]), float(getattr(config, "initializer_range", 0.02))
        with torch.no_grad():
            for layer in (head.dense, head.words):
                drawn = rng.normal(0.0, deviation, tuple(layer.weight.shape))
                layer.weight.copy_(torch.from_numpy(drawn))
                layer.bias.zero_()
    head.to(next(mlm.model.parameters()).device)
    return head


def _of_base(mlm: MlmNetwork, tokens: LongArray, width: int) -> WordHead:
    modules = [mlm.model.get_submodule(name) for name in sorted({name.rpartition(".")[0] for name in mlm.head})]
    dense = [m for m in modules if isinstance(m, nn.Linear) and m.weight.shape == (width, width)]
    norms = [m for m in modules if isinstance(m, nn.LayerNorm)]
    weight, bias = mlm.output_words()
    if len(dense) != 1 or len(norms) != 1 or weight.shape[1] != width:
        raise UsageError(
            "`head=base` needs a head of one layer h → h, a norm and h → words, and a "
            f"{mlm.model.config.model_type} model has another head; use head=new or head=frozen",
            parameter="method",
        )
    with torch.random.fork_rng(devices=[]):
        head = WordHead(tokens, width, eps=norms[0].eps)
    at = head.tokens.to(weight.device)
    sources = [(head.dense, dense[0].weight, dense[0].bias), (head.norm, norms[0].weight, norms[0].bias),
               (head.words, weight[at], None if bias is None else bias[at])]  # fmt: skip
    with torch.no_grad():
        for layer, values, shift in sources:
            layer.weight.copy_(values)
            if shift is None:
                layer.bias.zero_()
            else:
                layer.bias.copy_(shift)
    return head


@dataclass(slots=True)
class PatternObjective:
    """L = (1 - α) L_CE + α L_MLM (Schick & Schütze 2021a, §3.2), without unlabelled texts L = L_CE; see `objective.Objective`.

    L_CE is the cross-entropy of softmax over l of s(l|x). L_MLM is the mean over the `partners` of an example, unlabelled texts in the
    same pattern drawn anew in each epoch, of the mean cross-entropy of their masked tokens; the gaps of the pattern stay open.

    rows (n,): the examples among the gaps; unlabelled (U,): those that L_MLM is computed on.
    """

    network: PatternNetwork
    gaps: Gaps
    verbalizer: Verbalizer
    targets: Targets
    rows: LongArray
    unlabelled: LongArray
    alpha: float = 1e-4
    partners: int = 3
    share: float = 0.15
    joint: bool = False
    by_length: bool = True
    lengths: LongArray = field(init=False)
    n: int = field(init=False)
    _mlm: MlmObjective | None = field(init=False, default=None)
    _partners: LongArray = field(init=False)

    def __post_init__(self) -> None:
        self.n, self.lengths = len(self.rows), self.gaps.inputs.lengths[self.rows]
        self._partners = np.zeros((self.n, 0), np.int64)
        if len(self.unlabelled) and self.alpha:
            self._mlm = MlmObjective(self.network.mlm, self.gaps.inputs, self.share)

    def parameters(self) -> dict[str, Tensor]:
        """Return what is trained, by name."""
        return self.network.trained

    def head(self) -> set[str]:
        """Return the names of the head that is trained with adapters; of PET no part is new."""
        return set(self.network.head())

    def mode(self, train: bool) -> None:
        """Put the network into training, or out of it."""
        self.network.mlm.model.train(train)

    def begin(self, epoch: int, seed: int) -> None:
        """Draw the masks of an epoch, and the unlabelled texts beside each example, each as often as the others."""
        if self._mlm is None:
            return
        rng = np.random.default_rng([seed, _PARTNERS, epoch])
        self._mlm.draw(rng)
        self._partners = np.resize(rng.permutation(self.unlabelled), (self.n, self.partners))
        inputs = self.gaps.inputs
        self.lengths = inputs.lengths[self.rows] + inputs.lengths[self._partners].sum(axis=1)

    def weight(self, rows: LongArray) -> float:
        """Return the sum of the weights of some examples."""
        return self.targets.weight(self.rows[rows])

    def loss(self, rows: LongArray) -> Tensor:
        """Return the weighted sum of the losses of some examples."""
        examples = self.rows[rows]
        scores = self.verbalizer.scores(gap_logits(self.network.mlm, self.gaps, examples))
        loss = self.targets.loss(scores, examples)
        if self._mlm is None:
            return loss
        auxiliary = self._mlm.mean_losses(self._partners[rows].ravel()).sum() / self.partners
        return (1 - self.alpha) * loss + self.alpha * auxiliary


def ensemble_scores(scores: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
    """Return s(l|x) = Σ_p w_p s_p(l|x) / Σ_p w_p (n, J) of the scores of each pattern (Schick & Schütze 2021a, §3.3)."""
    shares = np.asarray(weights) / np.sum(weights)
    total: FloatArray = np.zeros_like(scores[0], np.float64)
    for share, values in zip(
        shares, scores, strict=True
    ):  # a product of matrices would add up otherwise for other numbers of rows
        total += share * values
    return total


def soft_labels(scores: FloatArray, temperature: float) -> FloatArray:
    """Return q(l|x) (n, J) = softmax over l of s(l|x) / T."""
    q: FloatArray = softmax(scores / temperature, axis=1)
    return q


def pattern_weights(accuracies: Sequence[float], kind: str) -> list[float]:
    """Return the weight of each pattern: the accuracy of its untrained model on the labelled examples, or 1 for "uniform".

    Where no pattern gets any example right, all weigh 1.
    """
    return list(accuracies) if kind == "accuracy" and any(accuracies) else [1.0] * len(accuracies)


def next_examples(
    scores: Sequence[FloatArray], weights: Sequence[float], pattern: int, wanted: LongArray, *, raters: float, seed: int, generation: int
) -> tuple[LongArray, LongArray]:  # fmt: skip
    """Return unlabelled examples (m,) for the next model of a pattern, and their labels (Schick & Schütze 2021a, §3.4).

    A random share of the other patterns' models labels the texts; of those that get the label l, wanted[l] are drawn without
    replacement, with probabilities proportional to softmax s(l|x), or all where there are not as many.

    Args:
        scores: (U, J) of each pattern's model. raters: the share, of which at least one model.
    """
    rng = np.random.default_rng([seed, _RATERS, generation, pattern])
    others = np.setdiff1d(np.arange(len(scores)), [pattern])
    chosen = np.sort(rng.choice(others, max(1, round(raters * len(others))), replace=False)).tolist()
    p = soft_labels(ensemble_scores([scores[i] for i in chosen], [weights[i] or 1e-9 for i in chosen]), 1.0)
    labels = p.argmax(axis=1)
    drawn = []
    for label, n in enumerate(wanted.tolist()):
        candidates = np.flatnonzero(labels == label)
        if len(candidates) > n:
            chances = p[candidates, label]
            candidates = np.sort(rng.choice(candidates, n, replace=False, p=chances / chances.sum()))
        drawn.append(candidates)
    rows = np.concatenate(drawn)
    return rows, labels[rows]


# ------------------------------------------------------------------------------------------------------------------------
# Models of several patterns that predict together, and where their trainings are kept.


class Stages(Protocol):
    """Where the trainings of one method are kept by name, those that are done and the one under way."""

    def finished(self, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return facts and arrays of a training that is done, None when it is not."""

    def finish(self, name: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Keep what comes of a training."""

    def save(self, name: str, state: State) -> None:
        """Keep the state of a training under way."""

    def state(self, name: str) -> State | None:
        """Return the state of a training under way, None when there is none."""


@dataclass(slots=True)
class PatternEnsemble:
    """Models of several patterns that predict together.

    patterns (P,): each with its words by label; weights (P,); load: p → the trained model of a pattern, in a network that the next
    call uses again.
    """

    patterns: Patterns
    labels: tuple[str, ...]
    weights: tuple[float, ...]
    load: Callable[[int], PatternNetwork]
    max_tokens: int

    def parameters(self) -> Mapping[str, Any]:
        """Return the weights of all models by name."""
        networks = ((p, self.load(p)) for p in range(len(self.patterns.texts)))
        return {
            f"pattern-{p}.{name}": weights
            for p, network in networks
            for name, weights in {**dict(network.mlm.model.named_parameters()), **network.head()}.items()
        }

    def scores(self, text_inputs: TextInputs, engine: Engine) -> tuple[FloatArray, LongArray]:
        """Return s(l|x) (n, J) of documents, and how many of each one's tokens were cut, by the first pattern."""
        by_pattern, cut = [], None
        for p, pattern in enumerate(self.patterns.texts):
            network = self.load(p).mlm
            gaps = fill_pattern(network, pattern, text_inputs.texts, text_inputs.second)
            verbalizer = verbalizers_of(network, self.patterns, self.labels)[pattern.count(MASK)]
            if network.words is not None:
                verbalizer = verbalizer.among(network.words.tokens.cpu().numpy())
            by_pattern.append(pattern_scores(network, gaps, verbalizer, engine))
            cut = gaps.inputs.cut if cut is None else cut
        assert cut is not None
        return ensemble_scores(by_pattern, self.weights), cut

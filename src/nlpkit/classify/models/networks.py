"""Small torch networks as classifiers that read words in their order, and the training of such networks.

Parts, in this order:
- Training of the small torch networks among the classifiers: Adam on one thread, the same bytes for the same seed.
- Classifiers that read the words of a document in their order: an LSTM and a convolution over word vectors that are
  learned here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from nlpkit.classify.models.linear import Array, Link, by_link, labels_that_vary, widened
from nlpkit.classify.models.sklearn_models import batch_size
from nlpkit.errors import InputError, SchemaError, missing_extra
from nlpkit.platform.types import BoolArray, Float32Array, FloatArray, IntArray, LongArray

SMALLEST = 32  # documents that are looked at before the weights change


@dataclass(frozen=True, slots=True)
class Passes:
    """Length and rates of a training: the rate falls to 0; decay of weights as in AdamW."""

    epochs: int
    rate: float
    decay: float


def train_network(
    new_network: Callable[[], Any],
    inputs: Any,
    target: IntArray | BoolArray | FloatArray,
    passes: Passes,
    *,
    weights: FloatArray | None,
    seed: int,
) -> dict[str, Float32Array]:
    """Return the parameters, by name, of the least cross-entropy that Adam finds.

    Args:
        new_network: a module of rows of `inputs` → scores (B, J), with weights drawn from torch's generator.
        inputs: (D, …) array. target: (D,) 0 … J-1; (D, J) float64 shares of classes; or (D, J) bool for labels, each a score of its own.
        weights: (D,) of the documents; None: all alike. seed: of the first weights, dropout and the order of the documents.

    Raises:
        MissingError: the extra `neural` is not installed.
    """
    try:
        import torch
    except ImportError:
        raise missing_extra("classify", "neural") from None
    from torch.nn import functional

    from nlpkit.platform.torch_threads import one_thread

    rng, multi_label = np.random.default_rng(seed), target.dtype == np.bool_
    rows = torch.from_numpy(inputs)
    y = torch.from_numpy(np.asarray(target, np.float32 if target.ndim == 2 else np.int64))
    w = torch.from_numpy(np.asarray(np.ones(len(rows)) if weights is None else weights, np.float32))
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = new_network().train()
        optimizer = torch.optim.AdamW(network.parameters(), lr=passes.rate, weight_decay=passes.decay, fused=True)
        size = max(SMALLEST, batch_size(len(rows)))
        rate = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, passes.epochs * -(-len(rows) // size))
        for _ in range(passes.epochs):
            for batch in torch.from_numpy(rng.permutation(len(rows))).split(size):
                scores = network(rows[batch])
                if multi_label:
                    losses = functional.binary_cross_entropy_with_logits(scores, y[batch], reduction="none").sum(1)
                else:
                    losses = functional.cross_entropy(scores, y[batch], reduction="none")
                optimizer.zero_grad()
                (losses * w[batch]).mean().backward()
                optimizer.step()
                rate.step()
    return {name: p.detach().numpy() for name, p in network.named_parameters()}


def run_network(
    new_network: Callable[[], Any], parameters: Mapping[str, Float32Array], inputs: Any, *, n_classes: int, block: int
) -> FloatArray:
    """Return the scores (D, J) of a network with these parameters, computed in float64, `block` rows at a time, on one thread."""
    import torch

    from nlpkit.platform.torch_threads import one_thread

    scores = np.empty((len(inputs), n_classes))
    with one_thread(), torch.random.fork_rng(devices=[]), torch.no_grad():
        network = new_network().eval().double()
        for name, parameter in network.named_parameters():
            parameter.copy_(torch.tensor(parameters[name]).view_as(parameter))
        for start in range(0, len(inputs), block):
            part = inputs[start : start + block]
            rows = torch.from_numpy(
                part[np.arange(block) % len(part)]
            )  # products of fewer rows are added up in another order
            values = network(rows.double() if rows.is_floating_point() else rows)
            scores[start : start + len(part)] = values[: len(part)].numpy()
    return scores


# ------------------------------------------------------------------------------------------------------------------------
# Classifiers that read the words of a document in their order: an LSTM and a convolution over word vectors that are learned here.

LONGEST = 256  # words of a document; the rest is cut
PASSES = Passes(epochs=20, rate=3e-3, decay=0.01)
BLOCK_ROWS = 256


@dataclass(frozen=True, slots=True)
class WordRows:
    """Documents as their words in order. ids (D, T) int32: place + 1 in a vocabulary of n_words, 0 behind the end."""

    ids: IntArray
    n_words: int

    @property
    def shape(self) -> tuple[int, int]:
        """D and V, as of other features."""
        return len(self.ids), self.n_words

    def __getitem__(self, rows: Any) -> WordRows:
        return WordRows(self.ids[rows], self.n_words)

    @classmethod
    def from_tokens(cls, offsets: LongArray, places: IntArray, rows: LongArray, n_words: int) -> WordRows:
        """Return some documents; of a longer one the first 256 words.

        Args:
            offsets: (D+1,) of all documents. places: (N,) of their words in the vocabulary, -1: not in it, such a word goes.
        """
        kept = places >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        starts, ends = before[offsets[rows]], before[offsets[rows + 1]]
        lengths = np.minimum(ends - starts, LONGEST)
        columns = np.arange(max(1, int(lengths.max(initial=0))))
        ids = np.zeros((len(rows), len(columns)), np.int32)
        inside = columns < lengths[:, None]
        ids[inside] = places[kept][(starts[:, None] + columns)[inside]] + 1
        return cls(ids, n_words)

    def without_each(self) -> tuple[list[int], WordRows]:
        """Return the places of the different words of the first document, and it as it is, then without each of them."""
        words = self.ids[0][self.ids[0] > 0]
        different = list(dict.fromkeys(words.tolist()))
        texts = [words, *(words[words != word] for word in different)]
        offsets = np.cumsum([0, *map(len, texts)])
        places = np.concatenate(texts).astype(np.int32) - 1
        return [word - 1 for word in different], WordRows.from_tokens(
            offsets, places, np.arange(len(texts)), self.n_words
        )


@dataclass(frozen=True, slots=True)
class WordNetworkModel:
    """Scores of a network; their softmax, or sigmoid of each if multi-label, are probabilities.

    kind: lstm or cnn; n_features: V words; hidden: H; parameters: float32 by name, as `WordNetwork` has them.
    """

    kind: str
    n_features: int
    hidden: int
    n_classes: int
    parameters: Mapping[str, Float32Array]
    multi_label: bool = False

    converged: ClassVar[bool] = True

    @property
    def link(self) -> Link:
        """Function that turns scores into probabilities."""
        return "sigmoid" if self.multi_label else "softmax"

    def decision(self, X: WordRows) -> FloatArray:
        """Return the scores (D, J) float64. Raises InputError for documents of another vocabulary, or other features."""
        _check(X, self.kind, self.n_features)
        return run_network(self._network, self.parameters, X.ids, n_classes=self.n_classes, block=BLOCK_ROWS)

    def probabilities(self, X: WordRows) -> FloatArray:
        """Return the softmax of a row's scores, or the sigmoid of each if multi-label, (D, J) float64."""
        return by_link(self.decision(X), self.link)

    def config(self) -> dict[str, Any]:
        """Return kind, sizes and flags."""
        return {
            "kind": self.kind, "n_features": self.n_features, "n_classes": self.n_classes, "hidden": self.hidden,
            "multi_label": self.multi_label, "converged": True,
        }  # fmt: skip

    def arrays(self) -> dict[str, Array]:
        """Return the parameters; those of filters as (filters, width · words)."""
        return {name: p.reshape(len(p), -1) if p.ndim > 2 else p for name, p in self.parameters.items()}

    @classmethod
    def restored(cls, config: Mapping[str, Any], arrays: Mapping[str, Array]) -> WordNetworkModel:
        """Return the model of `config` and `arrays`. Raises KeyError, SchemaError."""
        sizes = (int(config["n_features"]), int(config["hidden"]), int(config["n_classes"]))
        if min(sizes) < 1 or max(sizes) > sum(array.size for array in arrays.values()):
            raise SchemaError(f"the weights do not fit {sizes[0]} words, {sizes[1]} units and {sizes[2]} classes")
        empty = cls(config["kind"], *sizes, {}, bool(config["multi_label"]))
        import torch

        with torch.device("meta"):  # shapes alone: sizes that are wrong may take all memory
            shapes = {name: tuple(p.shape) for name, p in empty._network().named_parameters()}
        if any(arrays[name].size != np.prod(shape) for name, shape in shapes.items()):
            raise SchemaError(
                f"the weights of a {empty.kind} do not fit {sizes[0]} words, {sizes[1]} units and {sizes[2]} classes"
            )
        parts = {name: np.ascontiguousarray(arrays[name], np.float32).reshape(shape) for name, shape in shapes.items()}
        return cls(empty.kind, *sizes, parts, empty.multi_label)

    def _network(self) -> Any:

        from nlpkit.classify.models.word_network import WordNetwork  # loads torch

        return WordNetwork(self.kind, self.n_features, self.hidden, self.n_classes)


def fit_word_network(
    X: WordRows,
    target: IntArray | BoolArray | FloatArray,
    n_classes: int,
    *,
    kind: str,
    hidden: int,
    weights: FloatArray | None = None,
    seed: int,
) -> WordNetworkModel:
    """Return an LSTM or a convolution that learned from documents in 20 passes; see `network_training.train_network`.

    Args:
        target: see `train_network`. hidden: H, also the width of word vectors.
        weights: (D,) of the documents. seed: of the first weights, dropout and the order of the documents.

    Raises:
        MissingError: the extra `neural` is not installed. InputError: other features than words in their order.
    """
    _check(X, kind, None)
    empty = WordNetworkModel(kind, X.n_words, hidden, n_classes, {}, target.dtype == np.bool_)
    return replace(empty, parameters=train_network(empty._network, X.ids, target, PASSES, weights=weights, seed=seed))


def _check(X: Any, kind: str, n_words: int | None) -> None:
    if not isinstance(X, WordRows):
        raise InputError(
            f"{kind} reads words in their order (`WordRows`), and these features are not word rows; use another model"
        )
    if n_words is not None and X.n_words != n_words:
        raise InputError(
            f"the model has {n_words} words and the documents {X.n_words}; make them with the same vocabulary"
        )


def fit_label_word_network(
    X: WordRows, Y: BoolArray, varies: BoolArray, fixed: FloatArray, *, kind: str, hidden: int, seed: int
) -> WordNetworkModel:
    """Return a network of labels Y (D, J); a label that does not vary has its fixed score whatever the document."""
    rows, some = labels_that_vary(X, Y, varies)
    model = fit_word_network(rows, some, some.shape[1], kind=kind, hidden=hidden, seed=seed)
    weight, bias = model.parameters["out.weight"], model.parameters["out.bias"]
    wide = {"out.weight": widened(weight, varies), "out.bias": widened(bias, varies, fixed)}
    return replace(model, n_classes=Y.shape[1], parameters={**model.parameters, **wide})

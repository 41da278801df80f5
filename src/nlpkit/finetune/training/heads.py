"""The heads of classifiers: a logistic regression or a linear layer, on the first token or the mean of all.

Parts, in this order:
- Classifiers on embeddings: a logistic regression, or a linear layer that is trained by steps, alone or with its
  encoder.
- Classifiers that read the mean of all tokens, as sentence encoders were trained to be read.
- Classifiers that read the first token alone: the rest of the last layer is not computed for the other tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.classify.dataset import Labels
from nlpkit.classify.models.linear import LinearModel
from nlpkit.classify.models.logistic import fit_label_logistic, fit_logistic, fit_soft_logistic
from nlpkit.embed.models import read_json
from nlpkit.embed.pooling import mean_of_tokens, read_modes
from nlpkit.embed.tokenizers import transformer_folder
from nlpkit.errors import InputError, MissingError, UsageError, unknown_value
from nlpkit.finetune.setfit.embedder import Embedder, EmbedderTexts, embed_all
from nlpkit.finetune.tasks import TaskKind
from nlpkit.finetune.training.architectures import MODEL_TYPES, describe
from nlpkit.finetune.training.engine import Engine, in_fp32
from nlpkit.finetune.training.train import Schedule, train
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, LongArray

_NEVER = -1e4  # log-odds of a class that no document has


def linear_head(coef: Any, intercept: Any, *, multiple: bool) -> LinearModel:
    """Return the linear model of coef (E, J) and intercept (J,)."""
    coef, intercept = np.ascontiguousarray(coef, np.float64), np.ascontiguousarray(intercept, np.float64)
    return LinearModel("logreg", coef, intercept, "sigmoid" if multiple else "softmax", multi_label=multiple)


def fit_head(
    embeddings: Float32Array, labels: Labels, rows: LongArray, *, C: float = 1.0, balanced: bool = False
) -> LinearModel:
    """Return the logistic regression on embeddings (n, E) of the documents `rows`: the optimum of scikit-learn's with this C.

    Of soft labels the shares are the targets. For sets of labels one regression a label. A class that none of the documents has gets
    log-odds of -10,000, a label that all have of 10,000.

    Args:
        balanced: documents weigh n / (J · documents of their class), as scikit-learn's class_weight="balanced"; in the regression
            of label j n / (2 n_j) where they have it, n / (2 (n - n_j)) where not.
    """
    X, sizes = np.asarray(embeddings, np.float64), labels.sizes(rows)
    coef, intercept = np.zeros((X.shape[1], len(labels.names))), np.full(len(labels.names), _NEVER)
    if labels.multiple:
        Y = np.asarray(labels.targets(rows), bool)
        some = np.flatnonzero((sizes > 0) & (sizes < len(rows)))
        intercept[sizes == len(rows)] = -_NEVER
        if len(some):
            n, n_j = len(rows), sizes[some]
            s = np.where(Y[:, some], n / (2 * n_j), n / (2 * (n - n_j))) if balanced else None
            model = fit_label_logistic(X, Y[:, some], C=C, weights=s)
            coef[:, some], intercept[some] = model.coef, model.intercept
        return linear_head(coef, intercept, multiple=True)
    soft = None if labels.shares is None else labels.shares[rows]
    y = np.asarray(labels.targets(rows), np.int32)
    some = np.flatnonzero(sizes if soft is None else soft.sum(axis=0))
    if len(some) < 2:
        raise InputError("all training documents have the same label; a classifier needs documents of two classes")
    weights = _class_weights(labels, rows, balanced)
    if soft is not None:
        model = fit_soft_logistic(X, soft[:, some], C=C, weights=soft @ weights if balanced else None)
    else:
        model = fit_logistic(
            X, np.searchsorted(some, y).astype(np.int32), len(some), C=C, weights=weights[y] if balanced else None
        )
    coef[:, some], intercept[some] = model.coef, model.intercept
    return linear_head(coef, intercept, multiple=False)


def fit_differentiable(
    embedder: Embedder,
    read: EmbedderTexts,
    unit: LongArray,
    labels: Labels,
    rows: LongArray,
    *,
    plan: Schedule,
    setfit_options: Mapping[str, Any],
    engine: Engine,
    seed: int,
) -> LinearModel:
    """Return a linear layer trained by AdamW, started as in setfit: Glorot & Bengio 2010, eq. 16, biases of 0.01."""
    J, whole, device = len(labels.names), bool(setfit_options["end_to_end"]), embedder.device
    limit = (6 / (J + embedder.dim)) ** 0.5
    start = np.random.default_rng([seed, 23]).uniform(-limit, limit, (J, embedder.dim))
    weight = torch.from_numpy(start.astype(np.float32)).to(device).requires_grad_()
    bias = torch.full((J,), 1e-2, device=device, requires_grad=True)
    y = np.asarray(labels.targets(rows))
    targets = torch.from_numpy(y.astype(np.float32 if labels.multiple else np.int64))
    weights = torch.from_numpy(_class_weights(labels, rows, bool(setfit_options["balanced"])).astype(np.float32))
    source: Tensor | EmbedderTexts = read
    if not whole:
        source = torch.from_numpy(embed_all(embedder, read, engine)).to(device)
    objective = HeadObjective(source, unit, targets, weight, bias, weights, embedder if whole else None)
    schedule = replace(
        plan,
        epochs=int(setfit_options["head_epochs"]),
        batch=int(setfit_options["head_batch"]),
        rate=float(setfit_options["body_rate"]),
        head_rate=float(setfit_options["head_rate"]),
        max_steps=None,
    )
    train(objective, engine, schedule, seed=seed)
    with torch.no_grad():
        return linear_head(weight.T.cpu().numpy(), bias.cpu().numpy(), multiple=labels.multiple)


class HeadObjective:
    """A linear layer on embeddings: cross-entropy, or for sets of labels binary cross-entropy, alone or with its encoder."""

    joint = False
    by_length = False

    def __init__(
        self,
        source: Tensor | EmbedderTexts,
        unit: LongArray,
        targets: Tensor,
        weight: Tensor,
        bias: Tensor,
        class_weights: Tensor,
        embedder: Embedder | None,
    ) -> None:
        """source: embeddings (U, E) that stay, or texts (U,) of the `embedder` that is trained as well. unit (n,): see above."""
        self._source, self._unit, self._targets = source, unit, targets
        self._weight, self._bias, self._class_weights, self._embedder = weight, bias, class_weights, embedder
        self.n = len(unit)
        self.lengths: IntArray | LongArray = (
            np.ones(self.n, np.int32) if isinstance(source, Tensor) else np.asarray(source.lengths[unit], np.int32)
        )

    def parameters(self) -> dict[str, Tensor]:
        """Return those of the head, and of the encoder where it is trained."""
        encoder = {} if self._embedder is None else self._embedder.parameters()
        return {**encoder, "head.weight": self._weight, "head.bias": self._bias}

    def head(self) -> set[str]:
        """Return the names of the head's."""
        return {"head.weight", "head.bias"}

    def mode(self, train: bool) -> None:
        """Switch dropout of the encoder."""
        if self._embedder is not None:
            self._embedder.train(train)

    def begin(self, epoch: int, seed: int) -> None:
        """Nothing is drawn."""

    def weight(self, rows: LongArray) -> float:
        """Return the sum of the weights of some documents; of sets of labels, their number of labels."""
        targets = self._targets[torch.from_numpy(rows)]
        return float(targets.numel() if targets.ndim == 2 else self._class_weights[targets].sum())

    def loss(self, rows: LongArray) -> Tensor:
        """Return the sum of the losses of some documents; of the embeddings on in fp32, whatever the precision."""
        source, units, device = self._source, self._unit[rows], self._weight.device
        vectors = source[torch.from_numpy(units).to(device)] if isinstance(source, Tensor) else source.encode(units)
        with in_fp32(device):
            scores = functional.linear(vectors.float(), self._weight, self._bias)
        targets = self._targets[torch.from_numpy(rows)].to(device)
        weights = self._class_weights.to(device)
        if targets.ndim == 1:
            return functional.cross_entropy(scores, targets, weight=weights, reduction="sum")
        return functional.binary_cross_entropy_with_logits(scores, targets, pos_weight=weights, reduction="sum")


def _class_weights(labels: Labels, rows: LongArray, balanced: bool) -> FloatArray:
    """Return the weight of a document of each class (J,), or of a label's documents where the others weigh 1."""
    sizes = labels.sizes(rows).astype(np.float64) if labels.shares is None else labels.shares[rows].sum(axis=0)
    if not balanced:
        return np.ones(len(sizes))
    if labels.multiple:
        return np.where(sizes < len(rows), (len(rows) - sizes) / np.maximum(sizes, 1), 1.0)
    weights: FloatArray = len(rows) / (np.count_nonzero(sizes) * np.maximum(sizes, 1))
    return weights


# ------------------------------------------------------------------------------------------------------------------------
# Classifiers that read the mean of all tokens, as sentence encoders were trained to be read.
#
# transformers' classifiers of BERT and its kin read the first token, through a layer that no sentence encoder was trained with. Few
# documents do not teach the head that anew (docs/benchmarks/finetune.md).

POOLINGS = ("auto", "mean", "transformers")


def pooling_of(folder: Path, wanted: str, kind: TaskKind) -> str:
    """Return what the head of a base reads for a kind of task: the `mean` of the tokens, or what it reads in `transformers`.

    Args:
        folder: of the base. wanted: one of POOLINGS; auto: the mean where the base is a sentence encoder with mean pooling.

    Raises:
        UsageError: the mean is asked for where each word has a head of its own, or of a model without such an encoder;
        MissingError: a folder whose first module is no transformer, or whose pooling is not known.
    """
    if wanted not in POOLINGS:
        raise unknown_value("pooling", wanted, POOLINGS)
    of_words = kind in ("tokens", "answer")
    encoder = read_json(transformer_folder(folder) / "config.json", {}).get("model_type") in MODEL_TYPES
    if wanted == "mean" and (of_words or not encoder):
        why = "the head reads each word" if of_words else f"the base is not an encoder of type {', '.join(MODEL_TYPES)}"
        raise UsageError(f"`pooling=mean`: {why}; leave it out", parameter="pooling")
    if wanted != "auto":
        return wanted
    return "mean" if encoder and not of_words and _modes(folder) == ("mean",) else "transformers"


def _modes(folder: Path) -> tuple[str, ...]:
    """Return how the vectors of tokens become one in a folder of sentence-transformers, whatever comes after; () in any other."""
    modules = read_json(folder / "modules.json", [])
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"]:
        return ()
    file = folder / str(modules[1].get("path", "")) / "config.json"
    try:
        return read_modes(read_json(file, {}))
    except ValueError as error:
        raise MissingError(f"{file}: {error}") from None


class MeanForSequenceClassification(nn.Module):  # type: ignore[misc]
    """An encoder of transformers with a linear layer on the mean of its last states: what sentence-transformers calls Transformer,
    Pooling and Dense. It takes what the encoder takes, and is used like a classifier of transformers.
    """

    base_model_prefix = "encoder"
    HEAD = ("classifier.weight", "classifier.bias")

    def __init__(self, encoder: Any, n_outputs: int) -> None:
        super().__init__()
        self.config, self.encoder = encoder.config, encoder
        pooler = getattr(encoder, "pooler", None)
        if pooler is not None:  # of the first token, which nobody reads
            pooler.requires_grad_(False)
        rates = (getattr(self.config, name, None) for name in ("hidden_dropout_prob", "dropout"))
        self.dropout = nn.Dropout(next((float(rate) for rate in rates if rate is not None), 0.0))
        self.classifier = nn.Linear(int(self.config.hidden_size), n_outputs)
        nn.init.normal_(self.classifier.weight, std=float(getattr(self.config, "initializer_range", 0.02)))
        nn.init.zeros_(self.classifier.bias)

    def forward(
        self, attention_mask: Tensor, past_key_values: Any = None, labels: Any = None, return_dict: Any = None, **inputs: Any
    ) -> Any:  # fmt: skip
        """Return the logits (B, J) of texts whose tokens, and vectors put before them, have a 1 in attention_mask.

        past_key_values is named because peft puts a prefix only before models that take it; of others it takes the pooler's output.
        """
        from transformers.modeling_outputs import SequenceClassifierOutput

        present = {n: value for n, value in {**inputs, "past_key_values": past_key_values}.items() if value is not None}
        out = self.encoder(attention_mask=attention_mask, **present)
        mean = mean_of_tokens(out.last_hidden_state, attention_mask)
        return SequenceClassifierOutput(
            logits=self.classifier(self.dropout(mean)), attentions=getattr(out, "attentions", None)
        )

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = self.classifier.weight.device
        return device

    def get_input_embeddings(self) -> Any:
        """Return the word embeddings of the encoder."""
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, table: Any) -> None:
        """Put others in their place."""
        self.encoder.set_input_embeddings(table)

    def set_attn_implementation(self, name: str) -> None:
        """Choose how attention is computed."""
        self.encoder.set_attn_implementation(name)


def is_mean(model: torch.nn.Module) -> bool:
    """Whether a network, perhaps in a model of peft, reads the mean."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return isinstance(inner, MeanForSequenceClassification)


# ------------------------------------------------------------------------------------------------------------------------
# Classifiers that read the first token alone: the rest of the last layer is not computed for the other tokens.
#
# Behind the attention of the last layer nothing goes from token to token. The dense layer of its attention and its feed-forward network,
# three quarters of the products of a layer of BERT, are therefore computed for one token of a text, forward and back; the outputs
# are the same but for rounding.

# whose heads read the first token, and have `attention.output(context, x)`
KINDS = ("bert", "roberta", "xlm-roberta", "deberta-v2")


def read_first_token(model: Any) -> None:
    """Let the last layer of a classifier of KINDS go on with the first token from behind its attention; others stay as they are."""
    if model.config.model_type in KINDS and (layers := describe(model).layers):
        model.get_submodule(f"{layers[-1].whole}.attention.output").register_forward_pre_hook(_first)


def _first(module: Any, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the first token (B, 1, d) of the context and of the input of the layer (B, T, d)."""
    return tuple(x[:, :1] for x in states)

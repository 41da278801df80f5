"""The explanation of a fine-tuned model's predictions: the share of each word, and the certainty after each layer.

Parts, in this order:
- Why a fine-tuned model predicts what it does: the share of each word in a score, by gradients or by leaving words out.
- How sure a fine-tuned model is after each of its layers, and where it could stop: early exit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nlpkit.errors import InputError
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.training.architectures import describe
from nlpkit.finetune.training.network import Network
from nlpkit.finetune.training.predictor import Predictor
from nlpkit.platform.types import FloatArray, LongArray

MOST_WORDS = 400  # of a text that are left out in turn
TOLERANCE = 1e-3  # of the completeness of integrated gradients, beside the change of the score
_FEWEST, _MOST, _BATCH = 32, 512, 16  # points of the path, and of those at once
_CJK = "\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"[{_CJK}]|[^\\W{_CJK}](?:[^\\W{_CJK}]|['’-])*")


@dataclass(frozen=True, slots=True)
class Attribution:
    """Contributions (n,) of words to a score. spans: where each word stands in the text; score: f(x); baseline: f(x').

    error: Σ contributions + special tokens − (f(x) − f(x')), by integrated gradients; NaN by omission. rest: what falls to tokens that
    are no word: special ones, the prompt, punctuation.
    """

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    values: tuple[float, ...]
    score: float
    baseline: float
    error: float
    rest: float

    @property
    def complete(self) -> bool:
        """Whether the contributions sum to f(x) − f(x') within `TOLERANCE` · max(1, |f(x) − f(x')|)."""
        return abs(self.error) <= TOLERANCE * max(1.0, abs(self.score - self.baseline))


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text begin and end; of scripts without spaces each character is one."""
    return [match.span() for match in _WORD.finditer(text)]


def integrated_gradients(
    logits: Callable[[int], Tensor], embeddings: Any, score: Callable[[Tensor], Tensor]
) -> tuple[FloatArray, float, float]:
    """Return the integrated gradients of each token (T,) of one text, f(x) and f(x').

        IG_t = Σ_e (x_te − x'_te) · ∫₀¹ ∂f(x' + α (x − x')) / ∂x_te dα,   Σ_t IG_t = f(x) − f(x')

    x are the vectors of the tokens, x' = 0 (Sundararajan, Taly & Yan 2017, "Axiomatic attribution for deep networks", §3 and 6.3). The
    integral is by Gauss-Legendre, with 32 points and twice as many until the sum is met (`TOLERANCE`), at most 512.

    Args:
        logits: of B copies of the text (B, J). embeddings: the module that gives the vectors. score: of logits (B, J), (B,).

    Raises:
        InputError: the model does not read its tokens through that module.
    """
    seen: list[Tensor] = []
    with torch.no_grad(), _hooked(embeddings, lambda out: seen.append(out.detach())):
        f_x = float(score(logits(1))[0])
    if len(seen) != 1 or seen[0].ndim != 3:
        raise InputError(
            "`explain` by gradients needs a model that reads its tokens once through one table of vectors",
            parameter="explain",
        )
    x = seen[0]
    with torch.no_grad(), _hooked(embeddings, torch.zeros_like):
        f_0 = float(score(logits(1))[0])
    points = _FEWEST
    while True:
        alphas, weights = _gauss_legendre(points)
        total = torch.zeros_like(x[0], dtype=torch.float64)
        for start in range(0, points, _BATCH):
            part = alphas[start : start + _BATCH]
            at = (torch.tensor(part, dtype=x.dtype, device=x.device)[:, None, None] * x).requires_grad_(True)
            with torch.enable_grad(), _hooked(embeddings, partial(_replaced, at)):
                value = score(logits(len(part))).sum()
                (gradient,) = torch.autograd.grad(value, at)
            step = torch.tensor(weights[start : start + _BATCH], dtype=torch.float64, device=x.device)
            total += (step[:, None, None] * gradient.double()).sum(dim=0)
        values: FloatArray = (total * x[0].double()).sum(dim=1).cpu().numpy()
        if abs(values.sum() - (f_x - f_0)) <= TOLERANCE * max(1.0, abs(f_x - f_0)) or points >= _MOST:
            return values, f_x, f_0
        points *= 2


def explain_text(predictor: Predictor, engine: Any, text: str, code: int, *, by: str) -> Attribution:
    """Return what each word of a text contributes to the score of a class, the number of a label's place, or a number.

    The score is the logit of the class less the mean of the others, the logit of a label, or the number.

    Args:
        by: "gradients" (`integrated_gradients`) or "omission": f(x) − f(x without the word) (Li, Monroe & Jurafsky 2016).
    """
    if by == "omission":
        return _by_omission(predictor, engine, text, code)
    logits, embeddings, pieces = _reading(predictor, text)
    score = _scorer(predictor, code)
    values, f_x, f_0 = integrated_gradients(logits, embeddings, score)
    spans = word_spans(text)
    shares = np.zeros(len(spans))
    rest = 0.0
    place = 0
    for value, piece in zip(values.tolist(), pieces, strict=True):
        while piece is not None and place < len(spans) and spans[place][1] <= piece[0]:
            place += 1
        if piece is not None and place < len(spans) and spans[place][0] < piece[1]:
            shares[place] += value
        else:
            rest += value
    return _attribution(text, spans, shares, f_x, f_0, float(values.sum()) - (f_x - f_0), rest)


def _by_omission(predictor: Predictor, engine: Any, text: str, code: int) -> Attribution:
    spans = word_spans(text)[:MOST_WORDS]
    texts = [text, *(text[:start] + text[end:] for start, end in spans)]
    outputs, _ = predictor.outputs(TextInputs(texts, None, None, None), engine)
    scores = _scorer(predictor, code)(torch.from_numpy(np.ascontiguousarray(outputs))).numpy()
    return _attribution(text, spans, scores[0] - scores[1:], float(scores[0]), float("nan"), float("nan"), 0.0)


def _attribution(
    text: str,
    spans: Sequence[tuple[int, int]],
    values: FloatArray,
    score: float,
    baseline: float,
    error: float,
    rest: float,
) -> Attribution:
    words = tuple(text[start:end] for start, end in spans)
    return Attribution(words, tuple(spans), tuple(values.tolist()), score, baseline, error, rest)


def _scorer(predictor: Predictor, code: int) -> Callable[[Tensor], Tensor]:
    task = predictor.task

    def score(logits: Tensor) -> Tensor:
        values = logits.double()
        if task.kind == "regression":
            return values[:, 0] * task.scale + task.mean
        J = values.shape[1]
        if task.kind == "multi" or J < 2:
            return values[:, code]
        return values[:, code] - (values.sum(dim=1) - values[:, code]) / (J - 1)

    return score


def _reading(predictor: Predictor, text: str) -> tuple[Callable[[int], Tensor], Any, list[tuple[int, int] | None]]:
    """Return the logits of B copies of a text, the table of vectors, and where each token stands in the text, None for special ones."""
    zeros: Callable[[int], LongArray] = lambda n: np.zeros(n, np.int64)  # noqa: E731
    if predictor.network is not None:
        network = predictor.network
        network.mode(False)
        inputs = TextInputs([text], None, None, None).inputs(network)
        before, after = len(network.frame.before), len(network.frame.after)
        spans = _piece_spans(network.tokenizer.backend_tokenizer, text, 0, int(inputs.lengths[0]) - before - after)
        pieces = [*[None] * before, *spans, *[None] * after]
        return lambda n: network.logits(inputs, zeros(n)), network.model.get_input_embeddings(), pieces
    embedder, setfit = predictor.embedder, predictor.setfit
    embedder.train(False)
    ids = embedder.read([text])
    coef, intercept = (torch.from_numpy(setfit.linear.arrays()[name]) for name in ("coef", "intercept"))

    def logits(n: int) -> Tensor:
        vectors = ids.encode(zeros(n)).double()
        if setfit.normalize:
            vectors = vectors / vectors.norm(dim=1, keepdim=True).clamp(min=1e-12)
        return vectors @ coef.to(vectors.device) + intercept.to(vectors.device)

    before, after = embedder.frame
    prompted, shift = embedder.as_read(text)
    spans = _piece_spans(embedder.tokenizer, prompted, shift, int(ids.lengths[0]) - before - after)
    return logits, embedder.model[0].model.get_input_embeddings(), [*[None] * before, *spans, *[None] * after]


def _piece_spans(tokenizer: Any, text: str, shift: int, n: int) -> list[tuple[int, int] | None]:
    """Return where the first n tokens of a text stand, from a place on; None for those before it; a space is part of none."""
    spans: list[tuple[int, int] | None] = []
    for start, end in tokenizer.encode(text, add_special_tokens=False).offsets[: max(n, 0)]:
        start += len(text[start:end]) - len(text[start:end].lstrip())
        spans.append((start - shift, end - shift) if start >= shift else None)
    return spans + [None] * (max(n, 0) - len(spans))


def _replaced(new: Tensor, _old: Tensor) -> Tensor:
    return new


class _hooked:  # noqa: N801
    """A context in which the output of a module is what a function makes of it; one that returns None leaves it."""

    def __init__(self, module: Any, change: Callable[[Tensor], Any]) -> None:
        self._module, self._change = module, change

    def __enter__(self) -> None:
        self._handle = self._module.register_forward_hook(lambda _module, _inputs, out: self._change(out))

    def __exit__(self, *_: object) -> None:
        self._handle.remove()


def _gauss_legendre(n: int) -> tuple[FloatArray, FloatArray]:
    """Return points and weights of the integral from 0 to 1."""
    points, weights = np.polynomial.legendre.leggauss(n)
    return (points + 1) / 2, weights / 2


# ------------------------------------------------------------------------------------------------------------------------
# How sure a fine-tuned model is after each of its layers, and where it could stop: early exit.


@dataclass(frozen=True, slots=True)
class LayerConfidence:
    """What a classifier would say of a text after each of L layers.

    probabilities (L, J) of the classes; entropies (L,) in nats, H = −Σ_j p_j ln p_j, from 0 (sure) to ln J.
    """

    names: tuple[str, ...]
    probabilities: FloatArray

    @property
    def entropies(self) -> FloatArray:
        """The entropy of each layer (L,)."""
        p = self.probabilities
        entropies: FloatArray = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
        return entropies

    @property
    def settled(self) -> int:
        """The first layer, from 1, from which on the class is that of the last one."""
        classes = self.probabilities.argmax(axis=1)
        others = np.flatnonzero(classes != classes[-1])
        return 1 if not len(others) else int(others[-1]) + 2

    def to_list(self) -> list[dict[str, Any]]:
        """Return layer, prediction, probability and entropy of each layer in plain values."""
        best = self.probabilities.argmax(axis=1)
        return [
            {"layer": i + 1, "prediction": self.names[j], "probability": float(self.probabilities[i, j]), "entropy": float(h)}
            for i, (j, h) in enumerate(zip(best.tolist(), self.entropies, strict=True))
        ]  # fmt: skip


def layer_confidence(network: Network, text: str) -> LayerConfidence:
    """Return the guesses of a classifier for one text when only its first 1, 2 … L layers are run.

    In DeeBERT (Xin et al. 2020, §3) each layer has a classifier that is trained for it, and a text leaves at the first layer whose
    entropy is below a threshold. Here all layers share the classifier of the last, for which alone it was trained: after the last layer
    the guess is that of the model, before it a lower bound of what trained classifiers would know.

    Raises:
        UsageError: a kind of model whose layers are not known.
    """
    model = network.model.get_base_model() if hasattr(network.model, "get_base_model") else network.model
    architecture = describe(model)
    inputs = TextInputs([text]).inputs(network)
    guesses = []
    network.mode(False)
    with torch.inference_mode():
        for n in range(1, len(architecture.layers) + 1):
            with _first_layers(model, f"{architecture.encoder}{architecture.layer_list}", n):
                guesses.append(network.logits(inputs, np.zeros(1, np.int64))[0].double().softmax(dim=-1).numpy())
    return LayerConfidence(tuple(network.task.names), np.stack(guesses))


@contextmanager
def _first_layers(model: Any, name: str, n: int) -> Iterator[None]:
    """While it lasts, a model runs only the first n layers of a list."""
    parent, _, leaf = name.rpartition(".")
    holder = model.get_submodule(parent)
    layers = getattr(holder, leaf)
    setattr(holder, leaf, layers[:n])
    try:
        yield
    finally:
        setattr(holder, leaf, layers)

"""One training from base model to outputs: a network with a head, or SetFit; what it took and how large it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nlpkit.classify.dataset import Labels
from nlpkit.classify.kinds import FEW
from nlpkit.errors import UsageError
from nlpkit.finetune.data.answers import window_targets, windows_to_learn
from nlpkit.finetune.data.inputs import Inputs, labels_of_windows, spread, word_places
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.methods import Method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.quantization import Quantization
from nlpkit.finetune.setfit.embedder import Embedder, cut_of, embed_all, load_embedder
from nlpkit.finetune.setfit.setfit import train_setfit
from nlpkit.finetune.tasks import CLASSES, IGNORED, FinetuneTask, Targets, balanced, fit_temperature
from nlpkit.finetune.trained import Trained, TrainingCallbacks
from nlpkit.finetune.training.crf import LinearChainCRF
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.frozen import objective_of
from nlpkit.finetune.training.network import Network, divide_outputs, load_network, predict
from nlpkit.finetune.training.train import train
from nlpkit.finetune.training.used_rows import used_rows
from nlpkit.platform.types import FloatArray, IntArray, LongArray


def fit_network(
    folder: Path,
    method: Method,
    task: FinetuneTask,
    text_inputs: TextInputs,
    y: Any,
    *,
    train_rows: LongArray,
    dev_rows: LongArray,
    predict_rows: LongArray,
    training: TrainingOptions,
    engine: Engine,
    seed: int,
    score: Callable[[LongArray, Any], float] | None = None,
    callbacks: TrainingCallbacks | None = None,
    quantization: Quantization | None = None,
    shares: FloatArray | None = None,
) -> Trained:
    """Return a network trained on some documents, and its outputs for others.

    Args:
        folder: of the base model. y: targets of all documents, as `tasks.Targets` has them; those of other rows are not looked at.
        score: (dev rows, outputs) → the score that early stopping looks at, higher is better.
        quantization: of the base, which the method leaves as it is. shares: (D, J) distributions over the classes of all documents,
            which are learned in the place of y.

    Raises:
        MissingError, UsageError, InputError, OutOfMemoryError: see `load_network` and `train`.
    """
    callbacks = callbacks or TrainingCallbacks()
    training = training.on(folder, task.kind)
    network = load_network(
        folder, task, method, seed=seed, device=engine.device, max_tokens=training.max_tokens, quantization=quantization,
        pooling=training.pooling,
    )  # fmt: skip
    used = np.unique(np.concatenate([train_rows, dev_rows, predict_rows]))  # of few shots far from all
    learn, dev, ask = (np.searchsorted(used, rows) for rows in (train_rows, dev_rows, predict_rows))
    inputs = text_inputs.take(used).inputs(network)
    y = y[used] if isinstance(y, np.ndarray) else [y[d] for d in used.tolist()]
    cut = int((inputs.cut > 0).sum()), float(inputs.cut.sum() / max(1, inputs.counts.sum()))
    callbacks.on_truncation(*cut)
    unfit = 0
    if task.kind == "answer":
        spans, y = y, window_targets(inputs, y)
        learn, unfit = windows_to_learn(inputs, spans, y, learn)
    if inputs.words is not None:
        assert inputs.documents is not None
        learn = np.flatnonzero(np.isin(inputs.documents, learn))
        y = [
            _token_targets(words, its_labels)
            if network.crf is None
            else _sequence(words, _after_start(network.crf, its_labels, d == before))
            for words, its_labels, d, before in zip(
                inputs.words, labels_of_windows(inputs, y), inputs.documents, [-1, *inputs.documents[:-1]], strict=True
            )
        ]
    weights, soft = None, None if shares is None else torch.from_numpy(shares[used].astype(np.float32))
    if training.balanced and task.kind != "regression":
        sizes = _sizes(task, y, learn) if shares is None else shares[train_rows].sum(axis=0)
        weights = balanced(sizes, len(learn), positive=task.kind == "multi")
    plan = training.schedule(method, len(learn), len(task.names) if task.kind in CLASSES else 0)

    def dev_score() -> Mapping[str, float]:
        assert score is not None
        outputs = predict(network, inputs, dev, engine)
        return {"score": score(dev_rows, outputs)}

    start = time.perf_counter() - (
        callbacks.state.seconds if callbacks.state else 0.0
    )  # of a training that goes on, what it took
    objective = objective_of(network, inputs, Targets(task, y, weights, network.crf, soft), learn, engine)
    with words_of(network, inputs):
        outcome = train(
            objective, engine, plan, seed=seed, score=dev_score if len(dev) and score is not None else None, better="score",
            state=callbacks.state, save=callbacks.save, on_step=callbacks.on_step,
        )  # fmt: skip
    temperature = None
    if training.calibrate:
        temperature = fit_temperature(task, predict(network, inputs, dev, engine), y[dev])
        divide_outputs(network, temperature or 1.0)
    seconds = time.perf_counter() - start
    outputs = predict(network, inputs, ask, engine)
    spent = time.perf_counter() - start - seconds
    return Trained(
        outputs,
        outcome,
        plan,
        seconds,
        spent,
        network.n_trained,
        network.n_parameters,
        cut,
        method.options,
        network=network,
        temperature=temperature,
        unfit=unfit,
    )


@contextmanager
def words_of(network: Network, inputs: Inputs) -> Iterator[None]:
    """Within it a network trains no more word embeddings than those of its inputs; see `used_rows`."""
    trained = network.trained
    with used_rows(network.model, np.append(inputs.flat, inputs.frame.pad)) as stands_for:
        network.trained = {name: stands_for.get(p, p) for name, p in trained.items()}
        try:
            yield
        finally:
            network.trained = trained


def fit_setfit(
    folder: Path,
    method: Method,
    labels: Labels,
    text_inputs: TextInputs,
    *,
    train_rows: LongArray,
    dev_rows: LongArray,
    predict_rows: LongArray,
    training: TrainingOptions,
    engine: Engine,
    seed: int,
    callbacks: TrainingCallbacks | None = None,
    embedder: Embedder | None = None,
) -> Trained:
    """Return a sentence encoder with a classifier trained on some documents, and logits for others.

    Args:
        embedder: the encoder to start from, None: that of `folder`.

    Raises:
        MissingError, UsageError, InputError: see `load_embedder` and `train_setfit`.
    """
    if not text_inputs.plain:
        raise UsageError("setfit reads one text per document; for pairs, context and words use another `method`")
    callbacks = callbacks or TrainingCallbacks()
    embedder = embedder or load_embedder(folder, max_tokens=training.max_tokens, device=engine.device)
    plan = training.schedule(method, len(train_rows))
    options: dict[str, Any] = dict(method.options)
    # with many documents weights cost more than they gain, and those of several labels move how many a document has
    few = not labels.multiple and len(train_rows) < FEW * len(labels.names)
    options["balanced"] = training.balanced or (bool(options["balanced"]) and few)
    if training.epochs is not None:
        options["epochs"] = training.epochs
    plan = replace(plan, epochs=int(options["epochs"]))
    asked = embedder.read([text_inputs.texts[d] for d in predict_rows.tolist()])
    cut = cut_of(embedder.read([text_inputs.texts[d] for d in np.setdiff1d(train_rows, predict_rows).tolist()]), asked)
    callbacks.on_truncation(*cut)
    start = time.perf_counter() - (callbacks.state.seconds if callbacks.state else 0.0)
    model, outcome = train_setfit(
        embedder, text_inputs.texts, labels, train_rows, plan=plan, options=options, engine=engine, seed=seed,
        state=callbacks.state, save=callbacks.save, on_step=callbacks.on_step,
    )  # fmt: skip
    temperature = None
    if training.calibrate:
        held_out = embedder.read([text_inputs.texts[d] for d in dev_rows.tolist()])
        scores = model.decision(embed_all(embedder, held_out, engine))
        temperature = fit_temperature(FinetuneTask("single", labels.names), scores, labels.targets(dev_rows))
        model = model.divided_by(temperature or 1.0)
    seconds = time.perf_counter() - start
    outputs = model.decision(embed_all(embedder, asked, engine))
    spent = time.perf_counter() - start - seconds
    n_trained = sum(p.numel() for p in embedder.parameters().values()) + sum(a.size for a in model.arrays().values())
    n_all = sum(p.numel() for p in embedder.model.parameters())
    return Trained(
        outputs, outcome, plan, seconds, spent, n_trained, n_all, cut, options, embedder=embedder, model=model, temperature=temperature
    )  # fmt: skip


def _token_targets(words: IntArray, word_labels: LongArray) -> LongArray:
    return spread(words, word_labels, IGNORED) if len(word_labels) else np.full(len(words), IGNORED, np.int64)


def _sequence(words: IntArray, word_labels: LongArray) -> LongArray:
    """Return the places of words and their labels (2, W), as `Targets` has them for a CRF; without labels none."""
    places = word_places(words) if len(word_labels) else np.zeros(0, np.int64)
    return np.stack([places, word_labels[: len(places)]])


def _after_start(crf: LinearChainCRF, word_labels: LongArray, goes_on: bool) -> LongArray:
    """Return the labels of a window; where it goes on with a text, those that no sequence starts with are not known at its start."""
    barred = crf.barred_start.cpu().numpy()
    n = 0
    while goes_on and n < len(word_labels) and word_labels[n] >= 0 and barred[word_labels[n]]:
        n += 1
    return np.concatenate([np.full(n, IGNORED, np.int64), word_labels[n:]])


def _sizes(task: FinetuneTask, y: Any, rows: LongArray) -> LongArray:
    J = len(task.names)
    if task.kind == "multi":
        return np.asarray(y[rows].sum(axis=0), np.int64)
    if task.kind == "tokens":
        word_labels = np.concatenate([y[row] for row in rows.tolist()])
        return np.bincount(word_labels[word_labels >= 0], minlength=J).astype(np.int64)
    return np.bincount(y[rows], minlength=J).astype(np.int64)

"""Classes from their names alone: the nearest label among embeddings, the one that a text entails, or the word put into a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nlpkit.classify.prediction_values import Predicted
from nlpkit.errors import UsageError
from nlpkit.platform.types import BoolArray, Float32Array, FloatArray, LongArray
from nlpkit.zero_shot.options import COSINE, LABEL, TEMPLATES

TEMPERATURE = 0.05
PATH = re.compile(r"\s+>\s+")  # between the parent of a label and the label
PARENT = 0.25  # weight of the cosine to the parent; docs/benchmarks/classify.md
STEPS, SHARE, SHARPNESS = 5, 0.5, 0.03  # of refined labels; docs/benchmarks/classify.md
MOST_REFINED = 20_000  # documents that labels are refined by
LEAST_OTHERS = 10  # documents of no label that a threshold is fitted to


def parse_labels(text: str) -> dict[str, list[str]]:
    """Return labels with their descriptions: "sports,politics", or "sports: games, matches; politics: …".

    With a semicolon or a line end the labels are apart by these, and what follows a colon describes the label; several
    descriptions are apart by |.

    Raises:
        UsageError: fewer than two labels, or one is there twice.
    """
    described = any(sign in text for sign in ";\n") or ":" in text
    parts = text.replace("\n", ";").split(";") if described else text.split(",")
    labels: dict[str, list[str]] = {}
    for part in parts:
        name, _, description = part.strip().partition(":")
        if name.strip():
            if name.strip() in labels:
                raise UsageError(f"`labels`: the label '{name.strip()}' occurs twice")
            labels[name.strip()] = [d.strip() for d in description.split("|") if d.strip()]
    return check_labels(labels)


def check_labels(labels: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the labels. Raises UsageError when there are fewer than two."""
    if len(labels) < 2:
        raise UsageError(
            "`labels` needs two labels or more, such as 'sports,politics'. Labels with descriptions are separated "
            f"by semicolons, as in 'sports: games; politics: votes'; found {len(labels)}: "
            f"{', '.join(labels) or 'none'}"
        )
    return {name: list(texts) for name, texts in labels.items()}


@dataclass(frozen=True, slots=True)
class LabelTree:
    """Labels with their descriptions, and those above them.

    parents: name → the parent of each label, itself where it has none; empty where no label has one. described: texts of parents.
    paths: "parent > label" → name. A label is named by its last part, or by the path where two last parts are equal.
    """

    labels: dict[str, list[str]]
    parents: dict[str, str]
    described: dict[str, list[str]]
    paths: dict[str, str]


def label_tree(labels: Mapping[str, Sequence[str]]) -> LabelTree:
    """Return labels of one level, or of two as "parent > label". A parent that is a label of its own describes the parent.

    Raises:
        UsageError: more than two levels, one path twice, or fewer than two labels below the parents.
    """
    paths: dict[tuple[str, ...], Sequence[str]] = {}
    for name, described in labels.items():
        path = tuple(PATH.split(name.strip()))
        if len(path) > 2:
            raise UsageError(
                f"`labels`: '{name}' has {len(path)} levels, but labels have one parent at most", parameter="labels"
            )
        if path in paths:
            raise UsageError(f"`labels`: the label '{name}' occurs twice", parameter="labels")
        paths[path] = described
    above = {path[0] for path in paths if len(path) == 2}
    leaves = {path: texts for path, texts in paths.items() if len(path) == 2 or path[0] not in above}
    several = max(Counter(path[-1] for path in leaves).values(), default=1) > 1
    names = {path: " > ".join(path) if several else path[-1] for path in leaves}
    return LabelTree(
        check_labels({names[path]: texts for path, texts in leaves.items()}),
        {names[path]: path[0] for path in leaves} if above else {},
        {parent: list(paths.get((parent,), ())) for parent in above},
        {" > ".join(path): names[path] for path in leaves},
    )


def with_parents(labels: FloatArray, parents: FloatArray) -> FloatArray:
    """Return directions (l + p / 4) / (1 + 1/4), (J, E): their product with a document x is the mean of its cosines to label and parent.

    Args:
        labels: l, (J, E) of length 1. parents: p, (J, E), the parent of each label; the label itself where it has none.
    """
    return np.asarray((labels + PARENT * parents) / (1 + PARENT))


def prompts_of(labels: Mapping[str, Sequence[str]], template: str = TEMPLATES[COSINE]) -> tuple[list[str], list[int]]:
    """Return the texts that stand for the labels, and the label of each: its descriptions, else its name in the template."""
    texts, label_of = [], []
    for j, (name, described) in enumerate(labels.items()):
        prompts = list(described) or [template.replace(LABEL, _spelled(name))]
        texts += prompts
        label_of += [j] * len(prompts)
    return texts, label_of


def prototypes(vectors: Float32Array, label_of: Sequence[int], n_labels: int) -> FloatArray:
    """Return the mean direction (J, E) of the texts of each label, of length 1.

    Args:
        vectors: (T, E) of length 1. label_of: (T,) label of each.
    """
    sums = np.zeros((n_labels, vectors.shape[1]))
    np.add.at(sums, np.asarray(label_of), vectors.astype(np.float64))
    return _unit(sums)


def nearest_labels(embeddings: Float32Array, labels: FloatArray, threshold: float | None = None) -> Predicted:
    """Return the label of each document: that of the largest cosine (Yin et al. 2019, §4; Schopf et al. 2022).

    Probabilities are a softmax of cosine / 0.05, which orders them and does not calibrate them. Equal ones: the first label.

    Args:
        embeddings: (D, E) of length 1. labels: (J, E), see `prototypes`. threshold: a document has no label (-1) whose largest cosine
            is smaller; None: every document has one.
    """
    cosine = _cosines(embeddings, labels)
    codes = cosine.argmax(axis=1).astype(np.int32)
    if threshold is not None:
        codes[cosine.max(axis=1) < threshold] = -1
    return Predicted(cosine, softmax(cosine / TEMPERATURE), codes)


def refined(embeddings: Float32Array, labels: FloatArray) -> FloatArray:
    """Return the directions of labels (J, E), each moved towards the documents that are nearest to it.

    Soft spherical k-means (Banerjee et al. 2005) that starts from the labels and stays near them: with q_dj = softmax_j(x_d · p_j / 0.03),
    p_j = l_j at first, five times

        m_j = Σ_d q_dj x_d, of length 1        p_j = l_j + m_j / 2, of length 1.

    Args:
        embeddings: (D, E) of length 1, of which 20,000 evenly spaced ones count. labels: l, (J, E).
    """
    step = -(-len(embeddings) // MOST_REFINED) or 1
    x = embeddings[::step].astype(np.float64)
    moved = labels
    for _ in range(STEPS):
        q = softmax(_cosines(x, moved) / SHARPNESS)
        moved = _unit(labels + SHARE * _unit(np.einsum("dj,de->je", q, x)))
    return moved


def fitted_threshold(best: FloatArray, right: BoolArray, other: BoolArray) -> float:
    """Return the threshold of the cosine with the most right decisions: a right label above it, a document of no label below it.

    Args:
        best: (n,) largest cosines. right: (n,) whether the nearest label is that of the document. other: (n,) whether the document has
            none of the labels.

    Raises:
        UsageError: hardly any document has none of them, so that nothing speaks for a threshold.
    """
    if int(other.sum()) < LEAST_OTHERS or not right.any():
        raise UsageError(
            f"`threshold=auto` needs documents whose label is one of `labels`, and {LEAST_OTHERS} or more whose label is another; found "
            f"{int(other.sum())} of these. Give a number, or no threshold",
            parameter="threshold",
        )
    order = np.argsort(best, kind="stable")
    gains = np.where(other, 1, 0)[order] - np.where(right, 1, 0)[order]  # of leaving this document without a label, too
    n_below = int(np.argmax(np.concatenate([[0], np.cumsum(gains)])))
    below = best[order[n_below - 1]] if n_below else -1.0
    above = best[order[n_below]] if n_below < len(best) else 1.0
    return float(min(max((below + above) / 2, -1.0), 1.0))


def _cosines(embeddings: npt.NDArray[Any], labels: FloatArray) -> FloatArray:
    cosine: FloatArray = np.einsum(
        "de,je->dj", embeddings.astype(np.float64), labels
    )  # the same on any number of threads
    return cosine


def _unit(rows: FloatArray) -> FloatArray:
    unit: FloatArray = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return unit


def words_of(labels: Mapping[str, Sequence[str]]) -> tuple[list[str], list[int]]:
    """Return the words that stand for the labels, and the label of each: its descriptions, else its name."""
    words, label_of = [], []
    for j, (name, described) in enumerate(labels.items()):
        of_label = list(described) or [_spelled(name)]
        words += of_label
        label_of += [j] * len(of_label)
    return words, label_of


def entailed_labels(
    entailment: FloatArray, contradiction: FloatArray, label_of: Sequence[int], n_labels: int, *, multi_label: bool
) -> Predicted:
    """Return the labels whose hypotheses texts entail (Yin et al. 2019, §5).

    Of one label a text: p(l | d) = softmax_l e_dl, of the logits e of entailment. Of several: each by itself,
    p(l | d) = exp e_dl / (exp e_dl + exp c_dl), with the logits c of contradiction, and a text has the labels with p > 1/2; both as
    the pipeline zero-shot-classification of transformers. A label with several hypotheses has the one that is entailed most.

    Args:
        entailment, contradiction: (D, T) logits. label_of: (T,) label of each hypothesis.
    """
    logits = entailment - contradiction if multi_label else entailment
    best = np.full((len(logits), n_labels), -np.inf)
    for t, j in enumerate(label_of):
        np.maximum(best[:, j], logits[:, t], out=best[:, j])
    if multi_label:
        p: FloatArray = 0.5 * (1.0 + np.tanh(best / 2))  # the logistic function, which does not overflow so
        return Predicted(best, p, None, p > 0.5)
    return Predicted(best, softmax(best), best.argmax(axis=1).astype(np.int32))


def label_shares(log_probs: FloatArray, label_of: Sequence[int], n_labels: int) -> FloatArray:
    """Return the share (D, J) of each label in what a masked language model expects: the mean probability of its words, summing to 1.

    Args:
        log_probs: (D, W) of the words; label_of: (W,) label of each.
    """
    p = np.exp(log_probs - log_probs.max(axis=1, keepdims=True))
    codes: LongArray = np.asarray(label_of, np.int64)
    means = np.stack([p[:, codes == j].mean(axis=1) for j in range(n_labels)], axis=1)
    shares: FloatArray = means / means.sum(axis=1, keepdims=True)
    return shares


def calibrated(shares: FloatArray, without_content: FloatArray) -> Predicted:
    """Return the labels after contextual calibration: q(l | d) ∝ p(l | d) / p(l | nothing) (Zhao et al. 2021, §5, W = diag(p)⁻¹, b = 0).

    Equal ones: the first label.

    Args:
        shares: (D, J) see `label_shares`; without_content: (J,) those of texts that say nothing, or ones.
    """
    tiny = np.finfo(np.float64).tiny
    decision: FloatArray = np.log(np.maximum(shares, tiny)) - np.log(np.maximum(without_content, tiny))
    return Predicted(decision, softmax(decision), decision.argmax(axis=1).astype(np.int32))


def softmax(z: FloatArray) -> FloatArray:
    """Return exp z / Σ exp z over the columns of (D, J)."""
    p: FloatArray = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p


def _spelled(name: str) -> str:
    return PATH.split(name)[-1].replace("_", " ")

"""Classes from their names alone: each document gets the label whose description is nearest to it among embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nlpkit.classify.predicted import Predicted
from nlpkit.errors import UsageError
from nlpkit.types import Float32Array, FloatArray

TEMPERATURE = 0.05
TEMPLATE = "This text is about {}."


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
                raise UsageError(f"`labels`: the label '{name.strip()}' is there twice")
            labels[name.strip()] = [d.strip() for d in description.split("|") if d.strip()]
    return check_labels(labels)


def check_labels(labels: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the labels. Raises UsageError when there are fewer than two."""
    if len(labels) < 2:
        raise UsageError(
            f"`labels` needs two labels or more, such as 'sports,politics'; found {len(labels)}: {', '.join(labels) or 'none'}"
        )
    return {name: list(texts) for name, texts in labels.items()}


def prompts_of(labels: Mapping[str, Sequence[str]], template: str = TEMPLATE) -> tuple[list[str], list[int]]:
    """Return the texts that stand for the labels, and the label of each: its descriptions, else its name in the template."""
    texts, label_of = [], []
    for j, (name, described) in enumerate(labels.items()):
        prompts = list(described) or [template.format(name.replace("_", " "))]
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
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    unit: FloatArray = sums / np.maximum(lengths, 1e-12)
    return unit


def nearest_labels(embeddings: Float32Array, labels: FloatArray) -> Predicted:
    """Return the label of each document: that of the largest cosine (Yin et al. 2019, §4; Schopf et al. 2022).

    Probabilities are a softmax of cosine / 0.05, which orders them and does not calibrate them. Equal ones: the first label.

    Args:
        embeddings: (D, E) of length 1. labels: (J, E), see `prototypes`.
    """
    cosine: FloatArray = np.einsum("de,je->dj", embeddings.astype(np.float64), labels)
    z = (cosine - cosine.max(axis=1, keepdims=True)) / TEMPERATURE
    p = np.exp(z)
    p /= p.sum(axis=1, keepdims=True)
    return Predicted(cosine, p, cosine.argmax(axis=1).astype(np.int32))

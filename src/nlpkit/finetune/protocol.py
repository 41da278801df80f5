"""The protocol of a comparison: several samples of the documents, several trainings on each, and the majority vote of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.classify.prediction_values import Predicted
from nlpkit.errors import UsageError
from nlpkit.finetune.predictions import TaskPredictions
from nlpkit.platform.named_options import Value, parse_options
from nlpkit.platform.types import BoolArray, FloatArray, IntArray

PROTOCOLS: dict[str, dict[str, Value]] = {"majority": {"samples": 5, "repeats": 5}}
_EARLIER_NAME = "course"  # of majority
TOTALS = "10,100"  # where neither `shots` nor `totals` is given


@dataclass(frozen=True, slots=True)
class Protocol:
    """So many samples of the training documents, and so many trainings on each, which differ in their seeds.

    The defaults (Rieger et al. 2024, §5): 5 stratified samples of 10 and of 100 documents, 5 trainings on each, the whole test.
    """

    name: str
    samples: int
    repeats: int

    @property
    def spelling(self) -> str:
        """The protocol as `parse_protocol` reads it."""
        return f"{self.name}(samples={self.samples},repeats={self.repeats})"


def parse_protocol(text: str) -> Protocol:
    """Return the protocol that is spelled like `majority` or `majority(samples=3)`.

    Raises:
        UsageError: no such protocol or option, or fewer than one sample or training.
    """
    if text == _EARLIER_NAME or text.startswith(f"{_EARLIER_NAME}("):
        text = text.replace(_EARLIER_NAME, "majority", 1)
    name, options = parse_options(text, PROTOCOLS, "protocol")
    for option, value in options.items():
        if int(value) < 1:
            raise UsageError(f"`protocol={text}`: {option} must be 1 or more", parameter="protocol")
    return Protocol(name, int(options["samples"]), int(options["repeats"]))


def majority_vote(repeats: Sequence[TaskPredictions]) -> TaskPredictions:
    """Return the predictions that most of R models make, for documents with one label or with several.

    One label: the class that most models predict; of classes with as many votes, the one with the larger mean probability. Several
    labels: each that more than half of the models assign; of exactly half, those whose mean probability is above 1/2. Probabilities
    are the means over the models.

    Args:
        repeats: (R,) predictions of the same documents, NaN where there is none.
    """
    every = [predictions.predicted for predictions in repeats if predictions.predicted is not None]
    mean: FloatArray = np.stack([p.probabilities for p in every if p.probabilities is not None]).mean(axis=0)
    several = [p.sets for p in every if p.sets is not None]
    if several:
        share: FloatArray = np.stack(several).mean(axis=0)
        sets: BoolArray = (share > 0.5) | ((share == 0.5) & (mean > 0.5))
        return TaskPredictions(Predicted(share, mean, None, sets))
    codes = np.stack([p.codes for p in every if p.codes is not None])
    votes: FloatArray = (codes[:, :, None] == np.arange(mean.shape[1])).sum(axis=0) + np.nan_to_num(mean) / 2
    predicted: IntArray = np.where((codes >= 0).all(axis=0), votes.argmax(axis=1), -1).astype(np.int32)
    return TaskPredictions(Predicted(votes, mean, predicted))

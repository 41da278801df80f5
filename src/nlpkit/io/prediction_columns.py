"""The columns that a prediction adds to a table of documents, by a classifier of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.predicted import Predicted
from nlpkit.errors import UsageError
from nlpkit.types import BoolArray

NO_PROBABILITIES = (
    "`probabilities`: the model has none; train it with `calibrate=sigmoid`, or leave `probabilities` out"
)


def prediction_columns(
    classifier_names: Sequence[str], predicted: Predicted, *, probabilities: bool
) -> dict[str, pa.Array]:
    """Return the columns that a classifier adds to documents (n,): prediction, prediction_prob and, if asked for, probabilities.

    A document that was not predicted (code -1) has null in all; so has prediction_prob where the model has no probabilities. Numbers
    are a float64 and have no prediction_prob.

    Raises:
        UsageError: probabilities of a model that has none.
    """
    if predicted.values is not None:
        return {"prediction": pa.array(predicted.values, pa.float64(), from_pandas=True)}
    is_predicted: BoolArray
    if predicted.sets is not None:
        is_predicted = np.asarray(np.isfinite(predicted.decision).all(axis=1))
        prediction = pa.array(
            [
                chosen_names(classifier_names, chosen) if ok else None
                for chosen, ok in zip(predicted.sets, is_predicted, strict=True)
            ],
            pa.list_(pa.string()),
        )
    else:
        assert predicted.codes is not None
        is_predicted = np.asarray(predicted.codes >= 0)
        names = pa.array([*classifier_names, None], pa.string())
        prediction = names.take(
            pa.array(np.where(is_predicted, predicted.codes, len(classifier_names)).astype(np.int64))
        )
    confidence = predicted.confidence
    prob = np.full(len(is_predicted), np.nan) if confidence is None else np.where(is_predicted, confidence, np.nan)
    columns = {"prediction": prediction, "prediction_prob": pa.array(prob, pa.float32(), from_pandas=True)}
    if probabilities:
        p = predicted.probabilities
        if p is None:
            raise UsageError(NO_PROBABILITIES, parameter="probabilities")
        missing = pa.array(~np.isfinite(p).all(axis=1))
        parts = [pa.array(p[:, j].astype(np.float32), from_pandas=True) for j in range(len(classifier_names))]
        columns["probabilities"] = pa.StructArray.from_arrays(parts, list(classifier_names), mask=missing)
    return columns


def chosen_names(names: Sequence[str], chosen: Any) -> list[str]:
    """Return the names of the labels of a document, of which `chosen` (J,) says whether it has them."""
    return [names[j] for j in np.flatnonzero(chosen).tolist()]

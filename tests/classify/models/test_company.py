"""The scores of a document by classifiers on embeddings do not depend on the documents beside it, to the last digit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nlpkit.classify.models.kan import fit_kan
from nlpkit.classify.models.logistic import fit_logistic
from nlpkit.classify.models.sklearn_models import fit_mlp
from tests.command_line import needs_torch

rng = np.random.default_rng(0)
X = rng.normal(size=(700, 384))
Y = (X[:, 0] > 0).astype(np.int32) + (X[:, 1] > 0)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: fit_logistic(X[:60], Y[:60], 3, C=1.0),
        lambda: fit_mlp(X[:60], Y[:60], 3, hidden=16, epochs=5, seed=0),
        pytest.param(lambda: fit_kan(X[:60], Y[:60], 3, hidden=4, seed=0), marks=needs_torch),
    ],
    ids=["logreg", "mlp", "kan"],
)
def test_scores_of_a_document(fit: Callable[[], Any]) -> None:
    model = fit()
    alone = model.decision(X[600:601])
    for n in (1, 2, 3, 7, 33, 500):
        others = X[:n]
        assert model.decision(np.vstack([X[600:601], others]))[0].tobytes() == alone.tobytes()
        assert model.decision(np.vstack([others, X[600:601]]))[n].tobytes() == alone.tobytes()

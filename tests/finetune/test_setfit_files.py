"""Folders for the setfit library: what it predicts with them is what nlpkit predicts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.classify.dataset import encode_sets, encode_single
from nlpkit.errors import UsageError
from nlpkit.finetune.files import write_setfit_folder
from nlpkit.finetune.setfit.embedder import Embedder, load_embedder
from nlpkit.finetune.setfit.setfit import SetFitModel
from nlpkit.finetune.training.heads import fit_head, linear_head
from tests.encoder_models import write_model

TEXTS = ["the cat ran", "a dog sat", "old house", "the mat", "bird", "very new house", "cat and dog", "on the mat"]
VALUES = ["zoo", "zoo", "home", "home", "zoo", "home", "10", "10"]
SETS = [["zoo"], ["zoo", "all"], ["home", "all"], ["home"], [], ["home"], ["zoo"], ["home", "zoo"]]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    path = write_model(tmp_path_factory.mktemp("setfit-files") / "tiny")
    return load_embedder(path, max_tokens=None, device=torch.device("cpu"))


@contextmanager
def their_library() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        setfit = pytest.importorskip("setfit")
        yield setfit


def vectors(embedder: Embedder) -> Any:
    return embedder.model.encode(TEXTS, show_progress_bar=False)


@pytest.mark.parametrize("values", [VALUES, ["zoo" if v == "zoo" else "home" for v in VALUES], SETS])
def test_ours_in_the_library(embedder: Embedder, tmp_path: Path, values: Any) -> None:
    known = np.ones(8, bool)
    labels = encode_sets(values, known) if values is SETS else encode_single(values, known)
    model = SetFitModel(labels.names, fit_head(vectors(embedder), labels, np.arange(8), C=20.0))
    write_setfit_folder(tmp_path / "theirs", embedder, model)
    with their_library() as setfit:
        other = setfit.SetFitModel.from_pretrained(str(tmp_path / "theirs"))
        chances, found = np.asarray(other.predict_proba(TEXTS)), other.predict(TEXTS)
    np.testing.assert_allclose(chances, model.probabilities(vectors(embedder)), atol=1e-6)
    if values is SETS:
        found = [tuple(n for n, yes in zip(model.names, row, strict=True) if yes) for row in np.asarray(found)]
    assert found == model.predict(vectors(embedder))


def test_a_single_label_has_no_place_in_their_format(embedder: Embedder, tmp_path: Path) -> None:
    model = SetFitModel(("a",), linear_head(np.zeros((32, 1)), np.zeros(1), multiple=True))
    with pytest.raises(UsageError, match="single label"):
        write_setfit_folder(tmp_path / "x", embedder, model)
    assert not (tmp_path / "x").exists()

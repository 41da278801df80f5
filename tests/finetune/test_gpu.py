"""Fine-tuning on a GPU, where there is one: make test-gpu."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.fit import fit_network
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training.engine import Engine
from tests.finetune.tiny import tiny_bert

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


METHODS = (
    "full", "head", "bitfit", "lora", "dora", "ia3", "prefix", "prompt", "pfeiffer", "houlsby", "parallel", "compacter", "compacter++",
    "mam", "unipelt",
)  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_trained_on_a_gpu(tmp_path: Path, method: str) -> None:
    """In the precision that auto takes; the scores of a base that knows nothing say nothing."""
    base = tiny_bert(tmp_path / "base", words=["red", "blue", "car", "sky"])
    rows = np.arange(32)
    with Engine(torch.device("cuda"), "bf16", threads=1) as engine:
        found = fit_network(
            base, parse_method(method), FinetuneTask("single", ("blue", "red")), TextInputs(["red car", "blue sky"] * 16), rows % 2,
            train_rows=rows[:24], dev_rows=rows[:0], predict_rows=rows[24:], training=TrainingOptions(epochs=2), engine=engine, seed=1,
        )  # fmt: skip
    assert np.isfinite(found.outputs).all()
    assert found.outputs.shape == (8, 2)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("method", ["full", "lora", "pfeiffer", "mam", "compacter"])
def test_a_toy_task_is_learned_on_a_gpu(tmp_path: Path, method: str, precision: str) -> None:
    base = tiny_bert(tmp_path / "base", words=["red", "blue", "car", "sky"])
    texts = [f"{'red' if d % 2 else 'blue'} {'car' if d % 3 else 'sky'}" for d in range(64)]
    y, rows = np.arange(64) % 2, np.arange(64)
    with Engine(torch.device("cuda"), precision, threads=1) as engine:
        found = fit_network(
            base, parse_method(method), FinetuneTask("single", ("blue", "red")), TextInputs(texts), y, train_rows=rows[:48],
            dev_rows=rows[:0], predict_rows=rows[48:], training=TrainingOptions(epochs=40, lr=2e-3), engine=engine, seed=1,
        )  # fmt: skip
    assert (found.outputs.argmax(axis=1) == y[48:]).mean() > 0.9

"""Fine-tuning on a GPU, where there is one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from nlpkit.finetune.engine import Engine
from nlpkit.finetune.fit import fit_network
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.text_inputs import TextInputs
from nlpkit.finetune.training_options import TrainingOptions
from tests.finetune.tiny import tiny_bert

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("method", ["full", "lora", "pfeiffer", "mam"])
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

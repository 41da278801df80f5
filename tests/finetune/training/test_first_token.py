"""Classifiers that read the first token: the last layer goes on with it alone, and outputs and gradients stay the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from nlpkit.finetune.training.heads import KINDS, read_first_token
from tests.finetune.eight import KINDS as EVERY_KIND
from tests.finetune.eight import batch, build, one_thread  # noqa: F401


def outputs_and_gradients(model: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    model.zero_grad()
    logits = model(**batch()).logits
    torch.logsumexp(logits, dim=1).sum().backward()
    return logits.detach(), {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_outputs_and_gradients_are_those_of_all_tokens(kind: str) -> None:
    model = build(kind).eval()
    logits, gradients = outputs_and_gradients(model)
    read_first_token(model)
    alone, by_first = outputs_and_gradients(model)
    torch.testing.assert_close(alone, logits, atol=1e-6, rtol=1e-5)
    assert by_first.keys() == gradients.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(by_first[name], gradient, atol=1e-5, rtol=1e-4, msg=name)
    hidden = model(**batch(), output_hidden_states=True).hidden_states
    assert (hidden[-1].shape[1] == 1) == (kind in KINDS)
    assert hidden[-2].shape[1] > 1

"""Sequence to sequence: an encoder reads a text, a decoder writes its target, each token guessed from the true ones before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.errors import InputError
from nlpkit.finetune.engine import autocast_if_supported
from nlpkit.finetune.inputs import Frame, Inputs, encode
from nlpkit.finetune.mlm import MlmNetwork
from nlpkit.finetune.objective import EveryParameter
from nlpkit.types import LongArray


def cut_pairs(network: MlmNetwork, texts: Sequence[str], targets: Sequence[str]) -> tuple[Inputs, Inputs, int]:
    """Return texts with the special tokens around each, targets with the token that ends them, and how many pairs lose their end.

    Raises:
        InputError: no target has a token.
    """
    frame, window = network.frame, network.max_tokens
    end = Frame((), (), (int(network.tokenizer.eos_token_id),), frame.pad, False)
    sources = encode(network.tokenizer, frame, texts, max_tokens=window)
    written = encode(network.tokenizer, end, targets, max_tokens=window)
    if not written.counts.any():
        raise InputError(f"none of the {len(targets)} targets has a token to guess; check `target_col`")
    return sources, written, int(((sources.cut > 0) | (written.cut > 0)).sum())


@dataclass
class Seq2SeqObjective(EveryParameter):
    """Objective of training an encoder and a decoder; see `engine.PerExampleLoss` and `objective.Objective`.

    Teacher forcing (Williams & Zipser 1989; lecture): the decoder reads the true token before each place, not the one it would
    have written, after a token that begins every target. With a text x and its target of tokens y_1 … y_n, of which the last is the end,

        loss = −Σ_t log p(y_t | x, y_1 … y_{t−1})
    """

    network: MlmNetwork
    sources: Inputs
    targets: Inputs
    lengths: LongArray = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        self.lengths, self.n = self.sources.lengths + self.targets.lengths, len(self.targets.lengths)

    def weight(self, rows: LongArray) -> float:
        """Return how many tokens of some targets are guessed, their ends among them."""
        return float(self.targets.lengths[rows].sum())

    def loss(self, rows: LongArray) -> Tensor:
        """Return −Σ log p of the tokens of some targets."""
        model = self.network.model
        device = next(model.parameters()).device
        source, target = self.sources.batch(rows, device), self.targets.batch(rows, device)
        ids, guessed = target["input_ids"], target["attention_mask"] == 1
        before = torch.full_like(ids[:, :1], int(model.config.decoder_start_token_id))
        with autocast_if_supported(model):
            logits = model(
                input_ids=source["input_ids"], attention_mask=source["attention_mask"],
                decoder_input_ids=torch.cat([before, ids[:, :-1]], dim=1), use_cache=False,
            ).logits[guessed].float()  # fmt: skip
        return functional.cross_entropy(logits, ids[guessed], reduction="sum")

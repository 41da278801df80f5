"""Causal language modelling: each token is guessed from those before it in its window."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.embed.encoder import encodable
from nlpkit.embed.tokens import iterate_ids
from nlpkit.errors import InputError
from nlpkit.finetune.engine import Engine, autocast_if_supported
from nlpkit.finetune.inputs import Inputs
from nlpkit.finetune.mlm import MlmNetwork
from nlpkit.finetune.objective import EveryParameter
from nlpkit.types import LongArray


def cut_sequences(network: MlmNetwork, texts: Sequence[str]) -> tuple[Inputs, int]:
    """Return texts as sequences to guess, and how many texts are longer than the window.

    A text is its tokens between the token that begins texts and the one that ends them. A window of T tokens is followed by the
    token that comes next; the next window begins with that one, so each token but the first is guessed exactly once.

    Raises:
        InputError: there is no token at all.
    """
    first, last = int(network.tokenizer.bos_token_id), int(network.tokenizer.eos_token_id)
    T, flat, lengths, long, some = network.max_tokens, array("i"), [], 0, False
    for ids in iterate_ids(network.tokenizer.backend_tokenizer, [encodable(text) for text in texts]):
        sequence = [first, *ids, last]
        some, long = some or bool(ids), long + (len(sequence) > T + 1)
        for start in range(0, len(sequence) - 1, T):
            window = sequence[start : start + T + 1]
            flat.extend(window)
            lengths.append(len(window))
    if not some:
        raise InputError(f"none of the {len(texts)} texts has a token to guess; check `text_col`")
    sizes = np.array(lengths, np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    nothing = np.zeros(len(sizes), np.int64)
    return Inputs(np.frombuffer(flat, np.intc), None, starts, sizes, sizes, nothing, network.frame), long


@dataclass
class ClmObjective(EveryParameter):
    """Objective of training a network to guess next tokens; see `engine.PerExampleLoss` and `objective.Objective`."""

    network: MlmNetwork
    sequences: Inputs
    lengths: LongArray = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        self.lengths, self.n = self.sequences.lengths, len(self.sequences.lengths)

    def weight(self, rows: LongArray) -> float:
        """Return how many tokens of some sequences are guessed."""
        return float((self.lengths[rows] - 1).sum())

    def loss(self, rows: LongArray) -> Tensor:
        """Return −Σ log p of the tokens of some sequences."""
        model = self.network.model
        batch = self.sequences.batch(rows, next(model.parameters()).device)
        ids, mask = batch["input_ids"], batch["attention_mask"]
        guessed = mask[:, 1:] == 1
        with autocast_if_supported(model):
            hidden = self.network.body(
                input_ids=ids[:, :-1], attention_mask=mask[:, 1:], use_cache=False
            ).last_hidden_state
            logits = self.network.guess(hidden[guessed]).float()
        return functional.cross_entropy(logits, ids[:, 1:][guessed], reduction="sum")


@dataclass
class BilmObjective(ClmObjective):
    """Objective of training ELMo: next tokens by the forward model and those before by the backward one, half of each (§3.1, J)."""

    def loss(self, rows: LongArray) -> Tensor:
        """Return −½ Σ (log p(t_k | t_1 … t_{k−1}) + log p(t_{k−1} | t_k … t_n)) over some sequences."""
        model = self.network.model
        batch = self.sequences.batch(rows, next(model.parameters()).device)
        ids, mask = batch["input_ids"], batch["attention_mask"]
        guessed = mask[:, 1:] == 1
        with autocast_if_supported(model):
            forward, backward = self.network.body(**batch).hidden_states[-1].chunk(2, -1)
            pairs = ((forward[:, :-1], ids[:, 1:]), (backward[:, 1:], ids[:, :-1]))
            logits = [self.network.guess(hidden[guessed]).float() for hidden, _ in pairs]
        return torch.stack([
            functional.cross_entropy(guess, targets[guessed], reduction="sum") / 2
            for guess, (_, targets) in zip(logits, pairs, strict=True)
        ]).sum()  # fmt: skip


def next_token_objective(network: MlmNetwork, sequences: Inputs) -> ClmObjective:
    """Return the objective of a network that guesses next tokens, ELMo's in both directions."""
    both_ways = getattr(network.model.config, "arch", None) == "elmo"
    return (BilmObjective if both_ways else ClmObjective)(network, sequences)


def negative_log_likelihood(objective: Any, engine: Engine) -> tuple[float, int]:
    """Return −Σ log p of the tokens that an objective guesses, and their number N. exp of the ratio is the perplexity per token."""
    objective.mode(False)
    total = sum(loss for _, loss in engine.run(lambda rows: float(objective.loss(rows)), objective.lengths))
    return float(total), int(objective.weight(np.arange(objective.n)))


def count_words(texts: Sequence[str]) -> int:
    """Return the words of texts between blanks, with the end of each text, as n-gram models count them."""
    return sum(len(text.split()) + 1 for text in texts)

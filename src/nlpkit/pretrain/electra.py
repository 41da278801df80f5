"""ELECTRA: a small generator guesses masked tokens, and a discriminator finds the tokens that it has replaced (Clark et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.finetune.engine import Engine, autocast_if_supported
from nlpkit.finetune.masking import NO_TARGET
from nlpkit.finetune.mlm import MlmObjective
from nlpkit.types import FloatArray, LongArray

GENERATOR = "generator"  # the folder of it beside the discriminator, which is what is fine-tuned


class Electra(nn.Module):  # type: ignore[misc]
    """Both models. Their embeddings of tokens, positions and types are the same ones (§3.2)."""

    base_model_prefix = "electra"

    def __init__(self, discriminator: Any, generator: Any) -> None:
        super().__init__()
        generator.electra.embeddings = discriminator.electra.embeddings
        generator.generator_lm_head.weight = discriminator.electra.embeddings.word_embeddings.weight
        self.discriminator, self.generator = discriminator, generator

    @property
    def config(self) -> Any:
        """The configuration of the discriminator."""
        return self.discriminator.config

    @property
    def electra(self) -> Any:
        """The body of the discriminator."""
        return self.discriminator.electra

    def save_pretrained(self, folder: str) -> None:
        """Write the discriminator, and the generator into a folder in it."""
        self.discriminator.save_pretrained(folder)
        self.generator.save_pretrained(f"{folder}/{GENERATOR}")


def new_electra(
    *, vocabulary: int, layers: int, hidden: int, heads: int, window: int, dropout: float, ends: dict[str, Any]
) -> Electra:
    """Return both models with new weights; the generator is a quarter as wide (§3.2)."""
    from transformers import ElectraConfig, ElectraForMaskedLM, ElectraForPreTraining

    def config(width: int) -> Any:
        return ElectraConfig(
            vocab_size=vocabulary, embedding_size=hidden, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
            intermediate_size=4 * width, max_position_embeddings=window, hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout, **ends,
        )  # fmt: skip

    narrow = heads * max(1, hidden // (4 * heads))
    return Electra(ElectraForPreTraining(config(hidden)), ElectraForMaskedLM(config(narrow)))


@dataclass
class ElectraObjective(MlmObjective):
    """Objective of both models; see `engine.PerExampleLoss` and `objective.Objective`.

    The generator p_G guesses masked tokens; each is replaced by one that is drawn from its guess, and the discriminator D says of all
    tokens whether they are the original ones. With M masked tokens and N tokens in an epoch, the loss is (§2, eq. 1 and 2)

        −(1/M) Σ log p_G(token) + weight · −(1/N) Σ [original] log D + [replaced] log(1 − D)

    A token that was drawn right counts as original. The draws have no gradient. Tokens are masked as for BERT.
    """

    balance: float = field(kw_only=True, default=50.0)
    ratio: float = field(init=False)
    _uniforms: FloatArray = field(init=False)

    def draw(self, rng: np.random.Generator) -> None:
        """Draw new masks, and what the generator's guesses are drawn by."""
        MlmObjective.draw(self, rng)
        self._uniforms = rng.random(len(self.windows.flat))
        self.ratio = float(self._counts.sum()) / len(self.windows.flat)

    def loss(self, rows: LongArray) -> Tensor:
        """Return −Σ log p_G of some windows, and `balance` · M/N times the loss of the discriminator."""
        masked, detection, _ = self.parts(rows)
        return masked + self.balance * self.ratio * detection

    def parts(self, rows: LongArray) -> tuple[Tensor, Tensor, tuple[int, int]]:
        """Return −Σ log p_G, the summed loss of the discriminator, and how many tokens it judges right and how many are replaced."""
        pair: Any = self.network.model
        device = next(pair.parameters()).device
        targets = self.targets.batch(rows, device)["input_ids"]
        chosen = targets != NO_TARGET
        original = self.windows.batch(rows, device)
        ids, seen = original["input_ids"], original["attention_mask"] == 1
        with autocast_if_supported(pair):
            hidden = pair.generator.electra(**self.seen.batch(rows, device)).last_hidden_state[chosen]
            guesses = pair.generator.generator_lm_head(pair.generator.generator_predictions(hidden)).float()
            corrupt = ids.masked_scatter(chosen, self._drawn(guesses.detach(), rows, chosen))
            logits = pair.discriminator(input_ids=corrupt, attention_mask=original["attention_mask"]).logits.float()[
                seen
            ]
        replaced = (corrupt != ids)[seen]
        detection = functional.binary_cross_entropy_with_logits(logits, replaced.float(), reduction="sum")
        right = int(((logits > 0) == replaced).sum())
        masked = functional.cross_entropy(guesses, targets[chosen], reduction="sum")
        return masked, detection, (right, int(replaced.sum()))

    def _drawn(self, guesses: Tensor, rows: LongArray, chosen: Tensor) -> Tensor:
        """Return a token for each masked one (m,), drawn from softmax(guesses) (m, V): the first whose cumulated probability exceeds u."""
        places = self.windows.starts[rows][:, None] + np.arange(chosen.shape[1])
        u = torch.from_numpy(self._uniforms[places[chosen.cpu().numpy()]]).to(guesses.device)
        cumulated = guesses.double().softmax(dim=-1).cumsum(dim=-1)
        return (cumulated <= u[:, None]).sum(dim=-1).clamp(max=guesses.shape[1] - 1)

    def scores(self, engine: Engine) -> tuple[float, dict[str, float]]:
        """Return −Σ log p_G of the masked tokens; the share of tokens judged right, and that of replaced ones."""
        total, right, replaced = 0.0, 0, 0
        for _, (masked, _, counts) in engine.run(self.parts, self.lengths):
            total, right, replaced = total + float(masked), right + counts[0], replaced + counts[1]
        n = len(self.windows.flat)
        return total, {"detection_accuracy": right / n, "replaced_share": replaced / n}

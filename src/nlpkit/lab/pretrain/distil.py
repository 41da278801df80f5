"""Knowledge distillation: a new network learns the guesses of a teacher, as DistilBERT did (Hinton et al. 2015; Sanh et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.embed.tokenizers import load_tokenizer
from nlpkit.errors import MissingError, UsageError
from nlpkit.finetune.data.inputs import NO_TARGET
from nlpkit.finetune.patterns.mlm import MODEL_TYPES, MlmNetwork, MlmObjective
from nlpkit.finetune.training.architectures import positions_of
from nlpkit.finetune.training.engine import autocast_if_supported
from nlpkit.finetune.training.loading import load_whole
from nlpkit.finetune.training.train import EveryParameter
from nlpkit.lab.pretrain.objectives import ClmObjective
from nlpkit.platform.types import LongArray


def guesses_of(config: Mapping[str, Any], where: str) -> str:
    """Return what the model of a config.json guesses: clm, the next token, or mlm, masked ones. Raises MissingError: neither."""
    name, kind = " ".join(config.get("architectures") or ()), config.get("model_type")
    if kind == "nlpkit" and config.get("arch") != "elmo":
        return "clm" if config.get("causal") else "mlm"
    if name.endswith(("ForCausalLM", "LMHeadModel")):
        return "clm"
    if kind in MODEL_TYPES and name.endswith(("ForMaskedLM", "ForPreTraining")):
        return "mlm"
    raise MissingError(
        f"the teacher in {where} is {name or 'a model without a name'}, which does not predict tokens here",
        parameter="teacher",
    )


def load_teacher(folder: Path, student: MlmNetwork, task: str, device: torch.device) -> MlmNetwork:
    """Return the frozen teacher of a student.

    Raises:
        MissingError: transformers cannot load it. UsageError: it has another tokenizer, or a smaller window.
    """
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    from nlpkit.lab.architectures.model import register
    from nlpkit.lab.architectures.state_space import with_scan

    register()
    kind = AutoModelForCausalLM if task == "clm" else AutoModelForMaskedLM
    model = load_whole(kind, folder, what="teacher")
    tokenizer = load_tokenizer(folder, words=False)
    if tokenizer.get_vocab() != student.tokenizer.get_vocab():
        raise UsageError(
            "the teacher has another tokenizer than the one you named; leave `tokenizer` out",
            parameter="teacher",
        )
    if positions_of(model.config) < student.max_tokens:
        raise UsageError(
            f"`max_tokens={student.max_tokens}`: the teacher takes up to {positions_of(model.config)} tokens of a text",
            parameter="max_tokens",
        )
    model = with_scan(model).requires_grad_(False).to(device).eval()
    return MlmNetwork(
        model, tokenizer, student.frame, student.mask_id, student.ordinary, student.max_tokens, False, frozenset(), {}
    )  # fmt: skip


@dataclass
class DistilObjective(EveryParameter):
    """Objective of a student; see `engine.PerExampleLoss` and `objective.Objective`.

    With the guesses t of the teacher and s of the student for N tokens, their last hidden states h_t and h_s, and M tokens to guess, the
    loss is DistilBERT's (Sanh et al. 2019, §2), at temperature T (Hinton et al. 2015, §2):

        soft · T² (1/N) Σ KL(softmax(t/T) ‖ softmax(s/T)) + hard · −(1/M) Σ log p(token) + cosine · (1/N) Σ (1 − cos(h_s, h_t))

    M is N of clm; of mlm the other two terms are over all tokens, as in the authors' code. The last one needs states of the same width.
    """

    base: ClmObjective | MlmObjective
    teacher: MlmNetwork
    temperature: float = 2.0
    soft: float = 5.0
    hard: float = 2.0
    cosine: float = 1.0
    network: MlmNetwork = field(init=False)
    n: int = field(init=False)
    ratio: float = field(init=False)

    def __post_init__(self) -> None:
        self.network, self.n, self.lengths = self.base.network, self.base.n, self.base.lengths
        self._count()

    def _count(self) -> None:
        windows = self.base.windows if isinstance(self.base, MlmObjective) else None
        tokens = self.base.weight(np.arange(self.n)) if windows is None else len(windows.flat)
        self.ratio = self.base.weight(np.arange(self.n)) / tokens

    def begin(self, epoch: int, seed: int) -> None:
        """Draw the masks of an epoch."""
        self.base.begin(epoch, seed)
        self._count()

    def weight(self, rows: LongArray) -> float:
        """Return how many tokens of some examples are guessed."""
        return self.base.weight(rows)

    def loss(self, rows: LongArray) -> Tensor:
        """Return the sum of the losses of some examples, so that the mean over the tokens that are guessed is the loss above."""
        hard, soft, cosine = self.parts(rows)
        return self.hard * hard + self.ratio * (self.soft * soft + self.cosine * cosine)

    def parts(self, rows: LongArray) -> tuple[Tensor, Tensor, Tensor]:
        """Return −Σ log p of the tokens that are guessed, T² Σ KL, and Σ (1 − cos), which is 0 where the widths differ."""
        network, T = self.network, self.temperature
        batch, targets, seen = self._batch(rows, next(network.model.parameters()).device)
        with autocast_if_supported(network.model):
            states = network.body(**batch).last_hidden_state[seen]
            guesses = network.guess(states).float()
        with torch.no_grad(), autocast_if_supported(self.teacher.model):
            taught = self.teacher.body(**batch).last_hidden_state[seen]
            theirs = self.teacher.guess(taught).float()
        counted = targets[seen] != NO_TARGET
        hard = functional.cross_entropy(guesses[counted], targets[seen][counted], reduction="sum")
        logs = (guesses / T).log_softmax(dim=-1), (theirs / T).log_softmax(dim=-1)
        soft = T * T * functional.kl_div(*logs, reduction="sum", log_target=True)
        if states.shape != taught.shape:
            return hard, soft, torch.zeros_like(soft)
        return hard, soft, (1 - functional.cosine_similarity(states.float(), taught.float(), dim=-1)).sum()

    def _batch(self, rows: LongArray, device: torch.device) -> tuple[dict[str, Any], Tensor, Tensor]:
        """Return what the networks read, the tokens to guess (B, T), NO_TARGET elsewhere, and the places that hold a token."""
        if isinstance(self.base, MlmObjective):
            batch = self.base.seen.batch(rows, device)
            return batch, self.base.targets.batch(rows, device)["input_ids"], batch["attention_mask"] == 1
        whole = self.base.sequences.batch(rows, device)
        ids, mask = whole["input_ids"], whole["attention_mask"]
        seen = mask[:, 1:] == 1
        read = {"input_ids": ids[:, :-1], "attention_mask": mask[:, 1:], "use_cache": False}
        return read, ids[:, 1:].masked_fill(~seen, NO_TARGET), seen

"""Causal language models that learn to answer: by examples (supervised fine-tuning), or by pairs of a better and a worse answer (DPO).

With a prompt x and an answer y of tokens y_1 … y_T,

    log π(y | x) = Σ_t log π(y_t | x, y_<t)

    sft   -Σ log π(y | x) over the tokens of all answers; the prompt has no loss
    dpo   -log σ(β (log π(y₊|x) - log π_ref(y₊|x)) - β (log π(y₋|x) - log π_ref(y₋|x)))     (Rafailov et al. 2023, eq. 7)

π_ref is the model before the training. Its log-probabilities do not change, so they are computed once. As trl 1.16 does
(tests/finetune/encoders/test_causal.py), prompt and answer are tokenised apart, and the end-of-text token is the last of an answer.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.embed.encoder import encodable
from nlpkit.embed.engines import quiet
from nlpkit.embed.hardware import seeded
from nlpkit.embed.tokenizers import load_tokenizer
from nlpkit.errors import InputError, MissingError, UsageError, first_line
from nlpkit.finetune.adapters.peft_modules import DEFAULTS, in_order
from nlpkit.finetune.data.inputs import Inputs, frame_of
from nlpkit.finetune.methods import Method
from nlpkit.finetune.training.architectures import positions_of
from nlpkit.finetune.training.engine import Engine, autocast_if_supported
from nlpkit.finetune.training.loading import load_whole
from nlpkit.finetune.training.train import EveryParameter
from nlpkit.platform.named_options import Value
from nlpkit.platform.types import FloatArray, LongArray

METHODS = ("full", "lora")
ENDINGS = ("ForCausalLM", "LMHeadModel")  # of the classes of causal models
USUAL_TOKENS = 512
_LEAST_PROMPT = 4  # tokens of a prompt that stay before a long answer, where the window has room for them


@dataclass(slots=True)
class CausalNetwork:
    """A causal language model and what is trained of it. max_tokens: of prompt and answer together; adapted: it has LoRA in it."""

    model: Any
    tokenizer: Any
    max_tokens: int
    trained: dict[str, Tensor]
    n_parameters: int
    adapted: bool

    def log_probs(self, answers: Answers, rows: LongArray) -> Tensor:
        """Return log π(y | x) of some answers (B,)."""
        batch = answers.inputs.batch(rows, next(self.model.parameters()).device)
        with autocast_if_supported(self.model):
            logits = self.model(**batch).logits[:, :-1].float()
        losses = functional.cross_entropy(logits.transpose(1, 2), batch["input_ids"][:, 1:], reduction="none")
        places = torch.arange(1, losses.shape[1] + 1, device=losses.device)
        first = torch.from_numpy(answers.first[rows]).to(losses.device)
        counted = (places >= first[:, None]) & batch["attention_mask"][:, 1:].bool()
        return -(losses * counted).sum(dim=1)

    def save(self, folder: Path, *, base: str) -> None:
        """Write transformers/ and, with LoRA, peft/: the adapter for `base`, whose updates are added to the weights of the former.

        The network is used up.
        """
        with quiet():
            model = self.model
            if self.adapted:
                model.peft_config["default"].base_model_name_or_path = base
                model.save_pretrained(str(folder / "peft"), save_embedding_layers=False)
                model = model.merge_and_unload()
            model.save_pretrained(str(folder / "transformers"))
            self.tokenizer.save_pretrained(str(folder / "transformers"))


@dataclass(frozen=True, slots=True)
class Answers:
    """Prompts with answers, as token ids. inputs: both, end to end. first (n,): place of the first token of the answer that has a loss."""

    inputs: Inputs
    first: LongArray

    @property
    def counts(self) -> LongArray:
        """Tokens of each answer that have a loss (n,)."""
        counts: LongArray = np.maximum(self.inputs.lengths - self.first, 0)
        return counts


def check_causal(folder: Path) -> None:
    """Raise UsageError unless the config.json of a model folder says that it is a causal language model."""
    try:
        named = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("architectures") or []
    except (OSError, ValueError, AttributeError) as error:
        raise MissingError(
            f"the config.json of {folder} cannot be read ({first_line(error)})", parameter="base"
        ) from None
    if not any(str(name).endswith(ENDINGS) for name in named):
        raise UsageError(
            f"the objectives sft and dpo train a causal language model, such as a GPT-2 or Llama; the base holds "
            f"{', '.join(map(str, named)) or 'no model that is named'}. Choose another `base`",
            parameter="base",
        )


def check_method(method: Method) -> None:
    """Raise UsageError for a method that causal models are not trained with."""
    if method.name not in METHODS:
        raise UsageError(
            f"`method={method.name}`: causal models are trained with {' or '.join(METHODS)}", parameter="method"
        )
    if method.name == "lora" and method.options["targets"] != DEFAULTS["lora"]["targets"]:
        raise UsageError(
            "`method=lora(targets=…)` is for encoders; leave targets out for causal models", parameter="method"
        )


def load_causal(
    folder: Path, method: Method, *, seed: int, device: torch.device, max_tokens: int | None = None
) -> CausalNetwork:
    """Return a causal language model, in which a method says what is trained.

    Args:
        seed: of the weights that are new. max_tokens: of prompt and answer; None: the model's window, at most 512.

    Raises:
        MissingError: the folder is no model transformers can load. UsageError: it is no causal one, or its window is too small.
    """
    from transformers import AutoModelForCausalLM

    check_causal(folder)
    model = load_whole(AutoModelForCausalLM, folder)
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            raise InputError(f"the base has a weight that is not a finite number ({name}); use another `base`")
    positions = positions_of(model.config)
    if max_tokens is not None and max_tokens > positions:
        raise UsageError(f"`max_tokens={max_tokens}`: this model takes up to {positions} tokens of a text")
    n_parameters = sum(p.numel() for p in model.parameters())
    if method.name == "lora":
        with seeded(seed):
            model = _with_lora(model, method.options)
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    model.to(device).eval()
    window = max_tokens or min(USUAL_TOKENS, positions)
    return CausalNetwork(
        model, load_tokenizer(folder, words=False), window, trained, n_parameters, method.name == "lora"
    )


def _with_lora(model: Any, options: Mapping[str, Value]) -> Any:
    """Return a peft model with LoRA where peft puts it for this kind of model, of unknown kinds in all linear layers."""
    import peft
    from peft.utils import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as KNOWN

    config = peft.LoraConfig(
        r=int(options["r"]), lora_alpha=options["alpha"], lora_dropout=options["dropout"], task_type="CAUSAL_LM",
        target_modules=None if model.config.model_type in KNOWN else "all-linear",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matrices that lie the other way round in GPT-2, which peft sets right
        return in_order(peft.get_peft_model(model, config))


def read_answers(network: CausalNetwork, prompts: Sequence[str] | None, answers: Sequence[str]) -> Answers:
    """Return prompts and answers as token ids of at most `max_tokens`; a long prompt loses its beginning, then the answer its end.

    Without prompts every token of an answer has a loss but the first, where the model has no token for the beginning of a text.
    """
    frame = frame_of(network.tokenizer, typed=False)
    end = network.tokenizer.eos_token_id
    backend, room = network.tokenizer.backend_tokenizer, network.max_tokens - len(frame.before)

    def ids(texts: Sequence[str]) -> list[list[int]]:
        encodings = backend.encode_batch([encodable(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    flat: list[int] = []
    lengths, first, counts, cut = [], [], [], []
    before = ids(prompts) if prompts is not None else [[] for _ in answers]
    for prompt, answer in zip(before, ids(answers), strict=True):
        ended = answer if end is None else [*answer, end]
        left = min(max(room - len(ended), _LEAST_PROMPT), room - 1)
        seen = [*frame.before, *prompt[max(0, len(prompt) - left) :]]
        whole = [*seen, *ended][: network.max_tokens]
        flat += whole
        lengths.append(len(whole))
        first.append(max(len(seen), 1))
        counts.append(len(prompt) + len(ended))
        cut.append(len(prompt) + len(ended) + len(frame.before) - len(whole))
    sizes = np.array(lengths, np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    numbers = np.array(counts, np.int64), np.array(cut, np.int64)
    return Answers(Inputs(np.array(flat, np.int32), None, starts, sizes, *numbers, frame), np.array(first, np.int64))


def dpo_loss(chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, *, beta: float) -> Tensor:
    """Return the loss of each pair (B,) from the log-probabilities of its answers by the model and by the reference.

    ln 2 where the model is the reference. The logarithm of a ratio is a difference of these: log π/π_ref = log π - log π_ref.
    """
    return -functional.logsigmoid(beta * ((chosen - ref_chosen) - (rejected - ref_rejected)))


@dataclass
class SftObjective(EveryParameter):
    """Objective of training on answers; see `engine.PerExampleLoss` and `objective.Objective`."""

    network: CausalNetwork
    answers: Answers
    lengths: LongArray = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        self.lengths, self.n = self.answers.inputs.lengths, len(self.answers.first)

    def weight(self, rows: LongArray) -> float:
        """Return how many tokens have a loss."""
        return float(self.answers.counts[rows].sum())

    def loss(self, rows: LongArray) -> Tensor:
        """Return the sum of the losses of all tokens of some answers."""
        return -self.network.log_probs(self.answers, rows).sum()


@dataclass
class DpoObjective(SftObjective):
    """Objective of training on pairs of answers. answers: the chosen ones; rejected: the others; reference (n, 2): log π_ref of both."""

    rejected: Answers | None = None
    reference: FloatArray | None = None
    beta: float = 0.1

    def __post_init__(self) -> None:
        assert self.rejected is not None
        self.lengths = self.answers.inputs.lengths + self.rejected.inputs.lengths
        self.n = len(self.lengths)

    def weight(self, rows: LongArray) -> float:
        """Return the number of pairs."""
        return float(len(rows))

    def loss(self, rows: LongArray) -> Tensor:
        """Return the sum of the losses of some pairs."""
        assert self.rejected is not None
        assert self.reference is not None
        chosen, rejected = (self.network.log_probs(answers, rows) for answers in (self.answers, self.rejected))
        reference = torch.from_numpy(self.reference[rows]).to(chosen.device, chosen.dtype)
        return dpo_loss(chosen, rejected, reference[:, 0], reference[:, 1], beta=self.beta).sum()


def score_answers(network: CausalNetwork, answers: Answers, engine: Engine) -> FloatArray:
    """Return log π(y | x) of all answers (n,) float64, without dropout."""
    network.model.eval()
    out: FloatArray = np.zeros(len(answers.first))

    def work(rows: LongArray) -> FloatArray:
        values: FloatArray = network.log_probs(answers, rows).double().cpu().numpy()
        return values

    for rows, values in engine.run_rows(work, answers.inputs.lengths):
        out[rows] = values
    return out


def pair_scores(scores: FloatArray, reference: FloatArray, beta: float) -> dict[str, float]:
    """Return the mean DPO loss of pairs, and the share whose chosen answer gains more than the rejected one; a tie counts half.

    Args:
        scores, reference: (n, 2) log-probabilities of chosen and rejected answers by the model and by the reference.
    """
    margins = beta * ((scores - reference) @ np.array([1.0, -1.0]))
    accuracy = float(np.mean((margins > 0) + 0.5 * (margins == 0)))
    return {"loss": float(np.mean(np.logaddexp(0.0, -margins))), "accuracy": accuracy}

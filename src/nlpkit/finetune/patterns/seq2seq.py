"""T-Few: an encoder-decoder that ranks the words for the labels, and learns through the factors of (IA)³ (Liu et al. 2022, §3.2-3.3).

Of a text x in a pattern, the right words y of T tokens and the wrong ones ŷ⁽ⁿ⁾,

    β(x, y) = 1/T Σ_t log p(y_t | x, y_<t)                                              the length-normalised log-probability
    L_LM = -β(x, y)
    L_UL = -Σ_n Σ_t log(1 - p(ŷ_t⁽ⁿ⁾ | x, ŷ_<t⁽ⁿ⁾)) / Σ_n T⁽ⁿ⁾                           unlikelihood (Tam et al. 2021)
    L_LN = -log exp β(x, y) / (exp β(x, y) + Σ_n exp β(x, ŷ⁽ⁿ⁾))

and L = L_LM + L_UL + L_LN. The prediction is the label of the largest β. The words are all decoded from one run of the encoder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nlpkit.embed.engines import quiet
from nlpkit.embed.hardware import seeded
from nlpkit.embed.tokenizers import load_tokenizer
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.adapters.peft_modules import in_order
from nlpkit.finetune.data.inputs import Frame, frame_of
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.patterns.patterns import MASK, Gaps, Patterns, fill_pattern
from nlpkit.finetune.training.architectures import positions_of
from nlpkit.finetune.training.engine import Engine, autocast_if_supported
from nlpkit.finetune.training.loading import load_whole
from nlpkit.finetune.training.train import EveryParameter
from nlpkit.platform.types import FloatArray, LongArray

ENDING = "ForConditionalGeneration"  # of the classes of models with encoder and decoder
# keys, values and the input of the last layer of the feed-forward block, which the paper scales before it
_BART = (("k_proj", "v_proj", "fc2"), "fc2")
PLACES = {
    "t5": (("k", "v", "wo"), "wo"), "mt5": (("k", "v", "wo"), "wo"), "umt5": (("k", "v", "wo"), "wo"), "bart": _BART, "mbart": _BART,
    "pegasus": _BART,
}  # fmt: skip
SENTINELS = ("<extra_id_0>", "<extra_id_1>")  # of T5: a gap in the text, and what follows it
USUAL_TOKENS = 512
_LEAST = 1e-6  # of 1 - p, so that its logarithm is finite


def is_seq2seq(folder: Path) -> bool:
    """Whether the config.json of a model folder says that it has an encoder and a decoder with a head that guesses words."""
    try:
        named = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("architectures") or []
    except (OSError, ValueError, AttributeError):
        return False
    return any(str(name).endswith(ENDING) for name in named)


@dataclass(slots=True)
class Seq2SeqNetwork:
    """An encoder-decoder with (IA)³ in it. max_tokens: of a text in its pattern; adapted: the model as peft wraps it.

    frame, mask_id, mask_token: as patterns need them; the mask is the first sentinel of T5, mask_id is -1 where there is none.
    """

    model: Any
    adapted: Any
    tokenizer: Any
    frame: Frame
    mask_id: int
    max_tokens: int
    trained: dict[str, Tensor]
    n_parameters: int

    @property
    def mask_token(self) -> str:
        """The token of a gap."""
        return SENTINELS[0]

    def log_probs(self, gaps: Gaps, choices: Choices, rows: LongArray) -> Tensor:
        """Return log p(y_t | x, y_<t) (B, J, T) of the tokens of all J choices for some texts, float32; 0 where none counts."""
        device = next(self.model.parameters()).device
        batch = gaps.inputs.batch(rows, device)
        ids, counted = (torch.from_numpy(part).to(device) for part in (choices.ids, choices.counted))
        J, T = ids.shape
        start = torch.full((J, 1), int(self.model.config.decoder_start_token_id), device=device)
        seen = torch.cat([start, ids[:, :-1]], 1).repeat(len(rows), 1)
        with autocast_if_supported(self.model):
            states = self.model.get_encoder()(**batch)
            states.last_hidden_state = states.last_hidden_state.repeat_interleave(J, 0)
            logits = self.model(
                encoder_outputs=states, attention_mask=batch["attention_mask"].repeat_interleave(J, 0), decoder_input_ids=seen,
                use_cache=False,
            ).logits  # fmt: skip
        log_p = torch.log_softmax(logits.float(), 2).reshape(len(rows), J, T, -1)
        each = log_p.gather(3, ids.expand(len(rows), J, T)[..., None])[..., 0]
        return torch.where(counted, each, 0.0)


@dataclass(frozen=True, slots=True)
class Choices:
    """The words for the labels as token ids (J, T), padded, and which of them count (J, T) bool: not the sentinel before them."""

    ids: LongArray
    counted: Any

    @property
    def sizes(self) -> LongArray:
        """Tokens of each choice that count (J,)."""
        sizes: LongArray = self.counted.sum(axis=1)
        return sizes


def load_seq2seq(
    folder: Path, *, seed: int, device: torch.device, max_tokens: int | None = None, adapter: Path | None = None
) -> Seq2SeqNetwork:
    """Return an encoder-decoder with factors of 1 in it, or with those of a folder of peft.

    Args:
        max_tokens: of a text in its pattern; None: the model's window, at most 512.

    Raises:
        UsageError: a model without encoder and decoder, or of a kind that is not in PLACES. MissingError: it cannot be loaded.
    """
    import peft
    from transformers import AutoModelForSeq2SeqLM

    if not is_seq2seq(folder):
        raise UsageError(
            "`method=tfew` needs a model with encoder and decoder, such as T5; the base has no decoder. Choose another `base`",
            parameter="base",
        )
    with quiet(), seeded(seed):
        model = load_whole(AutoModelForSeq2SeqLM, folder)
        kind = model.config.model_type
        if kind not in PLACES:
            raise UsageError(f"the base is a {kind}; `method=tfew` is for {', '.join(PLACES)}", parameter="base")
        tokenizer, positions = load_tokenizer(folder, words=False), positions_of(model.config)
        if max_tokens is not None and max_tokens > positions:
            raise UsageError(f"`max_tokens={max_tokens}`: this model takes up to {positions} tokens of a text")
        n_parameters = sum(p.numel() for p in model.parameters())
        if adapter is None:
            places, inner = PLACES[kind]
            config = peft.IA3Config(task_type="SEQ_2_SEQ_LM", target_modules=list(places), feedforward_modules=[inner])
            adapted = in_order(peft.get_peft_model(model, config))
        else:
            adapted = peft.PeftModel.from_pretrained(model, str(adapter))
    trained = {name: p for name, p in model.named_parameters() if "ia3_l" in name}
    model.to(device).eval()
    gap = tokenizer.convert_tokens_to_ids(SENTINELS[0])
    mask_id = -1 if gap is None or gap == tokenizer.unk_token_id else int(gap)
    return Seq2SeqNetwork(
        model, adapted, tokenizer, frame_of(tokenizer, typed=False), mask_id, max_tokens or min(USUAL_TOKENS, positions), trained,
        n_parameters,
    )  # fmt: skip


def verbalised(patterns: Patterns, labels: Sequence[str]) -> Patterns:
    """Return patterns with one text for each label: that of the file, or its name.

    Raises:
        InputError: several words for a label, of which T-Few takes one; or one text for two labels.
    """
    words = {}
    for label in labels:
        listed = tuple(patterns.words.get(label, (label,)))
        if len(listed) > 1:
            raise InputError(
                f"label '{label}' has {len(listed)} words ({', '.join(listed[:3])}); `method=tfew` takes one text for each label",
                parameter="patterns",
            )
        words[label] = listed
    chosen = Patterns(patterns.texts, words)
    chosen.check(labels=None, pairs="[text_a]" in patterns.texts[0], masks=(0, 1))
    return chosen


def choices_of(network: Seq2SeqNetwork, patterns: Patterns, labels: Sequence[str]) -> dict[bool, Choices]:
    """Return the choices of patterns with a gap (True) and of those without, each where there are such patterns.

    In a gap, as T5 was trained, the text stands between two sentinels, of which the first is given; without a gap the end of the
    text follows.

    Raises:
        InputError: a text that is unknown to the tokenizer, or the same for it as another. UsageError: a gap, and no sentinels.
    """
    tokenizer = network.tokenizer
    spelled: list[list[int]] = []
    for label in labels:
        ids = list(tokenizer.backend_tokenizer.encode(patterns.words[label][0], add_special_tokens=False).ids)
        if not ids or tokenizer.unk_token_id in ids:
            raise InputError(
                f"'{patterns.words[label][0]}', for the label '{label}', is not in the vocabulary of the base",
                parameter="patterns",
            )
        if ids in spelled:
            other = labels[spelled.index(ids)]
            raise InputError(f"the words for '{label}' and '{other}' are the same for the base", parameter="patterns")
        spelled.append(ids)
    choices = {}
    for gap in sorted({MASK in text for text in patterns.texts}):
        around = (
            [tokenizer.convert_tokens_to_ids(token) for token in SENTINELS] if gap else [None, tokenizer.eos_token_id]
        )
        if gap and (network.mask_id < 0 or around[1] in (None, tokenizer.unk_token_id)):
            raise UsageError(
                f"the base has no token {SENTINELS[0]} for a gap; leave {MASK} out of the patterns, as in '[text] Topic:'",
                parameter="patterns",
            )
        before = [] if around[0] is None else [around[0]]
        after = [] if around[1] is None else [around[1]]
        rows = [[*before, *ids, *after] for ids in spelled]
        width = max(map(len, rows))
        padded = np.array([row + [network.frame.pad] * (width - len(row)) for row in rows], np.int64)
        places = np.arange(width)
        counted = (places >= len(before)) & (places < np.array([len(row) for row in rows])[:, None])
        choices[gap] = Choices(padded, counted)
    return choices


def tfew_losses(log_p: Tensor, counted: Tensor, right: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return L_LM, L_UL and L_LN (B,) of each text.

    Args:
        log_p: (B, J, T) log p(y_t | x, y_<t) of the tokens of all choices; counted (J, T): which of them are of a choice; right (B,):
            the right choice. Of one choice alone L_UL and L_LN are 0.
    """
    sizes = counted.sum(dim=1)
    beta = (log_p * counted).sum(dim=2) / sizes
    chosen = torch.nn.functional.one_hot(right, len(sizes)).bool()
    lm = -beta[chosen]
    unlikely = torch.log((1 - log_p.exp()).clamp(min=_LEAST)) * counted
    wrong = (~chosen).float()
    tokens = (wrong * sizes).sum(dim=1).clamp(min=1)
    ul = -(unlikely.sum(dim=2) * wrong).sum(dim=1) / tokens
    ln = -torch.log_softmax(beta, 1)[chosen]
    return lm, ul, ln


@dataclass
class TfewObjective(EveryParameter):
    """Objective of T-Few on texts in all patterns; see `engine.PerExampleLoss` and `objective.Objective`.

    gaps (P): the texts in each pattern, with its choices; rows (n,): those to learn from; right: the choice of every text. An example
    is a text in a pattern. weights (J,): of the labels, None: all alike. ul, ln: shares of L_UL and L_LN.
    """

    network: Seq2SeqNetwork
    gaps: Sequence[Gaps]
    choices: Sequence[Choices]
    rows: LongArray
    right: LongArray
    weights: Tensor | None = None
    ul: float = 1.0
    ln: float = 1.0
    lengths: LongArray = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        parts = zip(self.gaps, self.choices, strict=True)
        self.lengths = np.concatenate([gaps.inputs.lengths[self.rows] + c.ids.size for gaps, c in parts])
        self.n = len(self.lengths)

    def _of(self, rows: LongArray) -> tuple[LongArray, LongArray]:
        return rows // len(self.rows), self.rows[rows % len(self.rows)]

    def _weights(self, texts: LongArray) -> Tensor:
        return torch.ones(len(texts)) if self.weights is None else self.weights[torch.from_numpy(self.right[texts])]

    def weight(self, rows: LongArray) -> float:
        """Return the sum of the weights of some examples."""
        return float(self._weights(self._of(rows)[1]).double().sum())

    def loss(self, rows: LongArray) -> Tensor:
        """Return the weighted sum of the losses of some examples."""
        patterns, texts = self._of(rows)
        total: Any = 0.0
        for p in np.unique(patterns).tolist():
            chosen, choices = texts[patterns == p], self.choices[p]
            log_p = self.network.log_probs(self.gaps[p], choices, chosen)
            counted = torch.from_numpy(choices.counted).to(log_p.device)
            lm, ul, ln = tfew_losses(log_p, counted, torch.from_numpy(self.right[chosen]).to(log_p.device))
            each = lm + self.ul * ul + self.ln * ln
            total = total + (each * self._weights(chosen).to(each.device)).sum()
        loss: Tensor = total
        return loss


def choice_scores(
    network: Seq2SeqNetwork, gaps: Gaps, choices: Choices, engine: Engine, rows: LongArray | None = None
) -> FloatArray:
    """Return β(x, y) (n, J) float64 of some texts in a pattern, None for all, without dropout."""
    chosen = np.arange(len(gaps.places)) if rows is None else rows
    network.model.eval()
    scores: FloatArray = np.zeros((len(chosen), len(choices.ids)))

    def work(part: LongArray) -> FloatArray:
        values: FloatArray = network.log_probs(gaps, choices, chosen[part]).sum(dim=2).double().cpu().numpy()
        return values / choices.sizes

    for part, values in engine.run_rows(work, gaps.inputs.lengths[chosen] + choices.ids.size):
        scores[part] = values
    return scores


@dataclass(slots=True)
class ChoiceModel:
    """A network that ranks the words for the labels (J,), in one or more patterns; its scores are the mean over these."""

    patterns: Patterns
    labels: tuple[str, ...]
    network: Seq2SeqNetwork

    @property
    def max_tokens(self) -> int:
        """Tokens of a text in its pattern that the model sees."""
        return self.network.max_tokens

    def parameters(self) -> Mapping[str, Tensor]:
        """Return all weights by name."""
        return dict(self.network.model.named_parameters())

    def scores(self, text_inputs: TextInputs, engine: Engine) -> tuple[FloatArray, LongArray]:
        """Return β (n, J) of documents, and how many of each one's tokens were cut, by the first pattern."""
        choices = choices_of(self.network, self.patterns, self.labels)
        filled = [
            fill_pattern(self.network, text, text_inputs.texts, text_inputs.second) for text in self.patterns.texts
        ]
        scores = [
            choice_scores(self.network, gaps, choices[MASK in text], engine)
            for gaps, text in zip(filled, self.patterns.texts, strict=True)
        ]
        mean: FloatArray = np.mean(scores, axis=0)
        return mean, filled[0].inputs.cut

"""Training of a language model from scratch on texts, and its perplexity on texts that are held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.finetune.engine import Engine
from nlpkit.finetune.inputs import Inputs
from nlpkit.finetune.mlm import MlmNetwork, MlmObjective, cut_windows, exp_loss, masked_loss, perplexity
from nlpkit.finetune.train import LogPoint, Outcome, Schedule, State, train
from nlpkit.pretrain.causal import ClmObjective, count_words, cut_sequences, negative_log_likelihood
from nlpkit.pretrain.seq2seq import Seq2SeqObjective, cut_pairs
from nlpkit.types import LongArray

SHARE = 0.15  # of the tokens that mlm masks
PLAN = Schedule(epochs=10, batch=32, rate=1e-3, warmup=0.06, weight_decay=0.01)


@dataclass(frozen=True, slots=True)
class HeldOutPerplexity:
    """Perplexity on held-out texts.

    per_token: exp(−Σ log p / tokens); of clm over all tokens and the end of each text, of seq2seq over those of the targets, of mlm over
    the masked tokens alone, which is no perplexity of a language model. per_word: exp(−Σ log p / words), words between blanks and the
    end of each text; None for mlm. Only per_word can be compared between tokenizers.
    """

    per_token: float
    per_word: float | None
    tokens: int
    words: int | None


@dataclass(frozen=True, slots=True)
class Texts:
    """D texts, and of seq2seq their targets."""

    texts: Sequence[str]
    targets: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: LongArray) -> Texts:
        """Return some of them (n,)."""
        chosen = rows.tolist()
        return Texts([self.texts[i] for i in chosen], self.targets and [self.targets[i] for i in chosen])


@dataclass(frozen=True, slots=True)
class Sequences:
    """Texts as windows of tokens. n_cut: how many texts are longer than a window; targets: of seq2seq, whose texts lose what is beyond."""

    inputs: Inputs
    n_cut: int
    targets: Inputs | None = None


def cut_texts(network: MlmNetwork, documents: Texts, objective: str) -> Sequences:
    """Return texts as the windows that an objective learns from. Raises InputError when there is no token at all."""
    texts = documents.texts
    if objective == "clm":
        return Sequences(*cut_sequences(network, texts))
    if objective == "seq2seq":
        assert documents.targets is not None
        sources, targets, n_cut = cut_pairs(network, texts, documents.targets)
        return Sequences(sources, n_cut, targets)
    windows, empty = cut_windows(network, texts)
    return (
        Sequences(windows, 0)
        if len(windows.lengths) <= len(texts) - empty
        else Sequences(windows, _n_cut(network, texts))
    )


def _n_cut(network: MlmNetwork, texts: Sequence[str]) -> int:
    from nlpkit.embed.tokens import iterate_ids

    room = network.max_tokens - network.frame.single
    return sum(len(ids) > room for ids in iterate_ids(network.tokenizer.backend_tokenizer, list(texts)))


def new_objective(network: MlmNetwork, sequences: Sequences, objective: str) -> Any:
    """Return what an objective trains on sequences."""
    if objective == "seq2seq":
        assert sequences.targets is not None
        return Seq2SeqObjective(network, sequences.inputs, sequences.targets)
    return (ClmObjective if objective == "clm" else MlmObjective)(network, sequences.inputs)


def train_network(
    network: MlmNetwork,
    sequences: Sequences,
    held_out: Sequences,
    objective: str,
    *,
    plan: Schedule,
    engine: Engine,
    seed: int,
    state: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    on_step: Callable[[int, int, LogPoint | None], None] = lambda step, steps, point: None,
) -> Outcome:
    """Train a network in place; it ends with the parameters whose loss on the held-out texts is lowest.

    Where the loss is no number any more, training ends with these, too, and the outcome says at which step.

    Raises:
        InputError: the loss is no number before there was a score; OutOfMemoryError: not even the smallest batch fits.
    """
    return train(
        new_objective(network, sequences, objective), engine, plan, seed=seed,
        score=lambda: {"loss": held_out_loss(network, held_out, objective, engine, seed)},
        better="loss", state=state, save=save, on_step=on_step, keep_best=True,
    )  # fmt: skip


def held_out_loss(network: MlmNetwork, held_out: Sequences, objective: str, engine: Engine, seed: int) -> float:
    """Return the mean −log p of the tokens that are guessed."""
    if objective == "mlm":
        return masked_loss(network, held_out.inputs, engine, seed=seed, share=SHARE)
    total, n = negative_log_likelihood(new_objective(network, held_out, objective), engine)
    return total / n


def held_out_perplexity(
    network: MlmNetwork, held_out: Sequences, documents: Texts, objective: str, engine: Engine, seed: int
) -> HeldOutPerplexity:
    """Return the perplexity of held-out texts, per token and, of clm and seq2seq, per word."""
    if objective == "mlm":
        masked = MlmObjective(network, held_out.inputs, SHARE)
        value = perplexity(network, held_out.inputs, engine, seed=seed, share=SHARE)
        return HeldOutPerplexity(value, None, int(masked.weight(np.arange(masked.n))), None)
    total, n = negative_log_likelihood(new_objective(network, held_out, objective), engine)
    words = count_words(documents.targets or documents.texts)
    return HeldOutPerplexity(exp_loss(total / n), exp_loss(total / words), n, words)

"""Training of a language model from scratch on texts, and its perplexity on texts that are held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nlpkit.finetune.data.inputs import Inputs
from nlpkit.finetune.patterns.mlm import MlmNetwork, MlmObjective, cut_windows, exp_loss, masked_loss, perplexity
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import LogPoint, Outcome, Schedule, State, train
from nlpkit.lab.pretrain.distil import DistilObjective
from nlpkit.lab.pretrain.objectives import (
    PAIRED,
    ElectraObjective,
    PairObjective,
    Segments,
    Seq2SeqObjective,
    count_words,
    cut_pairs,
    cut_segments,
    cut_sequences,
    draw_pairs,
    negative_log_likelihood,
    next_token_objective,
)
from nlpkit.platform.types import LongArray

SHARE = 0.15  # of the tokens that mlm masks
BOTH = (*PAIRED, "electra")  # objectives with a second task beside masked tokens
_HELD_OUT = 29  # so that no two draws of one seed are the same
PLAN = Schedule(epochs=10, batch=32, rate=1e-3, warmup=0.06, weight_decay=0.01)


@dataclass(frozen=True, slots=True)
class HeldOutPerplexity:
    """Perplexity on held-out texts.

    per_token: exp(−Σ log p / tokens); of clm over all tokens and the end of each text, of seq2seq over those of the targets, of mlm over
    the masked tokens alone, which is no perplexity of a language model (of electra, by its generator). per_word: exp(−Σ log p / words),
    words between blanks and the end of each text; None for mlm. Only per_word can be compared between tokenizers. scores: of nsp and
    sop pair_accuracy; of electra detection_accuracy and replaced_share, the share of tokens that are replaced.
    """

    per_token: float
    per_word: float | None
    tokens: int
    words: int | None
    scores: Mapping[str, float] = field(default_factory=dict)


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
    segments: Segments | None = None  # of nsp and sop, which draw pairs of them


@dataclass(frozen=True, slots=True)
class Lesson:
    """An objective with its options. base: what is guessed: clm, mlm or seq2seq; teacher: of distil."""

    name: str
    base: str
    options: Mapping[str, Any] = field(default_factory=dict)
    teacher: MlmNetwork | None = None


def cut_texts(network: MlmNetwork, documents: Texts, lesson: Lesson) -> Sequences:
    """Return texts as the windows that an objective learns from. Raises InputError when there is no token at all."""
    texts, objective = documents.texts, lesson.base
    if lesson.name in PAIRED:
        segments, _ = cut_segments(network, texts)
        return Sequences(draw_pairs(segments, network, lesson.name, np.random.default_rng(0))[0], 0, None, segments)
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
    from nlpkit.embed.token_ids import iterate_ids

    room = network.max_tokens - network.frame.single
    return sum(len(ids) > room for ids in iterate_ids(network.tokenizer.backend_tokenizer, list(texts)))


def new_objective(network: MlmNetwork, sequences: Sequences, lesson: Lesson) -> Any:
    """Return what an objective trains on sequences."""
    if lesson.name in PAIRED:
        assert sequences.segments is not None
        return PairObjective(network, sequences.inputs, SHARE, segments=sequences.segments, task=lesson.name)
    if lesson.name == "electra":
        return ElectraObjective(network, sequences.inputs, SHARE, balance=lesson.options["weight"])
    if lesson.name == "seq2seq":
        assert sequences.targets is not None
        return Seq2SeqObjective(network, sequences.inputs, sequences.targets)
    plain = (next_token_objective if lesson.base == "clm" else MlmObjective)(network, sequences.inputs)
    if lesson.teacher is None:
        return plain
    return DistilObjective(plain, lesson.teacher, **lesson.options)


def train_network(
    network: MlmNetwork,
    sequences: Sequences,
    held_out: Sequences,
    lesson: Lesson,
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
        new_objective(network, sequences, lesson), engine, plan, seed=seed,
        score=lambda: {"loss": held_out_loss(network, held_out, lesson, engine, seed)},
        better="loss", state=state, save=save, on_step=on_step, keep_best=True,
    )  # fmt: skip


def held_out_loss(network: MlmNetwork, held_out: Sequences, lesson: Lesson, engine: Engine, seed: int) -> float:
    """Return the mean −log p of the tokens that are guessed; of nsp, sop and electra the whole loss."""
    if lesson.name in BOTH:
        total, n = negative_log_likelihood(_drawn(network, held_out, lesson, seed), engine)
        return total / n
    if lesson.base == "mlm":
        return masked_loss(network, held_out.inputs, engine, seed=seed, share=SHARE)
    total, n = negative_log_likelihood(_plain(network, held_out, lesson), engine)
    return total / n


def held_out_perplexity(
    network: MlmNetwork, held_out: Sequences, documents: Texts, lesson: Lesson, engine: Engine, seed: int
) -> HeldOutPerplexity:
    """Return the perplexity of held-out texts, per token and, of clm and seq2seq, per word."""
    if lesson.name in BOTH:
        objective = _drawn(network, held_out, lesson, seed)
        objective.mode(False)
        total, scores = objective.scores(engine)
        n = int(objective.weight(np.arange(objective.n)))
        return HeldOutPerplexity(exp_loss(total / n), None, n, None, scores)
    if lesson.base == "mlm":
        masked = MlmObjective(network, held_out.inputs, SHARE)
        value = perplexity(network, held_out.inputs, engine, seed=seed, share=SHARE)
        return HeldOutPerplexity(value, None, int(masked.weight(np.arange(masked.n))), None)
    total, n = negative_log_likelihood(_plain(network, held_out, lesson), engine)
    words = count_words(documents.targets or documents.texts)
    return HeldOutPerplexity(exp_loss(total / n), exp_loss(total / words), n, words)


def _plain(network: MlmNetwork, held_out: Sequences, lesson: Lesson) -> Any:
    """Return the objective without a teacher: what a student is worth is what it guesses."""
    return new_objective(network, held_out, replace(lesson, teacher=None))


def _drawn(network: MlmNetwork, held_out: Sequences, lesson: Lesson, seed: int) -> Any:
    """Return the objective with pairs and masks that are the same each time."""
    objective = new_objective(network, held_out, lesson)
    objective.draw(np.random.default_rng([seed, _HELD_OUT]))
    return objective

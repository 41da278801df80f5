"""Masked language modelling in two stages: a new head alone, the body frozen, then all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nlpkit.finetune.engine import Engine
from nlpkit.finetune.mlm import MlmNetwork, MlmObjective, cut_windows, know_words, perplexity
from nlpkit.finetune.train import LogPoint, Outcome, Schedule, State, train

OnStep = Callable[[int, int, LogPoint | None], None]


@dataclass(frozen=True, slots=True)
class MlmOutcome:
    """Outcome of training. head: of the first stage, None where there was none; whole: of the second; perplexities of the held-out texts.

    before: None when training went on from a state; windows: of the training texts; empty: texts without a token, left out;
    between: the measurement before the body learned.
    """

    head: Outcome | None
    whole: Outcome
    windows: int
    empty: int
    before: float | None = None
    after_head: float | None = None
    after: float | None = None
    between: float | None = None


def train_mlm(
    network: MlmNetwork,
    texts: Sequence[str],
    *,
    plan: Schedule,
    options: Mapping[str, float],
    engine: Engine,
    seed: int,
    dev: Sequence[str] | None = None,
    state: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    on_step: OnStep = lambda step, steps, point: None,
    between: Callable[[], float | None] = lambda: None,
) -> MlmOutcome:
    """Train a network to guess masked tokens, in place.

    A new head learns first, `head_steps` steps at the rate `head_rate`, from a bias that knows how often each word is there. Training
    ends early when the perplexity of the held-out texts does not fall any more.

    Args:
        options: as `encoders.OPTIONS["mlm"]`: share, head_steps, head_rate.
        state: to resume from; its contents show its stage.
        on_step: as `train` says; the steps of both stages are counted as one.
        between: what is measured before the body learns, once a new head has.

    Raises:
        InputError: no text has a token. OutOfMemoryError: not even one window fits.
    """
    share = float(options["share"])
    windows, empty = cut_windows(network, texts)
    held_out = cut_windows(network, dev)[0] if dev is not None else None
    head_steps = int(options["head_steps"]) if network.head_is_new else 0
    in_head = state is not None and set(state.values) == set(network.head)

    def measured() -> float | None:
        return None if held_out is None else perplexity(network, held_out, engine, seed=seed, share=share)

    def score() -> dict[str, float]:
        current = measured() or 1.0
        return {"loss": float(np.log(current)), "perplexity": current}

    scored = None if held_out is None else score
    steps = head_steps + plan.steps(len(windows.lengths))
    before = measured() if state is None else None
    head, after_head = None, None
    if network.head_is_new and state is None:
        know_words(network, windows)
    if head_steps and (state is None or in_head):
        objective = MlmObjective(network, windows, share, head_only=True)
        epochs = -(-head_steps * plan.batch // objective.n)
        stage = replace(
            plan, epochs=epochs, max_steps=head_steps, rate=float(options["head_rate"]), head_rate=None, patience=0
        )
        head = train(
            objective,
            engine,
            stage,
            seed=seed,
            state=state,
            save=save,
            on_step=lambda i, _, point: on_step(i, steps, point),
        )
        after_head, state = measured(), None
    elif head_steps:
        assert state is not None
        head = state.first
    done = head_steps
    between_score = between() if state is None else state.between

    def keep(snapshot: State) -> None:
        snapshot.first, snapshot.between = head, between_score
        save(snapshot)

    def counted_on(step: int, _: int, point: LogPoint | None) -> None:
        on_step(step + done, steps, None if point is None else replace(point, step=point.step + done))

    objective = MlmObjective(network, windows, share)
    whole = train(
        objective, engine, plan, seed=seed, score=scored, better="loss", state=state, save=keep, on_step=counted_on
    )
    after = next((p.dev.get("perplexity") for p in whole.curve if p.step == whole.best_step), None)
    return MlmOutcome(head, whole, len(windows.lengths), empty, before, after_head, after, between_score)

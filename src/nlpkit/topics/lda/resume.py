"""Resumption of a chain from the saved state of another one, longer or shorter."""

from __future__ import annotations

from typing import Any

from nlpkit.parameters import in_force
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.lda.state import PLANNED
from nlpkit.topics.mixtures.steps import StepState


def chain_options(options: LdaOptions, seed: int) -> dict[str, Any]:
    """Return what must be equal to resume from a state: all options in force except the number of sweeps and threads."""
    plain = {k: v for k, v in in_force(options).items() if k not in ("sweeps", "burn_in", "optimize_burn_in")}
    plain["seed"] = seed
    plain["burn_in"] = None if options.estimate == "last" else options.samples_from
    plain["optimize_burn_in"] = options.optimize_from if options.optimize_interval else None
    return plain


def resume_problem(state: StepState, options: LdaOptions) -> str | None:
    """Return why a chain with these options, whose number of sweeps may differ, cannot resume from a state; None if it can.

    After its last sweep a chain has a point of the trace, and no new priors: one that is longer may differ there.
    """
    sweep, planned = state.step, int(state.arrays[PLANNED])
    if sweep > options.n_sweeps:
        return f"the chain has {sweep:,} sweeps already, more than the {options.n_sweeps:,} that are asked for"
    if sweep not in (planned, options.n_sweeps) or planned == options.n_sweeps:
        return None
    every = options.optimize_interval
    if sweep % options.trace_every or (every and sweep >= options.optimize_from and sweep % every == 0):
        return (
            f"the state after sweep {sweep:,}, the last of one of both chains, is not the same in a chain of "
            f"{planned:,} sweeps and in one of {options.n_sweeps:,}"
        )
    return None

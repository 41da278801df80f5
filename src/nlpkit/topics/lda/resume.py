"""Which states of a chain another one, longer or shorter, can be gone on with from."""

from __future__ import annotations

from typing import Any

from nlpkit.topics.lda.fit import FitState
from nlpkit.topics.lda.options import LdaOptions


def chain_options(options: LdaOptions, seed: int) -> dict[str, Any]:
    """Return what must be the same for a state to be gone on with: all options in force but the number of sweeps and threads."""
    plain = {k: v for k, v in options.in_force().items() if k not in ("sweeps", "burn_in", "optimize_burn_in")}
    plain["seed"] = seed
    plain["burn_in"] = None if options.estimate == "last" else options.samples_from
    plain["optimize_burn_in"] = options.optimize_from if options.optimize_interval else None
    return plain


def cannot_go_on(state: FitState, options: LdaOptions) -> str | None:
    """Return why a state does not lead to the chain of the options, of which the number of sweeps may be another; None if it does.

    After its last sweep a chain has a point of the trace, and no new priors: one that is longer may differ there.
    """
    if state.sweep > options.n_sweeps:
        return f"the chain has {state.sweep:,} sweeps already, more than the {options.n_sweeps:,} that are asked for"
    if state.sweep not in (state.of, options.n_sweeps) or state.of in (0, options.n_sweeps):
        return None
    every = options.optimize_interval
    if state.sweep % options.trace_every or (
        every and state.sweep >= options.optimize_from and state.sweep % every == 0
    ):
        return (
            f"the state after sweep {state.sweep:,}, the last of one of both chains, is not the same in a chain of {state.of:,} "
            f"sweeps and in one of {options.n_sweeps:,}"
        )
    return None

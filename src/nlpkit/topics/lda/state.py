"""The state of a chain between two sweeps: all that is needed to go on to the same bytes, of a chain that is longer, too."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from nlpkit.topics.mixtures.steps import Arrays, Keeper, StepState
from nlpkit.types import CsrMatrix, FloatArray, IntArray

SAVE_SECONDS = 60.0  # between two states that are remembered for workers that may be lost
PLANNED = "planned_sweeps"  # of the chain that a state is of
SUMS = ("topic_sum", "doc_sum")
CSR = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True, slots=True)
class TracePoint:
    """After `sweep` sweeps: log p(w, z) per token (per weight 1 of tokens), exp of the entropy of n_k / N, the priors in force."""

    sweep: int
    log_likelihood: float
    effective_topics: float
    alpha_sum: float
    eta: float


@dataclass(slots=True)
class ChainState:
    """What a chain has come to beside its sampler: the trace, sums of samples, the best state."""

    trace: list[TracePoint] = field(default_factory=list)
    samples: int = 0
    topic_sum: CsrMatrix | None = None
    doc_sum: CsrMatrix | None = None
    best: IntArray | None = None
    best_sweep: int = 0
    best_alpha: FloatArray | None = None
    best_eta: float = 0.0

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all but the trace."""
        arrays = {name: np.array(getattr(self, name)) for name in ("samples", "best_sweep", "best_eta")}
        arrays |= {name: getattr(self, name) for name in ("best", "best_alpha") if getattr(self, name) is not None}
        for name in SUMS:
            matrix = getattr(self, name)
            if matrix is not None:
                arrays |= {f"{name}.{part}": np.asarray(getattr(matrix, part)) for part in CSR}
        return arrays

    def restore(self, arrays: Arrays) -> None:
        """Become what `arrays` returned."""
        self.samples, self.best_sweep = int(arrays["samples"]), int(arrays["best_sweep"])
        self.best, self.best_alpha = arrays.get("best"), arrays.get("best_alpha")
        self.best_eta = float(arrays["best_eta"])
        for name in SUMS:
            if f"{name}.data" in arrays:
                *parts, shape = (arrays[f"{name}.{part}"] for part in CSR)
                setattr(self, name, sparse.csr_array(tuple(parts), shape=tuple(shape)))


class LastState:
    """A keeper that remembers the last state itself, where workers can be lost."""

    def __init__(self, keeper: Keeper | None, can_be_lost: bool) -> None:
        """Begin at the state that the keeper has."""
        self.keeper, self.can_be_lost = keeper, can_be_lost
        self.state = None if keeper is None else keeper.earlier()
        self.saved = time.monotonic()

    def earlier(self) -> StepState | None:
        """Return the last state."""
        return self.state

    def after(self, step: int, last: int, state: Callable[[], StepState]) -> None:
        """Keep the state where the keeper does, and without one every minute."""

        def now() -> StepState:
            current = state()
            if self.can_be_lost:
                self.state, self.saved = current, time.monotonic()
            return current

        if self.keeper is not None:
            self.keeper.after(step, last, now)
        elif self.can_be_lost and time.monotonic() > self.saved + SAVE_SECONDS:
            now()
